"""How far an approximation is off: its factor, what makes the factor small, and the next order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sympy import Add, Expr, oo

from symroof.algebra.dominance import leading, similar
from symroof.algebra.inequality import growth
from symroof.algebra.rational import cancelled, monomial, plus, ratio, sign, symbols_of
from symroof.algebra.regime import Regime
from symroof.errors import AlgebraError
from symroof.symbols import fraction, rational

TOLERANCE = Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class Approximation:
    """``factor`` = approximate / exact. ``within`` are pairs (y, x): the factor is 1 ± 5 % once every y >= x.

    ``next_order`` is the leading form and its first correction; both are None where the class does not give them.
    """

    exact: Expr
    approximate: Expr
    factor: Expr
    within: tuple[tuple[Expr, Expr], ...] | None
    next_order: Expr | None


def approximation(exact: Expr, approximate: Expr, regime: Regime) -> Approximation:
    """
    >>> from symroof.symbols import symbol
    >>> B, D, F = map(symbol, "BDF")
    >>> regime = Regime(((B, "<<", D), (B, "<<", F)), frozenset({B, D, F}))
    >>> found = approximation(B*D*F/(B*D + D*F + B*F), B, regime)
    >>> found.factor, found.within, found.next_order
    (B/F + B/D + 1, ((D, 40*B), (F, 40*B)), -B**2/F - B**2/D + B)
    """
    symbols = symbols_of(exact, approximate)
    factor = split_terms(cancelled(approximate / exact), symbols)
    return Approximation(
        exact, approximate, factor, within(factor, regime.least_one), _next_order(exact, approximate, factor, regime)
    )


def laurent(expression: Expr, symbols: tuple[Expr, ...]) -> tuple[tuple[Fraction, Expr], ...] | None:
    """The terms (coefficient, monomial) of a sum of monomials with whole exponents, or None for anything else."""
    above, below = ratio(expression, symbols)
    if len(below) != 1:
        return None
    ((bottom, scale),) = below.items()
    return tuple((c / scale, monomial(plus(top, bottom, -1), symbols)) for top, c in above.items())


def split_terms(expression: Expr, symbols: tuple[Expr, ...]) -> Expr:
    """The expression as a sum of monomials where it is one; otherwise 1 plus what is left."""
    terms = laurent(expression, symbols)
    if terms is not None:
        return Add(*(rational(c) * m for c, m in terms))
    return 1 + cancelled(expression - 1)


def within(factor: Expr, least_one: frozenset[Expr]) -> tuple[tuple[Expr, Expr], ...] | None:
    """Pairs (y, x) such that y >= x for all of them keeps the factor within 5 % of 1.

    Each of k terms of the error may take a k-th part of the 5 %.
    """
    symbols = symbols_of(factor)
    if not symbols:
        return () if abs(fraction(factor) - 1) <= TOLERANCE else None
    terms = laurent(factor - 1, symbols)
    if terms is not None and any(not m.free_symbols for _, m in terms):
        return None  # no size makes a constant small
    if terms is None:
        return _within_one_symbol(factor, symbols, least_one)
    conditions = []
    for c, m in terms:
        above, below = m.as_numer_denom()
        conditions.append((below, rational(abs(c) * len(terms) / TOLERANCE) * above))
    return tuple(sorted(conditions, key=lambda pair: str(pair[0])))


def _within_one_symbol(
    factor: Expr, symbols: tuple[Expr, ...], least_one: frozenset[Expr]
) -> tuple[tuple[Expr, Expr], ...] | None:
    """For a factor 1 + a/(b x + c): the x from which on the second part is at most 5 %."""
    if len(symbols) != 1:
        return None
    above, below = ratio(factor - 1, symbols)
    if set(above) != {(0,)} or set(below) - {(0,), (1,)} or sign(below, symbols, least_one) != 1:
        return None
    bound = (abs(above[(0,)]) / TOLERANCE - below.get((0,), Fraction(0))) / below[(1,)]
    return ((symbols[0], rational(bound)),)


def _next_order(exact: Expr, approximate: Expr, factor: Expr, regime: Regime) -> Expr | None:
    symbols = symbols_of(exact, approximate)
    if factor == 1 or laurent(factor, symbols) is None or laurent(approximate, symbols) is None:
        return None
    try:
        correction = leading(factor - 1, regime)
        if not similar(approximate - exact, approximate * correction, regime).holds:
            return None
    except AlgebraError:
        return None
    return split_terms(approximate, symbols) - split_terms(approximate * correction, symbols)


def reciprocals(expression: Expr) -> tuple[Expr, ...] | None:
    """The monomials m with 1/expression = 1/m + …, where it is such a sum with positive coefficients.

    >>> from symroof.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> reciprocals(2*B*D/(B + D))
    (2*D, 2*B)
    """
    symbols = symbols_of(expression)
    terms = laurent(1 / expression, symbols)
    if terms is None or any(c <= 0 for c, _ in terms):
        return None
    return tuple(rational(1 / c) / m for c, m in terms)


def approach(expression: Expr, variable: Expr) -> tuple[Expr, Expr] | None:
    """(limit, gap) with expression = limit - gap as the variable grows, where the limit is a constant other than 0.

    >>> from symroof.symbols import symbol
    >>> N = symbol("N")
    >>> approach((2*N - 1)/(4*N + 2), N)
    (1/2, 1/(2*N + 1))
    """
    value = growth(expression, variable) if expression.has(variable) else oo
    return None if value in (0, oo) else (value, cancelled(value - expression))
