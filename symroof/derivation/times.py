"""The sections on the machine and on time: the ridge, bounds on the running time, a table of them where sizes are known,
and named formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from math import floor

from sympy import Expr

from symroof.algebra.rational import cancelled
from symroof.derivation.answer import Point
from symroof.derivation.equations import solution
from symroof.derivation.named_formulas import Basis, ground_of, named
from symroof.derivation.numbers_at_sizes import Values
from symroof.derivation.optimum import at_sizes, compute_bound, optimum
from symroof.derivation.program_times import T_STEPS, Times, each_time, time_of_program, times_defined
from symroof.derivation.size_constraints import is_there
from symroof.derivation.solving import solution_of
from symroof.derivation.steps import (
    BANDWIDTH,
    INTENSITY,
    PEAK,
    RIDGE,
    T_COMMS,
    T_LOWER,
    T_MATH,
    T_UPPER,
    Draft,
    numeric,
    rounded,
)
from symroof.derivation.summary import put_in
from symroof.derivation.whole_sizes import Wholes, counts_chips, wholes
from symroof.formula import Compare, Formula, Name, Quotient, Sum, number, product
from symroof.model.problem import Problem, Sketch
from symroof.model.quantities import time_name
from symroof.proof.step import AtSize, Reason, Step
from symroof.symbols import rational

# The most rows of a table of times over the chips of an axis.
ROWS = 5


def ridge(draft: Draft) -> Draft:
    """The intensity at which arithmetic and transfer take the same time; none where contractions run at several peaks."""
    setting = draft.setting
    if setting.mixed:
        return _several_peaks(draft)
    times = (Quotient(Name(setting.flops_name), PEAK), Quotient(Name(setting.moved_name), BANDWIDTH))
    steps = [
        Step("ridge", Reason.FACT, T_MATH, "=", times[0]),
        Step("ridge", Reason.FACT, Name(setting.slower), "=", times[1]),
        Step("ridge", Reason.RIDGE, RIDGE, "=", Quotient(PEAK, BANDWIDTH)),
    ]
    if setting.digits:
        steps.append(Step("ridge", Reason.FIGURES, RIDGE, "=", draft.in_digits(Quotient(PEAK, BANDWIDTH))))
    if setting.ridge is not None:
        steps.append(Step("ridge", Reason.FIGURES, RIDGE, "=", draft.write(setting.ridge), role="ridge"))
        steps += rounded("ridge", RIDGE, setting.ridge)
    same, quotients, sides = (
        Compare(a, ">", b) for a, b in ((T_MATH, Name(setting.slower)), times, (INTENSITY, RIDGE))
    )
    return draft.add(
        *steps,
        Step("ridge", Reason.COMPARE_TIMES, same, "<=>", quotients),
        Step("ridge", Reason.SAME, same, "<=>", sides),
        *_upside_down(draft, sides),
    )


def _upside_down(draft: Draft, above: Compare) -> tuple[Step, ...]:
    """The condition as a bound on 1/intensity, where that is a sum with a term for each tensor."""
    turned = draft.answer.formula("reciprocal")
    if turned is None:
        return ()
    below = Compare(turned, "<", Quotient(number(1), RIDGE))
    return (Step("ridge", Reason.FACT, above, "<=>", below, draft.setting.equalities, role="upside_down"),)


def _several_peaks(draft: Draft) -> Draft:
    """T_math as a sum over the peaks, beside T_comms."""
    setting, program = draft.setting, draft.setting.problem.operation
    draft = times_defined(draft, program)
    each, _ = each_time(draft, Times(draft), setting.equalities)
    quotients = Compare(each[0].right, ">", each[-1].right)
    return draft.add(Step("ridge", Reason.COMPARE_TIMES, draft.above, "<=>", quotients, setting.equalities))


def time(draft: Draft) -> Draft:
    """T_math, T_comms and the two bounds; and a table of them where sizes are known."""
    setting, program = draft.setting, draft.setting.problem.operation
    draft = time_of_program(draft, program)
    if setting.over_network and setting.ridge is not None and setting.problem.operation.product is not None:
        value = draft.layout.factored(cancelled(rational(setting.ridge) / setting.intensity))
        draft = draft.add(Step("time", Reason.LINE, Quotient(T_COMMS, T_MATH), "=", value, setting.equalities))
        draft = _pays(draft)
    for point in range(len(setting.problem.at)):
        draft = _times_at(draft, point)
    return draft


def _pays(draft: Draft) -> Draft:
    """From which size on several chips beat one compute-bound chip: with perfect overlap, and with none."""
    setting, x = draft.setting, draft.setting.variable
    if not setting.chips.is_Integer:
        return draft
    chips = int(setting.chips)
    alone = product(number(chips), T_MATH)
    steps: list[Step] = []
    for time_of, share in ((T_COMMS, chips), (Sum((T_MATH, T_COMMS)), chips - 1)):
        if share < 1 or setting.ridge is None or not setting.intensity.has(x):
            return draft
        solution = solution_of(
            setting.intensity * share, rational(setting.ridge), x, setting.least_one, layout=setting.layout
        )
        if solution.end is None or not isinstance(solution.bound, Expr) or not solution.bound.is_Rational:
            return draft
        steps.append(Step("time", Reason.PAYS, Compare(alone, ">", time_of), "<=>", solution.end, setting.equalities))
    return draft.add(*steps)


def _times_at(draft: Draft, point: int) -> Draft:
    """The times at a set of sizes: formulas in what stays free, and rows where that is one size or none."""
    setting, at, where = draft.setting, draft.answer.at[point], put_in(draft, point)
    if not setting.timed:
        return draft
    times = Times(draft, point)
    each, bounds = each_time(draft, times, where, point)
    draft = draft.add(*each, *bounds)
    x = at.variable or setting.variable.name
    if setting.idle or not times.free <= {x} or not setting.problem.names:
        return draft
    given = at.values.get(x)
    sizes = [given] if given is not None else _rows(draft, x, at, point)
    return draft.add(*(step for size in sizes for step in _row(draft, times, x, size, where, point)))


def _row(draft: Draft, times: Times, x: str, size: Fraction, where: tuple[Formula, ...], point: int) -> Iterator[Step]:
    """Every time at one size, and which of those of arithmetic and transfer is longer."""
    result = Values(draft, times.amounts, {**draft.setting.problem.at[point], x: size})
    at_size = Compare(Name(x), "=", draft.write(size))
    where, facts = where if at_size in where else (*where, at_size), AtSize(size)
    rates = draft.setting.rates
    between = map(Name, map(time_name, rates.resources if rates.joint else rates.resources[:-1]))
    for name in dict.fromkeys((T_MATH, T_COMMS, T_LOWER, T_UPPER, *between, T_STEPS)):
        if name.name in draft.ledger.definitions and (seconds := result.value(name.name)) is not None:
            yield Step("time", Reason.FACT, name, "=", draft.write(seconds), where, None, facts, "row", point)
    math, comms = (result.value(name.name) or Fraction(0) for name in (T_MATH, T_COMMS))
    relation = ">" if math > comms else "<" if math < comms else "="
    yield Step("time", Reason.FACT, T_MATH, relation, T_COMMS, where, None, facts, "row", point)


def _rows(draft: Draft, x: str, at: Point, point: int) -> list[Fraction]:
    """The sizes of a table of times, each of which is there beside the others: chips are shared out and joined."""
    problem, bound = draft.setting.problem, numeric(at.bound)
    if x in problem.mesh:
        near = 32 if bound is None else max(bound, 1)
        powers = sorted((2**k for k in range(13)), key=lambda n: max(n / near, near / n))
        return sorted(islice((Fraction(n) for n in powers if is_there(problem, {**at.values, x: Fraction(n)})), ROWS))
    chosen = chosen_sizes(bound, at.smallest_integer, wholes(draft.setting, x, point).each)
    return [size for size in chosen if is_there(problem, {**at.values, x: size})] or chosen[:1]


def chosen_sizes(bound: Fraction | None, first: int | None, step: int) -> list[Fraction]:
    """Rows worth reading: one, a power of two near half the bound, both sides of the bound, one near four times it.

    >>> [int(size) for size in chosen_sizes(Fraction(20172800, 79043), 256, 1)]
    [1, 128, 255, 256, 1024]
    """
    if bound is None or bound < 1:
        return [Fraction(step * size) for size in (1, 32, 1024)]
    first = first or floor(bound / step + 1) * step
    sizes = {step, _power_of_two(bound / 2, step), _power_of_two(bound * 4, step), first, max(first - step, step)}
    return [Fraction(size) for size in sorted(sizes)]


def _power_of_two(near: Fraction, step: int) -> int:
    """The power of two, times the step, nearest to a number on a logarithmic scale."""
    size = step
    while Fraction(size) * size * 2 < near * near:
        size *= 2
    return size


def formulas(draft: Draft) -> Draft:
    """The named formulas of the problem, and what they come to; and the relation that is to be solved."""
    problem = draft.setting.problem
    if not problem.let and problem.solve is None and problem.minimize is None:
        return draft

    def of(point: int | None) -> Wholes | None:
        name = str(problem.solve_for)
        own = name in problem.symbols and not counts_chips(problem.solve, name)
        return None if own else wholes(draft.setting, name, point)

    ground = answered(ground_of(draft), problem, of)
    return replace(draft, steps=(*draft.steps, *ground.steps))


def answered(
    ground: Basis, problem: Problem | Sketch, of: Callable[[int | None], Wholes | None] = lambda point: Wholes()
) -> Basis:
    """What a problem asks beside its counts, or without any: its named formulas, its relation solved, and what is least.
    The whole numbers ``of`` what is solved for are told at each set of sizes, where it is one."""
    ground = named(ground)
    if problem.solve is not None and problem.solve_for is not None:
        ground = solution(ground, problem.solve, problem.solve_for, of)
    if problem.minimize is not None and problem.over is not None:
        ground, best = optimum(ground, problem.minimize, problem.over, problem.subject)
        ground = at_sizes(*compute_bound(ground, best))
    return ground
