"""Printed digits: when a number in print stands for the true value.

The printed number is the true value rounded to nearest, or truncated toward zero, at its last significant digit.
Digits after a point are significant; trailing zeros of a number without one are not: 61000 has two digits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from symroof.formula import Formula, Group, Negative, Number
from symroof.reading.units import exact
from symroof.verification.enclosures import Enclosure

WRITTEN = 10**100  # larger numbers without digits of their own are never in print
NUMBER = re.compile(r"[\d_]*\.?[\d_]*(?:[eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rounding:
    """``how`` is exact, rounded or truncated; ``digits`` is the number of significant digits in print."""

    how: str
    digits: int


def rounding(true: Enclosure, printed: Number) -> Rounding | None:
    """How the printed number comes from the true one, or None where it does not.

    >>> from symroof.reading.units import quantity
    >>> def of(value, text): return rounding(Enclosure(Fraction(value), Fraction(value)), Number(exact(text), text))
    >>> of("240.24", "240"), of("4377.78", "4377"), of("240.24", "250")
    (Rounding(how='rounded', digits=2), Rounding(how='truncated', digits=4), None)
    """
    digits, scale, unit_in_last_place = last_place(printed)
    c = printed.value
    if true.exact and true.low == c:
        return Rounding("exact", digits)
    if c == 0:
        return None
    half = unit_in_last_place * scale / 2
    if max(abs(true.low), abs(true.high)) < 2 * half:
        half /= 10  # no digit of the value stands at that place: 9.6 is 10, and 6 is not
    if true.low >= c - half and true.high <= c + half:
        return Rounding("rounded", digits)
    if true.low * c > 0 and true.high * c > 0:
        gaps = [abs(end) - abs(c) for end in (true.low, true.high)]
        if all(0 <= gap < 2 * half for gap in gaps):
            return Rounding("truncated", digits)
    return None


def last_place(printed: Number) -> tuple[int, Fraction, Fraction]:
    """How many significant digits a number has in print, the size of its unit, and that of its last digit.

    >>> last_place(Number(Fraction(61000), "61000"))
    (2, Fraction(1, 1), Fraction(1000, 1))
    """
    if printed.digits is None and (printed.value.denominator != 1 or abs(printed.value) >= WRITTEN):
        return 0, Fraction(1), Fraction(0)
    text = printed.digits or str(printed.value)
    found = NUMBER.match(text)
    written = found.group().replace("_", "") if found else "0"
    mantissa, _, power = written.lower().partition("e")
    before, point, after = mantissa.partition(".")
    value = exact(written or "0")
    scale = printed.value / value if value else Fraction(1)
    plain = (before + after).lstrip("0")
    if point:
        place = -len(after)
    else:
        place = len(before) - len(before.rstrip("0"))
        plain = plain.rstrip("0")
    return max(1, len(plain)), abs(scale), Fraction(10) ** (place + int(power or 0))


def is_printed(formula: Formula) -> bool:
    """Whether a side is one number in print."""
    return isinstance(bare(formula), Number)


def bare(formula: Formula) -> Formula:
    """The formula without brackets around it; a negative number is a number."""
    while isinstance(formula, Group):
        formula = formula.body
    if isinstance(formula, Negative) and isinstance(inner := bare(formula.body), Number):
        return Number(-inner.value, inner.digits, inner.unit)
    return formula
