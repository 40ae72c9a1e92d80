"""Numbers with proof: a formula without free names, enclosed between two rationals.

Rational arithmetic is exact. Roots are enclosed by whole-number roots, logarithms and exponentials by interval
arithmetic (mpmath's, which rounds outwards); more digits are taken until the question at hand is decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, isqrt
from typing import Any

from symroof.errors import AlgebraError
from symroof.formula import Call, Figure, Formula, Infinity, Name, Number, children, fold
from symroof.symbols import LARGEST_BITS

DIGITS = (30, 120)
# The same order with its sides exchanged.
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A real number between ``low`` and ``high``; exact where they are equal."""

    low: Fraction
    high: Fraction

    @property
    def exact(self) -> bool:
        return self.low is self.high or self.low == self.high

    @property
    def middle(self) -> Fraction:
        return self.low if self.low is self.high else (self.low + self.high) / 2

    def sign(self) -> int | None:
        """1, 0 or -1 where the enclosure tells it."""
        return 1 if self.low > 0 else -1 if self.high < 0 else 0 if self.exact else None


def is_numeric(formula: Formula) -> bool:
    """Whether the formula speaks of numbers alone."""
    return not isinstance(formula, Name | Figure | Infinity) and all(map(is_numeric, children(formula)))


def enclosed(formula: Formula, digits: int = DIGITS[0]) -> Enclosure:
    """The value of a formula of numbers.

    >>> from symroof.formula import number
    >>> root = enclosed(Call("sqrt", (number(2),)))
    >>> root.low**2 < 2 < root.high**2, float(root.middle)
    (True, 1.4142135623730951)
    """
    value: Enclosure = fold(formula, _Enclosing(digits))
    return value


def compared(left: Formula, right: Formula) -> int | None:
    """The sign of left - right for formulas of numbers; None where no number of digits tells it.

    >>> from symroof.formula import number
    >>> compared(Call("sqrt", (number(2),)), number(1)), compared(number(2), number(2))
    (1, 0)
    """
    for digits in DIGITS:
        a, b = enclosed(left, digits), enclosed(right, digits)
        found = Enclosure(a.low - b.high, a.high - b.low).sign()
        if found is not None:
            return found
    return None


def relation_holds(sign: int, relation: str) -> bool:
    """Whether a relation holds between two numbers, by the sign of left - right."""
    return {"=": sign == 0, "<": sign < 0, "<=": sign <= 0, ">": sign > 0, ">=": sign >= 0}[relation]


class _Enclosing:
    def __init__(self, digits: int) -> None:
        self.digits = digits

    def number(self, node: Number) -> Enclosure:
        return Enclosure(node.value, node.value)

    def name(self, node: Name) -> Enclosure:
        raise AlgebraError(f"{node.name} has no value here")

    def infinity(self, node: Infinity) -> Enclosure:
        raise AlgebraError("oo is no number")

    def sum(self, node: Formula, *terms: Enclosure) -> Enclosure:
        low = sum((t.low for t in terms), Fraction(0))
        if all(t.low is t.high for t in terms):
            return Enclosure(low, low)
        return self._kept(low, sum((t.high for t in terms), Fraction(0)))

    def product(self, node: Formula, *factors: Enclosure) -> Enclosure:
        low = high = Fraction(1)
        for f in factors:
            if low is high and f.low is f.high:
                low = high = low * f.low
                continue
            ends = [low * f.low, low * f.high, high * f.low, high * f.high]
            low, high = min(ends), max(ends)
        return self._kept(low, high)

    def quotient(self, node: Formula, above: Enclosure, below: Enclosure) -> Enclosure:
        if below.low <= 0 <= below.high:
            raise AlgebraError("division by zero" if below.exact else "division by what may be zero")
        if above.low is above.high and below.low is below.high:
            value = above.low / below.low
            return Enclosure(value, value)
        return self.product(node, above, Enclosure(1 / below.high, 1 / below.low))

    def negative(self, node: Formula, body: Enclosure) -> Enclosure:
        low = -body.high
        return Enclosure(low, low if body.low is body.high else -body.low)

    def group(self, node: Formula, body: Enclosure) -> Enclosure:
        return body

    def power(self, node: Formula, base: Enclosure, exponent: Enclosure) -> Enclosure:
        if not exponent.exact:
            return self._exp(self.product(node, exponent, self._log(base)))
        e = exponent.low
        if e.denominator != 1:
            if e == Fraction(1, 2):
                return self._sqrt(base)
            if base.low <= 0:
                raise AlgebraError("a root of what may be negative")
            return self._exp(self.product(node, exponent, self._log(base)))
        width = max(
            base.low.numerator.bit_length(), base.low.denominator.bit_length(), base.high.numerator.bit_length()
        )
        if abs(e) * width > LARGEST_BITS:
            raise AlgebraError(f"the power is too large to compute: exponent {e}")
        if e <= 0 and base.low <= 0 <= base.high:
            raise AlgebraError("zero to a power that is not positive")
        ends = [base.low ** int(e), base.high ** int(e)]
        low = Fraction(0) if base.low < 0 < base.high and e % 2 == 0 else min(ends)
        return self._kept(low, max(ends))

    def call(self, node: Call, *arguments: Enclosure) -> Enclosure:
        first = arguments[0]
        match node.function:
            case "max" | "min":
                end = max if node.function == "max" else min
                return Enclosure(end(a.low for a in arguments), end(a.high for a in arguments))
            case "sqrt":
                return self._sqrt(first)
            case "log":
                return self._log(first)
            case "log2":
                if first.exact and first.low > 0 and (power := _power_of_two(first.low)) is not None:
                    return Enclosure(power, power)
                return self.quotient(node, self._log(first), self._log(Enclosure(Fraction(2), Fraction(2))))
            case "exp":
                return self._exp(first)
            case "abs":
                low = Fraction(0) if first.low <= 0 <= first.high else min(abs(first.low), abs(first.high))
                return Enclosure(low, max(abs(first.low), abs(first.high)))
            case "floor" | "ceil":
                whole = floor if node.function == "floor" else ceil
                return Enclosure(Fraction(whole(first.low)), Fraction(whole(first.high)))
        raise AlgebraError(f"{node.function}(…) has no value here")

    def _kept(self, low: Fraction, high: Fraction) -> Enclosure:
        """Exact values stay exact; the ends of others are shortened outwards."""
        if low == high:
            return Enclosure(low, low)
        scale = 10 ** (self.digits + max(0, -_magnitude(min(abs(low), abs(high)) or abs(high))))
        return Enclosure(Fraction(floor(low * scale), scale), Fraction(ceil(high * scale), scale))

    def _sqrt(self, body: Enclosure) -> Enclosure:
        if body.low < 0:
            raise AlgebraError("a root of what may be negative")
        return Enclosure(self._root(body.low)[0], self._root(body.high)[1])

    def _root(self, value: Fraction) -> tuple[Fraction, Fraction]:
        n, d = isqrt(value.numerator), isqrt(value.denominator)
        if n * n == value.numerator and d * d == value.denominator:
            return Fraction(n, d), Fraction(n, d)
        scale = 10 ** (self.digits + max(0, -_magnitude(value)))
        found = isqrt(value.numerator * scale * scale // value.denominator)
        return Fraction(found, scale), Fraction(found + 1, scale)

    def _log(self, body: Enclosure) -> Enclosure:
        if body.low <= 0:
            raise AlgebraError("a logarithm of what may not be positive")
        return Enclosure(Fraction(0), Fraction(0)) if body.low == body.high == 1 else self._through("log", body)

    def _exp(self, body: Enclosure) -> Enclosure:
        if max(abs(body.low), abs(body.high)) > LARGEST_BITS:
            raise AlgebraError("the exponential is too large to compute")
        return Enclosure(Fraction(1), Fraction(1)) if body.low == body.high == 0 else self._through("exp", body)

    def _through(self, function: str, body: Enclosure) -> Enclosure:
        from mpmath import iv

        saved = iv.dps
        iv.dps = self.digits + 10
        try:
            low, high = (iv.mpf(end.numerator) / iv.mpf(end.denominator) for end in (body.low, body.high))
            a, b = (getattr(iv, function)(end) for end in (low, high))
            return Enclosure(_fraction(a.a), _fraction(b.b))
        finally:
            iv.dps = saved


def _power_of_two(value: Fraction) -> Fraction | None:
    """k with value = 2^k, where there is one."""
    top, bottom = value.numerator, value.denominator
    single = top & (top - 1) == 0 and bottom & (bottom - 1) == 0
    return Fraction(top.bit_length() - bottom.bit_length()) if single else None


def _fraction(end: Any) -> Fraction:
    """The exact value of one end of an interval of mpmath."""
    sign, mantissa, exponent, _ = end._mpi_[0]
    value = Fraction(int(mantissa)) * Fraction(2) ** exponent
    return -value if sign else value


def _magnitude(value: Fraction) -> int:
    return value.numerator.bit_length() * 3 // 10 - value.denominator.bit_length() * 3 // 10 if value else 0
