"""Which resource of a mesh is busy longest: where arithmetic takes longer than the memory and than each link, and than all
of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

from sympy import Add, Expr

from symroof.algebra.rational import cancelled
from symroof.algebra.roots import Root
from symroof.derivation.draft import PEAK as PEAK_NAME
from symroof.derivation.draft import T_COMMS, T_MATH, Draft, numeric
from symroof.derivation.figures_used import ring_steps
from symroof.derivation.layout import is_negative
from symroof.derivation.rule import chip_step
from symroof.derivation.sizes import put_in, valued
from symroof.derivation.solutions import Solution
from symroof.derivation.solving import solution_of
from symroof.formula import Compare, Formula, Name, Quotient, Sum, Verdict, number
from symroof.model.program import Program
from symroof.model.resources import time_name
from symroof.model.statement_costs import amounts, sent_over
from symroof.proof.ledger import Solved
from symroof.proof.limits import Whole
from symroof.proof.minima import Dividing
from symroof.proof.step import Reason, Step, against
from symroof.symbols import rational, symbol

PEAK = symbol("peak")
# No larger numbers of chips are tried one by one.
LARGEST_BOUND = 10**5


def resources(draft: Draft) -> Draft:
    """Where arithmetic takes longer than each link, solved for a size or an axis; and than all of them and the memory."""
    rates, setting, program = draft.setting.rates, draft.setting, draft.setting.problem.operation
    if rates.mixed or not program.axes:
        return draft
    for resource, figure in rates.links:
        if resource != rates.comms or program.line is None:  # that of a product is what the threshold says
            draft = _against(draft, program, resource, figure, setting.equalities, {}, None)
    whole = draft.answer.step("threshold")
    if rates.joint and whole is not None:
        draft = _jointly(draft, whole, None)
        for point, values in enumerate(setting.problem.at):
            draft = _against_at(draft, program, point, values)
    return draft


def _against(
    draft: Draft,
    program: Program,
    resource: str,
    figure: str,
    where: tuple[Formula, ...],
    values: Mapping[str, Fraction],
    point: int | None,
) -> Draft:
    """Where arithmetic takes longer than one link."""
    setting, rates, known = draft.setting, draft.setting.rates, amounts(program, draft.setting.problem.count)
    sent, rate = sent_over(resource), rates.rate(resource)
    carried = valued(draft, known[sent], values)
    if carried == 0:  # an axis of one chip sends nothing
        role, waits = against("threshold", resource), Compare(T_MATH, ">", Name(f"T_{resource}"))
        nothing = Step(
            "resources", Reason.SOLVE, waits, "<=>", Verdict(True), where, None, Solved(resource), role, point
        )
        return draft.add(nothing)
    ratio = cancelled(valued(draft, known["flops_per_chip"], values) / carried)
    x, level, name = _asked(draft, ratio, resource), PEAK / symbol(rate), Name(f"T_{resource}")
    numbers = {symbol(n): rational(known_.value) for n, known_ in setting.known.items() if n in ("peak", rate)}
    in_numbers = level.subs(numbers) if point is not None or x is None else level
    same, role = Compare(T_MATH, ">", name), against("threshold", resource)
    if point is None:
        over = (Quotient(Name("flops_per_chip"), PEAK_NAME), Quotient(Name(sent), Name(rate)))
        draft = draft.add(Step("resources", Reason.COMPARE_TIMES, same, "<=>", Compare(over[0], ">", over[1])))
    if x is None:
        if not (ratio.is_Rational and in_numbers.is_Rational):
            return draft
        always = Verdict(bool(ratio > in_numbers))
        return draft.add(
            Step("resources", Reason.SOLVE, same, "<=>", always, where, None, Solved(resource), role, point)
        )
    solution = solution_of(ratio, in_numbers, x, setting.least_one, layout=draft.layout, values=setting.values)
    conditions, facts = (*where, *solution.bands), Solved(x.name)
    draft = draft.add(
        Step("resources", Reason.SOLVE, same, "<=>", _solved(draft, solution), conditions, None, facts, role, point)
    )
    draft = _in_figures(draft, solution, resource, figure) if point is None else draft
    return _whole(draft, solution, resource, where, point)


def _whole(draft: Draft, solution: Solution, resource: str, where: tuple[Formula, ...], point: int | None) -> Draft:
    """The least whole size above a numeric bound, or the largest one below it."""
    edge, end, stride = numeric(solution.bound), solution.end, chip_step(draft.setting, solution.variable, point)
    if edge is None or end is None or isinstance(solution.bound, Root) or end.relation not in ("<", ">"):
        return draft
    rises = end.relation == ">"
    last = max(floor(edge / stride) + 1, 1) if rises else ceil(edge / stride) - 1
    if last < 1:
        return draft
    left, right = Compare(end.left, end.relation, draft.write(edge)), number(last * stride)
    bound, role = Compare(end.left, ">=" if rises else "<=", right), against("whole", resource)
    draft = draft.add(Step("resources", Reason.WHOLE, left, "<=>", bound, where, Whole(stride), None, role, point))
    return draft if rises else draft.add(*_dividing(draft, solution.variable, last * stride, where, point))


def _dividing(draft: Draft, axis: str, most: int, where: tuple[Formula, ...], point: int | None) -> Iterator[Step]:
    """The largest number of chips up to a bound that divides all known sizes which the axis splits, and closes as it does."""
    setting = draft.setting
    split = {dim.label for t in setting.problem.operation.held for dim in t.dims if axis in dim.axes}
    values = {**({} if point is None else setting.problem.at[point])}
    sizes, step = {n: values[n] for n in sorted(split & values.keys())}, ring_steps(setting.problem).get(axis, 1)
    dividing = [
        d for d in range(step, min(most, LARGEST_BOUND) + 1, step) if all(size % d == 0 for size in sizes.values())
    ]
    if not sizes or not dividing or most > LARGEST_BOUND:
        return
    best, evidence = dividing[-1], Dividing(tuple(map(Name, sizes)), most, step)
    for name, size in sizes.items():
        left, right = Quotient(Name(name), number(best)), draft.write(size / best)
        yield Step(
            "resources", Reason.DIVIDES, left, "=", right, where, evidence, None, against("divides", axis), point
        )


def _jointly(draft: Draft, memory: Step, point: int | None) -> Draft:
    """Where arithmetic takes longer than the memory and all links: where it does than each."""
    from symroof.proof.scheduling import AboveAll, joined

    rates = draft.setting.rates
    same = Compare(T_MATH, ">", Name(rates.compared))
    draft = draft.add(
        replace(memory, section="resources", left=same, role=against("threshold", rates.memory), check=None)
    )
    said = {step.left: step for step in draft.steps if isinstance(step.facts, Solved) and step.point == point}
    times = (rates.compared, *(time_name(link) for link, _ in rates.links))
    known = [said.get(Compare(T_MATH, ">", Name(time))) for time in times]
    if None in known:
        return draft
    where = dict.fromkeys(assumption for step in known if step for assumption in step.assumptions)
    right = joined(step.right for step in known if step)
    together = Compare(T_MATH, ">", T_COMMS)
    return draft.add(
        Step("resources", Reason.COMPARE_TIMES, together, "<=>", right, tuple(where), AboveAll(), None, "all", point)
    )


def _against_at(draft: Draft, program: Program, point: int, values: Mapping[str, Fraction]) -> Draft:
    """The same at a set of sizes."""
    rates, where, memory = draft.setting.rates, put_in(draft, point), draft.answer.at[point].step("threshold")
    for resource, figure in rates.links:
        draft = _against(draft, program, resource, figure, where, values, point)
    if memory is not None:
        return _jointly(draft, memory, point)
    side = draft.answer.at[point].step("side")
    links = [step.right for step in draft.steps if step.point == point and isinstance(step.right, Verdict)]
    if side is None or len(links) < len(rates.links):
        return draft
    relation = ">" if side.relation == ">" and Verdict(False) not in links else "<="
    return draft.add(Step("resources", Reason.SIDE, T_MATH, relation, T_COMMS, where, role="joint", point=point))


def _asked(draft: Draft, ratio: Expr, resource: str) -> Expr | None:
    """What a condition is solved for: what was asked for, or the first size that people turn of those it depends on."""
    free = {s.name for s in ratio.free_symbols}
    asked = draft.setting.problem.solve_for
    order = (*((asked,) if asked else ()), *draft.setting.turned(resource))
    return next((symbol(name) for name in order if name in free), None)


def _solved(draft: Draft, solution: Solution) -> Formula:
    """The condition, its bound with a number apart."""
    if isinstance(solution.formula, Compare) and isinstance(solution.bound, Expr):
        end = solution.formula
        return Compare(end.left, end.relation, _apart(draft, solution.bound))
    return solution.formula


def _apart(draft: Draft, value: Expr) -> Formula:
    """A bound as it is read: 1 + F/1700, not (F + 1700)/1700."""
    above, below = cancelled(value).as_numer_denom()
    terms = Add.make_args(above.expand())
    rest = [x for x in terms if not (x / below).is_Rational]
    number = cancelled((above - Add(*rest)) / below)
    if below == 1 or not rest or number <= 0 or any(map(is_negative, rest)):
        return draft.layout.factored(cancelled(value))
    return Sum((draft.write(number), draft.write(cancelled(Add(*rest) / below))))


def _in_figures(draft: Draft, solution: Solution, resource: str, figure: str) -> Draft:
    """The bound with the figures put in, where they are known; and the condition with it, where that has no guard."""
    bound, known, end = solution.bound, draft.setting.known, solution.end
    if end is None or not isinstance(bound, Expr) or not {"peak", figure} <= known.keys():
        return draft
    values = {symbol(name): rational(known[name].value) for name in ("peak", figure, "bandwidth") if name in known}
    put, where = cancelled(bound.subs(values)), () if solution.guard is None else (solution.guard,)
    shown = _apart(draft, put)
    draft = draft.add(Step("resources", Reason.FIGURES, end.right, "=", shown, where, role=against("bound", resource)))
    if solution.guard is not None or shown == end.right:
        return draft
    same, condition = Compare(T_MATH, ">", Name(f"T_{resource}")), Compare(end.left, end.relation, shown)
    conditions, facts = (*draft.setting.equalities, *solution.bands), Solved(solution.variable)
    return draft.add(
        Step("resources", Reason.SOLVE, same, "<=>", condition, conditions, None, facts, against("figured", resource))
    )
