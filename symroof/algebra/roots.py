"""Real roots of polynomials with rational coefficients, isolated exactly (Vincent–Akritas–Strzeboński, in SymPy); and what it
means to be solved: intervals between ends, guarded cases, and the least whole number above a bound."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import TypeAlias

from sympy import QQ, Expr, Poly, divisors

from symroof.formula import Frozen
from symroof.symbols import fraction, rational, symbol

# Irrational roots are held in an interval no wider than this part of their size: its middle has the float of the root.
WIDTH = Fraction(1, 10**20)


class Root(Frozen):
    """A real root: exact where ``low == high``, else the only root of its polynomial between the two."""

    low: Fraction
    high: Fraction

    @property
    def exact(self) -> bool:
        return self.low == self.high

    @property
    def middle(self) -> Fraction:
        return (self.low + self.high) / 2


End: TypeAlias = "Expr | Root | None"


class Interval(Frozen):
    """The open interval between two ends; None is the end of the domain."""

    low: End = None
    high: End = None


ALWAYS = (Interval(),)
NEVER: tuple[Interval, ...] = ()


class Case(Frozen):
    """Where every ``guard`` is positive the solution is the union of the intervals.

    ``implicit`` stands for a polynomial that must be positive and has no solved form.
    """

    guard: tuple[Expr, ...]
    intervals: tuple[Interval, ...]
    implicit: Expr | None = None


class Threshold(Frozen):
    """The solution of an inequality for ``variable``: the first case whose guard holds, else ``otherwise``.

    ``one_root`` tells that an implicit solution is everything beyond (1) or below (-1) the only positive root.
    """

    variable: Expr
    cases: tuple[Case, ...]
    otherwise: Case | None = None
    one_root: int = 0


def whole_number(relation: str, bound: Expr | Root, each: int = 1, within: int = 0) -> int | None:
    """The positive multiple of ``each`` that is next to a bound on its side, of those that divide ``within`` unless that
    is 0. There may be none, which is 0; None where the bound is symbolic, or the interval of a root tells no number.

    >>> from sympy import Rational
    >>> whole_number(">", Rational(9850, 41)), whole_number(">", Rational(78800, 9), 2)
    (241, 8756)
    >>> whole_number("<", Rational(20), within=24), whole_number("<=", Rational(10), 16)
    (12, 0)
    """
    ends = (bound.low, bound.high) if isinstance(bound, Root) else (fraction(bound),) if bound.is_Rational else ()
    rises, strict = relation.startswith(">"), "=" not in relation
    result = set()
    for end in ends:
        up, down = ceil(end / each), floor(end / each)
        last = up + (strict and up == end / each) if rises else down - (strict and down == end / each)
        if within:
            parts = divisors(within // each) if within % each == 0 else ()
            inside = [n for n in parts if (n >= last if rises else n <= last)]
            last = (min if rises else max)(inside, default=0)
        else:
            last = max(last, int(rises))
        result.add(last * each)
    return result.pop() if len(result) == 1 else None


def real_roots(coefficients: dict[int, Fraction], above: Fraction, *, closed: bool = False) -> tuple[Root, ...]:
    """The distinct real roots above a number (or from it on, if ``closed``) of a polynomial in one symbol, in order.

    >>> [r.low for r in real_roots({2: Fraction(1), 1: Fraction(-3), 0: Fraction(2)}, Fraction(0))]
    [Fraction(1, 1), Fraction(2, 1)]
    """
    poly = _poly(coefficients)
    if poly.degree() <= 0:
        return ()
    roots = []
    for factor, _ in poly.factor_list()[1]:
        if factor.degree() == 1:
            a, b = factor.all_coeffs()
            value = -fraction(b) / fraction(a)
            roots.append(Root(value, value))
            continue
        scale = max(Fraction(1), above)
        for (low, high), _ in factor.intervals(eps=rational(WIDTH) * int(scale), inf=None):
            roots.append(Root(fraction(low), fraction(high)))
    return tuple(sorted((r for r in roots if r.high > above or (closed and r.low == above)), key=lambda r: r.middle))


def constant_sign(coefficients: dict[int, Fraction], low: Fraction, *, closed: bool) -> int | None:
    """The sign of a polynomial on (low, oo), or [low, oo) if ``closed``, where it has one; else None.

    >>> constant_sign({2: Fraction(1), 1: Fraction(-1), 0: Fraction(1)}, Fraction(0), closed=False)
    1
    """
    poly = _poly(coefficients)
    start = rational(low)
    roots = poly.count_roots(start, None)
    if poly(start) == 0 and not closed:
        roots -= 1
    if roots:
        return None
    return 1 if poly.LC() > 0 else -1


def _poly(coefficients: dict[int, Fraction]) -> Poly:
    terms = {(e,): QQ(c.numerator, c.denominator) for e, c in coefficients.items()}
    return Poly.from_dict(terms, symbol("x"), domain=QQ)


def root_near(power: Fraction, degree: int) -> Fraction:
    """The root of a positive number: exact where it is rational, else just below it, to 30 digits.

    >>> root_near(Fraction(9, 4), 2), float(root_near(Fraction(2), 2))
    (Fraction(3, 2), 1.4142135623730951)
    """
    exact = [_whole_root(side, degree) for side in (power.numerator, power.denominator)]
    if all(root**degree == side for root, side in zip(exact, (power.numerator, power.denominator), strict=True)):
        return Fraction(*exact)
    scale = 10**30
    return Fraction(_whole_root(floor(power * scale**degree), degree), scale)


def _whole_root(number: int, degree: int) -> int:
    """The largest whole number whose power is at most a number."""
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= number else (low, middle)
    return low
