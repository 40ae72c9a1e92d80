"""The sections that answer the question: intensity > ridge, solved with every guard; the rule of thumb, the leading condition
with its number, its least whole size, and the exact bound beside it; and where the problem is compute-bound, in short."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import lcm

from sympy import Add, Expr, degree

from symroof.algebra.dominance import laurent_terms, leading_form, similarity_of
from symroof.algebra.rational import cancel, sign_of, symbols_of
from symroof.algebra.roots import Root
from symroof.algebra.rounding import rounded_up, to_digits, to_places
from symroof.derivation.drafts import INTENSITY, RIDGE, Draft, Point, Steps, as_number, comparisons, decimals, dominance
from symroof.derivation.premises import Setting
from symroof.derivation.quantity_definitions import ledger_of
from symroof.derivation.solutions import Solution, bound, positivity
from symroof.derivation.solving import ceiling_of, solution_of, stays_below, supremum
from symroof.derivation.whole_sizes import Wholes, whole_step, wholes
from symroof.errors import AlgebraError
from symroof.formula import (
    Cases,
    Compare,
    Formula,
    Name,
    Negative,
    Number,
    Product,
    Quotient,
    Sum,
    Verdict,
    names,
    number,
    product,
)
from symroof.model.quantities import T_COMMS, T_MATH
from symroof.proof.bounds_and_decimals import BoundsCompared
from symroof.proof.calculus import OneRoot, Supremum
from symroof.proof.step import Reason, Role, Step, Unknown
from symroof.symbols import expression, rational, symbol


def threshold(draft: Draft) -> Draft:
    """intensity > ridge, solved for the variable with every guard."""
    solution = threshold_solution(draft, draft.setting.compared, draft.setting.variable)
    if solution.outcome == "never":
        return _never(draft, solution)
    equal = draft.setting.equalities
    if solution.outcome == "always":
        always = Step("threshold", Reason.ALWAYS, draft.above.left, ">", draft.above.right, equal)
        return draft.add(solution_step(draft, Reason.FACT, solution, equal), always)
    draft = draft.add(*(step for step in _clearing_steps(draft, solution) if step.right != solution.formula))
    reason = Reason.SOLVE if solution.solved else Reason.IMPLICIT
    draft = draft.add(solution_step(draft, reason, solution, (*equal, *solution.bands)), *_single_root(draft, solution))
    if solution.end is not None:
        draft = draft.add(*_with_figures(draft, solution, "bound"))
    return _otherwise(draft, solution)


def threshold_solution(draft: Draft, value: Expr, variable: Expr) -> Solution:
    """Where a value is above its level. In numbers every degree is solved, so figures are put in where they have to be."""
    setting = draft.setting
    level, put = setting.in_numbers(setting.level), setting.in_numbers(value)
    if setting.timed and put.free_symbols == {variable} and _degree(value, variable) > 1:
        return solution_of(put, level, variable, setting.least_one, layout=setting.layout)
    return solution_of(value, setting.level, variable, setting.least_one, layout=setting.layout, values=setting.values)


def _degree(value: Expr, variable: Expr) -> int:
    return max(degree(side, variable) for side in value.as_numer_denom())


def solution_step(draft: Draft, reason: Reason, solution: Solution, where: tuple[Formula, ...]) -> Step:
    """That the arithmetic takes longer exactly where a solution says."""
    return Step(
        "threshold", reason, draft.above, "<=>", solution.formula, where, None, Unknown(solution.variable), "threshold"
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
        put_in = positivity(gap.as_numer_denom()[0], draft.layout)
        steps.append(Step("threshold", Reason.FIGURES, solution.guard, "<=>", put_in, equal, role="guard"))
    return tuple(steps)


def _single_root(draft: Draft, solution: Solution) -> tuple[Step, ...]:
    """That an implicit condition has one positive root, where it is known to have."""
    if not solution.one_root:
        return ()
    evidence = OneRoot(solution.variable, solution.one_root)
    return (
        Step(
            "threshold",
            Reason.FACT,
            draft.above,
            "<=>",
            solution.formula,
            draft.setting.equalities,
            evidence,
            role="root",
        ),
    )


def _clearing_steps(draft: Draft, solution: Solution) -> tuple[Step, ...]:
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
    return (
        cleared,
        Step("threshold", Reason.LINE, draft.above, "<=>", collected, setting.equalities, role="collected"),
    )


def sup_steps(draft: Draft, solution: Solution, intensity: Expr, section: str, role: Role = "") -> tuple[Step, ...]:
    """What stands behind ``never``: the intensity stays below its supremum, and that is at most the ridge."""
    setting, x = draft.setting, draft.setting.variable
    top = supremum(intensity, x, setting.least_one)
    if solution.otherwise != Verdict(False) or not isinstance(solution.guard, Compare):
        return ()
    if top is None or not top.is_rational_function():
        return ()
    height, stays = draft.write(top), stays_below(top, intensity, setting.least_one)
    fails = Compare(solution.guard.left, "<=", solution.guard.right)
    return (
        Step(section, Reason.REACH, INTENSITY, stays, height, setting.equalities, Supremum((x.name,)), role=role),
        Step(section, Reason.REACH, height, "<=", RIDGE, (fails,)),
    )


def _otherwise(draft: Draft, solution: Solution) -> Draft:
    """Why it is never compute-bound where the guard fails; and where all sizes are one, up to which."""
    setting = draft.setting
    steps = () if setting.mixed else sup_steps(draft, solution, setting.intensity, "threshold", "supremum")
    if not steps:
        return draft
    draft, height = draft.add(*steps), steps[0].right
    top = expression(height)
    sizes = sorted(
        (s for s in symbols_of(top) if s.name in draft.layout.order), key=lambda s: draft.layout.order.index(s.name)
    )
    if len(sizes) < 2 or setting.ridge is None:
        return draft
    square = top.subs(dict.fromkeys(sizes[1:], sizes[0]))
    edge = solution_of(square, rational(setting.ridge), sizes[0], setting.least_one).bound
    limit = as_number(edge)
    if limit is None or limit < 1 or isinstance(edge, Root):
        return draft
    same = tuple(Compare(Name(other.name), "=", Name(sizes[0].name)) for other in sizes[1:])
    at_most = Compare(Name(sizes[0].name), "<=", draft.write(limit))
    of = Wholes(lcm(*(wholes(setting, size.name).each for size in sizes)))
    last = whole_step("threshold", at_most, rational(limit), of)
    draft = draft.add(Step("threshold", Reason.SQUARE, Compare(height, "<=", RIDGE), "<=>", at_most, same))
    return draft if last is None else draft.add(replace(last, assumptions=same))


def _never(draft: Draft, solution: Solution) -> Draft:
    """Never compute-bound: by how much, what that leaves of the peak, and for which ridges it is so."""
    setting, value = draft.setting, draft.setting.intensity
    equal = setting.equalities
    draft = draft.add(solution_step(draft, Reason.FACT, solution, equal))
    if setting.mixed:
        return draft.add(Step("threshold", Reason.NEVER, T_MATH, "<=", T_COMMS, equal))
    top = value if not value.free_symbols else ceiling_of(value, setting.least_one)
    if top is None or not top.is_Rational:
        least = value.subs(dict.fromkeys(setting.least_one, 1))  # where all sizes are 1 it may be reached
        relation = "<=" if least.is_Rational and as_number(least) == setting.ridge else "<"
        return draft.add(Step("threshold", Reason.NEVER, INTENSITY, relation, RIDGE, equal))
    height = draft.write(top)
    if value.free_symbols and not any(step.reason is Reason.SUPREMUM for step in draft.steps):
        stays = stays_below(top, value, setting.least_one)
        draft = draft.add(Step("threshold", Reason.REACH, INTENSITY, stays, height, equal))
    strict = setting.ridge is not None and (as_number(top) or 0) < setting.ridge
    draft = draft.add(Step("threshold", Reason.NEVER, height, "<" if strict else "<=", RIDGE))
    if setting.ridge is None:
        return draft
    share = (as_number(top) or Fraction(0)) / setting.ridge
    margin = to_places(1 / share, 0) if share <= Fraction(1, 100) else to_digits(1 / share, 3)
    most = rounded_up(share, 2)
    return draft.add(
        Step("threshold", Reason.FACT, Quotient(RIDGE, height), "~", Number(Fraction(margin), margin), role="margin"),
        Step("threshold", Reason.THROUGHPUT, Quotient(height, RIDGE), "<=", Number(Fraction(most), most)),
    )


def rule(draft: Draft) -> Draft:
    """The leading condition, its number, its smallest whole size, and how far the exact bound is from it."""
    setting, answer, x = draft.setting, draft.answer, draft.setting.variable
    if answer.leading is None or not setting.regime.scaling:
        return _exact_number(draft)
    form = answer.leading.approximate
    if setting.mixed:
        form = leading_form(setting.compared, setting.regime)
        draft = draft.add(*_balance_tends(draft, form))
    if not form.has(x):
        return draft
    solution = solution_of(form, setting.level, x, setting.least_one, layout=setting.layout, values=setting.values)
    if solution.outcome != "depends":
        return draft
    leads, facts = Compare(draft.write(form), ">", draft.write(setting.level)), Unknown(solution.variable)
    exact = answer.threshold
    draft = draft.add(
        *_tends_to(draft, exact, solution),
        Step("rule", Reason.RULE, leads, "<=>", solution.formula, solution.bands, facts=facts, role="rule"),
    )
    edge = solution.bound
    if solution.end is None or edge is None:
        return draft
    if isinstance(edge, Root):
        return draft.add(*whole_size(draft, solution, edge, "rule"))
    value = setting.in_numbers(edge)
    if value.is_number and not value.is_Rational:
        sides = setting.in_numbers(form), setting.in_numbers(setting.level)
        root = solution_of(*sides, x, setting.least_one, layout=setting.layout).bound
        return draft.add(*whole_size(draft, solution, root, "rule")) if isinstance(root, Root) else draft
    put, where = bound(value, draft.layout), () if solution.guard is None else (solution.guard,)
    draft = draft.add(
        Step("rule", Reason.FIGURES, solution.end.right, "=", put, where, role="rule_bound"),
        *_decimal(draft, solution.end.right, value),
        *whole_size(draft, solution, value, "rule"),
    )
    return _rule_factor(draft, exact, edge)


def _decimal(draft: Draft, left: Formula, value: Expr) -> tuple[Step, ...]:
    number_ = as_number(value)
    return () if number_ is None or left == RIDGE else decimals("rule", left, number_)


def _balance_tends(draft: Draft, form: Expr) -> tuple[Step, ...]:
    """What T_math/T_comms tends to in the regime, where no intensity tells which side is longer."""
    setting, left = draft.setting, Quotient(T_MATH, T_COMMS)
    evidence = dominance(similarity_of(setting.compared, form, setting.regime), draft.write)
    return (Step("rule", Reason.FACT, left, "~", draft.write(form), setting.problem.assume, evidence),)


def _tends_to(draft: Draft, exact: Solution | None, rule: Solution) -> tuple[Step, ...]:
    """That the exact bound tends to the bound of the rule, in the regime with the variable held constant."""
    setting = draft.setting
    if exact is None or exact.end is None or rule.end is None:
        return ()
    high, low = exact.bound, rule.bound
    if not all(isinstance(end, Expr) and end.is_rational_function() for end in (high, low)):
        return ()
    try:
        regime = setting.regime.holding(setting.variable)
        result = similarity_of(high, low, regime)
    except AlgebraError:
        return ()
    if not result.holds or not result.certificates:
        return ()
    where = (*comparisons(regime.scaling, draft.write), *setting.equalities)
    return (Step("rule", Reason.FACT, exact.end.right, "~", rule.end.right, where, dominance(result, draft.write)),)


def _exact_number(draft: Draft) -> Draft:
    """Where no regime is needed: the exact bound is a number."""
    solution, edge = draft.answer.threshold, draft.answer.bound
    value = as_number(edge)
    if solution is None or solution.end is None or value is None or edge is None:
        return draft
    if not isinstance(edge, Root) and solution.end.right not in (RIDGE, draft.write(edge)):
        draft = draft.add(Step("rule", Reason.FIGURES, solution.end.right, "=", draft.write(edge)))
    if not isinstance(edge, Root):
        draft = draft.add(*_decimal(draft, solution.end.right, edge))
    return draft.add(*whole_size(draft, solution, edge, "rule"))


def whole_size(
    draft: Draft,
    solution: Solution,
    edge: Expr | Root,
    section: str,
    where: tuple[Formula, ...] = (),
    point: int | None = None,
) -> tuple[Step, ...]:
    """The least whole size above a numeric bound; nothing where the condition is met below it."""
    where = where or draft.setting.equalities
    if not solution.rises or solution.end is None:
        return ()
    left = solution.end if solution.end.right == RIDGE else Compare(solution.end.left, ">", draft.write(edge))
    step = whole_step(section, left, edge, wholes(draft.setting, solution.variable, point))
    return () if step is None else (replace(step, assumptions=where, role="smallest", point=point),)


def first_size(setting: Setting, solution: Solution) -> int | None:
    """The least whole size of a solution whose bound is a number."""
    draft = Draft(setting, ledger_of(setting))
    steps = whole_size(draft, solution, solution.bound, "at") if solution.bound is not None else ()
    return Steps(draft.add(*steps).steps).smallest_integer


def _rule_factor(draft: Draft, exact: Solution | None, rule_bound: Expr) -> Draft:
    """exact bound / rule bound = 1/(1 - R(1/D + 1/F))."""
    exact_bound = None if exact is None else exact.bound
    if exact is None or exact.end is None or not isinstance(exact_bound, Expr):
        return draft
    if not (rule_bound / exact_bound).is_rational_function():
        return draft
    quotient = cancel(rule_bound / exact_bound)
    exact_step, rule_step = draft.answer.step("threshold"), draft.answer.step("rule")
    assert exact_step is not None
    assert rule_step is not None
    guards_of_rule = tuple(guard for _, guard in rule_step.right.rows) if isinstance(rule_step.right, Cases) else ()
    sides, least_one = draft.setting.in_numbers(rule_bound).as_numer_denom(), draft.setting.least_one
    if not guards_of_rule and any(sign_of(side, least_one) in (None, 0) for side in sides):
        return draft  # the bound of the rule may vanish, or what it is divided by
    guards = tuple(dict.fromkeys((*(() if exact.guard is None else (exact.guard,)), *guards_of_rule)))
    left, evidence = Quotient(exact.end.right, bound(rule_bound, draft.layout)), BoundsCompared(exact_step, rule_step)
    in_figures = draft.write(draft.setting.in_numbers(1 / quotient))
    draft = draft.add(Step("rule", Reason.FIGURES, left, "=", in_figures, guards, evidence, role="rule_factor"))
    denominator = _in_ridge(draft, quotient)
    if quotient == 1 or denominator is None:
        return draft
    right = Quotient(number(1), denominator)
    return draft.add(Step("rule", Reason.RULE_FACTOR, left, "=", right, guards, evidence))


def _in_ridge(draft: Draft, quotient: Expr) -> Formula | None:
    """A sum of monomials with its terms in the ridge gathered: 1 - R(1/D + 1/F); None where it is none, or not linear."""
    ridge, terms = symbol("ridge"), laurent_terms(quotient, symbols_of(quotient))
    if terms is None:
        return None
    parts = [rational(-c) * m / ridge for c, m in terms if m.has(ridge)]
    plain, per_ridge = Add(*(rational(c) * m for c, m in terms if not m.has(ridge))), Add(*parts)
    if per_ridge.has(ridge) or per_ridge == 0:
        return None
    subtracted = Product((RIDGE, draft.write(per_ridge))) if len(parts) > 1 else draft.write(ridge * per_ridge)
    return Sum((draft.write(plain), Negative(subtracted)))


def summary(draft: Draft) -> Draft:
    """Where the problem is compute-bound: for all sizes, and at each set of them."""
    answer = draft.answer
    whole = answer.step("all") or answer.step("rule") or answer.step("threshold")
    assert whole is not None, "a derivation solves its condition, or finds that it is always or never met"
    points = (
        _side(draft, point, draft.where(place), place) if step is None else _shortest(point, step)
        for place, point in enumerate(answer.at)
        for step in (point.step("all") or point.step("threshold"),)
    )
    return draft.add(_shortest(answer, whole), *points)


def _shortest(steps: Steps, step: Step) -> Step:
    """A solved condition by its bound alone, where that is a number, or the rule of thumb without a guard."""
    if step.role == "all":
        return replace(step, section="summary", role="condition")
    solution = steps.solution(step.role)
    assert solution is not None
    right, rule = solution.formula, step.role == "rule"
    if solution.end is not None:
        bound = steps.formula("rule_bound" if rule else "bound") or solution.end.right
        if not names(bound) or (rule and solution.guard is None):
            right = replace(solution.end, right=bound)
    return replace(step, section="summary", right=right, role="condition", evidence=None, facts=None)


def _side(draft: Draft, point: Point, where: tuple[Formula, ...], place: int) -> Step:
    """The condition where every size has a value: always or never; itself, where the ridge is not known or is met. Where
    links were compared too it is that of the longest time."""
    above = Compare(T_MATH, ">", T_COMMS) if point.step("joint") else draft.above
    condition = above if point.outcome == "depends" else Verdict(point.outcome == "always")
    return Step("summary", Reason.FACT, above, "<=>", condition, where, role="condition", point=place)
