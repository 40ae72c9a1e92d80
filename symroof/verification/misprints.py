"""Slips of the pen: what a wrong claim may have been meant to say.

A factor 2, a power of ten, another letter, another unit, the inequality turned, the fraction upside down.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from symroof.algebra.rounding import to_digits
from symroof.formula import Call, Compare, Formula, Group, Name, Number, Product, Quotient, Sum, mapped, names, nodes
from symroof.model.units import UNITS
from symroof.verification.context import Context
from symroof.verification.enclosures import MIRRORED
from symroof.verification.miscounts import Trial, Trials

MOST_LETTERS = 48
LONGEST_NUMBER = 4000  # bits of a number that is written out


def _statement(link: Compare) -> Compare | None:
    """The equation or order that says how much: the link itself, or the condition on the right of an equivalence."""
    if link.relation not in ("<=>", "=>"):
        return link
    return link.right if isinstance(link.right, Compare) else None


def _restated(link: Compare, **changes: Any) -> Compare:
    """The link with another relation or right side in its statement."""
    statement = _statement(link)
    assert statement is not None
    return replace(link, **changes) if statement is link else replace(link, right=replace(statement, **changes))


def turned(link: Compare, context: Context) -> Trials:
    """The inequality the other way round."""
    statement = _statement(link)
    if statement is not None and statement.relation in MIRRORED:
        yield Trial({}, _restated(link, relation=MIRRORED[statement.relation]))


def other_extreme(link: Compare, context: Context) -> Trials:
    """The largest for the sum, or the sum for the largest."""
    swapped = {Name("T_upper"): Name("T_lower"), Name("T_lower"): Name("T_upper")}
    if isinstance(link.left, Name) and link.left in swapped:
        yield Trial({"which": "bound"}, replace(link, left=swapped[link.left]))
    right = link.right
    exchanged = mapped(right, lambda n: Group(Sum(n.arguments)) if isinstance(n, Call) and n.function == "max" else n)
    if exchanged != right:
        yield Trial({"which": "max"}, replace(link, right=exchanged))
    if isinstance(right, Sum):
        yield Trial({"which": "sum"}, replace(link, right=Call("max", right.terms)))


def factor_two(link: Compare, context: Context) -> Trials:
    """A factor 2 too many or too few on the right side."""
    quantity = link.left.name if isinstance(link.left, Name) else None
    network = context.setting is not None and context.setting.over_network
    for factor in (Fraction(2), Fraction(1, 2)):
        facts = {"missing": factor == 2, "quantity": quantity, "network": network}
        yield from _times(link, factor, **facts)


def power_of_ten(link: Compare, context: Context) -> Trials:
    """A power of ten too many or too few; kilo for kibi."""
    for k in (3, -3, 1, -1, 6, -6, 2, -2, 9, -9, 12, -12):
        yield from _times(link, Fraction(10) ** k, power=k)


def binary_prefix(link: Compare, context: Context) -> Trials:
    """Powers of 1024 for powers of 1000, or the other way round."""
    for power in (1, 2, 3, 4):
        for binary in (True, False):
            yield from _times(link, Fraction(1024, 1000) ** (power if binary else -power), binary=binary, power=power)


def _times(link: Compare, factor: Fraction, **facts: Any) -> Trials:
    """The claim with the right side of its statement times a factor. A printed number keeps its digits."""
    statement = _statement(link)
    if statement is None:
        return
    right: Formula = Product((Number(factor), Group(statement.right)))
    if isinstance(statement.right, Number) and statement.right.unit is None:
        right = Number(statement.right.value * factor, _digits(statement.right, factor))
    yield Trial(facts, _restated(link, right=right))


def _digits(number: Number, factor: Fraction) -> str | None:
    """The digits of a printed number times a factor, where it has some."""
    power = len(str(factor.numerator)) - len(str(factor.denominator))
    if Fraction(10) ** power == factor and "e" not in (number.digits or "e"):
        return f"{number.digits}e{power}"
    value = number.value * factor
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > LONGEST_NUMBER:
        return None
    if value.denominator == 1:
        return str(value.numerator)
    terminates = 10 ** value.denominator.bit_length() % value.denominator == 0
    return to_digits(value, 12) if terminates else None


def other_unit(link: Compare, context: Context) -> Trials:
    """A number in another unit of the same kind: ms for µs, GB for GiB."""
    for place in nodes(link.right):
        if not isinstance(place, Number) or place.unit in (None, "%"):
            continue
        digits, _, spelled = (place.digits or "").partition(" ")
        family, _, rate = spelled.partition("/")
        if family not in UNITS:
            continue
        unit = UNITS[family]
        for other in dict.fromkeys(UNITS.values()):
            if other.base == unit.base and other.scale != unit.scale:
                meant = other.name + (f"/{rate}" if rate else "")
                changed = Number(place.value * other.scale / unit.scale, f"{digits} {meant}", place.unit)
                yield Trial({"written": spelled, "meant": meant}, replace(link, right=_put(link.right, place, changed)))


def other_letter(link: Compare, context: Context) -> Trials:
    """One letter for another, at one place of the right side."""
    statement, scope = _statement(link), context.scope
    if statement is None:
        return
    free = {n for n in scope.names if n in context.least_one or n not in context.definitions}
    spoken = dict.fromkeys((*names(link.left), *names(link.right), *scope.names))
    letters = [n for n in spoken if n in free or (n not in scope.names and scope.admits(n))]
    places = [node for node in nodes(statement.right) if isinstance(node, Name) and node.name in letters]
    pairs = [(place, letter) for place in places for letter in letters if letter != place.name]
    for place, letter in pairs[:MOST_LETTERS]:
        right = _put(statement.right, place, Name(letter))
        yield Trial({"written": place, "meant": Name(letter)}, _restated(link, right=right))


def _put(formula: Formula, place: Formula, changed: Formula) -> Formula:
    """The formula with another one at one of its places."""
    return mapped(formula, lambda node: changed if node is place else node)


def upside_down(link: Compare, context: Context) -> Trials:
    """The reciprocal."""
    statement = _statement(link)
    if statement is not None:
        yield Trial({}, _restated(link, right=Quotient(Number(Fraction(1)), Group(statement.right))))
