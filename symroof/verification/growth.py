"""Approximations in a regime, found by the algebra and multiplied out again by the second engine."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from sympy import Expr

from symroof.algebra.dominance import similar
from symroof.algebra.rational import polynomial, ratio, sign, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.derivation.draft import dominated, written
from symroof.errors import AlgebraError, CheckError
from symroof.formula import Compare
from symroof.proof.check import check
from symroof.proof.ledger import Ledger
from symroof.proof.step import Reason, Step
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
    facts = tuple(
        Compare(context.expanded(r.left), r.relation, context.expanded(r.right))
        for r in context.relations
        if r.relation in ("<=", ">=")
    )
    return _regime(relations_of((*context.growing, *facts)), frozenset(map(symbol, context.least_one)))


@lru_cache(maxsize=256)
def _regime(relations: tuple[Relation, ...], least_one: frozenset[Expr]) -> Regime:
    grown = {left for left, relation, _ in relations if relation == "->" and left.is_Symbol}
    return Regime(relations, least_one | grown)


def eventually_positive(value: Expr, regime: Regime, context: Context) -> bool:
    """Whether a rational function is above 0 along every scaling of the regime from some point on."""
    symbols = symbols_of(value)
    side = 1
    for terms in ratio(value, symbols):
        found = sign(terms, symbols, regime.least_one)
        if found in (1, -1):
            side *= found
            continue
        for way in (1, -1):
            kept = {e: c for e, c in terms.items() if c * way > 0}
            try:
                if kept and near(polynomial(terms, symbols), polynomial(kept, symbols), context, regime) is not None:
                    side *= way
                    break
            except (AlgebraError, CheckError):
                continue
        else:
            return False
    return side == 1


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
    assumed = written(regime.relations, write)
    evidence = dominated(found, write)
    step = Step("claim", Reason.LEADING, write(a), "~", write(b), assumed, evidence)
    check(step, Ledger(frozenset(s.name for s in regime.least_one)))
    return "certificate"
