"""Axes on a sheet, with words beside what they name: what figures are drawn on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import atan2, degrees, hypot, prod
from string import ascii_lowercase

from symroof.derivation.premises import Setting
from symroof.errors import RenderingError
from symroof.rendering.figures.captions import assumptions, captions, own_sizes
from symroof.rendering.figures.labels import (
    NOTHING,
    Choice,
    Label,
    Look,
    Point,
    Shape,
    Spot,
    Table,
    beside,
    best_spots,
    box,
    choices_of,
    covered,
    meet,
    number_spots,
    rows_of,
    segments,
)
from symroof.rendering.figures.picture_digest import with_description
from symroof.rendering.figures.style import GREY, INK, OF_WORDS, Dash, between
from symroof.rendering.pages.terminal import NBSP

WIDTH = 7.2
# How narrow and broad a sheet may be, in inches.
NARROWEST, BROADEST = 3.5, 30.0
# What surrounds the axes, in inches: on the left, on the right, beneath.
LEFT, RIGHT, FOOT = 0.85, 0.6, 0.6

BACKED = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
LEADER: dict[str, object] = {"arrowstyle": "-", "color": GREY, "linewidth": 0.7, "shrinkA": 1, "shrinkB": 4}
SPACING = 1.25  # of rows in a label
PARTS = re.compile("(?<![·,]) ")  # a space inside of a part of the grey rows
# The height of a row of the key, the edge of a table that is as broad as the sheet, what is between its columns, and the
# room of a colour before a row, in inches; its type.
ROW, EDGE, GAP, SWATCH, SMALL = 0.17, 0.3, 0.16, 0.14, 8


class Canvas:
    """Axes on a sheet of that many ``inches`` across, from the first to the second of ``ranges``. Heights are drawn in
    units of ``scale``. ``aside`` stands in grey under the title, row by row. Type has the same size on every sheet. ``names_of_rows``
    stand on the left in place of numbers, each at its height, and ``body`` is how high the axes are, in inches."""

    def __init__(
        self,
        title: str,
        names: tuple[str, str],
        ranges: tuple[Point, Point],
        *,
        log: tuple[bool, bool],
        scale: float = 1,
        inches: float = WIDTH,
        lang: str = "en",
        aside: Sequence[str] = (),
        names_of_rows: Sequence[tuple[float, str]] = (),
        body: float = 0,
    ) -> None:
        try:
            from symroof.rendering.figures.sheet import Sheet, number
        except ImportError:
            problem = "figures need matplotlib, which is not installed"
            raise RenderingError(problem, hint="pip install 'symroof[plot]'") from None
        if not NARROWEST <= inches <= BROADEST:
            raise RenderingError(f"a sheet of {inches:g} inches", expected=f"{NARROWEST:g} to {BROADEST:g} inches")
        self.scale, ((self.left, self.right), (self.foot, self.top)) = scale, ranges
        self.title, self.log, self.inches = title, log, inches
        self.lang, self.say, self.description = lang, captions(lang), ""
        self._labels = list[Label]()
        self._table: Table | None = None
        self._drawn: list[Sequence[Point]] = []
        self._below = 0.0  # the room of what stands beneath
        self._rings: list[tuple[Point, float]] = []
        self._lines: list[Shape] = []
        self._named: dict[int, list[Shape]] = {}  # the lines that labels name
        self._known: dict[Point, Point] = {}  # places on the sheet, as long as it stays what it is
        self._body = body or max(2.2, inches * 0.43)
        rows, below = rows_of(title, int(9.5 * inches) - 2), rows_of(names[0], int(11 * (inches - LEFT)))
        grey = [row for part in aside for row in rows_of(PARTS.sub(NBSP, part), int(13 * inches) - 2)]
        self._over = 0.12 + 0.2 * len(rows)
        self._head, self._foot = 0.18 + self._over + 0.15 * len(grey), FOOT + 0.16 * (len(below) - 1)
        self.sheet = Sheet(lang)
        with self.sheet.styled():
            self._left = max([LEFT, *(0.25 + self.sheet.extent(name, 8.5)[0] / 72 for _, name in names_of_rows)])
            self.axes = self.sheet.add_axes((0, 0, 1, 1))
            self._title = self.sheet.text(0.15 / inches, 1, "\n".join(rows), va="top", fontsize=10.5, color=INK)
            self._title.set_fontweight("bold")
            self._aside = self.sheet.text(0.15 / inches, 1, "\n".join(grey), va="top", fontsize=8, color=GREY)
            self._lay_out()
            self.axes.set_xlabel("\n".join(below), color=INK)
            self.axes.set_ylabel("\n".join(rows_of(names[1], int(12 * self._body))), color=INK)
            self.axes.yaxis.set_label_coords(-0.55 / (inches - (self._left + RIGHT)), 0.5)
            self.axes.set_xscale("log" if log[0] else "linear")
            self.axes.set_yscale("log" if log[1] else "linear")
            self.axes.set_xlim(self.left, self.right)
            self.axes.set_ylim(self.foot / scale, self.top / scale)
            for side in ("top", "right"):
                self.axes.spines[side].set_visible(False)
            self.axes.tick_params(colors=INK, labelsize=8.5)
            for axis, ends, logarithmic in zip((self.axes.xaxis, self.axes.yaxis), ranges, log, strict=True):
                number(axis, ends, int(1.1 * inches), logarithmic)
            if names_of_rows:
                self.axes.set_yticks(*map(list, zip(*names_of_rows, strict=True)))
                self.axes.tick_params(axis="y", length=0)

    def _lay_out(self, below: float = 0) -> None:
        """The sheet with its axes in their place, and room for a key below them."""
        self._known.clear()
        height, across = self._head + self._body + self._foot + below, self.inches - (self._left + RIGHT)
        self.sheet.set_size_inches(self.inches, height)
        parts = self._left / self.inches, (self._foot + below) / height, across / self.inches, self._body / height
        self.axes.set_position(parts)
        self._title.set_y(1 - 0.12 / height)
        self._aside.set_y(1 - self._over / height)

    def _scaled(self, places: Iterable[Point]) -> tuple[list[float], list[float]]:
        xs, ys = zip(*places, strict=True)
        return list(xs), [y / self.scale for y in ys]

    def line(self, places: Iterable[Point], colour: str, width: float = 2.2, dash: Dash = "-", layer: int = 3) -> None:
        places = list(places)
        (line,) = self.axes.plot(*self._scaled(places), color=colour, linewidth=width, linestyle=dash, zorder=layer)
        line.set_solid_capstyle("butt")
        self._drawn.append(places)

    def ring(self, place: Point, colour: str, *, shape: str = "o", filled: bool = False, size: float = 7) -> None:
        (mark,) = self.axes.plot(*self._scaled([place]), shape, markersize=size, zorder=6, clip_on=False)
        mark.set(markerfacecolor=colour if filled else "white", markeredgecolor=colour, markeredgewidth=1.6)
        self._rings.append((place, size))

    def region(self, corners: Sequence[Point], colour: str, hatch: str | None = None, *, joint: float = 0) -> None:
        """A field; with a white ``joint`` about it, that wide in points. Words keep away from the edges of one with a hatch."""
        edge = "white" if joint else "#00000030" if hatch else "none"
        (field,) = self.axes.fill(*self._scaled(corners), facecolor=colour, edgecolor=edge, linewidth=joint, zorder=1)
        if hatch is not None:
            field.set_hatch(hatch)
            self._drawn.append([*corners, corners[0]])

    def label(
        self,
        text: str,
        spots: Iterable[Spot],
        colour: str = INK,
        *,
        bold: bool = False,
        size: float = 8.5,
        line: Sequence[Point] = (),
        leader: Point | None = None,
        rank: int = 1,
    ) -> None:
        """Words at the best of the spots that is free when all of the figure is there; else a number, and the words
        in a key beneath the figure. They are nearer to the ``line`` that they name than to any other with a name. A
        ``leader`` is what a thin line joins them to; words of rank 0 give way to none, those of rank 2 to all."""
        self._labels.append(Label(text, tuple(spots), OF_WORDS.get(colour, colour), size, bold, line, leader, rank))

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]], colours: Sequence[Look] = ()) -> None:
        """A table beneath the figure, in which each row may have a colour, or that and a dash; where it is broader than the
        sheet, its columns stand in several."""
        self._table = Table(head, rows, colours)

    def fits(self, text: str, start: Point, end: Point, size: float = 8.5) -> bool:
        """Whether words have room between two places on one row."""
        return self._size(text, size)[0] < self._way(start, end)[0] - 2

    def _place_labels(self) -> None:
        """Put every label where it fits; those that fit nowhere have a number there, and a row of the key beneath."""
        self._lines = [piece for places in self._drawn for piece in self._segments(places)]
        self._named = {id(label.line): self._segments(label.line) for label in self._labels if label.line}
        first, labels, last = ([label for label in self._labels if label.rank == rank] for rank in range(3))
        choices = self._places(first, [])
        labels += [label for label, choice in zip(first, choices, strict=True) if choice is None]
        chosen, key = self._numbered(labels, covered(choices))
        chosen += zip(first, choices, strict=True)
        last = list({(label.text, *map(round, self._on_sheet(label.spots[0].place))): label for label in last}.values())
        chosen += zip(last, self._places(last, covered(choice for _, choice in chosen)), strict=True)
        for label, choice in chosen:
            if choice is not None:
                self._write(label, *choice)
        if key or self._table:
            self._beneath([label.text for label in key])
        self._labels = []

    def _numbered(
        self, labels: Sequence[Label], taken: Sequence[Shape]
    ) -> tuple[list[tuple[Label, Choice | None]], list[Label]]:
        """Where labels stand, and the numbers of those that fit nowhere, with these. Where a number has no room, the
        largest label gives way to it, and has a number as well."""
        shown = list(range(len(labels)))
        while True:
            choices = dict(zip(shown, self._places([labels[i] for i in shown], taken), strict=True))
            key = [label for i, label in enumerate(labels) if choices.get(i) is None]
            numbers = [
                label._replace(text=self._sign(i), spots=number_spots(label), size=7.5, leader=None)
                for i, label in enumerate(key, 1)
            ]
            beside_them = self._places(numbers, [*taken, *covered(choices.values())])
            large = [i for i in shown if choices[i] is not None]
            if None not in beside_them or not large:
                break
            shown.remove(max(large, key=lambda i: prod(self._size_of(labels[i]))))
        return [*((labels[i], choices[i]) for i in shown), *zip(numbers, beside_them, strict=True)], key

    def _places(self, labels: Sequence[Label], taken: Sequence[Shape]) -> list[Choice | None]:
        """Where each label stands beside what is taken; None for those that fit nowhere."""
        rings, choices = [self._on_sheet(place) for place, _ in self._rings], list[list[Choice]]()
        for label in labels:
            line = self._named.get(id(label.line), [])
            others = [piece for pieces in self._named.values() if pieces is not line for piece in pieces]
            choices.append(choices_of(label, self._size_of(label), self._on_sheet, rings, line, others))
        marks = [beside(self._on_sheet(place), Spot(place, ""), size + 2, size + 2) for place, size in self._rings]
        shapes = [[shapes for _, shapes in own] for own in choices]
        chosen = best_spots(shapes, [*taken, *marks], self._lines, self._frame())
        return [None if at is None else own[at] for own, at in zip(choices, chosen, strict=True)]

    def _segments(self, places: Sequence[Point]) -> list[Shape]:
        """A line of the data in pieces on the sheet, as far as it is on the axes."""
        inside = [(x, min(max(y, self.foot), self.top)) for x, y in places]
        return list(segments([self._on_sheet(place) for place in inside]))

    def _write(self, label: Label, spot: Spot, shapes: tuple[Shape, ...]) -> None:
        """The words at a spot; backed by white where lines pass behind them."""
        (x, y), (shape, *leaders) = self._on_sheet(spot.place), shapes
        for (x1, y1), (x2, y2) in leaders:
            self._note("", label.leader or spot.place, (x2 - x1, y2 - y1), {}, LEADER)
        look: dict[str, object] = {
            "color": label.colour,
            "fontsize": label.size,
            "fontweight": "bold" if label.bold else "normal",
        }
        look |= {"bbox": BACKED if any(meet(shape, line) for line in self._lines) else None, "rotation": spot.angle}
        self._note(label.text, spot.place, (shape[0][0] - x, shape[0][1] - y), {**look, "linespacing": SPACING})

    def _note(
        self, text: str, place: Point, shift: Point, look: dict[str, object], arrow: dict[str, object] | None = None
    ) -> None:
        """Words so many points from a place of the data, or an arrow to it."""
        at = (place[0], place[1] / self.scale)
        note = self.axes.annotate(text, at, shift, textcoords="offset points", arrowprops=arrow, annotation_clip=False)
        note.set(va="bottom", rotation_mode="anchor", zorder=8, **look)

    def _sign(self, number: int) -> str:
        """What stands for words that had no room: a number, or a letter where a table has numbers."""
        return ascii_lowercase[number - 1] if self._table and number <= len(ascii_lowercase) else str(number)

    def _beneath(self, texts: Sequence[str]) -> None:
        """Beneath the figure, which grows by as much: words that had no room, by their numbers, and the table."""
        broad = int(13 * (self.inches - LEFT))
        rows = [row for i, text in enumerate(texts, 1) for row in rows_of(f"{self._sign(i)}  {text}", broad, "    ")]
        room = self.inches - EDGE * 2 - SWATCH
        table = self._table
        parts = table.parts(lambda cell: self.sheet.extent(cell, SMALL)[0] / 72, room, GAP) if table else []
        tall = sum(len(part.rows) + 1.4 for part, _ in parts)
        self._below = below = ROW * (len(rows) + tall + bool(rows and parts)) + 0.05
        self._lay_out(below)
        height = float(self.sheet.get_size_inches()[1])

        def write(
            row: float, text: str, at: float = LEFT, size: float = 8.5, colour: str = INK, side: str = "left"
        ) -> None:
            up = (below - ROW * (row + 0.5)) / height
            self.sheet.text(at / self.inches, up, text, va="center", ha=side, fontsize=size, color=colour)

        for i, row in enumerate(rows):
            write(i, row)
        top = float(len(rows) + bool(rows))
        for part, breadths in parts:
            self._block(part, breadths, top, write)
            top += len(part.rows) + 1.4

    def _swatch(self, row: float, edge: float, colour: str, dash: Dash) -> None:
        """A piece of a line before a row of a table."""
        up = (self._below - ROW * (row + 0.5)) / float(self.sheet.get_size_inches()[1])
        xs = [(edge - part * SWATCH) / self.inches for part in (1.9, 0.3)]
        (line,) = self.axes.plot(xs, [up, up], color=colour, linestyle=dash, linewidth=2, scalex=False, scaley=False)
        line.set(transform=self.sheet.transFigure, clip_on=False)

    def _block(self, part: Table, breadths: Sequence[float], top: float, write: Callable[..., None]) -> None:
        """Columns beside one another, numbers on the right of theirs."""
        edge = EDGE if sum(breadths) + GAP * len(breadths) > self.inches - LEFT else LEFT
        for i, row in enumerate(part.colours, 1):
            if isinstance(row, str):
                write(top + i, "■", edge - SWATCH, 9, row)
            else:
                self._swatch(top + i, edge, *row)
        for column, breadth in zip(part.columns, breadths, strict=True):
            numbers = all(re.match(rf"[×\d.,−{NOTHING}]", cell) for cell in column[1:])
            for i, cell in enumerate(column):
                at, side = (edge + breadth, "right") if numbers else (edge, "left")
                write(top + i, cell, at, SMALL, INK if i else GREY, side)
            edge += breadth + GAP

    def _size(self, text: str, size: float, bold: bool = False) -> Point:
        """The width and height of words, in points, with a rim of one."""
        width, height = self.sheet.extent(text, size, bold, SPACING)
        return width + 2, height + 2

    def _size_of(self, label: Label) -> Point:
        return self._size(label.text, label.size, label.bold)

    def _frame(self) -> Shape:
        """Where words may stand: on the axes."""
        (x0, y0), (x1, y1) = self._on_sheet((self.left, self.foot)), self._on_sheet((self.right, self.top))
        return box((x0 + 1, y0 + 1), x1 - x0 - 2, y1 - y0 - 2)

    def _on_sheet(self, place: Point) -> Point:
        """A place of the data in points on the sheet."""
        if place in self._known:
            return self._known[place]
        x, y = self.axes.transData.transform((place[0], place[1] / self.scale)) * 72 / float(self.sheet.dpi)
        self._known[place] = float(x), float(y)
        return self._known[place]

    def across(self, part: float) -> float:
        """The place that far along the axis at the foot, from 0 to 1."""
        return between(self.left, self.right, part, self.log[0])

    def up(self, part: float) -> float:
        """The place that far up the axis on the left, from 0 to 1."""
        return between(self.foot, self.top, part, self.log[1])

    def _way(self, start: Point, end: Point) -> Point:
        """How far it is on the sheet from one place to another, across and up, in points."""
        (x0, y0), (x1, y1) = self._on_sheet(start), self._on_sheet(end)
        return x1 - x0, y1 - y0

    def together(self, some: Sequence[Point], others: Sequence[Point], points: float) -> bool:
        """Whether places lie pairwise nearer to one another than that many points on the sheet."""
        ways = [self._way(place, other) for place, other in zip(some, others, strict=False)]
        return len(some) == len(others) and all(hypot(*way) < points for way in ways)

    def angle(self, start: Point, end: Point) -> float:
        """The slope of a line on the sheet, in degrees."""
        across, up = self._way(start, end)
        return degrees(atan2(up, across))

    def drawn(self, form: str, pixels: int | None = None) -> bytes:
        """The figure in a format; ``pixels`` is the width of a PNG."""
        with self.sheet.styled():
            self._place_labels()
        drawn = self.sheet.saved(form, (pixels or 200 * self.inches) / self.inches)
        return with_description(drawn, self.title, self.description, self.lang) if form == "svg" else drawn


def sheet_of(
    settings: Sequence[Setting],
    shared: Mapping[str, Fraction],
    names: tuple[str, str],
    ranges: tuple[Point, Point],
    log: tuple[bool, bool],
    inches: float,
    lang: str,
    undrawn: Sequence[str] = (),
    *,
    scale: float = 1,
    names_of_rows: Sequence[tuple[float, str]] = (),
    body: float = 0,
) -> Canvas:
    """The sheet of a figure: its operation and chip, under them the sizes that all of it ``shared``, and what was assumed."""
    say, axes = captions(lang), settings[0].problem.mesh.values()
    under = own_sizes({**{axis.name: Fraction(axis.chips) for axis in axes if axis.chips}, **shared}, {})
    aside = [part for part in (under, *assumptions(say, *settings, undrawn=undrawn)) if part]
    canvas = Canvas(
        say.title(settings), names, ranges, log=log, scale=scale, inches=inches, lang=lang, aside=aside,
        names_of_rows=names_of_rows, body=body,
    )  # fmt: skip
    canvas.title = say.title(settings, under)  # for those who do not see it
    return canvas
