"""Lowering: a program as kernels of loop nests.

What is written in a program is of two kinds. Some statements say where a tensor lies (:mod:`symroof.model.accesses`), and become
accesses; the others compute, and become loop nests, one function for each form: a contraction or an elementwise statement, a
function of the table, elements in other dimensions, windows that slide, rows that are looked up. A ``mask`` is a stair of the
domain, the repeats around a statement are its launches, and those inside a fuse are axes of its domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from sympy import Expr

from symroof.errors import ModelError
from symroof.loopnest.adjoint_rules import Derivative
from symroof.loopnest.gradients import with_backward
from symroof.loopnest.nests import (
    CONTRACTION,
    COPY,
    INPUT,
    MATRIX,
    ROWS,
    VECTOR,
    Access,
    Axis,
    Buffer,
    Domain,
    Guard,
    Kernel,
    Launched,
    Module,
    Operand,
    Operation,
    Stair,
    Statement,
    kernels_of,
)
from symroof.loopnest.size_polynomials import ONE, ZERO, Order, polynomial_of
from symroof.model.accesses import Layout, copy_name, form_of
from symroof.model.dtype import Tensor
from symroof.model.functions import FUNCTIONS
from symroof.model.nodes import PRODUCT, Line, Node, Recompute, statements_in
from symroof.model.nodes import Statement as Written
from symroof.model.operation import Operation as Given
from symroof.model.program import Program
from symroof.model.sliding import NAME as WINDOWS
from symroof.model.sliding import Slide, slid, stride_of
from symroof.model.training import with_gradients

REARRANGE, LOOKUP = "rearrange", "lookup"


def lowered(program: Program) -> Module:
    """The kernels of a program, in training with those of its backward pass. Raises :class:`~symroof.errors.SymroofError` for
    what sizes leave open.

    >>> from symroof.reading.programs import read_program
    >>> module = lowered(read_program("input x: bf16[N, D]; weight W: bf16[D, F]; h = x * W -> bf16[N, F]; y = relu(h)"))
    >>> [[statement.name for statement in kernel.body] for kernel in module.kernels]
    [['h', 'y']]
    """
    if program.given is not None:
        return _given(program.given)
    lowering = _Lowering(program)
    module = lowering.module()
    if not program.training:
        return module
    gradients = with_gradients(program)
    asked = (name for d in program.declared if (name := str(d.tensor.name)) in gradients)
    return with_backward(module, lowering.written, asked, DERIVATIVES)


# What the table of functions says of going back.
DERIVATIVES: Mapping[str, Derivative] = {
    name: Derivative(f.back_each, f.back_row, f.needs, f.operands, f.back == () and not f.reshapes)
    for name, f in FUNCTIONS.items()
    if f.back is not None
}


class _Lowering:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.layout = Layout(program)
        self.fuses: dict[int, str] = {}
        for line in program.forward:
            if line.fuse is not None:
                self.fuses.setdefault(id(line.fuse), f"fuse.{len(self.fuses) + 1}")
        self.whole = frozenset(
            self.fuses[id(line.fuse)] for line in program.forward if line.fuse is not None and line.fuse.contracts
        )
        self.remade = dict(_remade(program.body))
        self.written: list[str] = []  # the names of the loop nests in the order of the author

    def module(self) -> Module:
        items = [item for line in self.program.forward for item in self._launched(line)]
        self.written = [item.statement.name for item in items]
        kernels = tuple(map(_with_rows_on_chip, kernels_of(items, self.whole)))
        repeats = {repeat for line in self.program.forward for repeat in line.repeats if repeat.accumulates}
        microbatches = frozenset(self.layout.turn(repeat).name for repeat in repeats)
        return Module(self.layout.buffers, kernels, tuple(self._wanted()), self.layout.order, microbatches)

    def _launched(self, line: Line) -> Iterator[Launched]:
        """The loop nests of a line with their launches: one, or of what is joined its copies alone, which are one kernel."""
        launches = tuple(self.layout.turn(repeat) for repeat in line.launched)
        if not form_of(line.statement):
            yield Launched(self._statement(line), launches)
            return
        self.layout.of(line.statement.name, line.repeats)
        for place, tensor in enumerate(line.statement.operands):
            if (line.statement.joins or line.statement.appends) and self.layout.copied(line, place):
                name = copy_name(line.statement, place)
                result = self.layout.buffer(name, tensor, line.repeats)
                operands = (self.layout.operand(line, place),)
                nest = Statement(name, self._domain(line, tensor.labels), result, operands, Operation(COPY))
                nest = replace(nest, remade=self.remade.get(line.statement.name, ""))
                yield Launched(nest, launches, alone=f"copies of {line.statement.name}")

    def _statement(self, line: Line) -> Statement:
        statement = OPERATIONS[_operation(line.statement)](self, line)
        fuse = "" if line.fuse is None else self.fuses[id(line.fuse)]
        return replace(statement, fuse=fuse, remade=self.remade.get(line.statement.name, ""))

    # ---- domains

    def _domain(self, line: Line, labels: Iterable[str]) -> Domain:
        """The dimensions, and the turns that are gone through on the chip."""
        axes = (Axis(label, self.layout.size(label)) for label in dict.fromkeys(labels))
        return Domain((*map(self.layout.turn, line.on_chip), *axes))

    def _masked(self, line: Line, labels: Iterable[str]) -> Domain:
        """The same, less what the mask of the fuse leaves out: row t of T meets the columns up to t + S - T, or up to t."""
        domain, mask = self._domain(line, labels), line.mask
        if mask is None or not mask.labels <= domain.sizes.keys():
            return domain
        shift = ZERO if mask.from_first else self.layout.size(mask.columns) - self.layout.size(mask.rows)
        window = self.layout.size(mask.window) if mask.window else None
        return replace(domain, stairs=(Stair(mask.rows, mask.columns, shift, window),))

    def _result(self, line: Line) -> Access:
        (access,) = self.layout.of(line.statement.name, line.repeats)
        return access

    def _operands(self, line: Line) -> tuple[Operand, ...]:
        return tuple(self.layout.operand(line, place) for place in range(len(line.statement.operands)))

    # ---- operations

    def product_or_sum(self, line: Line) -> Statement:
        """A contraction counts 2 for each point; without one an operation for each operand beyond the first, and a sum or a
        maximum over dimensions one for each element less one for each result."""
        written, turns = line.statement, tuple(self.layout.turn(repeat).name for repeat in line.on_chip)
        first, result = (*written.operands[0].labels, *turns), (*written.result.labels, *turns)
        labels = _labels((written.result, *written.operands))
        if written.contracts:
            operation = Operation(CONTRACTION, MATRIX, ((Fraction(2), (*turns, *labels)),))
        elif len(written.operands) == 1:
            less = ((Fraction(-1), result),) if written.reduces else ()
            operation = Operation(written.kind, VECTOR, ((Fraction(1), first), *less))
        else:
            operation = Operation(written.kind, VECTOR, ((Fraction(len(written.operands) - 1), result),))
        return Statement(written.name, self._masked(line, labels), self._result(line), self._operands(line), operation)

    def function(self, line: Line) -> Statement:
        """Operations of the table for each element, and for each row."""
        written, function = line.statement, line.statement.function
        assert function is not None
        turns = tuple(self.layout.turn(repeat).name for repeat in line.on_chip)
        first = (*written.operands[0].labels, *turns)
        row = tuple(label for label in first if label != written.over)
        work = tuple(pair for pair in ((function.each, first), (function.row, row)) if pair[0])
        operation = Operation(function.name, VECTOR, work, written.over or "")
        labels = (*written.result.labels, *_labels(written.operands))
        return Statement(written.name, self._masked(line, labels), self._result(line), self._operands(line), operation)

    def rearranged(self, line: Line) -> Statement:
        """The same elements in other dimensions, written anew: read where they would be seen."""
        written, labels = line.statement, line.statement.result.labels
        seen = (
            self.layout.seen(access, written.operands[0].labels, labels, written.name)
            for access in self.layout.operand(line, 0)
        )
        return Statement(
            written.name, self._domain(line, labels), self._result(line), (tuple(seen),), Operation(REARRANGE, VECTOR)
        )

    def windows(self, line: Line) -> Statement:
        """Window u of stride s has the places s*u + r of its taps r. The zeros that the last windows lack stand at the end: which
        side they are on changes no count."""
        written = line.statement
        operand = self.layout.operand(line, 0)
        for slide in slid(written):
            stride = stride_of(self.program, slide)
            if stride is None:
                raise ModelError(
                    f"nobody says every how many places of {slide.whole} there is a window of {written.name}"
                )
            operand = tuple(self._under(access, slide, stride) for access in operand)
        labels = written.result.labels
        return Statement(
            written.name, self._domain(line, labels), self._result(line), (operand,), Operation(WINDOWS, VECTOR)
        )

    def _under(self, access: Access, slide: Slide, stride: int) -> Access:
        """An access of which one dimension is places that windows slide over."""
        unit, step = dict(access.strides)[slide.whole], ONE * stride
        if any(guard.axis == slide.whole for guard in access.within):
            raise ModelError(f"windows slide over {slide.whole}, which lies in several parts")
        rest = tuple(pair for pair in access.strides if pair[0] != slide.whole)
        taps = ((slide.taps, unit),) if slide.taps else ()
        there = replace(access, strides=(*rest, (slide.places, step * unit), *taps))
        places, whole = self.layout.size(slide.places), self.layout.size(slide.whole)
        width = self.layout.size(slide.taps) if slide.taps else ONE
        if self.layout.order.at_least(whole, step * (places - 1) + width):
            return there  # no window lacks anything
        guard = Guard(((slide.places, step), (slide.taps, ONE)), ZERO, whole)
        return replace(there, within=(*there.within, guard))

    def lookup(self, line: Line) -> Statement:
        """Rows of a table that integers name: a loop over the rows, of which the integer of a point picks one. Nobody knows how
        often each is named: the rows are counted as fresh ones, one for each point, a convention, and the table is there whole."""
        written, operands = line.statement, self._operands(line)
        label = written.operands[0].dims[0].label
        row = Axis(f"row.{label}", self.layout.size(label))
        table = tuple(access.renamed({label: row.name}) for access in operands[0])
        tensor = replace(written.operands[0], dims=written.result.dims)
        rows = self.layout.buffer(f"rows of {tensor.name} for {written.name}", tensor, line.repeats, ROWS)
        domain = self._domain(line, _labels((written.result, *written.operands[1:])))
        domain = replace(domain, axes=(*domain.axes, row))
        operation = Operation(LOOKUP, VECTOR, over=row.name)
        return Statement(written.name, domain, self._result(line), ((rows,), *operands[1:]), operation, table)

    # ---- what is wanted

    def _wanted(self) -> Iterator[tuple[Domain, Operand]]:
        """What the program returns, what leaves a repeat after its last turn, and caches with what is appended to them."""
        used = {str(t.name) for line in self.program.forward for t in line.statement.operands}
        names = {str(tensor.name) for tensor in self.program.results} | {*self.program.returned}
        for name, line in self.layout.makers.items():
            if name in names or name not in used or line.statement.appends:
                left = [repeat for repeat in line.repeats if name in repeat.leaves]
                turns = tuple(repeat for repeat in line.repeats if repeat not in left)
                collected = line.statement.collects
                around = turns[:-1] if collected else turns
                axes = (Axis(label, self.layout.size(label)) for label in line.statement.result.labels)
                yield Domain((*axes, *map(self.layout.turn, around))), self.layout.of(name, around)


def _operation(written: Written) -> str:
    """The form of what a statement computes, by which the table has its function."""
    function = written.function
    if function is None:
        return PRODUCT
    return function.name if function.name in OPERATIONS and (function.reshapes or function.gathers) else ""


OPERATIONS: Mapping[str, Callable[[_Lowering, Line], Statement]] = {
    PRODUCT: _Lowering.product_or_sum,
    "": _Lowering.function,
    REARRANGE: _Lowering.rearranged,
    WINDOWS: _Lowering.windows,
    LOOKUP: _Lowering.lookup,
}


def _labels(tensors: Iterable[Tensor]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label for tensor in tensors for label in tensor.labels))


def _with_rows_on_chip(kernel: Kernel) -> Kernel:
    """A kernel that reads no rows of a table that it makes itself: they are on the chip."""
    made = {statement.result.buffer for statement in kernel.body}

    def rows(statement: Statement) -> Statement:
        here = statement.table and all(access.buffer in made for access in statement.table)
        return replace(statement, operands=statement.operands[1:]) if here else statement

    return replace(kernel, body=tuple(map(rows, kernel.body)))


def _remade(nodes: tuple[Node, ...]) -> Iterator[tuple[str, str]]:
    """The statements of each block that the backward pass makes again, with a name for the block."""
    for node in nodes:
        if isinstance(node, Recompute):
            inside = [statement.name for statement in statements_in(node.body)]
            yield from ((name, f"recompute of {inside[0]}") for name in inside)
        elif not isinstance(node, Written):
            yield from _remade(node.body)


def _given(given: Given) -> Module:
    """An operation that is given by its costs: one kernel whose work, reads and writes are what the formulas say.

    >>> from symroof.loopnest.costs import counts_of
    >>> from symroof.symbols import symbol
    >>> def flops(N): return 2*N - 1
    >>> def reads(N): return 4*N
    >>> def writes(N): return 2
    >>> counts = counts_of(_given(Given("dot", flops, reads, writes)))
    >>> counts.work("matrix"), counts.reads, counts.writes
    (2*N - 1, 4*N, 2)
    """
    cost = given.cost()
    amounts = {name: polynomial_of(value.expand()) for name, value in _amounts(cost.flops, cost.reads, cost.writes)}
    axes = tuple(Axis(name, amount) for name, amount in amounts.items())
    buffers = {
        "operands": Buffer("operands", (), amounts["reads"], 8, INPUT),
        "results": Buffer("results", (), amounts["writes"], 8),
    }
    taken, result = (
        Access(buffer, (), ZERO, ((axis, ONE),)) for buffer, axis in zip(buffers, ("reads", "writes"), strict=True)
    )
    unit = VECTOR if given.vector else MATRIX
    operation = Operation("given", unit, ((Fraction(1), ("work",)),))
    statement = Statement(given.name, Domain(axes), result, ((taken,),), operation)
    kernels = kernels_of([Launched(statement, ())], frozenset())
    return Module(buffers, kernels, ((Domain(axes), (result,)),), Order())


def _amounts(work: Expr, reads: Expr, writes: Expr) -> tuple[tuple[str, Expr], ...]:
    return (("work", work), ("reads", reads), ("writes", writes))
