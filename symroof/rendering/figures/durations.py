"""Times and throughput against one size, on one chip and on a mesh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose

from symroof.exploration.curves import Curve, Curves, in_common
from symroof.exploration.scaling import Scaling, ScalingCurve, Stretch
from symroof.model.quantities import time_name
from symroof.model.resources import VECTOR
from symroof.rendering.figures.canvas import Canvas
from symroof.rendering.figures.captions import Say, assumed, captions, chips_of, own_sizes, peak_of, title_of
from symroof.rendering.figures.labels import Point, Spot, around
from symroof.rendering.figures.strokes import DOTTED, GREY, INK, MOMENTS, RATES, rate, scaled, stroke
from symroof.rendering.pages.amounts import sizes

# How far up an upright line words may stand beside it.
HEIGHTS = (0.03, 0.12, 0.21, 0.3, 0.39, 0.48, 0.6, 0.72)
# How far above the highest throughput a peak that grows with the chips is followed, on an axis that is not logarithmic.
HEADROOM = 1.6
FULL = 1.13  # what is above the height of perfect scaling, in parts of it


def draw_times(found: Curves, inches: float, lang: str) -> Canvas:
    """T_math, T_comms and the bounds against one size; a pair of lines for each point."""
    first, several = found.curves[0], len(found.curves) > 1
    x, link = found.variable, found.roof.link
    every = [y for curve in found.curves for ys in curve.lines.values() for y in ys if y > 0]
    unit, scale = scaled(max(y for curve in found.curves for y in curve.lines["T_lower"]) / 30, MOMENTS)
    low = min(every) / 1.6 if found.log else 0
    ranges = (first.xs[0], first.xs[-1]), (low, max(every) * (2.2 if found.log else 1.1))
    say = captions(lang)
    title = title_of(say, found.roof.setting, "" if several else sizes(first.values))
    log, names, aside = (found.log, found.log), (say("size", x), say("time", unit)), assumed(say, found.roof.setting)
    canvas = Canvas(title, names, ranges, log=log, scale=scale, inches=inches, lang=lang, aside=aside)
    for i, curve in enumerate(found.curves):
        own = sizes(curve.values) if several else ""
        of_math = say("t_math", found.roof.setting.matrix_stands_in, own)
        of_comms = say("t_comms", link, own, curve.ceiling is not None)
        others = {} if several else bounds_said(say) | {name: name for name in ("T_vector", "T_steps")}
        words = said_once(say, curve.lines, {"T_math": of_math, "T_comms": of_comms, **others})
        if not several:
            draw_bounds(canvas, curve.lines, curve.xs, words)
            _of_statements(canvas, curve, words)
        for j, name in enumerate(("T_math", "T_comms")):
            (colour, dash), line = stroke(2 * i + j), curve.points(name)
            canvas.line(line, colour, dash=dash, width=2.2 if i == 0 else 1.1)
            if name in words:
                canvas.label(words[name], along(canvas, line), colour, bold=i == 0)
        if curve.bound is not None and curve.bound in curve.xs:
            size, height = curve.bound, curve.lines["T_math"][curve.xs.index(curve.bound)]
            canvas.line([(size, low), (size, height)], GREY, 0.9, DOTTED)
            canvas.ring((size, height), INK)
            from_there = say("compute_bound_from", x, curve.first, own)
            feet = [Spot((size, canvas.up(part)), side, 4) for part in HEIGHTS for side in ("ne", "nw")]
            canvas.label(
                from_there, (*around((size, height), "nw n ne", (6, 14)), *feet) if several else feet, bold=True
            )
    return canvas


def bounds_said(say: Say) -> dict[str, str]:
    """The words of the two bounds on the running time."""
    return {"T_lower": say("lower"), "T_upper": say("upper")}


def said_once(say: Say, lines: Mapping[str, Sequence[float]], words: Mapping[str, str]) -> dict[str, str]:
    """The words of lines, those of lines that coincide together on the first of them.

    >>> said_once(captions("en"), {"a": (1, 2), "b": (1, 3), "c": (1, 2)}, {"a": "A", "b": "B", "c": "C"})
    {'a': 'A, C', 'b': 'B'}
    """
    found: dict[str, list[str]] = {}
    for name in (name for name in words if name in lines):
        first = next((known for known in found if all(map(isclose, lines[known], lines[name]))), name)
        found.setdefault(first, []).append(words[name])
    return {name: say("coinciding", names) for name, names in found.items()}


def _of_statements(canvas: Canvas, curve: Curve, words: Mapping[str, str]) -> None:
    """The times that only a program has, between the bounds."""
    for i, name in enumerate(name for name in ("T_steps", "T_vector") if name in curve.lines):
        (colour, dash), line = stroke(i + 4), curve.points(name)
        canvas.line(line, colour, 1.4, dash)
        if name in words:
            canvas.label(words[name], along(canvas, line), colour)


def along(canvas: Canvas, line: Sequence[Point]) -> list[Spot]:
    """Below and above a line, along it."""
    count, spots = len(line) - 1, []
    for side in ("se", "ne"):
        for part in (0.25, 0.4, 0.6, 0.1, 0.75):
            place = line[int(part * count)]
            angle = canvas.angle(place, line[min(count, int((part + 0.15) * count))])
            spots.append(Spot(place, side, 4, angle))
    return spots


def draw_bounds(
    canvas: Canvas, lines: Mapping[str, Sequence[float]], xs: Sequence[float], words: Mapping[str, str]
) -> None:
    """The two bounds on the running time, and the band between them."""
    lower, upper = ([*zip(xs, lines[name], strict=True)] for name in ("T_lower", "T_upper"))
    canvas.region([*lower, *reversed(upper)], "#E9E9E9")
    canvas.line(lower, INK, 0.9, layer=4)
    canvas.line(upper, INK, 0.9, (0, (4, 2)), layer=4)
    for name, line, side in (("T_upper", upper, "ne"), ("T_lower", lower, "se")):
        if name in words:
            places = [line[int(part * (len(line) - 1))] for part in (0, 0.08, 0.16, 0.3, 0.5)]
            canvas.label(words[name], [Spot(place, side, 6) for place in places])


def draw_scaling(found: Scaling, inches: float, lang: str) -> Canvas:
    """The figure of a program on a mesh: its times, or its throughput."""
    return (_times if found.kind == "times" else _throughput)(found, inches, lang)


def _throughput(found: Scaling, inches: float, lang: str) -> Canvas:
    """A curve for each point below the peak of all chips, which grows with an axis of the mesh."""
    say, setting, shared = captions(lang), found.setting, in_common([curve.values for curve in found.curves])
    heights = [
        y for curve in found.curves for y in (*curve.lines["throughput"], *(few.throughput for few in curve.few))
    ]
    assert setting.peak is not None
    peaks = {curve.lines["peak"][-1]: _peaks(curve) for curve in found.curves}
    peak, several, starts = max(peaks), len(found.curves) > 1, [line[0][1] for line in peaks.values()]
    level = starts == list(peaks)
    top = peak * 1.13 if level else min(peak, HEADROOM * max(*heights, *starts))
    foot = min(heights) / 2 if found.log else 0
    unit, scale = scaled(top / 2, RATES)
    names = _size(say, found), say("throughput", unit, chips_of(setting), False, False)
    ranges = _ends(found), (foot, top * (2 if found.log else 1))
    title = title_of(say, setting, sizes(shared))
    log, aside = (found.log, found.log), assumed(say, setting)
    canvas = Canvas(title, names, ranges, log=log, scale=scale, inches=inches, lang=lang, aside=aside)
    if level and len(peaks) == 1 and not found.log:
        canvas.percent_axis(peak, say("of_peak"))
    if found.over_chips and not found.log:
        canvas.percent_axis(top / FULL, say("of_perfect_scaling"))
    for line in peaks.values():
        canvas.line(line, INK, 0.9)
        size, height = line[-1]  # a peak that is not level grows in proportion to the chips
        shown = [*(place for place in line if place[1] < top), (size * min(1, top / height), min(height, top))]
        words = (
            peak_of(say, setting, rate(line[-1][1], "FLOPs/s"))
            if level
            else say("peak_of_all", rate(float(setting.peak.value), "FLOPs/s"))
        )
        places = [shown[int(part * (len(shown) - 1) / 16)] for part in range(16, -1, -1)]
        canvas.label(words, [Spot(place, side, 3) for side in ("nw", "se", "sw") for place in places])
    for i, curve in enumerate(found.curves):
        _curve(canvas, found, curve, i, own_sizes(curve.values, shared) if several else "")
        if found.over_chips and not found.log:
            _efficiency(canvas, curve, i, top / FULL)
    return canvas


def _efficiency(canvas: Canvas, curve: ScalingCurve, index: int, full: float) -> None:
    """What part of perfect scaling is left: the throughput of each chip in parts of that with the fewest chips, up to ``full``."""
    line = [*((float(few.chips), few.throughput) for few in curve.few), *curve.points("throughput")]
    chips, whole = line[0]
    each = [(x, full * (y / x) / (whole / chips)) for x, y in line]
    canvas.line(each, stroke(index)[0], 1, DOTTED, layer=2)
    canvas.label(canvas.say("scaling"), along(canvas, each), stroke(index)[0], size=7.5)


def _peaks(curve: ScalingCurve) -> list[tuple[float, float]]:
    """The peak of all chips, from the fewest on."""
    return [*((float(few.chips), few.peak) for few in curve.few), *curve.points("peak")]


def _curve(canvas: Canvas, found: Scaling, curve: ScalingCurve, index: int, own: str) -> None:
    """A throughput, with the name of the longest time along each of its parts, and a ring at each turn."""
    (colour, dash), line = stroke(index), curve.points("throughput")
    canvas.line(line, colour, dash=dash)
    for few in curve.few:
        canvas.ring((few.chips, few.throughput), colour, filled=True, size=5)
    for stretch in curve.stretches:
        low, high = map(float, stretch.ends)
        part = [place for place in line if low <= place[0] <= high]
        if stretch is curve.stretches[0]:
            words = canvas.say("longest", stretch.time, own)
            beside = around(part[len(part) // 2], "se e nw w", (6, 14, 24))
            canvas.label(words, (*along(canvas, part), *beside), colour, bold=True)
        else:
            _turn(canvas, found, stretch, part[0], colour, own)


def _turn(
    canvas: Canvas, found: Scaling, stretch: Stretch, place: tuple[float, float], colour: str, own: str = ""
) -> None:
    """Where another time becomes the longest: a ring, a line to the foot of the figure, and the least whole size."""
    size, height = place
    canvas.line([(size, canvas.foot), (size, height)], GREY, 0.9, DOTTED, layer=2)
    canvas.ring(place, colour)
    first = str(stretch.first or f"{size:.4g}")
    feet = [Spot((size, canvas.up(part)), side, 4) for part in HEIGHTS for side in ("ne", "nw")]
    canvas.label(canvas.say("longest_from", stretch.time, found.variable, first, own), feet, colour, bold=True)


def _times(found: Scaling, inches: float, lang: str) -> Canvas:
    """A line for each resource in the band between the two bounds, and T_steps."""
    (curve,), say, setting = found.curves, captions(lang), found.setting
    every = [y for ys in curve.lines.values() for y in ys if y > 0]
    unit, scale = scaled(max(curve.lines["T_lower"]) / 3, MOMENTS)
    ranges = _ends(found), (min(every) / 1.6, max(every) * 2.2)
    names, log = (_size(say, found), say("time", unit)), (found.log, True)
    title = title_of(say, setting, sizes(curve.values))
    canvas = Canvas(title, names, ranges, log=log, scale=scale, inches=inches, lang=lang, aside=assumed(say, setting))
    links = dict(setting.rates.links)

    def called(name: str) -> str:
        link = links.get(name.removeprefix("T_"), "")
        plain = say("t_math", setting.matrix_stands_in, "") if name == "T_math" else name
        return say("t_link", name, link) if link and name != time_name(link) else plain

    others = [name for name in curve.lines if name not in ("T_lower", "T_upper", "T_steps")]
    words = said_once(
        say, curve.lines, {name: called(name) for name in others} | bounds_said(say) | {"T_steps": "T_steps"}
    )
    draw_bounds(canvas, curve.lines, curve.xs, words)
    for i, name in enumerate(name for name in curve.lines if name not in ("T_lower", "T_upper")):
        (colour, dash), line = stroke(i), [place for place in curve.points(name) if place[1] > 0]
        thin = name in ("T_steps", time_name(VECTOR))
        canvas.line(line, colour, 1.2 if thin else 2.2, dash)
        if name in words:
            canvas.label(words[name], along(canvas, line), colour, bold=not thin)
    lower = dict(curve.points("T_lower"))
    for stretch in curve.stretches[1:]:
        size = float(stretch.ends[0])
        _turn(canvas, found, stretch, (size, lower[size]), INK)
    return canvas


def _ends(found: Scaling) -> tuple[float, float]:
    """The axis that was asked for, from 0 where it begins at 1."""
    first, last = found.ends
    return (first if first > 1 or found.log else 0), last


def _size(say: Say, found: Scaling) -> str:
    """What the size is: that of a dimension, or the chips of an axis, and which of them are rings."""
    if not found.over_chips:
        return say("size", found.variable)
    return say("chips_along", found.variable, found.ring, any(curve.few for curve in found.curves))
