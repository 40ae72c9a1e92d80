"""Programs on numbers: every statement is carried out on random tensors of a few elements, turn by turn of each repeat.

What is run are the statements that the program shows, forward and backward; multiplications and additions are counted in
plain loops.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from itertools import permutations, product as tuples

import numpy as np

from symroof.model.program import Program
from symroof.model.program_tree import SUM, Block, Fuse, Node, Recompute, Repeat, Statement
from symroof.model.tensor_types import Tensor
from symroof.symbols import expression, symbol

Values = MutableMapping[str, np.ndarray]
C = np.sqrt(2 / np.pi)


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _rms(x: np.ndarray, axis: int) -> np.ndarray:
    return x / np.sqrt((x * x).mean(axis, keepdims=True) + 0.1)


def _layer(x: np.ndarray, axis: int) -> np.ndarray:
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 0.1)


def _gelu(x: np.ndarray, axis: int) -> np.ndarray:
    return x * (1 + np.tanh(C * (x + 0.044715 * x**3))) / 2


FUNCTIONS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "scale": lambda x, axis: x / 2,
    "sqrt": lambda x, axis: np.sqrt(x),
    "tanh": lambda x, axis: np.tanh(x),
    "exp": lambda x, axis: np.exp(x),
    "log": lambda x, axis: np.log(x),
    "reciprocal": lambda x, axis: 1 / x,
    "rsqrt": lambda x, axis: x**-0.5,
    "gelu": _gelu,
    "relu": lambda x, axis: np.maximum(x, 0),
    "silu": lambda x, axis: x / (1 + np.exp(-x)),
    "sigmoid": lambda x, axis: 1 / (1 + np.exp(-x)),
    "convert": lambda x, axis: x.copy(),
    "shift": lambda x, axis: x + 2,
    "softmax": _softmax,
    "layer_norm": _layer,
}


def _softmax_back(p: np.ndarray, dy: np.ndarray, axis: int) -> np.ndarray:
    return p * (dy - (p * dy).sum(axis, keepdims=True))


def _rms_back(x: np.ndarray, dy: np.ndarray, axis: int) -> np.ndarray:
    r = 1 / np.sqrt((x * x).mean(axis, keepdims=True) + 0.1)
    return r * dy - x * r**3 * (dy * x).mean(axis, keepdims=True)


def _layer_back(x: np.ndarray, dy: np.ndarray, axis: int) -> np.ndarray:
    centred = _rms_back(x - x.mean(axis, keepdims=True), dy, axis)
    return centred - centred.mean(axis, keepdims=True)


def _gelu_back(x: np.ndarray, dy: np.ndarray, axis: int) -> np.ndarray:
    t = np.tanh(C * (x + 0.044715 * x**3))
    return dy * ((1 + t) / 2 + x / 2 * (1 - t * t) * C * (1 + 3 * 0.044715 * x * x))


def _silu_back(x: np.ndarray, dy: np.ndarray, axis: int) -> np.ndarray:
    s = 1 / (1 + np.exp(-x))
    return dy * (s + x * s * (1 - s))


# Of what the backward pass keeps: the operand of most, the result of those that have the same name for it, else nothing.
DERIVATIVES: dict[str, Callable[..., np.ndarray]] = {
    "scale'": lambda dy, axis: dy / 2,
    "exp'": lambda y, dy, axis: dy * y,
    "log'": lambda x, dy, axis: dy / x,
    "reciprocal'": lambda y, dy, axis: -dy * y**2,
    "rsqrt'": lambda y, dy, axis: -dy * y**3 / 2,
    "gelu'": _gelu_back,
    "silu'": _silu_back,
    "sigmoid'": lambda s, dy, axis: dy * s * (1 - s),
    "convert'": lambda dy, axis: dy,
    "softmax'": _softmax_back,
    "layer_norm'": _layer_back,
}


def _gained(arrays: list[np.ndarray], over: int) -> np.ndarray:
    return _rms(arrays[0], -1) * (arrays[1] if len(arrays) > 1 else 1)


def _gained_back(arrays: list[np.ndarray], over: int, place: int, shape: list[int]) -> np.ndarray:
    x, dy = arrays[0], arrays[-1]
    if place == 0:
        return _rms_back(x, dy * (arrays[1] if len(arrays) > 2 else 1), -1)
    return (_rms(x, -1) * dy).reshape(-1, *shape).sum(0)


def _looked_up_back(arrays: list[np.ndarray], over: int, place: int, shape: list[int]) -> np.ndarray:
    ids, dy = arrays
    found = np.zeros(shape)
    np.add.at(found, ids.astype(int), dy)
    return found


# Functions of several operands, and functions whose result has other dimensions: values, and gradients by place.
OTHERS: dict[str, tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]] = {
    "rms_norm": (_gained, _gained_back),
    "lookup": (lambda arrays, over: arrays[0][arrays[1].astype(int)], _looked_up_back),
    "divide": (
        lambda arrays, over: arrays[0] / arrays[1],
        lambda arrays, over, place, shape: (
            -arrays[2] * arrays[1] / arrays[0] if len(arrays) == 3 else arrays[1] / arrays[0]
        ),
    ),
    "rearrange": (lambda arrays, over: arrays[0], lambda arrays, over, place, shape: arrays[0].reshape(shape)),
    "square": (lambda arrays, over: arrays[0] ** 2, lambda arrays, over, place, shape: 2 * arrays[0] * arrays[1]),
}


@dataclass
class Interpreter:
    """One run of a program at sizes. ``declared`` holds an array for each turn in which a weight or cache is another."""

    program: Program
    sizes: dict[str, int]
    declared: dict[tuple[str, tuple[int, ...]], np.ndarray]
    returned: dict[str, list[np.ndarray]] = field(default_factory=dict)
    turns: dict[tuple[int, tuple[int, ...]], Values] = field(default_factory=dict)
    gradients: dict[tuple[str, tuple[int, ...]], np.ndarray] = field(default_factory=dict)
    multiplied: dict[str, int] = field(default_factory=dict)  # products and additions in loops, by statement
    added: dict[str, int] = field(default_factory=dict)
    results: dict[str, int] = field(default_factory=dict)  # elements that are made, by statement
    applied: dict[str, int] = field(default_factory=dict)  # operations of functions, by statement
    kept: dict[int, int] = field(default_factory=dict)  # bytes of what the backward pass reads, by array
    noted: dict[int, np.ndarray] = field(default_factory=dict)
    cut: dict[int, int] = field(default_factory=dict)  # what a slice is cut out of, by their numbers
    slices: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    stacks: dict[tuple[str, tuple[int, ...]], np.ndarray] = field(default_factory=dict)  # what turns have made together
    places: dict[tuple[int, str, int], np.ndarray] = field(default_factory=dict)  # and what each has of a tensor
    batched: bool = False  # whether what is run is one microbatch
    so_far: dict[tuple[str, tuple[int, ...]], np.ndarray] = field(default_factory=dict)  # sums over microbatches

    def forward(self) -> None:
        alike = (str(d.tensor.name) for d in self.program.declared if d.role == "input" or d.shared)
        inputs = {name: self.declared[name, ()] for name in alike if (name, ()) in self.declared}
        self.values: Values = ChainMap(dict(inputs))
        self._own(self.program.body, self.values, ())
        self._run(self.program.body, self.values, ())
        self.made = dict(self.values)

    def _own(self, body: tuple[Node, ...], values: Values, turn: tuple[int, ...]) -> None:
        """The weights and caches of a turn."""
        stocks = {str(d.tensor.name) for d in self.program.declared if d.role != "input" and not d.shared}
        for statement in statements(body, inside_repeats=False):
            for tensor in statement.operands:
                if tensor.name in stocks:
                    values[str(tensor.name)] = self.declared[str(tensor.name), self._weights_of(turn)]

    def _run(self, body: tuple[Node, ...], values: Values, turn: tuple[int, ...]) -> None:
        for node in body:
            match node:
                case Statement():
                    values[node.name] = self._done(node, values)
                    if node.name in {t.name for t in self.program.results}:
                        carried = any(node.name in repeat.leaves for repeat in repeats(self.program.body))
                        again = (carried or node.collects) and values["turn"][-1] > 0  # in the turns after the first
                        before = self.returned.get(node.name, [])[: -1 if again else None]
                        self.returned[node.name] = [*before, values[node.name]]
                case Repeat(accumulates=True):
                    self._batches(node, values)
                case Repeat():
                    entering = {name: values[name] for name in node.enters}
                    for i in range(times(node, self.sizes)):
                        inner: Values = ChainMap({}, *values.maps)  # type: ignore[attr-defined]
                        inner.update(entering)
                        inner["turn"] = np.array((*turn, i))
                        self._own(node.body, inner, turn if node.scans else (*turn, i))
                        self._run(node.body, inner, (*turn, i))
                        self.turns[id(node), (*turn, i)] = inner
                        entering = {name: inner[left] for name, left in node.carried}
                    made = {s.name for s in statements(node.body)}
                    values.update({name: inner[name] for name in made})
                case Fuse() | Block() | Recompute():
                    self._run(node.body, values, turn)

    def _batches(self, node: Repeat, values: Values) -> None:
        """Microbatches: each has its own inputs, and returns something of its own."""
        outside, self.returned, self.batched = self.returned, {}, True
        for i in range(times(node, self.sizes)):
            inner: Values = ChainMap({}, *values.maps)  # type: ignore[attr-defined]
            inner.update(
                {name: array for (name, turn), array in self.declared.items() if turn == (i,) and name in self.inputs}
            )
            self._own(node.body, inner, (i,))
            self._run(node.body, inner, (i,))
            self.turns[id(node), (i,)] = inner
            for name, arrays in self.returned.items():
                outside.setdefault(name, []).extend(arrays)
            self.returned = {}
        self.returned, self.batched = outside, False

    @property
    def inputs(self) -> set[str]:
        return {str(t.name) for t in self.program.declared_as("input")}

    def _weights_of(self, turn: tuple[int, ...]) -> tuple[int, ...]:
        """The turn whose weights are those of a turn: all microbatches have the same."""
        return turn[1:] if self.batched else turn

    def backward(self, given: dict[str, list[np.ndarray]]) -> None:
        """The statements of the backward pass; ``given`` are the gradients of the results, turn by turn."""
        assert self.program.backward is not None
        self.given = {name: list(arrays) for name, arrays in given.items()}
        found: Values = ChainMap({}, self.made)
        self._back(self.program.backward.body, found, ())
        for name, tensor in self.program.backward.gradients.items():
            if (name, ()) in self.declared and (name, ()) not in self.gradients:
                self.gradients[name, ()] = self._at(str(tensor.name), found)

    def _back(self, body: tuple[Node, ...], values: Values, turn: tuple[int, ...], fuse: Fuse | None = None) -> None:
        for node in body:
            match node:
                case Statement():
                    again = fuse.again if fuse is not None else ()
                    remade = {s.name for s in again}
                    for tensor in (t for s in (node, *again) for t in s.operands if t.name not in remade):
                        self._noted(tensor, values)
                    for tensor in node.operands:
                        self._at(str(tensor.name), values)
                    values[node.name] = self._done(node, values)
                case Fuse():
                    self._back(node.body, values, turn, node)
                case Block():
                    self._back(node.body, values, turn)
                case Repeat():
                    self._turned(node, values, turn)

    def _batches_back(self, node: Repeat, values: Values) -> None:
        """Microbatches, the last one first: what all of them add to is as those before left it; one is kept at a time."""
        assert self.program.backward is not None
        outside, kept = dict(self.kept), []
        forward = next(n for n in repeats(self.program.body) if n == node.reverses)
        self.batched = True
        inner: Values = {}
        for i in reversed(range(times(node, self.sizes))):
            self.kept = dict(outside)
            inner = ChainMap({}, self.turns[id(forward), (i,)], values)
            self._sums(inner, ())
            self._back(node.body, inner, (i,))
            self._summed(inner, ())
            for name in self.inputs & self.program.backward.gradients.keys():
                here = {t.name for s in statements(forward.body) for t in s.operands}
                if (name, (i,)) in self.declared and name in here:
                    self.gradients[name, (i,)] = inner[str(self.program.backward.gradients[name].name)]
            kept.append(self.kept)
        assert len({sum(one.values()) for one in kept}) == 1
        values.update({s.name: inner[s.name] for s in statements(node.body) if s.name in inner})
        self.batched = False

    def _sums(self, values: Values, turn: tuple[int, ...]) -> None:
        """What the microbatches before gave, for each sum that a turn has of its own; 0 at first."""
        assert self.program.backward is not None
        sums = {str(t.name): t for t in self.program.backward.incoming if str(t.name).endswith("_before")}
        for name, t in sums.items():
            zero = np.zeros([self._size(label) for label in t.labels])
            values[name] = self.so_far.get((name.removesuffix("_before"), turn), zero)

    def _summed(self, values: Values, turn: tuple[int, ...]) -> None:
        assert self.program.backward is not None
        sums = [str(t.name) for t in self.program.backward.incoming if str(t.name).endswith("_before")]
        for name in (name.removesuffix("_before") for name in sums):
            if name in values:
                self.so_far[name, turn] = values[name]

    def _turned(self, node: Repeat, values: Values, turn: tuple[int, ...]) -> None:
        assert node.reverses is not None
        assert self.program.backward is not None
        if node.accumulates:
            self._batches_back(node, values)
            return
        entering, gradients = {n: self._at(n, values) for n in node.enters}, self.program.backward.gradients
        for statement in statements(node.body, inside_repeats=False):
            if statement.placed:  # the gradient of what all turns have made
                self._at(str(statement.operands[0].name), values)
        forward = next(n for n in repeats(self.program.body) if n == node.reverses)
        sums = {str(t.name): t for t in self.program.backward.incoming if str(t.name).endswith("_before")}
        before = {name: np.zeros([self._size(label) for label in t.labels]) for name, t in sums.items()}
        for i in reversed(range(times(node, self.sizes))):
            inner: Values = ChainMap(dict(before), self.turns[id(forward), (*turn, i)], values)
            inner.update(entering)
            inner["turn"] = np.array((*turn, i))
            own = {
                str(t.name)
                for n, t in gradients.items()
                if self.batched
                and not node.scans
                and n not in self.inputs
                and (n, self._weights_of((*turn, i))) in self.declared
            }
            for name in own & {name.removesuffix("_before") for name in sums}:
                zero = np.zeros_like(before[f"{name}_before"])
                inner[f"{name}_before"] = self.so_far.get((name, self._weights_of((*turn, i))), zero)
            self._back(node.body, inner, (*turn, i))
            self.so_far.update({(name, self._weights_of((*turn, i))): inner[name] for name in own if name in inner})
            entering = {name: inner[left] for name, left in node.carried}
            before = {name: inner.get(name.removesuffix("_before"), array) for name, array in before.items()}
            for name, tensor in gradients.items() if not node.scans else ():
                if (name, self._weights_of((*turn, i))) in self.declared and name not in self.inputs:
                    self.gradients[name, self._weights_of((*turn, i))] = inner[str(tensor.name)]
        made = {s.name for s in statements(node.body)}
        values.update({name: inner[name] for name in made if name in inner})
        values.update({left: entering[name] for name, left in node.carried})

    def _at(self, name: str, values: Values) -> np.ndarray:
        """A value, or a gradient that comes from outside."""
        if name not in values:
            result = name.removeprefix("d").removesuffix("_next").removesuffix("_out")
            last = [tensor for tensor in self.program.backward.incoming if tensor.name == name]  # type: ignore[union-attr]
            if result in self.program.memory.collected:  # of which that of all turns is returned
                values[name] = np.zeros([self._size(label) for label in last[0].labels])
                return values[name]
            values[name] = self.given[result].pop()
        return values[name]

    def _noted(self, tensor: Tensor, values: Values) -> None:
        """What is read of the forward pass, once for each array."""
        stocks = {d.tensor.name for d in self.program.declared if d.role != "input"}
        root, lines = str(tensor.name), {s.name: s for s in statements(self.program.body)}
        while root in lines and lines[root].function is not None and lines[root].function.name == "view":
            root = str(lines[root].operands[0].name)
        if root in lines and lines[root].function is not None and lines[root].function.name == "concat":
            for part in lines[root].operands:  # what is joined lies where its parts do
                self._noted(part, values)
            return
        whole = root
        while (
            whole in lines
            and lines[whole].function is not None
            and lines[whole].function.name in ("slice", "view", "place")
        ):
            whole = str(lines[whole].operands[0].name)
        if tensor.name in self.program.written and whole not in stocks:
            array = self._itself(values[str(tensor.name)])
            self.kept[id(array)] = int(array.size * tensor.dtype.bytes)
            self.noted[id(array)] = array

    @staticmethod
    def _itself(array: np.ndarray) -> np.ndarray:
        """A view is what it is of."""
        while array.base is not None and array.base.size == array.size:
            array = array.base
        return array

    @property
    def saved(self) -> int:
        """The bytes that are kept: those of a slice with what it is cut out of, where that is kept."""
        return sum(size for array, size in self.kept.items() if not self._around(array) & self.kept.keys())

    def _around(self, array: int) -> set[int]:
        found: set[int] = set()
        while array in self.cut:
            array = self.cut[array]
            found.add(array)
        return found

    def _done(self, statement: Statement, values: Values) -> np.ndarray:
        arrays = [values[str(t.name)] for t in statement.operands]
        shape = [self._size(label) for label in statement.result.labels]
        if statement.function is not None and statement.function.name == "broadcast":
            self.applied[statement.name] = 0
            return _broadcast(arrays[0], statement.operands[0].labels, statement.result.labels, shape).copy()
        if statement.kind == "max":
            labels, kept = statement.operands[0].labels, statement.result.labels
            done = arrays[0].max(axis=tuple(i for i, label in enumerate(labels) if label not in kept))
            self.added[statement.name] = self.added.get(statement.name, 0) + arrays[0].size - done.size
            return _aligned(done, tuple(label for label in labels if label in kept), kept)
        if statement.placed or statement.collects:
            self.applied[statement.name] = 0
            return self._of_turn(statement, arrays[0], shape, tuple(values["turn"].tolist()))
        if statement.function is not None and statement.function.name.rstrip("'") in ("slice", "concat", "append"):
            self.applied[statement.name] = 0
            return self._laid(statement, arrays, shape)
        if statement.function is not None and statement.function.name.rstrip("'") == "windows":
            self._take(statement, arrays[0], -1)
            return self._slid(statement, arrays[-1], shape)
        if statement.function is not None and statement.function.name.rstrip("'") == "view":
            self.applied[statement.name] = 0
            return arrays[0].reshape([self._size(label) for label in statement.result.labels])
        if statement.function is not None and statement.function.name.rstrip("'").removesuffix("_gain") in OTHERS:
            return self._other(statement, arrays)
        if statement.function is not None:
            labels = statement.operands[0].labels
            axis = labels.index(statement.over) if statement.over is not None else -1
            aligned = [_aligned(a, t.labels, labels) for a, t in zip(arrays, statement.operands, strict=True)]
            known = DERIVATIVES if statement.function.name.endswith("'") else FUNCTIONS
            self._take(statement, arrays[0], axis)
            if statement.factor is not None:
                put = {symbol(name): size for name, size in self.sizes.items()}
                return _aligned(
                    arrays[0] * float(expression(statement.factor).subs(put)), labels, statement.result.labels
                )
            done = known[statement.function.name](*aligned, axis)  # type: ignore[operator]
            return _aligned(done, labels, statement.result.labels)
        product = statement.kind == "*"
        if len(arrays) == 1 or product:
            done = self._looped(statement, arrays)
            self.results[statement.name] = self.results.get(statement.name, 0) + done.size
            return -done if statement.kind == "-" else done
        target = statement.result.labels
        shape = [self._size(label) for label in target]
        first, *rest = (_broadcast(a, t.labels, target, shape) for a, t in zip(arrays, statement.operands, strict=True))
        self.added[statement.name] = self.added.get(statement.name, 0) + len(rest) * first.size
        for array in rest:
            first = first + array if statement.kind == SUM else first - array
        return first

    def _of_turn(self, statement: Statement, array: np.ndarray, shape: list[int], turn: tuple[int, ...]) -> np.ndarray:
        """What a tensor has at the place of this turn, or what the turns so far have made, each at its place."""
        own, target = statement.operands[0].labels, statement.result.labels
        whole, part = (own, target) if statement.placed else (target, own)
        (along,) = {*whole} - {*part}
        rest, axis = tuple(label for label in whole if label != along), whole.index(along)
        if statement.placed:
            key = (id(self._itself(array)), along, turn[-1])
            if key not in self.places:
                found = _aligned(np.take(array, turn[-1], axis), rest, target).copy()
                self.places[key] = found
                self.cut[id(found)] = id(self._itself(array))
                self.slices.append((found, array))
            return self.places[key]
        stack = self.stacks.setdefault((statement.name, turn[:-1]), np.zeros(shape))
        stack[tuple(turn[-1] if label == along else slice(None) for label in whole)] = _aligned(array, part, rest)
        self.cut[id(self._itself(array))] = id(stack)
        self.slices.append((array, stack))
        return stack

    def _laid(self, statement: Statement, arrays: list[np.ndarray], shape: list[int]) -> np.ndarray:
        """Slices of one tensor along one dimension follow one another, in their order; so does what is joined."""
        assert statement.function is not None
        every = {s.name: s for s in statements(self.program.body)}
        operands, target = [t.labels for t in statement.operands], statement.result.labels
        undone = statement.undone
        match statement.function.name:
            case "slice":
                cut, places = self._where(every[statement.again or statement.name])
                found = np.take(arrays[0], places, operands[0].index(cut))
                found = self._in_order(found, operands[0], target, cut).copy()
                self.cut[id(found)] = id(self._itself(arrays[0]))
                self.slices.append((found, arrays[0]))  # they stay, so that no other array has their number
                return found
            case "slice'":
                assert undone is not None
                cut, places = self._where(every[undone.statement])
                whole = np.zeros(shape) if len(arrays) == 1 else _aligned(arrays[0], operands[0], target).copy()
                index = tuple(places if x == cut else slice(None) for x in target)
                whole[index] = self._spread(arrays[-1], operands[-1], target, cut)
                return whole
            case "concat'":
                assert undone is not None
                forward = every[undone.statement]
                long = next(x for x in forward.result.labels if all(x not in t.labels for t in forward.operands))
                lengths = [self._beyond(t.labels, forward.result.labels) for t in forward.operands]
                before = sum(lengths[: undone.place])
                found = np.take(arrays[0], range(before, before + lengths[undone.place]), operands[0].index(long))
                return self._in_order(found, operands[0], target, long)
            case "concat":
                long = next(x for x in target if all(x not in labels for labels in operands))
                parts = [self._spread(a, labels, target, long) for a, labels in zip(arrays, operands, strict=True)]
                return np.concatenate(parts, target.index(long))
        cache = _aligned(arrays[0], operands[0], target).copy()
        grown = next(label for label in target if label not in operands[1])
        new = self._spread(arrays[1], operands[1], target, grown)
        cache[tuple(slice(-new.shape[i], None) if x == grown else slice(None) for i, x in enumerate(target))] = new
        return cache

    def _slid(self, statement: Statement, array: np.ndarray, shape: list[int]) -> np.ndarray:
        """Windows place by place and tap by tap, zeros around; or the gradient of each, added to where it came from."""
        every, undone = {s.name: s for s in statements(self.program.body)}, statement.undone
        forward = every[undone.statement] if undone is not None else statement
        own, made = forward.operands[0].labels, forward.result.labels
        new, lost = [x for x in made if x not in own], [x for x in own if x not in made]
        taps = new[len(lost) :]
        before = made[: made.index(taps[0])][-len(taps) :] if taps else new
        whole = dict(zip(new, lost, strict=False))
        ways = []
        for i, place in enumerate(before):
            n, p, k = self._size(whole.get(place, place)), self._size(place), self._size(taps[i]) if taps else 1
            s = next(s for s in range(1, n + 1) if n in (s * p, s * (p - 1) + k))
            around = max(s * (p - 1) + k - n, 0) // 2 if s * p == n else 0
            at = [(a, t, a * s - around + t) for a in range(p) for t in range(k)]
            ways.append(
                [(place, a, taps[i] if taps else "", t, whole.get(place, place), x) for a, t, x in at if 0 <= x < n]
            )
        back, done = undone is not None, np.zeros(shape)
        target = statement.result.labels
        image = own if not back else target
        windows = statement.operands[-1].labels if back else target
        for way in tuples(*ways):
            there = {label: i for place, a, tap, t, *_ in way for label, i in ((place, a), (tap, t)) if label}
            here = {label: x for *_, label, x in way}
            seen = tuple(there.get(label, slice(None)) for label in windows)
            pixel = tuple(here.get(label, slice(None)) for label in image)
            rest = [
                [label for label in labels if label not in places]
                for labels, places in ((image, here), (windows, there))
            ]
            if back:
                done[pixel] += _aligned(array[seen], tuple(rest[1]), tuple(rest[0]))
            else:
                done[seen] = _aligned(array[pixel], tuple(rest[0]), tuple(rest[1]))
        return done

    def _beyond(self, labels: tuple[str, ...], others: tuple[str, ...]) -> int:
        """How long a part is: one place where it has no dimension of its own."""
        return self._size(next((x for x in labels if x not in others), "1"))

    @staticmethod
    def _spread(array: np.ndarray, labels: tuple[str, ...], whole: tuple[str, ...], cut: str) -> np.ndarray:
        """A part in the order of the whole: its own dimension, or one place, where that is cut."""
        own = next((x for x in labels if x not in whole), None)
        if own is None:
            array, own, labels = np.expand_dims(array, 0), "1", ("1", *labels)
        return _aligned(array, labels, tuple(own if x == cut else x for x in whole))

    @staticmethod
    def _in_order(part: np.ndarray, whole: tuple[str, ...], labels: tuple[str, ...], cut: str) -> np.ndarray:
        """A part that lies as the whole does, in the order of its own dimensions."""
        own = next((x for x in labels if x not in whole), None)
        if own is None:
            return _aligned(part.squeeze(whole.index(cut)), tuple(x for x in whole if x != cut), labels)
        return _aligned(part, tuple(own if x == cut else x for x in whole), labels)

    def _where(self, forward: Statement) -> tuple[str, range]:
        """What a slice is cut along, and its places: behind those that were cut before it."""
        whole = forward.operands[0].labels
        cut, before = next(label for label in whole if label not in forward.result.labels), 0
        for other in statements(self.program.body):
            if other.name == forward.name:
                break
            cuts = other.function is not None and other.function.name == "slice" and other.operands == forward.operands
            if cuts and cut not in other.result.labels:
                before += self._beyond(other.result.labels, whole)
        return cut, range(before, before + self._beyond(forward.result.labels, whole))

    def _take(self, statement: Statement, first: np.ndarray, axis: int) -> None:
        function, rows = statement.function, first.size // (first.shape[axis] if first.ndim else 1)
        assert function is not None
        taken = function.each * first.size + function.row * rows
        self.applied[statement.name] = self.applied.get(statement.name, 0) + int(taken)

    def _other(self, statement: Statement, arrays: list[np.ndarray]) -> np.ndarray:
        """Functions of several operands, and what gives gradients to each of these."""
        assert statement.function is not None
        name, labels = statement.function.name, statement.operands[0].labels
        over = labels.index(statement.over) if statement.over is not None else -1
        self._take(statement, arrays[0], over)
        if not name.endswith("'"):
            return OTHERS[name][0](arrays, over)
        named = [f"d{str(tensor.name).removesuffix('_again')}" for tensor in statement.operands]
        place = next((i for i, n in enumerate(named) if statement.name == n or statement.name.startswith(f"{n}_")), -1)
        return OTHERS[name[:-1].removesuffix("_gain")][1](
            arrays, over, place, [self._size(label) for label in statement.result.labels]
        )

    def _looped(self, statement: Statement, arrays: list[np.ndarray]) -> np.ndarray:
        """A product, or a sum over what the result lacks, element by element."""
        shapes, target = [t.labels for t in statement.operands], statement.result.labels
        summed = list(dict.fromkeys(label for shape in shapes for label in shape if label not in target))
        result = np.zeros([self._size(label) for label in target])
        multiplied = added = 0
        for outer in tuples(*(range(self._size(label)) for label in target)):
            found = 0.0
            for i, inner in enumerate(tuples(*(range(self._size(label)) for label in summed))):
                at = dict(zip((*target, *summed), (*outer, *inner), strict=True))
                value = arrays[0][tuple(at[label] for label in shapes[0])]
                for array, shape in zip(arrays[1:], shapes[1:], strict=True):
                    value = value * array[tuple(at[label] for label in shape)]
                    multiplied += 1
                added += i > 0
                found = value if i == 0 else found + value
            result[outer] = found
        name = statement.name
        self.multiplied[name] = self.multiplied.get(name, 0) + multiplied
        self.added[name] = self.added.get(name, 0) + added
        return result

    def _size(self, label: str) -> int:
        return int(label) if label.isdigit() else self.sizes[label]


def interpreter(program: Program, sizes: dict[str, int], seed: int = 0) -> Interpreter:
    """A run on random tensors."""
    random, declared = np.random.default_rng(seed), {}
    for entry in program.declared:
        shape = [int(label) if label.isdigit() else sizes[label] for label in entry.tensor.labels]
        line = next(line for line in program.forward if entry.tensor in line.statement.operands)
        batches = tuple(repeat for repeat in line.repeats if not repeat.leaves)
        own = tuple(repeat for repeat in line.repeats if repeat.leaves and not repeat.scans)
        around = batches if entry.role == "input" else () if entry.shared else own
        for turn in tuples(*(range(times(repeat, sizes)) for repeat in around)):
            drawn = random.integers(0, 2, size=shape) if entry.tensor.dtype.integer else random.normal(size=shape)
            declared[str(entry.tensor.name), turn] = drawn
    return Interpreter(program, sizes, declared)


def times(repeat: Repeat, sizes: dict[str, int]) -> int:
    return int(expression(repeat.times).subs({symbol(name): size for name, size in sizes.items()}))


def statements(body: tuple[Node, ...], inside_repeats: bool = True) -> Iterator[Statement]:
    for node in body:
        if isinstance(node, Statement):
            yield node
        elif inside_repeats or not isinstance(node, Repeat):
            yield from statements(node.body, inside_repeats)


def repeats(body: tuple[Node, ...]) -> Iterator[Repeat]:
    for node in body:
        if not isinstance(node, Statement):
            yield from ([node] if isinstance(node, Repeat) else [])
            yield from repeats(node.body)


def _aligned(array: np.ndarray, labels: tuple[str, ...], target: tuple[str, ...]) -> np.ndarray:
    return array.transpose([labels.index(label) for label in target])


def _broadcast(array: np.ndarray, labels: tuple[str, ...], target: tuple[str, ...], shape: list[int]) -> np.ndarray:
    inside = tuple(label for label in target if label in labels)
    turned = _aligned(array, labels, inside)
    return np.broadcast_to(
        turned.reshape([n if label in labels else 1 for label, n in zip(target, shape, strict=True)]), shape
    )


def loss(program: Program, sizes: dict[str, int], declared: dict, given: dict[str, list[np.ndarray]]) -> float:  # type: ignore[type-arg]
    """The sum of dy y over all results."""
    run = Interpreter(program, sizes, declared)
    run.forward()
    return sum(
        float((dy * y).sum()) for name, dys in given.items() for dy, y in zip(dys, run.returned[name], strict=True)
    )


def slopes(program: Program, sizes: dict[str, int], declared: dict, given: dict[str, list[np.ndarray]], seed: int = 0):  # type: ignore[type-arg]
    """For each array in which there are gradients a random direction, and the slope of the loss along it by central differences."""
    random, step, found = np.random.default_rng(seed), 1e-5, {}
    fixed = {str(d.tensor.name) for d in program.declared if d.tensor.dtype.integer or d.frozen}
    for key, array in declared.items():
        if key[0] not in fixed:
            along = random.normal(size=array.shape)
            sides = (loss(program, sizes, {**declared, key: array + sign * step * along}, given) for sign in (1, -1))
            found[key] = along, (next(sides) - next(sides)) / (2 * step)
    return found


def small(program: Program) -> dict[str, int]:
    """Small sizes that tell dimensions apart, with those that they define."""
    sizes = {name: 2 + i % 3 for i, name in enumerate(program.sizes)}
    given = {symbol(name): size for name, size in sizes.items()}
    return sizes | {name: int(program.resolved(symbol(name)).subs(given)) for name in program.where}


def stacked(declared: dict) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    """What is declared by name, stacked over the turns in which it is another."""
    turns = {name: [declared[key] for key in sorted(declared) if key[0] == name] for name, _ in declared}
    return {name: np.stack(each) if len(each) > 1 else each[0] for name, each in turns.items()}


def is_alike(made: np.ndarray, expected: np.ndarray) -> bool:
    """Whether these are the same numbers, with the dimensions in any order."""
    orders = (order for order in permutations(range(made.ndim)) if made.transpose(order).shape == expected.shape)
    return any(np.allclose(made.transpose(order), expected, atol=1e-6) for order in orders)
