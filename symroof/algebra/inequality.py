"""Inequalities between rational functions, solved for one symbol with every sign that matters as a guard.

For P(x) = lhs - rhs > 0 the denominator is cleared with its proved sign; what remains is a polynomial in x whose
coefficients are polynomials in the other symbols. Degree 1 is solved whatever is known of the coefficients:

    a x + b > 0    a > 0              x > -b/a            (always, where b >= 0)
                   a < 0              x < b/(-a)          (never, where b <= 0)
                   a open, b <= 0     x > -b/a if a > 0, otherwise never
                   a open, b > 0      x < b/(-a) if a < 0, otherwise always
                   both open          the three cases

Degree 2 is solved by the signs of its coefficients, with the roots written out; a polynomial with one change of sign
has one positive root (Descartes), named even where it has no formula; and with numbers for all other symbols every
degree is solved by exact isolation of roots. What is left is given back as an implicit condition. SymPy, Maxima and
Sage refuse the first line as soon as a is symbolic.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sympy import Expr, Max, Min, Rational, sqrt

from symroof.algebra.intervals import ALWAYS, NEVER, Case, End, Interval, Threshold
from symroof.algebra.rational import (
    Polynomial,
    cancelled,
    coefficients,
    multiply,
    polynomial,
    ratio,
    sign,
    subtract,
    symbols_of,
    weak_sign,
)
from symroof.algebra.roots import Root, real_roots


def solve_for(
    difference: Expr, variable: Expr, least_one: frozenset[Expr], values: Mapping[Expr, Fraction] | None = None
) -> Threshold:
    """The x with ``difference`` > 0, over the domain. ``values`` of figures decide signs and are not put in.

    >>> from symroof.symbols import symbol
    >>> B, D, F, R = map(symbol, "BDFR")
    >>> found = solve_for(B*D*F/(B*D + D*F + B*F) - R, B, frozenset({B, D, F}))
    >>> found.cases[0].guard, found.cases[0].intervals[0].low, found.otherwise.intervals
    ((D*F - D*R - F*R,), D*F*R/(D*F - D*R - F*R), ())
    """
    symbols = symbols_of(difference, variable)
    above, below = ratio(difference, symbols)
    side = _known_sign(below, symbols, least_one, values)
    terms = above if side == 1 else {e: -c for e, c in above.items()} if side == -1 else multiply(above, below)
    place = symbols.index(variable)
    parts = coefficients(terms, place)
    while (
        len(parts) > 1 and not parts[0]
    ):  # the symbol is positive: a power of it in front of everything decides nothing
        parts = parts[1:]
        terms = {(*e[:place], e[place] - 1, *e[place + 1 :]): c for e, c in terms.items()}
    low = Fraction(1) if variable in least_one else Fraction(0)
    case = _Solver(variable, symbols, least_one, values or {}, low, parts, polynomial(terms, symbols))
    return case.solve()


def _known_sign(
    terms: Polynomial, symbols: tuple[Expr, ...], least_one: frozenset[Expr], values: Mapping[Expr, Fraction] | None
) -> int | None:
    found = sign(terms, symbols, least_one)
    return found if found is not None or not values else sign(_put(terms, symbols, values), symbols, least_one)


def _put(terms: Polynomial, symbols: tuple[Expr, ...], values: Mapping[Expr, Fraction]) -> Polynomial:
    known = {i: values[s] for i, s in enumerate(symbols) if s in values}
    result: Polynomial = {}
    for e, c in terms.items():
        for i, value in known.items():
            c *= value ** e[i]
        key = tuple(0 if i in known else power for i, power in enumerate(e))
        result[key] = result.get(key, Fraction(0)) + c
    return {e: c for e, c in result.items() if c}


@dataclass(frozen=True, slots=True)
class _Solver:
    variable: Expr
    symbols: tuple[Expr, ...]
    least_one: frozenset[Expr]
    values: Mapping[Expr, Fraction]
    low: Fraction
    parts: list[Polynomial]
    whole: Expr

    def solve(self) -> Threshold:
        numeric = [_put(part, self.symbols, {}) for part in self.parts]
        if all(not any(any(e) for e in part) for part in numeric):
            return self._numeric([sum(part.values(), Fraction(0)) for part in numeric])
        degree = len(self.parts) - 1
        if degree == 0:
            return self._constant()
        if degree == 1:
            return self._linear()
        return self._quadratic() if degree == 2 else self._implicit()

    def _threshold(self, *cases: Case, otherwise: Case | None = None, one_root: int = 0) -> Threshold:
        return Threshold(self.variable, self.whole, cases, otherwise, one_root)

    def _expr(self, terms: Polynomial) -> Expr:
        return polynomial(terms, self.symbols)

    def _sign(self, terms: Polynomial) -> int | None:
        return _known_sign(terms, self.symbols, self.least_one, self.values)

    def _not_above(self, terms: Polynomial) -> bool:
        if weak_sign(terms, self.symbols, self.least_one) in (-1, 0):
            return True
        return bool(self.values) and weak_sign(
            _put(terms, self.symbols, self.values), self.symbols, self.least_one
        ) in (-1, 0)

    def _constant(self) -> Threshold:
        found = self._sign(self.parts[0])
        if found is not None:
            return self._threshold(Case((), ALWAYS if found == 1 else NEVER))
        return self._threshold(Case((self._expr(self.parts[0]),), ALWAYS), otherwise=Case((), NEVER))

    def _linear(self) -> Threshold:
        b, a = self.parts
        signs = self._sign(a), self._sign(b)
        minus_a = subtract({}, a)
        bound = cancelled(self._expr(subtract({}, b)) / self._expr(a))
        at_least = subtract(subtract({}, minus_a), subtract({}, b)) if self.low else b  # P at the low end
        above, below = (Interval(low=bound),), (Interval(high=bound),)
        if signs[0] == 1:
            if self._sign(at_least) == 1 or signs[1] in (0, 1):
                return self._threshold(Case((), ALWAYS))
            return self._threshold(Case((), above))
        if signs[0] == -1:
            if self._not_above(at_least):
                return self._threshold(Case((), NEVER))
            return self._threshold(Case((), below))
        if self._not_above(b):
            return self._threshold(Case((self._expr(a),), above), otherwise=Case((), NEVER))
        if signs[1] == 1:
            return self._threshold(Case((self._expr(minus_a),), below), otherwise=Case((), ALWAYS))
        rest = Case((), ALWAYS, implicit=self._expr(b))
        return self._threshold(Case((self._expr(a),), above), Case((self._expr(minus_a),), below), otherwise=rest)

    def _quadratic(self) -> Threshold:
        c, b, a = self.parts
        signs = self._sign(a), self._sign(c)
        if signs[0] is None or signs[1] in (None, 0):
            return self._implicit()
        high, middle, constant = map(self._expr, (a, b, c))
        discriminant = middle**2 - 4 * high * constant
        roots = [cancelled(-middle / (2 * high)) + s * sqrt(discriminant) / (2 * signs[0] * high) for s in (-1, 1)]
        if signs == (1, -1):
            return self._threshold(Case((), (Interval(low=roots[1]),)))
        if signs == (-1, 1):
            return self._threshold(Case((), (Interval(high=roots[1]),)))
        if signs == (-1, -1):
            if self._not_above(b):
                return self._threshold(Case((), NEVER))
            guard = (middle, discriminant.expand())
            return self._threshold(Case(guard, (Interval(*roots),)), otherwise=Case((), NEVER))
        if self._not_above(subtract({}, b)):
            return self._threshold(Case((), ALWAYS))
        guard = (-middle, discriminant.expand())
        outside = (Interval(high=roots[0]), Interval(low=roots[1]))
        return self._threshold(Case(guard, outside), otherwise=Case((), ALWAYS))

    def _implicit(self) -> Threshold:
        signs = [self._sign(part) for part in self.parts if part]
        one_root = 0
        if None not in signs:
            changes = [(x, y) for x, y in itertools.pairwise(signs) if x != y]
            if not changes:
                return self._threshold(Case((), ALWAYS if signs[0] == 1 else NEVER))
            one_root = (signs[-1] or 0) if len(changes) == 1 else 0
        return self._threshold(Case((), ALWAYS, implicit=self.whole), one_root=one_root)

    def _numeric(self, numbers: list[Fraction]) -> Threshold:
        powers = {i: value for i, value in enumerate(numbers) if value}
        ends = real_roots(powers, self.low, closed=bool(self.low))
        edges: list[Root | None] = [None, *ends, None]
        intervals: list[Interval] = []
        for left, right in itertools.pairwise(edges):
            probe = _between(left, right, self.low)
            if sum((c * probe**i for i, c in powers.items()), Fraction(0)) > 0:
                intervals.append(Interval(_end(left), _end(right)))
        return self._threshold(Case((), tuple(intervals)))


def _between(left: Root | None, right: Root | None, low: Fraction) -> Fraction:
    start = low if left is None else left.high
    if right is None:
        return start + 1
    return (start + right.low) / 2 if start < right.low else start


def _end(root: Root | None) -> End:
    if root is None or not root.exact:
        return root
    return Rational(root.low.numerator, root.low.denominator)


def solve_condition(
    lhs: Expr, rhs: Expr, variable: Expr, least_one: frozenset[Expr]
) -> tuple[tuple[Threshold, ...], ...]:
    """The x with lhs > rhs where either side may be a Max or Min: any row holds, a row being all of its thresholds.

    >>> from symroof.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> [[t.bound for t in row] for row in solve_condition(B, Max(2*D, Rational(5)), B, frozenset({B, D}))]
    [[2*D, 5]]
    """
    for side, function, every in ((rhs, Max, True), (lhs, Min, True), (rhs, Min, False), (lhs, Max, False)):
        if not isinstance(side, function):
            continue
        parts = sorted(side.args, key=str)
        solved = [
            solve_condition(*((lhs, part) if side is rhs else (part, rhs)), variable, least_one) for part in parts
        ]
        if not every:
            return tuple(row for rows in solved for row in rows)
        rows: tuple[tuple[Threshold, ...], ...] = ((),)
        for alternatives in solved:
            rows = tuple((*row, *more) for row in rows for more in alternatives)
        return rows
    return ((solve_for(lhs - rhs, variable, least_one),),)
