"""Where words stand on a sheet: each label at one of its spots, so that none lies on another, on a marker or over an edge; and the
table beneath, in as many parts as the sheet is too narrow for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import cos, hypot, inf, radians, sin
from textwrap import wrap
from typing import NamedTuple, TypeAlias

from symroof.formula import Frozen
from symroof.rendering.figures.style import Dash
from symroof.rendering.pages.terminal import NBSP, cells, close_up, fold

Point = tuple[float, float]
# A convex polygon by its corners; two corners are a segment.
Shape = tuple[Point, ...]
CROSSED = 6  # what a line behind the words costs, in steps of the order of spots
FAR = 12  # from where on a thin line joins words to their place, in points
# By how much the centre of its own mark is nearer to words than that of any other, and from where on a line that joins
# words and mark is seen, in points.
NEARER, SEEN = 3.0, 14.0
COVERED, TOGETHER = 7, 2.0  # how near a mark is to one that covers it, and how near lines are that lie on one another


class Spot(Frozen):
    """A place of the data, the side of it on which words stand, and how far; ``angle`` turns them about the place."""

    place: Point
    side: str = "e"
    gap: float = 4
    angle: float = 0


class Label(NamedTuple):
    """Words, their spots, colour and type; the ``line`` that they name, and the ``leader`` that a thin line joins them to.

    Those of a lower ``rank`` choose first; those of rank 2 are left out where they have no room.
    """

    text: str
    spots: tuple[Spot, ...]
    colour: str
    size: float
    bold: bool = False
    line: Sequence[Point] = ()
    leader: Point | None = None
    rank: int = 1


# A spot on the sheet, the shape of the words there, and the thin line from their mark to them if there is one.
Choice = tuple[Spot, tuple[Shape, ...]]


def around(place: Point, sides: str = "e ne se w nw sw n s", gaps: Sequence[float] = (5, 10, 18)) -> tuple[Spot, ...]:
    """The spots about a place, the nearest first."""
    return tuple(Spot(place, side, gap) for gap in gaps for side in sides.split())


def number_spots(label: Label) -> tuple[Spot, ...]:
    """Where a number may stand that takes the place of words: at their place, or along the line that they name."""
    if not label.line:
        return around(label.spots[0].place, gaps=(4, 8, 14, 22, 32))
    return tuple(replace(spot, gap=gap, angle=0) for gap in (4, 14, 22) for spot in label.spots)


def box(corner: Point, width: float, height: float, angle: float = 0) -> Shape:
    """A rectangle by its lower left corner, turned about it by an angle in degrees.

    >>> box((1, 2), 3, 1)
    ((1, 2), (4.0, 2.0), (4.0, 3.0), (1.0, 3.0))
    """
    (x, y), c, s = corner, cos(radians(angle)), sin(radians(angle))
    return (
        corner,
        (x + width * c, y + width * s),
        (x + width * c - height * s, y + width * s + height * c),
        (x - height * s, y + height * c),
    )


def beside(place: Point, spot: Spot, width: float, height: float) -> Shape:
    """The rectangle of words at a spot, whose place is ``place`` on the sheet.

    >>> beside((10, 10), Spot((1, 1), "ne", 2), 8, 4)
    ((12.0, 12.0), (20.0, 12.0), (20.0, 16.0), (12.0, 16.0))
    """
    across = {"e": spot.gap, "w": -spot.gap - width}.get(spot.side[-1:], -width / 2)
    up = {"n": spot.gap, "s": -spot.gap - height}.get(spot.side[:1], -height / 2)
    c, s = cos(radians(spot.angle)), sin(radians(spot.angle))
    return box((place[0] + across * c - up * s, place[1] + across * s + up * c), width, height, spot.angle)


def meet(first: Shape, second: Shape) -> bool:
    """Whether two convex shapes have more than an edge in common: no line separates them.

    >>> meet(box((0, 0), 2, 1), box((1, 0.5), 2, 1)), meet(box((0, 0), 2, 1), box((2, 0), 2, 1))
    (True, False)
    >>> meet(box((0, 0), 2, 1), ((-1, -1), (3, 2))), meet(box((0, 0), 2, 1), ((-1, 0.5), (-1, 3)))
    (True, False)
    """
    if not _near(first, second):
        return False
    for (x0, y0), (x1, y1) in (pair for shape in (first, second) for pair in zip(shape, (*shape[1:], shape[0]))):  # noqa: B905
        across, up = y0 - y1, x1 - x0
        heights, others = ([across * x + up * y for x, y in shape] for shape in (first, second))
        if max(heights) <= min(others) or max(others) <= min(heights):
            return False
    return True


def _near(first: Shape, second: Shape) -> bool:
    (left, bottom, right, top), (west, south, east, north) = _bounds(first), _bounds(second)
    return left < east and west < right and bottom < north and south < top


@lru_cache(maxsize=1 << 14)
def _bounds(shape: Shape) -> tuple[float, float, float, float]:
    xs, ys = [x for x, _ in shape], [y for _, y in shape]
    return min(xs), min(ys), max(xs), max(ys)


def segments(line: Sequence[Point], shortest: float = 3) -> Iterator[Shape]:
    """A line in pieces that are not much shorter than that.

    >>> list(segments([(0, 0), (1, 0), (2, 0), (4, 0), (5, 0)]))
    [((0, 0), (4, 0)), ((4, 0), (5, 0))]
    """
    start = line[0]
    for i, end in enumerate(line[1:], 2):
        if i == len(line) or abs(end[0] - start[0]) + abs(end[1] - start[1]) >= shortest:
            yield start, end
            start = end


def distance(shape: Shape, place: Point) -> float:
    """How far a place is from a shape, 0 inside of it.

    >>> distance(box((0, 0), 2, 1), (5, 1)), distance(box((0, 0), 2, 1), (1, 0.5))
    (3.0, 0.0)
    """
    (x, y), far = place, []
    turns = []
    for (x0, y0), (x1, y1) in zip(shape, (*shape[1:], shape[0]), strict=True):
        across, up = x1 - x0, y1 - y0
        turns.append(across * (y - y0) - up * (x - x0))
        part = max(0.0, min(1.0, ((x - x0) * across + (y - y0) * up) / ((across**2 + up**2) or 1)))
        far.append(hypot(x0 + part * across - x, y0 + part * up - y))
    inside = len(shape) > 2 and (min(turns) >= 0 or max(turns) <= 0)
    return 0.0 if inside else min(far)


def nearest(shape: Shape, place: Point) -> Point:
    """The middle of the side of a rectangle that is nearest to a place."""
    sides = zip(shape, (*shape[1:], shape[0]), strict=True)
    middles = [((x0 + x1) / 2, (y0 + y1) / 2) for (x0, y0), (x1, y1) in sides]
    return min(middles, key=lambda middle: (middle[0] - place[0]) ** 2 + (middle[1] - place[1]) ** 2)


def within(shape: Shape, frame: Shape) -> bool:
    """Whether a shape lies inside of an upright rectangle."""
    (left, bottom), _, (right, top), _ = frame
    return all(left <= x <= right and bottom <= y <= top for x, y in shape)


def choices_of(
    label: Label,
    extent: tuple[float, float],
    on_sheet: Callable[[Point], Point],
    rings: Sequence[Point],
    line: Sequence[Shape],
    lines: Sequence[Shape],
) -> list[Choice]:
    """The spots of a label, those first at which nobody takes it for that of another of the ``rings``, or of another line than
    its own: its own is the nearest, or a thin line joins it to its own and passes no other mark."""
    (width, height), near, far = extent, list[Choice](), list[Choice]()
    for spot in label.spots:
        own = on_sheet(spot.place)
        shape = beside(own, spot, width, height)
        others = [ring for ring in rings if hypot(ring[0] - own[0], ring[1] - own[1]) > COVERED] if own in rings else []
        mark = on_sheet(label.leader or spot.place)
        led = shape, (mark, nearest(shape, mark))
        reach = beside(own, replace(spot, gap=0.5), width + 2 * spot.gap, height + 2 * spot.gap)
        if label.leader is None and line and _is_of_another(line, lines, reach):
            if spot.gap >= SEEN:
                far.append((spot, led))
        elif label.leader or distance(shape, own) + NEARER <= min((distance(shape, o) for o in others), default=inf):
            near.append((spot, led if label.leader or spot.gap > FAR else (shape,)))
        elif spot.gap >= SEEN and min(distance(led[1], other) for other in others) > 5:
            far.append((spot, led))
    return [*near, *far]


def _is_of_another(line: Sequence[Shape], others: Sequence[Shape], reach: Shape) -> bool:
    """Whether a piece of another line is within the ``reach`` of words, and does not lie on their own line there."""
    near = [end for piece in others if meet(reach, piece) for end in piece]
    return any(min(distance(piece, end) for piece in line) > TOGETHER for end in near)


def covered(choices: Iterable[Choice | None]) -> list[Shape]:
    """What is covered by labels that have a place."""
    return [shape for choice in choices if choice for shape in choice[1]]


def best_spots(
    wishes: Sequence[Sequence[tuple[Shape, ...]]], taken: Sequence[Shape], lines: Sequence[Shape], frame: Shape
) -> tuple[int | None, ...]:
    """For each label the number of its place among those that it may have, the best first; None where it fits nowhere beside
    the others. A place is the shape of the words, and the thin line that leads to them if there is one.

    No two labels meet, nor their thin lines; none meets what is ``taken`` or leaves the frame. Those with the fewest free
    places choose first, each the best that is left; a line behind the words counts as some places down.

    >>> spot = lambda x: (box((x, 0), 4, 1),)
    >>> best_spots([(spot(0), spot(10)), (spot(1),)], [], [], box((0, 0), 20, 5))
    (1, 0)
    >>> best_spots([(spot(0),), (spot(1),)], [box((15, 0), 4, 1)], [], box((0, 0), 20, 5))
    (0, None)
    """
    free = [
        [
            (rank + CROSSED * sum(meet(shape, line) for line in lines), rank)
            for rank, (shape, *_) in enumerate(places)
            if within(shape, frame) and not any(meet(shape, other) for other in taken)
        ]
        for places in wishes
    ]
    chosen: dict[int, int] = {}
    for i in sorted(range(len(wishes)), key=lambda i: len(free[i])):
        others = [shape for j, rank in chosen.items() for shape in wishes[j][rank]]
        ranks = (
            rank for _, rank in sorted(free[i]) if not any(meet(*pair) for pair in product(wishes[i][rank], others))
        )
        if (first := next(ranks, None)) is not None:
            chosen[i] = first
    return tuple(chosen.get(i) for i in range(len(wishes)))


# A space at which no row ends: beside a sign, and before a unit.
UNBROKEN = re.compile(r"((?<=\s[=≈≪≫≤≥<>×·])|(?<=\S)(?=\s[=≈≪≫≤≥<>×·]\s)|(?<=\d)(?=\s[kMGTP]?(?:B/s|FLOPs/s|%)))\s")
# A cell that has nothing to say.
NOTHING = "–"


# The colour of a row, or that and the dash of a line.
Look: TypeAlias = "str | tuple[str, Dash]"


class Table(NamedTuple):
    """A table beneath a figure, with a colour for each row, or for none."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    colours: Sequence[Look] = ()

    @property
    def columns(self) -> list[tuple[str, ...]]:
        return list(zip(self.head, *self.rows, strict=True))

    def narrowed(self, breadth: Callable[[str], float], room: float, gap: float) -> Table:
        """The same with long names in the first columns cut, so that each of the others has room beside them."""
        columns = self.columns
        names = 2 if self.rows and self.rows[0][0].isdigit() else 1
        rest = max((breadth(cell) for column in columns[names:] for cell in column), default=0.0)
        most = room - rest - gap * 2 - (max(map(breadth, columns[0])) + gap if names == 2 else 0)

        def cut(cell: str) -> str:
            while len(cell) > 4 and breadth(cell) > most:
                cell = cell[:-2].rstrip(" …") + "…"
            return cell

        rows = [[cut(cell) if j == names - 1 else cell for j, cell in enumerate(row)] for row in self.rows]
        return Table(self.head, rows, self.colours)

    def part(self, columns: Sequence[int]) -> Table:
        """Some of the columns, with the rows in which one but the first says something."""
        shown = [i for i, row in enumerate(self.rows) if any(row[j] != NOTHING for j in columns[1:] or columns)]
        rows = [[self.rows[i][j] for j in columns] for i in shown]
        return Table([self.head[j] for j in columns], rows, [self.colours[i] for i in shown if self.colours])

    def parts(self, breadth: Callable[[str], float], room: float, gap: float) -> list[tuple[Table, list[float]]]:
        """The tables that stand one below the other in so much room, each with the breadths of its columns."""
        table = self.narrowed(breadth, room, gap)
        breadths = [max(map(breadth, column)) for column in table.columns]
        return [(table.part(part), [breadths[j] for j in part]) for part in blocks(breadths, room, gap)]


def blocks(breadths: Sequence[float], room: float, gap: float) -> list[list[int]]:
    """The columns of a table that stand beside one another in so much room, those of the first one at the head of each.

    >>> blocks([3, 2, 2, 2], 8, 0), blocks([3, 2, 2, 2], 9, 0), blocks([3, 9], 8, 0)
    ([[0, 1, 2], [0, 3]], [[0, 1, 2, 3]], [[0, 1]])
    """
    result = [[0]]
    for j in range(1, len(breadths)):
        if len(result[-1]) > 1 and sum(breadths[i] + gap for i in (*result[-1], j)) - gap > room:
            result.append([0])
        result[-1].append(j)
    return result


def rows_of(text: str, width: int, indent: str = "") -> list[str]:
    """Rows of so many letters, later ones indented, a Korean or Chinese character counting as two; a name that is longer
    than a row is cut."""
    rows = fold(UNBROKEN.sub(r"\1" + NBSP, _in_one(text)), width, indent)
    return [part for row in rows for part in (wrap(row, width) if cells(row) > width else [row])]


def _in_one(text: str) -> str:
    """The rows of a label as one."""
    return close_up(text.replace("\n", " "))
