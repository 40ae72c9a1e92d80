"""Diagnosis: the one mistake that would make a wrong claim right.

Every mistake of the table is tried, and the first whose undoing gives a claim that is *proved* is reported. A mistake
that almost fits is not: no diagnosis is better than a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from symroof.errors import SymroofError
from symroof.formula import Compare, Name, names
from symroof.verification.conditions import confirmed_equivalence, put_in
from symroof.verification.context import Context
from symroof.verification.counterexamples import at_point, truth
from symroof.verification.digits import last_place
from symroof.verification.enclosures import enclosed
from symroof.verification.judgement import Finding, Remark
from symroof.verification.links import confirmed
from symroof.verification.literals import literals
from symroof.verification.miscounts import (
    Trials,
    elements_for_bytes,
    multiply_add,
    not_moved,
    other_figure,
    other_rate,
    other_width,
    rounded_early,
)
from symroof.verification.misprints import (
    binary_prefix,
    factor_two,
    other_extreme,
    other_letter,
    other_unit,
    power_of_ten,
    turned,
    upside_down,
)

PRIMES = (97, 101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173)
SIZES = (1, 10**4, 10**9)
# Rounding to two digits changes a number by less than this factor.
FAR_APART = Fraction(5, 4)

# In the order in which people would look for them; each name is that of a macro in the templates.
MISTAKES: dict[str, Callable[[Compare, Context], Trials]] = {
    "turned": turned,
    "other_extreme": other_extreme,
    "other_unit": other_unit,
    "elements_for_bytes": elements_for_bytes,
    "not_moved": not_moved,
    "other_figure": other_figure,
    "other_rate": other_rate,
    "multiply_add": multiply_add,
    "other_width": other_width,
    "factor_two": factor_two,
    "other_letter": other_letter,
    "rounded_early": rounded_early,
    "power_of_ten": power_of_ten,
    "binary_prefix": binary_prefix,
    "upside_down": upside_down,
}


def diagnosed(finding: Finding, context: Context) -> Finding:
    """The finding with its diagnosis, where it is wrong and a mistake explains it."""
    if finding.verdict != "wrong" or not isinstance(finding.link, Compare) or finding.by == "units":
        return finding
    for kind, trials in MISTAKES.items():
        for trial in trials(finding.link, context):
            if _right(trial.link, trial.context):
                return replace(finding, diagnosis=Remark(kind, trial.facts))
    return finding


def _right(link: Compare, context: Context) -> bool:
    try:
        if link.relation in ("<=>", "=>"):
            return _may_agree(link, context) and confirmed_equivalence(link, context) is not None
        return _may_be_equal(link, context) and confirmed(link, context, exactly=True) is not None
    except (SymroofError, RecursionError):
        return False


def _may_be_equal(link: Compare, context: Context) -> bool:
    """A quick look at one point: sides that are far apart there need no proof."""
    if link.relation != "=":
        return True
    left, right = (context.expanded(side) for side in (link.left, link.right))
    point = dict(zip(dict.fromkeys((*names(left), *names(right))), map(Fraction, PRIMES), strict=False))
    try:
        a, b = (enclosed(at_point(side, point), 12).middle for side in (left, right))
    except SymroofError:
        return True
    if a == b:
        return True
    printed = any(last_place(n)[0] > 1 for n in (*literals(link.left), *literals(link.right)))
    return printed and a * b > 0 and FAR_APART > abs(a / b) > 1 / FAR_APART


def _may_agree(link: Compare, context: Context) -> bool:
    """A quick look at both sides of a claimed bound: conditions that differ there, wherever the other sizes are, differ."""
    right = link.right
    if not (isinstance(right, Compare) and isinstance(right.left, Name)):
        return True
    p, q = put_in(link.left, context), put_in(right, context)
    bound, x = context.expanded(right.right), right.left.name
    letters = dict.fromkeys((*names(p), *names(q), *names(bound)))
    for size in SIZES:
        point = {name: Fraction(size + i) for i, name in enumerate(letters)}
        try:
            edge = enclosed(at_point(bound, point), 12).middle
        except SymroofError:
            return True
        around = [{**point, x: edge * share} for share in (1 / FAR_APART, FAR_APART) if edge * share >= 1]
        truths = [(truth(p, at), truth(q, at)) for at in around]
        if all(None in pair or pair[0] == pair[1] for pair in truths):
            return True
    return False
