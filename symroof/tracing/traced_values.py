"""Arrays of a trace as tensors of a program. A value is a tensor, and for each dimension of an array the labels of the tensor that it
is made of: several where dimensions have been put together, none where the tensor has one place. A size among the labels is that of
a dimension along which the tensor is repeated. So dimensions are moved, put together and repeated, and nothing is done."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from keyword import iskeyword
from math import prod
from typing import Any

from sympy import Expr

from symroof.formula import Frozen
from symroof.model.functions import FUNCTIONS, VIEW
from symroof.model.program import Program
from symroof.model.program_tree import EXCHANGE, PRODUCT, Node, Statement
from symroof.model.splits import block_dimensions
from symroof.model.tensor_types import Dim, Dtype, Tensor, dtype
from symroof.tracing.size_names import Sizes
from symroof.tracing.traces import ONE, Array, Constant, Equation, Frame, Operand, TracingError, place_of, refusal

Axis = tuple[str | Expr, ...]
# Primitives that leave their operand as it is.
SAME = ("stop_gradient", "copy", "copy_p", "optimization_barrier", "reduce_precision", "name")
ASSIGNED = re.compile(r"\s*([^\W\d]\w*)\s*(?::[^=]+)?=(?!=)")


class Value(Frozen):
    tensor: str
    axes: tuple[Axis, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(part for axis in self.axes for part in axis if isinstance(part, str))


class Source(Frozen):
    """Where a tensor is made, and the variable that it is assigned to there."""

    place: str
    variable: str


def is_unshared(axis: Axis) -> bool:
    """Whether a tensor has a dimension that nothing else is in."""
    return len(axis) == 1 and isinstance(axis[0], str)


class Tensors:
    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.types: dict[str, Tensor] = {}  # by names that hold until the end
        self.sources: dict[str, Source] = {}
        self.arguments: dict[str, str] = {}  # the names of arguments
        self.values: dict[int, Value | Constant] = {}
        self.body: list[Node] = []
        self.used: set[str] = set()
        self.products: set[str] = set()
        self.back = False  # whether what is written is the transpose of what stands in its line

    def tensor(self, element: str | Dtype, labels: Iterable[str]) -> str:
        name = f"#{len(self.types)}"
        kind = dtype(element) if isinstance(element, str) else element
        self.types[name] = Tensor(kind, tuple(map(Dim, labels)), name)
        return name

    def element(self, value: Value) -> Dtype:
        return self.types[value.tensor].dtype

    def add(
        self,
        kind: str,
        operands: Sequence[Value],
        element: str | Dtype,
        labels: Iterable[str],
        frames: Sequence[Frame],
        **more: Any,
    ) -> str:
        """A statement, and the tensor that it makes."""
        name = self.tensor(element, labels)
        tensors = tuple(self.types[value.tensor] for value in operands)
        statement = Statement(kind, tensors, self.types[name], **more)
        self.types[name] = self._as_operands(statement)
        self.body.append(statement)
        self.used |= {value.tensor for value in operands}
        self.products |= {name} if kind == PRODUCT else set()
        frame = next((frame for frame in frames if frame.own), None)
        line = linecache.getline(frame.file, frame.line) if frame is not None else ""
        assigned = ASSIGNED.match(line)
        variable = assigned.group(1) if assigned and not re.search(r"lambda|;", line) and not self.back else ""
        self.sources[name] = Source(str(frame or ""), "" if iskeyword(variable) else variable)
        return name

    def _as_operands(self, statement: Statement) -> Tensor:
        """What a statement makes, split over each axis that splits one of its dimensions in the operands. Where an axis splits
        two of them, or what is left of neither, the rules of programs decide what is exchanged, or refuse it."""
        result = statement.result
        dims = (dim for operand in statement.operands for dim in operand.dims)
        splits = dict.fromkeys((dim.label, axis) for dim in dims for axis in dim.axes)
        if splits and statement.views:
            labels = dict(block_dimensions(Program((), (), self.sizes.where), statement))
            splits = dict.fromkeys((labels[label], axis) for label, axis in splits if label in labels)
        own = [(label, axis) for label, axis in splits if label in result.labels]
        axes = [axis for _, axis in own]
        return _split(result, [(label, axis) for label, axis in own if axes.count(axis) == 1]) if own else result

    def reshard(self, equation: Equation, value: Value) -> Value:
        """An array that is split as the code says: made so, where nothing has used it, and exchanged elsewhere."""
        value = self.flat(value, None, equation.frames)
        own = self.types[value.tensor]
        constraint = [
            (str(axis[0]), name)
            for axis, over in zip(value.axes, equation.params["axes"], strict=False)
            for name in (over if is_unshared(axis) else ())
        ]
        current = [(dim.label, name) for dim in own.dims for name in dim.axes]
        if {*constraint} == {*current}:
            return value
        declared = value.tensor in self.arguments and current
        if value.tensor not in self.used and {*current} < {*constraint} and not declared:
            self.types[value.tensor] = _split(own, constraint)
            return value
        result = self.add(EXCHANGE, [value], own.dtype, own.labels, equation.frames)
        self.types[result] = _split(self.types[result], constraint)
        return replace(value, tensor=result)

    def apply(
        self,
        function: str,
        operands: Sequence[Value],
        element: str | Dtype | None,
        frames: Sequence[Frame],
        over: str | None = None,
        **more: Any,
    ) -> Value:
        """A function of the table: what it makes lies as its first operand does."""
        first = operands[0]
        entry = FUNCTIONS.get(function)
        if entry is None:
            raise TracingError(f"there is no function {function}", expected=f"one of {', '.join(FUNCTIONS)}")
        labels = self.types[first.tensor].labels
        over = over or (labels[-1] if entry.rows and labels else None)
        result = self.add(
            "function", operands, element or self.element(first), labels, frames, function=entry, over=over, **more
        )
        return replace(first, tensor=result)

    def read(self, operand: Operand) -> Value | Constant:
        return self.values[operand.key] if isinstance(operand, Array) else operand

    def nest(self, node: Callable[[tuple[Node, ...]], Node], fill: Callable[[], None]) -> None:
        """What is filled in, in braces."""
        outer, self.body = self.body, []
        try:
            fill()
            if self.body:
                outer.append(node(tuple(self.body)))
        finally:
            self.body = outer

    # Other dimensions.

    def regroup(self, value: Value, parts: Mapping[Axis, Axis], frames: Sequence[Frame]) -> Value:
        """The same elements with other labels for runs of dimensions: in place where a run lies together, and moved elsewhere."""
        parts = {old: new for old, new in parts.items() if old != new}
        if not parts:
            return value
        for old in parts:
            if any(not isinstance(part, str) for part in old):
                raise refusal(place_of(frames), "what is repeated goes into another size", "a dimension of its own")
        own = _replaced(self.types[value.tensor].labels, parts)
        function = VIEW
        if own is None:
            if not self._laid(value.tensor, value.labels):
                function = FUNCTIONS["rearrange"]
            own = _replaced(value.labels, parts)
            assert own is not None
        names = {old[0]: new for old, new in parts.items() if len(old) == 1}
        axes = tuple(
            parts.get(axis) or tuple(new for part in axis for new in names.get(part, (part,))) for axis in value.axes
        )
        for label in own:
            if own.count(label) > 1:
                raise refusal(place_of(frames), f"{label} is a size of a tensor twice", "two names")
        return Value(self.add("function", [value], self.element(value), own, frames, function=function), axes)

    def _laid(self, tensor: str, labels: tuple[str, ...]) -> bool:
        """Whether a tensor lies in this order: a product that nothing has used yet is made so."""
        if self.types[tensor].labels == labels:
            return True
        if tensor not in self.products or tensor in self.used:
            return False
        dims = {dim.label: dim for dim in self.types[tensor].dims}
        self.types[tensor] = replace(self.types[tensor], dims=tuple(dims[label] for label in labels))
        return True

    def rename(self, value: Value, names: Mapping[str, str], frames: Sequence[Frame]) -> Value:
        """The same tensor with other names for its sizes."""
        return self.regroup(value, {(old,): (new,) for old, new in names.items()}, frames)

    def flat(self, value: Value, places: Iterable[int] | None, frames: Sequence[Frame]) -> Value:
        """The value with one dimension for what had been put together in these places."""
        parts: dict[Axis, Axis] = {}
        for place in range(len(value.axes)) if places is None else places:
            axis = value.axes[place]
            if len(axis) > 1:
                size = times(map(self.size, axis))
                taken = {label for label in value.labels if label not in axis}
                parts[axis] = (self.sizes.label(size, (*taken, *(str(new[0]) for new in parts.values()))),)
        return self.regroup(value, parts, frames)

    def size(self, part: str | Expr) -> Expr:
        return self.sizes.value(part) if isinstance(part, str) else part

    def split(self, value: Value, place: int, into: Sequence[Expr], frames: Sequence[Frame]) -> Value:
        """The value with a dimension taken apart into sizes: what had been put together comes apart."""
        axis = value.axes[place]
        parts = self._parts_of(axis, into)
        if parts is None:
            value = self.flat(value, [place], frames)
            axis, taken, new = value.axes[place], list(value.labels), list[str]()
            for size in into:
                if size != 1:
                    new.append(self.sizes.label(size, (*(x for x in taken if x not in axis), *new)))
            value = self.regroup(value, {axis: tuple(new)}, frames)
            labels = iter(new)
            parts = [() if size == 1 else (next(labels),) for size in into]
        return replace(value, axes=(*value.axes[:place], *parts, *value.axes[place + 1 :]))

    def _parts_of(self, axis: Axis, into: Sequence[Expr]) -> list[Axis] | None:
        """The parts of a dimension by sizes, where they are these."""
        left, parts = list(axis), list[Axis]()
        for size in into:
            own: list[str | Expr] = []
            while left and times(map(self.size, own)) != size:
                own.append(left.pop(0))
            if times(map(self.size, own)) != size:
                return None
            parts.append(tuple(own))
        return None if left else parts

    def reshape(self, value: Value, before: Sequence[Expr], after: Sequence[Expr], frames: Sequence[Frame]) -> Value:
        """The same elements in other dimensions: put together until somebody asks, and taken apart."""
        place = 0
        for old, new in groups_of(before, after):
            joined: Axis = tuple(part for axis in value.axes[place : place + len(old)] for part in axis)
            value = replace(value, axes=(*value.axes[:place], joined, *value.axes[place + len(old) :]))
            value = self.split(value, place, new, frames)
            place += len(new)
        return value

    def view(self, equation: Equation, value: Value) -> Value | None:
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
                return self.reshape(value, before, shape, equation.frames)
            case name if name in SAME:
                return value
        return None

    # Two values at once.

    def align(self, left: Value, right: Value, frames: Sequence[Frame]) -> tuple[Value, Value, tuple[Axis, ...]]:
        """Two values with as many dimensions, under one name where a size has two; and the dimensions of both."""
        rank = max(len(left.axes), len(right.axes))
        left, right = (replace(v, axes=((),) * (rank - len(v.axes)) + v.axes) for v in (left, right))
        for place in range(rank):
            a, b = left.axes[place], right.axes[place]
            if a != b and a and b and any(isinstance(x, str) for x in a) and any(isinstance(x, str) for x in b):
                left, right = self.meet(left, place, right, place, frames)
        names = {
            b: a
            for axis, other in zip(left.axes, right.axes, strict=True)
            for a, b in zip(axis, other, strict=False)
            if isinstance(a, str) and isinstance(b, str) and a != b
        }
        right = self.rename(right, names, frames)
        axes = []
        for a, b in zip(left.axes, right.axes, strict=True):
            longer = a if len(a) >= len(b) else b
            other = b if longer is a else a
            both = zip(longer, (*other, *longer[len(other) :]), strict=True)
            axes.append(tuple(x if isinstance(x, str) else y for x, y in both))
        return left, right, tuple(axes)

    def meet(self, left: Value, i: int, right: Value, j: int, frames: Sequence[Frame]) -> tuple[Value, Value]:
        """Two values that meet along a dimension each, with as many parts there."""
        a, b = left.axes[i], right.axes[j]
        return self._match_parts(left, i, b, frames), self._match_parts(right, j, a, frames)

    def _match_parts(self, value: Value, place: int, other: Axis, frames: Sequence[Frame]) -> Value:
        """A value whose parts along a dimension meet those of another value: one is taken apart where the other repeats parts, and
        what is in other parts there is put together."""
        own, first = value.axes[place], place
        runs = [
            (own[m], other[n]) for m, n in _slices(groups_of(list(map(self.size, own)), list(map(self.size, other))))
        ]
        before, behind = value.axes[:place], value.axes[place + 1 :]
        value = replace(value, axes=(*before, *(run for run, _ in runs), *behind))
        for run, others in runs:
            if len(run) == 1 and any(not isinstance(part, str) for part in others):
                value = self.split(value, place, list(map(self.size, others)), frames)
                place += len(others) - 1
            elif len(run) != len(others) and all(isinstance(part, str) for part in run):
                value = self.flat(value, [place], frames)
            place += 1
        joined: Axis = tuple(part for axis in value.axes[first:place] for part in axis)
        return replace(value, axes=(*before, joined, *value.axes[place:]))


def _slices(groups: Iterable[tuple[Sequence[Expr], Sequence[Expr]]]) -> Iterator[tuple[slice, slice]]:
    """The places of groups in both of what they are of."""
    i = j = 0
    for old, new in groups:
        yield slice(i, i := i + len(old)), slice(j, j := j + len(new))


def _split(tensor: Tensor, pairs: Iterable[tuple[str, str]]) -> Tensor:
    """A tensor with its dimensions split over the axes that are paired with them."""
    pairs = tuple(pairs)
    dims = (Dim(dim.label, tuple(axis for label, axis in pairs if label == dim.label)) for dim in tensor.dims)
    return replace(tensor, dims=tuple(dims))


def _replaced(labels: tuple[str, ...], parts: Mapping[Axis, Axis]) -> tuple[str, ...] | None:
    """Labels with other ones for runs of them; None where a run does not lie together."""
    for old, new in parts.items():
        start = labels.index(str(old[0])) if old and old[0] in labels else len(labels)
        if not old or labels[start : start + len(old)] != old:
            return None
        labels = (*labels[:start], *map(str, new), *labels[start + len(old) :])
    return labels


def with_axis(axes: Sequence[Axis], place: int, axis: Axis) -> tuple[Axis, ...]:
    return (*axes[:place], axis, *axes[place + 1 :])


def groups_of(before: Sequence[Expr], after: Sequence[Expr]) -> Iterator[tuple[Sequence[Expr], Sequence[Expr]]]:
    """Dimensions that hold the same elements before and after a reshape, as few together as it goes."""
    i = j = 0
    while i < len(before) or j < len(after):
        old, new = before[i:], after[j:]
        takes = product(range(1, len(old) + 1) if old else (0,), range(1, len(new) + 1) if new else (0,))
        equal = ((m, n) for m, n in sorted(takes, key=sum) if times(old[:m]) == times(new[:n]))
        m, n = next(equal, (len(old), len(new)))
        yield old[:m], new[:n]
        i, j = i + m, j + n


def times(sizes: Iterable[Expr]) -> Expr:
    return prod(sizes, start=ONE).expand()
