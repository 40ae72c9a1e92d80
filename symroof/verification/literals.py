"""Numbers in print: when one stands for the true value, and the number that would have to stand in its place.

The printed number is the true value rounded to nearest, or truncated toward zero, at its last significant digit.
Digits after a point are significant; trailing zeros of a number without one are not: 61000 has two digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from symroof.algebra.rational import cancelled, coefficients, polynomial, ratio, symbols_of
from symroof.errors import AlgebraError
from symroof.formula import Compare, Formula, Group, Name, Negative, Number, Power, Product, Quotient, children, mapped
from symroof.proof.exact import ORDER
from symroof.proof.step import Check
from symroof.reading.numbers import exact
from symroof.symbols import expression, fraction, symbol
from symroof.verification.context import Context, Question
from symroof.verification.enclosures import Enclosure, compared, enclosed, relation_holds
from symroof.verification.judgement import IN_NUMBERS, Finding, Remark, undecided

PRINTED = Name("printed number")
WRITTEN = 10**100  # larger numbers without digits of their own are never in print
NUMBER = re.compile(r"[\d_]*\.?[\d_]*(?:[eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rounding:
    """``how`` is exact, rounded or truncated; ``digits`` is the number of significant digits in print."""

    how: str
    digits: int


def rounding(true: Enclosure, printed: Number) -> Rounding | None:
    """How the printed number comes from the true one, or None where it does not.

    >>> from symroof.reading.numbers import quantity
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


def compare_numbers(question: Question, context: Context, *, proofs_only: bool = False) -> Finding:
    """Two numbers: exactly so, or by the rounding rule, or within the share that ~ allows."""
    link, left, right = question.link, question.left, question.right
    sign = compared(left, right)
    if link.relation in ("<<", ">>"):
        return undecided(link, "numbers_do_not_grow")
    if link.relation in ORDER:
        if sign is None:
            return undecided(link, "no_proof", left)
        true = relation_holds(sign, link.relation)
        return Finding(link, "holds" if true else "wrong", IN_NUMBERS, None if true else left)
    if sign == 0:
        return Finding(link, "holds", IN_NUMBERS, left)
    printed_right = is_printed(link.right) or not is_printed(link.left)
    true_value, claimed, printed = (left, right, link.right) if printed_right else (right, left, link.left)
    value = enclosed(true_value)
    off = deviation(value, enclosed(claimed))
    if link.relation != "=" and off is not None and abs(off) <= context.tolerance:
        return Finding(link, "holds", IN_NUMBERS, true_value, (Remark("deviation", {"share": off}),))
    rounded = printed_digits(value, printed, context)
    if rounded is not None:
        return Finding(link, "rounded", IN_NUMBERS, true_value, (rounded_remark(rounded, value),))
    if sign is None:
        return undecided(link, "no_proof", true_value)
    remarks = (Remark("deviation", {"share": off}),) if off is not None and abs(off) < 10 else ()
    return Finding(link, "wrong", IN_NUMBERS, true_value, remarks)


def deviation(true: Enclosure, claimed: Enclosure) -> Fraction | None:
    """By which share of the true value the claimed one is too high."""
    return None if true.low <= 0 <= true.high else claimed.middle / true.middle - 1


def rounded_remark(rounded: Rounding, value: Enclosure) -> Remark:
    return Remark(rounded.how, {"digits": rounded.digits, "value": value.middle})


def printed_digits(value: Enclosure, printed: Formula, context: Context) -> Rounding | None:
    """How a side that is one number, or has one number with several digits, comes from the true value."""
    number = bare(printed)
    if isinstance(number, Number):
        return rounding(value, number)
    several = precise(printed)
    if len(several) != 1 or not value.exact:
        return None
    return next((how for how, _ in roundings(Number(value.low), printed, context)), None)


def roundings(other: Formula, side: Formula, context: Context) -> Iterator[tuple[Rounding, Enclosure]]:
    """How a number printed in a side comes from the one that would make it equal to ``other``, and that number."""
    for literal in precise(side):
        needed = _needed(other, side, literal, context)
        how = None if needed is None else rounding(needed, literal)
        if needed is not None and how is not None and how.how != "exact":
            yield how, needed


def in_print(link: Compare, other: Formula, side: Formula, check: Check, context: Context) -> Finding | None:
    """The link holds once a number printed in a side is taken for the one that would make it equal to ``other``."""
    for how, needed in roundings(other, side, context):
        return Finding(link, "rounded", check, remarks=(rounded_remark(how, needed),))
    return None


def precise(side: Formula) -> tuple[Number, ...]:
    """The numbers printed in a side that have several digits."""
    return tuple(literal for literal in literals(side) if last_place(literal)[0] > 1)


def literals(side: Formula) -> Iterator[Number]:
    """The numbers that are printed in a side, exponents left out."""
    if isinstance(side, Number):
        yield side
    for child in children(side):
        if not (isinstance(side, Power) and child is side.exponent):
            yield from literals(child)


def _is_factor(literal: Number, side: Formula) -> bool:
    """Whether the literal multiplies or divides the whole side: a printed term of a sum may hide all of a difference."""
    match side:
        case Number():
            return side == literal
        case Product() | Quotient() | Group() | Negative():
            return any(_is_factor(literal, part) for part in children(side))
    return False


def _needed(other: Formula, side: Formula, literal: Number, context: Context) -> Enclosure | None:
    """The number that would have to stand in the place of a literal for the sides to be the same."""
    if sum(n == literal for n in literals(side)) > 1 or not _is_factor(literal, side):
        return None
    try:
        marked = context.put(mapped(side, lambda node: PRINTED if node == literal else node))
        difference, x = expression(other) - expression(marked), symbol(PRINTED.name)
        symbols = symbols_of(difference, x)
        parts = coefficients(ratio(difference, symbols)[0], symbols.index(x))
        if len(parts) != 2:
            return None
        needed = cancelled(-polynomial(parts[0], symbols) / polynomial(parts[1], symbols))
    except AlgebraError:
        return None
    return Enclosure(fraction(needed), fraction(needed)) if needed.is_Rational else None
