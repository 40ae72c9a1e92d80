"""Counterexamples: propositions at points, in exact numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from random import Random

from symroof.errors import AlgebraError
from symroof.formula import Both, Compare, Either, Formula, Product, Verdict, names, number
from symroof.verification.budget import spend
from symroof.verification.context import Context
from symroof.verification.enclosures import compared, enclosed, relation_holds
from symroof.verification.judgement import Counterexample

MOST_POINTS = 80
POINT = 20  # units of work
LARGE = 65536
TYPICAL = 8  # sizes that are this many times larger count as much larger

Point = Mapping[str, Fraction]


def truth(proposition: Formula, point: Point) -> bool | None:
    """Whether a proposition is true at a point; None where it has no value there, or the numbers are too close to tell.

    >>> from symroof.formula import Name
    >>> truth(Compare(Name("B"), "<", Name("D")), {"B": Fraction(2), "D": Fraction(1)})
    False
    """
    match proposition:
        case Verdict(holds=holds):
            return holds
        case Both(parts=parts) | Either(parts=parts):
            found, deciding = {truth(part, point) for part in parts}, isinstance(proposition, Either)
            return deciding if deciding in found else None if None in found else not deciding
        case Compare(left=left, relation="<=>", right=right):
            sides = truth(left, point), truth(right, point)
            return None if None in sides else sides[0] == sides[1]
        case Compare(left=left, relation=relation, right=right):
            try:
                sign = compared(left, right, point)
            except AlgebraError:
                return None
            return None if sign is None else relation_holds(sign, relation)
    return None


def witness(
    proposition: Formula, context: Context, first: Iterable[Point] = (), growing: Sequence[Compare] = ()
) -> Counterexample | None:
    """A point of the domain at which the facts hold and the proposition does not; None where none was found.

    Points that are typical of the regime ``growing`` come first.
    """
    letters = tuple(dict.fromkeys(n for f in (proposition, *context.facts) for n in names(f)))
    points = list(islice(_candidates(letters, context.least_one, first), MOST_POINTS))
    for point in sorted(points, key=lambda point: not is_typical(point, growing)):
        spend(POINT)
        if all(truth(fact, point) for fact in context.facts) and truth(proposition, point) is False:
            return Counterexample(point, *_sides(proposition, point))
    return None


def is_typical(point: Point, growing: Iterable[Compare]) -> bool:
    """Whether a point looks like the regime: what is much smaller is, by some factor; what is alike is equal."""
    for r in growing:
        if r.relation == "<<" and not truth(Compare(Product((number(TYPICAL), r.left)), "<=", r.right), point):
            return False
        if r.relation in ("~", "~~") and not truth(Compare(r.left, "=", r.right), point):
            return False
    return True


def _sides(proposition: Formula, point: Point) -> tuple[Fraction | bool | None, Fraction | bool | None]:
    """What the two sides are at a point: truth values or numbers."""
    if not isinstance(proposition, Compare):
        return None, None
    if proposition.relation == "<=>":
        return truth(proposition.left, point), truth(proposition.right, point)
    return enclosed(proposition.left, point=point).middle, enclosed(proposition.right, point=point).middle


def _candidates(letters: tuple[str, ...], least_one: frozenset[str], first: Iterable[Point]) -> Iterator[Point]:
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
    yield point(range(2 + count, 2, -1))
    yield point([10**4] * count)
    for offered in first:
        whole = {n: Fraction(offered.get(n, LARGE)) for n in letters}
        yield {n: Fraction(round(v)) if round(v) >= 1 else v for n, v in whole.items()}
        if all(v >= 1 if n in least_one else v > 0 for n, v in whole.items()):
            yield whole
    random = Random(11)
    while letters:
        yield {
            n: Fraction(random.randint(1, 99)) * Fraction(10) ** random.randint(0 if n in least_one else -3, 5)
            for n in letters
        }
