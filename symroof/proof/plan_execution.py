"""The plan of a producer, carried out: after every statement each chip holds what its type declares, with complete sums.

Every dimension is cut into equal blocks, one for each place on the axes that split it somewhere. What a chip holds of a
tensor is a box of blocks, and of every block the part of its sum that the chip has added up. A plan says by what each op's
work is cut and what is moved; nothing of it is made here. A move is carried out group by group on the boxes that are there:

    all-gather       every chip gets the boxes of all; no two of them may have a block in common
    all-to-all       every chip gets its own part of the boxes of all
    reduce-scatter   the sums of one box that all have are joined, no part twice; every chip keeps its own part of the box
    all-reduce       the same, and every chip keeps the box

What is there already must not be moved, an operand has to come to the box that is multiplied, and a result has to end as it
is declared: no chip has more or less of it. What the backward pass adds up may wait, as long as only sums and exchanges use it.
How large a message is, is read off the boxes. Of plans that end alike the one that is
meant is told by :mod:`symroof.proof.exchange_plans`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod

from symroof.errors import CheckError
from symroof.proof.array_ops import COLLECT, Op
from symroof.proof.exchange_plans import (
    RETURNED,
    Box,
    MeshAxis,
    Part,
    Plan,
    PlanMove,
    Share,
    Split,
    Transfer,
    are_disjoint,
    is_inside,
    mask_union,
    overlap,
)
from symroof.proof.kernel_traffic import Script
from symroof.proof.modular_arithmetic import DEFINITIONS, numbers_per_row

# The chips on an axis that is simulated: as many as these where it has as many.
SIZES = (2, 3)


# What every chip holds, in the order of the chips.
Form = tuple[Share, ...]


@dataclass
class Chips:
    """The chips of a small mesh, and the forms in which they hold each array: as it is declared, then as it was gathered."""

    script: Script
    mesh: tuple[MeshAxis, ...]
    keep: tuple[str, ...]
    regather: tuple[str, ...]
    seen: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    forms: dict[str, list[Form]] = field(default_factory=dict)
    batches: dict[str, list[int | None]] = field(default_factory=dict)  # the microbatches that each form is there in
    gathered_for_recompute: set[tuple[str, int]] = field(default_factory=set)  # forms of an array, by their places
    turned: dict[str, int] = field(default_factory=dict)  # how many forms there were when the ops began to go back
    saved: dict[str, frozenset[str]] = field(default_factory=dict)  # the axes that cut what the ops that go back take

    def __post_init__(self) -> None:
        self.size = {axis.name: axis.chips or 0 for axis in self.mesh}
        self.chips = [dict(zip(self.size, places, strict=True)) for places in product(*map(range, self.size.values()))]
        self.placed: dict[str, Split] = {}
        for array in self.script.arrays:
            if array.name not in self.script.op:
                self._there(array.name, self._declared(array.name))

    def simulated(self, plan: Sequence[Plan]) -> Mapping[str, Part]:
        """What is done of every op. Raises :class:`~symroof.errors.CheckError` where a plan does not come out."""
        if [op.result for op in self.script.ops] != [planned_op.result for planned_op in plan]:
            raise CheckError("the plan is one of another program")
        result: dict[str, Part] = {}
        for op, planned in zip(self.script.ops, plan, strict=True):
            if op.back and not self.turned:
                self._turn()
            result[op.result] = self._part(op, self._on_split_axes(planned))
        for name, (form, *_) in self.forms.items():
            if not self._whole(form) and not any(name in op.operands for op in self.script.ops):
                raise CheckError(f"{name} ends as partial sums")
        return result

    def _on_split_axes(self, planned: Plan) -> Plan:
        """Nothing is cut and nothing moved along an axis of one chip."""
        work = frozenset(pair for pair in planned.work if pair[1] in self.size)
        moves = (replace(m, axes=tuple(a for a in m.axes if a in self.size)) for m in planned.moves)
        return Plan(planned.result, work, tuple(move for move in moves if move.axes))

    def _turn(self) -> None:
        """The backward pass begins: what is gathered again is there as it is declared, and no otherwise."""
        weights = {array.name for array in self.script.arrays if array.role == "weight"}
        regathered = (weights - {*self.keep}) | {*self.regather}
        for name, forms in self.forms.items():
            if name in regathered or self.script.root(name) in regathered:
                del forms[1:], self.batches[name][1:]
            for i in reversed([i for i in range(1, len(forms)) if (name, i) in self.gathered_for_recompute]):
                del forms[i], self.batches[name][i]
        self.turned = {name: len(forms) for name, forms in self.forms.items()}

    def _there(self, name: str, form: Form) -> None:
        """An array is held in one form, in all microbatches."""
        self.forms[name], self.batches[name] = [form], [None]

    def _split(self, name: str) -> Split:
        return frozenset(pair for pair in self.script.array[name].split if pair[1] in self.size)

    def _declared(self, name: str) -> Form:
        return tuple(Share(box) for box in self._boxes(self._split(name)))

    def _boxes(self, split: Iterable[tuple[str, str]]) -> list[Box]:
        """For each chip the blocks that have its own places on the axes."""
        pairs = sorted(split)
        return [{pair: 1 << chip[pair[1]] for pair in pairs} for chip in self.chips]

    def _whole(self, form: Form) -> bool:
        return not any(part for share in form for part in share.sums)

    def _part(self, op: Op, planned: Plan) -> Part:
        """What is done of one op, from what its operands are brought to until its result is where it is declared."""
        work, labels = planned.work, self.script.array[op.result].labels
        if len({axis for _, axis in work}) < len(work):
            raise CheckError(f"some of {op.result} is worked out nowhere")
        self.placed[op.result] = work
        form, transfers = self._worked(op, planned)
        transfers += self._rows(op, planned.moves, work)
        goal = self._split(op.result)
        after = [move for move in planned.moves if move.of in ("sums", "result")]
        waited = not self._whole(form) and self.script.adds_batches(op)
        form, sums = self._moved(op.result, form, after, self._boxes(goal), goal)
        transfers += [replace(transfer, once=waited) for transfer in sums]
        transfers += self._handed_on(op, planned.moves)
        transfers += self._sent_on(op, planned.moves)
        if len(transfers) != len(planned.moves):
            raise CheckError(f"{op.result} moves what it does not use")
        self._there(op.result, self._ended(op, form))
        operands = tuple(self._of(op, name, work) for name in op.operands)
        rows = work - self._over(op, work)
        return Part(_axes(work), _axes(rows), operands, _axes(p for p in work if p[0] in labels), tuple(transfers))

    def _handed_on(self, op: Op, moves: Iterable[PlanMove]) -> list[Transfer]:
        """What leaves the turns of a chip goes to the next one as every chip has it; in the backward pass to the one
        before. Nothing else goes from stage to stage: what turns of several chips give to one sum is refused."""
        stages = [turn for turn in op.turns if turn.over in self.size]
        if not stages:
            return []
        if op.laid == COLLECT and op.turns[-1] in stages:
            raise CheckError(f"{op.result} is on several chips of {op.turns[-1].over}, of each what its turns made")
        split_axes = {pair[1] for array in self.script.arrays for pair in array.split}
        if any(turn.over in split_axes for turn in stages):
            raise CheckError(f"chips of {stages[0].over} have turns of their own and parts of tensors")
        batches = self.script.adds_batches(op)
        if op.operands and self.script.array[op.operands[0]].role == "before" and not batches:
            raise CheckError(f"{op.result} adds up what turns of several chips give")
        way = "send back" if op.back else "send"
        expected = [PlanMove(way, (turn.over,), op.result, "stage") for turn in stages if op.result in turn.leaves]
        if expected != [move for move in moves if move.of == "stage"]:
            raise CheckError(f"{op.result} is not what a stage hands on")
        cut = tuple(sorted(_axes(self._split(op.result))))
        return [Transfer(way, move.axes, op.result, cut, "stage") for move in expected]

    def _sent_on(self, op: Op, moves: Iterable[PlanMove]) -> list[Transfer]:
        """What every chip has goes to another one: to a neighbour along an axis, or as far as all axes go."""
        sends = [move for move in moves if move.of == "sent"]
        way, along = op.sends or ("", "")
        axes = tuple(axis for axis in self.size if along in ("", axis)) if op.sends is not None else ()
        if sends != ([PlanMove(way, axes, op.result, "sent")] if axes else []) or way not in ("", *RETURNED):
            raise CheckError(f"{op.result} is not what is sent")
        if op.sends is not None and self._split(op.result) != self._split(op.operands[0]):
            raise CheckError(f"{op.result} comes in other parts than it was sent in")
        cut = tuple(sorted(_axes(self._split(op.result))))
        return [Transfer(way, move.axes, op.result, cut, "sent") for move in sends]

    def _worked(self, op: Op, planned: Plan) -> tuple[Form, list[Transfer]]:
        """What every chip has once it has worked, and what was moved for that: its own part of the result, added up over what
        it has of the rest; or sums that wait, as they are."""
        work, labels = planned.work, self.script.array[op.result].labels
        if not all(self._whole(self.forms[name][0]) for name in op.operands):
            form = self._added(op)
            if {pair for share in form for pair in share.blocks} != {*work}:
                raise CheckError(f"{op.result} lies as what it adds up")
            return form, []
        arrivals = (self._brought(op, name, planned.moves, work) for name in dict.fromkeys(op.operands))
        transfers = [transfer for arrival in arrivals for transfer in arrival]
        self._recompute(op)
        outputs, summed = (self._boxes(p for p in work if (p[0] in labels) is in_result) for in_result in (True, False))
        return tuple(Share(blocks, (sums,)) for blocks, sums in zip(outputs, summed, strict=True)), transfers

    def _ended(self, op: Op, form: Form) -> Form:
        """The form in which a result stays: as it is declared; in the backward pass it may wait as partial sums."""
        if not self._whole(form):
            if not op.back:
                raise CheckError(f"{op.result} ends as partial sums")
            return form
        declared = self._declared(op.result)
        if any(share.blocks != goal.blocks for share, goal in zip(form, declared, strict=True)):
            raise CheckError(f"{op.result} does not end where it is declared")
        return declared

    def _over(self, op: Op, work: Split) -> Split:
        """What cuts the rows of a function of rows."""
        return frozenset(pair for pair in work if pair[0] == op.over and op.function in DEFINITIONS)

    def _of(self, op: Op, name: str, work: Split) -> Split:
        """What of the work's split concerns an operand; where it is seen in other dimensions, what lies in the same blocks."""
        if op.views:
            labels = {label: operand_label for operand_label, label in self.seen.get(op.result, ())}
            return frozenset((labels[label], axis) for label, axis in work if label in labels)
        return frozenset(pair for pair in work if pair[0] in self.script.array[name].labels)

    def _added(self, op: Op) -> Form:
        """Sums that are not whole yet, added to one another or handed on."""
        before = self.script.array[op.operands[0]].role == "before"  # turns before left what this one leaves
        forms = [self.forms[name][0] for name in op.operands[1 if before else 0 :]]
        if not op.adds:
            raise CheckError(f"{op.result} takes what is not added up")
        if any(a.blocks != b.blocks for form in forms[1:] for a, b in zip(forms[0], form, strict=True)):
            raise CheckError(f"what {op.result} adds up lies in several ways")
        names = dict(self.seen.get(op.result, ()))  # of a view the same blocks under its own labels
        if op.views and not all(label in names for a in forms[0] for label, _ in a.blocks):
            raise CheckError(f"{op.result} lies in other blocks than what it is a view of")
        boxes = [{(names.get(label, label), axis): n for (label, axis), n in a.blocks.items()} for a in forms[0]]
        sums = (tuple(s for a in shares for s in a.sums) for shares in zip(*forms, strict=True))
        return tuple(map(Share, boxes, sums))

    def _brought(self, op: Op, name: str, moves: Iterable[PlanMove], work: Split) -> list[Transfer]:
        """An operand comes to the chips that need it, unless it is there."""
        needs, forms = self._of(op, name, work), self.forms[name]
        boxes, own_moves = self._boxes(needs), [move for move in moves if move.of == "operand" and move.array == name]
        place = self._covering(op, name, needs)
        if not self._whole(forms[0]) or (place is None and not own_moves):
            raise CheckError(f"{name} is not where {op.result} needs it")
        if place is not None and own_moves:
            raise CheckError(f"{name} is moved to where it is")
        if op.back and name in self.turned and not (op.gathers and name == op.operands[0]):
            self._take(name, place)
        if not own_moves:
            return []
        form, transfers = self._moved(name, self._sliced(forms[0], boxes, own_moves), own_moves, boxes, work)
        if not op.back and (root := self.script.root(name)) in self.keep:
            once, shared = _batch(op) is not None, self.script.array[root].shared
            transfers = [replace(transfer, once=once, alike=shared) for transfer in transfers]
        if [share.blocks for share in form] != boxes:
            raise CheckError(f"{name} does not come to where {op.result} needs it")
        self.gathered_for_recompute |= {(name, len(forms))} if op.recomputed else set()
        forms.append(form)
        self.batches[name].append(_batch(op))
        return transfers

    def _covering(self, op: Op, name: str, needs: Split) -> int | None:
        """The first form of an array in which every chip has all that it needs: what was moved in microbatches is there in these
        alone, unless it is kept."""
        boxes, stays = self._boxes(needs), self.script.root(name) in self.keep
        numbered = enumerate(zip(self.forms[name], self.batches[name], strict=True))
        candidates = ((i, form) for i, (form, batch) in numbered if not i or stays or batch == _batch(op))
        return next((i for i, form in candidates if all(map(is_inside, boxes, (share.blocks for share in form)))), None)

    def _recompute(self, op: Op) -> None:
        """What the backward pass of a fuse makes once more on the chip takes what is there."""
        for inner in self.script.made_again(op):
            for place, name in enumerate(inner.operands):
                if name in self.turned and not (inner.gathers and place == 0):
                    self._take(name, self._covering(op, name, self._of(inner, name, self.placed[inner.result])))

    def _take(self, name: str, place: int | None) -> None:
        """The backward pass reads an array of the forward pass: in a form that was held, else as it is declared."""
        index = place if place is not None and place < self.turned[name] else 0
        axes = _axes(pair for share in self.forms[name][index] for pair in share.blocks)
        root = self.script.root(name)
        self.saved[root] = min(self.saved.get(root, axes), axes, key=len)

    def _sliced(self, form: Form, boxes: Sequence[Box], moves: Iterable[PlanMove]) -> Form:
        """A chip leaves out, free, what no chip needs that it exchanges something with."""
        over = {axis for move in moves for axis in move.axes}
        rest = ({pair: places for pair, places in box.items() if pair[1] not in over} for box in boxes)
        return tuple(replace(share, blocks=overlap(share.blocks, box)) for share, box in zip(form, rest, strict=True))

    def _rows(self, op: Op, moves: Iterable[PlanMove], work: Split) -> list[Transfer]:
        """The numbers of rows that chips share out are added up, each as often as the function asks for it."""
        mine = [move for move in moves if move.of == "rows"]
        over = self._over(op, work)
        if not over and not mine:
            return []
        pieces = zip(self._boxes(work - over), self._boxes(over), strict=True)
        form, moved = self._moved(
            op.result, tuple(Share(rest, (part,)) for rest, part in pieces), mine, [{} for _ in self.chips], frozenset()
        )
        if not self._whole(form):
            raise CheckError(f"the rows of {op.result} are not added up")
        return [replace(transfer, rows=numbers_per_row(op.function), over=op.over, after=()) for transfer in moved]

    def _moved(
        self, name: str, form: Form, moves: Sequence[PlanMove], boxes: Sequence[Box], goal: Split
    ) -> tuple[Form, list[Transfer]]:
        """What the chips hold after some exchanges of one array, and what was moved."""
        result = []
        for i, move in enumerate(moves):
            if move.array != name:
                raise CheckError(f"{move.array} is moved, and not {name}")
            last = not any(later.collective == "all-reduce" for later in moves[i + 1 :])
            after, message = self._carried_out(move, form, boxes, last)
            summed = move.collective in ("reduce-scatter", "all-reduce")
            pairs = {p for share in form for box in (share.sums if summed else (share.blocks,)) for p in box}
            before, ends = _along(pairs, move.axes), _along(goal, move.axes)
            axes = tuple(sorted(_axes(pair for box in message for pair in box)))
            result.append(Transfer(move.collective, move.axes, name, axes, move.of, before, ends))
            form = after
        return form, result

    def _carried_out(self, move: PlanMove, form: Form, boxes: Sequence[Box], last: bool) -> tuple[Form, list[Box]]:
        """One exchange, group by group; and the message of each group: what a chip has before a reduction, after a gathering,
        and what all of them have of what goes all-to-all."""
        result, messages = list(form), list[Box]()
        for group in self._groups(move.axes):
            union, sums = self._together([form[i] for i in group], move)
            messages.append(union)
            for i in group:
                result[i] = Share(self._left_of(union, move, i, boxes[i], last), sums)
        return tuple(result), messages

    def _together(self, shares: Sequence[Share], move: PlanMove) -> tuple[Box, tuple[Box, ...]]:
        """The box that chips have together, and the parts of its sum: boxes are gathered, sums are reduced."""
        kind, first = move.collective, shares[0]
        if kind in ("all-gather", "all-to-all"):
            if any(share.sums != first.sums for share in shares):
                raise CheckError(f"an {kind} of {move.array} over {_several(move.axes)} is of different sums")
            return self._joined([share.blocks for share in shares], move), first.sums
        if any(share.blocks != first.blocks for share in shares):
            raise CheckError(f"a {kind} of {move.array} over {_several(move.axes)} is of different blocks")
        columns = zip(*(share.sums for share in shares), strict=True)
        return first.blocks, tuple(self._joined(parts, move) for parts in columns)

    def _left_of(self, union: Box, move: PlanMove, chip: int, box: Box, last: bool) -> Box:
        """What a chip keeps of the box of its group: its own part where the exchange scatters, else all of it."""
        kind = move.collective
        if kind in ("reduce-scatter", "all-to-all"):
            own = overlap(union, {pair: places for pair, places in box.items() if pair[1] in move.axes})
            if own == union:
                raise CheckError(f"a {kind} of {move.array} over {_several(move.axes)} leaves all where it was")
            return own
        if kind == "all-reduce":  # over several links each chip has a piece of the message for the next one
            piece = {("", axis): 1 << self.chips[chip][axis] for axis in move.axes}
            return {p: m for p, m in union.items() if p[0]} if last else {**union, **piece}
        return union

    def _groups(self, axes: tuple[str, ...]) -> list[list[int]]:
        """The chips that differ in their places on these axes alone."""
        result: dict[tuple[int, ...], list[int]] = {}
        for i, chip in enumerate(self.chips):
            result.setdefault(tuple(at for axis, at in chip.items() if axis not in axes), []).append(i)
        return list(result.values())

    def _joined(self, boxes: Sequence[Box], move: PlanMove) -> Box:
        """The box that several make together. Raises :class:`~symroof.errors.CheckError` where two have something in common."""
        pairs = sorted({pair for box in boxes for pair in box})
        if not are_disjoint(boxes, pairs):
            adds = move.collective in ("reduce-scatter", "all-reduce")
            problem = "adds up a part twice" if adds else "moves what is there already"
            raise CheckError(f"the {move.collective} of {move.array} over {_several(move.axes)} {problem}")
        full = {pair: (1 << self.size[pair[1]]) - 1 for pair in pairs}
        union = {p: mask_union(box.get(p, bits) for box in boxes) for p, bits in full.items()}
        if sum(self._count(box, full) for box in boxes) != self._count(union, full):
            raise CheckError(f"the parts of {move.array} over {_several(move.axes)} are not all that there is of it")
        return {pair: places for pair, places in union.items() if places != full[pair]}

    def _count(self, box: Box, full: Box) -> int:
        return prod(box.get(pair, bits).bit_count() for pair, bits in full.items())


def _batch(op: Op) -> int | None:
    """The microbatches that an op is of, forward or back."""
    return next((max(turn.place, ~turn.place) for turn in op.turns if turn.batch), None)


def _axes(split: Iterable[tuple[str, str]]) -> frozenset[str]:
    return frozenset(axis for _, axis in split)


def _along(split: Iterable[tuple[str, str]], axes: tuple[str, ...]) -> tuple[str, ...]:
    """The labels that some axes cut."""
    return tuple(sorted({label for label, axis in split if axis in axes and label}))


def _several(axes: tuple[str, ...]) -> str:
    return ", ".join(axes)
