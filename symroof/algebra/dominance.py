"""Which terms matter: dominance beside a sum, decided exactly, with a certificate either way.

A monomial m is negligible beside a sum of monomials p_i with positive coefficients, along every scaling of a regime,
exactly when

    m = prod p_i**nu_i * prod small_j**lambda_j * prod bounded_k**mu_k,   nu, lambda, mu >= 0,
    sum nu = 1,  sum lambda > 0,

because a weighted geometric mean of the p_i is at most their sum. Finding the exponents is one rational linear
program; where it fails, there is a scaling along which m is not negligible (Motzkin's transposition theorem).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod

from sympy import Expr, oo

from symroof.algebra.polyhedron import weights
from symroof.algebra.rational import Exponents, Polynomial, cancelled, plus, polynomial, ratio, shift, subtract
from symroof.algebra.regime import Cone, Regime
from symroof.errors import AlgebraError
from symroof.formula import Frozen

Weights = tuple[tuple[Exponents, Fraction], ...]


class Certificate(Frozen):
    """``monomial`` = product of beside**weight, small**weight and bounded**weight, as exponents over ``symbols``."""

    symbols: tuple[Expr, ...]
    monomial: Exponents
    beside: Weights
    small: Weights
    bounded: Weights


class Similarity(Frozen):
    """Whether a/b = numerator/denominator tends to 1 along every scaling of the regime.

    Certificates show it, one for each monomial of the difference.
    """

    holds: bool
    numerator: Expr
    denominator: Expr
    certificates: tuple[Certificate, ...] = ()


def along(expression: Expr, regime: Regime, *, constants: bool = True) -> tuple[Polynomial, Polynomial, Cone]:
    """Numerator and denominator with equal sizes put in, and the directions of the regime over the symbols of both."""
    expression = regime.merged(expression)
    symbols = regime.over(expression)
    return *ratio(expression, symbols), regime.cone(symbols, constants=constants)


def negligible(monomial: Exponents, beside: Sequence[Exponents], cone: Cone) -> Certificate | None:
    """A certificate that ``monomial`` over the sum of ``beside`` tends to 0, or None where it does not."""
    if not cone.small or not beside:
        return None
    for p in beside:  # the plain case: a ratio that a relation speaks of
        quotient = plus(monomial, p, -1)
        if quotient in cone.small:
            return Certificate(cone.symbols, monomial, ((p, Fraction(1)),), ((quotient, Fraction(1)),), ())
    vectors = [*((*p, 1) for p in beside), *((*v, 0) for v in (*cone.small, *cone.bounded))]
    n, s = len(beside), len(beside) + len(cone.small)
    result = weights((*monomial, 1), vectors, range(n, s))
    if result is None:
        return None
    parts = [(v[:-1], w) for v, w in zip(vectors, result, strict=True)]
    certificates = (tuple((v, w) for v, w in part if w) for part in (parts[:n], parts[n:s], parts[s:]))
    return Certificate(cone.symbols, monomial, *certificates)


def positive(terms: Polynomial) -> list[Exponents]:
    """The monomials that a term is measured beside."""
    return [e for e, c in terms.items() if c > 0]


def leading(expression: Expr, regime: Regime) -> Expr:
    """The leading form of a rational function: numerator and denominator without their negligible terms.

    >>> from symroof.symbols import symbol
    >>> B, D, F = map(symbol, "BDF")
    >>> regime = Regime(((B, "<<", D), (B, "<<", F)), frozenset({B, D, F}))
    >>> leading(B*D*F/(B*D + D*F + B*F), regime)
    B
    """
    above, below, cone = along(expression, regime)
    top, bottom = (polynomial(_significant(terms, cone, regime), cone.symbols) for terms in (above, below))
    return cancelled(top / bottom)


def _significant(terms: Polynomial, cone: Cone, regime: Regime) -> Polynomial:
    """The terms that matter; what is negligible beside a negligible one is negligible beside the rest."""
    significant = dict(terms)
    for m in terms:
        if negligible(m, [p for p in positive(significant) if p != m], cone) is not None:
            del significant[m]
    if len(significant) < len(terms) and not bounded_below(significant, cone.symbols, regime):
        raise AlgebraError(
            "the leading terms cancel in part, so nothing can be neglected beside them",
            expected="leading terms that stay away from 0",
        )
    return significant


def bounded_below(terms: Polynomial, symbols: tuple[Expr, ...], regime: Regime) -> bool:
    """Whether the terms stay above a fixed part of their positive ones on the whole domain, sizes being as large as the
    regime says that they are at least."""
    least = [regime.least.get(s) for s in symbols]
    places = tuple(i for i, low in enumerate(least) if low is not None)
    terms = {e: c * prod((least[i] or 1) ** e[i] for i in places) for e, c in terms.items()}
    rests = (
        subtract(terms, {e: c * part for e, c in terms.items() if c > 0})
        for part in (Fraction(1), Fraction(1, 2), Fraction(1, 16))
    )
    return any(all(c >= 0 for c in shift(rest, places).values()) for rest in rests)


@lru_cache(maxsize=1024)
def similar(a: Expr, b: Expr, regime: Regime) -> Similarity:
    """Whether a/b tends to 1 along every scaling of the regime.

    >>> from symroof.symbols import symbol
    >>> N = symbol("N")
    >>> grows = Regime(((N, "->", oo),), frozenset({N}))
    >>> similar((2*N - 1)/(4*N + 2), N/(2*N), grows).holds
    True
    """
    above, below, cone = along(a / b, regime)
    sides = polynomial(above, cone.symbols), polynomial(below, cone.symbols)
    difference = subtract(above, below)
    if not difference:
        return Similarity(True, *sides)
    measure = next((terms for terms in (below, above) if bounded_below(terms, cone.symbols, regime)), None)
    if measure is None:
        raise AlgebraError(f"{str(regime.merged(a / b))[:200]} has terms that cancel: its limit is not decided here")
    certificates: list[Certificate] = []
    for m in difference:
        certificate = negligible(m, positive(measure), cone)
        if certificate is None:
            return Similarity(False, *sides)
        certificates.append(certificate)
    return Similarity(True, *sides, tuple(certificates))


def vanishes(expression: Expr, regime: Regime, *, constants: bool = True) -> bool:
    """Whether a rational function with positive denominator terms tends to 0 along every scaling."""
    above, below, cone = along(expression, regime, constants=constants)
    return bounded_below(below, cone.symbols, regime) and all(negligible(m, positive(below), cone) for m in above)


@lru_cache(maxsize=1024)
def limit(expression: Expr, regime: Regime) -> Expr | None:
    """The limit along every scaling of the regime: a value, oo, 0, or None where it depends on the path.

    >>> from symroof.symbols import symbol
    >>> D, F = symbol("D"), symbol("F")
    >>> both = Regime(((D, "->", oo), (F, "->", oo)), frozenset({D, F}))
    >>> limit(2*D*F/(D + F + D*F), both)
    2
    """
    form = leading(expression, regime)
    if not form.free_symbols & regime.mentioned:
        return form
    if vanishes(form, regime):
        return form * 0
    return oo if vanishes(1 / form, regime) else None
