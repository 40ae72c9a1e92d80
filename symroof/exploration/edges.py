"""Where a form is above the ridge: a condition in the plainest words, checked, and the least equal sizes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import lcm

from sympy import Add, Expr

from symroof.algebra.approximation import reciprocals
from symroof.algebra.inequality import solve_for
from symroof.algebra.intervals import smallest_integer
from symroof.algebra.optima import highest, monotony
from symroof.algebra.rational import polynomial, ratio, symbols_of
from symroof.derivation.draft import RIDGE, Draft
from symroof.derivation.machine import chip_step
from symroof.derivation.setting import Setting
from symroof.derivation.threshold import bands, positive, solution
from symroof.formula import Compare, Formula, Quotient, Verdict, number
from symroof.proof.check import check
from symroof.proof.ledger import Ledger
from symroof.proof.step import Reason, Step
from symroof.symbols import fraction, rational, symbol


def above_ridge(draft: Draft, ledger: Ledger, form: Expr, several: Callable[[Draft, Expr], Formula]) -> Formula:
    """form > ridge: always or never where that is so, solved for one size, and as ``several`` writes it for more."""
    ridge, above = draft.setting.ridge, Compare(draft.write(form), ">", RIDGE)
    equal = tuple(r for r in draft.setting.problem.assume if r.relation == "=")
    sizes = [s for s in symbols_of(form) if s in draft.setting.least_one]
    if ridge is not None and (told := _told(form, sizes, ridge, draft.setting.least_one)) is not None:
        relation = ">" if told else "<="
        check(Step("regime", Reason.ALWAYS if told else Reason.NEVER, above.left, relation, RIDGE, equal), ledger)
        return Verdict(told)
    plain: Formula = above
    facts: tuple[Formula, ...] = equal
    if len(sizes) == 1:
        solved = solve_for(
            form - (symbol("ridge") if ridge is None else rational(ridge)), sizes[0], draft.setting.least_one
        )
        found = solution(draft, solved)
        plain = found if isinstance(found, Compare) else above
        facts = (*equal, *bands(draft, solved))
    elif sizes:
        plain = several(draft, form)
    if plain != above:
        check(Step("regime", Reason.RULE, above, "<=>", plain, facts), ledger)
    return plain


def _told(form: Expr, sizes: list[Expr], ridge: Fraction, least_one: frozenset[Expr]) -> bool | None:
    """Whether a form is always or never above the ridge, where that can be told."""
    if not sizes:
        return fraction(form) > ridge
    if len(sizes) == 1:
        outcome = solve_for(form - rational(ridge), sizes[0], least_one).outcome
        return {"always": True, "never": False}.get(outcome)
    least = form.subs(dict.fromkeys(sizes, 1))
    if all(monotony(form, s, least_one) in (0, 1) for s in sizes) and fraction(least) > ridge:
        return True
    top = highest(form, least_one)
    return False if top is not None and top.is_Rational and fraction(top) <= ridge else None


def upside_down(draft: Draft, form: Expr) -> Formula:
    """1/B + 1/D < 1/ridge, where the reciprocal is such a sum; otherwise the form above the ridge."""
    parts = reciprocals(form)
    if parts is None or len(parts) < 2:
        return Compare(draft.write(form), ">", RIDGE)
    return Compare(draft.write(Add(*(1 / m for m in parts))), "<", Quotient(number(1), RIDGE))


def cleared(draft: Draft, form: Expr) -> Formula:
    """DF > ridge (D + F): the form above the ridge without a denominator."""
    symbols = symbols_of(form)
    above, below = (polynomial(terms, symbols) for terms in ratio(form, symbols))
    return positive(draft, (above - symbol("ridge") * below).expand())


def equal_sizes_from(setting: Setting, form: Expr) -> int | None:
    """The least size from which a form is above the ridge, all its sizes being equal; a multiple of the mesh axes that
    split them. None where there is none.

    >>> from symroof.derivation.setting import setting_of
    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> from symroof.reading.catalogue import chip
    >>> equal_sizes_from(setting_of(Problem(library_operation("matmul"), chip("tpu-v5e"))), symbol("B"))
    241
    """
    sizes = [s for s in symbols_of(form) if s in setting.least_one]
    if setting.ridge is None or not sizes:
        return None
    solved = solve_for(
        form.subs(dict.fromkeys(sizes[1:], sizes[0])) - rational(setting.ridge), sizes[0], setting.least_one
    )
    step = lcm(*(chip_step(setting, s) for s in sizes))
    if solved.outcome == "always":
        return step
    return None if solved.bound is None or not solved.rises else smallest_integer(solved.bound, step)
