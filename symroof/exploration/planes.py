"""What is largest where, over two sizes: the plane cut into a region for each term of 1/intensity, or for each time.

A term is a monomial, and two of them are equal along a straight line of the logarithmic plane: regions of terms are exact
polygons. A time is a sum: along an upright line the longest changes at single places, between two points of a grid; lines
along which the same times follow one another are joined, and where the order changes, a line is put on either side. In
every region of a time the second engine decides at one place that no other is longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import groupby, pairwise
from math import atan2, log10

from sympy import Expr

from symroof.algebra.dominance import laurent_terms
from symroof.algebra.rational import cancel, symbols_of
from symroof.algebra.roots import Root
from symroof.derivation.drafts import INTENSITY, RIDGE, Draft
from symroof.derivation.evaluation import evaluate, evaluate_along, require_proved
from symroof.derivation.premises import Setting, setting_of
from symroof.derivation.quantity_definitions import times_in_figures
from symroof.derivation.size_constraints import least_rings, require_joined
from symroof.derivation.solving import solution_of
from symroof.errors import CheckError, ModelError
from symroof.exploration.curves import require_sizes
from symroof.exploration.regime_map import at_sizes, equality, regime_map
from symroof.formula import Compare, Frozen, Group, Name, Quotient, number, total
from symroof.model.problem import Problem
from symroof.proof.step import Reason, Step
from symroof.reading.grids import Axis
from symroof.symbols import expression, rational, symbol

Point = tuple[float, float]
LINES, HALVINGS, NOTHING = 160, 12, 1e-300
# Times one after the other along an upright line, each with where it begins, in logarithms.
Order = tuple[tuple[str, float], ...]
# A monomial in logarithms: the constant, and the exponents of the two sizes. Where two are equal is a straight line.
Affine = tuple[float, float, float]


class Region(Frozen):
    """A polygon in which one thing is the largest: the intensity's leading form there, or a time. ``rule`` are the ends of
    the line along which a form is the ridge."""

    largest: Expr
    corners: tuple[Point, ...]
    rule: tuple[Point, ...] = ()
    steps: tuple[Step, ...] = ()


class Plane(Frozen):
    """Regions that cover the plane of two sizes, straight on logarithmic axes, of ``times`` or of leading forms. Of forms:
    ``threshold`` are points where the intensity is the ridge, by rising x. Where there are none, ``side`` is how the intensity
    stands to the ridge on the whole map, ``<`` or ``>``, if that was proved. ``beyond`` is the polygon of what is compute-bound:
    convex, for the reciprocal of the intensity is a sum of exponentials there."""

    kind = "regimes"
    setting: Setting
    names: tuple[str, str]
    ranges: tuple[Point, Point]
    regions: tuple[Region, ...]
    times: bool = False
    threshold: tuple[Point, ...] = ()
    side: str = ""
    beyond: tuple[Point, ...] = ()

    @property
    def largest(self) -> dict[Expr, Region]:
        """What is largest somewhere, with the widest of its regions."""
        return {region.largest: region for region in sorted(self.regions, key=lambda region: _extent(region.corners))}

    @property
    def rules(self) -> tuple[tuple[Point, ...], ...]:
        """The ends of the lines where a leading form is the ridge."""
        return tuple(region.rule for region in reversed(self.regions) if region.rule)


def plane(problem: Problem, x: Axis, y: Axis) -> Plane:
    """The map over two sizes, the others being put in: by the terms of 1/intensity, or, of several resources, by which time is
    longest.

    Raises :class:`ModelError` where a size is open, the reciprocal is no sum of monomials, or an axis has too few chips.

    >>> from symroof.reading.grids import read_grid
    >>> from symroof.reading.problems import read_problem
    >>> problem = read_problem({"operation": "matmul", "hardware": "tpu-v5e", "assume": "D = F"})
    >>> found = plane(problem, *read_grid("B=1..10000, F=1..10000", ("B", "D", "F")))
    >>> [str(region.largest) for region in found.regions]
    ['B', 'F/2']
    """
    names = x.names[0], y.names[0]
    setting = setting_of(problem)  # an axis of a mesh that is put in is wired as it is
    problem = at_sizes(problem, dict(problem.at[0]) if problem.at else {})
    if setting.timed and (setting.rates.vector or (setting.joint and len(setting.rates.resources) > 2)):
        return _of_times(setting_of(problem), x, y)
    result = regime_map(problem)
    setting, ridge, symbols = result.setting, result.setting.ridge, (symbol(names[0]), symbol(names[1]))
    require_sizes((s.name for s in result.value.free_symbols), names, f", or --assume {{}}={names[1]}")
    monomials = laurent_terms(1 / result.value, symbols_of(result.value, *symbols))
    if monomials is None or any(c <= 0 for c, _ in monomials):
        raise ModelError(
            "the reciprocal of the intensity is no sum of monomials, so the plane has no straight borders",
            hint="leave --count exact out" if problem.count == "exact" else None,
        )
    terms = [rational(c) * m for c, m in monomials]
    parts = total(*map(setting.layout.write, terms))
    upside_down = Quotient(number(1), INTENSITY)
    result.draft.add(Step("regime", Reason.RECIPROCAL, upside_down, "=", parts, setting.equalities))
    ranges = logarithms(x), logarithms(y)
    regions = _regions(terms, symbols, ranges, ridge)
    threshold = () if ridge is None else _threshold(result.value, symbols, ranges, ridge)
    side = "" if threshold or ridge is None else _side(result.draft, (x, y))
    beyond = _beyond(result.value, symbols, ranges, threshold, ridge) if threshold and ridge is not None else ()
    places = tuple(map(sizes_of, threshold)), side, tuple(map(sizes_of, beyond))
    return Plane(setting, names, (sizes_of(ranges[0]), sizes_of(ranges[1])), regions, False, *places)


def _beyond(
    value: Expr, symbols: tuple[Expr, Expr], ranges: tuple[Point, Point], threshold: Sequence[Point], ridge: Fraction
) -> list[Point]:
    """The threshold with the corners of the map that are beyond it, in their order about what they surround."""
    corners = [(x, y) for x in ranges[0] for y in ranges[1]]
    put = [dict(zip((s.name for s in symbols), sizes_of(corner), strict=True)) for corner in corners]
    inside = [corner for corner, sizes in zip(corners, put, strict=True) if evaluate(value, sizes) > ridge]
    every = [*threshold, *inside]
    x, y = (sum(place[i] for place in every) / len(every) for i in (0, 1))
    return sorted(every, key=lambda place: atan2(place[1] - y, place[0] - x))


def _side(draft: Draft, axes: tuple[Axis, Axis]) -> str:
    """On which side of the ridge the intensity is on all of a map; nothing where no side is proved."""
    ends = (
        Compare(Name(a.names[0]), sign, number(end))
        for a in axes
        for sign, end in zip((">=", "<="), a.ends, strict=True)
    )
    where = (*draft.setting.equalities, *ends)
    for relation in "<>":
        with suppress(CheckError):
            draft.add(Step("regime", Reason.SIDE, INTENSITY, relation, RIDGE, where))
            return relation
    return ""


def logarithms(axis: Axis) -> Point:
    low, high = axis.ends
    return log10(low), log10(high)


def sizes_of(logarithms: Point) -> Point:
    return 10 ** logarithms[0], 10 ** logarithms[1]


def _regions(
    terms: Sequence[Expr], symbols: tuple[Expr, Expr], ranges: tuple[Point, Point], ridge: Fraction | None
) -> tuple[Region, ...]:
    """For each term the part of the rectangle where it is the largest, by its form; terms that never lead have none."""
    result, planes = [], [_affine(term, symbols) for term in terms]
    (x0, x1), (y0, y1) = ranges
    for term, own in zip(terms, planes, strict=True):
        corners: list[Point] = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
        for other in planes:
            if other != own:
                corners = _cut(corners, _minus(own, other))
        if _area(corners) > 1e-9:
            level = () if ridge is None else _cut(corners, _minus((-log10(ridge), 0.0, 0.0), own))
            ends = [place for place in level if place not in corners]
            rule = tuple(map(sizes_of, ends)) if len(ends) == 2 else ()
            result.append(Region(cancel(1 / term), tuple(map(sizes_of, corners)), rule))
    return tuple(sorted(result, key=lambda region: str(region.largest)))


def _affine(term: Expr, symbols: tuple[Expr, Expr]) -> Affine:
    powers, rest = term.as_powers_dict(), term.subs(dict.fromkeys(symbols, 1))
    return log10(float(rest)), float(powers.get(symbols[0], 0)), float(powers.get(symbols[1], 0))


def _minus(a: Affine, b: Affine) -> Affine:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def _cut(corners: list[Point], side: Affine) -> list[Point]:
    """The part of a polygon where a + b x + c y >= 0 (Sutherland, Hodgman, 1974)."""
    corners_inside: list[Point] = []
    heights = [side[0] + side[1] * x + side[2] * y for x, y in corners]
    for i, (x, y) in enumerate(corners):
        before, (u, v) = heights[i - 1], corners[i - 1]
        if (heights[i] >= 0) != (before >= 0):
            t = before / (before - heights[i])
            corners_inside.append((u + t * (x - u), v + t * (y - v)))
        if heights[i] >= 0:
            corners_inside.append((x, y))
    return corners_inside


def _area(corners: Sequence[Point]) -> float:
    return abs(sum(corners[i - 1][0] * y - x * corners[i - 1][1] for i, (x, y) in enumerate(corners))) / 2


def _extent(corners: Sequence[Point]) -> float:
    """How wide a region is on logarithmic axes."""
    return _area([(log10(x), log10(y)) for x, y in corners])


def _threshold(
    value: Expr, symbols: tuple[Expr, Expr], ranges: tuple[Point, Point], ridge: Fraction, steps: int = 240
) -> tuple[Point, ...]:
    """Where the intensity is the ridge: for sizes along x the exact bound on y, and for sizes along y the one on x."""
    points: set[Point] = set()
    for along, other, turned in ((0, 1, False), (1, 0, True)):
        if not value.has(symbols[other]):
            continue
        solution = solution_of(value, rational(ridge), symbols[other], frozenset(symbols))
        edge, guard = solution.bound, solution.guard
        above = () if not isinstance(guard, Compare) else (expression(guard.left) - expression(guard.right),)
        if edge is None or isinstance(edge, Root) or not edge.is_rational_function():
            continue
        low, high = ranges[along]
        for i in range(steps + 1):
            place = low + (high - low) * i / steps
            put = {symbols[along].name: 10.0**place}
            if any(evaluate(part, put) <= 0 for part in above) or (bound := evaluate(edge, put)) <= 0:
                continue
            if ranges[other][0] <= (result := log10(bound)) <= ranges[other][1]:
                points.add((result, place) if turned else (place, result))
    return tuple(sorted(points, key=lambda p: (p[0] - p[1], p[0])))


def _of_times(setting: Setting, x: Axis, y: Axis) -> Plane:
    """The map of the longest time."""
    names, ranges = (x.names[0], y.names[0]), (logarithms(x), logarithms(y))
    for axis in (x, y):
        least = least_rings(setting.problem).get(axis.names[0], 1)
        if axis.ends[0] < least:
            raise ModelError(f"{axis.names[0]} starts below {least} chips", expected=f"a range from {least}")
    require_joined(setting.problem, {axis.names[0]: Fraction(axis.ends[1]) for axis in (x, y)})
    formulas = times_in_figures(setting)
    draft = require_proved(setting, formulas)
    values = {name: setting.in_numbers(value) for name, value in formulas.items()}
    require_sizes((s.name for value in values.values() for s in value.free_symbols), names)
    regions = _joined(_Times(values, names, ranges))
    proved = (replace(r, steps=draft.add(*_longest(draft, values, names, r)).since(draft)) for r in regions)
    return Plane(setting, names, (sizes_of(ranges[0]), sizes_of(ranges[1])), tuple(proved), True)


class _Times(Frozen):
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
            name: [log10(max(height, NOTHING)) for height in evaluate_along(value, sizes, across, places)]
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


def _joined(plane: _Times) -> Iterator[Region]:
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
            yield Region(symbol(time), tuple(map(sizes_of, (*below, *reversed(above)))))


def _longest(draft: Draft, values: Mapping[str, Expr], names: tuple[str, str], region: Region) -> Iterator[Step]:
    """That no other time is longer in the middle of a region."""
    middle = zip(names, _middle(region.corners), strict=True)
    sizes = {name: Fraction(size).limit_denominator(1000) for name, size in middle}
    where = (*draft.setting.equalities, *(equality(name, size) for name, size in sizes.items()))
    point = {symbol(name): rational(size) for name, size in sizes.items()}
    longest = draft.write(values[region.largest.name].subs(point))
    yield from (Step("regime", Reason.FACT, Group(Name(name)), "<=", longest, where) for name in values)


def _middle(corners: Sequence[Point]) -> Point:
    """A place inside: half way up the middle line."""
    half = len(corners) // 4
    (x, low), (_, high) = corners[half], corners[-1 - half]
    return x, (low * high) ** 0.5
