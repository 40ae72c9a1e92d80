"""The unknown of a condition, and the other condition solved for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sympy import Expr, oo

from symroof.algebra.dominance import limit
from symroof.algebra.rational import cancel
from symroof.algebra.regime import Regime
from symroof.algebra.roots import Root
from symroof.derivation.solutions import Solution
from symroof.derivation.solving import monotony, solve_condition
from symroof.formula import (
    MIRRORED,
    Both,
    Cases,
    Compare,
    Formula,
    Group,
    Name,
    Number,
    Power,
    Product,
    Quotient,
    Verdict,
    names,
    nodes,
)
from symroof.proof.quotients import ORDER
from symroof.symbols import expression, fraction, rational, symbol
from symroof.verification.asymptotics import eventually_positive, held, near
from symroof.verification.budget import attempted
from symroof.verification.context import Context, Question
from symroof.verification.intervals import is_numeric

UP = (">", ">=")
POWERS = (Name, Number, Product, Quotient, Power, Group)


class Edge(NamedTuple):
    """Where a condition begins or ends, and whether it is everything above."""

    value: Expr | Root
    rises: bool


@dataclass(frozen=True, slots=True)
class Unknown:
    """Q as ``side relation claimed``, and P solved for x. ``climbs`` is whether ``side`` rises in x; where it falls,
    ``relation`` is the one that x has to its bound, the other way round than that of the sides. ``written`` is the side
    as its author wrote it.

    ``solved`` is the solution of P where P is strict; of its opposite, where P is ``closed``: it holds at its edge.
    """

    question: Question
    x: Expr
    side: Expr
    relation: str
    claimed: Formula
    printed: Formula
    solved: Solution
    closed: bool
    climbs: bool
    written: Formula

    @property
    def rises(self) -> bool:
        """Whether Q is everything above its bound."""
        return self.relation in UP

    @property
    def plain(self) -> bool:
        """Whether the side is a product of powers of sizes, or what P compares but for a factor, as the intensity is."""
        definitions, p = self.question.context.definitions, self.question.left
        parts = nodes(self.written)
        if all(isinstance(n, POWERS) and (not isinstance(n, Name) or n.name not in definitions) for n in parts):
            return True
        left, right = (expression(p.left), expression(p.right)) if isinstance(p, Compare) else (self.x, self.x * 0)
        factors = () if 0 in (left, right) else (self.side * right / left, self.side * left / right)
        return any(value.is_rational_function() and not cancel(value).free_symbols for value in factors)

    def edge(self, regime: Regime) -> Edge | None:
        """The edge of P on the whole domain, or in the regime from some point on.

        None where the guard of no case is known to hold.
        """
        cases = self.solved.formula.rows if isinstance(self.solved.formula, Cases) else ((self.solved.formula, None),)
        for consequence, guard in cases:
            if guard is not None and not (regime.scaling and _eventually(guard, regime)):
                continue
            solved = isinstance(consequence, Compare) and consequence.left == Name(self.x.name)
            if not isinstance(consequence, Compare) or not solved or self.x.name in names(consequence.right):
                return None
            value = self.solved.bound if consequence == self.solved.end else expression(consequence.right)
            return None if value is None else Edge(value, (consequence.relation in UP) != self.closed)
        return None

    def of_side(self, edge: Expr | Root) -> Expr | Root:
        """The left side of Q at the edge."""
        if isinstance(edge, Root):
            return Root(*sorted(fraction(self.side.subs(self.x, rational(end))) for end in (edge.low, edge.high)))
        value = self.side.subs(self.x, edge)
        return cancel(value) if value.is_rational_function() else value

    def right_value(self) -> Formula | None:
        """P solved for x, as it should read."""
        if self.solved.bound is None or self.solved.outcome != "depends":
            return None
        value, rises = self.solved.bound, self.solved.rises != self.closed
        regime = held(self.question.context.regime, self.x)
        with attempted():
            value, rises = self.edge(regime) or (value, rises)
            if not isinstance(value, Root) and not value.is_Rational and value.is_rational_function():
                tends = limit(value, regime) if regime.scaling else None
                if tends not in (None, oo, 0) and near(value, tends, regime):
                    value = tends
        relation = (">" if rises else "<") + ("=" if self.closed else "")
        right = Compare(Name(self.x.name), relation, self.question.context.layout.write(value))
        return self._guarded(right) if value == self.solved.bound else right

    def _guarded(self, right: Compare) -> Formula | None:
        """A condition under the guard of the solution; None where there is more than one case."""
        if not isinstance(self.solved.formula, Cases):
            return right
        (_, guard), *others = self.solved.formula.rows
        otherwise = self.solved.formula.otherwise
        if others or not isinstance(otherwise, Verdict):
            return None
        return Cases(((right, guard),), Verdict(otherwise.holds != self.closed))


def _eventually(guard: Formula, regime: Regime) -> bool:
    """Whether a guard holds along every scaling of the regime from some point on."""
    parts = guard.parts if isinstance(guard, Both) else (guard,)
    return all(
        isinstance(part, Compare) and eventually_positive(expression(part.left) - expression(part.right), regime)
        for part in parts
    )


def unknown_of(question: Question) -> Unknown | None:
    """P solved for the unknown of Q, where Q is one order with a monotone left side; None where it is not."""
    context, p, q, written = question.context, question.left, question.right, question.link.right
    if not (isinstance(p, Compare) and isinstance(q, Compare) and isinstance(written, Compare)):
        return None
    if p.relation not in ORDER or q.relation not in ORDER:
        return None
    side, relation, bound, printed, author = q.left, q.relation, q.right, written.right, written.left
    if is_numeric(side):
        side, relation, bound, printed, author = bound, MIRRORED[relation], side, author, printed
    value, limits = expression(side), expression(bound).free_symbols
    least_one = frozenset(map(symbol, context.least_one))
    closed = p.relation in (">=", "<=")
    greater, less = (p.left, p.right) if (p.relation in UP) != closed else (p.right, p.left)
    for x in map(symbol, names(side)):
        if x in limits or not value.is_rational_function() or (way := monotony(value, x, least_one)) not in (1, -1):
            continue
        above, below = (_tied(expression(part), x, context) for part in (greater, less))
        solved = _single(solve_condition(above, below, x, least_one))
        if solved is not None and solved.bound is not None:
            relation = relation if way == 1 else MIRRORED[relation]
            return Unknown(question, x, value, relation, bound, printed, solved, closed, way == 1, author)
    return None


def _tied(value: Expr, x: Expr, context: Context) -> Expr:
    """The value with x for every symbol that the regime says is ~ x: sound for positive terms alone."""
    return Regime(tuple((y, "~", x) for y in alike(x, context, "~"))).merged(value)


def alike(x: Expr, context: Context, *signs: str) -> set[Expr]:
    """The symbols that the regime says are like x."""
    ties = [{left, right} for left, relation, right in context.regime.relations if relation in signs]
    return {y for ends in ties if x in ends for y in ends - {x} if y.is_Symbol}


def _single(rows: tuple[tuple[Solution, ...], ...]) -> Solution | None:
    """The one threshold of a condition; of several that all hold, or of which one holds, the one that decides."""
    if len(rows) == 1:
        deciding = [t for t in rows[0] if t.outcome != "always"]
    elif all(len(row) == 1 for row in rows):
        deciding = [row[0] for row in rows if row[0].outcome != "never"]
    else:
        return None
    return deciding[0] if len(deciding) == 1 else None
