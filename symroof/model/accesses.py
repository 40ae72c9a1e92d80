"""Where the tensors of a program lie: the accesses that their names stand for.

A tensor that is computed has a buffer of its own, its dimensions behind one another, with a coordinate for each repeat
around it. All else is a way in which an access is made of others, one function for each form: the same tensor split
otherwise, in other dimensions, a part of one, several behind one another, a cache with entries behind it, the place of a
turn, what all turns have put in their places. What is joined or appended is not copied, but what is declared has no place
beside others yet: that is a convention (:meth:`Layout.copied`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile

from sympy import Expr

from symroof.errors import AlgebraError, ModelError
from symroof.loopnest.nests import Access, Axis, Buffer, Guard, Operand, bound
from symroof.loopnest.size_polynomials import ONE, ZERO, Order, Polynomial, polynomial_of, product, total
from symroof.model.derived_sizes import never_below_zero
from symroof.model.dtype import Tensor
from symroof.model.functions import APPENDED, COLLECTED, CUT, JOINED, PLACED, VIEWED
from symroof.model.nodes import EXCHANGE, Fuse, Line, Repeat, Statement, sized
from symroof.model.program import Program
from symroof.symbols import expression

Form = Callable[["Layout", Line], Operand]


class Layout:
    """Where each name of a program lies; buffers come into being as they are asked for.

    >>> from symroof.reading.programs import read_program
    >>> layout = Layout(read_program("input x: bf16[B, D]; where D = 2 + P; u = slice(x, D, 2); y = relu(u)"))
    >>> layout.of("u", ())[0].strides, layout.of("u", ())[0].buffer
    ((('B', P + 2), ('2', 1)), 'x')
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.buffers: dict[str, Buffer] = {}
        self.makers = {line.statement.name: line for line in program.forward}
        self.declared = {str(d.tensor.name): d for d in program.declared}
        self._sizes: dict[str, Polynomial] = {}
        self._turns: dict[int, Axis] = {}
        self._operands: dict[str, Operand] = {}
        self._open: list[tuple[str, str]] = []  # what enters turns, while it is looked up
        self.order = Order(_polynomials(program, never_below_zero(program)))
        self._first = self._firsts()

    # ---- sizes, turns, buffers

    def polynomial(self, value: Expr) -> Polynomial:
        """A size in those that nothing defines."""
        return polynomial_of(self.program.resolved(value).expand())

    def size(self, label: str) -> Polynomial:
        if label not in self._sizes:
            self._sizes[label] = self.polynomial(sized(label))
        return self._sizes[label]

    def turn(self, repeat: Repeat) -> Axis:
        """The axis of the turns of a repeat. A dot keeps its name apart from those of dimensions."""
        if id(repeat) not in self._turns:
            name = f"turn.{len(self._turns) + 1}"
            self._turns[id(repeat)] = Axis(name, self.polynomial(expression(repeat.times)))
        return self._turns[id(repeat)]

    def buffer(self, name: str, tensor: Tensor, repeats: Iterable[Repeat] = (), role: str = "") -> Access:
        """A buffer of a tensor's own, and the access to all of it: the last dimension lies closest."""
        turns, strides, stride = tuple(map(self.turn, repeats)), list[tuple[str, Polynomial]](), ONE
        for label in reversed(tensor.labels):
            strides.append((label, stride))
            stride = stride * self.size(label)
        self.buffers.setdefault(name, Buffer(name, turns, stride, tensor.dtype.bits, role))
        return Access(name, tuple((axis.name, ZERO) for axis in turns), ZERO, tuple(reversed(strides)))

    # ---- names

    def of(self, name: str, repeats: Sequence[Repeat]) -> Operand:
        """Where a name lies for a statement in these repeats: what enters a turn left the one before; of what was made in a
        repeat that is over the last turn is there."""
        for depth in reversed(range(len(repeats))):
            if name in repeats[depth].enters:
                return self._entering(name, repeats[: depth + 1])
        if name in self.declared:
            return (self._stock(name, repeats),)
        line = self.makers[name]
        if name not in self._operands:
            self._operands[name] = self._made(line)
        operand, around = self._operands[name], {id(repeat) for repeat in repeats}
        for repeat in line.repeats:
            if id(repeat) not in around:
                axis = self.turn(repeat)
                operand = _some(access.fixed(axis.name, axis.size - 1, self.order) for access in operand)
        return operand

    def _made(self, line: Line) -> Operand:
        form = FORMS.get(form_of(line.statement))
        if form is not None:
            return form(self, line)
        return (self.buffer(line.statement.name, line.statement.result, line.repeats),)

    def _stock(self, name: str, repeats: Sequence[Repeat]) -> Access:
        """A declared tensor: each turn has weights and caches of its own, but those that are shared, and each microbatch inputs."""
        declared = self.declared[name]
        own = self.program.copies(declared.tensor)
        if declared.role == "input":
            own = tuple(repeat for repeat in repeats if repeat.accumulates)
        there, around = self.buffer(name, declared.tensor, own, declared.role), {self.turn(r).name for r in repeats}
        for axis in self.buffers[name].turns:
            if axis.name not in around:
                there = there.fixed(axis.name, axis.size - 1, self.order) or there
        return there

    def _entering(self, name: str, repeats: Sequence[Repeat]) -> Operand:
        """What enters a turn: in the first what lies outside under this name, then what left the turn before."""
        *outside, repeat = repeats
        axis, key = self.turn(repeat), (name, self.turn(repeat).name)
        if key in self._open:
            if self._open[-1] != key:
                raise ModelError(f"{name} enters a turn as what entered one of the turns before under another name")
            return self.of(name, outside)  # handed on as it is
        self._open.append(key)
        before = self.of(dict(repeat.carried)[name], repeats)
        self._open.pop()
        first = (access.limited(axis.name, ZERO, ONE, self.order) for access in self.of(name, outside))
        later = (a.moved(axis.name, -ONE).limited(axis.name, ONE, axis.size - 1, self.order) for a in before)
        return (*_some(first), *_some(later))

    def operand(self, line: Line, place: int) -> Operand:
        """Where an operand of a statement lies."""
        return self.of(str(line.statement.operands[place].name), line.repeats)

    # ---- parts

    def _firsts(self) -> Mapping[str, Polynomial]:
        """Where each slice begins: slices of one tensor along one dimension lie behind one another."""
        firsts, ends = dict[str, Polynomial](), dict[tuple[str, str], Polynomial]()
        for statement in (line.statement for line in self.program.forward if line.statement.cuts):
            key = (str(statement.operands[0].name), statement.cut)
            firsts[statement.name] = ends.get(key, ZERO)
            ends[key] = firsts[statement.name] + self._length(_new(statement.result, statement.operands[0]))
        return firsts

    def _length(self, label: str | None) -> Polynomial:
        return ONE if label is None else self.size(label)

    def _behind(self, parts: Operand, label: str | None, whole: str, first: Polynomial) -> Operand:
        """Parts of what is joined: their dimension ``label`` is the places of ``whole`` from a first one on."""
        behind = []
        for part in parts:
            bounded = any(guard.axis == label for guard in part.within) if label is not None else False
            there = (part.renamed({label: whole}) if label is not None else part).moved(whole, -first)
            limited = there if bounded else there.limited(whole, first, self._length(label), self.order)
            behind.append(limited)
        return _some(behind)

    def copied(self, line: Line, place: int) -> bool:
        """Whether what is joined or appended is copied to its place: what is declared is, and what has a place in something
        joined already. What is joined inside a fuse that alone uses it is read where it lies. A convention."""
        statement = line.statement
        if statement.appends and place == 0:
            return False
        if statement.joins and line.fuse is not None and not self._leaves(statement.name, line.fuse):
            return False
        if all(self.buffers[access.buffer].role for access in self.operand(line, place)):
            return True
        joins = (one.statement for one in self.program.forward if one.statement.joins)
        before = takewhile(lambda other: other.name != statement.name, joins)
        return statement.joins and any(statement.operands[place].name in (t.name for t in o.operands) for o in before)

    def _leaves(self, name: str, fuse: Fuse) -> bool:
        """Whether what is joined in a fuse is used outside of it, or returned, under any of its names."""
        lines = self.program.forward
        users = [line for line in lines if name in (str(t.name) for t in line.statement.operands)]
        carried = {n for line in lines for repeat in line.repeats for n in repeat.leaves}
        if not users or name in self.program.returned or name in carried or any(u.fuse is not fuse for u in users):
            return True
        return any(self._leaves(line.statement.name, fuse) for line in users if line.statement.lies)

    def _in_place(self, line: Line, place: int) -> Operand:
        """What is joined, where it lies: in a buffer of its own where it is copied."""
        if not self.copied(line, place):
            return self.operand(line, place)
        tensor = line.statement.operands[place]
        return (self.buffer(copy_name(line.statement, place), tensor, line.repeats),)

    # ---- forms

    def same(self, line: Line) -> Operand:
        return self.operand(line, 0)

    def view(self, line: Line) -> Operand:
        """Other dimensions of the same elements."""
        old, new = line.statement.operands[0].labels, line.statement.result.labels
        return tuple(self.seen(access, old, new, line.statement.name) for access in self.operand(line, 0))

    def part(self, line: Line) -> Operand:
        """A slice: the places behind those of the slices before it, or one place."""
        statement, first = line.statement, self._first[line.statement.name]
        cut, own = statement.cut, _new(statement.result, statement.operands[0])
        parts = []
        for access in self.operand(line, 0):
            there = access.limited(cut, first, self._length(own), self.order)
            if there is not None and own is None:
                there = there.fixed(cut, first, self.order)
            elif there is not None and own is not None:
                there = self._open_range(there.moved(cut, first).renamed({cut: own}), own)
            parts.append(there)
        return _some(parts)

    def _open_range(self, access: Access, axis: str) -> Access:
        """An access without a guard that leaves all of an axis."""
        guards = (g for g in access.within if (g.axis, g.first, g.length) != (axis, ZERO, self.size(axis)))
        return replace(access, within=tuple(guards))

    def joined(self, line: Line) -> Operand:
        """Several tensors behind one another along a dimension."""
        statement, labels = line.statement, line.statement.result.labels
        whole = next(x for x in labels if self._is_joined(x, statement))
        parts, first = list[Access](), ZERO
        for place, operand in enumerate(statement.operands):
            own = next((x for x in operand.labels if x not in labels), whole if whole in operand.labels else None)
            parts += self._behind(self._in_place(line, place), own, whole, first)
            first = first + self._length(own)
        return tuple(parts)

    def _is_joined(self, label: str, statement: Statement) -> bool:
        if any(label not in operand.labels for operand in statement.operands):
            return True
        return total(self.size(label) for _ in statement.operands) == self.size(label)

    def appended(self, line: Line) -> Operand:
        """A cache whose last entries along a dimension are others."""
        statement, grown = line.statement, line.statement.grown
        own = _new(statement.operands[1], statement.operands[0])
        kept = self.size(grown) - self._length(own)
        old = (access.limited(grown, ZERO, kept, self.order) for access in self.operand(line, 0))
        return (*_some(old), *self._behind(self._in_place(line, 1), own, grown, kept))

    def placed(self, line: Line) -> Operand:
        """The place of this turn along a dimension."""
        names = {line.statement.along: self.turn(line.repeats[-1]).name}
        return tuple(access.renamed(names) for access in self.operand(line, 0))

    def collected(self, line: Line) -> Operand:
        """What all turns have made, each at its place along a dimension."""
        names = {self.turn(line.repeats[-1]).name: line.statement.along}
        return tuple(access.renamed(names) for access in self.operand(line, 0))

    def seen(self, access: Access, old: tuple[str, ...], new: tuple[str, ...], name: str) -> Access:
        """An access in other dimensions: groups of them that are as large have the same addresses."""
        if set(old) == set(new):
            return access
        strides, names = dict(access.strides), dict[str, str]()
        dimensions, guards = [pair for pair in access.strides if pair[0] not in old], list(access.within)
        for before, after in self._groups(old, new, name):
            if len(before) == len(after) == 1:
                names[before[0]] = after[0]
                dimensions += [(before[0], strides[before[0]])] if before[0] in strides else []
                continue
            if any(strides.get(a) != strides.get(b, ZERO) * self.size(b) for a, b in pairwise(before)):
                raise ModelError(
                    f"{name} has {', '.join(before)}, which do not lie behind one another, as one dimension"
                )
            guards = [self._guard_of_group(guard, before, after, name) for guard in guards]
            stride = strides[before[-1]] if before else ONE
            for label in reversed(after):
                dimensions.append((label, stride))
                stride = stride * self.size(label)
        both = replace(access, strides=tuple(dimensions), within=tuple(guards))
        return both.renamed({a: b for a, b in names.items() if a != b})

    def _guard_of_group(self, guard: Guard, before: tuple[str, ...], after: tuple[str, ...], name: str) -> Guard:
        """A guard on a dimension that is seen as several: on the first of these, where it bounds whole places of that."""
        if all(axis not in before for axis, _ in guard.axes):
            return guard
        inner = product(map(self.size, after[1:]))
        first, length = (guard.first / inner, guard.length / inner) if len(inner.terms) == 1 else (inner / 2, inner)
        if guard.axis is None or before != (guard.axis,) or not (first.whole and length.whole):
            raise ModelError(f"{name} has {', '.join(before)}, which lies in several parts, in other dimensions")
        return bound(after[0], first, length)

    def _groups(
        self, old: tuple[str, ...], new: tuple[str, ...], name: str
    ) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """The smallest groups of dimensions, from the first on, that have as many elements in both."""
        i = j = 0
        while i < len(old) or j < len(new):
            start, there = i, j
            left = right = ONE
            while left != right or (i, j) == (start, there):
                more = i < len(old) and (j == len(new) or left == right or not self.order.at_least(left, right))
                if more:
                    left, i = left * self.size(old[i]), i + 1
                elif j < len(new):
                    right, j = right * self.size(new[j]), j + 1
                else:
                    raise ModelError(f"{name} has not as many elements as what it is")
            yield old[start:i], new[there:j]


FORMS: Mapping[str, Form] = {
    EXCHANGE: Layout.same,
    VIEWED: Layout.view,
    CUT: Layout.part,
    JOINED: Layout.joined,
    APPENDED: Layout.appended,
    PLACED: Layout.placed,
    COLLECTED: Layout.collected,
}


def form_of(statement: Statement) -> str:
    """How what a statement makes lies where others do; empty where it is computed."""
    return EXCHANGE if statement.kind == EXCHANGE else statement.how


def copy_name(statement: Statement, place: int) -> str:
    """The buffer that an operand of something joined is copied to."""
    return f"{statement.operands[place].name} in {statement.name}"


def _new(tensor: Tensor, other: Tensor) -> str | None:
    """The dimension that one tensor has and the other has not."""
    return next((label for label in tensor.labels if label not in other.labels), None)


def _some(accesses: Iterable[Access | None]) -> Operand:
    return tuple(access for access in accesses if access is not None)


def _polynomials(program: Program, values: Iterable[Expr]) -> Iterator[Polynomial]:
    """Those of some values that are polynomials: of facts fewer are weaker, never wrong."""
    for value in values:
        try:
            yield polynomial_of(program.resolved(value).expand())
        except AlgebraError:
            continue
