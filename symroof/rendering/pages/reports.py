"""Reports on claims: for a terminal, as Markdown, as annotations for continuous integration, as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from symroof.errors import RenderingError, SymroofError, printable
from symroof.formula import Both, Compare, Formula, Infinity, Name, Number
from symroof.reading.claims import Claim
from symroof.reading.exercises import VERDICTS
from symroof.rendering.formulas.letters import Letters
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.amounts import digits, percent, quantity, short, sizes
from symroof.rendering.pages.environment import guarded, load, render
from symroof.verification.enclosures import enclosed, is_numeric
from symroof.verification.files import Moved
from symroof.verification.judgement import GOOD, FileReport, Finding, Judgement, Remark

REPORTS = {"text": "report.txt.j2", "markdown": "report.md.j2", "github": "report.github.j2"}
LONGEST_CLAIM = 120
# GitHub's workflow commands end at a new line, and use these marks themselves.
ESCAPED = {"%": "%25", "\r": "%0D", "\n": "%0A"}


class _Page:
    def __init__(self, template: str | None) -> None:
        self.printer = PlainPrinter(Letters())
        self.remarks = load(
            "remarks.j2",
            template,
            {"m": self.printer.print, "decimal": short, "percent": percent, "digits": digits, "chain": self.chain},
        )

    def chain(self, names: Iterable[Formula]) -> str:
        return " = ".join(self.printer.print(name) for name in names)

    def say(self, remark: Remark) -> str:
        text: str = getattr(self.remarks, remark.kind)(dict(remark.facts))
        return " ".join(text.split())

    def claim(self, judgement: Judgement) -> str:
        """The claim in claim syntax, in the order and with the names of its author."""
        if judgement.statement is None or not any(mark in judgement.claim for mark in ("\\", "{", "\n")):
            return " ".join(judgement.claim.split())
        return self.statement(judgement.statement)

    def statement(self, claim: Claim) -> str:
        propositions = [" and ".join(self._chain(chain) for chain in proposition) for proposition in claim.propositions]
        text = propositions[0] + "".join(f" {c} {p}" for c, p in zip(claim.connectives, propositions[1:], strict=True))
        return text + (f" as {self.regime(claim.regime)}" if claim.regime else "")

    def _chain(self, chain: Any) -> str:
        sides = [self.printer.print(side) for side in chain.sides]
        return sides[0] + "".join(
            f" {relation} {side}" for relation, side in zip(chain.relations, sides[1:], strict=True)
        )

    def regime(self, relations: Iterable[Compare], joiner: str = ", ") -> str:
        return joiner.join(
            f"{self.printer.print(r.left)} {r.relation} {'oo' if isinstance(r.right, Infinity) else self.printer.print(r.right)}"
            for r in relations
        )

    def needs(self, finding: Finding) -> str:
        either = [self.regime(relations, " and ") for relations in finding.needs]
        return "either " + ", or ".join(either) if len(either) > 1 else either[0]

    def right(self, finding: Finding, judgement: Judgement) -> str | None:
        """What the claim should say."""
        value = finding.value
        if value is None:
            return None
        if isinstance(value, Compare):
            edge = value.right
            text = f"{self.printer.print(value.left)} {value.relation} {self.shown(edge)}"
            number = _value_of(edge)
            if number is not None and isinstance(value.left, Name) and value.relation == ">" and number >= 1:
                text += f", so {value.left.name} >= {number.numerator // number.denominator + 1}"
            assumed = [r for r in judgement.assumed if r.relation in ("<<", "->", "~", "~~")]
            return text + (f"    assuming {self.regime(assumed)}" if assumed else "")
        link = finding.link
        if isinstance(link, Compare) and link.relation in ("=", "~", "->"):
            return f"{self.printer.print(link.left)} {link.relation} {self.shown(value, finding.unit)}"
        return self.shown(value)

    def shown(self, value: Formula, unit: str = "") -> str:
        number = _value_of(value)
        if number is None:
            return self.printer.print(value)
        return (
            quantity(number, unit)
            if unit == "s"
            else f"{short(number, 6)} {unit if isinstance(value, Number) else ''}".rstrip()
        )

    def counterexample(self, finding: Finding) -> list[str]:
        found = finding.counterexample
        if found is None:
            return []
        where = sizes(found.values)
        if isinstance(found.left, bool):
            if len(found.parts) == 2:
                sign = (
                    ">"
                    if found.parts[0][1] > found.parts[1][1]
                    else "<"
                    if found.parts[0][1] < found.parts[1][1]
                    else "="
                )
                (a, x, unit), (b, y, other) = found.parts
                both = f"{self.printer.print(a)} = {quantity(x, unit)} {sign} {self.printer.print(b)} = {quantity(y, other)}"
                return [f"{where}: {both};", f"the claim says {'so' if found.right == found.left else 'the opposite'}"]
            return [
                f"{where}: the left condition is {str(found.left).lower()}, the right one {str(found.right).lower()}"
            ]
        if isinstance(found.left, Fraction) and isinstance(found.right, Fraction):
            if isinstance(finding.link, Compare) and finding.link.relation in ("<", "<=", ">", ">="):
                return [f"{where}: {quantity(found.left, finding.unit)} against {quantity(found.right, finding.unit)}"]
            return [
                f"{where}: {quantity(found.left, finding.unit)}, the claim says {quantity(found.right, finding.unit)}"
            ]
        return [f"{where}: it is false there"]

    def labels(self, judgement: Judgement) -> list[tuple[str, list[str]]]:
        """The explanation of a judgement, line by line."""
        finding = judgement.worst
        if finding is None:
            return [("why", judgement.error.split("\n"))] if judgement.error else []
        rows: list[tuple[str, list[str]]] = []
        if judgement.verdict == "conditional":
            rows.append(
                (
                    "needs",
                    [
                        self.needs(finding)
                        + (f", which line {judgement.line} does not say" if judgement.line else ", which is not said")
                    ],
                )
            )
            rows += [("without", [self.say(r)]) for r in finding.remarks if r.kind == "at_equal"]
            regime = self.regime(finding.needs[0])
            exact = (
                f", or write {self.printer.print(finding.value)}, which is exact"
                if finding.leaves is not None and finding.value is not None
                else ""
            )
            rows.append(("fix", [f'say "when {regime}"{exact}']))
            return rows
        if judgement.verdict in ("wrong", "undecided"):
            right = self.right(finding, judgement) if judgement.verdict == "wrong" else None
            if right and right.replace(" ", "") not in (
                self.printer.print(finding.link).replace(" ", ""),
                _both_sides_same(right),
            ):
                rows.append(("right", [right]))
            tries = self.counterexample(finding)
            if tries:
                rows.append(("try", tries))
            told = finding.diagnosis is not None
            rows += [
                ("why", [self.say(r)])
                for r in finding.remarks
                if not (told and r.kind in ("deviation", "quotient_tends"))
            ]
            if finding.diagnosis is not None:
                rows.append(("mistake", [self.say(finding.diagnosis)]))
        return rows

    def aside(self, judgement: Judgement) -> str:
        """What there is to say of a good claim, in a few words."""
        parts = [self.say(r) for f in judgement.findings for r in f.remarks if r.kind != "at_equal"]
        links = [f"{len(judgement.findings)} links"] if len(judgement.findings) > 1 else []
        return "; ".join((*links, *dict.fromkeys(parts)))


def render_report(
    files: tuple[FileReport, ...],
    form: str,
    *,
    verbose: bool = False,
    strict: bool = False,
    moves: tuple[Moved, ...] | None = None,
    template: str | None = None,
) -> str:
    """The report on some files. ``verbose`` shows good claims and skipped formulas as well."""
    if form not in REPORTS:
        raise RenderingError(f"unknown format {form!r}", expected=f"one of {', '.join(REPORTS)}, json")
    with guarded():
        page = _Page(template)
        entries = [_file(file, page, form, verbose, strict) for file in files] if moves is None or verbose else []
        names = {
            "files": entries,
            "last": last_line(files),
            "moves": None if moves is None else [_move(move, page) for move in moves],
        }
        names["moved_line"] = (
            None
            if moves is None
            else f"{len(moves)} claim{'s' if len(moves) != 1 else ''} move{'s' if len(moves) == 1 else ''} under the other figures."
        )
        return render(REPORTS[form], template, names).lstrip("\n")


def _file(file: FileReport, page: _Page, form: str, verbose: bool, strict: bool) -> dict[str, Any]:
    shown = [j for j in file.judgements if verbose or form == "markdown" or _worth_showing(j, strict)]
    nothing = None
    if file.error is None and not file.judgements:
        seen = f"{file.formulas} formula{'s' if file.formulas != 1 else ''}, {file.notes or 'no'} symroof comment{'s' if file.notes > 1 else ''}"
        nothing = seen if file.kind == "document" else "no claims in it"
    skips = [
        {"place": f"{file.file}:{s.line}:{s.column}", "text": _elided(printable(s.text)), "reason": printable(s.reason)}
        for s in file.skipped
    ]
    return {
        "name": file.file,
        "escaped": _escaped(file.file),
        "entries": [_entry(file, judgement, page) for judgement in shown],
        "skips": skips if verbose else [],
        "nothing": nothing,
        "error": None if file.error is None else _escaped(printable(file.error)),
    }


def _worth_showing(judgement: Judgement, strict: bool) -> bool:
    return (
        not judgement.good
        or (judgement.verdict == "conditional" and judgement.expect is None)
        or (strict and judgement.verdict == "conditional")
    )


def _entry(file: FileReport, judgement: Judgement, page: _Page) -> dict[str, Any]:
    claim = printable(page.claim(judgement))
    labels = [] if judgement.expect == judgement.verdict else page.labels(judgement)
    expected = [("expect", [f"{judgement.expect} was expected"])] if judgement.expect and not judgement.good else []
    labels = [(label, [printable(line) for line in lines]) for label, lines in (*expected, *labels)]
    aside = page.aside(judgement) if judgement.verdict in GOOD and judgement.verdict != "conditional" else ""
    if judgement.expect == judgement.verdict:
        aside = "as expected" + (f"; {aside}" if aside else "")
    brief = aside or "; ".join(
        " ".join(lines) for label, lines in labels if label in ("right", "needs", "mistake", "why")
    )
    annotation = f"{claim}" + "".join(f"\n{label}: {' '.join(lines)}" for label, lines in labels)
    return {
        "place": _place(file.file, judgement),
        "file": _escaped(file.file),
        "line": judgement.line,
        "column": judgement.column,
        "verdict": judgement.verdict,
        "claim": _elided(claim),
        "aside": aside,
        "labels": labels,
        "brief": brief.replace("|", "\\|"),
        "good": judgement.good,
        "annotation": _escaped(annotation),
    }


def _move(move: Moved, page: _Page) -> dict[str, str]:
    return {
        "place": _place(move.file, move.before),
        "claim": _elided(printable(page.claim(move.before))),
        "before": _state(move.before, page),
        "after": _state(move.after, page),
    }


def _state(judgement: Judgement, page: _Page) -> str:
    """A verdict with the right value beside it."""
    finding = judgement.worst
    values = [page.right(f, judgement) for f in judgement.findings if f.value is not None]
    right = next((value for value in values if value), None)
    if finding is not None and finding.value is not None:
        right = page.right(finding, judgement)
    return judgement.verdict + (f"    {right}" if right else "")


def _place(file: str, judgement: Judgement) -> str:
    parts = [str(part) for part in (judgement.line, judgement.column) if part is not None]
    return printable(":".join((file, *parts))) if judgement.line is not None else printable(file)


def _elided(text: str) -> str:
    return text if len(text) <= LONGEST_CLAIM else text[: LONGEST_CLAIM - 4] + " ..."


def _escaped(text: str) -> str:
    for mark, code in ESCAPED.items():
        text = text.replace(mark, code)
    return text


def last_line(files: Iterable[FileReport]) -> str:
    """The summary: how many claims of each verdict, what was read beside them, and what was not judged."""
    files = tuple(files)
    counts = {verdict: sum(file.counts[verdict] for file in files) for verdict in VERDICTS}
    total = sum(counts.values())
    words = {"holds": "hold" if counts["holds"] != 1 else "holds"}
    told = ", ".join(f"{n} {words.get(verdict, verdict)}" for verdict, n in counts.items() if n)
    expected = sum(j.good and j.expect is not None and j.verdict not in GOOD for file in files for j in file.judgements)
    text = f"{total} claim{'s' if total != 1 else ''}" + (f": {told}" if told else "") + "."
    if expected:
        text += f"  {expected} as expected."
    documents = [file for file in files if file.kind == "document" and file.error is None]
    if documents:
        notes, skipped = sum(f.notes for f in documents), sum(len(f.skipped) for f in documents)
        text += f"  {notes} comment{'s' if notes != 1 else ''} read, {skipped} formula{'s' if skipped != 1 else ''} skipped."
    if len(files) > 1:
        text += f"  {len(files)} files."
    return text


def _both_sides_same(text: str) -> str | None:
    """The text where it says of something that it is itself."""
    left, sign, right = text.replace(" ", "").partition("=")
    return text.replace(" ", "") if sign and left == right else None


def _value_of(formula: Formula) -> Fraction | None:
    """The number that a formula without names is, where it is one."""
    if isinstance(formula, Number):
        return formula.value
    if isinstance(formula, Compare | Both) or not is_numeric(formula):
        return None
    try:
        return enclosed(formula).middle
    except SymroofError:
        return None
