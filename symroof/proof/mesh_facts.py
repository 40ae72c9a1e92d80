"""Facts that prose states of a mesh, of its pipeline and of its exchanges, compared with the plan that was carried out."""

from __future__ import annotations

from symroof.formula import Formula, Frozen
from symroof.proof.array_ops import Op
from symroof.proof.chip_recounts import OnMesh, PerChip, bubble_of, in_flight, presumes
from symroof.proof.exchange_plans import Transfer
from symroof.proof.program_recounts import Run
from symroof.proof.quotients import Exact
from symroof.proof.step import Check, Evidence, Facts, Ledger, Step, refuted


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
        pairs = (self.turns, turns), (self.each, turns / stages), (self.microbatches, microbatches)
        equal = all((exact.rational(formula) - value).is_zero() for formula, value in pairs)
        return equal and self.axis == pipeline[0].over and self.enough == enough


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


# What the facts of a collective have in common with its transfer.
SHARED = ("collective", "axes", "array", "of", "before", "after", "rows", "once")


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
            name for part in meshed.parts.values() for move in part.moved for name in dict(meshed.shares(move, exact))
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
        paid = _paid(evidence)
        ops = [op for op in paid if meshed.script.contracts(op)] if evidence.what != "ops" else paid
        shared, all_chips = exact.rational(self.chips), meshed.chips((axis.name for axis in meshed.mesh), exact)
        parts = [meshed.chips(meshed.parts[a.result].work, exact) * meshed.stages(a.turns, exact) for a in ops]
        repeats = shared * exact.rational(self.repeated) - all_chips
        return bool(parts) and all((part - shared).is_zero() for part in parts) and repeats.is_zero()


class Exchanges(Facts):
    """Facts of what a link carries for a statement: the collectives over it, in their order."""

    exchanges: tuple[Collective, ...]

    def agree(self, step: Step, ledger: Ledger) -> bool:
        evidence = step.evidence
        if not isinstance(evidence, PerChip) or evidence.name is None:
            return False
        meshed, exact = evidence.meshed, ledger.exact(figures=False)
        paid = _paid(evidence)
        transfers = [(op.result, move) for op in paid for move in meshed.parts[op.result].moved]
        over = [(result, move) for result, move in transfers if evidence.resource in dict(meshed.shares(move, exact))]
        return len(self.exchanges) == len(over) and all(
            fact.result == result and self._same(fact, move, evidence, exact)
            for fact, (result, move) in zip(self.exchanges, over, strict=True)
        )

    def _same(self, fact: Collective, transfer: Transfer, evidence: PerChip, exact: Exact) -> bool:
        message = exact.rational(fact.message) - evidence.meshed.message(transfer, exact)
        share = exact.rational(fact.share) - dict(evidence.meshed.shares(transfer, exact))[evidence.resource]
        same = all(getattr(fact, name) == getattr(transfer, name) for name in SHARED)
        run, turns = Run(evidence.meshed.script, "chips"), transfer.around(evidence.meshed.script.op[fact.result])
        repeated = (fact.turns is None) == (not turns)
        if fact.turns is not None:
            repeats = run.turned(turns, exact) / evidence.meshed.stages(turns, exact)
            repeated = repeated and (exact.rational(fact.turns) - repeats).is_zero()
        return same and message.is_zero() and share.is_zero() and repeated
