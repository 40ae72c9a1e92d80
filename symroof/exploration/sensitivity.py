"""What to change: the running time when a figure is a tenth larger, or a size doubled, with every maximum worked out anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import reduce

from sympy import Add, Expr, Max, Min, Mul, Pow

from symroof.derivation.evaluation import require_proved
from symroof.derivation.figures_used import is_there
from symroof.derivation.meanings import quantities
from symroof.derivation.setting import Setting, setting_of
from symroof.errors import ModelError, SymroofError
from symroof.exploration.curves import require_numbers_of_chips, require_sizes
from symroof.formula import Frozen
from symroof.model.problem import Problem
from symroof.symbols import fraction, symbol

# By how much a figure is raised, and by how much a size grows.
TENTH, DOUBLE = Fraction(11, 10), Fraction(2)
TIMES = ("T_lower", "T_steps")
ZERO = Fraction(0)
Put = Mapping[Expr, Fraction]
# A value with its derivatives from below and from above.
Sided = tuple[Fraction, Fraction, Fraction]


class Effect(Frozen):
    """What a time is after a change in parts of what it was, and its elasticity: by how many percent it changes for each of
    what is changed, from below and from above. These differ where two times are equally long."""

    time: str
    ratio: Fraction
    below: Fraction
    above: Fraction


class Change(Frozen):
    """``what`` is ``by`` times as large: a figure by its name, or a size."""

    what: str
    figure: bool
    by: Fraction
    effects: tuple[Effect, ...]


class Changes(Frozen):
    """All changes at a set of sizes, figures before sizes, those first that change most; and the times without them."""

    values: Mapping[str, Fraction]
    seconds: Mapping[str, Fraction]
    changes: tuple[Change, ...]


class Sensitivity(Frozen):
    """What changes do at each set of sizes. ``figures`` has the name of each figure in formulas by the one that is shown, and
    ``figures`` are the names that each figure has in the times, ``left_out`` are sizes that cannot be doubled."""

    setting: Setting
    figures: Mapping[str, tuple[str, ...]]
    points: tuple[Changes, ...]
    left_out: tuple[str, ...] = ()


def sensitivity(problem: Problem) -> Sensitivity:
    """The running time at each set of sizes when one figure is a tenth larger or one size is doubled.

    Raises :class:`ModelError` where a figure is not known, or a size is open.

    >>> from symroof.reading.problems import read_problem
    >>> problem = read_problem({"operation": "matmul", "hardware": "tpu-v5e", "at": "B=64,D=F=8192"})
    >>> (found,) = sensitivity(problem).points
    >>> [(change.what, f"{float(change.effects[0].ratio):.4g}", str(change.effects[0].above)) for change in found.changes]
    [('HBM', '0.9091', '-1'), ('peak.bf16', '1', '0'), ('D', '1.992', '129/130'), ('F', '1.992', '129/130'), ('B', '1.015', '1/65')]
    """
    setting = setting_of(replace(problem, at=()))
    if not setting.timed:
        raise ModelError("a figure needs a peak and a bandwidth", hint="say --on CHIP")
    known = quantities(setting)
    times = {name: known[name] for name in TIMES if name in known}
    require_proved(setting, times)
    named = {"peak": setting.peak_name, "bandwidth": setting.bandwidth_name}
    raised: dict[str, tuple[str, ...]] = {}
    for name in setting.figures:
        if any(time.has(symbol(name)) for time in times.values()):
            shown = named.get(name, name)
            raised[shown] = (*raised.get(shown, ()), name)
    same = {symbol(name): symbol(first) for first, *others in raised.values() for name in others}
    times = {name: time.xreplace(same) for name, time in times.items()}
    figures = {symbol(name): known.value for name, known in setting.figures.items()}
    needed = {s.name for value in times.values() for s in value.free_symbols} - setting.figures.keys()
    points, left_out = [], dict[str, None]()
    for values in problem.at or ({},):
        require_numbers_of_chips(problem, values)
        require_sizes(needed, values)
        put = {**figures, **{symbol(name): Fraction(value) for name, value in values.items()}}
        grown = []
        for size in (name for name in values if name in needed):
            if _grows(setting, values, size):
                grown.append(size)
            else:
                left_out[size] = None
        changes = [
            *(_change(times, put, first, shown, TENTH) for shown, (first, *_) in raised.items()),
            *(_change(times, put, name, name, DOUBLE) for name in grown),
        ]
        changes.sort(key=lambda change: (not change.figure, -abs(change.effects[0].ratio - 1)))
        seconds = {name: Slope(put).of(value)[0] for name, value in times.items()}
        points.append(Changes(values, seconds, tuple(changes)))
    return Sensitivity(setting, raised, tuple(points), tuple(left_out))


def _grows(setting: Setting, values: Mapping[str, Fraction], size: str) -> bool:
    """Whether there is twice the size beside the others."""
    twice = {**values, size: DOUBLE * values[size]}
    try:
        setting.problem.operation.require_sizes(twice)
    except SymroofError:
        return False
    return is_there(setting.problem, twice)


def _change(times: Mapping[str, Expr], put: Put, name: str, shown: str, by: Fraction) -> Change:
    x = symbol(name)
    here = {time: Slope(put, x).of(value) for time, value in times.items()}
    there = {time: Slope({**put, x: put[x] * by}, x).of(value)[0] for time, value in times.items()}
    effects = [
        Effect(time, there[time] / before, below * put[x] / before, above * put[x] / before)
        for time, (before, below, above) in here.items()
    ]
    return Change(shown, by == TENTH, by, tuple(effects))


class Slope:
    """The values of expressions at a place, and their derivatives by one of its names from both sides, in fractions.

    Of a maximum that of the steepest of its longest parts upwards, and of the flattest downwards; of a minimum the other way
    round. What is no sum, product, whole power, maximum or minimum is refused.

    >>> a, b = symbol("a"), symbol("b")
    >>> [str(x) for x in Slope({a: Fraction(2), b: Fraction(6)}, a).of(Max(3 * a, b) / a)]
    ['3', '-3/2', '0']
    """

    def __init__(self, put: Put, x: Expr | None = None) -> None:
        self.put, self.x, self.known = put, x, dict[Expr, Sided]()

    def of(self, value: Expr) -> Sided:
        """The value, the derivative from below and the one from above."""
        if value not in self.known:
            self.known[value] = self._of(value)
        return self.known[value]

    def _of(self, value: Expr) -> Sided:
        if value.is_Rational:
            return fraction(value), ZERO, ZERO
        if value in self.put:
            slope = Fraction(value == self.x)
            return self.put[value], slope, slope
        parts = [self.of(part) for part in value.args] if isinstance(value, Add | Mul | Max | Min) else []
        if isinstance(value, Add):
            return sum(v for v, _, _ in parts), sum(b for _, b, _ in parts), sum(a for _, _, a in parts)  # type: ignore[return-value]
        if isinstance(value, Mul):
            first, *others = parts
            return reduce(_product, others, first)
        if isinstance(value, Max | Min):
            largest = isinstance(value, Max)
            extreme = (max if largest else min)(v for v, _, _ in parts)
            below, above = zip(*((b, a) for v, b, a in parts if v == extreme), strict=True)
            return extreme, (min if largest else max)(below), (max if largest else min)(above)
        if isinstance(value, Pow) and value.exp.is_Integer:
            power, (base, low, high) = int(value.exp), self.of(value.base)
            steep = power * base ** (power - 1)
            return base**power, steep * low, steep * high
        raise ModelError(f"the time has no exact value: {value}", expected="sums, products and maxima of sizes")


def _product(one: Sided, other: Sided) -> Sided:
    """The derivatives of a product: from one side those of its factors from there."""
    (u, below, above), (v, low, high) = one, other
    return u * v, u * low + v * below, u * high + v * above
