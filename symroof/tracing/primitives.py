"""Equations of a trace as statements: products, parts of arrays and what is made of parts, and functions of elements or rows.

What lies where its operand does is a value of the same tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from sympy import Expr, Integer

from symroof.formula import Formula, Quotient, number
from symroof.model.functions import APPEND, CONCAT, FUNCTIONS, SLICE
from symroof.model.program_tree import MAXIMUM, PRODUCT, SUM, Fuse, Mask
from symroof.model.tensor_types import dtype
from symroof.tracing.size_names import Sizes
from symroof.tracing.traced_values import Axis, Tensors, Value, is_unshared, with_axis
from symroof.tracing.traces import Constant, Equation, Frame, TracingError, refusal

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
            left, right = self.meet(left, i, right, j, frames)
        left, right = self._distinguish(left, right, pairs, frames)
        joint = [list(zip(left.axes[i], right.axes[j], strict=True)) for i, j in pairs]
        if not all(isinstance(part, str) for axis in joint[: len(lc)] for both in axis for part in both):
            raise refusal(equation.where, "what is repeated is multiplied and added up", "a sum of the other operand")
        axes: list[Axis] = [tuple(x if isinstance(x, str) else y for x, y in axis) for axis in joint[len(lc) :]]
        axes += [axis for i, axis in enumerate(left.axes) if i not in (*lc, *lb)]
        axes += [axis for j, axis in enumerate(right.axes) if j not in (*rc, *rb)]
        order = [axes[i] for i in equation.params.get("laid", range(len(axes)))]
        labels = [part for axis in order for part in axis if isinstance(part, str)]
        mask = None
        if equation.params.get("causal"):  # row t meets the first t, as is_causal says it
            rows, columns = (str(axis[0]) for axis in axes[-2:])
            mask = Mask(rows, columns, from_first=True)
        result = self.add(PRODUCT, [left, right], equation.results[0].dtype, labels, frames, mask=mask)
        return Value(result, tuple(axes))

    def _distinguish(
        self, left: Value, right: Value, pairs: Sequence[tuple[int, int]], frames: Sequence[Frame]
    ) -> tuple[Value, Value]:
        """The operands of a product with one name for the sizes of dimensions that are paired, and names of their own for
        all others."""
        ahead, behind = dict[str, str](), dict[str, str]()  # the new names of the left, and of the right
        for a, b in ((x, y) for i, j in pairs for x, y in zip(left.axes[i], right.axes[j], strict=True)):
            if not isinstance(a, str) or not isinstance(b, str) or a == b:
                continue
            if a in right.labels and b not in left.labels:  # the left has the second name
                ahead[a] = b
            else:
                behind[b] = a
        few = len(left.labels) < len(right.labels)  # keys get the second name, not the queries of several heads
        paired = {j for _, j in pairs}
        alone = [part for j, axis in enumerate(right.axes) if j not in paired for part in axis]
        for label in (part for part in alone if isinstance(part, str)):
            if label in {*(ahead.get(x, x) for x in left.labels), *behind.values()}:
                taken = (*left.labels, *right.labels, *ahead.values(), *behind.values())
                inside = ahead if few and label not in ahead else behind
                inside[label] = self.sizes.second(label, taken)
        return self.rename(left, ahead, frames), self.rename(right, behind, frames)

    def conv_general_dilated(self, equation: Equation, image: Value, filters: Value) -> Value:
        """A convolution with a place for every pixel, every few pixels, or where no window reaches over the border: its
        windows stay on the chip. Of groups each has channels of its own."""
        frames, numbers = equation.frames, equation.params["dimension_numbers"]
        pixels, places = _places_of(equation)
        image, filters = self.flat(image, None, frames), self.flat(filters, None, frames)
        first, second = equation.arrays[:2]
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
            filters = self.rename(filters, {str(a): str(b) for a, b in both}, frames)
            inner, *taps = (filters.axes[i + (i > place)] for i in numbers.rhs_spec[1:])
            own = filters.axes[place + 1]
        names = {str(a): str(b) for a, b in zip(inner, channels, strict=False) if a != b}
        if {*own} & {*batch, *channels, *chain(*spatial)}:
            names[str(own[0])] = self.sizes.second(str(own[0]), (*image.labels, *filters.labels))
        filters = self.rename(filters, names, frames)
        own = tuple(names.get(str(part), part) for part in own)
        starts: list[Axis] = []
        for axis, pixel, place in zip(spatial, pixels, places, strict=True):
            taken = (*image.labels, *filters.labels, *map(str, chain(*starts)))
            starts.append(axis if pixel == place else (self.sizes.label(place, taken),) if place != 1 else ())
        joint: list[Axis] = [(*group, *own) if group else own, batch, *starts]
        specs = (numbers.out_spec[1], numbers.out_spec[0], *numbers.out_spec[2:])
        axes = [axis for _, axis in sorted(zip(specs, joint, strict=True), key=lambda pair: int(pair[0]))]
        element, labels = equation.results[0].dtype, list(map(str, chain(*axes)))

        if not any(taps) and starts == spatial:  # 1 by 1: a product
            return Value(self.add(PRODUCT, [image, filters], element, labels, frames), tuple(axes))
        results: list[str] = []

        def fill() -> None:
            seen = list(map(str, chain(batch, group, *starts, *taps, channels)))
            windows = self.add("function", [image], self.element(image), seen, frames, function=FUNCTIONS["windows"])
            results.append(self.add(PRODUCT, [Value(windows, ()), filters], element, labels, frames))

        self.nest(Fuse, fill)
        return Value(results[0], tuple(axes))

    def gather(self, equation: Equation, table: Value, places: Value) -> Value | None:
        """Rows of a table that whole numbers name."""
        numbers, first = equation.params["dimension_numbers"], equation.arrays[0]
        rows = tuple(numbers.collapsed_slice_dims) == (0,) == tuple(numbers.start_index_map)
        lengths = tuple(map(self.sizes.size, equation.params["slice_sizes"][1:]))
        places = replace(places, axes=places.axes[:-1])
        return self.lookup(equation, table, places) if rows and lengths == first.shape[1:] else None

    def lookup(self, equation: Equation, table: Value, places: Value) -> Value:
        table = self.flat(table, None, equation.frames)
        axes = (*places.axes, *table.axes[1:])
        labels = list(map(str, chain(*axes)))
        more = {"function": FUNCTIONS["lookup"]}
        kind = equation.results[0].dtype
        return Value(self.add("function", [table, places], kind, labels, equation.frames, **more), axes)

    # Parts.

    def part(self, equation: Equation, value: Value, axis: int, size: Expr, start: Expr | None) -> Value:
        """So many places along one dimension. What was cut before is what it was; other parts have other places."""
        value, where = self.flat(value, [axis], equation.frames), equation.where
        if not is_unshared(value.axes[axis]):
            repeated: Axis = () if size == 1 or not value.axes[axis] else (size,)
            return replace(value, axes=with_axis(value.axes, axis, repeated))
        label = str(value.axes[axis][0])
        cuts = self.cuts.setdefault((value.tensor, label), [])
        for at, length, tensor in cuts:
            if start is not None and (at, length) == (start, size):
                same = self.types[tensor].labels
                own = next((x for x in same if x not in value.labels), None)
                return Value(tensor, with_axis(value.axes, axis, () if own is None else (own,)))
            if start is None or at is None or not self.sizes.are_apart((at, length), (start, size)):
                raise refusal(where, "two slices share places", "slices of different places of an array")
        own = "1" if size == 1 else self.sizes.label(size, value.labels)
        dims = (own if x == label else x for x in self.types[value.tensor].labels)
        tensor = self.add("function", [value], self.element(value), dims, equation.frames, function=SLICE)
        cuts.append((start, size, tensor))
        return Value(tensor, with_axis(value.axes, axis, () if own == "1" else (own,)))

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
            parts[i] = self.rename(other, names, frames)
        whole = self.sizes.label(result.shape[axis], [x for part in parts for x in part.labels])
        axes = with_axis(first.axes, axis, (whole,))
        labels = list(map(str, chain(*axes)))
        function = replace(CONCAT, operands=len(parts))
        return Value(self.add("function", parts, result.dtype, labels, frames, function=function), axes)

    def dynamic_update_slice(self, equation: Equation, cache: Value, new: Value) -> Value:
        """Entries that are written into an argument, along the one dimension in which they are fewer."""
        shapes = (array.shape for array in equation.arrays[:2])
        shorter = [i for i, (a, b) in enumerate(zip(*shapes, strict=True)) if a != b]
        if cache.tensor not in self.arguments:
            raise refusal(equation.where, "what is written to is no argument", "a cache that is an argument")
        if len(shorter) != 1 or not all(map(is_unshared, cache.axes)):
            raise refusal(equation.where, "entries are written along several dimensions", "along one")
        new = self.flat(new, None, equation.frames)
        pairs = enumerate(zip(cache.axes, new.axes, strict=True))
        names = {str(b[0]): str(a[0]) for i, (a, b) in pairs if i != shorter[0] and b and a != b}
        new = self.rename(new, names, equation.frames)
        labels = self.types[cache.tensor].labels
        result = self.add("function", [cache, new], self.element(cache), labels, equation.frames, function=APPEND)
        return replace(cache, tensor=result)

    # Functions of elements and rows.

    def of_two(self, equation: Equation, operands: Operands, live: Sequence[Value]) -> Value | None:
        """A primitive of two arrays, by its method."""
        if equation.primitive == "gather" and len(live) < 2:
            expected = "places one after the other"
            raise TracingError(f"{equation.where}: a slice with steps is no statement", expected=expected)
        if not all(isinstance(operand, Value) for operand in operands[:2]) or len(live) < 2:
            return None
        result: Value | None = getattr(self, equation.primitive)(equation, *live[:2])
        return result

    def convert(self, equation: Equation, value: Value) -> Value:
        kind = dtype(equation.results[0].dtype)
        return value if kind == self.element(value) else self.apply("convert", [value], kind, equation.frames)

    def clamp(self, equation: Equation, operands: Operands, live: Sequence[Value]) -> Value | None:
        """The larger or smaller of an array and a number."""
        bound = next((operand.value for operand in operands if isinstance(operand, Constant)), None)
        if len(live) > 1:
            return None
        infinite = isinstance(bound, float) and abs(bound) == float("inf")
        return live[0] if infinite else self.apply("relu", live, equation.results[0].dtype, equation.frames)

    def of_elements(self, equation: Equation, operands: Operands, live: Sequence[Value]) -> Value:
        """A sum, a difference or a product, of two arrays or with a number."""
        constant = next((operand for operand in operands if isinstance(operand, Constant)), None)
        if constant is None:
            return self.combine(equation, live[0], live[1], SIGNS[equation.primitive])
        return self._with_number(equation, live[0], constant)

    def call(self, equation: Equation, live: Sequence[Value]) -> Value | None:
        """A function of the table, which the trace names."""
        name, first = equation.params["name"], live[0]
        if name == "lookup":
            return self.lookup(equation, *live[:2]) if len(live) > 1 else None
        over = equation.params.get("over")
        if over is not None:
            first = self.flat(first, [over], equation.frames)
        label = None if over is None else str(*first.axes[over])
        return self.apply(name, [first, *live[1:]], equation.results[0].dtype, equation.frames, label)

    def reduce(self, equation: Equation, value: Value) -> Value:
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
        return replace(value, tensor=self.add(kind, [value], equation.results[0].dtype, labels, equation.frames))

    def select(self, equation: Equation, operands: Operands, live: Sequence[Value]) -> Value | None:
        """One of several for each element: an operation for each, as a sum has; what is told apart by a single number is one of
        them."""
        condition, *others = operands
        choices = list({v.tensor: v for v in others if isinstance(v, Value)}.values())
        if isinstance(condition, Constant) and condition.single and len(choices) == 1:
            return choices[0]
        each = list({v.tensor: v for v in (*choices, *live)}.values())
        if len(each) == 1:
            return self.apply("shift", each, equation.results[0].dtype, equation.frames)
        result = each[0]
        for other in each[1:]:
            sign = SUM if self.element(result) == self.element(other) else PRODUCT
            result = self.combine(equation, result, other, sign)
        return result

    def power(self, equation: Equation, operands: Operands) -> Value | None:
        """A power of a tensor: a square, a root, what is under 1, or products; a number to the power of a tensor is an
        exponential."""
        value, kind, frames = operands[0], equation.results[0].dtype, equation.frames
        if not isinstance(value, Value):
            other = operands[1]
            return None if isinstance(other, Constant) else self.apply("exp", [other], kind, frames)
        exponent = equation.params.get("y")
        if exponent is None and isinstance(operands[1], Constant):
            exponent = operands[1].value
        exponent = float(exponent) if isinstance(exponent, int | float) else None
        if exponent in POWERS:
            return self.apply(POWERS[exponent], [value], kind, frames)
        if exponent is None or exponent != int(exponent) or not 1 <= exponent <= LONGEST_POWER:
            return self.apply("exp", [value], kind, frames)
        if exponent == 1:
            return value
        labels = self.types[value.tensor].labels
        return replace(value, tensor=self.add(PRODUCT, [value] * int(exponent), kind, labels, frames))

    def unary(self, equation: Equation, value: Value) -> Value:
        return self.apply(UNARY[equation.primitive], [value], equation.results[0].dtype, equation.frames)

    def divide(self, equation: Equation, operands: Operands) -> Value | None:
        left, right = operands
        kind, frames = equation.results[0].dtype, equation.frames
        if isinstance(right, Constant):
            assert isinstance(left, Value)
            below = self.sizes.factor(right.value)
            over = None if below is None else Quotient(number(1), below)
            return self._scale(equation, left, over)
        if isinstance(left, Constant):
            return self.apply("reciprocal", [right], kind, frames)
        left, right, axes = self.align(left, right, frames)
        if {*right.labels} == {*left.labels}:
            return replace(self.apply("divide", [left, right], kind, frames), axes=axes)
        inverse = self.apply("reciprocal", [right], None, frames)
        return self.combine(equation, left, inverse, PRODUCT)

    def _scale(self, equation: Equation, value: Value, factor: Formula | None) -> Value:
        return self.apply("scale", [value], equation.results[0].dtype, equation.frames, factor=factor)

    def _with_number(self, equation: Equation, value: Value, constant: Constant) -> Value:
        """A sum, or a product, with a number."""
        if equation.primitive != "mul":
            same = constant.value == 0 and len(value.axes) == len(equation.results[0].shape)
            return value if same else self.apply("shift", [value], equation.results[0].dtype, equation.frames)
        if constant.value == 1 and len(value.axes) == len(equation.results[0].shape):
            return value
        return self._scale(equation, value, self.sizes.factor(constant.value))

    def combine(self, equation: Equation, left: Value, right: Value, sign: str, kind: str = "") -> Value:
        """A sum, a difference or a product of two."""
        left, right, axes = self.align(left, right, equation.frames)
        labels = [part for axis in axes for part in axis if isinstance(part, str)]
        result = self.add(sign, [left, right], kind or equation.results[0].dtype, labels, equation.frames)
        return Value(result, axes)


Rule = Callable[[Statements, Equation, Operands, Sequence[Value]], "Value | None"]
RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("dot_general", "conv_general_dilated", "gather", "dynamic_update_slice"), Statements.of_two),
    **dict.fromkeys(("slice", "dynamic_slice"), lambda to, equation, _, live: to.slice(equation, live[0])),
    **dict.fromkeys(("concatenate", "stack"), lambda to, equation, operands, _: to.concatenate(equation, operands)),
    "function": lambda to, equation, _, live: to.call(equation, live),
    "convert_element_type": lambda to, equation, _, live: to.convert(equation, live[0]),
    "select_n": Statements.select,
    **dict.fromkeys(("integer_pow", "pow"), lambda to, equation, operands, _: to.power(equation, operands)),
    **dict.fromkeys(("max", "min"), Statements.clamp),
    "div": lambda to, equation, operands, _: to.divide(equation, operands),
    **dict.fromkeys(UNARY, lambda to, equation, _, live: to.unary(equation, live[0])),
    **dict.fromkeys(REDUCED, lambda to, equation, _, live: to.reduce(equation, live[0])),
    **dict.fromkeys(SIGNS, Statements.of_elements),
}


def _places_of(equation: Equation) -> tuple[list[Expr], list[Expr]]:
    """The sizes of an image, and of what a convolution makes of it; its windows have no holes, and start at whole places."""
    params, numbers = equation.params, equation.params["dimension_numbers"]
    if {*params["lhs_dilation"], *params["rhs_dilation"], params["batch_group_count"]} != {1}:
        raise refusal(equation.where, "a dilated convolution is no statement", "windows without holes")
    pixels = [equation.arrays[0].shape[i] for i in numbers.lhs_spec[2:]]
    places = [equation.results[0].shape[i] for i in numbers.out_spec[2:]]
    for pixel, place, step in zip(pixels, places, params["window_strides"], strict=True):
        if step > 1 and ((pixel - step * place).expand() != 0 or place.as_numer_denom()[1] != 1):
            raise refusal(
                equation.where,
                f"a convolution takes every {step}th place of {pixel}, which is no multiple",
                f"multiples in the shapes, as in x=bf16[N, {step}*P, {step}*Q, C]",
            )
    return pixels, places
