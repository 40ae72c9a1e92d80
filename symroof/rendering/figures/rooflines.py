"""The classic roofline: roofs named along their slopes, ridges, regions, and operations under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil, floor, log10
from typing import Any

from symroof.exploration.curves import Curve, Roof, Roofline
from symroof.rendering.figures.canvas import INK, Canvas, Point
from symroof.rendering.figures.strokes import DOTTED, RATES, SHADES, SHAPES, STROKES, rate, scaled, title_of
from symroof.rendering.pages.amounts import sizes

# Roofs are black, each with a dash of its own.
ROOFS: Sequence[Any] = ("-", (0, (6, 2.5)), (0, (2, 1.6)), (0, (7, 2, 1.5, 2)))


def draw_roofline(found: Roofline) -> Canvas:
    """The classic roofline: roofs, ridges, regions under the highest roof, operations as markers or as paths."""
    roofs, several = found.roofs, found.several_chips
    marks = [track for track in found.tracks if not track[0].xs]
    paths = [track for track in found.tracks if track[0].xs]
    seen = [x for track in (*marks, *paths) for curve in track for x in curve.lines["intensity"]]
    peak, first = float(roofs[0].peak.value), min(roof.ridge for roof in roofs)
    unit, scale = scaled(peak, RATES)
    low = 10 ** (floor(2 * log10(min([*seen, first / 3]) / 3) / 2)) if seen else first / 100
    high = 10 ** (ceil(2 * log10(max([*seen, *(r.ridge * 4 for r in roofs)]))) / 2)
    shared = _shared([track[0].values for track in marks])
    fixed = shared or (paths[0][0].values if paths else {})
    title = str(roofs[0].setting.problem.operation) if several else title_of(roofs[0].setting)
    names = "arithmetic intensity (FLOPs/byte)", f"attainable throughput ({unit}FLOPs/s)"
    ranges = (low, high), (min(roof.height(low) for roof in roofs) / 3, peak * 2.4)
    canvas = Canvas(title + (f", {sizes(fixed)}" if fixed else ""), names, ranges, log=True, scale=scale)
    # where a point has one place on the axis
    if not several and len({roof.setting.intensity for roof in roofs}) == 1:
        _shade(canvas, roofs)
    taken = [x for track in marks for curve in track for x in curve.lines["intensity"]]
    for i in range(len(roofs)):
        taken += _roof(canvas, found, i, taken)
    for i, track in enumerate(marks):
        values = track[0].values
        own = {name: value for name, value in values.items() if name not in shared}
        _mark(canvas, track, sizes(own or values), SHAPES[i % len(SHAPES)])
    for track in paths:
        _path(canvas, track, found.variable)
    return canvas


def _shared(points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sizes that are the same at every point, where there are several points."""
    if len(points) < 2:
        return {}
    return {name: value for name, value in points[0].items() if all(other.get(name) == value for other in points)}


def _shade(canvas: Canvas, roofs: Sequence[Roof]) -> None:
    """The regions under the highest roof, from memory-bound on every link to compute-bound on all."""
    fast, low, high = roofs[0], canvas.left, canvas.right
    edges = [low, *sorted(max(low, min(high, roof.ridge)) for roof in roofs), high]
    shades = [SHADES[0], *[SHADES[1]] * (len(roofs) - 1), SHADES[2]]
    for i, (left, right) in enumerate(pairwise(edges)):
        if right <= left:
            continue
        places = (left, *([fast.ridge] if left < fast.ridge < right else []), right)
        edge = [(x, fast.height(x)) for x in places]
        canvas.region([(left, canvas.foot), *edge, (right, canvas.foot)], shades[i])
        canvas.label(((left * right) ** 0.5, canvas.foot), _bound_by(roofs, i), "n", (0, 5), size=7.5)


def _bound_by(roofs: Sequence[Roof], index: int) -> str:
    """What the region of that number is bound by, from the lowest intensities up."""
    if len(roofs) == 1:
        return ("memory-bound", "compute-bound")[index]
    everything = "both" if len(roofs) == 2 else "all"
    if index in (0, len(roofs)):
        return f"{'compute' if index else 'memory'}-bound\non {everything}"
    slower = [roof.link for roof in sorted(roofs, key=lambda r: r.ridge)[index:]]
    return f"memory-bound\non {', '.join(slower)}"


def _roof(canvas: Canvas, found: Roofline, index: int, taken: Sequence[float]) -> list[float]:
    """A slope and its peak with their names; gives the places that its name takes."""
    roof, several, low = found.roofs[index], found.several_chips, canvas.left
    peak, ridge, dash = float(roof.peak.value), roof.ridge, ROOFS[index % len(ROOFS)]
    canvas.line([(low, roof.height(low)), (ridge, peak)], INK, dash=dash)
    canvas.line([(ridge, peak), (canvas.right, peak)], INK, dash=dash if several else "-")
    name = f"{roof.chip.title} {roof.link}" if several else roof.link
    text = f"{name}  {rate(float(roof.bandwidth.value), 'B/s')}"
    x, below = _clear(canvas, ridge, taken, 5.2 * len(text)), several and index > 0
    angle = canvas.angle((low, roof.height(low)), (ridge, peak))
    canvas.label((x, roof.height(x)), text, "se" if below else "ne", (3, -4) if below else (-3, 3), angle=angle)
    crowded = [canvas.gap(other.ridge, canvas.right) < 150 for other in found.roofs]
    if several or not index:  # the name of the peak: above its line, or below it where ridges crowd there
        words = f"{f'{roof.chip.title} ' if several else ''}peak {rate(peak, 'FLOPs/s')}"
        side, up = ("sw", -4) if index or (any(crowded) and not several) else ("nw", 4)
        canvas.label((canvas.right, peak), words, side, (0, up))
    canvas.line([(ridge, canvas.foot), (ridge, peak)], INK, 0.7, DOTTED, layer=2)
    canvas.ring((ridge, peak), INK)
    side, shift = ("se", (7, -5)) if below else ("nw", (-2, 7)) if crowded[index] else ("n", (0, 7))
    canvas.label((ridge, peak), f"ridge {ridge:.0f}", side, shift)
    return [x, x * (ridge / low) ** 0.15]


def _clear(canvas: Canvas, ridge: float, taken: Sequence[float], width: float) -> float:
    """Where a label along a slope is farthest from what stands there."""
    gap, low = canvas.gap, canvas.left
    places = [low * (ridge / low) ** (i / 20) for i in range(1, 16)]
    fitting = [x for x in places if gap(low, x) + width * 0.9 < gap(low, ridge)] or places[:1]
    starts = [gap(low, x) if x > low else 0.0 for x in taken]

    def room(x: float) -> float:
        start = gap(low, x)
        return min([40.0, *(max(start - place, place - start - width * 0.9) for place in starts)])

    return max(fitting, key=room)


def _mark(canvas: Canvas, track: Sequence[Curve], name: str, shape: str) -> None:
    """Filled on the first roof, open on the others, joined by a thin line: what the slower memory costs."""
    points = [point for curve in track for point in curve.points("throughput", "intensity")]
    if len(points) > 1:
        canvas.line(points, INK, 0.9, layer=4)
    for i, place in enumerate(points):
        canvas.ring(place, INK, shape=shape, filled=i == 0)
    _name(canvas, min(points, key=lambda p: p[1]), name, INK, room=90, off=7)


def _path(canvas: Canvas, track: Sequence[Curve], variable: str) -> None:
    """The way of an operation along each roof, with the sizes at its ends."""
    for i, curve in enumerate(track):
        (colour, dash), points = STROKES[i % len(STROKES)], curve.points("throughput", "intensity")
        canvas.line(points, colour, 4.5, dash, layer=4)
        for end in (0, -1):
            canvas.ring(points[end], colour, filled=True, size=6)
            if i == 0:
                _name(canvas, points[end], f"{variable} = {curve.xs[end]:g}", colour, room=80, off=6)


def _name(canvas: Canvas, place: Point, name: str, colour: str, *, room: float, off: float) -> None:
    """Words below a marker, on its left where there is no room on its right."""
    near = canvas.gap(place[0], canvas.right) < room
    side, shift = ("sw", -off) if near else ("se", off)
    canvas.label(place, name, side, (shift, -6), colour, bold=True, backed=True)
