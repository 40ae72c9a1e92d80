"""The second engine's own arithmetic: sparse polynomials over Fraction, and their quotients.

It shares nothing with the algebra that finds the steps: no SymPy, no cancellation, no layout. Equality is
cross-multiplication.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from fractions import Fraction
from functools import lru_cache, reduce
from math import comb, gcd, lcm
from operator import mul

from symroof.errors import CheckError
from symroof.formula import Frozen

Monomial = tuple[tuple[str, int], ...]

# A product that would exceed this many terms is refused: no derivation needs it.
LARGEST = 20_000
UNIT = Fraction(1)


@lru_cache(maxsize=1 << 16)
def join(m: Monomial, n: Monomial, sign: int = 1) -> Monomial:
    """The product of two monomials, or their quotient for ``sign`` = -1.

    >>> join((("B", 1),), (("B", 1), ("D", 2)))
    (('B', 2), ('D', 2))
    """
    powers = dict(m)
    for name, e in n:
        powers[name] = powers.get(name, 0) + sign * e
    return tuple(sorted((name, e) for name, e in powers.items() if e))


def times(c: Fraction, d: Fraction) -> Fraction:
    """The product of two coefficients; most are 1, and Fraction does not look."""
    return d if c == 1 else c if d == 1 else c * d


def power_product(parts: Iterable[tuple[Monomial, Fraction]]) -> dict[str, Fraction]:
    """The exponents of a product of monomials, each to a rational power; none of them 0."""
    powers: dict[str, Fraction] = {}
    for m, weight in parts:
        for name, e in m:
            powers[name] = powers.get(name, Fraction(0)) + weight * e
    return {name: e for name, e in powers.items() if e}


class Poly(dict[Monomial, Fraction]):
    """A polynomial: the coefficients of its monomials, without those that are 0.

    >>> x = Poly.name("x")
    >>> (x + ONE) * (x - ONE) == x**2 - ONE
    True
    """

    @classmethod
    def name(cls, name: str) -> Poly:
        return cls({((name, 1),): UNIT})

    @classmethod
    def number(cls, value: Fraction) -> Poly:
        return cls({(): value} if value else {})

    @classmethod
    def added(cls, terms: Iterable[tuple[Monomial, Fraction]]) -> Poly:
        """The sum of the terms."""
        total: dict[Monomial, Fraction] = {}
        for m, c in terms:
            total[m] = total[m] + c if m in total else c
        return cls({m: c for m, c in total.items() if c})

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __add__(self, other: Poly) -> Poly:
        return Poly.added((*self.items(), *other.items()))

    def __sub__(self, other: Poly) -> Poly:
        return self + -other

    def __neg__(self) -> Poly:
        return Poly({m: -c for m, c in self.items()})

    def __mul__(self, other: Poly | Fraction) -> Poly:
        if not isinstance(other, Poly):
            return Poly({m: times(c, other) for m, c in self.items()} if other else {})
        if len(self) * len(other) > LARGEST:
            raise CheckError("the formula is too large to check")
        if len(self) == 1 or len(other) == 1:  # no two products of terms meet
            return Poly({join(m, n): times(c, d) for m, c in self.items() for n, d in other.items()})
        return Poly.added((join(m, n), times(c, d)) for m, c in self.items() for n, d in other.items())

    def __pow__(self, exponent: int) -> Poly:
        return reduce(mul, [self] * exponent, ONE)

    @property
    def names(self) -> set[str]:
        return {name for m in self for name, _ in m}

    def in_powers_of(self, name: str) -> dict[int, Poly]:
        """What each power of the name is multiplied with.

        >>> (Poly.name("x") * Poly.name("y") + ONE).in_powers_of("x")
        {1: {(('y', 1),): Fraction(1, 1)}, 0: {(): Fraction(1, 1)}}
        """
        parts: dict[int, Poly] = {}
        for m, c in self.items():
            rest = tuple(factor for factor in m if factor[0] != name)
            parts.setdefault(dict(m).get(name, 0), Poly())[rest] = c
        return parts

    def degree(self, name: str) -> int:
        return max(self.in_powers_of(name), default=0)

    def partial(self, name: str) -> Poly:
        """The derivative in the name, all others being constants."""
        powers = self.in_powers_of(name).items()
        return sum((part * Poly.name(name) ** (e - 1) * Fraction(e) for e, part in powers if e), Poly())

    def put(self, name: str, value: Rat) -> Rat:
        """The polynomial with a quotient for the name."""
        degree = self.degree(name)
        powers = self.in_powers_of(name).items()
        terms = (part * value.above**e * value.below ** (degree - e) for e, part in powers)
        return Rat(sum(terms, Poly()), value.below**degree)

    def raised(self, name: str) -> Poly:
        """The polynomial with 1 added to the name.

        >>> x = Poly.name("x")
        >>> (x**2 - x).raised("x") == x**2 + x
        True
        """
        terms: list[tuple[Monomial, Fraction]] = []
        for m, c in self.items():
            place = next((i for i, factor in enumerate(m) if factor[0] == name), None)
            if place is None:
                terms.append((m, c))
                continue
            before, (_, e), after = m[:place], m[place], m[place + 1 :]
            terms.append((before + after, c))
            terms += (((*before, (name, i), *after), c * comb(e, i)) for i in range(1, e + 1))
        return Poly.added(terms)

    def over(self, other: Poly) -> Poly | None:
        """The quotient of polynomials where it is one, else None.

        >>> x, y = Poly.name("x"), Poly.name("y")
        >>> (x**2 - y**2).over(x - y) == x + y, (x**2 + y**2).over(x - y)
        (True, None)
        """
        names = sorted(self.names | other.names)

        def order(m: Monomial) -> tuple[int, ...]:
            return tuple(dict(m).get(name, 0) for name in names)

        first, rest, quotient = max(other, key=order), self, Poly()
        while rest:
            top = max(rest, key=order)
            m = join(top, first, -1)
            if any(e < 0 for _, e in m):
                return None
            term = Poly({m: rest[top] / other[first]})
            rest, quotient = rest - term * other, quotient + term
        return quotient

    def primitive(self) -> Poly:
        """The polynomial over its content and common monomial: the same sign wherever all names are positive."""
        if not self:
            return self
        size = Fraction(gcd(*(abs(c.numerator) for c in self.values())), lcm(*(c.denominator for c in self.values())))
        first, *others = map(dict, self)
        shared = {
            n: min(e, *(m.get(n, 0) for m in others)) if others else e for n, e in first.items() if not is_atom(n)
        }
        return Poly({join(m, tuple(shared.items()), -1): c / size for m, c in self.items()})

    def at(self, point: Mapping[str, Fraction]) -> Fraction:
        total = Fraction(0)
        for m, c in self.items():
            for name, e in m:
                c = times(c, point[name] if e == 1 else point[name] ** e)
            total += c
        return total


ONE = Poly.number(Fraction(1))


class Rat(Frozen, often=True):
    """A quotient of polynomials, with the denominators as they come: nothing is cancelled. ``factors`` multiply to the
    denominator, where it is known of what it was made.

    >>> x, y = Rat(Poly.name("x")), Rat(Poly.name("y"))
    >>> [len(value.divisors) for value in (x, x / (x + y) / y, x / y - y / x)]
    [1, 2, 2]
    """

    above: Poly
    below: Poly = ONE
    factors: tuple[Poly, ...] = field(default=(), compare=False, repr=False)

    @property
    def divisors(self) -> tuple[Poly, ...]:
        return self.factors or (self.below,)

    def __add__(self, other: Rat) -> Rat:
        if self.below == other.below:
            return Rat(self.above + other.above, self.below, self.factors)
        return Rat(self.above * other.below + other.above * self.below, self.below * other.below, self._both(other))

    def _both(self, other: Rat) -> tuple[Poly, ...]:
        return tuple(factor for factor in (*self.divisors, *other.divisors) if factor != ONE)

    def __sub__(self, other: Rat) -> Rat:
        return self + -other

    def __neg__(self) -> Rat:
        return Rat(-self.above, self.below, self.factors)

    def __mul__(self, other: Rat) -> Rat:
        if self.below == ONE == other.below and not self.factors and not other.factors:
            return Rat(self.above * other.above)
        return Rat(self.above * other.above, self.below * other.below, self._both(other))

    def __truediv__(self, other: Rat) -> Rat:
        if not other.above:
            raise CheckError("division by zero")
        return Rat(self.above * other.below, self.below * other.above, self._both(Rat(ONE, other.above)))

    @property
    def names(self) -> set[str]:
        return self.above.names | self.below.names

    @property
    def constant(self) -> Fraction | None:
        """The number that it is, whatever its names: one side is a multiple of the other. None for anything else."""
        first = next(iter(self.below))
        factor = self.above.get(first, Fraction(0)) / self.below[first]
        return None if self.above - self.below * factor else factor

    def at(self, point: Mapping[str, Fraction]) -> Fraction:
        """The number that it is at a point."""
        return self.above.at(point) / self.below.at(point)

    def is_zero(self) -> bool:
        return not self.above

    def put(self, name: str, value: Rat) -> Rat:
        """The quotient with another for one of its names."""
        above, below = self.above.put(name, value), self.below.put(name, value)
        if above.below == below.below:
            return Rat(above.above, below.above)
        return Rat(above.above * below.below, above.below * below.above)

    def partial(self, name: str) -> Rat:
        """The derivative in the name, all others being constants."""
        rise = self.above.partial(name) * self.below - self.above * self.below.partial(name)
        return Rat(rise, self.below**2)


def is_atom(name: str) -> bool:
    """Whether a name stands for a function whose sign is not known; roots and maxima of what is positive are."""
    return " " in name and not name.startswith("+")
