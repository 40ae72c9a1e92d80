"""Maxima, minima and roots in approximations: what is left is rational, and tends to the same.

A maximum is its leading argument from some point on: the one that the others do not exceed, on the whole domain or in
the regime. Where nothing tells which one leads, each may, and the approximation is conditional on that. The quotient of
two positive sides tends to 1 exactly where its square does; and the sizes may be written as squares, which changes
nothing in how they grow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sympy import Expr, Max, Min

from symroof.algebra.rational import symbols_of
from symroof.errors import AlgebraError
from symroof.formula import Both, Compare, Formula, Name, number
from symroof.proof.settling import negated
from symroof.symbols import expression
from symroof.verification.budget import attempted
from symroof.verification.context import Context, Question
from symroof.verification.counterexamples import witness
from symroof.verification.nearness import eventually_positive

EXTREME = (Max, Min)
SQUARED = "both sides squared, which are positive"
LEADS = "the leading argument"


@dataclass(frozen=True, slots=True)
class Sides:
    """Two sides, and how they came about; ``needs`` is what nobody stated, ``possible`` whether some sizes are so.
    ``squared`` sides are not those of the link."""

    left: Expr
    right: Expr
    by: tuple[str, ...] = ()
    needs: tuple[Compare, ...] = ()
    squared: bool = False
    possible: bool = True


def rational_sides(question: Question) -> Iterator[Sides]:
    """The sides as rational functions; where it is open which argument of a maximum leads, once for each of them.

    Raises AlgebraError where they are none: outside of a root or logarithm there has to be a product.
    """
    sides = Sides(expression(question.left), expression(question.right))
    for one in _without_extremes(sides, question.context):
        yield _without_roots(one, question)


def _without_extremes(sides: Sides, context: Context) -> Iterator[Sides]:
    """The sides with the leading argument in the place of each maximum and minimum, the inner ones first."""
    found = {node for side in (sides.left, sides.right) for node in side.atoms(*EXTREME)}
    node = min(found, key=lambda node: (len(node.atoms(*EXTREME)), str(node)), default=None)
    if node is None:
        yield sides
        return
    leads = next((one for one in node.args if not _open(node, one, context)), None)
    for one in node.args if leads is None else (leads,):
        open_ = [
            pair if isinstance(node, Max) else pair[::-1] for pair in ((n, one) for n in _open(node, one, context))
        ]
        needs = tuple(Compare(_spoken(small, context), "<=", _spoken(large, context)) for small, large in open_)
        possible = sides.possible and (not needs or _possible(needs, context))
        left, right = (side.xreplace({node: one}) for side in (sides.left, sides.right))
        more = replace(
            sides, left=left, right=right, by=(*sides.by, LEADS), needs=(*sides.needs, *needs), possible=possible
        )
        yield from _without_extremes(more, context)


def _possible(needs: tuple[Compare, ...], context: Context) -> bool:
    """Whether some sizes that look like the regime are as it is needed: under what contradicts it anything would be right."""
    put = tuple(Compare(context.put(r.left), r.relation, context.put(r.right)) for r in needs)
    return witness(negated(Both(put)), context, growing=context.growing) is not None


def _open(node: Expr, one: Expr, context: Context) -> tuple[Expr, ...]:
    """The other arguments of a maximum that are not known to be at most this one, or of a minimum at least this one."""
    rises = isinstance(node, Max)
    return tuple(
        other
        for other in node.args
        if other != one and not _at_most(*((other, one) if rises else (one, other)), context)
    )


def _at_most(small: Expr, large: Expr, context: Context) -> bool:
    """Whether a value is at most another one: from some point on in the regime, or on the whole domain."""
    write, regime = context.layout.write, context.regime
    with attempted():
        if regime.scaling and eventually_positive(large - small, regime):
            return True
    return bool(context.settled(Compare(write(small), "<=", write(large))).truth)


def _spoken(value: Expr, context: Context) -> Formula:
    """A value by the name of a quantity that has it, else written out."""
    for name in ("T_math", "T_comms"):
        if name in context.definitions and expression(context.put(Name(name))) == value:
            return Name(name)
    return context.layout.write(value)


def _without_roots(sides: Sides, question: Question) -> Sides:
    """The sides, or their squares, or both with sizes written as squares, whichever is rational first."""
    a, b = sides.left, sides.right
    if (a / b).is_rational_function():
        return sides
    squares = {x: x**2 for x in symbols_of(a, b)}
    for left, right in ((a**2, b**2), (a.subs(squares), b.subs(squares))):
        if left.is_rational_function() and right.is_rational_function():
            if not _are_positive(question):
                raise AlgebraError("the sides are not known to be positive")
            return replace(sides, left=left, right=right, by=(*sides.by, SQUARED), squared=True)
    raise AlgebraError("approximations are decided between rational functions, roots and maxima")


def _are_positive(question: Question) -> bool:
    """Whether both sides are above 0 on the whole domain, and so have a value there."""
    orders = (Compare(side, ">", number(0)) for side in (question.left, question.right))
    return all(question.context.settled(order).truth for order in orders)
