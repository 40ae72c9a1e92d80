"""Rounding, the only place where a number loses digits: half to even at a number of significant digits or decimals."""

from __future__ import annotations

from fractions import Fraction


def magnitude(value: Fraction) -> int:
    """The power of ten of the first digit.

    >>> magnitude(Fraction(240)), magnitude(Fraction(1, 16))
    (2, -2)
    """
    size = abs(value)
    power = (size.numerator.bit_length() - size.denominator.bit_length()) * 30103 // 100000
    while size >= Fraction(10) ** (power + 1):
        power += 1
    while size < Fraction(10) ** power:
        power -= 1
    return power


def to_places(value: Fraction, places: int) -> str:
    """Decimal digits with ``places`` digits after the point; a negative number of places rounds before it.

    >>> to_places(Fraction(9850, 41), 2), to_places(Fraction(1234), -2)
    ('240.24', '1200')
    """
    scaled = round(value * Fraction(10) ** places)
    if places <= 0:
        return str(scaled * 10**-places)
    sign, digits = ("-" if scaled < 0 else ""), str(abs(scaled)).rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def to_digits(value: Fraction, digits: int) -> str:
    """``digits`` significant digits.

    >>> to_digits(Fraction(78800, 9), 6), to_digits(Fraction(1, 3), 3)
    ('8755.56', '0.333')
    """
    if value == 0:
        return "0"
    return to_places(value, digits - 1 - magnitude(value))


def decimal(value: Fraction) -> str:
    """How a number is shown beside its exact value: whole numbers in full, others with two places or three digits.

    >>> decimal(Fraction(9850, 41)), decimal(Fraction(1, 2)), decimal(Fraction(1, 480)), decimal(Fraction(7))
    ('240.24', '0.5', '0.00208', '7')
    """
    if value.denominator == 1:
        return str(value.numerator)
    if abs(value) >= 1:
        return _trimmed(to_places(value, 2))
    return _trimmed(to_digits(value, 3))


def shown_exactly(value: Fraction, text: str) -> bool:
    """Whether the digits are the value itself.

    >>> shown_exactly(Fraction(1, 2), "0.5")
    True
    """
    return Fraction(text) == value


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
