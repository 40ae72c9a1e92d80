"""The only door to JAX: a function is traced on arrays of symbolic shapes. Calls are opened; what a call of the library is, its
frames say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
from math import prod
from types import CodeType
from typing import TYPE_CHECKING, Any, cast

from sympy import Expr, Integer, sqrt

from symroof.tracing.signatures import Signature
from symroof.tracing.size_names import Sizes
from symroof.tracing.traces import (
    ONE,
    Array,
    Constant,
    Equation,
    Frame,
    Function,
    Instruction,
    Loop,
    Operand,
    Recomputation,
    Trace,
    TracingError,
    of_library,
    place_of,
    refusal,
)

if TYPE_CHECKING:
    from jax.core import ShapedArray
    from jax.extend.core import Jaxpr, JaxprEqn, Literal, Var

# Primitives that call a function, and the parameter that has it.
CALLS = ("jaxpr", "call_jaxpr", "fun_jaxpr")
CALLED = {
    "jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "custom_lin",
}  # fmt: skip
REMADE = {"remat2", "checkpoint", "remat"}
# What programs do not say, and what they do instead.
REFUSED = {
    "while": ("a while has no number of turns that is known", "lax.scan"),
    "cond": ("a cond has branches", "one of them"),
    "shard_map": (
        "what chips do of their parts is not traced",
        "the function of whole arrays, and its collectives as splits: x: bf16[B_X, D], y = h -> bf16[B, D]",
    ),
    "reshard": (
        "an explicit mesh is not traced",
        "jax.lax.with_sharding_constraint on axes that are Auto, or in the text y = h -> bf16[B_X, D]",
    ),
}
# Arithmetic of numbers that no argument goes into.
FOLDED: Mapping[str, Callable[..., object]] = {
    "convert_element_type": lambda x: x, "broadcast_in_dim": lambda x: x, "reshape": lambda x: x, "squeeze": lambda x: x,
    "sqrt": sqrt, "rsqrt": lambda x: 1 / sqrt(x), "neg": lambda x: -x, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "pow": lambda x, y: x**y, "concatenate": lambda *x: x,
}  # fmt: skip


def jaxpr_of(function: Function, signature: Signature) -> Jaxpr:
    """The jaxpr of a function of arrays, on symbolic shapes, without what nothing uses. What a shape without numbers does not survive is traced again
    with one of the names at a number, then with all; ``signature.numbers`` and ``signature.reason`` say it."""
    try:
        import jax
        from jax import export
        from jax.interpreters.partial_eval import dce_jaxpr
    except ImportError:
        problem = "tracing needs JAX, which is not installed here"
        raise TracingError(problem, expected="pip install 'symroof[jax]'") from None
    wide: Any = getattr(jax if hasattr(jax, "enable_x64") else jax.experimental, "enable_x64")  # noqa: B009 (typed in some versions)
    called, scope = signature.by_place(function), export.SymbolicScope()

    def made(numbers: Mapping[str, int]) -> Jaxpr:
        structs_by_type: dict[object, object] = {}
        for kind in signature.types.values():
            if kind.form not in structs_by_type:
                dims = ", ".join(signature.dims(kind, numbers))
                shape = export.symbolic_shape(dims, scope=scope) if dims else ()
                structs_by_type[kind.form] = jax.ShapeDtypeStruct(shape, jax.numpy.dtype(kind.numpy))
        structs = {name: structs_by_type[kind.form] for name, kind in signature.types.items()}
        with wide(any(kind.element.bits == 64 for kind in signature.types.values())):
            jaxpr = jax.make_jaxpr(called)(*signature.fill(structs)).jaxpr
        return dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)[0]

    attempts = [{}, *({name: number} for name, number in signature.samples.items()), signature.samples]
    first: Exception | None = None
    for numbers in attempts:
        try:
            jaxpr = made(numbers)
        except Exception as error:
            first, last = first or error, error
        else:
            signature.numbers = dict(numbers)
            signature.reason = "" if first is None else _origin_of(first).removesuffix(": ")
            return jaxpr
    shown = f"{_origin_of(last)}the function fails with {signature.shapes_at(signature.samples)}: {last}"
    raise TracingError(shown.partition("\n")[0]) from last


def trace_jaxpr(function: Function, signature: Signature, jaxpr: Jaxpr, sizes: Sizes) -> Trace:
    """The equations of a jaxpr."""
    return _Reader(function, sizes).trace(jaxpr, signature.leaves)


def dot_flops(jaxpr: Jaxpr, sizes: Sizes) -> Expr:
    """The FLOPs of the products in a jaxpr, those of every turn: counted by the primitives alone."""
    flops: Expr = Integer(0)
    for equation in jaxpr.eqns:
        shapes = [
            tuple(map(sizes.size, var.aval.shape))
            for var in (*equation.invars[:2], *equation.outvars[:1])
            if hasattr(var.aval, "shape")
        ]
        if equation.primitive.name == "dot_general":
            (left, _), _ = equation.params["dimension_numbers"]
            each = [shapes[0][i] for i in left]
            flops += prod((2, *each, *shapes[-1]), start=ONE) if left else 0
        elif equation.primitive.name == "conv_general_dilated":
            each = [shapes[1][i] for i in equation.params["dimension_numbers"].rhs_spec[1:]]
            flops += prod((2, *each, *shapes[-1]), start=ONE)
        for inner in (equation.params[key] for key in CALLS if key in equation.params):
            turns = sizes.size(equation.params["length"]) if equation.primitive.name == "scan" else ONE
            flops += turns * dot_flops(getattr(inner, "jaxpr", inner), sizes)
    return flops.expand()


class _Reader:
    def __init__(self, function: Function, sizes: Sizes) -> None:
        self.sizes, self.keys = sizes, count()
        self.mesh: dict[str, int] = {}
        self.code = getattr(getattr(function, "__wrapped__", function), "__code__", None)

    def trace(self, jaxpr: Jaxpr, names: Sequence[str]) -> Trace:
        values: dict[Var, Operand] = dict.fromkeys(jaxpr.constvars, Constant())
        arguments = {name: self._new(var, values) for name, var in zip(names, jaxpr.invars, strict=True)}
        body = tuple(self._equations(jaxpr, values, ()))
        results = [self._value(var, values) for var in jaxpr.outvars]
        arrays = tuple(operand for operand in results if isinstance(operand, Array))
        return Trace(arguments, body, arrays, mesh=self.mesh)

    def _new(self, var: Var, values: dict[Var, Operand]) -> Array:
        aval = cast("ShapedArray", var.aval)
        array = Array(next(self.keys), tuple(map(self.sizes.size, aval.shape)), str(aval.dtype))
        values[var] = array
        return array

    def _value(self, var: Var | Literal, values: Mapping[Var, Operand]) -> Operand:
        if not hasattr(var, "val"):
            return values[var]
        single = getattr(var.val, "size", 1) == 1
        return Constant(getattr(var.val, "item", lambda: var.val)() if single else None, single)

    def _equations(self, jaxpr: Jaxpr, values: dict[Var, Operand], around: tuple[Frame, ...]) -> Iterator[Instruction]:
        for equation in jaxpr.eqns:
            name = equation.primitive.name
            operands = tuple(self._value(var, values) for var in equation.invars)
            if not any(isinstance(operand, Array) for operand in operands) and name not in (
                "scan",
                *CALLED,
                *REMADE,
                *REFUSED,
            ):
                values.update(dict.fromkeys(equation.outvars, self._fold(equation, operands)))
                continue
            frames = (*self._frames(equation), *around)
            inner = next((equation.params[key] for key in CALLS if key in equation.params), None)
            if inner is not None and name in CALLED | REMADE:
                body = getattr(inner, "jaxpr", inner)
                own = _bindings(body, operands)
                inside = tuple(self._equations(body, own, frames))
                yield from ((Recomputation(inside),) if name in REMADE else inside)
                outputs = zip(equation.outvars, body.outvars, strict=True)
                values.update((var, self._value(output, own)) for var, output in outputs)
            elif name == "scan":
                yield self._scan(equation, operands, values, frames)
            elif name in REFUSED:
                shown, expected = REFUSED[name]
                raise TracingError(f"{place_of(frames)}: {shown}", expected=expected)
            else:
                results = tuple(self._new(var, values) for var in equation.outvars)
                back = "transpose(" in str(equation.source_info.name_stack)
                primitive, params = self._as_slice(name, equation.params, operands)
                if name == "sharding_constraint":
                    params = {"axes": self._axes(equation.params["sharding"], place_of(frames))}
                yield Equation(primitive, operands, results, params, frames, back)

    def _fold(self, equation: JaxprEqn, operands: Sequence[Operand]) -> Constant:
        """What numbers come to, where that is one number."""
        name, single = equation.primitive.name, all(n == 1 for n in cast("ShapedArray", equation.outvars[0].aval).shape)
        if name == "dim_as_value":
            return Constant(self.sizes.size(equation.params["dim"]), True)
        values = [operand.value for operand in operands if isinstance(operand, Constant)]
        if name == "integer_pow":
            name, values = "pow", [*values, equation.params["y"]]
        if name not in FOLDED or not values or any(value is None for value in values):
            return Constant(None, single)
        try:
            return Constant(FOLDED[name](*values), single)
        except (ArithmeticError, TypeError):
            return Constant(None, single)

    def _as_slice(
        self, name: str, params: Mapping[str, Any], operands: Sequence[Operand]
    ) -> tuple[str, Mapping[str, Any]]:
        """A gather of neighbouring places as the slice that it is, and where that starts; JAX writes slices of symbolic
        shapes so."""
        first = operands[0]
        if name == "slice" and isinstance(first, Array):
            return name, {**params, "starts": tuple(map(self.sizes.size, params["start_indices"]))}
        at = operands[1] if len(operands) > 1 else None
        if name == "gather" and isinstance(first, Array) and isinstance(at, Constant) and at.value is not None:
            numbers, starts = params["dimension_numbers"], [Integer(0) for _ in first.shape]
            values = at.value if isinstance(at.value, tuple) else (at.value,)
            for axis, value in zip(numbers.start_index_map, values, strict=True):
                starts[axis] = self.sizes.size(value)
            lengths = tuple(map(self.sizes.size, params["slice_sizes"]))
            dropped = tuple(numbers.collapsed_slice_dims)
            return "slice", {"starts": tuple(starts), "lengths": lengths, "dropped": dropped}
        return name, params

    def _axes(self, sharding: object, where: str) -> tuple[tuple[str, ...], ...]:
        """The axes that a constraint splits each dimension over, in capitals as programs have them."""
        spec, mesh = getattr(sharding, "spec", None), getattr(sharding, "mesh", None)
        over = [part if isinstance(part, tuple) else (part,) for part in spec or ()]
        called = {name: name.upper() for name in getattr(mesh, "axis_names", ())}
        if spec is None or not {name for each in over for name in each} <= {None, *called}:
            problem, expected = "a constraint leaves open how an array is split", "a NamedSharding with axes or None"
            raise refusal(where, problem, f"{expected} for each dimension, or in the text y = h -> bf16[B_X, D]")
        for name, chips in zip(called.values(), getattr(mesh, "axis_sizes", ()), strict=True):
            if self.mesh.setdefault(name, chips) != chips:
                raise refusal(where, f"{name} has {chips} chips, and {self.mesh[name]} before", "one mesh")
        return tuple(tuple(called[name] for name in each if name is not None) for each in over)

    def _scan(
        self, equation: JaxprEqn, operands: Sequence[Operand], values: dict[Var, Operand], frames: tuple[Frame, ...]
    ) -> Loop:
        constants, carries = equation.params["num_consts"], equation.params["num_carry"]
        body = equation.params["jaxpr"].jaxpr
        own = _bindings(body, operands)
        ends = constants + carries
        entering = tuple(self._new(var, own) for var in body.invars[constants:ends])
        parts = tuple(self._new(var, own) for var in body.invars[ends:])
        instructions = tuple(self._equations(body, own, frames))
        leaving = tuple(self._value(var, own) for var in body.outvars)
        results = tuple(self._new(var, values) for var in equation.outvars)
        scanned = tuple(zip(operands[ends:], parts, strict=True))
        return Loop(
            self.sizes.size(equation.params["length"]), tuple(operands[constants:ends]), entering, leaving[:carries], results[:carries],
            scanned, leaving[carries:], results[carries:], instructions, frames, bool(equation.params["reverse"]),
        )  # fmt: skip

    def _frames(self, equation: JaxprEqn) -> tuple[Frame, ...]:
        """The calls around an equation up to the function that is traced: the user's own, and those that are known by
        file and name."""
        traceback = equation.source_info.traceback
        calls: Iterable[tuple[CodeType, int]] = () if traceback is None else zip(*traceback.raw_frames(), strict=True)
        frames: list[Frame] = []
        for code, place in calls:
            if not of_library(code.co_filename) or "/nn/" in code.co_filename:
                frames.append(_frame(code, place))
            if code is self.code:
                break
        return tuple(frames)


def _bindings(body: Jaxpr, operands: Sequence[Operand]) -> dict[Var, Operand]:
    """What the arguments and constants of a body are inside of it."""
    return dict.fromkeys(body.constvars, Constant()) | dict(zip(body.invars, operands, strict=True))


@lru_cache(maxsize=65536)
def _frame(code: CodeType, place: int) -> Frame:
    """A call, from the code that it is in and its place there."""
    lines = (line for start, end, line in code.co_lines() if start <= place < end and line is not None)
    own = not of_library(code.co_filename)
    return Frame(code.co_filename, code.co_name, next(lines, code.co_firstlineno), place, own)


def _origin_of(error: BaseException) -> str:
    """Where in the user's code an error was raised."""
    place, traceback = "", error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not of_library(code.co_filename):
            place = f"{code.co_filename.rsplit('/', 1)[-1]}:{traceback.tb_lineno}: "
        traceback = traceback.tb_next
    return place
