"""The work, memory and messages of one chip of a mesh, counted from the plan of its exchanges: formulas in the numbers of chips."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, reduce
from operator import mul

from symroof.errors import CheckError
from symroof.formula import Frozen, Name, number
from symroof.proof.adjoints import require_adjoint
from symroof.proof.array_ops import CONCAT, Op, Turn
from symroof.proof.exchange_plans import (
    MeshAxis,
    Part,
    Plan,
    Transfer,
    merged_levels,
    require_conventions,
    share_across,
    share_per_direction,
    shares_of_levels,
)
from symroof.proof.kernel_traffic import Access, Script
from symroof.proof.plan_execution import SIZES, Chips
from symroof.proof.polynomials import ONE, Poly, Rat
from symroof.proof.program_recounts import STOCKS, ZERO, Rerun
from symroof.proof.program_structure import require_same_blocks
from symroof.proof.quotients import Quotients
from symroof.proof.step import Check, Evidence, Ledger, Step, refuted


class MeshRun(Frozen):
    """A script on a mesh with the plan of its exchanges; ``keep`` are weights that stay gathered for the backward pass,
    ``regather`` what else does not; gradients that microbatches add up are added over the chips after the last, or ``each``
    time; of views that are ``seen`` on chips the dimensions that are cut into the same blocks. With ``latency`` hops take
    time."""

    script: Script
    mesh: tuple[MeshAxis, ...]
    plan: tuple[Plan, ...]
    keep: tuple[str, ...] = ()
    regather: tuple[str, ...] = ()
    each: bool = False
    schedule: str = ""
    seen: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    latency: bool = False

    @cached_property
    def _simulated(self) -> tuple[Mapping[str, Part], Mapping[str, frozenset[str]]]:
        result = []
        for size in SIZES:
            axes = (replace(a, chips=size if a.chips is None else min(a.chips, size)) for a in self.mesh)
            chips = Chips(
                self.script, tuple(axis for axis in axes if axis.is_split), self.keep, self.regather, dict(self.seen)
            )
            result.append((chips.simulated(self.plan), chips.saved))
            require_conventions(self.script, self.mesh, self.plan, result[-1][0], each=self.each)
        if any(other != result[0] for other in result):
            raise CheckError("meshes of different sizes need different exchanges")
        return result[0]

    @property
    def parts(self) -> Mapping[str, Part]:
        """What the chips do of each op, by its result, on meshes of several sizes alike."""
        return self._simulated[0]

    @cached_property
    def away(self) -> frozenset[str | tuple[str, str]]:
        """The arrays that exchanges take off the chip: a kernel behind an exchange reads them from memory again."""
        result: set[str | tuple[str, str]] = set()
        for op in self.script.ops:
            for transfer in self.parts[op.result].moved:
                if all(self.axis(axis).chips == 1 for axis in transfer.axes) or transfer.of in ("rows", "stage"):
                    continue
                result.add((op.result, transfer.array) if transfer.of == "operand" and not op.exchanges else op.result)
        return frozenset(result)

    def held(self, name: str) -> frozenset[str]:
        """The axes that an array is cut by where it stays."""
        return frozenset(axis for _, axis in self.script.array[name].split if self.axis(axis).is_split)

    def saved(self, name: str) -> frozenset[str]:
        """The axes that an array is cut by as it is kept for the backward pass, on meshes of several sizes alike."""
        return self._simulated[1].get(name, self.held(name))

    def axis(self, name: str) -> MeshAxis:
        return next(axis for axis in self.mesh if axis.name == name)

    def resource(self, axis: MeshAxis, collective: str = "") -> str:
        """What is busy: a chip has one port on a switch, and with each neighbour a link that has two directions."""
        if axis.is_switch:
            return axis.link
        return f"{axis.name}_back" if collective == "send back" else axis.name

    def stages(self, turns: Iterable[Turn], exact: Quotients) -> Rat:
        """The number of chips that share out turns."""
        return self.chips((turn.over for turn in turns if turn.over and self.axis(turn.over).is_split), exact)

    @cached_property
    def pipeline(self) -> tuple[Turn, ...] | None:
        """The turns that chips share out, then the microbatches around them."""
        for op in self.script.ops:
            for i, turn in enumerate(op.turns):
                if turn.over and not op.back and self.axis(turn.over).is_split:
                    return turn, *op.turns[:i]
        return None

    def chips(self, axes: Iterable[str], exact: Quotients) -> Rat:
        """The number of chips over some axes."""
        sizes = (number(n) if (n := self.axis(name).chips) is not None else Name(name) for name in axes)
        return reduce(mul, map(exact.rational, sizes), Rat(ONE))

    def shares(self, transfer: Transfer, exact: Quotients) -> Iterator[tuple[str, Rat]]:
        """What each resource carries of the message of a collective.

        A chip takes the N - 1 other parts of N through its k incoming directions, or sends them back; an all-reduce does
        both. On a switch it has one port, through which an all-to-all sends one part of N for each chip but its own.
        """
        axes = [axis for axis in map(self.axis, transfer.axes) if axis.chips != 1]
        chips, collective = self.chips((axis.name for axis in axes), exact), transfer.collective
        if not axes:
            return
        if axes[0].levels:
            yield from shares_of_levels(collective, merged_levels([a.levels for a in self.mesh if a in axes]))
        elif collective in ("send", "send back"):
            yield self.resource(axes[0], collective), Rat(ONE)
        elif collective == "send far":  # a part of it by one port for each axis, or all of it by the only one
            ports = dict.fromkeys(map(self.resource, axes))
            yield from ((port, Rat(ONE, Poly.number(Fraction(len(ports))))) for port in ports)
        elif collective == "all-to-all" and not axes[0].is_switch:
            for axis in axes:
                length = self.chips((axis.name,), exact)
                yield axis.name, share_across(axis) * length / chips
        else:
            ways = 1 if axes[0].is_switch else sum(2 if axis.is_ring else 1 for axis in axes)
            for resource in dict.fromkeys(map(self.resource, axes)):
                yield resource, share_per_direction(collective, chips, ways)

    def counted(self, exact: Quotients) -> tuple[Rat, Rat]:
        """How many stages there are, and how many microbatches go through them."""
        assert self.pipeline is not None
        turn, *batches = self.pipeline
        return self.chips((turn.over,), exact), Rerun(self.script, "chips").turned(batches, exact)

    def busiest(self, transfer: Transfer, exact: Quotients) -> Rat:
        """What the resource carries that carries most of the message."""
        shares = [share for _, share in self.shares(transfer, exact)]
        if all((share - shares[0]).is_zero() for share in shares):
            return shares[0]
        numbers = [value for share in shares if (value := share.constant) is not None]
        if len(numbers) < len(shares):
            raise CheckError(f"which axis of {', '.join(transfer.axes)} carries most is open")
        return Rat(Poly.number(max(numbers)))

    def message(self, transfer: Transfer, exact: Quotients) -> Rat:
        """The bytes of a collective."""
        array = self.script.array[transfer.array]
        size = exact.sizes(label for label in array.labels if not transfer.rows or label != transfer.over)
        each = Rat(Poly.number(Fraction(array.bits * (transfer.rows or 1), 8)))
        return size * each / self.chips(transfer.apart, exact)


def bubble_of(stages: Rat, microbatches: Rat) -> Rat:
    """The part of the time of all microbatches that a stage does not work: while they come in, and go out."""
    waits = stages - Rat(ONE)
    return waits / (microbatches + waits)


def presumes(stages: Rat, microbatches: Rat, schedule: str) -> bool:
    """Whether nothing says that there are at least as many microbatches as stages, and it makes a difference."""
    constants = stages.constant is not None and microbatches.constant is not None
    return schedule != "gpipe" and microbatches.constant != 1 and not constants


def in_flight(stages: Rat, microbatches: Rat, schedule: str) -> Rat:
    """Of how many microbatches the first stage keeps something: where a number is open of as many as there are stages,
    of at least as many microbatches."""
    p, m = stages.constant, microbatches.constant
    if schedule == "gpipe" or m == 1:
        return microbatches
    return stages if p is None or m is None else Rat(Poly.number(min(p, m)))


class ChipAmount(Evidence):
    """Evidence of an amount of one chip: of a statement and those that join it, or of all (``name`` is None). ``cost`` is
    flops, flops_exact, ops, bytes, moved (of the tensor ``name``, or of all that belong to a ``part``), chips, sent over a
    ``resource``, or one of the stocks of a run, as it is split."""

    counts = True

    meshed: MeshRun
    cost: str
    name: str | None = None
    resource: str = ""
    part: str | None = None

    def examine(self, step: Step, ledger: Ledger) -> Check:
        require_adjoint(self.meshed.script)
        exact = ledger.exact(figures=False)
        total = self._chips(exact) if self.cost == "chips" else self.total(step, exact)
        if not (exact.rational(step.right) - total).is_zero():
            raise refuted(step, "a chip of the simulated mesh does something else")
        return Check("proved", "its exchanges carried out on meshes of 2 and 3 chips")

    def _chips(self, exact: Quotients) -> Rat:
        return self.meshed.chips((axis.name for axis in self.meshed.mesh), exact)

    def total(self, step: Step, exact: Quotients) -> Rat:
        """The amount, from the simulated mesh."""
        script, parts, total = self.meshed.script, self.meshed.parts, ZERO
        require_same_blocks(script, dict(self.meshed.seen), exact)
        run = Rerun(script, "flops" if self.cost == "flops" else self.cost)
        for op in script.ops:
            if self.name not in (None, script.run.payer[op.result]):
                continue
            turns, part = self._turned(op.turns, run, exact), parts[op.result]
            if self.cost in ("flops", "flops_exact") and script.contracts(op):
                total += run.work(op, exact, step) * turns / self.meshed.chips(part.work, exact)
            elif self.cost == "ops" and not script.contracts(op):
                total += self._elementwise(op, run, exact, step) * turns
            elif self.cost == "sent":
                for transfer in part.moved:
                    shares = dict(self.meshed.shares(transfer, exact))
                    if self.resource in shares:
                        often = self._turned(transfer.around(op), run, exact)
                        total += shares[self.resource] * self.meshed.message(transfer, exact) * often
        if self.cost in STOCKS:
            return self._held(run, exact)
        return total if self.cost not in ("bytes", "moved") else self._traffic(run, exact)

    def _held(self, run: Rerun, exact: Quotients) -> Rat:
        """The bytes of a stock on one chip: of each array the blocks that the chip holds."""
        return sum(
            (
                run.size(name, exact)
                * self._turned(turns, run, exact)
                * self._in_flight(name, turns, exact)
                / self.meshed.chips(self._axes(name), exact)
                for name, turns in run.stays()
            ),
            ZERO,
        )

    def _turned(self, turns: Iterable[Turn], run: Rerun, exact: Quotients) -> Rat:
        """How often a chip runs something."""
        turns = tuple(turns)
        return run.turned(turns, exact) / self.meshed.stages(turns, exact)

    def _in_flight(self, name: str, turns: Iterable[Turn], exact: Quotients) -> Rat:
        """The number of microbatches of which an array is kept at once for the backward pass, under the schedule: in the
        stages and before them as many as are in flight, behind them one unless the schedule is GPipe."""
        pipeline, script = self.meshed.pipeline, self.meshed.script
        if self.cost != "saved" or pipeline is None:
            return Rat(ONE)
        if pipeline[0] not in turns and self.meshed.schedule != "gpipe":
            forward = [op for op in script.ops if not op.back]
            staged = [i for i, op in enumerate(forward) if pipeline[0] in op.turns]
            declared = name not in script.op
            uses = (i for i, op in enumerate(forward) if name == op.result or (declared and name in op.operands))
            if min(uses) > max(staged) or name in pipeline[0].leaves:
                return Rat(ONE)
        return in_flight(*self.meshed.counted(exact), self.meshed.schedule)

    def _axes(self, name: str) -> frozenset[str]:
        """The axes that an array of a stock is cut by: a gradient that microbatches add up as the chips add it up."""
        if self.cost == "gradients":
            gradient = dict(self.meshed.script.gradients)[name]
            part = self.meshed.parts.get(gradient)
            if part is not None and any(transfer.once and transfer.of == "sums" for transfer in part.moved):
                return part.result
        return self.meshed.saved(name) if self.cost == "saved" else self.meshed.held(name)

    def _elementwise(self, op: Op, run: Rerun, exact: Quotients, step: Step) -> Rat:
        """Each chip works on its elements; of rows that chips share out each works on its part of every one."""
        part, whole = self.meshed.parts[op.result], run.work(op, exact, step)
        rows = run.work(op.without_elements, exact, step) if op.over is not None else ZERO
        return (whole - rows) / self.meshed.chips(part.work, exact) + rows / self.meshed.chips(part.rows, exact)

    def _counts(self, move: Access) -> bool:
        """Whether a load or a store is counted."""
        if self.cost != "moved":
            return self.name in (None, move.payer)
        return self.name in (None, move.name) and self.part in (None, self.meshed.script.part(move.name))

    def _read(self, load: Access) -> Iterator[frozenset[str]]:
        """The axes that cut what a chip reads of an array once, for all of its users: each form that is not within another."""
        splits = list({self._under(load.name, user, place) for user, place in load.users})
        for split in sorted(splits, key=len):
            if not any(other < split for other in splits):
                yield frozenset(axis for _, axis in split)

    def _under(self, name: str, user: str, place: int) -> frozenset[tuple[str, str]]:
        """How an operand of an op is cut, under the labels of the array that is read of it: what it is a view of, or a piece."""
        script, split = self.meshed.script, self.meshed.parts[user].operands[place]
        op, views = script.op[user], dict(self.meshed.seen)
        turns, source = op.turns, op.operands[place]
        piece = script.taken(name, turns)[0]
        aliases = {piece, script.op[piece].again if piece in script.op else ""}
        while True:
            for view in script.seen(source, turns)[:-1]:
                if script.op[view].views:
                    names = {label: old for old, label in views.get(view, ())}
                    split = frozenset((names.get(label, ""), axis) for label, axis in split)
            source = script.root(source, turns)
            pieces = script.op[source].operands if source in script.op and script.op[source].laid == CONCAT else ()
            if source in aliases or not pieces:
                return split
            source = next(n for n in pieces if not aliases.isdisjoint(script.taken(n, turns)))
            split = frozenset((label if label in script.array[source].labels else "", axis) for label, axis in split)

    def _traffic(self, run: Rerun, exact: Quotients) -> Rat:
        """The bytes that one chip loads and stores: of each array the part that its ops read or make."""
        script, parts, total = self.meshed.script, self.meshed.parts, ZERO
        trace = script.run_apart(self.meshed.away)
        for load in (load for load in trace.loads if self._counts(load)):
            whole = not isinstance(load.part, str)  # of a table the rows are read that the result has
            for axes in self._read(load) if whole else (parts[load.users[0][0]].result,):
                turns = self._turned(load.turns, run, exact)
                total += run.size(load.name, exact, load.part) * turns / self.meshed.chips(axes, exact)
        for store in (store for store in trace.stores if self._counts(store)):
            axes = parts[store.name].result if store.name in parts else self.meshed.held(store.name)
            turns = self._turned(store.turns, run, exact)
            total += run.size(store.name, exact) * turns / self.meshed.chips(axes, exact)
        return total
