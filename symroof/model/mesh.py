"""Chips in a mesh: which exchange an operation needs, and how long a link is busy with it.

On one axis of X chips let V be the bytes of the full result and k the directions that carry it at once (1 on a
line, and for X = 2; 2 on a ring with wraparound). Then each link direction carries, of V,

    all-gather, reduce-scatter   (X - 1) / (X k)
    all-reduce                   2 (X - 1) / (X k)      a reduce-scatter, then an all-gather
    all-to-all                   1 / (4 k)

(Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory, practice, and experience", 2007.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sympy import Expr, Mul

from symroof.errors import ModelError, suggestion
from symroof.model.operation import Einsum
from symroof.model.tensor import Tensor
from symroof.symbols import rational

COLLECTIVES: Mapping[str, Callable[[int, int], Fraction]] = {
    "all-gather": lambda chips, ways: Fraction(chips - 1, chips * ways),
    "reduce-scatter": lambda chips, ways: Fraction(chips - 1, chips * ways),
    "all-reduce": lambda chips, ways: Fraction(2 * (chips - 1), chips * ways),
    "all-to-all": lambda chips, ways: Fraction(1, 4 * ways),
}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A collective over one axis: ``payload`` is V, in bytes."""

    collective: str
    axis: str
    chips: int
    operand: str
    payload: Expr
    ways: int = 1

    @property
    def share(self) -> Fraction:
        """The part of the payload that one direction of a link carries."""
        return COLLECTIVES[self.collective](self.chips, self.ways)

    @property
    def sent(self) -> Expr:
        """The bytes that one direction of a link carries.

        >>> from symroof.symbols import symbol
        >>> Exchange("all-reduce", "X", 2, "output", 2 * symbol("B")).sent
        2*B
        """
        return rational(self.share) * self.payload

    def __str__(self) -> str:
        return f"{self.collective} over {self.axis} = {self.chips}"


def require_axes(operation: Einsum, mesh: Mapping[str, int]) -> None:
    """Every axis that the operation names has a size, and no axis splits one tensor twice."""
    for axis in operation.axes:
        if axis not in mesh:
            hint = suggestion(axis, mesh) or f"say --mesh {axis}=2"
            raise ModelError(f"the operation is split over {axis}, and the mesh has no such axis", hint=hint)
    for tensor in operation.tensors:
        split = [dim.axis for dim in tensor.dims if dim.axis]
        for axis in split:
            if split.count(axis) > 1:
                raise ModelError(f"{tensor} is split over {axis} twice", expected="an axis at most once in a tensor")


def chips_at_work(operation: Einsum, mesh: Mapping[str, int]) -> int:
    """Over how many chips the arithmetic is split: an axis helps if it splits the output, or a contracted
    dimension of every operand that has it."""
    axes = {dim.axis for dim in operation.output.dims if dim.axis}
    axes |= {axis for axis in operation.axes if _sums_partially(operation, axis)}
    return int(Mul(*(mesh[axis] for axis in axes)))


def local_bytes(operation: Einsum, mesh: Mapping[str, int]) -> tuple[Expr, ...]:
    """What one chip reads and writes of each tensor in its own memory; gathered operands count in full."""
    gathered = {axis for axis in operation.axes if not _stays(operation, axis) and not _sums_partially(operation, axis)}
    whole = {axis: 1 if axis in gathered else size for axis, size in mesh.items()}
    return tuple(tensor.shard(whole) for tensor in operation.tensors)


def exchanges(operation: Einsum, mesh: Mapping[str, int], ways: Mapping[str, int]) -> tuple[Exchange, ...]:
    """The exchanges that the operation needs, one axis after the other; an axis of one chip needs none.

    A contracted dimension split on every operand leaves partial sums: an all-reduce of the output, or a
    reduce-scatter where the output is split over the same axis. Split on one operand: an all-gather of it.
    An axis that stays in the output needs nothing. Anything else is refused, never free.
    """
    require_axes(operation, mesh)
    found = []
    for axis in operation.axes:
        exchange = _exchange(operation, axis, mesh, ways.get(axis, 1))
        if exchange is not None and mesh[axis] > 1:
            found.append(exchange)
    return tuple(found)


def _exchange(operation: Einsum, axis: str, mesh: Mapping[str, int], ways: int) -> Exchange | None:
    chips = mesh[axis]
    others = {name: 1 if name == axis else size for name, size in mesh.items()}
    split_output = _labels(operation.output, axis)
    last = len(operation.inputs)
    if _sums_partially(operation, axis):
        collective = "reduce-scatter" if split_output else "all-reduce"
        payload = operation.output.shard(others)
        return Exchange(collective, axis, chips, operation.operand_name(last), payload, ways)
    if _stays(operation, axis):
        return None
    holders = [i for i, tensor in enumerate(operation.inputs) if _labels(tensor, axis)]
    if len(holders) == 1 and _labels(operation.inputs[holders[0]], axis) <= set(operation.contracted):
        place = holders[0]
        payload = operation.inputs[place].shard(others)
        return Exchange("all-gather", axis, chips, operation.operand_name(place), payload, ways)
    raise ModelError(
        f"the split over {axis} in {operation} needs an exchange that is not derived here",
        expected="a contracted dimension split on one operand or on all, or an axis kept in the output",
    )


def _labels(tensor: Tensor, axis: str) -> set[str]:
    return {dim.label for dim in tensor.dims if dim.axis == axis}


def _sums_partially(operation: Einsum, axis: str) -> bool:
    split = set().union(*(_labels(tensor, axis) for tensor in operation.inputs))
    return (
        len(split) == 1
        and split <= set(operation.contracted)
        and all(_labels(t, axis) == split for t in operation.inputs if split & set(t.labels))
    )


def _stays(operation: Einsum, axis: str) -> bool:
    kept = _labels(operation.output, axis)
    return bool(kept) and all(_labels(tensor, axis) <= kept for tensor in operation.inputs)
