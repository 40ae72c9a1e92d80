"""Conditions of a document that are joined: whether everything in them has a meaning, where they have no poles, and what their
bounds are said to come to."""

from __future__ import annotations

from dataclasses import replace

from symroof.formula import Gap, names
from symroof.model.quantities import QUANTITIES
from symroof.proof.exact import ORDER
from symroof.reading.claims import Chain, Claim, Logic
from symroof.verification.enclosures import is_numeric
from symroof.verification.readings import Passage, free_names
from symroof.verification.steps import depends, has_poles, poles


def without_values(claim: Claim) -> Claim:
    """A claim on conditions without the numbers that bounds are said to come to."""
    propositions = tuple(
        tuple(replace(c, sides=c.sides[:2], relations=c.relations[:1]) if comes_to(c) else c for c in proposition)
        for proposition in claim.propositions
    )
    return replace(claim, propositions=propositions)


def comes_to(chain: Chain | Logic) -> bool:
    """Whether a condition says what its bound comes to: B > C/W ~ 240."""
    relations = chain.relations
    tail = (
        len(relations) > 1 and relations[0] in ORDER and {*relations[1:]} <= {"=", "~"} and is_numeric(chain.sides[-1])
    )
    return tail and any(map(names, chain.sides[1:]))  # B > 9850/41 = 240 is judged as it stands


def valued(passage: Passage, *, beyond: bool = False) -> bool:
    """Whether every name of a claim with <=> or => has a meaning here, and every side stands there; ``beyond`` its poles."""
    claim, place = passage.claim, passage.place
    if any(isinstance(side, Gap) for chain in claim.chains for side in chain.sides):
        return False
    free, relations = free_names(claim, place), {link.relation for link in claim.links}
    conditions = [link for link in claim.links if link.relation in ORDER or len(claim.links) == 2]
    if place.setting is not None:
        return not free & {"peak", "bandwidth"} and relations <= {*ORDER, "=", "~", "->"}
    if free & set(QUANTITIES):
        return free <= set(QUANTITIES) and relations <= set(ORDER)
    alike = len({depends(link, place) for link in conditions}) == 1
    return relations <= {*ORDER, "="} and alike and (beyond or not any(has_poles(link, place) for link in conditions))


def beyond_poles(passage: Passage) -> Passage | None:
    """The passage where its conditions have no poles: t > 1, where something is divided by t - 1. None where that is not
    one bound for each letter."""
    bounds = [bound for link in passage.claim.links for bound in poles(link, passage.place)]
    if not bounds or None in bounds:
        return None
    assumed = tuple(dict.fromkeys(bound for bound in bounds if bound is not None))
    return replace(passage, context=passage.context.assuming(assumed))
