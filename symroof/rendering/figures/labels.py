"""Where labels go on a sheet: each at one of its places, so that none lies on another, on a marker or over an edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, radians, sin

Point = tuple[float, float]
# A convex polygon by its corners; two corners are a segment, one is a point.
Shape = tuple[Point, ...]
CROSSED = 4  # what a line behind the words costs, in steps of the order of places
BUDGET = 20_000


@dataclass(frozen=True, slots=True)
class Wish:
    """A label: the places where it may stand, the best first. One that fits nowhere is left out."""

    places: tuple[Shape, ...]


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


def meet(first: Shape, second: Shape) -> bool:
    """Whether two convex shapes have more than an edge in common: no line separates them.

    >>> meet(box((0, 0), 2, 1), box((1, 0.5), 2, 1)), meet(box((0, 0), 2, 1), box((2, 0), 2, 1))
    (True, False)
    >>> meet(box((0, 0), 2, 1), ((-1, -1), (3, 2))), meet(box((0, 0), 2, 1), ((-1, 0.5), (-1, 3)))
    (True, False)
    """
    for shape in (first, second):
        for (x0, y0), (x1, y1) in zip(shape, (*shape[1:], shape[0]), strict=True):
            across, up = y0 - y1, x1 - x0
            one = [across * x + up * y for x, y in first]
            other = [across * x + up * y for x, y in second]
            if max(one) <= min(other) or max(other) <= min(one):
                return False
    return _near(first, second)


def _near(first: Shape, second: Shape) -> bool:
    """Whether their upright bounds meet."""
    return all(
        max(p[i] for p in first) > min(p[i] for p in second) and max(p[i] for p in second) > min(p[i] for p in first)
        for i in (0, 1)
    )


def within(shape: Shape, frame: Shape) -> bool:
    """Whether a shape lies inside of an upright rectangle."""
    (left, bottom), _, (right, top), _ = frame
    return all(left <= x <= right and bottom <= y <= top for x, y in shape)


def placed(
    wishes: Sequence[Wish], taken: Sequence[Shape], lines: Sequence[Shape], frame: Shape
) -> tuple[int | None, ...]:
    """For each label the number of its place, or None where it fits nowhere beside the others.

    No two labels meet, none meets what is ``taken`` or leaves the frame. As many as possible are placed, at the best
    of their places; a line behind a label counts as some places down. Exact where there are few, else the best that
    a bounded search finds; the same for the same wishes.

    >>> spot = lambda x: box((x, 0), 4, 1)
    >>> placed([Wish((spot(0), spot(10))), Wish((spot(1), spot(2)))], [], [], box((0, 0), 20, 5))
    (1, 0)
    >>> placed([Wish((spot(0),)), Wish((spot(1),))], [spot(15)], [], box((0, 0), 20, 5))
    (0, None)
    """
    costs = [
        [
            (rank + CROSSED * sum(_near(place, line) and meet(place, line) for line in lines), rank)
            for rank, place in enumerate(wish.places)
            if within(place, frame) and not any(meet(place, other) for other in taken)
        ]
        for wish in wishes
    ]
    order = sorted(range(len(wishes)), key=lambda i: len(costs[i]))
    search = _Search(wishes, [sorted(row) for row in costs], order)
    search.go_on(0, {}, 0, 0)
    return tuple(search.best.get(i) for i in range(len(wishes)))


class _Search:
    """Depth first over the labels, the most constrained first; the best so far bounds what is tried."""

    def __init__(
        self, wishes: Sequence[Wish], costs: Sequence[Sequence[tuple[int, int]]], order: Sequence[int]
    ) -> None:
        self.wishes, self.costs, self.order = wishes, costs, order
        self.best: dict[int, int] = {}
        self.score = (len(wishes) + 1, 0)
        self.left = BUDGET

    def go_on(self, depth: int, chosen: dict[int, int], missing: int, cost: int) -> None:
        self.left -= 1
        if (missing, cost) >= self.score or (self.left < 0 and self.best):
            return
        if depth == len(self.order):
            self.best, self.score = dict(chosen), (missing, cost)
            return
        label = self.order[depth]
        for extra, rank in self.costs[label]:
            place = self.wishes[label].places[rank]
            if not any(meet(place, self.wishes[other].places[at]) for other, at in chosen.items()):
                self.go_on(depth + 1, {**chosen, label: rank}, missing, cost + extra)
        self.go_on(depth + 1, chosen, missing + 1, cost)
