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

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product
from math import prod

from symroof.errors import CheckError
from symroof.proof.collectives import played
from symroof.proof.exact import Poly, add, scale
from symroof.proof.grounds import MeshAxis, Placement

LARGEST = 64
Block = tuple[tuple[str, int], ...]
Box = dict[str, frozenset[Block]]
Chip = dict[str, int]
Split = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Sending:
    """A collective of the play: over which axis, of which tensor, its payload in bytes and what a link carries of it."""

    collective: str
    axis: str
    place: int
    payload: Poly
    sent: Poly


@dataclass(frozen=True, slots=True)
class Played:
    """What one chip does: operations, bytes of each tensor in its own memory, and what it sends. ``sharing`` chips do different work;
    ``whole`` says that the mesh was played in its own size."""

    work: Poly
    parts: tuple[Poly, ...]
    sendings: tuple[Sending, ...]
    sharing: Fraction
    whole: bool = True

    @property
    def memory(self) -> Poly:
        return reduce(add, self.parts)


@dataclass(frozen=True, slots=True)
class _Board:
    """The blocks of every dimension, and the chips of the mesh."""

    given: Placement

    @property
    def chips(self) -> dict[str, int]:
        return {axis.name: axis.chips for axis in self.given.mesh}

    def labels(self, place: int) -> tuple[str, ...]:
        return tuple(label for label, _ in self.given.tensors[place])

    def split(self, place: int) -> Split:
        return frozenset((label, axis) for label, axis in self.given.tensors[place] if axis and self.chips[axis] > 1)

    def blocks(self, label: str) -> list[Block]:
        axes = sorted({axis for tensor in self.given.tensors for name, axis in tensor if axis and name == label})
        return [tuple(zip(axes, digits, strict=True)) for digits in product(*(range(self.chips[a]) for a in axes))]

    def box(self, labels: Iterable[str], split: Split, chip: Chip) -> Box:
        """The blocks that have the chip's own place on every axis that splits their dimension."""
        own = {label: {(axis, chip[axis]) for name, axis in split if name == label} for label in labels}
        return {label: frozenset(b for b in self.blocks(label) if places <= set(b)) for label, places in own.items()}

    def row(self, axis: str) -> list[Chip]:
        """The chips that differ from the first one in their place on the axis alone."""
        first = dict.fromkeys(self.chips, 0)
        return [{**first, axis: place} for place in range(self.chips[axis])]

    def entries(self, box: Box) -> Poly:
        size = prod(
            (Fraction(len(b), len(self.blocks(x))) * (int(x) if x.isdigit() else 1) for x, b in box.items()),
            start=Fraction(1),
        )
        return {tuple(sorted((label, 1) for label in box if not label.isdigit())): size}


@lru_cache(maxsize=256)
def play(given: Placement) -> Played:
    """The amounts of one chip, by playing the mesh, or smaller ones of the same wiring that determine it."""
    large = next((axis for axis in given.mesh if axis.chips > LARGEST), None)
    if large is None:
        return _played(given)
    degree = 2 + sum(axis == large.name for tensor in given.tensors for _, axis in tensor)
    sizes = [4 - large.chips % 2 + 2 * i for i in range(degree + 2)]
    ring = "ring" if is_ring(large) else "line"
    smaller = [play(_resized(given, replace(large, chips=size, wiring=ring))) for size in sizes]
    kinds = {tuple((s.collective, s.axis, s.place) for s in small.sendings) for small in smaller}
    if len(kinds) != 1:
        raise CheckError("meshes of different sizes need different exchanges")

    def at_size(amounts: Iterable[Poly]) -> Poly:
        return _continued(
            sizes, [scale(p, Fraction(n**degree)) for n, p in zip(sizes, amounts, strict=True)], large.chips, degree
        )

    sendings = tuple(
        replace(
            s,
            payload=at_size(p.sendings[i].payload for p in smaller),
            sent=at_size(p.sendings[i].sent for p in smaller),
        )
        for i, s in enumerate(smaller[0].sendings)
    )
    sharing = at_size({(): p.sharing} for p in smaller)[()]
    parts = tuple(at_size(p.parts[i] for p in smaller) for i in range(len(given.bits)))
    return Played(at_size(p.work for p in smaller), parts, sendings, sharing, whole=False)


def _resized(given: Placement, axis: MeshAxis) -> Placement:
    return replace(given, mesh=tuple(axis if a.name == axis.name else a for a in given.mesh))


def _continued(sizes: list[int], values: list[Poly], size: int, degree: int) -> Poly:
    """The polynomial through the values at the sizes, at another size, over size**degree (Lagrange)."""
    total: Poly = {}
    for i, n in enumerate(sizes):
        weight = prod((Fraction(size - m, n - m) for j, m in enumerate(sizes) if j != i), start=Fraction(1))
        total = add(total, scale(values[i], weight / size**degree))
    return total


def is_ring(axis: MeshAxis) -> bool:
    """Whether the axis closes: as the user says, else as the chip does; two chips are a line."""
    said = axis.wiring or ("ring" if axis.wraparound and axis.chips % axis.wraparound == 0 else "line")
    return said == "ring" and axis.chips > 2


def _played(given: Placement) -> Played:
    board, operands, output = _Board(given), range(len(given.tensors) - 1), len(given.tensors) - 1
    labels = tuple(dict.fromkeys(label for place in operands for label in board.labels(place)))
    contracted = tuple(label for label in labels if label not in board.labels(output))
    divided = frozenset(
        (label, axis.name) for axis in given.mesh for label in _divided(board, axis.name, contracted) if axis.chips > 1
    )
    first = dict.fromkeys(board.chips, 0)
    turns = board.entries(board.box(labels, divided, first))
    results = board.entries(board.box(board.labels(output), divided, first))
    products = scale(turns, Fraction(len(operands) - 1))
    work = products
    if contracted and given.count == "fma":
        work = add(products, turns)
    elif contracted:  # a chip adds its own products up, and its share of the partial sums of the others
        joined = prod(board.chips[axis] for label, axis in divided if label in contracted)
        work = add(add(products, turns), scale(results, Fraction(joined - 1, joined) - 1))
    parts = tuple(
        scale(board.entries(board.box(board.labels(place), divided, first)), Fraction(bits, 8))
        for place, bits in enumerate(given.bits)
    )
    sendings = [s for place in operands for s in _fetched(board, place, divided)]
    sendings += _joined(board, output, divided, contracted)
    everything = board.entries(board.box(labels, frozenset(), first))
    sharing = next(iter(everything.values())) / next(iter(turns.values()))
    return Played(work, parts, tuple(sendings), sharing)


def _divided(board: _Board, axis: str, contracted: tuple[str, ...]) -> list[str]:
    """The dimension whose blocks the chips along the axis share out, told from the boxes that they hold."""
    row, output = board.row(axis)[:2], len(board.given.tensors) - 1
    if len(row) < 2:
        return []
    held = [[board.box(board.labels(p), board.split(p), chip) for chip in row] for p in range(output + 1)]

    def apart(place: int, label: str) -> bool:
        return not held[place][0][label] & held[place][1][label]

    def everywhere(label: str) -> bool:
        return all(apart(p, label) for p in range(output) if label in held[p][0])

    carried = {label for p in range(output) for label in board.labels(p) if apart(p, label)}
    summed = [label for label in contracted if everywhere(label)]
    shown = [label for label in board.labels(output) if apart(output, label)]
    if summed:
        return summed[:1]
    if shown and len(carried) == 1 and everywhere(*carried):
        return list(carried)
    if not shown and carried - set(contracted):
        raise CheckError(f"nothing says who gathers what the chips along {axis} hold apart")
    return shown


def _fetched(board: _Board, place: int, divided: Split) -> Iterator[Sending]:
    """What a chip has to get of an operand: what it multiplies and does not hold."""
    labels = board.labels(place)
    held, needs = board.split(place), frozenset(pair for pair in divided if pair[0] in labels)
    held |= {pair for pair in needs if all(pair[1] != axis for _, axis in held)}  # what it does not need is left out
    axes = sorted({axis for _, axis in held - needs})
    for axis in sorted(axes, key=lambda a: _collective(board, labels, held, _moved(held, needs, a), a) == "all-gather"):
        after = _moved(held, needs, axis)
        yield _sending(board, place, held, after, axis)
        held = after
    if held != needs:
        raise CheckError("an operand does not reach the chips that multiply it")


def _joined(board: _Board, place: int, divided: Split, contracted: tuple[str, ...]) -> Iterator[Sending]:
    """How partial sums and results come to where the output is declared."""
    labels, declared = board.labels(place), board.split(place)
    held = frozenset(pair for pair in divided if pair[0] in labels)
    summed = sorted(axis for label, axis in divided if label in contracted)
    for axis in summed:
        shares = [board.box(contracted, divided, chip) for chip in board.row(axis)]
        if not _partition([tuple(share[label] for label in contracted) for share in shares], len(shares)):
            raise CheckError(f"the partial sums along {axis} are not of different products")
    scattered = [axis for axis in summed if any(pair[1] == axis for pair in declared)]
    for axis in (*scattered, *(axis for axis in summed if axis not in scattered)):
        after = held | {pair for pair in declared if pair[1] == axis}
        yield _sending(board, place, held, after, axis, sums=True)
        held = after
    for axis in sorted({axis for _, axis in held - declared}):
        after = _moved(held, declared, axis)
        yield _sending(board, place, held, after, axis)
        held = after
    if held != declared:
        raise CheckError("the output does not end where it is declared")


def _moved(held: Split, wanted: Split, axis: str) -> Split:
    """The split after an exchange over one axis."""
    return frozenset(pair for pair in held if pair[1] != axis) | {pair for pair in wanted if pair[1] == axis}


def _partition(shares: list[tuple[frozenset[Block], ...]], chips: int) -> bool:
    """Whether boxes that differ along one dimension are apart from one another."""
    return len(set(shares)) == chips and all(
        any(not a & b for a, b in zip(one, other, strict=True)) for i, one in enumerate(shares) for other in shares[:i]
    )


def _collective(
    board: _Board, labels: tuple[str, ...], before: Split, after: Split, axis: str, *, sums: bool = False
) -> str:
    """The exchange that brings the chips along an axis from one split to another."""
    row = board.row(axis)
    has = [board.box(labels, before, chip) for chip in row]
    wants = [board.box(labels, after, chip) for chip in row]
    if sums:
        return "all-reduce" if wants[0] == wants[1] else "reduce-scatter"
    gets = [[{x: want[x] & have[x] for x in labels} for have in has] for want in wants]
    if all(gets[i][j] == has[j] for i in range(len(row)) for j in range(len(row))):
        return "all-gather"
    if all(_apart(gets[i][j], gets[k][j]) for j in range(len(row)) for i in range(len(row)) for k in range(i)):
        return "all-to-all"
    raise CheckError(f"the chips along {axis} need an exchange that has no name")


def _apart(one: Box, other: Box) -> bool:
    return any(not one[label] & other[label] for label in one)


def _sending(board: _Board, place: int, before: Split, after: Split, axis: str, *, sums: bool = False) -> Sending:
    """The collective played, with its payload: the tensor as it is without the split over this axis."""
    labels, wired = board.labels(place), next(a for a in board.given.mesh if a.name == axis)
    name = _collective(board, labels, before, after, axis, sums=sums)
    whole = frozenset(pair for pair in before if pair[1] != axis)
    first = dict.fromkeys(board.chips, 0)
    payload = scale(board.entries(board.box(labels, whole, first)), Fraction(board.given.bits[place], 8))
    return Sending(name, axis, place, payload, scale(payload, played(name, wired.chips, is_ring(wired))))
