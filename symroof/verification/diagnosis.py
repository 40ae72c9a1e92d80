"""Diagnosis: the one mistake that would make a wrong claim right.

Every mistake of the table is tried, and the first whose undoing gives a claim that is *proved* is reported. A mistake
that almost fits is not: no diagnosis is better than a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import symroof.verification.miscounts as miscounts
import symroof.verification.misprints as misprints
from symroof.errors import SymroofError
from symroof.formula import Compare, Formula, Verdict
from symroof.proof.pointwise import truth
from symroof.proof.quotients import ORDER
from symroof.verification.budget import spend
from symroof.verification.context import Context, Question
from symroof.verification.intervals import is_printed
from symroof.verification.judgement import ACCEPTED, Finding, Remark
from symroof.verification.links import proved
from symroof.verification.screening import may_hold

TRIAL = 2  # units of work
TELLING = 2  # so many digits in print tell one mistake from another
# The work that the mistake behind one claim may take.
SEARCH = 20_000

# What there is to say of a mistake, and the claim or the world that it leads to.
Trials = Iterator[tuple[Mapping[str, Any], Compare]] | Iterator[tuple[Mapping[str, Any], Context]]
# In the order in which people would look for them; each name is that of a macro in the templates.
MISTAKES: Mapping[str, Callable[[Compare, Context], Trials]] = {
    mistake.__name__: mistake
    for mistake in (
        misprints.turned,
        misprints.at_the_edge,
        misprints.other_figure,
        misprints.figures_exchanged,
        misprints.other_extreme,
        miscounts.other_amount,
        misprints.other_unit,
        miscounts.turns,
        miscounts.traffic,
        miscounts.part_missing,
        miscounts.other_pass,
        miscounts.multiply_add,
        miscounts.of_width,
        misprints.factor_two,
        misprints.other_letter,
        misprints.factor_of_size,
        misprints.power_of_ten,
        misprints.binary_prefix,
        misprints.upside_down,
    )
}
# The worlds that these lead to are the same for every link of a context.
WORLDS = ("other_figure", "figures_exchanged")
# An order that is false becomes true with any number that is large enough, and so does what is always or never met: no other
# mistake is told from that.
OF_ORDERS = ("turned", "at_the_edge")


def diagnosed(finding: Finding, context: Context) -> Finding:
    """The finding with its diagnosis, where it is wrong and a mistake explains it."""
    link = _explicit_last(finding.link)
    if finding.verdict != "wrong" or not isinstance(link, Compare) or finding.by == "units":
        return finding
    at = finding.counterexample.values if finding.counterexample is not None and link.relation in ORDER else None
    inside = context.assuming(r for relations in finding.needs for r in relations)
    for kind, facts, changed in _undone(inside.strict.question(link)):
        spend(TRIAL)
        if (at is None or truth(changed.claim, at) is not False) and _is_right(changed):
            return replace(finding, diagnosis=Remark(kind, facts))
    return finding


def _explicit_last(link: Formula) -> Formula:
    """An equivalence with the condition that has a number in print on the right, where mistakes are looked for."""
    if isinstance(link, Compare) and link.relation == "<=>" and _bounds(link.left) and not _bounds(link.right):
        return Compare(link.right, link.relation, link.left)
    return link


def _bounds(condition: Formula) -> bool:
    """Whether a condition bounds something by a number in print."""
    return isinstance(condition, Compare) and any(map(is_printed, (condition.left, condition.right)))


def _undone(question: Question) -> Iterator[tuple[str, Mapping[str, Any], Question]]:
    """What the link would ask without each of the mistakes."""
    link, context = question.link, question.context
    ordered = link.relation in (*ORDER, "<<", ">>") or isinstance(link.left, Verdict) or isinstance(link.right, Verdict)
    for kind in OF_ORDERS if ordered else MISTAKES:
        if kind in WORLDS and kind not in context.worlds:
            context.worlds[kind] = tuple(MISTAKES[kind](link, context))
        for facts, changed in context.worlds.get(kind) or MISTAKES[kind](link, context):
            with suppress(SymroofError, RecursionError):
                if isinstance(changed, Compare):
                    yield kind, facts, context.question(changed)
                elif (other := changed.question(link)).claim != question.claim:
                    yield kind, facts, other


def _is_right(changed: Question) -> bool:
    """Whether a link is proved as it stands, where a quick look does not tell that it is not. What P implies has to be
    just what P says: a weaker condition is no better guess than another."""
    if changed.link.relation == "=>":
        changed = replace(changed, link=replace(changed.link, relation="<=>"))
    with suppress(SymroofError, RecursionError):
        finding = proved(changed) if may_hold(changed) else None
        digits = [remark.facts["digits"] for remark in finding.remarks if "digits" in remark.facts] if finding else []
        return finding is not None and finding.verdict in ACCEPTED and min(digits, default=TELLING) >= TELLING
    return False
