"""Numbers that are not rational, between two that are: roots, exponentials and logarithms of numbers, to many digits.

The functions of :mod:`decimal` round correctly, so that what they are lies between the neighbours of what they give.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import product
from math import ceil, floor

from symroof.proof.exact import Exact
from symroof.proof.polynomials import Poly, Rat

# No larger powers of e are worked out.
LARGEST_POWER = 200
DOWN, UP = (Context(50, rounding, -10_000, 100_000) for rounding in (ROUND_FLOOR, ROUND_CEILING))
Ends = tuple[Fraction, Fraction]


def between(value: Rat, exact: Exact, point: Mapping[str, Fraction] | None = None) -> Ends | None:
    """Two rational numbers that a value of numbers, roots and logarithms lies between, where names are at a point; None for
    what has no such ends."""
    known = {name: (size, size) for name, size in (point or {}).items() if name not in exact.atoms}
    for name in value.names - known.keys():
        function, arguments = exact.atoms.get(name, ("", ()))
        parts = [between(argument, exact, point) for argument in arguments]
        rule = FUNCTIONS.get(function)
        ends = None if rule is None or None in parts else rule(*(part for part in parts if part is not None))
        if ends is None:
            return None
        known[name] = ends
    above, below = (_of_poly(poly, known) for poly in (value.above, value.below))
    if below[0] <= 0 <= below[1]:
        return None
    corners = [a / b for a, b in product(above, below)]
    return min(corners), max(corners)


def _of_poly(poly: Poly, known: Mapping[str, Ends]) -> Ends:
    low = high = Fraction(0)
    for monomial, coefficient in poly.items():
        ends = (coefficient, coefficient)
        for name, power in monomial:
            for _ in range(power):
                corners = [a * b for a, b in product(ends, known[name])]
                ends = min(corners), max(corners)
        low, high = low + ends[0], high + ends[1]
    return low, high


def _rising(
    function: Callable[[Context, Decimal], Decimal], domain: Callable[[Ends], bool]
) -> Callable[[Ends], Ends | None]:
    """The ends of a function that rises, where it is known."""

    def of(ends: Ends) -> Ends | None:
        if not domain(ends):
            return None
        low, high = (c.divide(end.numerator, end.denominator) for c, end in zip((DOWN, UP), ends, strict=True))
        return Fraction(DOWN.next_minus(function(DOWN, low))), Fraction(UP.next_plus(function(UP, high)))

    return of


def _abs(ends: Ends) -> Ends:
    low, high = ends
    return (Fraction(0), max(-low, high)) if low < 0 < high else (min(abs(low), abs(high)), max(abs(low), abs(high)))


def _whole(rule: Callable[[Fraction], int]) -> Callable[[Ends], Ends | None]:
    def of(ends: Ends) -> Ends | None:
        low, high = map(rule, ends)
        return (Fraction(low), Fraction(high)) if low == high else None

    return of


FUNCTIONS: Mapping[str, Callable[..., Ends | None]] = {
    "sqrt": _rising(Context.sqrt, lambda ends: ends[0] >= 0),
    "log": _rising(Context.ln, lambda ends: ends[0] > 0),
    "exp": _rising(Context.exp, lambda ends: max(map(abs, ends)) <= LARGEST_POWER),
    "abs": _abs,
    "floor": _whole(floor),
    "ceil": _whole(ceil),
    "max": lambda *parts: (max(low for low, _ in parts), max(high for _, high in parts)),
    "min": lambda *parts: (min(low for low, _ in parts), min(high for _, high in parts)),
}
