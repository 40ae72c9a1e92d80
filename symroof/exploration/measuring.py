"""What a figure shows, measured again: its points, borders and marks against the formulas that the second engine knows.

Nothing of how the points were found is used here but their places. Each curve is measured at all of them, a territory in
its middle, a threshold at its ends. Every formula is a quotient of polynomials of the second engine, in which maxima and
roots stand as names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import isclose, log, prod, sqrt

from symroof.derivation.answer import Said
from symroof.derivation.draft import INTENSITY
from symroof.derivation.setting import Setting, setting_of
from symroof.errors import CheckError
from symroof.exploration.best_split import BestSplit
from symroof.exploration.breakdowns import Breakdown
from symroof.exploration.curves import Curve, Curves
from symroof.exploration.figure import Drawn
from symroof.exploration.gauge import NEAR, PEAK_OF_ALL, Measure, Sizes, along_lines, floats
from symroof.exploration.latency import Latency
from symroof.exploration.measured_effects import require_changes, require_latency
from symroof.exploration.planes import Plane, Point
from symroof.exploration.reached import Measurement
from symroof.exploration.roofs import Roofline, Track
from symroof.exploration.scaling import Scaling, ScalingCurve, Stretch, numbered
from symroof.exploration.sensitivity import Sensitivity
from symroof.exploration.territories import Territories
from symroof.formula import Formula, Frozen, Name, total
from symroof.model.resources import LATENCY, overlapping, time_name
from symroof.model.statement_costs import of_statement

# What stands for a size without bound.
BOUNDLESS = 1e40


def _said(sizes: Sizes) -> str:
    return ", ".join(f"{name} = {size:g}" for name, size in sizes.items())


def require_measured(drawn: Drawn) -> None:
    """Raises :class:`~symroof.errors.CheckError` where a figure shows what is not so."""
    match drawn:
        case Curves():
            _curves(drawn, Measure(drawn.setting))
        case Scaling():
            _scaling(drawn, Measure(drawn.setting))
        case Roofline():
            _roofline(drawn)
        case Plane():
            _plane(drawn, Measure(drawn.setting))
        case Territories():
            _territories(drawn, Measure(drawn.setting))
        case Breakdown():
            _breakdown(drawn, Measure(drawn.setting))
        case BestSplit():
            _split(drawn, Measure(drawn.setting))
        case Sensitivity():
            require_changes(drawn)
        case Latency():
            require_latency(drawn)


def require_shown(drawn: Drawn, rows: Iterable[Sequence[object]]) -> None:
    """Raises :class:`~symroof.errors.CheckError` for a number in a table of points that is none of the figure."""
    known = {*map(_digits, _numbers(drawn))}
    if isinstance(drawn, Latency):
        known.update(_digits(value) for one in drawn.curves for size in one.marks for value in one.place(size))
    if isinstance(drawn, Roofline | Curves):
        roofs = drawn.roofs if isinstance(drawn, Roofline) else (drawn.roof,)
        known.update(_digits(float(roof.peak.value / roof.bandwidth.value)) for roof in roofs)
        known.update(_digits(float(roof.peak.value)) for roof in roofs)
    if isinstance(drawn, Roofline):
        known.update(_digits(float(one.rate / one.chips)) for one in drawn.measured)
        every = [(float(other.value), float(roof.bandwidth.value)) for _, other in drawn.others for roof in drawn.roofs]
        known.update(_digits(number) for peak, bandwidth in every for number in (peak, peak / bandwidth))
    for row in rows:
        for cell in row:
            if isinstance(cell, float) and _digits(cell) not in known:
                raise CheckError(f"the table of points has {cell:g}, which is none of the figure")


def _digits(value: float) -> str:
    """A number by its digits but the last ones, in which ways to work it out differ."""
    return f"{value:.9g}"


def _numbers(value: object) -> Iterator[float]:
    """Every number in a figure."""
    match value:
        case Said():
            yield from (float(x) for role in ("part", "whole") for x in value.numbers(role))
        case Setting() | str():
            return
        case int() | float() | Fraction():
            yield float(value)
        case Mapping():
            yield from (x for part in value.values() for x in _numbers(part))
        case tuple() | list():
            yield from (x for part in value for x in _numbers(part))
        case Frozen():
            yield from (x for part in vars(value).values() for x in _numbers(part))


def _curves(drawn: Curves, measure: Measure) -> None:
    x, roof = drawn.variable, drawn.roof
    ridge = float(roof.peak.value / roof.bandwidth.value)
    for curve in drawn.curves:
        along_lines(measure, curve.values, x, curve.xs, curve.lines)
        if curve.bound is not None:
            measure.require(INTENSITY, {**floats(curve.values), x: curve.bound}, ridge)
        _require_first(measure, curve, floats(curve.values), x, ridge)
    if drawn.rule is not None:
        others = dict.fromkeys(drawn.large, BOUNDLESS)
        for size, y in drawn.rule.points("throughput"):
            measure.require(Name("throughput"), {**others, x: size}, y)
        if drawn.rule.bound is not None:
            measure.require(INTENSITY, {**others, x: drawn.rule.bound}, ridge)
        _require_first(measure, drawn.rule, others, x, ridge)
    if drawn.miss is not None:
        first, curve, share = drawn.miss
        if curve not in drawn.curves or drawn.rule is None or first != drawn.rule.first:
            raise CheckError("what the figure says of the rule of thumb is of another figure")
        measure.require(Name("throughput"), {**floats(curve.values), x: first}, share * roof.top)


def _require_first(measure: Measure, curve: Curve, sizes: Sizes, x: str, ridge: float) -> None:
    """The least whole size is beyond the bound, and the one before it is not."""
    if curve.first is None or curve.bound is None:
        return
    step = measure.ledger.multiples.of(x, curve.values)
    before, there = (measure.of(INTENSITY, {**sizes, x: size}) for size in (max(1, curve.first - step), curve.first))
    if there <= ridge * (1 - NEAR):
        raise CheckError(f"the figure says that {x} = {curve.first} is enough, and it is not")
    if before > ridge * (1 + NEAR) and curve.first > 1:
        raise CheckError(f"the figure says that {x} = {curve.first} is the first, and less is enough")


def _scaling(drawn: Scaling, measure: Measure) -> None:
    x = drawn.variable
    for curve in drawn.curves:
        along_lines(measure, curve.values, x, curve.xs, curve.lines)
        for few in curve.few:
            own = Measure(setting_of(numbered(drawn.setting.problem, x, few.chips)))
            own.require(Name("throughput"), floats(curve.values), few.throughput)
            own.require(PEAK_OF_ALL, floats(curve.values), few.peak)
        ends = [float(end) for stretch in curve.stretches for end in stretch.ends]
        if not all(isclose(*pair, rel_tol=1e-6) for pair in zip(ends[::2], [curve.xs[0], *ends[1::2]], strict=False)):
            raise CheckError("the figure does not say everywhere what takes longest")
        if not isclose(ends[-1], curve.xs[-1], rel_tol=1e-6):
            raise CheckError("the figure does not say to its end what takes longest")
        for i, stretch in enumerate(curve.stretches):
            low, high = map(float, stretch.ends)
            for size in (low, sqrt(low * high), high):
                _require_longest(measure, stretch.time, {**floats(curve.values), x: size})
            if i and stretch.first is not None:
                _require_turn(measure, drawn, curve, stretch)


def _require_turn(measure: Measure, drawn: Scaling, curve: ScalingCurve, stretch: Stretch) -> None:
    """The first size of a stretch is in it, and the one before it is not."""
    x, first = drawn.variable, stretch.first or 0
    before = first - (drawn.ring or measure.ledger.multiples.of(x, curve.values))
    if not before < stretch.ends[0] <= first:
        raise CheckError(f"the figure says that {stretch.time} is longest from {x} = {first}")
    _require_longest(measure, stretch.time, {**floats(curve.values), x: float(first)})


def _require_longest(measure: Measure, time: str, sizes: Sizes) -> None:
    times = [measure.of(Name(f"T_{name}"), sizes) for name in measure.setting.rates.resources]
    if measure.of(Name(time), sizes) < max(times) * (1 - NEAR):
        raise CheckError(f"the figure says that {time} is longest at {_said(sizes)}, and it is not")


def _roofline(drawn: Roofline) -> None:
    measures = [Measure(roof.setting) for roof in drawn.roofs]
    for roof in drawn.roofs:
        if roof.chip.figures and float(roof.bandwidth.value) not in map(float, _known(roof.setting)):
            raise CheckError(f"the chip has no bandwidth of {float(roof.bandwidth.value):g}")
    for track in drawn.tracks:
        for (roof, curve, peak), measure in zip(track.under(drawn.roofs), measures, strict=True):
            sizes = [{**floats(curve.values), drawn.variable: x} for x in curve.xs] or [floats(curve.values)]
            for place, x, y in zip(sizes, curve.lines["intensity"], curve.lines["throughput"], strict=False):
                _require_intensity(measure, track, place, x)
                height = min(peak, x * float(roof.bandwidth.value))
                if not track.statement and (beside := roof.setting.rates.roofless):
                    chips = measure.of(Name("chips"), place) if roof.setting.several_chips else 1.0
                    seconds = max(measure.of(Name(time_name(name)), place) for name in beside)
                    height = min(height, measure.of(Name("flops"), place) / chips / seconds)
                if not isclose(y, height, rel_tol=NEAR):
                    raise CheckError(f"a point of the figure is not under its roof: {x:g}, {y:g}")

    for name, other in drawn.others:
        if drawn.roofs[0].chip.figures[f"peak.{name}"].value != other.value:
            raise CheckError(f"the chip has no peak of {float(other.value):g} for {name}")
    _require_kernels(drawn)
    whole = Measure(drawn.bounds or drawn.setting)
    for one in drawn.measured:
        _measurement(drawn, one, whole, measures[0])


def _require_kernels(drawn: Roofline) -> None:
    """Where statements are drawn, none is left out: each is drawn at every set of sizes, or said to be undrawn."""
    each = [", ".join(names) for names in overlapping(drawn.setting.problem.operation)]
    told = [track.statement for track in drawn.tracks if track.statement]
    sets = sum(1 for track in drawn.tracks if not track.statement)
    if told and sorted([*told, *drawn.undrawn * sets]) != sorted(each * sets):
        raise CheckError("the figure leaves a statement out")


def _measurement(drawn: Roofline, one: Measurement, whole: Measure, measure: Measure) -> None:
    """A measured point, what is the most there, and on which side of it it is."""
    if not one.values:
        roof = drawn.roofs[0]
        most = min(float(roof.peak.value), float(one.intensity) * float(roof.bandwidth.value))
    else:
        sizes = floats(one.values)
        flops, bound = (whole.of(Name(name), sizes) for name in ("flops", "T_lower"))
        most = flops / bound
        measure.require(INTENSITY, sizes, float(one.intensity))
        if one.seconds is None or not isclose(flops / float(one.seconds), float(one.rate), rel_tol=NEAR):
            raise CheckError(f"the figure shows a rate of {float(one.rate):g} that nobody measured")
    if not isclose(most, float(one.most), rel_tol=NEAR):
        raise CheckError(f"the figure holds a measured point against {float(one.most):g}, where {most:g} is the most")


def _known(setting: Setting) -> Iterable[float]:
    return (float(value) for value in setting.values.values())


def _require_intensity(measure: Measure, track: Track, sizes: Sizes, shown: float) -> None:
    if not track.statement:
        measure.require(INTENSITY, sizes, shown)
        return

    def each(kind: str) -> list[Formula]:
        """What its statements have of a kind; what one has none of is not said."""
        every = (of_statement(kind, name) for name in track.statement.split(", "))
        return [Name(name) for name in every if name in measure.ledger.definitions]

    above, below = (
        measure.of(total(*one), sizes)
        for one in (each("ops" if track.vector else "flops") or each("ops"), each("bytes"))
    )
    if not isclose(above, shown * below, rel_tol=NEAR):
        raise CheckError(f"the figure shows {track.statement} at {shown:g}, where its intensity is {above / below:g}")


def _plane(drawn: Plane, measure: Measure) -> None:
    ridge = measure.setting.ridge
    for point in drawn.threshold:
        measure.require(INTENSITY, _place(drawn.names, point), float(ridge or 0))
    forms = [measure.setting.layout.write(region.form) for region in drawn.regions]
    for region, form in zip(drawn.regions, forms, strict=True):
        for corner in (_centre(region.corners), *region.corners):
            place = _place(drawn.names, corner)
            if measure.of(form, place) > min(measure.of(one, place) for one in forms) * (1 + NEAR):
                raise CheckError(f"the figure says that the intensity is near {region.form} at {_said(place)}")
        for end in region.rule:
            measure.require(form, _place(drawn.names, end), float(ridge or 0))
            if not _on_border(end, region.corners):
                raise CheckError(f"the rule of {region.form} ends within its region")

    if drawn.threshold:
        frame = [(x, y) for x in drawn.ranges[0] for y in drawn.ranges[1]]
        inside = {c for c in frame if measure.of(INTENSITY, _place(drawn.names, c)) > float(ridge or 0)}
        if {*drawn.beyond} != {*drawn.threshold, *inside}:
            raise CheckError("what the figure shades is not what is beyond the threshold")
    whole = prod(log(high / low) for low, high in drawn.ranges)
    covered = sum(_area(region.corners) for region in drawn.regions)
    if not isclose(whole, covered, rel_tol=1e-6):
        raise CheckError(f"the regions of the figure cover {covered / whole:.1%} of it")


def _on_border(point: Point, corners: Sequence[Point]) -> bool:
    """Whether a point is on a side of a polygon on logarithmic axes."""
    x, y = map(log, point)
    places = [(log(u) - x, log(v) - y) for u, v in corners]
    sides = zip(places, [*places[1:], places[0]], strict=True)
    return any(abs(a * d - b * c) < 1e-6 and a * c + b * d < 1e-6 for (a, b), (c, d) in sides)


def _area(corners: Sequence[Point]) -> float:
    """The area of a polygon on logarithmic axes."""
    places = [(log(x), log(y)) for x, y in corners]
    turned = zip(places, [*places[1:], places[0]], strict=True)
    return abs(sum(x * v - u * y for (x, y), (u, v) in turned)) / 2


def _territories(drawn: Territories, measure: Measure) -> None:
    for region in drawn.regions:
        half = len(region.corners) // 4
        middle = _centre((region.corners[half], region.corners[-1 - half]))
        _require_longest(measure, region.time, _place(drawn.names, middle))


def _place(names: tuple[str, str], point: Point) -> dict[str, float]:
    return dict(zip(names, point, strict=True))


def _centre(corners: Sequence[Point]) -> Point:
    x, y = (prod(corner[i] ** (1 / len(corners)) for corner in corners) for i in (0, 1))
    return x, y


def _breakdown(drawn: Breakdown, measure: Measure) -> None:
    if drawn.each != len({bar.time for bar in drawn.bars}):
        raise CheckError(f"the figure has {drawn.each} bars for each set of sizes")
    summed = (resource for resource in drawn.setting.rates.resources if resource != LATENCY)
    if {bar.time for bar in drawn.bars} != {"T_steps", *map(time_name, summed)}:
        raise CheckError("the figure leaves a time out")
    for bar in drawn.bars:
        seconds, sizes = float(bar.seconds), floats(bar.values)
        if not isclose(sum(float(part) for _, part in bar.parts), seconds, rel_tol=NEAR):
            raise CheckError(f"the parts of {bar.time} do not add up")
        measure.require(Name(bar.time), sizes, seconds)


def _split(drawn: BestSplit, measure: Measure) -> None:
    for curve in drawn.curves:
        fixed = floats(curve.values)
        for x, best in curve.points:
            at = {**fixed, drawn.variable: x}
            if not any(isclose(known, best, rel_tol=NEAR) for known in _choices(drawn, measure, at)):
                raise CheckError(f"the figure shows {drawn.chosen} = {best:g} at {_said(at)}, which is not the best")


def _choices(drawn: BestSplit, measure: Measure, sizes: Sizes) -> Iterator[float]:
    """The place inside, if it is one, and the ends."""
    for step in (drawn.place, *drawn.ends):
        yield measure.of(step.right, sizes)
