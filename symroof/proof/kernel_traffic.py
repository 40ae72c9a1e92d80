"""The loads and stores of a program, kernel by kernel: which ops share a kernel, what is on the chip, and who pays for a load."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from functools import cached_property

from symroof.formula import Frozen, Name
from symroof.proof.array_ops import PLACE, SLICE, SUM, ArrayProgram, Op, Turn
from symroof.proof.loop_counts import Loops, Pairs

# What chips exchange: results by name, and operands with the op that they are brought to.
Away = frozenset["str | tuple[str, str]"]

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
        return self._trace()

    def run_apart(self, away: Away) -> Trace:
        """The same on a chip that others exchange something with: what goes ``away``, a result or an operand that an op is
        brought, comes back from memory."""
        return self._trace(away) if away else self.run

    def _loaded_in(self, load: Access) -> tuple[Turn, ...]:
        """The turns in each of which a load takes place: on the chip an array is loaded once for all turns, but for
        their places."""
        parts = (self.op[n] for n in (self.root(load.name), *self.around(load.name)) if n in self.op)
        inside = next((op.turns for op in parts if op.laid == PLACE), ())
        return self._launched_in(load.payer, inside)

    def _stored_in(self, payer: str, name: str, needed: set[str]) -> tuple[Turn, ...]:
        """The turns in each of which a store takes place: of what turns on the chip make the last, where not all of it
        is asked for."""
        return self._launched_in(payer, self.op[name].turns if self.gathered.get(name) in needed else ())

    def _launched_in(self, payer: str, inside: tuple[Turn, ...]) -> tuple[Turn, ...]:
        """The turns around the kernel of an op, and of those on the chip the ones that are ``inside``."""
        return (*(t for t in self.op[payer].turns if not t.inside), *(t for t in inside if t.inside))

    @cached_property
    def _maker(self) -> Mapping[str, int]:
        """The place of the op that makes each array."""
        return {op.result: i for i, op in enumerate(self.ops)}

    @cached_property
    def _kernels(self) -> Mapping[int, list[Op]]:
        """The ops of each kernel, in order."""
        starts: list[tuple[int, int | None]] = []  # the kernel of each op, and that of the last contraction behind it
        kernels: dict[int, list[Op]] = {}
        for i, op in enumerate(self.ops):
            feeding = [self._maker[n] for name in op.operands for n in self.origins(name) if n in self._maker]
            last = max((start for j in feeding if (start := starts[j][1]) is not None), default=None)
            joins = not op.lies and last is not None and self._joins(op, self.ops[last])
            start = self._kernel_of(op, i, last if joins else None, starts)
            behind = joins or op.fuse in self._busy or self.contracts(op) or last is not None
            starts.append((start, start if behind and not op.lies else last))
            kernels.setdefault(start, []).append(op)
        return kernels

    def _kernel_of(self, op: Op, place: int, joined: int | None, starts: list[tuple[int, int | None]]) -> int:
        """The place of the op that begins the kernel of an op."""
        if op.lies:
            return ~place
        if op.fuse in self._busy:
            return next(i for i, other in enumerate(self.ops) if other.fuse == op.fuse and not other.lies)
        if joined is not None and not self.contracts(op):
            return joined
        return place if op.fuse is None else self._first_alone(op.fuse, starts, place)

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

    def _first_alone(self, fuse: int, starts: list[tuple[int, int | None]], end: int) -> int:
        """The first of the elementwise statements of a fuse that join no contraction outside of it."""
        fused = (i for i in range(end) if self.ops[i].fuse == fuse and not self.ops[i].lies)
        alone = (i for i in fused if self.ops[starts[i][0]].fuse == fuse)
        return next(alone, end)

    def _trace(self, away: Away = frozenset()) -> Trace:
        chip = _Chip(self, away)
        for ops in self._kernels.values():
            chip.run(ops)
        needed = self._leaving | {load.name for load in chip.loads} | {name for name in away if isinstance(name, str)}
        stored, roots = self._stored_arrays(needed), {n for x in needed for n in (self.root(x), *self.around(x))}
        payers = [(chip.payer[op.result], name) for op in self.ops for name in self._stored(op, *stored)]
        loads = (replace(load, part=self._part(load), turns=self._loaded_in(load)) for load in chip.loads)
        stores = (Access(payer, name, turns=self._stored_in(payer, name, roots)) for payer, name in payers)
        return Trace(chip.payer, tuple(loads), tuple(stores))

    @cached_property
    def _leaving(self) -> set[str]:
        """What is there when the program ends, or when a turn does: the results, and what no later op of their pass uses."""
        used = {n for op in self.ops if not op.back for n in op.operands}
        used |= {n for op in self.ops if op.back for n in op.operands if self.ops[self._maker.get(n, 0)].back}
        leaving = {name for op in self.ops for turn in op.turns for name in turn.leaves}
        return leaving | {*self.kept} | (self._maker.keys() - used)

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

    def _part(self, load: Access) -> str | Pairs | None:
        """How much of an array is read: of one that has the columns of a mask, which all that use it have, those that it reaches."""
        masks, labels = {self.op[user].masked for user, _ in load.users}, self.array[load.name].labels
        mask = masks.pop() if len(masks) == 1 else None
        return load.part if mask is None or mask.columns not in labels or mask.rows in labels else mask

    def read_whole(self, ops: Iterable[Op]) -> set[str]:
        """What some of the ops of a kernel read as a whole: the rows that others look up are in it."""
        pairs = ((op, user) for op in ops for user in (op, *self.made_again(op)) if not op.lies and not user.lies)
        reads = ((n, op.turns) for op, user in pairs for n, rows in user.needs if rows is None)
        return {piece for n, turns in reads for piece in (self.root(n, turns), *self.taken(n, turns))}


class Access(Frozen):
    """A load, or a store: the op that pays for it, the array, and the turns in each of which it takes place. ``part`` is how
    much is moved: None where that is all, an array that has as many rows, or what a mask reaches. ``users`` are the ops
    that use a load, each with the place of the operand."""

    payer: str
    name: str
    part: str | Pairs | None = None
    turns: tuple[Turn, ...] = ()
    users: tuple[tuple[str, int], ...] = ()


class _Chip:
    """A chip that runs one kernel after the other, and notes what it loads: a kernel begins with nothing on it."""

    def __init__(self, script: Script, away: Away) -> None:
        self.script, self.away = script, away
        self.payer: dict[str, str] = {}
        self.loads: list[Access] = []

    def run(self, ops: list[Op]) -> None:
        script, self.held, self.loaded = self.script, set[str](), dict[str, int]()
        self.whole = script.read_whole(ops)
        results: list[str] = []
        for op in ops:
            self.payer[op.result] = self._payer(op, results)
            remade = [] if op.lies else [user for user in script.made_again(op) if user.result not in self.held]
            self.held |= {user.result for user in remade}
            for name in script.copied(op):
                self._load(op, name, None, (op.result, op.operands.index(name)))
            for user in (op, *remade):
                for place, (name, rows) in enumerate(() if user.lies else user.needs):
                    self._read(op, name, rows, (user.result, place))
            self.held.add(op.result)
            results.append(op.result)

    def _payer(self, op: Op, results: list[str]) -> str:
        """The last contraction of the kernel that an op takes something of, or itself."""
        script = self.script
        makers = {self.payer[n] for name in op.operands for n in script.origins(name) if n in results}
        contractions = [name for name in results if name in makers and script.contracts(script.op[name])]
        return op.result if script.contracts(op) or not contractions else contractions[-1]

    def _load(self, op: Op, name: str, rows: str | None, user: tuple[str, int]) -> None:
        self.loads.append(Access(self.payer[op.result], name, rows, (), (user,)))

    def _read(self, op: Op, name: str, rows: str | None, user: tuple[str, int]) -> None:
        """An operand is read, or of a table as many ``rows`` as an array has: what is not on the chip is loaded."""
        script, root = self.script, self.script.root(name, op.turns)
        for piece in script.taken(name, op.turns) if rows is None else (root,):
            source = name if piece == root else piece
            if piece in self.loaded and rows is None:
                load = self.loads[self.loaded[piece]]
                self.loads[self.loaded[piece]] = replace(load, users=(*load.users, user))
            elif self._is_missing({piece, source}, (user[0], name)) and not self._is_in_a_whole(piece, op, rows):
                self.loaded |= {piece: len(self.loads)} if rows is None else {}
                self._load(op, source, rows, user)

    def _is_missing(self, names: set[str], operand: tuple[str, str]) -> bool:
        return operand in self.away or not any(self._is_held(name) for name in names)

    def _is_held(self, name: str) -> bool:
        """Whether an array is on the chip: itself, or all where it lies."""
        op = self.script.op.get(name)
        if name in self.away or name in self.held or op is None or not op.lies:
            return name in self.held and name not in self.away
        return all(map(self._is_held, op.operands))

    def _is_in_a_whole(self, piece: str, op: Op, rows: str | None) -> bool:
        """Whether the kernel reads an array as a whole that these rows, or this slice, are a part of."""
        around = self.script.around(piece, op.turns)
        return not self.whole.isdisjoint(around if rows is None else (piece, *around))


class Trace(Frozen):
    """What a chip does: who pays for each statement, and all loads and stores."""

    payer: Mapping[str, str]
    loads: tuple[Access, ...]
    stores: tuple[Access, ...]

    def moves(self, direction: str, payer: str | None = None) -> tuple[Access, ...]:
        """Reads, writes, or the bytes of both: all of them, or those of one payer."""
        loads, stores = self._moves.get(payer, ((), ()))
        return (loads if direction != "writes" else ()) + (stores if direction != "reads" else ())

    @cached_property
    def _moves(self) -> Mapping[str | None, tuple[tuple[Access, ...], tuple[Access, ...]]]:
        """Loads and stores by who pays for them; under None all."""
        result: dict[str | None, tuple[list[Access], list[Access]]] = {}
        for place, moves in enumerate((self.loads, self.stores)):
            for move in moves:
                result.setdefault(move.payer, ([], []))[place].append(move)
        by_payer = {payer: (tuple(loads), tuple(stores)) for payer, (loads, stores) in result.items()}
        return {None: (self.loads, self.stores), **by_payer}

    @cached_property
    def paid(self) -> Mapping[str | None, tuple[str, ...]]:
        """The statements by who pays for them."""
        result: dict[str | None, list[str]] = {}
        for name, payer in self.payer.items():
            result.setdefault(payer, []).append(name)
        return {payer: tuple(names) for payer, names in result.items()}
