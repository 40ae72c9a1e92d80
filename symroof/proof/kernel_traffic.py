"""A program in plain values, and what a run of it loads and stores.

Which statement runs where, what is on the chip already, and who pays for a load is worked out here anew.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from functools import cached_property

from symroof.formula import Frozen, Name
from symroof.proof.array_ops import PLACE, SLICE, SUM, ArrayProgram, Op, Turn
from symroof.proof.loop_counts import Loops
from symroof.proof.masks import Masked

# What chips exchange: results by name, and operands with the op that they are brought to.
Away = frozenset["str | tuple[str, str]"]
# Who pays, what is moved, how much of it: None where that is all, an array that has as many rows, or what a mask reaches;
# and the turns in each of which it is.
Moved = tuple[str, str, "str | Masked | None", tuple[Turn, ...]]


# What the bytes of an array may belong to.
PARTS = ("weights", "caches", "gradients", "activations")


class Script(ArrayProgram):
    """A program in plain values, with the backward pass that a producer gives it, if it is in training: what it was written with,
    and ops that :mod:`symroof.proof.adjoints` holds against that."""

    @property
    def idle(self) -> bool:
        """Whether no op computes anything: arrays are moved, and split otherwise."""
        return bool(self.ops) and not any(
            self.contracts(op) or (not op.exchanges and (op.each or op.row)) for op in self.ops
        )

    def part(self, name: str) -> str:
        """What the bytes of an array belong to: weights, caches, the gradients of weights, or else activations."""
        of = {piece: own for own, gradient in self.gradients for piece in (gradient, *self.taken(gradient))}
        name = (self.root(name), *self.around(name))[-1]
        role = self.array[name].role
        if role in ("weight", "cache"):
            return f"{role}s"
        return "gradients" if name in of and self.array[of[name]].role == "weight" else "activations"

    def labels(self, names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        return tuple(self.array[name].labels for name in names)

    def loops(self, op: Op, fused: bool = False) -> Loops:
        return Loops(self.labels(op.operands), self.array[op.result].labels, fused)

    def contracts(self, op: Op) -> bool:
        """Whether some loop of a product has no place in its result."""
        return op.multiplies and bool(self.loops(op).missing_in(self.array[op.result].labels))

    def own_turns(self, name: str) -> tuple[Turn, ...]:
        """The turns in each of which an array is another one: those in which it is made; of what is declared an input is another
        in each microbatch, what is shared the same in all turns, all else another in the turns that use it."""
        if name in self.op:
            return self.op[name].turns
        every = next((op.turns for op in self.ops if name in op.operands), ())
        turns = tuple(turn for turn in every if not turn.alike)
        if self.array[name].role == "input":
            return tuple(turn for turn in turns if turn.batch)
        return () if self.array[name].shared else turns

    def adds_batches(self, op: Op) -> bool:
        """Whether an op adds up what all microbatches give: the turns around it are those that have an array of their own of
        which it makes the gradient, and microbatches."""
        if not op.back or not op.of or op.undoes or op.kind != SUM or not any(turn.batch for turn in op.turns):
            return False
        own = {turn.place for turn in self.own_turns(op.of) if not turn.batch}
        before = self.array[op.operands[0]].role == "before"
        return before and {~turn.place for turn in op.turns if not turn.batch} == own

    @cached_property
    def split(self) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """The axes that split each size, array by array, or the turns that there are so many of: every chip of theirs
        has as many."""
        result: dict[str, dict[tuple[str, ...], None]] = {}
        for array in self.arrays:
            for label in dict.fromkeys(label for label, _ in array.split):
                group = tuple(axis for name, axis in array.split if name == label)
                result.setdefault(label, {})[group] = None
        for turn in (turn for op in self.ops for turn in op.turns if turn.over):
            if isinstance(turn.times, Name):
                result.setdefault(turn.times.name, {})[(turn.over,)] = None
        return {label: tuple(groups) for label, groups in result.items()}

    @cached_property
    def run(self) -> Trace:
        """The statements one after the other, on a chip that forgets what it holds when a kernel ends."""
        return self._noted(*self._kernels)

    def _loaded_in(self, payer: str, name: str) -> tuple[Turn, ...]:
        """The turns in each of which a load takes place: on the chip an array is loaded once for all turns, but for
        their places."""
        parts = (self.op[n] for n in (self.root(name), *self.around(name)) if n in self.op)
        inside = next((op.turns for op in parts if op.laid == PLACE), ())
        launched = tuple(turn for turn in self.op[payer].turns if not turn.inside)
        return (*launched, *(turn for turn in inside if turn.inside))

    def _stored_in(self, payer: str, name: str, asked: set[str]) -> tuple[Turn, ...]:
        """The turns in each of which a store takes place: of what turns on the chip make the last, where not all of it
        is asked for."""
        inside = self.op[name].turns if self.gathered.get(name) in asked else ()
        launched = tuple(turn for turn in self.op[payer].turns if not turn.inside)
        return (*launched, *(turn for turn in inside if turn.inside))

    def run_apart(self, away: Away) -> Trace:
        """The same on a chip that others exchange something with: what goes ``away``, a result or an operand that an op is
        brought, comes back from memory."""
        return self._noted(*self._kernels, away) if away else self.run

    @cached_property
    def _kernels(self) -> tuple[list[int], Mapping[str, int]]:
        """In which kernel each op runs, and the place of what makes each array."""
        maker = {op.result: i for i, op in enumerate(self.ops)}
        kernel: list[tuple[int, int | None]] = []  # where each op runs, and so what has a contraction behind it
        for i, op in enumerate(self.ops):
            feeding = [maker[name] for n in op.operands for name in self.origins(n) if name in maker]
            last = max((k for j in feeding if (k := kernel[j][1]) is not None), default=None)
            here = last is not None and self._joins(op, self.ops[last])
            inside = (j for j, other in enumerate(self.ops) if other.fuse == op.fuse and not other.lies)
            together = next(inside, i)
            if op.lies:
                where, here = ~i, False
            elif op.fuse in self._busy:
                where = together
            elif last is not None and here and not self.contracts(op):
                where = last
            elif op.fuse is not None:
                where = self._first_alone(op.fuse, kernel, i)
            else:
                where = i
            behind = here or op.fuse in self._busy or self.contracts(op) or last is not None
            kernel.append((where, where if behind and not op.lies else last))
        return [where for where, _ in kernel], maker

    def _joins(self, op: Op, first: Op) -> bool:
        """Whether the kernel that begins with an op has a contraction, in the same turn and pass."""
        contracts = self.contracts(first) or first.fuse in self._busy
        return contracts and first.turns == op.turns and first.back == op.back

    @cached_property
    def _busy(self) -> frozenset[int]:
        """The fuses that something is contracted in, or that hand something on, and those of the backward pass that
        make it again."""
        ways = ((op, any(turn.inside for turn in op.turns)) for op in self.ops if op.fuse is not None)
        busy = {op.fuse for op, turned in ways if op.fuse is not None and (turned or self.contracts(op))}
        return frozenset(busy | {~fuse for fuse in busy if fuse >= 0})

    def made_again(self, op: Op) -> list[Op]:
        """What the ops that go back through the fuse of one read of what was made in it, and what that was made of: it is
        made on the chip once more."""
        fuse = ~op.fuse if op.back and op.fuse is not None else None
        if fuse is None or fuse not in self._busy:
            return []
        wanted = {name for op in self.ops if op.fuse == ~fuse for name in op.operands}
        made: list[Op] = []
        for op in self.ops[::-1]:
            if op.fuse == fuse and op.result in wanted:
                made.insert(0, op)
                wanted.update(op.operands)
        remade = {op.again: op.result for op in self.ops if op.again}
        inside = {op.result for op in made if not op.lies}
        named = (
            replace(op, operands=tuple(n if n in inside else remade.get(n, n) for n in op.operands)) for op in made
        )
        return [op for op in named if not op.lies]

    def _first_alone(self, fuse: int, kernel: list[tuple[int, int | None]], here: int) -> int:
        """The first of the elementwise statements of a fuse that join no contraction outside of it."""
        own = (j for j in range(here) if self.ops[j].fuse == fuse and not self.ops[j].lies)
        alone = (j for j in own if self.ops[kernel[j][0]].fuse == fuse)
        return next(alone, here)

    def _there(self, name: str, made: set[str], away: Away) -> bool:
        """Whether an array is on a chip that made these: itself, or all where it lies."""
        op = self.op.get(name)
        if name in away or name in made or op is None or not op.lies:
            return name in made and name not in away
        return all(self._there(one, made, away) for one in op.operands)

    def _noted(self, where: list[int], maker: Mapping[str, int], away: Away = frozenset()) -> Trace:
        payer: dict[str, str] = {}
        loads: list[tuple[str, str]] = []
        users: list[list[tuple[str, int]]] = []
        gathered: list[str | None] = []
        for kernel in dict.fromkeys(where):
            made: set[str] = set()
            read: dict[str, int] = {}
            entire = self._entire([op for op, place in zip(self.ops, where, strict=True) if place == kernel])
            for i, op in enumerate(self.ops):
                if where[i] != kernel:
                    continue
                heads = [
                    payer[n]
                    for operand in op.operands
                    for n in self.origins(operand)
                    if n in made and n in payer and where[maker[n]] == kernel
                ]
                heads = [n for n in heads if self.contracts(self.ops[maker[n]])]
                own = self.contracts(op) or not heads
                payer[op.result] = op.result if own else max(heads, key=lambda n: maker[n])
                again = [] if op.lies else [one for one in self.made_again(op) if one.result not in made]
                made |= {a.result for a in again}
                for name in self.copied(op):
                    loads.append((payer[op.result], name))
                    gathered.append(None)
                    users.append([(op.result, op.operands.index(name))])
                for one in (op, *again):
                    for place, (name, rows) in () if one.lies else enumerate(one.needs):
                        root = self.root(name, op.turns)
                        for piece in self.taken(name, op.turns) if rows is None else (root,):
                            if piece in read and rows is None:
                                users[read[piece]].append((one.result, place))
                            elif (
                                not any(self._there(n, made, away) for n in {piece, name if piece == root else piece})
                                or (one.result, name) in away
                            ) and (
                                (rows is None or root not in entire) and entire.isdisjoint(self.around(piece, op.turns))
                            ):
                                read |= {piece: len(loads)} if rows is None else {}
                                loads.append((payer[op.result], name if piece == root else piece))
                                gathered.append(rows)
                                users.append([(one.result, place)])
                made.add(op.result)
        fetched, touched = {name for _, name in loads}, {n for op in self.ops if not op.back for n in op.operands}
        touched |= {n for op in self.ops if op.back for n in op.operands if self.ops[maker.get(n, 0)].back}
        carried = {name for op in self.ops for turn in op.turns for name in turn.leaves}
        asked = fetched | carried | {*self.kept} | (maker.keys() - touched)
        asked |= {name for name in away if isinstance(name, str)}
        whole = self._stored_arrays(asked)
        stores = [(payer[op.result], name) for op in self.ops for name in self._stored(op, *whole)]
        parts = (self._part(name, rows, each) for (_, name), rows, each in zip(loads, gathered, users, strict=True))
        together = {n for name in asked for n in (self.root(name), *self.around(name))}
        often = tuple(self._loaded_in(*load) for load in loads)
        kept = tuple(self._stored_in(*store, together) for store in stores)
        return Trace(payer, tuple(loads), tuple(stores), tuple(parts), tuple(map(tuple, users)), often, kept)

    def _stored_arrays(self, asked: Iterable[str]) -> tuple[set[str], dict[str, str]]:
        """The arrays that have to be in memory as a whole, and the slices of others of which nothing else is asked for, each with
        what it is cut out of."""
        cut: dict[str, str] = {}
        entire: set[str] = set()
        for name in asked:
            around, origins = self.around(name), self.origins(name)
            turned = any(n in self.op and self.op[n].laid == PLACE for n in (self.root(name), *around))
            if around and not turned and origins == (around[-1],):
                cut[self.root(name)] = around[-1]
            else:
                entire |= {*origins}
        for whole in {*cut.values()}:
            ways = {self._lost(name, whole) for name, of in cut.items() if of == whole}
            entire |= {whole} if len(ways) > 1 else set()  # cut along several labels, they may overlap
        alone = {n: of for n, of in cut.items() if of not in entire}
        return entire, {n: of for n, of in alone.items() if alone.keys().isdisjoint(self.around(n))}

    def _lost(self, name: str, whole: str) -> frozenset[str]:
        """The labels along which an array is cut out of another, one slice out of the other."""
        result: set[str] = set()
        for one in (name, *self.around(name)):
            op = self.op.get(one)
            if one == whole or op is None or op.laid != SLICE:
                break
            result |= {*self.array[op.operands[0]].labels} - {*self.array[one].labels}
        return frozenset(result)

    def _stored(self, op: Op, entire: Container[str], cut: Mapping[str, str]) -> Iterable[str]:
        if op.result in entire:
            return (op.result,)
        return (*self.copied(op), *sorted(name for name, of in cut.items() if of == op.result))

    def _part(self, name: str, rows: str | None, users: Iterable[tuple[str, int]]) -> str | Masked | None:
        """How much of an array is read: of one that has the columns of a mask, which all that use it have, those that it reaches."""
        masks, labels = {self.op[user].masked for user, _ in users}, self.array[name].labels
        masked = masks.pop() if len(masks) == 1 else None
        if masked is None or masked.columns not in labels or masked.rows in labels:
            return rows
        return masked

    def _entire(self, ops: Iterable[Op]) -> set[str]:
        """What some of the ops of a kernel read as a whole: the rows that others look up are in it."""
        every = ((op, one) for op in ops for one in (op, *self.made_again(op)) if not op.lies and not one.lies)
        each = ((n, op.turns) for op, one in every for n, rows in one.needs if rows is None)
        return {piece for n, turns in each for piece in (self.root(n, turns), *self.taken(n, turns))}


class Trace(Frozen):
    """Who pays for each statement; what was loaded and stored, each by whom. Of what was ``gathered`` in a load as many
    rows were read as an array has, or what a mask reaches, None where it was read whole. ``users`` are the ops that use a load, each with the place
    of the operand. ``often`` and ``kept`` are the turns in each of which something is loaded, and stored."""

    payer: Mapping[str, str]
    loads: tuple[tuple[str, str], ...]
    stores: tuple[tuple[str, str], ...]
    gathered: tuple[str | Masked | None, ...]
    users: tuple[tuple[tuple[str, int], ...], ...]
    often: tuple[tuple[Turn, ...], ...]
    kept: tuple[tuple[Turn, ...], ...]

    def moves(self, what: str, payer: str | None = None) -> tuple[Moved, ...]:
        """Reads, writes, or the bytes of both: who pays, what is moved, and how much of it; all of them, or of one payer."""
        loads, stores = self._moves.get(payer, ((), ()))
        return (loads if what != "writes" else ()) + (stores if what != "reads" else ())

    @cached_property
    def _moves(self) -> Mapping[str | None, tuple[tuple[Moved, ...], tuple[Moved, ...]]]:
        """Loads and stores by who pays for them; under None all."""
        every = zip(self.loads, self.gathered, self.often, strict=True)
        loads = tuple((*load, rows, turns) for load, rows, turns in every)
        stores: tuple[Moved, ...] = tuple(
            (*store, None, turns) for store, turns in zip(self.stores, self.kept, strict=True)
        )
        result: dict[str | None, tuple[list[Moved], list[Moved]]] = {}
        for place, moves in enumerate((loads, stores)):
            for one in moves:
                result.setdefault(one[0], ([], []))[place].append(one)
        return {None: (loads, stores)} | {payer: (tuple(a), tuple(b)) for payer, (a, b) in result.items()}

    @cached_property
    def paid(self) -> Mapping[str | None, tuple[str, ...]]:
        """The statements by who pays for them."""
        result: dict[str | None, list[str]] = {}
        for name, payer in self.payer.items():
            result.setdefault(payer, []).append(name)
        return {payer: tuple(names) for payer, names in result.items()}
