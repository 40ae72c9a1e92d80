"""The loads and stores of a program, kernel by kernel: which ops share a kernel, what is on the chip, and who pays for a load."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from functools import cached_property

from symroof.formula import Frozen, Name
from symroof.proof.array_ops import PLACE, SLICE, SUM, ArrayProgram, Op, Turn
from symroof.proof.loop_counts import Loops, Masked

# What chips exchange: results by name, and operands with the op that they are brought to.
Away = frozenset["str | tuple[str, str]"]
# Who pays, what is moved, how much of it: None where that is all, an array that has as many rows, or what a mask reaches;
# and the turns in each of which it is.
Moved = tuple[str, str, "str | Masked | None", tuple[Turn, ...]]


# What the bytes of an array may belong to.
PARTS = ("weights", "caches", "gradients", "activations")


class Script(ArrayProgram):
    """A program with the backward pass that a producer gives it in training, which :mod:`symroof.proof.adjoints` checks."""

    @property
    def idle(self) -> bool:
        """Whether no op computes anything: arrays are moved, and split otherwise."""
        return bool(self.ops) and not any(
            self.contracts(op) or (not op.exchanges and (op.each or op.row)) for op in self.ops
        )

    def part(self, name: str) -> str:
        """What the bytes of an array belong to: weights, caches, the gradients of weights, or else activations."""
        declared = {piece: own for own, gradient in self.gradients for piece in (gradient, *self.taken(gradient))}
        name = (self.root(name), *self.around(name))[-1]
        role = self.array[name].role
        if role in ("weight", "cache"):
            return f"{role}s"
        return "gradients" if name in declared and self.array[declared[name]].role == "weight" else "activations"

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
        outer = next((op.turns for op in self.ops if name in op.operands), ())
        turns = tuple(turn for turn in outer if not turn.alike)
        if self.array[name].role == "input":
            return tuple(turn for turn in turns if turn.batch)
        return () if self.array[name].shared else turns

    def adds_batches(self, op: Op) -> bool:
        """Whether an op adds up what all microbatches give: the turns around it are those that have an array of their own of
        which it makes the gradient, and microbatches."""
        if not op.back or not op.of or op.undoes or op.kind != SUM or not any(turn.batch for turn in op.turns):
            return False
        places = {turn.place for turn in self.own_turns(op.of) if not turn.batch}
        accumulates = self.array[op.operands[0]].role == "before"
        return accumulates and {~turn.place for turn in op.turns if not turn.batch} == places

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
        return self._trace(*self._kernels)

    def _loaded_in(self, payer: str, name: str) -> tuple[Turn, ...]:
        """The turns in each of which a load takes place: on the chip an array is loaded once for all turns, but for
        their places."""
        parts = (self.op[n] for n in (self.root(name), *self.around(name)) if n in self.op)
        inside = next((op.turns for op in parts if op.laid == PLACE), ())
        launched = tuple(turn for turn in self.op[payer].turns if not turn.inside)
        return (*launched, *(turn for turn in inside if turn.inside))

    def _stored_in(self, payer: str, name: str, needed: set[str]) -> tuple[Turn, ...]:
        """The turns in each of which a store takes place: of what turns on the chip make the last, where not all of it
        is asked for."""
        inside = self.op[name].turns if self.gathered.get(name) in needed else ()
        launched = tuple(turn for turn in self.op[payer].turns if not turn.inside)
        return (*launched, *(turn for turn in inside if turn.inside))

    def run_apart(self, away: Away) -> Trace:
        """The same on a chip that others exchange something with: what goes ``away``, a result or an operand that an op is
        brought, comes back from memory."""
        return self._trace(*self._kernels, away) if away else self.run

    @cached_property
    def _kernels(self) -> tuple[list[int], Mapping[str, int]]:
        """In which kernel each op runs, and the place of what makes each array."""
        maker = {op.result: i for i, op in enumerate(self.ops)}
        kernel: list[tuple[int, int | None]] = []  # where each op runs, and so what has a contraction behind it
        for i, op in enumerate(self.ops):
            feeding = [maker[name] for n in op.operands for name in self.origins(n) if name in maker]
            last = max((k for j in feeding if (k := kernel[j][1]) is not None), default=None)
            joins = last is not None and self._joins(op, self.ops[last])
            fused = (j for j, other in enumerate(self.ops) if other.fuse == op.fuse and not other.lies)
            first = next(fused, i)
            if op.lies:
                where, joins = ~i, False
            elif op.fuse in self._busy:
                where = first
            elif last is not None and joins and not self.contracts(op):
                where = last
            elif op.fuse is not None:
                where = self._first_alone(op.fuse, kernel, i)
            else:
                where = i
            behind = joins or op.fuse in self._busy or self.contracts(op) or last is not None
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
        needed = {name for op in self.ops if op.fuse == ~fuse for name in op.operands}
        result: list[Op] = []
        for op in self.ops[::-1]:
            if op.fuse == fuse and op.result in needed:
                result.insert(0, op)
                needed.update(op.operands)
        remade = {op.again: op.result for op in self.ops if op.again}
        inside = {op.result for op in result if not op.lies}
        renamed = (
            replace(op, operands=tuple(n if n in inside else remade.get(n, n) for n in op.operands)) for op in result
        )
        return [op for op in renamed if not op.lies]

    def _first_alone(self, fuse: int, kernel: list[tuple[int, int | None]], end: int) -> int:
        """The first of the elementwise statements of a fuse that join no contraction outside of it."""
        fused = (j for j in range(end) if self.ops[j].fuse == fuse and not self.ops[j].lies)
        alone = (j for j in fused if self.ops[kernel[j][0]].fuse == fuse)
        return next(alone, end)

    def _on_chip(self, name: str, on_chip: set[str], away: Away) -> bool:
        """Whether an array is on a chip that made these: itself, or all where it lies."""
        op = self.op.get(name)
        if name in away or name in on_chip or op is None or not op.lies:
            return name in on_chip and name not in away
        return all(self._on_chip(operand, on_chip, away) for operand in op.operands)

    def _trace(self, where: list[int], maker: Mapping[str, int], away: Away = frozenset()) -> Trace:
        payer: dict[str, str] = {}
        loads: list[tuple[str, str]] = []
        users: list[list[tuple[str, int]]] = []
        gathered: list[str | None] = []
        for kernel in dict.fromkeys(where):
            local: set[str] = set()
            load_of: dict[str, int] = {}
            whole = self._entire([op for op, place in zip(self.ops, where, strict=True) if place == kernel])
            for i, op in enumerate(self.ops):
                if where[i] != kernel:
                    continue
                payers = [
                    payer[n]
                    for operand in op.operands
                    for n in self.origins(operand)
                    if n in local and n in payer and where[maker[n]] == kernel
                ]
                payers = [n for n in payers if self.contracts(self.ops[maker[n]])]
                alone = self.contracts(op) or not payers
                payer[op.result] = op.result if alone else max(payers, key=lambda n: maker[n])
                again = [] if op.lies else [user for user in self.made_again(op) if user.result not in local]
                local |= {a.result for a in again}
                for name in self.copied(op):
                    loads.append((payer[op.result], name))
                    gathered.append(None)
                    users.append([(op.result, op.operands.index(name))])
                for user in (op, *again):
                    for place, (name, rows) in () if user.lies else enumerate(user.needs):
                        root = self.root(name, op.turns)
                        for piece in self.taken(name, op.turns) if rows is None else (root,):
                            if piece in load_of and rows is None:
                                users[load_of[piece]].append((user.result, place))
                            elif (
                                not any(
                                    self._on_chip(n, local, away) for n in {piece, name if piece == root else piece}
                                )
                                or (user.result, name) in away
                            ) and (
                                (rows is None or root not in whole) and whole.isdisjoint(self.around(piece, op.turns))
                            ):
                                load_of |= {piece: len(loads)} if rows is None else {}
                                loads.append((payer[op.result], name if piece == root else piece))
                                gathered.append(rows)
                                users.append([(user.result, place)])
                local.add(op.result)
        loaded, used = {name for _, name in loads}, {n for op in self.ops if not op.back for n in op.operands}
        used |= {n for op in self.ops if op.back for n in op.operands if self.ops[maker.get(n, 0)].back}
        leaving = {name for op in self.ops for turn in op.turns for name in turn.leaves}
        needed = loaded | leaving | {*self.kept} | (maker.keys() - used)
        needed |= {name for name in away if isinstance(name, str)}
        stored = self._stored_arrays(needed)
        stores = [(payer[op.result], name) for op in self.ops for name in self._stored(op, *stored)]
        parts = (self._part(name, rows, places) for (_, name), rows, places in zip(loads, gathered, users, strict=True))
        roots = {n for name in needed for n in (self.root(name), *self.around(name))}
        often = tuple(self._loaded_in(*load) for load in loads)
        kept = tuple(self._stored_in(*store, roots) for store in stores)
        return Trace(payer, tuple(loads), tuple(stores), tuple(parts), tuple(map(tuple, users)), often, kept)

    def _stored_arrays(self, needed: Iterable[str]) -> tuple[set[str], dict[str, str]]:
        """The arrays that have to be in memory as a whole, and the slices of others of which nothing else is asked for, each with
        what it is cut out of."""
        slices: dict[str, str] = {}
        entire: set[str] = set()
        for name in needed:
            sources, origins = self.around(name), self.origins(name)
            place_of_turn = any(n in self.op and self.op[n].laid == PLACE for n in (self.root(name), *sources))
            if sources and not place_of_turn and origins == (sources[-1],):
                slices[self.root(name)] = sources[-1]
            else:
                entire |= {*origins}
        for whole in {*slices.values()}:
            cuts = {self._lost(name, whole) for name, source in slices.items() if source == whole}
            entire |= {whole} if len(cuts) > 1 else set()  # cut along several labels, they may overlap
        apart = {n: source for n, source in slices.items() if source not in entire}
        return entire, {n: source for n, source in apart.items() if apart.keys().isdisjoint(self.around(n))}

    def _lost(self, name: str, whole: str) -> frozenset[str]:
        """The labels along which an array is cut out of another, one slice out of the other."""
        result: set[str] = set()
        for part in (name, *self.around(name)):
            op = self.op.get(part)
            if part == whole or op is None or op.laid != SLICE:
                break
            result |= {*self.array[op.operands[0]].labels} - {*self.array[part].labels}
        return frozenset(result)

    def _stored(self, op: Op, entire: Container[str], slices: Mapping[str, str]) -> Iterable[str]:
        if op.result in entire:
            return (op.result,)
        return (*self.copied(op), *sorted(name for name, source in slices.items() if source == op.result))

    def _part(self, name: str, rows: str | None, users: Iterable[tuple[str, int]]) -> str | Masked | None:
        """How much of an array is read: of one that has the columns of a mask, which all that use it have, those that it reaches."""
        masks, labels = {self.op[user].masked for user, _ in users}, self.array[name].labels
        masked = masks.pop() if len(masks) == 1 else None
        if masked is None or masked.columns not in labels or masked.rows in labels:
            return rows
        return masked

    def _entire(self, ops: Iterable[Op]) -> set[str]:
        """What some of the ops of a kernel read as a whole: the rows that others look up are in it."""
        pairs = ((op, user) for op in ops for user in (op, *self.made_again(op)) if not op.lies and not user.lies)
        reads = ((n, op.turns) for op, user in pairs for n, rows in user.needs if rows is None)
        return {piece for n, turns in reads for piece in (self.root(n, turns), *self.taken(n, turns))}


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

    def moves(self, direction: str, payer: str | None = None) -> tuple[Moved, ...]:
        """Reads, writes, or the bytes of both: who pays, what is moved, and how much of it; all of them, or of one payer."""
        loads, stores = self._moves.get(payer, ((), ()))
        return (loads if direction != "writes" else ()) + (stores if direction != "reads" else ())

    @cached_property
    def _moves(self) -> Mapping[str | None, tuple[tuple[Moved, ...], tuple[Moved, ...]]]:
        """Loads and stores by who pays for them; under None all."""
        rows_of_loads = zip(self.loads, self.gathered, self.often, strict=True)
        loads = tuple((*load, rows, turns) for load, rows, turns in rows_of_loads)
        stores: tuple[Moved, ...] = tuple(
            (*store, None, turns) for store, turns in zip(self.stores, self.kept, strict=True)
        )
        result: dict[str | None, tuple[list[Moved], list[Moved]]] = {}
        for place, moves in enumerate((loads, stores)):
            for move in moves:
                result.setdefault(move[0], ([], []))[place].append(move)
        return {None: (loads, stores)} | {payer: (tuple(a), tuple(b)) for payer, (a, b) in result.items()}

    @cached_property
    def paid(self) -> Mapping[str | None, tuple[str, ...]]:
        """The statements by who pays for them."""
        result: dict[str | None, list[str]] = {}
        for name, payer in self.payer.items():
            result.setdefault(payer, []).append(name)
        return {payer: tuple(names) for payer, names in result.items()}
