"""A product on a mesh is a program of one statement: its exchanges are those of that program."""

from __future__ import annotations

from math import prod

from sympy import Expr, Mul

from symroof.errors import ModelError
from symroof.formula import Frozen
from symroof.model.chip_costs import message, shares
from symroof.model.dtype import Tensor
from symroof.model.einsum import Einsum
from symroof.model.mesh import division, require_axes
from symroof.model.mesh_axes import Mesh, MeshAxis
from symroof.model.nodes import PRODUCT, Declared, Statement
from symroof.model.operation import AnyOperation
from symroof.model.placing import placed
from symroof.model.program import Program


class Exchange(Frozen):
    """A collective over axes of one link, each of several chips: ``payload`` is V, in bytes."""

    collective: str
    over: tuple[MeshAxis, ...]
    operand: str
    payload: Expr

    @property
    def axes(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.over)

    @property
    def axis(self) -> str:
        """The axes in one word, as a split over them is written: XY."""
        return "".join(self.axes)

    @property
    def chips(self) -> int | None:
        """How many chips take part, where every axis has a number."""
        numbers = [axis.chips for axis in self.over if axis.chips is not None]
        return prod(numbers) if len(numbers) == len(self.over) else None

    @property
    def size(self) -> Expr:
        return Mul(*(axis.size for axis in self.over))

    @property
    def link(self) -> str:
        return str(self.over[0].link)

    @property
    def wiring(self) -> str:
        """How the chips are wired: two of them are a line, rings in several directions a torus, else a grid."""
        if self.over[0].wiring == "switch":
            return "switch"
        closed = all(axis.ways == 2 for axis in self.over)
        names = ("line", "ring") if len(self.over) == 1 else ("grid", "torus")
        return names[closed]

    @property
    def origins(self) -> tuple[tuple[tuple[str | None, int | None], tuple[str, ...]], ...]:
        """Where the wiring is known from, with the axes of each origin."""
        found: dict[tuple[str | None, int | None], tuple[str, ...]] = {}
        for axis in self.over:
            found[axis.origin, axis.closing] = (*found.get((axis.origin, axis.closing), ()), axis.name)
        return tuple(found.items())

    @property
    def carried(self) -> tuple[tuple[str, Expr], ...]:
        """The part of the payload that one direction of a link of each axis carries, or the port of a switch."""
        return tuple(shares(self.collective, self.over))

    @property
    def share(self) -> Expr:
        """The part that the busiest of them carries."""
        first, *others = (share for _, share in self.carried)
        if all((share - first).expand() == 0 for share in others):
            return first
        if not all(share.is_Rational for share in (first, *others)):
            raise ModelError(
                f"which of {' and '.join(self.axes)} an {self.collective} over both keeps busy longer depends on their sizes",
                expected="numbers of chips for them, or a program: it has a time for each axis",
            )
        return max(first, *others)

    @property
    def sent(self) -> Expr:
        """The bytes that one direction of a link carries.

        >>> from symroof.symbols import symbol
        >>> Exchange("all-reduce", (MeshAxis("X", 2),), "output", 2 * symbol("B")).sent
        2*B
        """
        return self.share * self.payload

    def __str__(self) -> str:
        return f"{self.collective} over {self.axis}" + (f" = {self.chips}" if self.chips is not None else "")


def alone(product: Einsum, mesh: Mesh) -> Program:
    """The program of one statement that a product is; its tensors are called by their places.

    >>> from symroof.model.dtype import Dim, Tensor, dtype
    >>> bf16, (B, D, F) = dtype("bf16"), map(Dim, "BDF")
    >>> str(alone(Einsum((Tensor(bf16, (B, D)), Tensor(bf16, (D, F))), Tensor(bf16, (B, F))), {}).lines[0].statement)
    '2 = 0 * 1 -> bf16[B, F]'
    """
    *operands, result = (Tensor(tensor.dtype, tensor.dims, str(place)) for place, tensor in enumerate(product.tensors))
    declared = tuple(Declared("input", tensor) for tensor in operands)
    return Program(declared, (Statement(PRODUCT, tuple(operands), result),), mesh=tuple(mesh.values()))


def exchanges(operation: AnyOperation, mesh: Mesh) -> tuple[Exchange, ...]:
    """The exchanges that a product needs, in their order; an axis of one chip needs none."""
    product = operation.product
    if product is None or not product.axes:
        return ()
    require_axes(product, mesh)
    division(product)  # what it refuses is quoted as its author wrote it
    program = alone(product, mesh)
    moves = (move for place in placed(program) for move in place.moves)
    over = ((move, tuple(axis for name in move.axes if (axis := mesh[name]).chips != 1)) for move in moves)
    return tuple(
        Exchange(move.collective, axes, product.operand_name(int(str(move.tensor.name))), message(move, program))
        for move, axes in over
        if axes
    )
