"""A program played on a mesh: after every statement each chip holds what its type declares, with complete sums.

For each statement the chips of a small mesh hold boxes of blocks of its tensors (:mod:`symroof.proof.placement`). What a
chip needs and does not hold, it gets: by the collective that the boxes along an axis ask for. What it got before, it has.
The axes of one link that need the same of one tensor do it together; over several links a message is cut by the fast ones.

A box of a tensor that is split over n chips counts 1/n of it, and so for every n: the amounts of a chip are formulas in the
numbers of chips, where the exchanges are the same on meshes of several sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce

from symroof.errors import CheckError
from symroof.formula import Frozen
from symroof.proof.collectives import MeshAxis, fast_first
from symroof.proof.placement import Board, Placement, Split, Spread, disjoint
from symroof.proof.rows import exchanged
from symroof.proof.script import Act, Array, Script

SIZES = (3, 4)


class Moved(Frozen):
    """A collective of an array over axes of one link; ``apart`` are the axes that cut its message, ``rows`` how many
    numbers of each row ``over`` a label it moves, 0 for the whole array. It is of an operand, of partial sums, of a result or
    of rows: ``before`` and ``after`` are the labels that the axes split there and then, those of the work for partial sums
    and for what an operand is brought to."""

    collective: str
    axes: tuple[str, ...]
    array: str
    apart: tuple[str, ...]
    of: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    rows: int = 0
    over: str | None = None


class Part(Frozen):
    """What the chips do of one act: what its work, its operands and its result are cut by, and what is moved."""

    work: frozenset[str]
    rows: frozenset[str]
    operands: tuple[frozenset[str], ...]
    result: frozenset[str]
    moved: tuple[Moved, ...]


@dataclass
class Game:
    """One mesh with ``size`` chips on every open axis."""

    script: Script
    axes: tuple[MeshAxis, ...]
    keep: tuple[str, ...]
    regather: tuple[str, ...]
    size: int
    gathered: dict[str, list[Split]] = field(default_factory=dict)
    partial: dict[str, tuple[Split, Split]] = field(default_factory=dict)
    turned: dict[str, list[Split]] = field(default_factory=dict)  # what is gathered when the acts go back

    @cached_property
    def mesh(self) -> tuple[MeshAxis, ...]:
        every = (replace(a, chips=self.size if a.chips is None else min(a.chips, self.size)) for a in self.axes)
        return tuple(axis for axis in every if axis.is_split)

    def played(self) -> Mapping[str, Part]:
        script, found, back = self.script, dict[str, Part](), False
        late = self._late()
        for act in script.acts:
            if act.back and not back:
                back = True
                weights = {a.name for a in script.arrays if a.role == "weight"} - {*self.keep}
                for name in weights | {*self.regather}:
                    self.gathered.pop(name, None)
                self.turned = {name: list(forms) for name, forms in self.gathered.items()}
            found[act.result] = self._part(act, late)
        return found

    def held(self, name: str) -> frozenset[str]:
        """The axes along which every chip holds other blocks of an array as it is declared."""
        array = self.script.array[name]
        pairs = tuple((label, axis) for label in array.labels for axis in self._axes(array, label))
        spread = Board(Placement((pairs,), self.mesh)).declared(0)
        return frozenset(axis.name for axis in self.mesh if disjoint(spread.along(axis.name)))

    def saved(self, name: str) -> frozenset[str]:
        """The axes along which the chips keep other blocks of an array for the acts that go back: of what these need, in the
        form in which it is there when they begin. After ``played``."""
        array = self.script.array[name]
        axes = {axis for _, axis in array.split} & {axis.name for axis in self.mesh}
        for act in self.script.acts:
            if not act.back:
                continue
            for user in (act, *self.script.made_again(act)):
                for place, operand in enumerate(user.operands):
                    if operand == name and not (user.gathers and place == 0):
                        axes = min(axes, self._form(user, place), key=len)
        return frozenset(axes)

    def _form(self, act: Act, place: int) -> set[str]:
        """The axes that cut the form in which an act takes an operand of what was there before."""
        board = self._board(act)
        own, wanted = board.declared(place), Spread(board, place, self._of(board, place, self._work(act, board)))
        forms = (own, *(Spread(board, place, form) for form in self.turned.get(act.operands[place], ())))
        return {axis for _, axis in next((form for form in forms if self._covers(form, wanted)), own).split}

    def _board(self, act: Act) -> Board:
        """The tensors of an act, its result last; what waits lies as it was made."""
        arrays = [self.script.array[name] for name in (*act.operands, act.result)]
        arrays = [replace(a, split=self.partial[a.name][0]) if a.name in self.partial else a for a in arrays]
        tensors = tuple(
            tuple((label, axis) for label in array.labels for axis in self._axes(array, label)) for array in arrays
        )
        return Board(Placement(tensors, self.mesh))

    def _axes(self, array: Array, label: str) -> tuple[str | None, ...]:
        known = {axis.name for axis in self.mesh}
        return tuple(sorted(axis for name, axis in array.split if name == label and axis in known)) or (None,)

    def _work(self, act: Act, board: Board) -> Split:
        """What each axis cuts the work by: as the boxes tell for what shares it out, else as the result is cut."""
        if act.shares_out:
            names = [axis.name for axis in self.mesh]
            return frozenset((label, name) for name in names for label in board.divided(name, there=act.back))
        return board.declared(board.output).split

    def _late(self) -> frozenset[str]:
        """The partial sums that wait for others of one gradient: all of it lacks the same, and nothing else uses them."""
        acts = {act.result: act for act in self.script.acts if act.back}
        uses = [name for act in self.script.acts for name in act.operands]
        found: set[str] = set()
        for act in acts.values():
            if act.exchanges and uses.count(act.operands[0]) == 1:
                found |= self._late_before(act, acts, found)
            if act.multiplies or act.sums or act.over is not None or len(act.operands) < 2:
                continue
            made = [acts[name] for name in act.operands if name in acts and uses.count(name) == 1]
            if len(made) == len(act.operands) and all(one.shares_out and one.turns == act.turns for one in made):
                lacking = {self._lacking(one) for one in made}
                found |= {*act.operands} if len(lacking) == 1 and any(summed for _, summed in lacking) else set()
        return frozenset(found)

    def _late_before(self, act: Act, acts: Mapping[str, Act], late: set[str]) -> set[str]:
        """What waits for an exchange: partial sums, or sums of nothing but such."""
        made = acts.get(act.operands[0])
        if made is None or made.turns != act.turns:
            return set()
        waits = {*made.operands} <= late or (made.shares_out and bool(self._lacking(made)[1]))
        return {made.result} if waits and not made.minus else set()

    def _lacking(self, act: Act) -> tuple[Split, Split]:
        """How the result of an act is held, and what keeps its sums partial."""
        board = self._board(act)
        work = self._work(act, board)
        held = self._of(board, board.output, work)
        return held, work - held

    def _part(self, act: Act, late: frozenset[str]) -> Part:
        board = self._board(act)
        work, moved = self._work(act, board), list[Moved]()
        waited = self.partial.get(act.operands[0])
        if waited:
            work, summed = waited
        else:
            for place, name in enumerate(act.operands):
                moved += self._brought(board, place, name, self._of(board, place, work), act, work)
            summed = self._lacking(act)[1]
            self._require_apart(board, work, {axis for _, axis in summed})
        operands = (frozenset(axis for _, axis in self._of(board, i, work)) for i in range(len(act.operands)))
        held = self._of(board, board.output, work)
        if act.result in late:
            self.partial[act.result] = held, summed
        else:
            moved += self._joined(board, act.result, held, summed)
        every = frozenset(axis for _, axis in work)
        over = frozenset(axis for label, axis in work if label == act.over)
        if over and act.function:
            cut, rows = every - over, exchanged(act.function)
            moved += (
                Moved("all-reduce", a, act.result, c, "rows", (str(act.over),), (), rows, act.over)
                for a, c in self._links(over, cut, False)
            )
        return Part(every, every - over, tuple(operands), frozenset(axis for _, axis in held), tuple(moved))

    def _of(self, board: Board, place: int, work: Split) -> Split:
        """What of the work's split concerns a tensor."""
        return frozenset(pair for pair in work if pair[0] in board.labels(place))

    def _require_apart(self, board: Board, work: Split, summed: Iterable[str]) -> None:
        for axis in summed:
            if not disjoint([board.box(board.contracted, work, {axis: i}) for i in range(board.chips[axis])]):
                raise CheckError(f"the partial sums along {axis} are not of different products")

    def _brought(self, board: Board, place: int, name: str, needs: Split, act: Act, work: Split) -> Iterator[Moved]:
        """What the chips have to get of an operand."""
        own, wanted = board.declared(place), Spread(board, place, needs)
        forms = [own, *(Spread(board, place, form) for form in self.gathered.get(name, ()))]
        exchanged = act.shares_out or act.exchanges
        if (exchanged or act.back or own.split == needs) and any(self._covers(form, wanted) for form in forms):
            return
        if not exchanged:
            raise CheckError(f"{name} does not lie as {act.result} does")
        self.gathered.setdefault(name, []).append(needs)
        axes = {axis for _, axis in own.split}
        held = replace(own, split=own.split | {pair for pair in needs if pair[1] not in axes})
        lost = sorted({axis for _, axis in held.split - needs})
        kinds = {axis: held.collective(held.moved(needs, axis), axis) for axis in lost}
        left = {axis for _, axis in held.split}
        for kind in ("all-to-all", "all-gather"):
            over = {axis for axis in lost if kinds[axis] == kind}
            stays = left - over
            for chosen, cut in self._links(over, left if kind == "all-to-all" else stays, True):
                yield Moved(kind, chosen, name, cut, "operand", _along(held.split, chosen), _along(work, chosen))
            left = left if kind == "all-to-all" else stays
        if reduce(lambda spread, axis: spread.moved(needs, axis), lost, held).split != needs:
            raise CheckError("an operand does not reach the chips that multiply it")

    def _joined(self, board: Board, name: str, held: Split, partial: Split) -> Iterator[Moved]:
        """How partial sums and results come to where they are declared."""
        place, declared = board.output, board.declared(board.output)
        spread, left, summed = Spread(board, place, held), {a for _, a in held}, {a for _, a in partial}
        kept = {axis for axis in summed if self._keeps_part(spread, declared, axis)}
        for kind, over in (("reduce-scatter", kept), ("all-reduce", summed - kept)):
            for chosen, cut in self._links(over, left, False):
                yield Moved(kind, chosen, name, cut, "sums", _along(partial, chosen), _along(declared.split, chosen))
            left |= over if kind == "reduce-scatter" else set()
        spread = replace(spread, split=held | {pair for pair in declared.split if pair[1] in kept})
        lost = sorted({axis for _, axis in spread.split - declared.split})
        kinds = {axis: spread.collective(spread.moved(declared.split, axis), axis) for axis in lost}
        for kind in ("all-to-all", "all-gather"):
            over = {axis for axis in lost if kinds[axis] == kind}
            for chosen, cut in self._links(over, left if kind == "all-to-all" else left - over, True):
                before, after = _along(spread.split, chosen), _along(declared.split, chosen)
                yield Moved(kind, chosen, name, cut, "result", before, after)
        if reduce(lambda one, axis: one.moved(declared.split, axis), lost, spread).split != declared.split:
            raise CheckError("a result does not end where it is declared")

    def _keeps_part(self, spread: Spread, declared: Spread, axis: str) -> bool:
        """Whether the chips along an axis keep different parts of what they add up."""
        after = replace(spread, split=spread.split | {pair for pair in declared.split if pair[1] == axis})
        first, second = after.along(axis)[:2]
        return first != second

    def _covers(self, form: Spread, wanted: Spread) -> bool:
        """Whether every chip holds all blocks that it needs: its place on an axis tells what it has of each along that axis."""
        places = [
            (axis, place)
            for axis in {a for _, a in form.split | wanted.split}
            for place in range(form.board.chips[axis])
        ]
        for axis, place in places:
            have, want = (form.board.box(form.labels, spread.split, {axis: place}) for spread in (form, wanted))
            if any(not want[label] <= have[label] for label in form.labels):
                return False
        return True

    def _links(
        self, axes: Iterable[str], cut: Iterable[str], slow_first: bool
    ) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Axes by their links, with what cuts the message: beside the axes that do anyway those of faster links."""
        of_link: dict[str, list[str]] = {}
        for axis in self.mesh:
            if axis.name in {*axes}:
                of_link.setdefault(axis.link, []).append(axis.name)
        order = [link for link in fast_first(self.axes) if link in of_link]
        faster: list[str] = []
        found = []
        for link in order:
            found.append((tuple(of_link[link]), tuple(sorted({*cut, *faster} - {*of_link[link]}))))
            faster += of_link[link]
        yield from reversed(found) if slow_first else found


def _along(split: Split, axes: tuple[str, ...]) -> tuple[str, ...]:
    """The labels that some axes split."""
    return tuple(sorted({label for label, axis in split if axis in axes}))
