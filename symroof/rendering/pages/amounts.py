"""Numbers as people write them: sizes put in, quantities with their units, shares."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from symroof.algebra.rounding import decimal, magnitude, to_digits

UNITS_OF_TIME = (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9))


def sizes(values: Mapping[str, Fraction]) -> str:
    """``B = 128, D = F = 8192``.

    >>> sizes({"B": Fraction(128), "D": Fraction(8192), "F": Fraction(8192)})
    'B = 128, D = F = 8192'
    """
    by_value: dict[Fraction, list[str]] = {}
    for name, value in values.items():
        by_value.setdefault(value, []).append(name)
    return ", ".join(" = ".join((*names, number(value))) for value, names in by_value.items()) or "everywhere"


def number(value: Fraction) -> str:
    small = max(abs(value.numerator).bit_length(), value.denominator.bit_length()) < 40
    return str(value) if small and (value.denominator == 1 or len(str(value)) < 12) else short(value, 6)


def quantity(value: Fraction, unit: str) -> str:
    """A value with its unit; times in the unit that gives them digits before the point.

    >>> quantity(Fraction(872, 10**7), "s"), quantity(Fraction(3), "bytes")
    ('87.2 us', '3 bytes')
    """
    if unit == "s" and value:
        for name, per_second in UNITS_OF_TIME:
            if abs(value * per_second) >= 1 and (abs(value) >= 1 or abs(value * per_second) < 1000):
                return f"{short(value * per_second, 4)} {name}"
    return f"{short(value, 4)} {unit}".rstrip()


def short(value: Fraction, digits: int = 6) -> str:
    """A number for people: whole ones in full up to a million, others in some significant digits.

    >>> short(Fraction(9850, 41)), short(Fraction(1, 3), 3), short(Fraction(197 * 10**12))
    ('240.24', '0.333', '1.97e14')
    """
    if value == 0:
        return "0"
    power = magnitude(value)
    if -4 < power < 7:
        if value.denominator == 1:
            return str(value)
        return decimal(value) if abs(value) >= 1 and digits == 6 else _trimmed(to_digits(value, max(digits, 3)))
    mantissa = value / Fraction(10) ** power
    return f"{_trimmed(to_digits(mantissa, min(digits, 6)))}e{power}"


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: Fraction) -> str:
    """
    >>> percent(Fraction(-21, 1979)), percent(Fraction(1, 10**6))
    ('1.1 %', '0.0001 %')
    """
    return f"{_trimmed(to_digits(abs(share) * 100, 2))} %"


def digits(count: int) -> str:
    return "one digit" if count == 1 else f"{count} digits"
