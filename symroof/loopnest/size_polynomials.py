"""Polynomials in sizes, exact, and what is decided of them for all sizes at once.

A size is 1 or more. Exponents may be negative, as in ``c = B*k/E``: products and sums of sizes, divided by products of
sizes. An :class:`Order` decides which of two polynomials is less for all sizes, from coefficients alone and from facts
about sizes (S is T or more). It proves or it refuses: a case that sizes leave open is never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache

from sympy import Expr

from symroof.errors import AlgebraError
from symroof.symbols import fraction

Number = int | Fraction
# The sizes of a product with their exponents, by name: B^2*D is (("B", 2), ("D", 1)).
Monomial = tuple[tuple[str, int], ...]


@lru_cache(maxsize=65536)
def _product(one: Monomial, other: Monomial) -> Monomial:
    exponents = dict(one)
    for name, exponent in other:
        exponents[name] = exponents.get(name, 0) + exponent
    return tuple(sorted((name, exponent) for name, exponent in exponents.items() if exponent))


class Polynomial:
    """A sum of monomials with rational coefficients; equal where the terms are.

    >>> B, F = size("B"), size("F")
    >>> (B + F) ** 2 - F * F, B * 6 / F, B - B == 0
    (2*B*F + B^2, 6*B*F^-1, True)
    """

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Monomial, Number]) -> None:
        self.terms = {monomial: c for monomial, c in terms.items() if c}
        self._hash: int | None = None

    def __add__(self, other: Polynomial | Number) -> Polynomial:
        terms = dict(self.terms)
        for monomial, c in polynomial(other).terms.items():
            terms[monomial] = terms.get(monomial, 0) + c
        return Polynomial(terms)

    def __mul__(self, other: Polynomial | Number) -> Polynomial:
        terms: dict[Monomial, Number] = {}
        for one, c in self.terms.items():
            for two, d in polynomial(other).terms.items():
                both = _product(one, two)
                terms[both] = terms.get(both, 0) + c * d
        return Polynomial(terms)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Polynomial:
        return Polynomial({monomial: -c for monomial, c in self.terms.items()})

    def __sub__(self, other: Polynomial | Number) -> Polynomial:
        return self + -polynomial(other)

    def __rsub__(self, other: Polynomial | Number) -> Polynomial:
        return polynomial(other) - self

    def __truediv__(self, other: Polynomial | Number) -> Polynomial:
        """The quotient by one monomial; raises :class:`~symroof.errors.AlgebraError` for a sum of them."""
        return _quotient(self, polynomial(other))

    def __pow__(self, exponent: int) -> Polynomial:
        power = ONE
        for _ in range(abs(exponent)):
            power = power * self
        return power if exponent >= 0 else ONE / power

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial | int | Fraction) and self.terms == polynomial(other).terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def at(self, sizes: Mapping[str, Number]) -> Number:
        """Its value where every size has one.

        >>> (size("B") * 3 / size("E")).at({"B": 4, "E": 8})
        Fraction(3, 2)
        """
        total: Number = 0
        for monomial, c in self.terms.items():
            for name, exponent in monomial:
                c = c * sizes[name] ** exponent if exponent > 0 else Fraction(c) / sizes[name] ** -exponent
            total += c
        return total

    def put(self, values: Mapping[str, Polynomial]) -> Polynomial:
        """Polynomials put in for some sizes."""
        total = ZERO
        for monomial, c in self.terms.items():
            term = Polynomial({(): c})
            for name, exponent in monomial:
                term = term * values.get(name, size(name)) ** exponent
            total = total + term
        return total

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for monomial in self.terms for name, _ in monomial)

    @property
    def whole(self) -> bool:
        """Whether its terms say that it is a whole number for all whole sizes.

        >>> (size("B") * 2).whole, (size("B") / 2).whole, (size("B") / size("E")).whole
        (True, False, False)
        """
        return all(c == int(c) and all(e > 0 for _, e in monomial) for monomial, c in self.terms.items())

    def __repr__(self) -> str:
        shown = []
        for monomial, c in sorted(self.terms.items(), key=lambda term: (-sum(e for _, e in term[0]), term[0])):
            factors = [name if exponent == 1 else f"{name}^{exponent}" for name, exponent in monomial]
            number = "" if abs(c) == 1 and factors else str(abs(c))
            shown.append(("- " if c < 0 else "+ ") + "*".join(filter(None, (number, *factors))))
        text = " ".join(shown) or "0"
        return text.removeprefix("+ ") if text[0] != "-" else "-" + text.removeprefix("- ")


@lru_cache(maxsize=65536)
def _quotient(above: Polynomial, below: Polynomial) -> Polynomial:
    if len(below.terms) != 1:
        raise AlgebraError(f"{above} is divided by {below}", expected="a product of sizes below the line")
    ((monomial, c),) = below.terms.items()
    inverse = tuple((name, -exponent) for name, exponent in monomial)
    quotients = ((_product(m, inverse), Fraction(d) / c) for m, d in above.terms.items())
    return Polynomial({m: q.numerator if q.denominator == 1 else q for m, q in quotients})


ZERO, ONE = Polynomial({}), Polynomial({(): 1})


def polynomial(value: Polynomial | Number) -> Polynomial:
    """A number as a polynomial, and a polynomial as it is."""
    return value if isinstance(value, Polynomial) else Polynomial({(): value})


@lru_cache(maxsize=4096)
def size(name: str) -> Polynomial:
    """The polynomial that one size is."""
    return Polynomial({((name, 1),): 1})


def polynomial_of(value: Expr) -> Polynomial:
    """The polynomial that a SymPy expression is; raises :class:`~symroof.errors.AlgebraError` for another function.

    >>> from symroof.symbols import symbol
    >>> polynomial_of(symbol("B") * (symbol("F") + 1) / 2)
    1/2*B*F + 1/2*B
    >>> polynomial_of(symbol("B") ** symbol("F"))
    Traceback (most recent call last):
    symroof.errors.AlgebraError: B**F is no polynomial in sizes
      expected sums and products of sizes, divided by products of sizes
    """
    if value.is_Symbol:
        return size(value.name)
    if value.is_Rational:
        return polynomial(fraction(value))
    if value.is_Pow and value.exp.is_Integer:
        return polynomial_of(value.base) ** int(value.exp)
    if value.is_Add or value.is_Mul:
        return (total if value.is_Add else product)(map(polynomial_of, value.args))
    raise AlgebraError(
        f"{value} is no polynomial in sizes", expected="sums and products of sizes, divided by products of sizes"
    )


def total(values: Iterable[Polynomial]) -> Polynomial:
    """The sum of polynomials."""
    sum_of_all = ZERO
    for value in values:
        sum_of_all = sum_of_all + value
    return sum_of_all


def product(values: Iterable[Polynomial]) -> Polynomial:
    """The product of polynomials."""
    product_of_all = ONE
    for value in values:
        product_of_all = product_of_all * value
    return product_of_all


class Order:
    """What is less than what, for all sizes of 1 or more at which each of the ``facts`` is 0 or more.

    A polynomial is known to be 0 or more where it has no negative coefficient once every size is written as 1 and what
    is beyond it; a fact with a size S alone on one side puts in what S is at least, and what is beyond that.

    >>> S, T = size("S"), size("T")
    >>> Order().nonnegative(S * T - S), Order().nonnegative(S - T), Order((S - T,)).nonnegative(S - T)
    (True, False, True)
    >>> Order().least(S, T)
    Traceback (most recent call last):
    symroof.errors.AlgebraError: nobody says which is less for all sizes, S or T
      expected a fact about sizes that decides it: where S <= T, or S >= T
    """

    def __init__(self, facts: Iterable[Polynomial] = ()) -> None:
        self.facts = tuple(facts)
        self._beyond: dict[str, Polynomial] = {}
        for fact in self.facts:
            self._put_in(fact.put(self._beyond) if self._can_be_put(fact) else fact)
        self._known: dict[Polynomial, bool] = {}

    def _can_be_put(self, fact: Polynomial) -> bool:
        divided = {name for monomial in fact.terms for name, exponent in monomial if exponent < 0}
        return divided.isdisjoint(self._beyond)

    def _put_in(self, fact: Polynomial) -> None:
        """Of a fact S - rest >= 0 the size S: it is the rest and what is beyond that."""
        for name in sorted(fact.names):
            alone = fact.terms.get(((name, 1),)) == 1
            rest = size(name) - fact
            if alone and name not in rest.names and name not in self._beyond and not name.startswith("+"):
                known = {name: rest + size(f"+{name}")}
                self._beyond = {other: value.put(known) for other, value in self._beyond.items()} | known
                return

    def nonnegative(self, value: Polynomial) -> bool:
        """Whether it is known to be 0 or more for all sizes."""
        if value not in self._known:
            self._known[value] = self._decided(value) or any(self._decided(value - fact) for fact in self.facts)
        return self._known[value]

    def _decided(self, value: Polynomial) -> bool:
        if all(c >= 0 for c in value.terms.values()):
            return True
        lowest: dict[str, int] = {}
        for monomial in value.terms:
            for name, exponent in monomial:
                lowest[name] = min(lowest.get(name, 0), exponent)
        whole = value * Polynomial({tuple((name, -e) for name, e in sorted(lowest.items()) if e): 1})
        bounded = whole.put(self._beyond) if self._beyond else whole
        shifted = bounded.put({name: size(name) + 1 for name in bounded.names if not name.startswith("+")})
        return all(c >= 0 for c in shifted.terms.values())

    def at_least(self, one: Polynomial, other: Polynomial) -> bool:
        """Whether one is known to be the other or more."""
        return one == other or self.nonnegative(one - other)

    def least(self, one: Polynomial, other: Polynomial) -> Polynomial:
        """The lesser of two; raises :class:`~symroof.errors.AlgebraError` where sizes leave it open."""
        if self.at_least(other, one):
            return one
        if self.at_least(one, other):
            return other
        raise AlgebraError(
            f"nobody says which is less for all sizes, {one} or {other}",
            expected=f"a fact about sizes that decides it: where {one} <= {other}, or {one} >= {other}",
        )

    def most(self, one: Polynomial, other: Polynomial) -> Polynomial:
        """The greater of two."""
        return one + other - self.least(one, other)
