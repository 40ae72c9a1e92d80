"""What one chip of a mesh does for a program, as the played mesh tells it."""

from __future__ import annotations

from symroof.formula import Formula, Frozen
from symroof.proof.exact import Exact
from symroof.proof.ledger import Evidence, Facts, Ledger, refuted
from symroof.proof.meshing import Moved
from symroof.proof.polynomials import Rat
from symroof.proof.running import STOCKS, ZERO, Run
from symroof.proof.script import Act
from symroof.proof.sharded import Meshed
from symroof.proof.step import Check, Step


class OnEach(Evidence):
    """Evidence of an amount of one chip: of a statement and those that join it, or of all (``name`` is None). ``what`` is
    flops, flops_exact, ops, bytes, moved (of the tensor ``name``), chips, sent over a ``resource``, or one of the stocks of
    a run, as it is split."""

    counts = True

    meshed: Meshed
    what: str
    name: str | None = None
    resource: str = ""

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact = ledger.exact(figures=False)
        total = self._chips(exact) if self.what == "chips" else self.total(step, exact)
        if not (exact.rational(step.right) - total).is_zero():
            raise refuted(step, "a chip of the played mesh does something else")
        return Check("proved", "the program played on meshes of 3 and 4 chips")

    def _chips(self, exact: Exact) -> Rat:
        return self.meshed.chips((axis.name for axis in self.meshed.mesh), exact)

    def total(self, step: Step, exact: Exact) -> Rat:
        """The amount, from the played mesh."""
        script, parts, total = self.meshed.script, self.meshed.parts, ZERO
        run = Run(script, "flops" if self.what == "flops" else self.what)
        for act in script.acts:
            if self.name not in (None, script.run.payer[act.result]):
                continue
            turns, part = run.turned(act.turns, exact), parts[act.result]
            if self.what in ("flops", "flops_exact") and script.contracts(act):
                total += run.work(act, exact, step) * turns / self.meshed.chips(part.work, exact)
            elif self.what == "ops" and not script.contracts(act):
                total += self._elementwise(act, run, exact, step) * turns
            elif self.what == "sent":
                for moved in part.moved:
                    shares = dict(self.meshed.shares(moved, exact))
                    if self.resource in shares:
                        total += shares[self.resource] * self.meshed.message(moved, exact) * turns
        if self.what in STOCKS:
            return self._held(run, exact)
        return total if self.what not in ("bytes", "moved") else self._traffic(run, exact)

    def _held(self, run: Run, exact: Exact) -> Rat:
        """Of every array that stays the blocks that a chip has of its own; of what is kept those that it will take."""
        return sum(
            (
                run.size(name, exact)
                * run.turned(turns, exact)
                / self.meshed.chips(self.meshed.saved(name) if self.what == "saved" else self.meshed.held(name), exact)
                for name, turns in run.stays()
            ),
            ZERO,
        )

    def _elementwise(self, act: Act, run: Run, exact: Exact, step: Step) -> Rat:
        """Each chip works on its elements; of rows that chips share out each works on its part of every one."""
        part, whole = self.meshed.parts[act.result], run.work(act, exact, step)
        rows = run.work(act.without_elements, exact, step) if act.over is not None else ZERO
        return (whole - rows) / self.meshed.chips(part.work, exact) + rows / self.meshed.chips(part.rows, exact)

    def _traffic(self, run: Run, exact: Exact) -> Rat:
        """Of what is loaded the part that an act works on; of what is stored the part that it makes."""
        script, parts, total = self.meshed.script, self.meshed.parts, ZERO
        act = {act.result: act for act in script.acts}
        for (payer, name), user, rows in zip(script.run.loads, script.run.users, script.run.gathered, strict=True):
            if self.name in (None, name if self.what == "moved" else payer):
                part = parts[user]  # of a table the rows are read that the result has
                cut = part.operands[act[user].operands.index(name)] if rows is None else part.result
                total += (
                    run.size(name, exact, rows) * run.turned(act[payer].turns, exact) / self.meshed.chips(cut, exact)
                )
        for payer, name in script.run.stores:
            if self.name in (None, name if self.what == "moved" else payer):
                cut = parts[name].result
                total += run.size(name, exact) * run.turned(act[payer].turns, exact) / self.meshed.chips(cut, exact)
        return total


class Exchanged(Frozen):
    """A collective as prose says it: what is moved over which axes and how large its message is; and why, as it is played:
    of what it is, and which dimensions the axes split before and after it."""

    collective: str
    axes: tuple[str, ...]
    array: str
    result: str
    of: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    rows: int
    message: Formula
    share: Formula


class Wired(Frozen):
    """An axis as prose says it: its chips, None for any number of them, a ring, a line or a switch, and its link; where its
    wiring is known from, and of what a chip closes multiples to rings."""

    name: str
    chips: int | None
    wiring: str
    link: str
    origin: str | None
    closing: int | None


class Axes(Facts):
    """Facts of the chips of a mesh: its axes, in their order; every resource that something is sent over; and its links
    from fast to slow, where a message goes over several of them."""

    axes: tuple[Wired, ...]
    busy: frozenset[str]

    def agree(self, step: Step, ledger: Ledger) -> bool:
        if not isinstance(step.evidence, OnEach):
            return False
        meshed, exact = step.evidence.meshed, ledger.exact(figures=False)
        if any(
            figure.value != axis.speed for axis in meshed.mesh if (figure := ledger.figures.get(axis.link)) is not None
        ):
            return False
        busy = {
            name for part in meshed.parts.values() for one in part.moved for name in dict(meshed.shares(one, exact))
        }
        return self.busy == busy and self.axes == tuple(
            Wired(axis.name, axis.chips, axis.kind, axis.link, axis.origin, axis.wraparound) for axis in meshed.mesh
        )


class Divided(Facts):
    """Facts of the work of a statement: how many chips share it out, and how many do the same of it."""

    chips: Formula
    repeated: Formula

    def agree(self, step: Step, ledger: Ledger) -> bool:
        evidence = step.evidence
        if not isinstance(evidence, OnEach) or evidence.name is None:
            return False
        meshed, exact = evidence.meshed, ledger.exact(figures=False)
        script = meshed.script
        mine = [act for act in script.acts if script.run.payer[act.result] == evidence.name]
        acts = [act for act in mine if script.contracts(act)] if evidence.what != "ops" else mine
        shared, every = exact.rational(self.chips), meshed.chips((axis.name for axis in meshed.mesh), exact)
        parts = [meshed.chips(meshed.parts[act.result].work, exact) for act in acts]
        repeats = shared * exact.rational(self.repeated) - every
        return bool(parts) and all((part - shared).is_zero() for part in parts) and repeats.is_zero()


class Exchanges(Facts):
    """Facts of what a link carries for a statement: the collectives over it, in their order, in each of the ``turns``
    of the repeats around it."""

    exchanges: tuple[Exchanged, ...]
    turns: Formula | None = None

    def agree(self, step: Step, ledger: Ledger) -> bool:
        evidence = step.evidence
        if not isinstance(evidence, OnEach) or evidence.name is None:
            return False
        meshed, exact = evidence.meshed, ledger.exact(figures=False)
        script = meshed.script
        mine = [act for act in script.acts if script.run.payer[act.result] == evidence.name]
        moved = [(act.result, one) for act in mine for one in meshed.parts[act.result].moved]
        over = [(result, one) for result, one in moved if evidence.resource in dict(meshed.shares(one, exact))]
        return (
            len(self.exchanges) == len(over)
            and Run(script, "chips").runs(mine[0], self.turns, exact)
            and all(
                said.result == result and self._same(said, one, evidence, exact)
                for said, (result, one) in zip(self.exchanges, over, strict=True)
            )
        )

    def _same(self, said: Exchanged, one: Moved, evidence: OnEach, exact: Exact) -> bool:
        told = said.collective, said.axes, said.array, said.of, said.before, said.after, said.rows
        message = exact.rational(said.message) - evidence.meshed.message(one, exact)
        share = exact.rational(said.share) - dict(evidence.meshed.shares(one, exact))[evidence.resource]
        played = one.collective, one.axes, one.array, one.of, one.before, one.after, one.rows
        return told == played and message.is_zero() and share.is_zero()
