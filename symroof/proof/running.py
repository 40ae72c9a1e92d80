"""Costs of a program as a run of it tells them: loops that are counted, loads and stores, declared arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import mul

from symroof.formula import Formula, Name, number
from symroof.proof.exact import Exact
from symroof.proof.ledger import Evidence, Ledger, refuted
from symroof.proof.polynomials import ONE, Poly, Rat
from symroof.proof.script import Act, Array, Script, Turn
from symroof.proof.step import Check, Step

ZERO = Rat(Poly())
# What stays in memory, and how it is counted.
STOCKS = {
    **dict.fromkeys(("weight", "cache", "weight elements"), "declared tensors added up"),
    "saved": "loads of the backward pass counted",
    "gradients": "gradients of weights added up",
}


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
        for act in self.acts():
            if self.back in (None, act.back) and self.what in ("flops", "flops_exact", "ops"):
                total += self.work(act, exact, step) * self.turned(act.turns, exact)
            if self.what in ("flops", "flops_exact"):
                by = "counted in loops"
        if self.what in ("reads", "writes", "bytes"):
            by = "loads and stores counted"
            for payer, name, rows in script.run.moves(self.what, self.name):
                total += self.size(name, exact, rows) * self._paid(payer, exact)
        if self.what in STOCKS:
            by = STOCKS[self.what]
            for name, turns in self.stays():
                size = self._elements(script.array[name], exact) if " " in self.what else self.size(name, exact)
                total += size * self.turned(turns, exact)
        if self.what in ("elements", "size") and self.name is not None:
            array, by = script.array[self.name], "elements multiplied out"
            total = self._elements(array, exact) if self.what == "elements" else self.size(array.name, exact)
        if not (exact.rational(step.right) - total).is_zero():
            raise refuted(step, "running the program gives something else")
        return Check("proved", by)

    def acts(self) -> Iterable[Act]:
        """The acts of the statement, or all."""
        if self.name is None:
            return self.script.acts
        return (self.script.act[name] for name in self.script.run.paid.get(self.name, ()))

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

    def stays(self) -> Iterable[tuple[str, tuple[Turn, ...]]]:
        """The arrays of a stock, each with the turns in which it is another one."""
        if self.what == "saved":
            return self._saved().items()
        role = "weight" if self.what == "gradients" else self.what.partition(" ")[0]
        chosen = (a for a in self.script.arrays if a.role == role and self.name in (None, a.name))
        return [(a.name, self._copies(a.name)) for a in chosen if self.what != "gradients" or not a.integer]

    def _saved(self) -> Mapping[str, tuple[Turn, ...]]:
        """What the acts of the backward pass load of the forward one, beside weights and caches: once for each of the
        turns in which it is another array. What enters a turn and left the one before is one array of two names."""
        script = self.script
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
        return {
            name: tuple(turn for turn in turns if turn.enters != name or turn not in kept.get(turn.leaves, ()))
            for name, turns in kept.items()
        }

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

    def runs(self, act: Act, turns: Formula | None, exact: Exact) -> bool:
        """Whether an act is run in so many turns of repeats; None where there is none around it."""
        if turns is None or not act.turns:
            return turns is None and not act.turns
        return (exact.rational(turns) - self.turned(act.turns, exact)).is_zero()

    def _paid(self, payer: str, exact: Exact) -> Rat:
        """How often a statement is run."""
        return self.turned(self.script.act[payer].turns, exact)

    def _copies(self, name: str) -> tuple[Turn, ...]:
        """In which turns a declared tensor is another: those of what uses it."""
        return next((act.turns for act in self.script.acts if name in act.operands), ())
