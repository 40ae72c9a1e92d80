"""The bound of a condition: P solved for the unknown of Q, and compared with what Q says.

For Q = ``2B > 486`` the unknown is B, and P is solved for B; its bound is put into 2B and compared with 486: exactly,
as whole numbers, by the rounding rule; in the stated regime, or in one that is inferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

from sympy import Expr, oo

from symroof.algebra.dominance import limit
from symroof.algebra.inequality import solve_condition
from symroof.algebra.optima import monotony
from symroof.algebra.rational import cancelled, monomial, ratio, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.algebra.roots import Root
from symroof.algebra.threshold import Threshold
from symroof.errors import AlgebraError
from symroof.formula import Compare, Formula, Infinity, Name, Number, names
from symroof.symbols import expression, fraction, rational, symbol
from symroof.verification.context import Context
from symroof.verification.digits import bare
from symroof.verification.growth import near, regime_of
from symroof.verification.judgement import Finding, Remark
from symroof.verification.literals import ORDER, printed_digits, rounded_remark
from symroof.verification.numbers import Enclosure, enclosed, is_numeric

UP = (">", ">=")
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Unknown:
    """Q as ``side relation bound`` with the bound of P: P is x > ``edge`` where ``rises``, else x < ``edge``."""

    x: Expr
    side: Expr
    relation: str
    claimed: Formula
    printed: Formula
    solved: Threshold
    edge: Expr | Root
    connective: str

    @property
    def same_direction(self) -> bool:
        return self.solved.rises == (self.relation in UP)

    def of_side(self) -> Expr | Root:
        """The left side of Q at the edge."""
        if isinstance(self.edge, Root):
            return self.edge if self.side == self.x else Root(*_ordered(self.side, self.x, self.edge))
        value = self.side.subs(self.x, self.edge)
        return cancelled(value) if value.is_rational_function() else value

    def points(self) -> Iterator[dict[str, Fraction]]:
        """Sizes at which the two bounds may part."""
        edge = self.edge
        if isinstance(edge, Root) or edge.is_Rational:
            middle = edge.middle if isinstance(edge, Root) else fraction(edge)
            for value in (middle, Fraction(floor(middle)), Fraction(ceil(middle)), middle * 3 / 4, middle * 3 / 2):
                yield {self.x.name: value}

    def right_value(self, context: Context) -> Formula | None:
        """P solved for x, as it should read."""
        regime = _holding(regime_of(context), self.x)
        edge = self.edge
        if not isinstance(edge, Root) and not edge.is_Rational and edge.is_rational_function() and regime.scaling:
            tends = limit(edge, regime)
            edge = tends if tends is not None and tends != oo and tends != 0 else edge
        if self.solved.outcome != "depends":
            return None
        return Compare(Name(self.x.name), ">" if self.solved.rises else "<", context.layout.write(edge))


def _ordered(side: Expr, x: Expr, edge: Root) -> tuple[Fraction, Fraction]:
    ends = [fraction(side.subs(x, rational(end))) for end in (edge.low, edge.high)]
    return min(ends), max(ends)


def unknown_of(left: Formula, right: Formula, q: Formula, context: Context) -> Unknown | None:
    """P solved for the unknown of Q, where Q is one order with a rising left side; None where it is not."""
    if not (isinstance(left, Compare) and isinstance(right, Compare) and isinstance(q, Compare)):
        return None
    if left.relation not in ORDER or right.relation not in ORDER:
        return None
    side, relation, bound, printed = right.left, right.relation, right.right, q.right
    if is_numeric(side):
        side, relation, bound, printed = bound, MIRRORED[relation], side, q.left
    value = expression(side)
    least_one = frozenset(map(symbol, context.least_one))
    for x in _unknowns(side, expression(bound)):
        if not value.is_rational_function() or monotony(value, x, least_one) not in (1, -1):
            continue
        way = monotony(value, x, least_one)
        lhs, rhs = (left.left, left.right) if left.relation in UP else (left.right, left.left)
        rows = solve_condition(expression(lhs), expression(rhs), x, least_one)
        solved = _single(rows)
        if solved is None or solved.bound is None:
            continue
        return Unknown(x, value, relation if way == 1 else MIRRORED[relation], bound, printed, solved, solved.bound, "<=>")
    return None


def _unknowns(side: Formula, bound: Expr) -> Iterator[Expr]:
    """The symbols of the left side that the right side does not have, in the order of the claim."""
    for name in names(side):
        if symbol(name) not in bound.free_symbols:
            yield symbol(name)


def _single(rows: tuple[tuple[Threshold, ...], ...]) -> Threshold | None:
    """The one threshold of a condition; of several that all hold, or of which one holds, the one that decides."""
    if len(rows) == 1:
        deciding = [t for t in rows[0] if t.outcome != "always"]
        return deciding[0] if len(deciding) == 1 else None
    deciding = [row[0] for row in rows if len(row) == 1 and row[0].outcome != "never"]
    return deciding[0] if len(deciding) == 1 and all(len(row) == 1 for row in rows) else None


def by_bound(link: Compare, unknown: Unknown, context: Context) -> Finding | None:
    """(ii) to (iv): the bounds compared in the stated regime."""
    if not unknown.same_direction:
        return None
    found = _agreeing(link, unknown, _holding(regime_of(context), unknown.x), context)
    return None if found is None else replace(found, value=unknown.right_value(context))


def by_inferred_bound(link: Compare, unknown: Unknown, context: Context) -> Finding | None:
    """The bounds compared in a regime that nobody stated, with no relation too many."""
    stated = _holding(regime_of(context), unknown.x)
    if not unknown.same_direction:
        return None
    for relations in _possible_regimes(unknown, stated):
        joined = Regime((*stated.relations, *relations), stated.least_one)
        found = _agreeing(link, unknown, joined, context)
        if found is None:
            continue
        kept = list(relations)
        for relation in relations:
            fewer = tuple(r for r in kept if r != relation)
            if fewer and _agreeing(link, unknown, Regime((*stated.relations, *fewer), stated.least_one), context):
                kept = list(fewer)
        needs = tuple(_released(r, unknown.x, context) for r in kept)
        return replace(found, verdict="conditional", needs=(needs,), value=unknown.right_value(context))
    return None


def _holding(regime: Regime, x: Expr) -> Regime:
    """The regime with x held constant: B << D becomes D -> oo."""
    held: list[Relation] = []
    for left, relation, right in regime.relations:
        if relation in ("<=", ">="):
            held.append((left, relation, right))
            continue
        left, right = left.subs(x, 1), right if right == oo else right.subs(x, 1)
        if left == 1 and right != oo and right.free_symbols:
            held.append((right, "->", oo))
        elif left.free_symbols and (right == oo or right.free_symbols):
            held.append((left, relation, right))
    return Regime(tuple(dict.fromkeys(held)), regime.least_one)


def _released(relation: Relation, x: Expr, context: Context) -> Compare:
    """What was assumed with x held constant, as a relation to x: D -> oo becomes B << D."""
    left, sign, right = relation
    write = context.layout.write
    if sign == "->" and x in regime_symbols(context):
        return Compare(Name(x.name), "<<", write(left))
    return Compare(write(left), sign, Infinity() if right == oo else write(right))


def regime_symbols(context: Context) -> frozenset[Expr]:
    return frozenset(map(symbol, context.least_one))


def _agreeing(link: Compare, unknown: Unknown, regime: Regime, context: Context) -> Finding | None:
    """Whether the edge, put into the left side of Q, is the claimed bound in this regime."""
    value = unknown.of_side()
    if isinstance(value, Root):
        return _number(link, unknown, Enclosure(value.low, value.high), context)
    if value.is_Rational:
        return _number(link, unknown, Enclosure(fraction(value), fraction(value)), context)
    if is_numeric(unknown.claimed):
        if not value.free_symbols:
            return _number(link, unknown, enclosed(context.layout.write(value)), context)
        if not regime.scaling or not value.is_rational_function():
            return None
        tends = limit(value, regime)
        if tends is None or not tends.is_Rational or tends <= 0 or near(value, tends, context, regime) is None:
            return None
        return _number(link, unknown, Enclosure(fraction(tends), fraction(tends)), context, by="certificate")
    claimed = expression(unknown.claimed)
    if not regime.scaling or not (claimed.is_rational_function() and value.is_rational_function()):
        return None
    by = near(value, claimed, context, regime)
    return None if by is None else Finding(link, "holds", by)


def _number(link: Compare, unknown: Unknown, true: Enclosure, context: Context, by: str = "exact numbers") -> Finding | None:
    """The true bound and the claimed one as numbers: equal, the same whole numbers, or rounded."""
    if not is_numeric(unknown.claimed) or true.low <= 0:
        return None
    claimed = enclosed(unknown.claimed)
    at_edge = unknown.solved.cases[0].guard == () and by == "exact numbers"
    if true.exact and claimed == true:
        strict = unknown.relation in "<>"
        return Finding(link, "holds", by) if strict or not at_edge else None
    whole = _whole(unknown, true, claimed, context)
    if whole is not None:
        return Finding(link, "holds", by, remarks=(whole,))
    printed = printed_digits(Compare(Number(Fraction(0)), "=", unknown.printed), true, unknown.printed, context)
    if printed is not None and isinstance(bare(unknown.printed), Number):
        return Finding(link, "rounded", by, remarks=(rounded_remark(printed, true),))
    return None


def _whole(unknown: Unknown, true: Enclosure, claimed: Enclosure, context: Context) -> Remark | None:
    """Whether both bounds leave the same whole numbers, where the unknown is a size and the claimed bound is whole."""
    x = unknown.x
    if x.name not in context.least_one or claimed.low.denominator != 1 or not claimed.exact:
        return None
    symbols = symbols_of(unknown.side)
    above, below = ratio(unknown.side, symbols)
    if symbols != (x,) or set(above) != {(1,)} or set(below) != {(0,)}:
        return None
    slope = above[(1,)] / below[(0,)]
    ends = [(e.low / slope, e.high / slope) for e in (true, claimed)]
    first = []
    for (low, high), strict in zip(ends, (True, unknown.relation in "<>"), strict=True):
        if unknown.relation in UP:
            found = {floor(e) + 1 if strict else ceil(e) for e in (low, high)}
        else:
            found = {ceil(e) - 1 if strict else floor(e) for e in (low, high)}
        if len(found) > 1:
            return None
        first.append(found.pop())
    if first[0] != first[1]:
        return None
    return Remark("whole", {"variable": Name(x.name), "first": first[0], "rises": unknown.relation in UP, "value": true.middle})


def _possible_regimes(unknown: Unknown, stated: Regime) -> Iterator[tuple[Relation, ...]]:
    """Regimes, with x constant, in which one term of the bound leads: those that could make the claim true."""
    value = unknown.of_side()
    if isinstance(value, Root) or not value.free_symbols or not value.is_rational_function():
        return
    symbols = symbols_of(value)
    sizes = [s for s in symbols if s != unknown.x]
    seen = set()
    above, below = ratio(value, symbols)
    for terms in (below, above):
        for leading in terms:
            relations = []
            for other in terms:
                if other == leading:
                    continue
                shared = tuple(map(min, leading, other))
                small = monomial((a - s for a, s in zip(other, shared, strict=True)), symbols)
                large = monomial((a - s for a, s in zip(leading, shared, strict=True)), symbols)
                relations.append((large, "->", oo) if small == 1 else (small, "<<", large))
            kept = tuple(dict.fromkeys(r for r in relations if r[0].free_symbols and (r[2] == oo or r[2].free_symbols)))
            if not kept or kept in seen:
                continue
            seen.add(kept)
            try:
                Regime((*stated.relations, *kept), stated.least_one)
            except AlgebraError:
                continue
            yield kept
    whole = tuple((s, "->", oo) for s in sizes)
    if whole and whole not in seen:
        yield whole

