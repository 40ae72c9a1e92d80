"""Reports on claims: the claim as it was read, what it should say, what it needs, where it fails, and why.

For a terminal, as Markdown, and as annotations for continuous integration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from symroof.errors import RenderingError, SymroofError, printable
from symroof.formula import Both, Compare, Formula, Gap, Infinity, Name, Number
from symroof.reading.claims import Claim
from symroof.reading.exercises import VERDICTS
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.amounts import percent, quantity, short, sizes, told_apart
from symroof.rendering.pages.characters import padded
from symroof.rendering.pages.environment import guarded, load, render
from symroof.rendering.pages.pen import Sentences, Style
from symroof.rendering.pages.terminal import fold
from symroof.verification.enclosures import enclosed, is_numeric
from symroof.verification.files import Moved
from symroof.verification.judgement import (
    ACCEPTED,
    GOOD,
    FileReport,
    Finding,
    Judgement,
    Omission,
    Remark,
    Skipped,
    Standard,
)
from symroof.verification.suggestions import Suggestions, suggestions

REPORTS = {"text": "report.txt.j2", "markdown": "report.md.j2", "github": "report.github.j2"}
VERDICT, LONGEST_CLAIM = 11, 120
RED, YELLOW, GREEN = (("\x1b[" + code + "m", "\x1b[0m") for code in ("31", "33", "32"))
COLOURS = dict(zip(VERDICTS, (GREEN, GREEN, YELLOW, YELLOW, RED, RED), strict=True))
# GitHub's workflow commands end at a new line, and use these marks themselves.
ESCAPED = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
Label = tuple[str, list[str]]


def render_report(
    files: tuple[FileReport, ...],
    form: str,
    style: Style,
    standard: Standard | None = None,
    moves: tuple[Moved, ...] | None = None,
) -> str:
    """The report on some files, what is a finding under the standard first; one that is not brief shows good claims and
    skipped formulas as well, and how much of each document was judged."""
    standard = standard or Standard()
    if form not in REPORTS:
        raise RenderingError(f"unknown format {form!r}", expected=f"one of {', '.join(REPORTS)}, json")

    def shown(judgement: Judgement) -> bool:
        doubtful = judgement.verdict == "conditional" and judgement.expect is None
        return not style.brief or form == "markdown" or doubtful or not standard.met_by(judgement)

    with guarded(style.template):
        names = {
            "files": () if moves is not None and style.brief else files,
            "shown": shown,
            "ordered": lambda file: sorted(file.judgements, key=standard.met_by),
            "verbose": not style.brief,
            "standard": standard,
            "explain": (explainer := Explainer(style.template)),
            "last": explainer.last(files),
            "moves": moves,
            "titled": style.heading > 0,
            "paint": lambda verdict: padded(verdict, VERDICT).join(COLOURS[verdict] if style.colour else ("", "")),
            "place": _place,
            "folded": lambda line, indent: "\n".join(fold(line, style.width, " " * indent)),
            "elided": lambda text: text if len(text) <= LONGEST_CLAIM else text[: LONGEST_CLAIM - 4] + " ...",
            "printable": printable,
            "escaped": lambda text: text.translate(ESCAPED),
        }
        return render(REPORTS[form], style.template, "en", names).lstrip("\n")


def suggestions_of(files: Iterable[str], progress: Callable[[int, int], None] | None = None) -> tuple[Suggestions, ...]:
    """What is suggested for each file."""
    paths, found = [Path(file) for file in files], []
    for done, path in enumerate(paths):
        if progress is not None:
            progress(done, len(paths))
        found.append(suggestions(path, PlainPrinter().print))
    return tuple(found)


def render_suggestions(files: tuple[Suggestions, ...], style: Style) -> str:
    """Comments to paste, each below its place and what it adds."""
    with guarded(style.template):
        say = Explainer(style.template).say
        return render("suggestions.txt.j2", style.template, "en", {"files": files, "say": say}).lstrip("\n")


def _place(file: str, judgement: Judgement | Skipped) -> str:
    parts = [str(part) for part in (judgement.line, judgement.column) if part is not None]
    return printable(":".join((file, *parts)) if judgement.line is not None else file)


class Explainer:
    """The words of reports, from the templates of a folder; formulas are in claim syntax."""

    def __init__(self, template: str | None = None) -> None:
        self.print = PlainPrinter().print
        names = {"m": self.print, "decimal": short, "percent": percent, "quantity": quantity}
        names["chain"] = lambda names: " = ".join(map(self.print, names))
        self.remarks = Sentences(load("remarks.j2", template, "en", names))
        self.omissions = Sentences(load("omissions.j2", template, "en", names))
        self.say = Sentences(load("report.j2", template, "en", names))

    def last(self, files: Iterable[FileReport]) -> str:
        """The summary: how many claims of each verdict, what was read beside them, and what was not judged."""
        return self.say.lines("last", tuple(files), VERDICTS, GOOD)

    def files(self, file: FileReport, standard: Standard, verbose: bool) -> list[str]:
        """What there is to say of a file as a whole."""
        if file.error is not None:
            return []
        wanted = {
            "nothing": not file.judgements,
            "short": file.short(standard),
            "coverage": verbose and file.coverage.formulas > 0,
        }
        return [printable(self.say(macro, file, standard)) for macro, said in wanted.items() if said]

    def remark(self, remark: Remark) -> str:
        return self.remarks(remark.kind, dict(remark.facts))

    def omission(self, omission: Omission) -> str:
        """Why a formula is not judged."""
        return self.omissions(omission.kind, dict(omission.facts))

    def left_out(self, skip: Skipped) -> str:
        """The formula that is not judged, or the link of it."""
        if skip.link is None:
            return skip.text
        left, right = ("…" if isinstance(side, Gap) else self.print(side) for side in (skip.link.left, skip.link.right))
        return f"{left} {skip.link.relation} {right}"

    def claim(self, judgement: Judgement) -> str:
        """The claim in claim syntax, in the order and with the names of its author."""
        marked = not judgement.claim or any(mark in judgement.claim for mark in ("\\", "{", "\n"))
        if judgement.statement is None or not marked:
            return " ".join(judgement.claim.split())
        return self.statement(judgement.statement)

    def statement(self, claim: Claim) -> str:
        first, *rest = (" and ".join(map(self._links, proposition)) for proposition in claim.propositions)
        text = first + "".join(f" {sign} {p}" for sign, p in zip(claim.connectives, rest, strict=True))
        return text + (f" as {self.regime(claim.regime)}" if claim.regime else "")

    def _links(self, chain: Any) -> str:
        first, *rest = map(self.print, chain.sides)
        return first + "".join(f" {relation} {side}" for relation, side in zip(chain.relations, rest, strict=True))

    def regime(self, relations: Iterable[Compare], joiner: str = ", ") -> str:
        ends = ((r, "oo" if isinstance(r.right, Infinity) else self.print(r.right)) for r in relations)
        return joiner.join(f"{self.print(r.left)} {r.relation} {end}" for r, end in ends)

    def right(self, finding: Finding, judgement: Judgement) -> str | None:
        """What the claim should say."""
        value, link = finding.value, finding.link
        if value is None or (isinstance(link, Compare) and value == link.left and isinstance(value, Number)):
            return None
        if isinstance(value, Compare):
            edge, least = value_of(value.right), ""
            if edge is not None and isinstance(value.left, Name) and value.relation == ">" and edge >= 1:
                least = f"{value.left.name} >= {edge.numerator // edge.denominator + 1}"
            assumed = self.regime(r for r in judgement.assumed if r.relation in ("<<", "->", "~", "~~"))
            return self.say.lines(
                "right", f"{self.print(value.left)} {value.relation} {self.shown(value.right)}", least, assumed
            )
        if isinstance(link, Compare) and link.relation in ("=", "~", "->"):
            return f"{self.print(link.left)} {link.relation} {self.shown(value, finding.unit, value_of(link.right))}"
        return self.shown(value, beside=value_of(link.right) if isinstance(link, Compare) else None)

    def shown(self, value: Formula, unit: str = "", beside: Fraction | None = None) -> str:
        """A value, with digits enough to tell it from the one that stands ``beside`` it in the claim."""
        number = value_of(value)
        if number is None:
            return self.print(value)
        if unit == "s":
            return quantity(number, unit, beside)
        return f"{told_apart(number, beside, 6)} {unit if isinstance(value, Number) else ''}".rstrip()

    def labels(self, judgement: Judgement) -> list[Label]:
        """The explanation of a judgement, line by line; one that was expected needs none."""
        return [(label, list(map(printable, lines))) for label, lines in self._labels(judgement)]

    def _labels(self, judgement: Judgement) -> Iterator[Label]:
        finding = judgement.worst
        if judgement.expect == judgement.verdict:
            return
        if judgement.sentence and not judgement.good:
            yield "in", [judgement.sentence]
        if judgement.expect:
            yield "expect", [self.say("expected", judgement.expect)]
        if finding is None and judgement.error:
            yield "why", judgement.error.split("\n")
        elif finding is None and judgement.omission:
            yield "why", [self.omission(judgement.omission)]
        elif finding is not None and judgement.verdict == "conditional":
            yield from self._conditional(finding, judgement)
        elif finding is not None and judgement.verdict in ("wrong", "undecided"):
            yield from self._wrong(finding, judgement)

    def _conditional(self, finding: Finding, judgement: Judgement) -> Iterator[Label]:
        said = "; ".join(self.remark(r) for r in finding.remarks if r.kind in ("stated", "ended"))
        yield "needs", [self.say("needs", [self.regime(r, " and ") for r in finding.needs], judgement.line, said)]
        if said:
            return
        yield from (("without", [self.remark(r)]) for r in finding.remarks if r.kind == "at_equal")
        exact = finding.value if finding.leaves is not None else None
        yield "fix", [self.say("fix", self.regime(finding.needs[0]), exact and self.print(exact))]

    def _wrong(self, finding: Finding, judgement: Judgement) -> Iterator[Label]:
        right = self.right(finding, judgement) if judgement.verdict == "wrong" else None
        if right and not _says_nothing(right, self.print(finding.link)):
            yield "right", [right]
        if (at := finding.counterexample) is not None:
            yield "try", list(self.say.each("fails", sizes(at.values), at, finding))
        explained = ("deviation", "quotient_tends") if finding.diagnosis is not None else ()
        yield from (("why", [self.remark(r)]) for r in finding.remarks if r.kind not in explained)
        if finding.diagnosis is not None:
            yield "mistake", [self.remark(finding.diagnosis)]

    def aside(self, judgement: Judgement) -> str:
        """What there is to say of a good claim, in a few words."""
        found = judgement.findings if judgement.verdict in ACCEPTED else ()
        remarks = (self.remark(r) for finding in found for r in finding.remarks if r.kind != "at_equal")
        return self.say("good", len(found), judgement.expect == judgement.verdict, list(dict.fromkeys(remarks)))

    def state(self, judgement: Judgement) -> str:
        """A verdict with the right value beside it: that of the worst link, or else of the first that has one."""
        worst = judgement.worst
        valued = [f for f in judgement.findings if f.value is not None]
        right = [self.right(f, judgement) for f in ([worst] if worst in valued else valued) if f is not None]
        return "    ".join((judgement.verdict, *filter(None, right[:1])))


def _says_nothing(right: str, claim: str) -> bool:
    """Whether the right value is the claim itself, or says of something that it is itself."""
    text = right.replace(" ", "")
    left, sign, same = text.partition("=")
    return text == claim.replace(" ", "") or (bool(sign) and left == same)


def value_of(formula: Formula) -> Fraction | None:
    """The number that a formula without names is, where it is one."""
    if isinstance(formula, Number):
        return formula.value
    if isinstance(formula, Compare | Both) or not is_numeric(formula):
        return None
    try:
        return enclosed(formula).middle
    except SymroofError:
        return None
