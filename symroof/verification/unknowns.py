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
from symroof.algebra.optima import monotony
from symroof.algebra.rational import cancelled
from symroof.algebra.regime import Regime, Relation
from symroof.algebra.roots import Root
from symroof.algebra.threshold import Threshold
from symroof.errors import AlgebraError
from symroof.formula import Compare, Formula, Name, names
from symroof.symbols import expression, fraction, rational, symbol
from symroof.verification.context import Context
from symroof.verification.growth import regime_of
from symroof.verification.literals import ORDER
from symroof.verification.numbers import is_numeric

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
        regime = holding(regime_of(context), self.x)
        edge = self.edge
        if not isinstance(edge, Root) and not edge.is_Rational and edge.is_rational_function() and regime.scaling:
            with suppress(AlgebraError):
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


def holding(regime: Regime, x: Expr) -> Regime:
    """The regime with x constant: B << D becomes D -> oo."""
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
