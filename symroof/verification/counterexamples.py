"""Counterexamples: propositions at points, in exact numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, islice, pairwise, product
from random import Random

from symroof.formula import MIRRORED, Both, Call, Compare, Formula, Number, Product, Verdict, names, number, several_of
from symroof.proof.pointwise import truth
from symroof.proof.polynomials import Poly
from symroof.proof.quotients import ORDER, Exact
from symroof.symbols import symbol
from symroof.verification.budget import spend
from symroof.verification.context import Context, Question
from symroof.verification.intervals import bare, enclosed
from symroof.verification.judgement import Counterexample
from symroof.verification.unknowns import alike

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
    for one in (
        *moved(point([LARGE] * count)),
        *({n: Fraction(offer.get(n, LARGE)) for n in letters} for offer in first),
    ):
        yield {n: Fraction(round(v)) if round(v) >= 1 else v for n, v in one.items()}
        yield one
    several = several_of(least_one)
    axes = [name for name in letters if name in several]
    for chips in product((2, 4), repeat=len(axes)) if len(axes) in (1, 2) else ():  # an axis is of several chips
        for sizes in product((1, LARGE), repeat=min(count - len(axes), 4)):
            known = dict(zip((*axes, *(n for n in letters if n not in several)), (*chips, *sizes), strict=False))
            chosen = {name: Fraction(known.get(name, LARGE)) for name in letters}
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
    gaps = [Exact().difference(r.left, r.right).above for r in orders]

    def moved(point: Point) -> Iterator[Point]:
        for x in sorted(point):
            known = (_edge(gap, x, point) for gap in gaps if x in gap.names <= point.keys())
            edges = sorted({edge for edge in known if edge > 0})
            between = [(one + other) / 2 for one, other in pairwise(edges)]
            tied = [y.name for y in alike(symbol(x), question.context, "~", "~~") if y.name in point]
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
            return [one for part in parts for one in conjuncts(part)]
        case Compare(left=less, relation="<" | "<=" as sign, right=more):
            return conjuncts(Compare(more, MIRRORED[sign], less))
        case Compare(left=more, relation=">" | ">=" as sign, right=less) if isinstance(most := bare(less), Call):
            each = most.arguments if most.function == "max" else ()
            return [one for part in each for one in conjuncts(Compare(more, sign, part))] or [condition]
    return [condition]
