"""Monotony and growth of rational functions in one symbol."""

from __future__ import annotations

from sympy import Expr, diff, oo

from symroof.algebra.rational import (
    Polynomial,
    cancelled,
    coefficients,
    multiply,
    polynomial,
    ratio,
    sign,
    sign_of,
    subtract,
    symbols_of,
    weak_sign,
)


def monotony(expression: Expr, variable: Expr, least_one: frozenset[Expr]) -> int | None:
    """1 where the function rises in the variable on the whole domain, -1 where it falls, 0 constant, else None.

    >>> from symroof.symbols import symbol
    >>> B, D, F = map(symbol, "BDF")
    >>> monotony(B*D*F/(B*D + D*F + B*F), B, frozenset({B, D, F}))
    1
    """
    symbols = symbols_of(expression, variable)
    above, below = ratio(expression, symbols)
    place = symbols.index(variable)
    rise = subtract(multiply(_derived(above, place), below), multiply(above, _derived(below, place)))  # times below**2
    if sign(below, symbols, least_one) and (found := sign(rise, symbols, least_one)) is not None:
        return found
    slope = cancelled(diff(expression, variable))
    found = sign_of(slope, least_one)
    if found is not None:
        return found
    symbols = symbols_of(slope)
    signs = [weak_sign(terms, symbols, least_one) for terms in ratio(slope, symbols)]
    return None if signs[0] is None or not signs[1] else signs[0] * signs[1]


def _derived(terms: Polynomial, place: int) -> Polynomial:
    return {(*e[:place], e[place] - 1, *e[place + 1 :]): c * e[place] for e, c in terms.items() if e[place]}


def growth(expression: Expr, variable: Expr) -> Expr:
    """The limit of a rational function as one symbol grows and the others stay: a value, 0 or oo (for positive leading terms).

    >>> from symroof.symbols import symbol
    >>> B, D, F = map(symbol, "BDF")
    >>> growth(B*D*F/(B*D + D*F + B*F), B)
    D*F/(D + F)
    """
    symbols = symbols_of(expression, variable)
    above, below = (coefficients(terms, symbols.index(variable)) for terms in ratio(expression, symbols))
    if len(above) != len(below):
        return oo if len(above) > len(below) else expression * 0
    return cancelled(polynomial(above[-1], symbols) / polynomial(below[-1], symbols))
