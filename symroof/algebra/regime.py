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
from dataclasses import dataclass
from fractions import Fraction

from sympy import Expr, oo

from symroof.algebra.rational import Exponents, cancelled, ratio, sign_of, symbols_of
from symroof.algebra.simplex import maximise
from symroof.errors import AlgebraError, ContradictionError

Relation = tuple[Expr, str, Expr]


@dataclass(frozen=True, slots=True)
class Direction:
    """A monomial that tends to 0, or stays bounded, and the relation that says so."""

    exponents: Exponents
    origin: str


@dataclass(frozen=True, slots=True)
class Cone:
    """A regime over a tuple of symbols: ``small`` tends to 0, ``bounded`` stays bounded."""

    symbols: tuple[Expr, ...]
    small: tuple[Direction, ...]
    bounded: tuple[Direction, ...]


@dataclass(frozen=True, slots=True)
class Regime:
    """Relations between positive symbols; ``least_one`` are the symbols that are at least 1."""

    relations: tuple[Relation, ...] = ()
    least_one: frozenset[Expr] = frozenset()

    def __post_init__(self) -> None:
        for left, relation, right in self.relations:
            self._refuse_no_sizes(left, relation, right)
        for left, relation, right in (*self.scaling, *self.facts):
            _direction(left / right if relation != "->" else 1 / left, self.symbols, "")
        self._refuse_contradiction()
        self._refuse_unequal()

    def _refuse_no_sizes(self, left: Expr, relation: str, right: Expr) -> None:
        """Both sides are positive, some size is in them, and a dimension that has a value has at least 1."""
        shown = _shown(left, relation, right)
        if not left.free_symbols | (right.free_symbols if right != oo else set()):
            raise AlgebraError(f"{shown} relates no sizes")
        for side in (left, right):
            if side != oo and sign_of(side, self.least_one) != 1:
                raise AlgebraError(f"{side} in {shown} is not positive", expected="positive sizes")
        if relation == "=" and any(
            a in self.least_one and b.is_Rational and b < 1 for a, b in ((left, right), (right, left))
        ):
            raise AlgebraError(f"{shown}: a dimension is at least 1")
        if relation == "=" and left == right:
            raise AlgebraError(f"{shown} says nothing")

    @property
    def scaling(self) -> tuple[Relation, ...]:
        """The relations that restrict scalings."""
        return tuple(r for r in self.relations if r[1] in ("<<", "->", "~", "~~"))

    @property
    def facts(self) -> tuple[Relation, ...]:
        return tuple(r for r in self.relations if r[1] in ("<=", ">="))

    @property
    def symbols(self) -> tuple[Expr, ...]:
        return symbols_of(
            *(s for left, relation, right in self.relations for s in ((left,) if relation == "->" else (left, right)))
        )

    @property
    def mentioned(self) -> frozenset[Expr]:
        """The symbols that scale; all others are constants."""
        sides = (s for left, _, right in self.scaling for s in ((left,) if right == oo else (left, right)))
        return frozenset(symbols_of(*sides))

    @property
    def substitution(self) -> Mapping[Expr, Expr]:
        """What the relations ``=`` replace, and by what."""
        replaced: dict[Expr, Expr] = {}
        for left, relation, right in self.relations:
            if relation != "=":
                continue
            left, right = left.subs(replaced), right.subs(replaced)
            if left == right:
                continue
            if not left.is_Symbol:
                left, right = right, left
            if not left.is_Symbol or right.has(left):
                raise AlgebraError(f"{left} = {right} does not say what a symbol is", expected="a name on one side")
            replaced = {key: value.subs(left, right) for key, value in replaced.items()} | {left: right}
        return replaced

    def holding(self, x: Expr) -> Regime:
        """The regime with x constant: B << D becomes D -> oo. What is tied to x is constant too.

        >>> from symroof.symbols import symbol
        >>> B, D = symbol("B"), symbol("D")
        >>> Regime(((B, "<<", D),)).holding(B).relations
        ((D, '->', oo),)
        """
        held: list[Relation] = []
        for left, relation, right in self.relations:
            if relation in ("<=", ">=", "="):
                held.append((left, relation, right))
                continue
            if relation in ("~", "~~") and (left.has(x) or right.has(x)):
                continue
            left, right = left.subs(x, 1), right if right == oo else right.subs(x, 1)
            if not left.free_symbols and right != oo and right.free_symbols:
                held.append((right, "->", oo))
            elif left.free_symbols and (right == oo or right.free_symbols):
                held.append((left, relation, right))
        return Regime(tuple(dict.fromkeys(held)), self.least_one)

    def apply(self, expression: Expr) -> Expr:
        """``expression`` with the equalities put in."""
        return expression.subs(self.substitution) if self.substitution else expression

    def cone(self, symbols: tuple[Expr, ...], *, constants: bool = True) -> Cone:
        """The directions of the regime over ``symbols``, which must hold every symbol of the regime.

        Without ``constants`` the symbols that no relation mentions scale as they like.
        """
        small, bounded = [], []
        for left, relation, right in self.scaling:
            origin = _shown(left, relation, right)
            left, right = self.apply(left), right if relation == "->" else self.apply(right)
            towards_zero = 1 / left if relation == "->" else left / right
            exponents = _direction(towards_zero, symbols, origin)
            if relation in ("<<", "->"):
                small.append(Direction(exponents, origin))
            else:
                bounded.append(Direction(exponents, origin))
                bounded.append(Direction(tuple(-e for e in exponents), origin))
        for left, relation, right in self.facts:
            quotient = self.apply(left) / self.apply(right)
            bounded.append(
                Direction(
                    _direction(quotient if relation == "<=" else 1 / quotient, symbols, ""),
                    _shown(left, relation, right),
                )
            )
        mentioned = symbols_of(*(self.apply(s) for s in self.mentioned)) if constants else symbols
        for place, name in enumerate(symbols):
            unit = tuple(int(i == place) for i in range(len(symbols)))
            inverse = tuple(-e for e in unit)
            if name in self.least_one and name in mentioned:
                bounded.append(Direction(inverse, f"{name} >= 1"))
            elif name not in mentioned:
                bounded += [Direction(unit, f"{name} is constant"), Direction(inverse, f"{name} is constant")]
        return Cone(symbols, tuple(small), tuple(bounded))

    def _refuse_contradiction(self) -> None:
        """A regime is empty iff a product of what vanishes and what is bounded is 1 (Motzkin)."""
        symbols = symbols_of(*(self.apply(s) for s in self.symbols))
        cone = self.cone(symbols)
        if not cone.small:
            return
        directions = (*cone.small, *cone.bounded)
        rows = [[d.exponents[i] for d in directions] for i in range(len(symbols))]
        rows.append([int(i < len(cone.small)) for i in range(len(directions))])
        found = maximise([0] * len(directions), rows, [0] * len(symbols) + [1])
        if found is not None:
            chain = dict.fromkeys(d.origin for d, weight in zip(directions, found, strict=True) if weight)
            raise ContradictionError(f"the regime contradicts itself: {', '.join(chain)} cannot all hold")

    def _refuse_unequal(self) -> None:
        """x ~ y puts y for x; what is left of another such relation must not say that 1 is another number."""
        put: dict[Expr, Expr] = {}
        for left, relation, right in self.relations:
            if relation not in ("=", "~"):
                continue
            quotient = cancelled((left / right).subs(put))
            if quotient.is_Rational:
                if quotient != 1:
                    raise ContradictionError(
                        f"the regime contradicts itself: {_shown(left, relation, right)} cannot hold with the rest"
                    )
                continue
            found = next((s for s in sorted(quotient.free_symbols, key=str) if (quotient / s).has(s) is False), None)
            if found is not None:
                put = {key: value.subs(found, found / quotient) for key, value in put.items()} | {
                    found: cancelled(found / quotient)
                }
        limits: dict[Expr, list[tuple[Expr, str]]] = {}
        for left, relation, right in self.facts:
            for x, bound, side in ((left, right, relation), (right, left, {"<=": ">=", ">=": "<="}[relation])):
                if x.is_Symbol and bound.is_Rational:
                    limits.setdefault(x, []).append((bound, side))
        for x, bounds in limits.items():
            low = max([b for b, side in bounds if side == ">="], default=None)
            high = min([b for b, side in bounds if side == "<="], default=None)
            if high is not None and ((low is not None and low > high) or (x in self.least_one and high < 1)):
                raise ContradictionError(
                    f"the regime contradicts itself: no {x} is at least {low or 1} and at most {high}"
                )


def _shown(left: Expr, relation: str, right: Expr) -> str:
    return f"{left} {relation} {right}".replace("**", "^")


def _direction(expression: Expr, symbols: tuple[Expr, ...], origin: str) -> Exponents:
    """The exponents of a monomial; its coefficient does not matter to a scaling."""
    above, below = ratio(expression, symbols)
    if len(above) != 1 or len(below) != 1:
        raise AlgebraError(
            f"a regime relates products, and {origin or expression} has a sum",
            expected="relations between products of sizes, as in B << D",
        )
    (top,), (bottom,) = above, below
    return tuple(a - b for a, b in zip(top, bottom, strict=True))


def scaling(cone: Cone, monomial: Exponents, beside: Iterable[Exponents]) -> dict[Expr, Fraction] | None:
    """Weights of a scaling in the regime along which ``monomial`` is not negligible beside any of ``beside``.

    None where there is none, which is exactly where the monomial is negligible.
    """
    size = len(cone.symbols)
    columns: list[list[int]] = []  # weights are differences u - v of non-negative ones
    rows: list[list[int]] = []
    bounds: list[int] = []
    for direction in cone.small:
        rows.append([*direction.exponents, *(-e for e in direction.exponents)])
        bounds.append(-1)
    for exponents in (d.exponents for d in cone.bounded):
        rows.append([*exponents, *(-e for e in exponents)])
        bounds.append(0)
    for other in beside:
        gap = [p - m for p, m in zip(other, monomial, strict=True)]
        rows.append([*gap, *(-g for g in gap)])
        bounds.append(0)
    columns = [row + [int(i == j) for j in range(len(rows))] for i, row in enumerate(rows)]
    found = maximise([0] * (2 * size + len(rows)), columns, bounds)
    if found is None:
        return None
    return {s: found[i] - found[size + i] for i, s in enumerate(cone.symbols)}
