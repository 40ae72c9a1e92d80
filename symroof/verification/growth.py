"""Approximations in a regime, found by the algebra and multiplied out again by the second engine."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from sympy import Expr

from symroof.algebra.dominance import limit, similar
from symroof.algebra.rational import cancelled, polynomial, ratio, sign, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.derivation.draft import dominated, written
from symroof.derivation.layout import Layout
from symroof.errors import AlgebraError, CheckError
from symroof.formula import Compare
from symroof.proof.check import check
from symroof.proof.ledger import Ledger
from symroof.proof.step import Check, Reason, Step
from symroof.symbols import expression
from symroof.verification.budget import COEFFICIENTS, spend

# Where a symbol grows without bound, small sizes of it do not matter.
FAR = 64
IDENTITY = Check("proved", "exact identity")


def relations_of(relations: Iterable[Compare]) -> tuple[Relation, ...]:
    """Relations between formulas as relations between values."""
    return tuple((expression(r.left), r.relation, expression(r.right)) for r in relations)


def regime_of(relations: Iterable[Compare], least_one: frozenset[Expr]) -> Regime:
    """The regime of expanded relations.

    A symbol that grows without bound is at least 1 from some point on, which is all that a limit asks of it.
    """
    return _regime(relations_of(relations), least_one)


@lru_cache(maxsize=256)
def _regime(relations: tuple[Relation, ...], least_one: frozenset[Expr]) -> Regime:
    grown = {left for left, relation, _ in relations if relation == "->" and left.is_Symbol}
    return Regime(relations, least_one | grown)


def joined(regime: Regime, relations: Iterable[Relation]) -> Regime:
    """The regime with further relations; raises AlgebraError where they contradict it."""
    return Regime((*regime.relations, *relations), regime.least_one)


def eventually_positive(value: Expr, regime: Regime, layout: Layout) -> bool:
    """Whether a rational function is above 0 along every scaling of the regime from some point on."""
    symbols = symbols_of(value)
    sides = [_eventual_sign(polynomial(terms, symbols), regime, layout) for terms in ratio(value, symbols)]
    return sides[0] * sides[1] == 1


def _eventual_sign(value: Expr, regime: Regime, layout: Layout) -> int:
    """1 or -1 where the terms of that sign decide along every scaling; 0 where that is not known."""
    symbols = symbols_of(value)
    terms, _ = ratio(value, symbols)
    known = sign(terms, symbols, regime.least_one)
    if known in (1, -1):
        return known
    for way in (1, -1):
        deciding = {e: c for e, c in terms.items() if c * way > 0}
        try:
            if deciding and near(value, polynomial(deciding, symbols), regime, layout) is not None:
                return way
        except (AlgebraError, CheckError):
            continue
    return 0


def near(a: Expr, b: Expr, regime: Regime, layout: Layout) -> Check | None:
    """What shows that a/b tends to 1 in the regime, or None where it does not.

    Raises AlgebraError outside of the decided class, and CheckError where the second engine does not agree.
    """
    if not (a.is_rational_function() and b.is_rational_function()):
        raise AlgebraError("approximations are decided between rational functions")
    spend(COEFFICIENTS)
    try:
        similarity = similar(a, b, regime)
    except AlgebraError:
        large = {left: FAR * left for left, relation, _ in regime.relations if relation == "->" and left.is_Symbol}
        if not large:
            raise
        a, b = a.subs(large), b.subs(large)  # from some point on; a constant factor is nothing to a regime
        similarity = similar(a, b, regime)
    if not similarity.holds:
        return None
    write = layout.write
    assumed, evidence = written(regime.relations, write), dominated(similarity, write)
    step = Step("claim", Reason.LEADING, write(a), "~", write(b), assumed, evidence)
    shown = check(step, Ledger(frozenset(s.name for s in regime.least_one)))
    return shown if similarity.certificates else IDENTITY


def number_near(a: Expr, b: Expr, regime: Regime, layout: Layout) -> tuple[Expr, Check] | None:
    """The positive number that a/b tends to in the regime, and what shows it; None where it tends to none."""
    if not (a.is_rational_function() and b.is_rational_function()):
        return None
    tends = quotient_limit(a, b, regime)
    if tends is None or not tends.is_Rational or tends <= 0:
        return None
    shown = near(a, b * tends, regime, layout)
    return None if shown is None else (tends, shown)


def quotient_limit(a: Expr, b: Expr, regime: Regime) -> Expr | None:
    """What a/b tends to in the regime; without one, what it is."""
    return limit(a / b, regime) if regime.scaling else cancelled(a / b)
