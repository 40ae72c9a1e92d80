"""The figures, drawn: throughput and times against a size, rooflines, regime maps. Labels sit on what they name."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from symroof.exploration.curves import Curve, Curves, Roofline
from symroof.exploration.figure import Drawn
from symroof.exploration.planes import Plane, Point
from symroof.rendering.figures.canvas import GREY, INK, Canvas
from symroof.rendering.figures.rooflines import draw_roofline
from symroof.rendering.figures.strokes import DOTTED, FIELDS, MOMENTS, RATES, STROKES, rate, scaled, title_of
from symroof.rendering.formulas.decimals import decimal
from symroof.rendering.formulas.letters import Letters
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.amounts import sizes

# The line of a threshold, and the words on it.
BEYOND = ("#0072B2", "#00507D")


def draw(found: Drawn) -> Canvas:
    """The figure of what was found."""
    match found:
        case Roofline():
            return draw_roofline(found)
        case Plane():
            return draw_plane(found)
        case Curves(kind="times"):
            return draw_times(found)
    return draw_throughput(found)


def draw_throughput(found: Curves) -> Canvas:
    """Attainable throughput against one size, from 0, with thresholds at the foot of the figure."""
    x, top, setting = found.variable, found.roof.top, found.roof.setting
    unit, scale = scaled(top, RATES)
    last = max(curve.xs[-1] for curve in found.curves)
    names = f"size {x}", f"attainable throughput ({unit}FLOPs/s)"
    canvas = Canvas(title_of(setting), names, ((0, last), (0, top * 1.13)), scale=scale)
    canvas.percent_axis(top, "of peak (%)")
    canvas.line([(0, top), (last, top)], INK, 0.9)
    peak = setting.peak_name.removeprefix("peak.")
    canvas.label((last, top), f"peak {rate(top, 'FLOPs/s')} ({peak})", "nw", (0, 3))
    feet: list[tuple[float, str, str]] = []
    if found.rule is not None and found.rule.bound is not None and found.rule.bound <= last:
        canvas.line([(0, 0), *found.rule.points("throughput")], GREY, 1.2, DOTTED, layer=2)
        canvas.line([(found.rule.bound, 0), (found.rule.bound, top)], GREY, 0.7, DOTTED, layer=2)
        feet.append((found.rule.bound, f"rule of thumb\n{x} ≥ {found.rule.first}", GREY))
    for i, curve in enumerate(found.curves):
        (colour, dash), ys = STROKES[i % len(STROKES)], curve.lines["throughput"]
        start = [(0.0, 0.0)] if curve.xs[0] == 1 and ys[0] < top / 20 else []
        canvas.line([*start, *curve.points("throughput")], colour, dash=dash)
        name = sizes(curve.values) if curve.values else "exact"
        if curve.bound is not None and curve.bound <= last:
            canvas.line([(curve.bound, 0), (curve.bound, top)], colour, 0.9, dash, layer=2)
            canvas.ring((curve.bound, top), colour)
            feet.append((curve.bound, f"{name}\n{x} ≥ {curve.first}", colour))
        else:
            reached = f"{ys[-1] / top * 100:.0f} % of peak at {curve.xs[-1]:g}"
            words = "at the peak from the first" if min(ys) >= top * (1 - 1e-12) else reached
            side, up = ("nw", 5) if ys[-1] < 0.12 * top else ("sw", -4)
            canvas.label((last, ys[-1]), f"{name}: {words}", side, (0, up), colour, bold=True, backed=side == "sw")
    _label_feet(canvas, sorted(feet), top)
    if found.miss is not None and found.miss[0] <= last:
        first, short, share = found.miss
        words = f"at the rule's {x} = {first},\n{sizes(short.values)} reaches {share * 100:.0f} % of peak"
        canvas.pointer((first, share * top), words, (min(first + last * 0.36, last * 0.62), top * 0.42))
    return canvas


def _label_feet(canvas: Canvas, feet: list[tuple[float, str, str]], top: float) -> None:
    """Labels on the outer side of their lines; where two are nearer than a label is wide, the second stands higher."""
    height = 0.0
    for i, (place, text, colour) in enumerate(feet):
        wide = 5.4 * max(map(len, text.split("\n")))
        outside = canvas.gap(0, feet[0][0]) > wide + 4
        near = i > 0 and canvas.gap(feet[i - 1][0], place) < wide + 8 and not (i == 1 and outside)
        height = height + 0.15 * top if near else 0.0
        side, shift = ("nw", -4) if i == 0 and len(feet) > 1 and outside else ("ne", 4)
        canvas.label((place, 0.03 * top + height), text, side, (shift, 0), colour, bold=True, backed=True)


def draw_times(found: Curves) -> Canvas:
    """T_math, T_comms and the bounds against one size, both axes logarithmic; a pair of lines for each point."""
    first, several = found.curves[0], len(found.curves) > 1
    x, link = found.variable, found.roof.link
    every = [y for curve in found.curves for ys in curve.lines.values() for y in ys]
    unit, scale = scaled(max(y for curve in found.curves for y in curve.lines["T_lower"]) / 30, MOMENTS)
    low = min(every) / 1.6
    ranges = (first.xs[0], first.xs[-1] * 1.0001), (low, max(every) * 2.2)
    title = title_of(found.roof.setting, "" if several or not first.values else sizes(first.values))
    canvas = Canvas(title, (f"size {x}", f"time ({unit})"), ranges, log=True, scale=scale)
    if not several:
        _bounds(canvas, first)
    for i, curve in enumerate(found.curves):
        told = f", {sizes(curve.values)}" if several else ""
        for name, (colour, dash), text, part in (
            ("T_math", STROKES[0], f"T_math{told or ': compute'}", 0.25),
            ("T_comms", STROKES[1], f"T_comms{told or ': ' + link}", 0.78 if not several else 0.55 - 0.25 * (i % 2)),
        ):
            line = curve.points(name)
            canvas.line(line, colour, dash=dash, width=2.2 if i == 0 else 1.1)
            place, other = (line[_nearest(curve.xs, t)] for t in (part, part + 0.15))
            canvas.label(place, text, "se", (3, -6), colour, bold=i == 0, angle=canvas.angle(place, other))
        if curve.bound is not None and curve.bound in curve.xs:
            size, height = curve.bound, curve.lines["T_math"][curve.xs.index(curve.bound)]
            canvas.line([(size, low), (size, height)], GREY, 0.9, DOTTED)
            canvas.ring((size, height), INK)
            words = f"compute-bound\nfrom {x} = {curve.first}"
            canvas.label((size, low), words, "ne", (5, 5 + 28 * i), bold=True, backed=True)
    return canvas


def _bounds(canvas: Canvas, curve: Curve) -> None:
    """The two bounds on the running time, and the band between them."""
    lower, upper = curve.points("T_lower"), curve.points("T_upper")
    canvas.region([*lower, *reversed(upper)], "#E9E9E9")
    canvas.line(lower, INK, 0.9, layer=4)
    canvas.line(upper, INK, 0.9, (0, (4, 2)), layer=4)
    canvas.label(upper[0], "upper bound: no overlap", "ne", (6, 6))
    canvas.label(lower[0], "lower bound: perfect overlap", "se", (6, -6))


def _nearest(xs: Sequence[float], part: float) -> int:
    """The size that is nearest to a part of the way along a logarithmic axis."""
    wanted = log10(xs[0] * (xs[-1] / xs[0]) ** part)
    return min(range(len(xs)), key=lambda i: abs(log10(xs[i]) - wanted))


def draw_plane(found: Plane) -> Canvas:
    """Regions by the term that leads, the exact threshold over them, and the rule of thumb dashed."""
    setting, ((left, right), (_, top)) = found.setting, found.ranges
    printer = PlainPrinter(Letters(frozenset(setting.problem.operation.dimensions)), unicode=True)
    fixed = (printer.print(relation) for relation in setting.equalities)
    names = f"size {found.names[0]}", f"size {found.names[1]}"
    canvas = Canvas(title_of(setting, *fixed), names, found.ranges, log=True)
    beyond = max(found.threshold, default=None)
    for i, region in enumerate(found.regions):
        hatch = (None, "..", "//", None, "\\\\", "xx")[i % 6]
        canvas.region(region.corners, FIELDS[i % len(FIELDS)], hatch)
        place = _place_of_words(canvas, region.corners, beyond)
        if place is not None:
            side = "w" if canvas.gap(place[0], right) < 70 else "e" if canvas.gap(left, place[0]) < 70 else ""
            form = printer.print(setting.layout.write(region.form))
            canvas.label(place, f"intensity ≈ {form}", side, bold=True, backed=True)
    for line in found.rules:
        canvas.line(line, INK, 1.3, (0, (5, 2.5)))
    ridge = "" if setting.ridge is None else decimal(setting.ridge)
    if beyond is not None:
        canvas.line(found.threshold, BEYOND[0], 2.4)
        words = f"compute-bound beyond:\nintensity > {ridge}"
        canvas.label(beyond, words, "nw", (-5, 15), BEYOND[1], bold=True, backed=True)
    elif ridge and not found.rules:
        words = f"nowhere compute-bound here: intensity < {ridge}"
        canvas.label((right, top), words, "sw", (-5, -5), BEYOND[1], bold=True, backed=True)
    if found.rules:
        start, end = max(found.rules, key=lambda line: sum(_extent(line)))
        across, up = _extent((start, end))
        side, shift = ("w", (-6, 0)) if up > across else ("s", (0, -5))
        middle = (start[0] * end[0]) ** 0.5, (start[1] * end[1]) ** 0.5
        canvas.label(middle, "rule of thumb", side, shift, backed=True)
    return canvas


def _extent(line: Sequence[Point]) -> Point:
    """How far a line reaches along each of two logarithmic axes."""
    (a, b), (c, d) = line
    return abs(log10(a / c)), abs(log10(b / d))


def _place_of_words(canvas: Canvas, corners: Sequence[Point], beyond: Point | None) -> Point | None:
    """Where the words of a region stand: in its middle, or away from those on the threshold; None where there is no room."""
    xs, ys = zip(*corners, strict=True)
    if max(canvas.apart((min(xs), min(ys)), (max(xs), max(ys)))) < 24:
        return None
    middle = _middle([(log10(x), log10(y)) for x, y in corners])
    if beyond is None:
        return middle
    across, up = canvas.apart(middle, beyond)
    if across >= 230 or up >= 60:
        return middle
    far = min(corners, key=lambda corner: corner[0] * corner[1])
    aside = middle[0] ** 0.6 * far[0] ** 0.4, middle[1] ** 0.6 * far[1] ** 0.4
    across, up = canvas.apart(aside, beyond)
    return None if across < 200 and up < 45 and aside[1] > beyond[1] else aside


def _middle(corners: Sequence[Point]) -> Point:
    """The place whose logarithms are the centroid of a polygon in logarithms."""
    total = x = y = 0.0
    for i, (a, b) in enumerate(corners):
        u, v = corners[i - 1]
        cross = u * b - a * v
        total, x, y = total + cross, x + (u + a) * cross, y + (v + b) * cross
    return 10 ** (x / (3 * total)), 10 ** (y / (3 * total))
