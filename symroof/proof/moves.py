"""What a plan of exchanges is made of, and what its chips hold and move: of an array a box, the places on axes that the blocks
of each dimension have, as the bits of a number; all where nothing is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from symroof.formula import Frozen
from symroof.proof.acts import Act, Turn

Box = Mapping[tuple[str, str], int]


def any_of(masks: Iterable[int]) -> int:
    result = 0
    for mask in masks:
        result |= mask
    return result


def common(one: Box, other: Box) -> Box:
    return {**one, **{pair: places & one.get(pair, places) for pair, places in other.items()}}


def within(one: Box, other: Box) -> bool:
    """Whether a box lies in another."""
    return all(pair in one and not one[pair] & ~places for pair, places in other.items())


def apart(boxes: Sequence[Box], pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether no two boxes that differ in these pairs alone have something in common: by the places of one pair after another.

    >>> places = [{("D", "X"): 1 << x, ("D", "Y"): 1 << y} for x in range(2) for y in range(2)]
    >>> apart(places, [("D", "X"), ("D", "Y")]), apart([*places, {("D", "X"): 1}], [("D", "X"), ("D", "Y")])
    (True, False)
    """
    if len(boxes) < 2 or not pairs:
        return len(boxes) < 2
    masks = [box.get(pairs[0], -1) for box in boxes]
    told = any_of(mask for mask in masks if mask >= 0)
    bits = [1 << i for i in range(told.bit_length()) if told >> i & 1] or [1]
    groups = {tuple(i for i, mask in enumerate(masks) if mask & bit) for bit in bits}
    return all(apart([boxes[i] for i in group], pairs[1:]) for group in groups)


Split = frozenset[tuple[str, str]]


class Move(Frozen):
    """A collective of an array over axes of one link: of an ``operand``, of partial ``sums``, of a ``result``, or of
    the numbers of ``rows``; or what a ``stage`` hands on."""

    collective: str
    axes: tuple[str, ...]
    array: str
    of: str


class Plan(Frozen):
    """What a plan says of one act: the labels that cut its work, each with the axis, and what is moved, in order."""

    result: str
    work: Split
    moves: tuple[Move, ...]


class Transfer(Frozen):
    """A move as it was carried out; ``apart`` are the axes that cut its message, ``rows`` how many numbers of each row
    ``over`` a label it moves, 0 for the whole array. ``before`` and ``after`` are the labels that the axes cut there
    and then: those of the work for partial sums, and for what an operand is brought to. What is moved ``once`` is not
    moved in every microbatch, what is ``alike`` not in every turn."""

    collective: str
    axes: tuple[str, ...]
    array: str
    apart: tuple[str, ...]
    of: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    rows: int = 0
    over: str | None = None
    once: bool = False
    alike: bool = False

    def around(self, act: Act) -> tuple[Turn, ...]:
        """The turns of an act in each of which it is carried out: what a stage hands on leaves the last of its own."""
        turns = act.turns
        if self.of == "stage":
            turns = turns[: next(i for i, turn in enumerate(turns) if turn.over)]
        return tuple(turn for turn in turns if not (self.alike or (self.once and turn.batch)))


class Part(Frozen):
    """What the chips do of one act: the axes that cut its work, its rows, its operands and its result; and what is
    moved."""

    work: frozenset[str]
    rows: frozenset[str]
    operands: tuple[Split, ...]
    result: frozenset[str]
    moved: tuple[Transfer, ...]


class Share(Frozen):
    """What one chip holds of an array: a box of blocks, and of the sum of each the parts that were added up; a part
    without a limit is whole."""

    blocks: Box
    sums: tuple[Box, ...] = ({},)
