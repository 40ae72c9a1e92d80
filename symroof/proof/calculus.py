"""Limits, derivatives and sums, decided again on quotients of polynomials.

A limit is read off the highest powers of the variable. A derivative is worked out with dual numbers: every node of the
tree gives its value and its slope. A sum is right if it telescopes: S(n) - S(n - 1) is the n-th term, and S is 0 before
the first.
"""

from __future__ import annotations

from fractions import Fraction

from symroof.errors import CheckError
from symroof.formula import Call, Figure, Formula, Infinity, Name, Number, fold
from symroof.proof.exact import ONE, Exact, Poly, Rat, add, minus, plus, primitive, put, scale, sign, times

ZERO: Rat = ({}, ONE)


def tends(value: Rat, name: str, limit: Formula, exact: Exact, least_one: frozenset[str]) -> bool:
    """Whether a quotient of polynomials tends to the limit as the name grows and all others stay what they are."""
    above, below = value
    leading = _leading(below, name)
    if isinstance(limit, Infinity):
        leads = sign(_leading(above, name), least_one)
        return bool(leads) and leads == sign(leading, least_one) and degree(above, name) > degree(below, name)
    n, d = exact.rational(limit)
    if degree(n, name) > 0 or degree(d, name) > 0:
        return False
    # what the highest power is multiplied with is not 0, or is 0 only where the limit is written with a division by 0
    apart = sign(leading, least_one) and sign(d, least_one)
    if not apart and primitive(leading) not in (primitive(d), primitive(scale(d, Fraction(-1)))):
        return False
    gap = minus(value, (n, d))[0]
    return not gap or degree(gap, name) < degree(times(below, d), name)


def degree(a: Poly, name: str) -> int:
    return max((dict(m).get(name, 0) for m in a), default=0)


def _leading(a: Poly, name: str) -> Poly:
    """The terms with the highest power of the name, without that power."""
    power = degree(a, name)
    return {tuple(p for p in m if p[0] != name): c for m, c in a.items() if dict(m).get(name, 0) == power}


def slope(formula: Formula, name: str, exact: Exact) -> Rat:
    """The derivative of a formula in a name.

    >>> from symroof.formula import Product
    >>> slope(Product((Name("x"), Name("x"))), "x", Exact({}))
    ({(('x', 1),): Fraction(2, 1)}, {(): Fraction(1, 1)})
    """
    dual: tuple[Rat, Rat] = fold(formula, _Dual(name, exact))
    return dual[1]


class _Dual:
    """A value and its slope, node by node."""

    def __init__(self, variable: str, exact: Exact) -> None:
        self.variable, self.exact = variable, exact

    def number(self, node: Number) -> tuple[Rat, Rat]:
        return self.exact.number(node), ZERO

    def name(self, node: Name | Figure) -> tuple[Rat, Rat]:
        if node.name in self.exact.definitions:
            raise CheckError("a derivative is taken of a formula without definitions")
        return self.exact.name(node), (ONE, ONE) if node.name == self.variable else ZERO

    figure = name

    def sum(self, node: Formula, *terms: tuple[Rat, Rat]) -> tuple[Rat, Rat]:
        total = terms[0]
        for value, rise in terms[1:]:
            total = plus(total[0], value), plus(total[1], rise)
        return total

    def product(self, node: Formula, *factors: tuple[Rat, Rat]) -> tuple[Rat, Rat]:
        total: tuple[Rat, Rat] = (ONE, ONE), ZERO
        for value, rise in factors:
            total = _times(total[0], value), plus(_times(total[0], rise), _times(total[1], value))
        return total

    def quotient(self, node: Formula, top: tuple[Rat, Rat], bottom: tuple[Rat, Rat]) -> tuple[Rat, Rat]:
        inverse = self.exact.quotient(node, (ONE, ONE), bottom[0])
        rise = minus(_times(top[1], bottom[0]), _times(top[0], bottom[1]))
        return _times(top[0], inverse), _times(rise, _times(inverse, inverse))

    def power(self, node: Formula, base: tuple[Rat, Rat], exponent: tuple[Rat, Rat]) -> tuple[Rat, Rat]:
        value = self.exact.power(node, base[0], exponent[0])
        lower = self.exact.power(node, base[0], minus(exponent[0], (ONE, ONE)))
        return value, _times(_times(exponent[0], lower), base[1])

    def negative(self, node: Formula, body: tuple[Rat, Rat]) -> tuple[Rat, Rat]:
        return minus(ZERO, body[0]), minus(ZERO, body[1])

    def group(self, node: Formula, body: tuple[Rat, Rat]) -> tuple[Rat, Rat]:
        return body

    written = group

    def call(self, node: Call, *arguments: tuple[Rat, Rat]) -> tuple[Rat, Rat]:
        value = self.exact.call(node, *(argument for argument, _ in arguments))
        (inner, rise), *more = arguments
        if not any(part[1][0] for part in arguments):
            return value, ZERO
        outer = {
            "sqrt": lambda: self.exact.quotient(node, ({(): Fraction(1, 2)}, ONE), value),
            "exp": lambda: value,
            "log": lambda: self.exact.quotient(node, (ONE, ONE), inner),
        }.get(node.function)
        if outer is None or more:
            raise CheckError(f"{node.function}(…) has no derivative here")
        return value, _times(outer(), rise)


def _times(a: Rat, b: Rat) -> Rat:
    return times(a[0], b[0]), times(a[1], b[1])


def rises(formula: Formula, name: str, least_one: frozenset[str]) -> int | None:
    """1 where a rational function rises in the name on the whole domain, -1 where it falls, 0 where it does neither."""
    exact = Exact({})
    sides = [sign(side, least_one, strict=False) for side in slope(formula, name, exact)]
    apart = sign(exact.rational(formula)[1], least_one)
    return None if exact.atoms or sides[0] is None or not sides[1] or not apart else sides[0] * sides[1]


def telescopes(total: Formula, body: Formula, index: str, last: str, first: Formula) -> bool:
    """Whether ``total`` is the sum of ``body`` over the index from ``first`` to ``last``, a name that nothing else has."""
    exact = Exact({})
    whole = exact.rational(total)
    end: Poly = {((last, 1),): Fraction(1)}
    before = put(whole, last, (add(end, scale(ONE, Fraction(-1))), ONE))
    term = put(exact.rational(body), index, (end, ONE))
    start = put(whole, last, minus(exact.rational(first), (ONE, ONE)))
    return not exact.atoms and not minus(minus(whole, before), term)[0] and not start[0]
