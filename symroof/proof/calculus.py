"""Limits, derivatives and sums, decided again on quotients of polynomials.

A limit is read off the highest powers of the variable. A derivative follows the quotient and the chain rule. A sum is
right if it telescopes: S(n) - S(n - 1) is the n-th term, and S is 0 before the first.
"""

from __future__ import annotations

from fractions import Fraction

from symroof.errors import CheckError
from symroof.formula import Formula, Infinity
from symroof.proof.exact import Exact
from symroof.proof.polynomials import ONE, Poly, Rat


def tends(value: Rat, name: str, limit: Formula, exact: Exact) -> bool:
    """Whether a quotient of polynomials tends to the limit as the name grows and all others stay what they are."""
    above, below = value.above.in_powers_of(name), value.below.in_powers_of(name)
    high, low = max(above, default=0), max(below, default=0)
    leading = below.get(low, Poly())
    if isinstance(limit, Infinity):
        leads = exact.sign(above.get(high, Poly()))
        return bool(leads) and leads == exact.sign(leading) and high > low
    known = exact.rational(limit)
    if name in known.names:
        return False
    # what the highest power is multiplied with is not 0, or is 0 only where the limit is written with a division by 0
    apart = exact.sign(leading) and exact.sign(known.below)
    if not apart and leading.primitive() not in (known.below.primitive(), -known.below.primitive()):
        return False
    gap = value - known
    return gap.is_zero() or gap.above.degree(name) < gap.below.degree(name)


def slope(value: Rat, name: str, exact: Exact) -> Rat:
    """The derivative in a name; roots, exponentials and logarithms by the chain rule.

    >>> from symroof.formula import Name, Product
    >>> exact = Exact()
    >>> slope(exact.rational(Product((Name("x"), Name("x")))), "x", exact).above
    {(('x', 1),): Fraction(2, 1)}
    """
    total = value.partial(name)
    for atom, (function, arguments) in exact.atoms.items():
        if atom not in value.names:
            continue
        rise, inner, outer = slope(arguments[0], name, exact), arguments[0], Rat(Poly.name(atom))
        if function in OUTER and len(arguments) == 1:
            total += value.partial(atom) * OUTER[function](inner, outer) * rise
        elif not all(slope(argument, name, exact).is_zero() for argument in arguments):
            raise CheckError(f"{function}(…) has no derivative here")
    return total


# The derivative of each function, given its argument and its value.
OUTER = {
    "sqrt": lambda inner, outer: Rat(Poly.number(Fraction(1, 2))) / outer,
    "exp": lambda inner, outer: outer,
    "log": lambda inner, outer: Rat(ONE) / inner,
}


def rises(formula: Formula, name: str, least_one: frozenset[str]) -> int | None:
    """1 where a rational function rises in the name on the whole domain, -1 where it falls, 0 where it does neither."""
    exact = Exact(least_one=least_one)
    value = exact.rational(formula)
    if exact.atoms or not exact.sign(value.below):
        return None
    return exact.sign(value.partial(name).above, strict=False)


def telescopes(total: Formula, body: Formula, index: str, last: str, first: Formula) -> bool:
    """Whether ``total`` is the sum of ``body`` over the index from ``first`` to ``last``, a name that nothing else has."""
    exact = Exact()
    whole, end, one = exact.rational(total), Rat(Poly.name(last)), Rat(ONE)
    risen = whole - whole.put(last, end - one) - exact.rational(body).put(index, end)
    return not exact.atoms and risen.is_zero() and whole.put(last, exact.rational(first) - one).is_zero()
