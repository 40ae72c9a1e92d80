"""Facts of a program's statements: what prose says of each beyond its formulas, held against the program run again."""

from __future__ import annotations

from symroof.formula import Formula, Name, Sum, number, product
from symroof.proof.ledger import Facts, Ledger
from symroof.proof.polynomials import ONE, Poly, Rat
from symroof.proof.running import Run
from symroof.proof.script import Act
from symroof.proof.step import Step


class Dots(Facts):
    """Facts of a contraction: each of ``outputs`` is a dot product of a ``length``, whose products take ``additions``; so
    in every one of the ``turns`` of the repeats around it, where there are any."""

    outputs: Formula
    length: Formula
    additions: Formula
    turns: Formula | None = None

    def agree(self, step: Step, ledger: Ledger) -> bool:
        run, act = _run_of(step)
        if run is None or act is None or not run.script.contracts(act):
            return False
        script, exact = run.script, ledger.exact(figures=False)
        output = script.array[act.result].labels
        told = ((self.outputs, output), (self.length, script.loops(act).missing_in(output)))
        counted = all(exact.difference(formula, _elements(labels)).is_zero() for formula, labels in told)
        counted &= exact.difference(Sum((self.additions, number(1))), self.length).is_zero()
        return counted and run.runs(act, self.turns, exact)


class Applied(Facts):
    """A statement of elementwise work: its ``result``, and the operations ``each`` of so many takes: each element of its
    first operand, or each row ``over`` a label. One that ``sums`` saves one for each element of its result."""

    result: str
    each: Formula
    over: str | None = None
    sums: bool = False

    def agree(self, step: Step, ledger: Ledger) -> bool:
        run, _ = _run_of(step)
        act = None if run is None else run.script.act.get(self.result)
        if run is None or act is None or run.script.contracts(act) or self.over != (act.over if act.row else None):
            return False
        if self.sums != act.sums:
            return False
        exact = ledger.exact(figures=False)
        length = Rat(ONE) if self.over is None else exact.rational(_elements((self.over,)))
        told = Rat(Poly.number(act.each)) * length + Rat(Poly.number(act.row))
        return (exact.rational(self.each) - told).is_zero()


class Members(Facts):
    """Facts of elementwise work: all of it that a statement pays for."""

    applied: tuple[Applied, ...]

    def agree(self, step: Step, ledger: Ledger) -> bool:
        run, _ = _run_of(step)
        if run is None:
            return False
        script = run.script
        paid = tuple(act.result for act in run.acts() if not script.contracts(act) and (act.each or act.row))
        return paid == tuple(one.result for one in self.applied) and all(x.agree(step, ledger) for x in self.applied)


class Moves(Facts):
    """Facts of traffic: what a statement loads, what it finds on the chip, what it stores; what is ``joined`` to it;
    ``kept`` is made and not stored, and ``fused`` where that is because a fuse keeps it. ``turns`` are those of the repeats
    around it."""

    loaded: tuple[str, ...]
    found: tuple[str, ...]
    stored: tuple[str, ...]
    joined: tuple[str, ...]
    kept: tuple[str, ...]
    fused: bool = False
    turns: Formula | None = None

    def agree(self, step: Step, ledger: Ledger) -> bool:
        run, act = _run_of(step)
        if run is None or act is None:
            return False
        trace = run.script.run
        acts = list(run.acts())
        made = tuple(act.result for act in acts)
        loaded, stored = (tuple(name for _, name, _ in trace.moves(what, run.name)) for what in ("reads", "writes"))
        used = dict.fromkeys(name for act in acts for name in act.operands)
        return (
            self.loaded == loaded
            and set(self.stored) == set(stored)
            and self.found == tuple(name for name in used if name not in loaded and name not in made)
            and self.joined == tuple(name for name in made if name != run.name)
            and self.kept == tuple(name for name in made if name not in stored)
            and self.fused == (act.fuse is not None)
            and run.runs(act, self.turns, ledger.exact(figures=False))
        )


def _run_of(step: Step) -> tuple[Run | None, Act | None]:
    """The run that a step rests on, and the statement that it is about."""
    run = step.evidence
    if not isinstance(run, Run):
        return None, None
    return run, run.script.act.get(str(run.name))


def _elements(labels: tuple[str, ...]) -> Formula:
    return product(*(number(int(label)) if label.isdigit() else Name(label) for label in labels))
