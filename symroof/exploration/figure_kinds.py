"""Which figure is asked for, and its points as rows: what one would read off the picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from symroof.derivation.premises import Setting, require_arithmetic, require_sizes_agree, setting_of
from symroof.derivation.size_constraints import require_over, whole_sizes
from symroof.errors import ModelError, require_one_of
from symroof.exploration.breakdowns import Breakdown, breakdown
from symroof.exploration.curves import Curves, curves
from symroof.exploration.latency import Latency, latency
from symroof.exploration.planes import Plane, plane
from symroof.exploration.roofs import Roofline, links_of, roofline
from symroof.formula import Frozen
from symroof.model.hardware import Accelerator
from symroof.model.problem import Problem
from symroof.model.quantities import time_name
from symroof.reading.grids import Axis
from symroof.reading.measurements import Row as Measured
from symroof.symbols import symbol

# The kinds of figures, and over how many sizes each is drawn, at least and at most.
KINDS = {
    "roofline": (0, 1),
    "throughput": (1, 1),
    "times": (1, 1),
    "regimes": (2, 2),
    "breakdown": (0, 0),
    "latency": (1, 1),
}
# Those of times alone, which something has that computes nothing.
OF_TIMES = ("times", "breakdown")
Drawn: TypeAlias = "Curves | Roofline | Plane | Breakdown | Latency"


class Label(Frozen):
    """A word of a table of points, by the name under which every language has it; ``of`` is what it speaks of."""

    name: str
    of: tuple[str, ...] = ()


Row: TypeAlias = "tuple[Label | str | float, ...]"
BOUND_BY, CHIP, COMPUTE, LINK, WHAT, STATEMENT = map(
    Label, ["bound_by", "chip", "compute", "link", "what", "statement"]
)
BUSY = {"T_math": COMPUTE, "T_vector": Label("vector_unit"), "T_latency": Label("latency")}


def figure(
    problem: Problem,
    kind: str | None,
    over: Sequence[Axis],
    chips: Sequence[Accelerator] = (),
    links: Sequence[str] = (),
    points: Sequence[Measured] = (),
) -> Drawn:
    """The figure of a problem. Without a kind: regimes over two sizes, by the terms of the intensity, or, of several
    resources, by which is busy longest; throughput over one size; otherwise a roofline, in
    which ``points`` that were measured stand as well.

    Raises :class:`ModelError` where the kind and the axes do not go together, or the axes and the sizes that are put in.
    """
    kind = kind or ("roofline", "throughput", "regimes")[0 if points else min(len(over), 2)]
    example = _require_kind(kind, over, chips, links, points)
    setting = setting_of(replace(problem, at=()))
    if kind not in OF_TIMES:
        require_arithmetic(setting, "--kind times or breakdown")
    for each in over:
        _require_axis(each, problem, setting, example)
    for values in problem.at:
        require_sizes_agree(setting, values)
    for values in problem.at or ({},):
        ranges = {axis.names[0]: range(axis.ends[0], axis.ends[1] + 1) for axis in over}
        require_over(setting.problem, {**whole_sizes(values), **ranges}, drawn=True)
    match kind:
        case "regimes":
            for second in problem.at[1:]:
                raise ModelError(f"a map shows one set of the other sizes, and there is a second: {', '.join(second)}")
            return plane(problem, *over)
        case "breakdown":
            return breakdown(problem)
        case "latency":
            return latency(problem, chips or [problem.hardware], *over)
        case "roofline":
            axis, links = next(iter(over), None), links or links_of(setting)
            return roofline(problem, chips or [problem.hardware], links, axis, points)
    return curves(problem, kind, *over)


def _require_kind(
    kind: str, over: Sequence[Axis], chips: Sequence[Accelerator], links: Sequence[str], points: Sequence[Measured]
) -> str:
    """What a kind is drawn over, and of: an example of its axes. Raises :class:`ModelError` for others."""
    require_one_of(kind, KINDS, f"there is no figure {kind!r}", ModelError)
    if (len(chips) > 1 and kind not in ("roofline", "latency")) or (len(links) > 1 and kind != "roofline"):
        raise ModelError(f"{kind} has one chip and one link", hint="--kind roofline shows several")
    if points and (kind != "roofline" or len(chips) > 1):
        raise ModelError("measured points stand in a roofline of one chip", expected="--kind roofline --on CHIP")
    least, most = KINDS[kind]
    example = "--over B=1..4096,D=1..4096" if most == 2 else "--over B=1..400" if most else "several --at"
    if not least <= len(over) <= most:
        sizes, are = f"{most or 'no'} size{'s' if most > 1 else ''}", "is" if len(over) == 1 else "are"
        raise ModelError(f"{kind} is drawn over {sizes}, and there {are} {len(over)}", expected=example)
    return example


def _require_axis(axis: Axis, problem: Problem, setting: Setting, example: str) -> None:
    """An axis is one size that has several values, and no other."""
    name = axis.names[0]
    if len(axis.names) > 1:
        together = f"{' = '.join(axis.names)} are {len(axis.names)}"
        raise ModelError(f"an axis of a figure is one size, and {together}", expected=example)
    if axis.ends[0] == axis.ends[1]:
        raise ModelError(f"{name} has one value", expected="a range, as in B=1..4096")
    if any(name in values for values in problem.at):
        raise ModelError(f"{name} runs over its axis and has a size as well", hint=f"leave {name} out of --at")
    if (value := setting.regime.substitution.get(symbol(name))) is not None:
        raise ModelError(f"{name} is {value} here", hint="draw over another size")


def rows(drawn: Drawn) -> tuple[Row, tuple[Row, ...]]:
    """The plotted points: a head, and a row for each."""
    match drawn:
        case Plane(names=names):
            lines = [(Label("threshold"), drawn.threshold), *((Label("rule_of_thumb"), rule) for rule in drawn.rules)]
            for region in drawn.regions:
                of = (str(region.largest), *([""] if drawn.times else []))
                lines.append((Label("longest" if drawn.times else "corner", of), region.corners))
            return (*names, WHAT), tuple((*point, label) for label, points in lines for point in points)
        case Breakdown():
            return (Label("at"), WHAT, STATEMENT, "s"), tuple(_rows_of_bars(drawn))
        case Latency():
            return (Label("at"), CHIP, drawn.variable, "s", Label("tokens_of_a_chip")), tuple(_rows_of_latency(drawn))
        case Roofline():
            head = (WHAT, CHIP, LINK, "FLOPs/byte", "FLOPs/s", BOUND_BY)
            return head, tuple(_rows_under_roofs(drawn))
        case Curves(kind="times"):
            return (Label("at"), drawn.variable, *drawn.curves[0].lines, BOUND_BY), tuple(_rows_of_curves(drawn))
    return (Label("curve"), drawn.variable, "FLOPs/s", BOUND_BY), tuple(_rows_of_curves(drawn))


def _sizes_text(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _chip(chip: Accelerator) -> Label | str:
    return Label("given_chip") if chip.unnamed else chip.title


def _rows_under_roofs(drawn: Roofline) -> Iterable[Row]:
    for roof in drawn.roofs:
        yield Label("of_ridge"), _chip(roof.chip), roof.link, roof.ridge, roof.height(roof.ridge), ""
    for track in drawn.tracks:
        for place in track.places:
            roof, size = place.roof, {} if place.size is None else {drawn.variable: f"{place.size:g}"}
            text = ", ".join(filter(None, (track.statement, _sizes_text({**track.values, **size}))))
            yield text, _chip(roof.chip), roof.link, *place.point, _busy(time_name(place.bound_by), roof.setting)
    roof = drawn.roofs[0]
    for measurement in drawn.measured:
        yield Label("measured", (measurement.label,)), _chip(roof.chip), roof.link, *measurement.point, ""


def _rows_of_bars(drawn: Breakdown) -> Iterable[Row]:
    for bar in drawn.bars:
        for name, seconds in (*bar.parts, ("", bar.seconds)):
            yield _sizes_text(bar.values), bar.time, name or Label("in_all"), float(seconds)


def _rows_of_latency(drawn: Latency) -> Iterable[Row]:
    for curve in drawn.curves:
        name = _chip(curve.chip)
        for size in curve.marks:
            yield _sizes_text(curve.values), name, float(size), *curve.place(size)


def _rows_of_curves(drawn: Curves) -> Iterable[Row]:
    setting = drawn.setting
    for curve in drawn.curves:
        name = _sizes_text(curve.values) or (Label("exact") if drawn.kind == "throughput" else "")
        for few in curve.few:
            yield name, float(few.chips), few.throughput, _busy(few.longest.time, setting)
        lines = curve.lines.values() if drawn.kind == "times" else (curve.lines["throughput"],)
        for x, *amounts in zip(curve.xs, *lines, strict=True):
            if drawn.is_there(x):
                yield name, x, *amounts, _busy(curve.longest(x), setting)
    if drawn.rule:
        for x, y in zip(drawn.rule.xs, drawn.rule.throughput, strict=True):
            by = COMPUTE if x >= drawn.rule.bound else setting.link
            yield Label("rule_of_thumb"), x, y, by


def _busy(time: str, setting: Setting) -> Label | str:
    """What a time is that of."""
    return setting.link if time == "T_comms" else BUSY.get(time, time.removeprefix("T_"))
