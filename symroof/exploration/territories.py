"""Which resource is busy longest, over two sizes: the plane cut into territories of one time each.

Along an upright line the longest time changes at single places, between two points of a grid. Lines along which the same
times follow one another are joined; where the order changes, a line is put on either side. In every territory the second
engine decides at one place that no other time is longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby, pairwise
from math import log10

from sympy import Expr

from symroof.derivation.draft import Draft
from symroof.derivation.evaluation import evaluated_along, require_proved
from symroof.derivation.figures_used import least_rings, require_joined
from symroof.derivation.meanings import times_in_figures
from symroof.derivation.pipeline import compared, drafted
from symroof.derivation.schedules import times_defined
from symroof.derivation.setting import Setting, setting_of
from symroof.errors import ModelError
from symroof.exploration.curves import require_sizes
from symroof.exploration.planes import Point, logarithms, sizes_of
from symroof.exploration.regime_map import at_sizes, equality
from symroof.formula import Frozen, Group, Name
from symroof.model.problem import Problem
from symroof.proof.step import Reason, Step
from symroof.reading.grids import Axis
from symroof.symbols import rational, symbol

LINES, HALVINGS, NOTHING = 160, 12, 1e-300
# Times one after the other along an upright line, each with where it begins, in logarithms.
Order = tuple[tuple[str, float], ...]


class Territory(Frozen):
    """A polygon, straight on logarithmic axes but for borders that are not, in which one time is longest."""

    time: str
    corners: tuple[Point, ...]
    steps: tuple[Step, ...] = ()


class Territories(Frozen):
    """What covers the plane of two sizes, a territory beside the other."""

    setting: Setting
    names: tuple[str, str]
    ranges: tuple[Point, Point]
    regions: tuple[Territory, ...]


def territories(problem: Problem, x: Axis, y: Axis) -> Territories:
    """The map of the longest time over two sizes, the others being put in.

    Raises :class:`ModelError` where a size is open, and where an axis has too few chips.

    >>> from symroof.reading.grids import read_grid
    >>> from symroof.reading.problems import read_problem
    >>> problem = read_problem({"operation": "matmul", "hardware": "tpu-v5e", "at": "F=8192"})
    >>> found = territories(problem, *read_grid("B=1..4096, D=1..4096", ("B", "D", "F")))
    >>> sorted({region.time for region in found.regions})
    ['T_comms', 'T_math']
    """
    names, ranges = (x.names[0], y.names[0]), (logarithms(x), logarithms(y))
    setting_of(problem)  # an axis of a mesh that is put in is wired as it is
    setting = setting_of(at_sizes(problem, dict(problem.at[0]) if problem.at else {}))
    for axis in (x, y):
        least = least_rings(setting.problem).get(axis.names[0], 1)
        if axis.ends[0] < least:
            raise ModelError(f"{axis.names[0]} starts below {least} chips", expected=f"a range from {least}")
    require_joined(setting.problem, {axis.names[0]: Fraction(axis.ends[1]) for axis in (x, y)})
    known = times_in_figures(setting)
    require_proved(setting, known)
    values = {name: setting.in_numbers(value) for name, value in known.items()}
    require_sizes((s.name for value in values.values() for s in value.free_symbols), names)
    found = tuple(_territories(_Plane(values, names, ranges)))
    draft = times_defined(compared(drafted(setting)), setting.problem.operation)
    proved = (
        replace(region, steps=draft.add(*_longest(draft, values, names, region)).since(draft)) for region in found
    )
    return Territories(setting, names, (sizes_of(ranges[0]), sizes_of(ranges[1])), tuple(proved))


class _Plane(Frozen):
    """The times over two sizes, whose logarithms run from one end of a range to the other."""

    times: Mapping[str, Expr]
    names: tuple[str, str]
    ranges: tuple[Point, Point]

    def order(self, x: float) -> Order:
        """The times that are longest along an upright line, from below. Times are nearly straight in logarithms."""
        (low, high), (along, across) = self.ranges[1], self.names
        ys = [low + (high - low) * i / LINES for i in range(LINES + 1)]
        sizes, places = {along: 10.0**x}, [10.0**y for y in ys]
        heights = {
            name: [log10(max(height, NOTHING)) for height in evaluated_along(value, sizes, across, places)]
            for name, value in self.times.items()
        }
        longest = [max(heights, key=lambda name: heights[name][i]) for i in range(len(ys))]
        order = [(longest[0], low)]
        for i, (below, above) in enumerate(pairwise(longest)):
            if below != above:
                first, second = (heights[below][j] - heights[above][j] for j in (i, i + 1))
                order.append((above, ys[i] + (ys[i + 1] - ys[i]) * first / (first - second)))
        return tuple(order)

    def crossed(self, x: float) -> tuple[str, ...]:
        return tuple(time for time, _ in self.order(x))


def _territories(plane: _Plane) -> Iterator[Territory]:
    """Lines that are crossed by the same times one after the other, joined to polygons."""
    (low, high), top = plane.ranges[0], plane.ranges[1][1]
    xs = [low + (high - low) * i / LINES for i in range(LINES + 1)]
    for (left, right), (before, after) in zip(pairwise(list(xs)), pairwise(map(plane.crossed, list(xs))), strict=True):
        for _ in range(HALVINGS if before != after else 0):
            middle = (left + right) / 2
            left, right = (middle, right) if plane.crossed(middle) == before else (left, middle)
            xs += [middle]
    lines = [(x, plane.order(x)) for x in sorted(xs)]
    for crossed, group in groupby(lines, lambda line: [time for time, _ in line[1]]):
        run = [(x, (*(y for _, y in order), top)) for x, order in group]
        for place, time in enumerate(crossed):
            below, above = ([(x, ys[place + up]) for x, ys in run] for up in (0, 1))
            yield Territory(time, tuple(map(sizes_of, (*below, *reversed(above)))))


def _longest(draft: Draft, values: Mapping[str, Expr], names: tuple[str, str], region: Territory) -> Iterator[Step]:
    """That no other time is longer in the middle of a territory."""
    sizes = {
        name: Fraction(size).limit_denominator(1000) for name, size in zip(names, _middle(region.corners), strict=True)
    }
    where = (*draft.setting.equalities, *(equality(name, size) for name, size in sizes.items()))
    point = {symbol(name): rational(size) for name, size in sizes.items()}
    longest = draft.write(values[region.time].subs(point))
    yield from (Step("regime", Reason.FACT, Group(Name(name)), "<=", longest, where) for name in values)


def _middle(corners: Sequence[Point]) -> Point:
    """A place inside: half way up the middle line."""
    half = len(corners) // 4
    (x, low), (_, high) = corners[half], corners[-1 - half]
    return x, (low * high) ** 0.5
