"""Symbols: the only maker of those of SymPy, the way from a formula to its SymPy value, and how large that becomes.

Every symbol is a positive real. Dimensions and quantities never share one: the names of quantities are
reserved, and ``E I N O Q S C F R`` are ordinary dimensions. Terms are counted before they are multiplied out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import ceil as math_ceil, comb, floor as math_floor, prod

from sympy import Abs, Add, Expr, I, Max, Min, Mul, Pow, Rational, Symbol, ceiling, exp, floor, log, nan, oo, sqrt, zoo

from symroof.errors import AlgebraError
from symroof.formula import (
    LARGEST_BITS,
    Call,
    Figure,
    Formula,
    Infinity,
    Name,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    children,
    fold,
    names,
)

# Integer powers are computed only up to this size, which Python can write; `9**9**9**9` is refused, not evaluated.
LARGEST_EXPONENT = 10_000

VALUES = {"max": Max, "min": Min, "sqrt": sqrt, "log": log, "exp": exp, "floor": floor, "ceil": ceiling, "abs": Abs}


@lru_cache(maxsize=4096)
def symbol(name: str) -> Symbol:
    """The positive symbol of that name; the same name gives the same symbol.

    >>> symbol("S"), symbol("S").is_positive
    (S, True)
    """
    return Symbol(name, positive=True)


def rational(value: Fraction | int) -> Rational:
    """A SymPy rational of the same value."""
    return Rational(Fraction(value).numerator, Fraction(value).denominator)


def fraction(value: Expr) -> Fraction:
    """The exact value of a SymPy rational."""
    if not value.is_Rational:
        raise AlgebraError(f"{value} is not a rational number")
    return Fraction(int(value.p), int(value.q))


def expression(formula: Formula, values: Mapping[str, Expr] | None = None) -> Expr:
    """The SymPy value of a formula, with the values of some names put in.

    >>> from symroof.formula import *
    >>> half = Quotient(Sum((Name("N"), Name("N"))), number(4))
    >>> expression(half), expression(half, {"N": rational(3)})
    (N/2, 3/2)
    """
    return fold(formula, _Value(values or {}))


class _Value:
    def __init__(self, values: Mapping[str, Expr]) -> None:
        self.values = values

    def number(self, node: Number) -> Expr:
        return rational(node.value)

    def name(self, node: Name | Figure) -> Expr:
        return self.values[node.name] if node.name in self.values else symbol(node.name)

    figure = name

    def infinity(self, node: Infinity) -> Expr:
        return oo

    def sum(self, node: Formula, *terms: Expr) -> Expr:
        return Add(*terms)

    def product(self, node: Formula, *factors: Expr) -> Expr:
        return Mul(*factors)

    def quotient(self, node: Formula, above: Expr, below: Expr) -> Expr:
        if below.is_zero:
            raise AlgebraError("division by zero")
        return above / below

    def power(self, node: Formula, base: Expr, exponent: Expr) -> Expr:
        if exponent.is_Rational:
            size = abs(exponent)
            width = max(int(base.p).bit_length(), int(base.q).bit_length()) if base.is_Rational else 1
            if size > LARGEST_EXPONENT or width * size > LARGEST_BITS:
                raise AlgebraError(f"the power is too large to compute: exponent {str(exponent)[:20]}")
            if base.is_zero and exponent <= 0:
                raise AlgebraError("zero to a power that is not positive")
        return Pow(base, exponent)

    def negative(self, node: Formula, body: Expr) -> Expr:
        return -body

    def group(self, node: Formula, body: Expr) -> Expr:
        return body

    written = group

    def call(self, node: Call, *arguments: Expr) -> Expr:
        if node.function == "log2":
            return log(arguments[0]) / log(2)
        if node.function not in VALUES:
            raise AlgebraError(f"{node.function}(…) has no value here")
        try:
            value = VALUES[node.function](*arguments)
        except (TypeError, ValueError):
            value = nan
        if value.has(zoo, nan, I) or value in (oo, -oo):
            raise AlgebraError(f"{node.function}(…) has no value here")
        return value


def exactly(value: Expr, sizes: Mapping[str, Fraction]) -> Fraction | None:
    """The exact value of an expression, where the sizes leave nothing open and it is rational; None elsewhere.

    >>> B, D = symbol("B"), symbol("D")
    >>> exactly(Max(B / D, D**2), {"B": Fraction(8), "D": Fraction(3)}), exactly(sqrt(B), {"B": Fraction(2)}), exactly(B, {})
    (Fraction(9, 1), None, None)
    """
    if value.is_Symbol:
        return sizes.get(value.name)
    if value.is_Rational:
        return fraction(value)
    parts = [exactly(part, sizes) for part in value.args]
    exact = [part for part in parts if part is not None]
    if len(exact) < len(parts) or not parts:
        return None
    if isinstance(value, Pow):
        base, power = exact
        if power.denominator == 1:
            return base**power.numerator if base or power > 0 else None
        root = sqrt(rational(base)) if power in (Fraction(1, 2), Fraction(-1, 2)) else None
        result = None if root is None or not root.is_Rational else fraction(root)
        return result if result is None or power > 0 else 1 / result if result else None
    rule = EXACT.get(type(value))
    return None if rule is None else Fraction(rule(exact))


def with_numbers(value: Expr, numbers: Mapping[str, Fraction]) -> Expr:
    """An expression with numbers put in for sizes and figures; a maximum leaves out what is nowhere the largest, as far as
    the signs of terms show that. (SymPy asks more of each pair, which takes it long.)

    >>> B, D = symbol("B"), symbol("D")
    >>> with_numbers(Max(2*B*D, B*symbol("peak") + D), {"peak": Fraction(3)}), with_numbers(Max(B*D, 2*B*D + D), {})
    (Max(2*B*D, 3*B + D), 2*B*D + D)
    """
    put = {symbol(name): rational(number) for name, number in numbers.items()}

    def of(part: Expr) -> Expr:
        if not part.has(Max, Min):
            return part.subs(put)
        parts = [of(one) for one in part.args]
        if not isinstance(part, Max | Min) or all(one.is_number for one in parts):
            return part.func(*parts)
        ends = list(dict.fromkeys(parts))
        for one in tuple(ends):
            more = (a - b if isinstance(part, Max) else b - a for a, b in ((x, one) for x in ends if x != one))
            if any(all(term.is_nonnegative for term in Add.make_args(each.expand())) for each in more):
                ends.remove(one)
        return part.func(*ends, evaluate=False)

    return of(value)


EXACT: Mapping[type[Expr], Callable[..., Fraction | int]] = {
    Add: sum,
    Mul: prod,
    Max: max,
    Min: min,
    floor: lambda parts: math_floor(*parts),
    ceiling: lambda parts: math_ceil(*parts),
    Abs: lambda parts: abs(*parts),
}


def spelled(value: Expr) -> str:
    """The value as text. Raises AlgebraError for a number longer than Python writes."""
    try:
        return str(value)
    except ValueError:
        raise AlgebraError(
            "a number in the formula is too long", expected=f"at most {sys.get_int_max_str_digits()} digits"
        ) from None


# A rational function with more terms than this, above or below, is not multiplied out.
MOST_TERMS = 3_000
# Names whose formulas stand on one another in more steps than this are refused.
DEEPEST = 100

# At most how many terms stand above and below.
Terms = tuple[int, int]


def weight(formula: Formula) -> int:
    """The work that it is to multiply a formula out. Raises :class:`~symroof.errors.AlgebraError` where it is too much.

    >>> from symroof.formula import number
    >>> a, b = Name("A"), Name("B")
    >>> weight(Power(Sum((a, b)), number(9)))
    10
    """
    return max(terms(formula))


def terms(formula: Formula, known: Mapping[str, Terms] | None = None) -> Terms:
    """At most how many terms a formula has above and below as a quotient of polynomials, with the terms of ``known`` names."""
    if isinstance(formula, Name):
        return (known or {}).get(formula.name, (1, 1))
    parts = [terms(child, known) for child in children(formula)]
    above, below = max(parts, key=max, default=(1, 1))
    match formula:
        case Sum():
            above, below = parts[0]
            for n, d in parts[1:]:
                above, below = _light(above * d + n * below, below * d)
        case Product():
            above, below = prod(n for n, _ in parts), prod(d for _, d in parts)
        case Quotient():
            above, below = parts[0][0] * parts[1][1], parts[0][1] * parts[1][0]
        case Power(exponent=Number(value=value)) if value.denominator == 1 and parts[0] != (1, 1):
            e = min(abs(int(value)), MOST_TERMS)
            above, below = (comb(n + e - 1, e) for n in parts[0])
        case Power():
            above, below = parts[0]
    return _light(above, below)


def _light(above: int, below: int) -> Terms:
    if max(above, below) > MOST_TERMS:
        raise AlgebraError("the formula is too large to be multiplied out")
    return above, below


def depth(formula: Formula, known: Mapping[str, int]) -> int:
    """In how many steps formulas stand on one another up to this one. Raises :class:`~symroof.errors.AlgebraError` where
    that is too many."""
    result = 1 + max((known[name] for name in names(formula) if name in known), default=0)
    if result > DEEPEST:
        raise AlgebraError(f"more than {DEEPEST} formulas stand on one another")
    return result
