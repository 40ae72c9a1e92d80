"""Least maxima and least sums of powers of one variable, in closed form.

Parts c x**e with c > 0 are straight lines in log x. So the maximum of a rising and a falling one is least where they
cross, and a sum a x**p + b x**-q where the weighted means of its terms are equal:

    a x**p = b x**-q        x**(p + q) = b/a
    p a x**p = q b x**-q    x**(p + q) = q b/(p a)

What only rises is least at the start of the domain, what only falls at the end. Parts that x leaves alone move nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from sympy import Expr, Integer

from symroof.algebra.rational import cancelled, coefficients, polynomial, ratio, sign_of, symbols_of
from symroof.errors import AlgebraError
from symroof.formula import Frozen
from symroof.symbols import rational

Line = tuple[int, Expr]


class Optimum(Frozen):
    """The place x with x**degree = ``power``, or an end of the domain: ``way`` is 1 where everything rises, -1 where it
    falls. The least value is the root of that degree of ``value``, beside the parts that are ``constant``."""

    variable: Expr
    way: int = 0
    degree: int = 1
    power: Expr = Integer(1)
    value: Expr = Integer(0)
    constant: tuple[Expr, ...] = ()


def lines(value: Expr, x: Expr) -> dict[int, Expr]:
    """The powers of x in a value, each with what it is multiplied with, which has to be free of x.

    >>> from symroof.symbols import symbol
    >>> a, x = symbol("a"), symbol("x")
    >>> lines((a*x**2 + 3)/x, x)
    {1: a, -1: 3}
    """
    symbols = symbols_of(value, x)
    above, below = ratio(value, symbols)
    place = symbols.index(x)
    lows = {e: terms for e, terms in enumerate(coefficients(below, place)) if terms}
    if len(lows) != 1:
        raise AlgebraError(f"{value} is no sum of powers of {x}".replace("**", "^"))
    ((low, under),) = lows.items()
    bottom = polynomial(under, symbols)
    tops = enumerate(coefficients(above, place))
    return {e - low: cancelled(polynomial(terms, symbols) / bottom) for e, terms in reversed(list(tops)) if terms}


def least_maximum(parts: Sequence[Expr], x: Expr, least_one: frozenset[Expr]) -> Optimum:
    """Where the largest of some powers of x is least: among the crossings of a rising and a falling part the highest.

    >>> from symroof.symbols import symbol
    >>> a, b, x = map(symbol, "abx")
    >>> found = least_maximum((a*x, b/x), x, frozenset())
    >>> found.degree, found.power, found.value
    (2, b/a, a*b)
    """
    result = [tuple(lines(part, x).items()) for part in parts]
    if any(len(powers) != 1 for powers in result):
        raise AlgebraError(f"the parts of the maximum are no single powers of {x}")
    rising, falling, constant = _sorted([powers[0] for powers in result], least_one)
    if not rising or not falling:
        return _at_an_end(x, rising, falling, constant)
    crossings = [_crossing(x, up, down, constant) for up, down in product(rising, falling)]
    highest = [crossing for crossing in crossings if all(_is_below(other, crossing, least_one) for other in crossings)]
    if not highest:
        raise AlgebraError(
            "which of the parts is the longest is open", hint="put in numbers for what the parts differ in"
        )
    return highest[0]


def least_sum(parts: Sequence[Expr], x: Expr, least_one: frozenset[Expr]) -> Optimum:
    """Where a sum of powers of x with positive coefficients is least.

    >>> from symroof.symbols import symbol
    >>> a, b, x = map(symbol, "abx")
    >>> found = least_sum((a*x**2, b/x), x, frozenset())
    >>> found.degree, found.power
    (3, b/(2*a))
    """
    powers: dict[int, Expr] = {}
    for part in parts:
        for e, c in lines(part, x).items():
            powers[e] = powers.get(e, Integer(0)) + c
    rising, falling, constant = _sorted([(e, cancelled(c)) for e, c in powers.items()], least_one)
    if not rising or not falling:
        return _at_an_end(x, rising, falling, constant)
    if len(rising) > 1 or len(falling) > 1:
        raise AlgebraError(f"the sum has more than two powers of {x}: where it is least has no closed form")
    ((p, a),), ((minus_q, b),) = rising, falling
    q = -minus_q
    power = cancelled(q * b / (p * a))
    value = cancelled((rational(Fraction(p + q, q)) * a) ** (p + q) * power**p)
    return Optimum(x, 0, p + q, power, value, constant)


def _sorted(lines: list[Line], least_one: frozenset[Expr]) -> tuple[list[Line], list[Line], tuple[Expr, ...]]:
    """The rising and the falling powers, and what stays."""
    if any(sign_of(c, least_one) != 1 for _, c in lines):
        raise AlgebraError("not every part is known to be positive")
    rising, falling = ([line for line in lines if line[0] * way > 0] for way in (1, -1))
    return rising, falling, tuple(c for e, c in lines if e == 0)


def _at_an_end(x: Expr, rising: list[Line], falling: list[Line], constant: tuple[Expr, ...]) -> Optimum:
    if not rising and not falling:
        raise AlgebraError(f"nothing of it depends on {x}")
    return Optimum(x, 1 if rising else -1, constant=constant)


def _crossing(x: Expr, up: Line, down: Line, constant: tuple[Expr, ...]) -> Optimum:
    (p, a), (minus_q, b) = up, down
    degree = p - minus_q
    power = cancelled(b / a)
    return Optimum(x, 0, degree, power, cancelled(a**degree * power**p), constant)


def _is_below(first: Optimum, other: Optimum, least_one: frozenset[Expr]) -> bool:
    """Whether the value of one crossing is at most that of another, at every size."""
    gap = cancelled(other.value**first.degree - first.value**other.degree)
    return gap == 0 or sign_of(gap, least_one) == 1
