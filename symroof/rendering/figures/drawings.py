"""The four figures: throughput and times against a size, rooflines, regime maps. Labels sit on what they name."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from symroof.algebra.rounding import decimal
from symroof.exploration.curves import Curve, Throughput, Times
from symroof.exploration.planes import Plane
from symroof.exploration.roofs import Roofline
from symroof.rendering.figures.canvas import GREY, INK, Canvas
from symroof.rendering.figures.rooflines import draw_roofline
from symroof.rendering.figures.strokes import DOTTED, FIELDS, MOMENTS, RATES, STROKES, scaled, short, title_of
from symroof.rendering.formulas.letters import Letters
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.amounts import sizes


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
    canvas.line((0, last), (top, top), INK, width=0.9)
    canvas.label(
        last,
        top,
        f"peak {short(top)} {unit}FLOPs/s ({setting.peak_name.removeprefix('peak.')})",
        at=("right", "bottom"),
        shift=(0, 3),
    )
    feet: list[tuple[float, str, str]] = []
    if found.rule is not None and found.rule.bound is not None and found.rule.bound <= last:
        canvas.line(
            (0, *found.rule.xs), (0, *(y / scale for y in found.rule.ys)), GREY, width=1.2, dash=DOTTED, layer=2
        )
        canvas.line((found.rule.bound,) * 2, (0, top), GREY, width=0.7, dash=DOTTED, layer=2)
        feet.append((found.rule.bound, f"rule of thumb\n{x} ≥ {found.rule.first}", GREY))
    for i, curve in enumerate(found.curves):
        colour, dash = STROKES[i % len(STROKES)]
        start = (0.0,) if curve.xs[0] == 1 and curve.ys[0] < found.peak / 20 else ()
        canvas.line((*start, *curve.xs), (*start, *(y / scale for y in curve.ys)), colour, dash=dash)
        name = sizes(curve.values) if curve.values else "exact"
        if curve.bound is not None and curve.bound <= last:
            canvas.line((curve.bound,) * 2, (0, top), colour, width=0.9, dash=dash, layer=2)
            canvas.ring(curve.bound, top, colour)
            feet.append((curve.bound, f"{name}\n{x} ≥ {curve.first}", colour))
        else:
            low = curve.ys[-1] / scale < 0.12 * top
            canvas.label(
                last,
                curve.ys[-1] / scale,
                f"{name}: {_never(curve, found.peak)}",
                colour,
                bold=True,
                at=("right", "bottom" if low else "top"),
                shift=(0, 5 if low else -4),
                backed=not low,
            )
    _label_feet(canvas, sorted(feet), top)
    if found.miss is not None and found.rule is not None and found.rule.first is not None and found.rule.first <= last:
        index, share = found.miss
        name = sizes(found.curves[index].values)
        canvas.pointer(
            found.rule.first,
            share * top,
            f"at the rule's {x} = {found.rule.first},\n{name} reaches {share * 100:.0f} % of peak",
            (min(found.rule.first + last * 0.36, last * 0.62), top * 0.42),
        )
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
        left = i == 0 and len(feet) > 1
        wide = 5.4 * max(map(len, text.split("\n")))
        room_left = canvas.gap(0, place)
        left = left and room_left > wide + 4
        after = feet[i - 1][0] if i else None
        height = (
            height + 0.15 * top
            if after is not None
            and canvas.gap(after, place) < wide + 8
            and not (i == 1 and canvas.gap(0, feet[0][0]) > wide + 4)
            else 0.0
        )
        canvas.label(
            place,
            0.03 * top + height,
            text,
            colour,
            bold=True,
            at=("right" if left else "left", "bottom"),
            shift=(-4 if left else 4, 0),
            backed=True,
        )


def draw_times(found: tuple[Times, ...]) -> Canvas:
    """T_math, T_comms and the bounds against one size, both axes logarithmic; a pair of lines for each point."""
    first, several = found[0], len(found) > 1
    x, link = first.variable, first.setting.problem.link
    every = [y for one in found for ys in one.lines.values() for y in ys]
    unit, scale = scaled(max(y for one in found for y in one.lines["T_lower"]) / 30, MOMENTS)
    low, high = min(every) / scale / 1.6, max(every) / scale * 2.2
    where = "" if several or not first.values else sizes(first.values)
    canvas = Canvas(
        title_of(first.setting, where),
        f"size {x}",
        f"time ({unit})",
        ((first.xs[0], first.xs[-1] * 1.0001), (low, high)),
        log=True,
    )
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
            canvas.label(
                one.xs[place], ys[place], text, colour, bold=i == 0, at=("left", "top"), shift=(3, -6), angle=angle
            )
        if one.crossing is not None and one.xs[0] <= one.crossing[0] <= one.xs[-1]:
            place_, height = one.crossing[0], one.crossing[1] / scale
            canvas.line((place_, place_), (low, height), GREY, width=0.9, dash=DOTTED)
            canvas.ring(place_, height, INK)
            canvas.label(
                place_,
                low,
                f"compute-bound\nfrom {x} = {one.first}",
                INK,
                bold=True,
                at=("left", "bottom"),
                shift=(5, 5 + 28 * i),
                backed=True,
            )
    return canvas


def _bounds(canvas: Canvas, found: Times, scale: float) -> None:
    """The two bounds on the running time, and the band between them."""
    lower, upper = ([y / scale for y in found.lines[name]] for name in ("T_lower", "T_upper"))
    canvas.region([*zip(found.xs, lower, strict=True), *reversed(list(zip(found.xs, upper, strict=True)))], "#E9E9E9")
    canvas.line(found.xs, lower, INK, width=0.9, layer=4)
    canvas.line(found.xs, upper, INK, width=0.9, dash=(0, (4, 2)), layer=4)
    canvas.label(found.xs[0], upper[0], "upper bound: no overlap", at=("left", "bottom"), shift=(6, 6))
    canvas.label(found.xs[0], lower[0], "lower bound: perfect overlap", at=("left", "top"), shift=(6, -6))


def _nearest(xs: Sequence[float], x: float) -> int:
    return min(range(len(xs)), key=lambda i: abs(log10(xs[i]) - log10(x)))


def draw_plane(found: Plane) -> Canvas:
    """Regions by the term that leads, the exact threshold over them, and the rule of thumb dashed."""
    (x0, x1), (y0, y1) = found.ranges
    setting = found.setting
    printer = PlainPrinter(Letters(frozenset(setting.problem.operation.dimensions)), unicode=True)
    fixed = [f"{r.left.name} = {printer.print(r.right)}" for r in setting.problem.assume if r.relation == "="]  # type: ignore[attr-defined]
    canvas = Canvas(
        title_of(setting, *fixed),
        f"size {found.names[0]}",
        f"size {found.names[1]}",
        ((10**x0, 10**x1), (10**y0, 10**y1)),
        log=True,
    )
    beyond = max(found.threshold) if found.threshold else None
    for i, region in enumerate(found.regions):
        canvas.region(
            [(10**x, 10**y) for x, y in region.corners],
            FIELDS[i % len(FIELDS)],
            hatch=(None, "..", "//", None, "\\\\", "xx")[i % 6],
        )
        x, y = _middle(region.corners)
        low, high = ((10 ** f(c[0] for c in region.corners), 10 ** f(c[1] for c in region.corners)) for f in (min, max))
        if max(canvas.apart(low, high)) < 24:
            continue  # too small for words
        if (
            beyond is not None
            and (apart := canvas.apart((10**x, 10**y), (10 ** beyond[0], 10 ** beyond[1])))[0] < 230
            and apart[1] < 60
        ):
            far = min(region.corners, key=sum)
            x, y = 0.6 * x + 0.4 * far[0], 0.6 * y + 0.4 * far[1]
            if (
                (apart := canvas.apart((10**x, 10**y), (10 ** beyond[0], 10 ** beyond[1])))[0] < 200
                and apart[1] < 45
                and y > beyond[1]
            ):
                continue  # the words on the threshold stand there
        at = "right" if canvas.gap(10**x, 10**x1) < 70 else "left" if canvas.gap(10**x0, 10**x) < 70 else "center"
        canvas.label(
            10**x,
            10**y,
            f"intensity ≈ {printer.print(setting.layout.write(region.form))}",
            bold=True,
            at=(at, "center"),
            backed=True,
        )
    for (a, b), (c, d) in found.rule:
        canvas.line((10**a, 10**c), (10**b, 10**d), INK, width=1.3, dash=(0, (5, 2.5)))
    if found.threshold:
        canvas.line([10**x for x, _ in found.threshold], [10**y for _, y in found.threshold], "#0072B2", width=2.4)
        x, y = beyond or found.threshold[-1]
        ridge = "" if setting.ridge is None else decimal(setting.ridge)
        canvas.label(
            10**x,
            10**y,
            f"compute-bound beyond:\nintensity > {ridge}",
            "#00507D",
            bold=True,
            at=("right", "bottom"),
            shift=(-5, 15),
            backed=True,
        )
    elif setting.ridge is not None and not found.rule:
        canvas.label(
            10**x1,
            10**y1,
            f"nowhere compute-bound here: intensity < {decimal(setting.ridge)}",
            "#00507D",
            bold=True,
            at=("right", "top"),
            shift=(-5, -5),
            backed=True,
        )
    if found.rule:
        (a, b), (c, d) = max(found.rule, key=lambda line: abs(line[0][0] - line[1][0]) + abs(line[0][1] - line[1][1]))
        upright = abs(b - d) > abs(a - c)
        canvas.label(
            10 ** ((a + c) / 2),
            10 ** ((b + d) / 2),
            "rule of thumb",
            INK,
            at=("right", "center") if upright else ("center", "top"),
            shift=(-6, 0) if upright else (0, -5),
            backed=True,
        )
    return canvas


def _middle(corners: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The centroid of a polygon."""
    total = x = y = 0.0
    for i, (a, b) in enumerate(corners):
        u, v = corners[i - 1]
        cross = u * b - a * v
        total, x, y = total + cross, x + (u + a) * cross, y + (v + b) * cross
    return (x / (3 * total), y / (3 * total)) if total else corners[0]
