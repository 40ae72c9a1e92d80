"""What figures show, as numbers: curves of quantities over one size, or over the chips of an axis.

An axis without a number of chips is a size like others, and its formulas are those of its wiring: where it is a ring, a
curve over it starts at the least ring, and is about the numbers of chips that close to one. Those below are drawn by
themselves, each with its own wiring.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import lcm
from typing import TypeVar

from sympy import Expr, oo

from symroof.algebra.rational import symbols_of
from symroof.derivation.drafts import Draft, as_number
from symroof.derivation.evaluation import QuantityFunction, draft_with, evaluate, evaluate_along, with_figures
from symroof.derivation.premises import Setting, setting_of
from symroof.derivation.size_constraints import require_joined, require_own_wiring, require_shared_out, whole_sizes
from symroof.derivation.solving import limit, solution_of
from symroof.derivation.threshold import first_size
from symroof.errors import ModelError
from symroof.exploration.longest_times import BOUNDS, Curve, FewChips, longest_time, stretches
from symroof.exploration.regime_map import equality
from symroof.exploration.regime_steps import least_upper_bound
from symroof.formula import Compare, Frozen
from symroof.model.collectives import MeshAxis
from symroof.model.pipeline_stages import pipeline_of, require_filled
from symroof.model.problem import Problem
from symroof.model.program import Program
from symroof.model.quantities import time_name
from symroof.model.splits import open_axes, padded_sizes, stride
from symroof.proof.whole_numbers import Multiples
from symroof.reading.grids import Axis
from symroof.symbols import fraction, rational, symbol

T = TypeVar("T")
PLACES = 400
# The fewest chips of a ring, and an odd number of them.
LEAST_RING, ODD_RING = 3, 5


class Rule(Frozen):
    """The throughput by the rule of thumb, in which the other sizes are large: it reaches the peak at ``bound``, and at
    ``first`` in whole sizes. There the curve of ``short`` falls most short, at a ``share`` of the peak, if any does."""

    xs: tuple[float, ...]
    throughput: tuple[float, ...]
    bound: float
    first: int | None
    short: Curve | None = None
    share: float = 1.0


class Curves(Frozen):
    """Attainable throughput, or times, against a size: a curve for each point. ``ends`` are those of the axis that was asked
    for; ``ring`` is what the numbers of chips on it come in, 0 where the size is no ring."""

    kind: str
    setting: Setting
    variable: str
    log: bool
    ends: tuple[int, int]
    ring: int
    curves: tuple[Curve, ...]
    rule: Rule | None = None

    @property
    def over_chips(self) -> bool:
        """Whether the size is an axis of the mesh."""
        return self.variable in self.setting.problem.mesh

    def outcome(self, curve: Curve) -> str:
        """What becomes of a curve: on one chip it is compute-bound ``never``, ``always`` or ``from`` a size on, or has ``reached``
        a part of the peak; else which time is the ``longest`` where."""
        several = self.setting.several_chips
        if curve.ceiling is not None:
            return "never"
        if several or len(curve.stretches) > 1:
            return "from" if not several and len(curve.stretches) == 2 and curve.bound is not None else "longest"
        if curve.longest(curve.xs[0]) == "T_math" == curve.longest(curve.xs[-1]):
            return "always"
        return "reached" if self.kind == "throughput" else "longest"

    def is_there(self, size: float) -> bool:
        """Whether there is such a size: numbers of chips are whole, and those that the formulas are about."""
        return not self.over_chips or size % (self.ring or 1) == 0

    @property
    def large(self) -> tuple[str, ...]:
        """The sizes that are large by the rule of thumb."""
        others = {s.name for s in self.setting.intensity.free_symbols} - {self.variable}
        return tuple(name for name in self.setting.problem.names if name in others)


def at_one_peak(problem: Problem) -> Setting:
    """What is known of a problem whose times are. Raises :class:`ModelError` where they are not, or at several peaks."""
    setting = setting_of(problem)
    if setting.mixed:
        raise ModelError(
            f"the contractions run at {setting.peak_name}, and no roof is that of all",
            hint=f"--compute {setting.problem.operation.compute} gives them one, and --kind breakdown shows their times",
        )
    if not setting.timed:
        raise ModelError("a figure needs a peak and a bandwidth", hint="say --on CHIP")
    return setting


def require_numbers_of_chips(problem: Problem, sizes: Iterable[str] = ()) -> None:
    """Every axis of the mesh has a number of chips."""
    if axes := [name for name in open_axes(problem.mesh) if name not in sizes]:
        raise ModelError(f"a figure needs the number of chips of {', '.join(axes)}", hint=f"say --mesh {axes[0]}=4")


def require_sizes(needed: Iterable[str], given: Iterable[str], otherwise: str = "") -> None:
    """Every size that is needed is put in, or runs over an axis."""
    missing = sorted({*needed} - {*given})
    if missing:
        raise ModelError(
            f"{', '.join(missing)} {'has' if len(missing) == 1 else 'have'} no size",
            hint=f"say --at {'='.join(missing)}=8192" + otherwise.format(missing[0]),
        )


def same_sizes(points: Sequence[Mapping[str, T]]) -> dict[str, T]:
    """The sizes that are the same at all points.

    >>> same_sizes([{"B": 1, "D": 8}, {"B": 2, "D": 8}])
    {'D': 8}
    """
    if not points:
        return {}
    first, *others = points
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def samples(over: Axis, *extra: float | None) -> tuple[float, ...]:
    """Places from one end of an axis to the other, dense and even on its scale, and further ones between the ends."""
    low, high = over.ends
    count = min(PLACES, high - low) or 1
    if over.log:
        chosen = [low * (high / low) ** (i / PLACES) for i in range(1, PLACES)]
    else:
        chosen = [low + (high - low) * i / count for i in range(1, count)]
    inside = [x for x in extra if x is not None and low < x < high]
    return tuple(sorted({float(low), float(high), *chosen, *inside}))


def series(
    function: QuantityFunction, values: Mapping[str, Fraction], variable: str, xs: Iterable[float]
) -> tuple[float, ...]:
    """A quantity as one size runs over ``xs``."""
    fixed = {name: float(value) for name, value in values.items()}
    return tuple(evaluate_along(function.expression, fixed, variable, list(xs)))


class Source(Frozen):
    """A program with the functions of what is drawn, and a draft that knows its times."""

    draft: Draft
    functions: Mapping[str, QuantityFunction]

    @property
    def program(self) -> Program:
        return self.draft.setting.problem.operation

    def times(self, values: Mapping[str, Fraction]) -> dict[str, Expr]:
        """The times of the resources that are busy, with sizes put in."""
        rates, put = self.draft.setting.rates, {symbol(name): rational(value) for name, value in values.items()}
        result = {name: self.functions[name].expression.subs(put) for name in map(time_name, rates.resources)}
        return {name: value for name, value in result.items() if value != 0}

    def where(self, values: Mapping[str, Fraction]) -> tuple[Compare, ...]:
        return (*self.draft.setting.equalities, *(equality(name, value) for name, value in values.items()))

    def lines(self, values: Mapping[str, Fraction], x: str, xs: tuple[float, ...]) -> dict[str, tuple[float, ...]]:
        """What is drawn over ``xs``; the peak is that of all chips."""
        result = {name: series(function, values, x, xs) for name, function in self.functions.items()}
        peak = self.draft.setting.peak
        if "throughput" in result and peak is not None:
            result["peak"] = tuple(n * float(peak.value) for n in result.pop("chips", (1.0,) * len(xs)))
        return {name: ys for name, ys in result.items() if any(ys)}


def curves(problem: Problem, kind: str, over: Axis) -> Curves:
    """The throughput or the times of a problem at each of its points, over a size or a number of chips.

    >>> from symroof.reading.grids import read_grid
    >>> from symroof.reading.problems import read_problem
    >>> text = "mesh X on ICI; input x: bf16[B_X, D]; weight W: bf16[D_X, F]; y = x * W -> bf16[B_X, F]"
    >>> problem = read_problem({"operation": text, "hardware": "tpu-v5p", "at": "B=65536,D=F=8192"})
    >>> (curve,) = curves(problem, "throughput", read_grid("X=1..256", ("X",))[0]).curves
    >>> [(stretch.time, stretch.first) for stretch in curve.stretches], curve.xs[0], [few.chips for few in curve.few]
    ([('T_math', None), ('T_X', 28)], 4.0, [1, 2])
    """
    x, points = over.names[0], problem.at or ({},)
    for values in points:
        require_numbers_of_chips(problem, {*values, x})
    if kind == "times" and problem.mesh and len(points) > 1:
        raise ModelError(
            f"the times of all resources are drawn at one set of sizes, and there are {len(points)}",
            hint="--kind throughput shows several",
        )
    whole = _source(problem, kind)
    setting = whole.draft.setting
    needed = {name for function in whole.functions.values() for name in function.parameters}
    if x not in needed:
        raise ModelError(f"nothing depends on {x}", expected=f"one of {', '.join(sorted(needed))}")
    points = _padded_points(problem, over)
    for values in points:
        require_sizes(needed, {*values, x})
        if x in problem.mesh:
            require_joined(setting.problem, {**values, x: Fraction(over.ends[1])})
        _require_stages(setting, over, values)
    ring, drawn = _from_the_least_ring(setting, over)
    for values in points if x in setting.problem.mesh else ():
        require_shared_out(setting.problem, {**whole_sizes(values), x: (over.ends[1],)})
    few = [_source(with_chips(problem, x, n), kind) for n in _numbers_below(drawn, over) if kind == "throughput"]
    result = [_curve(whole, drawn, ring, values, few) for values in points]
    rule = _rule(setting, symbol(x), over, result, whole.functions) if kind == "throughput" else None
    return Curves(kind, setting, x, over.log, over.ends, ring, tuple(result), rule)


def _padded_points(problem: Problem, over: Axis) -> tuple[Mapping[str, Fraction], ...]:
    """The sets of sizes; padded, where that is asked for, to what the chips at the end of the axis share out."""
    x, points = over.names[0], problem.at or ({},)
    if not problem.pad or x not in problem.mesh:
        return points
    ends = ({**values, x: Fraction(over.ends[1])} for values in points)
    padded = [padded_sizes(problem.operation, problem.mesh, end) for end in ends]
    return tuple({name: size for name, size in values.items() if name != x} for values in padded)


def _curve(whole: Source, over: Axis, ring: int | None, values: Mapping[str, Fraction], few: Sequence[Source]) -> Curve:
    """The curve at a set of sizes, with what takes longest along it, and numbers of chips that are no ring."""
    setting, x = whole.draft.setting, over.names[0]
    step = ring or stride(whole.program, setting.problem.mesh, x, values)
    draft = replace(whole.draft, ledger=replace(whole.draft.ledger, multiples=Multiples(each={x: step})))
    each = tuple(stretches(draft, whole.times(values), symbol(x), over.ends, whole.where(values)))
    xs = samples(over, *map(float, over.values if ring else ()), *(float(stretch.ends[0]) for stretch in each))
    dots = tuple(_few(own, x, values) for own in few)
    reaches = any(stretch.time == "T_math" for stretch in each)
    never = (None, False) if reaches else _ceiling(setting, values, symbol(x))
    return Curve(values, xs, whole.lines(values, x, xs), each, dots, *never)


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


def _source(problem: Problem, kind: str) -> Source:
    setting = at_one_peak(problem)
    beside = ("throughput", *(("chips",) if setting.several_chips else ()))
    if kind == "times":
        beside = tuple(name for name in BOUNDS if name != "T_steps" or not setting.problem.operation.alone)
    draft, values = draft_with(setting, (*map(time_name, setting.rates.resources), *beside))
    return Source(draft, {name: with_figures(setting, name, value) for name, value in values.items()})


def _few(own: Source, x: str, values: Mapping[str, Fraction]) -> FewChips:
    chips = own.draft.setting.problem.mesh[x].chips or 1
    lines = own.lines(values, x, (float(chips),))
    (throughput,), (peak,) = lines["throughput"], lines["peak"]
    return FewChips(chips, throughput, peak, longest_time(own.draft, own.times(values), own.where(values)))


def with_chips(problem: Problem, x: str, chips: int) -> Problem:
    """The problem with a number of chips on an axis."""
    return _with_axis(problem, problem.mesh[x].numbered(chips))


def _with_axis(problem: Problem, changed: MeshAxis) -> Problem:
    mesh = {**problem.mesh, changed.name: changed}
    return replace(problem, mesh=mesh, operation=replace(problem.operation, mesh=tuple(mesh.values())))


def _numbers_below(drawn: Axis, over: Axis) -> list[int]:
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
    closed = replace(own, wiring="ring", user_wiring="ring", origin="said")
    multiple = problem.hardware.closing if problem.hardware and own.origin != "said" else None
    try:
        require_own_wiring(_with_axis(problem, closed), x, Fraction(ODD_RING))
    except ModelError:
        return lcm(multiple or 1, 2)
    return multiple or 1


def _ceiling(setting: Setting, values: Mapping[str, Fraction], x: Expr) -> tuple[float | None, bool]:
    """The throughput of a chip at the supremum of its intensity in one size, where it never is the peak, and whether it is
    attained."""
    if setting.several_chips or setting.peak is None or setting.bandwidth is None:
        return None, False
    form = setting.intensity.subs({symbol(name): rational(value) for name, value in values.items()})
    highest, attained = least_upper_bound(form, x, setting.least_one) or (oo, False)
    if not highest.is_Rational:
        return None, False
    height, peak = fraction(highest) * setting.bandwidth.value, setting.peak.value
    if height > peak or (height == peak and attained):
        return None, False
    return float(height), attained


def _rule(
    setting: Setting, x: Expr, over: Axis, drawn: Sequence[Curve], functions: Mapping[str, QuantityFunction]
) -> Rule | None:
    """The intensity with every other size without bound, times the bandwidth, up to the peak. None where no curve gets
    to the peak, or at none of their sizes the others are larger than where the rule says that it is reached."""
    form, others = setting.intensity, [other for other in symbols_of(setting.intensity) if other != x]
    if setting.several_chips or setting.rates.vector or setting.peak is None or setting.bandwidth is None:
        return None
    for other in others:
        form = limit(form, other, setting.least_one)
        if form in (0, oo):
            return None
    if not others or not form.has(x) or setting.ridge is None:
        return None
    peak, slope = float(setting.peak.value), float(setting.bandwidth.value)
    solution = solution_of(form, rational(setting.ridge), x, setting.least_one)
    bound = as_number(solution.bound) if solution.rises else None
    if bound is None or not any(
        curve.ceiling is None and all(curve.values.get(other.name, bound) >= bound for other in others)
        for curve in drawn
    ):
        return None
    xs, first = samples(over, float(bound)), first_size(setting, solution)
    ys = tuple(min(peak, slope * evaluate(form, {x.name: size})) for size in xs)
    rule = Rule(xs, ys, float(bound), first)
    if first is None:
        return rule
    shares = [series(functions["throughput"], curve.values, x.name, [float(first)])[0] / peak for curve in drawn]
    share, short = min(zip(shares, drawn, strict=True), key=lambda pair: pair[0])
    return rule if share > 0.99 else replace(rule, short=short, share=share)
