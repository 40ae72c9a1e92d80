"""A trace as the text of a program: equations as statements, calls that are known as functions, loops as repeats.

A value is a tensor of the program, and for each of its dimensions the label there: None where the tensor has none, one place or
the same numbers at all of them. What no argument goes into is no tensor."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count

from symroof.model.dtype import dtype
from symroof.model.functions import FUNCTIONS
from symroof.model.spelling import spelled_size
from symroof.tracing.equation_writer import REDUCED, EquationWriter
from symroof.tracing.jaxprs import user_frame
from symroof.tracing.program_lines import Region, Value, Written, ends, regions
from symroof.tracing.rolling import rolled
from symroof.tracing.traced import Array, Constant, Equation, Loop, Made, Trace, TracingError, operands_in


class Writer(EquationWriter):
    def text(self, trace: Trace) -> str:
        """The program of a trace."""
        for name, (kind, labels) in self.declared.items():
            array = trace.arguments[name]
            number = self._tensor(kind, [label for label in labels if label != "1"])  # one place is no dimension
            self.arguments[number] = name
            self.values[array.key] = Value(number, tuple(None if label == "1" else label for label in labels))
        self.uses = Counter(array.key for array in (*operands_in(trace.body), *trace.results))
        self._body(trace.body)
        results = [self.values.get(array.key) for array in trace.results]
        returned = [value.tensor for value in results if isinstance(value, Value)]
        if not any(line.result is not None for line in self.lines):
            raise TracingError("the function makes nothing of its arguments", expected="an operation on them")
        self._require_used(frozenset(returned))
        stocks = frozenset(t for t, name in self.arguments.items() if self.roles.get(name, "input") != "input")
        self.lines, gone, alike, left = rolled(self.lines, self.tensors, stocks, frozenset(returned))
        returned = [t for t in returned if t in left] + sorted(left - {*returned})
        self.alike |= alike
        self.arguments = {t: name for t, name in self.arguments.items() if t not in gone}
        names = self._names()
        used = {tensor for line in self.lines for tensor in line.uses}
        taken = {tensor for line in self.lines if line.result is not None for tensor in line.uses}
        again = [names[t] for t in dict.fromkeys(returned) if t in taken and t in names and t not in self.arguments]
        body = [*self._declarations(used), *(self._line(line, names) for line in self.lines)]
        where = self._where("\n".join(body))
        output = [f"output {', '.join(again)}"] if again else []
        place = len(body) - len(self.lines)
        self.returned = tuple(sorted({names[t] for t in returned if t in names and t not in self.arguments}))
        return "\n".join([*body[:place], *where, *body[place:], *output]) + "\n"

    def _require_used(self, returned: frozenset[int]) -> None:
        """What nothing uses is left out; what something uses that no statement says is told."""
        told = {
            value.tensor: key for key, value in self.values.items() if isinstance(value, Value) and self.uses.get(key)
        }
        while True:
            used = {t for line in self.lines for t in line.uses} | returned
            idle = next((line for line in self.lines if line.result is not None and line.result not in used), None)
            if idle is None:
                return
            if idle.result in told:
                raise TracingError(
                    f"{idle.comment}: what this is used for no statement says", expected="sums, products, functions"
                )
            self.lines.remove(idle)

    def _where(self, text: str) -> list[str]:
        """The sizes that others define, as far as something has them."""
        found: list[str] = []
        for name, formula in reversed(self.sizes.where.items()):
            if re.search(rf"(?<![^\W_]){name}(?![^\W_])", "\n".join((text, *found))):
                found.insert(0, f"where {name} = {spelled_size(formula)}")
        return found

    def _body(self, body: Sequence[Made]) -> None:
        for one in regions(body, self.known):
            if isinstance(one, Region):
                self._region(one)
            elif isinstance(one, Equation):
                self._equation(one)
            elif isinstance(one, Loop):
                self._loop(one)
            else:
                self._braced("recompute", partial(self._body, one.body))

    def _region(self, region: Region) -> None:
        taken, left = ends(region, self.uses)
        if region.name is None:
            self._braced("fuse", partial(self._opened, region))
            return
        operands = [value for array in taken if isinstance(value := self.values[array.key], Value)]
        lines, tensors = len(self.lines), len(self.tensors)
        cut, sizes = {key: list(parts) for key, parts in self.cut.items()}, list(self.sizes.where)
        try:
            self._opened(region)
        except TracingError:  # what is inside need not be said, where the function has the shape of its operand
            if len(left) != 1 or not operands or taken[0].shape != left[0].shape:
                raise
            self.values[left[0].key] = operands[0]
        said = self._function(region, operands, left[0]) if len(left) == 1 and operands else ""
        made = self.values[left[0].key] if said else None
        if isinstance(made, Value):
            del self.lines[lines:], self.tensors[tensors:]
            self.cut = cut
            self.sizes.forget(name for name in {*self.sizes.where} - {*sizes, *made.own})
            kind, own = self.tensors[operands[0].tensor]
            typed = dtype(left[0].dtype).name != kind or list(made.own) != list(own)
            uses = operands[: said.count("{}")]
            self.values[left[0].key] = self._say(said, uses, left[0], made.labels, region.frames, typed=typed)

    def _opened(self, region: Region) -> None:
        """The equations of a call as statements of their own."""
        known, depth = self.known, self.depth
        self.known = replace(known, opened=(*known.opened, region.function))
        try:
            self._body(region.body)
        finally:
            self.known, self.depth = known, depth

    def _function(self, region: Region, operands: list[Value], result: Array) -> str:
        """A call as a function of the table; nothing where its result has other dimensions than its first operand, or where it works
        on several of them."""
        assert region.name is not None
        function, made = FUNCTIONS.get(region.name), self.values[result.key]
        if not isinstance(made, Value) or {*made.own} != {*operands[0].own}:
            return ""
        over = ""
        if function is not None and function.rows:
            labels = {label for one in region.body if isinstance(one, Equation) for label in self._reduced(one)}
            if len(labels) != 1:
                return ""
            label = labels.pop()
            over = f", {label}" if label != self.tensors[operands[0].tensor][1][-1] else ""
        gains = min(len(operands) - 1, function.gains if function is not None else 0)
        return f"{region.name}({', '.join('{}' for _ in range(1 + gains))}{over})"

    def _reduced(self, equation: Equation) -> Iterator[str | None]:
        """The labels that an equation is over."""
        value = self._read(equation.operands[0])
        if equation.primitive in REDUCED and isinstance(value, Value):
            yield from (value.labels[int(axis)] for axis in equation.params["axes"])

    def _is_carried(self, loop: Loop, place: int) -> bool:
        """Whether something goes from turn to turn that an argument goes into, or that turns change."""
        start, end = self._read(loop.carried[place]), loop.leaves[place]
        return isinstance(start, Value) or (isinstance(end, Array) and end.key != loop.enters[place].key)

    def _loop(self, loop: Loop) -> None:
        """Turns: what is carried; of what is scanned each turn has weights of its own, or its place; what is stacked
        each puts at its place."""
        where = str(user_frame(loop.frames) or "the function")
        carried = [i for i, array in enumerate(loop.enters) if array.floating and self._is_carried(loop, i)]
        if not carried:
            raise TracingError(f"{where}: a loop carries no tensor", expected="tensors of the function's")
        for i, operand in enumerate(loop.carried):
            value = self._read(operand)
            begins = i in carried and not isinstance(value, Value)
            self.values[loop.enters[i].key] = self._begun(loop.enters[i], where) if begins else value
            self.values[loop.results[i].key] = Constant()
        placed = [both for both in loop.scanned if self._is_placed(both[0])]
        stacked = [both for both in zip(loop.down, loop.stacked, strict=True) if self.uses[both[1].key]]
        for operand, part in loop.scanned:
            value = self._read(operand)
            if not isinstance(value, Value):
                self.values[part.key] = Constant()
            elif (operand, part) not in placed:
                self._own_of_turns(value, part)
        starts = [self.values[loop.enters[place].key] for place in carried]
        before = len(self.lines)
        turns = self.sizes.of(loop.times, where)
        self.lines.append(Written(self.depth, ""))
        self.depth += 1
        for operand, part in placed:
            self._place(operand, part, loop, where)
        self._body(loop.body)
        pairs: list[tuple[Value, Value]] = []
        for start, place in zip(starts, carried, strict=True):
            left = self._read(loop.leaves[place])
            if not isinstance(left, Value) or not isinstance(start, Value):
                raise TracingError(f"{where}: the turns make nothing", expected="a tensor that is carried")
            names = {b: a for a, b in zip(start.labels, left.labels, strict=True) if a and b and a != b}
            pairs.append((start, self._renamed(left, names, loop.frames)))  # with the names of what enters it
        wholes = dict(reversed(stacked))
        for put, whole in wholes.items():
            self._collect(put, whole, loop, turns, where)
        self.values |= {whole.key: self.values[wholes[put].key] for put, whole in stacked}
        self.depth -= 1
        head, uses = ", ".join("{} = {}" for _ in pairs), tuple(one.tensor for pair in pairs for one in pair)
        own = {operand for operand, _ in loop.scanned if isinstance(self._read(operand), Value)}
        scans = bool(placed or stacked) and own <= {operand for operand, _ in placed}
        comment = f"{where}, from the last place to the first" if loop.reversed and (placed or stacked) else ""
        word = "scan" if scans else "repeat"
        self.lines[before] = Written(self.depth, f"{word} {turns} as {head} {{{{", uses, comment=comment)
        self.lines.append(Written(self.depth, "}}"))
        scanned = {value.tensor for operand, _ in loop.scanned if isinstance(value := self._read(operand), Value)}
        used = {t for line in self.lines[before:] for t in line.uses} if not scans else set()
        self.alike |= {t for t in used if t in self.arguments and t not in scanned and t not in uses}
        for (_, left), place in zip(pairs, carried, strict=True):
            self.values[loop.results[place].key] = left

    def _begun(self, array: Array, where: str) -> Value:
        """What is carried and begins as a number, as zeros do: something that comes from outside and is not trained."""
        labels = [None if {*n} == {1} else self.sizes.of(n, where) for n in array.shape]
        tensor = self._tensor(dtype(array.dtype).name, [label for label in labels if label is not None])
        taken, more = {*self.arguments.values()}, (f"start{i}" for i in count(2))
        self.arguments[tensor] = next(name for name in chain(("start",), more) if name not in taken)
        self.begun.add(tensor)
        return Value(tensor, tuple(labels))

    def _is_placed(self, operand: Array | Constant) -> bool:
        """Whether a turn has a place of what is scanned: of weights each has its own."""
        value = self._read(operand)
        return isinstance(value, Value) and self.roles.get(self.arguments.get(value.tensor, ""), "input") == "input"

    def _own_of_turns(self, value: Value, part: Array) -> None:
        """A weight that is scanned is another one in each turn."""
        kind, labels = self.tensors[value.tensor]
        self.tensors[value.tensor] = kind, tuple(x for x in labels if x != value.labels[0])
        self.values[part.key] = Value(value.tensor, value.labels[1:])

    def _place(self, operand: Array | Constant, part: Array, loop: Loop, where: str) -> None:
        """What a turn has of something that is scanned."""
        value = self._read(operand)
        assert isinstance(value, Value)
        along = value.labels[0]
        if along is None:
            raise TracingError(
                f"{where}: what is scanned has one place", expected="a dimension with a place for each turn"
            )
        self.values[part.key] = self._say(f"place({{}}, {along})", (value,), part, value.labels[1:], loop.frames)
        if value.tensor in self.arguments:
            self.lines[-1].called = f"{self.arguments[value.tensor]}_{along.lower()}"

    def _collect(self, put: Array | Constant, whole: Array, loop: Loop, along: str, where: str) -> None:
        """What all turns have made of something."""
        value = self._read(put)
        if not isinstance(value, Value) or put in loop.enters or value.tensor in self.arguments:
            raise TracingError(f"{where}: what is stacked is not made in the turns", expected="what each turn makes")
        labels = (along, *value.labels)
        self.values[whole.key] = self._say(f"collect({{}}, {along})", (value,), whole, labels, loop.frames)
