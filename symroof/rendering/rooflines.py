"""The classic roofline: roofs named along their slopes, ridges, regions, and operations under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from typing import Any

from symroof.exploration.roofs import Roof, Roofline
from symroof.rendering.amounts import sizes
from symroof.rendering.canvas import INK, Canvas
from symroof.rendering.strokes import DOTTED, RATES, SHADES, SHAPES, STROKES, scaled, short, title_of


def draw_roofline(found: Roofline) -> Canvas:
    """The classic roofline: roofs, ridges, regions under the highest roof, operations as markers or as paths."""
    roofs = found.roofs
    peak = max(float(roof.peak.value) for roof in roofs)
    unit, scale = scaled(peak, RATES)
    seen = [x for mark in found.marks for x, _ in mark.points] + [x for path in found.paths for way in path.points for x, _ in way]
    low = 10 ** (floor(2 * log10(min([*seen, min(r.ridge for r in roofs) / 3]) / 3) / 2)) if seen else min(r.ridge for r in roofs) / 100
    high = 10 ** (ceil(2 * log10(max([*seen, *(r.ridge * 4 for r in roofs)]))) / 2)
    bottom = min(roof.height(low) for roof in roofs) / scale / 3
    shared = _shared([mark.values for mark in found.marks])
    name = str(roofs[0].setting.problem.operation) if roofs[0].several_chips else title_of(roofs[0].setting)
    name += f", {sizes(shared)}" if shared and found.marks else "".join(f", {sizes(path.values)}" for path in found.paths[:1] if path.values)
    canvas = Canvas(name, "arithmetic intensity (FLOPs/byte)", f"attainable throughput ({unit}FLOPs/s)", ((low, high), (bottom, peak / scale * 2.4)), log=True)
    if not roofs[0].several_chips and len({roof.setting.intensity for roof in roofs}) == 1:  # one point, one place on the axis
        _shade(canvas, roofs, low, high, bottom, scale)
    taken = [x for mark in found.marks for x, _ in mark.points]
    for i, roof in enumerate(roofs):
        taken += _draw_roof(canvas, roof, i, low, high, scale, bottom, taken, [r.ridge for r in roofs])
    for i, mark in enumerate(found.marks):
        _draw_mark(canvas, mark.points, sizes({n: v for n, v in mark.values.items() if n not in shared} or mark.values), SHAPES[i % len(SHAPES)], scale, high)
    for path in found.paths:
        for i, way in enumerate(path.points):
            colour, dash = STROKES[i % len(STROKES)]
            canvas.line([x for x, _ in way], [y / scale for _, y in way], colour, width=4.5, dash=dash, layer=4)
            for end in (0, -1):
                x, y = way[end]
                near = canvas.gap(x, high) < 80
                at = ("right", "top") if near else ("left", "top")
                canvas.ring(x, y / scale, colour, filled=True, size=6)
                if i == 0:
                    canvas.label(x, y / scale, f"{path.variable} = {path.sizes[end]:g}", colour, bold=True, at=at, shift=(-6 if near else 6, -6), backed=True)
    return canvas


def _shared(points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sizes that are the same at every point, where there are several points."""
    if len(points) < 2:
        return {}
    return {name: value for name, value in points[0].items() if all(other.get(name) == value for other in points)}


def _shade(canvas: Canvas, roofs: Sequence[Roof], low: float, high: float, bottom: float, scale: float) -> None:
    """The regions under the highest roof, from memory-bound on every link to compute-bound on all."""
    fast = roofs[0]
    edges = [low, *sorted(max(low, min(high, roof.ridge)) for roof in roofs), high]
    names = [_bound_by(roofs, i) for i in range(len(edges) - 1)]
    shades = SHADES if len(names) == 3 else (SHADES[0], SHADES[2]) if len(names) == 2 else [SHADES[0], *[SHADES[1]] * (len(names) - 2), SHADES[2]]
    for left, right, shade, name in zip(edges, edges[1:], shades, names, strict=False):
        if right <= left:
            continue
        heights = [(left, fast.height(left) / scale), (right, fast.height(right) / scale)]
        inner = [(fast.ridge, fast.height(fast.ridge) / scale)] if left < fast.ridge < right else []
        canvas.region([(left, bottom), *heights[:1], *inner, *heights[1:], (right, bottom)], shade)
        middle = (left * right) ** 0.5
        canvas.label(middle, bottom, name, INK, at=("center", "bottom"), shift=(0, 5), size=7.5)


def _bound_by(roofs: Sequence[Roof], index: int) -> str:
    if len(roofs) == 1:
        return ("memory-bound", "compute-bound")[index]
    if index == 0:
        return "memory-bound\non both" if len(roofs) == 2 else "memory-bound\non all"
    if index == len(roofs):
        return "compute-bound\non both" if len(roofs) == 2 else "compute-bound\non all"
    slower = [roof.link for roof in sorted(roofs, key=lambda r: r.ridge)[index:]]
    return f"memory-bound\non {', '.join(slower)}"


def _draw_roof(canvas: Canvas, roof: Roof, index: int, low: float, high: float, scale: float, bottom: float, taken: Sequence[float], ridges: Sequence[float]) -> list[float]:
    peak, ridge = float(roof.peak.value) / scale, roof.ridge
    dash: Any = ("-", (0, (6, 2.5)), (0, (2, 1.6)), (0, (7, 2, 1.5, 2)))[index % 4]
    canvas.line((low, ridge), (roof.height(low) / scale, peak), INK, dash=dash)
    canvas.line((ridge, high), (peak, peak), INK, dash="-" if index == 0 or not roof.several_chips else dash)
    unit, size = scaled(float(roof.bandwidth.value), RATES)
    name = f"{roof.chip.title} {roof.link}" if roof.several_chips else roof.link
    text = f"{name}  {short(float(roof.bandwidth.value) / size)} {unit}B/s"
    x = _clear(canvas, low, ridge, taken, 5.2 * len(text))
    angle = canvas.angle((low, roof.height(low) / scale), (ridge, peak))
    below = roof.several_chips and index > 0
    canvas.label(x, roof.height(x) / scale, text, at=("left", "top" if below else "bottom"), shift=(3, -4) if below else (-3, 3), angle=angle)
    rate, rates = scaled(float(roof.peak.value), RATES)
    narrow = not roof.several_chips and any(canvas.gap(x, high) < 150 for x in ridges)
    if index == 0 or roof.several_chips:
        whose = f"{roof.chip.title} peak" if roof.several_chips else "peak"
        canvas.label(high, peak, f"{whose} {short(float(roof.peak.value) / rates)} {rate}FLOPs/s", at=("right", "top" if index or narrow else "bottom"), shift=(0, -4 if index or narrow else 4))
    canvas.line((ridge, ridge), (bottom, peak), INK, width=0.7, dash=DOTTED, layer=2)
    canvas.ring(ridge, peak, INK)
    if index and roof.several_chips:
        canvas.label(ridge, peak, f"ridge {ridge:.0f}", at=("left", "top"), shift=(7, -5))
    else:
        crowded = canvas.gap(ridge, high) < 150
        canvas.label(ridge, peak, f"ridge {ridge:.0f}", at=("right" if crowded else "center", "bottom"), shift=(-2 if crowded else 0, 7))
    return [x, x * (ridge / low) ** 0.15]


def _clear(canvas: Canvas, low: float, ridge: float, marks: Sequence[float], width: float) -> float:
    """Where a label along a slope is farthest from the markers."""
    end = canvas.gap(low, ridge)
    places = [low * (ridge / low) ** (i / 20) for i in range(1, 16)]
    fitting = [x for x in places if canvas.gap(low, x) + width * 0.9 < end] or places[:1]

    def room(x: float) -> float:
        start = canvas.gap(low, x)
        gaps = [max(start - place, place - start - width * 0.9) for place in (canvas.gap(low, m) if m > low else 0.0 for m in marks)]
        return min([40.0, *gaps])

    return max(fitting, key=room)


def _draw_mark(canvas: Canvas, points: Sequence[tuple[float, float]], name: str, shape: str, scale: float, high: float) -> None:
    """Filled on the first roof, open on the others, joined by a thin line: what the slower memory costs."""
    if len(points) > 1:
        canvas.line([x for x, _ in points], [y / scale for _, y in points], INK, width=0.9, layer=4)
    for i, (x, y) in enumerate(points):
        canvas.ring(x, y / scale, INK, shape=shape, filled=i == 0)
    x, y = min(points, key=lambda p: p[1])
    near = canvas.gap(x, high) < 90
    canvas.label(x, y / scale, name, bold=True, at=("right" if near else "left", "top"), shift=(-7 if near else 7, -6), backed=True)
