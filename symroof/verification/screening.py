"""A look in numbers before a proof is asked for: where the sides part at a point, there is nothing to prove.

What is refuted here is left out and never called wrong: the points are few, and a regime is taken for sizes that are
far apart. That a link passes says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from random import Random

from symroof.errors import SymroofError
from symroof.formula import Compare, Formula, Infinity, Product, Verdict, names, number
from symroof.proof.pointwise import Point, compared, truth
from symroof.verification.budget import spend
from symroof.verification.context import Question
from symroof.verification.enclosures import enclosed, is_numeric
from symroof.verification.literals import last_place, literals, precise

DIGITS = 12
LOOK = 3  # units of work
POINTS = 12
TRIED = 400  # points at random until those of a regime are found
FAR = number(10**4)  # a size is this many times another that is much smaller
LARGE = number(10**12)
# A number in print is within these of the one that it rounds to two digits, or truncates.
NEAR = (Fraction(9, 10), Fraction(10, 9))
CLOSE = Fraction(1, 20)
SLACK = Fraction(1, 10**9)


def may_hold(question: Question) -> bool:
    """Whether a link agrees with some points of its domain and regime.

    >>> from symroof.formula import Name, Sum
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


def typical(question: Question) -> tuple[Point, ...]:
    """Points at which the facts hold, and which look like the regime."""
    return _points(question, growth=True)


def _points(question: Question, *, growth: bool) -> tuple[Point, ...]:
    """Points at which the facts hold; with ``growth`` they look like the regime as well."""
    context = question.context
    letters = tuple(dict.fromkeys((*names(question.left), *names(question.right))))
    growing = context.growing if growth else ()
    if any(relation.relation == "~" for relation in growing):
        return ()
    facts = (*context.facts, *(_apart(relation) for relation in growing))
    scaled = frozenset(name for relation in growing for name in names(relation)) if growth else frozenset(letters)
    return _found(letters, context.least_one, facts, scaled or frozenset(letters))


def _apart(relation: Compare) -> Compare:
    """What a relation of growth asks of one point."""
    if relation.relation == "<<":
        return Compare(Product((FAR, relation.left)), "<=", relation.right)
    if isinstance(relation.right, Infinity):
        return Compare(relation.left, ">=", LARGE)
    return Compare(relation.left, "<=", Product((FAR, relation.right)))


@lru_cache(maxsize=256)
def _found(
    letters: tuple[str, ...], least_one: frozenset[str], facts: tuple[Compare, ...], scaled: frozenset[str]
) -> tuple[Point, ...]:
    letters = tuple(dict.fromkeys((*letters, *(name for fact in facts for name in names(fact)))))
    points = islice(_drawn(letters, least_one, scaled, 24 if facts else 5), TRIED)
    return tuple(islice((point for point in points if all(truth(fact, point) for fact in facts)), POINTS))


def _drawn(
    letters: tuple[str, ...], least_one: frozenset[str], scaled: frozenset[str], largest: int
) -> Iterator[Point]:
    """Points at random; a size that no relation of growth mentions is a constant, and stays below 100."""
    random = Random(7)
    yield dict.fromkeys(letters, Fraction(1))
    while True:
        yield {
            name: Fraction(random.randint(100, 999), 100 if name in least_one else 137)
            * 10 ** random.randint(0, largest if name in scaled else 1)
            for name in letters
        }


def _equal(question: Question) -> bool:
    """At every point the sides are equal; or in the same ratio, near 1, where a number is in print."""
    return _in_ratio(question, _points(question, growth=False), Fraction(0))


def _alike(question: Question) -> bool:
    """In the regime the sides are nearly equal; without one they are equal."""
    if isinstance(question.link.right, Infinity):
        return True
    growing = bool(question.context.growing)
    return _in_ratio(question, _points(question, growth=growing), CLOSE if growing else Fraction(0))


def _in_ratio(question: Question, points: tuple[Point, ...], close: Fraction) -> bool:
    ratios: list[Fraction] = []
    for point in points:
        spend(LOOK)
        try:
            a, b = (enclosed(side, DIGITS, point) for side in (question.left, question.right))
        except SymroofError:
            continue
        if a.low <= b.high and b.low <= a.high:
            continue
        ratio = a.middle / b.middle if a.low * b.low > 0 else Fraction(0)
        if 1 - close <= ratio <= 1 + close:
            continue
        ratios.append(ratio)
        if not NEAR[0] - close < ratio < NEAR[1] + close or abs(ratio - ratios[0]) > close + SLACK:
            return False
    return not ratios or bool(precise(question.link.left) or precise(question.link.right))


def _negligible(question: Question) -> bool:
    small, large = question.left, question.right
    if question.link.relation == ">>":
        small, large = large, small
    gap = Compare(Product((number(1 / CLOSE), small)), "<=", large)
    return bool(question.context.growing) and _true(gap, typical(question))


def _ordered(question: Question) -> bool:
    return _true(question.claim, _points(question, growth=False))


def _true(proposition: Formula, points: tuple[Point, ...]) -> bool:
    spend(LOOK * len(points))
    return not any(truth(proposition, point) is False for point in points)


def _conditions(question: Question) -> bool:
    """The conditions agree, and on both sides of the edge of the right one as well."""
    p, q = question.left, question.right
    shares = _shares(question) if isinstance(q, Compare) else ()
    for point in typical(question):
        around = _around(q, point, shares, question) if isinstance(q, Compare) else ()
        if isinstance(q, Compare) and q.relation == "=":
            if around and question.link.relation == "<=>" and not _crossing(around, p):
                return False
        elif not all(_agree(question, at) for at in (*around, point)):
            return False
    return True


def _agree(question: Question, point: Point) -> bool:
    """Whether the conditions agree at a point, or where sizes are next to it that there are."""
    spend(LOOK)
    left, q = truth(question.left, point), question.right
    right = q.holds if isinstance(q, Verdict) else truth(q, point)
    if None in (left, right) or left is right or (question.link.relation == "=>" and not left):
        return True
    return question.context.shares_out and all(
        there != point and _agree(question, there) for there in question.context.there(point)
    )


def _around(q: Compare, point: Point, shares: Iterable[Fraction], question: Question) -> tuple[Point, ...]:
    """The point with one name moved below and above the edge of a condition, inside of the domain and the regime."""
    context = question.context
    kept = (*context.facts, *map(_apart, context.growing))
    with suppress(SymroofError):
        for x in names(q.left):
            level, bound = (enclosed(side, DIGITS, point).middle for side in (q.left, q.right))
            edge = point[x] * bound / level if level else Fraction(0)
            if edge <= 0 or abs(enclosed(q.left, DIGITS, {**point, x: edge}).middle / bound - 1) > SLACK:
                continue
            least = 1 if x in context.least_one else 0
            around = [{**point, x: edge * share} for share in shares if least <= edge * share]
            return tuple(at for at in around if all(truth(fact, at) is not False for fact in kept))
    return ()


def _shares(question: Question) -> tuple[Fraction, Fraction]:
    """Between which shares of the edge of the right condition that of the left one may lie."""
    bound, q = question.link.right, question.right
    assert isinstance(bound, Compare)
    assert isinstance(q, Compare)
    digits = [last_place(n)[1] / abs(n.value) for side in (bound.left, bound.right) for n in literals(side) if n.value]
    step = max((question.context.admitted(name).each for name in names(q)), default=1)
    whole = step / (1 + abs(enclosed(q.right, DIGITS).middle)) if is_numeric(q.right) else Fraction(0)
    width = max((*digits, CLOSE / 5 if question.context.growing else SLACK * 1000))
    return 1 - width / 2 - whole, 1 + width + whole


def _crossing(pair: tuple[Point, ...], p: Formula) -> bool:
    """Whether the sides of an equation change places between two points."""
    if not isinstance(p, Compare):
        return True
    signs = {compared(p.left, p.right, point) for point in pair}
    return len(pair) < 2 or signs >= {1, -1} or None in signs


LOOKS: Mapping[str, Callable[[Question], bool]] = {
    "=": _equal,
    **dict.fromkeys(("~", "->"), _alike),
    **dict.fromkeys(("<<", ">>"), _negligible),
    **dict.fromkeys(("<", "<=", ">", ">="), _ordered),
    **dict.fromkeys(("<=>", "=>"), _conditions),
}
