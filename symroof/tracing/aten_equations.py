"""Operations of ATen as equations of a trace: products, sums, functions of each element and each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod, sqrt
from types import SimpleNamespace
from typing import Any

from symroof.tracing.aten_arrays import ArrayReader, Call, Operand, whole
from symroof.tracing.traced import Array, Constant, Frame, TracingError

# One operation on each element, by the name that equations have for it.
UNARY: Mapping[str, str] = {
    "sigmoid": "logistic", "tanh": "tanh", "exp": "exp", "log": "log", "rsqrt": "rsqrt", "sqrt": "sqrt", "neg": "neg",
    "abs": "abs", "square": "square",
}  # fmt: skip
# Functions of the table, of each element.
FUNCTIONS = ("relu", "gelu", "silu", "softplus", "reciprocal")
BINARY = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "true_divide": "div"}
# What leaves its operand as it is.
SAME = ("contiguous", "clone", "detach", "alias", "lift_fresh_copy", "_assert_tensor_metadata")
VIEWS = ("view", "reshape", "_unsafe_view", "flatten", "unflatten")
ATTENTION = Frame("<torch>/nn/functional.py", "scaled_dot_product_attention", 0, 0)


class AtenReader(ArrayReader):
    def said(self, call: Call) -> Any:
        """What a call makes, by equations that are noted. Raises :class:`TracingError` for what none says."""
        self.frames = call.frames
        operands = [one for one in _flat((*call.arguments, *call.keywords.values())) if isinstance(one, Array)]
        results = call.results if isinstance(call.results, tuple) else (call.results,)
        if not operands:
            return tuple(Constant() for _ in results) if isinstance(call.results, tuple) else Constant()
        method = getattr(self, f"aten_{call.name.strip('_')}", None)
        call = replace(call, name=call.name.rstrip("_") or call.name)
        if call.name in SAME:
            return call.arguments[0]
        if call.name in VIEWS:
            return self.aten_view(call)
        if call.name in UNARY:
            return self._emit(UNARY[call.name], call.arguments[:1], call.results)
        if call.name in FUNCTIONS:
            return self._emit("function", call.arguments[:1], call.results, name=call.name)
        if call.name in BINARY:
            return self.aten_binary(call)
        if method is None and not any(one.floating for one in results if isinstance(one, Array)):
            return self._emit(call.name, operands, call.results)  # numbers of places, and comparisons
        if method is None:
            shapes = ", ".join(f"{one.dtype}[{', '.join(str(n[0]) for n in one.shape)}]" for one in operands)
            raise TracingError(
                f"{call.where}: {call.name} of {shapes} is no statement",
                expected="products, sums, reductions, functions of each element or row, views",
                hint="say what the function, or the class, that it stands in is: --function FILE:NAME=rms_norm",
            )
        return method(call)

    # Elements.

    def aten_binary(self, call: Call) -> Any:
        left, right = (one if isinstance(one, Array | Constant) else self._number(one) for one in call.arguments[:2])
        alpha = call.keywords.get("alpha")
        if alpha is not None and whole(alpha) != 1:
            many = self._like(right, right.shape) if isinstance(right, Array) else Constant()
            right = self._emit("mul", [right, alpha], many) if isinstance(many, Array) else many
        return self._paired(BINARY[call.name], left, right, call.results)

    def _paired(self, primitive: str, left: Operand, right: Operand, result: Array) -> Array:
        rank = len(result.shape)
        return self._emit(primitive, [self._ranked(left, rank), self._ranked(right, rank)], result)

    def aten_rsub(self, call: Call) -> Any:
        right, left = (one if isinstance(one, Array | Constant) else self._number(one) for one in call.arguments[:2])
        return self._paired("sub", left, right, call.results)

    def aten_pow(self, call: Call) -> Any:
        base, times = call.arguments[:2]
        if isinstance(base, Array) and isinstance(times, Constant) and times.values is not None:
            return self._emit("pow", [base, times], call.results)
        return self._emit("exp", [times if isinstance(times, Array) else base], call.results)

    def aten_to(self, call: Call) -> Any:
        value, result = call.arguments[0], call.results
        return value if value.dtype == result.dtype else self._emit("convert_element_type", [value], result)

    aten_to_copy = aten_type_as = aten_float = aten_to

    @staticmethod
    def _require_nothing_dropped(call: Call, chance: Any) -> None:
        """What a dropout of training leaves out is told by chance."""
        if (chance.values or (1.0,))[0] > 0 if isinstance(chance, Constant) else chance > 0:
            raise TracingError(f"{call.where}: a dropout of training is no statement", expected="module.eval()")

    def aten_dropout(self, call: Call) -> Any:
        self._require_nothing_dropped(call, call.at(1) if call.at(2) else 0.0)
        return call.arguments[0]

    def aten_masked_fill(self, call: Call) -> Any:
        value, mask = call.arguments[:2]
        return self._emit("select_n", [self._ranked(mask, len(value.shape)), value, call.arguments[2]], call.results)

    def aten_where(self, call: Call) -> Any:
        rank = len(call.results.shape)
        return self._emit("select_n", [self._ranked(one, rank) for one in call.arguments[:3]], call.results)

    def aten_clamp(self, call: Call) -> Any:
        """A comparison for each bound."""
        value, bound = call.arguments[0], Constant((0.0,) * self.assignments, True)
        bounds = [one for one in (call.at(1, "min"), call.at(2, "max")) if one is not None]
        for _ in bounds[1:]:
            value = self._emit("max", [value, bound], self._like(value, value.shape))
        return self._emit("max", [value, bound], call.results)

    aten_clamp_min = aten_clamp_max = aten_clamp

    # Rows.

    def aten_softmax(self, call: Call) -> Any:
        value, axis = call.arguments[0], whole(call.arguments[1])
        if value.dtype != call.results.dtype:
            wide = self.array(value.shape, call.results.dtype)
            value = self._emit("convert_element_type", [value], wide)
        return self._emit("function", [value], call.results, name="softmax", over=axis % len(value.shape))

    def aten_log_softmax(self, call: Call) -> Any:
        made = self.aten_softmax(
            Call(call.name, call.arguments, {}, self._like(call.results, call.results.shape), call.frames)
        )
        return self._emit("log", [made], call.results)

    def _normed(self, call: Call, name: str, gains: Sequence[Any]) -> Any:
        value = call.arguments[0]
        if len(call.arguments[1]) != 1:
            raise TracingError(
                f"{call.where}: a {name} over several dimensions is no statement", expected="over the last"
            )
        operands = [value, *(gain for gain in gains if isinstance(gain, Array))]
        return self._emit("function", operands, call.results, name=name, over=len(value.shape) - 1)

    def aten_layer_norm(self, call: Call) -> Any:
        return self._normed(call, "layer_norm", [call.at(2, "weight"), call.at(3, "bias")])

    def aten_rms_norm(self, call: Call) -> Any:
        return self._normed(call, "rms_norm", [call.at(2, "weight")])

    def aten_sum(self, call: Call) -> Any:
        return self._reduced(call, "reduce_sum")

    def aten_amax(self, call: Call) -> Any:
        return self._reduced(call, "reduce_max")

    def aten_amin(self, call: Call) -> Any:
        return self._reduced(call, "reduce_min")

    def aten_mean(self, call: Call) -> Any:
        value = call.arguments[0]
        axes = self._axes(call)
        lengths = tuple(float(prod(value.shape[i][n] for i in axes)) for n in range(self.assignments))
        total = self._reduced(call, "reduce_sum")
        return self._emit("div", [total, Constant(lengths, True)], self._like(call.results, call.results.shape))

    def _axes(self, call: Call) -> tuple[int, ...]:
        rank, said = len(call.arguments[0].shape), call.at(1, "dim")
        if said is None or said == ():
            return tuple(range(rank))
        return tuple(whole(n) % rank for n in (said if isinstance(said, tuple) else (said,)))

    def _reduced(self, call: Call, primitive: str) -> Array:
        value, axes = call.arguments[0], self._axes(call)
        short = self._like(call.results, [n for i, n in enumerate(value.shape) if i not in axes])
        made = self._emit(primitive, [value], short, axes=axes)
        if len(call.results.shape) == len(short.shape):
            return made
        return self._emit("expand_dims", [made], self._like(made, call.results.shape), dimensions=axes)

    # Products.

    def _dot(
        self,
        left: Array,
        right: Array,
        over: tuple[Sequence[int], Sequence[int]],
        batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
        **params: Any,
    ) -> Array:
        shape = [left.shape[i] for i in batch[0]]
        shape += [n for i, n in enumerate(left.shape) if i not in (*over[0], *batch[0])]
        shape += [n for i, n in enumerate(right.shape) if i not in (*over[1], *batch[1])]
        numbers = (tuple(map(tuple, over)), tuple(map(tuple, batch)))
        return self._emit("dot_general", [left, right], self._like(left, shape), dimension_numbers=numbers, **params)

    def aten_linear(self, call: Call) -> Any:
        value, weight, bias = call.arguments[0], call.arguments[1], call.at(2, "bias")
        made = self._dot(value, weight, ((len(value.shape) - 1,), (1,)))
        return self._biased(made, bias)

    def _biased(self, made: Array, bias: Any) -> Array:
        return self._paired("add", made, bias, self._like(made, made.shape)) if isinstance(bias, Array) else made

    def aten_matmul(self, call: Call) -> Any:
        left, right = call.arguments[:2]
        a, b = len(left.shape), len(right.shape)
        if b <= 2 or a == 1:
            return self._dot(left, right, ((a - 1,), (max(b - 2, 0),)))
        if a != b or left.shape[:-2] != right.shape[:-2]:
            raise TracingError(
                f"{call.where}: a product whose batches differ is no statement", expected="batches of one shape"
            )
        batch = tuple(range(a - 2))
        return self._dot(left, right, ((a - 1,), (b - 2,)), (batch, batch))

    aten_mm = aten_bmm = aten_mv = aten_matmul

    def aten_addmm(self, call: Call) -> Any:
        bias, left, right = call.arguments[:3]
        return self._biased(self._dot(left, right, ((1,), (0,))), bias)

    def aten_einsum(self, call: Call) -> Any:
        """Two operands, or one: letters of both are multiplied, those of one alone that the result lacks are added up first."""
        text, operands = call.arguments[:2]
        inputs, _, out = text.replace(" ", "").partition("->")
        letters = inputs.split(",")
        if "." in text or not out or len(letters) > 2 or any(len({*x}) < len(x) for x in letters):
            raise TracingError(f"{call.where}: einsum {text!r} is no statement", expected="one of two operands")
        values = []
        for i, (own, value) in enumerate(zip(letters, operands, strict=True)):
            others = {*out, *(x for j, word in enumerate(letters) if j != i for x in word)}
            axes = tuple(k for k, x in enumerate(own) if x not in others)
            if axes:
                short = self._like(value, [n for k, n in enumerate(value.shape) if k not in axes])
                value, own = self._emit("reduce_sum", [value], short, axes=axes), "".join(x for x in own if x in others)
            values.append((own, value))
        (a, left), *rest = values
        if not rest:
            return self._transposed(left, [a.index(x) for x in out])
        ((b, right),) = rest
        shared = [x for x in a if x in b]
        over, batch = ([x for x in shared if (x in out) is kept] for kept in (False, True))
        made = self._dot(
            left,
            right,
            ([a.index(x) for x in over], [b.index(x) for x in over]),
            ([a.index(x) for x in batch], [b.index(x) for x in batch]),
        )
        order = [*batch, *(x for x in a if x not in shared), *(x for x in b if x not in shared)]
        return self._transposed(made, [order.index(x) for x in out])

    def aten_conv2d(self, call: Call) -> Any:
        value, filters, bias = call.arguments[0], call.arguments[1], call.at(2, "bias")
        steps = [
            tuple(map(whole, x)) if isinstance(x, tuple) else (whole(x),)
            for x in (call.at(3, "stride", (1, 1)), call.at(5, "dilation", (1, 1)))
        ]
        axes = tuple(range(len(value.shape)))
        numbers = SimpleNamespace(lhs_spec=axes, rhs_spec=axes, out_spec=axes)
        made = self._emit(
            "conv_general_dilated", [value, filters], self._like(call.results, call.results.shape), dimension_numbers=numbers,
            window_strides=steps[0], lhs_dilation=(1,), rhs_dilation=steps[1], feature_group_count=whole(call.at(6, "groups", 1)), batch_group_count=1,
        )  # fmt: skip
        if not isinstance(bias, Array):
            return made
        ones = [(1,) * self.assignments] * (len(made.shape) - 2)
        spread = self._emit(
            "expand_dims",
            [bias],
            self._like(bias, (*bias.shape, *ones)),
            dimensions=tuple(range(1, len(made.shape) - 1)),
        )
        return self._paired("add", made, spread, self._like(made, made.shape))

    aten_conv1d = aten_conv2d

    def aten_embedding(self, call: Call) -> Any:
        return self._emit("function", call.arguments[:2], call.results, name="lookup")

    def aten_scaled_dot_product_attention(self, call: Call) -> Any:
        """Scores, their softmax, and what it weighs, on the chip; queries of a group share keys and values."""
        query, key, value = call.arguments[:3]
        mask, dropped, causal = (
            call.at(3, "attn_mask"),
            call.at(4, "dropout_p", 0.0),
            bool(call.at(5, "is_causal", False)),
        )
        self._require_nothing_dropped(call, dropped)
        rank, grouped = len(query.shape), query.shape[:-2] != key.shape[:-2]
        if grouped:
            heads = tuple(n // k for n, k in zip(query.shape[-3], key.shape[-3], strict=True))
            shape = (*query.shape[:-3], key.shape[-3], heads, *query.shape[-2:])
            query = self._emit("reshape", [query], self._like(query, shape))
        if causal and {*query.shape[-2]} == {1}:
            raise TracingError(f"{call.where}: is_causal lets one query meet the first key alone", expected="no mask")
        batch = tuple(range(rank - 2))
        self.inside = (ATTENTION,)
        scores = self._dot(query, key, ((len(query.shape) - 1,), (rank - 1,)), (batch, batch), causal=causal)
        said = call.keywords.get("scale")
        scale = (
            said.values
            if isinstance(said, Constant) and said.values is not None
            else tuple(1 / sqrt(n) for n in query.shape[-1])
        )
        scores = self._emit("mul", [scores, Constant(tuple(scale), True)], self._like(scores, scores.shape))
        if isinstance(mask, Array):
            scores = self._masked(scores, mask, grouped)
        weights = self._emit(
            "function", [scores], self._like(scores, scores.shape), name="softmax", over=len(scores.shape) - 1
        )
        rows = len(weights.shape) - 2  # the result lies as its heads do: rows before heads
        laid = (*range(rank - 3), rows, *range(rank - 3, rows), rows + 1) if rank > 2 else ()
        made = self._dot(weights, value, ((len(weights.shape) - 1,), (rank - 2,)), (batch, batch), laid=laid)
        self.inside = ()
        return self._emit("reshape", [made], call.results) if grouped else made

    def _masked(self, scores: Array, mask: Array, grouped: bool) -> Array:
        """Scores with a mask: numbers are added, a choice is made."""
        if grouped and len(mask.shape) == len(scores.shape) - 1:
            one = (1,) * self.assignments
            mask = self._emit(
                "expand_dims",
                [mask],
                self._like(mask, (*mask.shape[:-3], mask.shape[-3], one, *mask.shape[-2:])),
                dimensions=(len(mask.shape) - 2,),
            )
        result = self._like(scores, scores.shape)
        if mask.floating:
            return self._paired("add", scores, mask, result)
        return self._emit("select_n", [self._ranked(mask, len(scores.shape)), scores, Constant()], result)


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from _flat(value)
        else:
            yield value
