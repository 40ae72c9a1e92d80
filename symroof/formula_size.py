"""How large a formula becomes: terms are counted before they are multiplied out, and never expanded in order to be counted."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb, prod

from symroof.errors import AlgebraError
from symroof.formula import Formula, Name, Number, Power, Product, Quotient, Sum, children, names

# A rational function with more terms than this, above or below, is not multiplied out.
MOST_TERMS = 3_000
# Names whose formulas stand on one another in more steps than this are refused.
DEEPEST = 100

# At most how many terms stand above and below.
Terms = tuple[int, int]


def weight(formula: Formula) -> int:
    """The work that it is to multiply a formula out. Raises :class:`~symroof.errors.AlgebraError` where it is too much.

    >>> from symroof.formula import number
    >>> a, b = Name("A"), Name("B")
    >>> weight(Power(Sum((a, b)), number(9)))
    10
    """
    return max(terms(formula))


def terms(formula: Formula, known: Mapping[str, Terms] | None = None) -> Terms:
    """At most how many terms a formula has above and below as a quotient of polynomials, with the terms of ``known`` names."""
    if isinstance(formula, Name):
        return (known or {}).get(formula.name, (1, 1))
    parts = [terms(child, known) for child in children(formula)]
    above, below = max(parts, key=max, default=(1, 1))
    match formula:
        case Sum():
            above, below = parts[0]
            for n, d in parts[1:]:
                above, below = _light(above * d + n * below, below * d)
        case Product():
            above, below = prod(n for n, _ in parts), prod(d for _, d in parts)
        case Quotient():
            above, below = parts[0][0] * parts[1][1], parts[0][1] * parts[1][0]
        case Power(exponent=Number(value=value)) if value.denominator == 1 and parts[0] != (1, 1):
            e = min(abs(int(value)), MOST_TERMS)
            above, below = (comb(n + e - 1, e) for n in parts[0])
        case Power():
            above, below = parts[0]
    return _light(above, below)


def _light(above: int, below: int) -> Terms:
    if max(above, below) > MOST_TERMS:
        raise AlgebraError("the formula is too large to be multiplied out")
    return above, below


def depth(formula: Formula, known: Mapping[str, int]) -> int:
    """In how many steps formulas stand on one another up to this one. Raises :class:`~symroof.errors.AlgebraError` where
    that is too many."""
    result = 1 + max((known[name] for name in names(formula) if name in known), default=0)
    if result > DEEPEST:
        raise AlgebraError(f"more than {DEEPEST} formulas stand on one another")
    return result
