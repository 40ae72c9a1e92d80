"""Operations of ATen as equations of a trace: products, sums, functions of each element and each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from types import SimpleNamespace
from typing import Any

from sympy import Expr, Integer, sqrt

from symroof.tracing.aten_arrays import ArrayReader, Call, axes_of, several, whole
from symroof.tracing.primitives import ONE, Array, Constant, Frame, Operand, TracingError, refusal

# Functions of each element, which the table has under the same names.
FUNCTIONS = (
    "sigmoid",
    "tanh",
    "exp",
    "log",
    "rsqrt",
    "sqrt",
    "square",
    "relu",
    "gelu",
    "silu",
    "softplus",
    "reciprocal",
)
# Equations of the first operands, so many, as they are.
PLAIN: Mapping[str, tuple[str, int]] = {
    **dict.fromkeys(("view", "reshape", "_unsafe_view", "flatten", "unflatten"), ("reshape", 1)),
    "neg": ("neg", 1), "abs": ("abs", 1), "pow": ("pow", 2),
}  # fmt: skip
REDUCED = {"sum": "reduce_sum", "amax": "reduce_max", "amin": "reduce_min"}
BINARY = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "true_divide": "div"}
# What leaves its operand as it is.
SAME = ("contiguous", "clone", "detach", "alias", "lift_fresh_copy", "_assert_tensor_metadata")
ATTENTION = Frame("<torch>/nn/functional.py", "scaled_dot_product_attention", 0, 0, own=False)


class AtenReader(ArrayReader):
    def said(self, call: Call) -> Any:
        """What a call makes, by equations that are noted. Raises :class:`TracingError` for what none says."""
        self.frames, name = call.frames, call.name.rstrip("_") or call.name
        operands = [one for one in _flat((*call.arguments, *call.keywords.values())) if isinstance(one, Array)]
        results = call.results if isinstance(call.results, tuple) else (call.results,)
        if not operands:
            return tuple(Constant() for _ in results) if isinstance(call.results, tuple) else Constant()
        if name in SAME:
            return call.arguments[0]
        if name in PLAIN:
            primitive, count = PLAIN[name]
            return self.emit(primitive, call.arguments[:count], call.results)
        if name in REDUCED:
            return self._reduced(call, REDUCED[name])
        if name in FUNCTIONS:
            return self.emit("function", call.arguments[:1], call.results, name=name)
        if name in BINARY:
            return self._binary(call, BINARY[name])
        method = getattr(self, f"aten_{call.name.strip('_')}", None)
        if method is not None:
            return method(call)
        if any(one.floating for one in results if isinstance(one, Array)):
            raise TracingError(
                f"{call.where}: {call.name} of {', '.join(map(str, operands))} is no statement",
                expected="products, sums, reductions, functions of each element or row, views",
                hint="say what the function, or the class, that it stands in is: --function FILE:NAME=rms_norm",
            )
        return self.emit(call.name, operands, call.results)  # numbers of places, and comparisons

    # Elements.

    def _binary(self, call: Call, primitive: str) -> Array:
        left, right = call.arguments[:2]
        alpha = call.keywords.get("alpha", 1)
        if alpha != 1 and isinstance(right, Array):
            right = self.emit("mul", [right, alpha], self.like(right, right.shape))
        return self.paired(primitive, left, right, call.results)

    def paired(self, primitive: str, left: object, right: object, result: Array) -> Array:
        rank = len(result.shape)
        return self.emit(primitive, [self._ranked(left, rank), self._ranked(right, rank)], result)

    def _ranked(self, value: object, rank: int) -> object:
        """An operand with as many dimensions as the result, one place along those that it lacks."""
        if not isinstance(value, Array) or len(value.shape) in (0, rank):
            return value
        return self.broadcast(value, self.like(value, (*(ONE,) * (rank - len(value.shape)), *value.shape)))

    def aten_rsub(self, call: Call) -> Array:
        return self.paired("sub", call.arguments[1], call.arguments[0], call.results)

    def aten_to(self, call: Call) -> Array:
        value, result = call.arguments[0], call.results
        return value if value.dtype == result.dtype else self.emit("convert_element_type", [value], result)

    aten_to_copy = aten_type_as = aten_float = aten_to

    def aten_dropout(self, call: Call) -> Array:
        """What a dropout of training leaves out is told by chance."""
        if (call.at(1) or 0) > 0 and call.at(2, "train", True):
            raise refusal(call.where, "a dropout of training is no statement", "module.eval()")
        return call.arguments[0]

    def aten_masked_fill(self, call: Call) -> Array:
        value, mask, other = call.arguments[:3]
        return self.emit("select_n", [self._ranked(mask, call.rank), value, other], call.results)

    def aten_where(self, call: Call) -> Array:
        rank = len(call.results.shape)
        return self.emit("select_n", [self._ranked(one, rank) for one in call.arguments[:3]], call.results)

    def aten_clamp(self, call: Call) -> Array:
        """A comparison for each bound."""
        value, bounds = call.arguments[0], [one for one in (call.at(1, "min"), call.at(2, "max")) if one is not None]
        for _ in bounds[1:]:
            value = self.emit("max", [value, 0.0], self.like(value, value.shape))
        return self.emit("max", [value, 0.0], call.results)

    aten_clamp_min = aten_clamp_max = aten_clamp

    # Rows.

    def aten_softmax(self, call: Call) -> Array:
        value, (axis,) = call.arguments[0], axes_of(call.arguments[1], call.rank)
        if value.dtype != call.results.dtype:
            value = self.emit("convert_element_type", [value], self.like(call.results, value.shape))
        return self.emit("function", [value], call.results, name="softmax", over=axis)

    def aten_log_softmax(self, call: Call) -> Array:
        rows = self.like(call.results, call.results.shape)
        return self.emit(
            "log", [self.aten_softmax(Call(call.name, call.arguments, {}, rows, call.frames))], call.results
        )

    def _normed(self, call: Call, name: str, *gains: object) -> Array:
        if len(call.arguments[1]) != 1:
            raise refusal(call.where, f"a {name} over several dimensions is no statement", "over the last")
        operands = [call.arguments[0], *(gain for gain in gains if isinstance(gain, Array))]
        return self.emit("function", operands, call.results, name=name, over=call.rank - 1)

    def aten_layer_norm(self, call: Call) -> Array:
        return self._normed(call, "layer_norm", call.at(2, "weight"), call.at(3, "bias"))

    def aten_rms_norm(self, call: Call) -> Array:
        return self._normed(call, "rms_norm", call.at(2, "weight"))

    def aten_group_norm(self, call: Call) -> Array:
        """Each group is a row of its own; gains are of channels."""
        value, groups = call.arguments[0], Integer(whole(call.arguments[1]))
        rows = (value.shape[0], groups, prod(value.shape[1:], start=ONE) / groups)
        rows_of = self.emit("reshape", [value], self.like(value, rows))
        normal = self.emit("function", [rows_of], self.like(value, rows), name="layer_norm", over=2)
        return self._gained(
            self.emit("reshape", [normal], self.like(value, value.shape)), call.at(2, "weight"), call.at(3, "bias")
        )

    def aten_batch_norm(self, call: Call) -> Array:
        """What was measured in training is subtracted, and divided by."""
        value, weight, bias, mean, variance, training = call.arguments[:6]
        if training or not isinstance(mean, Array):
            raise refusal(call.where, "a batch norm of training is no statement", "module.eval()")
        above = self.emit("add", [variance, 1e-5], self.like(variance, variance.shape))
        inverse = self.emit("rsqrt", [above], self.like(variance, variance.shape))
        centred = self.paired("sub", value, self._of_channels(mean, call.rank), self.like(value, value.shape))
        normal = self.paired("mul", centred, self._of_channels(inverse, call.rank), self.like(value, value.shape))
        return self._gained(normal, weight, bias)

    def _gained(self, value: Array, weight: object, bias: object) -> Array:
        for primitive, gain in (("mul", weight), ("add", bias)):
            if isinstance(gain, Array):
                value = self.paired(
                    primitive, value, self._of_channels(gain, len(value.shape)), self.like(value, value.shape)
                )
        return value

    def _of_channels(self, value: Array, rank: int) -> Array:
        """A number for each channel, the same at all places."""
        spread = self.like(value, (*value.shape, *(ONE,) * (rank - 2)))
        return self.emit("expand_dims", [value], spread, dimensions=tuple(range(1, rank - 1)))

    def aten_mean(self, call: Call) -> Array:
        shape, axes = call.arguments[0].shape, axes_of(call.at(1, "dim"), call.rank)
        length = Constant(prod((shape[i] for i in axes), start=ONE), True)
        return self.emit(
            "div", [self._reduced(call, "reduce_sum"), length], self.like(call.results, call.results.shape)
        )

    def _reduced(self, call: Call, primitive: str) -> Array:
        value, axes = call.arguments[0], axes_of(call.at(1, "dim"), call.rank)
        short = self.like(call.results, (n for i, n in enumerate(value.shape) if i not in axes))
        made: Array = self.emit(primitive, [value], short, axes=axes)
        if len(call.results.shape) == len(short.shape):
            return made
        return self.emit("expand_dims", [made], self.like(made, call.results.shape), dimensions=axes)

    # Products.

    def dot(
        self,
        left: Array,
        right: Array,
        over: Sequence[Sequence[int]],
        batch: Sequence[Sequence[int]] = ((), ()),
        **params: Any,
    ) -> Array:
        shape = [left.shape[i] for i in batch[0]]
        shape += [n for i, n in enumerate(left.shape) if i not in (*over[0], *batch[0])]
        shape += [n for i, n in enumerate(right.shape) if i not in (*over[1], *batch[1])]
        numbers = (tuple(map(tuple, over)), tuple(map(tuple, batch)))
        return self.emit("dot_general", [left, right], self.like(left, shape), dimension_numbers=numbers, **params)

    def aten_linear(self, call: Call) -> Array:
        made = self.dot(call.arguments[0], call.arguments[1], ((call.rank - 1,), (1,)))
        return self._biased(made, call.at(2, "bias"))

    def _biased(self, made: Array, bias: object) -> Array:
        return self.paired("add", made, bias, self.like(made, made.shape)) if isinstance(bias, Array) else made

    def aten_matmul(self, call: Call) -> Array:
        left, right = call.arguments[:2]
        a, b = len(left.shape), len(right.shape)
        if b <= 2 or a == 1:
            return self.dot(left, right, ((a - 1,), (max(b - 2, 0),)))
        if a != b or left.shape[:-2] != right.shape[:-2]:
            raise refusal(call.where, "a product whose batches differ is no statement", "batches of one shape")
        batch = tuple(range(a - 2))
        return self.dot(left, right, ((a - 1,), (b - 2,)), (batch, batch))

    aten_mm = aten_bmm = aten_mv = aten_matmul

    def aten_addmm(self, call: Call) -> Array:
        bias, left, right = call.arguments[:3]
        return self._biased(self.dot(left, right, ((1,), (0,))), bias)

    def aten_einsum(self, call: Call) -> Array:
        """Two operands, or one: letters of both are multiplied, those of one alone that the result lacks are added up first."""
        text, operands = call.arguments[:2]
        inputs, _, out = text.replace(" ", "").partition("->")
        letters = inputs.split(",")
        if "." in text or not out or len(letters) > 2 or any(len({*x}) < len(x) for x in letters):
            raise refusal(call.where, f"einsum {text!r} is no statement", "one of two operands")
        values = []
        for i, (own, value) in enumerate(zip(letters, operands, strict=True)):
            others = {*out, *(x for j, word in enumerate(letters) if j != i for x in word)}
            axes = tuple(k for k, x in enumerate(own) if x not in others)
            if axes:
                short = self.like(value, (n for k, n in enumerate(value.shape) if k not in axes))
                value, own = self.emit("reduce_sum", [value], short, axes=axes), "".join(x for x in own if x in others)
            values.append((own, value))
        (a, left), *rest = values
        if not rest:
            return self.transposed(left, [a.index(x) for x in out])
        ((b, right),) = rest
        shared = [x for x in a if x in b]
        over, batch = ([x for x in shared if (x in out) is kept] for kept in (False, True))
        places = [[[word.index(x) for x in part] for word in (a, b)] for part in (over, batch)]
        made = self.dot(left, right, *places)
        order = [*batch, *(x for x in a if x not in shared), *(x for x in b if x not in shared)]
        return self.transposed(made, [order.index(x) for x in out])

    def aten_conv2d(self, call: Call) -> Array:
        value, filters, bias = call.arguments[0], call.arguments[1], call.at(2, "bias")
        axes, slides = tuple(range(call.rank)), call.rank - 2
        strides, dilation = several(call.at(3, "stride", 1)), several(call.at(5, "dilation", 1))
        made = self.emit(
            "conv_general_dilated", [value, filters], self.like(call.results, call.results.shape),
            dimension_numbers=SimpleNamespace(lhs_spec=axes, rhs_spec=axes, out_spec=axes),
            window_strides=strides * (slides if len(strides) == 1 else 1), lhs_dilation=(1,), rhs_dilation=dilation,
            feature_group_count=whole(call.at(6, "groups", 1)), batch_group_count=1,
        )  # fmt: skip
        return self._gained(made, None, bias)

    aten_conv1d = aten_conv2d

    def aten_embedding(self, call: Call) -> Array:
        return self.emit("function", call.arguments[:2], call.results, name="lookup")

    def aten_scaled_dot_product_attention(self, call: Call) -> Array:
        """Scores, their softmax, and what it weighs, on the chip; queries of a group share keys and values."""
        query, key, value = call.arguments[:3]
        mask, causal = call.at(3, "attn_mask"), bool(call.at(5, "is_causal", False))
        if (call.at(4, "dropout_p") or 0) > 0:
            raise refusal(call.where, "a dropout of training is no statement", "module.eval()")
        rank, groups = len(query.shape), query.shape[:-2] != key.shape[:-2]
        if groups:
            shape = (*query.shape[:-3], key.shape[-3], query.shape[-3] / key.shape[-3], *query.shape[-2:])
            query = self.emit("reshape", [query], self.like(query, shape))
        if causal and query.shape[-2] == 1:
            raise refusal(call.where, "is_causal lets one query meet the first key alone", "no mask")
        batch = tuple(range(rank - 2))
        self.inside = (ATTENTION,)
        scores = self.dot(query, key, ((len(query.shape) - 1,), (rank - 1,)), (batch, batch), causal=causal)
        scale: float | Expr = call.keywords.get("scale") or 1 / sqrt(query.shape[-1])
        scores = self.emit("mul", [scores, scale], self.like(scores, scores.shape))
        if isinstance(mask, Array):
            scores = self._masked(scores, mask, groups)
        rows = len(scores.shape) - 2
        weights = self.emit("function", [scores], self.like(scores, scores.shape), name="softmax", over=rows + 1)
        laid = (*range(rank - 3), rows, *range(rank - 3, rows), rows + 1) if rank > 2 else (*range(rank),)
        made = self.dot(weights, value, ((rows + 1,), (rank - 2,)), (batch, batch), laid=laid)  # rows before heads
        self.inside = ()
        return self.emit("reshape", [made], call.results) if groups else made

    def _masked(self, scores: Array, mask: Array, groups: bool) -> Array:
        """Scores with a mask: numbers are added, a choice is made."""
        if groups and len(mask.shape) == len(scores.shape) - 1:
            shape = (*mask.shape[:-2], ONE, *mask.shape[-2:])
            mask = self.emit("expand_dims", [mask], self.like(mask, shape), dimensions=(len(mask.shape) - 2,))
        result = self.like(scores, scores.shape)
        if mask.floating:
            return self.paired("add", scores, mask, result)
        return self.emit("select_n", [self._ranked(mask, len(scores.shape)), scores, Constant()], result)


def _flat(values: Any) -> Iterator[Operand]:
    for value in values:
        if isinstance(value, tuple):
            yield from _flat(value)
        else:
            yield value
