"""A program run again: a chip with a memory, on which every load and store is noted, and loops that are counted.

The record of a program is what its author wrote: arrays, statements in their order, what stands around each. Which
statement runs where, what is on the chip already, and who pays for a load is worked out here anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, reduce
from operator import mul

from symroof.formula import Formula, Frozen, Name, number
from symroof.proof.exact import Exact
from symroof.proof.ledger import Evidence, Ledger, refuted
from symroof.proof.polynomials import ONE, Poly, Rat
from symroof.proof.recounts import Loops
from symroof.proof.step import Check, Step
from symroof.proof.traces import Trace

ZERO = Rat(Poly())


class Array(Frozen):
    """``role`` says where it comes from; it is empty where a statement makes it. ``dtype`` is the name of its type,
    ``split`` its labels with the axes of a mesh that split them."""

    name: str
    labels: tuple[str, ...]
    bits: int
    role: str
    dtype: str = ""
    split: frozenset[tuple[str, str]] = frozenset()

    @property
    def integer(self) -> bool:
        return self.dtype.startswith("int")


class Turn(Frozen):
    """A repeat: ``place`` tells it from others, ``leaves`` is what the next turn takes as what ``enters``."""

    place: int
    times: Formula
    leaves: str
    enters: str = ""


class Act(Frozen):
    """A statement. With nothing contracted, a row of N elements ``over`` a label takes ``each`` N + ``row`` operations.

    One that ``sums`` a single operand saves one for each element of the result. ``minus`` is a difference, ``back_each``
    and ``back_row`` are what the derivative of a function takes. One that goes ``back`` is of the backward pass; what a
    fuse of the number ~n works on is made as in the fuse n. The last operands of a function may be ``gains``; one that
    ``reshapes`` makes other dimensions of the same elements. What is counted by its ``first`` operand says so. ``rows`` are
    the numbers of each row that chips add up which share it out, ``back_rows`` those of the derivative.
    """

    result: str
    operands: tuple[str, ...]
    each: Fraction
    row: Fraction = Fraction(0)
    over: str | None = None
    multiplies: bool = False
    turns: tuple[Turn, ...] = ()
    fuse: int | None = None
    gathers: bool = False  # rows of the first operand alone are read, as many as the result has
    sums: bool = False
    minus: bool = False
    back_each: Fraction | None = None
    back_row: Fraction = Fraction(0)
    back: bool = False
    gains: int = 0
    reshapes: bool = False
    first: bool = False
    rows: int = 0
    back_rows: int = 0

    @property
    def without_elements(self) -> Act:
        """What rows take beside their elements."""
        return replace(self, each=Fraction(0))

    @property
    def needs(self) -> tuple[tuple[str, str | None], ...]:
        """The operands; with one whose rows are gathered, the array that has as many."""
        return tuple((n, self.result if self.gathers and i == 0 else None) for i, n in enumerate(self.operands))


class Script(Frozen):
    """A program as it was written, in plain values; ``kept`` is what is asked for although it is used."""

    arrays: tuple[Array, ...]
    acts: tuple[Act, ...]
    kept: tuple[str, ...] = ()

    @cached_property
    def array(self) -> Mapping[str, Array]:
        return {array.name: array for array in self.arrays}

    def labels(self, names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        return tuple(self.array[name].labels for name in names)

    def loops(self, act: Act, fused: bool = False) -> Loops:
        return Loops(self.labels(act.operands), self.array[act.result].labels, fused)

    def contracts(self, act: Act) -> bool:
        """Whether some loop of a product has no place in its result."""
        return act.multiplies and bool(self.loops(act).missing_in(self.array[act.result].labels))

    @cached_property
    def run(self) -> Trace:
        """The statements one after the other, on a chip that forgets what it holds when a kernel ends."""
        maker = {act.result: i for i, act in enumerate(self.acts)}
        kernel: list[tuple[int, bool]] = []  # where each act runs, and whether a contraction is behind it
        for i, act in enumerate(self.acts):
            feeding = [maker[name] for name in act.operands if name in maker]
            feeding = [j for j in feeding if self.acts[j].turns == act.turns and self.acts[j].back == act.back]
            behind = [kernel[j][0] for j in feeding if kernel[j][1]]
            together = next((j for j, other in enumerate(self.acts) if other.fuse == act.fuse), i)
            if act.fuse in self._busy:
                where = together
            elif behind and not self.contracts(act):
                where = max(behind)
            elif act.fuse is not None:
                where = self._first_alone(act.fuse, kernel, i)
            else:
                where = i
            kernel.append((where, bool(behind) or self.contracts(act)))
        return self._noted([where for where, _ in kernel], maker)

    @cached_property
    def _busy(self) -> frozenset[int]:
        """The fuses that something is contracted in, and those of the backward pass that make it again."""
        busy = {act.fuse for act in self.acts if act.fuse is not None and self.contracts(act)}
        return frozenset(busy | {~fuse for fuse in busy if fuse >= 0})

    def _first_alone(self, fuse: int, kernel: list[tuple[int, bool]], here: int) -> int:
        """The first of the elementwise statements of a fuse that nothing is contracted behind."""
        alone = (j for j in range(here) if self.acts[j].fuse == fuse and not kernel[j][1])
        return next(alone, here)

    def _noted(self, where: list[int], maker: Mapping[str, int]) -> Trace:
        payer: dict[str, str] = {}
        loads: list[tuple[str, str]] = []
        users: list[str] = []
        gathered: list[str | None] = []
        for kernel in dict.fromkeys(where):
            chip: set[str] = set()
            for i, act in enumerate(self.acts):
                if where[i] != kernel:
                    continue
                heads = [payer[n] for n in act.operands if n in chip and n in payer and where[maker[n]] == kernel]
                heads = [n for n in heads if self.contracts(self.acts[maker[n]])]
                own = self.contracts(act) or not heads
                payer[act.result] = act.result if own else max(heads, key=lambda n: maker[n])
                again = [a for a in self.acts if act.back and act.fuse in self._busy and a.fuse == ~act.fuse]
                chip |= {a.result for a in again}
                for one in (act, *again):
                    for name, rows in one.needs:
                        if name not in chip:
                            loads.append((payer[act.result], name))
                            gathered.append(rows)
                            users.append(one.result)
                        chip |= {name} if rows is None else set()
                chip.add(act.result)
        fetched, touched = {name for _, name in loads}, {name for act in self.acts for name in act.operands}
        carried = {turn.leaves for act in self.acts for turn in act.turns}
        asked = fetched | carried | {*self.kept}
        stores = [(payer[name], name) for name in maker if name in asked or name not in touched]
        return Trace(payer, tuple(loads), tuple(stores), tuple(gathered), tuple(users))


class Run(Evidence):
    """Evidence of a cost: the program, run again. ``name`` is the statement, None for the whole program; ``back`` is the
    pass, None for both."""

    counts = True

    script: Script
    what: str
    name: str | None = None
    back: bool | None = None

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact, script = ledger.exact(figures=False), self.script
        total, by = ZERO, "the program run again"
        for act in script.acts:
            paid = self.name in (None, script.run.payer[act.result]) and self.back in (None, act.back)
            if paid and self.what in ("flops", "flops_exact", "ops"):
                total += self.work(act, exact, step) * self.turned(act.turns, exact)
            if self.what in ("flops", "flops_exact"):
                by = "counted in loops"
        if self.what in ("reads", "writes", "bytes"):
            by = "loads and stores counted"
            for payer, name, rows in script.run.moves(self.what):
                if self.name in (None, payer):
                    total += self.size(name, exact, rows) * self._paid(payer, exact)
        if self.what in ("weight", "cache", "weight elements"):
            by, role = "declared tensors added up", self.what.partition(" ")[0]
            for array in script.arrays:
                if array.role == role and self.name in (None, array.name):
                    size = self._elements(array, exact) if " " in self.what else self.size(array.name, exact)
                    total += size * self._copies(array.name, exact)
        if self.what == "saved":
            by, total = "loads of the backward pass counted", self._saved(exact)
        if self.what == "gradients":
            by = "gradients of weights added up"
            for array in script.arrays:
                if array.role == "weight" and not array.integer:
                    total += self.size(array.name, exact) * self._copies(array.name, exact)
        if self.what in ("elements", "size") and self.name is not None:
            array, by = script.array[self.name], "elements multiplied out"
            total = self._elements(array, exact) if self.what == "elements" else self.size(array.name, exact)
        if not (exact.rational(step.right) - total).is_zero():
            raise refuted(step, "running the program gives something else")
        return Check("proved", by)

    def work(self, act: Act, exact: Exact, step: Step) -> Rat:
        script = self.script
        if script.contracts(act):
            return ZERO if self.what == "ops" else self._contraction(act, exact, step)
        if self.what != "ops":
            return ZERO
        array = script.array[act.operands[0] if len(act.operands) == 1 or act.first else act.result]
        rows = replace(array, labels=tuple(label for label in array.labels if label != act.over))
        each = Rat(Poly.number(act.each)) * self._elements(array, exact)
        saved = self._elements(script.array[act.result], exact) if act.sums else ZERO
        return each + Rat(Poly.number(act.row)) * self._elements(rows, exact) - saved

    def _contraction(self, act: Act, exact: Exact, step: Step) -> Rat:
        """Two operations for each product, one less for each output where additions are counted exactly: as the loops
        count them at enough sizes."""
        fused, output = self.what == "flops", self.script.array[act.result].labels
        loops = self.script.loops(act, fused)
        free = Exact()
        turns = self._product((*output, *loops.missing_in(output)), free)
        counted = Rat(Poly.number(Fraction(2))) * turns - (ZERO if fused else self._product(output, free))
        for point in loops.points(counted).points:
            nest = loops.at(point)
            value = counted.above.at({name: Fraction(size) for name, size in point.items()})
            if nest["outputs"] * (nest["multiplications"] + nest["additions"]) != value:
                raise refuted(step, f"the loops count something else at {point}")
        both = self._product((*output, *loops.missing_in(output)), exact)
        return Rat(Poly.number(Fraction(2))) * both - (ZERO if fused else self._product(output, exact))

    def _saved(self, exact: Exact) -> Rat:
        """What the acts of the backward pass load of the forward one, beside weights and caches: once for each of the
        turns in which it is another array."""
        script, total = self.script, ZERO
        acts, arrays = {act.result: act for act in script.acts}, script.array
        kept: dict[str, tuple[Turn, ...]] = {}
        for payer, name in script.run.loads:
            made = acts.get(name)
            ours = (made is not None and not made.back) or arrays[name].role == "input"
            if acts[payer].back and ours:
                forward = {~turn.place for turn in acts[payer].turns}
                around = () if made is None else made.turns
                every = {turn.place: turn for act in script.acts for turn in act.turns if turn.place in forward}
                turns = tuple(turn for turn in every.values() if turn in around or turn.enters == name)
                kept[name] = max(kept.get(name, ()), turns, key=len)
        for name, turns in kept.items():
            total += self.size(name, exact) * self.turned(turns, exact)
        return total

    def _product(self, labels: Iterable[str], exact: Exact) -> Rat:
        sizes = (number(int(label)) if label.isdigit() else Name(label) for label in labels)
        return reduce(mul, map(exact.rational, sizes), Rat(ONE))

    def _elements(self, array: Array, exact: Exact) -> Rat:
        return self._product(array.labels, exact)

    def size(self, name: str, exact: Exact, rows: str | None = None) -> Rat:
        bits, counted = self.script.array[name].bits, self.script.array[rows or name]
        return Rat(Poly.number(Fraction(bits, 8))) * self._elements(counted, exact)

    def turned(self, turns: tuple[Turn, ...], exact: Exact) -> Rat:
        return reduce(mul, (exact.rational(turn.times) for turn in turns), Rat(ONE))

    def _paid(self, payer: str, exact: Exact) -> Rat:
        """How often a statement is run."""
        return self.turned(next(act.turns for act in self.script.acts if act.result == payer), exact)

    def _copies(self, name: str, exact: Exact) -> Rat:
        """How many of a declared tensor there are: one for each turn of what uses it."""
        return self.turned(next((act.turns for act in self.script.acts if name in act.operands), ()), exact)
