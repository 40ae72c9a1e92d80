"""Sizes put in: where a point stands on the map, and what is left to find where only some sizes are fixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sympy import Add

from symroof.algebra.approximation import reciprocals
from symroof.algebra.inequality import solve_for
from symroof.algebra.intervals import smallest_integer
from symroof.algebra.optima import highest
from symroof.algebra.rational import symbols_of
from symroof.derivation.machine import chip_step
from symroof.exploration.edges import equal_sizes_from
from symroof.exploration.knobs import Knob
from symroof.exploration.regime_map import RegimeMap, RegimeRow
from symroof.exploration.traffic import parts_at
from symroof.formula import Compare, Formula, Name
from symroof.symbols import fraction, rational, symbol


@dataclass(frozen=True, slots=True)
class Place:
    """A point on the map. ``factor`` is the leading form of the nearest corner over the exact intensity."""

    values: Mapping[str, Fraction]
    intensity: Fraction
    parts: tuple[tuple[str, Fraction], ...]
    nearest: RegimeRow
    factor: Fraction
    knobs: tuple[tuple[Knob, Fraction], ...]


def covers(found: RegimeMap, values: Mapping[str, Fraction]) -> bool:
    """Whether the values leave no size of the quantity open."""
    return all(s.name in values for s in found.value.free_symbols if s not in found.setting.values)


def place(found: RegimeMap, values: Mapping[str, Fraction]) -> Place:
    """Where sizes that leave nothing open stand on the map; everything in it is exact.

    >>> from symroof.exploration.regime_map import regime_map
    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> at = place(regime_map(Problem(library_operation("matmul"))), {"B": Fraction(2), "D": Fraction(64), "F": Fraction(64)})
    >>> at.intensity, str(at.nearest.leading), at.factor
    (Fraction(32, 17), 'B', Fraction(17, 16))
    """
    point = {symbol(name): rational(value) for name, value in values.items()} | {
        figure: rational(value) for figure, value in found.setting.values.items()
    }
    exact = fraction(found.value.subs(point))
    factors = [(row, fraction(row.leading.subs(point)) / exact) for row in found.corner_rows]
    nearest, factor = min(factors, key=lambda pair: max(pair[1], 1 / pair[1]))
    turned = [(knob, knob.at(values)) for knob in found.knobs]
    everything = {name: Fraction(1) for name in found.setting.problem.operation.dimensions} | dict(values)
    return Place(
        values,
        exact,
        parts_at(found.setting, everything),
        nearest,
        factor,
        tuple((k, f) for k, f in turned if f is not None),
    )


@dataclass(frozen=True, slots=True)
class Remains:
    """What fixed sizes leave. With ``top`` at or below the ridge nothing helps; otherwise ``condition`` is what the other
    sizes have to meet, ``equal_from`` the least size with all of them equal, ``each_from`` what each has to reach."""

    top: Fraction | None
    top_reached: bool
    share: Fraction | None
    condition: Formula | None
    sizes: tuple[str, ...]
    equal_from: int | None
    each_from: tuple[tuple[str, int], ...]


def remains(found: RegimeMap) -> Remains | None:
    """What is left to find once some sizes are fixed; None without a ridge to compare with."""
    setting, value, ridge = found.setting, found.value, found.setting.ridge
    if ridge is None or not found.of_intensity:
        return None
    sizes = symbols_of(value)
    named = tuple(sorted((s.name for s in sizes), key=setting.layout.order.index))
    bound = value if not sizes else highest(value, setting.least_one)
    top = fraction(bound) if bound is not None and bound.is_Rational else None
    if not sizes or (top is not None and top <= ridge):
        return Remains(top, not sizes, None if top is None else top / ridge, None, named, None, ())
    square = solve_for(value.subs(dict.fromkeys(sizes[1:], sizes[0])) - rational(ridge), sizes[0], setting.least_one)
    equal_from = equal_sizes_from(setting, value)
    parts = reciprocals(value) or ()
    constant = Add(*(1 / m for m in parts if not m.free_symbols))
    budget = 1 / ridge - fraction(constant)
    growing = [m for m in parts if m.free_symbols]
    if not growing or budget <= 0:
        return Remains(top, False, None, None, named, equal_from, ())
    condition = Compare(setting.layout.write(Add(*(1 / m for m in growing))), "<", setting.layout.write(budget))
    if len(sizes) == 1 and square.bound is not None and getattr(square.bound, "is_Rational", False) and square.rises:
        condition = Compare(Name(named[0]), ">", setting.layout.write(square.bound))
    each = [
        (next(iter(m.free_symbols)), m)
        for m in growing
        if len(m.free_symbols) == 1 and (m / next(iter(m.free_symbols))).is_Rational
    ]
    limits = {s.name: smallest_integer(rational(1 / budget) / (m / s), chip_step(setting, s)) or 1 for s, m in each}
    return Remains(
        top, False, None, condition, named, equal_from, tuple((name, limits[name]) for name in named if name in limits)
    )
