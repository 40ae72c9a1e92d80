"""Tensors: an element type and a shape, whose dimensions may be split over axes of a mesh."""

from __future__ import annotations

from sympy import Expr, Integer, Mul

from symroof.formula import Frozen
from symroof.model.dtype import Dtype
from symroof.symbols import rational, symbol


class Dim(Frozen):
    """One dimension: a name or a whole number, and the mesh axis that it is split over, if any."""

    label: str
    axis: str | None = None

    @property
    def fixed(self) -> bool:
        return self.label.isdigit()

    @property
    def size(self) -> Expr:
        return Integer(int(self.label)) if self.fixed else symbol(self.label)

    def __str__(self) -> str:
        return self.label if self.axis is None else f"{self.label}_{self.axis}"


class Tensor(Frozen):
    """An array in memory: ``elements`` and ``bytes`` are exact expressions in its dimensions."""

    dtype: Dtype
    dims: tuple[Dim, ...]
    name: str | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The dimensions that an einsum speaks of; a size of 1 is none."""
        return tuple(dim.label for dim in self.dims if dim.label != "1")

    @property
    def elements(self) -> Expr:
        return Mul(*(dim.size for dim in self.dims))

    @property
    def bytes(self) -> Expr:
        """
        >>> from symroof.model.dtype import dtype
        >>> Tensor(dtype("int4"), (Dim("D"), Dim("F"))).bytes
        D*F/2
        """
        return rational(self.dtype.bytes) * self.elements

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.dims))}]"
