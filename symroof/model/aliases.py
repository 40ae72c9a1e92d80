"""Where tensors are stored: an exchange and a view lie where their tensor does, a slice is a part of one, and a concatenation
lies where its parts do.

To read what is joined is to read its parts: what is made in the program is written into its place there, and what is
declared is copied to it, but inside a fuse that alone uses it, and what has a place already is copied to the second.
What entries are appended to is the cache that it was, with these written into it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from symroof.formula import Frozen
from symroof.model.program_tree import Fuse, Line, Repeat, Statement
from symroof.model.tensor_types import Tensor


class Memory(Frozen):
    """The memory of a program: its lines, what it declares, and what it returns, by name."""

    lines: tuple[Line, ...]
    declared: frozenset[str]
    returned: frozenset[str]

    @cached_property
    def sources(self) -> Mapping[str, tuple[str, ...]]:
        """What is there already when a statement is done, by name, with the tensors that were made, or declared, for it."""
        result: dict[str, tuple[str, ...]] = {}
        for statement in self.lying:
            origins = (result.get(str(t.name), (str(t.name),)) for t in statement.operands)
            result.setdefault(statement.name, tuple(dict.fromkeys(name for names in origins for name in names)))
        return result

    @cached_property
    def lying(self) -> tuple[Statement, ...]:
        """The statements that leave what they make where their operands are, in their order."""
        return tuple(line.statement for line in self.lines if line.statement.lies)

    def origins(self, name: str) -> tuple[str, ...]:
        """What was made, or declared, for a tensor: itself, but for what lies where others do."""
        return self.sources.get(name, (name,))

    @cached_property
    def _views(self) -> Mapping[str, str]:
        """Views, and what has entries appended, with the tensors that they are."""
        return {x.statement.name: str(x.statement.operands[0].name) for x in self.lines if x.statement.is_operand}

    @cached_property
    def _joined(self) -> Mapping[str, tuple[str, ...]]:
        return {
            x.statement.name: tuple(str(t.name) for t in x.statement.operands) for x in self.lines if x.statement.joins
        }

    @cached_property
    def _cut(self) -> Mapping[str, str]:
        """Slices, and the places of turns, with what they are parts of."""
        parts = (x.statement for x in self.lines if x.statement.cuts or x.statement.placed)
        return {statement.name: str(statement.operands[0].name) for statement in parts}

    @cached_property
    def collected(self) -> Mapping[str, str]:
        """What each turn makes, whatever it is seen as, with what all turns have made of it."""
        pairs = ((x.statement, str(x.statement.operands[0].name)) for x in self.lines if x.statement.collects)
        return {part: collect.name for collect, name in pairs for part in (name, self.root(name), *self.origins(name))}

    def seen_as(self, name: str, repeats: Iterable[Repeat] = ()) -> tuple[str, ...]:
        """A name, and those of which it is a view: in the turns of repeats what enters them is itself."""
        entering = {n for repeat in repeats for r in (repeat, repeat.reverses) if r is not None for n in r.enters}
        result = [name]
        while result[-1] in self._views and result[-1] not in entering:
            result.append(self._views[result[-1]])
        return tuple(result)

    def root(self, name: str, repeats: Iterable[Repeat] = ()) -> str:
        """The tensor that a name stands for, whatever dimensions it is seen in."""
        return self.seen_as(name, repeats)[-1]

    def parts(self, name: str, repeats: tuple[Repeat, ...] = ()) -> tuple[str, ...]:
        """What is read where a tensor is read: itself, or what it was joined of."""
        root = self.root(name, repeats)
        nested = (self.parts(part, repeats) for part in self._joined.get(root, ()))
        return tuple(dict.fromkeys(part for parts in nested for part in parts)) or (root,)

    def path(self, name: str, part: str, repeats: tuple[Repeat, ...] = ()) -> tuple[str, ...]:
        """A name, and those by which it comes to one of its parts."""
        names = self.seen_as(name, repeats)
        if names[-1] == part:
            return names
        ways = (operand for operand in self._joined[names[-1]] if part in self.parts(operand, repeats))
        return (*names, *self.path(next(ways), part, repeats))

    def wholes(self, name: str, repeats: tuple[Repeat, ...] = ()) -> Iterator[str]:
        """What a slice is a part of, and what that is a part of."""
        while (name := self.root(name, repeats)) in self._cut:
            name = self.root(self._cut[name], repeats)
            yield name

    def whole(self, name: str) -> str:
        """What a tensor is, or is a part of, at last."""
        return (self.root(name), *self.wholes(name))[-1]

    def turned(self, name: str) -> bool:
        """Whether something is, or is a part of, what a turn has of a tensor."""
        return any(self._makers[part].placed for part in (self.root(name), *self.wholes(name)) if part in self._cut)

    def places_of(self, name: str) -> tuple[str, str]:
        """Where something lies: for the place of a turn what it is a place of, and along what."""
        maker = self._makers.get(name)
        if maker is None or not maker.placed:
            return name, ""
        return self.root(str(maker.operands[0].name)), maker.along

    def written(self, tensors: Iterable[str]) -> frozenset[str]:
        """What has to be made in memory where these are wanted: what they lie in; of that of which slices alone are
        wanted, these. With what each turn makes there is what is wanted of all of them."""
        tensors = {*tensors}
        places = {part for name in tensors for part in (self.root(name), *self.wholes(name))}
        parts: dict[str, set[str]] = {}  # the slices that are wanted, by what they are parts of
        entire: set[str] = set()
        for name in tensors:
            root = self.root(name)
            if root in self._cut and not self.turned(name) and self.origins(name) == (self.whole(name),):
                parts.setdefault(self.whole(name), set()).add(root)
            else:
                entire |= {*self.origins(name)}
        entire |= {whole for whole, slices in parts.items() if len({self._along(s, whole) for s in slices}) > 1}
        alone = {s for whole, slices in parts.items() if whole not in entire for s in slices}
        together = {self.collected[name] for name in entire if name in self.collected}
        return frozenset(entire | {s for s in alone if alone.isdisjoint(self.wholes(s))} | (together & places))

    def _along(self, name: str, whole: str) -> frozenset[str]:
        """The dimension along which a slice is a part of a tensor; those along which it is, where it is a part of a part."""
        result = frozenset[str]()
        for part in (self.root(name), *self.wholes(name)):
            statement = self._makers.get(part)
            if part == whole or statement is None or not statement.cuts:
                break
            result |= {statement.cut}
        return result

    @cached_property
    def _makers(self) -> Mapping[str, Statement]:
        return {line.statement.name: line.statement for line in self.lines}

    def slices_of(self, name: str, written: Iterable[str]) -> tuple[str, ...]:
        """Those of the slices that are written that are parts of a tensor."""
        return tuple(sorted(s for s in written if s in self._cut and self.whole(s) == name))

    def copied(self, line: Line) -> tuple[Tensor, ...]:
        """What a statement copies: of what it joins what is declared, or stands in another place already, unless nothing but its
        fuse uses what it makes; of what it appends what is declared."""
        statement = line.statement
        if not (statement.joins or statement.appends) or (line.backward and not statement.again):
            return ()
        if statement.joins and line.fuse is not None and not self._leaves(statement.name, line.fuse):
            return ()
        operands = {str(tensor.name): tensor for tensor in statement.operands[1 if statement.appends else 0 :]}
        elsewhere = self._placed_before(statement) if statement.joins else frozenset[str]()
        return tuple(t for name, t in operands.items() if name in elsewhere or self._is_outside(name))

    def _is_outside(self, name: str) -> bool:
        """Whether a tensor was there before: not made, nor joined of what was copied once."""
        return self.declared.issuperset(self.origins(name)) and self.whole(name) not in self._joined

    def _placed_before(self, statement: Statement) -> frozenset[str]:
        """What has its place in something that was joined before, but for what is made again."""
        result: set[str] = set()
        for joined, operands in self._joined.items():
            if joined == statement.name:
                break
            result |= {*operands} if joined != statement.again else set()
        return frozenset(result)

    def _leaves(self, name: str, fuse: Fuse) -> bool:
        """Whether what is joined in a fuse is used outside of it, or returned, under any of its names."""
        users = [line for line in self.lines if name in (str(t.name) for t in line.statement.operands)]
        carried = {n for line in self.lines for repeat in line.repeats for n in repeat.leaves}
        if not users or name in self.returned or name in carried:
            return True
        if any(line.fuse is not fuse and (line.fuse is None or line.fuse.undoes is not fuse) for line in users):
            return True
        return any(self._leaves(line.statement.name, fuse) for line in users if line.statement.lies)
