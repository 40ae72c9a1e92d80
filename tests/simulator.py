"""A chip that runs a program on tiny tensors of real numbers: loops in which every operation is counted, and a memory in
which every element that is loaded or stored is counted. Imports nothing from symroof.

What stays on the chip follows the rules of the language: a contraction reads its operands and writes its result. An
elementwise statement joins the contraction that comes last behind its operands, in the same turn of a repeat. Inside a
fuse with a contraction only what comes from outside or is used outside moves, once each; a fuse of elementwise
statements alone is one pass of those that have no contraction behind them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
from direct import BITS, evaluate

ROLES = ("input", "weight", "cache")
TYPE = re.compile(r"\s*(\w+)\[([^]]*)\]\s*$")
ROWS = ("softmax", "rms_norm", "layer_norm")


# Programs as they are written.


@dataclass(frozen=True)
class Type:
    dtype: str
    labels: tuple[str, ...]

    @classmethod
    def read(cls, text):
        dtype, inside = TYPE.match(text).groups()
        return cls(dtype, tuple(label.strip() for label in inside.split(",") if label.strip()))

    def __str__(self):
        return f"{self.dtype}[{', '.join(self.labels)}]"

    def bytes(self, sizes):
        return Fraction(BITS[self.dtype], 8) * math.prod(int(size(label, sizes)) for label in self.labels)


def size(label, sizes):
    return Fraction(label) if label.isdigit() else Fraction(sizes[label])


@dataclass(frozen=True)
class Made:
    """A statement: ``kind`` is a sign, or the name of a function ``over`` a label."""

    name: str
    kind: str
    operands: tuple[str, ...]
    type: Type
    over: str | None = None
    typed: bool = True


@dataclass(frozen=True)
class Braces:
    """``head`` is fuse, block NAME, or repeat TIMES as ENTERS = LEAVES."""

    head: str
    body: tuple

    @property
    def word(self):
        return self.head.split()[0]

    @property
    def repeat(self):
        """How often, what enters a turn and what leaves it."""
        return re.match(r"repeat (.+) as (\w+) = (\w+)$", self.head).groups()


@dataclass(frozen=True)
class Text:
    """A program: declared tensors with their roles, sizes that others define, statements."""

    declared: dict[str, tuple[str, Type]]
    where: dict[str, str]
    body: tuple

    @classmethod
    def read(cls, text):
        declared, where, stack = {}, {}, [("", [])]
        types = {}
        for line in filter(None, (re.sub("#.*", "", part).strip() for part in re.split(r"[\n;]", text))):
            word = line.split()[0]
            if word in ROLES:
                names, _, written = line.removeprefix(word).partition(":")
                for name in names.split(","):
                    types[name.strip()] = Type.read(written)
                    declared[name.strip()] = (word, Type.read(written))
            elif word == "where":
                name, _, formula = line.removeprefix("where").partition("=")
                where[name.strip()] = formula.strip()
            elif line.endswith("{"):
                stack.append((line[:-1].strip(), []))
            elif line == "}":
                head, body = stack.pop()
                stack[-1][1].append(Braces(head, tuple(body)))
            else:
                made = _statement(line, types)
                types[made.name] = made.type
                stack[-1][1].append(made)
        return cls(declared, where, tuple(stack[0][1]))

    def __str__(self):
        lines = [f"{role} {name}: {type_}" for name, (role, type_) in self.declared.items()]
        lines += [f"where {name} = {formula}" for name, formula in self.where.items()]
        return "\n".join([*lines, *_lines(self.body, "")])

    @cached_property
    def places(self):
        """Every statement with the braces around it, in order."""
        return tuple(_places(self.body, ()))

    @cached_property
    def types(self):
        return {name: type_ for name, (_, type_) in self.declared.items()} | {m.name: m.type for m, _ in self.places}

    @property
    def used(self):
        return {name for made, _ in self.places for name in made.operands}

    @property
    def labels(self):
        return tuple(dict.fromkeys(x for type_ in self.types.values() for x in type_.labels if not x.isdigit()))

    def tidy(self):
        """Without the declarations that nothing uses, and the definitions of sizes that nothing has."""
        declared = {name: found for name, found in self.declared.items() if name in self.used}
        found = replace(self, declared=declared)
        return replace(found, where={name: f for name, f in self.where.items() if name in found.labels})


def _statement(line, types):
    name, _, right = (part.strip() for part in line.partition("="))
    right, _, written = (part.strip() for part in right.partition("->"))
    call = re.match(r"(\w+)\((\w+)(?:,\s*(\w+))?\)$", right)
    operands = (call[2],) if call else tuple(re.split(r"\s*[-*+]\s*", right))
    kind = call[1] if call else re.search(r"[-*+]", right)[0]
    if written:
        type_ = Type.read(written)
    else:
        every = {label for operand in operands for label in types[operand].labels}
        type_ = next(types[operand] for operand in operands if set(types[operand].labels) == every)
    over = (call[3] or types[operands[0]].labels[-1]) if kind in ROWS else None
    return Made(name, kind, operands, type_, over, bool(written))


def _lines(body, margin):
    for node in body:
        if isinstance(node, Braces):
            yield f"{margin}{node.head} {{"
            yield from _lines(node.body, margin + "  ")
            yield margin + "}"
        else:
            over = f", {node.over}" if node.over else ""
            right = (
                f" {node.kind} ".join(node.operands) if node.kind in "*+-" else f"{node.kind}({node.operands[0]}{over})"
            )
            yield f"{margin}{node.name} = {right}" + (f" -> {node.type}" if node.typed else "")


def _places(body, around):
    for node in body:
        if isinstance(node, Braces):
            yield from _places(node.body, (*around, node))
        else:
            yield node, around


def contracts(made, types):
    """Whether something is summed: a label of an operand that the result lacks."""
    return made.kind == "*" and any(x not in made.type.labels for name in made.operands for x in types[name].labels)


# Which statements run together.


@dataclass(eq=False)
class Kernel:
    """Statements between which nothing moves. ``turns`` are the repeats around them."""

    turns: tuple
    first: int
    lines: list = field(default_factory=list)


class Plan:
    """The kernels of a program, and for each statement the one whose figures it is in."""

    def __init__(self, text: Text) -> None:
        self.text, self.maker = text, {made.name: i for i, (made, _) in enumerate(text.places)}
        self.turns = [tuple(b for b in around if b.word == "repeat") for _, around in text.places]
        self.sums = [contracts(made, text.types) for made, _ in text.places]
        self.kernels: list[Kernel] = []
        self.home: list[Kernel] = []
        self.owner: list[int] = []
        self.passes: dict[int, Kernel] = {}
        self.busy: list[Kernel] = []  # those of a fuse with a contraction: what is made there has it behind it
        for i, (made, around) in enumerate(text.places):
            kernel = self._chosen(i, made, around)
            kernel.lines.append(i)
            self.home.append(kernel)
            self.owner.append(i if self.sums[i] else max(self._heads(i), default=i))

    def _chosen(self, i, made, around):
        fuse = next((b for b in around if b.word == "fuse"), None)
        if fuse is not None and any(contracts(inner, self.text.types) for inner in fuse.body):
            self.busy.append(self._of_fuse(fuse, i))
            return self.busy[-1]
        if not self.sums[i]:
            last = self.last_behind(made.operands)
            if (
                last is not None
                and last.turns == self.turns[i]
                and (last in self.busy or any(self.sums[j] for j in last.lines))
            ):
                return last
            if fuse is not None:
                return self._of_fuse(fuse, i)
        return self._new(i)

    def _of_fuse(self, fuse, i):
        if id(fuse) not in self.passes:
            self.passes[id(fuse)] = self._new(i)
        return self.passes[id(fuse)]

    def _new(self, i):
        self.kernels.append(Kernel(self.turns[i], i))
        return self.kernels[-1]

    def last_behind(self, names):
        """The last of the kernels that make these tensors, of those with a contraction behind them."""
        found = [self._last(self.maker[name]) for name in names if name in self.maker]
        return max(filter(None, found), key=lambda kernel: kernel.first, default=None)

    def _last(self, i):
        if self.sums[i] or self.home[i] in self.busy:
            return self.home[i]
        return self.home[i] if self.last_behind(self.text.places[i][0].operands) else None

    def _heads(self, i) -> Iterator[int]:
        """The contractions behind a statement, within its kernel and through elementwise statements."""
        for name in self.text.places[i][0].operands:
            j = self.maker.get(name)
            if j is not None and self.home[j] is self.home[i]:
                yield from (j,) if self.sums[j] else self._heads(j)

    def kept(self, i):
        """Whether the result of a statement has to be in memory: another kernel or the next turn takes it, or nobody."""
        made = self.text.places[i][0]
        users = [j for j, (other, _) in enumerate(self.text.places) if made.name in other.operands]
        carried = any(b.repeat[2] == made.name for b in self.turns[i])
        return carried or not users or any(self.home[j] is not self.home[i] for j in users)


# Operations, each counted.


class Unit:
    """Arithmetic on numbers, counted."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, operation, *numbers):
        self.count += 1
        return operation(*numbers)

    def add(self, a, b):
        return self(lambda: a + b)

    def sub(self, a, b):
        return self(lambda: a - b)

    def mul(self, a, b):
        return self(lambda: a * b)

    def div(self, a, b):
        return self(lambda: a / b)

    def sum(self, values):
        total = values[0]
        for value in values[1:]:
            total = self.add(total, value)
        return total

    def sigmoid(self, x):
        return self.div(1.0, self.add(1.0, self(math.exp, self(lambda: -x))))

    def softmax(self, row):
        top = row[0]
        for value in row[1:]:
            top = self(max, top, value)
        powers = [self(math.exp, self.sub(value, top)) for value in row]
        total = self.sum(powers)
        return [self.div(power, total) for power in powers]

    def mean(self, row):
        return self.div(self.sum(row), len(row))

    def one_over_root(self, value):
        return self.div(1.0, self(math.sqrt, value))

    def rms_norm(self, row):
        scale = self.one_over_root(self.mean([self.mul(x, x) for x in row]) + EPSILON)
        return [self.mul(self.mul(x, scale), GAIN) for x in row]

    def layer_norm(self, row):
        middle = self.mean(row)
        away = [self.sub(x, middle) for x in row]
        scale = self.one_over_root(self.mean([self.mul(x, x) for x in away]) + EPSILON)
        return [self.add(self.mul(self.mul(x, scale), GAIN), SHIFT) for x in away]

    def gelu(self, x):
        cube = self.mul(self.mul(x, x), x)
        inner = self.mul(self.add(x, self.mul(cube, 0.044715)), math.sqrt(2 / math.pi))
        return self.mul(self.mul(self.add(self(math.tanh, inner), 1.0), x), 0.5)

    def element(self, kind, x):
        match kind:
            case "relu":
                return self(max, x, 0.0)
            case "gelu":
                return self.gelu(x)
            case "sigmoid":
                return self.sigmoid(x)
            case "silu":
                return self.mul(x, self.sigmoid(x))
            case "rope":
                return self.add(self.mul(x, COSINE), self.mul(x, SINE))
            case "convert":
                return self(float, x)


# Stand-ins: a row of one element has no variance, and a rotation by one angle multiplies each element twice.
GAIN, SHIFT, EPSILON, COSINE, SINE, LARGEST = 1.5, 0.25, 1e-3, 0.8, 0.6, 8.0
ELEMENTWISE = ("relu", "gelu", "sigmoid", "silu", "rope", "convert")


def stored(numbers):
    """Numbers as a narrow type holds them: what is too large becomes the largest."""
    return np.clip(numbers, -LARGEST, LARGEST)


def with_numpy(made, types, arrays):
    """The result of a statement in a line of NumPy."""
    return stored(_with_numpy(made, types, arrays))


def _with_numpy(made, types, arrays):
    letters = {
        x: chr(97 + i) for i, x in enumerate(dict.fromkeys(x for name in made.operands for x in types[name].labels))
    }
    spelled = ["".join(letters[x] for x in types[name].labels) for name in made.operands]
    out = "".join(letters[x] for x in made.type.labels)
    if made.kind == "*":
        return np.einsum(f"{','.join(spelled)}->{out}", *arrays)
    whole = {
        letters[x]: n
        for name, a in zip(made.operands, arrays, strict=True)
        for x, n in zip(types[name].labels, a.shape, strict=True)
    }
    ones = [np.ones([whole[x] for x in out if x not in s]) for s in spelled]
    spread = [
        np.einsum(f"{s},{''.join(x for x in out if x not in s)}->{out}", a, one)
        for s, a, one in zip(spelled, arrays, ones, strict=True)
    ]
    x = spread[0]
    axis = made.type.labels.index(made.over) if made.over else None
    match made.kind:
        case "+":
            return sum(spread)
        case "-":
            return spread[0] - spread[1]
        case "relu":
            return np.maximum(x, 0)
        case "gelu":
            return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
        case "sigmoid":
            return 1 / (1 + np.exp(-x))
        case "silu":
            return x / (1 + np.exp(-x))
        case "rope":
            return x * (COSINE + SINE)
        case "convert":
            return x
        case "softmax":
            powers = np.exp(x)
            return powers / powers.sum(axis, keepdims=True)
        case "rms_norm":
            return GAIN * x / np.sqrt((x**2).mean(axis, keepdims=True) + EPSILON)
        case "layer_norm":
            return GAIN * (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + EPSILON) + SHIFT


# The run.


class Chip:
    """A program, run. What it cost: ``multiplications`` and ``additions`` of contractions and ``operations`` of the rest,
    ``loaded`` and ``stored`` bytes, by the statement in whose figures they are; ``held`` are the elements of each
    declared tensor in each turn."""

    def __init__(self, text: Text, sizes: dict[str, int]) -> None:
        self.text, self.plan = text, Plan(text)
        self.sizes = dict(sizes)
        for name, formula in text.where.items():
            self.sizes[name] = evaluate(formula, self.sizes)
        self.memory: dict[str, np.ndarray] = {}
        self.multiplications, self.additions, self.operations = Counter(), Counter(), Counter()
        self.loaded, self.stored, self.held = Counter(), Counter(), {}
        own = {name for node, _ in self._repeats(text.body) for name in self._own(node)}
        for name in text.declared.keys() - own:
            self._declare(name, ())
        outside = dict(self.memory)
        self._turn(text.body, (), ())
        expected = self._straight(text.body, outside, ())
        for made, _ in text.places:
            if made.name not in text.used:
                assert np.allclose(self.memory[made.name], expected[made.name]), made

    def _declare(self, name, path):
        """A declared tensor of a turn: the same elements whenever it is asked for; they are counted."""
        self.memory[name] = self._elements(name, path)
        self.held[name, path] = self.memory[name].size

    def _elements(self, name, path):
        seed = [sum(ord(c) * 31**i for i, c in enumerate(name)), *path]
        return np.random.default_rng(seed).normal(size=self._shape(self.text.declared[name][1]))

    def _shape(self, type_):
        found = [size(label, self.sizes) for label in type_.labels]
        assert all(n.denominator == 1 for n in found)
        return tuple(int(n) for n in found)

    def _repeats(self, body):
        return [(b, around) for _, around in _places(body, ()) for b in around if b.word == "repeat"]

    def _own(self, node):
        """The weights and caches that each turn of a repeat has of its own: what an inner repeat uses is its own."""
        used = [
            name
            for made, around in _places(node.body, ())
            if not any(b.word == "repeat" for b in around)
            for name in made.operands
        ]
        return [name for name in dict.fromkeys(used) if self.text.declared.get(name, ("input",))[0] != "input"]

    def _turns(self, node):
        return int(evaluate(node.repeat[0], self.sizes))

    def _straight(self, body, known, path):
        """Every statement in the order of the text, each in a line of NumPy: no kernels, no memory."""
        known = dict(known)
        for node in body:
            if isinstance(node, Made):
                known[node.name] = with_numpy(node, self.text.types, [known[name] for name in node.operands])
            elif node.word != "repeat":
                known = self._straight(node.body, known, path)
            else:
                _, enters, leaves = node.repeat
                inside = dict(known)
                for turn in range(self._turns(node)):
                    inside |= {name: self._elements(name, (*path, turn)) for name in self._own(node)}
                    inside = self._straight(node.body, inside, (*path, turn))
                    inside[enters] = inside[leaves]
                known = inside | {enters: known[enters]}
        return known

    def _turn(self, body, turns, path):
        """Everything of one turn: each kernel and each repeat as soon as what it needs is in memory."""
        waiting = list(self._parts(body, turns))
        while waiting:
            part = next((p for p in waiting if self._needs(p) <= self.memory.keys()), None)
            assert part is not None, f"kernels wait for one another: {self.text}"
            waiting.remove(part)
            self._kernel(part) if isinstance(part, Kernel) else self._repeat(part, turns, path)

    def _parts(self, body, turns):
        names = {made.name for made, _ in _places(body, ())}
        yield from (k for k in self.plan.kernels if k.turns == turns and self.text.places[k.first][0].name in names)
        yield from self._outer(body)

    def _outer(self, body):
        for node in body:
            if isinstance(node, Braces):
                yield from [node] if node.word == "repeat" else self._outer(node.body)

    def _needs(self, part):
        kernel = isinstance(part, Kernel)
        lines = [self.text.places[i][0] for i in part.lines] if kernel else [made for made, _ in _places(part.body, ())]
        own = (
            () if kernel else [name for node, _ in [(part, ()), *self._repeats(part.body)] for name in self._own(node)]
        )
        return {name for made in lines for name in made.operands} - {made.name for made in lines} - set(own)

    def _repeat(self, node, turns, path):
        _, enters, leaves = node.repeat
        before = self.memory[enters]
        for turn in range(self._turns(node)):
            if turn:
                self.memory[enters] = self.memory[leaves]
                for made, _ in _places(node.body, ()):
                    self.memory.pop(made.name, None)
            for name in self._own(node):
                self._declare(name, (*path, turn))
            self._turn(node.body, (*turns, node), (*path, turn))
        self.memory[enters] = before

    def _kernel(self, kernel):
        chip: dict[str, np.ndarray] = {}
        for i in kernel.lines:
            made = self.text.places[i][0]
            owner = self.text.places[self.plan.owner[i]][0].name
            for name in made.operands:
                if name not in chip:
                    chip[name] = self.memory[name]
                    self._move(self.loaded, owner, name)
            chip[made.name] = stored(self._computed(made, owner, [chip[name] for name in made.operands]))
            assert np.allclose(
                chip[made.name], with_numpy(made, self.text.types, [chip[name] for name in made.operands])
            )
            if self.plan.kept(i):
                self.memory[made.name] = chip[made.name]
                self._move(self.stored, owner, made.name)

    def _move(self, counter, owner, name):
        """An element after the other."""
        type_ = self.text.types[name]
        for _ in np.ndindex(self._shape(type_)):
            counter[owner] += Fraction(BITS[type_.dtype], 8)

    def _computed(self, made, owner, arrays):
        if contracts(made, self.text.types):
            return self._contraction(made, owner, arrays)
        unit, types = Unit(), self.text.types
        shape, result = self._shape(made.type), np.zeros(self._shape(made.type))
        if made.over:
            result = self._rows(made, unit, arrays[0])
        else:
            for place in np.ndindex(shape):
                at = dict(zip(made.type.labels, place, strict=True))
                values = [
                    float(a[tuple(at[x] for x in types[name].labels)])
                    for name, a in zip(made.operands, arrays, strict=True)
                ]
                if made.kind in ELEMENTWISE:
                    result[place] = unit.element(made.kind, values[0])
                else:
                    operation = {"*": unit.mul, "+": unit.add, "-": unit.sub}[made.kind]
                    total = values[0]
                    for value in values[1:]:
                        total = operation(total, value)
                    result[place] = total
        self.operations[owner] += unit.count
        return result

    def _rows(self, made, unit, array):
        source = self.text.types[made.operands[0]].labels
        moved = np.transpose(array, [source.index(x) for x in made.type.labels])
        axis, result = made.type.labels.index(made.over), np.zeros(moved.shape)
        for place in np.ndindex(tuple(n for i, n in enumerate(moved.shape) if i != axis)):
            line = (*place[:axis], slice(None), *place[axis:])
            result[line] = getattr(unit, made.kind)([float(x) for x in moved[line]])
        return result

    def _contraction(self, made, owner, arrays):
        types, result = self.text.types, np.zeros(self._shape(made.type))
        summed = [
            x
            for x in dict.fromkeys(x for name in made.operands for x in types[name].labels)
            if x not in made.type.labels
        ]
        for place in np.ndindex(result.shape):
            kept, total = dict(zip(made.type.labels, place, strict=True)), None
            for inner in product(*(range(int(size(x, self.sizes))) for x in summed)):
                at = kept | dict(zip(summed, inner, strict=True))
                left, right = (
                    a[tuple(at[x] for x in types[name].labels)] for name, a in zip(made.operands, arrays, strict=True)
                )
                self.multiplications[owner] += 1
                if total is not None:
                    self.additions[owner] += 1
                total = left * right if total is None else total + left * right
            result[place] = total
        return result

    @property
    def flops_exact(self):
        return self.multiplications + self.additions

    @property
    def flops(self):
        """An addition for every multiplication."""
        return self.multiplications + self.multiplications
