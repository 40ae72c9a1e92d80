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
from dataclasses import replace
from fractions import Fraction

from symroof.errors import AlgebraError, CheckError
from symroof.formula import Both, Compare, Either, Formula, Verdict
from symroof.proof.exact import ORDER
from symroof.proof.settling import negated
from symroof.proof.step import Check
from symroof.verification.bounds import by_bound, by_implication, by_inferred_bound
from symroof.verification.context import Context, Question
from symroof.verification.counterexamples import at_point, is_typical, witness
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


def equivalent(question: Question, context: Context, *, proofs_only: bool) -> Finding | None:
    """P <=> Q or P => Q: over the domain, by its bound, in a regime that is missing, in one direction, or not at all."""
    link, claimed, unknown = question.link, _proposition(question), None
    reason: AlgebraError | CheckError | None = None
    try:
        unknown = unknown_of(question.left, question.right, link.right, context)
        if proofs_only and unknown is not None and context.growing:  # in a regime the bound decides
            return by_bound(link, unknown, context)
    except (AlgebraError, CheckError) as error:
        reason = error
    settled = context.settled(claimed)
    if settled.truth:
        return Finding(link, "holds", Check("proved", settled.by))
    try:
        finding = None if unknown is None else by_bound(link, unknown, context)
        if finding is None and unknown is not None and not proofs_only:
            finding = by_inferred_bound(link, unknown, context)
        if finding is None and link.relation == "=>" and not proofs_only:
            finding = _implied(question, unknown, context)
        if finding is not None or proofs_only:
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
    shown = replace(shown, parts=_parts(question, shown.values, context))
    value = None if unknown is None else unknown.right_value(context)
    return Finding(link, "wrong", IN_NUMBERS, value, counterexample=shown)


def _implied(question: Question, unknown: Unknown | None, context: Context) -> Finding | None:
    """P => Q in one direction: with P solved and Q explicit, or the other way round."""
    link = question.link
    finding = None if unknown is None else by_implication(link, unknown, context, explicit_first=False)
    if finding is not None:
        return finding
    other = unknown_of(question.right, question.left, link.left, context)
    return None if other is None else by_implication(link, other, context, explicit_first=True)


def _parts(
    question: Question, values: Mapping[str, Fraction], context: Context
) -> tuple[tuple[Formula, Fraction, str], ...]:
    """What the left condition compares, in numbers."""
    written, put = question.link.left, question.left
    if not isinstance(written, Compare) or not isinstance(put, Compare):
        return ()
    try:
        pairs = ((written.left, put.left), (written.right, put.right))
        return tuple((side, enclosed(at_point(known, values)).middle, unit_of(side, context)) for side, known in pairs)
    except AlgebraError:
        return ()


def _proposition(question: Question) -> Formula:
    """What has to be true everywhere for P <=> Q or P => Q."""
    left, right = question.left, question.right
    if question.link.relation == "=>":
        return Either((negated(left), right))
    if isinstance(right, Verdict):
        return left if right.holds else negated(left)
    return Compare(left, "<=>", right)
