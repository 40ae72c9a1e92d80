"""What figures show, as numbers: curves of throughput and of times, with their exact thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sympy import Expr, oo

from symroof.algebra.rational import symbols_of
from symroof.algebra.roots import Root
from symroof.derivation.draft import numeric
from symroof.derivation.evaluation import QuantityFunction, function_of
from symroof.derivation.rule import first_size
from symroof.derivation.setting import Setting, require_sizes_agree, setting_of
from symroof.derivation.solving import limit, solution_of
from symroof.errors import ModelError
from symroof.model.problem import Problem
from symroof.reading.grids import Axis
from symroof.symbols import fraction, rational, symbol

MOST_POINTS = 400


@dataclass(frozen=True, slots=True)
class Curve:
    """Points of one quantity against the variable. ``bound`` is where it becomes compute-bound, ``first`` the least
    whole size there; None where it never does, or always is."""

    values: Mapping[str, Fraction]
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    bound: float | None = None
    first: int | None = None


@dataclass(frozen=True, slots=True)
class Throughput:
    """Attainable FLOPs/s against a size, with exact bytes; and by the rule of thumb, in which the other sizes are large.

    ``miss`` is the curve that falls most short where the rule says that the peak is reached, and its share of the peak.
    """

    setting: Setting
    variable: str
    curves: tuple[Curve, ...]
    rule: Curve | None
    miss: tuple[int, float] | None

    @property
    def peak(self) -> float:
        assert self.setting.peak is not None
        return float(self.setting.peak.value) * self.setting.chips


@dataclass(frozen=True, slots=True)
class Times:
    """T_math, T_comms and the two bounds against a size; ``crossing`` is where the first two are equal."""

    setting: Setting
    variable: str
    values: Mapping[str, Fraction]
    xs: tuple[float, ...]
    lines: Mapping[str, tuple[float, ...]]
    crossing: tuple[float, float] | None
    first: int | None


def throughput(problem: Problem, over: Axis) -> Throughput:
    """The curves of a problem at each of its points, over the values of an axis.

    >>> from symroof.reading.grids import read_grid
    >>> from symroof.reading.problems import read_problem
    >>> problem = read_problem({"operation": "bf16[B, D] * int8[D, F] -> bf16[B, F]", "hardware": "tpu-v5e", "at": ["D=F=4096", "D=F=1024"]})
    >>> found = throughput(problem, read_grid("B=1..400", ("B", "D", "F"))[0])
    >>> [(curve.first, round(curve.bound, 2)) for curve in (*found.curves, found.rule)]
    [(137, 136.09), (227, 226.31), (121, 120.12)]
    """
    setting, variable, points = prepared(problem, over)
    function = function_of(setting, "throughput")
    curves = tuple(
        _curve(
            setting,
            variable,
            values,
            over,
            lambda x, at=values: function(**_sizes(function.parameters, variable, x, at)),
        )
        for values in points
    )
    rule = _rule(setting, variable, over)
    return Throughput(setting, variable, curves, rule, _miss(setting, variable, curves, rule, function))


def prepared(problem: Problem, over: Axis) -> tuple[Setting, str, tuple[Mapping[str, Fraction], ...]]:
    """The setting, the variable, and the points, each of which fixes every other size."""
    if len(over.names) != 1:
        raise ModelError(
            f"a figure is drawn over one size, and {' = '.join(over.names)} are {len(over.names)}",
            expected="--over B=1..400",
        )
    variable = over.names[0]
    setting = setting_of(replace(problem, at=()))
    if setting.peak is None or setting.bandwidth is None:
        raise ModelError("a figure needs a peak and a bandwidth", hint="say --on CHIP")
    if symbol(variable) in setting.regime.substitution:
        raise ModelError(
            f"{variable} is {setting.regime.substitution[symbol(variable)]} here", hint="draw over another size"
        )
    needed = {
        s.name
        for s in setting.regime.apply(setting.flops).free_symbols | setting.regime.apply(setting.moved).free_symbols
    }
    if variable not in needed:
        raise ModelError(f"nothing depends on {variable}", expected=f"one of {', '.join(sorted(needed))}")
    points: list[Mapping[str, Fraction]] = []
    for values in problem.at or ({},):
        if variable in values:
            raise ModelError(
                f"{variable} runs over its axis and has a size as well", hint=f"leave {variable} out of --at"
            )
        others = dict(values)
        require_sizes_agree(setting, others)
        missing = sorted(needed - set(others) - {variable})
        if missing:
            raise ModelError(
                f"{', '.join(missing)} {'has' if len(missing) == 1 else 'have'} no size",
                hint=f"say --at {'='.join(missing)}=8192",
            )
        points.append(others)
    return setting, variable, tuple(points)


def _sizes(parameters: Sequence[str], variable: str, x: float, at: Mapping[str, Fraction]) -> dict[str, float]:
    return {name: x if name == variable else float(at[name]) for name in parameters}


def spread(over: Axis, *extra: float | None) -> tuple[float, ...]:
    """The values of an axis, at most some hundred of them, and further places between its ends."""
    values = over.values
    chosen = (
        values
        if len(values) <= MOST_POINTS
        else [values[round(i * (len(values) - 1) / (MOST_POINTS - 1))] for i in range(MOST_POINTS)]
    )
    inside = [x for x in extra if x is not None and values[0] < x < values[-1]]
    return tuple(sorted({*map(float, chosen), *inside}))


def crossing(setting: Setting, variable: str, values: Mapping[str, Fraction]) -> tuple[float | None, int | None]:
    """Where the intensity reaches the ridge, and the least whole size beyond it."""
    intensity = setting.intensity.subs({symbol(n): rational(v) for n, v in values.items()})
    x, ridge = symbol(variable), setting.ridge
    if ridge is None or not intensity.has(x):
        return None, None
    solution = solution_of(intensity, rational(ridge), x, setting.least_one)
    bound = numeric(solution.bound) if solution.rises else None
    return (None, None) if bound is None else (float(bound), first_size(setting, solution))


def _curve(setting: Setting, variable: str, values: Mapping[str, Fraction], over: Axis, function) -> Curve:  # type: ignore[no-untyped-def]
    bound, first = crossing(setting, variable, values)
    xs = spread(over, bound)
    return Curve(values, xs, tuple(function(x) for x in xs), bound, first)


def _rule(setting: Setting, variable: str, over: Axis) -> Curve | None:
    """The intensity with every other size without bound, times the bandwidth, up to the peak."""
    x, ridge = symbol(variable), setting.ridge
    others = [s for s in symbols_of(setting.intensity) if s != x]
    form: Expr = setting.intensity
    for other in others:
        form = limit(form, other, setting.least_one)
        if form in (0, oo):
            return None
    if not others or not form.has(x) or ridge is None or setting.bandwidth is None or setting.peak is None:
        return None
    solution = solution_of(form, rational(ridge), x, setting.least_one)
    edge = solution.bound if solution.rises else None
    if edge is None or isinstance(edge, Root):
        return None
    bound = float(fraction(edge))
    rate, top = float(setting.bandwidth.value) * setting.chips, float(setting.peak.value) * setting.chips
    xs = spread(over, bound)
    ys = tuple(min(top, rate * float(form.subs(x, rational(Fraction(value))))) for value in xs)
    return Curve({}, xs, ys, bound, first_size(setting, solution))


def _miss(
    setting: Setting, variable: str, curves: tuple[Curve, ...], rule: Curve | None, function: QuantityFunction
) -> tuple[int, float] | None:
    if rule is None or rule.first is None or not curves or setting.peak is None:
        return None
    peak = float(setting.peak.value) * setting.chips
    shares = [
        (function(**_sizes(function.parameters, variable, float(rule.first), c.values)) / peak, i)
        for i, c in enumerate(curves)
    ]
    share, index = min(shares)
    return None if share > 0.99 else (index, share)


def times(problem: Problem, over: Axis) -> tuple[Times, ...]:
    """The times of a problem at each of its points, over the values of an axis.

    >>> from symroof.reading.grids import read_grid
    >>> from symroof.reading.problems import read_problem
    >>> problem = read_problem({"operation": "matmul", "hardware": "tpu-v5e", "at": "D=F=8192"})
    >>> found, = times(problem, read_grid("B=1..1024", ("B", "D", "F"))[0])
    >>> found.first, round(found.crossing[0], 2)
    (256, 255.21)
    """
    setting, variable, points = prepared(problem, over)
    names = ("T_math", "T_comms", "T_lower", "T_upper")
    functions = [function_of(setting, name) for name in names]
    found = []
    for values in points:
        bound, first = crossing(setting, variable, values)
        xs = spread(over, bound)
        lines = {f.name: tuple(f(**_sizes(f.parameters, variable, x, values)) for x in xs) for f in functions}
        meeting = (
            None if bound is None else (bound, functions[0](**_sizes(functions[0].parameters, variable, bound, values)))
        )
        found.append(Times(setting, variable, values, xs, lines, meeting, first))
    return tuple(found)
