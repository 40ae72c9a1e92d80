"""Images: the places that an access touches, as a set, how many they are, and how two of them lie to one another.

The image of an access over a box is an offset and terms: a stride and how often it is gone. Strides that follow on one
another are one range, and so are the places of windows that overlap: ``s*u + r`` with at least s taps r. An image has as
many places as its lengths multiply to where no two points have one place, which is seen in the strides: each is more than
all smaller ones reach. Of two images one holds the other, or they are apart, or they are two ranges of one stride, of which
the union is a range again; anything else is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from symroof.errors import AlgebraError
from symroof.formula import Frozen
from symroof.loopnest.nests import Access, Domain, Guard, Stair
from symroof.loopnest.size_polynomials import ONE, ZERO, Order, Polynomial, product, total

Range = tuple[Polynomial, Polynomial]
# A stride, and how many places are that far from one another.
Term = tuple[Polynomial, Polynomial]


class Span(Frozen, often=True):
    """Turns of a buffer: so many from a first one on; with an ``axis`` counted from the turn of the launch along it."""

    first: Polynomial
    length: Polynomial = ONE
    axis: str = ""


class Image(Frozen, often=True):
    """Places of a buffer: in some of its turns ``offset + sum of stride * i`` with i below the length of each term.
    ``moving`` are strides along axes of the launch, with which all of it moves."""

    buffer: str
    turns: tuple[Span, ...]
    offset: Polynomial
    terms: frozenset[Term]
    moving: frozenset[tuple[str, Polynomial]] = frozenset()

    def size(self, order: Order) -> Polynomial:
        """How many places it has; refused where two points may have one place."""
        if not distinct(self.terms, order):
            raise AlgebraError(
                f"nobody says that no two points of {self.buffer} lie in one place: {strides_of(self)}",
                expected="facts about sizes that decide it, or sizes that are numbers: --at",
            )
        return product((*(span.length for span in self.turns), *(length for _, length in self.terms)))


def strides_of(image: Image) -> str:
    return " + ".join((repr(image.offset), *(f"({stride})*i, i < {length}" for stride, length in image.terms)))


def image_of(
    access: Access, domain: Domain, order: Order, launched: frozenset[str] = frozenset(), *, written: bool = False
) -> Image:
    """What an access touches over a domain, in a launch, which is one point of the axes ``launched``.

    A convention about masks: what is ``written`` is written whole, and so is read what has both axes of a mask; of what has
    its columns alone those are read that some row meets.

    >>> from symroof.loopnest.nests import Axis
    >>> from symroof.loopnest.size_polynomials import size
    >>> B, F = size("B"), size("F")
    >>> image_of(Access("h", (), ZERO, (("B", F), ("F", ONE))), Domain((Axis("B", B), Axis("F", F))), Order()).terms
    frozenset({(1, B*F)})
    """
    ranges = _ranges(access, domain, order, written)
    turns = tuple(_span(axis, shift, ranges, launched) for axis, shift in access.turns)
    moving = frozenset(pair for pair in access.strides if pair[0] in launched)
    strides = {axis: stride for axis, stride in access.strides if axis not in launched}
    offset, terms = access.offset, list[Term]()
    for guard in access.within:
        if guard.axis is None:
            first, term = _windows(guard, strides, ranges, order)
            offset, terms = offset + first, [*terms, term]
            strides = {axis: stride for axis, stride in strides.items() if axis not in dict(guard.axes)}
    for axis, stride in strides.items():
        offset, terms = offset + ranges[axis][0] * stride, [*terms, (stride, ranges[axis][1])]
    return Image(access.buffer, turns, offset, merged((term for term in terms if term[1] != ONE), order), moving)


def _ranges(access: Access, domain: Domain, order: Order, written: bool) -> dict[str, Range]:
    """The places of each axis that an access has: those of the domain that its guards leave."""
    ranges: dict[str, Range] = {axis.name: (ZERO, axis.size) for axis in domain.axes}
    for stair in domain.stairs if not written else ():
        if stair.row not in access.axes:
            ranges[stair.column] = columns_met(stair, domain, order)
    return ranges | {guard.axis: (guard.first, guard.length) for guard in access.within if guard.axis is not None}


def _span(axis: str | None, shift: Polynomial, ranges: Mapping[str, Range], launched: frozenset[str]) -> Span:
    if axis is None:
        return Span(shift)
    if axis in launched:
        return Span(shift, axis=axis)
    return Span(ranges[axis][0] + shift, ranges[axis][1])


def _windows(
    guard: Guard, strides: Mapping[str, Polynomial], ranges: Mapping[str, Range], order: Order
) -> tuple[Polynomial, Term]:
    """The first place and the term of axes that a guard bounds together, as windows that reach over an edge."""
    unit = strides[guard.axes[-1][0]] / guard.axes[-1][1]
    together = all(strides[axis] == places * unit for axis, places in guard.axes)
    terms = merged(((places, ranges[axis][1]) for axis, places in guard.axes), order)
    start = total(ranges[axis][0] * places for axis, places in guard.axes)
    if not together or len(terms) != 1 or next(iter(terms))[0] != ONE:
        raise AlgebraError(
            f"what is read under windows along {', '.join(axis for axis, _ in guard.axes)} is no range of places",
            expected="a filter that reaches to the next window",
        )
    first = order.most(start, guard.first)
    end = order.least(start + next(iter(terms))[1], guard.first + guard.length)
    return first * unit, (unit, end - first)


def columns_met(stair: Stair, domain: Domain, order: Order) -> Range:
    """The columns that some row of a mask meets."""
    first = ZERO if stair.window is None else order.most(ZERO, stair.shift - stair.window + 1)
    return first, stair.shift + domain.sizes[stair.row] - first


def merged(terms: Iterable[Term], order: Order) -> frozenset[Term]:
    """Terms with those that make one range put together: q*u and u, where there are at least q places of stride u."""
    ranges = list(terms)
    for one in ranges:
        for other in ranges:
            length = None if one is other else _range_of(one, other, order)
            if length is not None:
                rest = [term for term in ranges if term is not one and term is not other]
                return merged((*rest, (other[0], length)), order)
    return frozenset(ranges)


def _range_of(one: Term, other: Term, order: Order) -> Polynomial | None:
    """How long a range the strides of two terms make, the greater first; None where they make none."""
    if len(other[0].terms) != 1:
        return None
    ratio = one[0] / other[0]
    if ratio == other[1]:
        return ratio * one[1]
    if ratio.whole and order.at_least(ratio, ONE) and order.at_least(other[1], ratio):
        return ratio * (one[1] - 1) + other[1]
    return None


def distinct(terms: Iterable[Term], order: Order) -> bool:
    """Whether no two points have one place: in some order each stride is more than all smaller ones reach.

    >>> from symroof.loopnest.size_polynomials import size
    >>> P, Q = size("P"), size("Q")
    >>> distinct([(ONE, P), (P, Q)], Order()), distinct([(ONE, P), (ONE * 2, Q)], Order())
    (True, False)
    """
    left, reach = list(terms), ZERO
    while left:
        least = next((t for t in left if order.at_least(t[0], reach + 1) and _is_least(t, left, order)), None)
        if least is None:
            return False
        reach = reach + least[0] * (least[1] - 1)
        left.remove(least)
    return True


def _is_least(term: Term, terms: Iterable[Term], order: Order) -> bool:
    return all(order.at_least(other[0], term[0]) for other in terms)


def _reach(image: Image) -> Polynomial:
    """The last place, counted from the first."""
    return total(stride * (length - 1) for stride, length in image.terms)


def _along(one: Image, other: Image, order: Order) -> tuple[Polynomial, Range, Range] | None:
    """The one stride along which two images differ, with where each begins along it and how long it is."""
    strides = {stride for stride, _ in one.terms ^ other.terms}
    apart = other.offset - one.offset
    if len(strides) > 1:
        return None
    for stride in strides or {ONE, *(stride for stride, _ in one.terms)}:
        places = apart / stride if len(stride.terms) == 1 else ONE / 2
        lengths = dict(one.terms).get(stride, ONE), dict(other.terms).get(stride, ONE)
        rest = [term for term in one.terms & other.terms if term[0] != stride]
        ranges = (ZERO, lengths[0]), (places, lengths[1])
        if places.whole and any(distinct((*rest, (stride, hull)), order) for hull in _hulls(*ranges, order)):
            return stride, *ranges
    return None


def _hulls(one: Range, other: Range, order: Order) -> Iterator[Polynomial]:
    """How long a range is that holds two of them, of which it is known which begins first."""
    ends, back = other[0] + other[1], one[1] - other[0]
    for hull in (ends, one[1], back, other[1]):
        forward = order.nonnegative(other[0]) and order.at_least(hull, ends) and order.at_least(hull, one[1])
        behind = order.nonnegative(-other[0]) and order.at_least(hull, back) and order.at_least(hull, other[1])
        if forward or behind:
            yield hull


def _in(inner: Range, outer: Range, order: Order) -> bool:
    ends = outer[0] + outer[1], inner[0] + inner[1]
    return order.at_least(inner[0], outer[0]) and order.at_least(*ends)


def _off(one: Range, other: Range, order: Order) -> bool:
    return order.at_least(other[0], one[0] + one[1]) or order.at_least(one[0], other[0] + other[1])


def _spans(one: Image, other: Image) -> list[tuple[Range, Range]] | None:
    """The turns of two images as ranges that can be compared; None where one counts from the launch and the other does not."""
    pairs = list(zip(one.turns, other.turns, strict=True))
    if any(a.axis != b.axis for a, b in pairs):
        return None
    return [((a.first, a.length), (b.first, b.length)) for a, b in pairs]


def holds(outer: Image, inner: Image, whole: Polynomial, order: Order) -> bool:
    """Whether an image of a buffer with ``whole`` places is known to hold another."""
    spans = _spans(outer, inner)
    if outer == inner:
        return True
    if spans is None or not all(_in(b, a, order) for a, b in spans):
        return False
    if whole == ONE or (outer.offset == ZERO and outer.terms == {(ONE, whole)}):
        return True
    if outer.moving != inner.moving:
        return False
    if (outer.offset, outer.terms) == (inner.offset, inner.terms):
        return True
    if {stride for stride, _ in outer.terms} == {ONE}:  # a range
        return _in((inner.offset, _reach(inner) + 1), (outer.offset, _reach(outer) + 1), order)
    along = _along(outer, inner, order)
    return along is not None and _in(along[2], along[1], order)


def apart(one: Image, other: Image, order: Order) -> bool:
    """Whether two images of a buffer are known to have no place in common."""
    spans = _spans(one, other)
    if spans is not None and any(_off(a, b, order) for a, b in spans):
        return True
    if one.moving != other.moving or (one.offset, one.terms) == (other.offset, other.terms):
        return False
    if _off((one.offset, _reach(one) + 1), (other.offset, _reach(other) + 1), order):
        return True
    along = _along(one, other, order)
    return along is not None and _off(along[1], along[2], order)


def _together(one: Image, other: Image, order: Order) -> Image | None:
    """The union of two images that is one again: ranges of turns, or of one stride, that overlap or follow on one another."""
    spans = _spans(one, other)
    if spans is None or one.moving != other.moving:
        return None
    if (one.offset, one.terms) == (other.offset, other.terms):
        return _joined_turns(one, spans, order)
    along = _along(one, other, order) if one.turns == other.turns else None
    places = None if along is None else _range(along[1], along[2], order)
    if along is None or places is None:
        return None
    rest = frozenset(term for term in one.terms if term[0] != along[0])
    terms = merged((*rest, (along[0], places[1])), order)
    return replace(one, offset=one.offset + places[0] * along[0], terms=terms)


def _joined_turns(one: Image, spans: list[tuple[Range, Range]], order: Order) -> Image | None:
    """An image with the turns of another as well, where they are ranges of one coordinate."""
    unlike = [place for place, (a, b) in enumerate(spans) if a != b]
    turns = _range(*spans[unlike[0]], order) if len(unlike) == 1 else None
    if turns is None:
        return None
    span = replace(one.turns[unlike[0]], first=turns[0], length=turns[1])
    return replace(one, turns=tuple(span if i in unlike else s for i, s in enumerate(one.turns)))


def _range(one: Range, other: Range, order: Order) -> Range | None:
    """The union of two ranges that overlap or follow on one another."""
    if not order.at_least(other[0], one[0]):
        one, other = other, one
    if order.at_least(other[0], one[0]) and order.at_least(one[0] + one[1], other[0]):
        ends = one[0] + one[1], other[0] + other[1]
        longest = next((a for a, b in (ends, ends[::-1]) if order.at_least(a, b)), None)
        return None if longest is None else (one[0], longest - one[0])
    return None


def union(images: Iterable[Image], whole: Polynomial, order: Order) -> tuple[Image, ...]:
    """Images of one buffer without what others of them hold, each apart from the others. Raises
    :class:`~symroof.errors.AlgebraError` where nobody says how two of them lie to one another."""
    disjoint: list[Image] = []
    for one in dict.fromkeys(images):
        if any(holds(other, one, whole, order) for other in disjoint):
            continue
        disjoint = [other for other in disjoint if not holds(one, other, whole, order)]
        near = next((other for other in disjoint if not apart(one, other, order)), None)
        if near is None:
            disjoint.append(one)
            continue
        both = _together(one, near, order)
        if both is None:
            raise AlgebraError(
                f"nobody says how two parts of {one.buffer} lie to one another: {strides_of(near)} and {strides_of(one)}",
                expected="facts about sizes that decide it, or one of them read as a whole",
            )
        return union((*(other for other in disjoint if other is not near), both, *images), whole, order)
    return tuple(disjoint)
