"""Pipelines: the turns of a repeat are shared out over an axis of a mesh, to each of its chips as many that follow one
another.

    repeat L over P as x = y { … }      a chip of P runs L/P turns, a stage, and holds the weights of these

Microbatches around it go through the stages one after the other. With M of them P - 1 of M + P - 1 steps fill the
stages and empty them: the bubble is (P - 1)/(M + P - 1) of the time of the turns. What leaves a stage is sent on to the
next chip, once for each microbatch, and its gradient back. A stage that goes back as soon as it can (1F1B) holds at
most as many microbatches as there are stages. All else that the program does every chip of the axis does.

(Huang et al., "GPipe", 2019; Narayanan et al., "Efficient large-scale language model training on GPU clusters using
Megatron-LM", 2021, who give the bubble as the part (P - 1)/M of the time without it.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from sympy import Expr, Integer, Min, Mul

from symroof.errors import ModelError
from symroof.formula import Formula, Frozen, Name, Negative, Product, Quotient, Sum, number
from symroof.model.collectives import MeshAxis
from symroof.model.gradients import with_gradients
from symroof.model.program import Program
from symroof.model.program_tree import Line, Repeat, turns_of
from symroof.symbols import expression, rational, symbol

BUBBLE = Name("bubble")
# Where the microbatches go: forward and back as soon as they can, or all of them forward first.
SCHEDULES = ("1f1b", "gpipe")


class Pipeline(Frozen):
    """The repeat whose turns chips share out, with the axis, and the microbatches that go through it."""

    repeat: Repeat
    axis: MeshAxis
    around: tuple[Repeat, ...]
    schedule: str = SCHEDULES[0]

    @property
    def microbatches(self) -> Expr:
        return turns_of(self.around)

    @property
    def bubble(self) -> Expr:
        """The part of the time of the turns in which a chip waits for the first microbatch, or has done the last."""
        return (self.axis.size - 1) / (self.microbatches + self.axis.size - 1)

    @property
    def presumes(self) -> bool:
        """Whether nothing but that there are enough microbatches says how many a stage holds."""
        return self.schedule == SCHEDULES[0] and self.microbatches != 1 and not self._counted

    @property
    def _counted(self) -> bool:
        return self.microbatches.is_Integer and self.axis.size.is_Integer

    @property
    def held(self) -> Expr:
        """The microbatches that the first stage has sent on and not got back: of at least as many as there are stages
        as many as these."""
        if self.microbatches == 1 or self.schedule != SCHEDULES[0]:
            return self.microbatches
        return Min(self.microbatches, self.axis.size) if self._counted else self.axis.size


def stored_microbatches(program: Program, pipeline: Pipeline, name: str, repeats: tuple[Repeat, ...]) -> Expr:
    """Of how many microbatches a tensor is kept for the backward pass: of those that a stage holds, and so of what
    stands before the stages; what stands behind them goes back at once, unless all go forward first."""
    behind = pipeline.repeat not in repeats and _is_behind(program, pipeline, name)
    return Integer(1) if behind and pipeline.schedule == SCHEDULES[0] else pipeline.held


def _is_behind(program: Program, pipeline: Pipeline, name: str) -> bool:
    """Whether a tensor is made, or used first, when the last stage is done; or is what that leaves."""
    if name in pipeline.repeat.leaves:
        return True
    lines = program.forward
    ends = max(i for i, line in enumerate(lines) if pipeline.repeat in line.repeats)
    maker = next((i for i, line in enumerate(lines) if line.statement.name == name), None)
    used = (i for i, line in enumerate(lines) if name in (str(t.name) for t in line.statement.operands))
    return (next(used, len(lines)) if maker is None else maker) > ends


def pipeline_of(program: Program) -> Pipeline | None:
    """That of a program on its mesh, where it has one; none on one chip."""
    result = next(_pipelines(program), None)
    axis = next((a for a in program.mesh if result is not None and a.name == result[0].over), None)
    if result is None or axis is None or axis.chips == 1:
        return None
    return Pipeline(result[0], axis, result[1], program.schedule)


def _pipelines(program: Program) -> Iterator[tuple[Repeat, tuple[Repeat, ...]]]:
    """Every repeat whose turns are shared out, with those around it."""
    prefixes = ((line.repeats[: i + 1]) for line in program.forward for i, r in enumerate(line.repeats) if r.over)
    yield from dict.fromkeys((around[-1], around[:-1]) for around in prefixes)


def stages_in(repeats: Iterable[Repeat]) -> tuple[str, ...]:
    """The axes whose chips share out the turns of repeats."""
    return tuple(repeat.over for repeat in repeats if repeat.over)


def turns_on_a_chip(repeats: Iterable[Repeat], size: Mapping[str, Expr]) -> Expr:
    """How often a chip runs what stands in these repeats."""
    repeats = tuple(repeats)
    return turns_of(repeats) / Mul(*(size[axis] for axis in stages_in(repeats)))


def handover_repeat(line: Line) -> Repeat | None:
    """The repeat whose stage hands on what a statement makes."""
    return next((r for r in line.repeats if r.over and line.statement.name in r.leaves), None)


def time_with_wait(time: Formula) -> Formula:
    """A time of the turns with the wait: t/(1 - bubble)."""
    return Quotient(time, Sum((number(1), Negative(BUBBLE))))


def wait_time(time: Formula) -> Formula:
    """The wait that a time of the turns brings: bubble t/(1 - bubble)."""
    return time_with_wait(Product((BUBBLE, time)))


def require_stages(program: Program) -> None:
    """Raises :class:`~symroof.errors.ModelError` where the chips of a pipeline would have to exchange something else
    than what they hand on: its axis splits no dimension, its stages share no weight, and nothing from outside has a
    gradient in them."""
    pipelines = tuple(_pipelines(program))
    if not pipelines:
        return
    (repeat, around), axis = pipelines[0], pipelines[0][0].over
    if len(pipelines) > 1:
        raise ModelError("two repeats are shared out over an axis", expected="one pipeline in a program")
    if not all(outer.accumulates for outer in around):
        shown = f"every turn of the repeat around it would go through all stages of {axis}"
        raise ModelError(shown, expected="microbatches around a pipeline, or nothing")
    split = next((t for t in program.written.values() for dim in t.dims if axis in dim.axes), None)
    if split is not None:
        problem = f"{axis} shares out the turns of a repeat, and {split.name} is split over it: {split}"
        raise ModelError(problem, expected=f"an axis of its own for the stages: {axis} splits nothing else")
    if (turns := expression(repeat.times)).is_Integer:
        chips = next((a.chips for a in program.mesh if a.name == axis), None)
        if chips and int(turns) % chips:
            raise _uneven(turns, axis, chips)
    inside = {str(t.name) for line in program.forward if repeat in line.repeats for t in line.statement.operands}
    for entry in program.declared:
        if entry.tensor.name in inside and entry.shared:
            shown = f"{entry.tensor.name} is the same in all turns, and the turns are on several chips of {axis}"
            raise ModelError(shown, expected=f"a {entry.role} of its own for each turn")
    collects = (line for line in program.forward if line.statement.collects and line.repeats[-1] == repeat)
    if spread := next((line.statement.name for line in collects), None):
        shown = f"{spread} is of all turns, and these are on several chips of {axis}"
        raise ModelError(shown, expected="what leaves the last stage, or a repeat that is not shared out")
    if program.training:
        _require_no_gradients(program, repeat)


def require_filled(program: Program, values: Mapping[str, Fraction]) -> None:
    """Stages share out the turns evenly, and there are at least as many microbatches where that is taken for granted.
    Raises :class:`~symroof.errors.ModelError` where numbers say otherwise."""
    pipeline = pipeline_of(program)
    if pipeline is None:
        return
    point = {symbol(name): rational(value) for name, value in values.items()}
    parts = expression(pipeline.repeat.times), pipeline.microbatches, pipeline.axis.size
    turns, many, stages = (program.resolved(x).subs(point) for x in parts)
    if turns.is_Rational and stages.is_Rational and turns % stages:
        raise _uneven(turns, pipeline.axis.name, stages)
    if not program.training or not pipeline.presumes:
        return
    if many.is_Rational and stages.is_Rational and many < stages:
        raise ModelError(
            f"{many} microbatches are fewer than the {stages} stages of {pipeline.axis.name}, and the first would keep as many as there are",
            expected=f"at least {stages}, or a number in the program: accumulate {many} {{ … }} on a mesh of {stages}",
        )


def _uneven(turns: Expr, axis: str, chips: Expr | int) -> ModelError:
    return ModelError(
        f"{turns} turns are not a multiple of {axis} = {chips}: some stages would have more of them than others",
        expected=f"a multiple, as {-(-turns // chips) * chips}",
    )


def _require_no_gradients(program: Program, repeat: Repeat) -> None:
    """What the stages take from outside, beside what they are handed on, would have a gradient to be added over
    them."""
    within = [line for line in program.forward if repeat in line.repeats]
    results = {line.statement.name for line in within}
    stocks = {str(d.tensor.name) for d in program.declared if d.role != "input"}
    trained = with_gradients(program)
    for line in within:
        for tensor in line.statement.operands:
            name = str(tensor.name)
            if name in trained - results - stocks and name not in repeat.enters:
                raise ModelError(
                    f"{name} is used in all stages of {repeat.over}, and its gradient would be added over them",
                    expected=f"what the turns hand on, {', '.join(repeat.enters)}, or something without a gradient: frozen input {name}",
                )
