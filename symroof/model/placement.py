"""A program on a mesh: who multiplies what, and the exchanges that this needs, statement by statement.

Each product is placed by the rules of :mod:`symroof.model.splits`, axis by axis, from the splits of its tensors alone. A
statement that multiplies nothing is split as its result is. The backward pass is the transpose: what undoes a statement is
split as that is.

A tensor is gathered once in a pass for all of its uses. In the backward pass weights are gathered again, and what a recompute
gathered inside; all else keeps its form, unless the program says ``regather`` or ``keep``. Contributions to one gradient that all lack the same partial
sums are added first and reduced once; where an exchange alone uses them, it adds them up on the way. A row function over a split dimension adds up the numbers of its rows.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sympy import Expr

from symroof.errors import ModelError
from symroof.formula import Frozen
from symroof.model.collectives import HANDED, MeshAxis, fast_first
from symroof.model.functions import BROADCAST, FUNCTIONS
from symroof.model.pipeline_stages import handover_repeat, turns_on_a_chip
from symroof.model.program import Program
from symroof.model.program_tree import EXCHANGE, PRODUCT, SUM, Line, Repeat, Statement
from symroof.model.splits import Split, axes_in, block_dimensions, needed_split, shared_split, split_dimension, split_of
from symroof.model.tensor_types import Tensor

# How many numbers of each row the chips of an axis add up: a maximum and a sum, a sum of squares, …
ROW_NUMBERS = {"softmax": 2, "softmax'": 1, "layer_norm": 2, "layer_norm'": 2, "rms_norm": 1, "rms_norm'": 1}


class Reshard(Frozen):
    """A collective of a tensor over axes of one link; ``apart`` are the axes that split the message beside them.

    ``rows`` is how many numbers of each row over the dimension ``over`` are moved; None for whole tensors. A move is of
    an operand, of partial sums, of a result or of rows, or of what a stage hands on: ``before`` are the dimensions that
    the axes split there, those of the product for partial sums, and ``after`` those that they split then: of what is
    made for an operand. ``result`` is the statement that needs it. One that is done ``once`` is done in one microbatch
    alone, one that is ``alike`` in one turn of all repeats.
    """

    collective: str
    axes: tuple[str, ...]
    tensor: Tensor
    apart: tuple[str, ...]
    result: str
    of: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    rows: int | None = None
    over: str | None = None
    once: bool = False
    alike: bool = False

    def around(self, repeats: Iterable[Repeat]) -> tuple[Repeat, ...]:
        """The repeats in each turn of which it is done."""
        repeats = tuple(repeats)
        if self.of == "stage":
            repeats = repeats[: next(i for i, repeat in enumerate(repeats) if repeat.over)]
        return tuple(r for r in repeats if not (self.alike or (self.once and r.accumulates)))

    def turns(self, repeats: Iterable[Repeat], size: Mapping[str, Expr]) -> Expr:
        """How often a chip does it in the turns of repeats."""
        return turns_on_a_chip(self.around(repeats), size)


class Placement(Frozen):
    """A statement on a mesh: what its work is split by, how its result is held before any exchange, and the exchanges
    before and after it."""

    line: Line
    division: Split
    form: Split
    moves: tuple[Reshard, ...]


def placements(program: Program) -> tuple[Placement, ...]:
    """Every statement of a program on its mesh, in order."""
    return tuple(_Chips(program).placed())


def kept_forms(program: Program) -> Mapping[str, Split]:
    """How the chips keep what the backward pass reads of the forward one: as it was gathered there, where that is what is
    read, else as it is declared. What is gathered again is kept as it is declared."""
    chips = _Chips(program)
    divisions = {place.line.statement.name: place.division for place in chips.placed()}
    forms: dict[str, Split] = {}
    for line in (line for line in program.lines if line.backward):
        for statement in (line.statement, *(line.fuse.again if line.fuse is not None else ())):
            for tensor in statement.read:
                name, plain = str(tensor.name), split_of(tensor)
                needs = needed_split(program, statement, tensor, divisions[statement.name])
                form = plain if plain <= needs else next((f for f in chips.turned.get(name, ()) if f <= needs), plain)
                for part in program.memory.parts(name):
                    candidate = form if part == program.memory.root(name) else shared_split(program.arrays[part], form)
                    current = plain if part == program.memory.root(name) else split_of(program.arrays[part])
                    forms[part] = min(forms.get(part, current), candidate, key=len)
    return forms


def _microbatch(line: Line) -> Repeat | None:
    """The microbatches that a statement is of, forward or back."""
    return next((repeat.reverses or repeat for repeat in line.repeats if repeat.accumulates), None)


def summed_forms(program: Program) -> Mapping[str, Split]:
    """How the chips hold the gradients that microbatches accumulate, by their names, while each chip has its own sum."""
    places = (place for place in placements(program) if any(m.once and m.of == "sums" for m in place.moves))
    return {place.line.statement.name: place.form for place in places}


def multiplies(line: Line) -> bool:
    """Whether a statement is placed as a product: one, a sum over a dimension, or the derivative of a function."""
    statement = line.statement
    if statement.function is None:
        return statement.kind == PRODUCT or (len(statement.operands) == 1 and statement.kind != EXCHANGE)
    rule = FUNCTIONS.get(statement.function.name.rstrip("'"), statement.function)
    return line.backward and not statement.again and not (rule.reshapes or rule.lies or statement.function.reshapes)


@dataclass(eq=False, repr=False)
class _Chips:
    """What the chips hold beside the declared forms: tensors that were gathered, and partial sums that wait."""

    program: Program
    held: dict[str, list[tuple[Repeat | None, Split]]] = field(default_factory=dict)  # with the microbatches it is in
    gathered_for_recompute: set[tuple[str, tuple[Repeat | None, Split]]] = field(default_factory=set)  # some of these
    waiting: dict[str, tuple[Split, Split]] = field(default_factory=dict)
    turned: dict[str, list[Split]] = field(default_factory=dict)  # what was gathered when the backward pass begins

    def placed(self) -> Iterator[Placement]:
        late, backward = self._reduced_late(), False
        for line in self.program.lines:
            if line.backward and not backward:
                backward = True
                weights = {str(t.name) for t in self.program.declared_as("weight")} - {*self.program.keep}
                dropped = weights | {*self.program.regather}
                root = self.program.memory.root
                self.held = {
                    n: [pair for pair in forms if (n, pair) not in self.gathered_for_recompute]
                    for n, forms in self.held.items()
                    if n not in dropped and root(n) not in dropped
                }
                self.turned = {name: [form for _, form in forms] for name, forms in self.held.items()}
            yield self._placed(line, late)

    def _reduced_late(self) -> frozenset[str]:
        """The contributions to a gradient that all lack the same partial sums: they are added before they are reduced."""
        lines = {line.statement.name: line for line in self.program.lines if line.backward and multiplies(line)}
        uses = [str(t.name) for line in self.program.lines for t in line.statement.operands]
        result: set[str] = set()
        for line in self.program.lines:
            if line.backward and line.statement.kind == EXCHANGE:
                result |= self._moved_late(line, lines, uses, result)
            if not line.backward or line.statement.kind != SUM or len(line.statement.operands) < 2:
                continue
            names = [str(t.name) for t in line.statement.operands]
            undone = line.statement.undone
            once = undone is not None and undone.accumulates and not self.program.each
            names = names[1:] if once else names  # what the microbatches before gave is held as what this one gives
            if once and len(names) == 1 and (turns := self._over_turns(names[0], lines, uses)):
                result |= {*names, *turns}
                continue
            if all(n in lines and uses.count(n) == 1 and lines[n].repeats == line.repeats for n in names):
                lacking = {self._lacking(lines[name]) for name in names}
                result |= {*names} if len(lacking) == 1 and any(summed for _, summed in lacking) else set()
        return frozenset(result)

    def _over_turns(self, name: str, lines: Mapping[str, Line], uses: Sequence[str]) -> tuple[str, ...]:
        """What turns within a microbatch add up of a weight that they share, where all of it lacks the same partial sums."""
        line = next((line for line in self.program.lines if line.statement.name == name), None)
        if line is None or name in lines or line.statement.kind != SUM or uses.count(name) != 1:
            return ()
        parts = tuple(str(t.name) for t in line.statement.operands[1:])
        if not all(n in lines and uses.count(n) == 1 and lines[n].repeats == line.repeats for n in parts):
            return ()
        lacking = {self._lacking(lines[n]) for n in parts}
        return parts if len(lacking) == 1 and any(summed for _, summed in lacking) else ()

    def _moved_late(
        self, line: Line, products: Mapping[str, Line], uses: Sequence[str], late: Container[str]
    ) -> set[str]:
        """What an exchange of the backward pass adds up on its way: partial sums, or a sum of them, that nothing else uses."""
        name = str(line.statement.operands[0].name)
        maker = next((other for other in self.program.lines if other.statement.name == name), None)
        if maker is None or uses.count(name) > 1 or maker.repeats != line.repeats:
            return set()
        if name in products:
            return {name} if self._lacking(maker)[1] else set()
        if maker.statement.views and (ahead := self._moved_late(maker, products, uses, late)):
            return {name, *ahead}
        parts = [str(t.name) for t in maker.statement.operands]
        return {name} if maker.statement.kind == SUM and all(part in late for part in parts) else set()

    def _lacking(self, line: Line) -> tuple[Split, Split]:
        """How the result of a product is held before any exchange, and what keeps its sums partial."""
        division = self._division(line)
        form = shared_split(line.statement.result, division)
        return form, division - form

    def _division(self, line: Line) -> Split:
        """What the work is split by: that of the backward pass as what it undoes, so that each exchange is the transpose of one
        of the forward pass, and where all chips did the same as its result."""
        statement = line.statement
        if not multiplies(line):
            return split_of(statement.result)
        if statement.undone is not None and statement.undone.statement:
            labels = {label for tensor in (*statement.operands, statement.result) for label in tensor.labels}
            ahead = self.ahead[statement.undone.statement]
            pairs_of_result = frozenset(pair for pair in split_of(statement.result) if pair[1] not in axes_in(ahead))
            return frozenset(pair for pair in ahead if pair[0] in labels) | pairs_of_result
        pairs = (split_dimension(statement.operands, statement.result, axis.name) for axis in self.mesh)
        return frozenset(filter(None, pairs))

    @cached_property
    def ahead(self) -> Mapping[str, Split]:
        """What the work of the forward pass is split by, by the names of the statements."""
        return {line.statement.name: self._division(line) for line in self.program.forward}

    @property
    def mesh(self) -> tuple[MeshAxis, ...]:
        return self.program.mesh

    def _placed(self, line: Line, late: frozenset[str]) -> Placement:
        statement, division = line.statement, self._division(line)
        waited = next((self.waiting[n] for t in statement.operands if (n := str(t.name)) in self.waiting), None)
        once = statement.undone is not None and statement.undone.accumulates
        moves: list[Reshard] = []
        if waited:
            division, summed = waited
            if statement.views:
                labels = dict(block_dimensions(self.program, statement))
                division = frozenset((labels[label], axis) for label, axis in division)
        else:
            for tensor in statement.operands:
                moves += self._brought(tensor, division, line)
            summed = self._lacking(line)[1]
        form = shared_split(statement.result, division)
        if statement.name in late:
            self.waiting[statement.name] = (form, summed)
        else:
            joined = self._joined(statement.result, form, summed)
            moves += (replace(move, once=bool(waited) and once) for move in joined)
        if statement.function is not None and statement.over is not None:
            axes = {axis for label, axis in division if label == statement.over}
            count, over, result = ROW_NUMBERS[statement.function.name], statement.over, statement.result
            for link, apart in self._by_link(axes, axes_in(division) - axes, slow_first=False):
                moves.append(
                    Reshard("all-reduce", link, result, apart, statement.name, "rows", (over,), (), count, over)
                )
        if (stage := handover_repeat(line)) is not None:
            way, split = HANDED[stage.reverses is not None], split_of(statement.result)
            beside = tuple(sorted(axes_in(split)))
            moves.append(Reshard(way, (stage.over,), statement.result, beside, statement.name, "stage"))
        if statement.sends is not None:
            moves += self._sent_on(statement, *statement.sends)
        return Placement(line, division, form, tuple(moves))

    def _sent_on(self, statement: Statement, collective: str, along: str) -> Iterator[Reshard]:
        """What a chip has goes to the next one along an axis, or by all axes of the mesh to the farthest."""
        axes = tuple(axis for axis in self.mesh if axis.name == along or (not along and axis.chips != 1))
        if len({axis.link for axis in axes}) > 1:
            shown = " and ".join(f"{axis.name} on {axis.link}" for axis in axes)
            raise ModelError(
                f"the farthest chip is over several links: {shown}", expected="send(x, X) along each of them"
            )
        beside = tuple(sorted(axes_in(split_of(statement.result))))
        if axes:
            yield Reshard(collective, tuple(a.name for a in axes), statement.result, beside, statement.name, "sent")

    def _brought(self, tensor: Tensor, division: Split, line: Line) -> Iterator[Reshard]:
        """The exchanges that bring an operand to the chips that need it: all-to-all first, then gathered. What a chip holds
        and does not need is left out, free; what was gathered before is there."""
        name, declared = str(tensor.name), split_of(tensor)
        needs = needed_split(self.program, line.statement, tensor, division)
        broadcast = line.statement.function is not None and line.statement.function.name == BROADCAST.name
        exchanges = multiplies(line) or line.statement.kind == EXCHANGE or broadcast
        batch, stays = _microbatch(line), self.program.memory.root(name) in self.program.keep
        forms_held = (form for where, form in self.held.get(name, ()) if stays or where == batch)
        forms = (declared, *forms_held) if exchanges or line.backward or declared == needs else ()
        if any(form <= needs for form in forms):
            return
        if not exchanges:
            statement, written = line.statement, str(line.statement)
            start = written.index(name, len(f"{statement.name} = "))
            kind = f"{'a view' if statement.views else 'an elementwise statement'} exchanges nothing"
            raise ModelError(
                f"{name} is {tensor} and {statement.name} is {statement.result}: {kind}",
                source=written,
                span=(start, start + len(name)),
                expected="operands that are split as the result is",
                hint=f"write the exchange before it: {name}_moved = {name} -> {_laid(tensor, needs)}",
            )
        self._require_one_name(name)
        self.held.setdefault(name, []).append((batch, needs))
        self.gathered_for_recompute |= {(name, (batch, needs))} if line.recomputed else set()
        once = not line.backward and batch is not None and stays
        alike = not line.backward and stays and self.program.memory.root(name) in self.program.shared
        before = declared | {pair for pair in needs if pair[1] not in axes_in(declared)}
        across, user = axes_in(before - needs) & axes_in(needs - before), line.statement.name
        for axes, apart in self._by_link(across, axes_in(before), slow_first=True):
            ends = _along(before, axes), _along(division, axes)
            yield Reshard("all-to-all", axes, tensor, apart, user, "operand", *ends, once=once, alike=alike)
        gathered = axes_in(before) - axes_in(needs)
        for axes, apart in self._by_link(gathered, axes_in(needs), slow_first=True):
            ends = _along(before, axes), _along(division, axes)
            yield Reshard("all-gather", axes, tensor, apart, user, "operand", *ends, once=once, alike=alike)

    def _require_one_name(self, name: str) -> None:
        """What is moved is moved under one of its names: each of them would be moved once."""
        root = self.program.memory.root(name)
        other = next((n for n in self.held if n != name and self.program.memory.root(n) == root), None)
        if other is not None:
            raise ModelError(
                f"{name} and {other} are one tensor, and both would be moved",
                expected="one exchange of it, and views of what that makes",
                hint=f"{root}_moved = {root} -> …, then {name} and {other} of {root}_moved",
            )

    def _joined(self, tensor: Tensor, form: Split, partial: Split) -> Iterator[Reshard]:
        """The exchanges that bring a result to where it is declared: partial sums scattered, the others reduced, then
        all-to-all, and gathered where an axis is on no dimension any more."""
        declared, summed = split_of(tensor), axes_in(partial)
        scattered = summed & axes_in(declared - form)
        everywhere, across = axes_in(form) | scattered, axes_in(form - declared) & axes_in(declared - form)
        gathered = axes_in(form) - axes_in(declared)

        def moves_over(
            collective: str, over: set[str], apart: set[str], purpose: str, before: Split, after: Split = frozenset()
        ) -> Iterator[Reshard]:
            for axes, beside in self._by_link(over, apart, slow_first=purpose == "result"):
                ends = _along(before, axes), _along(after, axes)
                yield Reshard(collective, axes, tensor, beside, str(tensor.name), purpose, *ends)

        yield from moves_over("reduce-scatter", scattered, axes_in(form), "sums", partial, declared)
        yield from moves_over("all-reduce", summed - scattered, everywhere, "sums", partial)
        yield from moves_over("all-to-all", across, everywhere, "result", form, declared)
        yield from moves_over("all-gather", gathered, everywhere - gathered, "result", form)

    def _by_link(
        self, axes: Iterable[str], apart: Iterable[str], *, slow_first: bool
    ) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Axes by their links, those of one link together, and what splits the message beside them: the fast links are
        inside, so that a slow one carries a message that these split. What goes all-to-all stays split over all links."""
        groups: dict[str, list[str]] = {}
        for axis in self.mesh:
            if axis.name in set(axes):
                groups.setdefault(axis.link or "", []).append(axis.name)
        links = [link for link in fast_first(self.mesh) if link in groups]
        for link in links[::-1] if slow_first else links:
            inside = [name for fast in links[: links.index(link)] for name in groups[fast]]
            yield tuple(groups[link]), tuple(sorted({*apart, *inside} - {*groups[link]}))


def _along(split: Split, axes: tuple[str, ...]) -> tuple[str, ...]:
    """The dimensions that some axes split."""
    return tuple(sorted({label for label, axis in split if axis in axes}))


def _laid(tensor: Tensor, split: Split) -> Tensor:
    """A tensor with its dimensions split otherwise."""

    def axes_of(label: str) -> tuple[str, ...]:
        return tuple(sorted(axis for name, axis in split if name == label))

    return replace(tensor, dims=tuple(replace(dim, axes=axes_of(dim.label)) for dim in tensor.dims))
