"""Equations of a trace that work on each element, or on rows, as statements. What lies where its operand does is a value of the same
tensor. Numbers of places are not counted: what they are made of is what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from symroof.formula import Formula, Quotient, number
from symroof.model.program_tree import MAXIMUM, PRODUCT, SUM
from symroof.model.tensor_types import dtype
from symroof.tracing.dimensions import Axis, Value
from symroof.tracing.primitives import Constant, Equation, TracingError, refusal
from symroof.tracing.products import Products

# Functions of the table that a primitive of one operand is.
UNARY: Mapping[str, str] = {
    "logistic": "sigmoid", "tanh": "tanh", "exp": "exp", "log": "log", "rsqrt": "rsqrt", "sqrt": "sqrt", "square": "square",
    "neg": "scale", "abs": "scale", "sign": "scale", "log1p": "log", "expm1": "exp",
}  # fmt: skip
# The same elements: nothing is done.
SAME = ("stop_gradient", "copy", "copy_p", "optimization_barrier", "reduce_precision", "name")
# A power is written as so many factors at most.
LONGEST_POWER = 8
COMPARED = ("gt", "lt", "ge", "le", "eq", "ne")
SIGNS = {"add": "+", "add_any": "+", "sub": "-", "mul": "*"}
REDUCED = {"reduce_sum": SUM, "reduce_max": MAXIMUM, "reduce_min": MAXIMUM}
POWERS = {2.0: "square", -1.0: "reciprocal", 0.5: "sqrt", -0.5: "rsqrt"}
Operands = Sequence[Value | Constant]


class Functions(Products):
    def equation(self, equation: Equation) -> None:
        """An equation, as statements or as values of tensors that there are."""
        operands, self.back = [self.read(operand) for operand in equation.operands], equation.back
        live = [value for value in operands if isinstance(value, Value)]
        result = equation.results[0]
        if not live:
            self.values |= {array.key: Constant() for array in equation.results}
        elif equation.primitive == "split":
            self.splits(equation, live[0])
        elif equation.primitive == "sharding_constraint":
            self.values[result.key] = self.constrained(equation, live[0])
        elif not result.floating and equation.primitive not in ("dot_general", "gather", "slice"):
            self.values[result.key] = self._places(equation, operands, live)
        else:
            made = self.moved(equation, live[0]) or self.computed(equation, operands, live)
            if made is None:
                frame = next((frame for frame in equation.frames if frame.own), None)
                said = "f" if frame is None else f"{frame.file.rsplit('/', 1)[-1]}:{frame.function}"
                raise TracingError(
                    f"{equation.where}: {equation.primitive} of {', '.join(map(str, equation.arrays))} is no statement",
                    expected="products, sums, reductions, functions of each element or row, views",
                    hint=f"say what the function that it stands in is: --function {said}=NAME, one of the table",
                )
            self.values[result.key] = made

    def _places(self, equation: Equation, operands: Operands, live: Sequence[Value]) -> Value | Constant:
        """Numbers of places are what they are made of; to compare two tensors is to subtract one."""
        if equation.primitive in COMPARED and len({v.tensor for v in live}) == 2:
            return self.joined(equation, live[0], live[1], "-", self.element(live[0]).name)
        same = (v for v in live if len(v.axes) == len(equation.results[0].shape))
        return self.moved(equation, live[0]) or next(same, Constant())

    def moved(self, equation: Equation, value: Value) -> Value | None:
        """What lies where its operand does."""
        params, axes, shape = equation.params, value.axes, equation.results[0].shape
        match equation.primitive:
            case "transpose":
                return replace(value, axes=tuple(axes[i] for i in params["permutation"]))
            case "broadcast_in_dim":
                wide: list[Axis] = [() if size == 1 else (size,) for size in shape]
                for axis, place in zip(axes, params["broadcast_dimensions"], strict=True):
                    wide[int(place)] = axis or wide[int(place)]
                return replace(value, axes=tuple(wide))
            case "reshape" | "squeeze":
                before = next(array.shape for array in equation.arrays)
                return self.reshaped(value, before, shape, equation.frames)
            case name if name in SAME:
                return value
        return None

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
