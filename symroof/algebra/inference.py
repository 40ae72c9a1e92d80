"""The weakest regimes that make an approximation true.

For a/b = n/d in lowest terms, every monomial m of n - d has to be negligible beside the monomials that n and d share.
Each m chooses one of those, m << p; the choices that contradict nothing, that do make the approximation true, and that
imply no other such choice are the answer. It finds regimes of relations between monomials, which is what people
write: B << D, B << F; it does not find D ~ F, or a monomial small beside a sum alone.
"""

from __future__ import annotations

from itertools import product as choices

from sympy import Expr, oo

from symroof.algebra.dominance import merged, negligible, similar
from symroof.algebra.rational import Exponents, monomial, ratio, subtract, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.errors import AlgebraError

MOST_CHOICES = 256
MOST_SHOWN = 3


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
    quotient = merged(a / b, regime)
    symbols = symbols_of(quotient, *(s for s in regime.symbols if s not in regime.substitution))
    above, below = ratio(quotient, symbols)
    difference = subtract(above, below)
    if not difference:
        return ((),)
    found: list[tuple[Relation, ...]] = []
    for measure in (below, above):
        beside = [e for e in measure if e not in difference and measure[e] > 0]
        if not beside:
            continue
        cone = regime.cone(symbols)
        open_terms = [m for m in difference if negligible(m, beside, cone) is None]
        if len(beside) ** len(open_terms) > MOST_CHOICES:
            raise AlgebraError("the regimes that could make it true are too many to try")
        for chosen in choices(beside, repeat=len(open_terms)):
            relations = dict.fromkeys(_relation(m, p, symbols) for m, p in zip(open_terms, chosen, strict=True))
            kept = _needed(tuple(relations), regime)
            if kept is not None and kept not in found and _true(a, b, kept, regime):
                found.append(kept)
    weakest = [
        one
        for one in found
        if not any(
            other != one and _implies(one, other, regime) and not _implies(other, one, regime) for other in found
        )
    ]
    return tuple(sorted(_distinct(weakest, regime), key=lambda one: (len(one), str(one)))[:MOST_SHOWN])


def _distinct(regimes: list[tuple[Relation, ...]], regime: Regime) -> list[tuple[Relation, ...]]:
    """Of regimes that imply one another, the first."""
    kept: list[tuple[Relation, ...]] = []
    for one in regimes:
        if not any(_implies(one, other, regime) and _implies(other, one, regime) for other in kept):
            kept.append(one)
    return kept


def _relation(small: Exponents, large: Exponents, symbols: tuple[Expr, ...]) -> Relation:
    """small << large, without what both share."""
    shared = tuple(map(min, small, large))
    left = monomial((a - s for a, s in zip(small, shared, strict=True)), symbols)
    right = monomial((b - s for b, s in zip(large, shared, strict=True)), symbols)
    return (right, "->", oo) if left == 1 else (left, "<<", right)


def _joined(relations: tuple[Relation, ...], regime: Regime) -> Regime | None:
    """The regime with further relations, or None where they contradict one another."""
    try:
        return Regime((*regime.relations, *relations), regime.least_one)
    except AlgebraError:
        return None


def _needed(relations: tuple[Relation, ...], regime: Regime) -> tuple[Relation, ...] | None:
    """The relations without those that follow from the others; None where they contradict one another."""
    if any(right == 1 for _, relation, right in relations if relation == "<<") or _joined(relations, regime) is None:
        return None
    kept = list(relations)
    for relation in relations:
        rest = tuple(r for r in kept if r != relation)
        if _implies(rest, (relation,), regime):
            kept = list(rest)
    return tuple(sorted(kept, key=str))


def _implies(given: tuple[Relation, ...], wanted: tuple[Relation, ...], regime: Regime) -> bool:
    """Whether every scaling of the given relations satisfies the wanted ones."""
    joined = _joined(given, regime)
    if joined is None:
        return False
    for left, relation, right in wanted:
        towards_zero = joined.apply(1 / left if relation == "->" else left / right)
        symbols = symbols_of(towards_zero, *(s for s in joined.symbols if s not in joined.substitution))
        above, below = ratio(towards_zero, symbols)
        (top,), (bottom,) = above, below
        if negligible(top, [bottom], joined.cone(symbols, constants=False)) is None:
            return False
    return True


def _true(a: Expr, b: Expr, relations: tuple[Relation, ...], regime: Regime) -> bool:
    joined = _joined(relations, regime)
    try:
        return joined is not None and similar(a, b, joined).holds
    except AlgebraError:
        return False
