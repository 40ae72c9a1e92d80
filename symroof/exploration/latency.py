"""Latency against throughput: what a batch costs in time and brings in tokens, as far as the memory holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from sympy import Expr

from symroof.derivation.evaluation import QuantityFunction, draft_with, with_figures
from symroof.derivation.premises import Setting, setting_of
from symroof.derivation.quantity_definitions import quantities
from symroof.derivation.size_constraints import are_valid
from symroof.errors import ModelError
from symroof.exploration.curves import require_numbers_of_chips, require_sizes, samples, series
from symroof.formula import Frozen
from symroof.model.hardware import Accelerator
from symroof.model.problem import Problem
from symroof.model.quantities import TOKENS
from symroof.model.splits import stride
from symroof.reading.grids import Axis
from symroof.symbols import fraction, rational, symbol

TIME = "T_lower"


class LatencyCurve(Frozen):
    """A chip at a set of sizes: over ``xs`` the time of a step and the tokens/s of each of its ``chips``. ``marks`` are sizes that
    there are: powers of two, the first and the last. ``full`` is the largest that a chip's memory holds, where it does not hold all
    of the axis, 0 where it holds none."""

    setting: Setting
    values: Mapping[str, Fraction]
    xs: tuple[float, ...]
    lines: Mapping[str, tuple[float, ...]]
    chips: float
    marks: tuple[int, ...]
    full: int | None

    @property
    def chip(self) -> Accelerator:
        chip = self.setting.problem.hardware
        assert chip is not None
        return chip

    def place(self, size: float) -> tuple[float, float]:
        """The time and the tokens/s per chip at a size."""
        at = self.xs.index(float(size))
        return self.lines[TIME][at], self.lines[TOKENS][at] / self.chips


class Latency(Frozen):
    """A curve over ``variable`` for each chip and set of sizes; ``ends`` are those of the axis that was asked for."""

    kind = "latency"
    variable: str
    ends: tuple[int, int]
    curves: tuple[LatencyCurve, ...]

    @property
    def setting(self) -> Setting:
        return self.curves[0].setting

    @property
    def several_chips(self) -> bool:
        return len({curve.chip.name for curve in self.curves}) > 1


def latency(problem: Problem, chips: Sequence[Accelerator | None], over: Axis) -> Latency:
    """The time of a step and the tokens/s of a chip as a size runs, for each chip and set of sizes.

    Raises :class:`ModelError` for a problem that serves no tokens, where a figure is not known, or a size is open.

    >>> from symroof.reading.chips import chip
    >>> from symroof.reading.grids import read_grid
    >>> from symroof.reading.problems import read_problem
    >>> sizes = "S=8192,V=128256,D=4096,K=8,G=4,H=128,F=14336,L=32"
    >>> problem = read_problem({"operation": "decode-step", "at": sizes})
    >>> (one,) = latency(problem, [chip("h100")], read_grid("B=1:256:log", ("B",))[0]).curves
    >>> one.full, one.marks, [f"{x:.3g}" for x in one.place(32)]
    (59, (1, 2, 4, 8, 16, 32, 59), ['0.0148', '2.16e+03'])
    """
    x, points = over.names[0], problem.at or ({},)
    if x in problem.mesh:
        raise ModelError(f"latency is drawn over a size, and {x} is an axis of chips", hint="--over B=1:1024:log")
    curves, of_rates = [], dict[object, dict[str, Expr]]()
    for chip in chips:
        setting = setting_of(replace(problem, hardware=chip, at=()))
        if not setting.timed:
            raise ModelError("a figure needs a peak and a bandwidth", hint="say --on CHIP")
        key = setting.rates, setting.wirings  # the same formulas, whatever the figures
        if key not in of_rates:
            of_rates[key] = draft_with(setting, _curves(setting))[1]
        functions = {name: with_figures(setting, name, value) for name, value in of_rates[key].items()}
        curves += [_curve(setting, functions, values, x, over) for values in points]
    if not any(curve.xs for curve in curves):
        if any(curve.full == 0 for curve in curves):
            raise ModelError(f"the memory holds no {x} of the axis", expected="more chips, or smaller sizes")
        raise ModelError(f"no {x} of the axis shares out over the chips", expected="an axis with their multiples")
    return Latency(x, over.ends, tuple(curves))


def _curves(setting: Setting) -> tuple[str, ...]:
    """The quantities of a curve. Raises :class:`ModelError` where no tokens are served."""
    values = quantities(setting)
    if TOKENS not in values:
        raise ModelError("the program serves no tokens", expected="a program of tokens, as decode-step")
    held = "memory_per_chip" if setting.several_chips else "memory"
    return TIME, TOKENS, *(name for name in (held, "chips") if name in values)


def _curve(
    setting: Setting, functions: Mapping[str, QuantityFunction], values: Mapping[str, Fraction], x: str, over: Axis
) -> LatencyCurve:
    problem = setting.problem
    require_numbers_of_chips(problem, {*values, x})
    held = "memory_per_chip" if setting.several_chips else "memory"
    needed = {name for function in functions.values() for name in function.parameters}
    if x not in needed:
        raise ModelError(f"nothing depends on {x}", expected=f"one of {', '.join(sorted(needed))}")
    require_sizes(needed, {*values, x})
    step, (low, high) = stride(problem.operation, problem.mesh, x, values), over.ends
    last = _last(setting, functions[held].expression, values, x, step, high) if held in functions else high
    sizes = [n for n in _marks(low, last, step) if are_valid(problem, {**values, x: Fraction(n)})]
    chips = series(functions["chips"], values, x, [float(low)])[0] if "chips" in functions else 1.0
    between = [n for n in samples(over) if sizes and sizes[0] <= n <= sizes[-1]]
    xs = tuple(sorted({*map(float, sizes), *between}))
    lines = {name: series(functions[name], values, x, xs) for name in (TIME, TOKENS)}
    return LatencyCurve(setting, values, xs, lines, chips, tuple(sizes), None if last + step > high else last)


def _last(setting: Setting, memory: Expr, values: Mapping[str, Fraction], x: str, each: int, high: int) -> int:
    """The largest size of an axis that a chip's memory holds, among multiples of ``each``; 0 where it holds none. More of a size
    never take less."""
    capacity = setting.known.get(f"capacity.{setting.rates.memory}")
    if capacity is None:
        return high
    put = {symbol(name): rational(value) for name, value in values.items()}
    form = memory.subs(put)

    def fits(n: int) -> bool:
        return fraction(form.subs(symbol(x), n * each)) <= capacity.value

    fewest, most = 0, high // each
    while fewest < most:
        middle = (fewest + most + 1) // 2
        if fits(middle):
            fewest = middle
        else:
            most = middle - 1
    return fewest * each


def _marks(low: int, last: int, each: int) -> list[int]:
    """The powers of two of an axis that are multiples, and the first and the last multiple of it.

    >>> _marks(3, 20, 1), _marks(3, 20, 4), _marks(9, 8, 1)
    ([3, 4, 8, 16, 20], [4, 8, 16, 20], [])
    """
    ends = {-(-low // each) * each, last // each * each}
    result = {*ends, *(1 << i for i in range(last.bit_length()))}
    return sorted(n for n in result if low <= n <= last and n % each == 0)
