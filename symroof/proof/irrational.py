"""Numbers that are not rational, between two that are: roots and logarithms of numbers, to many digits.

sqrt(a/b): isqrt(a b 4^k)/(b 2^k) is below it by less than 1/(b 2^k).
ln x = k ln 2 + 2 artanh(z), z = (m - 1)/(m + 1) for x = m 2^k; what a partial sum of the series of artanh leaves out
is less than its last term times z^2/(1 - z^2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import ceil, floor, isqrt

from symroof.proof.exact import Exact
from symroof.proof.polynomials import Poly, Rat

BITS = 160
# No larger powers of e are worked out.
LARGEST_POWER = 200
Ends = tuple[Fraction, Fraction]


def between(value: Rat, exact: Exact) -> Ends | None:
    """Two rational numbers that a value of numbers, roots and logarithms lies between; None for what has no such ends."""
    known: dict[str, Ends] = {}
    for name in value.names:
        function, arguments = exact.atoms.get(name, ("", ()))
        parts = [between(argument, exact) for argument in arguments]
        rule = FUNCTIONS.get(function)
        found = None if rule is None or None in parts else rule(*(part for part in parts if part is not None))
        if found is None:
            return None
        known[name] = _trimmed(found)
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


def _trimmed(ends: Ends, bits: int = BITS) -> Ends:
    """Ends of few digits, a little further apart; of a small number, as many digits after its zeros."""
    low, high = ends
    zeros = max(0, high.denominator.bit_length() - high.numerator.bit_length())
    scale = 1 << bits + zeros
    return (low if low == high else Fraction(floor(low * scale), scale)), (
        high if low == high else Fraction(ceil(high * scale), scale)
    )


def _sqrt(ends: Ends) -> Ends | None:
    low, high = ends
    if low < 0:
        return None
    return _root(low), _root(high) + Fraction(1, high.denominator << BITS)


def _root(value: Fraction) -> Fraction:
    """The root of a number, less than 1/2^BITS below it."""
    return Fraction(isqrt(value.numerator * value.denominator << 2 * BITS), value.denominator << BITS)


def _log(ends: Ends) -> Ends | None:
    low, high = ends
    return None if low <= 0 else (_log_of(low)[0], _log_of(high)[1])


@lru_cache(maxsize=64)
def _log_of(value: Fraction) -> Ends:
    power = value.numerator.bit_length() - value.denominator.bit_length()
    mantissa = value / Fraction(2) ** power
    two = _artanh(Fraction(1, 3))
    ends = _artanh((mantissa - 1) / (mantissa + 1))
    corners = [2 * (power * a + b) for a, b in product(two, ends)]
    return min(corners), max(corners)


def _artanh(z: Fraction) -> Ends:
    """artanh z for abs(z) < 1: the odd powers of z over their exponents."""
    total, term, n = Fraction(0), z, 1
    while z and abs(term) * (1 << BITS) > 1:
        total, term, n = total + term / n, term * z * z, n + 2
    rest = abs(term) / (1 - z * z)
    return (total, total + rest) if z >= 0 else (total - rest, total)


def _exp(ends: Ends) -> Ends | None:
    low, high = ends
    return None if max(abs(low), abs(high)) > LARGEST_POWER else (_exp_of(low)[0], _exp_of(high)[1])


@lru_cache(maxsize=64)
def _exp_of(value: Fraction) -> Ends:
    halvings = 1 + max(ceil(abs(value)), 1).bit_length()
    y, total, term, n = value / (1 << halvings), Fraction(0), Fraction(1), 0
    while term and abs(term) * (1 << BITS + halvings) > 1:
        total, n = total + term, n + 1
        term = term * y / n
    ends = (total - 2 * abs(term), total + 2 * abs(term))
    for _ in range(halvings):
        ends = _trimmed((ends[0] ** 2, ends[1] ** 2), BITS + LARGEST_POWER)
    return ends


def _abs(ends: Ends) -> Ends:
    low, high = ends
    return (Fraction(0), max(-low, high)) if low < 0 < high else (min(abs(low), abs(high)), max(abs(low), abs(high)))


def _whole(rule: Callable[[Fraction], int]) -> Callable[[Ends], Ends | None]:
    def of(ends: Ends) -> Ends | None:
        low, high = map(rule, ends)
        return (Fraction(low), Fraction(high)) if low == high else None

    return of


FUNCTIONS: Mapping[str, Callable[..., Ends | None]] = {
    "sqrt": _sqrt,
    "log": _log,
    "exp": _exp,
    "abs": _abs,
    "floor": _whole(floor),
    "ceil": _whole(ceil),
    "max": lambda *parts: (max(low for low, _ in parts), max(high for _, high in parts)),
    "min": lambda *parts: (min(low for low, _ in parts), min(high for _, high in parts)),
}
