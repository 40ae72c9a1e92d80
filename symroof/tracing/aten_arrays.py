"""Operations of ATen that leave elements as they are: arrays in other dimensions, parts of them, several behind one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sympy import Expr, Integer

from symroof.formula import Frozen
from symroof.tracing.primitives import ONE, Array, Constant, Equation, Frame, Made, Shape, place_of


class Call(Frozen):
    """An operation: its arguments and keywords, what it makes, and the calls around it."""

    name: str
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    results: Any
    frames: tuple[Frame, ...]

    def at(self, place: int, keyword: str = "", default: Any = None) -> Any:
        return self.arguments[place] if place < len(self.arguments) else self.keywords.get(keyword, default)

    @property
    def where(self) -> str:
        return place_of(self.frames)

    @property
    def rank(self) -> int:
        return len(self.arguments[0].shape)


def whole(value: Any) -> int:
    return int(value.value if isinstance(value, Constant) else value)


def several(value: Any) -> tuple[int, ...]:
    return tuple(map(whole, value)) if isinstance(value, tuple) else (whole(value),)


def axes_of(said: Any, rank: int) -> tuple[int, ...]:
    """The dimensions that an argument says, counted from the first; all where it says none."""
    return tuple(range(rank)) if said is None or said == () else tuple(n % rank for n in several(said))


class ArrayReader:
    """Operations as equations, which are noted."""

    def __init__(self, keys: Iterator[int]) -> None:
        self.keys = keys
        self.made: list[Made] = []
        self.inside: tuple[Frame, ...] = ()
        self.frames: tuple[Frame, ...] = ()

    def array(self, shape: Iterable[Expr], dtype: str) -> Array:
        return Array(next(self.keys), tuple(shape), dtype)

    def like(self, result: Array, shape: Iterable[Expr]) -> Array:
        return self.array(shape, result.dtype)

    def emit(self, primitive: str, operands: Sequence[object], result: Array, **params: object) -> Array:
        """An equation, and what it makes."""
        values = tuple(o if isinstance(o, Array | Constant) else Constant(o, True) for o in operands)
        self.made.append(Equation(primitive, values, (result,), params, (*self.inside, *self.frames)))
        return result

    # Other dimensions.

    def transposed(self, value: Array, order: Sequence[int]) -> Array:
        if [*order] == [*range(len(value.shape))]:
            return value
        return self.emit(
            "transpose", [value], self.like(value, (value.shape[i] for i in order)), permutation=tuple(order)
        )

    def aten_transpose(self, call: Call) -> Array:
        a, b = axes_of(call.arguments[1:3], call.rank)
        return self.transposed(call.arguments[0], [b if i == a else a if i == b else i for i in range(call.rank)])

    aten_swapaxes = aten_transpose

    def aten_permute(self, call: Call) -> Array:
        return self.transposed(call.arguments[0], axes_of(call.arguments[1], call.rank))

    def aten_t(self, call: Call) -> Array:
        return self.transposed(call.arguments[0], range(call.rank)[::-1])

    aten_numpy_T = aten_t  # noqa: N815 (ATen's name)

    def aten_movedim(self, call: Call) -> Array:
        old, new = (axes_of(said, call.rank) for said in call.arguments[1:3])
        moved, rest = dict(zip(new, old, strict=True)), iter(i for i in range(call.rank) if i not in old)
        return self.transposed(call.arguments[0], [moved[i] if i in moved else next(rest) for i in range(call.rank)])

    def aten_unsqueeze(self, call: Call) -> Array:
        axes = axes_of(call.arguments[1], len(call.results.shape))
        return self.emit("expand_dims", call.arguments[:1], call.results, dimensions=axes)

    def aten_squeeze(self, call: Call) -> Array:
        value = call.arguments[0]
        axes = tuple(i for i in axes_of(call.at(1, "dim"), call.rank) if value.shape[i] == 1)
        return self.emit("squeeze", [value], call.results, dimensions=axes)

    def aten_expand(self, call: Call) -> Array:
        return self.broadcast(call.arguments[0], call.results)

    aten_expand_as = aten_expand

    def aten_repeat_interleave(self, call: Call) -> Array:
        """Each place so many times, one after the other."""
        value, (axis,) = call.arguments[0], axes_of(call.at(2, "dim", -1), call.rank)
        times = call.results.shape[axis] / value.shape[axis]
        before, behind = value.shape[: axis + 1], value.shape[axis + 1 :]
        one = self.emit("expand_dims", [value], self.like(value, (*before, ONE, *behind)), dimensions=(axis + 1,))
        wide = self.broadcast(one, self.like(value, (*before, times, *behind)))
        return self.emit("reshape", [wide], call.results)

    def broadcast(self, value: Array, result: Array) -> Array:
        ahead = len(result.shape) - len(value.shape)
        dims = tuple(range(ahead, len(result.shape)))
        return self.emit("broadcast_in_dim", [value], result, broadcast_dimensions=dims)

    # Parts.

    def aten_cat(self, call: Call) -> Array:
        (axis,) = axes_of(call.at(1, "dim", 0), len(call.results.shape))
        return self.emit("concatenate", call.arguments[0], call.results, dimension=axis)

    def aten_stack(self, call: Call) -> Array:
        (axis,) = axes_of(call.at(1, "dim", 0), len(call.results.shape))
        return self.emit("stack", call.arguments[0], call.results, axis=axis)

    def aten_slice(self, call: Call) -> Array:
        (axis,), step = axes_of(call.at(1, "dim", 0), call.rank), whole(call.at(4, "step", 1))
        return self.part(call.arguments[0], axis, call.at(2, "start"), call.results, step)

    def aten_narrow(self, call: Call) -> Array:
        (axis,) = axes_of(call.arguments[1], call.rank)
        return self.part(call.arguments[0], axis, call.arguments[2], call.results)

    def part(self, value: Array, axis: int, start: object, result: Array, step: int = 1) -> Array:
        """So many places along a dimension, from one that may be counted from the end."""
        if value.shape == result.shape:
            return value
        begin = start.value if isinstance(start, Constant) else start
        first: Expr = Integer(0) if begin is None else Integer(begin) if isinstance(begin, int | float) else begin
        first = first + value.shape[axis] if first.is_negative else first
        starts = tuple(first if i == axis else Integer(0) for i in range(len(value.shape)))
        return self.emit("slice", [value], result, starts=starts, strides=(step,))

    def _place(self, value: Array, axis: int, start: object, result: Array) -> Array:
        part = self.part(value, axis, start, self.like(value, _with(value.shape, axis, ONE)))
        return self.emit("squeeze", [part], result, dimensions=(axis,))

    def aten_select(self, call: Call) -> Array:
        (axis,) = axes_of(call.arguments[1], call.rank)
        return self._place(call.arguments[0], axis, call.arguments[2], call.results)

    def aten_chunk(self, call: Call) -> tuple[Array, ...]:
        """Parts one after the other."""
        (axis,), results = axes_of(call.at(2, "dim", 0), call.rank), tuple(call.results)
        self.made.append(Equation("split", call.arguments[:1], results, {"axis": axis}, self.frames))
        return results

    aten_split = aten_split_with_sizes = aten_tensor_split = aten_chunk

    def aten_unbind(self, call: Call) -> tuple[Array, ...]:
        (axis,) = axes_of(call.at(1, "dim", 0), call.rank)
        return tuple(self._place(call.arguments[0], axis, i, result) for i, result in enumerate(call.results))


def _with(shape: Shape, axis: int, size: Expr) -> Shape:
    return (*shape[:axis], size, *shape[axis + 1 :])
