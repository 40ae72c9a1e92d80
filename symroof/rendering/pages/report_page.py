"""Reports on claims: for a terminal, as Markdown, and as annotations for continuous integration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, TypeAlias

from symroof.algebra.rounding import shorten
from symroof.errors import RenderingError, SymroofError, printable
from symroof.formula import Both, Compare, Formula, Gap, Infinity, Number
from symroof.proof.propositions import without_cases
from symroof.proof.quotients import ORDER
from symroof.reading.claim_sets import VERDICTS
from symroof.reading.claims import Claim, Logic
from symroof.reading.languages import USUAL_LANGUAGE
from symroof.reading.numbers import COUNT_SCALES
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.number_formats import distinct_digits, percent, quantity, sizes
from symroof.rendering.pages.templating import load, render, template_errors, words
from symroof.rendering.pages.terminal import fold, padded
from symroof.rendering.pages.typesetting import Sentences, Style
from symroof.verification.baseline import Accepted
from symroof.verification.files import VerdictChange
from symroof.verification.intervals import enclosed, is_numeric, is_printed
from symroof.verification.number_chains import POWER, units_behind
from symroof.verification.verdicts import (
    ACCEPTED,
    GOOD,
    Counterexample,
    FileReport,
    Finding,
    Judgement,
    Omission,
    Remark,
    Skipped,
    Standard,
)

# What the lines of an explanation say, by its key in the words of a language; and a side of a condition.
Label: TypeAlias = "tuple[str, list[str]]"
Part: TypeAlias = "tuple[Formula, Fraction, str]"
REPORTS = {"text": "report.txt.j2", "markdown": "report.md.j2", "github": "report.github.j2"}
VERDICT, LONGEST_CLAIM = 11, 120
READABLE = Fraction(1, 100), Fraction(10**5)  # the numbers that are read well in the unit of a claim
RED, YELLOW, GREEN = (("\x1b[" + code + "m", "\x1b[0m") for code in ("31", "33", "32"))
COLOURS = dict(zip(VERDICTS, (GREEN, GREEN, YELLOW, YELLOW, RED, RED), strict=True))
# GitHub's workflow commands end at a new line, and use these marks themselves.
ESCAPED = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})


# What to look at for each kind of mistake, by the name of its hint.
HINTS: Mapping[str, str] = {
    **dict.fromkeys(("turned", "at_the_edge"), "direction"),
    **dict.fromkeys(("other_figure", "figures_exchanged"), "figure"),
    "turns": "sent",
    **dict.fromkeys(("other_amount", "of_width"), "amount"),
    **dict.fromkeys(("traffic", "part_missing"), "moved"),
    **dict.fromkeys(("factor_of_size", "other_letter"), "sizes"),
    **dict.fromkeys(("factor_two", "multiply_add"), "factor"),
    **dict.fromkeys(("other_unit", "power_of_ten", "binary_prefix"), "unit"),
    "other_pass": "pass",
    "other_extreme": "longest",
    "upside_down": "fraction",
}


class Explainer:
    """The words of reports in a language, from the templates of a folder; formulas are in claim syntax."""

    def __init__(self, template: str | None = None, lang: str = USUAL_LANGUAGE, *, hints: bool = False) -> None:
        self.print, self.hints = PlainPrinter().print, hints
        space = " " if words(template, lang).percent_stands_apart else ""
        names = {"m": self.print, "decimal": shorten, "percent": lambda share: percent(share).replace(" ", space)}
        self.words = load(f"{lang}/report.j2", template, lang, {})
        self.say = Sentences(self.words)
        self.remarks = Sentences(
            load("remarks.j2", template, lang, names), load(f"{lang}/remarks.j2", template, lang, {})
        )
        omissions = load(f"{lang}/omissions.j2", template, lang, {})
        self.omissions = Sentences(SimpleNamespace(**omissions.terms), omissions)

    def last(self, files: Iterable[FileReport]) -> str:
        """The summary: how many claims of each verdict, what was read beside them, and what was not judged."""
        files = tuple(files)
        judgements = [judgement for file in files for judgement in file.judgements]
        verdicts = Counter(judgement.verdict for judgement in judgements)
        counts = [(verdict, verdicts[verdict]) for verdict in VERDICTS if verdict in verdicts]
        expected = sum(j.good and j.verdict not in GOOD for j in judgements)
        lines = [self.say.lines("last", len(judgements), counts, expected)]
        documents = [file for file in files if file.kind == "document" and file.error is None]
        if documents:
            skipped = sum(skip.link is None for file in documents for skip in file.skipped)
            lines.append(self.say.lines("last_read", sum(file.notes for file in documents), skipped))
        if len(files) > 1:
            lines.append(self.say.lines("last_files", len(files)))
        accepted = sum(judgement.accepted is not None for judgement in judgements) + sum(f.accepted for f in files)
        if accepted:
            lines.append(self.say.lines("last_accepted", accepted))
        return "".join(lines)

    def gone(self, finding: Accepted) -> str:
        """A finding of a baseline that is there no more."""
        verdict = self.words.verdicts.get(finding.verdict, "")
        return printable(self.say("gone", finding.file, finding.claim, verdict, finding.count))

    def files(self, file: FileReport, standard: Standard, verbose: bool) -> list[str]:
        """What there is to say of a file as a whole."""
        if file.error is not None:
            return []
        lines, coverage, name = [], file.coverage, file.file or self.words.unnamed
        if not file.judgements and file.kind == "document":
            lines.append(self.say("nothing_read", name, coverage.formulas, file.notes))
        elif not file.judgements:
            lines.append(self.say("nothing_claimed", name))
        if file.short(standard):
            shares = (shorten(share * 100, 4) for share in (coverage.share, standard.coverage))
            lines.append(self.say("short", name, coverage.judged, coverage.judgeable, *shares))
        if verbose and coverage.formulas > 0:
            skipped = sorted(coverage.skipped.items(), key=lambda item: -item[1])
            lines.append(self.say("coverage", name, coverage.formulas, coverage.judged, skipped))
        return list(map(printable, lines))

    def remark(self, remark: Remark) -> str:
        """A remark of the judge, or why a formula is not judged."""
        sentences, facts = self.omissions if isinstance(remark, Omission) else self.remarks, dict(remark.facts)
        if hasattr(sentences.macros, remark.kind):
            return sentences(remark.kind, facts)
        printed = ((name, self.print(fact) if isinstance(fact, Formula) else fact) for name, fact in facts.items())
        return sentences.filled(remark.kind, dict(printed))

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
        if isinstance(chain, Logic):
            inner = [self._links(part) for part in chain.parts]
            pairs = zip(inner, chain.parts, strict=True)
            inner = [f"({text})" if isinstance(part, Logic) else text for text, part in pairs]
            return f"not ({inner[0]})" if chain.word == "not" else f" {chain.word} ".join(inner)
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
            least = self.print(finding.whole) if finding.whole is not None and finding.whole != value else ""
            regime = (*judgement.assumed, *(r for relations in finding.needs for r in relations))
            assumed = self.regime(r for r in regime if r.relation in ("<<", "->", "~", "~~"))
            claim = f"{self.print(value.left)} {value.relation} {self.shown(value.right)}"
            return self.say.lines("right", claim, least, assumed)
        if isinstance(link, Compare) and link.relation in ("=", "~", "->"):
            if is_printed(link.left) and not is_printed(link.right):  # the result stands first
                return f"{self.shown(value, finding.unit, link.left)} {link.relation} {self.print(link.right)}"
            return f"{self.print(link.left)} {link.relation} {self.shown(value, finding.unit, link.right)}"
        return self.shown(value, beside=link.right if isinstance(link, Compare) else None)

    def shown(self, value: Formula, unit: str = "", beside: Formula | None = None) -> str:
        """A value in the unit of what stands ``beside`` it in the claim, with digits enough to tell the two apart."""
        number, other = value_of(value), None if beside is None else value_of(beside)
        if number is None:
            return self.print(without_cases(value))
        share = isinstance(beside, Number) and beside.unit == "%"
        units = {"%": Fraction(1, 100)} if share else {} if beside is None else units_behind(beside)
        for name, size in units.items():
            readable = (size == 1 and unit != "s") or READABLE[0] <= abs(number / size) < READABLE[1]
            if readable and not POWER.match(name):
                space = "" if share or name in COUNT_SCALES else " "
                return f"{distinct_digits(number / size, other and other / size, 4)}{space}{name}"
        if unit == "s":
            return quantity(number, unit, other)
        unit = unit if isinstance(value, Number) or getattr(beside, "unit", None) else ""
        return f"{distinct_digits(number, other, 6)} {unit}".rstrip()

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
            yield "expect", [self.say("expected", self.words.verdicts[judgement.expect])]
        if finding is None and judgement.error:
            yield "why", judgement.error.split("\n")
        elif finding is None and judgement.reason:
            yield "why", [self.remark(judgement.reason)]
        elif finding is not None and judgement.verdict == "conditional":
            yield from self._conditional(finding, judgement)
        elif finding is not None and judgement.verdict == "wrong" and self.hints:
            yield "hint", list(self._hints(finding, judgement))
        elif finding is not None and judgement.verdict in ("wrong", "undecided"):
            yield from self._wrong(finding, judgement)

    def _conditional(self, finding: Finding, judgement: Judgement) -> Iterator[Label]:
        regimes_stated = self.words.semicolon.join(self.remark(r) for r in finding.remarks if r.kind == "stated")
        yield from (("needs", [self.remark(r)]) for r in finding.remarks if r.kind == "another_count")
        if not finding.needs:
            return
        regimes = [[self.regime([r]) for r in relations] for relations in finding.needs]
        yield "needs", [self.say("needs", regimes, judgement.line, regimes_stated)]
        if regimes_stated:
            return
        exact = finding.value if finding.leaves is not None else None
        yield "fix", [self.say("fix", self.regime(finding.needs[0]), exact and self.print(without_cases(exact)))]

    def _wrong(self, finding: Finding, judgement: Judgement) -> Iterator[Label]:
        right = self.right(finding, judgement) if judgement.verdict == "wrong" else None
        if right and not _says_nothing(right, self.print(finding.link)):
            yield "right", [right]
        if finding.counterexample is not None:
            yield "try", list(self._fails(finding.counterexample, finding))
        explained = ("deviation", "quotient_tends") if finding.diagnosis is not None else ()
        yield from (("why", [self.remark(r)]) for r in finding.remarks if r.kind not in explained)
        if finding.diagnosis is not None:
            yield "mistake", [self.remark(finding.diagnosis)]

    def _hints(self, finding: Finding, judgement: Judgement) -> Iterator[str]:
        """Which step to look at, and what for, without what is right."""
        steps = [finding_of_link.link for finding_of_link in judgement.findings]
        if len(steps) > 1:
            yield self.say("hint_step", steps.index(finding.link) + 1, len(steps), self.print(finding.link))
        mistake = finding.diagnosis
        if mistake is not None:
            yield self.words.hints[HINTS[mistake.kind]]
            return
        if finding.by == "units":
            yield self.words.hints["unit"]
        off = next((r.facts["share"] for r in finding.remarks if r.kind == "deviation"), None)
        if off is not None:
            yield self.words.hints["high" if off > 0 else "low"]
        elif finding.counterexample is not None and finding.counterexample.values:
            yield self.say("hint_try", sizes(finding.counterexample.values))
        elif finding.by != "units":
            yield self.words.hints["again"]

    def _fails(self, at: Counterexample, finding: Finding) -> tuple[str, ...]:
        """Where a claim fails, and what its two sides are there, as truth values or numbers."""
        left, right = at.left, at.right
        where = sizes(at.values) if at.values else self.words.everywhere
        if isinstance(left, bool) and len(at.parts) == 2:
            first, other = at.parts
            sign = ">" if first[1] > other[1] else "<" if first[1] < other[1] else "="
            return self.say.each(
                "compared", where, f"{self._part(first, other)} {sign} {self._part(other, first)}", left == right
            )
        if isinstance(left, bool):
            return self.say.each("conditions", where, left, right)
        if left is None or right is None or isinstance(right, bool):
            return self.say.each("false_there", where)
        ordered = isinstance(finding.link, Compare) and finding.link.relation in ORDER
        return self.say.each(
            "values", where, quantity(left, finding.unit, right), quantity(right, finding.unit, left), ordered
        )

    def _part(self, part: Part, other: Part) -> str:
        """What one side of a condition is, and its value where that says more."""
        formula, value = self.print(part[0]), quantity(part[1], part[2], other[1])
        return formula if formula == value else f"{formula} = {value}"

    def aside(self, judgement: Judgement) -> str:
        """What there is to say of a good claim, in a few words."""
        result = judgement.findings if judgement.verdict in ACCEPTED else ()
        parts = [self.words.as_expected] if judgement.expect == judgement.verdict else []
        parts += [] if judgement.accepted is None else [self.say("accepted", printable(judgement.accepted))]
        parts += [self.say("links", len(result))] if len(result) > 1 else []
        parts += [self.remark(r) for finding in result for r in finding.remarks]
        return str(self.words.semicolon.join(dict.fromkeys(parts)))

    def state(self, judgement: Judgement) -> str:
        """A verdict with the right value beside it: that of the worst link, or else of the first that has one."""
        worst = judgement.worst
        valued = [f for f in judgement.findings if f.value is not None]
        right = [self.right(f, judgement) for f in ([worst] if worst in valued else valued) if f is not None]
        return "    ".join((self.words.verdicts[judgement.verdict], *filter(None, right[:1])))


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


def render_report(
    files: tuple[FileReport, ...],
    form: str,
    style: Style,
    standard: Standard | None = None,
    moves: tuple[VerdictChange, ...] | None = None,
    gone: tuple[Accepted, ...] = (),
) -> str:
    """The report on some files, what is a finding under the standard first; one that is not brief shows good claims and
    skipped formulas as well, and how much of each document was judged."""
    standard = standard or Standard()
    if form not in REPORTS:
        raise RenderingError(f"unknown format {form!r}", expected=f"one of {', '.join(REPORTS)}, json")

    def shown(judgement: Judgement) -> bool:
        doubtful = judgement.verdict == "conditional" and judgement.expect is None and judgement.accepted is None
        return not style.brief or form == "markdown" or doubtful or judgement.is_noted or not standard.met_by(judgement)

    def paint(verdict: str) -> str:
        word = padded(explainer.words.verdicts[verdict], VERDICT)
        return word.join(COLOURS[verdict] if style.colour else ("", ""))

    lang = style.lang or lang_of(files)
    with template_errors(style.template):
        explainer = Explainer(style.template, lang, hints=style.hints)
        names = {
            "files": () if moves is not None and style.brief else files,
            "shown": shown,
            "ordered": lambda file: sorted(file.judgements, key=standard.met_by),
            "verbose": not style.brief,
            "standard": standard,
            "explain": explainer,
            "last": explainer.last(files),
            "moves": moves,
            "gone": gone,
            "titled": style.heading > 0,
            "paint": paint,
            "place": lambda file, at: _place(file or explainer.words.unnamed, at),
            "folded": lambda line, indent: "\n".join(fold(line, style.width, " " * indent)),
            "elided": lambda text: text if len(text) <= LONGEST_CLAIM else text[: LONGEST_CLAIM - 4] + " ...",
            "printable": printable,
            "escaped": lambda text: text.translate(ESCAPED),
        }
        return render(REPORTS[form], style.template, lang, names).lstrip("\n")


def lang_of(files: Iterable[FileReport]) -> str:
    """The language that all files ask for, where they agree on one."""
    langs = {file.lang for file in files}
    return (langs.pop() if len(langs) == 1 else None) or USUAL_LANGUAGE


def _place(file: str, judgement: Judgement | Skipped) -> str:
    parts = [str(part) for part in (judgement.line, judgement.column) if part is not None]
    return printable(":".join((file, *parts)) if judgement.line is not None else file)
