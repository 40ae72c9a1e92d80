"""Diagnosis: the one mistake that would make a wrong claim right.

Every mistake of the table is tried, and the first whose undoing gives a claim that is *proved* is reported. A mistake
that almost fits is not: no diagnosis is better than a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import symroof.verification.miscounts as miscounts
import symroof.verification.misprints as misprints
from symroof.errors import SymroofError
from symroof.formula import Compare, Name, names
from symroof.verification.budget import spend
from symroof.verification.context import Context, Question
from symroof.verification.counterexamples import truth
from symroof.verification.enclosures import enclosed
from symroof.verification.judgement import Finding, Remark
from symroof.verification.links import confirmed
from symroof.verification.literals import precise

PRIMES = (97, 101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173)
SIZES = (1, 10**4, 10**9)
DIGITS = 12  # of a quick look
# Rounding to two digits changes a number by less than this factor.
FAR_APART = Fraction(5, 4)
TRIAL = 20  # units of work

# What there is to say of a mistake, and the claim or the world that it leads to.
Trials = Iterator[tuple[Mapping[str, Any], Compare]] | Iterator[tuple[Mapping[str, Any], Context]]
# In the order in which people would look for them; each name is that of a macro in the templates.
MISTAKES: Mapping[str, Callable[[Compare, Context], Trials]] = {
    mistake.__name__: mistake
    for mistake in (
        misprints.turned,
        misprints.other_extreme,
        misprints.other_unit,
        miscounts.elements_for_bytes,
        miscounts.not_moved,
        miscounts.other_figure,
        miscounts.other_rate,
        miscounts.multiply_add,
        miscounts.other_width,
        misprints.factor_two,
        misprints.other_letter,
        miscounts.rounded_early,
        misprints.power_of_ten,
        misprints.binary_prefix,
        misprints.upside_down,
    )
}


def diagnosed(finding: Finding, context: Context) -> Finding:
    """The finding with its diagnosis, where it is wrong and a mistake explains it."""
    link, exactly = finding.link, replace(context, tolerance=Fraction(0), proofs_only=True)
    if finding.verdict != "wrong" or not isinstance(link, Compare) or finding.by == "units":
        return finding
    for kind, trials in MISTAKES.items():
        for facts, changed in trials(link, exactly):
            spend(TRIAL)
            if _right(changed, exactly) if isinstance(changed, Compare) else _right(link, changed):
                return replace(finding, diagnosis=Remark(kind, facts))
    return finding


def _right(link: Compare, context: Context) -> bool:
    """Whether a claim is proved as it stands, where a quick look does not tell that it is not."""
    try:
        question = context.question(link)
        may_be = _may_agree if link.relation in ("<=>", "=>") else _may_be_equal
        return may_be(question) and confirmed(question)
    except (SymroofError, RecursionError):
        return False


def _may_be_equal(question: Question) -> bool:
    """A quick look at one point: sides that are far apart there need no proof."""
    link, left, right = question.link, question.left, question.right
    if link.relation != "=":
        return True
    point = dict(zip(dict.fromkeys((*names(left), *names(right))), map(Fraction, PRIMES), strict=False))
    try:
        a, b = (enclosed(side, DIGITS, point) for side in (left, right))
    except SymroofError:
        return True
    if a.low <= b.high and b.low <= a.high:
        return True
    printed = precise(link.left) or precise(link.right)
    return bool(printed) and a.low * b.low > 0 and FAR_APART > abs(a.low / b.low) > 1 / FAR_APART


def _may_agree(question: Question) -> bool:
    """A quick look at both sides of a claimed bound: conditions that differ there, wherever the other sizes are, differ."""
    p, q, written = question.left, question.right, question.link.right
    if not (isinstance(q, Compare) and isinstance(written, Compare) and isinstance(written.left, Name)):
        return True
    bound, x = q.right, written.left.name
    letters = dict.fromkeys((*names(p), *names(q), *names(bound)))
    for size in SIZES:
        point = {name: Fraction(size + i) for i, name in enumerate(letters)}
        try:
            edge = enclosed(bound, DIGITS, point).middle
        except SymroofError:
            return True
        around = [{**point, x: edge * share} for share in (1 / FAR_APART, FAR_APART) if edge * share >= 1]
        truths = [(truth(p, at), truth(q, at)) for at in around]
        if all(None in pair or pair[0] == pair[1] for pair in truths):
            return True
    return False
