"""Slips of the pen: what a wrong claim may have been meant to say.

A factor 2, a power of ten, another letter, another unit, the inequality turned, the fraction upside down.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from symroof.algebra.rounding import to_digits
from symroof.formula import Call, Compare, Formula, Group, Name, Number, Product, Quotient, Sum, children, mapped, names
from symroof.reading.units import UNITS
from symroof.verification.context import Context
from symroof.verification.literals import MIRRORED
from symroof.verification.miscounts import Trial, Trials

MOST_LETTERS = 48
LONGEST_NUMBER = 4000  # bits of a number that is written out


def turned(link: Compare, context: Context) -> Trials:
    """The inequality the other way round."""
    if link.relation in MIRRORED:
        yield Trial({}, replace(link, relation=MIRRORED[link.relation]), context)
    elif link.relation in ("<=>", "=>") and isinstance(link.right, Compare) and link.right.relation in MIRRORED:
        yield Trial({}, replace(link, right=replace(link.right, relation=MIRRORED[link.right.relation])), context)


def other_extreme(link: Compare, context: Context) -> Trials:
    """The largest for the sum, or the sum for the largest."""
    swapped = {"T_upper": "T_lower", "T_lower": "T_upper"}
    if isinstance(link.left, Name) and link.left.name in swapped:
        yield Trial({"which": "bound"}, replace(link, left=Name(swapped[link.left.name])), context)
    right = link.right
    exchanged = mapped(right, lambda n: Group(Sum(n.arguments)) if isinstance(n, Call) and n.function == "max" else n)
    if exchanged != right:
        yield Trial({"which": "max"}, replace(link, right=exchanged), context)
    if isinstance(right, Sum):
        yield Trial({"which": "sum"}, replace(link, right=Call("max", right.terms)), context)


def factor_two(link: Compare, context: Context) -> Trials:
    """A factor 2 too many or too few on the right side."""
    for factor in (Fraction(2), Fraction(1, 2)):
        for changed in _right_times(link, factor):
            quantity = link.left.name if isinstance(link.left, Name) else None
            network = context.setting is not None and context.setting.over_network
            yield Trial({"missing": factor == 2, "quantity": quantity, "network": network}, changed, context)


def power_of_ten(link: Compare, context: Context) -> Trials:
    """A power of ten too many or too few; kilo for kibi."""
    for k in (3, -3, 1, -1, 6, -6, 2, -2, 9, -9, 12, -12):
        for changed in _right_times(link, Fraction(10) ** k):
            yield Trial({"power": k}, changed, context)


def other_unit(link: Compare, context: Context) -> Trials:
    """A number in another unit of the same kind: ms for µs, GB for GiB."""
    for place, number in _numbers_with_units(link.right):
        digits, _, spelled = (number.digits or "").partition(" ")
        family, rate = spelled.removesuffix("/s"), spelled.endswith("/s")
        if family not in UNITS:
            continue
        kind, scale = UNITS[family]
        for unit, (other_kind, other_scale) in UNITS.items():
            if other_kind == kind and other_scale != scale:
                shown = unit + ("/s" if rate else "")
                changed = Number(number.value * other_scale / scale, f"{digits} {shown}", number.unit)
                right = mapped(link.right, lambda n, old=place, new=changed: new if n is old else n)  # type: ignore[misc]
                yield Trial({"written": spelled, "meant": shown}, replace(link, right=right), context)


def binary_prefix(link: Compare, context: Context) -> Trials:
    """Powers of 1024 for powers of 1000, or the other way round."""
    for power in (1, 2, 3, 4):
        for binary in (True, False):
            factor = Fraction(1024, 1000) ** (power if binary else -power)
            for changed in _right_times(link, factor):
                yield Trial({"binary": binary, "power": power}, changed, context)


def _numbers_with_units(formula: Formula) -> Iterator[tuple[Formula, Number]]:
    if isinstance(formula, Number) and formula.unit not in (None, "%"):
        yield formula, formula
    for child in children(formula):
        yield from _numbers_with_units(child)


def _right_times(link: Compare, factor: Fraction) -> Iterator[Compare]:
    """The claim with its right side, or the bound of its condition, times a factor. A printed number keeps its digits."""
    if link.relation in ("<=>", "=>"):
        if isinstance(link.right, Compare):
            for changed in _right_times(link.right, factor):
                yield replace(link, right=changed)
        return
    if isinstance(link.right, Number) and link.right.unit is None:
        power = len(str(factor.numerator)) - len(str(factor.denominator))
        digits = (
            f"{link.right.digits}e{power}"
            if Fraction(10) ** power == factor and "e" not in (link.right.digits or "e")
            else None
        )
        yield replace(link, right=Number(link.right.value * factor, digits or _digits_of(link.right, factor)))
    else:
        yield replace(link, right=Product((Number(factor), Group(link.right))))


def _digits_of(number: Number, factor: Fraction) -> str | None:
    value = number.value * factor
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > LONGEST_NUMBER:
        return None
    return str(value.numerator) if value.denominator == 1 else to_digits(value, 12) if _terminates(value) else None


def _terminates(value: Fraction) -> bool:
    below = value.denominator
    for prime in (2, 5):
        while below % prime == 0:
            below //= prime
    return below == 1


def other_letter(link: Compare, context: Context) -> Trials:
    """One letter for another, at one place of the right side."""
    target = link.right.right if link.relation in ("<=>", "=>") and isinstance(link.right, Compare) else link.right
    letters = [n for n in context.scope.names if n in context.least_one or n not in context.definitions]
    letters = [
        n
        for n in dict.fromkeys((*names(link.left), *names(link.right), *letters))
        if n in letters or context.scope.admits(n)
    ]
    places = [node for node in _names_in(target) if node.name in letters]
    tried = 0
    for index, node in enumerate(places):
        for letter in letters:
            if letter == node.name or tried >= MOST_LETTERS:
                continue
            tried += 1
            right = _with_letter(target, index, letter, letters)
            whole = (
                replace(link.right, right=right)
                if target is not link.right and isinstance(link.right, Compare)
                else right
            )
            yield Trial({"written": node, "meant": Name(letter)}, replace(link, right=whole), context)


def _names_in(formula: Formula) -> Iterator[Name]:
    if isinstance(formula, Name):
        yield formula
    for child in children(formula):
        yield from _names_in(child)


def _with_letter(formula: Formula, index: int, letter: str, letters: list[str]) -> Formula:
    count = [-1]

    def change(node: Formula) -> Formula:
        if isinstance(node, Name) and node.name in letters:
            count[0] += 1
            return Name(letter) if count[0] == index else node
        return node

    return mapped(formula, change)


def upside_down(link: Compare, context: Context) -> Trials:
    """The reciprocal."""
    if link.relation in ("<=>", "=>"):
        if isinstance(link.right, Compare):
            flipped = Quotient(Number(Fraction(1)), Group(link.right.right))
            yield Trial({}, replace(link, right=replace(link.right, right=flipped)), context)
        return
    yield Trial({}, replace(link, right=Quotient(Number(Fraction(1)), Group(link.right))), context)
