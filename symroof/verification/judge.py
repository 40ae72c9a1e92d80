"""The judge: a claim against a context."""

from __future__ import annotations

from dataclasses import replace

from symroof.errors import ContradictionError, SymroofError
from symroof.formula import Compare, Verdict
from symroof.proof.settling import settle
from symroof.reading.claims import Claim, read_claim
from symroof.reading.exercises import Exercise, Stated
from symroof.verification.conditions import judge_condition
from symroof.verification.context import Context, context_of
from symroof.verification.diagnosis import diagnosed
from symroof.verification.growth import regime_of
from symroof.verification.judgement import Finding, Judgement, Remark, worst
from symroof.verification.links import judge_link
from symroof.verification.patience import Impatience, limited
from symroof.verification.unit_agreement import unit_of


def judge_exercise(exercise: Exercise) -> tuple[Judgement, ...]:
    """A judgement for each claim of an exercise.

    >>> from symroof.reading.exercises import read_exercise
    >>> claims = ["intensity ~ B", "intensity < B", "intensity = B"]
    >>> [j.verdict for j in judge_exercise(read_exercise({"operation": "matmul", "claims": claims}))]
    ['conditional', 'holds', 'wrong']
    """
    context = context_of(exercise)
    return tuple(judge_stated(stated, context, exercise.title) for stated in exercise.claims)


def judge_stated(stated: Stated, context: Context, title: str | None = None) -> Judgement:
    """The judgement of a claim as it stands in its file."""
    try:
        claim = read_claim(stated.text, context.scope)
    except SymroofError as error:
        found = Judgement(stated.text, "unreadable", column=error.column, error=str(error))
    else:
        found = judge(claim, context)
    return replace(found, problem=title, expect=stated.expect, source=stated.source)


def judge(claim: Claim, context: Context, *, explain: bool = True) -> Judgement:
    """Every link of the claim, under what it assumes itself; to ``explain`` a wrong one, its mistake is looked for."""
    try:
        with limited():
            narrowed = context.at(claim.at).assuming(claim.regime)
            _require_possible(narrowed)
            findings = _counted_either_way(claim, narrowed)
            if explain:
                findings = tuple(diagnosed(finding, narrowed) for finding in findings)
            findings = tuple(
                replace(f, unit=unit_of(f.link.left, narrowed)) if isinstance(f.link, Compare) else f for f in findings
            )
    except Impatience:
        narrowed = context
        findings = (Finding(claim.propositions[0][0].links[0], "undecided", "", remarks=(Remark("too_long"),)),)
    except (SymroofError, RecursionError, ArithmeticError, ValueError) as error:
        why = (
            error.problem
            if isinstance(error, SymroofError)
            else "the formula is nested too deeply, or a number in it is too long"
        )
        return Judgement(claim.text, "undecided", error=why, statement=claim)
    assumed = tuple(r for r in narrowed.relations if r not in claim.regime)
    return Judgement(claim.text, worst(findings), findings, statement=claim, assumed=assumed)


def _require_possible(context: Context) -> None:
    """From assumptions that nothing satisfies everything would follow."""
    if context.facts and settle(Verdict(False), context.least_one, context.facts).truth:
        raise ContradictionError("the assumptions contradict one another: no sizes satisfy them")
    if context.growing:
        regime_of(context)


def _counted_either_way(claim: Claim, context: Context) -> tuple[Finding, ...]:
    """The findings under the stated way of counting additions; under the other one, where the whole claim is true there."""
    findings = _findings(claim, context)
    if context.other is not None and worst(findings) in ("wrong", "undecided"):
        second = _findings(claim, context.other)
        if worst(second) in ("holds", "rounded"):
            said = Remark("other_count", {"count": context.other.count})
            return tuple(replace(f, remarks=(*f.remarks, said)) for f in second)
    return findings


def _findings(claim: Claim, context: Context) -> tuple[Finding, ...]:
    if claim.connectives or claim.always is not None:
        return judge_condition(claim, context)
    return tuple(judge_link(link, context) for chain in claim.propositions[0] for link in chain.links)
