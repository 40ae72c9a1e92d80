"""A look in numbers before a proof is asked for: where the sides part at a point, there is nothing to prove.

What is refuted here is left out and never called wrong: the points are few, and a regime is taken for sizes that are
far apart. That a link passes says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from random import Random

from symroof.errors import SymroofError
from symroof.formula import Compare, Infinity, Product, Verdict, names, number
from symroof.proof.pointwise import Point, truth
from symroof.proof.quotients import ORDER
from symroof.verification.budget import spend
from symroof.verification.context import Question
from symroof.verification.counterexamples import looking_like
from symroof.verification.intervals import enclosed

DIGITS = 12
LOOK = 3  # units of work
POINTS, TRIED = 6, 400  # points at random until those of a regime are found
FAR = 10**4  # a size is this many times another that is much smaller
NEAR = (Fraction(4, 5), Fraction(5, 4))  # numbers in print are within these of what they round
SMALL = Fraction(1, 20)  # what is negligible is at most this


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
