"""Programs: declared tensors, and statements that make tensors of them, one after the other.

Written out it is text that reads back as the same program. What it costs is in :mod:`symroof.model.program_quantities`; in
training it goes on with the statements of :mod:`symroof.model.backward`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property

from sympy import Add, Expr

from symroof.formula import Compare, Formula, Frozen, names
from symroof.model.aliases import Memory
from symroof.model.collectives import TREE, MeshAxis
from symroof.model.einsum import Einsum
from symroof.model.given_costs import Operation
from symroof.model.program_tree import (
    ONE_CHIP,
    PRODUCT,
    Block,
    Declared,
    Fuse,
    Line,
    Node,
    Recompute,
    Repeat,
    Statement,
    lines_of,
    turns_of,
    weights_of,
)
from symroof.model.quantities import NAMELESS
from symroof.model.tensor_types import Dtype, Tensor, spelled_fact, spelled_size
from symroof.symbols import expression, symbol

INDENT = "  "


class Backward(Frozen):
    """A backward pass: ``incoming`` are gradients that come from outside, of which ``arriving`` are those of results, by the
    names of these; ``gradients`` are those of declared tensors, by their names."""

    body: tuple[Node, ...]
    incoming: tuple[Tensor, ...]
    gradients: Mapping[str, Tensor]
    arriving: Mapping[str, Tensor]


class Program(Frozen):
    """Several operations, costed together; in training with their backward pass.

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
    backward: Backward | None = None
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

        >>> from symroof.model.tensor_types import Dim, dtype
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

    @property
    def training(self) -> bool:
        return self.backward is not None

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
    def written(self) -> Mapping[str, Tensor]:
        """The tensors that the author wrote, by their names."""
        results = (line.statement.result for line in self.forward)
        return {str(t.name): t for t in (*(d.tensor for d in self.declared), *results)}

    @cached_property
    def arrays(self) -> Mapping[str, Tensor]:
        """Every tensor by its name: what comes from outside, then what the statements make."""
        incoming = () if self.backward is None else self.backward.incoming
        results = (line.statement.result for line in self.lines)
        return {**self.written, **{str(t.name): t for t in (*incoming, *results)}}

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
        uses = ((line, str(t.name)) for line in self.forward for t in line.statement.operands)
        used = {name for line, name in uses if not any(name in repeat.leaves for repeat in line.repeats)}
        used |= {str(line.statement.operands[0].name) for line in self.forward if line.statement.collects}
        tensors = (line.statement.result for line in self.forward)
        return tuple(tensor for tensor in tensors if tensor.name not in used or tensor.name in self.returned)

    @property
    def scores(self) -> tuple[str, ...]:
        """The products of two activations that a softmax is taken of: scores of attention, of which some may be masked."""
        weights = {tensor.name for tensor in self.declared_as("weight")}
        statements = {line.statement.result.name: line.statement for line in self.forward if line.mask is None}
        softmaxes = (s for s in statements.values() if s.function and s.function.name == "softmax")
        operands = dict.fromkeys(operand.name for s in softmaxes for operand in s.operands)
        products = (statements[name] for name in operands if name in statements and statements[name].kind == PRODUCT)
        return tuple(s.name for s in products if not weights & {operand.name for operand in s.operands})

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
        result = (name for formula in (*self.where.values(), *self.facts) for name in names(formula))
        return tuple(n for n in dict.fromkeys(result) if n not in self.sizes and n not in self.where)

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
        costs = self.given
        return not any(line.statement.contracts for line in self.lines) if costs is None else costs.vector

    @property
    def computes(self) -> tuple[Dtype, ...]:
        """The types at whose rates the contractions run; those of the first operands where nothing is contracted."""
        products = [line.statement.product for line in self.lines if line.statement.contracts]
        result = dict.fromkeys(product.compute for product in products if product is not None)
        return tuple(result) or (self.lines[0].statement.operands[0].dtype,)

    @property
    def compute(self) -> Dtype | None:
        """The first of them; None where the costs do not say it."""
        return self.computes[0] if self.given is None else self.given.compute

    def operand_name(self, place: int) -> str:
        return "" if self.line is None else self.line.operand_name(place)

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The mesh axes that some dimension is split over, or the turns of a repeat, or that something is sent along."""
        of_dimensions = (axis for t in self.written.values() for dim in t.dims for axis in dim.axes)
        sends = (line.statement.sends[1] for line in self.forward if line.statement.sends is not None)
        names = [axis.name for axis in self.mesh]  # what goes to the farthest chip goes along all of them
        along = (axis for axis_sent in sends if axis_sent != ONE_CHIP for axis in ([axis_sent] if axis_sent else names))
        return tuple(dict.fromkeys((*of_dimensions, *self.stages, *along)))

    @property
    def stages(self) -> tuple[str, ...]:
        """The mesh axes that the turns of a repeat are shared out over."""
        return tuple(dict.fromkeys(repeat.over for line in self.forward for repeat in line.repeats if repeat.over))

    def resolved(self, value: Expr) -> Expr:
        """A value with the sizes that others define put in."""
        return value.xreplace(self.definitions) if self.where else value

    @cached_property
    def definitions(self) -> Mapping[Expr, Expr]:
        """The sizes that others define, in those that nothing does: each stands behind those that its formula mentions."""
        result: dict[Expr, Expr] = {}
        for name, formula in self.where.items():
            result[symbol(name)] = expression(formula).xreplace(result)
        return result

    def stock(self, role: str, *, bytes_of: bool = False) -> Expr:
        """The elements or bytes of the declared tensors of a role, those of all turns of repeats."""
        sizes = ((t, t.bytes if bytes_of else t.elements) for t in self.declared_as(role))
        return Add(*(self.turns(tensor) * size for tensor, size in sizes))

    def turns(self, tensor: Tensor) -> Expr:
        """How many copies of a declared tensor there are: each turn of a repeat has weights and caches of its own."""
        return turns_of(self.copies(tensor))

    def copies(self, tensor: Tensor) -> tuple[Repeat, ...]:
        """The repeats each turn of which has a declared tensor of its own."""
        return self._copies.get(str(tensor.name), ())

    @cached_property
    def _copies(self) -> Mapping[str, tuple[Repeat, ...]]:
        """The repeats around the first statement that uses a tensor; none for what is the same in all turns."""
        result: dict[str, tuple[Repeat, ...]] = {str(d.tensor.name): () for d in self.declared if d.shared}
        for line in self.lines:
            for tensor in line.statement.operands:
                result.setdefault(str(tensor.name), weights_of(line.repeats))
        return result

    @property
    def title(self) -> str:
        """Its name in the library, or ``x -> y``: what goes in and what comes out; a product as it was written."""
        if self.entry or self.line is not None:
            return self.entry or str(self.line)
        first, last = self.declared_as("input") or tuple(d.tensor for d in self.declared[:1]), self.results
        return f"{', '.join(str(t.name) for t in first)} -> {', '.join(str(t.name) for t in last)}"

    def __repr__(self) -> str:
        return f"<Program {self.title}>"

    def __str__(self) -> str:
        """The statements, one on a line, with the declarations before them."""
        if self.line is not None:
            return str(self.line)
        before, behind = spelled_parts(self)
        return "\n".join((*before, *_declared(self), *behind))


def spelled_parts(program: Program) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What stands before the declarations of a program, and what stands behind them."""
    returned = (f"output {', '.join(program.returned)}",) if program.returned else ()
    return tuple(_mesh(program)), (*_derived(program), *_body(program.body, ""), *returned)


def spelled_backward(program: Program) -> tuple[str, ...]:
    """The gradients that come from outside, and the statements of the backward pass."""
    if program.backward is None:
        return ()
    tensors = (f"# {key}: {', '.join(names)}" for key in ("keep", "regather") if (names := getattr(program, key)))
    comments = (*tensors, *(("# reduce: each",) if program.each else ()))
    comments += ("# schedule: gpipe",) if program.stages and program.schedule == "gpipe" else ()
    inputs = (f"input {tensor.name}: {tensor}" for tensor in program.backward.incoming)
    return (*comments, *inputs, *_body(program.backward.body, ""))


def _declared(program: Program) -> Iterator[str]:
    width = max(len(d.head) for d in program.declared)
    for declared in program.declared:
        yield f"{declared.head:{width}} {declared.tensor.name}: {declared.tensor}"


def _mesh(program: Program) -> Iterator[str]:
    """The axes, those of one link and one wiring on a line."""
    lines: dict[tuple[str | None, str | None], list[str]] = {}
    for axis in program.mesh:
        chips = "" if axis.chips is None else f" = {axis.chips}"
        lines.setdefault((axis.link, axis.wiring), []).append(f"{axis.name}{chips}")
    for (link, wiring), axes in lines.items():
        if wiring == TREE:
            yield from (f"mesh {axis} on {link}" for axis in axes)
        elif link is None and wiring is not None:
            yield from (f"mesh {axis} {wiring}" for axis in axes)
        else:
            yield f"mesh {', '.join(axes)}" + (f" on {link}" if link else "") + (f" {wiring}" if wiring else "")


def _derived(program: Program) -> Iterator[str]:
    for name, formula in program.where.items():
        yield f"where {name} = {spelled_size(program.choices.get(name, formula))}"
    yield from (f"where {spelled_fact(fact)}" for fact in program.facts)


def _body(body: tuple[Node, ...], margin: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, Fuse | Block | Repeat | Recompute):
            yield margin + _head(node)
            yield from _body(node.body, margin + INDENT)
            yield margin + "}"
        else:
            yield margin + str(node)


def _head(node: Fuse | Block | Repeat | Recompute) -> str:
    match node:
        case Recompute():
            return "recompute {"
        case Fuse():
            return "fuse {"
        case Block(name=name):
            return f"block {name} {{"
        case Repeat(accumulates=True):
            return f"accumulate {spelled_size(node.times)} {{"
        case Repeat():
            over = f" over {node.over}" if node.over else ""
            carried = ", ".join(f"{enters} = {leaves}" for enters, leaves in node.carried)
            word = "scan" if node.scans else "repeat"
            return f"{word} {spelled_size(node.times)}{over} as {carried} {{"
