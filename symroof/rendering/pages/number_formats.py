"""How numbers are written on pages: decimals, sizes, quantities with their units, shares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from symroof.algebra import rounding
from symroof.algebra.rounding import decimal, magnitude, shorten, to_places, trim
from symroof.derivation.drafts import TimeRow
from symroof.derivation.formula_writing import Layout
from symroof.formula import Compare, Formula, Name, Number, Quotient
from symroof.model.quantities import STORAGE, UNITS, Exponents, Unit, spelled, unit_of_time
from symroof.reading.numbers import exact


def to_digits(value: Fraction, digits: int) -> str:
    """So many significant digits; those before the point in full.

    >>> to_digits(Fraction(48731, 20), 3), to_digits(Fraction(1, 3), 3)
    ('2437', '0.333')
    """
    return rounding.to_digits(value, max(digits, magnitude(value) + 1) if value else digits)


MOST_DIGITS = 16
DECIMAL_STORAGE = [
    unit for unit in STORAGE if unit.scale.denominator == 1 and str(unit.scale.numerator).rstrip("0") == "1"
]
T = TypeVar("T")
V = TypeVar("V")


def sizes(values: Mapping[str, Fraction]) -> str:
    """``B = 128, D = F = 8192``.

    >>> sizes({"B": Fraction(128), "D": Fraction(8192), "F": Fraction(8192)})
    'B = 128, D = F = 8192'
    """
    return ", ".join(" = ".join((*names, number(value))) for names, value in group(values.items()))


def group(pairs: Iterable[tuple[T, V]]) -> list[tuple[list[T], V]]:
    """What has the same value together.

    >>> group([("B", 128), ("D", 8192), ("F", 8192)])
    [(['B'], 128), (['D', 'F'], 8192)]
    """
    groups: dict[V, list[T]] = {}
    for key, value in pairs:
        groups.setdefault(value, []).append(key)
    return [(whats, value) for value, whats in groups.items()]


def grouped_sizes(values: Mapping[str, Fraction], layout: Layout) -> list[tuple[list[Name], Formula]]:
    """D = F = 8192 as one: names of equal values together, and the value as it is written."""
    return [(names, _number_formula(value, layout)) for names, value in group((Name(n), x) for n, x in values.items())]


def _number_formula(value: Fraction, layout: Layout) -> Formula:
    """A number that is put in: in decimals, where they are the value."""
    text = decimal(value)
    return Number(value, text) if value.denominator != 1 and Fraction(text) == value else layout.write(value)


def number(value: Fraction) -> str:
    small = max(abs(value.numerator).bit_length(), value.denominator.bit_length()) < 40
    return str(value) if small and (value.denominator == 1 or len(str(value)) < 12) else shorten(value, 6)


def quantity(value: Fraction, unit: str, beside: Fraction | None = None) -> str:
    """A value with its unit; times in the unit that gives them digits before the point, or in powers of ten. What
    stands ``beside`` another value has digits enough to tell which of them is larger.

    >>> quantity(Fraction(872, 10**7), "s"), quantity(Fraction(3), "bytes"), quantity(Fraction(508, 10**17), "s")
    ('87.2 us', '3 bytes', '5.08e-15 s')
    >>> quantity(Fraction(1270004, 10**4), "", Fraction(127)), quantity(Fraction(127), "", Fraction(1270004, 10**4))
    ('127.0004', '127')
    """
    of_time = unit_of_time(value) if unit == "s" else Unit(unit, "", Fraction(1))
    other = None if beside is None else beside / of_time.scale
    return f"{distinct_digits(value / of_time.scale, other, 4)} {of_time.name}".rstrip()


def readable(value: Fraction, unit: str) -> tuple[str, str]:
    """A number in the digits and the unit in which people read it: bytes in their decimal prefixes, times in the unit that
    gives them digits before the point, counts from a million on by powers of a thousand.

    >>> readable(Fraction(141107412992), "bytes"), readable(Fraction(70553706496), "1"), readable(Fraction(21, 200), "s")
    (('141.1', 'GB'), ('70.55e9', ''), ('105', 'ms'))
    >>> readable(Fraction(512), "bytes"), readable(Fraction(123456), "FLOPs"), readable(Fraction(9850, 41), "FLOPs/bytes")
    (('512', 'bytes'), ('123456', ''), ('240.24', ''))
    """
    if unit == "s":
        of_time = unit_of_time(value)
        return shorten(value / of_time.scale, 4), of_time.name
    if unit == "bytes":
        size = max((u for u in DECIMAL_STORAGE if u.scale <= value), key=lambda u: u.scale, default=UNITS["bytes"])
        return (str(value) if size.scale == 1 and value.denominator == 1 else shorten(value / size.scale, 4)), size.name
    power = magnitude(value) // 3 * 3 if value else 0
    if power >= 6:
        return _in_thousands(value, power), ""
    return (str(value) if value.denominator == 1 else decimal(value) if power >= -3 else shorten(value, 4)), ""


def with_unit(value: Fraction, unit: Exponents | None) -> tuple[str, str]:
    """The same where the unit is told by its powers, and stands behind the number where it is none of those.

    >>> with_unit(Fraction(429 * 10**12), {"FLOPs": Fraction(1), "s": Fraction(-1)}), with_unit(Fraction(7), None)
    (('429e12', 'FLOPs/s'), ('7', ''))
    """
    base = "" if unit is None else spelled(unit)
    digits, shown = readable(value, base)
    return digits, shown or (base if base in ("FLOPs", "FLOPs/s", "bytes/s") else "")


def _in_thousands(value: Fraction, power: int) -> str:
    return f"{trim(rounding.to_digits(value / 10**power, 4))}e{power}"


def distinct_digits(value: Fraction, other: Fraction | None, digits: int) -> str:
    """A value in some digits; in more of them where a tenth of what it differs by from another one does not show.

    >>> distinct_digits(Fraction("1.41421356"), Fraction("1.415"), 6), distinct_digits(Fraction("1.41421356"), Fraction(2), 6)
    ('1.414214', '1.41')
    """
    text = shorten(value, digits)
    while (
        other not in (None, value)
        and digits < MOST_DIGITS
        and abs(exact(text) - value) * 10 > abs(value - (other or 0))
    ):
        digits += 1
        text = trim(to_digits(value, digits))
    return text


def unit_of_times(rows: Iterable[TimeRow]) -> Unit:
    """The unit of a table: that of its longest time, but microseconds up to a tenth of a second."""
    longest = max((row.lower for row in rows), default=Fraction(1))
    return UNITS["us"] if Fraction(1, 10**6) <= longest < Fraction(1, 10) else unit_of_time(longest)


def shown_times(row: TimeRow, unit: Unit = UNITS["us"]) -> tuple[str, ...]:
    """The times of a row in a unit, with digits enough that the two compared ones differ.

    >>> from symroof.derivation.drafts import TimeRow
    >>> shown_times(TimeRow(Fraction(1), *(Fraction(n, 10**9) for n in (681, 163700, 163700, 164381)), "<", False))
    ('0.681', '163.7', '163.7', '164.4')
    >>> shown_times(TimeRow(Fraction(1), *(Fraction(n, 10**14) for n in (1, 700, 700, 701)), "<", False), UNITS["s"])
    ('1e-14', '7e-12', '7e-12', '7.01e-12')
    """
    steps = () if row.steps is None else (row.steps,)
    values = [
        value / unit.scale
        for value in (row.t_math, row.t_comms, row.lower, row.upper, *(time for _, time in row.others), *steps)
    ]
    if values[2] * 10**9 < 1:
        return tuple(shorten(value, 3) for value in values)
    close = abs(row.t_math - row.t_comms) * 50 < row.lower
    shown = []
    for index, value in enumerate(values):
        compared = index < 3 or (row.steps is not None and index == len(values) - 1)
        places = max(2 if close and compared else 0, 2 - magnitude(value) if value < 100 else 1)
        shown.append(shorten(value, 3) if value * 1000 < 1 else to_places(value, places))
    extra = 2
    while close and shown[0] == shown[1] and values[0] != values[1] and extra < 12:
        extra += 1
        shown[:3] = [to_places(value, extra) for value in values[:3]]
    return tuple(shown)


def percent(share: Fraction) -> str:
    """
    >>> percent(Fraction(-21, 1979)), percent(Fraction(1, 10**6)), percent(Fraction(1082, 1000))
    ('1.1 %', '0.0001 %', '108 %')
    """
    size = abs(share) * 100
    return f"{trim(to_digits(size, 2)) if size < 100 else to_places(size, 0)} %"


def decimal_number(value: Fraction) -> Number:
    """A number in the digits in which it is shown."""
    text = decimal(value)
    return Number(Fraction(text), text)


def bound_shown(condition: Formula) -> Formula:
    """A bound that is a fraction of whole numbers in decimals, as one reads it; any other condition as it is."""
    return replace(condition, right=in_decimals(condition.right)) if isinstance(condition, Compare) else condition


def in_decimals(formula: Formula) -> Formula:
    """A fraction of whole numbers as the decimals in which it is shown; any other formula as it is.

    >>> in_decimals(Quotient(Number(Fraction(9850)), Number(Fraction(41)))).digits
    '240.24'
    """
    if isinstance(formula, Quotient) and isinstance(formula.above, Number) and isinstance(formula.below, Number):
        return decimal_number(formula.above.value / formula.below.value)
    return formula
