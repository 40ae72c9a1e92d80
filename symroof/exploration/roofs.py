"""Operations, and the statements of programs, under the roofs of machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain

from sympy import Add, Expr

from symroof.algebra.rational import cancel
from symroof.derivation.drafts import Draft
from symroof.derivation.evaluation import QuantityFunction, draft_with, evaluate, with_figures
from symroof.derivation.premises import Setting, setting_of
from symroof.errors import ModelError
from symroof.exploration.curves import at_one_peak, require_numbers_of_chips, require_sizes, same_sizes, samples, series
from symroof.exploration.measured_points import Measurement, measurements
from symroof.formula import Formula, Frozen, Name, Quotient, total
from symroof.model.hardware import Accelerator, Spec
from symroof.model.kernels import costs_of
from symroof.model.problem import Problem
from symroof.model.program_quantities import amounts
from symroof.model.quantities import of_statement, time_name
from symroof.model.resources import MATH, VECTOR, overlaps
from symroof.proof.step import Reason, Step
from symroof.reading.grids import Axis
from symroof.reading.measurements import Row
from symroof.symbols import rational, symbol


class Roof(Frozen):
    """The peak of a chip, and the slope of a bandwidth that ends at it."""

    setting: Setting
    peak: Spec
    bandwidth: Spec

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

    def height(self, intensity: float) -> float:
        """Attainable FLOPs/s of one chip."""
        return min(float(self.peak.value), intensity * float(self.bandwidth.value))


class RoofPoint(Frozen):
    """Where something is under a roof, at a ``size`` of the axis where one runs: its FLOPs/byte and the attainable FLOPs/s of
    one chip, the ``peak`` of the unit that takes longer in it, and what takes longest: a unit, a link, or hops."""

    roof: Roof
    intensity: float
    throughput: float
    peak: float
    bound_by: str
    size: float | None = None

    @property
    def point(self) -> tuple[float, float]:
        return self.intensity, self.throughput


class Track(Frozen):
    """An operation at a set of sizes, under each roof in turn: a point, or a path where a size runs. ``statement`` is the one
    of the program that it is, or those that overlap as one; empty for all of it. It is of the vector unit where ``vector``."""

    values: Mapping[str, Fraction]
    places: tuple[RoofPoint, ...]
    statement: str = ""
    vector: bool = False

    @property
    def runs(self) -> bool:
        """Whether a size runs, so that it is a path."""
        return any(place.size is not None for place in self.places)

    def under(self, roof: Roof) -> list[RoofPoint]:
        return [place for place in self.places if place.roof is roof]


class Roofline(Frozen):
    """Roofs, the highest first, and what is under them: the operation at each set of sizes, with the statements of a
    program after it, those that overlap as one together. A track over ``variable`` is a path, one without sizes a
    point. ``undrawn`` are statements without work or without traffic, ``measured`` points that
    somebody else found."""

    kind = "roofline"
    roofs: tuple[Roof, ...]
    variable: str
    tracks: tuple[Track, ...]
    undrawn: tuple[str, ...] = ()
    measured: tuple[Measurement, ...] = ()

    @property
    def setting(self) -> Setting:
        return self.roofs[0].setting

    @property
    def shared(self) -> dict[str, Fraction]:
        """The sizes that are the same at all points."""
        return same_sizes([*(track.values for track in self.tracks), *(point.values for point in self.measured)])

    @property
    def several_chips(self) -> bool:
        return len({roof.chip.name for roof in self.roofs}) > 1

    @property
    def named(self) -> list[tuple[Roof, str]]:
        """The first of the roofs that lie on one another, as those of axes on one network do, with the links of all of them."""
        result: dict[tuple[object, ...], list[Roof]] = {}
        for roof in self.roofs:
            result.setdefault((roof.chip.name, roof.peak.value, roof.bandwidth.value), []).append(roof)
        return [(alike[0], ", ".join(roof.link for roof in alike)) for alike in result.values()]


def roofline(
    problem: Problem,
    chips: Sequence[Accelerator | None],
    links: Sequence[str],
    over: Axis | None = None,
    points: Sequence[Row] = (),
) -> Roofline:
    """The roofline of a problem on chips, with a roof for every link.

    On a mesh a link that nothing crosses at any of the sizes has no roof. Raises :class:`ModelError` where a chip has no
    such link, nothing crosses the one that was asked for, or a size is open and no axis is given for it.

    >>> from symroof.reading.chips import chip
    >>> from symroof.reading.problems import read_problem
    >>> problem = read_problem({"operation": "matmul", "at": ["B=64,D=F=8192"]})
    >>> found = roofline(problem, [chip("tpu-v5e")], ["HBM"])
    >>> [f"{x:.4g}" for x in (found.roofs[0].ridge, *found.tracks[0].places[0].point)]
    ['240.2', '63.02', '5.167e+13']
    """
    at = problem.at or ({},)
    for values in at if not points else ():
        require_numbers_of_chips(problem, values)
    variants = (replace(problem, hardware=chip, link=link, at=(), joint=False) for chip in chips for link in links)
    roofs = tuple(sorted(map(roof_of, variants), key=lambda roof: (-roof.peak.value, -roof.bandwidth.value)))
    draft, whole, busy = _intensities(roofs)
    # The paths of many statements would cover one another.
    each = kernels(draft) if over is None else {}
    every = chain(whole, *busy, *(units.values() for units in each.values()))
    needed = {size for function in every for size in function.parameters}
    if points:  # what is said of some sizes alone, is said of every measured point
        at = tuple(values for values in at if needed <= values.keys())
    tracks = []
    if len(roofs) > 1 and any(row.intensity is not None for row in points):
        raise ModelError("FLOPs/byte do not say over which link the bytes went", expected="one --link, or sizes")
    whole_of = setting_of(replace(problem, at=(), hardware=roofs[0].chip)) if points else None
    measured = measurements(whole_of, points, same_sizes(problem.at), roofs[0].setting) if whole_of else ()
    for values in at:
        runs = over.names if over is not None and over.names[0] in needed else ()
        require_sizes(needed, {*values, *runs}, ", or --over {}=1..1024")
        crossed = [_sends(function, values) for function in whole]
        for roof, sends in zip(roofs, crossed, strict=True):
            if not sends and not problem.joint:
                axes = ", ".join(f"{name} = {value}" for name, value in values.items() if name in problem.mesh)
                hint = f"--link HBM, or more chips along {roof.link}"
                raise ModelError(f"nothing crosses {roof.link} at {axes}", hint=hint)
        slower, axis = _slower(roofs[0].setting, busy[0], values), over if runs else None
        each_roof = zip(roofs, whole, busy, crossed, strict=True)
        under = (_places(roof, own, others, values, axis, slower) for roof, own, others, sends in each_roof if sends)
        tracks.append(Track(values, tuple(chain.from_iterable(under))))
        tracks += (_kernel(roofs, units, values, name) for name, units in each.items() if units)
    used = {id(place.roof) for track in tracks for place in track.places}
    undrawn = tuple(name for name, units in each.items() if not units)
    shown = tuple(roof for roof in roofs if not tracks or id(roof) in used)
    return Roofline(shown, over.names[0] if over else "", tuple(tracks), undrawn, measured)


def roof_of(problem: Problem) -> Roof:
    """The roof of a problem's chip and link."""
    setting = at_one_peak(problem)
    if setting.peak is None or setting.bandwidth is None:
        raise ModelError("a figure needs a peak and a bandwidth", hint="say --on CHIP")
    return Roof(setting, setting.peak, setting.bandwidth)


def _intensities(roofs: Sequence[Roof]) -> tuple[Draft, list[QuantityFunction], list[tuple[QuantityFunction, ...]]]:
    """The intensity under each roof, and what has no roof: the FLOPs of all of an operation, the times of its vector unit and
    of its hops, and over how many chips they are split. They are proved together where the chips are wired alike; the draft
    is that of the first roof."""
    drafts: dict[object, tuple[Draft, dict[str, Expr]]] = {}
    whole, busy = [], []
    for roof in roofs:
        setting, program = roof.setting, roof.setting.problem.operation
        times, key = (
            tuple(map(time_name, setting.rates.roofless)),
            (roof.chip.name, setting.wirings, program.alone and roof.link),
        )
        names = ("flops", *times, *(("chips",) if setting.several_chips else ())) if times else ()
        if key not in drafts:
            alike = [roof] if program.alone else [r for r in roofs if r.setting.wirings == setting.wirings]
            drafts[key] = draft_with(setting, (setting.flops_name, *(r.setting.moved_name for r in alike), *names))
        draft, values = drafts[key]
        quotient = Quotient(Name(setting.flops_name), Name(setting.moved_name))
        draft.add(Step("intensity", Reason.LINE, quotient, "=", draft.write(setting.intensity), setting.equalities))
        whole.append(with_figures(setting, "intensity", setting.intensity))
        busy.append(tuple(with_figures(setting, name, values[name]) for name in names))
    return next(iter(drafts.values()))[0], whole, busy


def kernels(draft: Draft) -> dict[str, dict[str, QuantityFunction]]:
    """The intensities of the statements of a program, those that overlap as one together: for each unit that works in
    them its operations over their bytes. None for what has no work, or no traffic.

    >>> from symroof.derivation.pipeline import counted_draft
    >>> from symroof.reading.programs import read_program
    >>> text = "input x: bf16[N, D]; weight W: bf16[D, F]; weight V: bf16[F]; h = x * W -> bf16[N, F]; y = h * V -> bf16[N]"
    >>> found = kernels(counted_draft(Problem(read_program(text))))
    >>> {name: str(units["math"].expression) for name, units in found.items()}
    {'h': 'D*F*N/(D*F + D*N + F*N)', 'y': 'F*N/(F*N + F + N)'}
    """
    setting, program, rates = draft.setting, draft.setting.problem.operation, draft.setting.rates
    if len(costs_of(program)) < 2 or setting.several_chips:
        return {}
    values, result = amounts(program, setting.problem.count), dict[str, dict[str, QuantityFunction]]()
    units = {MATH: "ops" if program.vector else "flops", **({VECTOR: "ops"} if rates.vector else {})}

    def sum_of(kind: str, names: tuple[str, ...]) -> tuple[Formula, Expr]:
        each = [(of, setting.regime.apply(values[of])) for of in (of_statement(kind, name) for name in names)]
        return total(*(Name(of) for of, amount in each if amount != 0)), Add(*(amount for _, amount in each))

    for names in overlaps(program):
        below, moved = sum_of("bytes", names)
        label = ", ".join(names)
        result[label] = {}
        for unit, kind in units.items():
            above, work = sum_of(kind, names)
            if work != 0 and moved != 0:
                value = cancel(work / moved)
                quotient = Quotient(above, below)
                draft.add(Step("intensity", Reason.LINE, quotient, "=", draft.write(value), setting.equalities))
                result[label][unit] = with_figures(setting, label, value)
    return result


def _kernel(
    roofs: Sequence[Roof], units: Mapping[str, QuantityFunction], values: Mapping[str, Fraction], name: str
) -> Track:
    """Statements that overlap as one, at the operations of the unit that takes longer in them, under its peak."""
    put = {size: float(value) for size, value in values.items()}
    under = []
    for roof in roofs:
        rates = roof.setting.rates
        vector = roof.setting.figures.get(rates.vector or "")
        under.append({MATH: float(roof.peak.value), **({VECTOR: float(vector.value)} if vector else {})})
    intensity = {unit: evaluate(function.expression, put) for unit, function in units.items()}
    first = {u: x / under[0][u] for u, x in intensity.items() if u in under[0]}
    unit = max((u for u in first if all(u in peaks for peaks in under)), key=first.__getitem__)
    places, x = [], intensity[unit]
    for roof, peaks in zip(roofs, under, strict=True):
        peak, bound = peaks[unit], x * float(roof.bandwidth.value)
        places.append(RoofPoint(roof, x, min(peak, bound), peak, unit if bound > peak else roof.link))
    return Track(values, tuple(places), name, unit == VECTOR)


def links_of(setting: Setting) -> tuple[str, ...]:
    """What has a roof: on a mesh without a link that was asked for the memory and each axis, else the link."""
    if not setting.several_chips or not setting.problem.joint:
        return (setting.problem.link,)
    return (setting.rates.memory, *(name for name, _ in setting.rates.links))


def _sends(intensity: QuantityFunction, values: Mapping[str, Fraction]) -> bool:
    """Whether anything crosses a link at a set of sizes."""
    put = {symbol(name): rational(value) for name, value in values.items()}
    return bool(intensity.expression.as_numer_denom()[1].subs(put) != 0)


def _slower(setting: Setting, busy: Sequence[QuantityFunction], values: Mapping[str, Fraction]) -> str:
    """The longer of what has no roof, as far as the sizes say it."""
    put, times = {name: float(value) for name, value in values.items()}, setting.rates.roofless
    each = [function for function in busy if function.name in map(time_name, times)]
    if len(times) < 2 or any(size not in values for function in each for size in function.parameters):
        return times[0] if times else VECTOR
    return max(zip(times, each, strict=True), key=lambda pair: evaluate(pair[1].expression, put))[0]


def _places(
    roof: Roof,
    intensity: QuantityFunction,
    busy: Sequence[QuantityFunction],
    values: Mapping[str, Fraction],
    over: Axis | None,
    slower: str,
) -> Iterator[RoofPoint]:
    """Where an operation is under a roof; it is below that where ``slower``, its vector unit, or hops, take longer."""
    xs: Sequence[float | None] = samples(over) if over is not None else (None,)

    def of(function: QuantityFunction) -> tuple[float, ...]:
        if over is not None:
            return series(function, values, over.names[0], samples(over))
        return (evaluate(function.expression, {name: float(value) for name, value in values.items()}),)

    ys, peak = of(intensity), float(roof.peak.value)
    if not all(ys):
        raise ModelError("nothing is computed at some of these sizes, and an intensity of 0 has no place")
    lowest = [peak] * len(ys)
    if busy:
        flops, *rest = map(of, busy)
        *times, among = rest if roof.setting.several_chips else (*rest, (1.0,) * len(ys))
        each = zip(flops, among, *times, strict=True)
        lowest = [work / max(seconds) / n for work, n, *seconds in each]
    for size, x, low in zip(xs, ys, lowest, strict=True):
        height = roof.height(x)
        by = slower if low < height * (1 - 1e-9) else MATH if x > roof.ridge else roof.link
        yield RoofPoint(roof, x, min(height, low), peak, by, size)
