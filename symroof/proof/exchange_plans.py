"""Plans of exchanges: what a plan says of each op, what its chips hold of an array (a box: the places on axes of the blocks of
each dimension, as the bits of a number), and the conventions that choose among plans that end alike.

The links of one exchange follow one another, the fast one inside: a slow one carries a message that the others cut. What the
axes of one link need of one tensor they do together. What goes back is shared out as what it undoes. Contributions to one
gradient that lack the same are added before they are reduced. That a tensor is gathered once in a pass is no convention of these: nothing is moved to where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise

from symroof.errors import CheckError
from symroof.formula import Frozen
from symroof.proof.array_ops import SUM, Op, Turn
from symroof.proof.axis_traffic import RETURNED, MeshAxis, fast_first
from symroof.proof.kernel_traffic import Script

Box = Mapping[tuple[str, str], int]


def any_of(masks: Iterable[int]) -> int:
    result = 0
    for mask in masks:
        result |= mask
    return result


def common(box: Box, other: Box) -> Box:
    return {**box, **{pair: places & box.get(pair, places) for pair, places in other.items()}}


def within(box: Box, other: Box) -> bool:
    """Whether a box lies in another."""
    return all(pair in box and not box[pair] & ~places for pair, places in other.items())


def apart(boxes: Sequence[Box], pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether no two boxes that differ in these pairs alone have something in common: by the places of one pair after another.

    >>> places = [{("D", "X"): 1 << x, ("D", "Y"): 1 << y} for x in range(2) for y in range(2)]
    >>> apart(places, [("D", "X"), ("D", "Y")]), apart([*places, {("D", "X"): 1}], [("D", "X"), ("D", "Y")])
    (True, False)
    """
    if len(boxes) < 2 or not pairs:
        return len(boxes) < 2
    masks = [box.get(pairs[0], -1) for box in boxes]
    known_bits = any_of(mask for mask in masks if mask >= 0)
    bits = [1 << i for i in range(known_bits.bit_length()) if known_bits >> i & 1] or [1]
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
    """What a plan says of one op: the labels that cut its work, each with the axis, and what is moved, in order."""

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


def _require_order(moves: Sequence[Move], mesh: tuple[MeshAxis, ...]) -> None:
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
