"""The regime of a claim, and that a quotient tends to 1 in it: found by the algebra, and proved by the second engine."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from sympy import Expr

from symroof.algebra.dominance import leading_form, limit, similarity_of
from symroof.algebra.rational import cancel
from symroof.algebra.regime import Regime, Relation
from symroof.derivation.drafts import comparisons, dominance
from symroof.derivation.solving import PLAIN, is_positive
from symroof.errors import AlgebraError
from symroof.formula import Compare, Sizes, several_of
from symroof.proof.check import check
from symroof.proof.step import Check, Ledger, Reason, RefutedError, Step
from symroof.symbols import expression, symbol
from symroof.verification.budget import COEFFICIENTS, attempted, spend

IDENTITY = Check("proved", "exact identity")
# Where a symbol grows without bound, small sizes of it do not matter.
FAR = 64


def regime_of(relations: Iterable[Compare], least_one: frozenset[str]) -> Regime:
    """The regime of expanded relations.

    A symbol that grows without bound is at least 1 from some point on, which is all that a limit asks of it.
    """
    between = tuple((expression(r.left), r.relation, expression(r.right)) for r in relations)
    return _regime(between, frozenset(map(symbol, least_one)))


@lru_cache(maxsize=256)
def _regime(relations: tuple[Relation, ...], least_one: frozenset[Expr]) -> Regime:
    grown = {left for left, relation, _ in relations if relation == "->" and left.is_Symbol}
    return Regime(relations, least_one | grown)


# The regime with a symbol constant.
held = lru_cache(maxsize=256)(Regime.holding)


@lru_cache(maxsize=256)
def joined(regime: Regime, relations: tuple[Relation, ...]) -> Regime:
    """The regime with further relations; raises AlgebraError where they contradict it."""
    return Regime((*regime.relations, *relations), regime.least_one)


def alike(x: Expr, regime: Regime, *signs: str) -> set[Expr]:
    """The symbols that the regime says are like x."""
    ties = [{left, right} for left, relation, right in regime.relations if relation in signs]
    return {y for ends in ties if x in ends for y in ends - {x} if y.is_Symbol}


def eventually_positive(value: Expr, regime: Regime) -> bool:
    """Whether a rational function is above 0 along every scaling of the regime from some point on: its leading form is."""
    if is_positive(value, regime.least_one):
        return True
    with attempted():
        return is_positive(leading_of(value, regime)[0], regime.least_one)
    return False


@lru_cache(maxsize=1024)
def leading_of(value: Expr, regime: Regime) -> tuple[Expr, Check]:
    """The leading form of a rational function in the regime, and what shows it. Raises AlgebraError where it has none."""
    form = leading_form(value, regime)
    shown = near(value, form, regime)
    if shown is None:
        raise RefutedError("a leading form was refuted")
    return form, shown


def near(a: Expr, b: Expr, regime: Regime) -> Check | None:
    """What shows that a/b tends to 1 in the regime, or None where it does not.

    Raises AlgebraError outside of the decided class, and CheckError where the second engine does not agree.
    """
    if not (a.is_rational_function() and b.is_rational_function()):
        raise AlgebraError("approximations are decided between rational functions")
    spend(COEFFICIENTS)
    return _near(a, b, regime)


@lru_cache(maxsize=1024)
def _near(a: Expr, b: Expr, regime: Regime) -> Check | None:
    try:
        similarity = similarity_of(a, b, regime)
    except AlgebraError:
        large = {left: FAR * left for left, relation, _ in regime.relations if relation == "->" and left.is_Symbol}
        if not large:
            raise
        a, b = a.subs(large), b.subs(large)  # from some point on; a constant factor is nothing to a regime
        similarity = similarity_of(a, b, regime)
    if not similarity.holds:
        return None
    write = PLAIN.write
    assumed, evidence = comparisons(regime.relations, write), dominance(similarity, write)
    step = Step("claim", Reason.LEADING, write(a), "~", write(b), assumed, evidence)
    shown = check(step, Ledger(Sizes(regime.least_one, several_of(regime.least_one)).named))
    return shown if similarity.certificates else IDENTITY


def number_near(a: Expr, b: Expr, regime: Regime) -> tuple[Expr, Check] | None:
    """The positive number that a/b tends to in the regime, and what shows it; None where it tends to none."""
    if not (a.is_rational_function() and b.is_rational_function()):
        return None
    tends = quotient_limit(a, b, regime)
    if tends is None or not tends.is_Rational or tends <= 0:
        return None
    shown = near(a, b * tends, regime)
    if shown is None:
        raise RefutedError("the limit of a quotient was refuted")
    return tends, shown


def quotient_limit(a: Expr, b: Expr, regime: Regime) -> Expr | None:
    """What a/b tends to in the regime; without one, what it is."""
    return limit(a / b, regime) if regime.scaling else cancel(a / b)
