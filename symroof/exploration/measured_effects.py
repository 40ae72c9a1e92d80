"""What a batch costs and what a change does, measured again: figures of latency and of sensitivity."""

from __future__ import annotations

from fractions import Fraction
from math import isclose

from symroof.derivation.evaluation import with_times
from symroof.derivation.figures_used import is_there
from symroof.errors import CheckError
from symroof.exploration.gauge import NEAR, Measure, Sizes, along_lines, floats
from symroof.exploration.latency import Latency, LatencyCurve
from symroof.exploration.sensitivity import DOUBLE, TENTH, Sensitivity
from symroof.formula import Name
from symroof.proof.sampling import measured, names_in, require_near

STEP = 1e-6  # how far from its place a slope is measured


def require_latency(drawn: Latency) -> None:
    """Every curve at all of its sizes, and that the chip's memory holds the largest one and not the next."""
    for curve in drawn.curves:
        measure, fixed = Measure(curve.setting), floats(curve.values)
        along_lines(measure, curve.values, drawn.variable, curve.xs, curve.lines)
        chips = measure.of(Name("chips"), {**fixed, drawn.variable: 1.0}) if curve.setting.several_chips else 1.0
        if not isclose(chips, curve.chips, rel_tol=NEAR):
            raise CheckError(f"the figure has {curve.chips:g} chips, and there are {chips:g}")
        _require_marks(drawn, curve, measure.ledger.multiples.of(drawn.variable, curve.values))
        if curve.full is None:
            continue
        capacity = float(curve.setting.known[f"capacity.{curve.setting.rates.memory}"].value)
        step = measure.ledger.multiples.of(drawn.variable, curve.values)
        sizes = [{**fixed, drawn.variable: float(n)} for n in (curve.full, curve.full + step)]
        here, beyond = (measure.of(Name(curve.held), size) for size in sizes)
        if (curve.full and here > capacity * (1 + NEAR)) or beyond <= capacity * (1 - NEAR):
            raise CheckError(f"the figure says that the memory is full at {drawn.variable} = {curve.full}")


def _require_marks(drawn: Latency, curve: LatencyCurve, step: int) -> None:
    """Every power of two that there is on the axis has a mark, as far as the memory holds it, and so has the last size."""
    low, high = drawn.ends
    last = high // step * step if curve.full is None else curve.full
    problem = curve.setting.problem
    there = {n for n in (last, *(1 << i for i in range(last.bit_length()))) if low <= n <= last and not n % step}
    needed = {n for n in there if is_there(problem, {**curve.values, drawn.variable: Fraction(n)})}
    if needed - {*curve.marks} or any(size > last for size in curve.marks):
        raise CheckError("the figure leaves a size out, or has one that the memory does not hold")


def require_changes(drawn: Sensitivity) -> None:
    """Every time before and after its change, and its elasticities by a small step to each side, with figures put in that are
    not those of the machine."""
    setting = drawn.setting
    exact = with_times(setting).ledger.exact(figures=False, assumptions=setting.equalities)
    figures = {name: float(known.value) for name, known in setting.figures.items()}

    def time(name: str, put: Sizes) -> float:
        return measured(exact.rational(Name(name)), exact, put)

    times = [exact.rational(Name(name)) for name in drawn.points[0].seconds]
    names_in_times = frozenset[str]().union(*(names_in(value, exact) for value in times))
    for point in drawn.points:
        put = {**figures, **floats(point.values)}
        for name, seconds in point.seconds.items():
            require_near(time(name, put), float(seconds), put, "the figure")
        told = {name for change in point.changes for name in drawn.figures.get(change.what, (change.what,))}
        if told != (names_in_times & put.keys()) - {*drawn.left_out}:
            raise CheckError("the figure leaves a figure or a size out, on which the time depends")
        for change, effect in ((c, e) for c in point.changes for e in c.effects):
            moved = drawn.figures.get(change.what, (change.what,))
            if change.by != (TENTH if change.figure else DOUBLE) or change.figure != (moved[0] in figures):
                raise CheckError(f"the figure says that {change.what} is another figure")
            before = time(effect.time, put)
            after = time(effect.time, {**put, **{name: put[name] * float(change.by) for name in moved}})
            require_near(after / before, float(effect.ratio), put, "the figure")
            for step, shown in ((-STEP, effect.below), (STEP, effect.above)):
                near = time(effect.time, {**put, **{name: put[name] * (1 + step) for name in moved}})
                if not isclose((near / before - 1) / step, float(shown), rel_tol=1e-4, abs_tol=1e-4):
                    raise CheckError(f"the figure says that {effect.time} follows {change.what} by {float(shown):g}")
