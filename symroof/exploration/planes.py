"""The regime map in two sizes, as numbers: where which term leads, the exact threshold, and the rule of thumb."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from math import atan2, log10

from sympy import Expr

from symroof.algebra.approximation import laurent
from symroof.algebra.rational import cancelled, symbols_of
from symroof.algebra.roots import Root
from symroof.derivation.draft import INTENSITY, RIDGE, Draft
from symroof.derivation.evaluation import evaluated
from symroof.derivation.setting import Setting
from symroof.derivation.solving import solution_of
from symroof.errors import CheckError, ModelError
from symroof.exploration.curves import require_sizes
from symroof.exploration.regime_map import at_sizes, regime_map
from symroof.formula import Compare, Frozen, Name, Quotient, number, total
from symroof.model.problem import Problem
from symroof.proof.step import Reason, Step
from symroof.reading.grids import Axis
from symroof.symbols import expression, rational, symbol

Point = tuple[float, float]
# A monomial in logarithms: the constant, and the exponents of the two sizes. Where two are equal is a straight line.
Affine = tuple[float, float, float]


class Region(Frozen):
    """A polygon in which one term of the reciprocal intensity is the largest: ``form`` is the intensity's leading form
    there, ``rule`` the ends of the line along which that is the ridge."""

    form: Expr
    corners: tuple[Point, ...]
    rule: tuple[Point, ...]


class Plane(Frozen):
    """Regions that cover the plane of two sizes, straight on logarithmic axes; ``threshold`` are points where the
    intensity is the ridge, by rising x. Where there are none, ``side`` is how the intensity stands to the ridge on the
    whole map, ``<`` or ``>``, if that was proved. ``beyond`` is the polygon of what is compute-bound: convex, for the
    reciprocal of the intensity is a sum of exponentials there."""

    setting: Setting
    names: tuple[str, str]
    ranges: tuple[Point, Point]
    regions: tuple[Region, ...]
    threshold: tuple[Point, ...]
    side: str = ""
    beyond: tuple[Point, ...] = ()

    @property
    def rules(self) -> tuple[tuple[Point, ...], ...]:
        """The ends of the lines where a leading form is the ridge."""
        return tuple(region.rule for region in reversed(self.regions) if region.rule)

    @property
    def lines(self) -> Iterable[tuple[str, tuple[str, ...], tuple[Point, ...]]]:
        """Everything that is drawn, by what it is, and of which leading form."""
        yield "threshold", (), self.threshold
        yield from (("rule_of_thumb", (), rule) for rule in self.rules)
        yield from (("corner", (str(region.form),), region.corners) for region in self.regions)


def plane(problem: Problem, x: Axis, y: Axis) -> Plane:
    """The regime map of the intensity over two sizes, the others being put in.

    Regions are exact: each term of 1/intensity is a monomial, and two monomials are equal along a straight line of the
    logarithmic plane. Raises :class:`ModelError` where a size is open, or the reciprocal is no such sum.

    >>> from symroof.reading.grids import read_grid
    >>> from symroof.reading.problems import read_problem
    >>> problem = read_problem({"operation": "matmul", "hardware": "tpu-v5e", "assume": "D = F"})
    >>> found = plane(problem, *read_grid("B=1..10000, F=1..10000", ("B", "D", "F")))
    >>> [str(region.form) for region in found.regions]
    ['B', 'F/2']
    """
    names = x.names[0], y.names[0]
    found = regime_map(at_sizes(problem, dict(problem.at[0]) if problem.at else {}))
    setting, ridge, symbols = found.setting, found.setting.ridge, (symbol(names[0]), symbol(names[1]))
    require_sizes((s.name for s in found.value.free_symbols), names, f", or --assume {{}}={names[1]}")
    monomials = laurent(1 / found.value, symbols_of(found.value, *symbols))
    if monomials is None or any(c <= 0 for c, _ in monomials):
        raise ModelError(
            "the reciprocal of the intensity is no sum of monomials, so the plane has no straight borders",
            hint="leave --count exact out" if problem.count == "exact" else None,
        )
    terms = [rational(c) * m for c, m in monomials]
    parts = total(*map(setting.layout.write, terms))
    upside_down = Quotient(number(1), INTENSITY)
    found.draft.add(Step("regime", Reason.RECIPROCAL, upside_down, "=", parts, setting.equalities))
    ranges = logarithms(x), logarithms(y)
    regions = _regions(terms, symbols, ranges, ridge)
    threshold = () if ridge is None else _threshold(found.value, symbols, ranges, ridge)
    side = "" if threshold or ridge is None else _side(found.draft, (x, y))
    beyond = _beyond(found.value, symbols, ranges, threshold, ridge) if threshold and ridge is not None else ()
    places = tuple(map(sizes_of, threshold)), side, tuple(map(sizes_of, beyond))
    return Plane(setting, names, (sizes_of(ranges[0]), sizes_of(ranges[1])), regions, *places)


def _beyond(
    value: Expr, symbols: tuple[Expr, Expr], ranges: tuple[Point, Point], threshold: Sequence[Point], ridge: Fraction
) -> list[Point]:
    """The threshold with the corners of the map that are beyond it, in their order about what they surround."""
    corners = [(x, y) for x in ranges[0] for y in ranges[1]]
    put = [dict(zip((s.name for s in symbols), sizes_of(corner), strict=True)) for corner in corners]
    inside = [corner for corner, sizes in zip(corners, put, strict=True) if evaluated(value, sizes) > ridge]
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
    found, planes = [], [_affine(term, symbols) for term in terms]
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
            found.append(Region(cancelled(1 / term), tuple(map(sizes_of, corners)), rule))
    return tuple(sorted(found, key=lambda region: str(region.form)))


def _affine(term: Expr, symbols: tuple[Expr, Expr]) -> Affine:
    powers, rest = term.as_powers_dict(), term.subs(dict.fromkeys(symbols, 1))
    return log10(float(rest)), float(powers.get(symbols[0], 0)), float(powers.get(symbols[1], 0))


def _minus(a: Affine, b: Affine) -> Affine:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def _cut(corners: list[Point], side: Affine) -> list[Point]:
    """The part of a polygon where a + b x + c y >= 0 (Sutherland, Hodgman, 1974)."""
    kept: list[Point] = []
    heights = [side[0] + side[1] * x + side[2] * y for x, y in corners]
    for i, (x, y) in enumerate(corners):
        before, (u, v) = heights[i - 1], corners[i - 1]
        if (heights[i] >= 0) != (before >= 0):
            t = before / (before - heights[i])
            kept.append((u + t * (x - u), v + t * (y - v)))
        if heights[i] >= 0:
            kept.append((x, y))
    return kept


def _area(corners: list[Point]) -> float:
    return abs(sum(corners[i - 1][0] * y - x * corners[i - 1][1] for i, (x, y) in enumerate(corners))) / 2


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
            if any(evaluated(part, put) <= 0 for part in above) or (bound := evaluated(edge, put)) <= 0:
                continue
            if ranges[other][0] <= (found := log10(bound)) <= ranges[other][1]:
                points.add((found, place) if turned else (place, found))
    return tuple(sorted(points, key=lambda p: (p[0] - p[1], p[0])))
