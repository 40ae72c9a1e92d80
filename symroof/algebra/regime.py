"""Regimes: how sizes grow beside one another, as a cone of directions.

A scaling sends every mentioned symbol x to t**w(x) with t -> oo. A regime is the set of scalings that satisfy all
its relations, and each relation is linear in the weights w:

    x << y    w(x) - w(y) < 0      x/y tends to 0
    x -> oo   -w(x) < 0            1/x tends to 0
    x ~~ y    w(x) - w(y) = 0      x/y is bounded above and below
    x ~ y     the same, and x/y tends to 1
    x = y     x is replaced by y

A dimension is at least 1, so 1/x is bounded. A symbol that no relation mentions is a constant: bounded above and
below. Relations <= and >= are facts about sizes and no part of the scaling.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from math import gcd

from sympy import Expr, oo

from symroof.algebra.polyhedron import negated, unit, weights
from symroof.algebra.rational import Exponents, add, cancel, monomial, ratio, sign_of, symbols_of
from symroof.errors import AlgebraError, ContradictionError
from symroof.formula import Frozen
from symroof.symbols import fraction

Relation = tuple[Expr, str, Expr]


# The exponents of monomials, and the relations that say so of them.
Directions = Mapping[Exponents, str]


class Cone(Frozen):
    """A regime over a tuple of symbols: ``small`` tends to 0, ``bounded`` stays bounded."""

    symbols: tuple[Expr, ...]
    small: Directions
    bounded: Directions


class Regime(Frozen):
    """Relations between positive symbols; ``least_one`` are the symbols that are at least 1."""

    relations: tuple[Relation, ...] = ()
    least_one: frozenset[Expr] = frozenset()

    def __post_init__(self) -> None:
        for relation in self.relations:
            self._refuse_no_sizes(*relation)
        self._refuse_contradiction()
        self._refuse_unequal()
        self._refuse_no_room()

    def _refuse_no_sizes(self, left: Expr, relation: str, right: Expr) -> None:
        """Both sides are positive, some size is in them, and a dimension that has a value has at least 1."""
        shown = _relation_text(left, relation, right)
        if not left.free_symbols | right.free_symbols:
            raise AlgebraError(f"{shown} relates no sizes")
        for side in (left, right):
            if side != oo and sign_of(side, self.least_one) != 1:
                raise AlgebraError(f"{side} in {shown} is not positive", expected="positive sizes")
        if relation != "=":
            return
        if any(a in self.least_one and b.is_Rational and b < 1 for a, b in ((left, right), (right, left))):
            raise AlgebraError(f"{shown}: a dimension is at least 1")
        if left == right:
            raise AlgebraError(f"{shown} says nothing")

    def _of(self, *signs: str) -> tuple[Relation, ...]:
        return tuple(r for r in self.relations if r[1] in signs)

    @property
    def scaling(self) -> tuple[Relation, ...]:
        """The relations that restrict scalings."""
        return self._of("<<", "->", "~", "~~")

    @property
    def facts(self) -> tuple[Relation, ...]:
        return self._of("<=", ">=")

    @cached_property
    def least(self) -> Mapping[Expr, Fraction]:
        """The sizes that are at least a number, and the largest such number."""
        least = {x: Fraction(1) for x in self.least_one}
        for x, sign, y in self.facts:
            if sign == ">=" and x.is_Symbol and y.is_Rational:
                least[x] = max(least.get(x, Fraction(0)), fraction(y))
        return least

    @property
    def symbols(self) -> tuple[Expr, ...]:
        return symbols_of(*(side for left, _, right in self.relations for side in (left, right)))

    @property
    def mentioned(self) -> frozenset[Expr]:
        """The symbols that scale; all others are constants."""
        return frozenset(symbols_of(*(side for left, _, right in self.scaling for side in (left, right))))

    @cached_property
    def substitution(self) -> Mapping[Expr, Expr]:
        """What the relations ``=`` replace, and by what."""
        replaced, unsolved = _substitution(self._of("="))
        for left, right in unsolved:
            raise AlgebraError(f"{left} = {right} does not say what a symbol is", expected="a name on one side")
        return replaced

    def merged(self, expression: Expr) -> Expr:
        """``expression`` with equal symbols put in; and x for y where x ~ y, which is sound for positive terms alone."""
        expression = self.apply(expression)
        near, _ = _substitution((self.apply(left), "~", self.apply(right)) for left, _, right in self._of("~"))
        if not any(expression.has(name) for name in near):
            return expression
        if any(c < 0 for terms in ratio(expression, symbols_of(expression)) for c in terms.values()):
            shown = ", ".join(f"{left} ~ {right}" for left, right in near.items())
            raise AlgebraError(f"{shown} does not decide a difference", expected="equal sizes, as in D = F")
        return expression.subs(near)

    def holding(self, x: Expr) -> Regime:
        """The regime with x constant: B << D becomes D -> oo. What is tied to x is constant too.

        >>> from symroof.symbols import symbol
        >>> B, D = symbol("B"), symbol("D")
        >>> Regime(((B, "<<", D),)).holding(B).relations
        ((D, '->', oo),)
        """
        held: dict[Relation, None] = {}
        for left, relation, right in self.relations:
            if relation in ("<=", ">=", "="):
                held[left, relation, right] = None
            elif relation in ("<<", "->") or x not in left.free_symbols | right.free_symbols:
                left, right = left.subs(x, 1), right.subs(x, 1)
                if left.free_symbols and (right == oo or right.free_symbols):
                    held[left, relation, right] = None
                elif right.free_symbols and not left.free_symbols:
                    held[right, "->", oo] = None
        return Regime(tuple(held), self.least_one)

    def apply(self, expression: Expr) -> Expr:
        """``expression`` with the equalities put in."""
        return expression.subs(self.substitution) if self.substitution else expression

    def over(self, expression: Expr) -> tuple[Expr, ...]:
        """The symbols of an expression, and those of the regime that nothing replaces."""
        return symbols_of(expression, *(s for s in self.symbols if s not in self.substitution))

    def cone(self, symbols: tuple[Expr, ...], *, constants: bool = True) -> Cone:
        """The directions of the regime over ``symbols``, which must hold every symbol of the regime.

        Without ``constants`` the symbols that no relation mentions scale as they like.
        """
        small: dict[Exponents, str] = {}
        bounded: dict[Exponents, str] = {}
        for relation in (*self.scaling, *self.facts):
            origin = _relation_text(*relation)
            powers = exponents(self.apply(quotient(*relation)), symbols, origin)
            (small if relation[1] in ("<<", "->") else bounded).setdefault(powers, origin)
            if relation[1] in ("~", "~~"):
                bounded.setdefault(negated(powers), origin)
        mentioned = symbols_of(*(self.apply(s) for s in self.mentioned)) if constants else symbols
        for place, name in enumerate(symbols):
            grows = unit(place, len(symbols))
            if name not in mentioned:
                bounded.setdefault(grows, f"{name} is constant")
                bounded.setdefault(negated(grows), f"{name} is constant")
            elif name in self.least_one:
                bounded.setdefault(negated(grows), f"{name} >= 1")
        return Cone(symbols, small, bounded)

    def _refuse_contradiction(self) -> None:
        """A regime is empty iff a product of what vanishes and what is bounded is 1 (Motzkin)."""
        cone = self.cone(symbols_of(*(self.apply(s) for s in self.symbols)))
        directions = [*cone.small.items(), *cone.bounded.items()]
        result = weights([0] * len(cone.symbols), [powers for powers, _ in directions], range(len(cone.small)))
        if result is not None:
            chain = dict.fromkeys(origin for (_, origin), weight in zip(directions, result, strict=True) if weight)
            raise ContradictionError(f"the regime contradicts itself: {', '.join(chain)} cannot all hold")

    def _refuse_unequal(self) -> None:
        """x ~ y puts y for x; what is left of another such relation must not say that 1 is another number."""
        put: dict[Expr, Expr] = {}
        for relation in self._of("=", "~"):
            left = cancel(quotient(*relation).subs(put))
            if left.is_Rational and left != 1:
                raise ContradictionError(
                    f"the regime contradicts itself: {_relation_text(*relation)} cannot hold with the rest"
                )
            result = next((s for s in sorted(left.free_symbols, key=str) if not (left / s).has(s)), None)
            if result is not None:
                put = _put(put, result, cancel(result / left))

    def _refuse_no_room(self) -> None:
        """Between the numbers that a symbol is at least, and at most, there has to be one."""
        low: dict[Expr, Expr] = dict.fromkeys(self.least_one, 1)
        high: dict[Expr, Expr] = {}
        for left, relation, right in self.facts:
            small, large = (left, right) if relation == "<=" else (right, left)
            if small.is_Symbol and large.is_Rational:
                high[small] = min(large, high.get(small, large))
            if small.is_Rational:
                low[large] = max(small, low.get(large, small))
        for x, most in high.items():
            if x in low and low[x] > most:
                raise ContradictionError(
                    f"the regime contradicts itself: no {x} is at least {low[x]} and at most {most}"
                )


def quotient(left: Expr, relation: str, right: Expr) -> Expr:
    """What a relation speaks of: it tends to 0 (``<<``, ``->``), tends to 1, or stays bounded."""
    return 1 / left if relation == "->" else right / left if relation == ">=" else left / right


def much_less(small: Exponents, large: Exponents, symbols: tuple[Expr, ...]) -> Relation:
    """small << large, without what both share, and without a power that both are.

    >>> from symroof.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> much_less((2, 0), (1, 1), (B, D)), much_less((1, 0), (1, 1), (B, D)), much_less((2, 0), (0, 2), (B, D))
    ((B, '<<', D), (D, '->', oo), (B, '<<', D))
    """
    shared = tuple(map(min, small, large))
    power = gcd(*add(small, large, -1)) or 1
    sides = (tuple(e // power for e in add(side, shared, -1)) for side in (small, large))
    left, right = (monomial(side, symbols) for side in sides)
    return (right, "->", oo) if left == 1 else (left, "<<", right)


def _substitution(relations: Iterable[Relation]) -> tuple[dict[Expr, Expr], list[tuple[Expr, Expr]]]:
    """What replaces the symbols that are one side of a relation; and the relations, so changed, that say of none what it is."""
    replaced: dict[Expr, Expr] = {}
    unsolved = []
    for left, _, right in relations:
        left, right = left.subs(replaced), right.subs(replaced)
        if left == right:
            continue
        if not left.is_Symbol:
            left, right = right, left
        if left.is_Symbol and not right.has(left):
            replaced = _put(replaced, left, right)
        else:
            unsolved.append((left, right))
    return replaced, unsolved


def _put(replaced: Mapping[Expr, Expr], name: Expr, value: Expr) -> dict[Expr, Expr]:
    return {key: bound.subs(name, value) for key, bound in replaced.items()} | {name: value}


def _relation_text(left: Expr, relation: str, right: Expr) -> str:
    return f"{left} {relation} {right}".replace("**", "^")


def exponents(expression: Expr, symbols: tuple[Expr, ...], origin: str) -> Exponents:
    """The exponents of a monomial; its coefficient does not matter to a scaling."""
    above, below = ratio(expression, symbols)
    if len(above) != 1 or len(below) != 1:
        raise AlgebraError(
            f"a regime relates products, and {origin} has a sum",
            expected="relations between products of sizes, as in B << D",
        )
    (top,), (bottom,) = above, below
    return add(top, bottom, -1)
