"""Operations of core ATen as equations of a trace: a table of the primitives that they are, and attention."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from types import SimpleNamespace
from typing import Any

from sympy import Expr, Integer, sqrt

from symroof.formula import Frozen
from symroof.tracing.traces import ONE, Array, Constant, Equation, Frame, Instruction, TracingError, place_of, refusal

ATTENTION = Frame("<torch>/nn/functional.py", "scaled_dot_product_attention", 0, 0, own=False)


class Call(Frozen):
    """An operation: its arguments and keywords, what it makes, and the calls around it."""

    name: str
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    results: Any
    frames: tuple[Frame, ...]

    def at(self, place: int, keyword: str = "", default: Any = None) -> Any:
        return self.arguments[place] if place < len(self.arguments) else self.keywords.get(keyword, default)

    @property
    def where(self) -> str:
        return place_of(self.frames)

    @property
    def rank(self) -> int:
        return len(self.arguments[0].shape)

    def axes(self, place: int, default: Any = None) -> tuple[int, ...]:
        """The dimensions that an argument says, counted from the first; all where it says none."""
        argument, rank = (
            self.at(place, "dim", default),
            len(getattr(self.arguments[0], "shape", ())) or len(self.results.shape),
        )
        return tuple(range(rank)) if argument is None or argument == () else tuple(n % rank for n in sequence(argument))

    def start(self, place: int) -> tuple[Expr, ...]:
        """Where a part along one dimension starts; a place may be counted from the end."""
        shape, (axis,) = self.arguments[0].shape, self.axes(1, 0)
        begin = self.at(place)
        first = begin.value if isinstance(begin, Constant) else Integer(begin or 0)
        first = first + shape[axis] if first.is_negative else first
        return tuple(first if i == axis else Integer(0) for i in range(len(shape)))


def as_int(value: object) -> int:
    return int(value.value if isinstance(value, Constant) else str(value))


def sequence(value: object) -> tuple[int, ...]:
    return tuple(map(as_int, value)) if isinstance(value, tuple) else (as_int(value),)


class Operation(Frozen):
    """The primitive that an operation is, of the arguments at some ``places``, with parameters."""

    primitive: str
    places: tuple[int, ...] = (0,)
    params: Callable[[Call], Mapping[str, object]] = lambda call: {}


def _function(name: str, *places: int, over: int | None = None) -> Operation:
    return Operation("function", places or (0,), lambda call: {"name": name, **_over(call, name, over)})


def _over(call: Call, name: str, over: int | None) -> Mapping[str, object]:
    if name in ("layer_norm", "rms_norm") and len(call.arguments[1]) != 1:
        raise refusal(call.where, f"a {name} over several dimensions is no statement", "over the last")
    return {} if over is None else {"over": call.rank - 1 if over < 0 else call.axes(over)[0]}


def _convolution(call: Call) -> Mapping[str, object]:
    """The image, the filters and what is made have their dimensions in one order."""
    if call.at(6):
        raise refusal(call.where, "a transposed convolution is no statement", "one that is not")
    order = tuple(range(call.rank))
    return {
        "dimension_numbers": SimpleNamespace(lhs_spec=order, rhs_spec=order, out_spec=order),
        "window_strides": sequence(call.at(3)), "rhs_dilation": sequence(call.at(5)), "lhs_dilation": (1,),
        "feature_group_count": as_int(call.at(8)), "batch_group_count": 1,
    }  # fmt: skip


def _exchanged(call: Call) -> list[int]:
    first, second = call.axes(1) + call.axes(2)
    return [second if i == first else first if i == second else i for i in range(call.rank)]


def _one_place(call: Call) -> Mapping[str, object]:
    axes, shape = call.axes(1), call.arguments[0].shape
    return {"dropped": axes, "lengths": [ONE if i in axes else n for i, n in enumerate(shape)]}


def _refused(call: Call) -> Mapping[str, object]:
    raise refusal(call.where, "a dropout of training is no statement", "module.eval()")


# The operations that stay whole, though core ATen has others for them: the table has them, or no statement says them.
WHOLE = (
    "lstm",
    "gru",
    "linear",
    "scaled_dot_product_attention",
    "silu",
    "softplus",
    "layer_norm",
    "rms_norm",
    "chunk",
    "split",
    "split_with_sizes",
)
# What leaves its operand as it is.
SAME = ("contiguous", "clone", "detach", "alias", "lift_fresh_copy")
ELEMENTS = ("sigmoid", "tanh", "exp", "log", "rsqrt", "sqrt", "relu", "gelu", "silu", "softplus", "reciprocal")
RESHAPED = ("view", "reshape", "flatten", "unflatten", "_unsafe_view", "unsqueeze", "squeeze")
REDUCED = {"sum": "reduce_sum", "mean": "reduce_sum", "amax": "reduce_max", "amin": "reduce_min"}
OPERATIONS: Mapping[str, Operation] = {
    **{name: _function(name) for name in ELEMENTS},
    **dict.fromkeys(RESHAPED, Operation("reshape")),
    **dict.fromkeys(
        ("chunk", "split", "split_with_sizes"), Operation("split", params=lambda call: {"axis": call.axes(2, 0)[0]})
    ),
    **{name: Operation(name) for name in ("neg", "abs")},
    **{name: Operation(name, (0, 1)) for name in ("add", "sub", "mul", "div", "pow")},
    "transpose": Operation("transpose", params=lambda call: {"permutation": _exchanged(call)}),
    "permute": Operation("transpose", params=lambda call: {"permutation": call.axes(1)}),
    "expand": Operation(
        "broadcast_in_dim",
        params=lambda call: {"broadcast_dimensions": range(len(call.results.shape))[-call.rank :] if call.rank else ()},
    ),
    "cat": Operation("concatenate", params=lambda call: {"dimension": call.axes(1, 0)[0]}),
    "slice": Operation("slice", params=lambda call: {"starts": call.start(2), "strides": (as_int(call.at(4, "", 1)),)}),
    "select": Operation("slice", params=lambda call: {"starts": call.start(2), **_one_place(call)}),
    "_to_copy": Operation("convert_element_type"),
    "where": Operation("select_n", (0, 1, 2)),
    "mm": Operation("dot_general", (0, 1), lambda call: {"dimension_numbers": (((1,), (0,)), ((), ()))}),
    "bmm": Operation("dot_general", (0, 1), lambda call: {"dimension_numbers": (((2,), (1,)), ((0,), (0,)))}),
    "convolution": Operation("conv_general_dilated", (0, 1), _convolution),
    "embedding": _function("lookup", 0, 1),
    "_softmax": _function("softmax", over=1),
    "layer_norm": _function("layer_norm", 0, 2, 3, over=-1),
    "rms_norm": _function("rms_norm", 0, 2, over=-1),
    "native_dropout": Operation("", params=_refused),
}


class AtenReader:
    """Operations as equations, which are noted in ``instructions``."""

    def __init__(self, keys: Iterator[int]) -> None:
        self.keys = keys
        self.instructions: list[Instruction] = []
        self.frames: tuple[Frame, ...] = ()

    def array(self, shape: Sequence[Expr], dtype: str) -> Array:
        return Array(next(self.keys), tuple(shape), dtype)

    def emit(self, primitive: str, operands: Sequence[object], result: Any, **params: object) -> Any:
        """An equation, and what it makes."""
        values = tuple(o if isinstance(o, Array | Constant) else Constant(o, True) for o in operands)
        results = result if isinstance(result, tuple) else (result,)
        self.instructions.append(Equation(primitive, values, results, params, self.frames))
        return result

    def shaped(self, primitive: str, operands: Sequence[object], shape: Sequence[Expr], **params: object) -> Array:
        """An equation that makes an array of a shape, of the type of its first operand."""
        first = next(operand for operand in operands if isinstance(operand, Array))
        array: Array = self.emit(primitive, operands, self.array(shape, first.dtype), **params)
        return array

    @classmethod
    def knows(cls, name: str) -> bool:
        """Whether an operation needs no others of core ATen; items and sizes are read on the way."""
        read = name in OPERATIONS or name in REDUCED or name in SAME or hasattr(cls, f"aten_{name}")
        return read or name in ("getitem", "sym_size", "floordiv")

    def result_of(self, call: Call) -> Any:
        """What a call makes, by equations that are noted. Raises :class:`TracingError` for what none says."""
        self.frames = call.frames
        arrays = [value for value in _flat((*call.arguments, *call.keywords.values())) if isinstance(value, Array)]
        results = call.results if isinstance(call.results, tuple) else (call.results,)
        method = getattr(self, f"aten_{call.name}", None)
        if not arrays:
            return tuple(Constant() for _ in results) if isinstance(call.results, tuple) else Constant()
        if call.name in SAME:
            return call.arguments[0]
        if method is not None:
            return method(call)
        if call.name in REDUCED:
            return self._reduced(call)
        if call.name in OPERATIONS:
            operation = OPERATIONS[call.name]
            operands = _flat(value for place in operation.places if (value := call.at(place)) is not None)
            return self.emit(operation.primitive, [*operands], call.results, **operation.params(call))
        if any(value.floating for value in results if isinstance(value, Array)):
            raise TracingError(
                f"{call.where}: {call.name} of {', '.join(map(str, arrays))} is no statement",
                expected="products, sums, reductions, functions of each element or row, views",
                hint="say what the function, or the class, that it stands in is: --function FILE:NAME=rms_norm",
            )
        return self.emit(call.name, arrays, call.results)  # numbers of places, and comparisons

    def aten_linear(self, call: Call) -> Array:
        value, weights, bias = *call.arguments[:2], call.at(2, "bias")
        numbers = ((len(call.results.shape) - 1,), (1,)), ((), ())
        product = self.shaped("dot_general", [value, weights], call.results.shape, dimension_numbers=numbers)
        return product if bias is None else self.shaped("add", [product, bias], product.shape)

    def aten_clamp(self, call: Call) -> Array:
        """A comparison for each bound."""
        value: Array = call.arguments[0]
        for bound in (call.at(1, "min"), call.at(2, "max")):
            value = value if bound is None else self.shaped("max", [value, 0.0], value.shape)
        return value

    def _reduced(self, call: Call) -> Array:
        axes, shape = call.axes(1), call.arguments[0].shape
        short = [n for i, n in enumerate(shape) if i not in axes]
        total = self.shaped(REDUCED[call.name], call.arguments[:1], short, axes=axes)
        if call.name == "mean":
            total = self.shaped("div", [total, Constant(prod(shape[i] for i in axes), True)], short)
        return total if total.shape == call.results.shape else self.emit("reshape", [total], call.results)

    def aten_scaled_dot_product_attention(self, call: Call) -> Array:
        """Scores, their softmax, and what it weighs, on the chip; queries of a group share keys and values."""
        query, key, value = call.arguments[:3]
        mask, causal = call.at(3, "attn_mask"), bool(call.at(5, "is_causal", False))
        if (call.at(4, "dropout_p") or 0) > 0:
            _refused(call)
        if causal and query.shape[-2] == 1:
            raise refusal(call.where, "is_causal lets one query meet the first key alone", "no mask")
        ahead, rows, width, columns = query.shape[:-2], query.shape[-2], query.shape[-1], key.shape[-2]
        groups = ahead != key.shape[:-2]
        if groups:
            ahead = (*key.shape[:-2], ahead[-1] / key.shape[-3])
            query = self.shaped("reshape", [query], (*ahead, rows, width))
        batch, rank = tuple(range(len(key.shape) - 2)), len(ahead)
        self.frames = (ATTENTION, *call.frames)
        numbers = ((rank + 1,), (len(batch) + 1,)), (batch, batch)
        shape = (*ahead, rows, columns)
        scores = self.shaped("dot_general", [query, key], shape, dimension_numbers=numbers, causal=causal)
        scale: float | Expr = call.keywords.get("scale") or 1 / sqrt(width)
        scores = self.shaped("mul", [scores, scale], scores.shape)
        if isinstance(mask, Array):
            if groups and len(mask.shape) == rank + 1:
                mask = self.shaped("reshape", [mask], (*mask.shape[:-2], ONE, *mask.shape[-2:]))
            kind, operands = ("add", [scores, mask]) if mask.floating else ("select_n", [mask, scores, Constant()])
            scores = self.emit(kind, operands, self.array(scores.shape, scores.dtype))
        weights = self.shaped("function", [scores], scores.shape, name="softmax", over=rank + 1)
        heads = max(len(batch) - 1, 0)
        order = (*range(heads), rank, *range(heads, rank), rank + 1)  # rows before heads
        numbers = ((rank + 1,), (len(batch),)), (batch, batch)
        shape = (*ahead, rows, width)
        output = self.shaped("dot_general", [weights, value], shape, dimension_numbers=numbers, laid=order)
        self.frames = call.frames
        return self.emit("reshape", [output], call.results)


def _flat(values: Iterable[object]) -> Iterator[object]:
    for value in values:
        if isinstance(value, tuple):
            yield from _flat(value)
        else:
            yield value
