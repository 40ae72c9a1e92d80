"""Times and throughput of a program on a mesh against one size: a line for each resource, and where which takes longest.

An axis without a number of chips is a size like others, and its formulas are those of its wiring: where it is a ring, a
curve over it starts at the least ring, and is about the numbers of chips that close to one. Those below are drawn by
themselves, each with its own wiring.

Which of several times is the longest: at a set of sizes, and from one end of an axis to the other.

Two times are equal where their difference is 0, and between two such places one of all times is the longest. It is read
off the middle; that no other exceeds it on all of the stretch is then a step for each of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise
from math import lcm

from sympy import Expr

from symroof.algebra.roots import Root, whole_number
from symroof.derivation.answer import Said
from symroof.derivation.draft import Draft
from symroof.derivation.evaluation import QuantityFunction, proved, with_figures
from symroof.derivation.figures_used import require_joined, require_own_wiring, require_shared_out, whole_sizes
from symroof.derivation.setting import Setting
from symroof.derivation.solutions import Solution
from symroof.derivation.solving import solution_of
from symroof.errors import ModelError
from symroof.exploration.curves import PLACES, along, at_one_peak, require_numbers_of_chips, require_sizes, spread
from symroof.exploration.regime_map import equality
from symroof.formula import Compare, Formula, Frozen, Name, Number, nodes, number
from symroof.model.mesh import padded, stride
from symroof.model.mesh_axes import MeshAxis
from symroof.model.problem import Problem
from symroof.model.program import Program
from symroof.model.quantities import time_name
from symroof.model.stages import pipeline_of, require_filled
from symroof.proof.limits import Whole
from symroof.proof.step import Reason, Step
from symroof.proof.wholes import Multiples
from symroof.reading.grids import Axis
from symroof.symbols import expression, fraction, rational, symbol

# What is drawn beside the times of the resources, and what throughput is drawn with.
BOUNDS, THROUGHPUT = ("T_lower", "T_steps", "T_upper"), ("throughput", "chips")
# The fewest chips of a ring, and an odd number of them.
LEAST_RING, ODD_RING = 3, 5
Times = Mapping[str, Expr]


class Few(Frozen):
    """A number of chips that is no ring: the throughput and the peak with its own wiring, and what takes longest."""

    chips: int
    throughput: float
    peak: float
    longest: Longest


class ScalingCurve(Frozen):
    """Quantities over one size by name, ``values`` being the other sizes; and which time is the longest where. ``few`` are
    numbers of chips below the least ring."""

    values: Mapping[str, Fraction]
    xs: tuple[float, ...]
    lines: Mapping[str, tuple[float, ...]]
    stretches: tuple[Stretch, ...]
    few: tuple[Few, ...] = ()

    def points(self, name: str) -> list[tuple[float, float]]:
        return list(zip(self.xs, self.lines[name], strict=True))

    def longest(self, size: float) -> str:
        """The time that is the longest at a size."""
        return next((s.time for s in reversed(self.stretches) if s.ends[0] <= size), self.stretches[0].time)


class Scaling(Frozen):
    """Throughput or times of a program on a mesh. ``ends`` are those of the axis that was asked for; ``ring`` is what the
    numbers of chips on it come in, 0 where the size is no ring."""

    kind: str
    setting: Setting
    variable: str
    log: bool
    ends: tuple[int, int]
    ring: int
    curves: tuple[ScalingCurve, ...]

    @property
    def over_chips(self) -> bool:
        """Whether the size is an axis of the mesh."""
        return self.variable in self.setting.problem.mesh

    def is_there(self, size: float) -> bool:
        """Whether there is such a size: numbers of chips are whole, and those that the formulas are about."""
        return not self.over_chips or size % (self.ring or 1) == 0


class Measured(Frozen):
    """A program with the functions of what is drawn, and a draft that knows its times."""

    draft: Draft
    functions: Mapping[str, QuantityFunction]

    @property
    def program(self) -> Program:
        return self.draft.setting.problem.operation

    def times(self, values: Mapping[str, Fraction]) -> dict[str, Expr]:
        """The times of the resources that are busy, with sizes put in."""
        rates, put = self.draft.setting.rates, {symbol(name): rational(value) for name, value in values.items()}
        found = {name: self.functions[name].expression.subs(put) for name in map(time_name, rates.resources)}
        return {name: value for name, value in found.items() if value != 0}

    def where(self, values: Mapping[str, Fraction]) -> tuple[Compare, ...]:
        return (*self.draft.setting.equalities, *(equality(name, value) for name, value in values.items()))

    def lines(self, values: Mapping[str, Fraction], x: str, xs: tuple[float, ...]) -> dict[str, tuple[float, ...]]:
        """What is drawn over ``xs``; the peak is that of all chips."""
        found = {name: along(function, values, x, xs) for name, function in self.functions.items()}
        peak = self.draft.setting.peak
        if "chips" in found and peak is not None:
            found["peak"] = tuple(chips * float(peak.value) for chips in found.pop("chips"))
        return {name: ys for name, ys in found.items() if any(ys)}


def scaling(problem: Problem, kind: str, over: Axis) -> Scaling:
    """The throughput or the times of a program on a mesh at each of its points, over a size or a number of chips.

    >>> from symroof.reading.grids import read_grid
    >>> from symroof.reading.problems import read_problem
    >>> text = "mesh X on ICI; input x: bf16[B_X, D]; weight W: bf16[D_X, F]; y = x * W -> bf16[B_X, F]"
    >>> problem = read_problem({"operation": text, "hardware": "tpu-v5p", "at": "B=65536,D=F=8192"})
    >>> (curve,) = scaling(problem, "throughput", read_grid("X=1..256", ("X",))[0]).curves
    >>> [(stretch.time, stretch.first) for stretch in curve.stretches], curve.xs[0], [few.chips for few in curve.few]
    ([('T_math', None), ('T_X', 28)], 4.0, [1, 2])
    """
    x, points = over.names[0], problem.at or ({},)
    for values in points:
        require_numbers_of_chips(problem, {*values, x})
    if kind == "times" and len(points) > 1:
        raise ModelError(
            f"the times of all resources are drawn at one set of sizes, and there are {len(points)}",
            hint="--kind throughput shows several",
        )
    whole = _measured(problem, kind)
    setting = whole.draft.setting
    needed = {name for function in whole.functions.values() for name in function.parameters}
    if x not in needed:
        raise ModelError(f"nothing depends on {x}", expected=f"one of {', '.join(sorted(needed))}")
    if problem.pad and x in problem.mesh:
        ends = ({**values, x: Fraction(over.ends[1])} for values in points)
        points = tuple(padded(problem.operation, problem.mesh, end) for end in ends)
        points = tuple({name: size for name, size in values.items() if name != x} for values in points)
    for values in points:
        require_sizes(needed, {*values, x})
    if x in setting.problem.mesh:
        for values in points:
            require_joined(setting.problem, {**values, x: Fraction(over.ends[1])})
    for values in points:
        _require_stages(setting, over, values)
    ring, drawn = _from_the_least_ring(setting, over)
    for values in points if x in setting.problem.mesh else ():
        require_shared_out(setting.problem, {**whole_sizes(values), x: (over.ends[1],)})
    few = [_measured(numbered(problem, x, n), kind) for n in _below(drawn, over) if kind == "throughput"]
    curves = []
    for values in points:
        step = ring or stride(whole.program, setting.problem.mesh, x, values)
        draft = replace(whole.draft, ledger=replace(whole.draft.ledger, multiples=Multiples(each={x: step})))
        found = tuple(stretches(draft, whole.times(values), symbol(x), drawn.ends, whole.where(values)))
        xs = spread(drawn, *map(float, drawn.values if ring else ()), *(float(stretch.ends[0]) for stretch in found))
        dots = tuple(_few(own, x, values) for own in few)
        curves.append(ScalingCurve(values, xs, whole.lines(values, x, xs), found, dots))
    return Scaling(kind, setting, x, over.log, over.ends, ring, tuple(curves))


def _require_stages(setting: Setting, over: Axis, values: Mapping[str, Fraction]) -> None:
    """A pipeline is drawn from two stages on, and where there are as many microbatches as are taken for granted."""
    program, x, (low, high) = setting.problem.operation, over.names[0], over.ends
    pipeline = pipeline_of(program)
    if pipeline is None:
        return
    if x == pipeline.axis.name:
        if low < 2:
            shown = f"{x} = 1 hands nothing on, and {x} without a number stands for several stages"
            raise ModelError(shown, expected=f"an axis from two, as in {x}=2..{high}")
        require_filled(program, {**values, x: Fraction(high)})
    elif pipeline.microbatches.has(symbol(x)):
        require_filled(program, {**values, x: Fraction(low)})


def _measured(problem: Problem, kind: str) -> Measured:
    setting = at_one_peak(problem)
    names = (*map(time_name, setting.rates.resources), *(BOUNDS if kind == "times" else THROUGHPUT))
    draft, known = proved(setting, names)
    return Measured(draft, {name: with_figures(setting, name, value) for name, value in known.items()})


def _few(own: Measured, x: str, values: Mapping[str, Fraction]) -> Few:
    chips = own.draft.setting.problem.mesh[x].chips or 1
    lines = own.lines(values, x, (float(chips),))
    (throughput,), (peak,) = lines["throughput"], lines["peak"]
    return Few(chips, throughput, peak, longest_at(own.draft, own.times(values), own.where(values)))


def numbered(problem: Problem, x: str, chips: int) -> Problem:
    """The problem with a number of chips on an axis."""
    return _with_axis(problem, problem.mesh[x].numbered(chips))


def _with_axis(problem: Problem, changed: MeshAxis) -> Problem:
    mesh = {**problem.mesh, changed.name: changed}
    return replace(problem, mesh=mesh, operation=replace(problem.operation, mesh=tuple(mesh.values())))


def _below(drawn: Axis, over: Axis) -> list[int]:
    """The powers of two of an axis that are below what is drawn of it."""
    low = drawn.ends[0]
    return [n for n in (1 << i for i in range(low.bit_length())) if n < low and n in over.values]


def _from_the_least_ring(setting: Setting, over: Axis) -> tuple[int, Axis]:
    """What the numbers of chips on a ring come in, and the part of an axis that is about rings."""
    x, problem, (low, high) = over.names[0], setting.problem, over.ends
    if not any(axis.name == x and axis.wiring == "ring" for axis in problem.operation.mesh):
        return 0, over
    ring = _ring(problem, x)
    least = -(-LEAST_RING // ring) * ring
    if high <= least:
        raise ModelError(
            f"{x} without a number of chips is a ring of at least {least}, and its axis ends at {high}",
            expected=f"an axis beyond {least}, as in {x}={least}..{4 * least}",
            hint=f"or --mesh {x}={high}, drawn over another size",
        )
    numbers = [n for n in over.values if n > least and n % ring == 0]
    shown = numbers[:: len(numbers) // PLACES + 1]
    return ring, replace(over, values=tuple(sorted({max(low, least), *shown, high})), high=high)


def _ring(problem: Problem, x: str) -> int:
    """What the numbers of chips come in where an axis closes, and where each sends what the formulas say: over the middle
    of a ring half of the chips send to the other half in an all-to-all, so that it is even."""
    own = problem.mesh[x]
    closed = replace(own, wiring="ring", said="ring", origin="said")
    multiple = problem.hardware.closing if problem.hardware and own.origin != "said" else None
    try:
        require_own_wiring(_with_axis(problem, closed), x, Fraction(ODD_RING))
    except ModelError:
        return lcm(multiple or 1, 2)
    return multiple or 1


class Longest(Said):
    """That one time is the longest: a step for each of the others says that it does not exceed it."""

    @property
    def time(self) -> str:
        left = self.all("longest")[0].left
        assert isinstance(left, Name)
        return left.name


class Stretch(Longest):
    """A range of a size on which one time is the longest. ``first`` is the least whole size of it, where another time is
    the longest before it."""

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        low, high = (a.right for a in self.all("longest")[0].assumed(">=", "<="))
        assert isinstance(low, Number) and isinstance(high, Number)  # noqa: PT018
        return low.value, high.value

    @property
    def first(self) -> int | None:
        bound = self.formula("smallest")
        return bound.right.value.numerator if isinstance(bound, Compare) and isinstance(bound.right, Number) else None


def longest_at(draft: Draft, times: Times, where: tuple[Formula, ...]) -> Longest:
    """The longest of some times in numbers."""
    name = max(times, key=lambda name: fraction(times[name]))
    return Longest(draft.add(*_not_exceeded(name, times, where)).since(draft))


def stretches(
    draft: Draft, times: Times, x: Expr, ends: tuple[int, int], where: tuple[Formula, ...]
) -> Iterator[Stretch]:
    """The longest of some times in one size, from one end of its axis to the other."""
    start, end = map(Fraction, ends)
    turns = {turn for turn in _equal(times, x, draft.setting) if start < turn.low and turn.high < end}
    places = (Root(start, start), *sorted(turns, key=lambda turn: turn.low), Root(end, end))
    found: list[tuple[str, Root, Root]] = []
    for before, after in pairwise(places):
        middle = rational((before.high + after.low) / 2)
        name = max(times, key=lambda name: fraction(times[name].subs(x, middle)))
        if found and found[-1][0] == name:
            _, before, _ = found.pop()
        found.append((name, before, after))
    for i, (name, before, after) in enumerate(found):
        low, high = Compare(Name(x.name), ">=", number(before.high)), Compare(Name(x.name), "<=", number(after.low))
        steps = [*_not_exceeded(name, times, (*where, low, high)), *(_first(draft, x.name, before) if i else ())]
        yield Stretch(draft.add(*steps).since(draft))


def _not_exceeded(name: str, times: Times, where: tuple[Formula, ...]) -> Iterator[Step]:
    """That no other time exceeds this one; itself where there is no other."""
    others = [Name(other) for other in times if other != name] or [Name(name)]
    return (Step("resources", Reason.SIDE, Name(name), ">=", other, where, role="longest") for other in others)


def _first(draft: Draft, x: str, turn: Root) -> Iterator[Step]:
    """The least whole size beyond a turn, where that is told by the interval that the turn is in."""
    each = draft.ledger.multiples.of(x)
    first = whole_number(">", turn, each)
    if first is not None:
        beyond, bound = Compare(Name(x), ">", number(turn.high)), Compare(Name(x), ">=", number(first))
        yield Step("resources", Reason.WHOLE, beyond, "<=>", bound, (), Whole(each), role="smallest")


def _equal(times: Times, x: Expr, setting: Setting) -> Iterator[Root]:
    """Where two of the times are equal."""
    for one, other in combinations(times.values(), 2):
        if (one - other).has(x):
            solution = solution_of(one, other, x, setting.least_one)
            if not solution.solved:
                raise ModelError(f"where two of the times are equal was not solved for {x}")
            yield from _ends(solution)


def _ends(solution: Solution) -> Iterator[Root]:
    """The ends of a solution in numbers: irrational ones by the band that holds them."""
    bands = [tuple(_numbers(band)) for band in solution.bands]
    for value in _numbers(solution.formula):
        low, high = next(((low, high) for low, high in bands if low <= value <= high), (value, value))
        yield Root(low, high)


def _numbers(formula: Formula) -> Iterable[Fraction]:
    ends = (part.right for part in nodes(formula) if isinstance(part, Compare))
    return (fraction(expression(right)) for right in ends)
