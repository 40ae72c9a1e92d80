"""What to change: the running time when a figure is a tenth larger, or a size doubled, with every maximum worked out anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from sympy import Add, Expr, Max, Min, Mul, Pow

from symroof.derivation.evaluation import require_proved
from symroof.derivation.figures_used import is_there
from symroof.derivation.meanings import quantities
from symroof.derivation.setting import Setting, setting_of
from symroof.errors import ModelError, SymroofError
from symroof.exploration.curves import require_numbers_of_chips, require_sizes
from symroof.formula import Frozen
from symroof.model.problem import Problem
from symroof.symbols import fraction, rational, symbol

# By how much a figure is raised, and by how much a size grows.
TENTH, DOUBLE = Fraction(11, 10), Fraction(2)
TIMES = ("T_lower", "T_steps")
Put = Mapping[Expr, Expr]


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
    ``left_out`` are sizes that cannot be doubled."""

    setting: Setting
    figures: Mapping[str, str]
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
    raised = {
        name: named.get(name, name) for name in setting.figures if any(t.has(symbol(name)) for t in times.values())
    }
    figures: dict[Expr, Expr] = {symbol(name): rational(known.value) for name, known in setting.figures.items()}
    needed = {s.name for value in times.values() for s in value.free_symbols} - setting.figures.keys()
    points, left_out = [], dict[str, None]()
    for values in problem.at or ({},):
        require_numbers_of_chips(problem, values)
        require_sizes(needed, values)
        put = {**figures, **{symbol(name): rational(value) for name, value in values.items()}}
        grown = []
        for size in (name for name in values if name in needed):
            if _grows(setting, values, size):
                grown.append(size)
            else:
                left_out[size] = None
        changes = [
            *(_change(times, put, name, shown, TENTH) for name, shown in raised.items()),
            *(_change(times, put, name, name, DOUBLE) for name in grown),
        ]
        changes.sort(key=lambda change: (not change.figure, -abs(change.effects[0].ratio - 1)))
        seconds = {name: fraction(value.subs(put)) for name, value in times.items()}
        points.append(Changes(values, seconds, tuple(changes)))
    return Sensitivity(setting, {shown: name for name, shown in raised.items()}, tuple(points), tuple(left_out))


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
    after = {**put, x: put[x] * rational(by)}
    effects = []
    for time, value in times.items():
        before = value.subs(put)
        below, above = (fraction(_slope(value, x, put, upwards=up) * put[x] / before) for up in (False, True))
        effects.append(Effect(time, fraction(value.subs(after) / before), below, above))
    return Change(shown, by == TENTH, by, tuple(effects))


def _slope(value: Expr, x: Expr, put: Put, *, upwards: bool) -> Expr:
    """The derivative from one side: of a maximum that of the steepest of its longest parts upwards, and of the flattest
    downwards; of a minimum the other way round."""
    if not value.has(x):
        return rational(0)
    if isinstance(value, Max | Min):
        there = [part.subs(put) for part in value.args]
        extreme = (max if isinstance(value, Max) else min)(there)
        slopes = [
            _slope(part, x, put, upwards=upwards) for part, at in zip(value.args, there, strict=True) if at == extreme
        ]
        return (max if isinstance(value, Max) == upwards else min)(slopes)
    if isinstance(value, Add):
        return Add(*(_slope(part, x, put, upwards=upwards) for part in value.args))
    if isinstance(value, Mul) and value.has(Max, Min):
        return Add(*_products(value, x, put, upwards=upwards))
    if isinstance(value, Pow) and value.has(Max, Min):
        return (value.exp * value.base ** (value.exp - 1)).subs(put) * _slope(value.base, x, put, upwards=upwards)
    return value.diff(x).subs(put)


def _products(value: Mul, x: Expr, put: Put, *, upwards: bool) -> Iterator[Expr]:
    for i, part in enumerate(value.args):
        if part.has(x):
            others = Mul(*value.args[:i], *value.args[i + 1 :]).subs(put)
            yield others * _slope(part, x, put, upwards=upwards)
