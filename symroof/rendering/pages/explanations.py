"""A judgement in words: the claim as it was read, what it should say, what it needs, where it fails, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from symroof.errors import SymroofError
from symroof.formula import Both, Compare, Formula, Infinity, Name, Number
from symroof.reading.claims import Claim
from symroof.rendering.formulas.decimals import short
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.amounts import digits, percent, quantity, sizes
from symroof.rendering.pages.environment import load
from symroof.rendering.pages.pen import Sentences
from symroof.verification.enclosures import enclosed, is_numeric
from symroof.verification.judgement import Counterexample, Finding, Judgement, Remark

Label = tuple[str, list[str]]


class Explainer:
    """The words of reports, from the templates of a folder; formulas are in claim syntax."""

    def __init__(self, template: str | None = None) -> None:
        self.print = PlainPrinter().print
        names = {"m": self.print, "decimal": short, "percent": percent, "digits": digits, "chain": self.chain}
        self.remarks = Sentences(load("remarks.j2", template, names))
        self.say = Sentences(load("report.j2", template, {}))

    def chain(self, names: Iterable[Formula]) -> str:
        return " = ".join(map(self.print, names))

    def remark(self, remark: Remark) -> str:
        return self.remarks(remark.kind, dict(remark.facts))

    def claim(self, judgement: Judgement) -> str:
        """The claim in claim syntax, in the order and with the names of its author."""
        if judgement.statement is None or not any(mark in judgement.claim for mark in ("\\", "{", "\n")):
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
        if value is None:
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
            return f"{self.print(link.left)} {link.relation} {self.shown(value, finding.unit)}"
        return self.shown(value)

    def shown(self, value: Formula, unit: str = "") -> str:
        number = value_of(value)
        if number is None:
            return self.print(value)
        if unit == "s":
            return quantity(number, unit)
        return f"{short(number, 6)} {unit if isinstance(value, Number) else ''}".rstrip()

    def fails(self, finding: Finding, at: Counterexample) -> list[str]:
        """Where the claim fails, and what its two sides are there."""
        where, left, right = sizes(at.values), at.left, at.right
        if isinstance(left, bool) and len(at.parts) == 2:
            (_, x, _), (_, y, _) = at.parts
            first, second = (f"{self.print(side)} = {quantity(value, unit)}" for side, value, unit in at.parts)
            sign = ">" if x > y else "<" if x < y else "="
            return [self.say("of_times", where, first, sign, second), self.say("said_of_times", right == left)]
        if isinstance(left, bool):
            return [self.say("of_conditions", where, left, right)]
        if isinstance(left, Fraction) and isinstance(right, Fraction):
            ordered = isinstance(finding.link, Compare) and finding.link.relation in ("<", "<=", ">", ">=")
            both = (quantity(value, finding.unit) for value in (left, right))
            return [self.say("of_order" if ordered else "of_values", where, *both)]
        return [self.say("of_truth", where)]

    def labels(self, judgement: Judgement) -> list[Label]:
        """The explanation of a judgement, line by line."""
        finding = judgement.worst
        if finding is None:
            return [("why", judgement.error.split("\n"))] if judgement.error else []
        if judgement.verdict == "conditional":
            return list(self._conditional(finding, judgement))
        return list(self._wrong(finding, judgement)) if judgement.verdict in ("wrong", "undecided") else []

    def _conditional(self, finding: Finding, judgement: Judgement) -> Iterator[Label]:
        yield "needs", [self.say("needs", [self.regime(r, " and ") for r in finding.needs], judgement.line)]
        yield from (("without", [self.remark(r)]) for r in finding.remarks if r.kind == "at_equal")
        exact = finding.value if finding.leaves is not None else None
        yield "fix", [self.say("fix", self.regime(finding.needs[0]), exact and self.print(exact))]

    def _wrong(self, finding: Finding, judgement: Judgement) -> Iterator[Label]:
        right = self.right(finding, judgement) if judgement.verdict == "wrong" else None
        if right and not _says_nothing(right, self.print(finding.link)):
            yield "right", [right]
        if finding.counterexample is not None:
            yield "try", self.fails(finding, finding.counterexample)
        explained = ("deviation", "quotient_tends") if finding.diagnosis is not None else ()
        yield from (("why", [self.remark(r)]) for r in finding.remarks if r.kind not in explained)
        if finding.diagnosis is not None:
            yield "mistake", [self.remark(finding.diagnosis)]

    def asides(self, judgement: Judgement) -> list[str]:
        """What there is to say of a good claim, in a few words."""
        remarks = (r for finding in judgement.findings for r in finding.remarks if r.kind != "at_equal")
        return list(dict.fromkeys(map(self.remark, remarks)))


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
