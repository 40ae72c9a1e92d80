"""Programs: declared tensors, and statements that make tensors of them, one after the other.

What a program costs is in :mod:`symroof.model.statement_costs`. In training it goes on with the statements of
:mod:`symroof.model.backward`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from sympy import Add, Expr, Integer

from symroof.formula import Compare, Formula, Frozen, names
from symroof.model.cost import Cost, Counting
from symroof.model.derived_sizes import require_dimensions
from symroof.model.dtype import Dtype, Tensor
from symroof.model.einsum import Einsum
from symroof.model.memory import Memory
from symroof.model.mesh_axes import MeshAxis
from symroof.model.nodes import (
    DIFFERENCE,
    EXCHANGE,
    MAXIMUM,
    PRODUCT,
    ROLES,
    SUM,
    Block,
    Declared,
    Fuse,
    Line,
    Node,
    Recompute,
    Repeat,
    Statement,
    Undone,
    lines_of,
    turns_of,
    weights_of,
)
from symroof.model.operation import Operation
from symroof.model.quantities import NAMELESS
from symroof.symbols import expression, symbol

if TYPE_CHECKING:
    from symroof.model.backward import Backward
    from symroof.model.chip_costs import ChipCost
    from symroof.model.statement_costs import StatementCost

__all__ = [
    "DIFFERENCE",
    "EXCHANGE",
    "MAXIMUM",
    "PRODUCT",
    "ROLES",
    "SUM",
    "Block",
    "Declared",
    "Fuse",
    "Recompute",
    "Line",
    "Node",
    "Program",
    "Repeat",
    "Statement",
    "Undone",
    "turns_of",
]


class Program(Frozen):
    """Several operations, costed together; see :func:`symroof.model.statement_costs.kernels_of` for the traffic.

    ``where`` are sizes that others define, ``choices`` those that are one of several, as written, ``facts`` what is
    known of sizes; ``parameters`` the positive names that only these mention. ``returned`` is what is returned although
    a statement uses it. ``keep`` are weights that stay gathered for the backward pass, ``regather`` other tensors that
    do not; gradients that microbatches accumulate are added up over the chips once, after the last of them, or ``each``
    time; with ``latency`` an exchange takes at least its hops. ``line`` is what was written on one line instead: its one
    statement has no name, and costs what the program costs. ``entry`` is its name in the library.
    """

    declared: tuple[Declared, ...]
    body: tuple[Node, ...]
    where: Mapping[str, Formula] = field(default_factory=dict, hash=False)
    returned: tuple[str, ...] = ()
    facts: tuple[Compare, ...] = ()
    choices: Mapping[str, Formula] = field(default_factory=dict, hash=False)
    training: bool = False
    mesh: tuple[MeshAxis, ...] = ()
    keep: tuple[str, ...] = ()
    regather: tuple[str, ...] = ()
    each: bool = False
    schedule: str = "1f1b"
    latency: bool = False
    line: Einsum | Operation | None = None
    entry: str = field(default="", compare=False)

    @classmethod
    def of(cls, product: Einsum | Operation, mesh: Iterable[MeshAxis] = ()) -> Program:
        """The program of one statement that a product is, or an operation that is given by its costs. The tensors of a product
        are called as prose calls them.

        >>> from symroof.model.dtype import Dim, dtype
        >>> bf16, (B, D, F) = dtype("bf16"), map(Dim, "BDF")
        >>> program = Program.of(Einsum((Tensor(bf16, (B, D)), Tensor(bf16, (D, F))), Tensor(bf16, (B, F))))
        >>> str(program), list(program.arrays)
        ('bf16[B, D] * bf16[D, F] -> bf16[B, F]', ['left operand', 'right operand', ''])
        """
        if isinstance(product, Operation):
            return cls((), (), mesh=tuple(mesh), line=product)
        called = (*(product.operand_name(place) for place in range(len(product.inputs))), NAMELESS)
        *operands, result = (replace(tensor, name=name) for tensor, name in zip(product.tensors, called, strict=True))
        return cls(
            tuple(Declared("input", tensor) for tensor in operands),
            (Statement(PRODUCT, tuple(operands), result),),
            mesh=tuple(mesh),
            line=product,
        )

    @classmethod
    def read(cls, value: object) -> Program | None:
        """A value as a program, where it is an operation of any kind."""
        return cls.of(value) if isinstance(value, Einsum | Operation) else value if isinstance(value, Program) else None

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Those of a product on one line: a program has statements instead."""
        return () if self.line is None else self.line.tensors

    @property
    def product(self) -> Einsum | None:
        """The product whose loops are counted, where that is all."""
        return self.line if isinstance(self.line, Einsum) else None

    @property
    def alone(self) -> bool:
        """Whether it is a statement without a name on one chip: what that costs is all that there is to say."""
        return self.line is not None and not self.axes

    @property
    def given(self) -> Operation | None:
        """The functions that give its costs, where that is all."""
        return self.line if isinstance(self.line, Operation) else None

    def called(self, name: str) -> str:
        """What prose calls a tensor."""
        return name if self.product is None or name != NAMELESS else self.product.operand_name(len(self.product.inputs))

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The statements in their order, each with what stands around it; in training with the backward pass."""
        backward = () if self.backward is None else lines_of(self.backward.body)
        return (*self.forward, *(replace(line, backward=True) for line in backward))

    @cached_property
    def forward(self) -> tuple[Line, ...]:
        """The statements that the author wrote."""
        return tuple(lines_of(self.body))

    @cached_property
    def memory(self) -> Memory:
        """What lies where."""
        declared = frozenset(str(d.tensor.name) for d in self.declared)
        return Memory(self.lines, declared, frozenset(self.returned))

    @cached_property
    def backward(self) -> Backward | None:
        """The gradients and the statements that make them, where the program is in training."""
        from symroof.model.backward import backward_of

        return backward_of(self) if self.training else None

    @cached_property
    def written(self) -> Mapping[str, Tensor]:
        """The tensors that the author wrote, by their names."""
        made = (line.statement.result for line in self.forward)
        return {str(t.name): t for t in (*(d.tensor for d in self.declared), *made)}

    @cached_property
    def arrays(self) -> Mapping[str, Tensor]:
        """Every tensor by its name: what comes from outside, then what the statements make."""
        incoming = () if self.backward is None else self.backward.incoming
        made = (line.statement.result for line in self.lines)
        return {**self.written, **{str(t.name): t for t in (*incoming, *made)}}

    def declared_as(self, role: str) -> tuple[Tensor, ...]:
        return tuple(d.tensor for d in self.declared if d.role == role)

    @property
    def frozen(self) -> tuple[str, ...]:
        """What is not trained, by name."""
        return tuple(str(d.tensor.name) for d in self.declared if d.frozen)

    @property
    def shared(self) -> tuple[str, ...]:
        """The weights and caches that are the same in all turns of repeats, by name."""
        return tuple(str(d.tensor.name) for d in self.declared if d.shared)

    @property
    def trainable(self) -> tuple[Tensor, ...]:
        """The weights that have gradients in training: those of integers, and frozen ones, have none."""
        return tuple(t for t in self.declared_as("weight") if not t.dtype.integer and t.name not in self.frozen)

    @property
    def results(self) -> tuple[Tensor, ...]:
        """What the program returns: what no statement uses, after its last turn what leaves a repeat and is not
        collected, and what it says."""
        every = ((line, str(t.name)) for line in self.forward for t in line.statement.operands)
        used = {name for line, name in every if not any(name in repeat.leaves for repeat in line.repeats)}
        used |= {str(line.statement.operands[0].name) for line in self.forward if line.statement.collects}
        kept = (line.statement.result for line in self.forward)
        return tuple(tensor for tensor in kept if tensor.name not in used or tensor.name in self.returned)

    @property
    def scores(self) -> tuple[str, ...]:
        """The products of two activations that a softmax is taken of: scores of attention, of which some may be masked."""
        weights = {tensor.name for tensor in self.declared_as("weight")}
        made = {line.statement.result.name: line.statement for line in self.forward if line.mask is None}
        taken = (
            o.name for one in made.values() if one.function and one.function.name == "softmax" for o in one.operands
        )
        products = (made[name] for name in dict.fromkeys(taken) if name in made and made[name].kind == PRODUCT)
        return tuple(one.name for one in products if not weights & {operand.name for operand in one.operands})

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """The sizes of shapes and repeats that are at least 1, in order of appearance: all but what others define."""
        if self.given is not None:
            return self.given.dimensions
        shapes = (dim.label for tensor in self.arrays.values() for dim in tensor.dims if not dim.fixed)
        turns = (name for line in self.lines for repeat in line.repeats for name in names(repeat.times))
        windows = (mask.window for line in self.forward if (mask := line.statement.mask) is not None)
        widths = (name for name in windows if name and not name.isdigit())
        return tuple(name for name in dict.fromkeys((*shapes, *turns, *widths)) if name not in self.where)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names that only the formulas of other sizes, and what is known of sizes, mention: above 0."""
        found = (name for formula in (*self.where.values(), *self.facts) for name in names(formula))
        return tuple(n for n in dict.fromkeys(found) if n not in self.sizes and n not in self.where)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """What costs depend on."""
        return (*self.sizes, *self.parameters)

    @property
    def shapes(self) -> tuple[tuple[str, ...], ...]:
        """The symbolic labels of each tensor."""
        return tuple(tuple(d.label for d in tensor.dims if not d.fixed) for tensor in self.arrays.values())

    @property
    def vector(self) -> bool:
        """Whether the vector unit does all of the work: there is nothing to contract."""
        given = self.given
        return not any(line.statement.contracts for line in self.lines) if given is None else given.vector

    @property
    def idle(self) -> bool:
        """Whether it computes nothing: tensors are moved and split otherwise, and that is all."""
        return self.line is None and all(cost.flops == 0 == cost.ops for cost in self.owners.values())

    @property
    def computes(self) -> tuple[Dtype, ...]:
        """The types at whose rates the contractions run; those of the first operands where nothing is contracted."""
        products = [line.statement.product for line in self.lines if line.statement.contracts]
        found = dict.fromkeys(product.compute for product in products if product is not None)
        return tuple(found) or (self.lines[0].statement.operands[0].dtype,)

    @property
    def compute(self) -> Dtype | None:
        """The first of them; None where the costs do not say it."""
        return self.computes[0] if self.given is None else self.given.compute

    def operand_name(self, place: int) -> str:
        return "" if self.line is None else self.line.operand_name(place)

    @property
    def axes(self) -> tuple[str, ...]:
        """The mesh axes that some dimension is split over, or the turns of a repeat, or that something is sent along."""
        from symroof.model.stages import sent_along

        of_dimensions = (axis for t in self.written.values() for dim in t.dims for axis in dim.axes)
        return tuple(dict.fromkeys((*of_dimensions, *self.stages, *sent_along(self))))

    @property
    def stages(self) -> tuple[str, ...]:
        """The mesh axes that the turns of a repeat are shared out over."""
        return tuple(dict.fromkeys(repeat.over for line in self.forward for repeat in line.repeats if repeat.over))

    def split_over(self, axes: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Program:
        """The same with other axes for those that its dimensions are split over."""
        from symroof.model.program_text import rewritten

        if self.line is not None:
            return replace(Program.of(self.line.split_over(axes), self.mesh), latency=self.latency)
        return rewritten(self, lambda t: replace(t, dims=tuple(replace(d, axes=axes(d.axes)) for d in t.dims)), axes)

    def stored(self, types: Mapping[int, Dtype]) -> Program:
        """The program with other element types: tensors by their place, the declared ones first."""
        from symroof.model.program_text import retyped

        if self.line is not None:
            return replace(Program.of(self.line.stored(types), self.mesh), latency=self.latency)
        return retyped(self, {name: types[place] for place, name in enumerate(self.arrays) if place in types})

    def resolved(self, value: Expr) -> Expr:
        """A value with the sizes that others define put in."""
        return value.xreplace(self.definitions) if self.where else value

    def require_sizes(self, values: Mapping[str, Fraction]) -> None:
        """A dimension that other sizes define is at least 1, as all dimensions are: refused where these make it less."""
        require_dimensions(self, values)

    @cached_property
    def definitions(self) -> Mapping[Expr, Expr]:
        """The sizes that others define, in those that nothing does: each stands behind those that its formula mentions."""
        found: dict[Expr, Expr] = {}
        for name, formula in self.where.items():
            found[symbol(name)] = expression(formula).xreplace(found)
        return found

    @cached_property
    def owners(self) -> Mapping[str, StatementCost]:
        """What each statement costs, with the elementwise ones that join it, in the sizes of the shapes."""
        from symroof.model.statement_costs import costs_of_statements

        return costs_of_statements(self)

    @cached_property
    def on_chip(self) -> Mapping[str, ChipCost]:
        """What one chip of the mesh does of each statement; empty on one chip, and where the mesh lacks an axis."""
        from symroof.model.chip_costs import chip_costs

        return chip_costs(self) if self.axes and {*self.axes} <= {axis.name for axis in self.mesh} else {}

    def sent(self, resource: str) -> Expr:
        """The bytes that an axis carries in one direction of a link, or the port of a switch."""
        return Add(*(cost.sent.get(resource, Integer(0)) for cost in self.on_chip.values())).expand()

    def cost(self, count: Counting = "fma") -> Cost:
        """FLOPs and bytes of the whole program; its elementwise work counts as FLOPs where nothing is contracted."""
        if self.line is not None:
            return self.line.cost(count)
        owners, kinds = self.owners.values(), ("ops", "ops") if self.vector else ("flops_exact", "flops")
        work, rounded = (tuple(x for cost in owners if (x := getattr(cost, kind)) != 0) for kind in kinds)
        loads, stores = (tuple(x for cost in owners for _, x in getattr(cost, kind)) for kind in ("loads", "stores"))
        work, rounded, loads, stores = (tuple(map(self.resolved, part)) for part in (work, rounded, loads, stores))
        return Cost(work, rounded, loads, stores, count)

    def stock(self, role: str, *, bytes_of: bool = False) -> Expr:
        """The elements or bytes of the declared tensors of a role, those of all turns of repeats."""
        each = ((t, t.bytes if bytes_of else t.elements) for t in self.declared_as(role))
        return Add(*(self.turns(tensor) * size for tensor, size in each))

    @property
    def named(self) -> tuple[str, ...]:
        """The quantities that only programs have: a statement without a name has none, but on a mesh."""
        from symroof.model.statement_costs import amounts

        return () if self.alone else tuple(amounts(self, "fma"))

    def turns(self, tensor: Tensor) -> Expr:
        """How many copies of a declared tensor there are: each turn of a repeat has weights and caches of its own."""
        return turns_of(self.copies(tensor))

    def copies(self, tensor: Tensor) -> tuple[Repeat, ...]:
        """The repeats each turn of which has a declared tensor of its own."""
        return self._copies.get(str(tensor.name), ())

    @cached_property
    def _copies(self) -> Mapping[str, tuple[Repeat, ...]]:
        """The repeats around the first statement that uses a tensor; none for what is the same in all turns."""
        found: dict[str, tuple[Repeat, ...]] = {str(d.tensor.name): () for d in self.declared if d.shared}
        for line in self.lines:
            for tensor in line.statement.operands:
                found.setdefault(str(tensor.name), weights_of(line.repeats))
        return found

    @property
    def title(self) -> str:
        """Its name in the library, or ``x -> y``: what goes in and what comes out; a product as it was written."""
        if self.entry:
            return self.entry
        if self.line is not None:
            return str(self.line)
        first, last = self.declared_as("input") or tuple(d.tensor for d in self.declared[:1]), self.results
        return f"{', '.join(str(t.name) for t in first)} -> {', '.join(str(t.name) for t in last)}"

    def __repr__(self) -> str:
        return f"<Program {self.title}>"

    def __str__(self) -> str:
        from symroof.model.program_text import spelled

        return spelled(self) if self.line is None else str(self.line)
