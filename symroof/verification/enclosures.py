"""Numbers with proof: a formula without free names, enclosed between two rationals.

Rational arithmetic is exact. What is irrational is held between two ends; more digits are taken until the question at hand
is decided.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from fractions import Fraction
from functools import reduce

from symroof.algebra.roots import Root
from symroof.errors import AlgebraError
from symroof.formula import Call, Figure, Formula, Gap, Infinity, Name, Number, children, fold
from symroof.proof.pointwise import Ends, functions, multiplied
from symroof.symbols import LARGEST_BITS

DIGITS = (30, 120)
REFUSED = {
    "sqrt": "a root of what may be negative",
    **dict.fromkeys(("log", "log2"), "a logarithm of what may not be positive"),
    "exp": "the exponential is too large to compute",
}
HALF, MINUS = Fraction(1, 2), Fraction(-1)
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
    return Enclosure(*fold(formula, Enclosing(digits, point or {})))


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


class Enclosing:
    """The rules of a fold: a value is what it lies between."""

    def __init__(self, digits: int, point: Mapping[str, Fraction]) -> None:
        self.functions, self.point = functions(digits + 10), point

    def number(self, node: Number) -> Ends:
        return node.value, node.value

    def name(self, node: Name) -> Ends:
        if node.name not in self.point:
            raise AlgebraError(f"{node.name} has no value here")
        return self.point[node.name], self.point[node.name]

    def infinity(self, node: Infinity) -> Ends:
        raise AlgebraError("oo is no number")

    def sum(self, node: Formula, *terms: Ends) -> Ends:
        low = sum((term[0] for term in terms), Fraction(0))
        exact = all(term[0] is term[1] for term in terms)
        return low, low if exact else sum((term[1] for term in terms), Fraction(0))

    def product(self, node: Formula, *factors: Ends) -> Ends:
        return reduce(multiplied, factors)

    def quotient(self, node: Formula, above: Ends, below: Ends) -> Ends:
        low, high = below
        if low <= 0 <= high:
            raise AlgebraError("division by zero" if low == high else "division by what may be zero")
        return multiplied(above, ((inverse := 1 / low), inverse) if low is high else (1 / high, 1 / low))

    def negative(self, node: Formula, body: Ends) -> Ends:
        return multiplied((MINUS, MINUS), body)

    def group(self, node: Formula, body: Ends) -> Ends:
        return body

    def power(self, node: Formula, base: Ends, exponent: Ends) -> Ends:
        (low, high), power = base, exponent[0]
        if power != exponent[1] or power.denominator != 1:
            if exponent == (HALF, HALF):
                return self._of("sqrt", base)
            if low <= 0:
                raise AlgebraError("a root of what may be negative")
            return self._of("exp", multiplied(exponent, self._of("log", base)))
        width = max(low.numerator.bit_length(), low.denominator.bit_length(), high.numerator.bit_length())
        if abs(power) * width > LARGEST_BITS:
            raise AlgebraError(f"the power is too large to compute: exponent {power}")
        if power <= 0 and low <= 0 <= high:
            raise AlgebraError("zero to a power that is not positive")
        ends = sorted(end ** int(power) for end in base)
        least = Fraction(0) if low < 0 < high and power % 2 == 0 else ends[0]
        return (least, least) if low == high else (least, ends[1])

    def call(self, node: Call, *arguments: Ends) -> Ends:
        return self._of(node.function, *arguments)

    def _of(self, function: str, *arguments: Ends) -> Ends:
        if function not in self.functions:
            raise AlgebraError(f"{function}(…) has no value here")
        found = self.functions[function](*arguments)
        if found is None:
            raise AlgebraError(REFUSED[function])
        return found
