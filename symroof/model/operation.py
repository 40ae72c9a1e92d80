"""Operations: typed einsums, counted from their shapes, and operations given by their cost functions.

A contraction of length K costs K multiplications and K - 1 additions for each output element; counting an addition
with every multiplication (``count="fma"``) makes that 2 K. With nothing contracted an element of a product of m
operands costs m - 1 multiplications under both. Each operand is read once and the output is written once, at its own
width. A product of three operands with a contraction is refused: as one loop nest it would cost 3BDFE, where everybody
means 2BDF + 2BFE.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from sympy import Add, Expr, Integer, Mul, nan, oo, zoo

from symroof.errors import ModelError
from symroof.formula import FUNCTIONS, KEYWORDS
from symroof.model.cost import AS_GIVEN, Cost, Counting, Term
from symroof.model.dtype import Dtype, widest
from symroof.model.quantities import QUANTITIES
from symroof.model.tensor import Dim, Tensor
from symroof.symbols import rational, symbol


class OperandError(ModelError):
    """A fault of one tensor; ``operand`` is its place, the output being the last."""

    def __init__(self, problem: str, operand: int, label: str | None = None, **details: Any) -> None:
        super().__init__(problem, **details)
        self.operand = operand
        self.label = label


@dataclass(frozen=True, slots=True)
class Einsum:
    """A product of tensors, summed over the dimensions that the output lacks.

    >>> from symroof.model.dtype import dtype
    >>> B, D, F = map(Dim, "BDF")
    >>> bf16 = dtype("bf16")
    >>> matmul = Einsum((Tensor(bf16, (B, D)), Tensor(bf16, (D, F))), Tensor(bf16, (B, F)))
    >>> str(matmul), matmul.contracted
    ('bf16[B, D] * bf16[D, F] -> bf16[B, F]', ('D',))
    """

    inputs: tuple[Tensor, ...]
    output: Tensor
    # A product is counted from its shapes: there are no functions that give costs, or numbers of operations of each kind.
    functions: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    counted: ClassVar[Mapping[str, Callable[..., Any]]] = {}

    def __post_init__(self) -> None:
        for place, tensor in enumerate(self.tensors):
            for label in tensor.labels:
                if tensor.labels.count(label) > 1:
                    hint = "give the two sizes names of their own, as in bf16[M, K], and say that they are equal: --assume 'M = K'"
                    hint += f", or put them in: --at M=K={label}" if label.isdigit() else ""
                    raise OperandError(f"{label} appears twice in one tensor", place, label, hint=hint)
        given = {label for tensor in self.inputs for label in tensor.labels}
        for label in self.output.labels:
            if label not in given:
                raise OperandError(f"the output's {label} is in no operand", len(self.inputs), label)
        for label in self.contracted:
            holders = [place for place, tensor in enumerate(self.inputs) if label in tensor.labels]
            if len(holders) == 1:
                way = f"multiply with a vector: ... * {self.inputs[holders[0]].dtype}[{label}]"
                if len(self.inputs) > 1:
                    way = f"where each output takes one {label} (a gathered row, an expert), leave {label} out of the operand"
                hint = f"keep {label} in the output, or {way}"
                raise OperandError(f"{label} is summed out of a single operand", holders[0], label, hint=hint)
        if self.contracted and len(self.inputs) > 2:
            hint = f"write the products of two: {'; '.join(map(str, self._pairs()))}"
            raise OperandError(
                "a product of three or more operands with a contraction is several products", 2, hint=hint
            )
        if len(self.inputs) == 1:
            raise OperandError("a copy does no arithmetic: its intensity is 0", 0, expected="at least two operands")
        for place, tensor in enumerate(self.tensors):
            for name in tensor.labels:
                if name in QUANTITIES:
                    raise OperandError(f"{name} is the name of a quantity, not of a dimension", place, name)

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
        labels = dict.fromkeys(label for tensor in self.inputs for label in tensor.labels)
        return tuple(label for label in labels if label not in self.output.labels)

    @property
    def length(self) -> Expr:
        """The length of the contraction: how many products join in one output element."""
        return Mul(*(Dim(label).size for label in self.contracted))

    @property
    def axes(self) -> tuple[str, ...]:
        """The mesh axes that some dimension is split over."""
        return tuple(dict.fromkeys(d.axis for t in self.tensors for d in t.dims if d.axis))

    @property
    def product(self) -> Einsum:
        """The product whose loops are counted."""
        return self

    @property
    def vector(self) -> bool:
        """Whether the vector unit does the work: there is nothing to contract."""
        return not self.contracted

    @property
    def compute(self) -> Dtype:
        return widest(tuple(tensor.dtype for tensor in self.inputs))

    def _pairs(self) -> Iterator[Einsum]:
        """The products of two that make up a product of more, from the left; what they make has the output's dtype."""
        first, *rest = self.inputs
        while len(rest) > 1:
            second = rest.pop(0)
            wanted = {label for tensor in (*rest, self.output) for label in tensor.labels}
            dims = {dim.label: dim for dim in (*second.dims, *first.dims) if dim.label in wanted}
            kept = dict.fromkeys(label for tensor in (first, second) for label in tensor.labels if label in wanted)
            made = Tensor(self.output.dtype, tuple(dims[label] for label in kept))
            yield Einsum((replace(first, name=None), replace(second, name=None)), made)
            first = made
        yield Einsum((first, replace(rest[0], name=None)), replace(self.output, name=None))

    def uses(self, place: int) -> Expr:
        """How many products each element of a tensor takes part in."""
        return self.output.elements * self.length / self.tensors[place].elements

    def stored(self, types: Mapping[int, Dtype]) -> Einsum:
        """The same product with the tensors at these places in other dtypes."""
        tensors = [replace(t, dtype=types.get(place, t.dtype)) for place, t in enumerate(self.tensors)]
        return Einsum(tuple(tensors[:-1]), tensors[-1])

    def operand_name(self, place: int) -> str:
        """What prose calls an operand: its name, or left, right, first, second …, and output."""
        tensor = self.tensors[place]
        if tensor.name:
            return tensor.name
        if place == len(self.inputs):
            return "output"
        if len(self.inputs) == 2:
            return ("left operand", "right operand")[place]
        return f"operand {place + 1}"

    def cost(self, count: Counting = "fma") -> Cost:
        """FLOPs and bytes of the whole operation.

        >>> from symroof.model.dtype import dtype
        >>> N, f32 = Dim("N"), dtype("fp32")
        >>> dot = Einsum((Tensor(f32, (N,)), Tensor(f32, (N,))), Tensor(f32, ()))
        >>> dot.cost("exact").flops, dot.cost().flops, dot.cost().bytes
        (2*N - 1, 2*N, 8*N + 4)
        """
        elements, length, operands = self.output.elements, self.length, len(self.inputs)
        products = (operands - 1) * elements * length
        if self.contracted:
            work: tuple[Term, ...] = (Term("multiplications", products), Term("additions", elements * (length - 1)))
            rounded = (Term("multiply-adds", 2 * products),)
        else:
            work = rounded = (Term("multiplications", products),)
        loads = (Term(f"load {self.operand_name(i)}", t.bytes) for i, t in enumerate(self.inputs))
        stores = (Term(f"store {self.operand_name(operands)}", self.output.bytes),)
        return Cost(work, rounded, tuple(loads), stores, count)

    def __str__(self) -> str:
        types = " * ".join(map(str, self.inputs)), str(self.output)
        if all(tensor.name for tensor in self.inputs):
            target = f" -> {self.output.name}" if self.output.name else ""
            typed = ", ".join(map(str, self.inputs))
            return f"{' * '.join(str(t.name) for t in self.inputs)}{target}: {typed} -> {self.output}"
        return f"{types[0]} -> {types[1]}"


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation given by its costs, as Python functions of its dimensions.

    The functions are called with SymPy symbols and must give rational functions; they are typeset as written.
    ``vector`` says that the vector unit does the work; ``counted`` gives the numbers of operations of each kind that
    the FLOPs consist of.

    >>> def flops(N): return N + (N - 1)
    >>> def reads(N): return 2*N + 2*N
    >>> def writes(N): return 2
    >>> Operation("dot product", flops=flops, reads=reads, writes=writes).cost().intensity
    (2*N - 1)/(4*N + 2)
    """

    name: str
    flops: Callable[..., Any]
    reads: Callable[..., Any]
    writes: Callable[..., Any]
    compute: Dtype | None = None
    vector: bool = False
    counted: Mapping[str, Callable[..., Any]] = field(default_factory=dict, hash=False)
    # Cost functions do not say what they read, they speak of one chip, and no loops are counted.
    tensors: ClassVar[tuple[Tensor, ...]] = ()
    axes: ClassVar[tuple[str, ...]] = ()
    product: ClassVar[None] = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ModelError("an operation needs a name")
        if not self.dimensions:
            raise ModelError(f"the cost functions of {self.name!r} have no parameters", expected="its dimensions")

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The parameters of the three functions, in order of appearance."""
        found: dict[str, None] = {}
        for function in (self.flops, self.reads, self.writes):
            for parameter in inspect.signature(function).parameters.values():
                if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty:
                    raise ModelError(
                        f"{function.__name__}({parameter}) of {self.name!r} is not a dimension",
                        expected="plain parameters, one for each dimension",
                    )
                if parameter.name in {*QUANTITIES, *FUNCTIONS, *KEYWORDS}:
                    raise ModelError(
                        f"{parameter.name} is the name of a quantity or a word of the language, not of a dimension"
                    )
                found[parameter.name] = None
        return tuple(found)

    @property
    def functions(self) -> Mapping[str, Callable[..., Any]]:
        return {"flops": self.flops, "reads": self.reads, "writes": self.writes}

    def operand_name(self, place: int) -> str:
        return ""

    def stored(self, types: Mapping[int, Dtype]) -> Operation:
        """Given costs fix the widths: they stay what they are."""
        return self

    def amount(self, function: Callable[..., Any]) -> Expr:
        """What one of the three functions gives on symbols."""
        try:
            value = function(*(symbol(name) for name in inspect.signature(function).parameters))
            value = Integer(value) if isinstance(value, int) else value
        except Exception as error:
            raise ModelError(
                f"{function.__name__} of {self.name!r} does not run on symbols: {type(error).__name__}: {error}",
                expected="a formula in +, -, *, / and whole powers",
            ) from error
        if hasattr(value, "numerator") and not isinstance(value, Expr):
            value = rational(value)
        shown = f"{function.__name__} of {self.name!r} gives {str(value)[:80]}"
        if isinstance(value, Expr) and _floats(value):
            raise ModelError(shown, expected="exact numbers (write Fraction(1, 2), not 0.5)")
        if not isinstance(value, Expr) or not value.is_rational_function() or value.has(zoo, nan, oo):
            raise ModelError(shown, expected="a rational function of the parameters")
        foreign = value.free_symbols - {symbol(name) for name in inspect.signature(function).parameters}
        if foreign:
            raise ModelError(
                f"{shown}, which has symbols of its own: {', '.join(sorted(map(str, foreign)))}",
                expected="a function of the parameters alone",
            )
        return value

    def cost(self, count: Counting = "fma") -> Cost:
        flops = self.amount(self.flops)
        work = tuple(Term(kind, self.amount(number)) for kind, number in self.counted.items())
        if work and (Add(*(term.amount for term in work)) - flops).expand() != 0:
            raise ModelError(f"the operations that {self.name!r} counts do not add up to its FLOPs")
        work = work or (Term(AS_GIVEN, flops),)
        reads = (Term(AS_GIVEN, self.amount(self.reads)),)
        writes = (Term(AS_GIVEN, self.amount(self.writes)),)
        return Cost(work, work, reads, writes, count)

    def __str__(self) -> str:
        return self.name


def _floats(value: Expr) -> bool:
    return any(atom.is_Float for atom in value.atoms())


AnyOperation = Einsum | Operation
