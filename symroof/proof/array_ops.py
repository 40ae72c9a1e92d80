"""Programs of the second engine: arrays, loops, ops on arrays, and which arrays share memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from symroof.formula import Formula, Frozen
from symroof.proof.loop_counts import Pairs

PRODUCT, SUM, DIFFERENCE, MAXIMUM, EXCHANGE, FUNCTION = "*", "+", "-", "max", "->", "function"
# How what an op makes may lie where its operands lie.
VIEW, SLICE, CONCAT, APPEND, PLACE, COLLECT = "view", "slice", "concat", "append", "place", "collect"


class Array(Frozen):
    """A tensor of a program. ``role`` says where it comes from, and is empty where a statement makes it. ``dtype`` is the name of its type,
    ``split`` its labels with the axes of a mesh that split them, ``frozen`` whether it comes from outside and is not trained,
    ``shared`` whether all turns have the same."""

    name: str
    labels: tuple[str, ...]
    bits: int
    role: str
    dtype: str = ""
    split: frozenset[tuple[str, str]] = frozenset()
    frozen: bool = False
    shared: bool = False

    @property
    def integer(self) -> bool:
        return self.dtype.startswith("int")

    @property
    def untrained(self) -> bool:
        """Whether it has no gradient."""
        return self.integer or self.frozen


class Turn(Frozen):
    """A loop over its ``times`` turns, numbered by its ``place``. Of each pair in ``carried`` the second array of a turn is the
    first of the next one; a loop that carries nothing is one of microbatches. All turns use the same weights if they are
    ``alike``; a loop ``inside`` of a fuse runs on the chip. The chips of the axis ``over`` share its turns out as stages."""

    place: int
    times: Formula
    carried: tuple[tuple[str, str], ...]
    over: str = ""
    alike: bool = False
    inside: bool = False

    @property
    def enters(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.carried)

    @property
    def leaves(self) -> tuple[str, ...]:
        return tuple(name for _, name in self.carried)

    @property
    def batch(self) -> bool:
        return not self.carried


class Op(Frozen):
    """A statement: a product, a sum, a difference, an exchange of layouts, or a function, by its ``kind``.

    With nothing contracted, a row of N elements ``over`` a label takes ``each`` N + ``row`` operations; a function is
    counted by its first operand. ``back_each`` and ``back_row`` are what the derivative of a function takes, and
    ``kept`` is what that reads beside the gradient: operands, result, nothing, or divisor. The last operands of a
    function may be ``gains``; one that ``reshapes`` makes other dimensions of the same elements. What it makes may be
    ``laid`` where its operands are: as a view, a slice of one, several behind one another, one that entries were
    appended to, the place of a turn, or what all turns have made. What a fuse of the number ~n works on is made as in
    the fuse n.

    One that goes ``back`` is of the backward pass: it makes a part of the gradient ``of`` an array, or all of it, and
    ``undoes`` an op for its operand at a ``place``, or adds up what several of them gave. What is ``masked`` is what its fuse
    leaves out of it. It may make what another op made ``again``, for those that go back.
    """

    result: str
    operands: tuple[str, ...]
    kind: str
    each: Fraction
    row: Fraction = Fraction(0)
    over: str | None = None
    function: str = ""
    turns: tuple[Turn, ...] = ()
    fuse: int | None = None
    gathers: bool = False  # rows of the first operand alone are read, as many as the result has
    reshapes: bool = False
    laid: str = ""
    gains: int = 0
    back_each: Fraction = Fraction(0)
    back_row: Fraction = Fraction(0)
    kept: str = "operands"
    back: bool = False
    of: str = ""
    undoes: str = ""
    place: int = 0
    masked: Pairs | None = None
    again: str = ""
    recomputed: bool = False  # in a recompute: its operands are gathered again
    sends: tuple[str, str] | None = None  # the collective, and along which axis; "" for all of them

    @property
    def multiplies(self) -> bool:
        return self.kind == PRODUCT

    @property
    def exchanges(self) -> bool:
        return self.kind == EXCHANGE

    @property
    def views(self) -> bool:
        return self.laid == VIEW

    @property
    def lies(self) -> bool:
        """Whether its result is in memory where its operands are: nothing is read or written, but for what is copied there."""
        return self.exchanges or bool(self.laid)

    @property
    def sums(self) -> bool:
        """Whether it sums a single operand, or takes its maximum: one operation less for each element of the result."""
        return self.kind in (SUM, MAXIMUM) and len(self.operands) == 1

    @property
    def without_elements(self) -> Op:
        """What rows take beside their elements."""
        return replace(self, each=Fraction(0))

    @property
    def shares_out(self) -> bool:
        """Whether the chips of a mesh may share the work out otherwise than the result lies: what multiplies or sums, and
        what goes back, but for other dimensions of the same elements."""
        return self.multiplies or self.sums or (self.back and not (self.again or self.reshapes or self.lies))

    @property
    def adds(self) -> bool:
        """Whether it adds its operands up, element by element, or hands one on: sums that are not whole may come in."""
        return self.exchanges or self.views or (self.kind in (SUM, DIFFERENCE) and len(self.operands) > 1)

    @property
    def needs(self) -> tuple[tuple[str, str | None], ...]:
        """The operands; with one whose rows are gathered, the array that has as many."""
        return tuple((n, self.result if self.gathers and i == 0 else None) for i, n in enumerate(self.operands))


class ArrayProgram(Frozen):
    """Arrays, the ops that make them, and which of them share memory. ``kept`` are results that are used as well,
    ``gradients`` those of declared arrays, ``arriving`` those of results, which come from outside."""

    arrays: tuple[Array, ...]
    ops: tuple[Op, ...]
    kept: tuple[str, ...] = ()
    gradients: tuple[tuple[str, str], ...] = ()
    arriving: tuple[tuple[str, str], ...] = ()

    @cached_property
    def array(self) -> Mapping[str, Array]:
        return {array.name: array for array in self.arrays}

    @cached_property
    def op(self) -> Mapping[str, Op]:
        return {op.result: op for op in self.ops}

    def origins(self, name: str) -> tuple[str, ...]:
        """The arrays in whose memory an array lies, as an exchanged copy, a view or a part of them."""
        op = self.op.get(name)
        if op is None or not op.lies:
            return (name,)
        return tuple(dict.fromkeys(origin for operand in op.operands for origin in self.origins(operand)))

    def taken(self, name: str, turns: tuple[Turn, ...] = ()) -> tuple[str, ...]:
        """The arrays that a read of this one reads: of a concatenation its pieces."""
        root = self.root(name, turns)
        op = self.op.get(root)
        if op is None or op.laid != CONCAT:
            return (root,)
        return tuple(dict.fromkeys(piece for operand in op.operands for piece in self.taken(operand, turns)))

    def around(self, name: str, turns: tuple[Turn, ...] = ()) -> list[str]:
        """The array that this one is a slice of, the array that that one is a slice of, and so on."""
        op, result = self.op.get(self.root(name, turns)), list[str]()
        while op is not None and op.laid in (SLICE, PLACE):
            result.append(self.root(op.operands[0], turns))
            op = self.op.get(result[-1])
        return result

    @cached_property
    def gathered(self) -> Mapping[str, str]:
        """The arrays that are made in each turn of a loop, with the array that stacks those of all turns."""
        collected = [(op.operands[0], op.result) for op in self.ops if op.laid == COLLECT]
        return {alias: stack for name, stack in collected for alias in (*self.seen(name), *self.origins(name))}

    def copied(self, op: Op) -> list[str]:
        """The operands of a concatenation or an append that have to be copied: nothing makes them in place."""
        pieces = op.operands if op.laid == CONCAT else op.operands[1:] if op.laid == APPEND else ()
        fused = op.laid == CONCAT and op.fuse is not None and not self._is_read_elsewhere(op.result, op.fuse)
        if (op.back and not op.again) or fused:
            return []
        concats = [other for other in self.ops if other.laid == CONCAT]
        names = {other.result for other in concats}
        earlier = concats[: concats.index(op)] if op in concats else []
        copied_names = [name for other in earlier if other.result != op.again for name in other.operands]
        return [
            name
            for name in dict.fromkeys(pieces)
            if name in copied_names
            or (
                all(origin not in self.op for origin in self.origins(name))
                and names.isdisjoint((self.root(name), *self.around(name)))
            )
        ]

    def _is_read_elsewhere(self, name: str, fuse: int) -> bool:
        """Whether what a fuse makes is wanted elsewhere, in whatever form: the ops that undo the fuse make it again."""
        users = [op for op in self.ops if name in op.operands]
        carried = any(name in turn.leaves for op in self.ops for turn in op.turns)
        if not users or carried or name in self.kept or any(op.fuse not in (fuse, ~fuse) for op in users):
            return True
        return any(self._is_read_elsewhere(op.result, fuse) for op in users if op.lies)

    def root(self, name: str, turns: tuple[Turn, ...] = ()) -> str:
        """The array that a name stands for, in whatever dimensions it is seen."""
        return self.seen(name, turns)[-1]

    def seen(self, name: str, turns: tuple[Turn, ...] = ()) -> list[str]:
        """A name and what it is a view of, as far as that is one array in these turns: what enters them is another in each."""
        ahead = {turn.place for turn in turns} | {~turn.place for turn in turns}
        entering = (
            {n for op in self.ops for turn in op.turns if turn.place in ahead for n in turn.enters} if turns else set()
        )
        op, result = self.op.get(name), [name]
        while op is not None and op.laid in (VIEW, APPEND) and result[-1] not in entering:
            result.append(op.operands[0])
            op = self.op.get(result[-1])
        return result
