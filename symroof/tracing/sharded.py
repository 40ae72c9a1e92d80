"""What every chip computes of its own part, ``shard_map``, as what all of them compute of the whole: a dimension of a
part that axes split is as many times longer, and what is exchanged is the same tensor split otherwise.

A contraction over what axes split makes partial sums. They are one product with the sum behind it, so that it is said
there where they are added up. Decided for products, sums, functions of each element, reductions and views of parts
whose operands are split alike; all else is refused with its line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from symroof.formula import Frozen
from symroof.tracing.traced import Array, Constant, Equation, Frame, Numbers, TracingError, grouped

Axes = tuple[str, ...]
# The axes that split each dimension; None for one that is the same number at all places.
Places = tuple[Axes | None, ...]
ADDED = ("psum", "psum2", "psum_invariant", "pmax", "pmin")
SCATTERED = ("reduce_scatter", "psum_scatter")
GATHERED = ("all_gather", "all_gather_invariant")
UNTOUCHED = ("pvary", "pbroadcast", "stop_gradient", "copy", "optimization_barrier", "name")
# What may be done to partial sums before they are added up: the sum of what comes out is the same of their sum.
VIEWS = ("transpose", "reshape", "broadcast_in_dim", "squeeze", "expand_dims")
MULTIPLES = ("mul", "div", "neg")
REDUCTIONS = {"reduce_sum": "psum", "reduce_max": "pmax", "reduce_min": "pmin"}


class Part(Frozen):
    """The whole of what every chip has a part of, and the axes that split it. What is ``partial`` over axes is not
    there yet: ``waiting`` is what makes it, and what is done to it since, which is said where it is added up."""

    array: Array
    axes: Places
    partial: frozenset[str] = frozenset()
    waiting: tuple[Equation, ...] = ()


class Left(Frozen):
    """What leaves the chips and stands otherwise outside: each chip's part behind those of the others. Chips that take
    it just so have their parts again, as JAX hands on what the way back needs; all else is refused with the
    ``error``."""

    part: Part
    spec: tuple[Axes, ...]
    problem: str
    expected: str


Known = Part | Constant


class Sharded:
    """The equations of a body on chips, of axes of these ``sizes``, read as those of the whole."""

    def __init__(
        self, sizes: Mapping[str, int], new: Callable[[tuple[Numbers, ...], str], Array], *, back: bool = False
    ) -> None:
        self.sizes, self.new, self.back = sizes, new, back
        self.said: dict[int, tuple[Axes, ...]] = {}  # partial sums that are added up already, and how they are split
        self.yielded: set[int] = set()

    def entering(self, array: Array, spec: Any, frames: tuple[Frame, ...]) -> tuple[Part, Equation]:
        """An operand as the chips take it, and the equation that splits it so."""
        axes = placed(spec, len(array.shape))
        part = Part(self.new(array.shape, array.dtype), axes)
        return part, Equation("sharding_constraint", (array,), (part.array,), {"axes": axes}, frames)

    def leaving(self, part: Known, spec: Any, where: str) -> Array | Constant | Left:
        """What a result is outside."""
        if isinstance(part, Constant):
            return part
        if part.partial:
            raise TracingError(f"{where}: a result is a partial sum over {_said(part.partial)}", expected="a psum")
        wanted = placed(spec, len(part.array.shape))
        if tuple(axes or () for axes in part.axes) == wanted:
            return part.array
        return Left(part, wanted, f"{where}: a result is split otherwise than out_specs says", f"P{_spec(part.axes)}")

    def read(
        self, equation: Equation, operands: Sequence[Known], shapes: Sequence[tuple[Numbers, ...]], where: str
    ) -> Iterator[Equation | tuple[Known, ...]]:
        """The equations of the whole, then its results."""
        name, first = equation.primitive, operands[0] if operands else Constant()
        if not any(isinstance(operand, Part) for operand in operands):
            yield tuple(Constant() for _ in shapes)
            return
        if name in UNTOUCHED:
            yield tuple(operands)
            return
        self.made: list[Known] = []
        if equation.params.get("axis_index_groups") is not None:
            self._refuse(f"{name} in groups of chips", "axes of a mesh for them", where)
        if name in (*ADDED, *SCATTERED):
            split = {int(equation.params["scatter_dimension"]): _axes(equation)} if name in SCATTERED else {}
            if name in SCATTERED and not equation.params.get("tiled"):
                self._refuse("a psum_scatter of one place for each chip", "tiled=True", where)
            for operand in operands:
                yield from self._added(equation, operand, split, where)
            yield tuple(self.made)
            return
        if (part := self._linear(equation, operands)) is not None:
            yield (self._then(equation, part, operands, shapes[0], where),)
            return
        self._require_whole(operands, name, where)
        if isinstance(first, Part) and name in GATHERED:
            place, axes = int(equation.params["all_gather_dimension"]), _axes(equation)
            kept = tuple(x for x in first.axes[place] or () if x not in axes)
            self._require_tiled(equation, first, place, "gathered", where)
            yield from self._otherwise(equation, first, {place: kept})
        elif isinstance(first, Part) and name == "all_to_all":
            axes = _axes(equation)
            cut, joined = int(equation.params["split_axis"]), int(equation.params["concat_axis"])
            self._require_tiled(equation, first, joined, "joined", where)
            kept = tuple(x for x in first.axes[joined] or () if x not in axes)
            yield from self._otherwise(equation, first, {joined: kept, cut: (*(first.axes[cut] or ()), *axes)})
        else:
            yield from self._computed(equation, operands, shapes, where)
        yield tuple(self.made)

    def _added(self, equation: Equation, part: Known, split: Mapping[int, Axes], where: str) -> Iterator[Equation]:
        """Partial sums that are added up, and the product that made them."""
        if not isinstance(part, Part):
            self.made.append(part)
            return
        axes = frozenset(_axes(equation))
        if not part.waiting or part.partial != axes:
            self._refuse(
                f"{equation.primitive} over {_said(axes)} of what is partial over {_said(part.partial) or 'no axis'}",
                "a sum, over all axes that split what is contracted",
                where,
            )
        made, *then = part.waiting
        wanted = REDUCTIONS.get(made.primitive, "psum")
        added = "psum" if equation.primitive not in ("pmax", "pmin") else equation.primitive
        if wanted != added:
            self._refuse(f"{equation.primitive} of partial {'sums' if wanted == 'psum' else 'maxima'}", wanted, where)
        told = tuple((*(own or ()), *split.get(i, ())) for i, own in enumerate(part.axes))
        each = [told]
        for one in reversed(then):
            if split and one.primitive != "transpose":
                self._refuse(f"{equation.primitive} of what is seen otherwise", "a psum_scatter before", where)
            places = dict(zip(one.params.get("permutation", ()), each[-1], strict=bool(split)))
            each.append(tuple(places[i] for i in range(len(places))) if split else tuple(one.params["before"]))
        if self.said.setdefault(part.array.key, told) != told:
            self._refuse("partial sums are added up in two ways", "one of them", where)
        for one, own in zip(part.waiting, reversed(each), strict=True):
            if one.results[0].key not in self.yielded:
                self.yielded.add(one.results[0].key)
                yield replace(one, params={**one.params, "split": own})
        self.made.append(Part(part.array, told))

    def _linear(self, equation: Equation, operands: Sequence[Known]) -> Part | None:
        """The partial sums, where the sum of what this makes of them is what it makes of their sum."""
        parts = [operand for operand in operands if isinstance(operand, Part)]
        if len(parts) != 1 or not parts[0].partial:
            return None
        maxima = parts[0].waiting[0].primitive in ("reduce_max", "reduce_min")
        multiple = equation.primitive in MULTIPLES and not maxima
        above = equation.primitive != "div" or operands[0] is parts[0]
        return parts[0] if equation.primitive in VIEWS or (multiple and above) else None

    def _then(
        self, equation: Equation, part: Part, operands: Sequence[Known], shape: tuple[Numbers, ...], where: str
    ) -> Part:
        """Partial sums, once something linear was done to them."""
        axes, _ = self._placed(equation, operands, [shape], where)
        array = self.new(self._whole(shape, axes), equation.results[0].dtype)
        whole = tuple(part.array if isinstance(operand, Part) else operand for operand in operands)
        before = tuple(own or () for own in part.axes)
        told = {**equation.params, "before": before}
        return Part(
            array, axes, part.partial, (*part.waiting, replace(equation, operands=whole, results=(array,), params=told))
        )

    def _require_tiled(self, equation: Equation, part: Part, place: int, done: str, where: str) -> None:
        """What is gathered, or joined, is split by the axes that do it, and innermost by them."""
        axes = _axes(equation)
        if not equation.params.get("tiled"):
            self._refuse(f"an {equation.primitive} makes a dimension of the chips", "tiled=True", where)
        if (part.axes[place] or ())[-len(axes) :] != axes:
            self._refuse(f"{_said(axes)} does not split what is {done}", "along what it splits", where)

    def _otherwise(self, equation: Equation, part: Part, changed: Mapping[int, Axes]) -> Iterator[Equation]:
        """The same tensor, split otherwise."""
        axes = tuple(changed.get(i, own) for i, own in enumerate(part.axes))
        made = Part(self.new(part.array.shape, part.array.dtype), axes)
        told = {"axes": tuple(own or () for own in axes)}
        yield Equation("sharding_constraint", (part.array,), (made.array,), told, equation.frames)
        self.made.append(made)

    def _computed(
        self, equation: Equation, operands: Sequence[Known], shapes: Sequence[tuple[Numbers, ...]], where: str
    ) -> Iterator[Equation]:
        axes, partial = self._placed(equation, operands, shapes, where)
        used = [x for own in axes for x in own or ()]
        if len({*used}) < len(used):
            self._refuse(f"{_said(used)} would split two dimensions of a result", "an all_gather before", where)
        results = tuple(
            self.new(self._whole(shape, axes), of.dtype) for shape, of in zip(shapes, equation.results, strict=True)
        )
        whole = tuple(operand.array if isinstance(operand, Part) else operand for operand in operands)
        told = {**equation.params, "split": tuple(own or () for own in axes)}
        made = replace(equation, operands=whole, results=results, params=told)
        if not partial:
            yield made
        self.made = [Part(array, axes, partial, (made,) if partial else ()) for array in results]

    def _placed(
        self, equation: Equation, operands: Sequence[Known], shapes: Sequence[tuple[Numbers, ...]], where: str
    ) -> tuple[Places, frozenset[str]]:
        """The axes that split the results, and those over which they are partial."""
        parts = [operand for operand in operands if isinstance(operand, Part)]
        name, first, params = equation.primitive, parts[0], equation.params
        match name:
            case "dot_general":
                (left, right), (both, _) = params["dimension_numbers"]
                if len(parts) < 2:
                    self._refuse("a product with numbers alone", "a product of arrays that are arguments", where)
                one, other = parts[0].axes, parts[1].axes
                contracted = [(one[i] or (), other[j] or ()) for i, j in zip(left, right, strict=True)]
                if any(a != b for a, b in contracted):
                    self._refuse("what is contracted is split otherwise in the other operand", "both alike", where)
                kept = [x for i, x in enumerate(one) if i not in (*left, *both)]
                more = [x for j, x in enumerate(other) if j not in (*right, *params["dimension_numbers"][1][1])]
                partial = frozenset(x for a, _ in contracted for x in a)
                return (*(one[i] for i in both), *kept, *more), partial
            case "transpose":
                return tuple(first.axes[i] for i in params["permutation"]), frozenset()
            case "squeeze":
                if any(first.axes[i] for i in params["dimensions"]):
                    self._refuse("one place of what is split", "more than one for each chip, or what is whole", where)
                return tuple(x for i, x in enumerate(first.axes) if i not in params["dimensions"]), frozenset()
            case "expand_dims":
                kept_axes = iter(first.axes)
                rank = len(shapes[0])
                return tuple(() if i in params["dimensions"] else next(kept_axes) for i in range(rank)), frozenset()
            case "broadcast_in_dim":
                found: list[Axes | None] = [None] * len(shapes[0])
                own = equation.operands[0]
                assert isinstance(own, Array)
                for i, place in enumerate(params["broadcast_dimensions"]):
                    found[int(place)] = first.axes[i] if own.shape[i] == shapes[0][int(place)] else None
                return tuple(found), frozenset()
            case "reshape":
                return self._reshaped(equation, first, shapes[0], where), frozenset()
            case _ if name in REDUCTIONS:
                gone = {int(axis) for axis in params["axes"]}
                left_over = tuple(x for i, x in enumerate(first.axes) if i not in gone)
                return left_over, frozenset(x for i in gone for x in first.axes[i] or ())
            case "concatenate":
                along = int(params["dimension"])
                if any(part.axes[along] for part in parts):
                    self._refuse("what is joined is split along it", "parts that are whole there", where)
        arrays = [o for o, there in zip(equation.operands, operands, strict=True) if isinstance(there, Part)]
        local = [o.shape for o in arrays if isinstance(o, Array)]
        if any(part.axes for part in parts):  # a number goes with whatever is split
            local = [shape for shape, part in zip(local, parts, strict=True) if part.axes]
            parts = [part for part in parts if part.axes]
        first = parts[0]
        if any(len(part.axes) != len(shape) for part in parts for shape in shapes):
            self._refuse(f"{name} on parts of arrays", "products, sums, functions, reductions and views", where)
        if name == "slice" or name == "split":
            own = equation.operands[0]
            assert isinstance(own, Array)
            cut = [i for i, x in enumerate(first.axes) if x and any(own.shape[i] != shape[i] for shape in shapes)]
            if cut:
                self._refuse("a slice of what is split", "slices of what is whole", where)
        places: list[Axes | None] = []
        for i, size in enumerate(shapes[0]):
            own_axes = (part.axes[i] for part, there in zip(parts, local, strict=True) if there[i] == size)
            told = list(dict.fromkeys(axes for axes in own_axes if axes is not None))
            if len(told) > 1:
                self._refuse("operands are split otherwise", "operands that are split alike", where)
            places.append(told[0] if told else None)
        return tuple(places), frozenset()

    def _reshaped(self, equation: Equation, part: Part, shape: tuple[Numbers, ...], where: str) -> Places:
        """The axes of what is taken apart go to its outermost part; of what is put together the outermost has them."""
        found: list[Axes | None] = [()] * len(shape)
        own = equation.operands[0]
        assert isinstance(own, Array)
        for before, after in grouped(own.shape, shape):
            split = [i for i in before if part.axes[i]]
            large = [i for i in before if {*own.shape[i]} != {1}]
            if split and (split != large[:1] or not after):
                self._refuse("what is split goes into other sizes", "the outermost of them split alone", where)
            if split:
                found[next((j for j in after if {*shape[j]} != {1}), after[0])] = part.axes[split[0]]
            elif len(before) == len(after) == 1:
                found[after[0]] = part.axes[before[0]]
        return tuple(found)

    def _whole(self, shape: tuple[Numbers, ...], axes: Places) -> tuple[Numbers, ...]:
        """The shape of the whole of a part."""
        times = [prod(self.sizes[x] for x in own or ()) for own in axes]
        return tuple(tuple(n * time for n in numbers) for numbers, time in zip(shape, times, strict=True))

    def _require_whole(self, operands: Sequence[Known], name: str, where: str) -> None:
        partial = [part for part in operands if isinstance(part, Part) and part.partial]
        if partial:
            self._refuse(f"{name} of partial sums over {_said(partial[0].partial)}", "a psum before", where)

    def _refuse(self, problem: str, expected: str, where: str) -> None:
        raise TracingError(f"{where}: {problem}", expected=expected)


def placed(spec: Any, rank: int) -> tuple[Axes, ...]:
    """What a PartitionSpec says of each dimension."""
    parts = [() if part is None else (part,) if isinstance(part, str) else tuple(part) for part in spec]
    return tuple(parts + [()] * (rank - len(parts)))


def _axes(equation: Equation) -> Axes:
    said = equation.params.get("axes", equation.params.get("axis_name", ()))
    return (said,) if isinstance(said, str) else tuple(said)


def _said(axes: Any) -> str:
    return ", ".join(sorted(map(str, axes)))


def _spec(axes: Places) -> str:
    return f"({', '.join(repr(own[0]) if own and len(own) == 1 else repr(own) if own else 'None' for own in axes)})"
