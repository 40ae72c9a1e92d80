"""Values as data: polynomials with whole coefficients, and what is made of quotients of them. A page computes with these.

A polynomial is a list of terms, each ``[coefficient, place, power, place, power, …]``; places are those of the names. A
coefficient that a float would round is a string. Each quotient stands once in a pool, as ``[above, below]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from sympy import Abs, Add, Expr, Max, Min, Mul, Pow, ceiling, floor, log

from symroof.algebra.rational import Polynomial, is_rational, ratio, sign
from symroof.errors import CheckError, ModelError
from symroof.symbols import symbol

Data: TypeAlias = Any
# Beyond that a float rounds.
EXACT = 2**53
MADE: Mapping[str, Any] = {
    "+": Add,
    "*": Mul,
    "max": Max,
    "min": Min,
    "ceil": ceiling,
    "floor": floor,
    "log": log,
    "abs": Abs,
}
NAMED = {made: name for name, made in MADE.items()}


class Coefficients:
    """Values of some names as data; the pool grows with what is written.

    >>> B, D = symbol("B"), symbol("D")
    >>> pool = Coefficients(("B", "D"))
    >>> pool.written(Max(2*B*D, B/D)), pool.pool
    (['max', 0, 1], [[[[2, 0, 1, 1, 1]], [[1]]], [[[1, 0, 1]], [[1, 1, 1]]]])
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.symbols = tuple(names), tuple(map(symbol, names))
        self.pool: list[Data] = []
        self._places: dict[Expr, int] = {}

    def written(self, value: Expr) -> Data:
        """A value: the place of a quotient in the pool, or what is made of others. Raises :class:`ModelError` for what is
        made otherwise."""
        if is_rational(value):
            return self._quotient(value)
        if isinstance(value, Pow) and value.exp.is_Rational:
            whole = Fraction(int(value.exp.p), int(value.exp.q))
            return ["^", self.written(value.base), whole.numerator, whole.denominator]
        for made, name in NAMED.items():
            if isinstance(value, made):
                parts = sorted(value.args, key=str)
                plain = [part for part in parts if is_rational(part)] if made in (Add, Mul) else []
                others = [self.written(part) for part in parts if part not in plain]
                return [name, *([self._quotient(made(*plain))] if plain else []), *others]
        raise ModelError(f"{str(value)[:80]} is not computed on a page")

    def _quotient(self, value: Expr) -> int:
        if value not in self._places:
            above, below = ratio(value, self.symbols)
            if any(c < 0 for c in below.values()) and sign(below, self.symbols, frozenset(self.symbols)) != 1:
                raise ModelError(f"{str(value)[:80]} is not computed on a page: the sign below the line is open")
            self._places[value] = len(self.pool)
            self.pool.append([self._terms(above), self._terms(below)])
        return self._places[value]

    def _terms(self, terms: Polynomial) -> list[Data]:
        return [[_coefficient(c), *_powers(exponents)] for exponents, c in terms.items()]


def _coefficient(value: Fraction) -> int | str:
    if value.denominator != 1:
        raise CheckError("a coefficient is no whole number")
    return value.numerator if abs(value.numerator) < EXACT else str(value.numerator)


def _powers(exponents: Sequence[int]) -> list[int]:
    return [x for place, power in enumerate(exponents) if power for x in (place, power)]
