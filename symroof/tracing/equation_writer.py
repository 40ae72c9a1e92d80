"""Equations of a trace as statements: products, sums, functions of each element or row; all else is a view, or no statement.

Numbers of indices are not counted: what they are made of is what they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from symroof.model.dtype import dtype
from symroof.tracing.jaxprs import user_frame
from symroof.tracing.program_lines import Label, Lines, Value, long_name
from symroof.tracing.traced import Array, Constant, Equation, Numbers, TracingError

# Functions of the table that a primitive of one operand is.
UNARY: Mapping[str, str] = {
    "logistic": "sigmoid", "tanh": "tanh", "exp": "exp", "log": "log", "rsqrt": "rsqrt", "sqrt": "sqrt", "square": "square",
    "neg": "scale", "abs": "scale", "sign": "scale", "log1p": "log", "expm1": "exp",
}  # fmt: skip
# The same elements: nothing is done.
SAME = (
    "stop_gradient",
    "copy",
    "copy_p",
    "optimization_barrier",
    "reduce_precision",
    "name",
    "pvary",
    "sharding_constraint",
)
SIGNS = {"add": "+", "add_any": "+", "sub": "-", "mul": "*"}
REDUCED = {"reduce_sum": "sum", "reduce_max": "max", "reduce_min": "max"}
# What is told of the elements without doing anything with them.
COMPARED = ("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "xor", "is_finite")


class EquationWriter(Lines):
    def _equation(self, equation: Equation) -> None:
        operands = [self._read(operand) for operand in equation.operands]
        live = [value for value in operands if isinstance(value, Value)]
        first, result = equation.primitive, equation.results[0]
        if not live:
            folded = _folded(equation, [value for value in operands if isinstance(value, Constant)])
            self.values |= {array.key: folded for array in equation.results}
            return
        if not result.floating and first not in ("dot_general", "gather"):
            # numbers of places and comparisons: what they are made of is what they are
            same = next((v for v in live if len(v.labels) == len(result.shape)), None)
            moved = self._same(equation, live[0]) if same is None else same
            self.values[result.key] = moved if moved is not None and first not in COMPARED else Constant()
            return
        made = self._moved(equation, live) or self._computed(equation, operands, live)
        if made is None:
            at = user_frame(equation.frames) or "the function"
            shapes = ", ".join(_shape(o) for o in equation.operands if isinstance(o, Array))
            raise TracingError(
                f"{at}: {first} of {shapes} is no statement",
                expected="products, sums, reductions, functions of each element or row, views",
                hint=f"give the function that it stands in: --function {_function(equation)}=3",
            )
        self.values[result.key] = made

    def _same(self, equation: Equation, value: Value) -> Value | None:
        return self._moved(equation, [value])

    def _moved(self, equation: Equation, live: Sequence[Value]) -> Value | None:
        """What lies where its operand does."""
        value, params, result = live[0], equation.params, equation.results[0]
        match equation.primitive:
            case "transpose":
                return replace(value, labels=tuple(value.labels[i] for i in params["permutation"]))
            case "broadcast_in_dim":
                labels: list[Label] = [None] * len(result.shape)
                operand = next(o for o in equation.operands if isinstance(o, Array))
                for i, place in enumerate(params["broadcast_dimensions"]):
                    labels[int(place)] = value.labels[i] if operand.shape[i] == result.shape[int(place)] else None
                return replace(value, labels=tuple(labels))
            case "squeeze":
                return replace(
                    value, labels=tuple(x for i, x in enumerate(value.labels) if i not in params["dimensions"])
                )
            case "expand_dims":
                kept = iter(value.labels)
                return replace(
                    value,
                    labels=tuple(None if i in params["dimensions"] else next(kept) for i in range(len(result.shape))),
                )
            case "reshape":
                return self._reshaped(equation, value)
            case name if name in SAME:
                return value
        return None

    def _reshaped(self, equation: Equation, value: Value) -> Value:
        """The same elements in other dimensions: what stays keeps its label, all else is told by its numbers."""
        operand, result = next(o for o in equation.operands if isinstance(o, Array)), equation.results[0]
        where, labels = str(user_frame(equation.frames) or "the function"), list[Label]()
        changed = False
        for before, after in _groups(operand.shape, result.shape):
            if len(before) == len(after) == 1 and operand.shape[before[0]] == result.shape[after[0]]:
                labels.append(value.labels[before[0]])
                continue
            own = [value.labels[i] for i in before if {*operand.shape[i]} != {1}]
            new = [i for i in after if {*result.shape[i]} != {1}]
            if len(own) == len(new) == 1 or None in own:
                labels += [own[0] if i in new and own else None for i in after]
                continue
            changed = True
            taken = {x for x in (*value.own, *labels) if x}
            for i in after:
                label = self.sizes.of(result.shape[i], where) if i in new else None
                if label is not None and (label in taken - {x for x in own if x} or label in labels):
                    label = self.sizes.another(self.sizes.root(label), taken)
                labels.append(label)
        if not changed:
            return replace(value, labels=tuple(labels))
        kind, _ = self.tensors[value.tensor]
        text = "{}" if self._laid(value) else "rearrange({})"  # what was transposed before is moved
        return self._say(text, (value,), replace(result, dtype=long_name(kind)), labels, equation.frames)

    def _laid(self, value: Value) -> bool:
        """Whether a tensor lies in the order of these labels: a product that nothing has used yet is made so."""
        kind, own = self.tensors[value.tensor]
        if list(own) == list(value.own):
            return True
        made = next((line for line in self.lines if line.result == value.tensor), None)
        spec = f" -> {kind}[{', '.join(own)}]"
        if made is None or " * " not in made.text or not made.text.endswith(spec):
            return False
        if any(value.tensor in line.uses for line in self.lines):
            return False
        made.text = made.text.removesuffix(spec) + f" -> {kind}[{', '.join(value.own)}]"
        self.tensors[value.tensor] = kind, value.own
        return True

    def _computed(
        self, equation: Equation, operands: Sequence[Value | Constant], live: Sequence[Value]
    ) -> Value | None:
        name, result, frames = equation.primitive, equation.results[0], equation.frames
        first = live[0]
        match name:
            case "dot_general":
                return self._product(equation, operands)
            case "gather":
                return self._looked_up(equation, operands)
            case "conv_general_dilated":
                return self._convolved(equation, operands)
            case "convert_element_type":
                if dtype(result.dtype).name == self.tensors[first.tensor][0]:
                    return first
                return self._say("convert({})", live[:1], result, first.labels, frames)
            case "select_n" | "where":
                one = next((v for v in reversed(operands) if isinstance(v, Value)), None)
                return one if one is None else self._say("shift({})", (one,), result, one.labels, frames, typed=False)
            case "integer_pow" | "pow":
                return self._power(equation, first)
            case "max" | "min":
                other = next((o for o in operands if isinstance(o, Constant)), None)
                infinite = other is not None and other.values is not None and abs(other.values[0]) == float("inf")
                if len(live) > 1:
                    return None
                return first if infinite else self._say("relu({})", live, result, first.labels, frames, typed=False)
            case "div":
                return self._divided(equation, operands, live)
            case _ if name in UNARY:
                return self._say(f"{UNARY[name]}({{}})", live[:1], result, first.labels, frames, typed=False)
            case _ if name in REDUCED:
                axes = {int(axis) for axis in equation.params["axes"]}
                over = [x for i, x in enumerate(first.labels) if i in axes and x is not None]
                labels = tuple(x for i, x in enumerate(first.labels) if i not in axes)
                if not over:
                    return replace(first, labels=labels)
                return self._say(f"{REDUCED[name]}({{}}, {', '.join(over)})", live, result, labels, frames, typed=False)
            case _ if name in SIGNS:
                return self._joined(equation, operands, live)
        return None

    def _power(self, equation: Equation, value: Value) -> Value:
        times = equation.params.get("y", 2)
        if times == 2 or not isinstance(times, int) or times < 1:
            return self._say("square({})", (value,), equation.results[0], value.labels, equation.frames, typed=False)
        factors = " * ".join("{}" for _ in range(times))
        return self._say(factors, (value,) * times, equation.results[0], value.labels, equation.frames)

    def _divided(self, equation: Equation, operands: Sequence[Value | Constant], live: Sequence[Value]) -> Value | None:
        left, right = operands
        result, frames = equation.results[0], equation.frames
        if isinstance(right, Constant):
            assert isinstance(left, Value)
            over = None if right.values is None else self.sizes.factor(right.values)
            below = over if over is None or re.fullmatch(r"[\w.]+|\w+\([^()]*\)", over) else f"({over})"
            return self._say(
                "scale({})" if over is None else f"{{}} / {below}", (left,), result, left.labels, frames, typed=False
            )
        if isinstance(left, Constant):
            return self._say("reciprocal({})", (right,), result, right.labels, frames, typed=False)
        right = self._aligned(left, right, frames)
        if {*right.own} == {*left.own}:
            return self._say("divide({}, {})", (left, right), result, left.labels, frames, typed=False)
        inverse = self._say(
            "reciprocal({})",
            (right,),
            replace(result, dtype=long_name(self.tensors[right.tensor][0])),
            right.labels,
            frames,
            typed=False,
        )
        labels = tuple(a or b for a, b in zip(left.labels, right.labels, strict=True))
        return self._say("{} * {}", (left, inverse), result, labels, frames)

    def _joined(self, equation: Equation, operands: Sequence[Value | Constant], live: Sequence[Value]) -> Value | None:
        """A sum, a difference or a product of two, or of one and a number."""
        left, right = operands
        result, frames, sign = equation.results[0], equation.frames, SIGNS[equation.primitive]
        if isinstance(left, Constant) or isinstance(right, Constant):
            value, number = live[0], next(o for o in operands if isinstance(o, Constant))
            factor = None if sign != "*" or number.values is None else self.sizes.factor(number.values)
            over = factor.removeprefix("1/") if factor is not None and factor.startswith("1/") else None
            text = (
                "shift({})"
                if sign != "*"
                else "scale({})"
                if factor is None
                else f"{{}} / {over}"
                if over
                else f"{{}} * ({factor})"
            )
            if factor is not None and re.fullmatch(r"[\d.]+", factor):
                text = f"{{}} * {factor}"
            return self._say(text, (value,), result, value.labels, frames, typed=False)
        right = self._aligned(left, right, frames)
        labels = tuple(a or b for a, b in zip(left.labels, right.labels, strict=True))
        return self._say(f"{{}} {sign} {{}}", (left, right), result, labels, frames)

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
        return self._say("{} * {}", (left, right), equation.results[0], kept, equation.frames)

    def _convolved(self, equation: Equation, operands: Sequence[Value | Constant]) -> Value | None:
        """A convolution with a place for each pixel: its windows stay on the chip."""
        image, filters = operands
        params, result = equation.params, equation.results[0]
        if not isinstance(image, Value) or not isinstance(filters, Value) or None in (*image.labels, *filters.labels):
            return None
        numbers, shapes = params["dimension_numbers"], [o.shape for o in equation.operands if isinstance(o, Array)]
        pixels = [shapes[0][i] for i in numbers.lhs_spec[2:]]
        places = [result.shape[i] for i in numbers.out_spec[2:]]
        plain = {
            *params["window_strides"],
            *params["lhs_dilation"],
            *params["rhs_dilation"],
            params["feature_group_count"],
            1,
        }
        if pixels != places or len(plain) > 1 or params["batch_group_count"] != 1:
            return None
        batch, channels, *spatial = (str(image.labels[i]) for i in numbers.lhs_spec)
        own, inner, *size = (str(filters.labels[i]) for i in numbers.rhs_spec)
        filters = self._renamed(filters, {} if inner == channels else {inner: channels}, equation.frames)
        labels: list[Label] = [None] * len(result.shape)
        for place, label in zip(numbers.out_spec, (batch, own, *spatial), strict=True):
            labels[int(place)] = label
        windows = replace(result, dtype=long_name(self.tensors[image.tensor][0]))
        made: list[Value] = []

        def body() -> None:
            seen = self._say("windows({})", (image,), windows, (batch, *spatial, *size, channels), equation.frames)
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


def _groups(before: Sequence[Numbers], after: Sequence[Numbers]) -> Iterable[tuple[list[int], list[int]]]:
    """Dimensions that hold the same elements before and after a reshape, as few together as it goes."""
    i = j = 0
    while i < len(before) or j < len(after):
        own, new = ([i] if i < len(before) else []), ([j] if j < len(after) else [])
        i, j = i + len(own), j + len(new)
        while _size(before, own) != _size(after, new):
            if j < len(after) and (i >= len(before) or _size(before, own)[0] > _size(after, new)[0]):
                new.append(j)
                j += 1
            elif i < len(before):
                own.append(i)
                i += 1
            else:
                break
        yield own, new


def _size(shape: Sequence[Numbers], places: Iterable[int]) -> Numbers:
    found = [1] * len(shape[0]) if shape else [1]
    for place in places:
        found = [a * b for a, b in zip(found, shape[place], strict=True)]
    return tuple(found)


def _folded(equation: Equation, operands: Sequence[Constant]) -> Constant:
    """What numbers come to, where that is a number."""
    values = [constant.values for constant in operands]
    forms: dict[str, Callable[..., float]] = {
        "sqrt": lambda x: x**0.5, "rsqrt": lambda x: x**-0.5, "convert_element_type": lambda x: x, "neg": lambda x: -x,
        "mul": lambda x, y: x * y, "div": lambda x, y: x / y, "add": lambda x, y: x + y, "sub": lambda x, y: x - y,
        "pow": lambda x, y: x**y, "integer_pow": lambda x: x ** equation.params["y"], "broadcast_in_dim": lambda x: x,
    }  # fmt: skip
    form = forms.get(equation.primitive)
    if form is None or not values or any(value is None for value in values):
        return Constant()
    try:
        return Constant(tuple(form(*each) for each in zip(*(v for v in values if v is not None), strict=True)))
    except (ArithmeticError, TypeError):
        return Constant()


def _shape(array: Array) -> str:
    return f"{array.dtype}[{', '.join(str(numbers[0]) for numbers in array.shape)}]"


def _function(equation: Equation) -> str:
    frame = user_frame(equation.frames)
    return "f" if frame is None else f"{frame.file.rsplit('/', 1)[-1]}:{frame.function}"
