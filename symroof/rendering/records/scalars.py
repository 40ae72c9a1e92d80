"""What JSON holds, in every record: expressions in claim syntax with explicit operators, exact numbers beside a float."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from sympy import Expr

from symroof.algebra.roots import Root
from symroof.algebra.rounding import short
from symroof.derivation.draft import numeric
from symroof.formula import Formula
from symroof.proof.step import Check
from symroof.rendering.formulas.plain import PlainPrinter

SCHEMA = 1
EXPLICIT = PlainPrinter(explicit=True)
# Digits of a rational that people and parsers take, in bits; beyond them it is rounded.
LONGEST = 4000
Value: TypeAlias = "Formula | Expr | Root | Fraction | None"


def text(value: Value, write: Callable[[Any], Formula] | None = None) -> str | None:
    """An expression as text that can be read back; what does not apply is null.

    >>> from symroof.formula import Name, Product, number
    >>> text(Product((number(2), Name("B"), Name("D")))), text(Fraction(9850, 41)), text(None)
    ('2*B*D', '9850/41', None)
    """
    if value is None or isinstance(value, Formula):
        return None if value is None else EXPLICIT.print(value)
    if write is not None:
        return EXPLICIT.print(write(value))
    assert isinstance(value, Fraction)
    long = max(abs(value.numerator).bit_length(), value.denominator.bit_length()) >= LONGEST
    return short(value) if long else str(value)


def beside(key: str, known: Expr | Root | Fraction | None, shown: Formula | None = None) -> dict[str, Any]:
    """An expression under its key, as a step shows it, and beside it a float where it is known to be a number."""
    number = known if isinstance(known, Fraction) or known is None else numeric(known)
    value = str(known) if isinstance(known, Fraction) else shown or known
    return {key: value, f"{key}_float": nearest_float(number)}


def nearest_float(value: Fraction | None) -> float | None:
    """The float beside an exact number; none where the number is larger than all of them.

    >>> nearest_float(Fraction(9850, 41)), nearest_float(Fraction(10) ** 309)
    (240.2439024390244, None)
    """
    try:
        return None if value is None else float(value)
    except OverflowError:
        return None


def fields(value: object, *names: str) -> dict[str, Any]:
    """What a value says of itself, under its own names."""
    return {name: getattr(value, name) for name in names}


def spelled(value: Any, write: Callable[[Any], Formula] | None = None) -> Any:
    """A tree of values as JSON has them: formulas as text, fractions exactly and as floats, checks with their engine.

    >>> from symroof.formula import Name
    >>> spelled({"ridge": Fraction(9850, 41), "at": (Name("B"), None)})
    {'ridge': {'exact': '9850/41', 'float': 240.2439024390244}, 'at': ['B', None]}
    """
    match value:
        case Formula() | Expr() | Root():
            return text(value, write)
        case Fraction():
            return {"exact": str(value), "float": nearest_float(value)}
        case Check():
            return {"status": value.status, "by": value.by}
        case dict():
            return {key: spelled(part, write) for key, part in value.items()}
        case tuple() | list():
            return [spelled(part, write) for part in value]
    return value
