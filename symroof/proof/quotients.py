"""Formulas as quotients of polynomials, and signs told by coefficients.

Roots, maxima and minima become opaque atoms that are described to the prover.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, reduce
from math import ceil, floor, isqrt, prod
from operator import add, mul

from symroof.errors import CheckError
from symroof.formula import Call, Compare, Figure, Formula, Name, Number, fold, names, number, several_of
from symroof.proof.polynomials import ONE, Poly, Rat, is_atom, join

ORDER = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
COMPARISONS = {**ORDER, "=": operator.eq}
TWO = Rat(ONE + ONE)
PRIMES = tuple(n for n in range(2, 100) if all(n % k for k in range(2, n)))


# Powers of ten in a letter behind a number.
LETTERS = {"k": 3, "K": 3, "M": 6, "B": 9, "T": 12}


def _value_of_digits(digits: str) -> Fraction:
    """What digits in print are: 2B is two billion."""
    return Fraction(digits.rstrip("".join(LETTERS)).replace("_", "")) * 10 ** LETTERS.get(digits[-1:], 0)


@dataclass
class Quotients:
    """Formulas to quotients of polynomials. Names in ``definitions`` are replaced; all others are free.

    Those in ``least_one`` are at least 1, some of them above; all others are above 0.

    >>> from symroof.formula import Product, Quotient, number
    >>> two = Quotients({"x": Product((number(2), Name("B")))})
    >>> two.rational(Quotient(Name("x"), Name("D")))
    Rat(above={(('B', 1),): Fraction(2, 1)}, below={(('D', 1),): Fraction(1, 1)})
    """

    definitions: Mapping[str, Formula] = field(default_factory=dict)
    least_one: frozenset[str] = frozenset()
    figures: Mapping[str, Fraction] = field(default_factory=dict)
    atoms: dict[str, tuple[str, tuple[Rat, ...]]] = field(default_factory=dict)
    values: dict[str, Rat] = field(default_factory=dict)

    def rational(self, formula: Formula) -> Rat:
        result: Rat = fold(formula, self)
        return result

    def size(self, label: str) -> Rat:
        """The length of a dimension: the size of that name, or a number."""
        return self.rational(number(int(label)) if label.isdigit() else Name(label))

    def sizes(self, labels: Iterable[str]) -> Rat:
        """The number of places of loops over labels."""
        return reduce(mul, map(self.size, labels), Rat(ONE))

    def difference(self, left: Formula, right: Formula) -> Rat:
        return self.rational(left) - self.rational(right)

    def number(self, node: Number) -> Rat:
        if node.digits is not None and node.unit is None and _value_of_digits(node.digits) != node.value:
            raise CheckError(f"{node.digits} is not the value that it stands for")
        return Rat(Poly.number(node.value))

    def name(self, node: Name | Figure) -> Rat:
        if node.name not in self.definitions:
            return variable(node.name)
        if node.name in self.values:
            return self.values[node.name]
        before = len(self.atoms)
        value = self.rational(self.definitions[node.name])
        if len(self.atoms) == before and not value.names & self.atoms.keys():
            self.values[node.name] = value
        return value

    def figure(self, node: Figure) -> Rat:
        """A figure that is shown by its digits: they have to be those of its value."""
        if self.figures.get(node.name) != Fraction(node.digits):
            raise CheckError(f"{node.digits} is not the value of {node.name}")
        return self.name(node)

    def sum(self, node: Formula, *terms: Rat) -> Rat:
        return reduce(add, terms)

    def product(self, node: Formula, *factors: Rat) -> Rat:
        return reduce(mul, factors) if factors else Rat(ONE)

    def quotient(self, node: Formula, above: Rat, below: Rat) -> Rat:
        return above / below

    def power(self, node: Formula, base: Rat, exponent: Rat) -> Rat:
        value = None if exponent.names else exponent.constant
        if value is None or value.denominator != 1 or abs(value) > 64:
            raise CheckError("only whole powers are checked")
        return self.product(node, *[base if value >= 0 else Rat(ONE) / base] * abs(int(value)))

    def negative(self, node: Formula, body: Rat) -> Rat:
        return -body

    def group(self, node: Formula, body: Rat) -> Rat:
        return body

    written = group

    def call(self, node: Call, *arguments: Rat) -> Rat:
        values = [value for a in arguments if not a.names and (value := a.constant) is not None]
        if node.function in ("max", "min") and len(values) == len(arguments):
            return Rat(Poly.number(max(values) if node.function == "max" else min(values)))
        if node.function in OF_NUMBERS and values and len(arguments) == 1:
            result = OF_NUMBERS[node.function](values[0])
            if result is not None:
                return Rat(Poly.number(Fraction(result)))
        if node.function in ("log", "log2") and len(arguments) == 1:
            return self._log(arguments[0]) / (self._log(TWO) if node.function == "log2" else Rat(ONE))
        return self._atom(node.function, arguments)

    def _atom(self, function: str, arguments: tuple[Rat, ...]) -> Rat:
        """The name of a function of some arguments, the same one for the same arguments; in any order where that is all
        one."""
        for atom, (other, atom_arguments) in self.atoms.items():
            if other == function and len(atom_arguments) == len(arguments):
                rest = list(atom_arguments)
                for argument in arguments:
                    place = next((i for i, candidate in enumerate(rest) if (candidate - argument).is_zero()), None)
                    if place is None or (place and function not in ("max", "min")):
                        break
                    del rest[place]
                if not rest:
                    return Rat(Poly.name(atom))
        enough = {"max": any, "min": all, "sqrt": all}.get(function)
        positive = enough is not None and enough(map(self.is_positive, arguments))
        if function == "log" and (value := arguments[0].constant) is not None:
            positive = value > 1
        atom = f"{'+' if positive else ''}{function} {len(self.atoms)}"
        self.atoms[atom] = (function, arguments)
        return Rat(Poly.name(atom))

    def _log(self, value: Rat) -> Rat:
        """The logarithm of a product of what is positive, as a sum over its factors; of anything else as it stands."""
        if not self.is_positive(value) or any(map(is_atom, value.names)):
            return self._atom("log", (value,))
        side = Fraction(self.sign(value.below) or 1)
        powers = [*_factors(value.above * side), *((factor, -e) for factor, e in _factors(value.below * side))]
        terms = (self._atom("log", (Rat(factor),)) * Rat(Poly.number(Fraction(e))) for factor, e in powers)
        return reduce(add, terms, Rat(Poly()))

    def sign(self, poly: Poly, *, strict: bool = True) -> int | None:
        """The sign on the domain, told by coefficients; not ``strict``: 1 means >= 0 and -1 means <= 0."""
        if not poly:
            return 0
        if any(map(is_atom, poly.names)):
            return None
        if (result := _sign(poly)) is not None:
            return result
        form = blocks(poly.primitive(), self.least_one)
        if _has_both_signs(form, self.least_one):
            return None
        for name in form.names & self.least_one:
            form = form.raised(name)
        may_vanish = self.least_one - several_of(self.least_one)
        positive_somewhere = any(may_vanish.isdisjoint(n for n, _ in m) for m in form)
        return _sign(form) if positive_somewhere or not strict else None

    def side(self, value: Rat) -> int | None:
        """The sign of the denominator, told by those of its factors where they have one."""
        sides = {factor: self.sign(factor) for factor in value.divisors}
        if all(sides.values()):
            return prod(sides[factor] or 0 for factor in value.divisors)
        vanishes = any(not side and _has_both_signs(factor, self.least_one) for factor, side in sides.items())
        return None if vanishes else self.sign(value.below)

    def is_positive(self, value: Rat, *, strict: bool = True) -> bool:
        """Whether n/d > 0 on the domain, or n/d >= 0, told by coefficients; False where they do not tell."""
        side = self.side(value)
        if not side:
            return False
        return self.sign(value.above * Fraction(side), strict=strict) in ((1,) if strict else (0, 1))

    def cleared(self, difference: Rat) -> Poly | None:
        """The numerator, turned so that the denominator is positive; None where its sign is not known."""
        side = self.side(difference)
        return difference.above * Fraction(side) if side else None

    def normal(self, formula: Formula) -> tuple[Poly, bool] | None:
        """An order as one primitive polynomial that is above 0 (True) or at least 0; None for anything else."""
        if not isinstance(formula, Compare) or formula.relation not in ORDER:
            return None
        turned = self.cleared(self.difference(formula.left, formula.right))
        if turned is None or self.atoms:
            return None
        return (-turned if formula.relation[0] == "<" else turned).primitive(), len(formula.relation) == 1


def rational_root(value: Fraction) -> Fraction | None:
    """The root of a number that has a rational one."""
    root = Fraction(isqrt(max(value.numerator, 0)), isqrt(value.denominator))
    return root if root * root == value else None


# What functions make of a number; None where that is none of ours.
OF_NUMBERS: Mapping[str, Callable[[Fraction], Fraction | int | None]] = {
    "floor": floor,
    "ceil": ceil,
    "abs": abs,
    "sqrt": rational_root,
}


@lru_cache(maxsize=4096)
def variable(name: str) -> Rat:
    return Rat(Poly.name(name))


def _factors(poly: Poly) -> Iterator[tuple[Poly, int]]:
    """The small primes, the names and the rest whose powers multiply to a polynomial that is above 0.

    >>> x, y = Poly.name("x"), Poly.name("y")
    >>> [(one == x, e) for one, e in _factors(x * x * (y + ONE) * Fraction(3, 4))]
    [(False, 1), (False, -2), (True, 2), (False, 1)]
    """
    rest = poly.primitive()
    (m, c), (n, d) = next(iter(poly.items())), next(iter(rest.items()))
    for size, sign in (((c / d).numerator, 1), ((c / d).denominator, -1)):
        for prime in PRIMES:
            power = 0
            while size % prime == 0:
                size, power = size // prime, power + sign
            if power:
                yield Poly.number(Fraction(prime)), power
        if size != 1:
            yield Poly.number(Fraction(size)), sign
    yield from ((Poly.name(name), e) for name, e in join(m, n, -1))
    if rest != ONE:
        yield rest, 1


def _sign(poly: Poly) -> int | None:
    return next((side for side in (1, -1) if all(c * side > 0 for c in poly.values())), None)


def _has_both_signs(poly: Poly, least_one: frozenset[str]) -> bool:
    """Whether a polynomial has both signs on the domain: it has at the corners of it that are tried.

    >>> B, R = map(Poly.name, "BR")
    >>> [_has_both_signs(poly, frozenset("B")) for poly in (B - R, B - ONE)]
    [True, False]
    """
    names = poly.names
    low, high = Fraction(1), Fraction(1 << 20)
    points = ({n: a if n in least_one else b for n in names} for a in (low, high) for b in (1 / high, low, high))
    values = [poly.at(point) for point in points]
    return min(values) < 0 < max(values)


def blocks(poly: Poly, least_one: frozenset[str]) -> Poly:
    """Sizes that occur only together are one size: a product of numbers from 1 is any number from 1.

    >>> B, D, N = map(Poly.name, "BDN")
    >>> blocks(B * N + D, frozenset("BDN")) == B + D
    True
    >>> from symroof.formula import Sizes
    >>> [len(blocks(B * N + D, sizes).names) for sizes in (frozenset("BD"), frozenset("DN"), Sizes("BD", several="N"))]
    [3, 3, 3]
    """
    columns: dict[tuple[int, ...], str] = {}
    gone = set()
    for name in sorted(poly.names & least_one - several_of(least_one)):
        column = tuple(dict(m).get(name, 0) for m in poly)
        if columns.setdefault(column, name) != name:
            gone.add(name)
    return Poly({tuple(factor for factor in m if factor[0] not in gone): c for m, c in poly.items()})


def free_names(formula: Formula, exact: Quotients) -> set[str]:
    """The names that a formula comes down to, with the definitions put in."""
    result: set[str] = set()
    for name in names(formula):
        result |= free_names(exact.definitions[name], exact) if name in exact.definitions else {name}
    return result
