"""The sections on the machine and on time: the ridge; what each resource is busy for, and how much of that overlaps; and a table
of times where sizes are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, islice
from math import floor

from sympy import Add, Expr, Integer

from symroof.algebra.rational import cancel, sign_of
from symroof.algebra.rounding import shorten
from symroof.derivation.drafts import INTENSITY, RIDGE, T_STEPS, T_UPPER, Draft, Point, as_number, decimals
from symroof.derivation.mesh_sections import single_fraction
from symroof.derivation.numbers_at_sizes import Values
from symroof.derivation.quantity_definitions import costs, substitute
from symroof.derivation.size_constraints import are_valid
from symroof.derivation.solving import solution_of
from symroof.derivation.whole_sizes import wholes
from symroof.formula import Call, Compare, Formula, Name, Product, Quotient, Sum, nodes, number, product, total
from symroof.model.collectives import is_latency
from symroof.model.pipeline_stages import BUBBLE
from symroof.model.program import Program
from symroof.model.quantities import BANDWIDTH, PEAK, T_COMMS, T_LOWER, T_MATH, time_name
from symroof.model.resources import every_time, steps_of, times_of
from symroof.proof.overlap_bounds import Overlap
from symroof.proof.step import Evidence, Reason, RowSize, Step, amount_of
from symroof.symbols import exactly, expression, rational

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
        steps += decimals("ridge", RIDGE, setting.ridge)
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
        value = draft.layout.factored(cancel(rational(setting.ridge) / setting.intensity))
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
    setting, at, where = draft.setting, draft.answer.at[point], draft.where(point)
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
    where, facts = where if at_size in where else (*where, at_size), RowSize(size)
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
    problem, bound = draft.setting.problem, as_number(at.bound)
    if x in problem.mesh:
        near = 32 if bound is None else max(bound, 1)
        powers = sorted((2**k for k in range(13)), key=lambda n: max(n / near, near / n))
        return sorted(islice((Fraction(n) for n in powers if are_valid(problem, {**at.values, x: Fraction(n)})), ROWS))
    chosen = table_sizes(bound, at.smallest_integer, wholes(draft.setting, x, point).each)
    return [size for size in chosen if are_valid(problem, {**at.values, x: size})] or chosen[:1]


def table_sizes(bound: Fraction | None, first: int | None, step: int) -> list[Fraction]:
    """Rows worth reading: one, a power of two near half the bound, both sides of the bound, one near four times it.

    >>> [int(size) for size in table_sizes(Fraction(20172800, 79043), 256, 1)]
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


# What is done, and the name of the figure that it is done at: a bandwidth, or the latency of a hop.
Part = tuple[Expr, str]


class Times:
    """The times of a program: each as a formula of other times and of amounts over their rates; and written in sizes, where
    those of a ``point`` are put in."""

    def __init__(self, draft: Draft, point: int | None = None) -> None:
        self.draft, problem = draft, draft.setting.problem
        self.formulas, self.amounts = every_time(problem.operation, draft.setting.rates), costs(draft.setting)
        self.sizes = {} if point is None else problem.at[point]
        bubble = self.amounts.get(BUBBLE.name, Integer(0))
        self.wait = cancel(draft.value_at(bubble / (1 - bubble), self.sizes))

    def part(self, time: Formula) -> Part | None:
        """An amount and its rate, where a time is that and nothing else."""
        match time:
            case Name() if is_latency(time.name):
                return Integer(1), time.name
            case Quotient(above=Name() as done, below=Name() as rate):
                return self.draft.value_at(self.amounts[done.name], self.sizes), rate.name
            case Product(factors=(*many, Name() as hop)) if is_latency(hop.name):
                return self.draft.value_at(substitute(expression(product(*many)), self.amounts), self.sizes), hop.name
        return None

    def parts(self, *times: Formula) -> Iterator[Part]:
        """All that is done in these times."""
        for node in (node for time in times for node in nodes(time)):
            if (part := self.part(node)) is not None:
                yield part
            elif isinstance(node, Name) and node.name in self.formulas:
                yield from self.parts(self.formulas[node.name])

    @property
    def free(self) -> frozenset[str]:
        """The names of the sizes that are left open."""
        amounts = (amount for amount, _ in self.parts(T_LOWER, T_UPPER))
        return frozenset(s.name for amount in (*amounts, self.wait) for s in amount.free_symbols)

    def written(self, time: Formula) -> Formula:
        """A time in sizes and figures: one fraction for each rate, and beside it the longest of several."""
        by_rate, beside = dict[str, list[Expr]](), list[Formula]()
        for term in self._terms(time):
            if isinstance(term, Formula):
                beside.append(term)
            else:
                by_rate.setdefault(term[1], []).append(term[0])
        done = (_at_rate(_on_one_bar(self.draft, Add(*each)), rate) for rate, each in by_rate.items())
        terms = (*done, *beside)
        return total(*terms) if terms else number(0)

    def _terms(self, time: Formula) -> Iterator[Part | Formula]:
        factored = self.draft.layout.factored
        if (part := self.part(time)) is not None:
            yield part
            return
        match time:
            case Name():
                yield from self._terms(self.formulas[time.name])
            case Sum():
                yield from chain(*map(self._terms, time.terms))
            case Call():
                yield Call("max", tuple(map(self.written, time.arguments)))
            case Quotient(above=Product(factors=(Name(name=BUBBLE.name), stages))):
                yield from (product(factored(self.wait), self.written(stages)),) if self.wait != 0 else ()
            case Quotient(above=stages):
                yield product(factored(1 + self.wait), self.written(stages))


def times_defined(draft: Draft, program: Program) -> Draft:
    """What each time is that only programs have, as far as no step says it yet; but for T_steps and the two bounds."""
    times, defined = times_of(program, draft.setting.rates), draft.ledger.definitions
    names = ("T_lower", "T_upper", time_name(draft.setting.rates.called), *defined)
    missing = {name: time for name, time in times.items() if name not in names}
    rests = {name: e for name in missing if isinstance(e := draft.ledger.meanings.get(name), Evidence)}
    return draft.add(
        *(Step("time", Reason.FACT, Name(name), "=", time, evidence=rests.get(name)) for name, time in missing.items())
    )


def steps_defined(draft: Draft, program: Program) -> Draft:
    """T_steps, as the program says who overlaps with whom."""
    evidence, formula = draft.ledger.evidence("T_steps"), steps_of(program, draft.setting.rates)
    return draft.add(Step("time", Reason.STEPS, T_STEPS, "=", formula, evidence=evidence))


def time_of_program(draft: Draft, program: Program) -> Draft:
    """The time of each resource, the two bounds, and between them T_steps."""
    draft = times_defined(draft, program)
    times = Times(draft)
    each, bounds = each_time(draft, times, draft.setting.equalities)
    if program.alone:
        each = tuple(line for step in each for line in (step, *_in_seconds(draft, step)))
    elif not draft.setting.rates.joint:
        each = (*each[:-1], Step("time", Reason.TIME, each[-1].left, "=", T_COMMS), each[-1])
    else:
        each = (*each, Step("time", Reason.TIME, T_COMMS, "=", draft.ledger.formula("T_comms")))
    draft = draft.add(*each, Step("time", Reason.LINE, T_LOWER, "=", draft.ledger.formula("T_lower")))
    upper = Step("time", Reason.LINE, T_UPPER, "=", draft.ledger.formula("T_upper"))
    if program.line is not None:  # one statement overlaps with itself alone
        several = len(upper.right.terms) if isinstance(upper.right, Sum) else 1
        twice = product(number(several), T_LOWER)
        return draft.add(upper, Step("time", Reason.SAME, T_UPPER, "<=", twice), *bounds)
    draft = steps_defined(draft, program).add(upper, *bounds)
    if any(sign_of(amount, draft.setting.least_one) != 1 for amount, _ in times.parts(T_STEPS)):
        return draft  # 2c - 1 FLOPs are fewer than none where c, that other sizes define, may be small
    return draft.add(
        Step("time", Reason.ORDER, T_LOWER, "<=", T_STEPS, evidence=Overlap()),
        Step("time", Reason.ORDER, T_STEPS, "<=", T_UPPER, evidence=Overlap()),
    )


def each_time(
    draft: Draft, times: Times, where: tuple[Formula, ...], point: int | None = None
) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The time of each resource, the memory last; and the bounds and T_steps in what these are."""

    def equality(name: Name, reason: Reason) -> Step:
        shown = draft.in_digits(times.written(name))
        return Step("time", reason, name, "=", shown, where, role=amount_of(name.name), point=point)

    *others, memory = (Name(time_name(resource)) for resource in draft.setting.rates.resources)
    of_memory = Reason.TIME if draft.setting.rates.joint or memory == T_COMMS else Reason.SAME
    reasons = (*(Reason.TIME for _ in others), of_memory) if point is None else (Reason.FACT,) * (len(others) + 1)
    moving = () if memory == T_COMMS else (T_COMMS,)
    steps = () if draft.setting.problem.operation.line is not None else (T_STEPS,)
    bounds = (*moving, T_LOWER, *steps, T_UPPER)
    return tuple(map(equality, (*others, memory), reasons)), tuple(equality(name, Reason.FACT) for name in bounds)


def _in_seconds(draft: Draft, step: Step) -> tuple[Step, ...]:
    """A time as a decimal, where no size is left open."""
    rates = {name: figure.value for name, figure in draft.setting.figures.items()}
    seconds = exactly(expression(step.right), rates)
    return () if seconds is None else decimals("time", step.left, seconds, shorten(seconds, 3))


def _at_rate(amount: Formula, rate: str) -> Formula:
    return product(amount, Name(rate)) if is_latency(rate) else fraction_bar(amount, Name(rate))


def _on_one_bar(draft: Draft, amount: Expr) -> Formula:
    """An amount as it is read; what one chip of several does, a sum of fractions, over what they have in common."""
    shown = draft.write(amount)
    several = isinstance(shown, Sum) and any(isinstance(term, Quotient) for term in shown.terms)
    return single_fraction(draft, amount) if several and draft.setting.problem.operation.axes else shown


def fraction_bar(above: Formula, below: Formula) -> Quotient:
    """One fraction bar, not two."""
    match above, below:
        case Quotient(), Quotient() if above.below == below.below:
            return Quotient(above.above, below.above)
        case Quotient(), _:
            return Quotient(above.above, Product((above.below, below)))
    return Quotient(above, below)
