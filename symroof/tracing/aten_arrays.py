"""Operations of ATen that leave elements as they are: arrays in other dimensions, parts of them, several behind one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from symroof.formula import Frozen
from symroof.tracing.traced import Array, Constant, Equation, Frame, Made, Numbers

Shape = tuple[Numbers, ...]
Operand = Array | Constant


class Call(Frozen):
    """An operation at all assignments: its arguments and keywords, what it makes, and the calls around it."""

    name: str
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    results: Any
    frames: tuple[Frame, ...]

    def at(self, place: int, keyword: str = "", default: Any = None) -> Any:
        if place < len(self.arguments):
            return self.arguments[place]
        return self.keywords.get(keyword, default)

    @property
    def where(self) -> str:
        return str(self.frames[0]) if self.frames else "the function"


def whole(value: Any) -> int:
    """A number that is the same at all assignments."""
    if isinstance(value, Constant) and value.values is not None:
        return int(value.values[0])
    return int(value)


class ArrayReader:
    def __init__(self, assignments: int, keys: Iterator[int]) -> None:
        self.assignments, self.keys = assignments, keys
        self.made: list[Made] = []
        self.inside: tuple[Frame, ...] = ()
        self.frames: tuple[Frame, ...] = ()

    def array(self, shape: Shape, dtype: str) -> Array:
        return Array(next(self.keys), shape, dtype)

    def _emit(self, primitive: str, operands: Sequence[Any], result: Any, **params: Any) -> Any:
        """An equation, and what it makes."""
        values = tuple(o if isinstance(o, Array | Constant) else self._number(o) for o in operands)
        self.made.append(Equation(primitive, values, (result,), params, (*self.inside, *self.frames)))
        return result

    def _number(self, value: Any) -> Constant:
        if isinstance(value, bool | int | float):
            return Constant((float(value),) * self.assignments, True)
        return Constant()

    def _like(self, result: Array, shape: Sequence[Numbers]) -> Array:
        return self.array(tuple(shape), result.dtype)

    # Other dimensions.

    def aten_view(self, call: Call) -> Any:
        return self._emit("reshape", call.arguments[:1], call.results)

    def _transposed(self, value: Array, order: Sequence[int]) -> Array:
        if [*order] == [*range(len(value.shape))]:
            return value
        result = self._like(value, [value.shape[i] for i in order])
        return self._emit("transpose", [value], result, permutation=tuple(order))

    def aten_transpose(self, call: Call) -> Any:
        value, (a, b) = call.arguments[0], (whole(n) % len(call.arguments[0].shape) for n in call.arguments[1:3])
        order = [b if i == a else a if i == b else i for i in range(len(value.shape))]
        return self._transposed(value, order)

    aten_swapaxes = aten_transpose

    def aten_permute(self, call: Call) -> Any:
        value = call.arguments[0]
        return self._transposed(value, [whole(n) % len(value.shape) for n in call.arguments[1]])

    def aten_t(self, call: Call) -> Any:
        return self._transposed(call.arguments[0], range(len(call.arguments[0].shape))[::-1])

    aten_numpy_T = aten_t  # noqa: N815 (ATen's name)

    def aten_movedim(self, call: Call) -> Any:
        value, rank = call.arguments[0], len(call.arguments[0].shape)
        ends = [[whole(n) % rank for n in (x if isinstance(x, tuple) else (x,))] for x in call.arguments[1:3]]
        moved = dict(zip(ends[1], ends[0], strict=True))
        rest = iter(i for i in range(rank) if i not in ends[0])
        return self._transposed(value, [moved[i] if i in moved else next(rest) for i in range(rank)])

    def aten_unsqueeze(self, call: Call) -> Any:
        axis = whole(call.arguments[1]) % len(call.results.shape)
        return self._emit("expand_dims", call.arguments[:1], call.results, dimensions=(axis,))

    def aten_squeeze(self, call: Call) -> Any:
        value, kept = call.arguments[0], len(call.results.shape)
        said = call.at(1, "dim")
        axes = (
            [i for i, n in enumerate(value.shape) if {*n} == {1}]
            if said is None
            else [whole(n) % len(value.shape) for n in (said if isinstance(said, tuple) else (said,))]
        )
        axes = [i for i in axes if {*value.shape[i]} == {1}]
        return (
            value if len(value.shape) == kept else self._emit("squeeze", [value], call.results, dimensions=tuple(axes))
        )

    def aten_expand(self, call: Call) -> Any:
        return self._broadcast(call.arguments[0], call.results)

    aten_expand_as = aten_expand

    def aten_repeat_interleave(self, call: Call) -> Any:
        """Each place so many times, one after the other."""
        value, times, axis = call.arguments[0], call.arguments[1], whole(call.at(2, "dim", -1))
        axis %= len(value.shape)
        many = tuple(int(n) for n in times.values)
        one = self._like(value, (*value.shape[: axis + 1], (1,) * self.assignments, *value.shape[axis + 1 :]))
        one = self._emit("expand_dims", [value], one, dimensions=(axis + 1,))
        wide = self._broadcast(one, self._like(value, (*value.shape[: axis + 1], many, *value.shape[axis + 1 :])))
        return self._emit("reshape", [wide], call.results)

    def _broadcast(self, value: Array, result: Array) -> Array:
        ahead = len(result.shape) - len(value.shape)
        dims = tuple(range(ahead, len(result.shape)))
        return self._emit("broadcast_in_dim", [value], result, broadcast_dimensions=dims)

    def _ranked(self, value: Operand, rank: int) -> Operand:
        """An operand with as many dimensions as the result, one place along those that it lacks."""
        if not isinstance(value, Array) or len(value.shape) in (0, rank):
            return value
        ones = [(1,) * self.assignments] * (rank - len(value.shape))
        return self._broadcast(value, self._like(value, (*ones, *value.shape)))

    # Parts.

    def aten_cat(self, call: Call) -> Any:
        operands, rank = call.arguments[0], len(call.results.shape)
        return self._emit("concatenate", operands, call.results, dimension=whole(call.at(1, "dim", 0)) % rank)

    def aten_stack(self, call: Call) -> Any:
        return self._emit(
            "stack", call.arguments[0], call.results, axis=whole(call.at(1, "dim", 0)) % len(call.results.shape)
        )

    def aten_slice(self, call: Call) -> Any:
        value, axis = call.arguments[0], whole(call.at(1, "dim", 0))
        return self._part(
            value, axis, self._begin(call.at(2, "start"), value, axis), call.results, whole(call.at(4, "step", 1))
        )

    def aten_narrow(self, call: Call) -> Any:
        value, axis = call.arguments[0], whole(call.arguments[1])
        return self._part(value, axis, self._begin(call.arguments[2], value, axis), call.results)

    def _begin(self, said: Any, value: Array, axis: int) -> Numbers:
        if not isinstance(said, Constant) or said.values is None:
            return (0,) * self.assignments
        return tuple(
            int(n) if n >= 0 else int(n) + size for n, size in zip(said.values, value.shape[axis], strict=True)
        )

    def _part(self, value: Array, axis: int, begin: Numbers, result: Array, step: int = 1) -> Array:
        axis %= len(value.shape)
        if value.shape == result.shape:
            return value
        starts = [tuple(at if i == axis else 0 for i in range(len(value.shape))) for at in begin]
        return self._emit("slice", [value], result, starts=tuple(starts), strides=(step,))

    def aten_select(self, call: Call) -> Any:
        value, axis = call.arguments[0], whole(call.arguments[1]) % len(call.arguments[0].shape)
        one = (1,) * self.assignments
        part = self._like(value, [one if i == axis else n for i, n in enumerate(value.shape)])
        part = self._part(value, axis, self._begin(call.arguments[2], value, axis), part)
        return self._emit("squeeze", [part], call.results, dimensions=(axis,))

    def aten_chunk(self, call: Call) -> Any:
        """Parts one after the other."""
        value, axis = call.arguments[0], whole(call.at(2, "dim", 0))
        found, begin = [], (0,) * self.assignments
        for result in call.results:
            found.append(self._part(value, axis, begin, result))
            begin = tuple(at + n for at, n in zip(begin, result.shape[axis], strict=True))
        return tuple(found)

    aten_split = aten_split_with_sizes = aten_tensor_split = aten_chunk

    def aten_unbind(self, call: Call) -> Any:
        value, axis = call.arguments[0], whole(call.at(1, "dim", 0)) % len(call.arguments[0].shape)
        one, found = (1,) * self.assignments, []
        for place, result in enumerate(call.results):
            part = self._like(value, [one if i == axis else n for i, n in enumerate(value.shape)])
            part = self._part(value, axis, (place,) * self.assignments, part)
            found.append(self._emit("squeeze", [part], result, dimensions=(axis,)))
        return tuple(found)
