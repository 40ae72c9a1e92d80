"""What one chip of a mesh does and sends for a product, compared with the played mesh."""

from __future__ import annotations

from typing import Any

from symroof.formula import Formula
from symroof.proof.chips import OnEach
from symroof.proof.exact import Exact
from symroof.proof.ledger import Evidence, Facts, Ledger, refuted
from symroof.proof.meshing import Moved, Part
from symroof.proof.polynomials import Rat
from symroof.proof.running import ZERO, Run
from symroof.proof.sharded import Meshed
from symroof.proof.step import Check, Step

WORK = ("flops", "flops_exact", "ops")


class OnChip(Evidence):
    """Evidence that the formula is an amount of the played mesh, for a script of one act.

    ``amount`` is one of WORK, the bytes in the chip's own memory, a "part" of them by the number of the tensor, the
    "sending" of that number over the ``link``, or all of them ("link"). ``names`` are what prose calls the tensors.
    """

    counts = True

    meshed: Meshed
    names: tuple[str, ...]
    link: str
    amount: str
    number: int = 0

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact = ledger.exact(figures=False)
        if self.number >= len({"sending": self.crossing, "part": self.names}.get(self.amount, (0,))):
            raise refuted(step, f"the chips need {len(self.crossing)} exchanges over {self.link}")
        if not _is(exact.rational(step.right), self._amount(step, exact)):
            raise refuted(step, "a chip of the played mesh does something else")
        if self.amount != "part" and not isinstance(step.facts, Sent if self.amount == "sending" else Shared):
            raise refuted(step, "nothing says what the chips exchange")
        return Check("proved", "the product played on meshes of 3 and 4 chips")

    def _amount(self, step: Step, exact: Exact) -> Rat:
        match self.amount:
            case "part":
                cuts = (*self.part.operands, self.part.result)
                size = Run(self.meshed.script, "size").size(str(self.number), exact)
                return size / self.meshed.chips(cuts[self.number], exact)
            case "sending":
                return self.sent(self.crossing[self.number], exact)
            case "link":
                return sum((self.sent(moved, exact) for moved in self.crossing), ZERO)
        return OnEach(self.meshed, self.amount).total(step, exact)

    @property
    def part(self) -> Part:
        """What the chips do of the product."""
        (part,) = self.meshed.parts.values()
        return part

    @property
    def crossing(self) -> tuple[Moved, ...]:
        """The exchanges over the link."""
        return tuple(
            m
            for m in self.part.moved
            if self.meshed.axis(m.axes[0]).link.partition(".")[0] == self.link.partition(".")[0]
        )

    def sent(self, moved: Moved, exact: Exact) -> Rat:
        return self.meshed.busiest(moved, exact) * self.meshed.message(moved, exact)

    def needed(self, moved: Moved) -> tuple[Any, ...]:
        """An exchange as prose has to say it: of what kind and of what, over which axes, how wired and on which link."""
        axes = tuple(map(self.meshed.axis, moved.axes))
        ways = tuple((axis.name, axis.chips, axis.link, axis.kind, axis.origin, axis.wraparound) for axis in axes)
        return moved.collective, self.names[int(moved.array)], ways


class Shared(Facts):
    """Facts of what one chip does: over how many chips the work is split, and the exchanges that this needs."""

    chips: Formula
    exchanges: tuple[Any, ...]

    def agree(self, step: Step, ledger: Ledger) -> bool:
        evidence = step.evidence
        if not isinstance(evidence, OnChip) or evidence.amount == "sending":
            return False
        exact, part = ledger.exact(figures=False), evidence.part
        same = _is(exact.rational(self.chips), evidence.meshed.chips(part.work, exact))
        return same and [_said(e) for e in self.exchanges] == [evidence.needed(m) for m in part.moved]


class Sent(Facts):
    """Facts of an exchange: how many chips take part, its payload in bytes, and the part of it that the busiest direction of
    a link carries."""

    exchange: Any
    chips: Formula
    payload: Formula
    share: Formula

    def agree(self, step: Step, ledger: Ledger) -> bool:
        evidence = step.evidence
        if not isinstance(evidence, OnChip) or evidence.amount != "sending":
            return False
        if evidence.number >= len(evidence.crossing):
            return False
        exact, meshed, moved = ledger.exact(figures=False), evidence.meshed, evidence.crossing[evidence.number]
        return (
            _said(self.exchange) == evidence.needed(moved)
            and _is(exact.rational(self.chips), meshed.chips(moved.axes, exact))
            and _is(exact.rational(self.payload), meshed.message(moved, exact))
            and _is(exact.rational(self.share), meshed.busiest(moved, exact))
        )


def _said(exchange: Any) -> tuple[Any, ...]:
    ways = tuple((axis.name, axis.chips, axis.link, _ways(axis), axis.origin, axis.closing) for axis in exchange.over)
    return exchange.collective, exchange.operand, ways


def _ways(axis: Any) -> str:
    """How an axis is wired: two chips of a ring are a line."""
    return "ring" if axis.ways == 2 else "switch" if axis.wiring == "switch" else "line"


def _is(value: Rat, amount: Rat) -> bool:
    return (value - amount).is_zero()
