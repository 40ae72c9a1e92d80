"""A sheet to draw a figure on: the only importer of matplotlib, without pyplot and without anything that is shared.

The same drawing gives the same bytes: no date, fixed identifiers, text as text.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from math import atan2, degrees
from typing import Any

from symroof.errors import RenderingError

FORMATS = ("svg", "png", "pdf")
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
# The side of its place on which a text stands, as Matplotlib says it: to the east of it, text starts at its left.
SIDES = {
    up + across: (ha, va)
    for up, va in (("n", "bottom"), ("", "center"), ("s", "top"))
    for across, ha in (("w", "right"), ("", "center"), ("e", "left"))
}


class Canvas:
    """Axes on a sheet of 7.2 by 4.2 inches. ``log`` axes have plain numbers on their ticks."""

    def __init__(
        self, title: str, x: str, y: str, ranges: tuple[tuple[float, float], tuple[float, float]], *, log: bool = False
    ) -> None:
        try:
            from matplotlib import rc_context
            from matplotlib.figure import Figure
        except ImportError:
            raise RenderingError(
                "figures need matplotlib, which is not installed", hint="pip install 'symroof[plot]'"
            ) from None
        self._context = rc_context
        with rc_context(STYLE):
            self.sheet = Figure(figsize=(WIDTH, HEIGHT))
            self.axes = self.sheet.add_axes((0.115, 0.14, 0.8, 0.74))
            size = min(10.5, 10.5 * 82 / max(1, len(title)))
            self.sheet.text(0.02, 0.95, title, ha="left", va="center", fontsize=size, fontweight="bold", color=INK)
            self.axes.set_xlabel(x, color=INK)
            self.axes.set_ylabel(y, color=INK)
            self.axes.yaxis.set_label_coords(-0.095, 0.5)
            if log:
                self.axes.set_xscale("log")
                self.axes.set_yscale("log")
            self.axes.set_xlim(*ranges[0])
            self.axes.set_ylim(*ranges[1])
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
        with self._context(STYLE):
            functions: Any = (lambda y: y / full * 100, lambda p: p * full / 100)
            other = self.axes.secondary_yaxis("right", functions=functions)
            other.set_ylabel(label, color=GREY)
            other.set_ticks([0, 25, 50, 75, 100])
            other.tick_params(colors=GREY, labelsize=8.5, width=0.6)
            other.spines["right"].set_visible(False)

    def line(
        self,
        xs: Iterable[float],
        ys: Iterable[float],
        colour: str,
        width: float = 2.2,
        dash: Dash = "-",
        layer: int = 3,
    ) -> None:
        look: Any = {"color": colour, "linewidth": width, "linestyle": dash, "zorder": layer, "solid_capstyle": "butt"}
        self.axes.plot(list(xs), list(ys), clip_on=True, **look)

    def ring(self, x: float, y: float, colour: str, *, shape: str = "o", filled: bool = False, size: float = 7) -> None:
        look: Any = {"marker": shape, "markersize": size, "markeredgecolor": colour, "markeredgewidth": 1.6}
        face = colour if filled else "white"
        self.axes.plot([x], [y], markerfacecolor=face, linestyle="none", zorder=6, clip_on=False, **look)

    def region(self, corners: Sequence[tuple[float, float]], colour: str, hatch: str | None = None) -> None:
        xs, ys = zip(*corners, strict=True)
        edge = "#00000030" if hatch else "none"
        self.axes.fill(xs, ys, facecolor=colour, edgecolor=edge, linewidth=0, hatch=hatch, zorder=1)

    def label(
        self,
        x: float,
        y: float,
        text: str,
        at: str = "e",
        shift: tuple[float, float] = (0, 0),
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
        place = {"xytext": shift, "textcoords": "offset points", "rotation": angle, "rotation_mode": "anchor"}
        self._note(x, y, text, at, bbox=box if backed else None, **look, **place)

    def pointer(self, x: float, y: float, text: str, to: tuple[float, float]) -> None:
        """A call-out: words at a place of their own, and a thin line to what they speak of."""
        line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.7, "shrinkA": 2, "shrinkB": 4}
        self._note(x, y, text, "e", xytext=to, color=GREY, fontsize=8.5, arrowprops=line)

    def _note(self, x: float, y: float, text: str, at: str, **look: Any) -> None:
        across, up = SIDES[at]
        self.axes.annotate(text, (x, y), ha=across, va=up, zorder=8, annotation_clip=False, **look)

    def angle(self, start: tuple[float, float], end: tuple[float, float]) -> float:
        """The slope of a line on the sheet, in degrees."""
        (x0, y0), (x1, y1) = self.axes.transData.transform([start, end])
        return degrees(atan2(y1 - y0, x1 - x0))

    def apart(self, first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
        """How far two places are apart on the sheet, across and up, in points."""
        (x0, y0), (x1, y1) = self.axes.transData.transform([first, second])
        return abs(float(x1 - x0)) * 72 / float(self.sheet.dpi), abs(float(y1 - y0)) * 72 / float(self.sheet.dpi)

    def gap(self, first: float, second: float) -> float:
        """How far two places of the x axis are apart, in points."""
        low = self.axes.get_ylim()[0]
        return self.apart((first, low), (second, low))[0]

    def drawn(self, form: str, pixels: int | None = None) -> bytes:
        """The figure in a format; ``pixels`` is the width of a PNG."""
        metadata: dict[str, dict[str, Any]] = {
            "svg": {"Date": None, "Creator": "symroof"},
            "png": {"Software": None},
            "pdf": {"CreationDate": None, "Creator": "symroof", "Producer": None},
        }
        if form not in FORMATS:
            raise RenderingError(f"no figure is drawn as {form!r}", expected=f"one of {', '.join(FORMATS)}")
        out = io.BytesIO()
        with self._context(STYLE):
            self.sheet.savefig(out, format=form, metadata=metadata[form], dpi=(pixels or 1440) / WIDTH)
        return out.getvalue()
