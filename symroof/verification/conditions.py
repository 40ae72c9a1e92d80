"""Conditions: P <=> Q, P => Q, and what holds always or never.

P <=> Q is accepted where, in this order,

    (i)    both are the same set over the whole domain
    (ii)   in the regime, with the unknown x of Q held constant, the bound of P put into the left side of Q tends to
           the right side of Q, in the same direction
    (iii)  both are the same whole numbers, where x is a size and the bounds are numbers
    (iv)   the printed bound is the true one, rounded

and it is conditional where (ii) to (iv) hold in a regime that nobody stated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from symroof.errors import AlgebraError, CheckError
from symroof.formula import Both, Compare, Either, Formula, Verdict
from symroof.proof.exact import ORDER
from symroof.proof.settling import negated
from symroof.proof.step import Check
from symroof.verification.bounds import by_bound, by_implication, by_inferred_bound
from symroof.verification.context import Question
from symroof.verification.counterexamples import is_typical, witness
from symroof.verification.enclosures import enclosed
from symroof.verification.judgement import IN_NUMBERS, Finding, undecided
from symroof.verification.unit_agreement import unit_of
from symroof.verification.unknowns import Unknown, unknown_of


def condition(links: Iterable[Compare]) -> Formula:
    """All of the links at once; each has to be one that is true or false at a point."""
    links = tuple(links)
    for link in links:
        if link.relation not in (*ORDER, "="):
            raise AlgebraError(f"{link.relation} is no condition", expected="=, <, <=, > or >=")
    return links[0] if len(links) == 1 else Both(links)


def equivalent(question: Question) -> Finding | None:
    """P <=> Q or P => Q: over the domain, by its bound, in a regime that is missing, in one direction, or not at all."""
    link, context, claimed, unknown = question.link, question.context, _proposition(question), None
    reason: AlgebraError | CheckError | None = None
    try:
        unknown = unknown_of(question)
        if context.proofs_only and unknown is not None and context.growing:  # in a regime the bound decides
            return by_bound(unknown)
    except (AlgebraError, CheckError) as error:
        reason = error
    settled = context.settled(claimed)
    if settled.truth:
        return Finding(link, "holds", Check("proved", settled.by))
    try:
        finding = None if unknown is None else by_bound(unknown)
        if finding is None and not context.proofs_only:
            finding = None if unknown is None else by_inferred_bound(unknown)
            finding = finding or _implied(question, unknown)
        if finding is not None or context.proofs_only:
            return finding
    except (AlgebraError, CheckError) as error:
        reason = reason or error
    points = (*(() if unknown is None else unknown.points()), *((settled.point,) if settled.point else ()))
    shown = witness(claimed, context, points, context.growing)
    if shown is None or (reason and context.growing and not is_typical(shown.values, context.growing)):
        # where the regime was not decided a point outside of it refutes nothing
        return undecided(link, "not_decided", why=reason.problem) if reason else undecided(link, "no_proof")
    if link.relation == "=>":
        shown = replace(shown, left=True, right=False)
    shown = replace(shown, parts=_parts(question, shown.values))
    value = None if unknown is None else unknown.right_value()
    return Finding(link, "wrong", IN_NUMBERS, value, counterexample=shown)


def _implied(question: Question, unknown: Unknown | None) -> Finding | None:
    """P => Q in one direction: with P solved and Q explicit, or the other way round."""
    if question.link.relation != "=>":
        return None
    finding = None if unknown is None else by_implication(unknown, explicit_first=False)
    other = None if finding is not None else unknown_of(question, turned=True)
    return finding if other is None else by_implication(other, explicit_first=True)


def _parts(question: Question, values: Mapping[str, Fraction]) -> tuple[tuple[Formula, Fraction, str], ...]:
    """What the left condition compares, in numbers."""
    written, put = question.link.left, question.left
    if isinstance(written, Compare) and isinstance(put, Compare):
        with suppress(AlgebraError):
            pairs = ((written.left, put.left), (written.right, put.right))
            return tuple(
                (one, enclosed(known, point=values).middle, unit_of(one, question.context)) for one, known in pairs
            )
    return ()


def _proposition(question: Question) -> Formula:
    """What has to be true everywhere for P <=> Q or P => Q."""
    left, right = question.left, question.right
    if question.link.relation == "=>":
        return Either((negated(left), right))
    if isinstance(right, Verdict):
        return left if right.holds else negated(left)
    return Compare(left, "<=>", right)
