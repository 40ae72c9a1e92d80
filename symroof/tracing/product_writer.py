"""Products of a trace as statements, and what names rows or slides over them: attention, convolutions, lookups, functions that are named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from symroof.tracing.jaxprs import user_frame
from symroof.tracing.part_writer import PartWriter
from symroof.tracing.program_lines import Label, Value, long_name
from symroof.tracing.traced import Array, Constant, Equation, TracingError


class ProductWriter(PartWriter):
    def _called(self, equation: Equation, live: Sequence[Value]) -> Value | None:
        """A function of the table, which the trace names."""
        name, first, result = equation.params["name"], live[0], equation.results[0]
        if name == "lookup":
            if len(live) < 2 or None in first.labels:
                return None
            labels = (*live[1].labels, *first.labels[1:])
            return self._say("lookup({}, {})", live[:2], result, labels, equation.frames, typed=False)
        over = equation.params.get("over")
        label = None if over is None else first.labels[over]
        if over is not None and label is None:
            return None
        last = self.tensors[first.tensor][1][-1:]
        along = f", {label}" if label is not None and (label,) != last else ""
        text = f"{name}({', '.join('{}' for _ in live)}{along})"
        return self._say(text, live, result, first.labels, equation.frames, typed=False)

    def _product(self, equation: Equation, operands: Sequence[Value | Constant]) -> Value | None:
        left, right = operands
        if not isinstance(left, Value) or not isinstance(right, Value):
            return None
        (lc, rc), (lb, rb) = equation.params["dimension_numbers"]
        shared, names, ahead = {*rc, *rb}, dict[str, str](), dict[str, str]()
        for i, j in zip((*lc, *lb), (*rc, *rb), strict=True):
            a, b = left.labels[i], right.labels[j]
            if a is None and b is None and {*equation.operands[0].shape[i]} == {1}:  # type: ignore[union-attr]
                continue
            if a is None or b is None:
                return None
            if a != b and a in right.own and b not in left.own:  # the first has the other name: v[T -> S]
                ahead[a] = b
            elif a != b:
                names[b] = a
        smaller = len(left.own) < len(
            right.own
        )  # keys get the second name, as in k[T -> S], not the queries of several heads
        for j, label in enumerate(right.labels):
            there = {ahead.get(x, x) for x in left.own} | {*names.values()}
            if j not in shared and label is not None and label in there:
                other = self.sizes.another(
                    self.sizes.root(label), (*left.own, *right.own, *names.values(), *ahead.values())
                )
                inside = ahead if smaller and label not in ahead else names
                inside[label] = other
        left = self._renamed(left, ahead, equation.frames)
        right = self._renamed(right, names, equation.frames)
        kept = [left.labels[i] for i in lb]
        kept += [x for i, x in enumerate(left.labels) if i not in (*lc, *lb)]
        kept += [x for j, x in enumerate(right.labels) if j not in shared]
        made = self._say("{} * {}", (left, right), equation.results[0], kept, equation.frames)
        if laid := equation.params.get("laid"):
            self.tensors[made.tensor] = self.tensors[made.tensor][0], tuple(kept[i] for i in laid if kept[i])
        if equation.params.get("causal"):  # row t meets the first t, as is_causal says it
            self.lines[-1].masked = f" masked {kept[-1]} <= {kept[-2]} from the first"
        return made

    def _convolved(self, equation: Equation, operands: Sequence[Value | Constant]) -> Value | None:
        """A convolution with a place for every pixel, every few pixels, or where no window reaches over the border: its
        windows stay on the chip."""
        image, filters = operands
        params, result = equation.params, equation.results[0]
        if not isinstance(image, Value) or not isinstance(filters, Value) or None in (*image.labels, *filters.labels):
            return None
        numbers, shapes = params["dimension_numbers"], [o.shape for o in equation.operands if isinstance(o, Array)]
        pixels = [shapes[0][i] for i in numbers.lhs_spec[2:]]
        places = [result.shape[i] for i in numbers.out_spec[2:]]
        plain = {*params["lhs_dilation"], *params["rhs_dilation"], params["feature_group_count"], 1}
        strides = params["window_strides"]
        fit = all(
            {a - s * b for a, b in zip(n, there, strict=True)} == {0} or s == 1
            for n, there, s in zip(pixels, places, strides, strict=True)
        )
        rests = [(a, s) for n, s in zip(pixels, strides, strict=True) for a in n if s > 1 and a % s]
        if rests and len(plain) == 1:
            (drawn, step), where = rests[0], str(user_frame(equation.frames) or "the function")
            shown = (
                f"{where}: a convolution takes every {step}th place of a size that was {drawn}, which is no multiple"
            )
            raise TracingError(shown, expected=f"multiples in the shapes, as in x=bf16[N, {step}*P, {step}*Q, C]")
        if not fit or len(plain) > 1 or params["batch_group_count"] != 1:
            return None
        batch, channels, *spatial = (str(image.labels[i]) for i in numbers.lhs_spec)
        own, inner, *size = (str(filters.labels[i]) for i in numbers.rhs_spec)
        names = {} if inner == channels else {inner: channels}
        if own in (batch, channels, *spatial):
            names[own] = self.sizes.another(self.sizes.root(own), (batch, channels, *spatial, own, inner, *size))
            own = names[own]
        filters = self._renamed(filters, names, equation.frames)
        where, starts = str(user_frame(equation.frames) or "the function"), list[str]()
        for pixel, n, there in zip(spatial, pixels, places, strict=True):
            start = pixel if there == n else self.sizes.of(there, where)
            taken = (batch, own, *spatial, *size, channels, *starts)
            starts.append(start if start == pixel or start not in taken else self.sizes.another(start, taken))
        labels: list[Label] = [None] * len(result.shape)
        for place, label in zip(numbers.out_spec, (batch, own, *starts), strict=True):
            labels[int(place)] = label
        windows = replace(result, dtype=long_name(self.tensors[image.tensor][0]))
        made: list[Value] = []

        def body() -> None:
            seen = self._say("windows({})", (image,), windows, (batch, *starts, *size, channels), equation.frames)
            made.append(self._say("{} * {}", (seen, filters), result, labels, equation.frames))

        self._braced("fuse", body)
        return made[0]

    def _looked_up(self, equation: Equation, operands: Sequence[Value | Constant]) -> Value | None:
        """Rows of a table that whole numbers name."""
        table, places = operands[:2]
        numbers = equation.params["dimension_numbers"]
        if not isinstance(table, Value) or not isinstance(places, Value):
            return None
        whole = [o.shape[1:] for o in equation.operands[:1] if isinstance(o, Array)]
        rows = tuple(numbers.collapsed_slice_dims) == (0,) == tuple(numbers.start_index_map)
        taken = tuple(map(int, equation.params["slice_sizes"][1:]))
        if not rows or None in table.labels or [taken] != [tuple(n[0] for n in shape) for shape in whole]:
            return None
        labels = [x for x in places.labels if x is not None]
        return self._say(
            "lookup({}, {})",
            (table, places),
            equation.results[0],
            (*labels, *table.labels[1:]),
            equation.frames,
            typed=False,
        )
