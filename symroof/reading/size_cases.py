"""Sizes that are the least, or the largest, of several: which of them, as far as sizes and what is known of them
decide.

A size of a shape is at least 1, every other name above 0, and what is known are relations ``a <= b``. Of two rational
functions a and b that suffices for a <= b where b - a is a positive multiple of what such a relation leaves, or never
below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TypeGuard

from sympy import Expr

from symroof.algebra.rational import cancel, sign_of
from symroof.errors import SymroofError
from symroof.formula import Call, Compare, Formula, Frozen, mapped
from symroof.model.tensor_types import spelled_size
from symroof.symbols import expression, fraction, rational, symbol

Point = Mapping[str, Fraction]


class Facts(Frozen):
    """What is said beside the text of a program: relations ``<=`` and ``>=`` of sizes, and the sets of sizes that are
    put in, which decide where each of them decides the same; and why something of it is ``unread``."""

    facts: tuple[Compare, ...] = ()
    points: tuple[Point, ...] = ()
    unread: SymroofError | None = None


class Premises(Frozen):
    """What decides a case: the sizes that others define, those that are at least 1, and what is said of them."""

    definitions: Mapping[Expr, Expr]
    least_one: frozenset[Expr]
    facts: tuple[Compare, ...]

    def value(self, formula: Formula) -> Expr:
        return expression(formula).xreplace(self.definitions)

    def holds(self, fact: Compare) -> bool:
        """Whether a relation ``<=`` of sizes holds, whatever they are."""
        more = self._left_of(fact)
        if self._is_sign(more, (0, 1)):
            return True
        return any(self._follows(more, self._left_of(other)) for other in self.facts)

    def _left_of(self, fact: Compare) -> Expr:
        """What a relation leaves between its sides: at least 0."""
        more = self.value(fact.right) - self.value(fact.left)
        return cancel(more if fact.relation == "<=" else -more)

    def _follows(self, more: Expr, left: Expr) -> bool:
        return left != 0 and (sign_of(cancel(more / left), self.least_one) == 1 or self._is_sign(more - left, (0, 1)))

    def _is_sign(self, value: Expr, signs: tuple[int, ...]) -> bool:
        value = cancel(value)
        return value == 0 or sign_of(value, self.least_one, weak=True) in signs


class UndecidedError(Exception):
    """Nothing says which of its arguments a formula is: ``cases`` are the relations that would, one set for each."""

    def __init__(self, call: Call) -> None:
        self.call, self.cases = call, tuple(made_by(call, argument) for argument in dict.fromkeys(call.arguments))
        super().__init__(spelled_size(call))


def is_choice(node: Formula) -> TypeGuard[Call]:
    """Whether a node is the least, or the largest, of its arguments."""
    return isinstance(node, Call) and node.function in ("min", "max")


def made_by(call: Call, size: Formula) -> tuple[Compare, ...]:
    """What has to hold for a minimum, or a maximum, to be one of its arguments.

    >>> from symroof.formula import Name
    >>> E, B = map(Name, "EB")
    >>> made_by(Call("min", (E, B)), B), made_by(Call("max", (E, B)), B)
    ((Compare(left=Name(name='B'), relation='<=', right=Name(name='E')),), (Compare(left=Name(name='E'), relation='<=', right=Name(name='B')),))
    """
    others = [other for other in dict.fromkeys(call.arguments) if other != size]
    return tuple(Compare(*((size, "<=", other) if call.function == "min" else (other, "<=", size))) for other in others)


def decided(formula: Formula, premises: Premises) -> Formula:
    """The formula with the argument in place of each minimum and maximum that it is, whatever the sizes are. Raises
    :class:`UndecidedError` where they may be several.

    >>> from symroof.formula import Name
    >>> B, E, k = symbol("B"), symbol("E"), symbol("k")
    >>> least = Call("min", (Name("E"), Name("B")))
    >>> decided(least, Premises({E: 2 * B}, frozenset({B}), ()))
    Name(name='B')
    """

    def chosen(node: Formula) -> Formula:
        if not is_choice(node):
            return node
        for argument in node.arguments:
            if all(map(premises.holds, made_by(node, argument))):
                return argument
        raise UndecidedError(node)

    return mapped(formula, chosen)


def at_points(call: Call, definitions: Mapping[Expr, Expr], points: Iterable[Point]) -> tuple[Compare, ...] | None:
    """What has to hold for the argument that a minimum or maximum is at each set of sizes; None where these leave it
    open, or where it is not the same one at all of them."""
    sets = [{symbol(name): rational(value) for name, value in point.items()} for point in points]
    for argument in call.arguments:
        facts = made_by(call, argument)
        if sets and all(_holds_at(fact, definitions, values) for fact in facts for values in sets):
            return facts
    return None


def _holds_at(fact: Compare, definitions: Mapping[Expr, Expr], values: Mapping[Expr, Expr]) -> bool:
    more = (expression(fact.right) - expression(fact.left)).xreplace(definitions).subs(values)
    return bool(more.is_Rational and fraction(more) >= 0)
