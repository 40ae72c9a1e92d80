"""Links between numbers: exactly so, by the rounding rule, or within the share that ~ allows; in the units written."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from symroof.proof.exact import ORDER
from symroof.verification.context import Question
from symroof.verification.enclosures import Enclosure, compared, enclosed, relation_holds
from symroof.verification.judgement import ACCEPTED, IN_NUMBERS, Finding, Remark, undecided
from symroof.verification.literals import bare, is_printed, may_stand, printed_digits
from symroof.verification.unit_agreement import carried, in_unknown_units

NOTHING = Enclosure(Fraction(0), Fraction(0))


def compare_numbers(question: Question) -> Finding:
    """Two numbers, in the units that are written; plain numbers on the left may be in the unit on the right.

    An order that is true in one of the two readings alone holds where it is the second: who writes ``17/2 < 9 ms``
    does not mean seconds.
    """
    link, finding = question.link, _compared(question)
    if finding.verdict != "wrong" and link.relation not in ORDER:
        return finding
    for left, unit in carried(link):
        taken = _compared(replace(question, left=left))
        if taken.verdict in ACCEPTED:
            return replace(taken, value=question.left, remarks=(Remark("taken_as", {"unit": unit}), *taken.remarks))
        if finding.verdict != "wrong":
            return undecided(link, "unknown_units", question.left)
    if finding.verdict != "wrong":
        return finding
    for left in in_unknown_units(link, question.context):
        if _compared(replace(question, left=left)).verdict in ACCEPTED:
            return undecided(link, "unknown_units", question.left)
    return finding


def _compared(question: Question) -> Finding:
    link, left, right, context = question.link, question.left, question.right, question.context
    sign = compared(left, right)
    if link.relation in ("<<", ">>"):
        return undecided(link, "numbers_do_not_grow")
    if link.relation in ORDER:
        if sign is None:
            return undecided(link, "no_proof", left)
        true = relation_holds(sign, link.relation)
        return Finding(link, "holds" if true else "wrong", IN_NUMBERS, None if true else left)
    if sign == 0:
        return Finding(link, "holds", IN_NUMBERS, left)
    if link.relation != "=" and any(enclosed(side) == NOTHING for side in (left, right)):
        return undecided(link, "beside_what")
    printed_right = is_printed(link.right) or not is_printed(link.left)
    true_value, claimed, printed = (left, right, link.right) if printed_right else (right, left, link.left)
    value = enclosed(true_value)
    off = None if value.low <= 0 <= value.high else enclosed(claimed).middle / value.middle - 1
    deviation = () if off is None else (Remark("deviation", {"share": off}),)
    if link.relation != "=" and off is not None and abs(off) <= context.tolerance:
        return Finding(link, "holds", IN_NUMBERS, true_value, deviation)
    rounded, other = printed_digits(value, printed, context), link.left if printed_right else link.right
    if rounded is not None and may_stand(rounded, other, context, bare(printed)):
        return Finding(link, "rounded", IN_NUMBERS, true_value, (rounded,))
    if sign is None:
        return undecided(link, "no_proof", true_value)
    return Finding(link, "wrong", IN_NUMBERS, true_value, deviation if off is not None and abs(off) < 10 else ())
