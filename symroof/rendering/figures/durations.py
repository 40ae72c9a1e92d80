"""Times against one size: arithmetic beside transfers, and the bounds on both together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose

from symroof.exploration.curves import Curve, Curves
from symroof.rendering.figures.canvas import Canvas
from symroof.rendering.figures.captions import Say, assumed, captions, title_of
from symroof.rendering.figures.labels import Point, Spot, around
from symroof.rendering.figures.strokes import DOTTED, GREY, INK, MOMENTS, scaled, stroke
from symroof.rendering.pages.amounts import sizes

# How far up an upright line words may stand beside it.
HEIGHTS = (0.03, 0.12, 0.21, 0.3, 0.39, 0.48, 0.6, 0.72)


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
    canvas = Canvas(
        title,
        (say("size", x), say("time", unit)),
        ranges,
        log=log,
        scale=scale,
        inches=inches,
        lang=lang,
        aside=assumed(say, found.roof.setting),
    )
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
