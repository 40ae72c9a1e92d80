"""Operations by name, each with what it counts and where the count comes from; what each of them is, languages say.

An elementary function (exp, a comparison, a reciprocal square root) counts as one operation, as in the works cited.
"""

from __future__ import annotations

from collections.abc import Callable

from sympy import Expr

from symroof.errors import ModelError, suggestion
from symroof.formula import Frozen
from symroof.model.einsum import Einsum
from symroof.model.given_costs import Operation
from symroof.model.program import Program
from symroof.model.tensor_types import Dim, Dtype, Tensor, dtype
from symroof.model.transforms import with_stored_types

Cost = Callable[..., Expr]

WILLIAMS = "Williams, Waterman, Patterson, Roofline, CACM 52(4), 2009"
BLAS = "Dongarra, Du Croz, Hammarling, Hanson, An extended set of Fortran BLAS, TOMS 14(1), 1988"
SCALING = "How To Scale Your Model, part 1 (jax-ml.github.io/scaling-book/roofline)"
STREAM = "McCalpin, STREAM (www.cs.virginia.edu/stream)"
SOFTMAX = "Milakov, Gimelshein, Online normalizer calculation for softmax, arXiv:1805.02867"
RMS_NORM = "Zhang, Sennrich, Root mean square layer normalization, arXiv:1910.07467"


class Entry(Frozen):
    """A library operation, as it is where nobody says what its elements are."""

    name: str
    source: str
    operation: Program

    def build(self, element: Dtype | None = None) -> Program:
        """The operation; ``element`` is the type of the elements of a product."""
        if element is None:
            return self.operation
        if not self.operation.tensors:
            raise ModelError(f"{self.name} is given by cost functions, which fix the widths", hint="leave --dtype out")
        return with_stored_types(self.operation, dict.fromkeys(range(len(self.operation.tensors)), element))


def _product(name: str, source: str, *shapes: str) -> Entry:
    *inputs, output = (Tensor(dtype("bf16"), tuple(map(Dim, shape.split()))) for shape in shapes)
    return Entry(name, source, Program.of(Einsum(tuple(inputs), output)))


def _costs(
    name: str, source: str, costs: tuple[Cost, Cost, Cost], kinds: dict[str, Cost], compute: str = "bf16"
) -> Entry:
    """Work of the vector unit; ``kinds`` are the numbers of operations that make up the FLOPs."""
    return Entry(name, source, Program.of(Operation(name, *costs, dtype(compute), True, kinds)))


# What is counted: operations on an array of N elements, and the bytes of such arrays.
def each(N: Expr) -> Expr:
    return N


def twice_each(N: Expr) -> Expr:
    return 2 * N


def bf16(N: Expr) -> Expr:
    return 2 * N


def two_bf16(N: Expr) -> Expr:
    return 2 * N + 2 * N


def two_bf16_and_a_number(N: Expr) -> Expr:
    return 2 * N + 2 * N + 2


def fp64(N: Expr) -> Expr:
    return 8 * N


def two_fp64(N: Expr) -> Expr:
    return 8 * N + 8 * N


# On each of B rows: N - 1 comparisons, N subtractions, N exponentials, N - 1 additions, N divisions.
def softmax(B: Expr, N: Expr) -> Expr:
    return B * (N - 1 + N + N + N - 1 + N)


def bf16_rows(B: Expr, N: Expr) -> Expr:
    return 2 * B * N


# On each of B rows: D squares, D - 1 additions, a division, an addition, a reciprocal root, 2D products.
def rms_norm(B: Expr, D: Expr) -> Expr:
    return B * (D + D - 1 + 3 + 2 * D)


def bf16_rows_and_weights(B: Expr, D: Expr) -> Expr:
    return 2 * B * D + 2 * D


def bf16_normed(B: Expr, D: Expr) -> Expr:
    return 2 * B * D


# tm by tn by tk tiles of bm by bk and bk by bn; the output tile stays on the chip until it is done.
def tiled(bm: Expr, bn: Expr, bk: Expr, tm: Expr, tn: Expr, tk: Expr) -> Expr:
    return 2 * tm * tn * tk * bm * bn * bk


def tiles_read(bm: Expr, bn: Expr, bk: Expr, tm: Expr, tn: Expr, tk: Expr) -> Expr:
    return 2 * tm * tn * tk * (bm * bk + bk * bn)


def tiles_written(bm: Expr, bn: Expr, bk: Expr, tm: Expr, tn: Expr, tk: Expr) -> Expr:
    return 2 * tm * tn * bm * bn


AXPY = {"multiplications": each, "additions": each}
SOFTMAX_KINDS = {
    "comparisons": lambda B, N: B * (N - 1),
    "subtractions": lambda B, N: B * N,
    "exponentials": lambda B, N: B * N,
    "additions": lambda B, N: B * (N - 1),
    "divisions": lambda B, N: B * N,
}
RMS_NORM_KINDS = {
    "multiplications": lambda B, D: 3 * B * D,
    "additions": lambda B, D: B * D,
    "divisions": lambda B, D: B,
    "reciprocal roots": lambda B, D: B,
}
TILED = Operation("tiled-matmul", tiled, tiles_read, tiles_written, dtype("bf16"))
LIBRARY = {
    entry.name: entry
    for entry in (
        _product("dot", SCALING, "N", "N", "1"),
        _costs("axpy", BLAS, (twice_each, two_bf16_and_a_number, bf16), AXPY),
        _costs("add", WILLIAMS, (each, two_bf16, bf16), {"additions": each}),
        _product("multiply", WILLIAMS, "N", "N", "N"),
        _costs("activation", WILLIAMS, (each, bf16, bf16), {"operations": each}),
        # the store is counted once, without a write-allocate read
        _costs("triad", STREAM, (twice_each, two_fp64, fp64), AXPY, "fp64"),
        _product("matvec", BLAS, "M N", "N", "M"),
        _product("outer", BLAS, "M", "N", "M N"),
        _product("matmul", SCALING, "B D", "D F", "B F"),
        _product("batched-matmul", SCALING, "N B D", "N D F", "N B F"),
        _product("per-element-matmul", SCALING, "B D", "B D F", "B F"),
        Entry("tiled-matmul", SCALING, Program.of(TILED)),
        _costs("softmax", SOFTMAX, (softmax, bf16_rows, bf16_rows), SOFTMAX_KINDS),
        _costs("rms-norm", RMS_NORM, (rms_norm, bf16_rows_and_weights, bf16_normed), RMS_NORM_KINDS),
    )
}


def library_operation(name: str, element: Dtype | None = None) -> Program:
    """The library operation of that name.

    >>> str(library_operation("matmul"))
    'bf16[B, D] * bf16[D, F] -> bf16[B, F]'
    """
    if name not in LIBRARY:
        raise ModelError(
            f"unknown operation {name!r}",
            expected="an operation such as bf16[B, D] * bf16[D, F] -> bf16[B, F], or a name from `symroof list operations`",
            hint=suggestion(name, LIBRARY),
        )
    return LIBRARY[name].build(element)
