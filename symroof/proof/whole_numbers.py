"""The whole numbers that sizes and numbers of chips may be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from fractions import Fraction
from itertools import pairwise
from math import gcd, lcm, prod

from symroof.errors import CheckError
from symroof.formula import Both, Compare, Either, Formula, Frozen, Name, Verdict, number
from symroof.proof.polynomials import Poly, Rat
from symroof.proof.quotients import COMPARISONS, ORDER, Quotients

# No list of divisors is longer than that of such a number.
LARGEST = 10**9


class WholeSizes(Frozen):
    """The whole numbers that a size may be: the multiples of ``each``, or ``those`` alone."""

    each: int = 1
    those: tuple[int, ...] | None = None

    def last(self, relation: str, bound: Fraction) -> int:
        """The one next to a bound on its side; 0 where there is none.

        >>> WholeSizes(16).last(">", Fraction(240)), WholeSizes(16).last("<=", Fraction(10))
        (256, 0)
        >>> WholeSizes(those=(1, 2, 4)).last("<", Fraction(4))
        2
        """
        holds, rises = ORDER[relation], relation[0] == ">"
        near = int(bound // self.each)
        around = (k * self.each for k in (1, *range(near - 1, near + 3)) if k >= 1)
        candidates = around if self.those is None else self.those
        return (min if rises else max)((n for n in candidates if holds(n, bound)), default=0)

    def around(self, value: Fraction) -> tuple[Fraction, ...]:
        """The ones that are nearest to a number, below and above; the number itself where nothing is asked of sizes."""
        if self == WholeSizes():
            return (value,)
        return tuple(dict.fromkeys(Fraction(n) for n in (self.last("<=", value), self.last(">=", value)) if n))

    def beside(self, value: Fraction) -> tuple[Fraction, ...]:
        """The ones at a number, and next to it on both sides."""
        return tuple(Fraction(n) for n in (self.last(relation, value) for relation in ORDER) if n)


class Multiples(Frozen):
    """What sizes come in: of one that is split the chips of each group of ``axes`` that splits it together, as far as their
    number is known or put in; so of one by which a split one is ``defined``. ``each`` is said of sizes that come in so many
    for another reason."""

    axes: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    chips: Mapping[str, int] = field(default_factory=dict)
    each: Mapping[str, int] = field(default_factory=dict)
    defined: Mapping[str, Formula] = field(default_factory=dict)

    def of(self, name: str, put: Mapping[str, Fraction] | None = None) -> int:
        """What a size comes in where numbers are put in for axes.

        >>> two = Multiples({"B": (("X",), ("X", "Y"))}, {"X": 4})
        >>> two.of("B"), two.of("B", {"Y": Fraction(3)}), two.of("D")
        (4, 12, 1)
        >>> Multiples({"F": (("X",),)}, {"X": 8}, {}, {"F": Name("D")}).of("D")
        8
        """
        put = put or {}
        numbers = {axis: int(size) for axis, size in put.items() if size.denominator == 1}
        others = {other: size for other, size in put.items() if other != name}
        every = ((self._size(label, others) / Rat(Poly.name(name)), groups) for label, groups in self.axes.items())
        times = ((n, groups) for part, groups in every if (n := part.constant) is not None)
        shares = (
            (prod(self.chips.get(axis) or numbers.get(axis, 1) for axis in group) / n).numerator
            for n, groups in times
            for group in groups
        )
        return lcm(self.each.get(name, 1), *shares)

    def _size(self, label: str, put: Mapping[str, Fraction]) -> Rat:
        """A dimension where numbers are put in for sizes."""
        definitions = {**self.defined, **{name: number(value) for name, value in put.items()}}
        return Quotients(definitions).size(label)

    def shared(self, axis: str, put: Mapping[str, Fraction]) -> Iterator[tuple[str, Fraction]]:
        """What the chips of an axis share out evenly, where numbers are put in for sizes: of each size that the axis splits
        what the other axes leave, which the number of its chips divides.

        >>> list(Multiples({"B": (("X", "Y"),)}, {"X": 4}).shared("Y", {"B": Fraction(64), "D": Fraction(9)}))
        [('B', Fraction(16, 1))]
        """
        for name, groups in self.axes.items():
            for group in groups:
                if axis in group and (size := self._size(name, put).constant) is not None:
                    others = (self.chips.get(other) or put.get(other, Fraction(1)) for other in group if other != axis)
                    yield name, size / prod(others)

    def numbers(self, names: Iterable[str], put: Mapping[str, Fraction]) -> WholeSizes:
        """Which whole numbers are left to sizes that are equal."""
        names = tuple(names)
        each, shared = lcm(*(self.of(name, put) for name in names)), [p for n in names for _, p in self.shared(n, put)]
        if not shared:
            return WholeSizes(each)
        common = 0 if any(part.denominator > 1 for part in shared) else gcd(*map(int, shared))
        if common > LARGEST:
            raise CheckError(f"the divisors of {common} are not listed")
        return WholeSizes(each, tuple(d for d in divisors(common) if d % each == 0))


class Bounds:
    """Conditions that compare one size with numbers; ``constant`` is the number that a formula is."""

    def __init__(self, size: Name, constant: Callable[[Formula], Fraction | None]) -> None:
        self.size, self.constant = size, constant

    def edges(self, condition: Formula) -> Iterator[Fraction]:
        """The numbers that a condition compares the size with. Raises :class:`CheckError` where it speaks of more."""
        if isinstance(condition, Both | Either):
            for part in condition.parts:
                yield from self.edges(part)
        elif not isinstance(condition, Verdict):
            comparable = (
                isinstance(condition, Compare) and condition.left == self.size and condition.relation in COMPARISONS
            )
            edge = self.constant(condition.right) if comparable and isinstance(condition, Compare) else None
            if edge is None:
                raise CheckError(f"this is no condition on {self.size.name} by numbers")
            yield edge

    def met(self, condition: Formula, value: Fraction) -> bool:
        """Whether a value meets a condition whose numbers are known."""
        match condition:
            case Verdict(holds=holds):
                return holds
            case Both(parts=parts) | Either(parts=parts):
                return (all if isinstance(condition, Both) else any)(self.met(part, value) for part in parts)
            case Compare(relation=relation, right=right) if (edge := self.constant(right)) is not None:
                return bool(COMPARISONS[relation](value, edge))
        raise CheckError(f"this is no condition on {self.size.name} by numbers")

    def agree(self, first: Formula, second: Formula, values: Callable[[Fraction], Iterable[Fraction]]) -> bool:
        """Whether two conditions are met by the same values: those at and around each edge, and at 1, are all that differ."""
        edges = sorted({Fraction(1), *self.edges(first), *self.edges(second)})
        middles = [(low + high) / 2 for low, high in pairwise(edges)]
        samples = {value for edge in (*edges, *middles, edges[-1] + 1) for value in values(edge)}
        return all(self.met(first, value) == self.met(second, value) for value in samples)


def divisors(whole: int) -> Iterable[int]:
    """The divisors of a whole number, in order.

    >>> list(divisors(12))
    [1, 2, 3, 4, 6, 12]
    """
    low, high, d = [], [], 1
    while d * d <= whole:
        if whole % d == 0:
            low.append(d)
            high += [whole // d] * (d * d != whole)
        d += 1
    return [*low, *reversed(high)]
