"""Approximations: ~ and -> in a regime, what grows, what is negligible, and the regime that was not stated."""

from __future__ import annotations

from contextlib import suppress

from sympy import Expr, oo

from symroof.algebra.approximation import approximation
from symroof.algebra.dominance import leading
from symroof.algebra.inference import weakest_regimes
from symroof.algebra.rational import cancelled, symbols_of
from symroof.algebra.regime import Regime
from symroof.errors import AlgebraError, CheckError
from symroof.formula import Compare, Formula, Infinity, Name, Quotient, number
from symroof.proof.step import Check
from symroof.symbols import expression, fraction, symbol
from symroof.verification.context import Context, Question
from symroof.verification.enclosures import is_numeric
from symroof.verification.growth import eventually_positive, joined, near, number_near, quotient_limit
from symroof.verification.judgement import Finding, Remark, undecided
from symroof.verification.literals import bare, in_print

# The algebra looked through the regimes that could be meant; the second engine has not decided that again.
SEARCHED = Check("searched", "no regime was found that makes it true")


def approximate(question: Question, context: Context, *, proofs_only: bool) -> Finding | None:
    """a/b -> 1 in the regime; to a number in print, by the rounding rule or within the share that ~ allows; or in a
    regime that is missing."""
    link = question.link
    settled = context.settled(Compare(question.left, "=", question.right))
    if settled.truth:
        return Finding(link, "holds", Check("proved", settled.by))
    a, b, regime = expression(question.left), expression(question.right), context.regime
    tends, refuted = None, SEARCHED
    if b != 0:
        shown = near(a, b, regime, context.layout)
        if shown is not None:
            return Finding(link, "holds", shown, remarks=_factor(a, b, context))
        finding = _in_print(question, a, b, context)
        if finding is not None or proofs_only:
            return finding
        needs = weakest_regimes(a, b, regime)
        if needs:
            return _conditional(question, a, b, context, needs)
        tends, refuted = quotient_limit(a, b, regime), _parted(a, b, context)
    elif link.relation == "->" and (shown := near(a + 1, a * 0 + 1, regime, context.layout)) is not None:
        return Finding(link, "holds", shown)
    if any(r.relation == "~" and not (isinstance(r.left, Name) and isinstance(r.right, Name)) for r in context.growing):
        raise AlgebraError("~ between products is not decided", expected="~ between two names")
    remarks = () if tends is None else (Remark("quotient_tends", {"value": context.layout.write(tends)}),)
    return Finding(link, "wrong", refuted, _leading_value(a, context), remarks)


def _parted(a: Expr, b: Expr, context: Context) -> Check:
    """What shows that a/b does not tend to 1: the number that it does tend to, or that one side is beyond the other."""
    regime, layout = context.regime, context.layout
    with suppress(AlgebraError, CheckError):
        tends = number_near(a, b, regime, layout)
        if tends is not None and tends[0] != 1:
            return Check(tends[1].status, f"{tends[1].by}: the quotient tends to another number")
        shown = near(a + b, b, regime, layout) or near(a + b, a, regime, layout)
        if shown is not None:
            return Check(shown.status, f"{shown.by}: one side is negligible beside the other")
    return SEARCHED


def _in_print(question: Question, a: Expr, b: Expr, context: Context) -> Finding | None:
    """The quotient tends to a number that ~ allows, or to one that the digits of the right side round."""
    tends = number_near(a, b, context.regime, context.layout)
    if tends is None:
        return None
    link, (value, shown) = question.link, tends
    by = Check(shown.status, f"{shown.by}, and exact numbers")
    off = 1 / fraction(value) - 1
    if is_numeric(question.right) and abs(off) <= context.tolerance:
        return Finding(link, "holds", by, remarks=(Remark("deviation", {"share": off}),))
    return in_print(link, context.layout.write(b * value), link.right, by, context)


def _factor(a: Expr, b: Expr, context: Context) -> tuple[Remark, ...]:
    """By how much an approximation is off."""
    try:
        factor = _off(a, b, context.regime, context)
    except AlgebraError:
        return ()
    return () if factor == number(1) else (Remark("factor", {"factor": factor}),)


def _off(a: Expr, b: Expr, regime: Regime, context: Context) -> Formula:
    """b/a, its terms in the order of what they are beside 1."""
    return context.written(
        approximation(a, b, regime).factor, Quotient(context.layout.write(b), context.layout.write(a))
    )


def _leading_value(a: Expr, context: Context) -> Formula:
    write, regime = context.layout.write, context.regime
    try:
        if not regime.scaling:
            return context.written(cancelled(a), write(a))
        form = leading(a, regime)
        return write(a if near(a, form, regime, context.layout) is None else form)
    except (AlgebraError, CheckError):
        return write(a)


def _conditional(question: Question, a: Expr, b: Expr, context: Context, regimes: tuple) -> Finding:  # type: ignore[type-arg]
    """True under a regime that nobody stated: which, and what is left without it. Each is proved before it is told."""
    write = context.layout.write
    checks = [near(a, b, joined(context.regime, relations), context.layout) for relations in regimes]
    shown = next((check for check in checks if check is not None), None)
    if shown is None:
        return undecided(question.link, "not_decided", why="the inferred regime was not proved")
    needs = tuple(
        tuple(Compare(write(x), r, Infinity() if y == oo else write(y)) for x, r, y in relations)
        for relations, check in zip(regimes, checks, strict=True)
        if check is not None
    )
    factor = _off(a, b, joined(context.regime, regimes[0]), context)
    equal = _at_equal(question, a, b, context)
    return Finding(question.link, "conditional", shown, Quotient(write(b), factor), equal, needs, factor)


def _at_equal(question: Question, a: Expr, b: Expr, context: Context) -> tuple[Remark, ...]:
    """What the left side is where all sizes are the same."""
    free, sizes = symbols_of(a, b), context.regime.least_one
    if len(free) < 2 or (sizes and not all(symbol(s.name) in sizes for s in free)):
        return ()
    value = context.layout.write(cancelled(a.subs(dict.fromkeys(free, free[0]))))
    facts = {"left": question.link.left, "names": tuple(Name(s.name) for s in free), "value": value}
    return (Remark("at_equal", facts),)


def grows(question: Question, context: Context, *, proofs_only: bool) -> Finding | None:
    """``a -> oo``: 1/a tends to 0, and a is positive from some point on."""
    if question.link.relation != "->" or isinstance(bare(question.left), Infinity):
        raise AlgebraError("oo stands only after ->")
    a = expression(question.left)
    shown = near(1 / a + 1, a * 0 + 1, context.regime, context.layout)
    if shown is not None and eventually_positive(a, context.regime, context.layout):
        return Finding(question.link, "holds", shown)
    return Finding(question.link, "wrong", SEARCHED, _leading_value(a, context))


def negligible(question: Question, context: Context, *, proofs_only: bool) -> Finding | None:
    """a << b exactly where a + b ~ b."""
    sides = expression(question.left), expression(question.right)
    small, large = sides if question.link.relation == "<<" else sides[::-1]
    shown = near(small + large, large, context.regime, context.layout)
    if shown is not None:
        return Finding(question.link, "holds", shown)
    needs = () if proofs_only else weakest_regimes(small + large, large, context.regime)
    if not needs:
        return Finding(question.link, "wrong", SEARCHED)
    conditional = _conditional(question, small + large, large, context, needs)
    return Finding(question.link, conditional.verdict, conditional.check, needs=conditional.needs)
