"""A trace as a program: equations as statements, calls that are known as functions, loops as repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count

from symroof.formula import names as names_in
from symroof.model.collectives import MeshAxis
from symroof.model.functions import COLLECT, FUNCTIONS, PLACE
from symroof.model.program import Program
from symroof.model.program_tree import Declared, Fuse, Node, Recompute, Repeat, Statement, statements_in
from symroof.model.tensor_types import Dim
from symroof.tracing.primitives import COMPARED, REDUCED, RULES, Operands, Statements
from symroof.tracing.repeats import find_repeats, with_tensors
from symroof.tracing.size_names import Sizes, formula_of
from symroof.tracing.traced_values import Axis, Value
from symroof.tracing.traces import (
    Array,
    Constant,
    Equation,
    Instruction,
    KnownCalls,
    Loop,
    Operand,
    Recomputation,
    Region,
    Trace,
    TracingError,
    operands_in,
    place_of,
    refusal,
    regions,
)


class Lowering(Statements):
    """``roles`` are those of arguments by name, ``dims`` their dimensions."""

    def __init__(
        self, trace: Trace, sizes: Sizes, calls: KnownCalls, roles: Mapping[str, str], dims: Mapping[str, Sequence[Dim]]
    ) -> None:
        super().__init__(sizes)
        self.trace, self.calls, self.roles = trace, calls, roles
        self.shared: set[str] = set()  # arguments that all turns have
        self.starts: set[str] = set()  # what begins as a number and is carried
        self.scan_notes: dict[str, str] = {}  # what stands beside a scan, by what enters it
        self.uses: Mapping[int, int] = Counter(array.key for array in (*operands_in(trace.body), *trace.results))
        for name, dims_of in dims.items():
            array, tensor = trace.arguments[name], self.tensor(trace.arguments[name].dtype, ())
            own = tuple(dim for dim in dims_of if dim.label != "1")  # one place is no dimension
            self.types[tensor] = replace(self.types[tensor], dims=own)
            self.arguments[tensor] = name
            self.values[array.key] = Value(tensor, tuple(() if dim.label == "1" else (dim.label,) for dim in dims_of))

    def program(self) -> tuple[Program, Mapping[str, str]]:
        """The program, and what stands beside its lines, by how they start: where in the code they come from."""
        self.lower(self.trace.body)
        results = [value for array in self.trace.results if isinstance(value := self.values.get(array.key), Value)]
        returned = list(dict.fromkeys(self.flat(value, None, ()).tensor for value in results))
        if not self.body:
            raise TracingError("the function makes nothing of its arguments", expected="an operation on them")
        self._require_used({*returned})
        body = tuple(with_tensors(node, self.types) for node in _live(self.body, {*returned}))
        stocks = {tensor for tensor, name in self.arguments.items() if self.roles.get(name, "input") != "input"}
        roll = find_repeats(body, stocks, {*returned})
        self.shared |= roll.shared
        returned = [roll.replacements.get(tensor, tensor) for tensor in returned]
        names = self._names(roll.body)
        operands = {str(tensor.name) for statement in statements_in(roll.body) for tensor in statement.operands}
        declared = tuple(self._declaration(tensor, names) for tensor in self.arguments if tensor in operands)
        again = tuple(names[tensor] for tensor in returned if tensor in operands and tensor not in self.arguments)
        body = _with_names(roll.body, names)
        mesh = tuple(MeshAxis(axis, chips) for axis, chips in self.trace.mesh.items())
        definitions = self.sizes.definitions_of(_sizes_in(declared, body))
        return Program(declared, body, definitions, again, mesh=mesh), self._notes(names)

    def _notes(self, names: Mapping[str, str]) -> dict[str, str]:
        """What stands beside lines, by how they start."""
        notes = {f"{names[tensor]} = ": source.place for tensor, source in self.sources.items() if tensor in names}
        notes |= {f" {self.arguments[tensor]}: ": "begins as numbers" for tensor in self.starts}
        return notes | {f" as {names[tensor]} = ": note for tensor, note in self.scan_notes.items() if tensor in names}

    def _require_used(self, returned: set[str]) -> None:
        """Whatever an equation uses, a statement says."""
        live = {statement.name for statement in statements_in(tuple(_live(self.body, returned)))}
        idle = self.sources.keys() - live - returned
        for key, value in self.values.items():
            if isinstance(value, Value) and self.uses[key] and value.tensor in idle:
                place, expected = self.sources[value.tensor].place, "sums, products, functions"
                raise refusal(place, "what this is used for no statement says", expected)

    def _declaration(self, tensor: str, names: Mapping[str, str]) -> Declared:
        name = names[tensor]
        role = self.roles.get(name, "input")
        frozen = tensor in self.starts or name in self.trace.frozen
        return Declared(role, replace(self.types[tensor], name=name), frozen, tensor in self.shared and role != "input")

    def _names(self, body: tuple[Node, ...]) -> dict[str, str]:
        """A name for each tensor: that of an argument, of the variable that the last statement of its line is assigned to, or
        t1, t2."""
        names, results = dict(self.arguments), [statement.name for statement in statements_in(body)]
        taken, last = {*names.values(), *FUNCTIONS, "max", "min", "sum", "mean"}, {}
        for tensor in results:
            last[self.sources[tensor]] = tensor
        plain = (f"t{number}" for number in count(1))
        for tensor in results:
            variable = self.sources[tensor].variable if last[self.sources[tensor]] == tensor else ""
            tries = chain((variable,), (f"{variable}{number}" for number in count(1))) if variable else iter(plain)
            names[tensor] = next(name for name in tries if name not in taken and self.sizes.is_free(name))
            taken.add(names[tensor])
        return names

    # Bodies.

    def lower(self, body: Sequence[Instruction]) -> None:
        for part in regions(body, self.calls):
            if isinstance(part, Region):
                self._region(part)
            elif isinstance(part, Loop):
                self._loop(part)
            elif isinstance(part, Recomputation):
                self.nest(Recompute, partial(self.lower, part.body))
            else:
                self.equation(part)

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
            self.values[result.key] = self.reshard(equation, live[0])
        elif not result.floating and equation.primitive not in ("dot_general", "gather", "slice"):
            self.values[result.key] = self._places(equation, operands, live)
        else:
            rule = RULES.get(equation.primitive, lambda *_: None)
            output = self.view(equation, live[0]) or rule(self, equation, operands, live)
            if output is None:
                frame = next((frame for frame in equation.frames if frame.own), None)
                name = "f" if frame is None else f"{frame.file.rsplit('/', 1)[-1]}:{frame.function}"
                raise TracingError(
                    f"{equation.where}: {equation.primitive} of {', '.join(map(str, equation.arrays))} is no statement",
                    expected="products, sums, reductions, functions of each element or row, views",
                    hint=f"say what the function that it stands in is: --function {name}=NAME, one of the table",
                )
            self.values[result.key] = output

    def _places(self, equation: Equation, operands: Operands, live: Sequence[Value]) -> Value | Constant:
        """Numbers of places are what they are made of; to compare two tensors is to subtract one."""
        if equation.primitive in COMPARED and len({v.tensor for v in live}) == 2:
            return self.combine(equation, live[0], live[1], "-", self.element(live[0]).name)
        same = (v for v in live if len(v.axes) == len(equation.results[0].shape))
        return self.view(equation, live[0]) or next(same, Constant())

    def _region(self, region: Region) -> None:
        if region.call.name is None:
            self.nest(Fuse, partial(self._inline, region))
            return
        enters, leaves = region.ends(self.uses)
        operands = [value for array in enters if isinstance(value := self.values[array.key], Value)]
        before, cuts, where = len(self.body), {key: [*parts] for key, parts in self.cuts.items()}, len(self.sizes.where)
        single = len(leaves) == 1 and bool(operands)
        try:
            self._inline(region)
        except TracingError:  # what is inside need not be said, where the function has the shape of its operand
            if not single or enters[0].shape != leaves[0].shape:
                raise
            self.values[leaves[0].key] = operands[0]
        result = self.values[leaves[0].key] if single else None
        if not isinstance(result, Value) or {*result.labels} != {*operands[0].labels}:
            return
        over = self._over(region, operands[0])
        if over is None:
            return
        for statement in statements_in(tuple(self.body[before:])):
            del self.sources[statement.name]
        del self.body[before:]
        self.cuts = cuts
        self.sizes.forget(where, result.labels)
        function = FUNCTIONS.get(region.call.name)
        gains = min(len(operands) - 1, function.gains if function is not None else 0)
        kind, frames = leaves[0].dtype, region.call.frames
        self.values[leaves[0].key] = replace(
            self.apply(region.call.name, operands[: 1 + gains], kind, frames, over or None), axes=result.axes
        )

    def _inline(self, region: Region) -> None:
        """The equations of a call as statements of their own."""
        calls = self.calls
        self.calls = replace(calls, opened=(*calls.opened, region.call.function))
        try:
            self.lower(region.body)
        finally:
            self.calls = calls

    def _over(self, region: Region, operand: Value) -> str | None:
        """The dimension that a function of rows is over, which a call reduces; None where there is not one, and nothing for a
        function of elements."""
        function = FUNCTIONS.get(str(region.call.name))
        if function is None or not function.rows:
            return ""
        labels = set[str]()
        for equation in region.body:
            value = self.read(equation.operands[0]) if equation.primitive in REDUCED else None
            if isinstance(value, Value):
                labels |= {str(part) for axis in equation.params["axes"] for part in value.axes[int(axis)]}
        return labels.pop() if len(labels) == 1 else None

    # Loops.

    def _loop(self, loop: Loop) -> None:
        """Turns: what is carried; of what is scanned each turn has weights of its own, or its place; what is stacked
        each puts at its place."""
        where, carried = place_of(loop.frames), self._enter(loop)
        scanned = {operand: value for operand, _ in loop.scanned if isinstance(value := self.read(operand), Value)}
        placed = {
            operand
            for operand, value in scanned.items()
            if self.roles.get(self.arguments.get(value.tensor, ""), "input") == "input"
        }
        stacked = [both for both in zip(loop.down, loop.stacked, strict=True) if self.uses[both[1].key]]
        scans = bool(placed or stacked) and scanned.keys() <= placed
        turns, pairs, used = self.sizes.label(loop.times), list[tuple[Value, Value]](), {*self.used}

        def fill() -> None:
            self.used = set()
            for operand, part in loop.scanned:
                self.values[part.key] = self._scan_part(operand, part, loop, operand in placed)
            starts = [self.values[loop.enters[place].key] for place in carried]
            self.lower(loop.body)
            for start, place in zip(starts, carried, strict=True):
                left = self.read(loop.leaves[place])
                if not isinstance(left, Value) or not isinstance(start, Value):
                    raise refusal(where, "the turns make nothing", "a tensor that is carried")
                pairs.append((start, self.align(start, left, loop.frames)[1]))  # with the names of what enters it
            for put, whole in dict(reversed(stacked)).items():
                self.values[whole.key] = self._collect(put, whole, loop, turns)

        def repeat(body: tuple[Node, ...]) -> Node:
            carries = tuple((start.tensor, left.tensor) for start, left in pairs)
            return Repeat(formula_of(turns), carries, body, scans=scans)

        self.nest(repeat, fill)
        wholes = dict(reversed(stacked))
        self.values |= {whole.key: self.values[wholes[put].key] for put, whole in stacked}
        if not scans:
            own = {value.tensor for value in scanned.values()} | {tensor.tensor for pair in pairs for tensor in pair}
            self.shared |= {tensor for tensor in self.used if tensor in self.arguments and tensor not in own}
        self.used |= used
        if loop.reversed and (placed or stacked):
            self.scan_notes[pairs[0][0].tensor] = f"{where}, from the last place to the first"
        for (_, left), place in zip(pairs, carried, strict=True):
            self.values[loop.results[place].key] = left

    def _enter(self, loop: Loop) -> list[int]:
        """The places of the tensors that turns carry; the first turn begins with their values."""
        carried = [i for i, array in enumerate(loop.enters) if array.floating and self._is_carried(loop, i)]
        if not carried:
            raise refusal(place_of(loop.frames), "a loop carries no tensor", "tensors of the function's")
        for i, operand in enumerate(loop.carried):
            value = self.read(operand)
            begins = i in carried and not isinstance(value, Value)
            self.values[loop.enters[i].key] = self._start(loop.enters[i]) if begins else value
            self.values[loop.results[i].key] = Constant()
        return carried

    def _is_carried(self, loop: Loop, place: int) -> bool:
        """Whether something goes from turn to turn that an argument goes into, or that turns change."""
        start, end = self.read(loop.carried[place]), loop.leaves[place]
        return isinstance(start, Value) or (isinstance(end, Array) and end.key != loop.enters[place].key)

    def _start(self, array: Array) -> Value:
        """What is carried and begins as a number, as zeros do: something that comes from outside and is not trained."""
        axes: list[Axis] = []
        for size in array.shape:
            taken = [str(part) for axis in axes for part in axis]
            axes.append(() if size == 1 else (self.sizes.label(size, taken),))
        tensor = self.tensor(array.dtype, [str(part) for axis in axes for part in axis])
        names = chain(("start",), (f"start{number}" for number in count(2)))
        self.arguments[tensor] = next(name for name in names if name not in self.arguments.values())
        self.starts.add(tensor)
        return Value(tensor, tuple(axes))

    def _scan_part(self, operand: Operand, part: Array, loop: Loop, placed: bool) -> Value | Constant:
        """What a turn has of something that is scanned: a weight is another one in each turn, of all else it has its place."""
        value = self.read(operand)
        if not isinstance(value, Value):
            return Constant()
        along = value.axes[0]
        if len(along) != 1 or not isinstance(along[0], str):
            raise refusal(place_of(loop.frames), "what is scanned has one place", "a place for each turn")
        dims = self.types[value.tensor].dims
        if any(dim.axes for dim in dims if dim.label == along[0]):
            expected = "turns on every chip, or in the text repeat L over P as x = y"
            raise refusal(place_of(loop.frames), "chips share out the turns of a loop", expected)
        own = tuple(dim for dim in dims if dim.label != along[0])
        if not placed:
            self.types[value.tensor] = replace(self.types[value.tensor], dims=own)
            return Value(value.tensor, value.axes[1:])
        labels = tuple(dim.label for dim in own)
        result = self.add("function", [value], self.element(value), labels, loop.frames, function=PLACE)
        if value.tensor in self.arguments:
            name = f"{self.arguments[value.tensor]}_{along[0].lower()}"
            self.sources[result] = replace(self.sources[result], variable=name)
        return Value(result, value.axes[1:])

    def _collect(self, put: Operand, whole: Array, loop: Loop, along: str) -> Value:
        """What all turns have made of something."""
        value = self.read(put)
        if not isinstance(value, Value) or put in loop.enters or value.tensor in self.arguments:
            raise refusal(place_of(loop.frames), "what is stacked is not made in the turns", "what each turn makes")
        labels = (along, *self.types[value.tensor].labels)
        result = self.add("function", [value], whole.dtype, labels, loop.frames, function=COLLECT)
        return Value(result, ((along,), *value.axes))


def _with_names(body: Sequence[Node], names: Mapping[str, str]) -> tuple[Node, ...]:
    """The nodes with the names of their tensors in the program."""
    tensors = (tensor for line in statements_in(tuple(body)) for tensor in (*line.operands, line.result))
    final = {str(tensor.name): replace(tensor, name=names[str(tensor.name)]) for tensor in tensors}
    return tuple(with_tensors(node, final) for node in body)


def _sizes_in(declared: Sequence[Declared], body: tuple[Node, ...]) -> Iterator[str]:
    """The names of sizes that a program speaks of."""
    yield from (label for declaration in declared for label in declaration.tensor.labels)
    for statement in statements_in(body):
        yield from statement.result.labels
        yield from names_in(statement.factor) if statement.factor is not None else ()
    yield from (name for node in body if isinstance(node, Repeat) for name in names_in(node.times))


def _live(body: Sequence[Node], used: set[str]) -> list[Node]:
    """The nodes that something used comes from; ``used`` grows by what they take."""
    nodes: list[Node] = []
    for node in reversed(body):
        if isinstance(node, Statement):
            if node.name not in used:
                continue
            used |= {str(tensor.name) for tensor in node.operands}
        else:
            used |= {name for pair in node.carried for name in pair} if isinstance(node, Repeat) else set()
            node = replace(node, body=tuple(_live(node.body, used)))
            if not node.body:
                continue
        nodes.append(node)
    return nodes[::-1]
