"""Equations of a trace as statements: products, parts of arrays and what is made of parts, and functions of elements or rows.

What lies where its operand does is a value of the same tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sympy import Expr, Integer

from symroof.algebra.rational import sign_of
from symroof.formula import Formula, Quotient, number
from symroof.model.functions import APPEND, CONCAT, FUNCTIONS, SLICE
from symroof.model.program_tree import MAXIMUM, PRODUCT, SUM, Fuse, Mask
from symroof.model.tensor_types import dtype
from symroof.tracing.dimensions import Axis, Tensors, Value, solid
from symroof.tracing.size_names import Sizes
from symroof.tracing.traces import Constant, Equation, TracingError, refusal

# Functions of the table that a primitive of one operand is.
UNARY: Mapping[str, str] = {
    "logistic": "sigmoid", "tanh": "tanh", "exp": "exp", "log": "log", "rsqrt": "rsqrt", "sqrt": "sqrt", "square": "square",
    "neg": "scale", "abs": "scale", "sign": "scale", "log1p": "log", "expm1": "exp",
}  # fmt: skip
# A power is written as so many factors at most.
LONGEST_POWER = 8
COMPARED = ("gt", "lt", "ge", "le", "eq", "ne")
SIGNS = {"add": "+", "add_any": "+", "sub": "-", "mul": "*"}
REDUCED = {"reduce_sum": SUM, "reduce_max": MAXIMUM, "reduce_min": MAXIMUM}
POWERS = {2.0: "square", -1.0: "reciprocal", 0.5: "sqrt", -0.5: "rsqrt"}
Operands = Sequence[Value | Constant]


class Statements(Tensors):
    """Statements that equations of a trace become."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.cuts: dict[tuple[str, str], list[tuple[Expr, Expr, str]]] = {}  # the parts of tensors along a dimension

    # Products.

    def dot_general(self, equation: Equation, left: Value, right: Value) -> Value:
        (lc, rc), (lb, rb) = equation.params["dimension_numbers"]
        pairs, frames = list(zip((*lc, *lb), (*rc, *rb), strict=True)), equation.frames
        for i, j in pairs:
            left, right = self.met(left, i, right, j, frames)
        ahead, behind = dict[str, str](), dict[str, str]()  # the new names of the left, and of the right
        for a, b in ((x, y) for i, j in pairs for x, y in zip(left.axes[i], right.axes[j], strict=True)):
            if not isinstance(a, str) or not isinstance(b, str) or a == b:
                continue
            if a in right.labels and b not in left.labels:  # the left has the second name
                ahead[a] = b
            else:
                behind[b] = a
        few = len(left.labels) < len(right.labels)  # keys get the second name, not the queries of several heads
        alone = [part for j, axis in enumerate(right.axes) if j not in (*rc, *rb) for part in axis]
        for label in (part for part in alone if isinstance(part, str)):
            if label in {*(ahead.get(x, x) for x in left.labels), *behind.values()}:
                taken = (*left.labels, *right.labels, *ahead.values(), *behind.values())
                inside = ahead if few and label not in ahead else behind
                inside[label] = self.sizes.second(label, taken)
        left, right = self.renamed(left, ahead, frames), self.renamed(right, behind, frames)
        batch = [
            tuple(x if isinstance(x, str) else y for x, y in zip(left.axes[i], right.axes[j], strict=True))
            for i, j in zip(lb, rb, strict=True)
        ]
        axes: list[Axis] = [*batch]
        axes += [axis for i, axis in enumerate(left.axes) if i not in (*lc, *lb)]
        axes += [axis for j, axis in enumerate(right.axes) if j not in (*rc, *rb)]
        lost = (
            part for i, j in pairs[: len(lc)] for both in zip(left.axes[i], right.axes[j], strict=True) for part in both
        )
        if any(not isinstance(part, str) for part in lost):
            raise refusal(equation.where, "what is repeated is multiplied and added up", "a sum of the other operand")
        laid = [axes[i] for i in equation.params.get("laid", range(len(axes)))]
        labels = [part for axis in laid for part in axis if isinstance(part, str)]
        mask = None
        if equation.params.get("causal"):  # row t meets the first t, as is_causal says it
            rows, columns = (str(axis[0]) for axis in axes[-2:])
            mask = Mask(rows, columns, from_first=True)
        made = self.made(PRODUCT, [left, right], equation.results[0].dtype, labels, frames, mask=mask)
        return Value(made, tuple(axes))

    def conv_general_dilated(self, equation: Equation, image: Value, filters: Value) -> Value:
        """A convolution with a place for every pixel, every few pixels, or where no window reaches over the border: its
        windows stay on the chip. Of groups each has channels of its own."""
        params, frames, where = equation.params, equation.frames, equation.where
        numbers, strides = params["dimension_numbers"], params["window_strides"]
        if {*params["lhs_dilation"], *params["rhs_dilation"], params["batch_group_count"]} != {1}:
            raise refusal(where, "a dilated convolution is no statement", "windows without holes")
        image, filters = self.flat(image, None, frames), self.flat(filters, None, frames)
        first, second = equation.arrays[:2]
        pixels = [first.shape[i] for i in numbers.lhs_spec[2:]]
        places = [equation.results[0].shape[i] for i in numbers.out_spec[2:]]
        for whole, there, step in zip(pixels, places, strides, strict=True):
            if step > 1 and ((whole - step * there).expand() != 0 or there.as_numer_denom()[1] != 1):
                raise refusal(
                    where,
                    f"a convolution takes every {step}th place of {whole}, which is no multiple",
                    f"multiples in the shapes, as in x=bf16[N, {step}*P, {step}*Q, C]",
                )
        batch, channels, *spatial = (image.axes[i] for i in numbers.lhs_spec)
        own, inner, *taps = (filters.axes[i] for i in numbers.rhs_spec)
        group: Axis = ()
        each = second.shape[numbers.rhs_spec[1]]
        groups = first.shape[numbers.lhs_spec[1]] / each
        if groups != 1:  # the channels of a group are a dimension of their own, in the image and among the filters
            image = self.split(image, numbers.lhs_spec[1], [groups, each], frames)
            shift = [i + (i > numbers.lhs_spec[1]) for i in numbers.lhs_spec]
            batch, group, *spatial = (image.axes[i] for i in shift)
            channels = image.axes[numbers.lhs_spec[1] + 1]
            place = numbers.rhs_spec[0]
            filters = self.split(filters, place, [groups, second.shape[place] / groups], frames)
            both = zip(filters.axes[place], group, strict=True)
            filters = self.renamed(filters, {str(a): str(b) for a, b in both}, frames)
            inner, *taps = (filters.axes[i + (i > place)] for i in numbers.rhs_spec[1:])
            own = filters.axes[place + 1]
        names = {str(a): str(b) for a, b in zip(inner, channels, strict=False) if a != b}
        if {*own} & {*batch, *channels, *(x for axis in spatial for x in axis)}:
            names[str(own[0])] = self.sizes.second(str(own[0]), (*image.labels, *filters.labels))
        filters = self.renamed(filters, names, frames)
        own = tuple(names.get(str(part), part) for part in own)
        starts: list[Axis] = []
        for axis, whole, there in zip(spatial, pixels, places, strict=True):
            taken = (*image.labels, *filters.labels, *(str(x) for start in starts for x in start))
            starts.append(axis if whole == there else (self.sizes.label(there, taken),) if there != 1 else ())
        joined: list[Axis] = [(*group, *own) if group else own, batch, *starts]
        specs = (numbers.out_spec[1], numbers.out_spec[0], *numbers.out_spec[2:])
        axes = [axis for _, axis in sorted(zip(specs, joined, strict=True), key=lambda pair: int(pair[0]))]
        result = equation.results[0].dtype
        labels = [str(part) for axis in axes for part in axis]

        if not any(taps) and starts == spatial:  # 1 by 1: a product
            return Value(self.made(PRODUCT, [image, filters], result, labels, frames), tuple(axes))
        made: list[str] = []

        def fill() -> None:
            seen = [str(x) for axis in (batch, group, *starts, *taps, channels) for x in axis]
            windows = self.made("function", [image], self.element(image), seen, frames, function=FUNCTIONS["windows"])
            made.append(self.made(PRODUCT, [Value(windows, ()), filters], result, labels, frames))

        self.braced(Fuse, fill)
        return Value(made[0], tuple(axes))

    def gather(self, equation: Equation, table: Value, places: Value) -> Value | None:
        """Rows of a table that whole numbers name."""
        numbers, first = equation.params["dimension_numbers"], equation.arrays[0]
        rows = tuple(numbers.collapsed_slice_dims) == (0,) == tuple(numbers.start_index_map)
        lengths = tuple(map(self.sizes.size, equation.params["slice_sizes"][1:]))
        places = replace(places, axes=places.axes[:-1])
        return self.looked_up(equation, table, places) if rows and lengths == first.shape[1:] else None

    def looked_up(self, equation: Equation, table: Value, places: Value) -> Value:
        table = self.flat(table, None, equation.frames)
        axes = (*places.axes, *table.axes[1:])
        labels = [str(part) for axis in axes for part in axis]
        more = {"function": FUNCTIONS["lookup"]}
        kind = equation.results[0].dtype
        return Value(self.made("function", [table, places], kind, labels, equation.frames, **more), axes)

    # Parts.

    def part(self, equation: Equation, value: Value, axis: int, size: Expr, start: Expr | None) -> Value:
        """So many places along one dimension. What was cut before is what it was; other parts have other places."""
        value, where = self.flat(value, [axis], equation.frames), equation.where
        if not solid(value.axes[axis]):
            repeated: Axis = () if size == 1 or not value.axes[axis] else (size,)
            return replace(value, axes=_with(value.axes, axis, repeated))
        label = str(value.axes[axis][0])
        known = self.cuts.setdefault((value.tensor, label), [])
        for at, length, tensor in known:
            if start is not None and (at, length) == (start, size):
                same = self.types[tensor].labels
                own = next((x for x in same if x not in value.labels), None)
                return Value(tensor, _with(value.axes, axis, () if own is None else (own,)))
            if start is None or at is None or not (self._behind(at, length, start) or self._behind(start, size, at)):
                raise refusal(where, "two slices share places", "slices of different places of an array")
        own = "1" if size == 1 else self.sizes.label(size, value.labels)
        dims = (own if x == label else x for x in self.types[value.tensor].labels)
        tensor = self.made("function", [value], self.element(value), dims, equation.frames, function=SLICE)
        known.append((start, size, tensor))
        return Value(tensor, _with(value.axes, axis, () if own == "1" else (own,)))

    def _behind(self, start: Expr, length: Expr, other: Expr) -> bool:
        """Whether places end where others start, or before it."""
        gap = self.sizes.resolved(other - start - length)
        return bool(gap == 0) or sign_of(gap, frozenset(gap.free_symbols), weak=True) in (0, 1)

    def slice(self, equation: Equation, value: Value, starts: Sequence[Expr] | None = None) -> Value:
        params, whole = equation.params, equation.arrays[0].shape
        starts = params.get("starts", starts)
        lengths = params.get("lengths", equation.results[0].shape)
        if {*(params.get("strides") or ())} - {1}:
            raise refusal(equation.where, "a slice with steps is no statement", "places one after the other")
        for i, (size, length) in enumerate(zip(whole, lengths, strict=True)):
            if size != length:
                value = self.part(equation, value, i, length, None if starts is None else starts[i])
        return replace(value, axes=tuple(a for i, a in enumerate(value.axes) if i not in params.get("dropped", ())))

    def splits(self, equation: Equation, value: Value) -> None:
        """Parts one after the other along one dimension."""
        axis, start = int(equation.params["axis"]), Integer(0)
        for result in equation.results:
            self.values[result.key] = self.part(equation, value, axis, result.shape[axis], start)
            start += result.shape[axis]

    def concatenate(self, equation: Equation, operands: Sequence[Value | Constant]) -> Value:
        """Arrays behind one another."""
        where, result, frames = equation.where, equation.results[0], equation.frames
        axis, parts = int(equation.params.get("dimension", equation.params.get("axis", 0))), list[Value]()
        for operand in operands:
            if isinstance(operand, Constant):
                raise refusal(where, "numbers are joined to an array", "arrays that are arguments, or made of them")
            axes = (*operand.axes[:axis], (), *operand.axes[axis:]) if equation.primitive == "stack" else operand.axes
            parts.append(self.flat(replace(operand, axes=axes), None, frames))
        first = parts[0]
        for i, other in enumerate(parts[1:], 1):
            pairs = enumerate(zip(first.axes, other.axes, strict=True))
            names = {str(b[0]): str(a[0]) for k, (a, b) in pairs if k != axis and a and b and a != b}
            parts[i] = self.renamed(other, names, frames)
        whole = self.sizes.label(result.shape[axis], [x for part in parts for x in part.labels])
        axes = _with(first.axes, axis, (whole,))
        labels = [str(part) for one in axes for part in one]
        function = replace(CONCAT, operands=len(parts))
        return Value(self.made("function", parts, result.dtype, labels, frames, function=function), axes)

    def dynamic_update_slice(self, equation: Equation, cache: Value, new: Value) -> Value:
        """Entries that are written into an argument, along the one dimension in which they are fewer."""
        shapes = (array.shape for array in equation.arrays[:2])
        shorter = [i for i, (a, b) in enumerate(zip(*shapes, strict=True)) if a != b]
        if cache.tensor not in self.outside:
            raise refusal(equation.where, "what is written to is no argument", "a cache that is an argument")
        if len(shorter) != 1 or not all(map(solid, cache.axes)):
            raise refusal(equation.where, "entries are written along several dimensions", "along one")
        new = self.flat(new, None, equation.frames)
        pairs = enumerate(zip(cache.axes, new.axes, strict=True))
        names = {str(b[0]): str(a[0]) for i, (a, b) in pairs if i != shorter[0] and b and a != b}
        new = self.renamed(new, names, equation.frames)
        labels = self.types[cache.tensor].labels
        made = self.made("function", [cache, new], self.element(cache), labels, equation.frames, function=APPEND)
        return replace(cache, tensor=made)

    # Functions of elements and rows.

    def computed(self, equation: Equation, operands: Operands, live: Sequence[Value]) -> Value | None:
        name, frames, first = equation.primitive, equation.frames, live[0]
        kind = dtype(equation.results[0].dtype)
        both = all(isinstance(operand, Value) for operand in operands[:2])
        match name:
            case "gather" if len(live) < 2:
                expected = "places one after the other"
                raise TracingError(f"{equation.where}: a slice with steps is no statement", expected=expected)
            case "dot_general" | "conv_general_dilated" | "gather" | "dynamic_update_slice":
                made: Value | None = getattr(self, name)(equation, *live[:2]) if both and len(live) > 1 else None
                return made
            case "slice" | "dynamic_slice":
                return self.slice(equation, first)
            case "concatenate" | "stack":
                return self.concatenate(equation, operands)
            case "function":
                return self.called(equation, live)
            case "convert_element_type":
                return first if kind == self.element(first) else self.applied("convert", live[:1], kind, frames)
            case "select_n":
                return self._selected(equation, operands, live)
            case "integer_pow" | "pow":
                return self._power(equation, operands)
            case "max" | "min":
                other = next((o for o in operands if isinstance(o, Constant)), None)
                infinite = other is not None and isinstance(other.value, float) and abs(other.value) == float("inf")
                if len(live) > 1:
                    return None
                return first if infinite else self.applied("relu", live, kind, frames)
            case "div":
                return self._divided(equation, operands)
            case _ if name in UNARY:
                return self.applied(UNARY[name], live[:1], kind, frames)
            case _ if name in REDUCED:
                return self._reduced(equation, first)
            case _ if name in SIGNS:
                left, right = operands
                if isinstance(left, Constant) or isinstance(right, Constant):
                    constant = next(o for o in operands if isinstance(o, Constant))
                    return self._with_number(equation, first, constant)
                return self.joined(equation, left, right, SIGNS[name])
        return None

    def called(self, equation: Equation, live: Sequence[Value]) -> Value | None:
        """A function of the table, which the trace names."""
        name, first = equation.params["name"], live[0]
        if name == "lookup":
            return self.looked_up(equation, *live[:2]) if len(live) > 1 else None
        over = equation.params.get("over")
        if over is not None:
            first = self.flat(first, [over], equation.frames)
        label = None if over is None else str(*first.axes[over])
        return self.applied(name, [first, *live[1:]], equation.results[0].dtype, equation.frames, label)

    def _reduced(self, equation: Equation, value: Value) -> Value:
        axes = {int(axis) for axis in equation.params["axes"]}
        over = [part for i in axes for part in value.axes[i]]
        if any(not isinstance(part, str) for part in over):
            raise refusal(
                equation.where, "what is repeated goes into another size, and is added up", "a product with the number"
            )
        value = replace(value, axes=tuple(axis for i, axis in enumerate(value.axes) if i not in axes))
        if not over:
            return value
        labels = (x for x in self.types[value.tensor].labels if x not in over)
        kind = REDUCED[equation.primitive]
        return replace(value, tensor=self.made(kind, [value], equation.results[0].dtype, labels, equation.frames))

    def _selected(self, equation: Equation, operands: Operands, live: Sequence[Value]) -> Value | None:
        """One of several for each element: an operation for each, as a sum has; what is told apart by a single number is one of
        them."""
        chosen, *others = operands
        ways = list({v.tensor: v for v in others if isinstance(v, Value)}.values())
        if isinstance(chosen, Constant) and chosen.single and len(ways) == 1:
            return ways[0]
        each = list({v.tensor: v for v in (*ways, *live)}.values())
        if len(each) == 1:
            return self.applied("shift", each, equation.results[0].dtype, equation.frames)
        found = each[0]
        for other in each[1:]:
            sign = SUM if self.element(found) == self.element(other) else PRODUCT
            found = self.joined(equation, found, other, sign)
        return found

    def _power(self, equation: Equation, operands: Operands) -> Value | None:
        """A power of a tensor: a square, a root, what is under 1, or products; a number to the power of a tensor is an
        exponential."""
        value, kind, frames = operands[0], equation.results[0].dtype, equation.frames
        if not isinstance(value, Value):
            other = operands[1]
            return None if isinstance(other, Constant) else self.applied("exp", [other], kind, frames)
        exponent = equation.params.get("y")
        if exponent is None and isinstance(operands[1], Constant):
            exponent = operands[1].value
        exponent = float(exponent) if isinstance(exponent, int | float) else None
        if exponent in POWERS:
            return self.applied(POWERS[exponent], [value], kind, frames)
        if exponent is None or exponent != int(exponent) or not 1 <= exponent <= LONGEST_POWER:
            return self.applied("exp", [value], kind, frames)
        if exponent == 1:
            return value
        labels = self.types[value.tensor].labels
        return replace(value, tensor=self.made(PRODUCT, [value] * int(exponent), kind, labels, frames))

    def _divided(self, equation: Equation, operands: Operands) -> Value | None:
        left, right = operands
        kind, frames = equation.results[0].dtype, equation.frames
        if isinstance(right, Constant):
            assert isinstance(left, Value)
            below = self.sizes.factor(right.value)
            over = None if below is None else Quotient(number(1), below)
            return self._scaled(equation, left, over)
        if isinstance(left, Constant):
            return self.applied("reciprocal", [right], kind, frames)
        left, right, axes = self.aligned(left, right, frames)
        if {*right.labels} == {*left.labels}:
            return replace(self.applied("divide", [left, right], kind, frames), axes=axes)
        inverse = self.applied("reciprocal", [right], None, frames)
        return self.joined(equation, left, inverse, PRODUCT)

    def _scaled(self, equation: Equation, value: Value, factor: Formula | None) -> Value:
        return self.applied("scale", [value], equation.results[0].dtype, equation.frames, factor=factor)

    def _with_number(self, equation: Equation, value: Value, constant: Constant) -> Value:
        """A sum, or a product, with a number."""
        if equation.primitive != "mul":
            same = constant.value == 0 and len(value.axes) == len(equation.results[0].shape)
            return value if same else self.applied("shift", [value], equation.results[0].dtype, equation.frames)
        if constant.value == 1 and len(value.axes) == len(equation.results[0].shape):
            return value
        return self._scaled(equation, value, self.sizes.factor(constant.value))

    def joined(self, equation: Equation, left: Value, right: Value, sign: str, kind: str = "") -> Value:
        """A sum, a difference or a product of two."""
        left, right, axes = self.aligned(left, right, equation.frames)
        labels = [part for axis in axes for part in axis if isinstance(part, str)]
        made = self.made(sign, [left, right], kind or equation.results[0].dtype, labels, equation.frames)
        return Value(made, axes)


def _with(axes: Sequence[Axis], place: int, axis: Axis) -> tuple[Axis, ...]:
    return (*axes[:place], axis, *axes[place + 1 :])
