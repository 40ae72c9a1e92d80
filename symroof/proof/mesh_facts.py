"""What is said of a mesh, of its pipeline and of what its chips send, held against the plan that was carried out."""

from __future__ import annotations

from symroof.formula import Formula, Frozen
from symroof.proof.array_ops import Op
from symroof.proof.chip_recounts import OnMesh, PerChip, bubble_of, in_flight, presumes
from symroof.proof.exchange_plans import Transfer
from symroof.proof.ledger import Evidence, Facts, Ledger, refuted
from symroof.proof.program_recounts import Run
from symroof.proof.quotients import Exact
from symroof.proof.step import Check, Step


class Bubble(Evidence):
    """Evidence of the part of the time of the turns that a chip waits in a pipeline."""

    counts = True

    meshed: OnMesh

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact, pipeline = ledger.exact(figures=False), self.meshed.pipeline
        if pipeline is None:
            raise refuted(step, "the program has no stages")
        if not (exact.rational(step.right) - bubble_of(*self.meshed.counted(exact))).is_zero():
            raise refuted(step, "its stages wait for something else")
        return Check("proved", "stages that wait for one another counted")


class Stages(Facts):
    """Facts of a pipeline: the axis, the ``turns`` that its chips share out and how many ``each`` has; how many
    microbatches go through, of how many the first stage keeps what the backward pass needs, None where there is none,
    and whether it is taken for granted that there are ``enough``: as many as stages."""

    axis: str
    turns: Formula
    each: Formula
    microbatches: Formula
    kept: Formula | None
    enough: bool

    def agree(self, step: Step, ledger: Ledger) -> bool:
        if not isinstance(step.evidence, Bubble) or (pipeline := step.evidence.meshed.pipeline) is None:
            return False
        meshed, exact = step.evidence.meshed, ledger.exact(figures=False)
        stages, microbatches = meshed.counted(exact)
        turns = Run(meshed.script, "chips").turned(pipeline[:1], exact)
        back, schedule = bool(meshed.script.gradients), meshed.schedule
        if (self.kept is not None) is not back:
            return False
        if (
            self.kept is not None
            and not (exact.rational(self.kept) - in_flight(stages, microbatches, schedule)).is_zero()
        ):
            return False
        enough = back and presumes(stages, microbatches, schedule)
        said = (self.turns, turns), (self.each, turns / stages), (self.microbatches, microbatches)
        same = all((exact.rational(told) - counted).is_zero() for told, counted in said)
        return same and self.axis == pipeline[0].over and self.enough == enough


class Collective(Frozen):
    """A collective as prose says it: what is moved over which axes and how large its message is; and why, as it is
    played: of what it is, and which dimensions the axes split before and after it. It is carried out in each of the
    ``turns`` of the repeats around it; ``once`` is for all microbatches."""

    collective: str
    axes: tuple[str, ...]
    array: str
    result: str
    of: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    rows: int
    once: bool
    turns: Formula | None
    message: Formula
    share: Formula


class Wiring(Frozen):
    """An axis as prose says it: its chips, None for any number of them, a ring, a line or a switch, and its link; where
    its wiring is known from, and of what a chip closes multiples to rings."""

    name: str
    chips: int | None
    wiring: str
    link: str
    origin: str | None
    closing: int | None


class Axes(Facts):
    """Facts of the chips of a mesh: its axes, in their order; every resource that something is sent over; and its links
    from fast to slow, where a message goes over several of them."""

    axes: tuple[Wiring, ...]
    busy: frozenset[str]

    def agree(self, step: Step, ledger: Ledger) -> bool:
        if not isinstance(step.evidence, PerChip):
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
            Wiring(axis.name, axis.chips, axis.kind, axis.link, axis.origin, axis.wraparound) for axis in meshed.mesh
        )


def _paid(evidence: PerChip) -> list[Op]:
    """The ops of the statement that an amount of one chip is about."""
    script = evidence.meshed.script
    return [op for op in script.ops if script.run.payer[op.result] == evidence.name]


class Division(Facts):
    """Facts of the work of a statement: how many chips share it out, and how many do the same of it."""

    chips: Formula
    repeated: Formula

    def agree(self, step: Step, ledger: Ledger) -> bool:
        evidence = step.evidence
        if not isinstance(evidence, PerChip) or evidence.name is None:
            return False
        meshed, exact = evidence.meshed, ledger.exact(figures=False)
        mine = _paid(evidence)
        ops = [op for op in mine if meshed.script.contracts(op)] if evidence.what != "ops" else mine
        shared, every = exact.rational(self.chips), meshed.chips((axis.name for axis in meshed.mesh), exact)
        parts = [meshed.chips(meshed.parts[a.result].work, exact) * meshed.stages(a.turns, exact) for a in ops]
        repeats = shared * exact.rational(self.repeated) - every
        return bool(parts) and all((part - shared).is_zero() for part in parts) and repeats.is_zero()


class Exchanges(Facts):
    """Facts of what a link carries for a statement: the collectives over it, in their order."""

    exchanges: tuple[Collective, ...]

    def agree(self, step: Step, ledger: Ledger) -> bool:
        evidence = step.evidence
        if not isinstance(evidence, PerChip) or evidence.name is None:
            return False
        meshed, exact = evidence.meshed, ledger.exact(figures=False)
        mine = _paid(evidence)
        moved = [(op.result, one) for op in mine for one in meshed.parts[op.result].moved]
        over = [(result, one) for result, one in moved if evidence.resource in dict(meshed.shares(one, exact))]
        return len(self.exchanges) == len(over) and all(
            said.result == result and self._same(said, one, evidence, exact)
            for said, (result, one) in zip(self.exchanges, over, strict=True)
        )

    def _same(self, said: Collective, one: Transfer, evidence: PerChip, exact: Exact) -> bool:
        told = said.collective, said.axes, said.array, said.of, said.before, said.after, said.rows, said.once
        message = exact.rational(said.message) - evidence.meshed.message(one, exact)
        share = exact.rational(said.share) - dict(evidence.meshed.shares(one, exact))[evidence.resource]
        played = one.collective, one.axes, one.array, one.of, one.before, one.after, one.rows, one.once
        run, around = Run(evidence.meshed.script, "chips"), one.around(evidence.meshed.script.op[said.result])
        often = (said.turns is None) == (not around)
        if said.turns is not None:
            each = run.turned(around, exact) / evidence.meshed.stages(around, exact)
            often = often and (exact.rational(said.turns) - each).is_zero()
        return told == played and message.is_zero() and share.is_zero() and often
