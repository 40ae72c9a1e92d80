"""Equations of a trace as statements: products, sums, functions of each element or row; all else is a view, or no statement.

Numbers of indices are not counted: what they are made of is what they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from symroof.model.dtype import dtype
from symroof.tracing.jaxprs import user_frame
from symroof.tracing.product_writer import ProductWriter
from symroof.tracing.program_lines import Label, Value, long_name
from symroof.tracing.traced import Array, Constant, Equation, TracingError, grouped

# Functions of the table that a primitive of one operand is.
UNARY: Mapping[str, str] = {
    "logistic": "sigmoid", "tanh": "tanh", "exp": "exp", "log": "log", "rsqrt": "rsqrt", "sqrt": "sqrt", "square": "square",
    "neg": "scale", "abs": "scale", "sign": "scale", "log1p": "log", "expm1": "exp",
}  # fmt: skip
# The same elements: nothing is done.
SAME = ("stop_gradient", "copy", "copy_p", "optimization_barrier", "reduce_precision", "name", "sharding_constraint")
# A power is written as so many factors at most.
LONGEST_POWER = 8
COMPARED = ("gt", "lt", "ge", "le", "eq", "ne")
SIGNS = {"add": "+", "add_any": "+", "sub": "-", "mul": "*"}
REDUCED = {"reduce_sum": "sum", "reduce_max": "max", "reduce_min": "max"}


class EquationWriter(ProductWriter):
    def _equation(self, equation: Equation) -> None:
        operands, self.back = [self._read(operand) for operand in equation.operands], equation.back
        live = [value for value in operands if isinstance(value, Value)]
        first, result = equation.primitive, equation.results[0]
        if not live:
            folded = folded_constant(equation, [value for value in operands if isinstance(value, Constant)])
            self.values |= {array.key: folded for array in equation.results}
            return
        if result.floating and self._parts(equation, operands):
            return
        if not result.floating and first not in ("dot_general", "gather"):
            # numbers of places: what they are made of is what they are; to compare two tensors is to subtract one
            if first in COMPARED and len({v.tensor for v in live}) == 2:
                kind = next(o.dtype for o in equation.operands if isinstance(o, Array))
                left, right = self._aligned(live[0], live[1], equation.frames)
                labels = tuple(a or b for a, b in zip(left.labels, right.labels, strict=True))
                array = replace(result, dtype=kind)
                self.values[result.key] = self._say("{} - {}", (left, right), array, labels, equation.frames)
                return
            same = next((v for v in live if len(v.labels) == len(result.shape)), None)
            self.values[result.key] = same or self._moved(equation, live) or Constant()
            return
        made = self._moved(equation, live) or self._computed(equation, operands, live)
        if made is None:
            at = user_frame(equation.frames) or "the function"
            shapes = ", ".join(_shape(o) for o in equation.operands if isinstance(o, Array))
            raise TracingError(
                f"{at}: {first} of {shapes} is no statement",
                expected="products, sums, reductions, functions of each element or row, views",
                hint=f"say what the function that it stands in is: --function {_function(equation)}=NAME, one of the table",
            )
        self.values[result.key] = made

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
        for before, after in grouped(operand.shape, result.shape):
            stretched = [i for i in before if value.labels[i] is None and {*operand.shape[i]} != {1}]
            if stretched and len(before) + len(after) > 2:
                raise TracingError(
                    f"{where}: what is repeated goes into another size", expected="a dimension of its own"
                )
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
        array = replace(result, dtype=long_name(kind))
        if (order := self._in_place(operand, result, value, labels)) is not None:
            said = self._say("{}", (value,), replace(array, shape=()), order, equation.frames)
            return replace(said, labels=tuple(labels))
        text = "{}" if self._laid(value) else "rearrange({})"  # what was transposed before is moved
        return self._say(text, (value,), array, labels, equation.frames)

    def _in_place(self, operand: Array, result: Array, value: Value, labels: Sequence[Label]) -> list[str] | None:
        """The dimensions of a view in the order in which the tensor lies, where those that come apart, or together, lie beside one
        another; None where elements have to move."""
        own = list(self.tensors[value.tensor][1])
        if own == list(value.own):
            return [x for x in labels if x is not None]
        for before, after in grouped(operand.shape, result.shape):
            old, new = [x for i in before if (x := value.labels[i])], [x for i in after if (x := labels[i])]
            if old == new:
                continue
            place = own.index(old[0]) if old and old[0] in own else len(own)
            if not old or own[place : place + len(old)] != old:
                return None
            own[place : place + len(old)] = new
        return own

    def _laid(self, value: Value) -> bool:
        """Whether a tensor lies in the order of these labels: a product that nothing has used yet is made so."""
        kind, own = self.tensors[value.tensor]
        if list(own) == list(value.own):
            return True
        made = next((line for line in self.lines if line.result == value.tensor), None)
        if made is None or " * " not in made.text or any(value.tensor in line.uses for line in self.lines):
            return False
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
            case "function":
                return self._called(equation, live)
            case "conv_general_dilated":
                return self._convolved(equation, operands)
            case "convert_element_type":
                if dtype(result.dtype).name == self.tensors[first.tensor][0]:
                    return first
                return self._say("convert({})", live[:1], result, first.labels, frames)
            case "select_n" | "where":
                return self._selected(equation, operands, live)
            case "integer_pow" | "pow":
                return self._power(equation, operands)
            case "max" | "min":
                other = next((o for o in operands if isinstance(o, Constant)), None)
                infinite = other is not None and other.values is not None and abs(other.values[0]) == float("inf")
                if len(live) > 1:
                    return None
                return first if infinite else self._say("relu({})", live, result, first.labels, frames, typed=False)
            case "div":
                return self._divided(equation, operands)
            case _ if name in UNARY:
                return self._say(f"{UNARY[name]}({{}})", live[:1], result, first.labels, frames, typed=False)
            case _ if name in REDUCED:
                axes = {int(axis) for axis in equation.params["axes"]}
                operand = next(o for o in equation.operands if isinstance(o, Array))
                if any(first.labels[i] is None and {*operand.shape[i]} != {1} for i in axes):
                    return None
                over = [x for i, x in enumerate(first.labels) if i in axes and x is not None]
                labels = tuple(x for i, x in enumerate(first.labels) if i not in axes)
                if not over:
                    return replace(first, labels=labels)
                return self._say(f"{REDUCED[name]}({{}}, {', '.join(over)})", live, result, labels, frames, typed=False)
            case _ if name in SIGNS:
                return self._joined(equation, operands, live)
        return None

    def _selected(
        self, equation: Equation, operands: Sequence[Value | Constant], live: Sequence[Value]
    ) -> Value | None:
        """One of several for each element: an operation for each, as a sum has; what is told apart by a single number is one of them."""
        chosen, *others = operands
        ways = list({v.tensor: v for v in others if isinstance(v, Value)}.values())
        if isinstance(chosen, Constant) and chosen.single and len(ways) == 1:
            return ways[0]
        result, frames = equation.results[0], equation.frames
        each = list({v.tensor: v for v in (*ways, *live)}.values())
        if len(each) == 1:
            return self._say("shift({})", each, result, each[0].labels, frames, typed=False)
        found = each[0]
        for other in each[1:]:
            kinds = {self.tensors[v.tensor][0] for v in (found, other)}
            found, right = self._aligned(found, other, frames)
            sign = "+" if len(kinds) == 1 else "*"
            labels = [a or b for a, b in zip(found.labels, right.labels, strict=True)]
            found = self._say(f"{{}} {sign} {{}}", (found, right), result, labels, frames, typed=True)
        return found

    def _power(self, equation: Equation, operands: Sequence[Value | Constant]) -> Value | None:
        """A power of a tensor: a square, a root, what is under 1, or products; a number to the power of a tensor is an exponential."""
        value = operands[0]
        result, frames = equation.results[0], equation.frames
        if not isinstance(value, Value):
            other = operands[1]
            return (
                None
                if isinstance(other, Constant)
                else self._say("exp({})", (other,), result, other.labels, frames, typed=False)
            )
        times = equation.params.get("y")
        if times is None and isinstance(operands[1], Constant) and operands[1].values is not None:
            times = operands[1].values[0]
        named = {2.0: "square", -1.0: "reciprocal", 0.5: "sqrt", -0.5: "rsqrt"}.get(
            float(times) if isinstance(times, int | float) else 0.0
        )
        if named is not None:
            return self._say(f"{named}({{}})", (value,), result, value.labels, frames, typed=False)
        if times is None or times != int(times) or not 1 <= times <= LONGEST_POWER:
            return self._say("exp({})", (value,), result, value.labels, frames, typed=False)
        if times == 1:
            return value
        factors = " * ".join("{}" for _ in range(int(times)))
        return self._say(factors, (value,) * int(times), result, value.labels, frames, typed=True)

    def _divided(self, equation: Equation, operands: Sequence[Value | Constant]) -> Value | None:
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
        left, right = self._aligned(left, right, frames)
        if {*right.own} == {*left.own}:
            return self._say("divide({}, {})", (left, right), result, left.labels, frames, typed=False)
        under = Array(-1, (), long_name(self.tensors[right.tensor][0]))
        inverse = self._say("reciprocal({})", (right,), under, right.labels, frames, typed=False)
        labels = tuple(a or b for a, b in zip(left.labels, right.labels, strict=True))
        return self._say("{} * {}", (left, inverse), result, labels, frames)

    def _joined(self, equation: Equation, operands: Sequence[Value | Constant], live: Sequence[Value]) -> Value | None:
        """A sum, a difference or a product of two, or of one and a number."""
        left, right = operands
        result, frames, sign = equation.results[0], equation.frames, SIGNS[equation.primitive]
        if isinstance(left, Constant) or isinstance(right, Constant):
            value, number = live[0], next(o for o in operands if isinstance(o, Constant))
            if (
                number.values is not None
                and {*number.values} == {1.0 if sign == "*" else 0.0}
                and len(value.labels) == len(result.shape)
            ):
                return value
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
        left, right = self._aligned(left, right, frames)
        labels = tuple(a or b for a, b in zip(left.labels, right.labels, strict=True))
        return self._say(f"{{}} {sign} {{}}", (left, right), result, labels, frames)


def _shape(array: Array) -> str:
    return f"{array.dtype}[{', '.join(str(numbers[0]) for numbers in array.shape)}]"


def _function(equation: Equation) -> str:
    frame = user_frame(equation.frames)
    return "f" if frame is None else f"{frame.file.rsplit('/', 1)[-1]}:{frame.function}"


def folded_constant(equation: Equation, operands: Sequence[Constant]) -> Constant:
    """What numbers come to, where that is a number."""
    values, single = [constant.values for constant in operands], equation.results[0].shape == ()
    forms: dict[str, Callable[..., float]] = {
        "sqrt": lambda x: x**0.5, "rsqrt": lambda x: x**-0.5, "convert_element_type": lambda x: x, "neg": lambda x: -x,
        "mul": lambda x, y: x * y, "div": lambda x, y: x / y, "add": lambda x, y: x + y, "sub": lambda x, y: x - y,
        "pow": lambda x, y: x**y, "integer_pow": lambda x: x ** equation.params["y"], "broadcast_in_dim": lambda x: x,
    }  # fmt: skip
    form = forms.get(equation.primitive)
    if form is None or not values or any(value is None for value in values):
        return Constant(None, single)
    try:
        return Constant(tuple(form(*each) for each in zip(*(v for v in values if v is not None), strict=True)), single)
    except (ArithmeticError, TypeError):
        return Constant(None, single)
