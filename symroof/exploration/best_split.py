"""The best split against a size: where the optimum lies inside, and at which of its ends elsewhere, as its steps say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import isclose

from sympy import Expr

from symroof.derivation.draft import numeric
from symroof.derivation.evaluation import evaluated
from symroof.derivation.pipeline import derive
from symroof.derivation.setting import Setting
from symroof.derivation.solving import solution_of
from symroof.errors import CheckError, ModelError
from symroof.exploration.curves import require_sizes, spread
from symroof.formula import Compare, Frozen, number
from symroof.model.problem import Problem
from symroof.proof.step import Step
from symroof.reading.grids import Axis
from symroof.symbols import expression, rational, symbol


class SplitCurve(Frozen):
    """The best value over ``xs`` at a set of sizes; ``turns`` are where it leaves an end or comes to one."""

    values: Mapping[str, Fraction]
    xs: tuple[float, ...]
    best: tuple[float, ...]
    turns: tuple[float, ...]

    @property
    def points(self) -> list[tuple[float, float]]:
        return list(zip(self.xs, self.best, strict=True))


class BestSplit(Frozen):
    """``place`` says where something is least inside, ``ends`` say where it is at an end, and under which condition."""

    setting: Setting
    variable: str
    log: bool
    place: Step
    ends: tuple[Step, ...]
    curves: tuple[SplitCurve, ...]

    @property
    def chosen(self) -> str:
        return str(self.setting.problem.over)


def best_split(problem: Problem, over: Axis) -> BestSplit:
    """What ``minimize`` asks for, at each point against a size.

    >>> from symroof.reading.grids import read_grid
    >>> from symroof.reading.problems import read_problem
    >>> text = "mesh X, Y on ICI; input x: bf16[B_X, D_Y]; weight W: bf16[D_X, F_Y]; h = x * W -> bf16[B_X, F_Y]"
    >>> table = {"operation": text, "minimize": "max(T_X, T_Y)", "over": "X", "subject": "X*Y = N", "at": "N=64,F=8192"}
    >>> (curve,) = best_split(read_problem(table), read_grid("B=1:1048576:log", ("B",))[0]).curves
    >>> curve.turns, curve.best[0], curve.best[-1]
    ((128.0, 524288.0), 1.0, 64.0)
    """
    if problem.minimize is None or problem.over is None:
        raise ModelError(
            "nothing is asked to be least", expected='a problem file with minimize = "max(T_X, T_Y)" and over = "X"'
        )
    x, derivation = symbol(over.names[0]), derive(replace(problem, at=()))
    setting, answer, curves = derivation.setting, derivation.answer, []
    place, ends = answer.step("optimum"), answer.all("optimum_end")
    if place is None or x.name == problem.over or not expression(place.right).has(x):
        raise ModelError(f"the best {problem.over} does not depend on {x}", expected="a size that it depends on")
    for values in problem.at or ({},):
        put = {symbol(name): rational(value) for name, value in values.items()}
        form = expression(place.right).subs(put)
        ends_there = tuple(expression(step.right).subs(put) for step in ends)
        require_sizes((s.name for part in (form, *ends_there) for s in part.free_symbols), {x.name})
        most = [end for end, step in zip(ends_there, ends, strict=True) if step.right != number(1)]
        conditions = tuple(tuple(side.subs(put) for side in _outside(step)) for step in ends)
        turns = tuple(sorted(_turns(form, zip(ends_there, conditions, strict=True), x, setting, over)))
        xs = spread(over, *turns)
        best = tuple(_between(form, most, {x.name: size}) for size in xs)
        curves.append(SplitCurve(values, xs, best, turns))
    return BestSplit(setting, x.name, over.log, place, ends, tuple(curves))


def _outside(step: Step) -> tuple[Expr, Expr]:
    """The condition under which an end is best: one side is at least the other."""
    condition = step.assumptions[-1]
    assert isinstance(condition, Compare)
    assert condition.relation == ">="
    return expression(condition.left), expression(condition.right)


def _turns(
    form: Expr, ends: Iterable[tuple[Expr, tuple[Expr, ...]]], x: Expr, setting: Setting, over: Axis
) -> Iterator[float]:
    """Where the condition of an end is met with equality, inside of an axis: there the place inside is at the end."""
    low, high = over.ends
    for end, (above, below) in ends:
        turn = numeric(solution_of(above, below, x, setting.least_one).bound) if (above - below).has(x) else None
        if turn is None:
            continue
        here = {x.name: float(turn)}
        if not isclose(evaluated(form, here), evaluated(end, here), rel_tol=1e-9):
            raise CheckError(f"the best {setting.problem.over} is not at its end at {x} = {float(turn):g}")
        if low < turn < high:
            yield float(turn)


def _between(form: Expr, most: Iterable[Expr], sizes: Mapping[str, float]) -> float:
    """The place inside, or the end that it is beyond: 1, or all that is shared out."""
    value = max(float(evaluated(form, sizes)), 1.0)
    return min(value, *(float(evaluated(end, sizes)) for end in most), value)
