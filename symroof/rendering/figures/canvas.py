"""A sheet to draw a figure on: the only importer of matplotlib, without pyplot and without anything that is shared.

The same drawing gives the same bytes: no date, fixed identifiers, text as text.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from math import atan2, degrees
from typing import Any

from symroof.errors import RenderingError

# What each format would say of the day and of the machine, left out.
METADATA: dict[str, Any] = {
    "svg": {"Date": None, "Creator": "symroof"},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": "symroof", "Producer": None},
}
WIDTH, HEIGHT = 7.2, 4.2
INK, GREY = "#1A1A1A", "#666666"
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "symroof",
    "pdf.fonttype": 42,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.linewidth": 0.8,
    "path.simplify": False,
}
Dash = Any
Point = tuple[float, float]
# The side of its place on which a text stands, as Matplotlib says it: to the east of it, text starts at its left.
SIDES = {
    up + across: (ha, va)
    for up, va in (("n", "bottom"), ("", "center"), ("s", "top"))
    for across, ha in (("w", "right"), ("", "center"), ("e", "left"))
}


class Canvas:
    """Axes on a sheet of 7.2 by 4.2 inches, from the first to the second of ``ranges``. Heights are drawn in units of
    ``scale``; ``log`` axes have plain numbers on their ticks."""

    def __init__(
        self, title: str, names: tuple[str, str], ranges: tuple[Point, Point], *, log: bool = False, scale: float = 1
    ) -> None:
        try:
            from matplotlib import rc_context
            from matplotlib.figure import Figure
        except ImportError:
            raise RenderingError(
                "figures need matplotlib, which is not installed", hint="pip install 'symroof[plot]'"
            ) from None
        self._context, self.scale, ((self.left, self.right), (self.foot, top)) = rc_context, scale, ranges
        with rc_context(STYLE):
            self.sheet = Figure(figsize=(WIDTH, HEIGHT))
            self.axes = self.sheet.add_axes((0.115, 0.14, 0.8, 0.74))
            size = min(10.5, 10.5 * 82 / max(1, len(title)))
            self.sheet.text(0.02, 0.95, title, ha="left", va="center", fontsize=size, fontweight="bold", color=INK)
            self.axes.set_xlabel(names[0], color=INK)
            self.axes.set_ylabel(names[1], color=INK)
            self.axes.yaxis.set_label_coords(-0.095, 0.5)
            if log:
                self.axes.set_xscale("log")
                self.axes.set_yscale("log")
            self.axes.set_xlim(self.left, self.right)
            self.axes.set_ylim(self.foot / scale, top / scale)
            for side in ("top", "right"):
                self.axes.spines[side].set_visible(False)
            self.axes.tick_params(colors=INK, labelsize=8.5)
            if log:
                self._plain_ticks()

    def _plain_ticks(self) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        for axis in (self.axes.xaxis, self.axes.yaxis):
            axis.set_major_locator(LogLocator(base=10, numticks=12))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.12g}"))
            axis.set_minor_formatter(NullFormatter())

    def percent_axis(self, full: float, label: str) -> None:
        """A second axis on the right, in percent of ``full``."""
        percent = full / self.scale / 100
        with self._context(STYLE):
            functions: Any = (lambda y: y / percent, lambda p: p * percent)
            other = self.axes.secondary_yaxis("right", functions=functions)
            other.set_ylabel(label, color=GREY)
            other.set_ticks([0, 25, 50, 75, 100])
            other.tick_params(colors=GREY, labelsize=8.5, width=0.6)
            other.spines["right"].set_visible(False)

    def _scaled(self, places: Iterable[Point]) -> tuple[list[float], list[float]]:
        xs, ys = zip(*places, strict=True)
        return list(xs), [y / self.scale for y in ys]

    def line(self, places: Iterable[Point], colour: str, width: float = 2.2, dash: Dash = "-", layer: int = 3) -> None:
        look: Any = {"color": colour, "linewidth": width, "linestyle": dash, "zorder": layer, "solid_capstyle": "butt"}
        self.axes.plot(*self._scaled(places), clip_on=True, **look)

    def ring(self, place: Point, colour: str, *, shape: str = "o", filled: bool = False, size: float = 7) -> None:
        look: Any = {"marker": shape, "markersize": size, "markeredgecolor": colour, "markeredgewidth": 1.6}
        face = colour if filled else "white"
        at = self._scaled([place])
        self.axes.plot(*at, markerfacecolor=face, linestyle="none", zorder=6, clip_on=False, **look)

    def region(self, corners: Iterable[Point], colour: str, hatch: str | None = None) -> None:
        edge = "#00000030" if hatch else "none"
        self.axes.fill(*self._scaled(corners), facecolor=colour, edgecolor=edge, linewidth=0, hatch=hatch, zorder=1)

    def label(
        self,
        place: Point,
        text: str,
        at: str = "e",
        shift: Point = (0, 0),
        colour: str = INK,
        *,
        bold: bool = False,
        size: float = 8.5,
        angle: float = 0,
        backed: bool = False,
    ) -> None:
        """Text on a side of a place, moved by points; ``backed`` by white, where lines pass behind it."""
        box = {"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
        look = {"color": colour, "fontsize": size, "fontweight": "bold" if bold else "normal", "linespacing": 1.25}
        moved = {"xytext": shift, "textcoords": "offset points", "rotation": angle, "rotation_mode": "anchor"}
        self._note(place, text, at, bbox=box if backed else None, **look, **moved)

    def pointer(self, place: Point, text: str, to: Point) -> None:
        """A call-out: words at a place of their own, and a thin line to what they speak of."""
        line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.7, "shrinkA": 2, "shrinkB": 4}
        words = to[0], to[1] / self.scale
        self._note(place, text, "e", xytext=words, color=GREY, fontsize=8.5, arrowprops=line)

    def _note(self, place: Point, text: str, at: str, **look: Any) -> None:
        across, up = SIDES[at]
        self.axes.annotate(
            text, (place[0], place[1] / self.scale), ha=across, va=up, zorder=8, annotation_clip=False, **look
        )

    def _way(self, start: Point, end: Point) -> Point:
        """How far it is on the sheet from one place to another, across and up, in points."""
        places = [(x, y / self.scale) for x, y in (start, end)]
        (x0, y0), (x1, y1) = self.axes.transData.transform(places) * 72 / float(self.sheet.dpi)
        return float(x1 - x0), float(y1 - y0)

    def angle(self, start: Point, end: Point) -> float:
        """The slope of a line on the sheet, in degrees."""
        across, up = self._way(start, end)
        return degrees(atan2(up, across))

    def apart(self, first: Point, second: Point) -> Point:
        """How far two places are apart on the sheet, across and up, in points."""
        across, up = self._way(first, second)
        return abs(across), abs(up)

    def gap(self, first: float, second: float) -> float:
        """How far two places of the x axis are apart, in points."""
        return self.apart((first, self.foot), (second, self.foot))[0]

    def drawn(self, form: str, pixels: int | None = None) -> bytes:
        """The figure in a format; ``pixels`` is the width of a PNG."""
        if form not in METADATA:
            raise RenderingError(f"no figure is drawn as {form!r}", expected=f"one of {', '.join(METADATA)}")
        out = io.BytesIO()
        with self._context(STYLE):
            self.sheet.savefig(out, format=form, metadata=METADATA[form], dpi=(pixels or 1440) / WIDTH)
        return out.getvalue()
