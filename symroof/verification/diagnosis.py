"""Diagnosis: the one mistake that would make a wrong claim right.

Every mistake of the table is tried, and the first whose undoing gives a claim that is *proved* is reported. A mistake
that almost fits is not: no diagnosis is better than a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from random import Random
from typing import Any

import symroof.verification.miscounts as miscounts
import symroof.verification.misprints as misprints
from symroof.errors import SymroofError
from symroof.formula import Compare, Formula, Infinity, Product, Verdict, names, number
from symroof.proof.pointwise import Point, truth
from symroof.proof.quotients import ORDER
from symroof.verification.budget import spend
from symroof.verification.context import Context, Question
from symroof.verification.counterexamples import looking_like
from symroof.verification.enclosures import enclosed
from symroof.verification.judgement import ACCEPTED, Finding, Remark
from symroof.verification.links import proved
from symroof.verification.literals import is_printed

TRIAL = 2  # units of work
TELLING = 2  # so many digits in print tell one mistake from another
# The work that the mistake behind one claim may take.
SEARCH = 20_000
# A look in numbers before a proof is asked for; what it refutes is left out and never called wrong, and that a link passes
# says nothing.
DIGITS = 12
LOOK = 3  # units of work
POINTS, TRIED = 6, 400  # points at random until those of a regime are found
FAR = 10**4  # a size is this many times another that is much smaller
NEAR = (Fraction(4, 5), Fraction(5, 4))  # numbers in print are within these of what they round
SMALL = Fraction(1, 20)  # what is negligible is at most this

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


def may_hold(question: Question) -> bool:
    """Whether a link agrees with some points of its domain and regime.

    >>> from symroof.formula import Name, Sum
    >>> from symroof.reading.name_scope import Scope
    >>> from symroof.verification.context import Context
    >>> a, b, empty = Name("A"), Name("B"), Context(Scope(), {}, {})
    >>> [may_hold(empty.question(Compare(Sum((a, b)), "=", right))) for right in (Sum((b, a)), a)]
    [True, False]
    """
    try:
        return all(_agrees(question, point) for point in _points(question))
    except (SymroofError, RecursionError):
        return True  # no value at one of the points: that is for the proof to say


def _points(question: Question) -> tuple[Point, ...]:
    """Points at random at which the facts hold, and which look like the regime, where it compares sizes."""
    relations = (*question.context.facts, *(looking_like(r, FAR) for r in question.context.growing))
    sides = (question.left, question.right, *relations)
    return _drawn(tuple(dict.fromkeys(name for side in sides for name in names(side))), relations)


@lru_cache(maxsize=256)
def _drawn(letters: tuple[str, ...], relations: tuple[Compare, ...]) -> tuple[Point, ...]:
    random, largest = Random(7), 24 if relations else 5
    points = (
        {n: Fraction(random.randint(137, 999), 100) * 10 ** random.randint(0, largest) for n in letters}
        for _ in range(TRIED)
    )
    return tuple(islice((point for point in points if all(truth(fact, point) for fact in relations)), POINTS))


def _agrees(question: Question, point: Point) -> bool:
    """Whether a link may be true at a point: its sides are near each other, in order, or conditions that agree on both
    sides of an edge."""
    spend(LOOK)
    left, relation, right = question.left, question.link.relation, question.right
    if relation in ORDER:
        return truth(question.claim, point) is not False
    if relation in ("<<", ">>"):
        small, large = (left, right) if relation == "<<" else (right, left)
        return truth(Compare(Product((number(1 / SMALL), small)), "<=", large), point) is True
    if relation in ("<=>", "=>"):
        return question.context.shares_out or all(
            None in (sides := (truth(left, at), right.holds if isinstance(right, Verdict) else truth(right, at)))
            or sides[0] is sides[1]
            or (relation == "=>" and not sides[0])
            for at in _beside(question, point)
        )
    if isinstance(right, Infinity):
        return True
    a, b = (enclosed(side, DIGITS, point).middle for side in (left, right))
    return a == b or (a * b > 0 and NEAR[0] <= a / b <= NEAR[1])


def _beside(question: Question, point: Point) -> Iterator[Point]:
    """The point, and with one size moved below and above the edge of a condition, inside of the domain and the regime."""
    context, q = question.context, question.right
    yield from () if isinstance(q, Compare) and q.relation == "=" else (point,)
    if not isinstance(q, Compare) or q.relation not in ORDER:
        return
    kept = (*context.facts, *(looking_like(r, FAR) for r in context.growing))
    for x in names(q.left):
        with suppress(SymroofError):
            level, bound = (enclosed(side, DIGITS, point).middle for side in (q.left, q.right))
            edges = [point[x] * bound / level] if level > 0 and bound > 0 else []
            for at in ({**point, x: edge * share} for edge in edges for share in NEAR):
                if at[x] >= (x in context.least_one) and all(truth(fact, at) is not False for fact in kept):
                    yield at
