"""The second engine's own arithmetic: rational functions as quotients of sparse polynomials over Fraction.

It shares nothing with the algebra that finds the steps: no SymPy, no cancellation, no layout. Equality is
cross-multiplication. Roots, maxima and minima become opaque atoms that are described to the prover.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from math import comb, gcd, lcm

from symroof.errors import CheckError
from symroof.formula import Call, Figure, Formula, Name, Number, fold

Monomial = tuple[tuple[str, int], ...]
Poly = dict[Monomial, Fraction]
Rat = tuple[Poly, Poly]

ONE: Poly = {(): Fraction(1)}
# A fold that would exceed this many terms is refused: no derivation needs it.
LARGEST = 20_000


def add(a: Poly, b: Poly) -> Poly:
    total = dict(a)
    for m, c in b.items():
        total[m] = total.get(m, Fraction(0)) + c
    return {m: c for m, c in total.items() if c}


def scale(a: Poly, factor: Fraction) -> Poly:
    return {m: c * factor for m, c in a.items() if factor}


def times(a: Poly, b: Poly) -> Poly:
    if len(a) * len(b) > LARGEST:
        raise CheckError("the formula is too large to check")
    if a == ONE or b == ONE:
        return b if a == ONE else a
    total: Poly = {}
    for m, c in a.items():
        for n, d in b.items():
            key = join(m, n)
            total[key] = total.get(key, Fraction(0)) + c * d
    return {m: c for m, c in total.items() if c}


def join(m: Monomial, n: Monomial, sign: int = 1) -> Monomial:
    """The product of two monomials, or their quotient for ``sign`` = -1.

    >>> join((("B", 1),), (("B", 1), ("D", 2)))
    (('B', 2), ('D', 2))
    """
    powers = dict(m)
    for name, e in n:
        powers[name] = powers.get(name, 0) + sign * e
    return tuple(sorted((name, e) for name, e in powers.items() if e))


def primitive(a: Poly) -> Poly:
    """The polynomial over its positive content and common monomial: the same sign wherever the symbols are positive."""
    if not a:
        return a
    size = Fraction(gcd(*(abs(c.numerator) for c in a.values())), lcm(*(c.denominator for c in a.values())))
    common = {name: e for name, e in next(iter(a)) if not is_atom(name)}
    for m in a:
        powers = dict(m)
        common = {name: min(e, powers[name]) for name, e in common.items() if name in powers}
    shared = tuple(sorted(common.items()))
    return {join(m, shared, -1): c / size for m, c in a.items()}


def shifted(a: Poly, least_one: frozenset[str]) -> Poly:
    """The polynomial in x - 1 for every x that is at least 1."""
    for name in sorted({name for m in a for name, _ in m} & least_one):
        total: Poly = {}
        for m, c in a.items():
            e = dict(m).get(name, 0)
            rest = tuple((n, k) for n, k in m if n != name)
            for power in range(e + 1):
                key = join(rest, ((name, power),)) if power else rest
                total[key] = total.get(key, Fraction(0)) + c * comb(e, power)
        a = {m: c for m, c in total.items() if c}
    return a


def sign(a: Poly, least_one: frozenset[str], *, strict: bool = True) -> int | None:
    """The sign on the domain, told by coefficients; not ``strict``: 1 means >= 0 and -1 means <= 0."""
    if not a:
        return 0
    if any(is_atom(name) for name in names_in(a)):
        return None
    if (found := _one_sign(a)) is not None:
        return found
    joined = blocks(primitive(a), least_one)
    form = shifted(joined, least_one)
    positive_somewhere = any(not {n for n, _ in m} & least_one for m in form)
    return _one_sign(form) if positive_somewhere or not strict else None


def _one_sign(a: Poly) -> int | None:
    return next((side for side in (1, -1) if all(c * side > 0 for c in a.values())), None)


def blocks(a: Poly, least_one: frozenset[str]) -> Poly:
    """Sizes that occur only together are one size: a product of numbers from 1 is any number from 1.

    >>> blocks({(("B", 1), ("N", 1)): Fraction(2), (("D", 1),): Fraction(1)}, frozenset("BDN"))
    {(('B', 1),): Fraction(2, 1), (('D', 1),): Fraction(1, 1)}
    """
    columns: dict[tuple[int, ...], str] = {}
    gone = set()
    for name in sorted(names_in(a) & least_one):
        column = tuple(dict(m).get(name, 0) for m in a)
        if columns.setdefault(column, name) != name:
            gone.add(name)
    return {tuple((n, e) for n, e in m if n not in gone): c for m, c in a.items()}


def is_atom(name: str) -> bool:
    """Whether a name stands for a function whose sign is not known; roots and maxima of what is positive are."""
    return " " in name and not name.startswith("+")


def value_at(a: Poly, point: Mapping[str, Fraction]) -> Fraction:
    total = Fraction(0)
    for m, c in a.items():
        for name, e in m:
            c *= point[name] ** e
        total += c
    return total


def plus(a: Rat, b: Rat) -> Rat:
    (above, below), (n, d) = a, b
    return (add(above, n), below) if d == below else (add(times(above, d), times(n, below)), times(below, d))


def minus(a: Rat, b: Rat) -> Rat:
    return plus(a, (scale(b[0], Fraction(-1)), b[1]))


def put(sides: Rat, name: str, value: Rat) -> Rat:
    """A quotient of polynomials with a value for one of its names.

    >>> put(({(("x", 2),): Fraction(1)}, ONE), "x", ({(("y", 1),): Fraction(1)}, {(): Fraction(2)}))
    ({(('y', 2),): Fraction(1, 1)}, {(): Fraction(4, 1)})
    """
    (above, d), (below, e) = (_put(side, name, value) for side in sides)
    return (above, below) if d == e else (times(above, e), times(below, d))


def _put(a: Poly, name: str, value: Rat) -> Rat:
    """The polynomial times the denominator to its degree, and that power."""
    degree = max((dict(m).get(name, 0) for m in a), default=0)
    tops, bottoms = [ONE], [ONE]
    for _ in range(degree):
        tops.append(times(tops[-1], value[0]))
        bottoms.append(times(bottoms[-1], value[1]))
    total: Poly = {}
    for m, c in a.items():
        power = dict(m).get(name, 0)
        rest = {tuple((n, k) for n, k in m if n != name): c}
        total = add(total, times(times(rest, tops[power]), bottoms[degree - power]))
    return total, bottoms[degree]


def divided(a: Poly, b: Poly) -> Poly | None:
    """The polynomial q with a = b q, or None where b does not divide a.

    >>> x, one = (("x", 1),), Fraction(1)
    >>> divided({(("x", 2),): one, (): -one}, {x: one, (): one})
    {(('x', 1),): Fraction(1, 1), (): Fraction(-1, 1)}
    """
    names = sorted(names_in(a) | names_in(b))

    def order(m: Monomial) -> tuple[int, ...]:
        return tuple(dict(m).get(name, 0) for name in names)

    head = max(b, key=order)
    whole: Poly = {}
    while a:
        top = max(a, key=order)
        m = join(top, head, -1)
        if any(e < 0 for _, e in m):
            return None
        whole[m] = a[top] / b[head]
        a = add(a, times(b, {m: -whole[m]}))
    return whole


def names_in(a: Poly) -> set[str]:
    return {name for m in a for name, _ in m}


def _differ(a: Rat, b: Rat) -> bool:
    return a != b and bool(minus(a, b)[0])


def _names(arguments: tuple[Rat, ...]) -> set[str]:
    return {name for n, d in arguments for name in names_in(n) | names_in(d)}


@dataclass
class Exact:
    """Formulas to quotients of polynomials. Names in ``definitions`` are replaced; all others are free.

    >>> from symroof.formula import Product, Quotient, number
    >>> two = Exact({"x": Product((number(2), Name("B")))})
    >>> two.rational(Quotient(Name("x"), Name("D")))
    ({(('B', 1),): Fraction(2, 1)}, {(('D', 1),): Fraction(1, 1)})
    """

    definitions: Mapping[str, Formula]
    figures: Mapping[str, Fraction] = field(default_factory=dict)
    atoms: dict[str, tuple[str, tuple[Rat, ...]]] = field(default_factory=dict)
    known: dict[str, Rat] = field(default_factory=dict)

    def rational(self, formula: Formula) -> Rat:
        result: Rat = fold(formula, self)
        return result

    def number(self, node: Number) -> Rat:
        if node.digits is not None and node.unit is None and Fraction(node.digits) != node.value:
            raise CheckError(f"{node.digits} is not the value that it stands for")
        return ({(): node.value} if node.value else {}, ONE)

    def name(self, node: Name | Figure) -> Rat:
        if node.name not in self.definitions:
            return {((node.name, 1),): Fraction(1)}, ONE
        if node.name in self.known:
            return self.known[node.name]
        before = len(self.atoms)
        value = self.rational(self.definitions[node.name])
        if len(self.atoms) == before and not any(atom in names_in(side) for side in value for atom in self.atoms):
            self.known[node.name] = value
        return value

    def figure(self, node: Figure) -> Rat:
        """A figure that is shown by its digits: they have to be those of its value."""
        if self.figures.get(node.name) != Fraction(node.digits):
            raise CheckError(f"{node.digits} is not the value of {node.name}")
        return self.name(node)

    def sum(self, node: Formula, *terms: Rat) -> Rat:
        return reduce(plus, terms)

    def product(self, node: Formula, *factors: Rat) -> Rat:
        above, below = ONE, ONE
        for n, d in factors:
            above, below = times(above, n), times(below, d)
        return above, below

    def quotient(self, node: Formula, top: Rat, bottom: Rat) -> Rat:
        if not bottom[0]:
            raise CheckError("division by zero")
        return times(top[0], bottom[1]), times(top[1], bottom[0])

    def power(self, node: Formula, base: Rat, exponent: Rat) -> Rat:
        if exponent[0].keys() - {()} or exponent[1].keys() - {()}:
            raise CheckError("only whole powers are checked")
        value = exponent[0].get((), Fraction(0)) / exponent[1][()]
        if value.denominator != 1 or abs(value) > 64:
            raise CheckError("only whole powers are checked")
        base = base if value >= 0 else (base[1], base[0])
        return self.product(node, *[base] * abs(int(value)))

    def negative(self, node: Formula, body: Rat) -> Rat:
        return scale(body[0], Fraction(-1)), body[1]

    def group(self, node: Formula, body: Rat) -> Rat:
        return body

    written = group

    def call(self, node: Call, *arguments: Rat) -> Rat:
        if node.function in ("max", "min") and all(side.keys() <= {()} for sides in arguments for side in sides):
            values = [n.get((), Fraction(0)) / d[()] for n, d in arguments]
            return {(): max(values) if node.function == "max" else min(values)}, ONE
        for atom, (function, known) in self.atoms.items():
            if function == node.function and len(known) == len(arguments) and not any(map(_differ, known, arguments)):
                return {((atom, 1),): Fraction(1)}, ONE
        signs = [all(c > 0 for c in (*n.values(), *d.values())) and bool(n) for n, d in arguments]
        positive = all(signs) and node.function in ("max", "min", "sqrt") and not any(map(is_atom, _names(arguments)))
        atom = f"{'+' if positive else ''}{node.function} {len(self.atoms)}"
        self.atoms[atom] = (node.function, arguments)
        return {((atom, 1),): Fraction(1)}, ONE

    def difference(self, left: Formula, right: Formula) -> Rat:
        return minus(self.rational(left), self.rational(right))
