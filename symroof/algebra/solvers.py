"""Solvers for one symbol: inequalities between rational functions, their monotony and growth, and least maxima and sums.

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

Parts c x**e with c > 0 are straight lines in log x. So the maximum of a rising and a falling one is least where they
cross, and a sum a x**p + b x**-q where the weighted means of its terms are equal:

    a x**p = b x**-q        x**(p + q) = b/a
    p a x**p = q b x**-q    x**(p + q) = q b/(p a)

What only rises is least at the start of the domain, what only falls at the end. Parts that x leaves alone move nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, product

from sympy import Add, Expr, Integer, oo, sqrt

from symroof.algebra.rational import (
    Polynomial,
    cancel,
    coefficients,
    evaluate,
    multiply,
    polynomial,
    ratio,
    sign,
    sign_of,
    slope,
    subtract,
    symbols_of,
)
from symroof.algebra.roots import ALWAYS, NEVER, Case, End, Interval, Root, Threshold, real_roots
from symroof.errors import AlgebraError
from symroof.formula import Frozen
from symroof.symbols import rational


def solve_for(
    difference: Expr,
    variable: Expr,
    least_one: frozenset[Expr],
    values: Mapping[Expr, Fraction] | None = None,
    *,
    roots: bool = True,
) -> Threshold:
    """The x with ``difference`` > 0, over the domain. ``values`` of figures decide signs and are not put in. Without
    ``roots`` what is quadratic with symbols in it stays a condition on a polynomial.

    >>> from symroof.symbols import symbol
    >>> B, D, F, R = map(symbol, "BDFR")
    >>> found = solve_for(B*D*F/(B*D + D*F + B*F) - R, B, frozenset({B, D, F}))
    >>> found.cases[0].guard, found.cases[0].intervals[0].low, found.otherwise.intervals
    ((D*F - D*R - F*R,), D*F*R/(D*F - D*R - F*R), ())
    """
    symbols = symbols_of(difference, variable)
    above, below = ratio(difference, symbols)
    domain = symbols, least_one, values or {}
    side = _sign(below, *domain)
    terms = above if side == 1 else subtract({}, above) if side == -1 else multiply(above, below)
    parts = coefficients(terms, symbols.index(variable))
    while len(parts) > 1 and not parts[0]:  # the symbol is positive: a power of it before everything decides nothing
        parts = parts[1:]
    return _Solver(variable, *domain, parts, roots).solve()


def _sign(
    terms: Polynomial,
    symbols: tuple[Expr, ...],
    least_one: frozenset[Expr],
    values: Mapping[Expr, Fraction],
    *,
    weak: bool = False,
) -> int | None:
    """The sign on the whole domain, or else where the known values are put in."""
    result = sign(terms, symbols, least_one, weak=weak)
    if result is not None or not values:
        return result
    return sign(evaluate(terms, symbols, values), symbols, least_one, weak=weak)


# A root of more terms is a formula that nobody reads, and that no engine of proof compares in time.
MOST_UNDER_A_ROOT = 10


class _Solver(Frozen):
    """Where a polynomial in one symbol is positive; ``parts`` are its coefficients, from the constant upwards."""

    variable: Expr
    symbols: tuple[Expr, ...]
    least_one: frozenset[Expr]
    values: Mapping[Expr, Fraction]
    parts: list[Polynomial]
    roots: bool = True

    def solve(self) -> Threshold:
        if not any(any(e) for part in self.parts for e in part):
            return self._numeric([sum(part.values(), Fraction(0)) for part in self.parts])
        by_degree = (self._constant, self._linear, self._quadratic, self._implicit)
        return by_degree[min(len(self.parts) - 1, 3)]()

    @property
    def low(self) -> int:
        """The lower end of the domain, which belongs to it where it is 1."""
        return int(self.variable in self.least_one)

    def _threshold(self, *cases: Case, otherwise: Case | None = None, one_root: int = 0) -> Threshold:
        return Threshold(self.variable, cases, otherwise, one_root)

    def _everywhere(self, *intervals: Interval) -> Threshold:
        return self._threshold(Case((), intervals))

    def _guarded(self, guard: tuple[Expr, ...], inside: tuple[Interval, ...], rest: tuple[Interval, ...]) -> Threshold:
        return self._threshold(Case(guard, inside), otherwise=Case((), rest))

    def _expr(self, terms: Polynomial) -> Expr:
        return polynomial(terms, self.symbols)

    def _sign(self, terms: Polynomial, *, weak: bool = False) -> int | None:
        return _sign(terms, self.symbols, self.least_one, self.values, weak=weak)

    def _not_above(self, terms: Polynomial) -> bool:
        return self._sign(terms, weak=True) in (-1, 0)

    def _constant(self) -> Threshold:
        result = self._sign(self.parts[0])
        if result is None:
            return self._guarded((self._expr(self.parts[0]),), ALWAYS, NEVER)
        return self._everywhere(*(ALWAYS if result == 1 else NEVER))

    def _linear(self) -> Threshold:
        b, a = self.parts
        minus_a, minus_b = subtract({}, a), subtract({}, b)
        bound = cancel(self._expr(minus_b) / self._expr(a))
        at_low = subtract(b, minus_a) if self.low else b
        above, below = (Interval(low=bound),), (Interval(high=bound),)
        slope, start = self._sign(a), self._sign(b)
        if slope == 1:
            return self._everywhere(*(ALWAYS if self._sign(at_low) == 1 or start in (0, 1) else above))
        if slope == -1:
            return self._everywhere(*(NEVER if self._not_above(at_low) else below))
        if self._not_above(b):
            return self._guarded((self._expr(a),), above, NEVER)
        if start == 1:
            return self._guarded((self._expr(minus_a),), below, ALWAYS)
        cases = Case((self._expr(a),), above), Case((self._expr(minus_a),), below)
        return self._threshold(*cases, otherwise=Case((), ALWAYS, implicit=self._expr(b)))

    def _quadratic(self) -> Threshold:
        c, b, a = self.parts
        opens, start = self._sign(a), self._sign(c)
        long = len(b) * (len(b) + 1) // 2 + len(a) * len(c) > MOST_UNDER_A_ROOT
        if opens is None or not start or not self.roots or long:
            return self._implicit()
        high, middle, constant = map(self._expr, (a, b, c))
        discriminant = middle**2 - 4 * high * constant
        first, last = (cancel(-middle / (2 * high)) + s * sqrt(discriminant) / (2 * opens * high) for s in (-1, 1))
        if opens != start:
            return self._everywhere(Interval(low=last) if opens == 1 else Interval(high=last))
        turned, rest = (b, NEVER) if opens == -1 else (subtract({}, b), ALWAYS)
        if self._not_above(turned):
            return self._everywhere(*rest)
        inside = (Interval(first, last),) if opens == -1 else (Interval(high=first), Interval(low=last))
        positive = () if self._sign(turned) == 1 else (self._expr(turned),)
        return self._guarded((*positive, discriminant.expand()), inside, rest)

    def _implicit(self) -> Threshold:
        signs = [self._sign(part) for part in self.parts if part]
        changes = sum(x != y for x, y in pairwise(signs))
        if None not in signs and not changes:
            return self._everywhere(*(ALWAYS if signs[0] == 1 else NEVER))
        one_root = (signs[-1] or 0) if None not in signs and changes == 1 else 0
        whole = Add(*(self._expr(part) * self.variable**power for power, part in enumerate(self.parts))).expand()
        return self._threshold(Case((), ALWAYS, implicit=whole), one_root=one_root)

    def _numeric(self, numbers: list[Fraction]) -> Threshold:
        powers = {i: value for i, value in enumerate(numbers) if value}
        ends = real_roots(powers, Fraction(self.low), closed=bool(self.low))
        return self._everywhere(
            *(
                Interval(_end(left), _end(right))
                for left, right in pairwise((None, *ends, None))
                if sum(c * _between(left, right, self.low) ** i for i, c in powers.items()) > 0
            )
        )


def _between(left: Root | None, right: Root | None, low: int) -> Fraction:
    start = Fraction(low) if left is None else left.high
    if right is None:
        return start + 1
    return (start + right.low) / 2 if start < right.low else start


def _end(root: Root | None) -> End:
    return rational(root.low) if root is not None and root.exact else root


def monotony(expression: Expr, variable: Expr, least_one: frozenset[Expr]) -> int | None:
    """1 where the function rises in the variable on the whole domain, -1 where it falls, 0 constant, else None.

    >>> from symroof.symbols import symbol
    >>> B, D, F = map(symbol, "BDF")
    >>> monotony(B*D*F/(B*D + D*F + B*F), B, frozenset({B, D, F}))
    1
    """
    symbols = symbols_of(expression, variable)
    above, below = (sign(terms, symbols, least_one, weak=True) for terms in slope(expression, variable, symbols))
    return None if above is None or not below else above * below


def growth(expression: Expr, variable: Expr) -> Expr:
    """The limit of a rational function as one symbol grows and the others stay: a value, 0 or oo (for positive leading terms).

    >>> from symroof.symbols import symbol
    >>> B, D, F = map(symbol, "BDF")
    >>> growth(B*D*F/(B*D + D*F + B*F), B)
    D*F/(D + F)
    """
    symbols = symbols_of(expression, variable)
    above, below = (coefficients(terms, symbols.index(variable)) for terms in ratio(expression, symbols))
    if len(above) != len(below):
        return oo if len(above) > len(below) else expression * 0
    return cancel(polynomial(above[-1], symbols) / polynomial(below[-1], symbols))


Line = tuple[int, Expr]


class Optimum(Frozen):
    """The place x with x**degree = ``power``, or an end of the domain: ``way`` is 1 where everything rises, -1 where it
    falls. The least value is the root of that degree of ``value``, beside the parts that are ``constant``."""

    variable: Expr
    way: int = 0
    degree: int = 1
    power: Expr = Integer(1)
    value: Expr = Integer(0)
    constant: tuple[Expr, ...] = ()


def lines(value: Expr, x: Expr) -> dict[int, Expr]:
    """The powers of x in a value, each with what it is multiplied with, which has to be free of x.

    >>> from symroof.symbols import symbol
    >>> a, x = symbol("a"), symbol("x")
    >>> lines((a*x**2 + 3)/x, x)
    {1: a, -1: 3}
    """
    symbols = symbols_of(value, x)
    above, below = ratio(value, symbols)
    place = symbols.index(x)
    lows = {e: terms for e, terms in enumerate(coefficients(below, place)) if terms}
    if len(lows) != 1:
        raise AlgebraError(f"{value} is no sum of powers of {x}".replace("**", "^"))
    ((low, under),) = lows.items()
    bottom = polynomial(under, symbols)
    tops = enumerate(coefficients(above, place))
    return {e - low: cancel(polynomial(terms, symbols) / bottom) for e, terms in reversed(list(tops)) if terms}


def least_maximum(parts: Sequence[Expr], x: Expr, least_one: frozenset[Expr]) -> Optimum:
    """Where the largest of some powers of x is least: among the crossings of a rising and a falling part the highest.

    >>> from symroof.symbols import symbol
    >>> a, b, x = map(symbol, "abx")
    >>> found = least_maximum((a*x, b/x), x, frozenset())
    >>> found.degree, found.power, found.value
    (2, b/a, a*b)
    """
    result = [tuple(lines(part, x).items()) for part in parts]
    if any(len(powers) != 1 for powers in result):
        raise AlgebraError(f"the parts of the maximum are no single powers of {x}")
    rising, falling, constant = _by_direction([powers[0] for powers in result], least_one)
    if not rising or not falling:
        return _at_an_end(x, rising, falling, constant)
    crossings = [_crossing(x, up, down, constant) for up, down in product(rising, falling)]
    highest = [crossing for crossing in crossings if all(_is_below(other, crossing, least_one) for other in crossings)]
    if not highest:
        raise AlgebraError(
            "which of the parts is the longest is open", hint="put in numbers for what the parts differ in"
        )
    return highest[0]


def least_sum(parts: Sequence[Expr], x: Expr, least_one: frozenset[Expr]) -> Optimum:
    """Where a sum of powers of x with positive coefficients is least.

    >>> from symroof.symbols import symbol
    >>> a, b, x = map(symbol, "abx")
    >>> found = least_sum((a*x**2, b/x), x, frozenset())
    >>> found.degree, found.power
    (3, b/(2*a))
    """
    powers: dict[int, Expr] = {}
    for part in parts:
        for e, c in lines(part, x).items():
            powers[e] = powers.get(e, Integer(0)) + c
    rising, falling, constant = _by_direction([(e, cancel(c)) for e, c in powers.items()], least_one)
    if not rising or not falling:
        return _at_an_end(x, rising, falling, constant)
    if len(rising) > 1 or len(falling) > 1:
        raise AlgebraError(f"the sum has more than two powers of {x}: where it is least has no closed form")
    ((p, a),), ((minus_q, b),) = rising, falling
    q = -minus_q
    power = cancel(q * b / (p * a))
    value = cancel((rational(Fraction(p + q, q)) * a) ** (p + q) * power**p)
    return Optimum(x, 0, p + q, power, value, constant)


def _by_direction(lines: list[Line], least_one: frozenset[Expr]) -> tuple[list[Line], list[Line], tuple[Expr, ...]]:
    """The rising and the falling powers, and what stays."""
    if any(sign_of(c, least_one) != 1 for _, c in lines):
        raise AlgebraError("not every part is known to be positive")
    rising, falling = ([line for line in lines if line[0] * way > 0] for way in (1, -1))
    return rising, falling, tuple(c for e, c in lines if e == 0)


def _at_an_end(x: Expr, rising: list[Line], falling: list[Line], constant: tuple[Expr, ...]) -> Optimum:
    if not rising and not falling:
        raise AlgebraError(f"nothing of it depends on {x}")
    return Optimum(x, 1 if rising else -1, constant=constant)


def _crossing(x: Expr, up: Line, down: Line, constant: tuple[Expr, ...]) -> Optimum:
    (p, a), (minus_q, b) = up, down
    degree = p - minus_q
    power = cancel(b / a)
    return Optimum(x, 0, degree, power, cancel(a**degree * power**p), constant)


def _is_below(first: Optimum, other: Optimum, least_one: frozenset[Expr]) -> bool:
    """Whether the value of one crossing is at most that of another, at every size."""
    gap = cancel(other.value**first.degree - first.value**other.degree)
    return gap == 0 or sign_of(gap, least_one) == 1
