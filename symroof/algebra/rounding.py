"""Rounding, the only place where a number loses digits: half to even at a number of significant digits or decimals."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction


def magnitude(value: Fraction) -> int:
    """The power of ten of the first digit.

    >>> magnitude(Fraction(240)), magnitude(Fraction(1, 16))
    (2, -2)
    """
    size = abs(value)
    power = Decimal(size.numerator).adjusted() - Decimal(size.denominator).adjusted()
    return power if size >= Fraction(10) ** power else power - 1


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


def rounded_up(value: Fraction, digits: int) -> str:
    """The least decimal that is not below a value, where its nearest one of that many significant digits ends.

    >>> rounded_up(Fraction(20812, 1000), 3), rounded_up(Fraction(533, 10), 3), rounded_up(Fraction(2081, 10000), 2)
    ('20.9', '53.3', '0.21')
    """
    text = to_digits(value, digits)
    places = len(text.partition(".")[2])
    return text if Fraction(text) >= value else to_places(Fraction(text) + Fraction(1, 10**places), places)


def decimal(value: Fraction) -> str:
    """How a number is shown beside its exact value: whole numbers in full, others with two places or three digits.

    A number that is not whole is never shown as one: a bound just below 2550 would deny that 2550 is above it.

    >>> decimal(Fraction(9850, 41)), decimal(Fraction(1, 2)), decimal(Fraction(1, 480)), decimal(Fraction(7))
    ('240.24', '0.5', '0.00208', '7')
    >>> decimal(Fraction(2549999, 1000)), decimal(Fraction(999999, 1000000))
    ('2549.999', '0.999999')
    """
    if value.denominator == 1:
        return str(value.numerator)
    places = 2 if abs(value) >= 1 else 2 - magnitude(value)
    while Fraction(text := to_places(value, places)).denominator == 1:
        places += 1
    return trim(text)


def shorten(value: Fraction, digits: int = 6) -> str:
    """A number for people: whole ones in full up to a million, others in some significant digits, those before the point in full.

    >>> shorten(Fraction(9850, 41)), shorten(Fraction(1, 3), 3), shorten(Fraction(197 * 10**12)), shorten(Fraction(48731, 2), 4)
    ('240.24', '0.333', '1.97e14', '24366')
    """
    if value == 0:
        return "0"
    power = magnitude(value)
    if -4 < power < 7:
        if value.denominator == 1:
            return str(value)
        return decimal(value) if abs(value) >= 1 and digits == 6 else trim(to_digits(value, max(digits, 3, power + 1)))
    mantissa = value / Fraction(10) ** power
    return f"{trim(to_digits(mantissa, min(digits, 6)))}e{power}"


def trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
