"""A program in plain values, and what a run of it loads and stores.

Which statement runs where, what is on the chip already, and who pays for a load is worked out here anew.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from functools import cached_property

from symroof.formula import Frozen, Name
from symroof.proof.acts import PLACE, SLICE, SUM, Act, Turn
from symroof.proof.buffers import Stored
from symroof.proof.masks import Masked
from symroof.proof.recounts import Loops

# What chips exchange: results by name, and operands with the act that they are brought to.
Away = frozenset["str | tuple[str, str]"]
# Who pays, what is moved, how much of it: None where that is all, an array that has as many rows, or what a mask reaches;
# and the turns in each of which it is.
Moved = tuple[str, str, "str | Masked | None", tuple[Turn, ...]]


# What the bytes of an array may belong to.
PARTS = ("weights", "caches", "gradients", "activations")


class Script(Stored):
    """A program in plain values, with the backward pass that a producer gives it, if it is in training: what it was written with,
    and acts that :mod:`symroof.proof.adjoints` holds against that."""

    @property
    def idle(self) -> bool:
        """Whether no act computes anything: arrays are moved, and split otherwise."""
        return bool(self.acts) and not any(
            self.contracts(act) or (not act.exchanges and (act.each or act.row)) for act in self.acts
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

    def loops(self, act: Act, fused: bool = False) -> Loops:
        return Loops(self.labels(act.operands), self.array[act.result].labels, fused)

    def contracts(self, act: Act) -> bool:
        """Whether some loop of a product has no place in its result."""
        return act.multiplies and bool(self.loops(act).missing_in(self.array[act.result].labels))

    def own_turns(self, name: str) -> tuple[Turn, ...]:
        """The turns in each of which an array is another one: those in which it is made; of what is declared an input is another
        in each microbatch, what is shared the same in all turns, all else another in the turns that use it."""
        if name in self.act:
            return self.act[name].turns
        every = next((act.turns for act in self.acts if name in act.operands), ())
        turns = tuple(turn for turn in every if not turn.alike)
        if self.array[name].role == "input":
            return tuple(turn for turn in turns if turn.batch)
        return () if self.array[name].shared else turns

    def adds_batches(self, act: Act) -> bool:
        """Whether an act adds up what all microbatches give: the turns around it are those that have an array of their own of
        which it makes the gradient, and microbatches."""
        if not act.back or not act.of or act.undoes or act.kind != SUM or not any(turn.batch for turn in act.turns):
            return False
        own = {turn.place for turn in self.own_turns(act.of) if not turn.batch}
        before = self.array[act.operands[0]].role == "before"
        return before and {~turn.place for turn in act.turns if not turn.batch} == own

    @cached_property
    def split(self) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """The axes that split each size, array by array, or the turns that there are so many of: every chip of theirs
        has as many."""
        result: dict[str, dict[tuple[str, ...], None]] = {}
        for array in self.arrays:
            for label in dict.fromkeys(label for label, _ in array.split):
                group = tuple(axis for name, axis in array.split if name == label)
                result.setdefault(label, {})[group] = None
        for turn in (turn for act in self.acts for turn in act.turns if turn.over):
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
        parts = (self.act[n] for n in (self.root(name), *self.around(name)) if n in self.act)
        inside = next((act.turns for act in parts if act.laid == PLACE), ())
        launched = tuple(turn for turn in self.act[payer].turns if not turn.inside)
        return (*launched, *(turn for turn in inside if turn.inside))

    def _stored_in(self, payer: str, name: str, asked: set[str]) -> tuple[Turn, ...]:
        """The turns in each of which a store takes place: of what turns on the chip make the last, where not all of it
        is asked for."""
        inside = self.act[name].turns if self.gathered.get(name) in asked else ()
        launched = tuple(turn for turn in self.act[payer].turns if not turn.inside)
        return (*launched, *(turn for turn in inside if turn.inside))

    def run_apart(self, away: Away) -> Trace:
        """The same on a chip that others exchange something with: what goes ``away``, a result or an operand that an act is
        brought, comes back from memory."""
        return self._noted(*self._kernels, away) if away else self.run

    @cached_property
    def _kernels(self) -> tuple[list[int], Mapping[str, int]]:
        """In which kernel each act runs, and the place of what makes each array."""
        maker = {act.result: i for i, act in enumerate(self.acts)}
        kernel: list[tuple[int, int | None]] = []  # where each act runs, and so what has a contraction behind it
        for i, act in enumerate(self.acts):
            feeding = [maker[name] for n in act.operands for name in self.origins(n) if name in maker]
            last = max((k for j in feeding if (k := kernel[j][1]) is not None), default=None)
            here = last is not None and self._joins(act, self.acts[last])
            inside = (j for j, other in enumerate(self.acts) if other.fuse == act.fuse and not other.lies)
            together = next(inside, i)
            if act.lies:
                where, here = ~i, False
            elif act.fuse in self._busy:
                where = together
            elif last is not None and here and not self.contracts(act):
                where = last
            elif act.fuse is not None:
                where = self._first_alone(act.fuse, kernel, i)
            else:
                where = i
            behind = here or act.fuse in self._busy or self.contracts(act) or last is not None
            kernel.append((where, where if behind and not act.lies else last))
        return [where for where, _ in kernel], maker

    def _joins(self, act: Act, first: Act) -> bool:
        """Whether the kernel that begins with an act has a contraction, in the same turn and pass."""
        contracts = self.contracts(first) or first.fuse in self._busy
        return contracts and first.turns == act.turns and first.back == act.back

    @cached_property
    def _busy(self) -> frozenset[int]:
        """The fuses that something is contracted in, or that hand something on, and those of the backward pass that
        make it again."""
        ways = ((act, any(turn.inside for turn in act.turns)) for act in self.acts if act.fuse is not None)
        busy = {act.fuse for act, turned in ways if act.fuse is not None and (turned or self.contracts(act))}
        return frozenset(busy | {~fuse for fuse in busy if fuse >= 0})

    def made_again(self, act: Act) -> list[Act]:
        """What the acts that go back through the fuse of one read of what was made in it, and what that was made of: it is
        made on the chip once more."""
        fuse = ~act.fuse if act.back and act.fuse is not None else None
        if fuse is None or fuse not in self._busy:
            return []
        wanted = {name for act in self.acts if act.fuse == ~fuse for name in act.operands}
        made: list[Act] = []
        for act in self.acts[::-1]:
            if act.fuse == fuse and act.result in wanted:
                made.insert(0, act)
                wanted.update(act.operands)
        remade = {act.again: act.result for act in self.acts if act.again}
        inside = {act.result for act in made if not act.lies}
        named = (
            replace(act, operands=tuple(n if n in inside else remade.get(n, n) for n in act.operands)) for act in made
        )
        return [act for act in named if not act.lies]

    def _first_alone(self, fuse: int, kernel: list[tuple[int, int | None]], here: int) -> int:
        """The first of the elementwise statements of a fuse that join no contraction outside of it."""
        own = (j for j in range(here) if self.acts[j].fuse == fuse and not self.acts[j].lies)
        alone = (j for j in own if self.acts[kernel[j][0]].fuse == fuse)
        return next(alone, here)

    def _there(self, name: str, made: set[str], away: Away) -> bool:
        """Whether an array is on a chip that made these: itself, or all where it lies."""
        act = self.act.get(name)
        if name in away or name in made or act is None or not act.lies:
            return name in made and name not in away
        return all(self._there(one, made, away) for one in act.operands)

    def _noted(self, where: list[int], maker: Mapping[str, int], away: Away = frozenset()) -> Trace:
        payer: dict[str, str] = {}
        loads: list[tuple[str, str]] = []
        users: list[list[tuple[str, int]]] = []
        gathered: list[str | None] = []
        for kernel in dict.fromkeys(where):
            made: set[str] = set()
            read: dict[str, int] = {}
            entire = self._entire([act for act, place in zip(self.acts, where, strict=True) if place == kernel])
            for i, act in enumerate(self.acts):
                if where[i] != kernel:
                    continue
                heads = [
                    payer[n]
                    for operand in act.operands
                    for n in self.origins(operand)
                    if n in made and n in payer and where[maker[n]] == kernel
                ]
                heads = [n for n in heads if self.contracts(self.acts[maker[n]])]
                own = self.contracts(act) or not heads
                payer[act.result] = act.result if own else max(heads, key=lambda n: maker[n])
                again = [] if act.lies else [one for one in self.made_again(act) if one.result not in made]
                made |= {a.result for a in again}
                for name in self.copied(act):
                    loads.append((payer[act.result], name))
                    gathered.append(None)
                    users.append([(act.result, act.operands.index(name))])
                for one in (act, *again):
                    for place, (name, rows) in () if one.lies else enumerate(one.needs):
                        root = self.root(name, act.turns)
                        for piece in self.taken(name, act.turns) if rows is None else (root,):
                            if piece in read and rows is None:
                                users[read[piece]].append((one.result, place))
                            elif (
                                not any(self._there(n, made, away) for n in {piece, name if piece == root else piece})
                                or (one.result, name) in away
                            ) and (
                                (rows is None or root not in entire)
                                and entire.isdisjoint(self.around(piece, act.turns))
                            ):
                                read |= {piece: len(loads)} if rows is None else {}
                                loads.append((payer[act.result], name if piece == root else piece))
                                gathered.append(rows)
                                users.append([(one.result, place)])
                made.add(act.result)
        fetched, touched = {name for _, name in loads}, {n for act in self.acts if not act.back for n in act.operands}
        touched |= {n for act in self.acts if act.back for n in act.operands if self.acts[maker.get(n, 0)].back}
        carried = {name for act in self.acts for turn in act.turns for name in turn.leaves}
        asked = fetched | carried | {*self.kept} | (maker.keys() - touched)
        asked |= {name for name in away if isinstance(name, str)}
        whole = self._stored_arrays(asked)
        stores = [(payer[act.result], name) for act in self.acts for name in self._stored(act, *whole)]
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
            turned = any(n in self.act and self.act[n].laid == PLACE for n in (self.root(name), *around))
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
            act = self.act.get(one)
            if one == whole or act is None or act.laid != SLICE:
                break
            result |= {*self.array[act.operands[0]].labels} - {*self.array[one].labels}
        return frozenset(result)

    def _stored(self, act: Act, entire: Container[str], cut: Mapping[str, str]) -> Iterable[str]:
        if act.result in entire:
            return (act.result,)
        return (*self.copied(act), *sorted(name for name, of in cut.items() if of == act.result))

    def _part(self, name: str, rows: str | None, users: Iterable[tuple[str, int]]) -> str | Masked | None:
        """How much of an array is read: of one that has the columns of a mask, which all that use it have, those that it reaches."""
        masks, labels = {self.act[user].masked for user, _ in users}, self.array[name].labels
        masked = masks.pop() if len(masks) == 1 else None
        if masked is None or masked.columns not in labels or masked.rows in labels:
            return rows
        return masked

    def _entire(self, acts: Iterable[Act]) -> set[str]:
        """What some of the acts of a kernel read as a whole: the rows that others look up are in it."""
        every = ((act, one) for act in acts for one in (act, *self.made_again(act)) if not act.lies and not one.lies)
        each = ((n, act.turns) for act, one in every for n, rows in one.needs if rows is None)
        return {piece for n, turns in each for piece in (self.root(n, turns), *self.taken(n, turns))}


class Trace(Frozen):
    """Who pays for each statement; what was loaded and stored, each by whom. Of what was ``gathered`` in a load as many
    rows were read as an array has, or what a mask reaches, None where it was read whole. ``users`` are the acts that use a load, each with the place
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
