"""The judge: a claim against a context. :func:`judge` is the table of contents of a judgement."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from symroof.errors import SymroofError
from symroof.formula import Both, Compare, Either, Formula, Verdict, names
from symroof.model.given_costs import COUNTINGS
from symroof.model.quantities import parts_of
from symroof.proof.propositions import negated
from symroof.proof.quotients import ORDER
from symroof.proof.step import RefutedError
from symroof.reading.claim_sets import Exercise, StatedClaim, at_usual_sizes
from symroof.reading.claims import Chain, Claim, Logic, read_claim
from symroof.verification.budget import Exhausted, limited
from symroof.verification.claim_context import context_of
from symroof.verification.conditions import condition
from symroof.verification.context import Context
from symroof.verification.counterexamples import last_digits, may_hold
from symroof.verification.diagnosis import SEARCH, diagnosed
from symroof.verification.link_verdicts import UNITS, decide
from symroof.verification.number_chains import in_chain, unlike_the_first
from symroof.verification.unit_agreement import unit_of
from symroof.verification.verdicts import ACCEPTED, GOOD, Finding, Judgement, Remark, undecided, worst

# The counts themselves, of all statements or of one.
COUNTS = ("flops", "flops_exact", "flops_forward", "flops_backward", "flops_per_chip")


def judge_exercise(exercise: Exercise) -> tuple[Judgement, ...]:
    """A judgement for each claim of an exercise.

    >>> from symroof.reading.claim_sets import read_exercise
    >>> claims = ["intensity ~ B", "intensity < B", "intensity = B"]
    >>> [j.verdict for j in judge_exercise(read_exercise({"operation": "matmul", "claims": claims}))]
    ['conditional', 'holds', 'wrong']
    """
    context = context_of(exercise)
    judgements = _judged(exercise, context)
    if context.other is None or context.binding or not any(map(counts_otherwise, judgements)):
        return judgements
    return under_one_count(judgements, *(_judged(exercise, context.counting(other)) for other in (False, True)))


def under_one_count(
    found: Sequence[Judgement], own: Sequence[Judgement], other: Sequence[Judgement]
) -> tuple[Judgement, ...]:
    """The judgements of one problem under one way of counting additions, that under which more of them are right: all
    under the ``own``, or all under the ``other``; what is right under the own one alone is right on that condition then.
    What says what the FLOPs are is as it was ``found``: an author may write both counts, one after the other."""
    places, before = ({_place(each): each for each in found}, {_place(each): each for each in own})
    (count, *_) = (remark for each in found for remark in _other_counts(each))
    first = next(name for name in COUNTINGS if name != count.facts["count"])
    keeps, judged = _right(own) >= _right(other), []
    for each in own if keeps else other:
        stated = before.get(_place(each), each)
        if _of_counts(each.statement):
            each = places.get(_place(each), each)
        elif not keeps and stated.verdict in GOOD and each.verdict not in GOOD:
            each = _remarked(stated, Remark("another_count", {"count": first}), verdict="conditional")
        elif not keeps and stated.verdict not in GOOD:
            each = _remarked(each, count)
        judged.append(each)
    return tuple(judged)


def _place(judgement: Judgement) -> tuple[object, ...]:
    return judgement.line, judgement.column, judgement.claim, judgement.source


def _judged(exercise: Exercise, context: Context) -> tuple[Judgement, ...]:
    return tuple(judge_stated(stated, context, exercise) for stated in exercise.claims)


def _of_counts(claim: Claim | None) -> bool:
    """Whether a claim says what the FLOPs are."""
    links = () if claim is None else claim.links
    return any(parts_of(name)[0] in COUNTS for link in links for name in names(link))


def counts_otherwise(judgement: Judgement) -> bool:
    """Whether a claim is right under the other way of counting additions alone: then one way is taken for all that is made
    of the count."""
    return not _of_counts(judgement.statement) and bool(_other_counts(judgement))


def _other_counts(judgement: Judgement) -> list[Remark]:
    return [r for finding in judgement.findings for r in finding.remarks if r.kind == "other_count"]


def _remarked(judgement: Judgement, remark: Remark, **changed: Any) -> Judgement:
    findings = (replace(f, remarks=(*f.remarks, remark), **changed) for f in judgement.findings)
    return replace(judgement, findings=tuple(findings), **changed)


def _right(judgements: Sequence[Judgement]) -> int:
    """How many are as they are expected, where that is said, or right without a further regime."""
    return sum(
        judgement.verdict == judgement.expect if judgement.expect else judgement.verdict in ACCEPTED
        for judgement in judgements
    )


def judge_stated(stated: StatedClaim, context: Context, exercise: Exercise) -> Judgement:
    """The judgement of a claim of an exercise, as it stands in its file."""
    try:
        judgement = judge(at_usual_sizes(read_claim(stated.text, context.scope), exercise.problem), context)
    except SymroofError as error:
        judgement = Judgement(stated.text, "unreadable", column=error.column, error=str(error))
    return replace(judgement, problem=exercise.title, expect=stated.expect, source=stated.source)


def judge(claim: Claim, context: Context, *, explain: bool = True) -> Judgement:
    """The judgement of a claim that was read; to ``explain`` a wrong one, its mistake is looked for."""
    try:
        with limited():
            place = placed(claim, context)
            findings = decided(claim, place)
    except Exhausted:
        return Judgement(claim.text, "undecided", (undecided(claim.links[0], "too_long"),), statement=claim)
    except SymroofError as error:
        reason = Remark("not_decided", {"why": error.problem})
        return Judgement(claim.text, "undecided", statement=claim, reason=reason)
    except (RecursionError, ArithmeticError, ValueError):
        return Judgement(claim.text, "undecided", statement=claim, reason=Remark("too_deep"))
    assumed, verdict = tuple(r for r in place.relations if r not in claim.regime), worst(findings)
    judgement = Judgement(claim.text, verdict, findings, statement=claim, assumed=assumed, nearest=context.nearest)
    return explained(judgement, place) if explain else judgement


def placed(claim: Claim, context: Context) -> Context:
    """The context with the sizes of the claim put in and its regime assumed, where some sizes satisfy that."""
    return context.at(claim.at).assuming(claim.regime).require_possible()


def decided(claim: Claim, place: Context) -> tuple[Finding, ...]:
    """The findings under the stated way of counting additions; all of them under the other one, where that is right
    without a further regime, or more links are. To count as in a fused multiply-add, when asked for, binds all but what the FLOPs are:
    a page says both."""
    chains = {link: chain for chain in claim.chains if isinstance(chain, Chain) for link in chain.links}
    findings = tuple(_decided(link, chains.get(link), place) for link in links_of(claim))
    if place.other is None or worst(findings) in GOOD or (place.binding and not _of_counts(claim)):
        return findings
    left = [f.link for f in findings if f.verdict not in ACCEPTED and isinstance(f.link, Compare)]
    if not any(may_hold(place.other.question(link), last_digits(link, place)) for link in left):
        return findings
    others = decided(claim, place.other)
    count = Remark("other_count", {"count": place.other.count})
    counted = tuple(replace(finding, remarks=(*finding.remarks, count)) for finding in others)
    return counted if worst(others) in ACCEPTED or _unproved(others) < _unproved(findings) else findings


def _decided(link: Compare, chain: Chain | None, place: Context) -> Finding:
    """The finding on a link of a chain. A later side may come from the first one instead of that before it, and the unit
    behind the last one may be meant of it; but it has the unit of the first one, whatever stands between them."""
    finding = decide(place.question(link))
    if chain is not None and finding.verdict != "wrong" and (unlike := unlike_the_first(link, chain, place)):
        return Finding(link, "wrong", UNITS, remarks=(unlike,))
    if chain is None or finding.verdict not in ("wrong", "undecided") or link.relation not in ("=", "~"):
        return finding
    for other, taken, meant in in_chain(link, chain):
        reading = decide(place.question(other))
        if reading.verdict in ACCEPTED and not meant:
            return undecided(link, "unknown_units", finding.value)
        if reading.verdict in ACCEPTED:
            return replace(reading, link=link, remarks=(*filter(None, (taken,)), *reading.remarks))
    return finding


def _unproved(findings: tuple[Finding, ...]) -> int:
    """How many links are not right, or only in a regime that is missing."""
    return sum(finding.verdict not in ACCEPTED for finding in findings)


def explained(judgement: Judgement, place: Context) -> Judgement:
    """The judgement with the units of its findings, and with the mistake that explains a wrong one."""
    return replace(judgement, findings=tuple(_explained(finding, place) for finding in judgement.findings))


def _explained(finding: Finding, place: Context) -> Finding:
    with suppress(Exhausted, RefutedError), limited(SEARCH):  # no diagnosis is better than a guess
        finding = diagnosed(finding, place)
    if (at := finding.counterexample) is not None:
        finding = replace(finding, counterexample=replace(at, values={**place.sizes, **at.values}))
    return replace(finding, unit=unit_of(finding.link.left, place)) if isinstance(finding.link, Compare) else finding


def logical(part: Chain | Logic) -> Formula:
    """What conditions say that are joined by words."""
    if isinstance(part, Chain):
        return condition(part.links)
    inner = tuple(map(logical, part.parts))
    if part.word == "not":
        return negated(inner[0])
    return inner[0] if len(inner) == 1 else Both(inner) if part.word == "and" else Either(inner)


def links_of(claim: Claim) -> Iterator[Compare]:
    """The links that are judged: those of a chain; those between conditions, and the equations within them.

    ``B > 9850/41 = 240`` says two things: its condition is B > 9850/41, and that equation is a claim of its own.
    """
    if not claim.connectives and claim.always is None:
        for chain in claim.chains:
            if isinstance(chain, Logic):
                yield Compare(logical(chain), "<=>", Verdict(True))
            else:
                yield from chain.links
        return
    conditions: list[Formula] = []
    for proposition in claim.propositions:
        if any(isinstance(chain, Logic) for chain in proposition):
            conditions.append(logical(Logic("and", proposition)))
            continue
        links = [link for chain in proposition for link in chain.links]
        orders = [link for link in links if link.relation in ORDER]
        yield from (link for link in links if orders and link not in orders)
        conditions.append(condition(orders or links))
    if claim.always is not None:
        yield Compare(conditions[0], "<=>", Verdict(claim.always))
    for (p, q), connective in zip(itertools.pairwise(conditions), claim.connectives, strict=False):
        yield Compare(p, connective, q)
