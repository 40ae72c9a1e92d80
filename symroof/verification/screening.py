"""A look in numbers before a proof is asked for: where the sides part at a point, there is nothing to prove.

What is refuted here is left out and never called wrong: the points are few, and a regime is taken for sizes that are
far apart. That a link passes says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from random import Random

from symroof.errors import SymroofError
from symroof.formula import Compare, Formula, Infinity, Name, Product, Verdict, names, number
from symroof.verification.budget import spend
from symroof.verification.context import Question
from symroof.verification.counterexamples import Point, truth
from symroof.verification.enclosures import enclosed
from symroof.verification.literals import precise

DIGITS = 12
LOOK = 3  # units of work
POINTS = 4
TRIED = 400  # points at random until those of a regime are found
FAR = number(10**4)  # a size is this many times another that is much smaller
LARGE = number(10**6)
# A number in print is within these of the one that it rounds to two digits, or truncates.
NEAR = (Fraction(9, 10), Fraction(10, 9))
AROUND = (Fraction(4, 5), Fraction(5, 4))
CLOSE = Fraction(1, 20)
SLACK = Fraction(1, 10**9)


def may_hold(question: Question) -> bool:
    """Whether a link agrees with some points of its domain and regime.

    >>> from symroof.formula import Sum
    >>> from symroof.reading.scope import Scope
    >>> from symroof.verification.context import Context
    >>> a, b, empty = Name("A"), Name("B"), Context(Scope(), {}, {})
    >>> [may_hold(empty.question(Compare(Sum((a, b)), "=", right))) for right in (Sum((b, a)), a)]
    [True, False]
    """
    try:
        return LOOKS[question.link.relation](question)
    except (SymroofError, RecursionError):
        return True  # no value at one of the points: that is for the proof to say


def _points(question: Question, *, typical: bool) -> tuple[Point, ...]:
    """Points at which the facts hold; those that are ``typical`` look like the regime as well."""
    context = question.context
    letters = tuple(dict.fromkeys((*names(question.left), *names(question.right))))
    growing = context.growing if typical else ()
    if any(relation.relation == "~" for relation in growing):
        return ()
    return _found(letters, context.least_one, (*context.facts, *(_apart(relation) for relation in growing)))


def _apart(relation: Compare) -> Compare:
    """What a relation of growth asks of one point."""
    if relation.relation == "<<":
        return Compare(Product((FAR, relation.left)), "<=", relation.right)
    if isinstance(relation.right, Infinity):
        return Compare(relation.left, ">=", LARGE)
    return Compare(relation.left, "<=", Product((FAR, relation.right)))


@lru_cache(maxsize=256)
def _found(letters: tuple[str, ...], least_one: frozenset[str], facts: tuple[Compare, ...]) -> tuple[Point, ...]:
    letters = tuple(dict.fromkeys((*letters, *(name for fact in facts for name in names(fact)))))
    points = islice(_drawn(letters, least_one, 24 if facts else 5), TRIED)
    return tuple(islice((point for point in points if all(truth(fact, point) for fact in facts)), POINTS))


def _drawn(letters: tuple[str, ...], least_one: frozenset[str], largest: int) -> Iterator[Point]:
    random = Random(7)
    while True:
        yield {
            name: Fraction(random.randint(100, 999), 100 if name in least_one else 137)
            * 10 ** random.randint(0, largest)
            for name in letters
        }


def _equal(question: Question) -> bool:
    """At every point the sides are equal; or in the same ratio, near 1, where a number is in print."""
    return _in_ratio(question, _points(question, typical=False), Fraction(0))


def _alike(question: Question) -> bool:
    """In the regime the sides are nearly equal; without one they are equal."""
    if isinstance(question.link.right, Infinity):
        return True
    growing = bool(question.context.growing)
    return _in_ratio(question, _points(question, typical=growing), CLOSE if growing else Fraction(0))


def _in_ratio(question: Question, points: tuple[Point, ...], close: Fraction) -> bool:
    ratios, printed = [], precise(question.link.left) or precise(question.link.right)
    for point in points:
        spend(LOOK)
        a, b = (enclosed(side, DIGITS, point) for side in (question.left, question.right))
        apart = a.low > b.high or b.low > a.high
        if not apart:
            continue
        if a.low * b.low <= 0:
            return False
        ratio = a.middle / b.middle
        if not printed and not 1 - close <= ratio <= 1 + close:
            return False
        ratios.append(ratio)
        if not NEAR[0] - close < ratio < NEAR[1] + close or abs(ratio - ratios[0]) > close + SLACK:
            return False
    return True


def _negligible(question: Question) -> bool:
    small, large = question.left, question.right
    if question.link.relation == ">>":
        small, large = large, small
    gap = Compare(Product((number(1 / CLOSE), small)), "<=", large)
    return bool(question.context.growing) and _true(gap, _points(question, typical=True))


def _ordered(question: Question) -> bool:
    return _true(question.claim, _points(question, typical=False))


def _true(proposition: Formula, points: tuple[Point, ...]) -> bool:
    spend(LOOK * len(points))
    return not any(truth(proposition, point) is False for point in points)


def _conditions(question: Question) -> bool:
    """The conditions agree; where the right one is a bound of a name, at both sides of it."""
    p, q, written, both = question.left, question.right, question.link.right, question.link.relation == "<=>"
    points: Iterator[Point] | tuple[Point, ...] = _points(question, typical=True)
    if isinstance(q, Compare) and isinstance(written, Compare) and isinstance(q.left, Name) and q.relation != "=":
        points = _around(q.left.name, q.right, points, question)
    for point in points:
        spend(LOOK)
        left, right = truth(p, point), q.holds if isinstance(q, Verdict) else truth(q, point)
        if left is not right and None not in (left, right) and (both or left):
            return False
    return True


def _around(x: str, bound: Formula, points: tuple[Point, ...], question: Question) -> Iterator[Point]:
    """The points with the name on both sides of its bound, where they stay in the domain and in the regime."""
    context = question.context
    kept = (*context.facts, *map(_apart, context.growing))
    for point in points:
        edge = enclosed(bound, DIGITS, point).middle
        for share in AROUND:
            moved = {**point, x: edge * share}
            inside = edge * share >= 1 if x in context.least_one else edge > 0
            if inside and all(truth(fact, moved) is not False for fact in kept):
                yield moved


LOOKS: Mapping[str, Callable[[Question], bool]] = {
    "=": _equal,
    **dict.fromkeys(("~", "->"), _alike),
    **dict.fromkeys(("<<", ">>"), _negligible),
    **dict.fromkeys(("<", "<=", ">", ">="), _ordered),
    **dict.fromkeys(("<=>", "=>"), _conditions),
}
