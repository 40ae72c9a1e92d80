"""Real roots of polynomials with rational coefficients, isolated exactly (Vincent–Akritas–Strzeboński, in SymPy)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sympy import QQ, Poly, Rational
from sympy.abc import x as _x

# Irrational roots are held in an interval no wider than this part of their size.
WIDTH = Fraction(1, 10**12)


@dataclass(frozen=True, slots=True)
class Root:
    """A real root: exact where ``low == high``, else the only root of its polynomial between the two."""

    low: Fraction
    high: Fraction

    @property
    def exact(self) -> bool:
        return self.low == self.high

    @property
    def middle(self) -> Fraction:
        return (self.low + self.high) / 2


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
            value = Fraction(int(-b.p), int(b.q)) / Fraction(int(a.p), int(a.q))
            roots.append(Root(value, value))
            continue
        scale = max(Fraction(1), above)
        for (low, high), _ in factor.intervals(eps=Rational(WIDTH.numerator, WIDTH.denominator) * int(scale), inf=None):
            roots.append(Root(Fraction(int(low.p), int(low.q)), Fraction(int(high.p), int(high.q))))
    return tuple(sorted((r for r in roots if r.high > above or (closed and r.low == above)), key=lambda r: r.middle))


def one_sign(coefficients: dict[int, Fraction], low: Fraction, *, closed: bool) -> int | None:
    """The sign of a polynomial on (low, oo), or [low, oo) if ``closed``, where it has one; else None.

    >>> one_sign({2: Fraction(1), 1: Fraction(-1), 0: Fraction(1)}, Fraction(0), closed=False)
    1
    """
    poly = _poly(coefficients)
    start = Rational(low.numerator, low.denominator)
    roots = poly.count_roots(start, None)
    if poly.eval(start) == 0 and not closed:
        roots -= 1
    if roots:
        return None
    return 1 if poly.LC() > 0 else -1


def _poly(coefficients: dict[int, Fraction]) -> Poly:
    terms = {(e,): QQ(c.numerator, c.denominator) for e, c in coefficients.items()}
    return Poly.from_dict(terms, _x, domain=QQ)
