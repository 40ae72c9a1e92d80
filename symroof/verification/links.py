"""One link of a chain: two sides and a relation, judged over the domain, in a regime, or between numbers.

    =           identity, by cross-multiplication or z3; between numbers, the rounding rule
    ~  ->       the quotient tends to 1 in the regime, by a certificate; between numbers, the rounding rule or a share
    <<          the quotient tends to 0
    < <= > >=   for all of the domain, by the signs of coefficients or z3

What is not proved does not hold: a link is wrong where an exact point shows it, and undecided otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from sympy import Expr, oo

from symroof.algebra.approximation import approximation
from symroof.algebra.dominance import limit
from symroof.algebra.inference import weakest_regimes
from symroof.algebra.rational import cancelled, coefficients, ratio, symbols_of
from symroof.algebra.regime import Regime
from symroof.derivation.settling import settle
from symroof.errors import AlgebraError, CheckError
from symroof.formula import Compare, Formula, Infinity, Name, Number, Quotient, mapped
from symroof.symbols import expression, fraction, symbol
from symroof.verification.context import Context
from symroof.verification.digits import Rounding, bare, is_printed, last_place, rounding
from symroof.verification.functions import resolved
from symroof.verification.growth import near, regime_of
from symroof.verification.judgement import Finding, Remark
from symroof.verification.numbers import Enclosure, compared, enclosed, is_numeric
from symroof.verification.witness import witness

ORDER = ("<", "<=", ">", ">=")
PRINTED = Name("printed number")


def sides_of(link: Compare, context: Context) -> tuple[Formula, Formula]:
    """Both sides with their names put in and their constructions worked out."""
    left, right = (resolved(context.expanded(side), context.least_one, context.layout) for side in (link.left, link.right))
    return left, right


def judge_link(link: Compare, context: Context) -> Finding:
    """The finding on one link. Under the other way of counting, a link that fails gets a second chance."""
    found = _judge(link, context)
    if found.verdict in ("wrong", "undecided") and context.other is not None:
        second = _judge(link, context.other)
        if second.verdict in ("holds", "rounded"):
            return replace(second, remarks=(*second.remarks, Remark("other_count", {"count": context.other.count})))
    return found


def _judge(link: Compare, context: Context) -> Finding:
    left, right = sides_of(link, context)
    if isinstance(bare(right), Infinity) or isinstance(bare(left), Infinity):
        return _to_infinity(link, left, right, context)
    if is_numeric(left) and is_numeric(right):
        return _numbers(link, left, right, context)
    if link.relation == "=":
        return _identity(link, left, right, context)
    if link.relation in ("~", "->"):
        return _similar(link, left, right, context)
    if link.relation in ("<<", ">>"):
        return _negligible(link, left, right, context)
    return _order(link, left, right, context)


def _numbers(link: Compare, left: Formula, right: Formula, context: Context) -> Finding:
    """Two numbers: exactly so, or by the rounding rule, or within the share that ~ allows."""
    sign = compared(left, right)
    if link.relation in ORDER:
        true = sign is not None and {"<": sign < 0, "<=": sign <= 0, ">": sign > 0, ">=": sign >= 0}[link.relation]
        verdict = "holds" if true else "wrong" if sign is not None else "undecided"
        return Finding(link, verdict, "exact numbers", value=None if true else left)
    if link.relation in ("<<", ">>"):
        return Finding(link, "undecided", "", remarks=(Remark("numbers_do_not_grow"),))
    if sign == 0:
        return Finding(link, "holds", "exact numbers", value=left)
    true_value, printed = (left, link.right) if is_printed(link.right) or not is_printed(link.left) else (right, link.left)
    value = enclosed(true_value)
    off = deviation(value, enclosed(right if true_value is left else left))
    if link.relation != "=" and off is not None and abs(off) <= context.tolerance:
        return Finding(link, "holds", "exact numbers", true_value, (Remark("deviation", {"share": off}),))
    found = printed_digits(link, value, printed, context)
    if found is not None:
        return Finding(link, "rounded", "exact numbers", true_value, (rounded_remark(found, value),))
    remarks = (Remark("deviation", {"share": off}),) if off is not None and abs(off) < 10 else ()
    return Finding(link, "wrong" if sign is not None else "undecided", "exact numbers", true_value, remarks)


def deviation(true: Enclosure, claimed: Enclosure) -> Fraction | None:
    """By which share of the true value the claimed one is too high."""
    return None if true.low <= 0 <= true.high else claimed.middle / true.middle - 1


def rounded_remark(found: Rounding, value: Enclosure) -> Remark:
    return Remark(found.how, {"digits": found.digits, "value": value.middle})


def printed_digits(link: Compare, value: Enclosure, printed: Formula, context: Context) -> Rounding | None:
    """How a side that is one number, or has one number with several digits, comes from the true value."""
    number = bare(printed)
    if isinstance(number, Number):
        return rounding(value, number)
    literals = [n for n in _literals(printed) if last_place(n)[0] > 1]
    if len(literals) == 1 and value.exact:
        needed = _needed_literal(Number(value.low), printed, literals[0], context)
        return None if needed is None else rounding(needed, literals[0])
    return None


def _identity(link: Compare, left: Formula, right: Formula, context: Context) -> Finding:
    settled = settle(Compare(left, "=", right), context.least_one, context.facts)
    if settled.truth:
        return Finding(link, "holds", settled.by)
    for side, other in ((link.right, left), (link.left, right)):
        for literal in _literals(side):
            if last_place(literal)[0] < 2:
                continue
            needed = _needed_literal(other, side, literal, context)
            found = None if needed is None else rounding(needed, literal)
            if needed is not None and found is not None and found.how != "exact":
                return Finding(link, "rounded", "identity", _written(left, context), (rounded_remark(found, needed),))
    return _refuted(link, Compare(left, "=", right), context, settled.point, _written(left, context))


def _literals(side: Formula) -> Iterator[Number]:
    """The numbers that are printed in a side, exponents left out."""
    from symroof.formula import Power, children

    if isinstance(side, Number):
        yield side
    for child in children(side):
        if not (isinstance(side, Power) and child is side.exponent):
            yield from _literals(child)


def _needed_literal(other: Formula, side: Formula, literal: Number, context: Context) -> Enclosure | None:
    """The number that would have to stand in the place of a literal for the sides to be the same."""
    if sum(1 for n in _literals(side) if n == literal) > 1:
        return None
    marked = mapped(side, lambda node: PRINTED if node == literal else node)
    try:
        x = symbol(PRINTED.name)
        expanded = resolved(context.expanded(marked), context.least_one, context.layout)
        difference = expression(other) - expression(expanded)
        symbols = symbols_of(difference, x)
        parts = coefficients(ratio(difference, symbols)[0], symbols.index(x))
        if len(parts) != 2:
            return None
        from symroof.algebra.rational import polynomial

        needed = cancelled(-polynomial(parts[0], symbols) / polynomial(parts[1], symbols))
    except AlgebraError:
        return None
    return Enclosure(fraction(needed), fraction(needed)) if needed.is_Rational else None


def _similar(link: Compare, left: Formula, right: Formula, context: Context) -> Finding:
    """a/b -> 1 in the regime; or, with numbers in it, to a number within the share that ~ allows."""
    settled = settle(Compare(left, "=", right), context.least_one, context.facts)
    if settled.truth:
        return Finding(link, "holds", settled.by)
    try:
        a, b = expression(left), expression(right)
        regime = regime_of(context)
        if b == 0:
            return _vanishing(link, a, context, regime)
        by = near(a, b, context, regime)
        if by is not None:
            return Finding(link, "holds", by, remarks=_factor(a, b, regime, context))
        tends = limit(a / b, regime) if regime.scaling else cancelled(a / b)
        if tends is not None and tends.is_Rational and tends != 0 and any(last_place(n)[0] > 1 for n in _literals(link.right)):
            off = 1 / fraction(tends) - 1
            if abs(off) <= context.tolerance:
                return Finding(link, "holds", "limit of the quotient", remarks=(Remark("deviation", {"share": off}),))
        found = weakest_regimes(a, b, regime)
    except (AlgebraError, CheckError) as error:
        return Finding(link, "undecided", "", remarks=(Remark("not_decided", {"why": error.problem}),))
    if found:
        return _conditional(link, a, b, context, regime, found)
    return Finding(link, "wrong", "no regime makes it true", _leading_value(a, context, regime), remarks=_tends(tends, context))


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
    link: Compare, a: Expr, b: Expr, context: Context, regime: Regime, found: tuple[tuple[tuple[Expr, str, Expr], ...], ...]
) -> Finding:
    """True under a regime that nobody stated: which, and what is left without it. Each is proved before it is told."""
    write, needs, by = context.layout.write, [], None
    for relations in found:
        joined = Regime((*regime.relations, *relations), regime.least_one)
        by = near(a, b, context, joined)
        if by is not None:
            needs.append(tuple(Compare(write(x), r, Infinity() if y == oo else write(y)) for x, r, y in relations))
    if not needs:
        return Finding(link, "undecided", "", remarks=(Remark("not_decided", {"why": "the inferred regime was not proved"}),))
    remarks = []
    free = symbols_of(a, b)
    equal = {s: free[0] for s in free if symbol(s.name) in regime.least_one or not regime.least_one}
    if len(free) > 1 and len(equal) == len(free):
        remarks.append(Remark("at_equal", {"names": tuple(Name(s.name) for s in free), "value": write(cancelled(a.subs(equal)))}))
    joined = Regime((*regime.relations, *found[0]), regime.least_one)
    factor = approximation(a, b, joined).factor
    exact = Quotient(write(b), write(factor))
    return Finding(link, "conditional", by or "certificate", exact, tuple(remarks), tuple(needs), write(factor))


def _vanishing(link: Compare, a: Expr, context: Context, regime: Regime) -> Finding:
    from symroof.algebra.dominance import vanishes

    if link.relation == "->" and vanishes(a, regime) and near(a + 1, a * 0 + 1, context, regime) is not None:
        return Finding(link, "holds", "certificate")
    return Finding(link, "wrong", "no regime makes it true", _leading_value(a, context, regime))


def _to_infinity(link: Compare, left: Formula, right: Formula, context: Context) -> Finding:
    """``a -> oo``: 1/a tends to 0."""
    if link.relation != "->" or isinstance(bare(left), Infinity):
        return Finding(link, "undecided", "", remarks=(Remark("not_decided", {"why": "oo stands only after ->"}),))
    try:
        a, regime = expression(left), regime_of(context)
        holds = near(1 / a + 1, a * 0 + 1, context, regime) is not None
        return Finding(link, "holds" if holds else "wrong", "certificate", None if holds else _leading_value(a, context, regime))
    except (AlgebraError, CheckError) as error:
        return Finding(link, "undecided", "", remarks=(Remark("not_decided", {"why": error.problem}),))


def _negligible(link: Compare, left: Formula, right: Formula, context: Context) -> Finding:
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


def _order(link: Compare, left: Formula, right: Formula, context: Context) -> Finding:
    settled = settle(Compare(left, link.relation, right), context.least_one, context.facts)
    if settled.truth:
        return Finding(link, "holds", settled.by)
    return _refuted(link, Compare(left, link.relation, right), context, settled.point)


def _refuted(link: Compare, claim: Compare, context: Context, point: object, value: Formula | None = None) -> Finding:
    """Wrong where a point shows it, else undecided."""
    offered = (point,) if isinstance(point, dict) else ()
    shown = witness(claim, context.least_one, context.facts, offered)
    if shown is None:
        return Finding(link, "undecided", "", value, (Remark("no_proof"),))
    return Finding(link, "wrong", "exact numbers", value, counterexample=shown)


def _written(formula: Formula, context: Context) -> Formula:
    """The value of a side in lowest terms, in the order of the operation."""
    try:
        value = expression(formula)
        return context.layout.write(cancelled(value) if value.is_rational_function() else value)
    except AlgebraError:
        return formula

