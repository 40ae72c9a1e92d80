"""The figures, drawn: throughput and times against a size, and regime maps. Labels sit on what they name."""

from __future__ import annotations

from collections.abc import Sequence

from symroof.exploration.breakdowns import Breakdown
from symroof.exploration.curves import Curve, Curves
from symroof.exploration.figure import Drawn
from symroof.exploration.planes import Plane
from symroof.exploration.roofs import Roofline
from symroof.exploration.territories import Territories
from symroof.rendering.figures.bars import draw_breakdown
from symroof.rendering.figures.canvas import WIDTH, Canvas
from symroof.rendering.figures.captions import captions, chips_of, peak_of, share_in, title_of
from symroof.rendering.figures.labels import Point, Spot, around
from symroof.rendering.figures.planar import draw_plane, draw_territories
from symroof.rendering.figures.rooflines import draw_roofline
from symroof.rendering.figures.strokes import DOTTED, GREY, INK, MOMENTS, RATES, rate, scaled, stroke
from symroof.rendering.pages.amounts import sizes

HEIGHTS = (0.03, 0.12, 0.21, 0.3, 0.39, 0.48, 0.6, 0.72)


def draw(found: Drawn, inches: float = WIDTH, lang: str = "en") -> Canvas:
    """The figure of what was found, that wide, in a language."""
    match found:
        case Breakdown():
            return draw_breakdown(found, inches, lang)
        case Roofline():
            return draw_roofline(found, inches, lang)
        case Plane():
            return draw_plane(found, inches, lang)
        case Territories():
            return draw_territories(found, inches, lang)
        case Curves(kind="times"):
            return draw_times(found, inches, lang)
    return draw_throughput(found, inches, lang)


def draw_throughput(found: Curves, inches: float, lang: str) -> Canvas:
    """Attainable throughput against one size, from 0, with thresholds at the foot of the figure."""
    x, top, setting = found.variable, found.roof.top, found.roof.setting
    unit, scale = scaled(top, RATES)
    first, last = found.curves[0].xs[0], found.curves[0].xs[-1]
    say = captions(lang)
    names = say("size", x), say("throughput", unit, chips_of(setting), False)
    ranges = (first if first > 1 or found.log else 0, last), (0, top * 1.13)
    canvas = Canvas(
        title_of(say, setting), names, ranges, log=(found.log, False), scale=scale, inches=inches, lang=lang
    )
    canvas.percent_axis(top, say("of_peak"))
    canvas.line([(canvas.left, top), (last, top)], INK, 0.9)
    places = [canvas.across(1 - part / 20) for part in range(17)]
    canvas.label(peak_of(say, setting, rate(top, "FLOPs/s")), [Spot((at, top), "nw", 2) for at in places])
    rule = found.rule
    if rule is not None and rule.bound is not None:
        canvas.line(rule.points("throughput"), GREY, 1.2, DOTTED, layer=2)
        if first <= rule.bound <= last:
            canvas.line([(rule.bound, 0), (rule.bound, top)], GREY, 0.7, DOTTED, layer=2)
            canvas.label(say("rule_from", x, rule.first), _feet(rule.bound, top), GREY, bold=True)
    for i, curve in enumerate(found.curves):
        _throughput(canvas, found, i, curve)
    if found.miss is not None and first <= found.miss[0] <= last:
        at, short, reached = found.miss
        words = say("reached_by_the_rule", x, at, sizes(short.values), share_in(lang, reached))
        aside = (("e", 0.62), ("w", 0.99), ("e", 0.5), ("e", 0.1))
        heights = (0.42, 0.3, 0.55, 0.2)
        spots = [Spot((canvas.across(part), top * h), side, 0) for side, part in aside for h in heights]
        canvas.label(words, spots, GREY, leader=(at, reached * top))
    return canvas


def _throughput(canvas: Canvas, found: Curves, index: int, curve: Curve) -> None:
    """A curve, and where it reaches the peak; or how far it comes, and its ceiling."""
    (colour, dash), say, variable = stroke(index), canvas.say, found.variable
    name = sizes(curve.values) or say("exact")
    top, line = found.roof.top, curve.points("throughput")
    canvas.line(line, colour, dash=dash)
    start, (last, end) = line[0][1], line[-1]
    reached = curve.bound is not None and dict(line).get(curve.bound, 0) >= top * (1 - 1e-9)
    if curve.bound is not None and reached:
        canvas.line([(curve.bound, 0), (curve.bound, top)], colour, 0.9, dash, layer=2)
        canvas.ring((curve.bound, top), colour)
        canvas.label(f"{name}\n{variable} ≥ {curve.first}", _feet(curve.bound, top), colour, bold=True)
        return
    if curve.ceiling is not None:
        canvas.line([(canvas.left, curve.ceiling), (last, curve.ceiling)], colour, 0.7, DOTTED, layer=2)
        words = say("never", name, share_in(canvas.lang, curve.ceiling / top, up=True))
    elif start >= top * (1 - 1e-12):
        words = say("from_the_first", name)
    else:
        words = say("reached", name, share_in(canvas.lang, end / top), variable, f"{last:g}")
    spots = [
        Spot(line[int(part * (len(line) - 1))], side, 5) for side in ("sw", "nw", "se") for part in (1, 0.8, 0.6, 0.4)
    ]
    canvas.label(words, spots, colour, bold=True)


def _feet(place: float, top: float) -> list[Spot]:
    """Both sides of an upright line, from its foot up."""
    return [Spot((place, height * top), side, 4) for height in HEIGHTS for side in ("ne", "nw")]


def draw_times(found: Curves, inches: float, lang: str) -> Canvas:
    """T_math, T_comms and the bounds against one size; a pair of lines for each point."""
    first, several = found.curves[0], len(found.curves) > 1
    x, link = found.variable, found.roof.link
    every = [y for curve in found.curves for ys in curve.lines.values() for y in ys]
    unit, scale = scaled(max(y for curve in found.curves for y in curve.lines["T_lower"]) / 30, MOMENTS)
    low = min(every) / 1.6 if found.log else 0
    ranges = (first.xs[0], first.xs[-1]), (low, max(every) * (2.2 if found.log else 1.1))
    say = captions(lang)
    title = title_of(say, found.roof.setting, "" if several else sizes(first.values))
    log = found.log, found.log
    canvas = Canvas(title, (say("size", x), say("time", unit)), ranges, log=log, scale=scale, inches=inches, lang=lang)
    if not several:
        _bounds(canvas, first)
        _of_statements(canvas, first)
    for i, curve in enumerate(found.curves):
        own = sizes(curve.values) if several else ""
        of_math = say("t_math", found.roof.setting.matrix_stands_in, own)
        of_comms = say("t_comms", link, own, curve.ceiling is not None)
        for j, (name, words) in enumerate((("T_math", of_math), ("T_comms", of_comms))):
            (colour, dash), line = stroke(2 * i + j), curve.points(name)
            canvas.line(line, colour, dash=dash, width=2.2 if i == 0 else 1.1)
            canvas.label(words, _along(canvas, line), colour, bold=i == 0)
        if curve.bound is not None and curve.bound in curve.xs:
            size, height = curve.bound, curve.lines["T_math"][curve.xs.index(curve.bound)]
            canvas.line([(size, low), (size, height)], GREY, 0.9, DOTTED)
            canvas.ring((size, height), INK)
            words = say("compute_bound_from", x, curve.first, own)
            feet = [Spot((size, canvas.up(part)), side, 4) for part in HEIGHTS for side in ("ne", "nw")]
            canvas.label(words, (*around((size, height), "nw n ne", (6, 14)), *feet) if several else feet, bold=True)
    return canvas


def _of_statements(canvas: Canvas, curve: Curve) -> None:
    """The times that only a program has, between the bounds."""
    for i, name in enumerate(name for name in ("T_steps", "T_vector") if name in curve.lines):
        (colour, dash), line = stroke(i + 4), curve.points(name)
        canvas.line(line, colour, 1.4, dash)
        canvas.label(name, _along(canvas, line), colour)


def _along(canvas: Canvas, line: Sequence[Point]) -> list[Spot]:
    """Below and above a line, along it."""
    count, spots = len(line) - 1, []
    for side in ("se", "ne"):
        for part in (0.25, 0.4, 0.6, 0.1, 0.75):
            place = line[int(part * count)]
            angle = canvas.angle(place, line[min(count, int((part + 0.15) * count))])
            spots.append(Spot(place, side, 4, angle))
    return spots


def _bounds(canvas: Canvas, curve: Curve) -> None:
    """The two bounds on the running time, and the band between them."""
    lower, upper = curve.points("T_lower"), curve.points("T_upper")
    canvas.region([*lower, *reversed(upper)], "#E9E9E9")
    canvas.line(lower, INK, 0.9, layer=4)
    canvas.line(upper, INK, 0.9, (0, (4, 2)), layer=4)
    for line, words, side in ((upper, canvas.say("upper"), "ne"), (lower, canvas.say("lower"), "se")):
        places = [line[int(part * (len(line) - 1))] for part in (0, 0.08, 0.16, 0.3, 0.5)]
        canvas.label(words, [Spot(place, side, 6) for place in places])
