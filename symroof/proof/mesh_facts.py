"""Facts that prose states of a mesh, compared with the plan that was carried out: its pipeline, its exchanges, and their hops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping
from fractions import Fraction

from symroof.formula import Call, Compare, Formula, Frozen, Name
from symroof.proof.array_ops import Op
from symroof.proof.chip_recounts import ChipAmount, MeshRun, bubble_of, in_flight, presumes
from symroof.proof.exchange_plans import Transfer, merged_levels, ring_hops, switch_path
from symroof.proof.polynomials import ONE, Poly, Rat
from symroof.proof.program_recounts import ZERO, Rerun
from symroof.proof.quotients import Quotients
from symroof.proof.step import Check, Evidence, Facts, Ledger, Step, refuted


class Bubble(Evidence):
    """Evidence of the part of the time of the turns that a chip waits in a pipeline."""

    counts = True

    meshed: MeshRun

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
        turns = Rerun(meshed.script, "chips").turned(pipeline[:1], exact)
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
    simulated: of what it is, and which dimensions the axes split before and after it. It is carried out in each of the
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
        if not isinstance(step.evidence, ChipAmount):
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


def _paid(evidence: ChipAmount) -> list[Op]:
    """The ops of the statement that an amount of one chip is about."""
    script = evidence.meshed.script
    return [op for op in script.ops if script.run.payer[op.result] == evidence.name]


class Division(Facts):
    """Facts of the work of a statement: how many chips share it out, and how many do the same of it."""

    chips: Formula
    repeated: Formula

    def agree(self, step: Step, ledger: Ledger) -> bool:
        evidence = step.evidence
        if not isinstance(evidence, ChipAmount) or evidence.name is None:
            return False
        meshed, exact = evidence.meshed, ledger.exact(figures=False)
        paid = _paid(evidence)
        ops = [op for op in paid if meshed.script.contracts(op)] if evidence.cost != "ops" else paid
        shared, all_chips = exact.rational(self.chips), meshed.chips((axis.name for axis in meshed.mesh), exact)
        parts = [meshed.chips(meshed.parts[a.result].work, exact) * meshed.stages(a.turns, exact) for a in ops]
        repeats = shared * exact.rational(self.repeated) - all_chips
        return bool(parts) and all((part - shared).is_zero() for part in parts) and repeats.is_zero()


class Exchanges(Facts):
    """Facts of what a link carries for a statement: the collectives over it, in their order."""

    exchanges: tuple[Collective, ...]

    def agree(self, step: Step, ledger: Ledger) -> bool:
        evidence = step.evidence
        if not isinstance(evidence, ChipAmount) or evidence.name is None:
            return False
        meshed, exact = evidence.meshed, ledger.exact(figures=False)
        paid = _paid(evidence)
        transfers = [(op.result, move) for op in paid for move in meshed.parts[op.result].moved]
        over = [(result, move) for result, move in transfers if evidence.resource in dict(meshed.shares(move, exact))]
        return len(self.exchanges) == len(over) and all(
            fact.result == result and self._same(fact, move, evidence, exact)
            for fact, (result, move) in zip(self.exchanges, over, strict=True)
        )

    def _same(self, fact: Collective, transfer: Transfer, evidence: ChipAmount, exact: Quotients) -> bool:
        message = exact.rational(fact.message) - evidence.meshed.message(transfer, exact)
        share = exact.rational(fact.share) - dict(evidence.meshed.shares(transfer, exact))[evidence.resource]
        same = all(getattr(fact, name) == getattr(transfer, name) for name in SHARED)
        run, turns = (Rerun(evidence.meshed.script, "chips"), transfer.around(evidence.meshed.script.op[fact.result]))
        repeated = (fact.turns is None) == (not turns)
        if fact.turns is not None:
            repeats = run.turned(turns, exact) / evidence.meshed.stages(turns, exact)
            repeated = repeated and (exact.rational(fact.turns) - repeats).is_zero()
        return same and message.is_zero() and share.is_zero() and repeated


HANDED = ("send", "send back")


class Exchange(Frozen):
    """A collective as it was carried out: the op that pays for it, and the label of its costs."""

    payer: str
    label: str
    op: Op
    moved: Transfer

    @property
    def signature(self) -> tuple[str, tuple[str, ...], str]:
        return self.moved.collective, self.moved.axes, self.moved.array


def exchanges(meshed: MeshRun, exact: Quotients) -> tuple[Exchange, ...]:
    """All that chips send one another, in order. Of several of one statement the tensor is named, and which one of them."""
    by_payer: dict[str, list[tuple[Op, Transfer]]] = defaultdict(list)
    for op in meshed.script.ops:
        for transfer in meshed.parts[op.result].moved:
            if any(True for _ in meshed.shares(transfer, exact)):
                by_payer[meshed.script.run.payer[op.result]].append((op, transfer))
    result = list[Exchange]()
    for payer, transfers in by_payer.items():
        labels: set[str] = set()
        for op, transfer in transfers:
            prefix, array = f"{payer}," if payer else "", (transfer.array or "result").replace(" ", "_")
            label, n = prefix + array, 1
            while label in labels:
                n += 1
                label = f"{prefix}{array}_{n}"
            labels.add(label)
            result.append(Exchange(payer, label if transfers[1:] else payer, op, transfer))
    return tuple(result)


def busy_times(meshed: MeshRun, exact: Quotients) -> Mapping[tuple[str, str], tuple[Formula, ...]]:
    """By resource and payer what exchanges take there: each the longer of its bytes and its hops."""
    busy: dict[tuple[str, str], list[str]] = defaultdict(list)
    for exchange in exchanges(meshed, exact):
        for resource, _ in meshed.shares(exchange.moved, exact):
            busy[resource, exchange.payer].append(exchange.label)

    def called(part: str, label: str) -> Name:
        return Name(f"T_{part}({label})" if label else f"T_{part}")

    return {
        (resource, payer): tuple(
            Call("max", (called(resource, label if labels[1:] else payer), called("hops", label))) for label in labels
        )
        for (resource, payer), labels in busy.items()
    }


def hops_of(meshed: MeshRun, transfer: Transfer) -> dict[str, Rat]:
    """The hops of a collective, by the figure of their latency."""
    axes = [axis for axis in meshed.mesh if axis.name in transfer.axes and axis.is_split]
    twice = Rat(Poly.number(Fraction(2 if transfer.collective == "all-reduce" else 1)))
    result: dict[str, Rat] = {}
    if axes and axes[0].levels:
        ways = list(switch_path(merged_levels([axis.levels for axis in axes])))
        routes = ways[-1:] if transfer.collective == "all-to-all" else ways
        steps = [(link, Rat(Poly.number(Fraction(n)))) for way in routes for link, n in way]
    elif axes and axes[0].is_switch:
        steps = [(axes[0].link, Rat(ONE))]
    else:
        steps = [(axis.link, Rat(ONE) if transfer.collective in HANDED else ring_hops(axis)) for axis in axes]
    for link, hops in steps:
        figure = f"{link.split('.')[0]}.latency"
        result[figure] = result.get(figure, ZERO) + twice * hops
    return result


def has_hops(ledger: Ledger, sides: Container[Formula], exact: Quotients) -> bool:
    """Whether each part of T_latency is the time of one run of an exchange whose hops in all turns are among the ``sides``."""
    evidence, longest = ledger.meanings.get("T_latency"), ledger.definitions["T_latency"]
    if not isinstance(evidence, LongestHops):
        return False
    times = list[Rat]()
    for exchange in exchanges(evidence.meshed, exact):
        hops = Name(f"T_hops({exchange.label})" if exchange.label else "T_hops")
        time = sum((n * exact.rational(Name(f)) for f, n in hops_of(evidence.meshed, exchange.moved).items()), ZERO)
        repeats = ExchangeWork(evidence.meshed, "hops", exchange.label, "").often(exchange, exact)
        if hops in sides and (exact.rational(hops) - repeats * time).is_zero():
            times.append(time)
    parts = longest.arguments if isinstance(longest, Call) and longest.function == "max" else (longest,)
    return all(any((exact.rational(part) - time).is_zero() for time in times) for part in parts)


class Hops(Facts):
    """Facts of the hops of an exchange: which one it is, and how many of a link it takes each time, of ``turns`` times;
    where these are several."""

    collective: str
    axes: tuple[str, ...]
    array: str
    statement: str
    each: Formula
    turns: Formula | None

    def agree(self, step: Step, ledger: Ledger) -> bool:
        evidence, exact = step.evidence, ledger.exact(figures=False)
        if not isinstance(evidence, ExchangeWork):
            return False
        exchange = evidence.exchange(exact)
        turns = exchange.moved.around(exchange.op) if exchange is not None else ()
        if exchange is None or (self.turns is None) != (not turns):
            return False
        hops_left = exact.rational(self.each) - hops_of(evidence.meshed, exchange.moved).get(evidence.resource, ZERO)
        turns_left = exact.rational(self.turns) - evidence.often(exchange, exact) if self.turns is not None else ZERO
        same = exchange.signature == (self.collective, self.axes, self.array) and exchange.payer == self.statement
        return same and hops_left.is_zero() and turns_left.is_zero()


class BreakEvenMessage(Facts):
    """Facts of the message from which on the bytes of an exchange take longer than its hops: which one it is, over what
    it goes, and its bytes there, with the figures put in as far as these are known."""

    label: str
    collective: str
    axes: tuple[str, ...]
    array: str
    resource: str
    least: Formula

    def agree(self, step: Step, ledger: Ledger) -> bool:
        evidence, exact = ledger.meanings.get("T_latency"), ledger.exact(figures=False, assumptions=step.assumptions)
        if not isinstance(evidence, LongestHops) or not isinstance(step.right, Compare):
            return False
        candidates = exchanges(evidence.meshed, exact)
        exchange = next((exchange for exchange in candidates if exchange.label == self.label), None)
        if exchange is None or exchange.signature != (self.collective, self.axes, self.array):
            return False
        times = busy_times(evidence.meshed, exact).get((self.resource, exchange.payer), ())
        sides = [Compare(call.arguments[0], ">", call.arguments[1]) for call in times if isinstance(call, Call)]
        sent = exact.rational(step.right.left) - evidence.meshed.message(exchange.moved, exact)
        with_figures = ledger.exact(figures=True, assumptions=step.assumptions)
        return step.left in sides and sent.is_zero() and with_figures.difference(step.right.right, self.least).is_zero()


class ExchangeWork(Evidence):
    """Evidence of what one exchange does in all turns: of the hops of a link, by the figure of their latency, or of what
    is sent over a resource."""

    counts = True

    meshed: MeshRun
    cost: str
    label: str
    resource: str

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact, meshed = ledger.exact(figures=False), self.meshed
        exchange = self.exchange(exact)
        if exchange is None:
            raise refuted(step, "there is no such exchange")
        repeats = self.often(exchange, exact)
        if self.cost == "hops":
            amount = hops_of(meshed, exchange.moved).get(self.resource, ZERO)
        else:
            share = dict(meshed.shares(exchange.moved, exact)).get(self.resource, ZERO)
            amount = share * meshed.message(exchange.moved, exact)
        if not (exact.rational(step.right) - repeats * amount).is_zero():
            raise refuted(step, "the exchange does something else when it is carried out")
        return Check("proved", "hops to the farthest chip counted" if self.cost == "hops" else "carried out")

    def exchange(self, exact: Quotients) -> Exchange | None:
        """The one that it speaks of."""
        return next((exchange for exchange in exchanges(self.meshed, exact) if exchange.label == self.label), None)

    def often(self, exchange: Exchange, exact: Quotients) -> Rat:
        """In how many turns it is carried out."""
        turns = exchange.moved.around(exchange.op)
        return Rerun(self.meshed.script, "chips").turned(turns, exact) / self.meshed.stages(turns, exact)


class LongestHops(Evidence):
    """Evidence of T_latency: the longest of what the hops of each exchange take, one time."""

    counts = True

    meshed: MeshRun

    def examine(self, step: Step, ledger: Ledger) -> Check:
        both = exact, _ = ledger.exact(figures=False), ledger.exact(figures=True)
        hops = [hops_of(self.meshed, exchange.moved).items() for exchange in exchanges(self.meshed, exact)]
        parts = step.right.arguments if isinstance(step.right, Call) and step.right.function == "max" else (step.right,)

        needed = [[sum((n * a.rational(Name(f)) for f, n in links), ZERO) for a in both] for links in hops]
        given = [[a.rational(part) for a in both] for part in parts]

        def covered(time: list[Rat]) -> bool:
            """Whether a given time is at least as long, with the figures as letters or as numbers."""
            gaps = [(b - a, arithmetic) for pair in given for b, a, arithmetic in zip(pair, time, both, strict=True)]
            return any(gap.is_zero() or a.is_positive(gap, strict=False) for gap, a in gaps)

        necessary = all(any((time - other).is_zero() for other, *_ in needed) for time, *_ in given)
        if not necessary or not all(map(covered, needed)):
            raise refuted(step, "these are not the hops of all exchanges")
        return Check("proved", "hops to the farthest chip counted")
