"""Mistakes in what is written, as edits of a claim: slips of the pen, and wrong figures.

A factor 2, a power of ten, another letter, another unit, the inequality turned, the fraction upside down. Every slip is
one in a statement, an equation or order that says how much: a link itself, or the condition on the right of an
equivalence. It gives what there is to say of it, and the statement as it was meant. A stale edition, the figure of another
type lead to another world, in which the claim would be right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from typing import Any

from symroof.algebra.rounding import to_digits
from symroof.formula import (
    MIRRORED,
    Call,
    Compare,
    Formula,
    Group,
    Name,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    mapped,
    names,
    nodes,
    number,
)
from symroof.model.quantities import QUANTITIES, UNITS
from symroof.verification.claim_context import printed
from symroof.verification.context import Context
from symroof.verification.unit_agreement import unit_of

TURNED = {**MIRRORED, "<<": ">>", ">>": "<<"}
PREFIXED = re.compile(r" ([kKMGT])i?B")
MOST_LETTERS = 48
LONGEST_NUMBER = 4000  # bits of a number that is written out

Meant = Iterator[tuple[Mapping[str, Any], Compare]]
Slip = Callable[[Compare, Context], Meant]


def slip(restate: Slip) -> Slip:
    """The slip of a statement as one of the link that it stands in."""

    @wraps(restate)
    def relinked(link: Compare, context: Context) -> Meant:
        statement = link.right if link.relation in ("<=>", "=>") else link
        if isinstance(statement, Compare):
            for facts, meant in restate(statement, context):
                yield facts, meant if statement is link else replace(link, right=meant)

    return relinked


@slip
def turned(statement: Compare, context: Context) -> Meant:
    """The inequality the other way round."""
    if statement.relation in TURNED:
        yield {}, replace(statement, relation=TURNED[statement.relation])


@slip
def at_the_edge(statement: Compare, context: Context) -> Meant:
    """Below for at most, or at most for below."""
    if statement.relation in MIRRORED:
        meant = statement.relation[0] if len(statement.relation) > 1 else statement.relation + "="
        yield {"written": statement.relation, "meant": meant}, replace(statement, relation=meant)


@slip
def other_extreme(statement: Compare, context: Context) -> Meant:
    """The largest for the sum, or the sum for the largest."""
    swapped, left, right = {"T_upper": "T_lower", "T_lower": "T_upper"}, statement.left, statement.right
    if isinstance(left, Name) and left.name in swapped:
        yield {"which": "bound"}, replace(statement, left=Name(swapped[left.name]))
    added = mapped(right, lambda n: Group(Sum(n.arguments)) if isinstance(n, Call) and n.function == "max" else n)
    if added != right:
        yield {"which": "max"}, replace(statement, right=added)
    if isinstance(right, Sum):
        yield {"which": "sum"}, replace(statement, right=Call("max", right.terms))


@slip
def factor_two(statement: Compare, context: Context) -> Meant:
    """A factor 2 too many or too few on the right side."""
    for factor in (Fraction(2), Fraction(1, 2)):
        yield {"missing": factor == 2, "factor": number(2)}, _times(statement, factor)


@slip
def factor_of_size(statement: Compare, context: Context) -> Meant:
    """A size of the operation too many or too few among the factors of the right side."""
    sizes = context.setting.problem.operation.dimensions if context.setting is not None else ()
    for size in sizes if statement.relation in ("=", "~") and names(statement.right) else ():
        whole, name = Group(statement.right), Name(size)
        for missing, right in ((True, Product((name, whole))), (False, Quotient(whole, name))):
            yield {"missing": missing, "factor": name}, replace(statement, right=right)


@slip
def power_of_ten(statement: Compare, context: Context) -> Meant:
    """A power of ten too many or too few; kilo for kibi."""
    for k in (3, -3, 1, -1, 6, -6, 2, -2, 9, -9, 12, -12):
        factor = number(10 ** abs(k)) if abs(k) < 6 else Power(number(10), number(abs(k)))
        yield {"missing": k > 0, "factor": factor}, _times(statement, Fraction(10) ** k)


@slip
def binary_prefix(statement: Compare, context: Context) -> Meant:
    """Powers of 1024 for powers of 1000, or the other way round, where bytes are counted or powers of 2 are written."""
    spoken = unit_of(statement.left, context) == "bytes" or any(map(_is_binary, nodes(statement)))
    digits = (node.digits or "" for node in nodes(statement.right) if isinstance(node, Number))
    prefixes = [match[1] for match in map(PREFIXED.search, digits) if match]
    powers = (1, 2, 3, 4) if not prefixes else tuple({"KMGT".index(letter.upper()) + 1 for letter in prefixes})
    for power in (sign * power for power in powers for sign in (1, -1)) if spoken else ():
        yield {"binary": power > 0, "lines": "", "others": ""}, _times(statement, Fraction(1024, 1000) ** power)


def _is_binary(node: Formula) -> bool:
    """Whether a number counts bytes or is a power of 1024."""
    if isinstance(node, Power):
        return isinstance(node.base, Number) and node.base.value in (2, 1024)
    return isinstance(node, Number) and (node.unit == "bytes" or node.value in (2**10, 2**20, 2**30, 2**40))


def _times(statement: Compare, factor: Fraction) -> Compare:
    """The statement with its right side times a factor. A printed number keeps its digits."""
    right = statement.right
    if isinstance(right, Number) and right.unit is None:
        return replace(statement, right=Number(right.value * factor, _digits(right, factor)))
    return replace(statement, right=Product((Number(factor), Group(right))))


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


@slip
def other_unit(statement: Compare, context: Context) -> Meant:
    """A number in another unit of the same kind: ms for µs, GB for GiB."""
    for place in nodes(statement.right):
        if not isinstance(place, Number) or place.unit in (None, "%"):
            continue
        digits, _, spelled = (place.digits or "").partition(" ")
        family, _, rate = spelled.partition("/")
        unit = UNITS.get(family)
        for other in dict.fromkeys(UNITS.values()) if unit else ():
            if unit and other.base == unit.base and other.scale != unit.scale:
                meant = other.name + (f"/{rate}" if rate else "")
                changed = Number(place.value * other.scale / unit.scale, f"{digits} {meant}", place.unit)
                yield {"written": spelled, "meant": meant}, _put(statement, place, changed)


@slip
def other_letter(statement: Compare, context: Context) -> Meant:
    """One letter for another, at one place of the right side."""
    scope = context.scope
    free = {n for n in scope.names if n in context.least_one or n not in context.definitions}
    subject = {statement.left.name} if isinstance(statement.left, Name) else set()
    spoken = dict.fromkeys((*names(statement), *(n for n in scope.names if n not in QUANTITIES)))
    letters = [n for n in spoken if n not in subject and (n in free or (n not in scope.names and scope.admits(n)))]
    places = [node for node in nodes(statement.right) if isinstance(node, Name) and node.name in letters]
    pairs = [(place, Name(letter)) for place in places for letter in letters if letter != place.name]
    for place, letter in pairs[:MOST_LETTERS]:
        yield {"written": place, "meant": letter}, _put(statement, place, letter)


def _put(statement: Compare, place: Formula, changed: Formula) -> Compare:
    """The statement with another formula at one place of its right side."""
    return replace(statement, right=mapped(statement.right, lambda node: changed if node is place else node))


@slip
def upside_down(statement: Compare, context: Context) -> Meant:
    """The reciprocal."""
    yield {}, replace(statement, right=Quotient(Number(Fraction(1)), Group(statement.right)))


Contexts = Iterator[tuple[Mapping[str, Any], Context]]


def other_figure(link: Compare, context: Context) -> Contexts:
    """Another listed figure of the same chip: a stale edition, another dtype, the peak with sparsity."""
    chip, setting = context.hardware, context.setting
    if chip is None:
        return
    used = {name: name for name in chip.figures}
    if setting is not None:
        used = {"peak": setting.peak_name, "bandwidth": setting.bandwidth_name}
    for name, instead in used.items():
        figure_used = chip.figures.get(instead)
        if figure_used is None or name not in context.definitions:
            continue
        others = [(instead, edition, "listed") for edition in figure_used.alternatives]
        others += [(n, f, "other") for n, f in chip.figures.items() if n != instead and f.unit == figure_used.unit]
        for label, figure, kind in others:
            if figure.value != figure_used.value:
                facts = {"kind": kind, "figure": label, "instead": instead, "digits": figure.digits}
                facts |= {"right": figure_used.digits, "unit": figure_used.unit}
                yield facts, context.defining(dict.fromkeys((name, instead), printed(figure)))


def figures_exchanged(link: Compare, context: Context) -> Contexts:
    """The bandwidth where the peak belongs, or the peak where the bandwidth does."""
    values = {name: context.definitions.get(name) for name in ("peak", "bandwidth")}
    for name, other in (("peak", "bandwidth"), ("bandwidth", "peak")):
        value = values[other]
        if isinstance(values[name], Number) and isinstance(value, Number):
            yield {"written": other, "meant": name}, context.defining({name: value})
