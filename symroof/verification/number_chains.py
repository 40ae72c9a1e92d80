"""Calculations of numbers in print, each side of which has to be in the interval of the next one.

The first side is data, and exact. A side comes from the one before it as printed, or from the first. A unit or a power of
ten that stands only behind the last side may be meant of every side without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain
from math import inf

from sympy import Poly

from symroof.algebra.rational import cancel
from symroof.errors import AlgebraError
from symroof.formula import (
    Both,
    Call,
    Compare,
    Figure,
    Formula,
    Group,
    Name,
    Negative,
    Number,
    Power,
    Product,
    Sum,
    Verdict,
    children,
    mapped,
    names,
    nodes,
)
from symroof.model.quantities import Mismatch
from symroof.proof.exact_values import sign_of_difference
from symroof.proof.quotients import COMPARISONS, ORDER
from symroof.proof.step import Check
from symroof.reading.claims import Chain
from symroof.reading.numbers import COUNT_SCALES, exact
from symroof.symbols import expression, fraction
from symroof.verification.context import Context, Question
from symroof.verification.intervals import (
    COUNT,
    DECIMAL,
    KIBI,
    Enclosure,
    admits,
    bare,
    bounds_alike,
    data_of,
    enclosed,
    in_binary,
    is_binary,
    is_inexact,
    is_numeric,
    is_printed,
    is_whole,
    last_place,
    literals,
    rounding,
    with_power,
)
from symroof.verification.unit_agreement import UNITLESS, disagreement, has_unit, unit_exponents
from symroof.verification.verdicts import ACCEPTED, IN_NUMBERS, Finding, Remark, undecided

COUNTED = 10**4  # below this, arithmetic of whole numbers is exact
POWER = re.compile(r"[eE][+-]?\d")
SCALE_LETTERS = "".join(COUNT_SCALES)
NOTHING = Enclosure(Fraction(0), Fraction(0))
THOUSANDS = tuple({Fraction(2 ** (10 * k)), Fraction(10 ** (3 * k))} for k in range(1, 5))  # 2^10 ~ 10^3 to 2^40
# Prefixes by which numbers without units may differ from those that are meant.
PREFIXES = tuple(Fraction(base) ** power for base in (1000, 1024) for power in (1, 2, 3, 4))


def printed_digits(value: Enclosure, printed: Formula, context: Context) -> Remark | None:
    """How a side that is one number comes from the true value."""
    return rounding(value, number) if isinstance(number := bare(printed), Number) else None


def in_print(question: Question, other: Formula, side: Formula, check: Check) -> Finding | None:
    """The link holds once a number printed in a side is taken for the one that would make it equal to ``other``: one that may
    be rounded, or the only one."""
    link, first = question.link, side is question.link.left
    printed, data = list(literals(side)), data_of(link.right if first else link.left)
    for literal in (literal for literal in printed if len(printed) == 1 or literal.value not in data):
        if not ((is_inexact(literal) and not first) or (len(printed) == 1 and last_place(literal)[0] > 1)):
            continue
        needed = _needed(other, side, literal, question.context, not first)
        remark = None if needed is None else rounding(Enclosure(needed, needed), literal)
        if remark is None or remark.kind == "exact" or (link.relation in ("<=>", "=>") and not bounds_alike(remark)):
            continue
        beside = link.right if first else link.left
        if link.relation != "=" or may_stand(remark, beside, question.context, literal):
            return Finding(link, "rounded", check, remarks=(remark,))
    return None


def _needed(other: Formula, side: Formula, literal: Number, context: Context, later: bool) -> Fraction | None:
    """The number that would have to stand in the place of a literal for the sides to be the same: the side is (ax + b)/(cx + d)
    of it. A term of a sum may hide all of a difference: there it is a rounded one of a ``later`` side."""
    if list(literals(side)).count(literal) != 1:
        return None
    x = Name("rounded number")
    with suppress(AlgebraError):
        value, whole = expression(context.put(mapped(side, lambda n: x if n == literal else n))), expression(other)
        if not (value.is_rational_function() and whole.is_rational_function()):
            return None
        symbol = expression(x)
        above, below = (Poly(part, symbol) for part in cancel(value).as_numer_denom())
        if max(above.degree(), below.degree()) > 1:
            return None
        (a, b), (c, d) = ([part.coeff_monomial(symbol), part.coeff_monomial(1)] for part in (above, below))
        if not (b == c == 0 or a == d == 0 or (later and is_inexact(literal))) or whole * c == a:
            return None
        needed = cancel((b - whole * d) / (whole * c - a))
        return fraction(needed) if needed.is_Rational and needed else None
    return None


def may_stand(rounded: Remark, other: Formula, context: Context, printed: Number | None = None) -> bool:
    """Whether a number may be rounded in this way beside what it stands for: a bound beside that of a condition, bytes with
    another prefix, bytes that are right to nearest in binary units, a whole number beside arithmetic of whole numbers."""
    value, nearest = rounded.facts["value"], rounded.kind == "rounded"
    if isinstance(other, Compare):
        return bounds_alike(rounded) and (nearest or not stands_in_print(other, context))
    if printed is not None and printed.unit == "bytes":
        if is_binary(other) != is_binary(printed):
            same = any(value in (printed.value * KIBI**power, printed.value / KIBI**power) for power in range(1, 6))
            return bounds_alike(rounded) and not same
        meant, counted = in_binary(printed), mapped(other, in_binary) == other
        return nearest or meant == printed or not counted or rounding(Enclosure(value, value), meant) is None
    other = mapped(other, with_power)
    if printed is not None and is_whole(printed) and value.denominator == 1 and is_count(other, context):
        return nearest and (abs(value) >= COUNTED or is_printed(other))
    return True


def base_of_prefix(link: Formula) -> int:
    """The base of the prefix of bytes that are computed, 10 or 2, where they are right to nearest in that alone; else 0.

    >>> from symroof.reading.claims import read_claim
    >>> from symroof.reading.name_scope import Scope
    >>> texts = ("8192*4096*2 = 64 MB", "8192*4096*2 = 67.1 MB", "8192*4096*2 = 65 MB", "2*32 MB = 64 MB", "2^26 = 67.1 MB")
    >>> [base_of_prefix(read_claim(text, Scope()).links[0]) for text in texts]
    [2, 10, 0, 0, 0]
    """
    left, printed = (link.left, bare(link.right)) if isinstance(link, Compare) else (link, link)
    if not isinstance(printed, Number) or in_binary(printed) == printed or not is_numeric(left) or is_printed(left):
        return 0
    ways = (rounding(enclosed(left), number) for number in (in_binary(printed), printed))
    binary, decimal = (way is not None and way.kind != "truncated" for way in ways)
    alone = binary != decimal and not is_binary(left) and mapped(left, in_binary) == left
    return 0 if not alone else 2 if binary else 10


def stands_in_print(formula: Formula, context: Context) -> bool:
    """Whether a side is a number in print, or one before a product of free names, or a name for one; or whether it is a
    condition in which no name stands for anything."""
    if isinstance(formula, Compare | Both | Verdict):
        return not any(name in context.definitions for name in names(formula))
    body = bare(formula)
    if isinstance(body, Product) and len(tuple(literals(body))) == 1:
        return all(_is_free(factor, context) for factor in body.factors if not isinstance(factor, Number))
    value = bare(context.definitions.get(body.name, body)) if isinstance(body, Name) else body
    return isinstance(value, Number) and (value is body or value.digits is not None)


def is_count(formula: Formula, context: Context) -> bool:
    """Whether a side, or a condition, is of whole numbers in print, without units, and of names of sizes."""
    match formula:
        case Number(value=value, unit=unit):
            return value.denominator == 1 and unit is None
        case Call(function="ceil" | "floor" | "max" | "min" | "sqrt") if is_numeric(formula):
            whole = enclosed(formula)
            return whole.exact and whole.low.denominator == 1 and all(is_count(n, context) for n in literals(formula))
        case Sum() | Product() | Negative() | Group() | Compare():
            return all(is_count(child, context) for child in children(formula))
        case Name(name=name) if name in context.sized:
            return is_count(context.definitions[name], context)
    return _is_free(formula, context)


def _is_free(formula: Formula, context: Context) -> bool:
    """Whether a formula is a power of names that stand for nothing."""
    match formula:
        case Name(name=name):
            return name not in context.definitions
        case Power(base=body) | Group(body=body):
            return _is_free(body, context)
    return False


def compare_numbers(question: Question) -> Finding:
    """Two numbers, in the units that are written; what is right in another reading of them alone holds with a remark, or is
    not decided. An order has to be true in both of two readings."""
    link, finding = question.link, _compared(question)
    right = finding.verdict != "wrong"
    if right and link.relation not in ORDER:
        return finding
    others = () if right else (_in_binary_units(question), _in_open_units(question))
    for reading, taken in chain(_in_last_unit(question), *others):
        other = _compared(reading)
        if other.verdict in ACCEPTED and taken is not None:
            return replace(other, link=link, value=question.left, remarks=(taken, *other.remarks))
        if other.verdict in ACCEPTED or right:
            return undecided(link, "unknown_units", question.left)
        if taken is not None and off_by(other) < off_by(finding):
            finding = replace(other, link=link)  # what is wrong is told in the unit that is meant
    return finding


def off_by(finding: Finding) -> float:
    """How far a finding says that its number is off."""
    return min((abs(remark.facts["share"]) for remark in finding.remarks if remark.kind == "deviation"), default=inf)


def _compared(question: Question) -> Finding:
    """Two numbers as they stand."""
    link, left, right = question.link, question.left, question.right
    if link.relation in ("<<", ">>"):
        small, large = (left, right) if link.relation == "<<" else (right, left)
        apart = sign_of_difference(_times(Fraction(10), small), large)
        beyond = apart is not None and apart <= 0
        return Finding(link, "holds", IN_NUMBERS) if beyond else undecided(link, "numbers_do_not_grow")
    sign = sign_of_difference(left, right)
    if link.relation not in ORDER:
        return _equal(question, sign)
    if sign is None:
        return undecided(link, "no_proof", left)
    true = COMPARISONS[link.relation](sign, 0)
    return Finding(link, "holds" if true else "wrong", IN_NUMBERS, None if true else left)


def _equal(question: Question, sign: int | None) -> Finding:
    """Two numbers that are said to be the same, or nearly: the value of the left side lies in the interval of the right one."""
    link, left, right, context = question.link, question.left, question.right, question.context
    if sign == 0 or (sign is None and context.settled(Compare(left, "=", right)).truth):
        return Finding(link, "holds", IN_NUMBERS, left)
    first = is_printed(link.left) and not is_printed(link.right)  # 16.1 GB = 8.03e9 * 2 bytes
    true, claimed = (right, left) if first else (left, right)
    written, beside = (link.left, link.right) if first else (link.right, link.left)
    value, stated, printed = enclosed(true), enclosed(claimed), bare(written)
    if link.relation != "=" and NOTHING in (value, stated):
        return undecided(link, "beside_what")
    off = None if value.low <= 0 <= value.high else stated.middle / value.middle - 1
    deviation = () if off is None else (Remark("deviation", {"share": off}),)
    near = off is not None and (abs(off) <= context.tolerance or {value.low, stated.low} in THOUSANDS)
    inside = is_numeric(link.right) and not is_printed(link.right) and admits(link.right, left)
    if (link.relation != "=" and near) or inside:
        return Finding(link, "holds", IN_NUMBERS, true, deviation)
    remark = rounding(value, printed) if isinstance(printed, Number) else None
    if isinstance(printed, Number) and remark is not None and may_stand(remark, beside, context, printed):
        exactly = first and is_numeric(link.right)  # the first side is exact, and may be meant as the result
        return undecided(link, "no_proof", true) if exactly else Finding(link, "rounded", IN_NUMBERS, true, (remark,))
    if sign is None:
        return undecided(link, "no_proof", true)
    return Finding(link, "wrong", IN_NUMBERS, true, deviation if off is not None and abs(off) < 10 else ())


Readings = Iterator[tuple[Question, Remark | None]]  # each with its remark, or left open


def _in_last_unit(question: Question) -> Readings:
    """With the left side in the unit behind the right one."""
    left = question.link.left
    for scaled, unit in in_unit_of(left, question.link.right):
        meant = is_plain(left) and not POWER.match(unit)
        yield replace(question, left=scaled), Remark("taken_as", {"unit": unit}) if meant else None


def in_unit_of(side: Formula, last: Formula) -> Iterator[tuple[Formula, str]]:
    """A side without a unit in the unit, or power of ten, that stands behind the last one, and that unit; and a side in binary
    units without the factor by which they are larger than decimal ones: 47.5 GiB * 1.0737 = 51 GB.

    >>> from symroof.formula import number
    >>> [unit for _, unit in in_unit_of(number(7), Number(Fraction(7, 1000), "7 ms", "s"))]
    ['ms']
    """
    for unit, size in units_behind(last).items():
        if (scaled := _scaled(side, size)) is not None:
            yield scaled, unit
        if isinstance(side, Product) and unit.endswith("B") and "iB" not in unit and is_binary(side):
            for part in side.factors:
                share = 0 if has_unit(part) else getattr(part, "value", 0)
                if any(abs(share / KIBI**k - 1) < Fraction(1, 2000) for k in range(1, 5)):
                    yield Product(tuple(other for other in side.factors if other is not part)), unit


def units_behind(printed: Formula) -> dict[str, Fraction]:
    """The unit and the power of ten behind a number in print, and how large they are."""
    printed = bare(printed)
    if not (isinstance(printed, Number) and printed.digits and printed.value):
        return {}
    amount, _, unit = printed.digits.partition(" ")
    plain, power, exponent = amount.rstrip(SCALE_LETTERS + "%").partition("e")
    scale = COUNT_SCALES.get(amount[-1:], Fraction(1)) * Fraction(10) ** int(exponent or 0)
    size, letter = abs(printed.value) / (exact(plain) * scale), power + exponent or amount[-1:]
    scales = {} if scale == 1 else {f"{letter} {unit}".strip(): size * scale}  # 8.11 + 0.41 = 8.52B
    return ({unit: size} if unit and printed.unit is not None else {}) | scales


def _scaled(formula: Formula, scale: Fraction) -> Formula | None:
    """The formula in another unit, where it is of numbers without one; terms of a sum with units of their own keep them."""
    if isinstance(formula, Sum) and has_unit(formula):
        terms = [term if has_unit(term) else _scaled(term, scale) for term in formula.terms]
        return None if None in terms else Sum(tuple(term for term in terms if term is not None))
    named = has_unit(formula) or any(isinstance(node, Name | Figure) for node in nodes(formula))
    return None if named else _times(scale, formula)


def _times(scale: Fraction, formula: Formula) -> Formula:
    return Product((Number(scale), Group(formula)))


def is_plain(formula: Formula) -> bool:
    """Whether a formula is of numbers without exponents and powers."""
    exponents = (isinstance(n, Number) and "e" in (n.digits or "").partition(" ")[0].lower() for n in nodes(formula))
    return not any(exponents) and not any(isinstance(node, Name | Figure | Power) for node in nodes(formula))


def _in_binary_units(question: Question) -> Readings:
    """With K and M of counts as 2^10 and 2^20; and with kB, MB, GB, TB and PB as powers of 1024 where that may be meant, on one
    side or on both."""
    link = question.link
    for prefix, unit in ((COUNT, "2^10"), (DECIMAL, "GiB"))[: 1 + question.context.binary]:
        left, right = (mapped(side, partial(in_binary, prefix=prefix)) for side in (link.left, link.right))
        pairs = dict.fromkeys(((link.left, right), (left, link.right), (left, right)))
        for first, second in (pair for pair in pairs if pair != (link.left, link.right)):
            yield question.context.question(Compare(first, link.relation, second)), Remark("taken_as", {"unit": unit})


def _in_open_units(question: Question) -> Readings:
    """With days, hours and minutes as mere counts, 7 days * 24 = 168 hours, and with prefixes that are not written, where
    plain numbers leave a unit open."""
    link = question.link
    counted = mapped(link.left, _without_time)
    if counted != link.left:
        lefts = (counted, *(scaled for scaled, _ in in_unit_of(counted, link.right)))
        yield from ((replace(question, left=left), None) for left in lefts)
    sides = (link.left, link.right)
    open_ = any(isinstance(node, Number) and node.unit in UNITLESS for side in sides for node in nodes(side))
    if link.relation in ORDER or not (open_ and all(map(is_plain, sides)) and any(map(has_unit, sides))):
        return
    with suppress(Mismatch):
        units = [unit_exponents(mapped(side, _counted), question.context, True) for side in sides]
        if not units[0] or units[0] != units[1]:
            prefixes = (
                PREFIXES if any(getattr(node, "unit", "") == "bytes" for node in nodes(link.right)) else PREFIXES[:4]
            )
            shifts = (shift for prefix in prefixes for shift in (prefix, 1 / prefix))
            yield from ((replace(question, left=_times(shift, link.left)), None) for shift in shifts)


def _without_time(node: Formula) -> Formula:
    amount, _, unit = (getattr(node, "digits", None) or "").partition(" ")
    return Number(exact(amount), amount) if unit in ("days", "hours", "minutes") else node


def _counted(node: Formula) -> Formula:
    """A whole number as a count, which has no unit: 131 kB * 8192."""
    return Number(Fraction(1)) if isinstance(node, Number) and is_whole(node) else node


def unlike_the_first(link: Compare, chain: Chain, context: Context) -> Remark | None:
    """That a side has another unit than the first side of its chain of equalities, where all of both are known."""
    at = chain.links.index(link)
    if not at or not {*chain.relations[: at + 1]} <= {"=", "~"} or not has_unit(link.right):
        return None
    verdict, remark = disagreement(Compare(chain.sides[0], "=", link.right), context) or ("", None)
    return remark if verdict == "wrong" else None


def in_chain(link: Compare, chain: Chain) -> Iterator[tuple[Compare, Remark | None, bool]]:
    """A link of a chain in the other ways in which it may be meant: from the first side, and with the unit behind the last one;
    what is said of it, and whether that is meant, and not only possible."""
    at, last = chain.links.index(link), chain.sides[-1]
    if at and {*chain.relations[:at]} <= {"=", "~"}:
        yield replace(link, left=chain.sides[0]), None, True
    if link.right is not last and not has_unit(link.right):
        for unit, size in units_behind(last).items():
            meant = not POWER.match(unit) and is_plain(link.left) and is_plain(link.right)
            yield replace(link, left=_times(1 / size, link.left)), Remark("taken_as", {"unit": unit}), meant
