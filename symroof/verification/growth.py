"""Approximations in a regime, found by the algebra and multiplied out again by the second engine."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from sympy import Expr, oo

from symroof.algebra.dominance import similar
from symroof.algebra.regime import Regime, Relation
from symroof.derivation.check import check
from symroof.derivation.ledger import Ledger
from symroof.derivation.step import Dominated, Reason, Step
from symroof.errors import AlgebraError
from symroof.formula import Compare, Infinity
from symroof.symbols import expression, symbol
from symroof.verification.context import Context

# Where a symbol grows without bound, small sizes of it do not matter.
FAR = 64


def relations_of(relations: Iterable[Compare]) -> tuple[Relation, ...]:
    """Relations between formulas as relations between values."""
    return tuple((expression(r.left), r.relation, expression(r.right)) for r in relations)


def regime_of(context: Context) -> Regime:
    """The regime of a context, with its facts; equalities are put in already.

    A symbol that grows without bound is at least 1 from some point on, which is all that a limit asks of it.
    """
    facts = tuple(r for r in context.facts if r.relation in ("<=", ">="))
    return _regime(relations_of((*context.growing, *facts)), frozenset(map(symbol, context.least_one)))


@lru_cache(maxsize=256)
def _regime(relations: tuple[Relation, ...], least_one: frozenset[Expr]) -> Regime:
    grown = {left for left, relation, _ in relations if relation == "->" and left.is_Symbol}
    return Regime(relations, least_one | grown)


def near(a: Expr, b: Expr, context: Context, regime: Regime) -> str | None:
    """What shows that a/b tends to 1 in the regime, or None where it does not.

    Raises AlgebraError outside of the decided class, and CheckError where the second engine does not agree.
    """
    if not (a.is_rational_function() and b.is_rational_function()):
        raise AlgebraError("approximations are decided between rational functions")
    try:
        found = similar(a, b, regime)
    except AlgebraError:
        large = {left: FAR * left for left, relation, _ in regime.relations if relation == "->" and left.is_Symbol}
        if not large:
            raise
        a, b = a.subs(large), b.subs(large)  # from some point on; a constant factor is nothing to a regime
        found = similar(a, b, regime)
    if not found.holds:
        return None
    if not found.certificates:
        return "identity"
    write = context.layout.write
    assumed = tuple(Compare(write(x), r, Infinity() if y == oo else write(y)) for x, r, y in regime.relations)
    evidence = Dominated(write(found.numerator), write(found.denominator), found.certificates)
    step = Step("claim", Reason.LEADING, write(a), "~", write(b), assumed, evidence)
    check(step, Ledger(frozenset(s.name for s in regime.least_one)))
    return "certificate"
