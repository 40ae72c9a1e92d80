"""The backward pass held against the program: <dy, J x'> = <J^T dy, x'> on small numbers modulo a prime.

The program is run forward with every dimension of two places and every repeat of two turns, each number with how fast it
changes when all that is declared changes at random: that is J x'. The ops that go back are run as they are given, on
what arrives at random for the results. Both products are equal where every gradient is right, and all but never otherwise: one
that is wrong, missing or given twice, one that reads what was not kept, one that another turn has. Functions are any functions
that have their derivatives: they are told by what the derivative reads.

What numbers do not tell is read off: a gradient has the type and the layout of what it is the gradient of, a function takes what
its derivative takes once, and nothing is made that is no gradient and leads to none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from symroof.errors import CheckError
from symroof.formula import once
from symroof.proof.array_ops import APPEND, COLLECT, CONCAT, FUNCTION, PLACE, PRODUCT, SLICE, Op, Turn
from symroof.proof.kernel_traffic import Script
from symroof.proof.modular_arithmetic import (
    PRIME,
    Index,
    Labels,
    Numbers,
    align,
    dot,
    linear,
    lookup,
    matrix,
    on_rows,
    residue,
    size,
    sum_of,
    times,
    times_each,
)
from symroof.proof.program_structure import DECLARED, require_structure

# Every repeat has so many turns, but for those inside of so many others.
TURNS, DEEP = 2, 3


@once
def require_adjoint(script: Script) -> None:
    """Raises :class:`~symroof.errors.CheckError` where the ops that go back are not the backward pass of the others.

    >>> from fractions import Fraction
    >>> from symroof.proof.array_ops import Array
    >>> half, x, y = Fraction(1, 2), Array("x", ("N",), 16, "input"), Array("y", ("N",), 16, "")
    >>> dy, dx = Array("dy", ("N",), 16, "gradient"), Array("dx", ("N",), 16, "")
    >>> square = Op("y", ("x",), "function", Fraction(1), function="square", back_each=Fraction(2))
    >>> undone = Op("dx", ("x", "dy"), "function", Fraction(2), function="square'", back=True, of="x", undoes="y")
    >>> whole = Script((x, y, dy, dx), (square, undone), gradients=(("x", "dx"),), arriving=(("y", "dy"),))
    >>> require_adjoint(whole)
    """
    if not any(op.back for op in script.ops):
        return
    try:
        require_structure(script)
        products = [_Machine(narrowed(script, wide)).products() for wide in wide_parts(script)]
    except (KeyError, IndexError, StopIteration, ValueError) as error:
        raise CheckError("the backward pass takes what is not there") from error
    if any(forward != backward for forward, backward in products):
        raise CheckError("the backward pass is not that of the program: its gradients are others")


class _Machine:
    """Runs a script with two places in every dimension and two turns of every repeat. Each array is stored by its name and its
    turns, with the rate at which it changes, which is 0 in the backward pass."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.made: dict[tuple[str, Index], tuple[Numbers, Numbers]] = {}
        self.turns = {turn.place: turn for op in script.ops for turn in op.turns}
        self.result = {gradient: name for name, gradient in script.arriving}
        self.added = {op.operands[0]: op.result for op in script.ops if op.back}

    def products(self) -> tuple[int, int]:
        """What arrives times how fast the results change, and the gradients times how fast what is declared changes."""
        script, forward, backward = self.script, 0, 0
        for op, at in _turn_by_turn(script.ops):
            operands = [self._read(name, op.turns, at) for name in op.operands]
            if op.laid == COLLECT:  # to what the turns before have put there
                before = self.made[op.result, _earlier(at, len(at) - 1)] if at[-1] else None
                operands += [before] if before else []
            value = self._undoing(op, operands, at) if op.back and not op.again else self._ahead(op, operands, at)
            self.made[op.result, at] = (value[0], [0] * len(value[0])) if op.again else value
        arriving, gradients = dict(script.arriving), dict(script.gradients)
        for name in {*arriving, *self._results()}:
            turns = self._around(name)
            for at in product(*(range(_turns(deep)) for deep in range(len(turns)))):
                forward += dot(self._inputs(arriving[name], at)[0], self._read(name, turns, at)[1])
        for (name, at), (_, changes) in list(self.made.items()):
            if script.array[name].role and any(changes):
                back = tuple(self.turns[~turn.place] for turn in self._owned(name))
                backward += dot(self._read(gradients[name], back, _mirrored(at))[0], changes)
        return forward % PRIME, backward % PRIME

    def _results(self) -> Iterator[str]:
        """What the program returns that depends on something real: what nothing uses after the turns that it leaves,
        and what it says."""
        ahead = [op for op in self.script.ops if not op.back]
        uses = ((op, name) for op in ahead for name in op.operands)
        used = {n for op, n in uses if all(n not in turn.leaves for turn in op.turns)} - {*self.script.kept}
        real = {a.name for a in self.script.arrays if a.role in DECLARED and not a.untrained}
        for _ in range(2 + DEEP):  # what enters a turn after the first is what left the one before
            for op in ahead:
                if (real | {e for turn in op.turns for e, left in turn.carried if left in real}) & {*op.operands}:
                    real.add(op.result)
        yield from (op.result for op in ahead if op.result in real and op.result not in used)

    def _around(self, name: str) -> tuple[Turn, ...]:
        """The turns in each of which a result is another: what leaves a repeat, or is of all its turns, is one."""
        op = self.script.op[name]
        turns = op.turns[: -1 if op.laid == COLLECT else None]
        while turns and name in turns[-1].leaves:
            turns = turns[:-1]
        return turns

    def _owned(self, name: str) -> tuple[Turn, ...]:
        """The turns in which a declared array is used that is another one in some of them."""
        return self.script.own_turns(name)

    def _own(self, name: str, turns: tuple[Turn, ...], at: Index) -> Index:
        """Where an array that comes from outside is noted: all microbatches have the first one of it, but for inputs."""
        constant, owned = self.script.array[name].role != "input", self._owned(name)
        numbers = [number for turn, number in zip(turns, at, strict=True) if turn in owned]
        return tuple(0 if turn.batch and constant else number for turn, number in zip(owned, numbers, strict=True))

    def _read(self, name: str, turns: tuple[Turn, ...], at: Index) -> tuple[Numbers, Numbers]:
        """The value of an array for an op in these turns."""
        for deep in reversed(range(len(turns))):
            if name in turns[deep].enters and at[deep]:
                return self._read(dict(turns[deep].carried)[name], turns[: deep + 1], (*at[:deep], at[deep] - 1))
        role, maker = self.script.array[name].role, self.script.op.get(name)
        goes_back = bool(turns) and turns[0].place < 0
        if role == "before":
            zero, op = [0] * size(self.script.array[name].labels), self.script.op[self.added[name]]
            batch = next((i for i, turn in enumerate(turns) if turn.batch), -1)
            deep = batch if self.script.adds_batches(op) else len(turns) - 1
            return self._read(op.result, turns, _earlier(at, deep)) if at[deep] else (zero, zero)
        if goes_back and (role in DECLARED or (maker is not None and not maker.back)):
            return self._read(name, tuple(self.turns[~turn.place] for turn in turns), _mirrored(at))
        if role == "gradient":
            return self._inputs(name, _mirrored(at)[: len(self._around(self.result[name]))])
        if maker is None:
            return self._inputs(name, self._own(name, turns, at))
        shared = next(
            (i for i, (a, b) in enumerate(zip(maker.turns, turns, strict=False)) if a != b),
            min(len(turns), len(maker.turns)),
        )
        last = (_turns(deep) - 1 for deep in range(shared, len(maker.turns)))
        return self.made[name, (*at[:shared], *last)]

    def _inputs(self, name: str, at: Index) -> tuple[Numbers, Numbers]:
        """The random values of a declared array."""
        if (name, at) not in self.made:
            array = self.script.array[name]
            places, constant = range(size(array.labels)), array.untrained or array.role not in DECLARED
            values, changes = ([residue(kind, name, at, i) for i in places] for kind in ("value", "change"))
            self.made[name, at] = values, [0] * len(values) if constant else changes
        return self.made[name, at]

    def _labels(self, names: Sequence[str]) -> tuple[Labels, ...]:
        return tuple(self.script.array[name].labels for name in names)

    def _ahead(self, op: Op, operands: list[tuple[Numbers, Numbers]], at: Index) -> tuple[Numbers, Numbers]:
        """The result of an op of the forward pass, and its rate of change."""
        labels, target = self._labels(op.operands), self.script.array[op.result].labels
        values, changes = [value for value, _ in operands], [c for _, c in operands]
        if op.kind != FUNCTION:
            varied = [[*values[:i], c, *values[i + 1 :]] for i, c in enumerate(changes)] if op.multiplies else [changes]
            terms = (linear(op.kind, operands_of_term, labels, target) for operands_of_term in varied)
            return linear(op.kind, values, labels, target), sum_of(*terms)
        if op.gathers and not op.reshapes:
            rows = lookup(labels[0], labels[1], target, values[1])
            return [values[0][i] for i in rows], [changes[0][i] for i in rows]
        if op.laid == APPEND:
            return values[0], changes[0]
        if op.reshapes:
            matrices = [self._laid(op, place, target, shape, at) for place, shape in enumerate(labels)]
            return self._reshaped(matrices, values), self._reshaped(matrices, changes)
        base = len(values) - op.gains
        if op.over is not None:
            return self._normed(op, values, changes, labels, target)
        xs = [align(x, shape, target) for x, shape in zip(values[:base], labels, strict=False)]
        result = _elementwise(op, xs)
        slopes = [_slopes(op, i, xs, result) for i in range(base)]
        parts = [times_each(s, align(c, shape, target)) for s, c, shape in zip(slopes, changes, labels, strict=False)]
        return result, sum_of(*parts)

    @staticmethod
    def _reshaped(matrices: list[list[Numbers]], arrays: list[Numbers]) -> Numbers:
        """Arrays in other dimensions, with what is added there."""
        return sum_of(*map(times, matrices, arrays), *arrays[len(matrices) :])

    @staticmethod
    def _laid(op: Op, place: int, target: Labels, shape: Labels, at: Index) -> list[Numbers]:
        """What puts the elements of an operand where a result has them: another for each slice, each place of what is
        joined, and each turn."""
        if op.laid in (PLACE, COLLECT):
            return matrix(f"{op.function} {op.result} {at[-1]}", size(target), size(shape))
        suffix = f" {op.again or op.result} {place}" if op.laid in (SLICE, CONCAT) else ""
        return matrix(f"{op.function}{suffix}", size(target), size(shape))

    def _normed(
        self, op: Op, values: list[Numbers], changes: list[Numbers], labels: tuple[Labels, ...], target: Labels
    ) -> tuple[Numbers, Numbers]:
        """A function of rows, with its gain and its shift."""
        values[0], changes[0] = on_rows(op.function, str(op.over), labels[0], (values[0], changes[0]))
        if op.gains:
            normed, rise, gain, gain_rise = values[0], changes[0], values[1], changes[1]
            products = [normed, gain], [rise, gain], [normed, gain_rise]
            result, *parts = (linear(PRODUCT, factors, labels[:2], target) for factors in products)
            slope = sum_of(*parts)
        else:
            result, slope = align(values[0], labels[0], target), align(changes[0], labels[0], target)
        for shift, rise, dims in zip(values[2:], changes[2:], labels[2:], strict=True):
            result, slope = (sum_of(result, align(shift, dims, target)), sum_of(slope, align(rise, dims, target)))
        return result, slope

    def _undoing(self, op: Op, operands: list[tuple[Numbers, Numbers]], at: Index) -> tuple[Numbers, Numbers]:
        """The result of an op of the backward pass, which does not change."""
        labels, target = self._labels(op.operands), self.script.array[op.result].labels
        values, undone = [value for value, _ in operands], self.script.op.get(op.undoes)
        if op.kind != FUNCTION:
            result = linear(op.kind, values, labels, target)
        elif undone is None or undone.kind != FUNCTION:
            result = align(values[0], labels[0], target)  # a change of type
        else:
            result = self._derived(op, undone, values, labels, target, at)
        return result, [0] * len(result)

    def _derived(
        self, op: Op, undone: Op, values: list[Numbers], labels: tuple[Labels, ...], target: Labels, at: Index
    ) -> Numbers:
        """The gradient of one operand of a function."""
        slices, values = values[len(labels) :], values[: len(labels)]
        gradient, place = values[-1], op.place
        if undone.gathers and not undone.reshapes:
            rows = lookup(target, labels[0], labels[-1], values[0])
            result = [0] * size(target)
            for i, value in zip(rows, gradient, strict=True):
                result[i] += value
            return result
        if undone.reshapes:
            forward = self._laid(undone, place, labels[-1], target, _mirrored(at))
            back = times([list(column) for column in zip(*forward, strict=True)], gradient)
            biases = (align(x, dims, target) for x, dims in zip(values[:-1], labels, strict=False))
            return sum_of(back, *slices, *biases)
        if place >= len(undone.operands) - undone.gains:
            normed, _ = on_rows(undone.function, str(undone.over), labels[0], (values[0], [0] * len(values[0])))
            return linear(PRODUCT, [normed, gradient], (labels[0], labels[-1]), target)
        if undone.over is not None:
            dims = labels[0]
            if len(values) > 2:
                gradient = linear(PRODUCT, [gradient, values[1]], (labels[-1], labels[1]), dims)
            else:
                gradient = align(gradient, labels[-1], dims)
            pair = (values[0], [0] * len(values[0])), (gradient, [0] * len(gradient))
            return align(on_rows(f"{undone.function}'", undone.over, dims, *pair)[0], dims, target)
        saved = [align(x, dims, target) for x, dims in zip(values[:-1], labels[:-1], strict=True)]
        return times_each(_slopes_of(undone, place, saved, len(gradient)), align(gradient, labels[-1], target))


def _turn_by_turn(ops: Sequence[Op], at: Index = ()) -> Iterator[tuple[Op, Index]]:
    """The ops one after the other, turn by turn."""
    deep, i = len(at), 0
    while i < len(ops):
        if len(ops[i].turns) == deep:
            yield ops[i], at
            i += 1
            continue
        turn, end = ops[i].turns[deep], i
        while end < len(ops) and ops[end].turns[deep : deep + 1] == (turn,):
            end += 1
        for number in range(_turns(deep)):
            yield from _turn_by_turn(ops[i:end], (*at, number))
        i = end


def _earlier(at: Index, deep: int) -> Index:
    """The turn before one, of a repeat that stands in so many others."""
    return (*at[:deep], at[deep] - 1, *at[deep + 1 :])


def _mirrored(at: Index) -> Index:
    return tuple(_turns(deep) - 1 - number for deep, number in enumerate(at))


def _turns(deep: int) -> int:
    return TURNS if deep < DEEP else 1


def _is_free(op: Op) -> bool:
    """Whether a function leaves a gradient as it is."""
    return op.back_each == op.back_row == 0 or op.function == "convert"


def _elementwise(op: Op, xs: list[Numbers]) -> Numbers:
    """An elementwise function of its operands: any that has the derivatives that are told by what they read."""
    if op.kept == "divisor":
        return [a * pow(b, -1, PRIME) % PRIME for a, b in zip(*xs, strict=True)]
    if op.kept == "nothing" or _is_free(op):
        slopes = [_slopes(op, i, xs, []) for i in range(len(xs))]
        offset = [residue(op.function, op.again or op.result)] * len(xs[0])  # none of them leaves a number as it is
        return sum_of(offset, *(times_each(slope, x) for slope, x in zip(slopes, xs, strict=True)))
    return [residue(op.function, *values) for values in zip(*xs, strict=True)]


def _slopes(op: Op, place: int, xs: list[Numbers], result: Numbers) -> Numbers:
    """The derivative for one operand, at each element, from all that there is."""
    divisor = [xs[-1], *([result] if place else [])]
    saved = {"nothing": [], "result": [result, *xs[1:]], "divisor": divisor, "operands": xs}
    return _slopes_of(op, place, saved[op.kept], len(xs[0]))


def _slopes_of(op: Op, place: int, saved: list[Numbers], count: int) -> Numbers:
    """The derivative for one operand from what is kept."""
    if _is_free(op):
        return [1] * count
    if op.kept == "divisor":
        reciprocals = [pow(b, -1, PRIME) for b in saved[0]]
        return [-q * b for q, b in zip(saved[1], reciprocals, strict=True)] if place else reciprocals
    if op.kept == "nothing":
        return [residue("slope", op.function, place)] * count
    return [residue("slope", op.function, place, *values) for values in zip(*saved, strict=True)]


# A loop nest of more dimensions is gone through several times, each time with so many of them that have two places.
BROAD = 8


def wide_parts(script: Script) -> Iterator[frozenset[str]]:
    """The dimensions that have two places, of all or of some at a time: each of them once."""
    labels = list(dict.fromkeys(label for array in script.arrays for label in array.labels))
    nests = ({x for n in (*op.operands, op.result) for x in script.array[n].labels} for op in script.ops)
    step = len(labels) if max(map(len, nests)) <= BROAD else BROAD
    yield from (frozenset(labels[i : i + step]) for i in range(0, len(labels), max(step, 1)))


def narrowed(script: Script, wide: frozenset[str]) -> Script:
    """The script with one place in every other dimension."""
    if all(label in wide for array in script.arrays for label in array.labels):
        return script
    arrays = (replace(a, labels=tuple(x if x in wide else "1" for x in a.labels)) for a in script.arrays)
    ops = (op if op.over is None or op.over in wide else replace(op, over="1") for op in script.ops)
    return replace(script, arrays=tuple(arrays), ops=tuple(ops))
