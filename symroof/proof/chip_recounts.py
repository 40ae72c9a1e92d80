"""What one chip of a mesh does for a program, as the plan of its exchanges tells when it is carried out: amounts are formulas
in the numbers of chips. A box of a tensor that is split over n chips counts 1/n of it, and so for every n."""

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
from symroof.proof.collectives import MeshAxis, across, merged, shares_of_levels, taken
from symroof.proof.exchange_plans import Part, Plan, Transfer, require_conventions
from symroof.proof.kernel_traffic import Script
from symroof.proof.ledger import Evidence, Ledger, refuted
from symroof.proof.masks import Masked
from symroof.proof.plan_execution import SIZES, Chips
from symroof.proof.polynomials import ONE, Poly, Rat
from symroof.proof.program_recounts import STOCKS, ZERO, Run
from symroof.proof.quotients import Exact
from symroof.proof.step import Check, Step
from symroof.proof.views import require_same_blocks


class OnMesh(Frozen):
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
    def _played(self) -> tuple[Mapping[str, Part], Mapping[str, frozenset[str]]]:
        result = []
        for size in SIZES:
            every = (replace(a, chips=size if a.chips is None else min(a.chips, size)) for a in self.mesh)
            chips = Chips(
                self.script, tuple(axis for axis in every if axis.is_split), self.keep, self.regather, dict(self.seen)
            )
            result.append((chips.played(self.plan), chips.saved))
            require_conventions(self.script, self.mesh, self.plan, result[-1][0], each=self.each)
        if any(other != result[0] for other in result):
            raise CheckError("meshes of different sizes need different exchanges")
        return result[0]

    @property
    def parts(self) -> Mapping[str, Part]:
        """What the chips do of each op, by its result, on meshes of several sizes alike."""
        return self._played[0]

    @cached_property
    def away(self) -> frozenset[str | tuple[str, str]]:
        """What leaves the chip that made it: a function behind an exchange does not find there what is in front of it."""
        result: set[str | tuple[str, str]] = set()
        for op in self.script.ops:
            for moved in self.parts[op.result].moved:
                if all(self.axis(axis).chips == 1 for axis in moved.axes) or moved.of in ("rows", "stage"):
                    continue
                result.add((op.result, moved.array) if moved.of == "operand" and not op.exchanges else op.result)
        return frozenset(result)

    def held(self, name: str) -> frozenset[str]:
        """The axes that an array is cut by where it stays."""
        return frozenset(axis for _, axis in self.script.array[name].split if self.axis(axis).is_split)

    def saved(self, name: str) -> frozenset[str]:
        """The axes that an array is cut by as it is kept for the backward pass, on meshes of several sizes alike."""
        return self._played[1].get(name, self.held(name))

    def axis(self, name: str) -> MeshAxis:
        return next(axis for axis in self.mesh if axis.name == name)

    def resource(self, axis: MeshAxis, collective: str = "") -> str:
        """What is busy: a chip has one port on a switch, and with each neighbour a link that has two directions."""
        if axis.is_switch:
            return axis.link
        return f"{axis.name}_back" if collective == "send back" else axis.name

    def stages(self, turns: Iterable[Turn], exact: Exact) -> Rat:
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

    def chips(self, axes: Iterable[str], exact: Exact) -> Rat:
        """The number of chips over some axes."""
        sizes = (number(n) if (n := self.axis(name).chips) is not None else Name(name) for name in axes)
        return reduce(mul, map(exact.rational, sizes), Rat(ONE))

    def shares(self, moved: Transfer, exact: Exact) -> Iterator[tuple[str, Rat]]:
        """What each resource carries of the message of a collective.

        A chip takes the N - 1 other parts of N through its k incoming directions, or sends them back; an all-reduce does
        both. On a switch it has one port, through which an all-to-all sends one part of N for each chip but its own.
        """
        axes = [axis for axis in map(self.axis, moved.axes) if axis.chips != 1]
        chips, collective = self.chips((axis.name for axis in axes), exact), moved.collective
        if axes and axes[0].levels:
            yield from shares_of_levels(collective, merged([a.levels for a in self.mesh if a in axes]))
        elif collective in ("send", "send back") and axes:
            yield self.resource(axes[0], collective), Rat(ONE)
        elif collective == "send far" and axes:  # a part of it by one port for each axis, or all of it by the only one
            ports = dict.fromkeys(map(self.resource, axes))
            yield from ((port, Rat(ONE, Poly.number(Fraction(len(ports))))) for port in ports)
        elif collective == "all-to-all" and axes and not axes[0].is_switch:
            for axis in axes:
                own = self.chips((axis.name,), exact)
                yield axis.name, across(axis) * own / chips
        elif axes:
            ways = 1 if axes[0].is_switch else sum(2 if axis.is_ring else 1 for axis in axes)
            for resource in dict.fromkeys(map(self.resource, axes)):
                yield resource, taken(collective, chips, ways)

    def counted(self, exact: Exact) -> tuple[Rat, Rat]:
        """How many stages there are, and how many microbatches go through them."""
        assert self.pipeline is not None
        turn, *around = self.pipeline
        return self.chips((turn.over,), exact), Run(self.script, "chips").turned(around, exact)

    def busiest(self, moved: Transfer, exact: Exact) -> Rat:
        """What the resource carries that carries most of the message."""
        shares = [share for _, share in self.shares(moved, exact)]
        if all((share - shares[0]).is_zero() for share in shares):
            return shares[0]
        numbers = [value for share in shares if (value := share.constant) is not None]
        if len(numbers) < len(shares):
            raise CheckError(f"which axis of {', '.join(moved.axes)} carries most is open")
        return Rat(Poly.number(max(numbers)))

    def message(self, moved: Transfer, exact: Exact) -> Rat:
        """The bytes of a collective."""
        array = self.script.array[moved.array]
        labels = [label for label in array.labels if not moved.rows or label != moved.over]
        sizes = (number(int(label)) if label.isdigit() else Name(label) for label in labels)
        whole = reduce(mul, map(exact.rational, sizes), Rat(ONE))
        return whole * Rat(Poly.number(Fraction(array.bits * (moved.rows or 1), 8))) / self.chips(moved.apart, exact)


def bubble_of(stages: Rat, microbatches: Rat) -> Rat:
    """The part of the time of all microbatches that a stage does not work: while they come in, and go out."""
    waits = stages - Rat(ONE)
    return waits / (microbatches + waits)


def presumes(stages: Rat, microbatches: Rat, schedule: str) -> bool:
    """Whether nothing says that there are at least as many microbatches as stages, and it makes a difference."""
    counted = stages.constant is not None and microbatches.constant is not None
    return schedule != "gpipe" and microbatches.constant != 1 and not counted


def in_flight(stages: Rat, microbatches: Rat, schedule: str) -> Rat:
    """Of how many microbatches the first stage keeps something: where a number is open of as many as there are stages,
    of at least as many microbatches."""
    p, m = stages.constant, microbatches.constant
    if schedule == "gpipe" or m == 1:
        return microbatches
    return stages if p is None or m is None else Rat(Poly.number(min(p, m)))


class PerChip(Evidence):
    """Evidence of an amount of one chip: of a statement and those that join it, or of all (``name`` is None). ``what`` is
    flops, flops_exact, ops, bytes, moved (of the tensor ``name``, or of all that belong to a ``part``), chips, sent over a
    ``resource``, or one of the stocks of
    a run, as it is split."""

    counts = True

    meshed: OnMesh
    what: str
    name: str | None = None
    resource: str = ""
    part: str | None = None

    def examine(self, step: Step, ledger: Ledger) -> Check:
        require_adjoint(self.meshed.script)
        exact = ledger.exact(figures=False)
        total = self._chips(exact) if self.what == "chips" else self.total(step, exact)
        if not (exact.rational(step.right) - total).is_zero():
            raise refuted(step, "a chip of the played mesh does something else")
        return Check("proved", "its exchanges carried out on meshes of 2 and 3 chips")

    def _chips(self, exact: Exact) -> Rat:
        return self.meshed.chips((axis.name for axis in self.meshed.mesh), exact)

    def total(self, step: Step, exact: Exact) -> Rat:
        """The amount, from the played mesh."""
        script, parts, total = self.meshed.script, self.meshed.parts, ZERO
        require_same_blocks(script, dict(self.meshed.seen), exact)
        run = Run(script, "flops" if self.what == "flops" else self.what)
        for op in script.ops:
            if self.name not in (None, script.run.payer[op.result]):
                continue
            turns, part = self._turned(op.turns, run, exact), parts[op.result]
            if self.what in ("flops", "flops_exact") and script.contracts(op):
                total += run.work(op, exact, step) * turns / self.meshed.chips(part.work, exact)
            elif self.what == "ops" and not script.contracts(op):
                total += self._elementwise(op, run, exact, step) * turns
            elif self.what == "sent":
                for moved in part.moved:
                    shares = dict(self.meshed.shares(moved, exact))
                    if self.resource in shares:
                        often = self._turned(moved.around(op), run, exact)
                        total += shares[self.resource] * self.meshed.message(moved, exact) * often
        if self.what in STOCKS:
            return self._held(run, exact)
        return total if self.what not in ("bytes", "moved") else self._traffic(run, exact)

    def _held(self, run: Run, exact: Exact) -> Rat:
        """Of every array that stays the blocks that a chip has of its own; of what is kept those that it will take."""
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

    def _turned(self, turns: Iterable[Turn], run: Run, exact: Exact) -> Rat:
        """How often a chip runs something."""
        turns = tuple(turns)
        return run.turned(turns, exact) / self.meshed.stages(turns, exact)

    def _in_flight(self, name: str, turns: Iterable[Turn], exact: Exact) -> Rat:
        """Of how many microbatches an array is kept for the backward pass, as the schedule is played: what the first
        stage has waits for all that it has sent on, and so does what came before it; what the last one has left goes
        back next where that is the schedule."""
        pipeline, script = self.meshed.pipeline, self.meshed.script
        if self.what != "saved" or pipeline is None:
            return Rat(ONE)
        if pipeline[0] not in turns and self.meshed.schedule != "gpipe":
            ahead = [op for op in script.ops if not op.back]
            staged = [i for i, op in enumerate(ahead) if pipeline[0] in op.turns]
            seen = [
                i for i, op in enumerate(ahead) if name == op.result or (name not in script.op and name in op.operands)
            ]
            if min(seen) > max(staged) or name in pipeline[0].leaves:
                return Rat(ONE)
        return in_flight(*self.meshed.counted(exact), self.meshed.schedule)

    def _axes(self, name: str) -> frozenset[str]:
        """The axes that an array of a stock is cut by: a gradient that microbatches add up as the chips add it up."""
        if self.what == "gradients":
            gradient = dict(self.meshed.script.gradients)[name]
            part = self.meshed.parts.get(gradient)
            if part is not None and any(moved.once and moved.of == "sums" for moved in part.moved):
                return part.result
        return self.meshed.saved(name) if self.what == "saved" else self.meshed.held(name)

    def _elementwise(self, op: Op, run: Run, exact: Exact, step: Step) -> Rat:
        """Each chip works on its elements; of rows that chips share out each works on its part of every one."""
        part, whole = self.meshed.parts[op.result], run.work(op, exact, step)
        rows = run.work(op.without_elements, exact, step) if op.over is not None else ZERO
        return (whole - rows) / self.meshed.chips(part.work, exact) + rows / self.meshed.chips(part.rows, exact)

    def _counts(self, payer: str, name: str) -> bool:
        """Whether an array that a statement pays for is counted."""
        if self.what != "moved":
            return self.name in (None, payer)
        return self.name in (None, name) and self.part in (None, self.meshed.script.part(name))

    def _read(self, name: str, users: Iterable[tuple[str, int]]) -> Iterator[frozenset[str]]:
        """The axes that cut what a chip reads of an array once, for all of its users: each form that is not within another."""
        taken = list({self._under(name, user, place) for user, place in users})
        for one in sorted(taken, key=len):
            if not any(other < one for other in taken):
                yield frozenset(axis for _, axis in one)

    def _under(self, name: str, user: str, place: int) -> frozenset[tuple[str, str]]:
        """How an operand of an op is cut, under the labels of the array that is read of it: what it is a view of, or a piece."""
        script, cut = self.meshed.script, self.meshed.parts[user].operands[place]
        op, seen = script.op[user], dict(self.meshed.seen)
        turns, here = op.turns, op.operands[place]
        piece = script.taken(name, turns)[0]
        same = {piece, script.op[piece].again if piece in script.op else ""}
        while True:
            for view in script.seen(here, turns)[:-1]:
                if script.op[view].views:
                    own = {label: there for there, label in seen.get(view, ())}
                    cut = frozenset((own.get(label, ""), axis) for label, axis in cut)
            here = script.root(here, turns)
            joined = script.op[here].operands if here in script.op and script.op[here].laid == CONCAT else ()
            if here in same or not joined:
                return cut
            here = next(one for one in joined if not same.isdisjoint(script.taken(one, turns)))
            cut = frozenset((label if label in script.array[here].labels else "", axis) for label, axis in cut)

    def _traffic(self, run: Run, exact: Exact) -> Rat:
        """Of what is loaded the part that an op works on; of what is stored the part that it makes."""
        script, parts, total = self.meshed.script, self.meshed.parts, ZERO
        trace = script.run_apart(self.meshed.away)
        for (payer, name), users, rows, often in zip(
            trace.loads, trace.users, trace.gathered, trace.often, strict=True
        ):
            if self._counts(payer, name):  # of a table the rows are read that the result has
                whole = rows is None or isinstance(rows, Masked)
                for cut in self._read(name, users) if whole else (parts[users[0][0]].result,):
                    turns = self._turned(often, run, exact)
                    total += run.size(name, exact, rows) * turns / self.meshed.chips(cut, exact)
        for (payer, name), often in zip(trace.stores, trace.kept, strict=True):
            if self._counts(payer, name):
                cut = parts[name].result if name in parts else self.meshed.held(name)
                turns = self._turned(often, run, exact)
                total += run.size(name, exact) * turns / self.meshed.chips(cut, exact)
        return total
