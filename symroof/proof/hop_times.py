"""Exchanges whose hops take time: how far messages go, and what takes longer, that or their bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping
from fractions import Fraction

from symroof.formula import Call, Compare, Formula, Frozen, Name
from symroof.proof.array_ops import Op
from symroof.proof.chip_recounts import OnMesh
from symroof.proof.collectives import along, merged, up_and_down
from symroof.proof.exchange_plans import Transfer
from symroof.proof.ledger import Evidence, Facts, Ledger, refuted
from symroof.proof.polynomials import ONE, Poly, Rat
from symroof.proof.program_recounts import ZERO, Run
from symroof.proof.quotients import Exact
from symroof.proof.step import Check, Step

HANDED = ("send", "send back")


class Exchange(Frozen):
    """A collective as it was carried out: who pays for it, and what its costs are called after."""

    payer: str
    label: str
    op: Op
    moved: Transfer


def exchanges(meshed: OnMesh, exact: Exact) -> tuple[Exchange, ...]:
    """All that chips send one another, in order. Of several of one statement the tensor is named, and which one of them."""
    result: dict[str, list[tuple[Op, Transfer]]] = defaultdict(list)
    for op in meshed.script.ops:
        for moved in meshed.parts[op.result].moved:
            if any(True for _ in meshed.shares(moved, exact)):
                result[meshed.script.run.payer[op.result]].append((op, moved))
    every = list[Exchange]()
    for payer, mine in result.items():
        taken: set[str] = set()
        for op, moved in mine:
            before, own = f"{payer}," if payer else "", (moved.array or "result").replace(" ", "_")
            label, n = before + own, 1
            while label in taken:
                n += 1
                label = f"{before}{own}_{n}"
            taken.add(label)
            every.append(Exchange(payer, label if mine[1:] else payer, op, moved))
    return tuple(every)


def over(meshed: OnMesh, exact: Exact) -> Mapping[tuple[str, str], tuple[Formula, ...]]:
    """By resource and payer what exchanges take there: each the longer of its bytes and its hops."""
    busy: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in exchanges(meshed, exact):
        for resource, _ in meshed.shares(one.moved, exact):
            busy[resource, one.payer].append(one.label)

    def called(what: str, label: str) -> Name:
        return Name(f"T_{what}({label})" if label else f"T_{what}")

    return {
        (resource, payer): tuple(
            Call("max", (called(resource, label if labels[1:] else payer), called("hops", label))) for label in labels
        )
        for (resource, payer), labels in busy.items()
    }


def walked(meshed: OnMesh, moved: Transfer) -> dict[str, Rat]:
    """The hops of a collective, by the figure of their latency."""
    axes = [axis for axis in meshed.mesh if axis.name in moved.axes and axis.is_split]
    twice = Rat(Poly.number(Fraction(2 if moved.collective == "all-reduce" else 1)))
    result: dict[str, Rat] = {}
    if axes and axes[0].levels:
        ways = list(up_and_down(merged([axis.levels for axis in axes])))
        passed = ways[-1:] if moved.collective == "all-to-all" else ways
        each = [(link, Rat(Poly.number(Fraction(n)))) for way in passed for link, n in way]
    elif axes and axes[0].is_switch:
        each = [(axes[0].link, Rat(ONE))]
    else:
        each = [(axis.link, Rat(ONE) if moved.collective in HANDED else along(axis)) for axis in axes]
    for link, hops in each:
        figure = f"{link.split('.')[0]}.latency"
        result[figure] = result.get(figure, ZERO) + twice * hops
    return result


def taken_in(ledger: Ledger, sides: Container[Formula], exact: Exact) -> bool:
    """Whether each of what hops take one time is at most what those of an exchange take in all turns, which is among some
    times: as many times as a chip carries it out, which is once at least."""
    evidence, longest = ledger.meanings.get("T_latency"), ledger.definitions["T_latency"]
    if not isinstance(evidence, Farthest):
        return False
    result = list[Rat]()
    for one in exchanges(evidence.meshed, exact):
        hops = Name(f"T_hops({one.label})" if one.label else "T_hops")
        each = sum((n * exact.rational(Name(f)) for f, n in walked(evidence.meshed, one.moved).items()), ZERO)
        often = OfExchange(evidence.meshed, "hops", one.label, "").often(one, exact)
        if hops in sides and (exact.rational(hops) - often * each).is_zero():
            result.append(each)
    parts = longest.arguments if isinstance(longest, Call) and longest.function == "max" else (longest,)
    return all(any((exact.rational(part) - each).is_zero() for each in result) for part in parts)


class Hopped(Facts):
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
        if not isinstance(evidence, OfExchange):
            return False
        one = evidence.exchange(exact)
        turns = one.moved.around(one.op) if one is not None else ()
        if one is None or (self.turns is None) != (not turns):
            return False
        each = exact.rational(self.each) - walked(evidence.meshed, one.moved).get(evidence.resource, ZERO)
        often = exact.rational(self.turns) - evidence.often(one, exact) if self.turns is not None else ZERO
        told = self.collective, self.axes, self.array, self.statement
        return told == (one.moved.collective, one.moved.axes, one.moved.array, one.payer) and (
            each.is_zero() and often.is_zero()
        )


class TakesOver(Facts):
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
        if not isinstance(evidence, Farthest) or not isinstance(step.right, Compare):
            return False
        every = exchanges(evidence.meshed, exact)
        one = next((one for one in every if one.label == self.label), None)
        if one is None or (one.moved.collective, one.moved.axes, one.moved.array) != (
            self.collective,
            self.axes,
            self.array,
        ):
            return False
        taken = over(evidence.meshed, exact).get((self.resource, one.payer), ())
        sides = [Compare(call.arguments[0], ">", call.arguments[1]) for call in taken if isinstance(call, Call)]
        sent = exact.rational(step.right.left) - evidence.meshed.message(one.moved, exact)
        known = ledger.exact(figures=True, assumptions=step.assumptions)
        return step.left in sides and sent.is_zero() and known.difference(step.right.right, self.least).is_zero()


class OfExchange(Evidence):
    """Evidence of what one exchange does in all turns: of the hops of a link, by the figure of their latency, or of what
    is sent over a resource."""

    counts = True

    meshed: OnMesh
    what: str
    label: str
    resource: str

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact, meshed = ledger.exact(figures=False), self.meshed
        one = self.exchange(exact)
        if one is None:
            raise refuted(step, "there is no such exchange")
        often = self.often(one, exact)
        if self.what == "hops":
            done = walked(meshed, one.moved).get(self.resource, ZERO)
        else:
            done = dict(meshed.shares(one.moved, exact)).get(self.resource, ZERO) * meshed.message(one.moved, exact)
        if not (exact.rational(step.right) - often * done).is_zero():
            raise refuted(step, "the exchange does something else when it is carried out")
        return Check("proved", "hops to the farthest chip counted" if self.what == "hops" else "carried out")

    def exchange(self, exact: Exact) -> Exchange | None:
        """The one that it speaks of."""
        return next((one for one in exchanges(self.meshed, exact) if one.label == self.label), None)

    def often(self, one: Exchange, exact: Exact) -> Rat:
        """In how many turns it is carried out."""
        turns = one.moved.around(one.op)
        return Run(self.meshed.script, "chips").turned(turns, exact) / self.meshed.stages(turns, exact)


class Farthest(Evidence):
    """Evidence of T_latency: the longest of what the hops of each exchange take, one time."""

    counts = True

    meshed: OnMesh

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact, known = ledger.exact(figures=False), ledger.exact(figures=True)
        hops = [walked(self.meshed, one.moved).items() for one in exchanges(self.meshed, exact)]
        said = step.right.arguments if isinstance(step.right, Call) and step.right.function == "max" else (step.right,)

        def both(terms: Callable[[Exact], Rat]) -> tuple[Rat, Rat]:
            return terms(exact), terms(known)

        def summed(each: Iterable[tuple[str, Rat]]) -> tuple[Rat, Rat]:
            return both(lambda a: sum((n * a.rational(Name(figure)) for figure, n in each), ZERO))

        wanted = [summed(each) for each in hops]
        told = [both(lambda a, part=part: a.rational(part)) for part in said]  # type: ignore[misc]

        def covered(one: tuple[Rat, Rat]) -> bool:
            """Whether something is told that is at least as long, whatever the figures are, or as they are."""
            gaps = [
                (other - mine, a) for pair in told for other, mine, a in zip(pair, one, (exact, known), strict=True)
            ]
            return any(gap.is_zero() or a.is_positive(gap, strict=False) for gap, a in gaps)

        taken = all(any((one - other).is_zero() for other, _ in wanted) for one, _ in told)
        if not taken or not all(map(covered, wanted)):
            raise refuted(step, "these are not the hops of all exchanges")
        return Check("proved", "hops to the farthest chip counted")
