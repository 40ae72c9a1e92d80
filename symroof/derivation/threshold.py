"""The section that answers the question: intensity > ridge, solved with every guard."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import lcm

from sympy import Expr, degree

from symroof.algebra.rational import sign_of, symbols_of
from symroof.algebra.roots import Root
from symroof.algebra.rounding import raised, to_digits, to_places
from symroof.derivation.draft import INTENSITY, RIDGE, T_COMMS, T_MATH, Draft, numeric
from symroof.derivation.solutions import Solution, bound, positive
from symroof.derivation.solving import highest, solution_of, stays_below, supremum
from symroof.derivation.whole_sizes import Wholes, whole_step, wholes
from symroof.formula import Compare, Formula, Name, Number, Quotient, Verdict, product
from symroof.proof.check import check
from symroof.proof.ledger import Solved, UndecidedError
from symroof.proof.limits import Highest, OneRoot
from symroof.proof.step import Reason, Role, Step
from symroof.symbols import expression, rational, symbol


def threshold(draft: Draft) -> Draft:
    """intensity > ridge, solved for the variable with every guard."""
    solution = solved(draft, draft.setting.compared, draft.setting.variable)
    if solution.outcome == "never":
        return _never(draft, solution)
    equal = draft.setting.equalities
    if solution.outcome == "always":
        always = Step("threshold", Reason.ALWAYS, draft.above.left, ">", draft.above.right, equal)
        return draft.add(said(draft, Reason.OUTCOME, solution, equal), always)
    draft = draft.add(*(step for step in _cleared(draft, solution) if step.right != solution.formula))
    reason = Reason.SOLVE if solution.solved else Reason.IMPLICIT
    draft = draft.add(said(draft, reason, solution, (*equal, *solution.bands)), *_one_root(draft, solution))
    if solution.end is not None:
        draft = draft.add(*_with_figures(draft, solution, "bound"))
    return _otherwise(draft, solution)


def solved(draft: Draft, value: Expr, variable: Expr) -> Solution:
    """Where a value is above its level. In numbers every degree is solved, so figures are put in where they have to be."""
    setting = draft.setting
    level, put = setting.in_numbers(setting.level), setting.in_numbers(value)
    if setting.timed and put.free_symbols == {variable} and _degree(value, variable) > 1:
        return solution_of(put, level, variable, setting.least_one, layout=setting.layout)
    found = solution_of(value, setting.level, variable, setting.least_one, layout=setting.layout, values=setting.values)
    if found.check is None or found.check.status != "sampled" or _is_decided(draft, found):
        return found
    return solution_of(
        value, setting.level, variable, setting.least_one, layout=setting.layout, values=setting.values, roots=False
    )


def _is_decided(draft: Draft, solution: Solution) -> bool:
    """Whether the second engine can tell anything of a solution beside the definitions of a derivation."""
    try:
        check(said(draft, Reason.SOLVE, solution, (*draft.setting.equalities, *solution.bands)), draft.ledger)
    except UndecidedError:
        return False
    return True


def _degree(value: Expr, variable: Expr) -> int:
    return max(degree(side, variable) for side in value.as_numer_denom())


def said(draft: Draft, reason: Reason, solution: Solution, where: tuple[Formula, ...]) -> Step:
    """That the arithmetic takes longer exactly where a solution says."""
    return Step(
        "threshold", reason, draft.above, "<=>", solution.formula, where, None, Solved(solution.variable), "threshold"
    )


def _with_figures(draft: Draft, solution: Solution, role: Role) -> tuple[Step, ...]:
    """The bound, and the guard, with the figures put in."""
    assert solution.end is not None
    equal, steps = draft.setting.equalities, []
    value = solution.bound
    if value is not None and not isinstance(value, Root):
        where = (*equal, *((solution.guard,) if solution.guard is not None else ()))
        put = bound(draft.setting.in_numbers(value), draft.layout)
        steps.append(Step("threshold", Reason.FIGURES, solution.end.right, "=", put, where, role=role))
    if isinstance(solution.guard, Compare):
        gap = draft.setting.in_numbers(expression(solution.guard.left) - expression(solution.guard.right))
        put_in = positive(gap.as_numer_denom()[0], draft.layout)
        steps.append(Step("threshold", Reason.FIGURES, solution.guard, "<=>", put_in, equal, role="guard"))
    return tuple(steps)


def _one_root(draft: Draft, solution: Solution) -> tuple[Step, ...]:
    """That an implicit condition has one positive root, where it is known to have."""
    if not solution.one_root:
        return ()
    evidence = OneRoot(solution.variable, solution.one_root)
    return (
        Step("threshold", Reason.ONE_ROOT, draft.above, "<=>", solution.formula, draft.setting.equalities, evidence),
    )


def _cleared(draft: Draft, solution: Solution) -> tuple[Step, ...]:
    """The steps between: the denominator cleared, the variable collected."""
    setting, value, x, layout = draft.setting, draft.setting.compared, draft.setting.variable, draft.layout
    above, below = value.as_numer_denom()
    if setting.mixed or below == 1 or not value.has(x) or sign_of(below, setting.least_one) != 1:
        return ()
    right = layout.grouped((below * symbol("ridge")).expand(), "ridge")
    cleared = Step(
        "threshold", Reason.CLEAR, draft.above, "<=>", Compare(draft.write(above), ">", right), setting.equalities
    )
    gap = (above - below * symbol("ridge")).expand()
    if degree(gap, x) != 1 or not below.has(x):
        return (cleared,)
    head, tail = gap.coeff(x, 1), -gap.coeff(x, 0)
    left = product(Name(x.name), layout.grouped(head, "ridge"))
    collected = Compare(left, ">", layout.grouped(tail, "ridge"))
    return (cleared, Step("threshold", Reason.COLLECT, draft.above, "<=>", collected, setting.equalities))


def _otherwise(draft: Draft, solution: Solution) -> Draft:
    """What stands behind ``never``: the intensity stays below its supremum, and that is at most the ridge."""
    setting, x = draft.setting, draft.setting.variable
    if setting.mixed or solution.otherwise != Verdict(False) or not isinstance(solution.guard, Compare):
        return draft
    top = supremum(setting.intensity, x, setting.least_one)
    if top is None or not top.is_rational_function():
        return draft
    height, stays = draft.write(top), stays_below(top, setting.intensity, setting.least_one)
    fails = Compare(solution.guard.left, "<=", solution.guard.right)
    draft = draft.add(
        Step(
            "threshold", Reason.REACH, INTENSITY, stays, height, setting.equalities, Highest((x.name,)), role="supremum"
        ),
        Step("threshold", Reason.REACH, height, "<=", RIDGE, (fails,)),
    )
    sizes = sorted(
        (s for s in symbols_of(top) if s.name in draft.layout.order), key=lambda s: draft.layout.order.index(s.name)
    )
    if len(sizes) < 2 or setting.ridge is None:
        return draft
    square = top.subs(dict.fromkeys(sizes[1:], sizes[0]))
    edge = solution_of(square, rational(setting.ridge), sizes[0], setting.least_one).bound
    limit = numeric(edge)
    if limit is None or limit < 1 or isinstance(edge, Root):
        return draft
    same = tuple(Compare(Name(other.name), "=", Name(sizes[0].name)) for other in sizes[1:])
    reached = Compare(Name(sizes[0].name), "<=", draft.write(limit))
    of = Wholes(lcm(*(wholes(setting, size.name).each for size in sizes)))
    last = whole_step("threshold", reached, rational(limit), of, draft.write)
    draft = draft.add(Step("threshold", Reason.SQUARE, Compare(height, "<=", RIDGE), "<=>", reached, same))
    return draft if last is None else draft.add(replace(last, assumptions=same))


def _never(draft: Draft, solution: Solution) -> Draft:
    """Never compute-bound: by how much, what that leaves of the peak, and for which ridges it is so."""
    setting, value = draft.setting, draft.setting.intensity
    equal = setting.equalities
    draft = draft.add(said(draft, Reason.OUTCOME, solution, equal))
    if setting.mixed:
        return draft.add(Step("threshold", Reason.NEVER, T_MATH, "<=", T_COMMS, equal))
    top = value if not value.free_symbols else highest(value, setting.least_one)
    if top is None or not top.is_Rational:
        least = value.subs(dict.fromkeys(setting.least_one, 1))  # where all sizes are 1 it may be reached
        relation = "<=" if least.is_Rational and numeric(least) == setting.ridge else "<"
        return draft.add(Step("threshold", Reason.NEVER, INTENSITY, relation, RIDGE, equal))
    height = draft.write(top)
    if value.free_symbols and not any(step.reason is Reason.SUPREMUM for step in draft.steps):
        stays = stays_below(top, value, setting.least_one)
        draft = draft.add(Step("threshold", Reason.REACH, INTENSITY, stays, height, equal))
    strict = setting.ridge is not None and (numeric(top) or 0) < setting.ridge
    draft = draft.add(Step("threshold", Reason.NEVER, height, "<" if strict else "<=", RIDGE))
    if setting.ridge is None:
        return draft
    share = (numeric(top) or Fraction(0)) / setting.ridge
    margin = to_places(1 / share, 0) if share <= Fraction(1, 100) else to_digits(1 / share, 3)
    most = raised(share, 2)
    return draft.add(
        Step("threshold", Reason.MARGIN, Quotient(RIDGE, height), "~", Number(Fraction(margin), margin)),
        Step("threshold", Reason.THROUGHPUT, Quotient(height, RIDGE), "<=", Number(Fraction(most), most)),
    )
