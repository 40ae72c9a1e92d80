"""The whole numbers that sizes and numbers of chips may be."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from fractions import Fraction
from math import gcd, lcm, prod

from symroof.errors import CheckError
from symroof.formula import Frozen

# No list of divisors is longer than that of such a number.
LARGEST = 10**9
HOLDS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


class Admitted(Frozen):
    """Which whole numbers a size may be: the multiples of ``each``, or ``those`` alone."""

    each: int = 1
    those: tuple[int, ...] | None = None

    def last(self, relation: str, bound: Fraction) -> int:
        """The one next to a bound on its side; 0 where there is none.

        >>> Admitted(16).last(">", Fraction(240)), Admitted(16).last("<=", Fraction(10))
        (256, 0)
        >>> Admitted(those=(1, 2, 4)).last("<", Fraction(4))
        2
        """
        holds, rises = HOLDS[relation], relation[0] == ">"
        near = int(bound // self.each)
        around = (k * self.each for k in (1, *range(near - 1, near + 3)) if k >= 1)
        tried = around if self.those is None else self.those
        return (min if rises else max)((n for n in tried if holds(n, bound)), default=0)

    def around(self, value: Fraction) -> tuple[Fraction, ...]:
        """The ones that are nearest to a number, below and above; the number itself where nothing is asked of sizes."""
        if self == Admitted():
            return (value,)
        return tuple(dict.fromkeys(Fraction(n) for n in (self.last("<=", value), self.last(">=", value)) if n))


class Multiples(Frozen):
    """What sizes come in: of one that is split the chips of each group of ``axes`` that splits it together, as far as their
    number is known or put in. ``each`` is said of sizes that come in so many for another reason."""

    axes: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    chips: Mapping[str, int] = field(default_factory=dict)
    each: Mapping[str, int] = field(default_factory=dict)

    def of(self, name: str, put: Mapping[str, Fraction] | None = None) -> int:
        """What a size comes in where numbers are put in for axes.

        >>> two = Multiples({"B": (("X",), ("X", "Y"))}, {"X": 4})
        >>> two.of("B"), two.of("B", {"Y": Fraction(3)}), two.of("D")
        (4, 12, 1)
        """
        known = {axis: int(size) for axis, size in (put or {}).items() if size.denominator == 1}
        shares = (
            prod(self.chips.get(axis) or known.get(axis, 1) for axis in group) for group in self.axes.get(name, ())
        )
        return lcm(self.each.get(name, 1), *shares)

    def shared(self, axis: str, put: Mapping[str, Fraction]) -> Iterator[tuple[str, Fraction]]:
        """What the chips of an axis share out evenly, where numbers are put in for sizes: of each size that the axis splits
        what the other axes leave, which the number of its chips divides.

        >>> list(Multiples({"B": (("X", "Y"),)}, {"X": 4}).shared("Y", {"B": Fraction(64), "D": Fraction(9)}))
        [('B', Fraction(16, 1))]
        """
        for name, groups in self.axes.items():
            for group in groups:
                if name in put and axis in group:
                    others = (self.chips.get(other) or put.get(other, Fraction(1)) for other in group if other != axis)
                    yield name, put[name] / prod(others)

    def numbers(self, names: Iterable[str], put: Mapping[str, Fraction]) -> Admitted:
        """Which whole numbers are left to sizes that are equal."""
        names = tuple(names)
        each, shared = lcm(*(self.of(name, put) for name in names)), [p for n in names for _, p in self.shared(n, put)]
        if not shared:
            return Admitted(each)
        common = 0 if any(part.denominator > 1 for part in shared) else gcd(*map(int, shared))
        if common > LARGEST:
            raise CheckError(f"the divisors of {common} are not listed")
        return Admitted(each, tuple(d for d in divisors(common) if d % each == 0))


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
