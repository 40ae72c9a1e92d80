"""Which terms matter, decided exactly; how far an approximation by them is off, and what makes it true.

A monomial m is negligible beside a sum of monomials p_i with positive coefficients, along every scaling of a regime,
exactly when

    m = prod p_i**nu_i * prod small_j**lambda_j * prod bounded_k**mu_k,   nu, lambda, mu >= 0,
    sum nu = 1,  sum lambda > 0,

because a weighted geometric mean of the p_i is at most their sum. Finding the exponents is one rational linear
program; where it fails, there is a scaling along which m is not negligible (Motzkin's transposition theorem).

The size of an approximation is its factor, what makes the factor small, and the next order. For a/b = n/d in lowest terms
every monomial m of n - d has to be negligible beside those that n and d share. Each m chooses one of these, m << p; the
choices that contradict nothing, make the approximation true, and imply no other such choice are its weakest regimes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product as choices
from math import prod

from sympy import Add, Expr, oo

from symroof.algebra.polyhedron import weights
from symroof.algebra.rational import (
    Exponents,
    Polynomial,
    add,
    cancel,
    monomial,
    polynomial,
    ratio,
    shift,
    sign,
    subtract,
    symbols_of,
)
from symroof.algebra.regime import Cone, Regime, Relation, much_less, quotient
from symroof.algebra.solvers import growth
from symroof.errors import AlgebraError
from symroof.formula import Frozen
from symroof.symbols import fraction, rational

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


def sides_and_cone(expression: Expr, regime: Regime, *, constants: bool = True) -> tuple[Polynomial, Polynomial, Cone]:
    """Numerator and denominator with equal sizes put in, and the directions of the regime over the symbols of both."""
    expression = regime.merged(expression)
    symbols = regime.over(expression)
    return *ratio(expression, symbols), regime.cone(symbols, constants=constants)


def smallness(monomial: Exponents, beside: Sequence[Exponents], cone: Cone) -> Certificate | None:
    """A certificate that ``monomial`` over the sum of ``beside`` tends to 0, or None where it does not."""
    if not cone.small or not beside:
        return None
    for p in beside:  # the plain case: a ratio that a relation speaks of
        quotient = add(monomial, p, -1)
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


def positives(terms: Polynomial) -> list[Exponents]:
    """The monomials that a term is measured beside."""
    return [e for e, c in terms.items() if c > 0]


def leading_form(expression: Expr, regime: Regime) -> Expr:
    """The leading form of a rational function: numerator and denominator without their negligible terms.

    >>> from symroof.symbols import symbol
    >>> B, D, F = map(symbol, "BDF")
    >>> regime = Regime(((B, "<<", D), (B, "<<", F)), frozenset({B, D, F}))
    >>> leading_form(B*D*F/(B*D + D*F + B*F), regime)
    B
    """
    above, below, cone = sides_and_cone(expression, regime)
    top, bottom = (polynomial(_significant(terms, cone, regime), cone.symbols) for terms in (above, below))
    return cancel(top / bottom)


def _significant(terms: Polynomial, cone: Cone, regime: Regime) -> Polynomial:
    """The terms that matter; what is negligible beside a negligible one is negligible beside the rest."""
    significant = dict(terms)
    for m in terms:
        if smallness(m, [p for p in positives(significant) if p != m], cone) is not None:
            del significant[m]
    if len(significant) < len(terms) and not stays_above(significant, cone.symbols, regime):
        raise AlgebraError(
            "the leading terms cancel in part, so nothing can be neglected beside them",
            expected="leading terms that stay away from 0",
        )
    return significant


def stays_above(terms: Polynomial, symbols: tuple[Expr, ...], regime: Regime) -> bool:
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
def similarity_of(a: Expr, b: Expr, regime: Regime) -> Similarity:
    """Whether a/b tends to 1 along every scaling of the regime.

    >>> from symroof.symbols import symbol
    >>> N = symbol("N")
    >>> grows = Regime(((N, "->", oo),), frozenset({N}))
    >>> similarity_of((2*N - 1)/(4*N + 2), N/(2*N), grows).holds
    True
    """
    above, below, cone = sides_and_cone(a / b, regime)
    sides = polynomial(above, cone.symbols), polynomial(below, cone.symbols)
    difference = subtract(above, below)
    if not difference:
        return Similarity(True, *sides)
    measure = next((terms for terms in (below, above) if stays_above(terms, cone.symbols, regime)), None)
    if measure is None:
        raise AlgebraError(f"{str(regime.merged(a / b))[:200]} has terms that cancel: its limit is not decided here")
    certificates: list[Certificate] = []
    for m in difference:
        certificate = smallness(m, positives(measure), cone)
        if certificate is None:
            return Similarity(False, *sides)
        certificates.append(certificate)
    return Similarity(True, *sides, tuple(certificates))


def vanishes(expression: Expr, regime: Regime, *, constants: bool = True) -> bool:
    """Whether a rational function with positive denominator terms tends to 0 along every scaling."""
    above, below, cone = sides_and_cone(expression, regime, constants=constants)
    return stays_above(below, cone.symbols, regime) and all(smallness(m, positives(below), cone) for m in above)


@lru_cache(maxsize=1024)
def limit(expression: Expr, regime: Regime) -> Expr | None:
    """The limit along every scaling of the regime: a value, oo, 0, or None where it depends on the path.

    >>> from symroof.symbols import symbol
    >>> D, F = symbol("D"), symbol("F")
    >>> both = Regime(((D, "->", oo), (F, "->", oo)), frozenset({D, F}))
    >>> limit(2*D*F/(D + F + D*F), both)
    2
    """
    form = leading_form(expression, regime)
    if not form.free_symbols & regime.mentioned:
        return form
    if vanishes(form, regime):
        return form * 0
    return oo if vanishes(1 / form, regime) else None


TOLERANCE = Fraction(1, 20)


class Approximation(Frozen):
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
    factor = split_terms(cancel(approximate / exact), symbols)
    return Approximation(
        exact, approximate, factor, margin(factor, regime.least_one), _next_order(exact, approximate, factor, regime)
    )


def laurent_terms(expression: Expr, symbols: tuple[Expr, ...]) -> tuple[tuple[Fraction, Expr], ...] | None:
    """The terms (coefficient, monomial) of a sum of monomials with whole exponents, or None for anything else."""
    above, below = ratio(expression, symbols)
    if len(below) != 1:
        return None
    ((bottom, scale),) = below.items()
    return tuple((c / scale, monomial(add(top, bottom, -1), symbols)) for top, c in above.items())


def split_terms(expression: Expr, symbols: tuple[Expr, ...]) -> Expr:
    """The expression as a sum of monomials where it is one; otherwise 1 plus what is left."""
    terms = laurent_terms(expression, symbols)
    if terms is not None:
        return Add(*(rational(c) * m for c, m in terms))
    return 1 + cancel(expression - 1)


def margin(factor: Expr, least_one: frozenset[Expr]) -> tuple[tuple[Expr, Expr], ...] | None:
    """Pairs (y, x) such that y >= x for all of them keeps the factor within 5 % of 1.

    Each of k terms of the error may take a k-th part of the 5 %.
    """
    symbols = symbols_of(factor)
    if not symbols:
        return () if abs(fraction(factor) - 1) <= TOLERANCE else None
    terms = laurent_terms(factor - 1, symbols)
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
    if factor == 1 or laurent_terms(factor, symbols) is None or laurent_terms(approximate, symbols) is None:
        return None
    try:
        correction = leading_form(factor - 1, regime)
        if not similarity_of(approximate - exact, approximate * correction, regime).holds:
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
    terms = laurent_terms(1 / expression, symbols)
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
    return None if value in (0, oo) else (value, cancel(value - expression))


Relations = tuple[Relation, ...]

MOST_CHOICES = 256
MOST_SHOWN = 3


@lru_cache(maxsize=256)
def weakest_regimes(a: Expr, b: Expr, regime: Regime) -> tuple[tuple[Relation, ...], ...]:
    """What has to be assumed beside ``regime`` for a/b -> 1: alternatives, each without a relation too many. D ~ F is not
    found, or a monomial small beside a sum alone.

    None is needed where the answer is ``((),)``; nothing of this kind helps where it is empty.

    >>> from symroof.symbols import symbol
    >>> B, D, F = map(symbol, "BDF")
    >>> weakest_regimes(B*D*F/(B*D + D*F + B*F), B, Regime((), frozenset({B, D, F})))
    (((B, '<<', D), (B, '<<', F)),)
    >>> weakest_regimes(B*D*F/(B*D + D*F + B*F), B*F/(B + F), Regime((), frozenset({B, D, F})))
    (((B, '<<', D),), ((F, '<<', D),))
    """
    above, below, cone = sides_and_cone(a / b, regime)
    difference = subtract(above, below)
    if not difference:
        return ((),)
    result: list[Relations] = []
    for measure in (below, above):
        beside = [e for e in measure if e not in difference and measure[e] > 0]
        if not beside:
            continue
        open_terms = [m for m in difference if smallness(m, beside, cone) is None]
        if len(beside) ** len(open_terms) > MOST_CHOICES:
            raise AlgebraError("the regimes that could make it true are too many to try")
        for chosen in choices(beside, repeat=len(open_terms)):
            relations = (much_less(m, p, cone.symbols) for m, p in zip(open_terms, chosen, strict=True))
            needed = _needed(tuple(dict.fromkeys(relations)), regime)
            if needed is None or needed in result:
                continue
            if _under(needed, regime, lambda joined: similarity_of(a, b, joined).holds):
                result.append(needed)
    return tuple(sorted(_weakest(result, regime), key=_length)[:MOST_SHOWN])


def _weakest(alternatives: list[Relations], regime: Regime) -> list[Relations]:
    """The alternatives that imply no other; of those that imply one another the first."""
    weakest: list[Relations] = []
    for relations in alternatives:
        implied = [other for other in alternatives if _implies(relations, other, regime)]
        if all(_implies(other, relations, regime) and other not in weakest for other in implied):
            weakest.append(relations)
    return weakest


def _length(relations: Relations) -> tuple[int, int, str]:
    """How many relations there are, and how many sizes they mention."""
    sides = (side for left, _, right in relations for side in (left, right))
    return len(relations), len(symbols_of(*sides)), str(relations)


def _under(relations: Relations, regime: Regime, question: Callable[[Regime], bool]) -> bool:
    """The answer in the regime with further relations; no where they contradict it, and where it is not decided."""
    try:
        return question(Regime((*regime.relations, *relations), regime.least_one))
    except AlgebraError:
        return False


def _needed(relations: Relations, regime: Regime) -> Relations | None:
    """The relations without those that follow from the others; None where they contradict one another, or what grows."""
    grown = Regime(tuple(r for r in regime.relations if r[1] == "->"), regime.least_one)
    reverse = [1 / quotient(*relation) for relation in relations if grown.relations]
    against_growth = _under((), grown, lambda alone: any(vanishes(q, alone) for q in reverse))
    if against_growth or not _under(relations, regime, lambda joined: True):
        return None
    needed = relations
    for relation in relations:
        rest = tuple(r for r in needed if r != relation)
        if _implies(rest, (relation,), regime):
            needed = rest
    return tuple(sorted(needed, key=str))


def _implies(given: Relations, conclusion: Relations, regime: Regime) -> bool:
    """Whether every scaling of the given relations satisfies the wanted ones."""
    small = [quotient(*relation) for relation in conclusion]
    return _under(given, regime, lambda joined: all(vanishes(q, joined, constants=False) for q in small))
