"""A mesh played out: what each chip holds, multiplies, lacks and sends, from the shapes that the user wrote alone.

Every dimension is cut into equal blocks, one for each place on the axes that split it somewhere. A chip holds a box of
blocks of each tensor. From the boxes of the chips along one axis follow, by looking at them:

    the same contracted blocks in every operand, others on every chip    partial sums: each chip multiplies its own
    a chip needs all that every other one holds                          all-gather
    a chip needs of every other one a part that nobody else needs        all-to-all
    every chip has partial sums of one box, and keeps a part of it       reduce-scatter
    every chip has partial sums of one box, and keeps it                 all-reduce

A box with r of the n blocks of a dimension of size d counts r d/n entries, so that one play gives the exact amounts for
all sizes. An axis of more than LARGEST chips is not played: its amounts, times a power of its number of chips, are a
polynomial in that number, which is known from as many smaller axes as its degree asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import combinations, product
from math import prod
from operator import mul

from symroof.errors import CheckError
from symroof.formula import Frozen
from symroof.proof.collectives import MeshAxis, played
from symroof.proof.polynomials import Poly, Rat

LARGEST = 64
Block = tuple[tuple[str, int], ...]
Box = dict[str, frozenset[Block]]
Split = frozenset[tuple[str, str]]
# An exchange: the collective, the axis that it goes over, and the number of the tensor.
Exchange = tuple[str, str, int]


class Placement(Frozen):
    """What one chip of a mesh does, as the user wrote it: the dimensions of each tensor with their axes, the output last,
    the bits of an element and a name for each, the mesh, and how additions are counted."""

    tensors: tuple[tuple[tuple[str, str | None], ...], ...]
    bits: tuple[int, ...]
    names: tuple[str, ...]
    mesh: tuple[MeshAxis, ...]
    count: str

    def axis(self, name: str) -> MeshAxis:
        return next(axis for axis in self.mesh if axis.name == name)


class Played(Frozen):
    """The exchanges of the play, and its amounts by what they are and their number: the operations of a chip ("work"), bytes in its
    own memory ("memory", and "part" for each tensor), what a link carries ("link", and "sending" for each exchange), the
    "payload" of each exchange, and how many chips do different work ("sharing"). ``whole`` says that the mesh was played
    in its own size."""

    exchanges: tuple[Exchange, ...]
    amounts: Mapping[tuple[str, int], Rat]
    whole: bool = True


@lru_cache(maxsize=256)
def play(given: Placement) -> Played:
    """The amounts of one chip, by playing the mesh, or smaller ones of the same wiring that determine it."""
    large = next((axis for axis in given.mesh if axis.chips is None or axis.chips > LARGEST), None)
    if large is None:
        return Board(given).play()
    degree = 2 + sum(axis == large.name for tensor in given.tensors for _, axis in tensor)
    sizes = [4 - (large.chips or 0) % 2 + 2 * i for i in range(degree + 2)]
    wiring = "switch" if large.is_switch else "ring" if large.is_ring else "line"
    smaller = []
    for n in sizes:
        mesh = tuple(replace(large, chips=n, wiring=wiring) if a is large else a for a in given.mesh)
        smaller.append(play(replace(given, mesh=mesh)))
    if len({small.exchanges for small in smaller}) != 1:
        raise CheckError("meshes of different sizes need different exchanges")

    size = Poly.name(large.name) if large.chips is None else Poly.number(Fraction(large.chips))

    def at_size(amounts: Iterable[Rat]) -> Rat:
        """The polynomial through the amounts times n**degree, at the size, over size**degree (Lagrange)."""
        total = Rat(Poly())
        for n, amount in zip(sizes, amounts, strict=True):
            others = [m for m in sizes if m != n]
            weight = Poly.number(Fraction(n**degree, prod(n - m for m in others)))
            total += amount * Rat(reduce(mul, (size - Poly.number(Fraction(m)) for m in others), weight))
        below = total.below * size**degree
        number = Rat(below).constant
        return Rat(total.above, below) if number is None else Rat(total.above * (1 / number))

    amounts = {key: at_size(small.amounts[key] for small in smaller) for key in smaller[0].amounts}
    return Played(smaller[0].exchanges, amounts, whole=False)


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

    @property
    def bytes(self) -> Poly:
        """The bytes on a chip."""
        return self.board.entries(self.labels, self.split) * Fraction(self.board.given.bits[self.place], 8)

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

    @property
    def chips(self) -> dict[str, int]:
        return {axis.name: axis.chips or 0 for axis in self.given.mesh}

    def labels(self, place: int) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label for label, _ in self.given.tensors[place]))

    def declared(self, place: int) -> Spread:
        pairs = self.given.tensors[place]
        return Spread(self, place, frozenset((x, axis) for x, axis in pairs if axis and self.chips[axis] > 1))

    def blocks(self, label: str) -> list[Block]:
        axes = sorted({axis for tensor in self.given.tensors for name, axis in tensor if axis and name == label})
        return [tuple(zip(axes, digits, strict=True)) for digits in product(*(range(self.chips[a]) for a in axes))]

    def box(self, labels: Iterable[str], split: Split, chip: Mapping[str, int]) -> Box:
        """The blocks that have the chip's own place on every axis that splits their dimension; it is 0 where none is said."""
        own = {label: {(axis, chip.get(axis, 0)) for name, axis in split if name == label} for label in labels}
        return {label: frozenset(b for b in self.blocks(label) if places <= set(b)) for label, places in own.items()}

    def entries(self, labels: Iterable[str], split: Split) -> Poly:
        """How many entries a chip holds of what has these labels."""
        box = self.box(labels, split, {})
        parts = (Fraction(len(b), len(self.blocks(x))) * (int(x) if x.isdigit() else 1) for x, b in box.items())
        return Poly({tuple(sorted((label, 1) for label in box if not label.isdigit())): prod(parts, start=Fraction(1))})

    @property
    def output(self) -> int:
        return len(self.given.tensors) - 1

    @property
    def contracted(self) -> tuple[str, ...]:
        labels = dict.fromkeys(label for place in range(self.output) for label in self.labels(place))
        return tuple(label for label in labels if label not in self.labels(self.output))

    def play(self) -> Played:
        given, output, contracted = self.given, self.output, self.contracted
        axes = [axis.name for axis in given.mesh if axis.is_split]
        divided = frozenset((label, axis) for axis in axes for label in self.divided(axis))
        labels = (*contracted, *self.labels(output))
        turns, results = self.entries(labels, divided), self.entries(self.labels(output), divided)
        work = turns * Fraction(output - 1)
        if contracted:
            work += turns
        if contracted and given.count != "fma":  # it adds its own products up, and its share of the sums of the others
            joined = prod(self.chips[axis] for label, axis in divided if label in contracted)
            work -= results * Fraction(1, joined)
        parts = [Spread(self, place, divided).bytes for place in range(output + 1)]
        moves = [*(move for place in range(output) for move in self._fetched(place, divided)), *self._joined(divided)]
        payloads, sent = [], []
        for (collective, axis, _), before in moves:
            whole, wired = before.moved(frozenset(), axis), given.axis(axis)
            payloads.append(whole.bytes)  # the tensor as it is without the split over this axis
            sent.append(whole.bytes * played(collective, self.chips[axis], wired.is_ring, wired.is_switch))
        (everything,), (own,) = self.entries(labels, frozenset()).values(), turns.values()
        amounts = {
            "work": [work],
            "memory": [sum(parts, Poly())],
            "part": parts,
            "link": [sum(sent, Poly())],
            "sending": sent,
            "payload": payloads,
            "sharing": [Poly.number(everything / own)],
        }
        numbered = {(kind, i): Rat(amount) for kind, values in amounts.items() for i, amount in enumerate(values)}
        return Played(tuple(exchange for exchange, _ in moves), numbered)

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

    def _fetched(self, place: int, divided: Split) -> Iterator[tuple[Exchange, Spread]]:
        """What a chip has to get of an operand: what it multiplies and does not hold."""
        held, needs = self.declared(place), frozenset(pair for pair in divided if pair[0] in self.labels(place))
        own = {axis for _, axis in held.split}
        held = replace(held, split=held.split | {pair for pair in needs if pair[1] not in own})  # the rest is left out
        axes = sorted({axis for _, axis in held.split - needs})
        for axis in sorted(axes, key=lambda a: held.collective(held.moved(needs, a), a) == "all-gather"):
            after = held.moved(needs, axis)
            yield (held.collective(after, axis), axis, place), held
            held = after
        if held.split != needs:
            raise CheckError("an operand does not reach the chips that multiply it")

    def _joined(self, divided: Split) -> Iterator[tuple[Exchange, Spread]]:
        """How partial sums and results come to where the output is declared."""
        place, declared = self.output, self.declared(self.output).split
        held = Spread(self, place, frozenset(pair for pair in divided if pair[0] in self.labels(place)))
        summed = sorted(axis for label, axis in divided if label in self.contracted)
        for axis in summed:
            if not disjoint([self.box(self.contracted, divided, {axis: i}) for i in range(self.chips[axis])]):
                raise CheckError(f"the partial sums along {axis} are not of different products")
        scattered = {axis for _, axis in declared}
        for axis in sorted(summed, key=lambda axis: axis not in scattered):
            after = replace(held, split=held.split | {pair for pair in declared if pair[1] == axis})
            wanted = after.along(axis)
            yield ("all-reduce" if wanted[0] == wanted[1] else "reduce-scatter", axis, place), held
            held = after
        for axis in sorted({axis for _, axis in held.split - declared}):
            after = held.moved(declared, axis)
            yield (held.collective(after, axis), axis, place), held
            held = after
        if held.split != declared:
            raise CheckError("the output does not end where it is declared")


def _common(one: Box, other: Box) -> Box:
    return {label: one[label] & other[label] for label in one}


def disjoint(boxes: Iterable[Box]) -> bool:
    """Whether no two boxes have a place in common: some dimension keeps them apart."""
    return all(any(not one[label] & other[label] for label in one) for one, other in combinations(boxes, 2))
