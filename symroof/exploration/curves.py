"""What figures show, as numbers: curves of quantities over one size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from sympy import Expr, oo

from symroof.algebra.rational import symbols_of
from symroof.algebra.roots import Root
from symroof.derivation.draft import numeric
from symroof.derivation.evaluation import QuantityFunction, evaluated, evaluated_along, function_of, functions_of
from symroof.derivation.setting import Setting, setting_of
from symroof.derivation.solving import limit, monotony, solution_of
from symroof.derivation.threshold import first_size
from symroof.errors import ModelError
from symroof.formula import Frozen
from symroof.model.hardware import Accelerator, Known
from symroof.model.mesh import open_axes
from symroof.model.problem import Problem
from symroof.reading.grids import Axis
from symroof.symbols import fraction, rational, symbol

PLACES = 400
# What is drawn against a size, by the kind of the figure.
QUANTITIES = {"throughput": ("throughput",), "times": ("T_math", "T_comms", "T_lower", "T_upper")}


class Roof(Frozen):
    """The peak of a chip, and the slope of a bandwidth that ends at it."""

    setting: Setting
    peak: Known
    bandwidth: Known

    @property
    def link(self) -> str:
        return self.setting.problem.link

    @property
    def chip(self) -> Accelerator:
        chip = self.setting.problem.hardware
        assert chip is not None
        return chip

    @property
    def ridge(self) -> float:
        return float(self.peak.value / self.bandwidth.value)

    @property
    def top(self) -> float:
        """The FLOPs/s of all chips at their peak."""
        return float(self.peak.value) * self.chips

    @property
    def chips(self) -> int:
        """Over how many chips the arithmetic is split."""
        return int(self.setting.chips)

    def height(self, intensity: float) -> float:
        """Attainable FLOPs/s of one chip."""
        return min(float(self.peak.value), intensity * float(self.bandwidth.value))


class Curve(Frozen):
    """Quantities over one size: ``xs`` are its values, ``values`` the other sizes, ``lines`` the quantities by name.

    ``bound`` is the size at which the intensity reaches the ridge, ``first`` the least whole size beyond; None where it
    never does, or always is above. ``ceiling`` is the supremum of the throughput where it is never the peak, and it is
    ``attained`` or only approached. Without ``xs`` no size runs, and each of the lines is one number.
    """

    values: Mapping[str, Fraction]
    xs: tuple[float, ...]
    lines: Mapping[str, tuple[float, ...]]
    bound: float | None = None
    first: int | None = None
    ceiling: float | None = None
    attained: bool = False

    def points(self, name: str, over: str | None = None) -> list[tuple[float, float]]:
        """One of the quantities over the size, or over another one."""
        return list(zip(self.xs if over is None else self.lines[over], self.lines[name], strict=True))


class Curves(Frozen):
    """Attainable throughput, or times, against a size: a curve for each point. ``rule`` is the throughput by the rule of
    thumb, in which the other sizes are large.

    ``miss`` is where the rule says that the peak is reached, the curve that falls most short there, and its share.
    """

    kind: str
    roof: Roof
    variable: str
    log: bool
    curves: tuple[Curve, ...]
    rule: Curve | None = None
    miss: tuple[int, Curve, float] | None = None

    @property
    def setting(self) -> Setting:
        return self.roof.setting

    @property
    def large(self) -> tuple[str, ...]:
        """The sizes that are large by the rule of thumb."""
        others = {s.name for s in self.setting.intensity.free_symbols} - {self.variable}
        return tuple(name for name in self.setting.problem.names if name in others)


def roof_of(problem: Problem) -> Roof:
    """The roof of a problem's chip and link."""
    setting = at_one_peak(problem)
    if setting.peak is None or setting.bandwidth is None:
        raise ModelError("a figure needs a peak and a bandwidth", hint="say --on CHIP")
    return Roof(setting, setting.peak, setting.bandwidth)


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


def require_numbers_of_chips(problem: Problem, known: Iterable[str] = ()) -> None:
    """Every axis of the mesh has a number of chips."""
    if axes := [name for name in open_axes(problem.mesh) if name not in known]:
        raise ModelError(f"a figure needs the number of chips of {', '.join(axes)}", hint=f"say --mesh {axes[0]}=4")


def require_sizes(needed: Iterable[str], known: Iterable[str], otherwise: str = "") -> None:
    """Every size that is needed is put in, or runs over an axis."""
    missing = sorted({*needed} - {*known})
    if missing:
        raise ModelError(
            f"{', '.join(missing)} {'has' if len(missing) == 1 else 'have'} no size",
            hint=f"say --at {'='.join(missing)}=8192" + otherwise.format(missing[0]),
        )


def in_common(points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sizes that are the same at all points.

    >>> in_common([{"B": 1, "D": 8}, {"B": 2, "D": 8}])
    {'D': 8}
    """
    if not points:
        return {}
    first, *others = points
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def spread(over: Axis, *extra: float | None) -> tuple[float, ...]:
    """Places from one end of an axis to the other, dense and even on its scale, and further ones between the ends."""
    low, high = over.ends
    count = min(PLACES, high - low) or 1
    if over.log:
        chosen = [low * (high / low) ** (i / PLACES) for i in range(1, PLACES)]
    else:
        chosen = [low + (high - low) * i / count for i in range(1, count)]
    inside = [x for x in extra if x is not None and low < x < high]
    return tuple(sorted({float(low), float(high), *chosen, *inside}))


def along(
    function: QuantityFunction, values: Mapping[str, Fraction], variable: str, xs: Iterable[float]
) -> tuple[float, ...]:
    """A quantity as one size runs over ``xs``."""
    fixed = {name: float(value) for name, value in values.items()}
    return tuple(evaluated_along(function.expression, fixed, variable, list(xs)))


def curves(problem: Problem, kind: str, over: Axis) -> Curves:
    """The throughput or the times of a problem at each of its points, over the values of an axis.

    >>> from symroof.reading.grids import read_grid
    >>> from symroof.reading.problems import read_problem
    >>> problem = read_problem({"operation": "bf16[B, D] * int8[D, F] -> bf16[B, F]", "hardware": "tpu-v5e", "at": ["D=F=4096", "D=F=1024"]})
    >>> found = curves(problem, "throughput", read_grid("B=1..400", ("B", "D", "F"))[0])
    >>> [(curve.first, round(curve.bound, 2)) for curve in (*found.curves, found.rule)]
    [(137, 136.09), (227, 226.31), (121, 120.12)]
    """
    if (axis := over.names[0]) in open_axes(problem.mesh):
        raise ModelError(
            f"a product in one line is compared with one link, and is not drawn over {axis}",
            expected=f"another size, at a number of chips: --mesh {axis}=4",
            hint=f"as a program, mesh {axis}; input x: …; weight W: …; y = x * W -> …, it is drawn over {axis}",
        )
    require_numbers_of_chips(problem)
    roof, x = roof_of(problem), symbol(over.names[0])
    setting = roof.setting
    counts = setting.regime.apply(setting.flops), setting.regime.apply(setting.moved)
    needed = {s.name for s in counts[0].free_symbols | counts[1].free_symbols}
    if x.name not in needed:
        raise ModelError(f"nothing depends on {x}", expected=f"one of {', '.join(sorted(needed))}")
    functions = {f.name: f for f in functions_of(setting, (*QUANTITIES[kind], *_of_statements(setting, kind)))}
    found = []
    for values in problem.at or ({},):
        require_sizes(needed, {*values, x.name})
        put = {symbol(name): rational(value) for name, value in values.items()}
        form = setting.intensity.subs(put)
        bound, first = _reach(roof, form, x)
        ceiling, attained = _ceiling(roof, form, x) if bound is None else (None, False)
        if setting.rates.vector and bound is not None and not _reaches(roof, values, x.name, bound, over):
            bound, first = None, None  # the vector unit takes longer than both
        xs = spread(over, bound)
        lines = {name: along(function, values, x.name, xs) for name, function in functions.items()}
        found.append(Curve(values, xs, lines, bound, first, ceiling, attained))
    if kind == "times":
        return Curves(kind, roof, x.name, over.log, tuple(found))
    rule = _rule(roof, x, over, found)
    return Curves(kind, roof, x.name, over.log, tuple(found), rule, _miss(roof, x, found, rule, functions[kind]))


def _reaches(roof: Roof, values: Mapping[str, Fraction], x: str, bound: float, over: Axis) -> bool:
    """Whether the arithmetic takes longest from a bound on to the end of an axis, as long as the vector unit there."""
    throughput = function_of(roof.setting, "throughput")
    heights = along(throughput, values, x, [size for size in spread(over, bound) if size >= bound] or [bound])
    return all(height >= roof.top * (1 - 1e-12) for height in heights)


def _of_statements(setting: Setting, kind: str) -> tuple[str, ...]:
    """The times that only a program has."""
    if kind != "times" or setting.problem.operation.alone:
        return ()
    return (*(("T_vector",) if setting.rates.vector else ()), "T_steps")


def _reach(roof: Roof, form: Expr, x: Expr) -> tuple[float | None, int | None]:
    """Where a form reaches the ridge, and the least whole size beyond it."""
    if not form.has(x):
        return None, None
    setting, ridge = roof.setting, rational(roof.peak.value / roof.bandwidth.value)
    solution = solution_of(form, ridge, x, setting.least_one)
    bound = numeric(solution.bound) if solution.rises else None
    if bound is None:
        return None, None
    if (
        isinstance(solution.bound, Root) and not solution.bound.exact
    ):  # one end is the decimal that is printed, the other is near
        ends = solution.bound.low, solution.bound.high
        bound = min(ends, key=lambda end: abs(form.subs(x, rational(end)) - ridge))
    return float(bound), first_size(setting, solution)


def _ceiling(roof: Roof, form: Expr, x: Expr) -> tuple[float | None, bool]:
    """The throughput of all chips at the supremum of a form in one size, where it never is the peak, and whether it is
    attained: by what rises it is approached, by what falls it is attained at 1, by what is level everywhere."""
    least_one = roof.setting.least_one
    way = monotony(form, x, least_one) if form.has(x) else 0
    highest = limit(form, x, least_one) if way == 1 else form.subs(x, 1) if way in (0, -1) else None
    if highest is None or not highest.is_Rational:
        return None, False
    height, peak = fraction(highest) * roof.bandwidth.value, roof.peak.value
    if height > peak or (height == peak and way != 1):
        return None, False
    return float(height) * roof.chips, way != 1


def _rule(roof: Roof, x: Expr, over: Axis, found: Sequence[Curve]) -> Curve | None:
    """The intensity with every other size without bound, times the bandwidth, up to the peak. None where no curve gets
    to the peak, or at none of their sizes the others are larger than where the rule says that it is reached."""
    setting, form = roof.setting, roof.setting.intensity
    if setting.rates.vector:
        return None
    for other in symbols_of(form):
        form = form if other == x else limit(form, other, setting.least_one)
        if form in (0, oo):
            return None
    bound, first = (None, None) if form == setting.intensity else _reach(roof, form, x)
    others = [other.name for other in symbols_of(setting.intensity) if other != x]
    if bound is None or not any(
        curve.ceiling is None and all(curve.values.get(name, bound) >= bound for name in others) for curve in found
    ):
        return None
    xs = spread(over, bound)
    ys = tuple(roof.chips * roof.height(evaluated(form, {x.name: size})) for size in xs)
    return Curve({}, xs, {"throughput": ys}, bound, first)


def _miss(
    roof: Roof, x: Expr, found: Sequence[Curve], rule: Curve | None, function: QuantityFunction
) -> tuple[int, Curve, float] | None:
    if rule is None or rule.first is None:
        return None
    first = rule.first
    shares = [along(function, curve.values, x.name, [float(first)])[0] / roof.top for curve in found]
    share, short = min(zip(shares, found, strict=True), key=lambda pair: pair[0])
    return None if share > 0.99 else (first, short, share)
