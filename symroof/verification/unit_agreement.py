"""Units of the two sides of a link: seconds, bytes and FLOPs.

Written units must agree with each other and with those of the quantities. A number without a unit fits any; so does a
symbol of which nothing is known.
"""

from __future__ import annotations

from fractions import Fraction

from symroof.formula import (
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
    Written,
    nodes,
)
from symroof.model.units import Exponents, exponents, spelled
from symroof.verification.context import Context
from symroof.verification.judgement import Remark

# A whole number below this counts things; a larger one without a unit may be in any unit.
COUNT = 100


class _Unlike(Exception):  # noqa: N818
    """Two terms of a sum with different units."""


def disagreement(link: Compare, context: Context) -> Remark | None:
    """The units of both sides by name, where units are written and do not agree; else None.

    >>> from symroof.reading.expressions import Scope, read_expression
    >>> sides = (read_expression(text, Scope()) for text in ("3 bytes", "3 FLOPs"))
    >>> disagreement(Compare(next(sides), "=", next(sides)), Context(Scope(), {}, {})).facts
    {'left': 'bytes', 'right': 'FLOPs'}
    """
    if not (_written(link.left) or _written(link.right)):
        return None
    try:
        left, right = _unit(link.left, context), _unit(link.right, context)
    except _Unlike as found:
        left, right = found.args
    if not left or not right or left == right:
        return None
    return Remark("units", {"left": spelled(left), "right": spelled(right)})


def _written(formula: Formula) -> bool:
    return any(isinstance(node, Number) and node.unit not in (None, "%") for node in nodes(formula))


def unit_of(formula: Formula, context: Context) -> str:
    """The unit of a formula by name, empty where it has none or may have any."""
    try:
        found = None if isinstance(formula, Compare) else _unit(formula, context)
    except _Unlike:
        return ""
    return spelled(found) if found else ""


def _unit(formula: Formula, context: Context) -> Exponents | None:
    """The unit of a formula: no exponents for a count, None where it may be anything."""

    def combined(*parts: tuple[Formula, Fraction | int]) -> Exponents | None:
        """The unit of a product of powers."""
        total: Exponents = {}
        for part, power in parts:
            unit = _unit(part, context)
            if unit is None:
                return None
            total = {name: total.get(name, Fraction(0)) + power * unit.get(name, 0) for name in {**total, **unit}}
        return {name: e for name, e in total.items() if e}

    match formula:
        case Number(unit=str(unit)):
            return {} if unit == "%" else exponents(unit)
        case Number(value=value):
            return {} if value.denominator == 1 and abs(value) < COUNT else None
        case Name(name=name) if name in context.units:
            return exponents(context.units[name])
        case Name(name=name) if name in context.definitions and name not in context.least_one:
            return _unit(context.definitions[name], context)
        case Sum(terms=terms) | Call(function="max" | "min" | "abs" | "ceil" | "floor", arguments=terms):
            units = [unit for unit in (_unit(term, context) for term in terms) if unit]
            for unlike in (unit for unit in units if unit != units[0]):
                raise _Unlike(units[0], unlike)
            return units[0] if units else None
        case Call(function="sqrt", arguments=(body,)):
            return combined((body, Fraction(1, 2)))
        case Product(factors=factors):
            return combined(*((factor, 1) for factor in factors))
        case Quotient(above=above, below=below):
            bare = not _unit(above, context) and _unit(below, context)
            return None if bare else combined((above, 1), (below, -1))  # a bare number over a unit may have one
        case Power(base=root, exponent=Number(value=power)) if power.denominator == 1:
            return combined((root, power))
        case Negative(body=body) | Group(body=body) | Written(body=body):
            return _unit(body, context)
    return None
