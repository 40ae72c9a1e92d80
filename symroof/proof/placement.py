"""A mesh laid out: what each chip holds, multiplies and lacks, from the shapes that the user wrote alone.

Every dimension is cut into equal blocks, one for each place on the axes that split it somewhere. A chip holds a box of
blocks of each tensor, and of a dimension those that have certain places on each axis. From the boxes of the chips along one axis follow, by looking at them:

    the same contracted blocks in every operand, others on every chip    partial sums: each chip multiplies its own
    a chip needs all that every other one holds                          all-gather
    a chip needs of every other one a part that nobody else needs        all-to-all
    every chip has partial sums of one box, and keeps a part of it       reduce-scatter
    every chip has partial sums of one box, and keeps it                 all-reduce
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import combinations

from symroof.errors import CheckError
from symroof.formula import Frozen
from symroof.proof.collectives import MeshAxis

Split = frozenset[tuple[str, str]]


class Blocks(Frozen):
    """The blocks of a dimension that have one of these places on some of the axes that cut it, and any on the others.

    >>> one, two = Blocks((("X", frozenset({0})),)), Blocks((("X", frozenset({0})), ("Y", frozenset({1}))))
    >>> two <= one, one <= two, bool(one & two), bool(two & Blocks((("X", frozenset({1})),)))
    (True, False, True, False)
    """

    places: tuple[tuple[str, frozenset[int]], ...]

    def __le__(self, other: Blocks) -> bool:
        mine = dict(self.places)
        return not self or all(axis in mine and mine[axis] <= places for axis, places in other.places)

    def __and__(self, other: Blocks) -> Blocks:
        mine, theirs = dict(self.places), dict(other.places)
        both = {axis: mine[axis] & theirs[axis] for axis in mine.keys() & theirs.keys()}
        return Blocks(tuple(sorted({**mine, **theirs, **both}.items())))

    def __bool__(self) -> bool:
        return all(places for _, places in self.places)


Box = dict[str, Blocks]


class Placement(Frozen):
    """The dimensions of each tensor with their axes, the output last, and the mesh."""

    tensors: tuple[tuple[tuple[str, str | None], ...], ...]
    mesh: tuple[MeshAxis, ...]


class Spread(Frozen):
    """A tensor over the mesh: every chip holds the blocks that have its own place on the axes that split it."""

    board: Board
    place: int
    split: Split

    def along(self, axis: str) -> list[Box]:
        """What the chips hold that differ from the first one in their place on the axis alone."""
        return [self.board.box(self.labels, self.split, {axis: place}) for place in range(self.board.chips[axis])]

    @property
    def labels(self) -> tuple[str, ...]:
        return self.board.labels(self.place)

    def moved(self, wanted: Split, axis: str) -> Spread:
        """After an exchange over one axis."""
        kept = frozenset(pair for pair in self.split if pair[1] != axis)
        return replace(self, split=kept | {pair for pair in wanted if pair[1] == axis})

    def collective(self, after: Spread, axis: str) -> str:
        """The exchange that brings the chips along an axis from here to there."""
        has, wants = self.along(axis), after.along(axis)
        if all(have[label] <= want[label] for have in has for want in wants for label in self.labels):
            return "all-gather"
        if all(disjoint([_common(want, have) for want in wants]) for have in has):
            return "all-to-all"
        raise CheckError(f"the chips along {axis} need an exchange that has no name")


class Board(Frozen):
    """The blocks of every dimension, and the chips of the mesh."""

    given: Placement

    @cached_property
    def chips(self) -> dict[str, int]:
        return {axis.name: axis.chips or 0 for axis in self.given.mesh}

    def labels(self, place: int) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label for label, _ in self.given.tensors[place]))

    def declared(self, place: int) -> Spread:
        pairs = self.given.tensors[place]
        return Spread(self, place, frozenset((x, axis) for x, axis in pairs if axis and self.chips[axis] > 1))

    def box(self, labels: Iterable[str], split: Split, chip: Mapping[str, int]) -> Box:
        """The blocks that have the chip's own place on every axis that splits their dimension; it is 0 where none is said."""
        own = {label: sorted(axis for name, axis in split if name == label) for label in labels}
        return {x: Blocks(tuple((axis, frozenset({chip.get(axis, 0)})) for axis in axes)) for x, axes in own.items()}

    @property
    def output(self) -> int:
        return len(self.given.tensors) - 1

    @property
    def contracted(self) -> tuple[str, ...]:
        labels = dict.fromkeys(label for place in range(self.output) for label in self.labels(place))
        return tuple(label for label in labels if label not in self.labels(self.output))

    def divided(self, axis: str, *, there: bool = False) -> list[str]:
        """The dimension whose blocks the chips along the axis share out, told from the boxes that they hold. What an
        operand holds apart and the output whole is refused, unless it is worked on ``there``."""
        held = [self.declared(place).along(axis)[:2] for place in range(self.output + 1)]
        apart = [{label for label in one if not one[label] & other[label]} for one, other in held]
        *operands, shown = apart
        carried = set().union(*operands)
        everywhere = {x for x in carried if all(x in apart[p] for p in range(self.output) if x in self.labels(p))}
        if summed := [label for label in self.contracted if label in everywhere]:
            return summed[:1]
        if shown and len(carried) == 1 and carried == everywhere:
            return list(carried)
        if not shown and (kept := sorted(carried - set(self.contracted))):
            if there:
                return kept[:1]
            raise CheckError(f"nothing says who gathers what the chips along {axis} hold apart")
        return list(shown)


def _common(one: Box, other: Box) -> Box:
    return {label: one[label] & other[label] for label in one}


def disjoint(boxes: Iterable[Box]) -> bool:
    """Whether no two boxes have a place in common: some dimension keeps them apart."""
    return all(any(not one[label] & other[label] for label in one) for one, other in combinations(boxes, 2))
