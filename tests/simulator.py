"""What a program costs, counted from its text at tiny sizes: loops in which every multiplication and addition is counted,
functions that count what they do with numbers, and kernels that load and store. Imports nothing from symroof.

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

from direct import BITS, evaluate
from tally import ELEMENTWISE, ROWS, Counted, rope

ROLES = ("input", "weight", "cache")
TYPE = re.compile(r"\s*(\w+)\[([^]]*)\]\s*$")
ONE_BY_ONE = ("relu", "gelu", "sigmoid", "silu", "rope", "convert")


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


def operations(kind, length):
    """The operations of a function on a row of so many elements; of one element where it has no rows."""
    if kind in ROWS:
        return len(ROWS[kind][0](length))
    tally = []
    if kind == "rope":  # of two elements
        rope(*(Counted(n / 7, tally) for n in range(4)))
        return len(tally) // 2
    ELEMENTWISE[kind][0](Counted(0.5, tally))
    return len(tally)


class Chip:
    """A program at sizes. What it costs: ``multiplications`` and ``additions`` of contractions and ``operations`` of the rest,
    ``loaded`` and ``stored`` bytes, by the statement in whose figures they are; ``held`` are the elements of each declared
    tensor in all turns."""

    def __init__(self, text: Text, sizes: dict[str, int]) -> None:
        self.text, self.plan = text, Plan(text)
        self.sizes = dict(sizes)
        for name, formula in text.where.items():
            self.sizes[name] = evaluate(formula, self.sizes)
        self.multiplications, self.additions, self.operations = Counter(), Counter(), Counter()
        self.loaded, self.stored = Counter(), Counter()
        for kernel in self.plan.kernels:
            self._kernel(kernel, self._turns(kernel.turns))
        self.held = {}
        for made, around in text.places:
            for name in made.operands:
                if name in text.declared:
                    turns = self._turns(around) if text.declared[name][0] != "input" else 1
                    self.held[name] = turns * math.prod(self._shape(text.types[name].labels))

    def _turns(self, around):
        return math.prod(int(evaluate(b.repeat[0], self.sizes)) for b in around if b.word == "repeat")

    def _shape(self, labels):
        found = [size(label, self.sizes) for label in labels]
        assert all(n.denominator == 1 for n in found)
        return [int(n) for n in found]

    def _kernel(self, kernel, turns):
        chip = set()
        for i in kernel.lines:
            made = self.text.places[i][0]
            owner = self.text.places[self.plan.owner[i]][0].name
            for name in made.operands:
                if name not in chip:
                    self.loaded[owner] += turns * self.text.types[name].bytes(self.sizes)
            chip |= {*made.operands, made.name}
            self._work(made, owner, turns)
            if self.plan.kept(i):
                self.stored[owner] += turns * made.type.bytes(self.sizes)

    def _work(self, made, owner, turns):
        labels = dict.fromkeys(x for name in made.operands for x in self.text.types[name].labels)
        if contracts(made, self.text.types):
            summed = [x for x in labels if x not in made.type.labels]
            for _ in product(*map(range, self._shape(made.type.labels))):
                for i, _ in enumerate(product(*map(range, self._shape(summed)))):
                    self.multiplications[owner] += turns
                    self.additions[owner] += turns * (i > 0)
        elif made.over:
            (length,), rows = self._shape([made.over]), self._shape([x for x in labels if x != made.over])
            self.operations[owner] += turns * math.prod(rows) * operations(made.kind, length)
        else:
            each = operations(made.kind, 1) if made.kind in ONE_BY_ONE else len(made.operands) - 1
            self.operations[owner] += turns * math.prod(self._shape(made.type.labels)) * each

    @property
    def flops_exact(self):
        return self.multiplications + self.additions

    @property
    def flops(self):
        """An addition for every multiplication."""
        return self.multiplications + self.multiplications
