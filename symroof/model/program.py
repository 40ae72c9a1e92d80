"""Programs: declared tensors, and statements that make tensors of them, one after the other.

A statement is a product (what the result lacks is contracted), a sum, or a function of the table. A fuse keeps what is
made and used only inside it on the chip, a repeat runs its body several times, each turn with weights and caches of its
own, and the statements of a block overlap as one. What a program costs is in :mod:`symroof.model.kernels`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from sympy import Add, Expr, Integer, Mul

from symroof.formula import Formula, Frozen, names
from symroof.model.cost import Cost, Counting
from symroof.model.dtype import Dtype, Tensor
from symroof.model.einsum import Einsum
from symroof.model.functions import Function
from symroof.symbols import expression, symbol

if TYPE_CHECKING:
    from symroof.model.statement_costs import StatementCost

ROLES = ("input", "weight", "cache")
PRODUCT, SUM, DIFFERENCE = "*", "+", "-"


class Declared(Frozen):
    """A tensor that comes from outside: its role says what it is for."""

    role: str
    tensor: Tensor


class Statement(Frozen):
    """``result = operands[0] * operands[1] …``, a sum of them, or a function of them, ``over`` a dimension for rows."""

    kind: str
    operands: tuple[Tensor, ...]
    result: Tensor
    function: Function | None = None
    over: str | None = None

    @property
    def name(self) -> str:
        return str(self.result.name)

    @property
    def product(self) -> Einsum | None:
        """The product that the statement is, None for sums and functions."""
        return Einsum(self.operands, self.result) if self.kind == PRODUCT else None

    @property
    def contracts(self) -> bool:
        return self.kind == PRODUCT and bool(Einsum(self.operands, self.result).contracted)

    def __str__(self) -> str:
        names = [str(tensor.name) for tensor in self.operands]
        if self.function is not None:
            over = (self.over,) if self.over is not None and self.over != self.operands[0].labels[-1] else ()
            right = f"{self.function.name}({', '.join((*names, *over))})"
        else:
            right = f" {self.kind} ".join(names)
        typed = (
            self.kind == PRODUCT
            or self.result.dims != self.operands[0].dims
            or self.result.dtype != self.operands[0].dtype
        )
        return f"{self.name} = {right}" + (f" -> {self.result}" if typed else "")


class Fuse(Frozen):
    body: tuple[Node, ...]


class Block(Frozen):
    name: str
    body: tuple[Node, ...]


class Repeat(Frozen):
    """The body, several times: ``leaves`` of one turn is ``enters`` of the next."""

    times: Formula
    enters: str
    leaves: str
    body: tuple[Node, ...]


Node = Statement | Fuse | Block | Repeat


class Line(Frozen):
    """A statement with what stands around it: the repeats from outside in, the fuse and the block, None outside of both."""

    statement: Statement
    repeats: tuple[Repeat, ...]
    fuse: Fuse | None
    block: str | None


class Program(Frozen):
    """Several operations, costed together; see :func:`symroof.model.kernels.kernels_of` for the traffic.

    ``where`` are sizes that others define; ``parameters`` the positive names that only these formulas mention.
    """

    declared: tuple[Declared, ...]
    body: tuple[Node, ...]
    where: Mapping[str, Formula] = field(default_factory=dict, hash=False)
    # A program is counted statement by statement: it has no cost functions, and is no single product.
    functions: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    counted: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    tensors: ClassVar[tuple[Tensor, ...]] = ()
    axes: ClassVar[tuple[str, ...]] = ()
    product: ClassVar[None] = None

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The statements in their order, each with what stands around it."""
        return tuple(_lines(self.body))

    @cached_property
    def arrays(self) -> Mapping[str, Tensor]:
        """Every tensor by its name: the declared ones, then what the statements make."""
        made = (line.statement.result for line in self.lines)
        return {str(t.name): t for t in (*(d.tensor for d in self.declared), *made)}

    def declared_as(self, role: str) -> tuple[Tensor, ...]:
        return tuple(d.tensor for d in self.declared if d.role == role)

    @property
    def results(self) -> tuple[Tensor, ...]:
        """What no statement uses: what the program returns."""
        used = {t.name for line in self.lines for t in line.statement.operands}
        kept = (line.statement.result for line in self.lines)
        return tuple(tensor for tensor in kept if tensor.name not in used)

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """The sizes of shapes and repeats that are at least 1, in order of appearance: all but what others define."""
        shapes = (dim.label for tensor in self.arrays.values() for dim in tensor.dims if not dim.fixed)
        turns = (name for line in self.lines for repeat in line.repeats for name in names(repeat.times))
        return tuple(name for name in dict.fromkeys((*shapes, *turns)) if name not in self.where)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names that only the formulas of other sizes mention: above 0."""
        found = (name for formula in self.where.values() for name in names(formula))
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
        return not any(line.statement.contracts for line in self.lines)

    @property
    def computes(self) -> tuple[Dtype, ...]:
        """The types at whose rates the contractions run; those of the first operands where nothing is contracted."""
        products = [line.statement.product for line in self.lines if line.statement.contracts]
        if products:
            return tuple(dict.fromkeys(product.compute for product in products if product is not None))
        return (self.lines[0].statement.operands[0].dtype,)

    @property
    def compute(self) -> Dtype:
        return self.computes[0]

    def operand_name(self, place: int) -> str:
        return ""

    def split_over(self, axes: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Program:
        return self

    def stored(self, types: Mapping[int, Dtype]) -> Program:
        return self

    def resolved(self, value: Expr) -> Expr:
        """A value with the sizes that others define put in."""
        for name, formula in reversed(tuple(self.where.items())):
            value = value.subs(symbol(name), expression(formula))
        return value

    @cached_property
    def owners(self) -> Mapping[str, StatementCost]:
        """What each statement costs, with the elementwise ones that join it, in the sizes of the shapes."""
        from symroof.model.statement_costs import costs_of_statements

        return costs_of_statements(self)

    def cost(self, count: Counting = "fma") -> Cost:
        """FLOPs and bytes of the whole program; its elementwise work counts as FLOPs where nothing is contracted."""
        owners, kinds = self.owners.values(), ("ops", "ops") if self.vector else ("flops_exact", "flops")
        work, rounded = (tuple(x for cost in owners if (x := getattr(cost, kind)) != 0) for kind in kinds)
        loads, stores = (tuple(x for cost in owners for _, x in moved(cost)) for moved in (_loads, _stores))
        work, rounded, loads, stores = (tuple(map(self.resolved, part)) for part in (work, rounded, loads, stores))
        return Cost(work, rounded, loads, stores, count)

    def stock(self, role: str, *, bytes_of: bool = False) -> Expr:
        """The elements or bytes of the declared tensors of a role, those of all turns of repeats."""
        each = ((t, t.bytes if bytes_of else t.elements) for t in self.declared_as(role))
        return Add(*(self.turns(tensor) * size for tensor, size in each))

    @property
    def named(self) -> tuple[str, ...]:
        """The quantities that only programs have."""
        from symroof.model.statement_costs import amounts

        return tuple(amounts(self, "fma"))

    def turns(self, tensor: Tensor) -> Expr:
        """How many copies of a declared tensor there are: each turn of a repeat has weights and caches of its own."""
        users = (line for line in self.lines if tensor in line.statement.operands)
        return next((turns_of(line.repeats) for line in users), Integer(1))

    @property
    def title(self) -> str:
        """``x -> y``: what goes in and what comes out."""
        first = self.declared_as("input") or tuple(d.tensor for d in self.declared[:1])
        return f"{', '.join(str(t.name) for t in first)} -> {', '.join(str(t.name) for t in self.results)}"

    def __str__(self) -> str:
        from symroof.model.program_text import spelled

        return spelled(self)


def turns_of(repeats: tuple[Repeat, ...]) -> Expr:
    """How often what stands in these repeats is run."""
    return Mul(*(expression(repeat.times) for repeat in repeats))


def _loads(cost: StatementCost) -> tuple[tuple[str, Expr], ...]:
    return cost.loads


def _stores(cost: StatementCost) -> tuple[tuple[str, Expr], ...]:
    return cost.stores


def _lines(
    body: tuple[Node, ...], repeats: tuple[Repeat, ...] = (), fuse: Fuse | None = None, block: str | None = None
) -> Iterator[Line]:
    for node in body:
        match node:
            case Statement():
                yield Line(node, repeats, fuse, block)
            case Fuse():
                yield from _lines(node.body, repeats, node, block)
            case Repeat():
                yield from _lines(node.body, (*repeats, node), fuse, block)
            case Block():
                yield from _lines(node.body, repeats, fuse, node.name)
