"""The unknown of a condition, and the other condition solved for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from sympy import Expr, oo

from symroof.algebra.dominance import limit
from symroof.algebra.inequality import solve_condition
from symroof.algebra.intervals import Threshold
from symroof.algebra.optima import monotony
from symroof.algebra.rational import cancelled, ratio, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.algebra.roots import Root
from symroof.errors import AlgebraError, CheckError
from symroof.formula import Compare, Formula, Name, names
from symroof.proof.sampling import ORDER
from symroof.symbols import expression, fraction, rational, symbol
from symroof.verification.context import Context
from symroof.verification.enclosures import is_numeric
from symroof.verification.growth import eventually_positive, regime_of
from symroof.verification.literals import MIRRORED

UP = (">", ">=")


@dataclass(frozen=True, slots=True)
class Unknown:
    """Q as ``side relation claimed``, where ``side`` rises in x; and P solved for x.

    ``solved`` is the solution of P where P is strict; of its opposite, ``turned``, where P holds at equality as well.
    """

    x: Expr
    side: Expr
    relation: str
    claimed: Formula
    printed: Formula
    solved: Threshold
    turned: bool

    @property
    def closed(self) -> bool:
        """Whether P holds at its edge."""
        return self.turned

    def edge(self, regime: Regime, context: Context) -> tuple[Expr | Root, bool] | None:
        """The bound of P and whether P is everything above it: on the whole domain, or in the regime from some point on.

        None where the guard of no case is known to hold.
        """
        cases = self.solved.cases
        certain = len(cases) == 1 and not cases[0].guard
        for case in cases:
            if not certain and not (
                regime.scaling and all(eventually_positive(g, regime, context) for g in case.guard)
            ):
                continue
            if case.implicit is not None or len(case.intervals) != 1:
                return None
            low, high = case.intervals[0].low, case.intervals[0].high
            if (low is None) == (high is None):
                return None
            rises = (high is None) != self.turned
            found = low if high is None else high
            return None if found is None else (found, rises)
        return None

    def of_side(self, edge: Expr | Root) -> Expr | Root:
        """The left side of Q at the edge."""
        if isinstance(edge, Root):
            return edge if self.side == self.x else Root(*_ordered(self.side, self.x, edge))
        value = self.side.subs(self.x, edge)
        return cancelled(value) if value.is_rational_function() else value

    def points(self) -> Iterator[dict[str, Fraction]]:
        """Sizes at which the two bounds may part."""
        edge = self.solved.bound
        if edge is not None and (isinstance(edge, Root) or edge.is_Rational):
            middle = edge.middle if isinstance(edge, Root) else fraction(edge)
            for value in (middle, Fraction(floor(middle)), Fraction(ceil(middle)), middle * 3 / 4, middle * 3 / 2):
                yield {self.x.name: value}

    def right_value(self, context: Context) -> Formula | None:
        """P solved for x, as it should read."""
        edge, rises = self.solved.bound, self.solved.rises != self.turned
        if edge is None or self.solved.outcome != "depends":
            return None
        with suppress(AlgebraError, CheckError):
            regime = holding(regime_of(context), self.x)
            found = self.edge(regime, context)
            edge, rises = found if found is not None else (edge, rises)
            if not isinstance(edge, Root) and not edge.is_Rational and edge.is_rational_function() and regime.scaling:
                tends = limit(edge, regime)
                edge = tends if tends is not None and tends != oo and tends != 0 else edge
        relation = (">=" if self.closed else ">") if rises else ("<=" if self.closed else "<")
        return Compare(Name(self.x.name), relation, context.layout.write(edge))


def _ordered(side: Expr, x: Expr, edge: Root) -> tuple[Fraction, Fraction]:
    ends = [fraction(side.subs(x, rational(end))) for end in (edge.low, edge.high)]
    return min(ends), max(ends)


def unknown_of(left: Formula, right: Formula, q: Formula, context: Context) -> Unknown | None:
    """P solved for the unknown of Q, where Q is one order with a monotone left side; None where it is not."""
    if not (isinstance(left, Compare) and isinstance(right, Compare) and isinstance(q, Compare)):
        return None
    if left.relation not in ORDER or right.relation not in ORDER:
        return None
    side, relation, bound, printed = right.left, right.relation, right.right, q.right
    if is_numeric(side):
        side, relation, bound, printed = bound, MIRRORED[relation], side, q.left
    value = expression(side)
    least_one = frozenset(map(symbol, context.least_one))
    high, low = (left.left, left.right) if left.relation in UP else (left.right, left.left)
    turned = left.relation in (">=", "<=")
    for x in _unknowns(side, expression(bound)):
        way = monotony(value, x, least_one) if value.is_rational_function() else None
        if way not in (1, -1):
            continue
        greater, less = (_tied(expression(part), x, context) for part in ((low, high) if turned else (high, low)))
        solved = _single(solve_condition(greater, less, x, least_one))
        if solved is None or solved.bound is None:
            continue
        return Unknown(x, value, relation if way == 1 else MIRRORED[relation], bound, printed, solved, turned)
    return None


def _tied(value: Expr, x: Expr, context: Context) -> Expr:
    """The value with x for every symbol that the regime says is ~ x: sound for positive terms alone."""
    tied: dict[Expr, Expr] = {}
    for r in context.growing:
        ends = (
            {r.left.name, r.right.name}
            if r.relation == "~" and isinstance(r.left, Name) and isinstance(r.right, Name)
            else set()
        )
        if x.name in ends:
            tied |= {symbol(name): x for name in ends - {x.name}}
    if not any(value.has(s) for s in tied):
        return value
    if not value.is_rational_function() or any(
        c < 0 for terms in ratio(value, symbols_of(value)) for c in terms.values()
    ):
        raise AlgebraError("x ~ y is not put in for a difference")
    return value.subs(tied)


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


def holding(regime: Regime, x: Expr) -> Regime:
    """The regime with x constant: B << D becomes D -> oo. What ties other sizes to x is dropped: they are constants too."""
    held: list[Relation] = []
    for left, relation, right in regime.relations:
        if relation in ("<=", ">="):
            held.append((left, relation, right))
            continue
        with_x = left.has(x) or (right != oo and right.has(x))
        if with_x and relation in ("~", "~~"):
            continue
        left, right = left.subs(x, 1), right if right == oo else right.subs(x, 1)
        if not left.free_symbols and right != oo and right.free_symbols:
            held.append((right, "->", oo))
        elif left.free_symbols and (right == oo or right.free_symbols):
            held.append((left, relation, right))
    return Regime(tuple(dict.fromkeys(held)), regime.least_one)
