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

import itertools
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from symroof.errors import AlgebraError, CheckError
from symroof.formula import Both, Compare, Either, Formula, Verdict
from symroof.proof.sampling import ORDER
from symroof.proof.settling import negated, settle
from symroof.reading.claims import Claim, Proposition
from symroof.verification.bounds import by_bound, by_implication, by_inferred_bound
from symroof.verification.context import Context
from symroof.verification.counterexamples import at_point, is_typical, witness
from symroof.verification.enclosures import enclosed
from symroof.verification.judgement import Finding, Remark
from symroof.verification.links import judge_link, sides_of
from symroof.verification.unit_agreement import unit_of
from symroof.verification.unknowns import Unknown, unknown_of


def judge_condition(claim: Claim, context: Context) -> tuple[Finding, ...]:
    """The findings on a claim that joins propositions, or speaks of always and never."""
    findings, parts = [], []
    for proposition in claim.propositions:
        condition, sure = _parted(proposition)
        findings += [judge_link(link, context) for link in sure]
        parts.append(condition)
    if claim.always is not None:
        return (*findings, judge_equivalence(parts[0], "<=>", Verdict(claim.always), context))
    for (p, q), connective in zip(itertools.pairwise(parts), claim.connectives, strict=True):
        findings.append(judge_equivalence(p, connective, q, context))
    return tuple(findings)


def _parted(proposition: Proposition) -> tuple[Formula, tuple[Compare, ...]]:
    """The condition of a chain, and its links that are claims of their own: B > 9850/41 = 240 says two things."""
    links = [link for chain in proposition for link in chain.links]
    conditions = [link for link in links if link.relation in ORDER]
    if not conditions:
        return _condition(links), ()
    sure = tuple(link for link in links if link.relation not in ORDER)
    return _condition(conditions), sure


def _condition(links: list[Compare]) -> Formula:
    """All of the links at once; each has to be one that is true or false at a point."""
    for link in links:
        if link.relation not in (*ORDER, "="):
            raise AlgebraError(f"{link.relation} is no condition", expected="=, <, <=, > or >=")
    return links[0] if len(links) == 1 else Both(tuple(links))


def put_in(formula: Formula, context: Context) -> Formula:
    """A condition with its names put in."""
    match formula:
        case Compare(relation="<=>", left=left, right=right):
            return Compare(put_in(left, context), "<=>", put_in(right, context))
        case Compare():
            left, right = sides_of(formula, context)
            return Compare(left, formula.relation, right)
        case Both(parts=parts):
            return Both(tuple(put_in(part, context) for part in parts))
    return formula


def judge_equivalence(p: Formula, connective: str, q: Formula, context: Context) -> Finding:
    """The finding on P <=> Q or P => Q."""
    link = Compare(p, connective, q)
    claimed = _proposition(link, context)
    settled = settle(claimed, context.least_one, context.facts)
    if settled.truth:
        return Finding(link, "holds", settled.by)
    reason: AlgebraError | CheckError | None = None
    unknown = None
    try:
        unknown = unknown_of(put_in(p, context), put_in(q, context), q, context)
        found = (
            None if unknown is None else by_bound(link, unknown, context) or by_inferred_bound(link, unknown, context)
        )
        if found is None and connective == "=>":
            found = _implied(link, unknown, p, q, context)
        if found is not None:
            return found
    except (AlgebraError, CheckError) as error:
        reason = error
    first = (settled.point,) if settled.point else ()
    near_bound = () if unknown is None else tuple(unknown.points())
    shown = witness(claimed, context.least_one, context.facts, (*near_bound, *first), context.growing)
    if shown is not None and reason is not None and context.growing and not is_typical(shown.values, context.growing):
        shown = None  # the regime was not decided, and a point outside of it refutes nothing
    if shown is None:
        why = (Remark("not_decided", {"why": reason.problem}),) if reason else (Remark("no_proof"),)
        return Finding(link, "undecided", "", remarks=why)
    if connective == "=>":
        shown = replace(shown, left=True, right=False)
    shown = replace(shown, parts=_parts(p, put_in(p, context), shown.values, context))
    value = None if unknown is None else unknown.right_value(context)
    return Finding(link, "wrong", "exact numbers", value, counterexample=shown)


def _implied(link: Compare, unknown: Unknown | None, p: Formula, q: Formula, context: Context) -> Finding | None:
    """P => Q in one direction: with P solved and Q explicit, or the other way round."""
    found = None if unknown is None else by_implication(link, unknown, context, explicit_first=False)
    if found is not None:
        return found
    other = unknown_of(put_in(q, context), put_in(p, context), p, context)
    return None if other is None else by_implication(link, other, context, explicit_first=True)


def _parts(
    p: Formula, put: Formula, values: Mapping[str, Fraction], context: Context
) -> tuple[tuple[Formula, Fraction, str], ...]:
    """What the left condition compares, in numbers."""
    if not isinstance(p, Compare) or not isinstance(put, Compare):
        return ()
    try:
        pairs = ((p.left, put.left), (p.right, put.right))
        return tuple((side, enclosed(at_point(known, values)).middle, unit_of(side, context)) for side, known in pairs)
    except AlgebraError:
        return ()


def confirmed_equivalence(link: Compare, context: Context) -> Finding | None:
    """The finding on an equivalence that is proved as it stands, or None."""
    unknown = None
    try:
        unknown = unknown_of(put_in(link.left, context), put_in(link.right, context), link.right, context)
        found = None if unknown is None else by_bound(link, unknown, context)
    except (AlgebraError, CheckError):
        found = None
    if found is not None or (unknown is not None and context.growing):
        return found  # in a regime the bound decides
    settled = settle(_proposition(link, context), context.least_one, context.facts)
    return Finding(link, "holds", settled.by) if settled.truth else None


def _proposition(link: Compare, context: Context) -> Formula:
    """What has to be true everywhere for P <=> Q or P => Q."""
    left, right = put_in(link.left, context), put_in(link.right, context)
    if isinstance(right, Verdict) and link.relation == "<=>":
        return left if right.holds else negated(left)
    return Compare(left, "<=>", right) if link.relation == "<=>" else Either((negated(left), right))
