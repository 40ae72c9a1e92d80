"""The regime map in two sizes, as numbers: where which term leads, the exact threshold, and the rule of thumb."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import log10

from sympy import Expr

from symroof.algebra.approximation import laurent
from symroof.algebra.rational import cancelled, symbols_of
from symroof.algebra.roots import Root
from symroof.derivation.draft import INTENSITY
from symroof.derivation.evaluation import evaluated
from symroof.derivation.setting import Setting, require_sizes_agree, setting_of
from symroof.derivation.solving import solution_of
from symroof.errors import ModelError
from symroof.exploration.regime_map import at_sizes, regime_map
from symroof.formula import Compare, Quotient, number, total
from symroof.model.problem import Problem
from symroof.proof.step import Reason, Step
from symroof.reading.grids import Axis
from symroof.symbols import expression, rational, symbol

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Region:
    """Where one term of the reciprocal intensity is the largest: ``form`` is the intensity's leading form there.

    ``corners`` are those of a polygon, in decimal logarithms of the sizes.
    """

    form: Expr
    corners: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Plane:
    """Regions that cover the plane of two sizes; ``threshold`` are points where the intensity is the ridge, by rising x,
    and ``rule`` the lines where the leading form is, in decimal logarithms."""

    setting: Setting
    names: tuple[str, str]
    ranges: tuple[Point, Point]
    regions: tuple[Region, ...]
    threshold: tuple[Point, ...]
    rule: tuple[tuple[Point, Point], ...]
    value: Expr


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
    if len(x.names) != 1 or len(y.names) != 1:
        raise ModelError("a regime map has one size on each axis", expected="--over B=1..4096,D=1..4096")
    names = x.names[0], y.names[0]
    for name in names:
        if any(name in values for values in problem.at):
            raise ModelError(f"{name} runs over its axis and has a size as well", hint=f"leave {name} out of --at")
    for values in problem.at[1:]:
        raise ModelError(f"a regime map shows one set of the other sizes, and there is a second: {', '.join(values)}")
    fixed = dict(problem.at[0]) if problem.at else {}
    require_sizes_agree(setting_of(replace(problem, at=())), fixed)
    found = regime_map(at_sizes(problem, fixed))
    setting, value = found.setting, found.value
    missing = sorted(s.name for s in value.free_symbols if s.name not in names)
    if missing:
        raise ModelError(
            f"{', '.join(missing)} {'has' if len(missing) == 1 else 'have'} no size",
            hint=f"say --at {missing[0]}=8192, or --assume {missing[0]}={names[1]}",
        )
    symbols = tuple(map(symbol, names))
    terms = laurent(1 / value, symbols_of(value, *symbols))
    if terms is None or any(c <= 0 for c, _ in terms):
        raise ModelError(
            "the reciprocal of the intensity is no sum of monomials, so the plane has no straight borders",
            hint="leave --count exact out" if problem.count == "exact" else None,
        )
    parts = total(*(setting.layout.write(rational(c) * m) for c, m in terms))
    upside_down = Quotient(number(1), INTENSITY)
    found.draft.add(Step("regime", Reason.RECIPROCAL, upside_down, "=", parts, setting.equalities))
    planes = [_affine(c * m, symbols) for c, m in ((rational(c), m) for c, m in terms)]
    ranges = _logarithms(x), _logarithms(y)
    regions = tuple(
        Region(cancelled(1 / (rational(c) * m)), corners)
        for (c, m), own in zip(terms, planes, strict=True)
        if (corners := _polygon(own, planes, ranges))
    )
    ridge = setting.ridge
    curve = _threshold(value, symbols, ranges, ridge) if ridge is not None else ()
    rules = tuple(
        line for region in regions if ridge is not None and (line := _rule(region, symbols, ridge)) is not None
    )
    return Plane(setting, names, ranges, tuple(sorted(regions, key=lambda r: str(r.form))), curve, rules, value)


def _logarithms(axis: Axis) -> Point:
    low, high = log10(axis.values[0]), log10(axis.values[-1])
    if high <= low:
        raise ModelError(f"{axis.names[0]} has one value", expected=f"a range, as in {axis.names[0]}=1..4096")
    return low, high


def _affine(term: Expr, symbols: tuple[Expr, ...]) -> tuple[float, float, float]:
    """log10 of a monomial: constant, and the exponents of the two sizes."""
    powers = term.as_powers_dict()
    exponents = [float(powers.get(s, 0)) for s in symbols]
    rest = term.subs(dict.fromkeys(symbols, 1))
    return (log10(float(rest)), *exponents)  # type: ignore[return-value]


def _polygon(
    own: tuple[float, float, float], planes: list[tuple[float, float, float]], ranges: tuple[Point, Point]
) -> tuple[Point, ...]:
    """The part of the rectangle where ``own`` is the largest: the rectangle cut by every other plane."""
    (x0, x1), (y0, y1) = ranges
    corners: list[Point] = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    for other in planes:
        if other == own:
            continue
        corners = _cut(corners, tuple(a - b for a, b in zip(own, other, strict=True)))
    return tuple(corners) if _area(corners) > 1e-9 else ()


def _cut(corners: list[Point], side: tuple[float, ...]) -> list[Point]:
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
    value: Expr, symbols: tuple[Expr, ...], ranges: tuple[Point, Point], ridge: Fraction, steps: int = 240
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


def _rule(region: Region, symbols: tuple[Expr, ...], ridge: Fraction) -> tuple[Point, Point] | None:
    """The part of a region's polygon where its leading form is the ridge: a straight line."""
    constant, *slopes = _affine(region.form, symbols)
    level = constant - log10(float(ridge))
    ends: list[Point] = []
    for a, b in zip(region.corners, (*region.corners[1:], region.corners[0]), strict=True):
        heights = [level + slopes[0] * x + slopes[1] * y for x, y in (a, b)]
        if (heights[0] < 0) != (heights[1] < 0):
            t = heights[0] / (heights[0] - heights[1])
            ends.append((a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])))
    return (ends[0], ends[1]) if len(ends) == 2 else None
