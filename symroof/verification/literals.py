"""Numbers in print: when one stands for the true value, and the number that would have to stand in its place.

The printed number is the true value rounded to nearest, or truncated toward zero, at its last significant digit, and within
a quarter of it: 5/3 is 2, 1999/1000 is not 1.
Digits after a point are significant; trailing zeros of a number without one are not: 61000 has two digits. A number
with two or more digits in print has at least two: 3000 has two, 4 and 6e10 have one.

Nobody truncates what stands in print: of two numbers in print one is the other rounded to nearest. Arithmetic of whole
numbers in print is exact below 10^4. The bound of a condition is rounded to nearest with two digits or more, or is off by
less than a hundredth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from symroof.algebra.rational import cancelled
from symroof.errors import AlgebraError
from symroof.formula import (
    Both,
    Call,
    Compare,
    Formula,
    Group,
    Name,
    Negative,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    Verdict,
    children,
    fold,
    mapped,
    names,
    nodes,
    number,
)
from symroof.proof.pointwise import Enclosures
from symroof.proof.step import Check
from symroof.reading.numbers import exact
from symroof.symbols import expression, fraction
from symroof.verification.context import Context, Question
from symroof.verification.enclosures import DIGITS, Enclosure, enclosed, is_numeric
from symroof.verification.judgement import Finding, Remark

WRITTEN = 10**100  # larger numbers without digits of their own are never in print
COUNTED = 10**4  # below this, arithmetic of whole numbers is exact
COARSE = Fraction(1, 20)  # a number that is off by more than this says so
WILD = Fraction(1, 4)  # nothing that is off by more is the same number
FINE = Fraction(1, 100)  # a bound that is off by less is the same bound
BINARY = re.compile(r" [KMGTP]iB$")
NUMBER = re.compile(r"(\d*)(\.?)(\d*)(?:[eE]([+-]?\d+))?", re.ASCII)


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
    if c == 0 or true.low <= 0 <= true.high or any(abs(c / end - 1) > WILD for end in (true.low, true.high)):
        return None
    share = c / true.middle - 1
    facts |= {"share": share, "off": share if abs(share) > COARSE else None}
    half = unit / 2
    if max(abs(true.low), abs(true.high)) < unit:
        half /= 10  # no digit of the value stands at that place: 9.6 is 10, and 6 is not
    if true.low >= c - half and true.high <= c + half:
        return Remark("rounded", facts)
    if all(0 <= abs(end) - abs(c) < 2 * half for end in (true.low, true.high)):
        return Remark("truncated", facts)
    return None


class _Rounded(Enclosures):
    """The rules of a fold: a number in print is what it was rounded from, or cut off; whole numbers without unit are exact."""

    def number(self, node: Number) -> tuple[Fraction, Fraction]:
        if not is_inexact(node):
            return node.value, node.value
        _, unit = last_place(node)
        below, above = (unit / 2, unit) if node.value > 0 else (unit, unit / 2)
        return node.value - below, node.value + above


def is_inexact(printed: Number) -> bool:
    """Whether a number in print may be rounded: it has a point, a power of ten or a unit, and is no power of ten itself."""
    digits = (printed.digits or "1").lower()
    measured = printed.unit not in (None, "1") or not digits.isdecimal()
    return bool(printed.value) and measured and not re.fullmatch(r"1(e[+-]?\d+)?( .*)?", digits)


def rounded_from(side: Formula, value: Enclosure) -> bool:
    """Whether a side is what a value may be once the numbers in it are rounded: 12 ms + 3 ms of 15.61 ms.

    >>> from symroof.formula import Quotient
    >>> def number(text): return Number(exact(text), text)
    >>> half = Quotient(number("8.59e9"), number("2"))
    >>> [rounded_from(half, Enclosure(Fraction(n), Fraction(n))) for n in (4294967296, 4300000001)]
    [True, False]
    """
    if not any(map(is_inexact, literals(side))):
        return False
    low, high = fold(side, _Rounded(DIGITS, {}))
    middle = enclosed(side).middle
    return low <= value.low and value.high <= high and abs(middle - value.middle) <= WILD * abs(value.middle)


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


def printed_digits(value: Enclosure, printed: Formula, context: Context) -> Remark | None:
    """How a side that is one number, or has one number with several digits, comes from the true value."""
    number = bare(printed)
    if isinstance(number, Number):
        return rounding(value, number)
    if len(precise(printed)) != 1 or not value.exact:
        return None
    found, _ = _rounded(Number(value.low), printed, context)
    return None if found is None else Remark(found.kind, {**found.facts, "value": value.middle})


def in_print(question: Question, other: Formula, side: Formula, check: Check) -> Finding | None:
    """The link holds once a number printed in a side is taken for the one that would make it equal to ``other``."""
    link, (found, literal) = question.link, _rounded(other, side, question.context, side is question.link.right)
    beside = next((one for one in (link.left, link.right) if one is not side), None) if link.relation == "=" else None
    whole = beside is not None and side is link.left and is_arithmetic(side, question.context)
    if found is None or whole or (beside is not None and not may_stand(found, beside, question.context, literal)):
        return None
    if link.relation in ("<=>", "=>") and not bounds_alike(found):
        return None
    return Finding(link, "rounded", check, remarks=(found,))


def _rounded(
    other: Formula, side: Formula, context: Context, later: bool = True
) -> tuple[Remark | None, Number | None]:
    """How a number printed in a side comes from the one that would make the side equal to ``other``, and which one; those
    of a fraction of whole numbers, 31/32, are what they are."""
    for literal in () if has_fraction(side) else precise(side):
        needed = _needed(other, side, literal, context, later)
        found = None if needed is None else rounding(Enclosure(needed, needed), literal)
        if found is not None and found.kind != "exact":
            return found, literal
    return None, None


def precise(side: Formula) -> tuple[Number, ...]:
    """The numbers printed in a side that have several digits."""
    return tuple(literal for literal in literals(side) if last_place(literal)[0] > 1)


def has_fraction(side: Formula) -> bool:
    """Whether the numbers printed in a side are a fraction of whole numbers below 10^4.

    >>> B, (one, other) = Name("B"), (Number(Fraction(n), str(n)) for n in (31, 32))
    >>> has_fraction(Quotient(Product((one, B)), other)), has_fraction(Quotient(B, other))
    (True, False)
    """
    printed = list(literals(side))
    whole = (n.value.denominator == 1 and abs(n.value) < COUNTED and n.unit is None for n in printed)
    plain = all(whole) and all((n.digits or "0").isdigit() for n in printed)
    return plain and {1, -1} <= {_power(literal, side) for literal in printed}


def literals(side: Formula) -> Iterator[Number]:
    """The numbers that are printed in a side, powers of numbers and exponents left out."""
    if isinstance(side, Number):
        yield side
    for child in children(side):
        if not (isinstance(side, Power) and (child is side.exponent or isinstance(child, Number))):
            yield from literals(child)


def may_stand(rounded: Remark, other: Formula, context: Context, printed: Formula | None = None) -> bool:
    """Whether a number may be rounded in this way beside what it stands for.

    Beside arithmetic of whole numbers not at all below 10^4, and from there to nearest; beside other numbers and conditions
    in print only to nearest. Where a unit is ``printed`` with it, or it is 2M, it is no whole number, and 2e6 is none where
    something from 10^4 on is in the arithmetic, or it is as near as a bound: however the factors are written. A bound
    stands for the bound of a condition as :func:`bounds_alike` says.
    """
    value, nearest = rounded.facts["value"], rounded.kind == "rounded"
    if isinstance(printed, Number) and is_other_prefix(other, printed):
        return bounds_alike(rounded) and not is_same_amount(value, printed)
    if isinstance(other, Compare):
        return bounds_alike(rounded) and (nearest or not stands_in_print(other, context))
    digits = str(getattr(printed, "digits", None) or "")
    scaled = isinstance(printed, Number) and (printed.unit is not None or digits[-1:].isalpha())
    other = mapped(other, _with_power)
    if value.denominator == 1 and not scaled and is_count(other, context) and not is_printed(other):
        if "e" in digits.lower():
            return bounds_alike(rounded) or any(abs(n.value) >= COUNTED for n in literals(other))
        return nearest and abs(value) >= COUNTED and bounds_alike(rounded)
    return nearest or not stands_in_print(other, context)


def bounds_alike(rounded: Remark) -> bool:
    """Whether a number in print is the bound of a condition: to nearest with two digits or more, or off by less than 1 %."""
    nearest = rounded.kind in ("rounded", "exact") and rounded.facts["digits"] > 1
    return nearest or abs(rounded.facts["share"]) < FINE


def stands_in_print(formula: Formula, context: Context) -> bool:
    """Whether a side is a number in print, or one before a product of free names, or a name for one; or whether it is a
    condition in which no name stands for anything."""
    if isinstance(formula, Compare | Both | Verdict):
        return not any(name in context.definitions for name in names(formula))
    body = bare(formula)
    if isinstance(body, Product) and len(tuple(literals(body))) == 1:
        return all(_is_free(factor, context) for factor in body.factors if not isinstance(factor, Number))
    known = bare(context.definitions.get(body.name, body)) if isinstance(body, Name) else body
    return isinstance(known, Number) and (known is body or known.digits is not None)


def is_count(formula: Formula, context: Context) -> bool:
    """Whether a side, or a condition, is of whole numbers in print, without units, and of free names."""
    match formula:
        case Number(value=value, unit=unit):
            return value.denominator == 1 and unit is None
        case Call(function="ceil" | "floor" | "max" | "min" | "sqrt") if is_numeric(formula):
            whole = enclosed(formula)
            return whole.exact and whole.low.denominator == 1 and all(is_count(n, context) for n in literals(formula))
        case Sum() | Product() | Negative() | Group() | Compare():
            return all(is_count(child, context) for child in children(formula))
    return _is_free(formula, context)


def is_binary(formula: Formula) -> bool:
    """Whether KiB, MiB, GiB or TiB, or a power of two from 2^10 on, is printed in a side."""
    for node in nodes(formula):
        match node:
            case Power(base=Number(value=Fraction(numerator=2, denominator=1)), exponent=Number(value=power)) if (
                power >= 10
            ):
                return True
            case Number(digits=str(digits)) if BINARY.search(digits):
                return True
    return False


def is_other_prefix(other: Formula, printed: Number) -> bool:
    """Whether one of a side and a number of bytes has a binary prefix, or a power of two, and the other has none."""
    return printed.unit == "bytes" and is_binary(other) != is_binary(printed)


def is_same_amount(value: Fraction, printed: Number) -> bool:
    """Whether a number of bytes is the printed one with a binary prefix for a decimal one, or the other way round."""
    ratios = (Fraction(1024, 1000) ** power for power in range(1, 6))
    return any(value in (printed.value * ratio, printed.value / ratio) for ratio in ratios)


def is_arithmetic(side: Formula, context: Context) -> bool:
    """Whether a side is of several whole numbers in print, none of which is a rounded one."""
    side = mapped(side, _with_power)
    return is_count(side, context) and len(tuple(literals(side))) > 1


def _with_power(node: Formula) -> Formula:
    """A product in which a number and a power of ten behind it are one number."""
    if not isinstance(node, Product):
        return node
    factors: list[Formula] = []
    for factor in node.factors:
        both = bare(Product((factors[-1], factor))) if factors else factor
        if isinstance(both, Number):
            factors[-1:] = [both]
        else:
            factors.append(factor)
    return Product(tuple(factors)) if len(factors) > 1 else factors[0]


def _is_free(formula: Formula, context: Context) -> bool:
    """Whether a formula is a power of names that stand for nothing."""
    match formula:
        case Name(name=name):
            return name not in context.definitions
        case Power(base=body) | Group(body=body):
            return _is_free(body, context)
    return False


def _power(literal: Number, side: Formula) -> int:
    """1 where the literal multiplies the whole side, -1 where it divides it; 0 elsewhere: a printed term of a sum may
    hide all of a difference."""
    match side:
        case Number():
            return int(side == literal)
        case Quotient(above=above, below=below):
            return _power(literal, above) - _power(literal, below)
        case Product() | Group() | Negative():
            return sum(_power(literal, part) for part in children(side))
    return 0


def _needed(other: Formula, side: Formula, literal: Number, context: Context, later: bool) -> Fraction | None:
    """The number that would have to stand in the place of a literal for the sides to be the same: of one that multiplies or
    divides the whole side, or of a rounded term of a ``later`` sum."""
    if list(literals(side)).count(literal) != 1:
        return None
    power = _power(literal, side)
    try:
        wanted, value = expression(other), expression(context.put(side))
        if later and not power and is_inexact(literal):
            without = expression(context.put(mapped(side, lambda n: number(0) if n == literal else n)))
            factor = cancelled((wanted - without) / (value - without)) if value != without else None
            power = 1
        else:
            factor = cancelled(wanted / value) if power and value != 0 and value.is_rational_function() else None
    except AlgebraError:
        return None
    return literal.value * fraction(factor) ** power if factor is not None and factor.is_Rational and factor else None
