"""The classic roofline: roofs named along their slopes, ridges, regions, and operations under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from typing import Any

from symroof.exploration.roofs import Path, Roof, Roofline
from symroof.rendering.figures.canvas import INK, Canvas
from symroof.rendering.figures.strokes import DOTTED, RATES, SHADES, SHAPES, STROKES, scaled, short, title_of
from symroof.rendering.pages.amounts import sizes

# Roofs are black, each with a dash of its own.
ROOFS: Sequence[Any] = ("-", (0, (6, 2.5)), (0, (2, 1.6)), (0, (7, 2, 1.5, 2)))


def draw_roofline(found: Roofline) -> Canvas:
    """The classic roofline: roofs, ridges, regions under the highest roof, operations as markers or as paths."""
    roofs, shared = found.roofs, _shared([mark.values for mark in found.marks])
    seen = [x for mark in found.marks for x, _ in mark.points]
    seen += [x for path in found.paths for way in path.points for x, _ in way]
    peak, first = max(float(roof.peak.value) for roof in roofs), min(roof.ridge for roof in roofs)
    unit, scale = scaled(peak, RATES)
    low = 10 ** (floor(2 * log10(min([*seen, first / 3]) / 3) / 2)) if seen else first / 100
    high = 10 ** (ceil(2 * log10(max([*seen, *(r.ridge * 4 for r in roofs)]))) / 2)
    bottom, top = min(roof.height(low) for roof in roofs) / scale / 3, peak / scale * 2.4
    title = str(roofs[0].setting.problem.operation) if roofs[0].several_chips else title_of(roofs[0].setting)
    fixed = shared or (found.paths[0].values if found.paths else {})
    title += f", {sizes(fixed)}" if fixed else ""
    x, y = "arithmetic intensity (FLOPs/byte)", f"attainable throughput ({unit}FLOPs/s)"
    canvas = Canvas(title, x, y, ((low, high), (bottom, top)), log=True)
    sheet = _Sheet(canvas, roofs, low, high, bottom, scale)
    # where a point has one place on the axis
    if not roofs[0].several_chips and len({roof.setting.intensity for roof in roofs}) == 1:
        sheet.shade()
    taken = [x for mark in found.marks for x, _ in mark.points]
    for i in range(len(roofs)):
        taken += sheet.roof(i, taken)
    for i, mark in enumerate(found.marks):
        own = {name: value for name, value in mark.values.items() if name not in shared}
        sheet.mark(mark.points, sizes(own or mark.values), SHAPES[i % len(SHAPES)])
    for path in found.paths:
        sheet.path(path)
    return canvas


def _shared(points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sizes that are the same at every point, where there are several points."""
    if len(points) < 2:
        return {}
    return {name: value for name, value in points[0].items() if all(other.get(name) == value for other in points)}


def _bound_by(roofs: Sequence[Roof], index: int) -> str:
    """What the region of that number is bound by, from the lowest intensities up."""
    if len(roofs) == 1:
        return ("memory-bound", "compute-bound")[index]
    everything = "both" if len(roofs) == 2 else "all"
    if index in (0, len(roofs)):
        return f"{'compute' if index else 'memory'}-bound\non {everything}"
    slower = [roof.link for roof in sorted(roofs, key=lambda r: r.ridge)[index:]]
    return f"memory-bound\non {', '.join(slower)}"


@dataclass(frozen=True, slots=True)
class _Sheet:
    """The canvas of one roofline, and its edges: intensities from ``low`` to ``high``, heights from ``bottom``, in units of ``scale``."""

    canvas: Canvas
    roofs: Sequence[Roof]
    low: float
    high: float
    bottom: float
    scale: float

    def height(self, roof: Roof, intensity: float) -> float:
        return roof.height(intensity) / self.scale

    def shade(self) -> None:
        """The regions under the highest roof, from memory-bound on every link to compute-bound on all."""
        fast = self.roofs[0]
        edges = [self.low, *sorted(max(self.low, min(self.high, roof.ridge)) for roof in self.roofs), self.high]
        count = len(edges) - 1
        shades = [SHADES[0], *[SHADES[1]] * (count - 2), SHADES[2]]
        for i, (left, right) in enumerate(pairwise(edges)):
            if right <= left:
                continue
            places = (left, *([fast.ridge] if left < fast.ridge < right else []), right)
            edge = [(x, self.height(fast, x)) for x in places]
            self.canvas.region([(left, self.bottom), *edge, (right, self.bottom)], shades[i])
            self.canvas.label((left * right) ** 0.5, self.bottom, _bound_by(self.roofs, i), "n", (0, 5), size=7.5)

    def roof(self, index: int, taken: Sequence[float]) -> list[float]:
        """A slope and its peak with their names; gives the places that its name takes."""
        roof, canvas = self.roofs[index], self.canvas
        peak, ridge = float(roof.peak.value) / self.scale, roof.ridge
        dash = ROOFS[index % len(ROOFS)]
        canvas.line((self.low, ridge), (self.height(roof, self.low), peak), INK, dash=dash)
        canvas.line((ridge, self.high), (peak, peak), INK, dash=dash if roof.several_chips else "-")
        unit, size = scaled(float(roof.bandwidth.value), RATES)
        name = f"{roof.chip.title} {roof.link}" if roof.several_chips else roof.link
        text = f"{name}  {short(float(roof.bandwidth.value) / size)} {unit}B/s"
        x, below = self._clear(ridge, taken, 5.2 * len(text)), roof.several_chips and index > 0
        angle = canvas.angle((self.low, self.height(roof, self.low)), (ridge, peak))
        canvas.label(x, self.height(roof, x), text, "se" if below else "ne", (3, -4) if below else (-3, 3), angle=angle)
        self._peak(index, peak)
        canvas.line((ridge, ridge), (self.bottom, peak), INK, 0.7, DOTTED, layer=2)
        canvas.ring(ridge, peak, INK)
        crowded = canvas.gap(ridge, self.high) < 150
        side, shift = ("se", (7, -5)) if below else ("nw", (-2, 7)) if crowded else ("n", (0, 7))
        canvas.label(ridge, peak, f"ridge {ridge:.0f}", side, shift)
        return [x, x * (ridge / self.low) ** 0.15]

    def _peak(self, index: int, peak: float) -> None:
        """The name of a peak: above its line, or below it where ridges crowd there."""
        roof = self.roofs[index]
        if index and not roof.several_chips:
            return
        narrow = not roof.several_chips and any(self.canvas.gap(other.ridge, self.high) < 150 for other in self.roofs)
        unit, size = scaled(float(roof.peak.value), RATES)
        whose = f"{roof.chip.title} peak" if roof.several_chips else "peak"
        words = f"{whose} {short(float(roof.peak.value) / size)} {unit}FLOPs/s"
        side, up = ("sw", -4) if index or narrow else ("nw", 4)
        self.canvas.label(self.high, peak, words, side, (0, up))

    def _clear(self, ridge: float, taken: Sequence[float], width: float) -> float:
        """Where a label along a slope is farthest from what stands there."""
        gap, low = self.canvas.gap, self.low
        places = [low * (ridge / low) ** (i / 20) for i in range(1, 16)]
        fitting = [x for x in places if gap(low, x) + width * 0.9 < gap(low, ridge)] or places[:1]

        def room(x: float) -> float:
            start = gap(low, x)
            gaps = [
                max(start - place, place - start - width * 0.9)
                for place in (gap(low, m) if m > low else 0.0 for m in taken)
            ]
            return min([40.0, *gaps])

        return max(fitting, key=room)

    def mark(self, points: Sequence[tuple[float, float]], name: str, shape: str) -> None:
        """Filled on the first roof, open on the others, joined by a thin line: what the slower memory costs."""
        if len(points) > 1:
            self.canvas.line([x for x, _ in points], [y / self.scale for _, y in points], INK, 0.9, layer=4)
        for i, (x, y) in enumerate(points):
            self.canvas.ring(x, y / self.scale, INK, shape=shape, filled=i == 0)
        self._named(*min(points, key=lambda p: p[1]), name, INK, room=90, off=7)

    def _named(self, x: float, y: float, name: str, colour: str, *, room: float, off: float) -> None:
        """Words below a marker, on its left where there is no room on its right."""
        near = self.canvas.gap(x, self.high) < room
        side, shift = ("sw", -off) if near else ("se", off)
        self.canvas.label(x, y / self.scale, name, side, (shift, -6), colour, bold=True, backed=True)

    def path(self, path: Path) -> None:
        """The way of an operation along each roof, with the sizes at its ends."""
        for i, way in enumerate(path.points):
            colour, dash = STROKES[i % len(STROKES)]
            self.canvas.line([x for x, _ in way], [y / self.scale for _, y in way], colour, 4.5, dash, layer=4)
            for end in (0, -1):
                x, y = way[end]
                self.canvas.ring(x, y / self.scale, colour, filled=True, size=6)
                if i == 0:
                    self._named(x, y, f"{path.variable} = {path.sizes[end]:g}", colour, room=80, off=6)
