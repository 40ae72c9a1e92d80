"""Which resource of a mesh is busy longest: where arithmetic takes longer than the memory and than each link, and than all
of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from sympy import Add, Expr, Integer, Mul

from symroof.algebra.rational import cancel, is_rational
from symroof.algebra.roots import Root
from symroof.derivation.drafts import Draft
from symroof.derivation.formula_writing import is_negative
from symroof.derivation.solutions import Solution
from symroof.derivation.solving import solution_of
from symroof.derivation.whole_sizes import ranges, spans_of, whole_step, wholes
from symroof.formula import Compare, Formula, Name, Quotient, Sum, Verdict, names, number
from symroof.model.chip_costs import chip_costs, message
from symroof.model.collectives import is_latency
from symroof.model.program import Program
from symroof.model.program_quantities import amounts
from symroof.model.quantities import PEAK as PEAK_NAME, T_COMMS, T_MATH, sent_over, time_name
from symroof.model.resources import HOPS, LATENCY, slowest, times_of
from symroof.proof.mesh_facts import BreakEvenMessage
from symroof.proof.overlap_bounds import Exceeds, conjunction
from symroof.proof.step import Reason, Step, Unknown, role_of
from symroof.symbols import expression, fraction, rational, symbol

PEAK = symbol("peak")


def resources(draft: Draft) -> Draft:
    """Where arithmetic takes longer than each link, solved for a size or an axis; and than all of them and the memory."""
    rates, setting, program = draft.setting.rates, draft.setting, draft.setting.problem.operation
    if not program.axes:
        return draft
    for resource, figure in (*rates.links, *_latency(draft)):
        if resource != rates.comms or program.line is None:  # that of a product is what the threshold says
            draft = _against(draft, program, resource, figure, setting.equalities, {}, None)
    draft = _take_over(draft) if rates.latencies else draft
    threshold_step = draft.answer.step("threshold")
    if rates.joint and threshold_step is not None:
        draft = _jointly(draft, threshold_step, None)
        for point, values in enumerate(setting.problem.at):
            draft = _against_at(draft, program, point, values)
    elif rates.mixed:
        for point, values in enumerate(setting.problem.at):
            for resource, figure in (*rates.links, *_latency(draft)):
                draft = _against(draft, program, resource, figure, draft.where(point), values, point)
    for point in range(len(setting.problem.at)) if rates.latencies else ():
        draft = _take_over(draft, point)
    return draft


def _latency(draft: Draft) -> tuple[tuple[str, str], ...]:
    """The hops, where it is known which of them take longest."""
    return ((LATENCY, LATENCY),) if draft.setting.rates.latencies and _slowest(draft) is not None else ()


def _slowest(draft: Draft) -> Formula | None:
    """What the hops take that take longest; None where that is open."""
    latencies = slowest(draft.setting.rates, draft.setting.exact).latencies
    return latencies[0] if len(latencies) == 1 else None


def _sides(draft: Draft, resource: str, values: Mapping[str, Fraction]) -> tuple[Expr, Expr, Formula] | None:
    """What is above what where arithmetic takes longer than a link or than hops, and the time of that; None where
    nothing is sent."""
    setting, counts = draft.setting, amounts(draft.setting.problem.operation, draft.setting.problem.count)
    flops, peak = draft.value_at(counts["flops_per_chip"], values), PEAK
    if setting.mixed:  # at several peaks it is the time that is compared, and the figures are put in
        flops, peak = draft.value_at(setting.in_numbers(setting.arithmetic), values), Integer(1)
    if resource == LATENCY:
        longest = _slowest(draft)
        assert longest is not None
        time = draft.value_at(expression(longest), values)
        figures = Mul(*(x for x in time.free_symbols if is_latency(x.name))) if not time.is_Add else Integer(1)
        hops = cancel(time / figures) if figures != 1 else Integer(1)
        level = peak * cancel(time / hops)
        return cancel(flops / hops), setting.in_numbers(level) if setting.mixed else level, longest
    name_sent, rate = sent_over(resource), setting.rates.rate(resource)
    carried = draft.value_at(counts[name_sent], values)
    if carried == 0:  # an axis of one chip sends nothing
        return None
    level = setting.in_numbers(peak / symbol(rate)) if setting.mixed else peak / symbol(rate)
    return cancel(flops / carried), level, Quotient(Name(name_sent), Name(rate))


def _take_over(draft: Draft, point: int | None = None) -> Draft:
    """From which message on the bytes of each exchange take longer than its hops; and from which size."""
    setting, program = draft.setting, draft.setting.problem.operation
    values = {} if point is None else setting.problem.at[point]
    where = setting.equalities if point is None else draft.where(point)
    for name, cost in chip_costs(program).items():
        for send, resource in ((exchange, r) for exchange in cost.exchanges for r in exchange.sent):
            size = message(send.move, program)
            hops = Add(*(n * symbol(latency) for latency, n in send.hops.items()))
            level = hops * symbol(setting.rates.rate(resource)) * size * send.turns / send.sent[resource]
            size, level = (draft.value_at(program.resolved(value), values) for value in (size, cancel(level)))
            moved = time_name(resource, send.label if len(cost.over(resource)) > 1 else name)
            longer = Compare(Name(moved), ">", Name(time_name(HOPS, send.label)))
            put = cancel(level.subs({symbol(n): rational(figure.value) for n, figure in setting.known.items()}))
            if point is None:
                least = number(fraction(put)) if put.is_Rational else draft.layout.factored(level)
                details = (send.label, send.move.collective, send.move.axes, str(send.move.tensor.name))
                facts = BreakEvenMessage(*details, resource, least)
                above = Compare(draft.write(size), ">", draft.layout.factored(level))
                draft = draft.add(Step("resources", Reason.TAKES_OVER, longer, "<=>", above, where, facts=facts))
            draft = _crossing(draft, longer, size, put if put.is_Rational else level, where, point)
    return draft


def _crossing(
    draft: Draft, longer: Compare, message_size: Expr, level: Expr, where: tuple[Formula, ...], point: int | None
) -> Draft:
    """The same solved for a size."""
    setting, x = draft.setting, _unknown(draft, message_size, "")
    if x is None and message_size.is_Rational and level.is_Rational:
        settled = Verdict(bool(message_size > level))
        return draft.add(Step("resources", Reason.SIDE, longer, "<=>", settled, where, point=point))
    if x is None:
        return draft
    solution = solution_of(message_size, level, x, setting.least_one, layout=draft.layout, values=setting.values)
    facts, conditions = Unknown(x.name), (*where, *solution.bands)
    solved_step = _solved(draft, solution)
    return draft.add(Step("resources", Reason.SOLVE, longer, "<=>", solved_step, conditions, None, facts, point=point))


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
    setting, facts, result = draft.setting, Unknown(resource), _sides(draft, resource, values)
    if result is None:
        role, waits = role_of("threshold", resource), Compare(T_MATH, ">", Name(f"T_{resource}"))
        return draft.add(Step("resources", Reason.SOLVE, waits, "<=>", Verdict(True), where, None, facts, role, point))
    ratio, level, time = result
    x, name = _unknown(draft, ratio, resource), Name(f"T_{resource}")
    used = {s.name for s in level.free_symbols}
    numbers = {symbol(n): rational(known_.value) for n, known_ in setting.known.items() if n in used}
    in_numbers = level.subs(numbers) if point is not None or x is None else level
    same, role = Compare(T_MATH, ">", name), role_of("threshold", resource)
    if point is None:
        math = times_of(program, setting.rates)["T_math"]
        over = (math if setting.mixed else Quotient(Name("flops_per_chip"), PEAK_NAME), time)
        draft = draft.add(Step("resources", Reason.COMPARE_TIMES, same, "<=>", Compare(over[0], ">", over[1])))
    if x is None:
        if not (ratio.is_Rational and in_numbers.is_Rational):
            return draft
        always = Verdict(bool(ratio > in_numbers))
        return draft.add(Step("resources", Reason.SOLVE, same, "<=>", always, where, None, facts, role, point))
    solution = solution_of(ratio, in_numbers, x, setting.least_one, layout=draft.layout, values=setting.values)
    conditions, facts = (*where, *solution.bands), Unknown(x.name)
    draft = draft.add(
        Step("resources", Reason.SOLVE, same, "<=>", _solved(draft, solution), conditions, None, facts, role, point)
    )
    draft = _in_figures(draft, solution, resource, figure) if point is None else draft
    return _whole(draft, solution, resource, where, point)


def _whole(draft: Draft, solution: Solution, resource: str, where: tuple[Formula, ...], point: int | None) -> Draft:
    """The least whole size above a numeric bound, or the largest one below it."""
    if solution.end is None or solution.bound is None or isinstance(solution.bound, Root):
        return draft
    end = replace(solution.end, right=draft.write(solution.bound))
    whole = wholes(draft.setting, solution.variable, point)
    step = whole_step("resources", end, solution.bound, whole)
    if step is None:
        return draft
    return draft.add(replace(step, assumptions=where, role=role_of("whole", resource), point=point))


def _jointly(draft: Draft, memory: Step, point: int | None) -> Draft:
    """Where arithmetic takes longer than the memory and all links: where it does than each."""
    rates = draft.setting.rates
    same = Compare(T_MATH, ">", Name(rates.compared))
    draft = draft.add(
        replace(memory, section="resources", left=same, role=role_of("threshold", rates.memory), check=None)
    )
    solutions = {step.left: step for step in draft.steps if isinstance(step.facts, Unknown) and step.point == point}
    hops = (time_name(LATENCY),) if rates.latencies else ()
    times = (rates.compared, *(time_name(link) for link, _ in rates.links), *hops)
    relations = [solutions.get(Compare(T_MATH, ">", Name(time))) for time in times]
    if None in relations:
        return draft
    where = dict.fromkeys(assumption for step in relations if step for assumption in step.assumptions)
    right = conjunction(step.right for step in relations if step)
    size = next((name for name in names(right)), "")
    if (spans := spans_of(right, size)) is not None:
        right = ranges(spans, size, draft.write, least=1)
    together = Compare(T_MATH, ">", T_COMMS)
    return draft.add(
        Step("resources", Reason.COMPARE_TIMES, together, "<=>", right, tuple(where), Exceeds(), None, "all", point)
    )


def _against_at(draft: Draft, program: Program, point: int, values: Mapping[str, Fraction]) -> Draft:
    """The same at a set of sizes."""
    rates, where, memory = draft.setting.rates, draft.where(point), draft.answer.at[point].step("threshold")
    for resource, figure in (*rates.links, *_latency(draft)):
        draft = _against(draft, program, resource, figure, where, values, point)
    if memory is not None:
        return _jointly(draft, memory, point)
    side = draft.answer.at[point].step("side")
    links = [step.right for step in draft.steps if step.point == point and isinstance(step.right, Verdict)]
    if side is None or len(links) < len(rates.links) + bool(rates.latencies):
        return draft
    relation = ">" if side.relation == ">" and Verdict(False) not in links else "<="
    return draft.add(Step("resources", Reason.SIDE, T_MATH, relation, T_COMMS, where, role="joint", point=point))


def _unknown(draft: Draft, ratio: Expr, resource: str) -> Expr | None:
    """What a condition is solved for: what was asked for, or the first size that people turn of those it depends on."""
    free = {s.name for s in ratio.free_symbols}
    variable = draft.setting.problem.solve_for
    order = (*((variable,) if variable else ()), *draft.setting.turned(resource))
    return next((symbol(name) for name in order if name in free), None)


def _solved(draft: Draft, solution: Solution) -> Formula:
    """The condition, its bound with a number apart."""
    if isinstance(solution.formula, Compare) and isinstance(solution.bound, Expr) and is_rational(solution.bound):
        end = solution.formula
        return Compare(end.left, end.relation, _apart(draft, solution.bound))
    return solution.formula


def _apart(draft: Draft, value: Expr) -> Formula:
    """A bound as it is read: 1 + F/1700, not (F + 1700)/1700."""
    above, below = cancel(value).as_numer_denom()
    terms = Add.make_args(above.expand())
    rest = [x for x in terms if not (x / below).is_Rational]
    number = cancel((above - Add(*rest)) / below)
    if below == 1 or not rest or number <= 0 or any(map(is_negative, rest)):
        return draft.layout.factored(cancel(value))
    return Sum((draft.write(number), draft.write(cancel(Add(*rest) / below))))


def _in_figures(draft: Draft, solution: Solution, resource: str, figure: str) -> Draft:
    """The bound with the figures put in, where they are known; and the condition with it, where that has no guard."""
    bound, figures, end = solution.bound, draft.setting.known, solution.end
    if end is None or not isinstance(bound, Expr) or not is_rational(bound):
        return draft  # a root has them in too many places to be read
    latencies = {s.name for s in bound.free_symbols if is_latency(s.name)}
    names = {"peak", *(latencies if figure == LATENCY else (figure,))}
    if not names <= figures.keys():
        return draft
    values = {symbol(name): rational(figures[name].value) for name in (*names, "bandwidth") if name in figures}
    value, where = cancel(bound.subs(values)), () if solution.guard is None else (solution.guard,)
    shown = _apart(draft, value)
    draft = draft.add(Step("resources", Reason.FIGURES, end.right, "=", shown, where, role=role_of("bound", resource)))
    if solution.guard is not None or shown == end.right:
        return draft
    same, condition = Compare(T_MATH, ">", Name(f"T_{resource}")), Compare(end.left, end.relation, shown)
    conditions, facts = (*draft.setting.equalities, *solution.bands), Unknown(solution.variable)
    return draft.add(
        Step("resources", Reason.SOLVE, same, "<=>", condition, conditions, None, facts, role_of("figured", resource))
    )
