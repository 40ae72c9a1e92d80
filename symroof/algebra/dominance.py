"""Which terms matter: dominance beside a sum, decided exactly, with a certificate either way.

A monomial m is negligible beside a sum of monomials p_i with positive coefficients, along every scaling of a regime,
exactly when

    m = prod p_i**nu_i * prod small_j**lambda_j * prod bounded_k**mu_k,   nu, lambda, mu >= 0,
    sum nu = 1,  sum lambda > 0,

because a weighted geometric mean of the p_i is at most their sum. Finding the exponents is one rational linear
program; where it fails, duality gives a scaling along which m is not negligible (Motzkin's transposition theorem).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from sympy import Expr, oo

from symroof.algebra.rational import Exponents, Polynomial, cancelled, polynomial, ratio, shift, subtract, symbols_of
from symroof.algebra.regime import Cone, Regime, scaling
from symroof.algebra.simplex import maximise
from symroof.errors import AlgebraError

Weights = tuple[tuple[Exponents, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Certificate:
    """``monomial`` = product of beside**weight, small**weight and bounded**weight, as exponents over ``symbols``."""

    symbols: tuple[Expr, ...]
    monomial: Exponents
    beside: Weights
    small: Weights
    bounded: Weights


@dataclass(frozen=True, slots=True)
class Leading:
    """The terms that matter: ``form`` is the leading form, ``certificates`` show that the rest is negligible."""

    form: Expr
    certificates: tuple[Certificate, ...]


@dataclass(frozen=True, slots=True)
class Similarity:
    """Whether a/b = numerator/denominator tends to 1 along every scaling of the regime.

    Certificates show it, one for each monomial of the difference; a scaling refutes it.
    """

    holds: bool
    numerator: Expr
    denominator: Expr
    certificates: tuple[Certificate, ...] = ()
    refutation: dict[Expr, Fraction] | None = None


def negligible(monomial: Exponents, beside: Sequence[Exponents], cone: Cone) -> Certificate | None:
    """A certificate that ``monomial`` over the sum of ``beside`` tends to 0, or None where it does not."""
    if not cone.small or not beside:
        return None
    small = {d.exponents for d in cone.small}
    for p in beside:  # the plain case: a ratio that a relation speaks of
        quotient = tuple(a - b for a, b in zip(monomial, p, strict=True))
        if quotient in small:
            return Certificate(cone.symbols, monomial, ((p, Fraction(1)),), ((quotient, Fraction(1)),), ())
    vectors = [*beside, *(d.exponents for d in cone.small), *(d.exponents for d in cone.bounded)]
    n, s = len(beside), len(cone.small)
    rows = [[v[i] for v in vectors] for i in range(len(cone.symbols))]
    rows.append([int(j < n) for j in range(len(vectors))])
    found = maximise([int(n <= j < n + s) for j in range(len(vectors))], rows, [*monomial, 1])
    if found is None or not any(found[n : n + s]):
        return None
    weights = [(v, w) for v, w in zip(vectors, found, strict=True)]
    kept = [tuple((v, w) for v, w in part if w) for part in (weights[:n], weights[n : n + s], weights[n + s :])]
    return Certificate(cone.symbols, monomial, *kept)


def leading(expression: Expr, regime: Regime) -> Leading:
    """The leading form of a rational function: numerator and denominator without their negligible terms.

    >>> from symroof.symbols import symbol
    >>> B, D, F = map(symbol, "BDF")
    >>> regime = Regime(((B, "<<", D), (B, "<<", F)), frozenset({B, D, F}))
    >>> leading(B*D*F/(B*D + D*F + B*F), regime).form
    B
    """
    expression = merged(expression, regime)
    symbols = symbols_of(expression, *(s for s in regime.symbols if s not in regime.substitution))
    cone = regime.cone(symbols)
    above, below = ratio(expression, symbols)
    parts, certificates = [], []
    for terms in (above, below):
        kept, found = _kept(terms, cone, regime)
        parts.append(kept)
        certificates += found
    return Leading(cancelled(polynomial(parts[0], symbols) / polynomial(parts[1], symbols)), tuple(certificates))


def merged(expression: Expr, regime: Regime) -> Expr:
    """``expression`` with equal symbols put in; and x for y where x ~ y, which is sound for positive terms alone."""
    expression = regime.apply(expression)
    near: dict[Expr, Expr] = {}
    for left, relation, right in regime.relations:
        if relation != "~":
            continue
        left, right = regime.apply(left).subs(near), regime.apply(right).subs(near)
        if not left.is_Symbol:
            left, right = right, left
        if left.is_Symbol and not right.has(left):
            near = {key: value.subs(left, right) for key, value in near.items()} | {left: right}
    if not any(expression.has(name) for name in near):
        return expression
    symbols = symbols_of(expression)
    if any(c < 0 for terms in ratio(expression, symbols) for c in terms.values()):
        shown = ", ".join(f"{left} ~ {right}" for left, right in near.items())
        raise AlgebraError(f"{shown} does not decide a difference", expected="equal sizes, as in D = F")
    return expression.subs(near)


def _kept(terms: Polynomial, cone: Cone, regime: Regime) -> tuple[Polynomial, list[Certificate]]:
    monomials = list(terms)
    kept, certificates = dict(terms), []
    for m in monomials:
        others = [p for p in kept if p != m and terms[p] > 0]
        certificate = negligible(m, others, cone)
        if certificate is not None:
            del kept[m]
            certificates.append(certificate)
    if certificates and not bounded_below(kept, cone.symbols, regime):
        raise AlgebraError(
            "the leading terms cancel in part, so nothing can be neglected beside them",
            expected="leading terms that stay away from 0",
        )
    # A dropped term may have been measured beside another dropped one; measure it beside what is kept.
    final = [negligible(c.monomial, [p for p in kept if kept[p] > 0], cone) for c in certificates]
    if any(c is None for c in final):
        raise AlgebraError("a dropped term is not negligible beside the kept ones")
    return kept, [c for c in final if c is not None]


def bounded_below(terms: Polynomial, symbols: tuple[Expr, ...], regime: Regime) -> bool:
    """Whether the terms stay above a fixed part of their positive ones on the whole domain."""
    positive = {e: c for e, c in terms.items() if c > 0}
    if len(positive) == len(terms):
        return True
    places = tuple(i for i, s in enumerate(symbols) if s in regime.least_one)
    for part in (Fraction(1, 2), Fraction(1, 16)):
        rest = subtract(terms, {e: c * part for e, c in positive.items()})
        if all(c >= 0 for c in shift(rest, places).values()):
            return True
    return False


@lru_cache(maxsize=1024)
def similar(a: Expr, b: Expr, regime: Regime) -> Similarity:
    """Whether a/b tends to 1 along every scaling of the regime.

    >>> from symroof.symbols import symbol
    >>> N = symbol("N")
    >>> grows = Regime(((N, "->", oo),), frozenset({N}))
    >>> similar((2*N - 1)/(4*N + 2), N/(2*N), grows).holds
    True
    """
    quotient = merged(a / b, regime)
    symbols = symbols_of(quotient, *(s for s in regime.symbols if s not in regime.substitution))
    cone = regime.cone(symbols)
    above, below = ratio(quotient, symbols)
    sides = polynomial(above, symbols), polynomial(below, symbols)
    difference = subtract(above, below)
    if not difference:
        return Similarity(True, *sides)
    measure = next((g for g in (below, above) if bounded_below(g, cone.symbols, regime)), None)
    if measure is None:
        raise AlgebraError(f"{str(quotient)[:200]} has terms that cancel: its limit is not decided here")
    beside = [p for p in measure if measure[p] > 0]
    certificates = []
    for m in difference:
        certificate = negligible(m, beside, cone)
        if certificate is None:
            return Similarity(False, *sides, refutation=scaling(cone, m, beside))
        certificates.append(certificate)
    return Similarity(True, *sides, tuple(certificates))


def vanishes(expression: Expr, regime: Regime) -> bool:
    """Whether a rational function with positive denominator terms tends to 0 along every scaling."""
    quotient = merged(expression, regime)
    symbols = symbols_of(quotient, *(s for s in regime.symbols if s not in regime.substitution))
    cone = regime.cone(symbols)
    above, below = ratio(quotient, symbols)
    if not bounded_below(below, cone.symbols, regime):
        return False
    beside = [p for p in below if below[p] > 0]
    return all(negligible(m, beside, cone) is not None for m in above)


@lru_cache(maxsize=1024)
def limit(expression: Expr, regime: Regime) -> Expr | None:
    """The limit along every scaling of the regime: a value, oo, 0, or None where it depends on the path.

    >>> from symroof.symbols import symbol
    >>> D, F = symbol("D"), symbol("F")
    >>> both = Regime(((D, "->", oo), (F, "->", oo)), frozenset({D, F}))
    >>> limit(2*D*F/(D + F + D*F), both)
    2
    """
    form = leading(expression, regime).form
    if not form.free_symbols & regime.mentioned:
        return form
    if vanishes(form, regime):
        return form * 0
    return oo if vanishes(1 / form, regime) else None
