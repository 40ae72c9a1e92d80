"""Maps in two sizes, drawn: where which term leads, or which time is longest."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from symroof.algebra.rounding import decimal
from symroof.exploration.planes import Plane
from symroof.formula import Number
from symroof.rendering.figures.canvas import Canvas, sheet_of
from symroof.rendering.figures.captions import captions, printed
from symroof.rendering.figures.labels import Point, Spot, around
from symroof.rendering.figures.strokes import FIELDS, INK, place_of
from symroof.symbols import expression

# The line of a threshold, and the words on it.
BEYOND = ("#0072B2", "#00507D")
SHADED = "#0072B230"  # what is compute-bound, over the colours of the terms
HATCHES = ("", "..", "//", "", "\\\\", "xx")  # "" is none


def draw_plane(found: Plane, inches: float, lang: str) -> Canvas:
    """Regions by what is largest, the widest of one kind with its name; the exact threshold over them, and the rule of thumb
    dashed."""
    say, setting, (x, y) = captions(lang), found.setting, found.names
    (_, right), (low, top) = found.ranges
    fixed = {str(expression(r.left)): r.right.value for r in setting.equalities if isinstance(r.right, Number)}
    names = say("size", x), say("size", y)
    canvas = sheet_of([setting], fixed, names, found.ranges, (True, True), inches, lang)
    colours = {form: place_of(setting, str(form)) if found.times else i + 4 for i, form in enumerate(found.largest)}
    for region in found.regions:
        i = colours[region.largest]
        canvas.region(region.corners, FIELDS[i % len(FIELDS)], HATCHES[i % len(HATCHES)])
    for form, region in found.largest.items():
        words = say("longest", str(form), "") if found.times else say("intensity", printed(setting, form))
        canvas.label(words, _inside(region.corners), bold=True)
    if found.beyond:
        canvas.region(found.beyond, SHADED)
    for line in found.rules:
        canvas.line(line, INK, 1.3, (0, (5, 2.5)))
    ridge = "" if setting.ridge is None else decimal(setting.ridge)
    if found.threshold:
        canvas.line(found.threshold, BEYOND[0], 2.4)
        for end in (found.threshold[0], found.threshold[-1]):
            _edge(canvas, found, end)
        words = say("beyond", ridge)
        beyond = reversed(found.threshold[:: max(1, len(found.threshold) // 12)])
        canvas.label(
            words, [spot for place in beyond for spot in around(place, "nw ne w", (6, 14))], BEYOND[1], bold=True
        )
    elif found.side:
        words = say("on_the_whole_map", found.side == ">", ridge)
        heights = (top * (low / top) ** part for part in (0, 0.06, 0.12, 0.18, 0.3, 0.5))
        canvas.label(words, [Spot((right, y), "sw", 5) for y in heights], BEYOND[1], bold=True)
    if found.rules:
        (a, b), (c, d) = max(found.rules, key=lambda line: sum(_extent(line)))
        places = [(a ** (1 - t) * c**t, b ** (1 - t) * d**t) for t in (0.5, 0.35, 0.65, 0.2, 0.8)]
        canvas.label(say("rule_of_thumb"), [spot for place in places for spot in around(place, "w s e n", (5,))])
    return canvas


def _edge(canvas: Canvas, found: Plane, end: Point) -> None:
    """The size at which the threshold meets the frame."""
    (x, y), ((left, right), _) = end, found.ranges
    upright = min(abs(log10(x / left)), abs(log10(x / right))) > 1e-9
    name, size = (found.names[0], x) if upright else (found.names[1], y)
    canvas.label(f"{name} ≈ {size:,.4g}", around(end, "sw se nw ne", (4, 9, 16)), BEYOND[1], size=7.5)


def _extent(line: Sequence[Point]) -> Point:
    """How far a line reaches along each of two logarithmic axes."""
    (a, b), (c, d) = line
    return abs(log10(a / c)), abs(log10(b / d))


def _inside(corners: Sequence[Point]) -> list[Spot]:
    """The middle of a region, and places on the way from there to its corners."""
    x, y = _middle([(log10(x), log10(y)) for x, y in corners])
    ways = [
        (0.0, x, y),
        *((t, log10(a), log10(b)) for t in (0.25, 0.45, 0.6) for a, b in corners[:: len(corners) // 12 + 1]),
    ]
    return [Spot((10 ** (x + t * (a - x)), 10 ** (y + t * (b - y))), "", 0) for t, a, b in ways]


def _middle(corners: Sequence[Point]) -> Point:
    """The centroid of a polygon."""
    total = x = y = 0.0
    for i, (a, b) in enumerate(corners):
        u, v = corners[i - 1]
        cross = u * b - a * v
        total, x, y = total + cross, x + (u + a) * cross, y + (v + b) * cross
    return x / (3 * total), y / (3 * total)
