"""Operations by name, each with what it counts and where the count comes from.

An elementary function (exp, a comparison, a reciprocal square root) counts as one operation, as in the works cited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from symroof.errors import ModelError, suggestion
from symroof.model.dtype import Dtype, dtype
from symroof.model.operation import AnyOperation, Einsum, Operation
from symroof.model.tensor import Dim, Tensor

Build = Callable[[str, Dtype | None], AnyOperation]
Cost = Callable[..., Any]
Costs = tuple[Cost, Cost, Cost]


@dataclass(frozen=True, slots=True)
class Entry:
    """A library operation; ``make`` takes its name and the element type, or None for the entry's own."""

    name: str
    summary: str
    source: str
    make: Build

    def build(self, element: Dtype | None = None) -> AnyOperation:
        return self.make(self.name, element)


WILLIAMS = "Williams, Waterman, Patterson, Roofline, CACM 52(4), 2009"
BLAS = "Dongarra, Du Croz, Hammarling, Hanson, An extended set of Fortran BLAS, TOMS 14(1), 1988"
SCALING = "How To Scale Your Model, part 1 (jax-ml.github.io/scaling-book/roofline)"
STREAM = "McCalpin, STREAM (www.cs.virginia.edu/stream)"
SOFTMAX = "Milakov, Gimelshein, Online normalizer calculation for softmax, arXiv:1805.02867"
RMS_NORM = "Zhang, Sennrich, Root mean square layer normalization, arXiv:1910.07467"

Counts = Mapping[str, Callable[..., Any]]
AXPY: Counts = {"multiplications": lambda N: N, "additions": lambda N: N}
ACTIVATION: Counts = {"operations": lambda N: N}
SOFTMAX_COUNTS: Counts = {
    "comparisons": lambda B, N: B * (N - 1),
    "subtractions": lambda B, N: B * N,
    "exponentials": lambda B, N: B * N,
    "additions": lambda B, N: B * (N - 1),
    "divisions": lambda B, N: B * N,
}
RMS_NORM_COUNTS: Counts = {
    "multiplications": lambda B, D: 3 * B * D,
    "additions": lambda B, D: B * D,
    "divisions": lambda B, D: B,
    "reciprocal roots": lambda B, D: B,
}


def _einsum(*shapes: str) -> Build:
    def build(name: str, element: Dtype | None) -> Einsum:
        *inputs, output = (
            Tensor(element or dtype("bf16"), tuple(Dim(label) for label in shape.split())) for shape in shapes
        )
        return Einsum(tuple(inputs), output)

    return build


def _costs(functions: Costs, counted: Counts, compute: str = "bf16", *, vector: bool = True) -> Build:
    def build(name: str, element: Dtype | None) -> Operation:
        if element is not None:
            raise ModelError(f"{name} is given by cost functions, which fix the widths", hint="leave --dtype out")
        return Operation(name, *functions, dtype(compute), vector, counted)

    return build


def axpy() -> Costs:
    """y := a x + y in bf16: a multiplication and an addition for each element."""

    def flops(N):  # type: ignore[no-untyped-def]
        return 2 * N

    def reads(N):  # type: ignore[no-untyped-def]
        return 2 * N + 2 * N + 2

    def writes(N):  # type: ignore[no-untyped-def]
        return 2 * N

    return flops, reads, writes


def triad() -> Costs:
    """a := b + s c in fp64; the store is counted once, without a write-allocate read."""

    def flops(N):  # type: ignore[no-untyped-def]
        return 2 * N

    def reads(N):  # type: ignore[no-untyped-def]
        return 8 * N + 8 * N

    def writes(N):  # type: ignore[no-untyped-def]
        return 8 * N

    return flops, reads, writes


def binary() -> Costs:
    """One operation on two bf16 arrays of N elements."""

    def flops(N):  # type: ignore[no-untyped-def]
        return N

    def reads(N):  # type: ignore[no-untyped-def]
        return 2 * N + 2 * N

    def writes(N):  # type: ignore[no-untyped-def]
        return 2 * N

    return flops, reads, writes


def unary() -> Costs:
    """One operation on a bf16 array of N elements, as max(x, 0)."""

    def flops(N):  # type: ignore[no-untyped-def]
        return N

    def reads(N):  # type: ignore[no-untyped-def]
        return 2 * N

    def writes(N):  # type: ignore[no-untyped-def]
        return 2 * N

    return flops, reads, writes


def softmax() -> Costs:
    """On each of B rows: N - 1 comparisons, N subtractions, N exponentials, N - 1 additions, N divisions."""

    def flops(B, N):  # type: ignore[no-untyped-def]
        return B * (N - 1 + N + N + N - 1 + N)

    def reads(B, N):  # type: ignore[no-untyped-def]
        return 2 * B * N

    def writes(B, N):  # type: ignore[no-untyped-def]
        return 2 * B * N

    return flops, reads, writes


def rms_norm() -> Costs:
    """On each of B rows: D squares, D - 1 additions, a division, an addition, a reciprocal root, 2D products."""

    def flops(B, D):  # type: ignore[no-untyped-def]
        return B * (D + D - 1 + 3 + 2 * D)

    def reads(B, D):  # type: ignore[no-untyped-def]
        return 2 * B * D + 2 * D

    def writes(B, D):  # type: ignore[no-untyped-def]
        return 2 * B * D

    return flops, reads, writes


def tiled_matmul() -> Costs:
    """tm by tn by tk tiles of bm by bk and bk by bn; the output tile stays on the chip until it is done."""

    def flops(bm, bn, bk, tm, tn, tk):  # type: ignore[no-untyped-def]
        return 2 * tm * tn * tk * bm * bn * bk

    def reads(bm, bn, bk, tm, tn, tk):  # type: ignore[no-untyped-def]
        return 2 * tm * tn * tk * (bm * bk + bk * bn)

    def writes(bm, bn, bk, tm, tn, tk):  # type: ignore[no-untyped-def]
        return 2 * tm * tn * bm * bn

    return flops, reads, writes


LIBRARY = {
    entry.name: entry
    for entry in (
        Entry("dot", "inner product of two vectors", SCALING, _einsum("N", "N", "1")),
        Entry("axpy", "y := a x + y, bf16", BLAS, _costs(axpy(), AXPY)),
        Entry("add", "elementwise sum of two arrays, bf16", WILLIAMS, _costs(binary(), {"additions": lambda N: N})),
        Entry("multiply", "elementwise product of two arrays", WILLIAMS, _einsum("N", "N", "N")),
        Entry("activation", "one operation on each element, bf16", WILLIAMS, _costs(unary(), ACTIVATION)),
        Entry("triad", "STREAM triad a := b + s c, fp64", STREAM, _costs(triad(), AXPY, "fp64")),
        Entry("matvec", "matrix times vector", BLAS, _einsum("M N", "N", "M")),
        Entry("outer", "outer product of two vectors", BLAS, _einsum("M", "N", "M N")),
        Entry("matmul", "matrix product", SCALING, _einsum("B D", "D F", "B F")),
        Entry(
            "batched-matmul", "one product for each of N pairs of matrices", SCALING, _einsum("N B D", "N D F", "N B F")
        ),
        Entry("per-element-matmul", "a matrix of its own for every row", SCALING, _einsum("B D", "B D F", "B F")),
        Entry("tiled-matmul", "matrix product in tiles, bf16", SCALING, _costs(tiled_matmul(), {}, vector=False)),
        Entry("softmax", "softmax of each of B rows, bf16", SOFTMAX, _costs(softmax(), SOFTMAX_COUNTS)),
        Entry("rms-norm", "RMS norm of each of B rows, bf16", RMS_NORM, _costs(rms_norm(), RMS_NORM_COUNTS)),
    )
}


def library_operation(name: str, element: Dtype | None = None) -> AnyOperation:
    """The library operation of that name.

    >>> str(library_operation("matmul"))
    'bf16[B, D] * bf16[D, F] -> bf16[B, F]'
    """
    if name not in LIBRARY:
        raise ModelError(
            f"unknown operation {name!r}",
            expected="an operation such as bf16[B, D] * bf16[D, F] -> bf16[B, F], or a name from `symroof operations`",
            hint=suggestion(name, LIBRARY),
        )
    return LIBRARY[name].build(element)
