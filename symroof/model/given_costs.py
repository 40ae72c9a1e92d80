"""What an operation costs, as sums of amounts; and operations that are given by functions of their costs.

Of the text of such a function only plain arithmetic is read: a docstring and one return of +, -, *, /, ** over parameters and
whole numbers. Anything else has no written form (None), and its value is typeset instead.
"""

from __future__ import annotations

import ast
import inspect
import numbers
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

from sympy import Add, Expr, cancel, log, nan, oo, zoo

from symroof.errors import ModelError
from symroof.formula import (
    FUNCTIONS,
    KEYWORDS,
    Formula,
    Frozen,
    Group,
    Name,
    Negative,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    children,
    names,
)
from symroof.model.quantities import QUANTITIES
from symroof.model.tensor_types import Dtype, Tensor
from symroof.symbols import expression, rational, symbol

# The arithmetic that is read, and typeset as it stands.
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub, ast.BinOp, ast.UnaryOp, ast.Name, ast.Load)


class CostFormula(Frozen):
    """A cost as a function: called like one of Python, it puts its arguments into the formula.

    >>> cost = CostFormula("flops", Product((Number(Fraction(2)), Name("N"))))
    >>> cost(Fraction(3, 2)), cost(N=symbol("B"))
    (Fraction(3, 1), 2*B)
    """

    name: str
    formula: Formula

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(name, kind) for name in names(self.formula)])

    def __call__(self, *values: Any, **named: Any) -> Any:
        sizes = self.__signature__.bind(*values, **named).arguments
        value = expression(self.formula, {n: v if isinstance(v, Expr) else rational(v) for n, v in sizes.items()})
        return Fraction(int(value.p), int(value.q)) if value.is_Rational else value


class Operation(Frozen):
    """An operation given by its costs, as functions of its dimensions: those of Python, or formulas.

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
    flops: Callable[..., object]
    reads: Callable[..., object]
    writes: Callable[..., object]
    compute: Dtype | None = None
    vector: bool = False
    counted: Mapping[str, Callable[..., object]] = field(default_factory=dict, hash=False)
    # Cost functions do not say what they read, they speak of one chip, and no loops are counted.
    tensors: ClassVar[tuple[Tensor, ...]] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ModelError("an operation needs a name")
        if not self.dimensions:
            raise ModelError(f"the cost functions of {self.name!r} have no parameters", expected="its dimensions")

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The parameters of the three functions, in order of appearance."""
        result = [(f.__name__, p) for f in self.functions.values() for p in inspect.signature(f).parameters.values()]
        for function, parameter in result:
            if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty:
                raise ModelError(
                    f"{function}({parameter}) of {self.name!r} is not a dimension",
                    expected="plain parameters, one for each dimension",
                )
            if parameter.name in {*QUANTITIES, *FUNCTIONS, *KEYWORDS}:
                raise ModelError(
                    f"{parameter.name} is the name of a quantity or a word of the language, not of a dimension"
                )
        return tuple(dict.fromkeys(parameter.name for _, parameter in result))

    @property
    def functions(self) -> Mapping[str, Callable[..., object]]:
        return {"flops": self.flops, "reads": self.reads, "writes": self.writes}

    def operand_name(self, place: int) -> str:
        return ""

    def split_over(self, axes: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Operation:
        return self

    def stored(self, types: Mapping[int, Dtype]) -> Operation:
        """Given costs fix the widths: they stay what they are."""
        return self

    def amount(self, function: Callable[..., object]) -> Expr:
        """What one of the three functions gives on symbols."""
        parameters = list(map(symbol, inspect.signature(function).parameters))
        try:
            value = function(*parameters)
        except Exception as error:
            raise ModelError(
                f"{function.__name__} of {self.name!r} does not run on symbols: {type(error).__name__}: {error}",
                expected="a formula in +, -, *, / and whole powers",
            ) from error
        if isinstance(value, numbers.Rational):
            value = rational(Fraction(value))
        shown = f"{function.__name__} of {self.name!r} gives {str(value)[:80]}"
        if isinstance(value, Expr) and any(atom.is_Float for atom in value.atoms()):
            raise ModelError(shown, expected="exact numbers (write Fraction(1, 2), not 0.5)")
        if not isinstance(value, Expr) or not value.is_rational_function() or value.has(zoo, nan, oo):
            cure = (
                "a size for the logarithm: l for log2(N), and --at l=12,N=4096"
                if getattr(value, "has", bool)(log)
                else None
            )
            raise ModelError(shown, expected="a rational function of the parameters", hint=cure)
        foreign = value.free_symbols.difference(parameters)
        if foreign:
            raise ModelError(
                f"{shown}, which has symbols of its own: {', '.join(sorted(map(str, foreign)))}",
                expected="a function of the parameters alone",
            )
        return value

    def cost(self, count: Counting = "fma") -> Cost:
        flops = self.amount(self.flops)
        work = tuple(self.amount(number) for number in self.counted.values()) or (flops,)
        if (Add(*work) - flops).expand() != 0:
            raise ModelError(f"the operations that {self.name!r} counts do not add up to its FLOPs")
        return Cost(work, work, (self.amount(self.reads),), (self.amount(self.writes),), count)

    def __str__(self) -> str:
        return self.name


def function_formula(function: Callable[..., object]) -> Formula | None:
    """
    >>> def flops(N): return N + (N - 1)
    >>> [type(term).__name__ for term in function_formula(flops).terms]
    ['Name', 'Group']
    """
    if isinstance(function, CostFormula):
        return function.formula
    body = returned_expression(function)
    return None if body is None else _read(body)


def returned_expression(function: Callable[..., object]) -> ast.expr | None:
    """The expression that the function returns, where that is all it does, and plain arithmetic."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    definition = tree.body[0] if tree.body else None
    if not isinstance(definition, ast.FunctionDef):
        return None
    body = [s for s in definition.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return None
    nodes = ast.walk(body[0].value)
    plain = all(isinstance(n, ARITHMETIC) or (isinstance(n, ast.Constant) and type(n.value) is int) for n in nodes)
    return body[0].value if plain else None


def _read(node: ast.expr) -> Formula:
    match node:
        case ast.Constant(value=int(value)):
            return Number(Fraction(value))
        case ast.Name(id=name):
            return Name(name)
        case ast.UnaryOp(operand=operand):
            return Negative(_read(operand))
        case ast.BinOp(left=first, op=operator, right=second):
            left, right = _read(first), _read(second)
            if isinstance(operator, ast.Div | ast.Pow):
                return Quotient(left, right) if isinstance(operator, ast.Div) else Power(left, right)
            if isinstance(operator, ast.Mult):
                return Product((*_parts(left, Product), *_parts(right, Product)))
            term = Group(right) if isinstance(right, Sum) else right
            return Sum((*_parts(left, Sum), Negative(term) if isinstance(operator, ast.Sub) else term))
    raise AssertionError(f"{node} is no arithmetic")


def _parts(formula: Formula, kind: type[Formula]) -> tuple[Formula, ...]:
    return children(formula) if isinstance(formula, kind) else (formula,)


Counting = Literal["fma", "exact"]
COUNTINGS: tuple[Counting, ...] = ("fma", "exact")


class Cost(Frozen):
    """FLOPs and bytes as sums of amounts. ``work`` is exact; ``rounded`` counts an addition with every
    multiplication and is what ``flops`` means under ``count="fma"``.

    >>> from symroof.symbols import symbol
    >>> B = symbol("B")
    >>> (Cost(loads=(2*B,)) + Cost(stores=(B,))).bytes
    3*B
    """

    work: tuple[Expr, ...] = ()
    rounded: tuple[Expr, ...] = ()
    loads: tuple[Expr, ...] = ()
    stores: tuple[Expr, ...] = ()
    count: Counting = "fma"

    def __add__(self, other: Cost) -> Cost:
        parts = ("work", "rounded", "loads", "stores")
        return replace(self, **{part: getattr(self, part) + getattr(other, part) for part in parts})

    @property
    def flops(self) -> Expr:
        return Add(*(self.rounded if self.count == "fma" else self.work))

    @property
    def flops_exact(self) -> Expr:
        return Add(*self.work)

    @property
    def reads(self) -> Expr:
        """Bytes read."""
        return Add(*self.loads)

    @property
    def writes(self) -> Expr:
        """Bytes written."""
        return Add(*self.stores)

    @property
    def bytes(self) -> Expr:
        return Add(*self.loads, *self.stores)

    @property
    def intensity(self) -> Expr:
        """FLOPs per byte, in lowest terms."""
        return cancel(self.flops / self.bytes)
