"""The figures, drawn: throughput against a size. Labels sit on what they name."""

from __future__ import annotations

from math import floor, log10

from symroof.exploration.breakdowns import Breakdown
from symroof.exploration.curves import Curve, Curves
from symroof.exploration.figure import Drawn
from symroof.exploration.latency import Latency
from symroof.exploration.planes import Plane
from symroof.exploration.roofs import Roofline
from symroof.exploration.scaling import Scaling
from symroof.rendering.figures.bars import draw_breakdown
from symroof.rendering.figures.canvas import WIDTH, Canvas
from symroof.rendering.figures.captions import assumed, captions, chips_of, peak_of, share_in, title_of
from symroof.rendering.figures.durations import HEIGHTS, draw_scaling, draw_times
from symroof.rendering.figures.labels import Spot
from symroof.rendering.figures.latencies import draw_latency
from symroof.rendering.figures.planar import draw_plane
from symroof.rendering.figures.rooflines import draw_roofline
from symroof.rendering.figures.sentences import sentences
from symroof.rendering.figures.strokes import DOTTED, GREY, INK, RATES, rate, scaled, stroke
from symroof.rendering.pages.amounts import sizes

# Where every curve stays below that part of the peak, heights are logarithmic.
FLAT = 0.05


def draw(found: Drawn, inches: float = WIDTH, lang: str = "en") -> Canvas:
    """The figure of what was found, that wide, in a language, with what it shows in sentences."""
    canvas = _drawn(found, inches, lang)
    canvas.told = canvas.say("told", sentences(found, lang))
    return canvas


def _drawn(found: Drawn, inches: float, lang: str) -> Canvas:
    match found:
        case Breakdown():
            return draw_breakdown(found, inches, lang)
        case Latency():
            return draw_latency(found, inches, lang)
        case Roofline():
            return draw_roofline(found, inches, lang)
        case Plane():
            return draw_plane(found, inches, lang)
        case Scaling():
            return draw_scaling(found, inches, lang)
        case Curves(kind="times"):
            return draw_times(found, inches, lang)
    return draw_throughput(found, inches, lang)


def draw_throughput(found: Curves, inches: float, lang: str) -> Canvas:
    """Attainable throughput against one size, from 0, with thresholds at the foot of the figure."""
    x, top, setting = found.variable, found.roof.top, found.roof.setting
    unit, scale = scaled(top, RATES)
    first, last = found.curves[0].xs[0], found.curves[0].xs[-1]
    say = captions(lang)
    seen = [y for curve in found.curves for y in curve.lines["throughput"] if y > 0]
    low = bool(seen) and max(seen) < FLAT * top
    names = say("size", x), say("throughput", unit, chips_of(setting), False, low)
    heights = (10 ** floor(log10(min(seen))) / 10, top * 3) if low else (0, top * 1.13)
    ranges = (first if first > 1 or found.log else 0, last), heights
    title, under = title_of(say, setting), assumed(say, setting)
    canvas = Canvas(title, names, ranges, log=(found.log, low), scale=scale, inches=inches, lang=lang, aside=under)
    canvas.percent_axis(top, say("of_peak"))
    canvas.line([(canvas.left, top), (last, top)], INK, 0.9)
    places = [canvas.across(1 - part / 20) for part in range(17)]
    canvas.label(peak_of(say, setting, rate(top, "FLOPs/s")), [Spot((at, top), "nw", 2) for at in places])
    rule = found.rule
    if rule is not None and rule.bound is not None:
        canvas.line(rule.points("throughput"), GREY, 1.2, DOTTED, layer=2)
        if first <= rule.bound <= last:
            canvas.line([(rule.bound, canvas.foot), (rule.bound, top)], GREY, 0.7, DOTTED, layer=2)
            canvas.label(say("rule_from", x, rule.first, found.large), _feet(canvas, rule.bound), GREY, bold=True)
    for i, curve in enumerate(found.curves):
        _throughput(canvas, found, i, curve)
    if found.miss is not None and first <= found.miss[0] <= last:
        at, short, reached = found.miss
        words = say("reached_by_the_rule", x, at, sizes(short.values), share_in(lang, reached))
        aside, parts = (("e", 0.62), ("w", 0.99), ("e", 0.5), ("e", 0.1)), (0.37, 0.27, 0.49, 0.18)
        spots = [Spot((canvas.across(part), canvas.up(h)), side, 0) for side, part in aside for h in parts]
        canvas.label(words, spots, GREY, leader=(at, reached * top))
    return canvas


def _throughput(canvas: Canvas, found: Curves, index: int, curve: Curve) -> None:
    """A curve, and where it reaches the peak; or how far it comes, and its ceiling."""
    (colour, dash), say, variable = stroke(index), canvas.say, found.variable
    name = sizes(curve.values) or say("exact")
    top, line = found.roof.top, curve.points("throughput")
    canvas.line(line, colour, dash=dash)
    last, end = line[-1]
    reached = curve.bound is not None and dict(line).get(curve.bound, 0) >= top * (1 - 1e-9)
    if curve.bound is not None and reached:
        canvas.line([(curve.bound, canvas.foot), (curve.bound, top)], colour, 0.9, dash, layer=2)
        canvas.ring((curve.bound, top), colour)
        canvas.label(f"{name}\n{variable} ≥ {curve.first}", _feet(canvas, curve.bound), colour, bold=True)
        return
    if curve.ceiling is not None:
        if not curve.attained:
            canvas.line([(canvas.left, curve.ceiling), (last, curve.ceiling)], colour, 0.7, DOTTED, layer=2)
        words = say("never", name, share_in(canvas.lang, curve.ceiling / top, up=True), curve.attained)
    elif min(y for _, y in line) >= top * (1 - 1e-12):
        words = say("from_the_first", name)
    else:
        words = say("reached", name, share_in(canvas.lang, end / top), variable, f"{last:g}")
    spots = [
        Spot(line[int(part * (len(line) - 1))], side, 5) for side in ("sw", "nw", "se") for part in (1, 0.8, 0.6, 0.4)
    ]
    canvas.label(words, spots, colour, bold=True)


def _feet(canvas: Canvas, place: float) -> list[Spot]:
    """Both sides of an upright line, from its foot up."""
    return [Spot((place, canvas.up(height * 0.885)), side, 4) for height in HEIGHTS for side in ("ne", "nw")]
