"""A program on a mesh: who multiplies what, and the exchanges that this needs, statement by statement.

Each product is placed by the rules of :mod:`symroof.model.mesh`, axis by axis, from the splits of its tensors alone. A
statement that multiplies nothing is split as its result is. In the backward pass, where nobody wrote the statements, a
product whose operand carries an axis that its result lacks is computed there, and the result is gathered.

A tensor is gathered once in a pass for all of its uses. In the backward pass weights are gathered again and all else
keeps its form, unless the program says ``regather`` or ``keep``. Contributions to one gradient that lack the same partial
sums are added first and reduced once. A row function over a split dimension adds up the numbers of its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from symroof.errors import ModelError
from symroof.formula import Frozen
from symroof.model.dtype import Tensor
from symroof.model.mesh import Split, axes_in, divided_by, shared_split, split_of
from symroof.model.mesh_axes import MeshAxis
from symroof.model.nodes import PRODUCT, SUM, Line
from symroof.model.program import Program

# The networks from fast to slow: the fast one is inside.
SPEED = ("NVLink", "ICI", "DCN")
# How many numbers of each row the chips of an axis add up: a maximum and a sum, a sum of squares, …
ROW_NUMBERS = {"softmax": 2, "softmax'": 1, "layer_norm": 2, "layer_norm'": 2, "rms_norm": 1, "rms_norm'": 1}


class Move(Frozen):
    """A collective of a tensor over axes of one link; ``apart`` are the axes that split the message beside them.

    ``rows`` is how many numbers of each row over the dimension ``over`` are moved; None for whole tensors.
    """

    collective: str
    axes: tuple[str, ...]
    tensor: Tensor
    apart: tuple[str, ...]
    rows: int | None = None
    over: str | None = None


class Placed(Frozen):
    """A statement on a mesh: what its work is split by, how its result is held before any exchange, and the exchanges
    before and after it."""

    line: Line
    division: Split
    made: Split
    moves: tuple[Move, ...]


def placed(program: Program) -> tuple[Placed, ...]:
    """Every statement of a program on its mesh, in order."""
    return tuple(_Chips(program).placed())


def multiplies(line: Line) -> bool:
    """Whether a statement is placed as a product: one, or a sum over a dimension."""
    statement = line.statement
    return statement.kind == PRODUCT or (statement.kind == SUM and len(statement.operands) == 1)


@dataclass
class _Chips:
    """What the chips hold beside the declared forms: tensors that were gathered, and partial sums that wait."""

    program: Program
    held: dict[str, list[Split]] = field(default_factory=dict)
    waiting: dict[str, tuple[Split, Split]] = field(default_factory=dict)

    def placed(self) -> Iterator[Placed]:
        late, backward = self._reduced_late(), False
        for line in self.program.lines:
            if line.backward and not backward:
                backward = True
                weights = {str(t.name) for t in self.program.declared_as("weight")} - {*self.program.keep}
                dropped = weights | {*self.program.regather}
                self.held = {name: forms for name, forms in self.held.items() if name not in dropped}
            yield self._placed(line, late)

    def _reduced_late(self) -> frozenset[str]:
        """The contributions to a gradient whose partial sums are added to others before they are reduced."""
        lines = {line.statement.name: line for line in self.program.lines if line.backward and multiplies(line)}
        uses = [str(t.name) for line in self.program.lines for t in line.statement.operands]
        found: set[str] = set()
        for line in self.program.lines:
            if not line.backward or line.statement.kind != SUM or len(line.statement.operands) < 2:
                continue
            alike: dict[tuple[Split, Split], list[str]] = {}
            for name in (str(t.name) for t in line.statement.operands):
                if name in lines and uses.count(name) == 1 and lines[name].repeats == line.repeats:
                    division = self._division(lines[name])
                    made = shared_split(lines[name].statement.result, division)
                    alike.setdefault((made, division - made), []).append(name)
            for (_, summed), names in alike.items():
                found |= {*names} if summed and len(names) > 1 else set()
        return frozenset(found)

    def _division(self, line: Line) -> Split:
        statement = line.statement
        if not multiplies(line):
            return split_of(statement.result)
        there = line.backward
        pairs = (divided_by(statement.operands, statement.result, a.name, computed_there=there) for a in self.mesh)
        return frozenset(filter(None, pairs))

    @property
    def mesh(self) -> tuple[MeshAxis, ...]:
        return self.program.mesh

    def _placed(self, line: Line, late: frozenset[str]) -> Placed:
        statement, division = line.statement, self._division(line)
        waited = [self.waiting[str(t.name)] for t in statement.operands if str(t.name) in self.waiting]
        moves: list[Move] = []
        for tensor in statement.operands:
            if str(tensor.name) not in self.waiting:
                moves += self._brought(tensor, shared_split(tensor, division), line)
        made = shared_split(statement.result, division)
        summed = division - made
        if statement.name in late:
            self.waiting[statement.name] = (made, summed)
        elif waited:
            made, summed = waited[0]
            moves += self._joined(statement.result, made, axes_in(summed))
        else:
            moves += self._joined(statement.result, made, axes_in(summed))
        if statement.function is not None and statement.over is not None:
            axes = {axis for label, axis in division if label == statement.over}
            apart = axes_in(division) - axes
            numbers = ROW_NUMBERS[statement.function.name]
            moves += (
                Move("all-reduce", over, statement.result, around, numbers, statement.over)
                for over, around in self._by_link(axes, apart, slow_first=False)
            )
        return Placed(line, division, made, tuple(moves))

    def _brought(self, tensor: Tensor, needs: Split, line: Line) -> Iterator[Move]:
        """The exchanges that bring an operand to the chips that need it: all-to-all first, then gathered. What a chip holds
        and does not need is left out, free; what was gathered before is there."""
        name, own = str(tensor.name), split_of(tensor)
        if any(form <= needs for form in (own, *self.held.get(name, ()))):
            return
        if not multiplies(line):
            statement = line.statement
            raise ModelError(
                f"{name} is {tensor} and {statement.name} is {statement.result}: an elementwise statement exchanges nothing",
                expected="operands that are split as the result is",
                hint=f"write the exchange before it: {name}_moved = {name} -> {_laid(tensor, needs)}",
            )
        self.held.setdefault(name, []).append(needs)
        held = own | {pair for pair in needs if pair[1] not in axes_in(own)}
        across = axes_in(held - needs) & axes_in(needs - held)
        for axes, apart in self._by_link(across, axes_in(held) - across, slow_first=True):
            yield Move("all-to-all", axes, tensor, apart)
        gathered = axes_in(held) - axes_in(needs)
        for axes, apart in self._by_link(gathered, axes_in(needs), slow_first=True):
            yield Move("all-gather", axes, tensor, apart)

    def _joined(self, tensor: Tensor, made: Split, summed: set[str]) -> Iterator[Move]:
        """The exchanges that bring a result to where it is declared: partial sums scattered, the others reduced, then
        all-to-all, and gathered where an axis is on no dimension any more."""
        declared = split_of(tensor)
        scattered = summed & axes_in(declared - made)
        for axes, apart in self._by_link(scattered, axes_in(made), slow_first=False):
            yield Move("reduce-scatter", axes, tensor, apart)
        for axes, apart in self._by_link(summed - scattered, axes_in(made) | scattered, slow_first=False):
            yield Move("all-reduce", axes, tensor, apart)
        across = axes_in(made - declared) & axes_in(declared - made)
        everywhere = axes_in(made) | scattered
        for axes, apart in self._by_link(across, everywhere - across, slow_first=True):
            yield Move("all-to-all", axes, tensor, apart)
        gathered = axes_in(made) - axes_in(declared)
        for axes, apart in self._by_link(gathered, everywhere - gathered, slow_first=True):
            yield Move("all-gather", axes, tensor, apart)

    def _by_link(
        self, axes: Iterable[str], apart: Iterable[str], *, slow_first: bool
    ) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Axes by their links, those of one link together, and what splits the message beside them: the fast links are
        inside, so that a slow one carries a message that these split."""
        groups: dict[str, list[str]] = {}
        for axis in self.mesh:
            if axis.name in set(axes):
                groups.setdefault(axis.link or "", []).append(axis.name)
        links = sorted(groups, key=lambda link: SPEED.index(link) if link in SPEED else len(SPEED))
        for link in links[::-1] if slow_first else links:
            inside = [name for fast in links[: links.index(link)] for name in groups[fast]]
            yield tuple(groups[link]), tuple(sorted({*apart, *inside}))


def _laid(tensor: Tensor, split: Split) -> Tensor:
    """A tensor with its dimensions split otherwise."""

    def axes_of(label: str) -> tuple[str, ...]:
        return tuple(sorted(axis for name, axis in split if name == label))

    return replace(tensor, dims=tuple(replace(dim, axes=axes_of(dim.label)) for dim in tensor.dims))
