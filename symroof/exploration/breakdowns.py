"""The times of a program as sums over its statements, at given sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from symroof.derivation.answer import Said
from symroof.derivation.draft import BANDWIDTH, PEAK, T_COMMS, T_MATH
from symroof.derivation.pipeline import compared, drafted
from symroof.derivation.setting import Setting
from symroof.errors import ModelError
from symroof.exploration.curves import Roof, require_sizes, roof_of
from symroof.exploration.partition import statements
from symroof.exploration.regime_map import equality
from symroof.formula import Frozen, Group, Quotient
from symroof.model.problem import Problem
from symroof.proof.step import Reason, Step
from symroof.symbols import rational, symbol

# The times that are taken apart: what each is made of, and at which rate.
RESOURCES = ((T_MATH, "flops", PEAK), (T_COMMS, "bytes", BANDWIDTH))


class Bar(Said):
    """A time at a set of sizes; its steps say what each of the ``statements`` takes of it, in seconds."""

    values: Mapping[str, Fraction]
    time: str
    statements: tuple[str, ...]

    @property
    def parts(self) -> tuple[tuple[str, Fraction], ...]:
        return tuple(zip(self.statements, self.numbers("part"), strict=True))

    @property
    def seconds(self) -> Fraction:
        """The time of all of them."""
        return self.numbers("whole")[0]


class Breakdown(Frozen):
    """For each set of sizes ``each`` bars, one for each time."""

    roof: Roof
    bars: tuple[Bar, ...]
    each: int = len(RESOURCES)

    @property
    def setting(self) -> Setting:
        return self.roof.setting

    @property
    def statements(self) -> tuple[str, ...]:
        every = (name for bar in self.bars for name in bar.statements)
        order = list(getattr(self.setting.problem.operation, "owners", ()))
        return tuple(sorted(dict.fromkeys(every), key=order.index))

    def largest(self, statement: str) -> tuple[Bar, Fraction]:
        """Where a statement takes longest, and how long."""
        parts = ((bar, seconds) for bar in self.bars for name, seconds in bar.parts if name == statement)
        return max(parts, key=lambda part: part[1])


def breakdown(problem: Problem) -> Breakdown:
    """What each statement of a program takes of its times, at each set of sizes; every number is a checked step.

    Raises :class:`ModelError` for an operation of one statement, and where a size is open.

    >>> from symroof.reading.problems import read_problem
    >>> text = "input x: bf16[N, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; h = x * W -> bf16[N, F]; y = h * V -> bf16[N, D]"
    >>> found = breakdown(read_problem({"operation": text, "hardware": "tpu-v5e", "at": "N=8,D=64,F=256"}))
    >>> [(bar.time, [(name, f"{float(time):.3g}") for name, time in bar.parts]) for bar in found.bars]
    [('T_math', [('h', '1.33e-09'), ('y', '1.33e-09')]), ('T_comms', [('h', '4.62e-08'), ('y', '4.62e-08')])]
    """
    roof = roof_of(replace(problem, at=()))
    setting, parts = roof.setting, statements(roof.setting)
    if not parts:
        raise ModelError(
            "there is one statement, and nothing to break down", expected="a program of several statements"
        )
    draft, figures = compared(drafted(setting)), setting.values
    needed = {s.name for some in parts.values() for part in some for s in part.amount.free_symbols}
    bars = []
    for values in problem.at or ({},):
        require_sizes(needed, values)
        point = {symbol(name): rational(value) for name, value in values.items()}
        where = (*setting.equalities, *(equality(name, value) for name, value in values.items()))
        for time, whole, rate in RESOURCES:
            per_second, steps = rational(figures[symbol(rate.name)]), []
            amounts = [(part.name, part.amount.subs(point)) for part in parts[whole]]
            total = sum(amount for _, amount in amounts)
            for role, name, amount in (*(("part", *each) for each in amounts), ("whole", None, total)):
                seconds = draft.write(amount / per_second)
                left = Group(time) if name is None else Quotient(name, rate)
                steps.append(Step("time", Reason.SECONDS, left, "=", seconds, where, role=role))
            said, names = draft.add(*steps).since(draft), tuple(part.label for part in parts[whole])
            bars.append(Bar(said, values, time.name, names))
    return Breakdown(roof, tuple(bars))
