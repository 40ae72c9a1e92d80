"""Units of the two sides of a link: seconds, bytes and FLOPs.

Two written units must agree, with each other and with those of the quantities. A number without a unit fits any, and so
does a symbol of which nothing is known.

Units are called wrong only where all of those of both sides are known. People leave units out of a calculation, or
write FLOPs for FLOPs/s: what is right but for that is not decided.
"""

from __future__ import annotations

from symroof.formula import Compare, Formula, Number, nodes
from symroof.model.quantities import Exponents, Mismatch, exponents, spelled, unit_of_formula
from symroof.verification.context import Context
from symroof.verification.verdicts import Remark

# The units of mere numbers.
UNITLESS = (None, "%", "1")


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
    if not (has_unit(link.left) or has_unit(link.right)):
        return None
    verdict = "wrong"
    for counts in (False, True):  # with bare numbers in any unit; and with small ones as mere counts
        try:
            left, right = unit_exponents(link.left, context, counts), unit_exponents(link.right, context, counts)
        except Mismatch as units:
            left, right = units.args
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
    other = {name: abs(power) for name, power in apart.items() if power}
    return bool(left.get("FLOPs")) and other == {"s": 1}


def has_unit(formula: Formula) -> bool:
    return any(isinstance(node, Number) and node.unit not in UNITLESS for node in nodes(formula))


def unit_of(formula: Formula, context: Context) -> str:
    """The unit of a formula by name, empty where it has none or may have any."""
    try:
        unit = None if isinstance(formula, Compare) else unit_exponents(formula, context, True)
    except Mismatch:
        return ""
    return spelled(unit) if unit else ""


def unit_exponents(formula: Formula, context: Context, counts: bool) -> Exponents | None:
    """The unit of a formula; that of a name is what the document says, or the unit of what it stands for."""

    def of_name(name: str) -> Exponents | None:
        if name in context.units:
            return exponents(context.units[name])
        if name in context.scope.counts:
            return {}
        has_meaning = name in context.definitions and name not in context.least_one
        return unit_exponents(context.definitions[name], context, counts) if has_meaning else None

    return unit_of_formula(formula, of_name, counts)
