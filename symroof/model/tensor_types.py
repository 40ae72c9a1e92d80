"""Element types and their widths, tensors of them, whose dimensions may be split over axes of a mesh, and sizes in writing.

An int4 is half a byte: widths are exact rationals.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

from sympy import Expr, Integer, Mul

from symroof.errors import ModelError, suggestion
from symroof.formula import Call, Compare, Formula, Frozen, Name, Negative, Number, Power, Product, Quotient, Sum, fold
from symroof.symbols import rational, symbol


class Dtype(Frozen):
    """An element type: its canonical name, its width in bits, and the other names it goes by."""

    name: str
    bits: int
    aliases: tuple[str, ...] = ()

    @property
    def bytes(self) -> Fraction:
        """
        >>> dtype("int4").bytes
        Fraction(1, 2)
        """
        return Fraction(self.bits, 8)

    @property
    def integer(self) -> bool:
        """Whether it holds whole numbers: such a tensor has no gradient."""
        return self.name.startswith("int")

    def __str__(self) -> str:
        return self.name


DTYPES = (
    Dtype("int4", 4, ("s4", "i4", "uint4", "u4")),
    Dtype("fp4", 4, ("f4", "float4", "float4_e2m1fn", "e2m1", "nvfp4", "mxfp4")),
    Dtype("fp6", 6, ("f6", "float6", "float6_e2m3fn", "float6_e3m2fn")),
    Dtype("int8", 8, ("s8", "i8", "uint8", "u8")),
    Dtype("fp8", 8, ("f8", "float8", "float8_e4m3", "float8_e4m3fn", "float8_e5m2", "e4m3", "e5m2")),
    Dtype("bf16", 16, ("bfloat16",)),
    Dtype("fp16", 16, ("f16", "float16", "half")),
    Dtype("int16", 16, ("s16", "i16", "uint16", "u16")),
    Dtype("fp32", 32, ("f32", "float32", "float", "single")),
    Dtype("int32", 32, ("s32", "i32", "uint32", "u32")),
    Dtype("fp64", 64, ("f64", "float64", "double")),
    Dtype("int64", 64, ("s64", "i64", "uint64", "u64")),
)

BY_NAME = {name: entry for entry in DTYPES for name in (entry.name, *entry.aliases)}
assert len(BY_NAME) == sum(1 + len(entry.aliases) for entry in DTYPES), "two dtypes share a name"


def dtype(name: str) -> Dtype:
    """The element type of that name or alias.

    >>> dtype("float32").name
    'fp32'
    """
    if name not in BY_NAME:
        names = ", ".join(entry.name for entry in DTYPES)
        hint = "tf32 is how fp32 is multiplied: write fp32, and its rate, --given peak=…" if name == "tf32" else None
        raise ModelError(f"unknown dtype {name!r}", expected=f"one of {names}", hint=hint or suggestion(name, BY_NAME))
    return BY_NAME[name]


def widest(types: tuple[Dtype, ...]) -> Dtype:
    """The type whose rate the arithmetic runs at: the widest input.

    >>> str(widest((dtype("bf16"), dtype("int8"))))
    'bf16'
    """
    bits = max(entry.bits for entry in types)
    candidates = tuple(dict.fromkeys(entry for entry in types if entry.bits == bits))
    if len(candidates) > 1:
        both = " and ".join(entry.name for entry in candidates)
        raise ModelError(f"{both} are equally wide, so the rate of the arithmetic is open", hint="say --compute DTYPE")
    return candidates[0]


class Dim(Frozen):
    """One dimension: a name or a whole number, and the mesh axes that it is split over, if any."""

    label: str
    axes: tuple[str, ...] = ()

    @property
    def fixed(self) -> bool:
        return self.label.isdigit()

    @property
    def size(self) -> Expr:
        return Integer(int(self.label)) if self.fixed else symbol(self.label)

    def __str__(self) -> str:
        return f"{self.label}_{''.join(self.axes)}" if self.axes else self.label


class Tensor(Frozen):
    """An array in memory: ``elements`` and ``bytes`` are exact expressions in its dimensions."""

    dtype: Dtype
    dims: tuple[Dim, ...]
    name: str | None = None

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The dimensions that an einsum speaks of; a size of 1 is none."""
        return tuple(dim.label for dim in self.dims if dim.label != "1")

    @cached_property
    def elements(self) -> Expr:
        return Mul(*(dim.size for dim in self.dims))

    @cached_property
    def bytes(self) -> Expr:
        """
        >>> from symroof.model.tensor_types import dtype
        >>> Tensor(dtype("int4"), (Dim("D"), Dim("F"))).bytes
        D*F/2
        """
        return rational(self.dtype.bytes) * self.elements

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.dims))}]"


def spelled_size(formula: Formula) -> str:
    """
    >>> spelled_size(Quotient(Product((Name("B"), Name("k"))), Name("E")))
    'B*k/E'
    """
    return fold(formula, SizePrinter())


def spelled_fact(fact: Compare) -> str:
    """What is known of sizes.

    >>> spelled_fact(Compare(Product((Name("B"), Name("k"))), "<=", Name("E")))
    'B*k <= E'
    """
    return f"{spelled_size(fact.left)} {fact.relation} {spelled_size(fact.right)}"


def spelled_factor(formula: Formula) -> str:
    """A factor behind a tensor: a number, or sizes in parentheses; where it is 1 over something, what the tensor is divided by.

    >>> from symroof.formula import number
    >>> spelled_factor(Quotient(number(1), Name("H"))), spelled_factor(Name("H")), spelled_factor(number(2))
    ('/ H', '* (H)', '* 2')
    """
    if isinstance(formula, Quotient) and isinstance(formula.above, Number) and formula.above.value == 1:
        return f"/ {_whole(formula.below, Number, Name, Call)}"
    return f"* {_whole(formula, Number)}"


def _whole(formula: Formula, *bare: type[Formula]) -> str:
    text = spelled_size(formula)
    return text if isinstance(formula, bare) and "/" not in text else f"({text})"


class SizePrinter:
    """Formulas of sizes, with every sign written."""

    def number(self, node: Number) -> str:
        return node.digits or str(node.value)

    def name(self, node: Name) -> str:
        return node.name

    def sum(self, node: Sum, *terms: str) -> str:
        return " + ".join(terms).replace("+ -", "- ")

    def product(self, node: Product, *factors: str) -> str:
        return "*".join(map(_bracketed, node.factors, factors))

    def quotient(self, node: Quotient, above: str, below: str) -> str:
        return f"{_bracketed(node.above, above)}/{_bracketed(node.below, below, Product, Quotient)}"

    def power(self, node: Power, base: str, exponent: str) -> str:
        return (
            f"{_bracketed(node.base, base, Product, Quotient)}^{_bracketed(node.exponent, exponent, Product, Quotient)}"
        )

    def negative(self, node: Negative, body: str) -> str:
        return f"-{_bracketed(node.body, body)}"

    def group(self, node: Formula, body: str) -> str:
        return f"({body})"

    def call(self, node: Call, *arguments: str) -> str:
        return f"{node.function}({', '.join(arguments)})"


def _bracketed(node: Formula, text: str, *more: type[Formula]) -> str:
    return f"({text})" if isinstance(node, (Sum, Negative, *more)) else text
