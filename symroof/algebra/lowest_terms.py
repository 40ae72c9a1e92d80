"""A quotient of polynomials in lowest terms, without a search among symbols that have no part in a common factor.

Of a factor that two polynomials a and b share the degree in x is at most that of the factor that their images share, once
numbers modulo a prime are put in for all other symbols, as long as the leading coefficient of a in x does not vanish there:
that of the factor divides it. So what a common factor does not depend on is told by Euclid's algorithm in one symbol at a
time, and the factor divides each coefficient with respect to those symbols (Brown, "On Euclid's algorithm and the
computation of polynomial greatest common divisors", 1971).
"""

from __future__ import annotations

from math import gcd
from typing import Any

PRIME = 2**61 - 1
TRIES = 3


def lowest(above: Any, below: Any) -> tuple[Any, Any]:
    """Both elements of one ring over the rationals without what they share, with whole coefficients and a positive leading
    one below.

    >>> from sympy import QQ, ring
    >>> _, x, y = ring("x, y", QQ)
    >>> lowest(x**2 - y**2, -2*x*y - 2*y**2)
    (-x + y, 2*y)
    """
    ring = above.ring
    if not above:
        return ring.zero, ring.one
    powers = [tuple(map(min, zip(*side.monoms(), strict=True))) for side in (above, below)]
    sides = [_divided(side, power) for side, power in zip((above, below), powers, strict=True)]
    factor = _common(*sides)
    if not factor.is_ground:
        sides = [side.exquo(factor) for side in sides]
    shared = tuple(map(min, *powers))
    sides = [
        side.mul_monom(tuple(e - k for e, k in zip(power, shared, strict=True)))
        for side, power in zip(sides, powers, strict=True)
    ]
    (clear, a), (other, b) = (side.clear_denoms() for side in sides)
    numbers = [gcd(*(int(c) for c in side.coeffs())) for side in (a, b)]
    up, down = numbers[0] * int(other), numbers[1] * int(clear)
    up, down = up // gcd(up, down), down // gcd(up, down)
    sign = 1 if b.LC > 0 else -1
    return a.quo_ground(numbers[0]) * (sign * up), b.quo_ground(numbers[1]) * (sign * down)


def _divided(side: Any, power: tuple[int, ...]) -> Any:
    if not any(power):
        return side
    terms = {tuple(e - k for e, k in zip(exps, power, strict=True)): c for exps, c in side.terms()}
    return side.ring.from_dict(terms)


def _common(a: Any, b: Any) -> Any:
    """The greatest common factor of two polynomials that no symbol divides."""
    ring = a.ring
    both = [i for i, (p, q) in enumerate(zip(a.degrees(), b.degrees(), strict=True)) if p > 0 and q > 0]
    inside = [i for i in both if _may_share(a, b, i)]
    if not inside:
        return ring.one
    found = ring.zero
    for part in sorted((*_coefficients(a, inside), *_coefficients(b, inside)), key=len):
        found = found.gcd(part)
        if found.is_ground:
            return ring.one
    return found


def _coefficients(side: Any, inside: list[int]) -> list[Any]:
    """A polynomial in some of its symbols as their coefficients, one for each power of the others."""
    found: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
    for exps, c in side.terms():
        outside = tuple(0 if i in inside else e for i, e in enumerate(exps))
        found.setdefault(outside, {})[tuple(e if i in inside else 0 for i, e in enumerate(exps))] = c
    return [side.ring.from_dict(terms) for terms in found.values()]


def _may_share(a: Any, b: Any, place: int) -> bool:
    """Whether a common factor may depend on a symbol."""
    for seed in range(2, 2 + TRIES):
        one, other = (_image(side, place, seed) for side in (a, b))
        if one[-1]:
            return len(_euclid(one, other)) > 1
    return True


def _image(side: Any, place: int, seed: int) -> list[int]:
    """The coefficients in one symbol modulo the prime, from the constant upwards, with numbers for all others."""
    found = [0] * (side.degree(side.ring.gens[place]) + 1)
    for exps, c in side.terms():
        value = int(c.numerator) * pow(int(c.denominator), -1, PRIME)
        for i, e in enumerate(exps):
            if e and i != place:
                value = value * pow(seed + 1, (i + 3) * e, PRIME) % PRIME
        found[exps[place]] = (found[exps[place]] + value) % PRIME
    return found


def _euclid(a: list[int], b: list[int]) -> list[int]:
    """A greatest common factor of two polynomials in one symbol modulo the prime."""
    while b and not b[-1]:
        b = b[:-1]
    while b:
        inverse = pow(b[-1], -1, PRIME)
        while len(a) >= len(b):
            factor, shift = a[-1] * inverse % PRIME, len(a) - len(b)
            a = [(c - factor * b[i - shift]) % PRIME if i >= shift else c for i, c in enumerate(a)]
            while a and not a[-1]:
                a.pop()
        a, b = b, a
    return a
