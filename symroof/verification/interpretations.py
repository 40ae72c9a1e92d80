"""In which ways a formula of a document may be meant, tried in turn.

A formula is accepted in the first reading in which it is proved. It is wrong where every reading that the text makes
firm is refuted, each with its counterexample; otherwise it is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from symroof.formula import Compare, names
from symroof.reading.claims import Claim
from symroof.verification.context import Context
from symroof.verification.judge import judge
from symroof.verification.judgement import ACCEPTED, GOOD, Finding, Judgement, Omission, Remark
from symroof.verification.sentence_context import Surroundings


@dataclass(frozen=True)
class Passage:
    """A claim where it stands: in a context in which its names are read, behind formulas that set the names in ``equated``
    equal to something, with what is ``around`` it, and in the ``role`` that it has there. What is ``chained`` was a chain
    of several equals signs: a calculation."""

    claim: Claim
    context: Context
    equated: frozenset[str]
    around: Surroundings
    role: str = "claim"
    chained: bool = False

    @cached_property
    def place(self) -> Context:
        """The context with the sizes of the claim, and in its regime."""
        return self.context.at(self.claim.at).assuming(self.claim.regime)

    @cached_property
    def free(self) -> set[str]:
        """The names that are left once it is expanded."""
        return free_names(self.claim, self.context)

    @cached_property
    def named(self) -> set[str]:
        """The names that are written in it."""
        return {name for link in self.claim.links for name in names(link)}

    @property
    def spoken(self) -> set[str]:
        """The names of which it speaks, written or put in."""
        return self.free | self.named


@dataclass(frozen=True, slots=True)
class Reading:
    """A claim in a context. What is ``firm`` has to be refuted before the formula is wrong.

    ``offered`` are relations that the text says elsewhere, or in words: what is true under them is conditional on them.
    Then another regime that would do is not inferred; where the sentence ``supposed`` them in so many words, what is true under them is true as it stands. What is true
    in a reading that does not ``accept`` is not what the formula says, and not wrong either.
    """

    claim: Claim
    context: Context
    firm: bool = True
    offered: tuple[Compare, ...] = ()
    supposed: bool = False
    accepts: bool = True
    remarks: tuple[Remark, ...] = ()


def settled(readings: Iterable[Reading], otherwise: Omission) -> Judgement | Omission:
    """The judgement in the first reading that decides; ``otherwise`` where none does and none is firm.

    >>> from symroof.reading.claims import read_claim
    >>> from symroof.verification.definitions import Exercise, context_of
    >>> context = context_of(Exercise())
    >>> ways = [Reading(read_claim(text, context.scope), context) for text in ("A + B = A", "A + B > A")]
    >>> settled(ways, Omission("equation")).verdict, settled(ways[:1], Omission("equation")).verdict
    ('holds', 'wrong')
    """
    inferred: Judgement | None = None
    refuted: Reading | None = None
    left_open = False
    for reading in readings:
        found = judge(reading.claim, reading.context, explain=False)
        if not reading.accepts:
            left_open = left_open or found.verdict not in ("wrong", "conditional")
        elif found.verdict in ACCEPTED or (found.verdict in GOOD and reading.offered):
            return _told(found, reading)
        elif found.verdict in GOOD:
            inferred = inferred or _told(found, reading)
        elif reading.firm and found.verdict == "wrong":
            inferred = None if reading.offered else inferred
            refuted = reading if reading.supposed else refuted or reading  # its counterexample lies in what is supposed
        elif reading.firm:
            left_open = True
    if inferred is not None or left_open or refuted is None:
        return inferred or (Omission("not_decided") if left_open else otherwise)
    return _told(judge(refuted.claim, refuted.context), refuted)


def _told(judgement: Judgement, reading: Reading) -> Judgement:
    """The judgement with what its reading rests on."""
    findings = tuple(_on(finding, reading) for finding in judgement.findings)
    rests = reading.offered and not reading.supposed
    verdict = "conditional" if rests and judgement.verdict in GOOD else judgement.verdict
    return replace(judgement, verdict=verdict, findings=findings)


def _on(finding: Finding, reading: Reading) -> Finding:
    if reading.offered and finding.needs and finding.verdict in GOOD:  # the text says a part of what it needs
        return replace(finding, verdict="conditional")
    finding = replace(finding, remarks=(*finding.remarks, *reading.remarks))
    if not reading.offered or reading.supposed or finding.verdict not in GOOD:
        return finding
    needs = tuple((*reading.offered, *more) for more in finding.needs) or (reading.offered,)
    return replace(finding, verdict="conditional", needs=needs)


def free_names(claim: Claim, place: Context) -> set[str]:
    """The names that are left once a claim is expanded."""
    return {n for link in claim.links for side in (link.left, link.right) for n in names(place.put(side))}
