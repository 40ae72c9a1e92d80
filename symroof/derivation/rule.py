"""The section with the rule of thumb: the leading condition, its number, its least whole size, and the exact bound."""

from __future__ import annotations

from dataclasses import replace

from sympy import Add, Expr

from symroof.algebra.approximation import laurent
from symroof.algebra.dominance import leading, similar
from symroof.algebra.rational import cancelled, sign_of, symbols_of
from symroof.algebra.roots import Root
from symroof.derivation.answer import Said
from symroof.derivation.draft import RIDGE, T_COMMS, T_MATH, Draft, dominated, numeric, rounded, written
from symroof.derivation.meanings import ledger_of
from symroof.derivation.setting import Setting
from symroof.derivation.solutions import Solution, bound
from symroof.derivation.solving import solution_of
from symroof.derivation.whole_sizes import whole_step, wholes
from symroof.errors import AlgebraError
from symroof.formula import Cases, Compare, Formula, Negative, Product, Quotient, Sum, number
from symroof.proof.evidence import Beside
from symroof.proof.ledger import Solved
from symroof.proof.step import Reason, Step
from symroof.symbols import rational, symbol


def rule(draft: Draft) -> Draft:
    """The leading condition, its number, its smallest whole size, and how far the exact bound is from it."""
    setting, answer, x = draft.setting, draft.answer, draft.setting.variable
    if answer.leading is None or not setting.regime.scaling:
        return _exact_number(draft)
    form = answer.leading.approximate
    if setting.mixed:
        form = leading(setting.compared, setting.regime)
        draft = draft.add(*_balance_tends(draft, form))
    if not form.has(x):
        return draft
    solution = solution_of(form, setting.level, x, setting.least_one, layout=setting.layout, values=setting.values)
    if solution.outcome != "depends":
        return draft
    leads, facts = Compare(draft.write(form), ">", draft.write(setting.level)), Solved(solution.variable)
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
    number_ = numeric(value)
    return () if number_ is None or left == RIDGE else rounded("rule", left, number_)


def _balance_tends(draft: Draft, form: Expr) -> tuple[Step, ...]:
    """What T_math/T_comms tends to in the regime, where no intensity tells which side is longer."""
    setting, left = draft.setting, Quotient(T_MATH, T_COMMS)
    evidence = dominated(similar(setting.compared, form, setting.regime), draft.write)
    return (Step("rule", Reason.TENDS, left, "~", draft.write(form), setting.problem.assume, evidence),)


def _tends_to(draft: Draft, exact: Solution | None, rule: Solution) -> tuple[Step, ...]:
    """That the exact bound tends to the bound of the rule, in the regime with the variable held constant."""
    setting = draft.setting
    if exact is None or exact.end is None or rule.end is None:
        return ()
    high, low = exact.bound, rule.bound
    if not all(isinstance(end, Expr) and end.is_rational_function() for end in (high, low)):
        return ()
    try:
        held = setting.regime.holding(setting.variable)
        found = similar(high, low, held)
    except AlgebraError:
        return ()
    if not found.holds or not found.certificates:
        return ()
    where = (*written(held.scaling, draft.write), *setting.equalities)
    return (Step("rule", Reason.TENDS, exact.end.right, "~", rule.end.right, where, dominated(found, draft.write)),)


def _exact_number(draft: Draft) -> Draft:
    """Where no regime is needed: the exact bound is a number."""
    solution, edge = draft.answer.threshold, draft.answer.bound
    value = numeric(edge)
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
    step = whole_step(section, left, edge, wholes(draft.setting, solution.variable, point), draft.write)
    return () if step is None else (replace(step, assumptions=where, role="smallest", point=point),)


def first_size(setting: Setting, solution: Solution) -> int | None:
    """The least whole size of a solution whose bound is a number."""
    draft = Draft(setting, ledger_of(setting))
    steps = whole_size(draft, solution, solution.bound, "at") if solution.bound is not None else ()
    return Said(draft.add(*steps).steps).smallest_integer


def _rule_factor(draft: Draft, exact: Solution | None, low: Expr) -> Draft:
    """exact bound / rule bound = 1/(1 - R(1/D + 1/F))."""
    high = None if exact is None else exact.bound
    if (
        exact is None
        or exact.end is None
        or high is None
        or isinstance(high, Root)
        or not (low / high).is_rational_function()
    ):
        return draft
    quotient = cancelled(low / high)
    whole, leads = draft.answer.step("threshold"), draft.answer.step("rule")
    assert whole is not None
    assert leads is not None
    own = tuple(guard for _, guard in leads.right.rows) if isinstance(leads.right, Cases) else ()
    sides, least_one = draft.setting.in_numbers(low).as_numer_denom(), draft.setting.least_one
    if not own and any(sign_of(side, least_one) in (None, 0) for side in sides):
        return draft  # the bound of the rule may vanish, or what it is divided by
    guards = tuple(dict.fromkeys((*(() if exact.guard is None else (exact.guard,)), *own)))
    left, evidence = Quotient(exact.end.right, bound(low, draft.layout)), Beside(whole, leads)
    put = draft.write(draft.setting.in_numbers(1 / quotient))
    draft = draft.add(Step("rule", Reason.FIGURES, left, "=", put, guards, evidence, role="rule_factor"))
    terms = laurent(quotient, symbols_of(quotient))
    r = symbol("ridge")
    if quotient == 1 or terms is None:
        return draft
    parts = [m for _, m in terms if m.has(r)]
    plain = Add(*(rational(c) * m for c, m in terms if not m.has(r)))
    per_ridge = Add(*(rational(-c) * m / r for c, m in terms if m.has(r)))
    if per_ridge.has(r) or per_ridge == 0:
        return draft
    gone = Product((RIDGE, draft.write(per_ridge))) if len(parts) > 1 else draft.write(r * per_ridge)
    right = Quotient(number(1), Sum((draft.write(plain), Negative(gone))))
    return draft.add(Step("rule", Reason.RULE_FACTOR, left, "=", right, guards, evidence))
