"""Numbers in print as intervals of what may stand behind them, and formulas of numbers between two rationals.

A number in print stands for whatever is rounded to nearest, or cut off, at its last significant digit, and is within a
quarter of it: 5/3 is 2, 1999/1000 is not 1. Digits after a point are significant; trailing zeros of a number without one
are not: 61000 has two digits. A number with two or more digits in print has at least two: 3000 has two, 4 and 6e10 have
one. Inside of a side whole numbers without a unit or a power of ten are exact.

Rational arithmetic is exact. What is irrational is held between two ends; more digits are taken until the question at hand
is decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from symroof.algebra.roots import Root
from symroof.formula import (
    Figure,
    Formula,
    Gap,
    Group,
    Infinity,
    Name,
    Negative,
    Number,
    Power,
    Product,
    children,
    fold,
    mapped,
    nodes,
)
from symroof.proof.exact_values import Enclosures
from symroof.reading.numbers import exact
from symroof.verification.verdicts import Remark

WRITTEN = 10**100  # larger numbers without digits of their own are never in print
COARSE = Fraction(1, 20)  # a number that is off by more than this says so
WILD = Fraction(1, 4)  # nothing that is off by more is the same number
FINE = Fraction(1, 100)  # a bound that is off by less is the same bound
LESS = 1 - Fraction(1, 10**9)  # what is cut off is less than a unit
KIBI = Fraction(1024, 1000)
BINARY = re.compile(r" [KMGTP]iB$")
DECIMAL = re.compile(r" ([kKMGTP])B(?:/s)?$")
COUNT = re.compile(r"(?<=\d)([KM])$")
NUMBER = re.compile(r"(\d*)(\.?)(\d*)(?:[eE]([+-]?\d+))?", re.ASCII)
FormulaType = TypeVar("FormulaType", bound=Formula)
DIGITS = 30
# A real number between two rationals is held as the algebra holds a root.
Enclosure = Root


def is_numeric(formula: Formula) -> bool:
    """Whether the formula speaks of numbers alone."""
    return not isinstance(formula, Name | Figure | Infinity | Gap) and all(map(is_numeric, children(formula)))


def enclosed(formula: Formula, digits: int = DIGITS, point: Mapping[str, Fraction] | None = None) -> Enclosure:
    """The value of a formula of numbers; names have the values of the ``point``.

    >>> from symroof.formula import Call
    >>> root = enclosed(Call("sqrt", (Name("A"),)), point={"A": Fraction(2)})
    >>> root.low**2 < 2 < root.high**2, float(root.middle)
    (True, 1.4142135623730951)
    """
    return Enclosure(*fold(formula, Enclosures(digits, point or {})))


def last_place(printed: Number) -> tuple[int, Fraction]:
    """How many significant digits a number has in print, and what the last of them counts.

    >>> last_place(Number(Fraction(61000), "61000")), last_place(Number(Fraction(1, 100), "10 ms"))
    ((2, Fraction(1000, 1)), (2, Fraction(1, 1000)))
    """
    if printed.digits is None and (printed.value.denominator != 1 or abs(printed.value) >= WRITTEN):
        return 0, Fraction(0)
    text = (printed.digits or str(abs(printed.value))).replace("_", "").replace(",", "")
    before, point, after, power = NUMBER.findall(text)[0]
    plain, zeros = (before + after).lstrip("0"), 0
    if not point:
        zeros = min(len(plain) - len(plain.rstrip("0")), max(0, len(plain) - 2))
    value = exact(f"{before}{point}{after}e{power or 0}") if before + after else Fraction(0)
    scale = abs(printed.value / value) if value else Fraction(1)
    return max(1, len(plain) - zeros), scale * Fraction(10) ** (zeros - len(after) + int(power or 0))


def rounding(true: Enclosure, printed: Number) -> Remark | None:
    """How the printed number comes from the true one: exact, rounded or truncated. None where it does not.

    >>> from symroof.reading.numbers import quantity
    >>> def of(value, text): return rounding(Enclosure(Fraction(value), Fraction(value)), Number(exact(text), text))
    >>> of("240.24", "240").kind, of("4377.78", "4377").kind, of("240.24", "250")
    ('rounded', 'truncated', None)
    """
    digits, unit = last_place(printed)
    c, facts = printed.value, {"digits": digits, "value": true.middle}
    if true.exact and true.low == c:
        return Remark("exact", {**facts, "share": Fraction(0)})
    ends = (true.low, true.high)
    if c == 0 or true.low <= 0 <= true.high or any(abs(c / end - 1) > WILD for end in ends):
        return None
    share = c / true.middle - 1
    facts |= {"share": share, "off": share if abs(share) > COARSE else None}
    if all(abs(end - c) <= unit / 2 for end in ends):
        return Remark("rounded", facts)
    return Remark("truncated", facts) if all(0 <= abs(end) - abs(c) < unit for end in ends) else None


def is_inexact(printed: Number) -> bool:
    """Whether a number in print may be rounded: it is no count, as of bytes, and no power of ten."""
    digits = (printed.digits or "1").lower()
    amount = digits.partition(" ")[0] if printed.unit in (None, "1", "bytes") else ""
    counted = amount.isdecimal() and printed.value == int(amount)
    return bool(printed.value) and not counted and not re.fullmatch(r"1(e[+-]?\d+)?( .*)?", digits)


class _Printed(Enclosures):
    """The rules of a fold: a number in print is the interval of what is rounded to it, or cut off, if it is no datum."""

    data: frozenset[Fraction] = frozenset()

    def number(self, node: Number) -> tuple[Fraction, Fraction]:
        if not is_inexact(node) or node.value in self.data:
            return node.value, node.value
        nearest, less = last_place(node)[1] / 2, last_place(node)[1] * LESS
        below, above = (nearest, less) if node.value > 0 else (less, nearest)
        return node.value - below, node.value + above


def admits(side: Formula, other: Formula) -> bool:
    """Whether a side is what another is once its numbers are rounded, those that stand in the other one excepted: 12 ms + 3 ms
    is 15.61 ms, 345 * 0.5 is not 312 * 0.5.

    >>> from symroof.formula import Quotient
    >>> half = Quotient(Number(exact("8.59e9"), "8.59e9"), Number(exact("2"), "2"))
    >>> [admits(half, Number(Fraction(n))) for n in (4294967296, 4300000001)]
    [True, False]
    """
    side, value, rules = mapped(side, with_power), enclosed(other), _Printed(DIGITS, {})
    rules.data = data_of(other)
    if not any(map(is_inexact, literals(side))):
        return False
    low, high = fold(side, rules)
    near = abs(enclosed(side).middle - value.middle) <= WILD * abs(value.middle)
    return near and low <= value.low and value.high <= high


def data_of(side: Formula) -> frozenset[Fraction]:
    """The numbers that stand in a side, of which none stands for another one in the side behind it."""
    return frozenset(printed.value for printed in literals(mapped(side, with_power)))


def is_printed(formula: Formula) -> bool:
    """Whether a side is one number in print."""
    return isinstance(bare(formula), Number)


def bare(formula: Formula) -> Formula:
    """The formula without brackets around it; a negative number, and one times a power of ten, is a number."""
    match formula:
        case Group(body=body):
            return bare(body)
        case Negative(body=body) if isinstance(inner := bare(body), Number):
            return Number(-inner.value, inner.digits, inner.unit)
        case Product(factors=(Number(unit=None) as n, Power(base=Number(value=Fraction(numerator=10)), exponent=k))):
            if isinstance(k := bare(k), Number) and k.value.denominator == 1 and "e" not in (n.digits or "").lower():
                return Number(n.value * Fraction(10) ** int(k.value), f"{n.digits or n.value}e{k.value}")
    return formula


def literals(side: Formula) -> Iterator[Number]:
    """The numbers that are printed in a side, powers of numbers and exponents left out."""
    if isinstance(side, Number):
        yield side
    for child in children(side):
        if not (isinstance(side, Power) and (child is side.exponent or isinstance(child, Number))):
            yield from literals(child)


def precise(side: Formula) -> tuple[Number, ...]:
    """The numbers printed in a side that have several digits."""
    return tuple(literal for literal in literals(side) if last_place(literal)[0] > 1)


def is_whole(printed: Number) -> bool:
    """Whether a number in print is whole, without a unit and without a power of ten."""
    return printed.value.denominator == 1 and printed.unit is None and (printed.digits or "0").isdecimal()


def bounds_alike(rounded: Remark) -> bool:
    """Whether a number in print is the bound of a condition: to nearest with two digits or more, or off by less than 1 %."""
    nearest = rounded.kind in ("rounded", "exact") and rounded.facts["digits"] > 1
    return nearest or abs(rounded.facts["share"]) < FINE


def with_power(node: Formula) -> Formula:
    """A product in which a number and a power of ten behind it are one number."""
    if not isinstance(node, Product):
        return node
    factors: list[Formula] = []
    for factor in node.factors:
        both = bare(Product((factors[-1], factor))) if factors else factor
        factors[-1:] = [both] if isinstance(both, Number) else [*factors[-1:], factor]
    return Product(tuple(factors)) if len(factors) > 1 else factors[0]


def is_binary(formula: Formula) -> bool:
    """Whether KiB, MiB, GiB or TiB, or a power of two from 2^10 on, is printed in a side."""
    for node in nodes(formula):
        match node:
            case Power(base=Number(value=base), exponent=Number(value=power)) if base == 2 and power >= 10:
                return True
            case Number(digits=str(digits)) if BINARY.search(digits):
                return True
    return False


def in_binary(node: FormulaType, prefix: re.Pattern[str] = DECIMAL) -> FormulaType:
    """A number in kB, MB, GB, TB or PB in the binary unit; or with another prefix."""
    if not isinstance(node, Number) or (match := prefix.search(node.digits or "")) is None:
        return node
    return replace(node, value=node.value * KIBI ** ("KMGTP".index(match[1].upper()) + 1))
