"""Counterexamples: propositions at points, in exact numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain, islice, pairwise, product
from operator import neg, pos, truediv
from random import Random

from symroof.errors import SymroofError
from symroof.formula import (
    MIRRORED,
    Both,
    Call,
    Compare,
    Either,
    Formula,
    Infinity,
    Name,
    Number,
    Product,
    Verdict,
    children,
    names,
    number,
    several_of,
)
from symroof.proof.exact_values import truth
from symroof.proof.polynomials import Poly
from symroof.proof.quotients import COMPARISONS, ORDER, Quotients
from symroof.symbols import symbol
from symroof.verification.asymptotics import alike
from symroof.verification.budget import spend
from symroof.verification.context import Context, Question
from symroof.verification.intervals import bare, enclosed, last_place, precise
from symroof.verification.verdicts import Counterexample

ALWAYS = Verdict(True)
MOST_POINTS = 400
POINT = 20  # units of work
LARGE = 65536
TYPICAL = 8  # sizes that are this many times larger count as much larger
NEAR = Fraction(10**4)
FAR = Fraction(10**8)  # what grows without bound is at least this
MOST_ORDERED = 5  # symbols
MOST_TRIED = 3_000

BESIDE = tuple(Fraction(share, 1000) for share in (1000, 998, 1002, 750, 1500))  # parts of an edge
Point = Mapping[str, Fraction]
Move = Callable[[Point], Iterable[Point]]
# A look in numbers before a proof is asked for; what it refutes is left out and never called wrong, and that a link passes
# says nothing.
LOOK = 3  # units of work
POINTS, DRAWN = 6, 400  # points at random until those of a regime are found
APART = 10**4  # a size is this many times another that is much smaller
# The share of a number that may be rounded, of what a regime says, of one that is the same, and of terms that cancel.
WIDEST, ALIKE, EQUAL, LOST = 0.2, 0.02, 1e-6, 1e-3
SMALL = 20  # what is negligible is so many times less
NO_VALUE = (SymroofError, RecursionError, ArithmeticError, TypeError, ValueError, LookupError)
Floats = list[dict[str, float]]


def witness(
    proposition: Formula,
    context: Context,
    first: Iterable[Point] = (),
    growing: Sequence[Compare] = (),
    moved: Move = lambda point: (),
    right: Formula = ALWAYS,
) -> Counterexample | None:
    """A point of the domain at which the facts hold and the proposition does not; None where none was found.

    It is typical of the regime ``growing``: a point outside of a regime refutes nothing that is said inside. ``moved``
    brings a point to where the proposition may fail. Its sizes are whole numbers, and what is ``right`` in the regime is so
    there, where one of the next does it. Sizes that chips share out are those that there are, where one of them will do.
    """
    letters = tuple(dict.fromkeys(n for f in (proposition, *growing, *context.facts) for n in names(f)))
    first, counterexample = [*first], None
    for nearby in (context.nearby, lambda point: (point,)) if context.shares_out else (context.nearby,):
        candidates = _candidates(letters, context.least_one, first, moved)
        if growing:
            candidates = chain(_grown(letters, moved), candidates)
        tried = chain.from_iterable(map(nearby, islice(candidates, MOST_TRIED)))
        regime = tuple(map(looking_like, growing))
        typical = (near for near in tried if _is_inside(near, context) and all(truth(r, near) for r in regime))
        for point in islice(typical, MOST_POINTS):
            spend(POINT)
            if all(truth(fact, point) for fact in context.facts) and truth(proposition, point) is False:
                counterexample = counterexample or Counterexample(point, *_sides(proposition, point))
                whole = all(value.denominator == 1 for name, value in point.items() if name in context.least_one)
                if whole and truth(right, point) is not False:
                    return Counterexample(point, *_sides(proposition, point))
        if counterexample is not None:
            return counterexample
    return None


def _is_inside(point: Point, context: Context) -> bool:
    """Whether a point lies in the domain."""
    least, several = context.least_one, several_of(context.least_one)
    return all(v > 1 if n in several else v >= 1 if n in least else v > 0 for n, v in point.items())


def _grown(letters: Sequence[str], moved: Move) -> Iterator[Point]:
    """Points far out in every direction: powers of a large number, in every order; the readable ones first."""
    for far, powers in product((NEAR, FAR), product((1, 2, 3, 0), repeat=min(len(letters), MOST_ORDERED))):
        point = dict.fromkeys(letters, Fraction(1)) | {n: far**p for n, p in zip(letters, powers, strict=False)}
        yield from (*moved(point), point)


def looking_like(relation: Compare, apart: int = TYPICAL) -> Compare:
    """What a relation of growth asks of one point: that what is much smaller is, so many times; that what is alike is equal."""
    match relation.relation:
        case "<<":
            return Compare(Product((number(apart), relation.left)), "<=", relation.right)
        case "->":
            return Compare(relation.left, ">=", Number(FAR))
    return Compare(relation.left, "=", relation.right)


def _sides(proposition: Formula, point: Point) -> tuple[Fraction | bool | None, Fraction | bool | None]:
    """What the two sides are at a point: truth values or numbers."""
    if not isinstance(proposition, Compare):
        return None, None
    if proposition.relation == "<=>":
        return truth(proposition.left, point), truth(proposition.right, point)
    return enclosed(proposition.left, point=point).middle, enclosed(proposition.right, point=point).middle


def _candidates(
    letters: tuple[str, ...], least_one: frozenset[str], first: Iterable[Point], moved: Move
) -> Iterator[Point]:
    """Points worth a look, the readable ones first; then the ones that were offered; then random ones."""

    def point(sizes: Iterable[int]) -> Point:
        return dict(zip(letters, map(Fraction, sizes), strict=True))

    count = len(letters)
    yield point([1] * count)
    yield point([2] * count)
    for small, large in ((128, 8192), (512, 8192), (1, 8192), (1024, 1), (8192, 128)):
        for i in range(min(count, 4)):
            yield point(small if i == j else large for j in range(count))
    yield point(range(2, 2 + count))
    yield point([10**4] * count)
    for point_offered in (
        *moved(point([LARGE] * count)),
        *({n: Fraction(offer.get(n, LARGE)) for n in letters} for offer in first),
    ):
        yield {n: Fraction(round(v)) if round(v) >= 1 else v for n, v in point_offered.items()}
        yield point_offered
    several = several_of(least_one)
    axes = [name for name in letters if name in several]
    for chips in product((2, 4), repeat=len(axes)) if len(axes) in (1, 2) else ():  # an axis is of several chips
        for sizes in product((1, LARGE), repeat=min(count - len(axes), 4)):
            chosen_sizes = dict(zip((*axes, *(n for n in letters if n not in several)), (*chips, *sizes), strict=False))
            chosen = {name: Fraction(chosen_sizes.get(name, LARGE)) for name in letters}
            yield from (chosen, *moved(chosen))
    random = Random(11)
    while letters:
        yield {
            n: Fraction(random.randint(1, 99)) * Fraction(10) ** random.randint(0 if n in least_one else -3, 5)
            for n in letters
        }


def to_the_edges(question: Question) -> Move:
    """The move of a point to where one of the things that the conditions say turns, along each size and what is like it:
    between two such edges, on each, and on both sides of it."""
    parts = (part for side in (question.left, question.right) for part in conjuncts(side))
    orders = [part for part in parts if isinstance(part, Compare) and part.relation in ORDER]
    gaps = [Quotients().difference(r.left, r.right).above for r in orders]

    def moved(point: Point) -> Iterator[Point]:
        for x in sorted(point):
            roots = (_edge(gap, x, point) for gap in gaps if x in gap.names <= point.keys())
            edges = sorted({edge for edge in roots if edge > 0})
            between = [(low + other) / 2 for low, other in pairwise(edges)]
            tied = [y.name for y in alike(symbol(x), question.context.regime, "~", "~~") if y.name in point]
            for value in (*map(Fraction, map(round, between)), *(edge * share for share in BESIDE for edge in edges)):
                yield {**point, **dict.fromkeys((x, *tied), value)}

    return moved


def _edge(gap: Poly, x: str, point: Point) -> Fraction:
    """Where something that is linear in a size is 0; 0 where it is not."""
    slope, start = (gap.in_powers_of(x).get(power, Poly()).at(point) for power in (1, 0))
    return -start / slope if slope and gap.degree(x) == 1 else Fraction(0)


def conjuncts(condition: Formula) -> list[Formula]:
    """What a condition says, one thing after the other: of a > max(b, c) that a > b, and that a > c."""
    match condition:
        case Both(parts=parts):
            return [conjunct for part in parts for conjunct in conjuncts(part)]
        case Compare(left=less, relation="<" | "<=" as sign, right=more):
            return conjuncts(Compare(more, MIRRORED[sign], less))
        case Compare(left=more, relation=">" | ">=" as sign, right=less) if isinstance(most := bare(less), Call):
            each = most.arguments if most.function == "max" else ()
            return [conjunct for part in each for conjunct in conjuncts(Compare(more, sign, part))] or [condition]
    return [condition]


def may_hold(question: Question, share: float) -> bool:
    """Whether a link agrees with some points of its domain and regime, but for a share of its numbers.

    >>> from symroof.formula import Name, Sum
    >>> from symroof.reading.name_scope import Scope
    >>> from symroof.verification.context import Context
    >>> a, b, empty = Name("A"), Name("B"), Context(Scope(), {}, {})
    >>> [may_hold(empty.question(Compare(Sum((a, b)), "=", right)), 0.1) for right in (Sum((b, a)), a)]
    [True, False]
    >>> [may_hold(empty.question(Compare(Sum((a, b)), sign, a)), 0.1) for sign in ("<", "<=", ">", ">=")]
    [False, False, True, True]
    """
    try:
        return _agrees(question, _random_points(question), share)
    except NO_VALUE:
        return True  # at one of the points: that is for the proof to say


def seen(proposition: Formula, context: Context) -> set[bool | None]:
    """What a proposition is at points at random of the domain at which the facts hold: true, false, or not known."""
    letters = tuple(dict.fromkeys(name for formula in (proposition, *context.facts) for name in names(formula)))
    try:
        return {*_truths(proposition, _drawn(letters, context.facts))}
    except NO_VALUE:
        return {None}


def last_digits(link: Compare, context: Context) -> float:
    """Which share of its numbers a link leaves open: the last digit of a printed one, and what it says that it tolerates."""
    least = EQUAL if link.relation == "=" else ALIKE
    tolerated = float(context.tolerance) if link.relation == "~" else 0
    printed = [literal for side in (link.left, link.right) for literal in precise(side)]
    sides = (link.right.left, link.right.right) if isinstance(link.right, Compare) else (link.left, link.right)
    printed += (n for n in map(bare, sides) if isinstance(n, Number))
    return tolerated + min(WIDEST, max([least, *(float(last_place(n)[1] / abs(n.value)) for n in printed if n.value)]))


def _random_points(question: Question) -> Floats:
    """Points at random at which the facts hold, and which look like the regime, where it compares sizes."""
    letters = tuple(dict.fromkeys(name for side in (question.left, question.right) for name in names(side)))
    if letters not in question.context.memory:
        relations = _typical(question.context)
        others = (name for relation in relations for name in names(relation))
        question.context.memory[letters] = _drawn(tuple(dict.fromkeys((*letters, *others))), relations)
    points: Floats = question.context.memory[letters]
    return points


def _typical(context: Context) -> tuple[Compare, ...]:
    """What is true at points that look like the regime."""
    if "typical" not in context.memory:
        context.memory["typical"] = (*context.facts, *(looking_like(r, APART) for r in context.growing))
    relations: tuple[Compare, ...] = context.memory["typical"]
    return relations


@lru_cache(maxsize=256)
def _drawn(letters: tuple[str, ...], relations: tuple[Compare, ...]) -> Floats:
    random, largest = Random(7), 24 if relations else 5
    points = (
        {n: Fraction(random.randint(137, 999), 100) * 10 ** random.randint(0, largest) for n in letters}
        for _ in range(DRAWN)
    )
    inside = (point for point in points if all(truth(fact, point) for fact in relations))
    return [{name: float(value) for name, value in point.items()} for point in islice(inside, POINTS)]


def _values(formula: Formula, points: Floats) -> list[float]:
    """The values of a formula at points."""
    match formula:
        case Number(value=value):
            return [float(value)] * len(points)
        case Name(name=name):
            return [point[name] for point in points]
    rule = VALUES[formula.function if isinstance(formula, Call) else formula._rule]
    return [rule(*row) for row in zip(*(_values(child, points) for child in children(formula)), strict=True)]


def _agrees(question: Question, points: Floats, share: float) -> bool:
    """Whether a link may be true at points: its sides are near each other, in order, or conditions that agree on both sides
    of an edge."""
    spend(LOOK * len(points))
    left, relation, right = question.left, question.link.relation, question.right
    if relation in ("<<", ">>"):
        small, large = (left, right) if relation == "<<" else (right, left)
        return False not in _truths(Compare(Product((number(SMALL), small)), "<=", large), points)
    if relation in ORDER:
        return False not in _truths(question.claim, points)
    if relation in ("<=>", "=>"):
        at = [] if question.context.shares_out else _beside(question, points, share)
        return all(
            None in (p, q) or p is q or (relation == "=>" and not p)
            for p, q in zip(_truths(left, at), _truths(right, at), strict=True)
        )
    if isinstance(right, Infinity):
        return True
    return all(_near(a, b, share) for a, b in zip(_values(left, points), _values(right, points), strict=True))


def _sum(*terms: float) -> float:
    """A sum; no number where its terms cancel so far that the digits that are left tell nothing."""
    value = sum(terms)
    return value if abs(value) >= LOST * max(map(abs, terms)) else math.nan


VALUES: Mapping[str, Callable[..., float]] = {
    **{"sum": _sum, "product": lambda *factors: math.prod(factors), "quotient": truediv, "negative": neg, "power": pow},
    **{"group": pos, "written": pos, "max": max, "min": min, "abs": abs},
    **{name: getattr(math, name) for name in ("sqrt", "log", "log2", "exp", "floor", "ceil")},
}


def _near(a: float, b: float, share: float) -> bool:
    """Whether two numbers are near each other, or one of them is not known."""
    return not abs(a - b) > share * max(abs(a), abs(b))


def _truths(proposition: Formula, points: Floats) -> list[bool | None]:
    """Whether a proposition is true at points; None where it is not known, or numbers are too close to tell."""
    match proposition:
        case Verdict(holds=holds):
            return [holds] * len(points)
        case Both(parts=parts) | Either(parts=parts):
            rows, deciding = (
                zip(*(_truths(part, points) for part in parts), strict=True),
                isinstance(proposition, Either),
            )
            return [deciding if deciding in row else None if None in row else not deciding for row in rows]
        case Compare(left=left, relation=relation, right=right) if relation in COMPARISONS:
            pairs = zip(_values(left, points), _values(right, points), strict=True)
            return [None if _near(a, b, EQUAL) else COMPARISONS[relation](a, b) for a, b in pairs]
    return [None] * len(points)


def _beside(question: Question, points: Floats, share: float) -> Floats:
    """The points, and with one size moved below and above the edge of a condition, inside of the domain and the regime."""
    context, q = question.context, question.right
    at = [] if isinstance(q, Compare) and q.relation == "=" else [*points]
    if isinstance(q, Compare) and q.relation in ORDER:
        levels, bounds = (_values(side, points) for side in (q.left, q.right))
        places = [row for row in zip(points, levels, bounds, strict=True) if row[1] > 0 < row[2]]
        moved = ((x, point, point[x] * bound / level) for x in names(q.left) for point, level, bound in places)
        edges = ((x, point, edge * part) for x, point, edge in moved for part in (1 - share, 1 / (1 - share)))
        at += ({**point, x: edge} for x, point, edge in edges if edge >= (x in context.least_one))
    possible = [True] * len(at)
    for fact in _typical(context):
        possible = [
            holds_there and holds is not False for holds_there, holds in zip(possible, _truths(fact, at), strict=True)
        ]
    return [point for point, holds_there in zip(at, possible, strict=True) if holds_there]
