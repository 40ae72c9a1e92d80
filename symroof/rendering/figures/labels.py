"""Where words stand on a sheet: each at one of its spots, so that none lies on another, on a marker or over an edge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import cos, hypot, radians, sin
from typing import Any, NamedTuple

from symroof.formula import Frozen

Point = tuple[float, float]
# A convex polygon by its corners; two corners are a segment.
Shape = tuple[Point, ...]
CROSSED = 6  # what a line behind the words costs, in steps of the order of spots


class Spot(Frozen):
    """A place of the data, the side of it on which words stand, and how far; ``angle`` turns them about the place."""

    place: Point
    side: str = "e"
    gap: float = 4
    angle: float = 0


class Label(NamedTuple):
    """Words, their spots and how they look; the ``line`` that they name, and the ``leader`` that a thin line joins them to.

    Those of a lower ``rank`` choose first; those of rank 2 are left out where they have no room.
    """

    text: str
    spots: tuple[Spot, ...]
    look: dict[str, Any]
    line: Sequence[Point] = ()
    leader: Point | None = None
    rank: int = 1


def around(place: Point, sides: str = "e ne se w nw sw n s", gaps: Sequence[float] = (5, 10, 18)) -> tuple[Spot, ...]:
    """The spots about a place, the nearest first."""
    return tuple(Spot(place, side, gap) for gap in gaps for side in sides.split())


def in_place_of(label: Label) -> tuple[Spot, ...]:
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
        one, other = ([across * x + up * y for x, y in shape] for shape in (first, second))
        if max(one) <= min(other) or max(other) <= min(one):
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


def placed(
    wishes: Sequence[Sequence[tuple[Shape, ...]]], taken: Sequence[Shape], lines: Sequence[Shape], frame: Shape
) -> tuple[int | None, ...]:
    """For each label the number of its place among those that it may have, the best first; None where it fits nowhere beside
    the others. A place is the shape of the words, and the thin line that leads to them if there is one.

    No two labels meet, nor their thin lines; none meets what is ``taken`` or leaves the frame. Those with the fewest free
    places choose first, each the best that is left; a line behind the words counts as some places down.

    >>> spot = lambda x: (box((x, 0), 4, 1),)
    >>> placed([(spot(0), spot(10)), (spot(1),)], [], [], box((0, 0), 20, 5))
    (1, 0)
    >>> placed([(spot(0),), (spot(1),)], [box((15, 0), 4, 1)], [], box((0, 0), 20, 5))
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
