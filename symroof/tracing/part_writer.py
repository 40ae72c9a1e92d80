"""Parts of arrays in a trace: slices, what is joined of several, and caches that are written to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from symroof.tracing.jaxprs import user_frame
from symroof.tracing.program_lines import Label, Lines, Value, long_name
from symroof.tracing.traced import Array, Constant, Equation, Numbers, TracingError

# What cuts an array; where it begins may be known when the function runs alone.
CUTS = ("slice", "dynamic_slice")


class PartWriter(Lines):
    def _parts(self, equation: Equation, operands: Sequence[Value | Constant]) -> bool:
        """Slices and what is joined; whether an equation is one of these."""
        first, result = operands[0], equation.results[0]
        if equation.primitive in CUTS and isinstance(first, Value):
            starts = equation.params.get("starts")
            self.values[result.key] = self._cut(equation, first, result, starts)
        elif equation.primitive == "split" and isinstance(first, Value):
            axis = int(equation.params["axis"])
            places = [0] * len(result.shape[0])
            for part in equation.results:
                starts = [tuple(at if i == axis else 0 for i in range(len(part.shape))) for at in places]
                self.values[part.key] = self._cut(equation, first, part, starts)
                places = [at + n for at, n in zip(places, part.shape[axis], strict=True)]
        elif equation.primitive in ("concatenate", "stack"):
            self.values[result.key] = self._concatenated(equation, operands)
        elif equation.primitive == "dynamic_update_slice" and isinstance(first, Value):
            self.values[result.key] = self._appended(equation, first, operands[1])
        else:
            return False
        return True

    def _cut(self, equation: Equation, value: Value, result: Array, starts: Sequence[Sequence[int]] | None) -> Value:
        """So many places of each dimension that is shorter then."""
        operand, where = equation.operands[0], str(user_frame(equation.frames) or "the function")
        assert isinstance(operand, Array)
        steps = equation.params.get("strides")
        if steps is not None and {*steps} != {1}:
            raise TracingError(f"{where}: a slice with steps is no statement", expected="places one after the other")
        for i, (whole, part) in enumerate(zip(operand.shape, result.shape, strict=True)):
            label = value.labels[i]
            if whole == part or label is None:
                continue
            begin = None if starts is None else tuple(one[i] for one in starts)
            value = self._part(equation, value, i, part, begin)
        return value

    def _part(self, equation: Equation, value: Value, axis: int, size: Numbers, begin: Numbers | None) -> Value:
        """A part along one dimension. What was cut before is what it was; other parts have other places."""
        where, label = str(user_frame(equation.frames) or "the function"), value.labels[axis]
        assert label is not None
        known = self.cut.setdefault((value.tensor, label), [])
        for at, length, made in known:
            if begin is not None and (at, length) == (begin, size):
                return replace(value, tensor=made.tensor, labels=made.labels)
            if begin is None or any(
                a < b + m and b < a + n for a, n, b, m in zip(begin, size, at, length, strict=True)
            ):
                raise TracingError(
                    f"{where}: two slices share places", expected="slices of different places of an array"
                )
        own = self.sizes.of(size, where)
        if own in value.own:
            own = self.sizes.another(self.sizes.root(own), value.own)
        labels: list[Label] = [own if i == axis else x for i, x in enumerate(value.labels)]
        array = Array(-1, tuple(size for _ in labels), long_name(self.tensors[value.tensor][0]))
        written = self.tensors[value.tensor][1]
        order = [own if x == label else x for x in written if x != label or own != "1"]
        said = self._say(f"slice({{}}, {label}, {own})", (value,), array, order, equation.frames, typed=False)
        if own == "1":  # one place is no dimension
            labels[axis] = None
        made = Value(said.tensor, tuple(labels))
        known.append((begin or (), size, made))
        return made

    def _concatenated(self, equation: Equation, operands: Sequence[Value | Constant]) -> Value:
        """Arrays behind one another."""
        where, result = str(user_frame(equation.frames) or "the function"), equation.results[0]
        axis = int(equation.params.get("dimension", equation.params.get("axis", 0)))
        if any(not isinstance(operand, Value) for operand in operands):
            raise TracingError(
                f"{where}: numbers are joined to an array", expected="arrays that are arguments, or made of them"
            )
        parts = [operand for operand in operands if isinstance(operand, Value)]
        if equation.primitive == "stack":
            parts = [replace(v, labels=(*v.labels[:axis], None, *v.labels[axis:])) for v in parts]
        first, *others = parts
        whole = self.sizes.of(result.shape[axis], where)
        if whole in {x for part in parts for x in part.own}:
            whole = self.sizes.another(self.sizes.root(whole), [x for part in parts for x in part.own])
        aligned = [first]
        for other in others:
            names = {
                b: a
                for i, (a, b) in enumerate(zip(first.labels, other.labels, strict=True))
                if i != axis and a is not None and b is not None and a != b
            }
            aligned.append(self._renamed(other, names, equation.frames))
        labels = tuple(whole if i == axis else x for i, x in enumerate(first.labels))
        places = ", ".join("{}" for _ in aligned)
        return self._say(f"concat({places})", aligned, result, labels, equation.frames)

    def _appended(self, equation: Equation, cache: Value, new: Value | Constant) -> Value:
        """Entries that are written into an argument, along the one dimension in which they are fewer."""
        where = str(user_frame(equation.frames) or "the function")
        arrays = [operand for operand in equation.operands[:2] if isinstance(operand, Array)]
        if cache.tensor not in self.arguments or not isinstance(new, Value) or len(arrays) < 2:
            raise TracingError(f"{where}: what is written to is no argument", expected="a cache that is an argument")
        shorter = [i for i, (a, b) in enumerate(zip(*(array.shape for array in arrays), strict=True)) if a != b]
        if len(shorter) != 1 or None in cache.labels:
            raise TracingError(f"{where}: entries are written along several dimensions", expected="along one")
        (axis,) = shorter
        names = {
            b: a
            for i, (a, b) in enumerate(zip(cache.labels, new.labels, strict=True))
            if i != axis and a is not None and b is not None and a != b
        }
        new = self._renamed(new, names, equation.frames)
        text = f"append({{}}, {{}}, {cache.labels[axis]})"
        return self._say(text, (cache, new), equation.results[0], cache.labels, equation.frames, typed=False)
