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
    Infinity,
    Name,
    Negative,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    children,
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
    if isinstance(formula, Number):
        return formula.unit is not None and formula.unit != "%"
    return any(_written(child) for child in children(formula))


def unit_of(formula: Formula, context: Context) -> str:
    """The unit of a formula by name, empty where it has none or may have any."""
    if isinstance(formula, Compare):
        return ""
    try:
        found = _unit(formula, context)
    except _Unlike:
        return ""
    return spelled(found) if found else ""


def _unit(formula: Formula, context: Context) -> Exponents | None:
    """The unit of a formula: no exponents for a count, None where it may be anything."""
    match formula:
        case Number(value=value, unit=unit):
            if unit is not None:
                return {} if unit == "%" else exponents(unit)
            return {} if value.denominator == 1 and abs(value) < COUNT else None
        case Name(name=name):
            if name in context.units:
                return exponents(context.units[name])
            if name in context.least_one:
                return None
            return _unit(context.definitions[name], context) if name in context.definitions else None
        case Infinity() | Compare():
            return None
        case Sum(terms=terms):
            return _alike(terms, context)
        case Call(function="max" | "min" | "abs" | "ceil" | "floor", arguments=arguments):
            return _alike(arguments, context)
        case Call(function="sqrt", arguments=(body,)):
            inner = _unit(body, context)
            return None if inner is None else {name: e / 2 for name, e in inner.items()}
        case Product(factors=factors):
            return _times(factors, (), context)
        case Quotient(above=above, below=below):
            if not _unit(above, context) and _unit(below, context):
                return None  # a bare number over a unit: the number may have one
            return _times((above,), (below,), context)
        case Power(base=root, exponent=Number(value=power)) if power == Fraction(int(power)):
            inner = _unit(root, context)
            return None if inner is None else {name: e * power for name, e in inner.items() if power}
        case Negative(body=body):
            return _unit(body, context)
    inside = children(formula)
    return _unit(inside[0], context) if len(inside) == 1 and not isinstance(formula, Call) else None


def _alike(terms: tuple[Formula, ...], context: Context) -> Exponents | None:
    units = [unit for unit in (_unit(term, context) for term in terms) if unit]
    for unit in units[1:]:
        if unit != units[0]:
            raise _Unlike(units[0], unit)
    return units[0] if units else None


def _times(above: tuple[Formula, ...], below: tuple[Formula, ...], context: Context) -> Exponents | None:
    total: dict[str, Fraction] = {}
    for side, sign in ((above, 1), (below, -1)):
        for factor in side:
            unit = _unit(factor, context)
            if unit is None:
                return None
            for name, e in unit.items():
                total[name] = total.get(name, Fraction(0)) + sign * e
    return {name: e for name, e in total.items() if e}
