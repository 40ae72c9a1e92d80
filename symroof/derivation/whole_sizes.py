"""Conditions on one size by numbers, as what they leave of it: a union of spans, each from one number to another; and the
whole numbers in them: what a size comes in, and what the chips of an axis share out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import reduce
from math import gcd, lcm
from typing import NamedTuple, TypeAlias

from sympy import Expr

from symroof.algebra.roots import Root, whole_number
from symroof.derivation.drafts import as_number
from symroof.derivation.premises import Setting
from symroof.derivation.size_constraints import ring_steps
from symroof.formula import Both, Compare, Either, Formula, Name, Number, Product, Verdict, names, nodes, number
from symroof.model.splits import shares_of, stride
from symroof.proof.bounds_and_decimals import WholeBounds
from symroof.proof.step import Reason, Step
from symroof.proof.whole_numbers import LARGEST
from symroof.symbols import expression, rational

Write: TypeAlias = Callable[["Expr | int | Fraction"], Formula]


class Span(NamedTuple):
    """What lies between two numbers, with each of them or without; above 0, and up to any size without a ``high``."""

    low: Fraction = Fraction(0)
    closed_low: bool = False
    high: Fraction | None = None
    closed_high: bool = False

    def within(self, other: Span) -> Span:
        """What both leave."""
        low, closed_low = max((s.low, not s.closed_low) for s in (self, other))
        ends = [(s.high, s.closed_high) for s in (self, other) if s.high is not None]
        high, closed_high = min(ends) if ends else (None, False)
        return Span(low, not closed_low, high, closed_high)

    @property
    def empty(self) -> bool:
        return self.high is not None and (
            self.low > self.high or (self.low == self.high and not (self.closed_low and self.closed_high))
        )

    def reaches(self, later: Span) -> bool:
        """Whether nothing lies between this one and one that begins later."""
        if self.high is None or later.low < self.high:
            return True
        return later.low == self.high and (self.closed_high or later.closed_low)


Spans: TypeAlias = tuple[Span, ...]


def spans_of(condition: Formula, size: str) -> Spans | None:
    """What a condition leaves of a size; None where it speaks of more than that and numbers.

    >>> from symroof.formula import number
    >>> b = Name("B")
    >>> both = Both((Compare(b, ">", number(9)), Compare(b, "<=", number(4))))
    >>> spans_of(both, "B"), [int(s.low) for s in spans_of(Compare(b, ">", number(9)), "B")]
    ((), [9])
    """
    if isinstance(condition, Verdict):
        return (Span(),) if condition.holds else ()
    if isinstance(condition, Both | Either):
        parts = [spans_of(part, size) for part in condition.parts]
        decided = [part for part in parts if part is not None]
        if len(decided) < len(parts):
            return None
        return reduce(_both, decided) if isinstance(condition, Both) else _any(decided)
    if not isinstance(condition, Compare) or condition.left != Name(size) or names(condition.right):
        return None
    edge, closed = as_number(expression(condition.right)), "=" in condition.relation
    if edge is None or condition.relation not in ("<", "<=", ">", ">=", "="):
        return None
    below = Span(high=edge, closed_high=closed)
    above = Span(edge, closed) if edge > 0 else Span()
    spans = {">": above, "<": below, "=": below.within(above)}[condition.relation[0]]
    return () if spans.empty else (spans,)


def _both(first: Spans, other: Spans) -> Spans:
    return _any([[a.within(b)] for a in first for b in other])


def _any(parts: Iterable[Iterable[Span]]) -> Spans:
    """All that one of several leaves, in order."""
    result: list[Span] = []
    for span in sorted((s for part in parts for s in part if not s.empty), key=lambda s: (s.low, not s.closed_low)):
        if result and result[-1].reaches(span):
            ends = [(s.high is None, s.high or Fraction(0), s.closed_high) for s in (result[-1], span)]
            open_, high, closed = max(ends)
            result[-1] = result[-1]._replace(high=None if open_ else high, closed_high=closed)
        else:
            result.append(span)
    return tuple(result)


def ranges(spans: Spans, size: str, write: Write, *, least: int = 0) -> Formula:
    """The same as a condition; of a size that is ``least`` at least, without what that says already."""
    domain = (Span(Fraction(least), True),) if least else (Span(),)
    left = _both(spans, domain)
    parts = tuple(_span_formula(span, Name(size), write, domain[0]) for span in left)
    if not parts or left == domain:
        return Verdict(bool(parts))
    return parts[0] if len(parts) == 1 else Either(parts)


def _span_formula(span: Span, x: Name, write: Write, domain: Span) -> Formula:
    if span.low == span.high:
        return Compare(x, "=", write(span.low))
    ends: list[Formula] = []
    if span[:2] != domain[:2]:
        ends.append(Compare(x, ">=" if span.closed_low else ">", write(span.low)))
    if span.high is not None:
        ends.append(Compare(x, "<=" if span.closed_high else "<", write(span.high)))
    return ends[0] if len(ends) == 1 else Both(tuple(ends))


def whole_spans(spans: Spans, last: Callable[[str, Fraction], int | None]) -> Spans | None:
    """The same from one whole number to another, of those that ``last`` finds beyond and below a number; None where it finds
    nothing out."""
    result: list[Span] = []
    for span in spans:
        low = last(">=" if span.closed_low else ">", span.low)
        high = None if span.high is None else last("<=" if span.closed_high else "<", span.high)
        if low is None or (high is None and span.high is not None):
            return None
        if low == 0 or high == 0 or (high is not None and low > high):
            continue
        ends = Span(Fraction(low), True, None if high is None else Fraction(high), high is not None)
        before: Sequence[Span] = result[-1:]
        if before and before[0].high is not None and last(">", before[0].high) == low:  # no whole number lies between
            result[-1] = before[0]._replace(high=ends.high, closed_high=ends.closed_high)
        else:
            result.append(ends)
    return tuple(result)


class Wholes(NamedTuple):
    """The whole numbers that a size may be: multiples of ``each``; and those that divide ``within``, which is what the
    ``sizes`` have in common that its chips share out. None divides 0."""

    each: int = 1
    sizes: tuple[str, ...] = ()
    within: int = 0

    def last(self, relation: str, bound: Expr | Root) -> int | None:
        """The one next to a bound on its side; 0 where no chips leave one, None where that is open or no chips are asked."""
        if self.sizes and not 0 < self.within <= LARGEST:
            return None if self.within else 0
        result = whole_number(relation, bound, self.each, self.within)
        return result or (None if self == Wholes() else result)

    @property
    def names(self) -> tuple[Name, ...]:
        return tuple(map(Name, self.sizes))


def counts_chips(relation: Formula | None, name: str) -> bool:
    """Whether a name multiplies a capacity: it is a number of chips, or of servers of them."""
    products = () if relation is None else (node for node in nodes(relation) if isinstance(node, Product))
    return any(Name(name) in node.factors and "capacity" in str(names(node)) for node in products)


def wholes(setting: Setting, variable: str, point: int | None = None) -> Wholes:
    """A size comes in multiples of the mesh axes that it is split over, as they are at a set of sizes, and those that equal
    it; the chips of an axis in those that close to a ring and share out evenly what it splits."""
    operation, mesh = setting.problem.operation, setting.problem.mesh
    equal = ((r.left, r.right) for r in setting.equalities)
    sizes = {x.name: n.value for x, n in equal if isinstance(x, Name) and isinstance(n, Number)}
    sizes |= {} if point is None else setting.problem.at[point]
    same = (r.left.name for r in setting.equalities if r.right == Name(variable) and isinstance(r.left, Name))
    names, rings = (variable, *same), ring_steps(setting.problem)
    each = lcm(*(stride(operation, mesh, name, sizes) * rings.get(name, 1) for name in names))
    shared = [part for name in names if name in mesh for part in shares_of(operation, mesh, name, sizes)]
    within = 0 if any(part.denominator > 1 for _, part in shared) else gcd(*(int(part) for _, part in shared))
    return Wholes(each, tuple(sorted({name for name, _ in shared})), within)


def whole_step(section: str, left: Compare, edge: Expr | Root, of: Wholes) -> Step | None:
    """A bound on a size in whole numbers: ``>=`` or ``<=`` the last one, or that there is none; nothing where that is open."""
    last = None if left.relation == "=" else of.last(left.relation, edge)
    if last is None:
        return None
    right = Compare(left.left, left.relation[0] + "=", number(last)) if last else Verdict(False)
    return Step(section, Reason.WHOLE, left, "<=>", right, (), WholeBounds(of.each, of.names))


def whole_condition(
    section: str, left: Formula, size: str, of: Wholes, write: Callable[[Expr | int], Formula]
) -> Step | None:
    """A condition on a size by numbers in whole numbers, or that there is none; nothing where that is open."""
    spans = spans_of(left, size)
    left_of = None if spans is None else whole_spans(spans, lambda relation, end: of.last(relation, rational(end)))
    if left_of is None:
        return None
    return Step(section, Reason.WHOLE, left, "<=>", ranges(left_of, size, write), (), WholeBounds(of.each, of.names))
