"""Steps from one formula to the next: a condition that is said again, or that follows from the one before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from symroof.formula import Compare, names
from symroof.model.quantities import QUANTITIES
from symroof.proof.exact import ORDER
from symroof.reading.claims import Chain, Claim
from symroof.reading.exercises import Exercise
from symroof.verification.context import Context
from symroof.verification.definitions import context_of
from symroof.verification.judgement import Remark
from symroof.verification.links import confirmed
from symroof.verification.readings import Reading, free_names
from symroof.verification.surroundings import Surroundings

TENDING = ("~", "->")


def steps(claim: Claim, context: Context, around: Surroundings) -> Iterator[Reading]:
    """A condition or an equation that goes on from the one before: the same, or what follows from it.

    It is firm where the words between the two say nothing more and both speak of the same letters.
    """
    before, links = around.going_on, claim.links
    if before is None or len(links) != 1 or links[0].relation not in (*ORDER, "="):
        return
    letters, others = (
        set(names(context.put(link.left))) | set(names(context.put(link.right))) for link in (before, links[0])
    )
    if not (set(names(before)) & set(names(links[0])) or letters & others):
        return
    both = tuple((Chain((one.left, one.right), (one.relation,)),) for one in (before, links[0]))
    same = replace(claim, propositions=both, connectives=("<=>",))
    if letters == others and len(letters) == 1 and not letters & set(QUANTITIES):
        context = replace(context_of(Exercise()), least_one=frozenset(letters))
        strict = replace(context, proofs_only=True)
        if around.cue is None and confirmed(strict.question(Compare(before, "<=>", links[0]))):
            yield Reading(same, context)
    if around.cue is None:
        return
    if "=" in (before.relation, links[0].relation) and not around.written.display:
        return
    known = not letters & set(QUANTITIES) or letters | others <= set(QUANTITIES)
    growing = {name for r in context.relations for name in names(r)}
    firm = around.cue.alone and known and (letters == others or (others < letters and letters - others <= growing))
    for sign in dict.fromkeys((around.cue.sign, "<=>", "=>")):
        plain = Reading(replace(same, connectives=(sign,)), context, firm)
        yield plain
        yield from in_regimes(plain, around)


def condition_of(claim: Claim) -> Compare | None:
    """What the next formula may go on from: the last condition, or an equation."""
    links = claim.links
    return next((link for link in reversed(links) if link.relation in ORDER), None) or next(
        (link for link in reversed(links) if link.relation == "=" and names(link)), None
    )


def in_regimes(plain: Reading, around: Surroundings) -> Iterator[Reading]:
    """A claim that tends to something, or compares conditions, in each regime that is stated beside it."""
    claim = plain.claim
    if not (claim.connectives or any(link.relation in TENDING for link in claim.links)):
        return
    spoken = free_names(claim, plain.context)
    for relations, words in around.regimes:
        if {name for r in relations for name in names(r)} <= spoken:
            told = (*plain.remarks, Remark("stated", {"words": words}))
            yield replace(plain, context=plain.context.assuming(relations), offered=relations, remarks=told)
