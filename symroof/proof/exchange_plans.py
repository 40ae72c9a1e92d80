"""Plans of exchanges: the axes of a mesh, what the busiest direction of a link carries of a collective, what a plan says of
each op and what its chips hold of an array (a box: the places on axes of the blocks of each dimension, as the bits of a number).
And the conventions that choose among plans that end alike.

The links of one exchange follow one another, the fast one inside: a slow one carries a message that the others cut. What the
axes of one link need of one tensor they do together. What goes back is shared out as what it undoes. Contributions to one
gradient that lack the same are added before they are reduced. That a tensor is gathered once in a pass is no convention of these: nothing is moved to where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby, pairwise
from math import prod

from symroof.errors import CheckError
from symroof.formula import Frozen
from symroof.proof.array_ops import SUM, Op, Turn
from symroof.proof.kernel_traffic import Script
from symroof.proof.polynomials import ONE, Poly, Rat

# A level of a tree: the link, how many children a switch joins, how much narrower its ports are, whether it adds up.
Level = tuple[str, int, Fraction, bool]
# What lies beside the adapter to all other switches.
APART = "NVLink"
# What goes from chip to chip, and how its gradient goes back.
RETURNED = {"send": "send back", "send back": "send", "send far": "send far"}
SWITCHES = ("NVLink", "InfiniBand", "DCN")
# Where no figure says which link is faster: the fast one is inside.
FAST = ("NVLink", "ICI", "InfiniBand", "DCN")


class MeshAxis(Frozen):
    """An axis of a mesh: how it is wired as the user says, and the chip's multiple that closes to a ring. Without a
    number of ``chips`` it stands for every even one from four. ``speed`` is the bandwidth of its link, where that is
    known. A tree has ``levels``: a link, how many children a switch joins, how much narrower its ports are, whether it
    adds up."""

    name: str
    chips: int | None
    wiring: str | None = None
    wraparound: int | None = None
    link: str = ""
    speed: Fraction | None = None
    levels: tuple[Level, ...] = ()

    @property
    def is_ring(self) -> bool:
        """Whether the axis closes: as the user says, else as the chip does; two chips are a line."""
        if self.is_switch:
            return False
        if self.chips is None:
            return (self.wiring or "ring") == "ring"
        wiring = self.wiring or ("ring" if self.wraparound and self.chips % self.wraparound == 0 else "line")
        return wiring == "ring" and self.chips > 2

    @property
    def is_switch(self) -> bool:
        """Whether every chip is one hop from all others: as the user says, else as its network is."""
        return self.wiring == "switch" or (self.wiring is None and self.link.partition(".")[0] in SWITCHES)

    @property
    def kind(self) -> str:
        """What the axis is: two chips of a ring are a line."""
        return "tree" if self.levels else "switch" if self.is_switch else "ring" if self.is_ring else "line"

    @property
    def origin(self) -> str:
        """Where it is known from how the axis is wired: ``said`` by the user, a switched ``network``, an ``open`` axis that
        is taken as a ring, a ``pair`` of chips, or the ``chip``."""
        if self.wiring is not None:
            return "said"
        if self.is_switch:
            return "network"
        return "open" if self.chips is None else "pair" if self.chips <= 2 else "chip"

    def figure(self, resource: str) -> str:
        """The figure of what is busy: that of a level of a tree, else of the link."""
        return resource if any(link == resource for link, *_ in self.levels) else self.link

    @property
    def is_split(self) -> bool:
        """Whether there are several chips."""
        return self.chips is None or self.chips > 1


def fast_first(axes: tuple[MeshAxis, ...]) -> list[str]:
    """The links of axes from fast to slow, as their bandwidths say; as these networks are anywhere; else as they stand."""
    speeds = {axis.link: axis.speed for axis in axes}
    known_speeds, names = (
        [(speed, link) for link, speed in speeds.items() if speed is not None],
        [link.split(".")[0] for link in speeds],
    )
    if len(known_speeds) == len(speeds):
        return [link for _, link in sorted(known_speeds, key=lambda pair: (-pair[0], pair[1]))]
    return (
        sorted(speeds, key=lambda link: (FAST.index(link.split(".")[0]), link)) if {*names} <= {*FAST} else list(speeds)
    )


def share_per_direction(collective: str, chips: Rat, ways: int) -> Rat:
    """What comes in through one of so many directions: the parts of all other chips, one part of each for an all-to-all."""
    others = (chips - Rat(ONE)) / chips
    if collective in ("send", "send back"):
        return Rat(ONE)
    if collective == "all-to-all":
        return others / chips
    return others * Rat(Poly.number(Fraction(2 if collective == "all-reduce" else 1, ways)))


def share_across(axis: MeshAxis) -> Rat:
    """The part of an all-to-all that the middle of an axis carries: from each chip on one side to each on the other, and
    half of it each way around a ring; a quarter of all for every even number."""
    chips = axis.chips or 2
    return Rat(Poly.number(Fraction(chips**2 // 4, chips**2 * (2 if axis.is_ring else 1))))


def merged_levels(parts: Sequence[Sequence[Level]]) -> tuple[Level, ...]:
    """What axes have of a tree, the outermost first, from the chips up: one level where both have some of it."""
    levels_of_all = [level for levels in reversed(parts) for level in levels]
    names = list(dict.fromkeys(link for link, *_ in levels_of_all))
    return tuple(
        (name, prod(degree for link, degree, *_ in levels_of_all if link == name), taper, adds)
        for name in names
        for taper, adds in {(taper, adds) for link, _, taper, adds in levels_of_all if link == name}
    )


def _networks(levels: Sequence[Level]) -> Iterator[tuple[int, tuple[Level, ...]]]:
    """The levels of each network that joins several chips, with the number of chips below it."""
    below = 1
    for _, network in groupby(levels, lambda level: level[0].partition(".")[0] == APART):
        levels_inside = tuple(network)
        degree_product = prod(degree for _, degree, *_ in levels_inside)
        if degree_product > 1:
            yield below, levels_inside
        below *= degree_product


def shares_of_levels(collective: str, levels: Sequence[Level]) -> Iterator[tuple[str, Rat]]:
    """What each level carries of the message of a collective. Of the m chips of a network n are below the child of a level,
    and each of these has a part of what goes out for the m - n others."""
    if collective not in ("all-gather", "reduce-scatter", "all-reduce", "all-to-all"):
        raise CheckError(f"{collective} is not routed on a tree")
    chips = prod(degree for _, degree, *_ in levels)
    for n, network in _networks(levels):
        m = n * prod(degree for _, degree, *_ in network)
        for link, degree, taper, adds in network:
            others = Fraction(m - n, m * n)
            if collective == "all-reduce":
                others = Fraction(1, n) if adds else 2 * others
            elif collective == "all-to-all":
                others = Fraction(m - n, chips**2)
            if n < m:
                yield link, Rat(Poly.number(others * taper))
            n *= degree


def switch_path(levels: Sequence[Level]) -> Iterator[list[tuple[str, int]]]:
    """The switches of each level on the way to the farthest chip, through one network after the other.

    >>> leaf, spine = ("leaf", 4, Fraction(1), False), ("spine", 2, Fraction(1), False)
    >>> list(switch_path((("NVLink", 8, Fraction(1), False), leaf, spine)))
    [[('NVLink', 1)], [('leaf', 2), ('spine', 1)]]
    """
    for _, network in _networks(levels):
        top = max(i for i, (_, degree, *_) in enumerate(network) if degree > 1)
        yield [(link, 2 if i < top else 1) for i, (link, *_) in enumerate(network[: top + 1])]


def ring_hops(axis: MeshAxis) -> Rat:
    """The hops to the farthest chip of a ring or a line."""
    chips = Rat(Poly.name(axis.name)) if axis.chips is None else Rat(Poly.number(Fraction(axis.chips)))
    if not axis.is_ring:
        return chips - Rat(ONE)
    return chips / Rat(Poly.number(Fraction(2))) if axis.chips is None else Rat(Poly.number(Fraction(axis.chips // 2)))


Box = Mapping[tuple[str, str], int]


def mask_union(masks: Iterable[int]) -> int:
    result = 0
    for mask in masks:
        result |= mask
    return result


def overlap(box: Box, other: Box) -> Box:
    return {**box, **{pair: places & box.get(pair, places) for pair, places in other.items()}}


def is_inside(box: Box, other: Box) -> bool:
    """Whether a box lies in another."""
    return all(pair in box and not box[pair] & ~places for pair, places in other.items())


def are_disjoint(boxes: Sequence[Box], pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether no two boxes that differ in these pairs alone have something in common: by the places of one pair after another.

    >>> places = [{("D", "X"): 1 << x, ("D", "Y"): 1 << y} for x in range(2) for y in range(2)]
    >>> are_disjoint(places, [("D", "X"), ("D", "Y")]), are_disjoint([*places, {("D", "X"): 1}], [("D", "X"), ("D", "Y")])
    (True, False)
    """
    if len(boxes) < 2 or not pairs:
        return len(boxes) < 2
    masks = [box.get(pairs[0], -1) for box in boxes]
    known_bits = mask_union(mask for mask in masks if mask >= 0)
    bits = [1 << i for i in range(known_bits.bit_length()) if known_bits >> i & 1] or [1]
    groups = {tuple(i for i, mask in enumerate(masks) if mask & bit) for bit in bits}
    return all(are_disjoint([boxes[i] for i in group], pairs[1:]) for group in groups)


Split = frozenset[tuple[str, str]]


class PlanMove(Frozen):
    """A collective of an array over axes of one link: of an ``operand``, of partial ``sums``, of a ``result``, or of
    the numbers of ``rows``; or what a ``stage`` hands on."""

    collective: str
    axes: tuple[str, ...]
    array: str
    of: str


class Plan(Frozen):
    """What a plan says of one op: the labels that cut its work, each with the axis, and what is moved, in order."""

    result: str
    work: Split
    moves: tuple[PlanMove, ...]


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

    def around(self, op: Op) -> tuple[Turn, ...]:
        """The turns of an op in each of which it is carried out: what a stage hands on leaves the last of its own."""
        turns = op.turns
        if self.of == "stage":
            turns = turns[: next(i for i, turn in enumerate(turns) if turn.over)]
        return tuple(turn for turn in turns if not (self.alike or (self.once and turn.batch)))


class Part(Frozen):
    """What the chips do of one op: the axes that cut its work, its rows, its operands and its result; and what is
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


# The exchanges of one tensor in their order, and whether each goes over its slow link first.
SLOW_FIRST: Mapping[str, bool] = {
    **{"reduce-scatter": False, "all-reduce": False, "all-to-all": True, "all-gather": True},
    **dict.fromkeys(("send", "send back", "send far"), False),  # what is handed on is done
}


def require_conventions(
    script: Script, mesh: Sequence[MeshAxis], plan: Sequence[Plan], parts: Mapping[str, Part], *, each: bool = False
) -> None:
    """Raises :class:`~symroof.errors.CheckError` where a plan that comes out is another than the one that is meant."""
    for planned in plan:
        for _, moves in groupby(planned.moves, lambda move: (move.array, move.of == "operand")):
            _require_order(tuple(moves), tuple(mesh))
    _require_transposed(script, plan)
    _require_returned(script)
    _require_reduced_once(script, parts, each)


def _require_order(moves: Sequence[PlanMove], mesh: tuple[MeshAxis, ...]) -> None:
    """The exchanges of one tensor for one op follow one another as they should."""
    links, order = {axis.name: axis.link for axis in mesh}, [*SLOW_FIRST]
    fast = fast_first(mesh)
    for move, later in pairwise(moves):
        if move.collective == later.collective:
            first, second = (fast.index(links[move.axes[0]]) for move in (move, later))
            if first == second or (first > second) is not SLOW_FIRST[move.collective]:
                raise CheckError(f"the {move.collective} of {move.array} goes over its links in another order")
        elif order.index(move.collective) > order.index(later.collective):
            raise CheckError(f"{move.array} goes {later.collective} before it goes {move.collective}")
    for move in moves:
        if len({links[axis] for axis in move.axes}) != 1:
            raise CheckError(f"one {move.collective} of {move.array} goes over several links")


def _require_transposed(script: Script, plan: Sequence[Plan]) -> None:
    """The work of what undoes an op is cut as that is, as far as it has those labels; and along axes that cut nothing of it as its
    own result is."""
    work = {planned.result: planned.work for planned in plan}
    for op in script.ops:
        if not op.undoes or not op.shares_out or script.op[op.undoes].reshapes:
            continue
        labels = {label for group in script.labels((*op.operands, op.result)) for label in group}
        forward_work = work[op.undoes]
        axes = {axis for _, axis in forward_work}
        form = frozenset(pair for pair in script.array[op.result].split if pair[1] not in axes)
        if work[op.result] != frozenset(pair for pair in forward_work if pair[0] in labels) | form:
            raise CheckError(f"{op.result} is not shared out as {op.undoes} is, which it undoes")


def _require_returned(script: Script) -> None:
    """The gradient of what was sent goes back the way that it came."""
    for op in script.ops:
        if op.sends is None or op.back:
            continue
        backward = [other for other in script.ops if other.undoes == op.result]
        way, axis = op.sends
        if any(other.sends != (RETURNED[way], axis) for other in backward):
            raise CheckError(f"the gradient of {op.result} does not go back the way that it came")
        if not backward and any(other.back and other.of in (op.result, op.operands[0]) for other in script.ops):
            raise CheckError(f"nothing sends the gradient of {op.result} back")


def _require_reduced_once(script: Script, parts: Mapping[str, Part], each: bool) -> None:
    """Contributions to one gradient that lack the same are added before they are reduced; so those of microbatches, and of the
    turns of each that share a weight, but where they are reduced ``each`` time."""
    batches = [] if each else list(filter(script.adds_batches, script.ops))
    batch_sums = {op.result for op in batches} | {op.operands[1] for op in batches if len(op.operands) == 2}
    for op in (op for op in script.ops if op.back and op.adds and len(op.operands) > 1):
        if each and any(transfer.once and transfer.of == "sums" for transfer in parts[op.result].moved):
            raise CheckError(f"what {op.result} adds up is reduced after the last microbatch alone")
        before = script.array[op.operands[0]].role == "before"  # what turns before gave waits as what this one gives
        added = op.operands[1 if before and op.result in batch_sums else 0 :]
        if all(_is_contribution(name, op, script) for name in added) and len(_reductions(added, parts)) == 1:
            raise CheckError(f"what {op.result} adds up is reduced one by one")


def _is_contribution(name: str, total: Op, script: Script) -> bool:
    """Whether an array is made for one sum alone, in its turns, by an op whose work the chips may share out."""
    maker, uses = script.op.get(name), sum(op.operands.count(name) for op in script.ops)
    if maker is None or uses > 1 or not maker.shares_out:
        return False
    return maker.turns == total.turns or (maker.kind == SUM and maker.turns[: len(total.turns)] == total.turns)


# A collective, its axes, and the labels that these cut before it.
Reduction = tuple[str, tuple[str, ...], tuple[str, ...]]


def _reductions(names: Iterable[str], parts: Mapping[str, Part]) -> set[tuple[Reduction, ...]]:
    """How partial sums of arrays are reduced, each way once; nothing where one of them is not reduced."""
    sums = ([move for move in parts[name].moved if move.of == "sums"] for name in names)
    result: set[tuple[Reduction, ...]] = {tuple((m.collective, m.axes, m.before) for m in moves) for moves in sums}
    return result if () not in result else set()
