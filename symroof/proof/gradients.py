"""The backward pass, derived anew from what the author wrote: the acts of a script, gone through from the last to the first.

What arrives at a gradient is noted by tensor and by the turns in which it arrives. Nothing is taken from the program that a
producer made.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from symroof.proof.script import Act, Array, Script, Turn

Path = tuple[Turn, ...]


def in_training(script: Script) -> Script:
    """The script with its backward pass. What the act of a fuse makes on the chip is made there again.

    >>> x, y = Array("x", ("N",), 16, "input"), Array("y", ("N",), 16, "")
    >>> square = Script((x, y), (Act("y", ("x", "x"), Fraction(1), multiplies=True),))
    >>> [(act.result, act.operands) for act in in_training(square).acts if act.back]
    [('dx_y', ('dy', 'x')), ('dx_y2', ('x', 'dy')), ('dx', ('dx_y', 'dx_y2'))]
    """
    return _Tape(script).rewound()


@dataclass
class _Tape:
    script: Script
    arrived: dict[tuple[str, Path], list[str]] = field(default_factory=dict)
    arrays: list[Array] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    carried: dict[int, tuple[str, str]] = field(default_factory=dict)  # what enters and leaves a turn, by its place

    @cached_property
    def maker(self) -> dict[str, Act]:
        return {act.result: act for act in self.script.acts}

    @cached_property
    def real(self) -> set[str]:
        """The arrays that have a gradient: a real one that is declared, and what is made of one that has."""
        found = {array.name for array in self.script.arrays if array.role and not array.integer}
        for act in self.script.acts:
            found |= {act.result} if found & set(act.operands) else set()
        return found

    @cached_property
    def stocks(self) -> set[str]:
        return {array.name for array in self.script.arrays if array.role in ("weight", "cache")}

    def rewound(self) -> Script:
        path: Path = ()
        for act in reversed(self.script.acts):
            while path != act.turns[: len(path)]:
                path = self._left(path)
            while path != act.turns:
                path = self._entered((*path, act.turns[len(path)]))
            if act.result in self.real:
                self._undone(act)
        while path:
            path = self._left(path)
        for name, at in tuple(self.arrived):
            self.kept.append(self._whole(name, at, None))
        acts = (replace(act, turns=tuple(map(self._turned, act.turns))) for act in self.acts)
        return Script((*self.script.arrays, *self.arrays), (*self.script.acts, *acts), (*self.script.kept, *self.kept))

    def _entered(self, path: Path) -> Path:
        name = self._whole(path[-1].leaves, path[:-1], None)
        self.arrived[path[-1].leaves, path] = [name]
        self.carried[path[-1].place] = (name, name)
        return path

    def _left(self, path: Path) -> Path:
        """A turn is over: what has arrived for arrays from outside of it goes there."""
        turn, outer = path[-1], path[:-1]
        entering, back = self.carried[turn.place]
        here = [name for name, at in self.arrived if at == path]
        if turn.enters in here:
            back = self._whole(turn.enters, path, None)
        for name in here:
            if name in self.stocks:
                self.kept.append(self._whole(name, path, None))
            elif name != turn.enters:
                result = self._array(name, self._name(name, path))
                parts = (self._array(name, f"{result}_before", "gradient"), *self.arrived.pop((name, path)))
                self._add(Act(result, parts, Fraction(len(parts) - 1)), path, None)
                self.arrived.setdefault((name, outer), []).append(result)
        self.arrived.setdefault((turn.enters, outer), []).append(back)
        self.carried[turn.place] = (entering, back)
        return outer

    def _turned(self, turn: Turn) -> Turn:
        enters, leaves = self.carried[turn.place]
        return replace(turn, place=~turn.place, enters=enters, leaves=leaves)

    def _undone(self, act: Act) -> None:
        """What the gradient of a result gives to each operand."""
        gradient = self._whole(act.result, act.turns, act.fuse)
        for place, name in enumerate(act.operands):
            if name in self.real:
                given = self._given(act, place, gradient)
                self.arrived.setdefault((name, act.turns), []).append(given)

    def _given(self, act: Act, place: int, gradient: str) -> str:
        operand, made = self.script.array[act.operands[place]], self.script.array[act.result]
        negative = act.minus and place == 1
        alike, same = set(operand.labels) == set(made.labels), operand.dtype == made.dtype
        free = act.back_each == act.back_row == 0 and not (act.gathers or act.reshapes)
        if (
            (free or (act.back_each is None and not (act.multiplies or act.exchanges)))
            and alike
            and same
            and not negative
        ):
            return gradient
        name = self._array(operand.name, self._part(operand.name, act.result, act.turns))
        if act.back_each is not None:
            given = self._function(act, place, gradient, name, free)
        elif act.multiplies:
            given = self._product(act, place, gradient, name)
        elif act.exchanges:
            given = Act(name, (gradient,), Fraction(0), exchanges=True)
        else:
            given = Act(name, (gradient,), Fraction(1), sums=not alike and not negative)
        self._add(given, act.turns, act.fuse)
        return name

    def _function(self, act: Act, place: int, gradient: str, name: str, free: bool) -> Act:
        """The gradient through a function: its derivative takes what it takes once, for the first operand that asks."""
        zero, gain = Fraction(0), place - (len(act.operands) - act.gains)
        if gain >= 0:
            if gain:
                return Act(name, (gradient,), Fraction(1), sums=True)
            return Act(name, (act.operands[0], gradient), Fraction(2), first=True)
        if act.reshapes or free:
            return Act(name, (gradient,), act.back_each or zero, reshapes=act.reshapes)
        if act.gathers:
            return Act(name, (*act.operands[1:], gradient), zero)
        kept = {
            "nothing": (),
            "result": (act.result, *act.operands[1:]),
            "divisor": (act.operands[-1], act.result)[: 1 + (place > 0)],
            "operands": act.operands,
        }[act.kept]
        if any(n in self.real for n in act.operands[:place]):
            return Act(name, (*kept, gradient), zero, over=act.over)
        assert act.back_each is not None
        return Act(name, (*kept, gradient), act.back_each, act.back_row, act.over, function=f"{act.function}'")

    def _product(self, act: Act, place: int, gradient: str, name: str) -> Act:
        """The gradient in the place of an operand. Two others are multiplied first where something is summed."""
        others, at = [n for i, n in enumerate(act.operands) if i != place], place
        operand, made = self.script.array[act.operands[place]], self.script.array[act.result]
        if len(others) > 1 and set(operand.labels) != set(made.labels):
            here = {label for n in others for label in self.script.array[n].labels}
            both = replace(made, labels=tuple(label for label in made.labels if label in here))
            rest = self._array(both, f"{act.result}_{operand.name}")
            self._add(Act(rest, tuple(others), Fraction(len(others) - 1), multiplies=True), act.turns, act.fuse)
            others, at = [rest], min(place, 1)
        factors = (*others[:at], gradient, *others[at:])
        return Act(name, factors, Fraction(len(factors) - 1), multiplies=True)

    def _whole(self, name: str, path: Path, fuse: int | None) -> str:
        """The gradient of an array: what arrived, added up; from outside where nothing did."""
        parts = self.arrived.pop((name, path), [])
        if parts and self._returned(name, path):
            parts.append(self._array(name, f"d{name}_out", "gradient"))
        if len(parts) == 1:
            return parts[0]
        result = self._array(name, self._name(name, path), "" if parts else "gradient")
        if parts:
            self._add(Act(result, tuple(parts), Fraction(len(parts) - 1)), path, fuse)
        return result

    def _add(self, act: Act, path: Path, fuse: int | None) -> None:
        self.acts.append(replace(act, turns=path, fuse=None if fuse is None else ~fuse, back=True))

    def _array(self, like: str | Array, name: str, role: str = "") -> str:
        """An array as another is, under a name that no other has."""
        known = {array.name for array in self.arrays}
        free = next(n for i in range(1, len(known) + 2) if (n := name if i == 1 else f"{name}{i}") not in known)
        array = self.script.array[like] if isinstance(like, str) else like
        self.arrays.append(replace(array, name=free, role=role))
        return free

    def _count(self, name: str, path: Path) -> int:
        """How much arrives at a gradient within these turns: one from each use, one from a repeat."""
        direct = sum(
            act.operands.count(name) for act in self.script.acts if act.turns == path and act.result in self.real
        )
        deep = len(path) + 1
        inner = {
            act.turns[:deep] for act in self.script.acts if act.turns[: deep - 1] == path and len(act.turns) >= deep
        }
        repeated = (turns[-1].enters == name or self._count(name, turns) > 0 for turns in inner)
        return direct + (0 if name in self.stocks else sum(repeated))

    def _outside(self, name: str, path: Path) -> bool:
        """Whether an array is not made in these turns, nor owned by them."""
        maker = self.maker.get(name)
        return bool(path) and name not in self.stocks and (maker is None or maker.turns[: len(path)] != path)

    def _returned(self, name: str, path: Path) -> bool:
        """Whether an array is used and given out too, here and not in a turn that hands it on."""
        handed = bool(path) and name == path[-1].leaves
        return name in self.script.kept and name in self.maker and not handed and not self._outside(name, path)

    def _name(self, name: str, path: Path) -> str:
        """The name of a gradient where these turns are done with it."""
        if self._outside(name, path):
            return self._part(name, path[-1].leaves, path[:-1])
        deep = len(path) + 1
        turns = {
            act.turns[:deep] for act in self.script.acts if act.turns[: deep - 1] == path and len(act.turns) >= deep
        }
        more = any(t[-1].leaves == name and self._count(name, t) for t in turns)
        return f"d{name}_next" if more else f"d{name}"

    def _part(self, name: str, user: str, path: Path) -> str:
        """The name of what one use gives: that of the gradient, where there is no other."""
        last = path[-1] if path else None
        single = self._count(name, path) == 1 and (last is None or name != last.leaves)
        single = single and not self._returned(name, path)
        shared = last is not None and name != last.enters and self._outside(name, path)
        return self._name(name, path) if single and not shared else f"d{name}_{user}"
