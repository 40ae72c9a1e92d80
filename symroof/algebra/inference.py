"""The weakest regimes that make an approximation true.

For a/b = n/d in lowest terms, every monomial m of n - d has to be negligible beside the monomials that n and d share.
Each m chooses one of those, m << p; the choices that contradict nothing, that do make the approximation true, and that
imply no other such choice are the answer. It finds regimes of relations between monomials, which is what people
write: B << D, B << F; it does not find D ~ F, or a monomial small beside a sum alone.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product as choices

from sympy import Expr

from symroof.algebra.dominance import along, negligible, similar, vanishes
from symroof.algebra.rational import subtract
from symroof.algebra.regime import Regime, Relation, much_less, quotient
from symroof.errors import AlgebraError

Relations = tuple[Relation, ...]

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
    above, below, cone = along(a / b, regime)
    difference = subtract(above, below)
    if not difference:
        return ((),)
    found: list[Relations] = []
    for measure in (below, above):
        beside = [e for e in measure if e not in difference and measure[e] > 0]
        if not beside:
            continue
        open_terms = [m for m in difference if negligible(m, beside, cone) is None]
        if len(beside) ** len(open_terms) > MOST_CHOICES:
            raise AlgebraError("the regimes that could make it true are too many to try")
        for chosen in choices(beside, repeat=len(open_terms)):
            relations = (much_less(m, p, cone.symbols) for m, p in zip(open_terms, chosen, strict=True))
            kept = _needed(tuple(dict.fromkeys(relations)), regime)
            if (
                kept is not None
                and kept not in found
                and _under(kept, regime, lambda joined: similar(a, b, joined).holds)
            ):
                found.append(kept)
    weakest: list[Relations] = []
    for one in found:
        implied = [other for other in found if _implies(one, other, regime)]
        if all(_implies(other, one, regime) and other not in weakest for other in implied):
            weakest.append(one)
    return tuple(sorted(weakest, key=lambda one: (len(one), str(one)))[:MOST_SHOWN])


def _under(relations: Relations, regime: Regime, question: Callable[[Regime], bool]) -> bool:
    """The answer in the regime with further relations; no where they contradict it, and where it is not decided."""
    try:
        return question(Regime((*regime.relations, *relations), regime.least_one))
    except AlgebraError:
        return False


def _needed(relations: Relations, regime: Regime) -> Relations | None:
    """The relations without those that follow from the others; None where they contradict one another."""
    if any(right == 1 for _, _, right in relations) or not _under(relations, regime, lambda joined: True):
        return None
    kept = relations
    for relation in relations:
        rest = tuple(r for r in kept if r != relation)
        if _implies(rest, (relation,), regime):
            kept = rest
    return tuple(sorted(kept, key=str))


def _implies(given: Relations, wanted: Relations, regime: Regime) -> bool:
    """Whether every scaling of the given relations satisfies the wanted ones."""
    small = [quotient(*relation) for relation in wanted]
    return _under(given, regime, lambda joined: all(vanishes(q, joined, constants=False) for q in small))
