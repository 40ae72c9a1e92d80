"""What JSON holds, in every record: expressions in claim syntax with explicit operators, exact numbers beside a float."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from sympy import Expr

from symroof.algebra.roots import Root
from symroof.derivation.draft import numeric
from symroof.formula import Formula
from symroof.rendering.formulas.decimals import short
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


def exact(value: Fraction | None) -> dict[str, Any] | None:
    """A number, exactly and as a float."""
    return None if value is None else {"exact": str(value), "float": float(value)}


def beside(
    key: str, value: Value, known: Expr | Root | Fraction | None, write: Callable[[Any], Formula]
) -> dict[str, Any]:
    """An expression under its key, and beside it a float where it is known to be a number."""
    number = known if isinstance(known, Fraction) or known is None else numeric(known)
    return {key: text(value, write), f"{key}_float": None if number is None else float(number)}


def verdict_of(check: Any) -> dict[str, str] | None:
    """What the second engine says of a line."""
    return None if check is None else {"status": check.status, "by": check.by}
