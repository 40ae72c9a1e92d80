"""Numbers with proof: a formula without free names, enclosed between two rationals.

Rational arithmetic is exact. What is irrational is held between two ends; more digits are taken until the question at hand
is decided.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from symroof.algebra.roots import Root
from symroof.formula import Figure, Formula, Gap, Infinity, Name, children, fold
from symroof.proof.pointwise import Enclosures

DIGITS = 30
# A real number between two rationals is held as the algebra holds a root.
Enclosure = Root


def is_numeric(formula: Formula) -> bool:
    """Whether the formula speaks of numbers alone."""
    return not isinstance(formula, Name | Figure | Infinity | Gap) and all(map(is_numeric, children(formula)))


def enclosed(formula: Formula, digits: int = DIGITS, point: Mapping[str, Fraction] | None = None) -> Enclosure:
    """The value of a formula of numbers; names have the values of the ``point``.

    >>> from symroof.formula import Call
    >>> root = enclosed(Call("sqrt", (Name("A"),)), point={"A": Fraction(2)})
    >>> root.low**2 < 2 < root.high**2, float(root.middle)
    (True, 1.4142135623730951)
    """
    return Enclosure(*fold(formula, Enclosures(digits, point or {})))
