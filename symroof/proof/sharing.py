"""What one chip of a mesh does and sends, compared with the played mesh."""

from __future__ import annotations

from typing import Any

from symroof.formula import Formula
from symroof.proof.ledger import Evidence, Facts, Ledger, refuted
from symroof.proof.placement import Exchange, Placement, play
from symroof.proof.polynomials import Rat
from symroof.proof.step import Check, Step


class OnChip(Evidence):
    """Evidence that the formula is an amount of the played mesh: work, memory, link, or the sending or the part of that
    number."""

    counts = True

    placement: Placement
    amount: str
    number: int = 0

    def examine(self, step: Step, ledger: Ledger) -> Check:
        found = play(self.placement)
        amount = found.amounts.get((self.amount, self.number))
        if amount is None:
            raise refuted(step, f"the chips need {len(found.exchanges)} exchanges")
        if not _is(ledger.exact(figures=False).rational(step.right), amount):
            raise refuted(step, f"a chip of the played mesh has {self.amount} {amount}")
        if self.amount != "part" and not isinstance(step.facts, Sent if self.amount == "sending" else Shared):
            raise refuted(step, "nothing says what the chips exchange")
        return Check(
            "proved", "mesh played chip by chip" if found.whole else "smaller meshes played, which determine it"
        )


class Shared(Facts):
    """Facts of what one chip does: over how many chips the work is split, and the exchanges that this needs."""

    chips: Formula
    exchanges: tuple[Any, ...]

    def agree(self, step: Step, ledger: Ledger) -> bool:
        if not isinstance(step.evidence, OnChip) or step.evidence.amount == "sending":
            return False
        placement = step.evidence.placement
        found = play(placement)
        same = _is(ledger.exact(figures=False).rational(self.chips), found.amounts["sharing", 0])
        return same and [_said(e) for e in self.exchanges] == [_needed(e, placement) for e in found.exchanges]


class Sent(Facts):
    """Facts of an exchange: its payload in bytes, and the part of it that one direction of a link carries."""

    exchange: Any
    payload: Formula
    share: Formula

    def agree(self, step: Step, ledger: Ledger) -> bool:
        if not isinstance(step.evidence, OnChip) or step.evidence.amount != "sending":
            return False
        exact, placement, number = ledger.exact(figures=False), step.evidence.placement, step.evidence.number
        found = play(placement)
        if number >= len(found.exchanges) or _said(self.exchange) != _needed(found.exchanges[number], placement):
            return False
        payload, share = exact.rational(self.payload), exact.rational(self.share)
        sent = found.amounts["sending", number]
        return _is(payload, found.amounts["payload", number]) and _is(payload * share, sent)


def _said(exchange: Any) -> tuple[Any, ...]:
    over = exchange.over
    return exchange.collective, over.name, over.chips, exchange.wiring, over.origin, over.closing, exchange.operand


def _needed(exchange: Exchange, placement: Placement) -> tuple[Any, ...]:
    """An exchange of the played mesh: of what kind, over which axis of how many chips, wired how and as what says, and of
    what."""
    collective, name, place = exchange
    axis = placement.axis(name)
    return collective, name, axis.chips, axis.kind, axis.origin, axis.wraparound, placement.names[place]


def _is(value: Rat, amount: Rat) -> bool:
    return (value - amount).is_zero()
