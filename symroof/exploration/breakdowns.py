"""The times of a program as sums over its statements, at given sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from sympy import Add, Expr, Integer

from symroof.derivation.drafts import Steps
from symroof.derivation.evaluation import with_figures, with_times
from symroof.derivation.premises import Setting, setting_of
from symroof.derivation.quantity_definitions import quantities
from symroof.errors import ModelError
from symroof.exploration.curves import require_sizes
from symroof.exploration.regime_map import equality
from symroof.formula import Call, Formula, Frozen, Group, Name, Number, names
from symroof.model.kernels import costs_of
from symroof.model.pipeline_stages import BUBBLE
from symroof.model.problem import Problem
from symroof.model.program import Program
from symroof.model.quantities import time_name
from symroof.model.resources import LATENCY, busy_times, stage_statements, times_of, times_of_groups
from symroof.proof.step import Reason, Step
from symroof.symbols import fraction, rational, symbol

# Who takes a part of a time, what the part is, and the times of resources that are added up in it: the longest counts, with the
# wait of a stage where it has one.
Part = tuple[str, Formula, tuple[tuple[Formula, ...], ...], bool]


class Bar(Steps):
    """A time at a set of sizes; its steps say what each of the ``statements`` takes of it, in seconds. Those that overlap
    as one take a part of T_steps together."""

    values: Mapping[str, Fraction]
    time: str
    statements: tuple[str, ...]

    @property
    def parts(self) -> tuple[tuple[str, Fraction], ...]:
        return tuple(zip(self.statements, self.numbers("part"), strict=True))

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """What each part is of the whole; nothing of a time that is 0."""
        return tuple(seconds / self.seconds if self.seconds else Fraction(0) for _, seconds in self.parts)

    @property
    def seconds(self) -> Fraction:
        """The time of all of them."""
        return self.numbers("whole")[0]


class Breakdown(Frozen):
    """For each set of sizes ``each`` bars, one for each time."""

    kind = "breakdown"
    setting: Setting
    bars: tuple[Bar, ...]
    each: int


def breakdown(problem: Problem) -> Breakdown:
    """What each statement of a program takes of each of its times, at each set of sizes; every number is a checked step.

    Raises :class:`ModelError` for an operation of one statement, where a figure is not known, and where a size is open.

    >>> from symroof.reading.problems import read_problem
    >>> text = "input x: bf16[N, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; h = x * W -> bf16[N, F]; y = h * V -> bf16[N, D]"
    >>> found = breakdown(read_problem({"operation": text, "hardware": "tpu-v5e", "at": "N=8,D=64,F=256"}))
    >>> [(bar.time, [(name, f"{float(time):.3g}") for name, time in bar.parts]) for bar in found.bars][:2]
    [('T_math', [('h', '1.33e-09'), ('y', '1.33e-09')]), ('T_HBM', [('h', '4.62e-08'), ('y', '4.62e-08')])]
    """
    setting = setting_of(replace(problem, at=()))
    program = setting.problem.operation
    if len(costs_of(program)) < 2:
        shown = "there is one statement, and nothing to break down"
        raise ModelError(shown, expected="a program of several statements")
    if not setting.timed:
        raise ModelError("a figure needs a peak and a bandwidth", hint="say --on CHIP")
    draft = with_times(setting)
    times = {name: list(parts) for name, parts in _times(setting, program)}
    result = quantities(setting)
    formulas = {name: with_figures(setting, name, value).expression for name, value in result.items()}
    stretch = 1 / (1 - result.get(BUBBLE.name, Integer(0)))
    needed = {s.name for name in times for s in formulas[name].free_symbols}

    bars = []
    for values in problem.at or ({},):
        require_sizes(needed, values)
        point = {symbol(name): rational(value) for name, value in values.items()}
        where = (*setting.equalities, *(equality(name, value) for name, value in values.items()))
        for time, parts in times.items():
            taken = _seconds(parts, formulas, stretch, point)
            steps = [
                Step("time", Reason.FACT, left, "=", draft.write(seconds), where, role="part")
                for (_, left, *_), seconds in zip(parts, taken, strict=True)
            ]
            all_of_it = draft.write(sum(taken, Fraction(0)))
            steps.append(Step("time", Reason.FACT, Group(Name(time)), "=", all_of_it, where, role="whole"))
            bars.append(Bar(draft.add(*steps).since(draft), values, time, tuple(name for name, *_ in parts)))
    return Breakdown(setting, tuple(bars), len(times))


def _seconds(
    parts: Sequence[Part], formulas: Mapping[str, Expr], stretch: Expr, point: Mapping[Expr, Expr]
) -> list[Fraction]:
    """What each part of a time takes at a set of sizes."""
    longest = (max(_sum_at(each, formulas, point) for each in sums) for *_, sums, _ in parts)
    waits = (fraction(stretch.subs(point)) if waits else 1 for *_, waits in parts)
    return [seconds * wait for seconds, wait in zip(longest, waits, strict=True)]


def _sum_at(times: Sequence[Formula], formulas: Mapping[str, Expr], point: Mapping[Expr, Expr]) -> Fraction:
    """The sum of times, of each of which the longest part counts."""
    return fraction(Add(*(max(formulas[name].subs(point) for name in names(time)) for time in times)))


def _times(setting: Setting, program: Program) -> Iterator[tuple[str, Iterator[Part]]]:
    """Each time with its parts: that of each resource by statements, and T_steps by those that overlap as one."""
    rates = setting.rates
    times = times_of(program, rates)
    for resource in rates.resources:
        if resource == LATENCY:
            continue  # the longest of all statements, no sum over them
        each = ((name, Name(time_name(resource, name))) for name in costs_of(program))
        result = ((name, time) for name, time in each if not isinstance(times[time.name], Number))
        yield time_name(resource), ((name, Group(time), ((time,),), False) for name, time in result)
    groups, inside = times_of_groups(program, rates).items(), stage_statements(program)
    sums_of = ((names, formula, tuple(busy_times(times, rates, names).values())) for names, formula in groups)
    yield "T_steps", ((", ".join(names), _unnamed(time), parts, names[0] in inside) for names, time, parts in sums_of)


def _unnamed(formula: Formula) -> Formula:
    """A time that is no name of its own, so that what it comes to defines nothing."""
    return formula if isinstance(formula, Call) else Group(formula)
