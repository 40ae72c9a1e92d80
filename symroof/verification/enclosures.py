"""Numbers with proof: a formula without free names, enclosed between two rationals.

Rational arithmetic is exact. What is irrational is held in intervals of mpmath, which round outwards; more digits are
taken until the question at hand is decided.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache, reduce
from math import ceil, floor, isqrt
from typing import Any

from symroof.algebra.roots import Root
from symroof.errors import AlgebraError
from symroof.formula import Call, Figure, Formula, Gap, Infinity, Name, Number, children, fold
from symroof.symbols import LARGEST_BITS

DIGITS = (30, 120)
REFUSED = {
    "sqrt": "a root of what may be negative",
    "log": "a logarithm of what may not be positive",
    "exp": "the exponential is too large to compute",
}
# A real number between two rationals is held as the algebra holds a root.
Enclosure = Root
RELATIONS = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def is_numeric(formula: Formula) -> bool:
    """Whether the formula speaks of numbers alone."""
    return not isinstance(formula, Name | Figure | Infinity | Gap) and all(map(is_numeric, children(formula)))


def enclosed(formula: Formula, digits: int = DIGITS[0], point: Mapping[str, Fraction] | None = None) -> Enclosure:
    """The value of a formula of numbers; names have the values of the ``point``.

    >>> from symroof.formula import number
    >>> root = enclosed(Call("sqrt", (Name("A"),)), point={"A": Fraction(2)})
    >>> root.low**2 < 2 < root.high**2, float(root.middle)
    (True, 1.4142135623730951)
    """
    return Enclosure(*ends(fold(formula, Enclosing(digits, point or {}))))


def compared(left: Formula, right: Formula, point: Mapping[str, Fraction] | None = None) -> int | None:
    """The sign of left - right for formulas of numbers; None where no number of digits tells it.

    >>> from symroof.formula import number
    >>> compared(Call("sqrt", (number(2),)), number(1)), compared(number(2), number(2))
    (1, 0)
    """
    for digits in DIGITS:
        a, b = enclosed(left, digits, point), enclosed(right, digits, point)
        if a.exact and a == b:
            return 0
        if a.low > b.high or a.high < b.low:
            return 1 if a.low > b.high else -1
    return None


def relation_holds(sign: int, relation: str) -> bool:
    """Whether a relation holds between two numbers, by the sign of left - right."""
    return bool(RELATIONS[relation](sign, 0))


@lru_cache
def intervals(digits: int) -> Any:
    """The interval arithmetic of mpmath with that many digits, and some more."""
    from mpmath.ctx_iv import MPIntervalContext

    context = MPIntervalContext()
    context.dps = digits + 10
    return context


def ends(value: Any) -> tuple[Fraction, Fraction]:
    """The exact ends of an interval; a rational is both of its own."""
    if isinstance(value, Fraction):
        return value, value
    low, high = ((-1) ** sign * Fraction(int(man)) * Fraction(2) ** exp for sign, man, exp, _ in value._mpi_)
    return low, high


class Enclosing:
    """The rules of a fold: a value is a rational as long as every part of it is one, else an interval."""

    def __init__(self, digits: int, point: Mapping[str, Fraction]) -> None:
        self.iv, self.point = intervals(digits), point

    def number(self, node: Number) -> Fraction:
        return node.value

    def name(self, node: Name) -> Fraction:
        if node.name not in self.point:
            raise AlgebraError(f"{node.name} has no value here")
        return self.point[node.name]

    def infinity(self, node: Infinity) -> Any:
        raise AlgebraError("oo is no number")

    def sum(self, node: Formula, *terms: Any) -> Any:
        return reduce(operator.add, self._alike(terms))

    def product(self, node: Formula, *factors: Any) -> Any:
        return reduce(operator.mul, self._alike(factors))

    def quotient(self, node: Formula, above: Any, below: Any) -> Any:
        low, high = ends(below)
        if low <= 0 <= high:
            raise AlgebraError("division by zero" if low == high else "division by what may be zero")
        return operator.truediv(*self._alike((above, below)))

    def negative(self, node: Formula, body: Any) -> Any:
        return -body

    def group(self, node: Formula, body: Any) -> Any:
        return body

    def power(self, node: Formula, base: Any, exponent: Any) -> Any:
        low, high = ends(base)
        if not isinstance(exponent, Fraction) or exponent.denominator != 1:
            if exponent == Fraction(1, 2):
                return self._irrational("sqrt", base)
            if low <= 0:
                raise AlgebraError("a root of what may be negative")
            return self._irrational("exp", self.product(node, exponent, self._irrational("log", base)))
        width = max(low.numerator.bit_length(), low.denominator.bit_length(), high.numerator.bit_length())
        if abs(exponent) * width > LARGEST_BITS:
            raise AlgebraError(f"the power is too large to compute: exponent {exponent}")
        if exponent <= 0 and low <= 0 <= high:
            raise AlgebraError("zero to a power that is not positive")
        return base ** int(exponent)

    def call(self, node: Call, *arguments: Any) -> Any:
        first, low, high = arguments[0], *ends(arguments[0])
        match node.function:
            case "max" | "min":
                end = max if node.function == "max" else min
                lows, highs = zip(*map(ends, arguments), strict=True)
                return self._between(end(lows), end(highs))
            case "sqrt" | "log" | "exp":
                return self._irrational(node.function, first)
            case "log2":
                exact = _power_of_two(low) if low == high > 0 else None
                logs = (self._irrational("log", value) for value in (first, Fraction(2)))
                return self.quotient(node, *logs) if exact is None else exact
            case "abs":
                return abs(first)
            case "floor" | "ceil":
                whole = floor if node.function == "floor" else ceil
                return self._between(Fraction(whole(low)), Fraction(whole(high)))
        raise AlgebraError(f"{node.function}(…) has no value here")

    def _irrational(self, function: str, body: Any) -> Any:
        """A root, logarithm or exponential: a rational where it is known to be one."""
        low, high = ends(body)
        refused = {"sqrt": low < 0, "log": low <= 0, "exp": max(-low, high) > LARGEST_BITS}
        if refused[function]:
            raise AlgebraError(REFUSED[function])
        if function == "sqrt":
            exact = Fraction(isqrt(low.numerator), isqrt(low.denominator))
            known = exact**2 == low
        else:
            exact, known = (Fraction(0), low == 1) if function == "log" else (Fraction(1), low == 0)
        return exact if known and low == high else getattr(self.iv, function)(self._interval(body))

    def _interval(self, value: Any) -> Any:
        return self.iv.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value

    def _alike(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The values, all of them intervals if one is."""
        if all(isinstance(value, Fraction) for value in values):
            return values
        return tuple(map(self._interval, values))

    def _between(self, low: Fraction, high: Fraction) -> Any:
        return low if low == high else self.iv.mpf([self._interval(low).a, self._interval(high).b])


def _power_of_two(value: Fraction) -> Fraction | None:
    """k with value = 2^k, where there is one."""
    top, bottom = value.numerator, value.denominator
    single = top & (top - 1) == 0 and bottom & (bottom - 1) == 0
    return Fraction(top.bit_length() - bottom.bit_length()) if single else None
