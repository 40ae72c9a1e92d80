"""Parts of arrays in a trace: slices, what is joined of several, caches that are written to; and products as statements,
with what names rows or slides over them: convolutions, lookups, functions that are named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from symroof.tracing.jaxprs import user_frame
from symroof.tracing.program_lines import Label, Lines, Value, long_name
from symroof.tracing.traced import Array, Constant, Equation, Numbers, TracingError

# What cuts an array; where it begins may be known when the function runs alone.
CUTS = ("slice", "dynamic_slice")


class ProductWriter(Lines):
    def _parts(self, equation: Equation, operands: Sequence[Value | Constant]) -> bool:
        """Slices and what is joined; whether an equation is one of these."""
        first, result = operands[0], equation.results[0]
        if equation.primitive in CUTS and isinstance(first, Value):
            starts = equation.params.get("starts")
            self.values[result.key] = self._cut(equation, first, result, starts)
        elif equation.primitive == "split" and isinstance(first, Value):
            axis = int(equation.params["axis"])
            places = [0] * len(result.shape[0])
            for part in equation.results:
                starts = [tuple(at if i == axis else 0 for i in range(len(part.shape))) for at in places]
                self.values[part.key] = self._cut(equation, first, part, starts)
                places = [at + n for at, n in zip(places, part.shape[axis], strict=True)]
        elif equation.primitive in ("concatenate", "stack"):
            self.values[result.key] = self._concatenated(equation, operands)
        elif equation.primitive == "dynamic_update_slice" and isinstance(first, Value):
            self.values[result.key] = self._appended(equation, first, operands[1])
        else:
            return False
        return True

    def _cut(self, equation: Equation, value: Value, result: Array, starts: Sequence[Sequence[int]] | None) -> Value:
        """So many places of each dimension that is shorter then."""
        operand, where = equation.operands[0], str(user_frame(equation.frames) or "the function")
        assert isinstance(operand, Array)
        steps = equation.params.get("strides")
        if steps is not None and {*steps} != {1}:
            raise TracingError(f"{where}: a slice with steps is no statement", expected="places one after the other")
        for i, (whole, part) in enumerate(zip(operand.shape, result.shape, strict=True)):
            label = value.labels[i]
            if whole == part or label is None:
                continue
            begin = None if starts is None else tuple(one[i] for one in starts)
            value = self._part(equation, value, i, part, begin)
        return value

    def _part(self, equation: Equation, value: Value, axis: int, size: Numbers, begin: Numbers | None) -> Value:
        """A part along one dimension. What was cut before is what it was; other parts have other places."""
        where, label = str(user_frame(equation.frames) or "the function"), value.labels[axis]
        assert label is not None
        known = self.cut.setdefault((value.tensor, label), [])
        for at, length, made in known:
            if begin is not None and (at, length) == (begin, size):
                return replace(value, tensor=made.tensor, labels=made.labels)
            if begin is None or any(
                a < b + m and b < a + n for a, n, b, m in zip(begin, size, at, length, strict=True)
            ):
                raise TracingError(
                    f"{where}: two slices share places", expected="slices of different places of an array"
                )
        own = self.sizes.of(size, where)
        if own in value.own:
            own = self.sizes.another(self.sizes.root(own), value.own)
        labels: list[Label] = [own if i == axis else x for i, x in enumerate(value.labels)]
        array = Array(-1, tuple(size for _ in labels), long_name(self.tensors[value.tensor][0]))
        written = self.tensors[value.tensor][1]
        order = [own if x == label else x for x in written if x != label or own != "1"]
        said = self._say(f"slice({{}}, {label}, {own})", (value,), array, order, equation.frames, typed=False)
        if own == "1":  # one place is no dimension
            labels[axis] = None
        made = Value(said.tensor, tuple(labels))
        known.append((begin or (), size, made))
        return made

    def _concatenated(self, equation: Equation, operands: Sequence[Value | Constant]) -> Value:
        """Arrays behind one another."""
        where, result = str(user_frame(equation.frames) or "the function"), equation.results[0]
        axis = int(equation.params.get("dimension", equation.params.get("axis", 0)))
        if any(not isinstance(operand, Value) for operand in operands):
            raise TracingError(
                f"{where}: numbers are joined to an array", expected="arrays that are arguments, or made of them"
            )
        parts = [operand for operand in operands if isinstance(operand, Value)]
        if equation.primitive == "stack":
            parts = [replace(v, labels=(*v.labels[:axis], None, *v.labels[axis:])) for v in parts]
        first, *others = parts
        whole = self.sizes.of(result.shape[axis], where)
        if whole in {x for part in parts for x in part.own}:
            whole = self.sizes.another(self.sizes.root(whole), [x for part in parts for x in part.own])
        aligned = [first]
        for other in others:
            aligned.append(self._renamed(other, _other_names(first, other, axis), equation.frames))
        labels = tuple(whole if i == axis else x for i, x in enumerate(first.labels))
        places = ", ".join("{}" for _ in aligned)
        return self._say(f"concat({places})", aligned, result, labels, equation.frames)

    def _appended(self, equation: Equation, cache: Value, new: Value | Constant) -> Value:
        """Entries that are written into an argument, along the one dimension in which they are fewer."""
        where = str(user_frame(equation.frames) or "the function")
        arrays = [operand for operand in equation.operands[:2] if isinstance(operand, Array)]
        if cache.tensor not in self.arguments or not isinstance(new, Value) or len(arrays) < 2:
            raise TracingError(f"{where}: what is written to is no argument", expected="a cache that is an argument")
        shorter = [i for i, (a, b) in enumerate(zip(*(array.shape for array in arrays), strict=True)) if a != b]
        if len(shorter) != 1 or None in cache.labels:
            raise TracingError(f"{where}: entries are written along several dimensions", expected="along one")
        (axis,) = shorter
        new = self._renamed(new, _other_names(cache, new, axis), equation.frames)
        text = f"append({{}}, {{}}, {cache.labels[axis]})"
        return self._say(text, (cache, new), equation.results[0], cache.labels, equation.frames, typed=False)

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
        result, seen = equation.results[0], (*labels, *table.labels[1:])
        return self._say("lookup({}, {})", (table, places), result, seen, equation.frames, typed=False)


def _other_names(first: Value, other: Value, axis: int) -> dict[str, str]:
    """The labels of an array that are others than those of the first, with these, but along an axis."""
    pairs = enumerate(zip(first.labels, other.labels, strict=True))
    return {b: a for i, (a, b) in pairs if i != axis and a is not None and b is not None and a != b}
