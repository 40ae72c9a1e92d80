"""Monotony and suprema of rational functions in one symbol."""

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


def supremum(expression: Expr, variable: Expr, least_one: frozenset[Expr]) -> Expr | None:
    """The limit as the variable grows, where the function rises to it and never gets there; None elsewhere.

    >>> from symroof.symbols import symbol
    >>> B, D, F = map(symbol, "BDF")
    >>> supremum(B*D*F/(B*D + D*F + B*F), B, frozenset({B, D, F}))
    D*F/(D + F)
    """
    if monotony(expression, variable, least_one) != 1:
        return None
    symbols = symbols_of(expression)
    above, below = (coefficients(terms, symbols.index(variable)) for terms in ratio(expression, symbols))
    if len(above) != len(below):
        return oo if len(above) > len(below) else expression * 0
    return cancelled(polynomial(above[-1], symbols) / polynomial(below[-1], symbols))


def highest(expression: Expr, least_one: frozenset[Expr]) -> Expr | None:
    """The supremum over all symbols of a function that rises in each of them, one after the other; else None.

    >>> from symroof.symbols import symbol
    >>> D, F = symbol("D"), symbol("F")
    >>> highest(2*D*F/(D + F + D*F), frozenset({D, F}))
    2
    """
    while expression.free_symbols:
        variable = symbols_of(expression)[0]
        raised = supremum(expression, variable, least_one)
        if raised is None or raised == oo:
            return None
        expression = raised
    return expression


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
