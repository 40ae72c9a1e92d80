"""The sections on the machine: its ridge, and the bounds on the running time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import floor

from sympy import Expr

from symroof.algebra.inequality import solve_for
from symroof.algebra.rational import cancelled
from symroof.algebra.roots import Root
from symroof.algebra.rounding import magnitude, to_digits, to_places
from symroof.derivation.derivation import Point, TimeRow
from symroof.derivation.draft import BANDWIDTH, INTENSITY, PEAK, RIDGE, T_COMMS, T_MATH, Draft, numeric, rounded
from symroof.derivation.layout import with_digits
from symroof.derivation.setting import Setting
from symroof.formula import Call, Compare, Formula, Name, Product, Quotient, Sum, names, number, product
from symroof.model.hardware import Known
from symroof.proof.step import Reason, Step
from symroof.symbols import fraction, rational


def ridge(draft: Draft) -> Draft:
    """The intensity at which arithmetic and transfer take the same time."""
    setting = draft.setting
    flops, moved = Name(setting.flops_name), Name(setting.moved_name)
    times = (Quotient(flops, PEAK), Quotient(moved, BANDWIDTH))
    steps = [
        Step("ridge", Reason.DEFINE_TIMES, T_MATH, "=", times[0], shown=False),
        Step("ridge", Reason.DEFINE_TIMES, T_COMMS, "=", times[1], shown=False),
        Step("ridge", Reason.RIDGE, RIDGE, "=", Quotient(PEAK, BANDWIDTH)),
    ]
    if setting.digits:
        steps.append(Step("ridge", Reason.FIGURES, RIDGE, "=", draft.in_digits(Quotient(PEAK, BANDWIDTH)), joined=True))
    if setting.ridge is not None:
        value = draft.write(setting.ridge)
        if len(str(setting.ridge.numerator)) <= 8 and len(str(setting.ridge.denominator)) <= 8:
            steps.append(Step("ridge", Reason.FIGURES, RIDGE, "=", value, joined=True))
        steps += rounded("ridge", RIDGE, setting.ridge, joined=True)
    compared = [Compare(a, ">", b) for a, b in ((T_MATH, T_COMMS), times, (INTENSITY, RIDGE))]
    steps += [
        Step("ridge", Reason.COMPARE_TIMES, compared[0], "<=>", compared[1]),
        Step("ridge", Reason.COMPARE_INTENSITY, compared[0], "<=>", compared[2], joined=True),
    ]
    return draft.add(*steps).found(ridge=setting.ridge)


def time(draft: Draft) -> Draft:
    """T_math, T_comms and the two bounds; and a table of them where sizes are known."""
    setting = draft.setting
    apply = setting.regime.apply
    flops, moved = draft.write(apply(setting.flops)), draft.write(apply(setting.moved))
    equal = tuple(r for r in setting.problem.assume if r.relation == "=")
    lower, upper = Name("T_lower"), Name("T_upper")
    draft = draft.add(
        Step("time", Reason.TIME, T_MATH, "=", draft.in_digits(_over(flops, PEAK)), equal),
        *_in_seconds(T_MATH, apply(setting.flops), setting.peak),
        Step("time", Reason.TIME, T_COMMS, "=", draft.in_digits(_over(moved, BANDWIDTH)), equal),
        *_in_seconds(T_COMMS, apply(setting.moved), setting.bandwidth),
        Step("time", Reason.LOWER, lower, "=", Call("max", (T_MATH, T_COMMS))),
        Step("time", Reason.UPPER, upper, "=", Sum((T_MATH, T_COMMS))),
        Step("time", Reason.TWICE, upper, "<=", Product((number(2), lower)), joined=True),
    )
    if setting.over_network and setting.ridge is not None:
        value = draft.write(cancelled(rational(setting.ridge) / draft.answer.intensity))
        draft = draft.add(Step("time", Reason.TIME_RATIO, Quotient(T_COMMS, T_MATH), "=", value, equal))
        draft = _pays(draft, equal)
    return draft.found(at=tuple(_timed(draft, point) for point in draft.answer.at))


def _in_seconds(name: Name, amount: Expr, rate: Known | None) -> tuple[Step, ...]:
    """The time as a decimal, where no size is left open."""
    value = numeric(amount)
    if value is None or rate is None:
        return ()
    return rounded("time", name, value / rate.value, digits=to_digits(value / rate.value, 4), joined=True)


def _pays(draft: Draft, equal: tuple[Compare, ...]) -> Draft:
    """From which size on several chips beat one compute-bound chip: with perfect overlap, and with none."""
    setting, x = draft.setting, draft.setting.variable
    alone = product(number(setting.chips), T_MATH)
    steps: list[Step] = []
    for overlapped, share in ((True, setting.chips), (False, setting.chips - 1)):
        if share < 1 or setting.ridge is None or not draft.answer.intensity.has(x):
            return draft
        edge = solve_for(draft.answer.intensity * share - rational(setting.ridge), x, setting.least_one).bound
        if numeric(edge) is None or isinstance(edge, Root):
            return draft
        time_of = T_COMMS if overlapped else Sum((T_MATH, T_COMMS))
        claim = Compare(Name(x.name), ">", draft.write(edge))
        facts = {"chips": setting.chips, "overlapped": overlapped, "bound": numeric(edge), "variable": Name(x.name)}
        steps.append(
            Step("time", Reason.PAYS, Compare(alone, ">", time_of), "<=>", claim, equal, facts=facts, shown=False)
        )
    return draft.add(*steps)


def _over(above: Formula, below: Formula) -> Formula:
    """One fraction bar, not two."""
    if isinstance(above, Quotient):
        return Quotient(above.above, Product((above.below, below)))
    return Quotient(above, below)


def _timed(draft: Draft, point: Point) -> Point:
    """The point with its times: expressions in what stays free, and rows where that is one size or none."""
    setting = draft.setting
    if setting.peak is None or setting.bandwidth is None:
        return point
    flops, moved = (_put(draft, value, point) for value in (setting.flops, setting.moved))
    t_math, t_comms = flops / rational(setting.peak.value), moved / rational(setting.bandwidth.value)
    free = t_math.free_symbols | t_comms.free_symbols
    variable = point.variable
    rows: tuple[TimeRow, ...] = ()
    if free <= {variable}:
        step = chip_step(setting, variable)
        given = point.values.get(variable.name)
        sizes = (
            [(given, False)] if given is not None else chosen_sizes(numeric(point.bound), point.smallest_integer, step)
        )
        rows = tuple(
            TimeRow(x, _seconds(t_math, variable, x), _seconds(t_comms, variable, x), mark) for x, mark in sizes
        )
    return replace(point, t_math=t_math, t_comms=t_comms, times=rows)


def _seconds(value: Expr, variable: Expr, size: Fraction) -> Fraction:
    return fraction(value.subs(variable, rational(size)))


def _put(draft: Draft, value: Expr, point: Point) -> Expr:
    from symroof.symbols import symbol

    applied = draft.setting.regime.apply(value)
    return applied.subs({symbol(name): rational(x) for name, x in point.values.items()})


def chip_step(setting: Setting, variable: Expr) -> int:
    """The variable comes in multiples of the mesh axis that it is split over."""
    operation, mesh = setting.problem.operation, setting.problem.mesh
    axes = {d.axis for t in getattr(operation, "tensors", ()) for d in t.dims if d.label == variable.name and d.axis}
    step = 1
    for axis in axes:
        step *= mesh[axis]
    return step


def chosen_sizes(bound: Fraction | None, first: int | None, step: int) -> list[tuple[Fraction, bool]]:
    """Rows worth reading: one, a power of two near half the bound, both sides of the bound, one near four times it.

    >>> [int(size) for size, _ in chosen_sizes(Fraction(20172800, 79043), 256, 1)]
    [1, 128, 255, 256, 1024]
    """
    if bound is None or bound < 1:
        return [(Fraction(step * size), False) for size in (1, 32, 1024)]
    first = first or floor(bound / step + 1) * step
    sizes = {step, _power_of_two(bound / 2, step), _power_of_two(bound * 4, step), first}
    if first - step >= step:
        sizes.add(first - step)
    return [(Fraction(size), size == first) for size in sorted(sizes)]


def _power_of_two(near: Fraction, step: int) -> int:
    """The power of two, times the step, nearest to a number on a logarithmic scale."""
    size = step
    while Fraction(size) * size * 2 < near * near:
        size *= 2
    return size


def unit_of(rows: tuple[TimeRow, ...]) -> tuple[str, int]:
    """The unit in which the longest time of a table has digits before the point, and how many there are in a second."""
    longest = max((row.lower for row in rows), default=Fraction(1))
    found = [
        (unit, size) for unit, size in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)) if longest * size >= 1
    ]
    return (
        ("us", 10**6)
        if ("us", 10**6) in found[:3] and longest * 10**6 < 10**5
        else found[0]
        if found
        else ("ns", 10**9)
    )


def shown_times(row: TimeRow, per_second: int = 10**6) -> tuple[str, str, str, str]:
    """The four times of a row in a unit, with digits enough that the two compared ones differ.

    >>> shown_times(TimeRow(Fraction(1), Fraction(681, 10**9), Fraction(1637, 10**7)))
    ('0.681', '163.7', '163.7', '164.4')
    """
    values = [value * per_second for value in (row.t_math, row.t_comms, row.lower, row.upper)]
    close = abs(row.t_math - row.t_comms) * 50 < row.lower
    shown = []
    for index, value in enumerate(values):
        places = max(0, 2 - magnitude(value)) if value < 100 else 1
        shown.append(to_places(value, max(places, 2) if close and index < 3 else places))
    extra = 2
    while close and shown[0] == shown[1] and values[0] != values[1] and extra < 12:
        extra += 1
        shown[:3] = [to_places(value, extra) for value in values[:3]]
    return (shown[0], shown[1], shown[2], shown[3])


def formulas(draft: Draft) -> Draft:
    """The named formulas of the problem, and what they come to."""
    setting = draft.setting
    known = {
        name: figure.digits
        for name, figure in (setting.problem.hardware.figures if setting.problem.hardware else {}).items()
    }
    for name, formula in setting.problem.let.items():
        draft = draft.add(Step("formulas", Reason.NAMED, Name(name), "=", formula))
        digits = {n: known[n] for n in names(formula) if n in known} | setting.digits
        shown = with_digits(formula, digits)
        if shown != formula:
            draft = draft.add(Step("formulas", Reason.FIGURES, Name(name), "=", shown, joined=True))
    return draft
