"""Rational functions with rational coefficients, in lowest terms, and the signs of their polynomials.

The class is closed and decidable in the way that the rest of the algebra needs: equality by cancellation, signs by
coefficients. Everything outside it (roots, logarithms, Max and Min inside a formula) is refused by name.

A quotient of polynomials in lowest terms, without a search among symbols that have no part in a common factor.

Of a factor that two polynomials a and b share the degree in x is at most that of the factor that their images share, once
numbers modulo a prime are put in for all other symbols, as long as the leading coefficient of a in x does not vanish there:
that of the factor divides it. So what a common factor does not depend on is told by Euclid's algorithm in one symbol at a
time, and the factor divides each coefficient with respect to those symbols (Brown, "On Euclid's algorithm and the
computation of polynomial greatest common divisors", 1971).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import comb, gcd
from operator import attrgetter

from sympy import QQ, Add, Expr, Mul, Pow, Rational, preorder_traversal
from sympy.polys.fields import FracElement, FracField
from sympy.polys.polyerrors import CoercionFailed
from sympy.polys.rings import PolyElement

from symroof.algebra.roots import constant_sign
from symroof.errors import AlgebraError
from symroof.formula import several_of
from symroof.symbols import fraction, rational

# A sparse polynomial over the rationals: exponents, in the order of the symbols, to coefficients.
Exponents = tuple[int, ...]
Polynomial = dict[Exponents, Fraction]

# Powers of sums above this are refused: their expansion is the only way a short text can become a large polynomial.
LARGEST_POWER = 32
PRIME = 2**61 - 1
TRIES = 3


def symbols_of(*expressions: Expr) -> tuple[Expr, ...]:
    """The symbols that occur, by name."""
    result = set().union(*(expression.free_symbols for expression in expressions))
    return tuple(sorted(result, key=attrgetter("name")))


@lru_cache(maxsize=256)
def _field(symbols: tuple[Expr, ...]) -> FracField:
    return FracField(symbols, QQ, "grlex")


@lru_cache(maxsize=4096)
def ratio(expression: Expr, symbols: tuple[Expr, ...]) -> tuple[Polynomial, Polynomial]:
    """Numerator and denominator in lowest terms, with whole coefficients and a positive leading denominator.

    >>> from symroof.symbols import symbol
    >>> N = symbol("N")
    >>> ratio((2*N**2 - N)/(4*N**2 + 2*N), (N,))
    ({(1,): Fraction(2, 1), (0,): Fraction(-1, 1)}, {(1,): Fraction(4, 1), (0,): Fraction(2, 1)})
    """
    _require_rational(expression)
    if not symbols:
        value = fraction(expression)
        return {(): Fraction(value.numerator)}, {(): Fraction(value.denominator)}
    return _sides(_element(expression, symbols))


def slope(expression: Expr, variable: Expr, symbols: tuple[Expr, ...]) -> tuple[Polynomial, Polynomial]:
    """Numerator and denominator of the derivative.

    >>> from symroof.symbols import symbol
    >>> N = symbol("N")
    >>> slope(1/(N + 1), N, (N,))
    ({(0,): Fraction(-1, 1)}, {(2,): Fraction(1, 1), (1,): Fraction(2, 1), (0,): Fraction(1, 1)})
    """
    _require_rational(expression)
    element, place = _element(expression, symbols), symbols.index(variable)
    above, below, x = element.numer, element.denom, element.field.ring.gens[place]
    return _sides(element.field.raw_new(*lowest(above.diff(x) * below - above * below.diff(x), below**2)))


def _element(expression: Expr, symbols: tuple[Expr, ...]) -> FracElement:
    try:
        field = _field(symbols)
        above, below = (field.ring.from_expr(side.expand()) for side in expression.as_numer_denom())
        if not below:
            raise ZeroDivisionError
        return field.raw_new(*lowest(above, below))
    except (ValueError, CoercionFailed, ZeroDivisionError):
        raise AlgebraError(
            f"{str(expression)[:200]} is not a rational function of {', '.join(map(str, symbols))}"
        ) from None


def _sides(element: FracElement) -> tuple[Polynomial, Polynomial]:
    above, below = (
        {tuple(exps): Fraction(int(c.numerator), int(c.denominator)) for exps, c in side.terms()}
        for side in (element.numer, element.denom)
    )
    return above, below


def is_rational(expression: Expr) -> bool:
    """Whether an expression is a quotient of polynomials with rational coefficients: a root of a number is none.

    >>> from sympy import sqrt
    >>> is_rational(sqrt(4)), is_rational(sqrt(2))
    (True, False)
    """
    try:
        _require_rational(expression)
    except AlgebraError:
        return False
    return True


def _require_rational(expression: Expr) -> None:
    for part in preorder_traversal(expression):
        if isinstance(part, Pow):
            if not part.exp.is_Integer:
                raise AlgebraError(f"{part} is outside rational functions", expected="whole powers")
            if abs(int(part.exp)) > LARGEST_POWER:
                raise AlgebraError(f"a power of {part.exp} is too large", expected=f"at most {LARGEST_POWER}")
        elif not (isinstance(part, Add | Mul) or part.is_Symbol or part.is_Rational):
            raise AlgebraError(
                f"{type(part).__name__} is outside rational functions", expected="+, -, *, / and whole powers"
            )


def monomial(exponents: Iterable[int], symbols: tuple[Expr, ...]) -> Expr:
    return Mul(*(s**e for s, e in zip(symbols, exponents, strict=True)))


def polynomial(terms: Polynomial, symbols: tuple[Expr, ...]) -> Expr:
    """The SymPy value of a polynomial."""
    return Add(*(rational(c) * monomial(e, symbols) for e, c in terms.items()))


def cancel(expression: Expr) -> Expr:
    """A rational function in lowest terms, its numerator and denominator expanded.

    >>> from symroof.symbols import symbol
    >>> N = symbol("N")
    >>> cancel((2*N**2 - N)/(4*N**2 + 2*N))
    (2*N - 1)/(4*N + 2)
    """
    symbols = symbols_of(expression)
    above, below = ratio(expression, symbols)
    return polynomial(above, symbols) / polynomial(below, symbols)


def add(left: Iterable[int], right: Iterable[int], times: int = 1) -> Exponents:
    """The sum of two vectors, the second of them so many times: the exponents of a product, or of a quotient.

    >>> add((1, 2), (3, 0)), add((1, 2), (3, 0), -1)
    ((4, 2), (-2, 2))
    """
    return tuple(a + times * b for a, b in zip(left, right, strict=True))


def collect(terms: Iterable[tuple[Exponents, Fraction]]) -> Polynomial:
    """The sum of the terms.

    >>> collect([((1,), Fraction(2)), ((0,), Fraction(1)), ((1,), Fraction(-2))])
    {(0,): Fraction(1, 1)}
    """
    total: Polynomial = {}
    for exponents, c in terms:
        total[exponents] = total.get(exponents, Fraction(0)) + c
    return {e: c for e, c in total.items() if c}


def multiply(left: Polynomial, right: Polynomial) -> Polynomial:
    return collect((add(a, b), c * d) for a, c in left.items() for b, d in right.items())


def subtract(left: Polynomial, right: Polynomial) -> Polynomial:
    return collect((*left.items(), *((e, -c) for e, c in right.items())))


def evaluate(terms: Polynomial, symbols: tuple[Expr, ...], values: Mapping[Expr, Fraction]) -> Polynomial:
    """The polynomial with some of its symbols put in."""
    for place, s in enumerate(symbols):
        if s in values:
            terms = collect(((*e[:place], 0, *e[place + 1 :]), c * values[s] ** e[place]) for e, c in terms.items())
    return terms


def shift(terms: Polynomial, positions: tuple[int, ...]) -> Polynomial:
    """The polynomial in y = x - 1 for the symbols at ``positions``: coefficients tell its sign for x >= 1.

    >>> shift({(1,): Fraction(2), (0,): Fraction(-1)}, (0,))
    {(1,): Fraction(2, 1), (0,): Fraction(1, 1)}
    """
    for i in positions:
        terms = collect(
            ((*e[:i], power, *e[i + 1 :]), c * comb(e[i], power))
            for e, c in terms.items()
            for power in range(e[i], -1, -1)
        )
    return terms


def sign(terms: Polynomial, symbols: tuple[Expr, ...], least_one: frozenset[Expr], *, weak: bool = False) -> int | None:
    """1, -1 or 0 where the polynomial has that sign on the whole domain; None where that is not known.

    With ``weak``, 1 means >= 0 and -1 means <= 0.

    The domain is x >= 1 for the symbols in ``least_one``, x > 1 for some of them, and x > 0 for the others. Coefficients of one sign decide,
    then coefficients about x = 1, then, in one symbol, the exact count of roots.

    >>> from symroof.symbols import symbol
    >>> N = symbol("N")
    >>> sign({(1,): Fraction(2), (0,): Fraction(-1)}, (N,), frozenset({N}))
    1
    """
    if not terms:
        return 0
    result = _common_sign(terms)
    if result is not None:
        return result
    terms, places = _joined(terms, symbols, least_one)
    shifted = shift(terms, places)
    result = _common_sign(shifted)
    several = several_of(least_one)
    vanish = [i for i in places if symbols[i] not in several]
    if result is not None and (weak or any(not any(e[i] for i in vanish) for e in shifted)):
        return result
    used = [i for i in range(len(symbols)) if any(e[i] for e in terms)]
    if len(used) == 1:
        low = 1 if symbols[used[0]] in least_one else 0
        closed = bool(low) and symbols[used[0]] not in several
        return constant_sign({e[used[0]]: c for e, c in terms.items()}, Fraction(low), closed=closed)
    return None


def _joined(
    terms: Polynomial, symbols: tuple[Expr, ...], least_one: frozenset[Expr]
) -> tuple[Polynomial, tuple[int, ...]]:
    """The terms without their common monomial, with sizes that occur only together as one: the sign is the same.

    A product of numbers from 1 is any number from 1. Also the places of the sizes that are left.
    """
    low = tuple(map(min, zip(*terms, strict=True)))
    free = {add(e, low, -1): c for e, c in terms.items()}
    first: dict[tuple[int, ...], int] = {}  # the first of the sizes that have these powers in the terms
    several = several_of(least_one)
    alone, gone = [i for i in range(len(symbols)) if symbols[i] in several], set()
    for i, powers in enumerate(zip(*free, strict=True)):
        if symbols[i] in least_one - several and (not any(powers) or first.setdefault(powers, i) != i):
            gone.add(i)
    return {tuple(0 if i in gone else k for i, k in enumerate(e)): c for e, c in free.items()}, (
        *first.values(),
        *alone,
    )


def _common_sign(terms: Polynomial) -> int | None:
    if all(c > 0 for c in terms.values()):
        return 1
    return -1 if all(c < 0 for c in terms.values()) else None


def sign_of(expression: Expr, least_one: frozenset[Expr], *, weak: bool = False) -> int | None:
    """The sign of a rational function on the domain, where numerator and denominator have one each; with ``weak``, 1 means >= 0
    and -1 means <= 0.

    >>> from symroof.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> sign_of(B - 1/(D + 1), frozenset({B, D}))
    1
    """
    symbols = symbols_of(expression)
    sides = zip(ratio(expression, symbols), (weak, False), strict=True)
    above, below = (sign(terms, symbols, least_one, weak=either) for terms, either in sides)
    return None if above is None or not below else above * below


def coefficients(terms: Polynomial, position: int) -> list[Polynomial]:
    """The coefficients of a polynomial in one symbol, from the constant upwards, in the other symbols."""
    degree = max((e[position] for e in terms), default=0)
    parts: list[Polynomial] = [{} for _ in range(degree + 1)]
    for e, c in terms.items():
        parts[e[position]][(*e[:position], 0, *e[position + 1 :])] = c
    return parts


def lowest(above: PolyElement, below: PolyElement) -> tuple[PolyElement, PolyElement]:
    """Both elements of one ring over the rationals without what they share, with whole coefficients and a positive leading
    one below.

    >>> from sympy import QQ, ring
    >>> _, x, y = ring("x, y", QQ)
    >>> lowest(x**2 - y**2, -2*x*y - 2*y**2)
    (-x + y, 2*y)
    """
    ring = above.ring
    if not above:
        return ring.zero, ring.one
    powers = [tuple(map(min, zip(*side.monoms(), strict=True))) for side in (above, below)]
    sides = [_divided(side, power) for side, power in zip((above, below), powers, strict=True)]
    factor = _common(*sides)
    if not factor.is_ground:
        sides = [side.exquo(factor) for side in sides]
    shared = tuple(map(min, *powers))
    sides = [
        side.mul_monom(tuple(e - k for e, k in zip(power, shared, strict=True)))
        for side, power in zip(sides, powers, strict=True)
    ]
    (clear, a), (other, b) = (side.clear_denoms() for side in sides)
    numbers = [gcd(*(int(c) for c in side.coeffs())) for side in (a, b)]
    up, down = numbers[0] * int(other), numbers[1] * int(clear)
    up, down = up // gcd(up, down), down // gcd(up, down)
    sign = 1 if b.LC > 0 else -1
    return a.quo_ground(numbers[0]) * (sign * up), b.quo_ground(numbers[1]) * (sign * down)


def _divided(side: PolyElement, power: tuple[int, ...]) -> PolyElement:
    if not any(power):
        return side
    terms = {tuple(e - k for e, k in zip(exps, power, strict=True)): c for exps, c in side.terms()}
    return side.ring.from_dict(terms)


def _common(a: PolyElement, b: PolyElement) -> PolyElement:
    """The greatest common factor of two polynomials that no symbol divides."""
    ring = a.ring
    both = [i for i, (p, q) in enumerate(zip(a.degrees(), b.degrees(), strict=True)) if p > 0 and q > 0]
    inside = [i for i in both if _may_share(a, b, i)]
    if not inside:
        return ring.one
    result = ring.zero
    for part in sorted((*_coefficients(a, inside), *_coefficients(b, inside)), key=len):
        result = result.gcd(part)
        if result.is_ground:
            return ring.one
    return result


def _coefficients(side: PolyElement, inside: list[int]) -> list[PolyElement]:
    """A polynomial in some of its symbols as their coefficients, one for each power of the others."""
    result: dict[Exponents, dict[Exponents, Rational]] = {}
    for exps, c in side.terms():
        outside = tuple(0 if i in inside else e for i, e in enumerate(exps))
        result.setdefault(outside, {})[tuple(e if i in inside else 0 for i, e in enumerate(exps))] = c
    return [side.ring.from_dict(terms) for terms in result.values()]


def _may_share(a: PolyElement, b: PolyElement, place: int) -> bool:
    """Whether a common factor may depend on a symbol."""
    for seed in range(2, 2 + TRIES):
        first, other = (_image(side, place, seed) for side in (a, b))
        if first[-1]:
            return len(_euclid(first, other)) > 1
    return True


def _image(side: PolyElement, place: int, seed: int) -> list[int]:
    """The coefficients in one symbol modulo the prime, from the constant upwards, with numbers for all others."""
    result = [0] * (side.degree(side.ring.gens[place]) + 1)
    for exps, c in side.terms():
        value = int(c.numerator) * pow(int(c.denominator), -1, PRIME)
        for i, e in enumerate(exps):
            if e and i != place:
                value = value * pow(seed + 1, (i + 3) * e, PRIME) % PRIME
        result[exps[place]] = (result[exps[place]] + value) % PRIME
    return result


def _euclid(a: list[int], b: list[int]) -> list[int]:
    """A greatest common factor of two polynomials in one symbol modulo the prime."""
    while b and not b[-1]:
        b = b[:-1]
    while b:
        inverse = pow(b[-1], -1, PRIME)
        while len(a) >= len(b):
            factor, shift = a[-1] * inverse % PRIME, len(a) - len(b)
            a = [(c - factor * b[i - shift]) % PRIME if i >= shift else c for i, c in enumerate(a)]
            while a and not a[-1]:
                a.pop()
        a, b = b, a
    return a
