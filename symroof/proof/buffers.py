"""Buffers: where the arrays of a program are in memory. An act may leave its result where its operands are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from symroof.formula import Frozen
from symroof.proof.acts import APPEND, COLLECT, CONCAT, PLACE, SLICE, VIEW, Act, Array, Turn


class Stored(Frozen):
    """Arrays and the acts that make them, and where each of them is in memory. ``kept`` is what is asked for although it is used;
    ``gradients`` are those of arrays that are declared, ``arriving`` those of results, which come from outside."""

    arrays: tuple[Array, ...]
    acts: tuple[Act, ...]
    kept: tuple[str, ...] = ()
    gradients: tuple[tuple[str, str], ...] = ()
    arriving: tuple[tuple[str, str], ...] = ()

    @cached_property
    def array(self) -> Mapping[str, Array]:
        return {array.name: array for array in self.arrays}

    @cached_property
    def act(self) -> Mapping[str, Act]:
        return {act.result: act for act in self.acts}

    def origins(self, name: str) -> tuple[str, ...]:
        """The arrays of which another is an exchanged copy, a part, or all: in memory it is there with them."""
        act = self.act.get(name)
        if act is None or not act.lies:
            return (name,)
        return tuple(dict.fromkeys(one for operand in act.operands for one in self.origins(operand)))

    def taken(self, name: str, turns: tuple[Turn, ...] = ()) -> tuple[str, ...]:
        """The arrays that are read where one is read: what lies behind one another is read piece by piece."""
        root = self.root(name, turns)
        act = self.act.get(root)
        if act is None or act.laid != CONCAT:
            return (root,)
        return tuple(dict.fromkeys(one for operand in act.operands for one in self.taken(operand, turns)))

    def around(self, name: str, turns: tuple[Turn, ...] = ()) -> list[str]:
        """What an array is cut out of, and what that is cut out of."""
        act, result = self.act.get(self.root(name, turns)), list[str]()
        while act is not None and act.laid in (SLICE, PLACE):
            result.append(self.root(act.operands[0], turns))
            act = self.act.get(result[-1])
        return result

    @cached_property
    def gathered(self) -> Mapping[str, str]:
        """What turns make, each with the array that all of them have made of it."""
        every = [(act.operands[0], act.result) for act in self.acts if act.laid == COLLECT]
        return {one: whole for name, whole in every for one in (*self.seen(name), *self.origins(name))}

    def copied(self, act: Act) -> list[str]:
        """What is put where an act wants it and does not come from one that could have put it there."""
        pieces = act.operands if act.laid == CONCAT else act.operands[1:] if act.laid == APPEND else ()
        inside = act.laid == CONCAT and act.fuse is not None and not self._is_read_elsewhere(act.result, act.fuse)
        if (act.back and not act.again) or inside:
            return []
        joined = [other for other in self.acts if other.laid == CONCAT]
        names = {other.result for other in joined}
        earlier = joined[: joined.index(act)] if act in joined else []
        before = [name for other in earlier if other.result != act.again for name in other.operands]
        return [
            name
            for name in dict.fromkeys(pieces)
            if name in before
            or (
                all(one not in self.act for one in self.origins(name))
                and names.isdisjoint((self.root(name), *self.around(name)))
            )
        ]

    def _is_read_elsewhere(self, name: str, fuse: int) -> bool:
        """Whether what a fuse makes is wanted elsewhere, in whatever form: the acts that undo the fuse make it again."""
        users = [act for act in self.acts if name in act.operands]
        carried = any(name in turn.leaves for act in self.acts for turn in act.turns)
        if not users or carried or name in self.kept or any(act.fuse not in (fuse, ~fuse) for act in users):
            return True
        return any(self._is_read_elsewhere(act.result, fuse) for act in users if act.lies)

    def root(self, name: str, turns: tuple[Turn, ...] = ()) -> str:
        """The array that a name stands for, in whatever dimensions it is seen."""
        return self.seen(name, turns)[-1]

    def seen(self, name: str, turns: tuple[Turn, ...] = ()) -> list[str]:
        """A name and what it is a view of, as far as that is one array in these turns: what enters them is another in each."""
        ahead = {turn.place for turn in turns} | {~turn.place for turn in turns}
        entering = (
            {n for act in self.acts for turn in act.turns if turn.place in ahead for n in turn.enters}
            if turns
            else set()
        )
        act, result = self.act.get(name), [name]
        while act is not None and act.laid in (VIEW, APPEND) and result[-1] not in entering:
            result.append(act.operands[0])
            act = self.act.get(result[-1])
        return result
