"""Approximations: ~ and -> in a regime, what is negligible, and the regime that was not stated."""

from __future__ import annotations

from dataclasses import replace

from sympy import Expr, oo

from symroof.algebra.approximation import approximation
from symroof.algebra.dominance import limit
from symroof.algebra.inference import weakest_regimes
from symroof.algebra.rational import cancelled, symbols_of
from symroof.algebra.regime import Regime
from symroof.errors import AlgebraError, CheckError
from symroof.formula import Compare, Formula, Infinity, Name, Quotient
from symroof.proof.settling import settle
from symroof.symbols import expression, fraction, symbol
from symroof.verification.context import Context
from symroof.verification.digits import bare, last_place, rounding
from symroof.verification.enclosures import is_numeric
from symroof.verification.growth import eventually_positive, near, regime_of
from symroof.verification.judgement import Finding, Remark
from symroof.verification.literals import literals, needed_literal, rounded_remark


def approximate(
    link: Compare, left: Formula, right: Formula, context: Context, *, exactly: bool = False
) -> Finding | None:
    """a/b -> 1 in the regime; or, with numbers in print, to a number within the share that ~ allows."""
    settled = settle(Compare(left, "=", right), context.least_one, context.facts)
    if settled.truth:
        return Finding(link, "holds", settled.by)
    a, b, regime = expression(left), expression(right), regime_of(context)
    if b == 0:
        shown = link.relation == "->" and near(a + 1, a * 0 + 1, context, regime) is not None
        return Finding(link, "holds", "certificate") if shown else None
    by = near(a, b, context, regime)
    if by is not None:
        return Finding(link, "holds", by, remarks=_factor(a, b, regime, context))
    if exactly or not is_numeric(right):
        return _rounded_near(link, right, a, b, regime, context)
    tends = _quotient_limit(a, b, regime)
    if tends is not None and tends.is_Rational and tends > 0:
        off = 1 / fraction(tends) - 1
        if abs(off) <= context.tolerance and near(a, b * tends, context, regime) is not None:
            return Finding(link, "holds", "limit, and exact numbers", remarks=(Remark("deviation", {"share": off}),))
    return None


def _rounded_near(link: Compare, right: Formula, a: Expr, b: Expr, regime: Regime, context: Context) -> Finding | None:
    """a/b tends to a number that is 1 once a printed number of the right side is taken for the one that it rounds."""
    printed = [literal for literal in literals(link.right) if last_place(literal)[0] > 1]
    tends = _quotient_limit(a, b, regime) if printed else None
    if tends is None or not tends.is_Rational or tends <= 0 or near(a, b * tends, context, regime) is None:
        return None
    for literal in printed:
        needed = needed_literal(context.layout.write(b * tends), link.right, literal, context)
        found = None if needed is None else rounding(needed, literal)
        if needed is not None and found is not None:
            return Finding(link, "rounded", "limit, and exact numbers", remarks=(rounded_remark(found, needed),))
    return None


def _quotient_limit(a: Expr, b: Expr, regime: Regime) -> Expr | None:
    return limit(a / b, regime) if regime.scaling else cancelled(a / b)


def judge_approximation(link: Compare, left: Formula, right: Formula, context: Context) -> Finding:
    try:
        found = approximate(link, left, right, context)
        if found is not None:
            return found
        a, b, regime = expression(left), expression(right), regime_of(context)
        needs = weakest_regimes(a, b, regime) if b != 0 else ()
        if needs:
            return _conditional(link, a, b, context, regime, needs)
        tends = _quotient_limit(a, b, regime) if b != 0 else None
        if any(
            r.relation == "~" and not (isinstance(r.left, Name) and isinstance(r.right, Name)) for r in context.growing
        ):
            raise AlgebraError("~ between products is not decided", expected="~ between two names")
    except (AlgebraError, CheckError) as error:
        return Finding(link, "undecided", "", remarks=(Remark("not_decided", {"why": error.problem}),))
    return Finding(
        link, "wrong", "no regime makes it true", _leading_value(a, context, regime), remarks=_tends(tends, context)
    )


def _tends(tends: Expr | None, context: Context) -> tuple[Remark, ...]:
    if tends is None:
        return ()
    return (Remark("quotient_tends", {"value": context.layout.write(tends)}),)


def _factor(a: Expr, b: Expr, regime: Regime, context: Context) -> tuple[Remark, ...]:
    """By how much an approximation is off."""
    try:
        factor = approximation(regime.apply(a), regime.apply(b), regime).factor
    except AlgebraError:
        return ()
    return () if factor == 1 else (Remark("factor", {"factor": context.layout.write(factor)}),)


def _leading_value(a: Expr, context: Context, regime: Regime) -> Formula:
    from symroof.algebra.dominance import leading

    try:
        return context.layout.write(leading(a, regime).form if regime.scaling else cancelled(a))
    except AlgebraError:
        return context.layout.write(a)


def _conditional(
    link: Compare,
    a: Expr,
    b: Expr,
    context: Context,
    regime: Regime,
    found: tuple[tuple[tuple[Expr, str, Expr], ...], ...],
) -> Finding:
    """True under a regime that nobody stated: which, and what is left without it. Each is proved before it is told."""
    write, needs, by = context.layout.write, [], None
    for relations in found:
        joined = Regime((*regime.relations, *relations), regime.least_one)
        by = near(a, b, context, joined)
        if by is not None:
            needs.append(tuple(Compare(write(x), r, Infinity() if y == oo else write(y)) for x, r, y in relations))
    if not needs:
        return Finding(
            link, "undecided", "", remarks=(Remark("not_decided", {"why": "the inferred regime was not proved"}),)
        )
    remarks = []
    free = symbols_of(a, b)
    equal = {s: free[0] for s in free if symbol(s.name) in regime.least_one or not regime.least_one}
    if len(free) > 1 and len(equal) == len(free):
        remarks.append(
            Remark(
                "at_equal",
                {
                    "left": link.left,
                    "names": tuple(Name(s.name) for s in free),
                    "value": write(cancelled(a.subs(equal))),
                },
            )
        )
    joined = Regime((*regime.relations, *found[0]), regime.least_one)
    factor = approximation(a, b, joined).factor
    exact = Quotient(write(b), write(factor))
    return Finding(link, "conditional", by or "certificate", exact, tuple(remarks), tuple(needs), write(factor))


def judge_growth(link: Compare, left: Formula, right: Formula, context: Context) -> Finding:
    """``a -> oo``: 1/a tends to 0."""
    if link.relation != "->" or isinstance(bare(left), Infinity):
        return Finding(link, "undecided", "", remarks=(Remark("not_decided", {"why": "oo stands only after ->"}),))
    try:
        a, regime = expression(left), regime_of(context)
        holds = near(1 / a + 1, a * 0 + 1, context, regime) is not None and eventually_positive(a, regime, context)
        return Finding(
            link, "holds" if holds else "wrong", "certificate", None if holds else _leading_value(a, context, regime)
        )
    except (AlgebraError, CheckError) as error:
        return Finding(link, "undecided", "", remarks=(Remark("not_decided", {"why": error.problem}),))


def judge_negligible(link: Compare, left: Formula, right: Formula, context: Context) -> Finding:
    """a << b exactly where a + b ~ b."""
    small, large = (left, right) if link.relation == "<<" else (right, left)
    try:
        a, b, regime = expression(small), expression(large), regime_of(context)
        by = near(a + b, b, context, regime)
        if by is not None:
            return Finding(link, "holds", by)
        found = weakest_regimes(a + b, b, regime)
        if found:
            return replace(_conditional(link, a + b, b, context, regime, found), value=None, remarks=(), leaves=None)
    except (AlgebraError, CheckError) as error:
        return Finding(link, "undecided", "", remarks=(Remark("not_decided", {"why": error.problem}),))
    return Finding(link, "wrong", "no regime makes it true")
