"""Rational functions with rational coefficients, in lowest terms, and the signs of their polynomials.

The class is closed and decidable in the way that the rest of the algebra needs: equality by cancellation, signs by
coefficients. Everything outside it (roots, logarithms, Max and Min inside a formula) is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Any

from sympy import QQ, Add, Expr, Mul, Pow, Rational
from sympy.polys.fields import FracField
from sympy.polys.polyerrors import CoercionFailed

from symroof.errors import AlgebraError

# A sparse polynomial over the rationals: exponents, in the order of the symbols, to coefficients.
Exponents = tuple[int, ...]
Polynomial = dict[Exponents, Fraction]

# Powers of sums above this are refused: their expansion is the only way a short text can become a large polynomial.
LARGEST_POWER = 32


def symbols_of(*expressions: Expr) -> tuple[Expr, ...]:
    """The symbols that occur, by name."""
    found = set().union(*(expression.free_symbols for expression in expressions))
    return tuple(sorted(found, key=str))


@lru_cache(maxsize=256)
def _field(symbols: tuple[Expr, ...]) -> Any:
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
        value = Rational(expression)
        return {(): Fraction(int(value.p))}, {(): Fraction(int(value.q))}
    try:
        field = _field(symbols)
        above, below = (field.ring.from_expr(side.expand()) for side in expression.as_numer_denom())
        element = field.new(above, below)
    except (ValueError, CoercionFailed, ZeroDivisionError):
        raise AlgebraError(
            f"{str(expression)[:200]} is not a rational function of {', '.join(map(str, symbols))}"
        ) from None
    return _plain(element.numer), _plain(element.denom)


def _plain(poly: Any) -> Polynomial:
    return {tuple(exps): Fraction(int(c.numerator), int(c.denominator)) for exps, c in poly.terms()}


def _require_rational(expression: Expr) -> None:
    for part in _walk(expression):
        if isinstance(part, Pow):
            exponent = part.exp
            if not exponent.is_Integer:
                raise AlgebraError(f"{part} is outside rational functions", expected="whole powers")
            if abs(int(exponent)) > LARGEST_POWER:
                raise AlgebraError(f"a power of {exponent} is too large", expected=f"at most {LARGEST_POWER}")
        elif not (isinstance(part, Add | Mul) or part.is_Symbol or part.is_Rational):
            raise AlgebraError(
                f"{type(part).__name__} is outside rational functions", expected="+, -, *, / and whole powers"
            )


def _walk(expression: Expr) -> Iterable[Expr]:
    yield expression
    for argument in expression.args:
        yield from _walk(argument)


def monomial(exponents: Iterable[int], symbols: tuple[Expr, ...]) -> Expr:
    return Mul(*(s**e for s, e in zip(symbols, exponents, strict=True)))


def polynomial(terms: Polynomial, symbols: tuple[Expr, ...]) -> Expr:
    """The SymPy value of a polynomial."""
    return Add(*(Rational(c.numerator, c.denominator) * monomial(e, symbols) for e, c in terms.items()))


def cancelled(expression: Expr) -> Expr:
    """A rational function in lowest terms, its numerator and denominator expanded.

    >>> from symroof.symbols import symbol
    >>> N = symbol("N")
    >>> cancelled((2*N**2 - N)/(4*N**2 + 2*N))
    (2*N - 1)/(4*N + 2)
    """
    symbols = symbols_of(expression)
    above, below = ratio(expression, symbols)
    return polynomial(above, symbols) / polynomial(below, symbols)


def multiply(left: Polynomial, right: Polynomial) -> Polynomial:
    product: Polynomial = {}
    for a, c in left.items():
        for b, d in right.items():
            key = tuple(x + y for x, y in zip(a, b, strict=True))
            product[key] = product.get(key, Fraction(0)) + c * d
    return {e: c for e, c in product.items() if c}


def subtract(left: Polynomial, right: Polynomial) -> Polynomial:
    difference = dict(left)
    for e, c in right.items():
        difference[e] = difference.get(e, Fraction(0)) - c
    return {e: c for e, c in difference.items() if c}


def shift(terms: Polynomial, positions: tuple[int, ...]) -> Polynomial:
    """The polynomial in y = x - 1 for the symbols at ``positions``: coefficients tell its sign for x >= 1.

    >>> shift({(1,): Fraction(2), (0,): Fraction(-1)}, (0,))
    {(0,): Fraction(1, 1), (1,): Fraction(2, 1)}
    """
    for position in positions:
        shifted: Polynomial = {}
        for exps, c in terms.items():
            for power in range(exps[position] + 1):
                key = (*exps[:position], power, *exps[position + 1 :])
                shifted[key] = shifted.get(key, Fraction(0)) + c * comb(exps[position], power)
        terms = {e: c for e, c in shifted.items() if c}
    return dict(sorted(terms.items()))


def sign(terms: Polynomial, symbols: tuple[Expr, ...], least_one: frozenset[Expr]) -> int | None:
    """1, -1 or 0 where the polynomial has that sign on the whole domain; None where that is not known.

    The domain is x >= 1 for the symbols in ``least_one`` and x > 0 for the others. Coefficients of one sign decide,
    then coefficients about x = 1, then, in one symbol, the exact count of roots.

    >>> from symroof.symbols import symbol
    >>> N = symbol("N")
    >>> sign({(1,): Fraction(2), (0,): Fraction(-1)}, (N,), frozenset({N}))
    1
    """
    if not terms:
        return 0
    found = _coefficients(terms)
    if found is not None:
        return found
    terms, places = _joined(terms, symbols, least_one)
    shifted = shift(terms, places)
    found = _coefficients(shifted)
    if found is not None and any(not any(e[i] for i in places) for e in shifted):
        return found
    used = [i for i in range(len(symbols)) if any(e[i] for e in terms)]
    if len(used) == 1:
        from symroof.algebra.roots import one_sign

        low = 1 if symbols[used[0]] in least_one else 0
        return one_sign({e[used[0]]: c for e, c in terms.items()}, Fraction(low), closed=bool(low))
    return None


def weak_sign(terms: Polynomial, symbols: tuple[Expr, ...], least_one: frozenset[Expr]) -> int | None:
    """As :func:`sign`, where 1 means >= 0 and -1 means <= 0."""
    found = sign(terms, symbols, least_one)
    if found is not None:
        return found
    return _coefficients(shift(*_joined(terms, symbols, least_one)))


def _joined(
    terms: Polynomial, symbols: tuple[Expr, ...], least_one: frozenset[Expr]
) -> tuple[Polynomial, tuple[int, ...]]:
    """The terms without their common monomial, with sizes that occur only together as one: the sign is the same.

    A product of numbers from 1 is any number from 1. Also the places of the sizes that are left.
    """
    low = tuple(map(min, zip(*terms, strict=True)))
    columns = {i: tuple(e[i] - low[i] for e in terms) for i, s in enumerate(symbols) if s in least_one}
    first: dict[tuple[int, ...], int] = {}
    for i, column in columns.items():
        first.setdefault(column, i)
    places = tuple(sorted(i for column, i in first.items() if any(column)))
    gone = set(columns) - set(places)
    return {tuple(0 if i in gone else k - low[i] for i, k in enumerate(e)): c for e, c in terms.items()}, places


def _coefficients(terms: Polynomial) -> int | None:
    if all(c > 0 for c in terms.values()):
        return 1
    return -1 if all(c < 0 for c in terms.values()) else None


def sign_of(expression: Expr, least_one: frozenset[Expr]) -> int | None:
    """The sign of a rational function on the domain, where numerator and denominator have one each.

    >>> from symroof.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> sign_of(B - 1/(D + 1), frozenset({B, D}))
    1
    """
    symbols = symbols_of(expression)
    above, below = ratio(expression, symbols)
    top, bottom = sign(above, symbols, least_one), sign(below, symbols, least_one)
    return None if top is None or not bottom else top * bottom


def coefficients(terms: Polynomial, position: int) -> list[Polynomial]:
    """The coefficients of a polynomial in one symbol, from the constant upwards, in the other symbols."""
    degree = max((e[position] for e in terms), default=0)
    parts: list[Polynomial] = [{} for _ in range(degree + 1)]
    for e, c in terms.items():
        parts[e[position]][(*e[:position], 0, *e[position + 1 :])] = c
    return parts
