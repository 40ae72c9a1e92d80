"""Counterexamples: propositions at points, in exact numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, islice, product
from random import Random

from symroof.formula import Compare, Formula, Number, Product, Verdict, names, number, several_of
from symroof.proof.pointwise import truth
from symroof.verification.budget import spend
from symroof.verification.context import Context
from symroof.verification.enclosures import enclosed
from symroof.verification.judgement import Counterexample

ALWAYS = Verdict(True)
MOST_POINTS = 400
POINT = 20  # units of work
LARGE = 65536
TYPICAL = 8  # sizes that are this many times larger count as much larger
NEAR = Fraction(10**4)
FAR = Fraction(10**8)  # what grows without bound is at least this
MOST_ORDERED = 5  # symbols
MOST_TRIED = 3_000

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
    first, found = [*first], None
    for place in (context.there, lambda point: (point,)) if context.shares_out else (context.there,):
        candidates = _candidates(letters, context.least_one, first, moved)
        if growing:
            candidates = chain(_grown(letters, moved), candidates)
        tried = chain.from_iterable(map(place, islice(candidates, MOST_TRIED)))
        regime = tuple(map(looking_like, growing))
        typical = (one for one in tried if _is_inside(one, context) and all(truth(r, one) for r in regime))
        for point in islice(typical, MOST_POINTS):
            spend(POINT)
            if all(truth(fact, point) for fact in context.facts) and truth(proposition, point) is False:
                found = found or Counterexample(point, *_sides(proposition, point))
                whole = all(value.denominator == 1 for name, value in point.items() if name in context.least_one)
                if whole and truth(right, point) is not False:
                    return Counterexample(point, *_sides(proposition, point))
        if found is not None:
            return found
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
