"""How far an approximation is off, and what has to be assumed for it to be true.

The size of an approximation is its factor, what makes the factor small, and the next order. For a/b = n/d in lowest terms,
every monomial m of n - d has to be negligible beside the monomials that n and d share. Each m chooses one of those,
m << p; the choices that contradict nothing, that do make the approximation true, and that imply no other such choice are
its weakest regimes. These are relations between monomials, which is what people write: B << D, B << F; D ~ F is not
found, or a monomial small beside a sum alone.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import product as choices

from sympy import Add, Expr, oo

from symroof.algebra.dominance import along, leading, negligible, similar, vanishes
from symroof.algebra.inequality import growth
from symroof.algebra.rational import cancelled, monomial, plus, ratio, sign, subtract, symbols_of
from symroof.algebra.regime import Regime, Relation, much_less, quotient
from symroof.errors import AlgebraError
from symroof.formula import Frozen
from symroof.symbols import fraction, rational

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


Relations = tuple[Relation, ...]

MOST_CHOICES = 256
MOST_SHOWN = 3


@lru_cache(maxsize=256)
def weakest_regimes(a: Expr, b: Expr, regime: Regime) -> tuple[tuple[Relation, ...], ...]:
    """What has to be assumed beside ``regime`` for a/b -> 1: alternatives, each without a relation too many.

    None is needed where the answer is ``((),)``; nothing of this kind helps where it is empty.

    >>> from symroof.symbols import symbol
    >>> B, D, F = map(symbol, "BDF")
    >>> weakest_regimes(B*D*F/(B*D + D*F + B*F), B, Regime((), frozenset({B, D, F})))
    (((B, '<<', D), (B, '<<', F)),)
    >>> weakest_regimes(B*D*F/(B*D + D*F + B*F), B*F/(B + F), Regime((), frozenset({B, D, F})))
    (((B, '<<', D),), ((F, '<<', D),))
    """
    above, below, cone = along(a / b, regime)
    difference = subtract(above, below)
    if not difference:
        return ((),)
    result: list[Relations] = []
    for measure in (below, above):
        beside = [e for e in measure if e not in difference and measure[e] > 0]
        if not beside:
            continue
        open_terms = [m for m in difference if negligible(m, beside, cone) is None]
        if len(beside) ** len(open_terms) > MOST_CHOICES:
            raise AlgebraError("the regimes that could make it true are too many to try")
        for chosen in choices(beside, repeat=len(open_terms)):
            relations = (much_less(m, p, cone.symbols) for m, p in zip(open_terms, chosen, strict=True))
            relations_needed = _needed(tuple(dict.fromkeys(relations)), regime)
            if (
                relations_needed is not None
                and relations_needed not in result
                and _under(relations_needed, regime, lambda joined: similar(a, b, joined).holds)
            ):
                result.append(relations_needed)
    weakest: list[Relations] = []
    for one in result:
        implied = [other for other in result if _implies(one, other, regime)]
        if all(_implies(other, one, regime) and other not in weakest for other in implied):
            weakest.append(one)
    return tuple(sorted(weakest, key=_length)[:MOST_SHOWN])


def _length(relations: Relations) -> tuple[int, int, str]:
    """How many relations there are, and how many sizes they mention."""
    return (
        len(relations),
        len(symbols_of(*(side for left, _, right in relations for side in (left, right)))),
        str(relations),
    )


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
    if _under((), grown, lambda alone: any(vanishes(q, alone) for q in reverse)) or not _under(
        relations, regime, lambda joined: True
    ):
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
