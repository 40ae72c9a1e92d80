"""Arrays whose parts are repeated to meet others in a product: keys of a group of queries. The product takes them as they are, and the
other operand has its dimension taken apart: nothing is repeated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from symroof.formula import Frozen
from symroof.tracing.traced import Array, Equation, Loop, Made, Numbers, Trace, grouped, lived

# What does the same to each element, or moves dimensions: it may be done before elements are repeated.
PASSED = ("transpose", "convert_element_type", "copy", "stop_gradient", "neg")


class Stretched(Frozen):
    """An array along whose ``axis`` what another has is repeated; the other has one place there, or no such dimension."""

    axis: int
    of: Array
    has_place: bool


class Repeated(Frozen):
    """An array that is another, but that along an ``axis`` each place stands so many ``times``, one after the other."""

    axis: int
    of: Array
    times: Numbers


def unrepeated(trace: Trace) -> Trace:
    """The trace with products that repeat nothing, where that is all that repeated parts are for."""
    keys = iter(range(1 + _largest(trace.body, trace), 1 << 62))
    body = _body(trace.body, keys)
    return replace(trace, body=lived(body, {array.key for array in trace.results}))


def _largest(body: Sequence[Made], trace: Trace) -> int:
    """The largest number of an array."""
    found = [array.key for array in (*trace.arguments.values(), *trace.results)]
    for made in body:
        if isinstance(made, Equation):
            found += [result.key for result in made.results]
            continue
        found.append(_largest(made.body, replace(trace, arguments={}, results=())))
        if isinstance(made, Loop):
            parts = (part for _, part in made.scanned)
            found += [array.key for array in (*made.enters, *made.results, *made.stacked, *parts)]
    return max(found, default=0)


def _body(body: Sequence[Made], keys: Iterator[int]) -> tuple[Made, ...]:
    reader, found = _Reader(keys), list[Made]()
    for made in body:
        if isinstance(made, Equation):
            found += reader.read(made)
        else:
            found.append(replace(made, body=_body(made.body, keys)))
    return tuple(found)


class _Reader:
    """Equations of one body, in their order."""

    def __init__(self, keys: Iterator[int]) -> None:
        self.keys = keys
        self.stretched: dict[int, Stretched] = {}
        self.repeated: dict[int, Repeated] = {}

    def read(self, equation: Equation) -> Iterator[Equation]:
        """An equation, and what stands for it: what nobody asks for is left out later."""
        arrays = [operand for operand in equation.operands if isinstance(operand, Array)]
        first = arrays[0] if arrays else None
        if equation.primitive == "broadcast_in_dim" and first is not None:
            self._note_stretched(equation, first)
        elif equation.primitive == "reshape" and first is not None and first.key in self.stretched:
            yield from self._note_repeated(equation, first)
        elif equation.primitive in PASSED and first is not None and first.key in self.repeated:
            yield self._passed(equation, self.repeated[first.key])
        elif equation.primitive == "dot_general" and len(arrays) == 2:
            places = [i for i, array in enumerate(arrays) if array.key in self.repeated]
            if len(places) == 1 and (made := list(self._product(equation, arrays, places[0]))):
                yield from made
                return
        yield equation

    def _new(self, shape: Sequence[Numbers], dtype: str) -> Array:
        return Array(next(self.keys), tuple(shape), dtype)

    def _note_stretched(self, equation: Equation, operand: Array) -> None:
        dims, result = tuple(map(int, equation.params["broadcast_dimensions"])), equation.results[0]
        grown = [
            i
            for i, n in enumerate(result.shape)
            if {*n} != {1} and (i not in dims or operand.shape[dims.index(i)] != n)
        ]
        same = len(dims) == len(result.shape)
        if len(grown) == 1 and (same or len(dims) == len(result.shape) - 1):
            self.stretched[result.key] = Stretched(grown[0], operand, same)

    def _note_repeated(self, equation: Equation, operand: Array) -> Iterator[Equation]:
        """The dimension that is repeated goes into the one before it."""
        found, result = self.stretched[operand.key], equation.results[0]
        changed = [(a, b) for a, b in grouped(operand.shape, result.shape) if len(a) != 1 or len(b) != 1]
        if len(changed) != 1 or changed[0][0] != [found.axis - 1, found.axis] or len(changed[0][1]) != 1:
            return
        base = found.of
        if found.has_place:
            base = self._new([n for i, n in enumerate(base.shape) if i != found.axis], base.dtype)
            params = {"dimensions": (found.axis,)}
            yield Equation("squeeze", (found.of,), (base,), params, equation.frames, equation.back)
        self.repeated[result.key] = Repeated(found.axis - 1, base, operand.shape[found.axis])

    def _passed(self, equation: Equation, repeated: Repeated) -> Equation:
        result, axis, shape = equation.results[0], repeated.axis, list(repeated.of.shape)
        if equation.primitive == "transpose":
            order = [int(i) for i in equation.params["permutation"]]
            axis, shape = order.index(axis), [shape[i] for i in order]
        made = self._new(shape, result.dtype)
        self.repeated[result.key] = replace(repeated, axis=axis, of=made)
        return replace(equation, operands=(repeated.of,), results=(made,))

    def _product(self, equation: Equation, arrays: Sequence[Array], side: int) -> Iterator[Equation]:
        """The product with what was not repeated: the other operand has a dimension for the times."""
        repeated, other = self.repeated[arrays[side].key], arrays[1 - side]
        contract, batch = (list(map(list, part)) for part in equation.params["dimension_numbers"])
        if repeated.axis not in batch[side]:
            return
        place = batch[side].index(repeated.axis)
        axis = batch[1 - side][place]
        apart = self._new(
            (*other.shape[:axis], repeated.of.shape[repeated.axis], repeated.times, *other.shape[axis + 1 :]),
            other.dtype,
        )
        yield Equation("reshape", (other,), (apart,), {}, equation.frames, equation.back)
        for part in (contract, batch):
            part[1 - side] = [i + (i > axis) for i in part[1 - side]]
        operands = (repeated.of, apart) if side == 0 else (apart, repeated.of)
        free = [[i for i in range(len(o.shape)) if i not in (*contract[k], *batch[k])] for k, o in enumerate(operands)]
        shape = [operands[0].shape[i] for i in batch[0]]
        shape += [operands[k].shape[i] for k in (0, 1) for i in free[k]]
        made = self._new(shape, equation.results[0].dtype)
        numbers = tuple(tuple(map(tuple, part)) for part in (contract, batch))
        params = {key: value for key, value in equation.params.items() if key != "laid"} | {
            "dimension_numbers": numbers
        }
        yield replace(equation, operands=operands, results=(made,), params=params)
        times = len(batch[0]) + (0 if side else len(free[0])) + free[1 - side].index(axis + 1)
        order = [*range(place + 1), times, *(i for i in range(place + 1, len(shape)) if i != times)]
        if order != [*range(len(shape))]:
            moved = self._new([shape[i] for i in order], made.dtype)
            yield Equation(
                "transpose", (made,), (moved,), {"permutation": tuple(order)}, equation.frames, equation.back
            )
            made = moved
        yield Equation("reshape", (made,), equation.results, {}, equation.frames, equation.back)
