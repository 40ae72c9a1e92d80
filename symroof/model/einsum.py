"""Typed einsums, counted from their shapes.

A contraction of length K costs K multiplications and K - 1 additions for each output element; counting an addition
with every multiplication (``count="fma"``) makes that 2 K. With nothing contracted an element of a product of m
operands costs m - 1 multiplications under both. Each operand is read once and the output is written once, at its own
width. A product of three operands with a contraction is refused: as one loop nest it would cost 3BDFE, where everybody
means 2BDF + 2BFE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from sympy import Expr, Mul

from symroof.errors import ModelError
from symroof.formula import Frozen
from symroof.model.given_costs import Cost, Counting
from symroof.model.quantities import QUANTITIES
from symroof.model.tensor_types import Dim, Dtype, Tensor, widest


class OperandError(ModelError):
    """A fault of one tensor; ``operand`` is its place, the output being the last."""

    def __init__(self, problem: str, operand: int, *, expected: str | None = None, hint: str | None = None) -> None:
        super().__init__(problem, expected=expected, hint=hint)
        self.operand = operand


class Einsum(Frozen):
    """A product of tensors, summed over the dimensions that the output lacks.

    >>> from symroof.model.tensor_types import dtype
    >>> B, D, F = map(Dim, "BDF")
    >>> bf16 = dtype("bf16")
    >>> matmul = Einsum((Tensor(bf16, (B, D)), Tensor(bf16, (D, F))), Tensor(bf16, (B, F)))
    >>> str(matmul), matmul.contracted
    ('bf16[B, D] * bf16[D, F] -> bf16[B, F]', ('D',))
    """

    inputs: tuple[Tensor, ...]
    output: Tensor

    def __post_init__(self) -> None:
        self._require_names()
        self._require_operands()
        if self.contracted and len(self.inputs) > 2:
            hint = f"write the products of two: {'; '.join(self._pairs())}"
            raise OperandError(
                "a product of three or more operands with a contraction is several products", 2, hint=hint
            )
        if len(self.inputs) == 1:
            cure = "alone it is a program: input x: bf16[V_X]; y = x -> bf16[V]"
            raise OperandError(
                "a copy does no arithmetic: its intensity is 0", 0, expected="at least two operands", hint=cure
            )

    def _require_names(self) -> None:
        """A tensor has a dimension once, under a name that is not that of a quantity."""
        for place, tensor in enumerate(self.tensors):
            for label in tensor.labels:
                if tensor.labels.count(label) > 1:
                    hint = "give the two sizes names of their own, as in bf16[M, K], and say that they are equal: --assume 'M = K'"
                    hint += f", or put them in: --at M=K={label}" if label.isdigit() else ""
                    raise OperandError(f"{label} appears twice in one tensor", place, hint=hint)
                if label in QUANTITIES:
                    raise OperandError(f"{label} is the name of a quantity, not of a dimension", place)

    def _require_operands(self) -> None:
        """A dimension of the output is one of an operand, and one that is contracted is in two of them."""
        holders = {
            label: [i for i, tensor in enumerate(self.inputs) if label in tensor.labels] for label in self._labels
        }
        for label in self.output.labels:
            if label not in holders:
                expected = (
                    f"dimensions of the operands: {', '.join(dict.fromkeys(x for t in self.inputs for x in t.labels))}"
                )
                raise OperandError(f"the output's {label} is in no operand", len(self.inputs), expected=expected)
        for label in self.contracted:
            if len(holders[label]) == 1:
                (place,) = holders[label]
                way = f"multiply with a vector: ... * {self.inputs[place].dtype}[{label}]"
                if len(self.inputs) > 1:
                    way = f"where each output takes one {label} (a gathered row, an expert), leave {label} out of the operand"
                    summed = [x for x in self.contracted if len(holders[x]) == 1 and x != label]
                    if summed:
                        way += f"; or is {' or '.join(summed)} the same size as {label}? Then both have one name"
                hint = f"keep {label} in the output, or {way}"
                raise OperandError(f"{label} is summed out of a single operand", place, hint=hint)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return (*self.inputs, self.output)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The symbolic dimensions, in order of appearance."""
        dims = (dim for tensor in self.tensors for dim in tensor.dims if not dim.fixed)
        return tuple(dict.fromkeys(dim.label for dim in dims))

    @property
    def contracted(self) -> tuple[str, ...]:
        return tuple(label for label in self._labels if label not in self.output.labels)

    @property
    def _labels(self) -> tuple[str, ...]:
        """Those of the operands, in order of appearance."""
        return tuple(dict.fromkeys(label for tensor in self.inputs for label in tensor.labels))

    @property
    def length(self) -> Expr:
        """The length of the contraction: how many products join in one output element."""
        return Mul(*(Dim(label).size for label in self.contracted))

    @property
    def vector(self) -> bool:
        """Whether the vector unit does the work: there is nothing to contract."""
        return not self.contracted

    @property
    def compute(self) -> Dtype:
        return widest(tuple(tensor.dtype for tensor in self.inputs))

    def _pairs(self) -> Iterator[str]:
        """The products of two that make up a product of more, from the left; what they make has the output's dtype."""
        first, *rest = (Tensor(tensor.dtype, tensor.dims) for tensor in self.inputs)
        for i, second in enumerate(rest, 1):
            needed = {label for tensor in (*rest[i:], self.output) for label in tensor.labels}
            dims = {dim.label: dim for dim in (*second.dims, *first.dims) if dim.label in needed}
            labels = dict.fromkeys(label for tensor in (first, second) for label in tensor.labels if label in needed)
            last = i == len(rest)
            product = Tensor(self.output.dtype, self.output.dims if last else tuple(dims[label] for label in labels))
            yield str(Einsum((first, second), product))
            first = product

    def uses(self, place: int) -> Expr:
        """How many products each element of a tensor takes part in."""
        return self.output.elements * self.length / self.tensors[place].elements

    def split_over(self, axes: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Einsum:
        """The same product with other axes for those that its dimensions are split over."""
        tensors = [replace(t, dims=tuple(replace(d, axes=axes(d.axes)) for d in t.dims)) for t in self.tensors]
        return Einsum(tuple(tensors[:-1]), tensors[-1])

    def stored(self, types: Mapping[int, Dtype]) -> Einsum:
        """The same product with the tensors at these places in other dtypes."""
        tensors = [replace(t, dtype=types.get(place, t.dtype)) for place, t in enumerate(self.tensors)]
        return Einsum(tuple(tensors[:-1]), tensors[-1])

    def operand_name(self, place: int) -> str:
        """What prose calls an operand: its name, where no other has it, or left, right, first, second …, and output."""
        plain = ("left operand", "right operand") if len(self.inputs) == 2 else ()
        named = (*plain, *(f"operand {i + 1}" for i in range(len(plain), len(self.inputs))), "output")
        name = self.tensors[place].name
        return name if name and [tensor.name for tensor in self.tensors].count(name) == 1 else named[place]

    def cost(self, count: Counting = "fma") -> Cost:
        """FLOPs and bytes of the whole operation.

        >>> from symroof.model.tensor_types import dtype
        >>> N, f32 = Dim("N"), dtype("fp32")
        >>> dot = Einsum((Tensor(f32, (N,)), Tensor(f32, (N,))), Tensor(f32, ()))
        >>> dot.cost("exact").flops, dot.cost().flops, dot.cost().bytes
        (2*N - 1, 2*N, 8*N + 4)
        """
        elements, length = self.output.elements, self.length
        products = (len(self.inputs) - 1) * elements * length
        work, rounded = (
            ((products, elements * (length - 1)), 2 * products) if self.contracted else ((products,), products)
        )
        loads = tuple(tensor.bytes for tensor in self.inputs)
        return Cost(work, (rounded,), loads, (self.output.bytes,), count)

    def __str__(self) -> str:
        if not all(tensor.name for tensor in self.inputs):
            return f"{' * '.join(map(str, self.inputs))} -> {self.output}"
        target = f" -> {self.output.name}" if self.output.name else ""
        names, types = " * ".join(str(t.name) for t in self.inputs), ", ".join(map(str, self.inputs))
        return f"{names}{target}: {types} -> {self.output}"
