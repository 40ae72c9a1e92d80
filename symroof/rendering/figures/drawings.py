"""The four figures: throughput and times against a size, rooflines, regime maps. Labels sit on what they name."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from symroof.exploration.curves import Curve, Throughput, Times
from symroof.exploration.planes import Plane, Region
from symroof.exploration.roofs import Roofline
from symroof.rendering.figures.canvas import GREY, INK, Canvas
from symroof.rendering.figures.rooflines import draw_roofline
from symroof.rendering.figures.strokes import DOTTED, FIELDS, MOMENTS, RATES, STROKES, scaled, short, title_of
from symroof.rendering.formulas.decimals import decimal
from symroof.rendering.formulas.letters import Letters
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.amounts import sizes

# The line of a threshold, and the words on it.
BEYOND = ("#0072B2", "#00507D")


def draw(found: Throughput | tuple[Times, ...] | Roofline | Plane) -> Canvas:
    """The figure of what was found."""
    match found:
        case Throughput():
            return draw_throughput(found)
        case Roofline():
            return draw_roofline(found)
        case Plane():
            return draw_plane(found)
    return draw_times(found)


def draw_throughput(found: Throughput) -> Canvas:
    """Attainable throughput against one size, from 0, with thresholds at the foot of the figure."""
    unit, scale = scaled(found.peak, RATES)
    setting, x = found.setting, found.variable
    last = max(curve.xs[-1] for curve in found.curves)
    top = found.peak / scale
    canvas = Canvas(
        title_of(setting), f"size {x}", f"attainable throughput ({unit}FLOPs/s)", ((0, last), (0, top * 1.13))
    )
    canvas.percent_axis(top, "of peak (%)")
    canvas.line((0, last), (top, top), INK, 0.9)
    peak = setting.peak_name.removeprefix("peak.")
    canvas.label(last, top, f"peak {short(top)} {unit}FLOPs/s ({peak})", "nw", (0, 3))
    feet: list[tuple[float, str, str]] = []
    if found.rule is not None and found.rule.bound is not None and found.rule.bound <= last:
        canvas.line((0, *found.rule.xs), (0, *(y / scale for y in found.rule.ys)), GREY, 1.2, DOTTED, layer=2)
        canvas.line((found.rule.bound,) * 2, (0, top), GREY, 0.7, DOTTED, layer=2)
        feet.append((found.rule.bound, f"rule of thumb\n{x} ≥ {found.rule.first}", GREY))
    for i, curve in enumerate(found.curves):
        colour, dash = STROKES[i % len(STROKES)]
        start = (0.0,) if curve.xs[0] == 1 and curve.ys[0] < found.peak / 20 else ()
        canvas.line((*start, *curve.xs), (*start, *(y / scale for y in curve.ys)), colour, dash=dash)
        name = sizes(curve.values) if curve.values else "exact"
        if curve.bound is not None and curve.bound <= last:
            canvas.line((curve.bound,) * 2, (0, top), colour, 0.9, dash, layer=2)
            canvas.ring(curve.bound, top, colour)
            feet.append((curve.bound, f"{name}\n{x} ≥ {curve.first}", colour))
        else:
            end, words = curve.ys[-1] / scale, f"{name}: {_never(curve, found.peak)}"
            side, up = ("nw", 5) if end < 0.12 * top else ("sw", -4)
            canvas.label(last, end, words, side, (0, up), colour, bold=True, backed=side == "sw")
    _label_feet(canvas, sorted(feet), top)
    if found.miss is not None and found.rule is not None and found.rule.first is not None and found.rule.first <= last:
        index, share = found.miss
        first, name = found.rule.first, sizes(found.curves[index].values)
        words = f"at the rule's {x} = {first},\n{name} reaches {share * 100:.0f} % of peak"
        canvas.pointer(first, share * top, words, (min(first + last * 0.36, last * 0.62), top * 0.42))
    return canvas


def _never(curve: Curve, peak: float) -> str:
    return (
        "at the peak from the first"
        if min(curve.ys) >= peak * (1 - 1e-12)
        else f"{curve.ys[-1] / peak * 100:.0f} % of peak at {curve.xs[-1]:g}"
    )


def _label_feet(canvas: Canvas, feet: list[tuple[float, str, str]], top: float) -> None:
    """Labels on the outer side of their lines; where two are nearer than a label is wide, the second stands higher."""
    height = 0.0
    for i, (place, text, colour) in enumerate(feet):
        wide = 5.4 * max(map(len, text.split("\n")))
        outside = canvas.gap(0, feet[0][0]) > wide + 4
        near = i > 0 and canvas.gap(feet[i - 1][0], place) < wide + 8 and not (i == 1 and outside)
        height = height + 0.15 * top if near else 0.0
        side, shift = ("nw", -4) if i == 0 and len(feet) > 1 and outside else ("ne", 4)
        canvas.label(place, 0.03 * top + height, text, side, (shift, 0), colour, bold=True, backed=True)


def draw_times(found: tuple[Times, ...]) -> Canvas:
    """T_math, T_comms and the bounds against one size, both axes logarithmic; a pair of lines for each point."""
    first, several = found[0], len(found) > 1
    x, link = first.variable, first.setting.problem.link
    every = [y for one in found for ys in one.lines.values() for y in ys]
    unit, scale = scaled(max(y for one in found for y in one.lines["T_lower"]) / 30, MOMENTS)
    low, high = min(every) / scale / 1.6, max(every) / scale * 2.2
    where = "" if several or not first.values else sizes(first.values)
    ranges = (first.xs[0], first.xs[-1] * 1.0001), (low, high)
    canvas = Canvas(title_of(first.setting, where), f"size {x}", f"time ({unit})", ranges, log=True)
    if not several:
        _bounds(canvas, first, scale)
    for i, one in enumerate(found):
        told = f", {sizes(one.values)}" if several else ""
        for name, (colour, dash), text, part in (
            ("T_math", STROKES[0], f"T_math{told or ': compute'}", 0.25),
            ("T_comms", STROKES[1], f"T_comms{told or ': ' + link}", 0.78 if not several else 0.55 - 0.25 * (i % 2)),
        ):
            ys = [y / scale for y in one.lines[name]]
            canvas.line(one.xs, ys, colour, dash=dash, width=2.2 if i == 0 else 1.1)
            place, other = (_nearest(one.xs, one.xs[0] * (one.xs[-1] / one.xs[0]) ** t) for t in (part, part + 0.15))
            angle = canvas.angle((one.xs[place], ys[place]), (one.xs[other], ys[other]))
            canvas.label(one.xs[place], ys[place], text, "se", (3, -6), colour, bold=i == 0, angle=angle)
        if one.crossing is not None and one.xs[0] <= one.crossing[0] <= one.xs[-1]:
            size, words = one.crossing[0], f"compute-bound\nfrom {x} = {one.first}"
            canvas.line((size, size), (low, one.crossing[1] / scale), GREY, 0.9, DOTTED)
            canvas.ring(size, one.crossing[1] / scale, INK)
            canvas.label(size, low, words, "ne", (5, 5 + 28 * i), bold=True, backed=True)
    return canvas


def _bounds(canvas: Canvas, found: Times, scale: float) -> None:
    """The two bounds on the running time, and the band between them."""
    lower, upper = ([y / scale for y in found.lines[name]] for name in ("T_lower", "T_upper"))
    canvas.region([*zip(found.xs, lower, strict=True), *reversed(list(zip(found.xs, upper, strict=True)))], "#E9E9E9")
    canvas.line(found.xs, lower, INK, 0.9, layer=4)
    canvas.line(found.xs, upper, INK, 0.9, (0, (4, 2)), layer=4)
    canvas.label(found.xs[0], upper[0], "upper bound: no overlap", "ne", (6, 6))
    canvas.label(found.xs[0], lower[0], "lower bound: perfect overlap", "se", (6, -6))


def _nearest(xs: Sequence[float], x: float) -> int:
    return min(range(len(xs)), key=lambda i: abs(log10(xs[i]) - log10(x)))


def draw_plane(found: Plane) -> Canvas:
    """Regions by the term that leads, the exact threshold over them, and the rule of thumb dashed."""
    (x0, x1), (y0, y1) = found.ranges
    setting = found.setting
    printer = PlainPrinter(Letters(frozenset(setting.problem.operation.dimensions)), unicode=True)
    fixed = [f"{r.left.name} = {printer.print(r.right)}" for r in setting.problem.assume if r.relation == "="]  # type: ignore[attr-defined]
    across, up = (f"size {name}" for name in found.names)
    canvas = Canvas(title_of(setting, *fixed), across, up, ((10**x0, 10**x1), (10**y0, 10**y1)), log=True)
    beyond = max(found.threshold) if found.threshold else None
    for i, region in enumerate(found.regions):
        hatch = (None, "..", "//", None, "\\\\", "xx")[i % 6]
        canvas.region([(10**x, 10**y) for x, y in region.corners], FIELDS[i % len(FIELDS)], hatch)
        place = _place_of_words(canvas, region, beyond)
        if place is not None:
            x, y = place
            side = "w" if canvas.gap(10**x, 10**x1) < 70 else "e" if canvas.gap(10**x0, 10**x) < 70 else ""
            form = printer.print(setting.layout.write(region.form))
            canvas.label(10**x, 10**y, f"intensity ≈ {form}", side, bold=True, backed=True)
    for (a, b), (c, d) in found.rule:
        canvas.line((10**a, 10**c), (10**b, 10**d), INK, 1.3, (0, (5, 2.5)))
    ridge = "" if setting.ridge is None else decimal(setting.ridge)
    if found.threshold:
        canvas.line([10**x for x, _ in found.threshold], [10**y for _, y in found.threshold], BEYOND[0], 2.4)
        x, y = beyond or found.threshold[-1]
        words = f"compute-bound beyond:\nintensity > {ridge}"
        canvas.label(10**x, 10**y, words, "nw", (-5, 15), BEYOND[1], bold=True, backed=True)
    elif setting.ridge is not None and not found.rule:
        words = f"nowhere compute-bound here: intensity < {ridge}"
        canvas.label(10**x1, 10**y1, words, "sw", (-5, -5), BEYOND[1], bold=True, backed=True)
    if found.rule:
        (a, b), (c, d) = max(found.rule, key=lambda line: abs(line[0][0] - line[1][0]) + abs(line[0][1] - line[1][1]))
        side, shift = ("w", (-6, 0)) if abs(b - d) > abs(a - c) else ("s", (0, -5))
        canvas.label(10 ** ((a + c) / 2), 10 ** ((b + d) / 2), "rule of thumb", side, shift, backed=True)
    return canvas


def _place_of_words(canvas: Canvas, region: Region, beyond: tuple[float, float] | None) -> tuple[float, float] | None:
    """Where the words of a region stand: in its middle, or away from those on the threshold; None where there is no room."""
    low, high = ((10 ** f(c[0] for c in region.corners), 10 ** f(c[1] for c in region.corners)) for f in (min, max))
    x, y = _middle(region.corners)
    if max(canvas.apart(low, high)) < 24:
        return None
    if beyond is None:
        return x, y
    edge = 10 ** beyond[0], 10 ** beyond[1]
    across, up = canvas.apart((10**x, 10**y), edge)
    if across < 230 and up < 60:
        far = min(region.corners, key=sum)
        x, y = 0.6 * x + 0.4 * far[0], 0.6 * y + 0.4 * far[1]
        across, up = canvas.apart((10**x, 10**y), edge)
        if across < 200 and up < 45 and y > beyond[1]:
            return None
    return x, y


def _middle(corners: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The centroid of a polygon."""
    total = x = y = 0.0
    for i, (a, b) in enumerate(corners):
        u, v = corners[i - 1]
        cross = u * b - a * v
        total, x, y = total + cross, x + (u + a) * cross, y + (v + b) * cross
    return (x / (3 * total), y / (3 * total)) if total else corners[0]
