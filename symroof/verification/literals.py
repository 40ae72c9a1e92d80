"""Numbers in print: when one stands for the true value, and the number that would have to stand in its place.

The printed number is the true value rounded to nearest, or truncated toward zero, at its last significant digit.
Digits after a point are significant; trailing zeros of a number without one are not: 61000 has two digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from symroof.algebra.rational import cancelled
from symroof.errors import AlgebraError
from symroof.formula import Formula, Group, Negative, Number, Power, Product, Quotient, children
from symroof.proof.exact import ORDER
from symroof.proof.step import Check
from symroof.reading.numbers import exact
from symroof.symbols import expression, fraction
from symroof.verification.context import Context, Question
from symroof.verification.enclosures import Enclosure, compared, enclosed, relation_holds
from symroof.verification.judgement import IN_NUMBERS, Finding, Remark, undecided

WRITTEN = 10**100  # larger numbers without digits of their own are never in print
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
        return Remark("exact", facts)
    if c == 0:
        return None
    half = unit / 2
    if max(abs(true.low), abs(true.high)) < unit:
        half /= 10  # no digit of the value stands at that place: 9.6 is 10, and 6 is not
    if true.low >= c - half and true.high <= c + half:
        return Remark("rounded", facts)
    alike = true.low * c > 0 and true.high * c > 0
    if alike and all(0 <= abs(end) - abs(c) < 2 * half for end in (true.low, true.high)):
        return Remark("truncated", facts)
    return None


def last_place(printed: Number) -> tuple[int, Fraction]:
    """How many significant digits a number has in print, and what the last of them counts.

    >>> last_place(Number(Fraction(61000), "61000")), last_place(Number(Fraction(1, 100), "10 ms"))
    ((2, Fraction(1000, 1)), (1, Fraction(1, 100)))
    """
    if printed.digits is None and (printed.value.denominator != 1 or abs(printed.value) >= WRITTEN):
        return 0, Fraction(0)
    text = (printed.digits or str(printed.value)).replace("_", "")
    before, point, after, power = NUMBER.findall(text)[0]
    plain, place = (before + after).lstrip("0"), -len(after)
    if not point:
        plain, place = plain.rstrip("0"), len(before) - len(before.rstrip("0"))
    value = exact(f"{before}{point}{after}e{power or 0}") if before + after else Fraction(0)
    scale = abs(printed.value / value) if value else Fraction(1)
    return max(1, len(plain)), scale * Fraction(10) ** (place + int(power or 0))


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


def compare_numbers(question: Question) -> Finding:
    """Two numbers: exactly so, or by the rounding rule, or within the share that ~ allows."""
    link, left, right, context = question.link, question.left, question.right, question.context
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
    off = None if value.low <= 0 <= value.high else enclosed(claimed).middle / value.middle - 1
    deviation = () if off is None else (Remark("deviation", {"share": off}),)
    if link.relation != "=" and off is not None and abs(off) <= context.tolerance:
        return Finding(link, "holds", IN_NUMBERS, true_value, deviation)
    rounded = printed_digits(value, printed, context)
    if rounded is not None:
        return Finding(link, "rounded", IN_NUMBERS, true_value, (rounded,))
    if sign is None:
        return undecided(link, "no_proof", true_value)
    return Finding(link, "wrong", IN_NUMBERS, true_value, deviation if off is not None and abs(off) < 10 else ())


def printed_digits(value: Enclosure, printed: Formula, context: Context) -> Remark | None:
    """How a side that is one number, or has one number with several digits, comes from the true value."""
    number = bare(printed)
    if isinstance(number, Number):
        return rounding(value, number)
    if len(precise(printed)) != 1 or not value.exact:
        return None
    found = _rounded(Number(value.low), printed, context)
    return None if found is None else Remark(found.kind, {**found.facts, "value": value.middle})


def in_print(question: Question, other: Formula, side: Formula, check: Check) -> Finding | None:
    """The link holds once a number printed in a side is taken for the one that would make it equal to ``other``."""
    found = _rounded(other, side, question.context)
    return None if found is None else Finding(question.link, "rounded", check, remarks=(found,))


def _rounded(other: Formula, side: Formula, context: Context) -> Remark | None:
    """How a number printed in a side comes from the one that would make the side equal to ``other``."""
    for literal in precise(side):
        needed = _needed(other, side, literal, context)
        found = None if needed is None else rounding(Enclosure(needed, needed), literal)
        if found is not None and found.kind != "exact":
            return found
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


def _needed(other: Formula, side: Formula, literal: Number, context: Context) -> Fraction | None:
    """The number that would have to stand in the place of a literal for the sides to be the same."""
    power = _power(literal, side) if list(literals(side)).count(literal) == 1 else 0
    try:
        wanted, value = expression(other), expression(context.put(side))
        factor = cancelled(wanted / value) if power and value != 0 and value.is_rational_function() else None
    except AlgebraError:
        return None
    return literal.value * fraction(factor) ** power if factor is not None and factor.is_Rational and factor else None
