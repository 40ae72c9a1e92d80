"""Units of the two sides of a link: seconds, bytes and FLOPs.

Two written units must agree, with each other and with those of the quantities. A number without a unit fits any, and so
does a symbol of which nothing is known; a plain one (no exponent, below 10^5) may be in the unit that stands at the
result: ``32*7 = 224 GiB``. Numbers with an exponent and names with a value are in base units.

Units are called wrong only where all of those of both sides are known. People leave units out of a calculation, or
write FLOPs for FLOPs/s: what is right but for that is not decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from symroof.formula import (
    Compare,
    Figure,
    Formula,
    Group,
    Name,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    children,
    mapped,
    nodes,
)
from symroof.model.quantities import Exponents, exponents, spelled
from symroof.model.units import Mismatch, unit_of_formula
from symroof.proof.quotients import ORDER
from symroof.reading.numbers import COUNT_SCALES, exact
from symroof.verification.context import Context
from symroof.verification.judgement import Remark

DECIMAL = re.compile(r" ([kKMGTP])B(?:/s)?$")
SCALE_LETTERS = "".join(COUNT_SCALES)
# The units of mere numbers.
UNITLESS = (None, "%", "1")
# A number without a unit is plain below this.
PLAIN = 10**5
# Prefixes by which numbers without units may differ from those that are meant.
PREFIXES = tuple(Fraction(base) ** power for base in (1000, 1024) for power in (1, 2, 3, 4))


def disagreement(link: Compare, context: Context) -> tuple[str, Remark] | None:
    """That the units of the sides do not agree: ``wrong`` where all of them are known, else ``undecided``.

    >>> from symroof.reading.expressions import read_expression
    >>> from symroof.reading.name_scope import Scope
    >>> def told(*texts):
    ...     left, right = (read_expression(text, Scope()) for text in texts)
    ...     return (found := disagreement(Compare(left, "=", right), Context(Scope(), {}, {}))) and found[0]
    >>> told("3 bytes", "3 FLOPs"), told("2 * 3 bytes", "6 FLOPs"), told("3 bytes", "3")
    ('wrong', 'undecided', None)
    """
    if not (_written(link.left) or _written(link.right)):
        return None
    verdict = "wrong"
    for counts in (False, True):  # with bare numbers in any unit; and with small ones as mere counts
        try:
            left, right = _unit(link.left, context, counts), _unit(link.right, context, counts)
        except Mismatch as found:
            left, right = found.args
        if left is not None and right is not None and left != right:
            if not (left and right) or _lacks_its_rate(left, right):
                verdict = "undecided"
            if not (_is_rate_of_work(left, right) or (counts and not (left and right))):
                return verdict, Remark("units", {"left": spelled(left), "right": spelled(right)})
        verdict = "undecided"
    return None


def _lacks_its_rate(left: Exponents, right: Exponents) -> bool:
    """Whether the units are the same but for what one of them is divided by: GB for GB/s."""
    above = [{name: e for name, e in unit.items() if e > 0} for unit in (left, right)]
    return above[0] == above[1] and (above[0] == left or above[1] == right)


def _is_rate_of_work(left: Exponents, right: Exponents) -> bool:
    """Whether FLOPs stand for FLOPs/s: the same letters are in use for both, also over bytes/s."""
    apart = {name: left.get(name, 0) - right.get(name, 0) for name in {**left, **right}}
    return (
        bool(left.get("FLOPs")) and {name for name, power in apart.items() if power} == {"s"} and abs(apart["s"]) == 1
    )


def without_time_words(link: Compare) -> Compare:
    """The link with days, hours and minutes as mere counts: 7 days * 24 = 168 hours."""
    return replace(link, left=mapped(link.left, _counted_time))


def _counted_time(node: Formula) -> Formula:
    amount, _, unit = (getattr(node, "digits", None) or "").partition(" ")
    return Number(exact(amount), amount) if unit in ("days", "hours", "minutes") else node


def carried(link: Compare) -> Iterator[tuple[Formula, str, bool]]:
    """The left side with its numbers in the unit of the right side, that unit, and whether they are plain.

    >>> from symroof.formula import number
    >>> [unit for _, unit, _ in carried(Compare(number(7), "=", Number(Fraction(7, 1000), "7 ms", "s")))]
    ['ms']
    """
    left, right = link.left, link.right
    sizes = _unit_behind(right)
    if isinstance(right, Number) and right.unit is not None:
        unit, size = next(iter(sizes.items()), ("", Fraction(0)))
        yield from ((other, unit, True) for other in _without_conversion(left, unit))
        if size and _converts(left, size):
            yield Product((Number(size), left)), unit, True
            return
    for scaled, name in in_unit_of(left, right):
        yield scaled, name, is_plain(left) or _written(left)


def in_unit_of(side: Formula, last: Formula) -> Iterator[tuple[Formula, str]]:
    """A side without a unit in the unit, or power of ten, that stands behind the last one, and that unit."""
    for name, size in _unit_behind(last).items() if side is not last else ():
        if (scaled := _scaled(side, size)) is not None:
            yield scaled, name


def _unit_behind(printed: Formula) -> dict[str, Fraction]:
    """The unit and the power of ten behind a number in print, and how large they are."""
    if not (isinstance(printed, Number) and printed.digits and printed.value):
        return {}
    amount, _, unit = printed.digits.partition(" ")
    scale = COUNT_SCALES.get(amount[-1:], Fraction(1))
    if printed.unit is None or not unit:
        return {amount[-1:]: scale} if scale != 1 else {}  # 8.11 + 0.41 = 8.52B
    size = printed.value / (exact(amount.rstrip(SCALE_LETTERS)) * scale)
    return {unit: size} if scale == 1 else {unit: size, f"{amount[-1:]} {unit}": size * scale}


def _without_conversion(formula: Formula, unit: str) -> Iterator[Formula]:
    """A side in binary units without the factor by which they are larger than decimal ones: 47.5 GiB * 1.0737 = 51 GB."""
    if not isinstance(formula, Product) or "iB" in unit or unit[-1:] != "B":
        return
    if not any(isinstance(n, Number) and (n.digits or "").endswith("iB") for n in nodes(formula)):
        return
    for part in formula.factors:
        value = part.value if isinstance(part, Number) and part.unit is None else Fraction(0)
        if any(abs(value / Fraction(1024, 1000) ** power - 1) < Fraction(1, 2000) for power in (1, 2, 3, 4)):
            yield Product(tuple(other for other in formula.factors if other is not part))


def _converts(formula: Formula, size: Fraction) -> bool:
    """Whether a bare number is divided by the size of a unit, as ``131072/1024 = 128 KiB``."""
    match formula:
        case Quotient(above=Number(unit=unit), below=Number(value=value, unit=other)):
            return value == size and unit in UNITLESS and other in UNITLESS
        case Quotient(above=Number(unit=unit), below=Power(base=Number(value=base), exponent=Number(value=exponent))):
            return unit in UNITLESS and exponent in range(50) and base ** int(exponent) == size
    return False


def _scaled(formula: Formula, scale: Fraction) -> Formula | None:
    """The formula in another unit, where it is of numbers without one; terms of a sum with units of their own keep them."""
    if isinstance(formula, Sum) and any(map(_written, formula.terms)):
        terms = [term if _written(term) else _scaled(term, scale) for term in formula.terms]
        return (
            None
            if None in terms or not all(map(is_plain, (t for t in formula.terms if not _written(t))))
            else Sum(tuple(t for t in terms if t is not None))
        )
    known = _written(formula) or any(map(_is_known, nodes(formula)))
    return None if known else Product((Number(scale), Group(formula)))


def _is_known(node: Formula) -> bool:
    """Whether it is in base units: a name with a value, or a number that is written out and so large."""
    return isinstance(node, Name | Figure) or (
        isinstance(node, Number) and abs(node.value) >= PLAIN and "e" not in (node.digits or "e").lower()
    )


def is_plain(formula: Formula) -> bool:
    """Whether a formula is of numbers without exponents, powers and units, and below 10^5."""
    match formula:
        case Number(value=value, digits=digits, unit=unit):
            return abs(value) < PLAIN and unit in UNITLESS and "e" not in (digits or "").lower()
        case Name() | Figure() | Power():
            return False
    return all(map(is_plain, children(formula)))


def in_unknown_units(link: Compare, context: Context) -> Iterator[Formula]:
    """The left side as it would be with prefixes that are not written, where plain numbers leave a unit open."""
    sides = (link.left, link.right)
    if link.relation in ORDER or any(isinstance(node, Name | Figure | Power) for side in sides for node in nodes(side)):
        return
    bare = [node for side in sides for node in nodes(side) if isinstance(node, Number) and node.unit in UNITLESS]
    if not bare or not all(map(is_plain, bare)) or not any(map(_written, sides)):
        return
    with suppress(Mismatch):
        left, right = (_unit(mapped(side, _counted), context, True) for side in sides)
        if not left or left != right:
            shifts = (shift for prefix in PREFIXES for shift in (prefix, 1 / prefix))
            yield from (Product((Number(shift), Group(link.left))) for shift in shifts)


def in_binary_units(link: Compare) -> Iterator[Compare]:
    """The link with kB, MB, GB, TB and PB as powers of 1024, on one side or on both.

    >>> from symroof.formula import number
    >>> gb = Number(Fraction(10**9), "1 GB", "bytes")
    >>> [claim.right.value for claim in in_binary_units(Compare(number(2**30), "=", gb))]
    [Fraction(1073741824, 1)]
    """
    left, right = (mapped(side, _binary) for side in (link.left, link.right))
    pairs = ((link.left, right), (left, link.right), (left, right))
    yield from dict.fromkeys(
        Compare(*pair[:1], link.relation, *pair[1:]) for pair in pairs if pair != (link.left, link.right)
    )


def _binary(node: Formula) -> Formula:
    """A number in a decimal unit of storage in the binary one."""
    if not isinstance(node, Number) or (match := DECIMAL.search(node.digits or "")) is None:
        return node
    power = "kMGTP".index(match[1].replace("K", "k")) + 1
    return Number(node.value * Fraction(1024, 1000) ** power, node.digits, node.unit)


def _counted(node: Formula) -> Formula:
    """A whole number as a count, which has no unit: 131 kB * 8192."""
    return (
        Number(Fraction(1)) if isinstance(node, Number) and node.unit is None and node.value.denominator == 1 else node
    )


def _written(formula: Formula) -> bool:
    return any(isinstance(node, Number) and node.unit not in UNITLESS for node in nodes(formula))


def unit_of(formula: Formula, context: Context) -> str:
    """The unit of a formula by name, empty where it has none or may have any."""
    try:
        found = None if isinstance(formula, Compare) else _unit(formula, context, True)
    except Mismatch:
        return ""
    return spelled(found) if found else ""


def _unit(formula: Formula, context: Context, counts: bool) -> Exponents | None:
    """The unit of a formula; that of a name is what the document says, or the unit of what it stands for."""

    def of_name(name: str) -> Exponents | None:
        if name in context.units:
            return exponents(context.units[name])
        if name in context.scope.counts:
            return {}
        known = name in context.definitions and name not in context.least_one
        return _unit(context.definitions[name], context, counts) if known else None

    return unit_of_formula(formula, of_name, counts)
