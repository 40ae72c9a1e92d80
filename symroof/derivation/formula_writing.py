"""SymPy values as written formulas, in the order in which a person would read them.

Factors: numbers, quantities, dimensions as the operation names them, sums. Terms: as the tensors stand in the
operation, otherwise by falling degree, constants before quotients.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from sympy import Add, E, Expr, Max, Min, Mul, Pow, Rational, exp, oo, terms_gcd

from symroof.algebra.roots import Root, root_near
from symroof.algebra.rounding import magnitude, to_digits
from symroof.formula import (
    Call,
    Figure,
    Formula,
    Frozen,
    Infinity,
    Name,
    Negative,
    Number,
    Power,
    Quotient,
    Sum,
    mapped,
    number,
    product,
)
from symroof.model.quantities import QUANTITIES
from symroof.symbols import fraction, rational, spelled, symbol

CALLS = {Max: "max", Min: "min"}


class Layout(Frozen):
    """``order`` are the dimensions as they appear, ``shapes`` the dimensions of each tensor, in their own order; ``beside``
    are the letters that tensors are called by: W of W1 and W2."""

    order: tuple[str, ...]
    shapes: tuple[tuple[str, ...], ...] = ()
    beside: frozenset[str] = frozenset()

    def write(self, value: Expr | Fraction | int | Root) -> Formula:
        """
        >>> from symroof.symbols import symbol
        >>> B, D, F = map(symbol, "BDF")
        >>> formula = Layout(("B", "D", "F"), (("B", "D"), ("D", "F"), ("B", "F"))).write(2*B*D + 2*B*F + 2*D*F)
        >>> [term.factors[1].name + term.factors[2].name for term in formula.terms]
        ['BD', 'DF', 'BF']
        """
        if isinstance(value, int | Fraction):
            return self._number(Fraction(value))
        if isinstance(value, Root):
            return decimal_root(value)
        return self._write(value)

    @lru_cache(maxsize=8192)  # noqa: B019 (a layout is a small value, and equal ones share their formulas)
    def _write(self, value: Expr) -> Formula:
        if value == oo:
            return Infinity()
        if value.is_Rational:
            return self._number(fraction(value))
        if value.is_Symbol:
            return Name(value.name)
        if value == E:
            return Call("exp", (number(1),))
        if isinstance(value, Add):
            return self._sum(value)
        if isinstance(value, Mul | Pow):
            return self._product(value)
        function = CALLS.get(type(value)) or value.func.__name__.lower()
        return Call(function, tuple(self._write(argument) for argument in sorted(value.args, key=self._rank)))

    def _number(self, value: Fraction) -> Formula:
        size = abs(value)
        shown = number(size) if size.denominator == 1 else Quotient(number(size.numerator), number(size.denominator))
        return shown if value >= 0 else Negative(shown)

    def _sum(self, value: Expr) -> Formula:
        terms = sorted(value.args, key=self._term_key)
        signs = [is_negative(term) for term in terms]
        if signs[0] and not all(signs):
            first = signs.index(False)
            terms = [terms[first], *terms[:first], *terms[first + 1 :]]
        return Sum(tuple(self._write(term) for term in terms))

    def _product(self, value: Expr) -> Formula:
        above: list[Formula] = []
        below: list[Formula] = []
        coefficient, factors = value.as_coeff_mul() if isinstance(value, Mul) else (Rational(1), (value,))
        size = abs(fraction(coefficient))
        for factor in sorted(factors, key=self._factor_key(factors)):
            base, exponent = (factor, Rational(1)) if isinstance(factor, exp) else factor.as_base_exp()
            if exponent.is_Rational and exponent.is_negative:
                below.append(self._power(base, -exponent))
            else:
                above.append(self._power(base, exponent))
        top = product(number(size.numerator), *above)
        if size.denominator != 1 or below:
            top = Quotient(top, product(number(size.denominator), *below))
        return Negative(top) if coefficient < 0 else top

    def _power(self, base: Expr, exponent: Expr) -> Formula:
        if exponent == 1:
            return self._write(base)
        if exponent == Rational(1, 2):
            return Call("sqrt", (self._write(base),))
        return Power(self._write(base), self._write(exponent))

    def _factor_key(self, factors: tuple[Expr, ...]):  # type: ignore[no-untyped-def]
        names = frozenset(base.name for base in (f.as_base_exp()[0] for f in factors) if base.is_Symbol)
        own = next((shape for shape in self.shapes if frozenset(shape) == names), self.order)

        def key(factor: Expr) -> tuple[int, int, str]:
            base = factor.as_base_exp()[0]
            if not base.is_Symbol:
                return (3, 0, spelled(base))
            if base.name in own:
                return (2, own.index(base.name), "")
            return (1, QUANTITIES.index(base.name) if base.name in QUANTITIES else -1, base.name)

        return key

    def _rank(self, value: Expr) -> tuple[int, str]:
        places = [self.order.index(s.name) for s in value.free_symbols if s.name in self.order]
        return (min(places, default=-1), spelled(value))

    def _term_key(self, term: Expr) -> tuple[object, ...]:
        names = frozenset(s.name for s in term.free_symbols)
        for place, shape in enumerate(self.shapes):
            if names == frozenset(shape) and self._degree(term) == len(shape):
                return (0, -len(names), place)
        constant = not names & set(self.order)
        quotient = any(p.is_Pow and p.exp.is_negative for p in Mul.make_args(term))
        return (
            1,
            -self._degree(term),
            not constant,
            quotient,
            [self._rank_of(n) for n in sorted(names, key=self._rank_of)],
            spelled(term),
        )

    def _rank_of(self, name: str) -> int:
        return self.order.index(name) if name in self.order else -1

    def _degree(self, term: Expr) -> int:
        """The degree in the dimensions, told by the largest term of each factor."""
        total = 0
        for factor in Mul.make_args(term):
            base, exponent = factor.as_base_exp()
            if not exponent.is_Integer:
                continue
            if base.is_Symbol:
                total += int(exponent) * (base.name in self.order)
            elif isinstance(base, Add):
                total += int(exponent) * max(self._degree(part) for part in base.args)
        return total

    def root(self, power: Expr, degree: int) -> Formula:
        """The root of a quotient of products: what has a root of its own stands before it, D sqrt(24B/N).

        >>> from symroof.symbols import symbol
        >>> Layout(("D",)).root(4*symbol("D")**2, 2) == Layout(("D",)).write(2*symbol("D"))
        True
        """
        outside = inside = Rational(1)
        for factor in Mul.make_args(power):
            base, e = factor.as_base_exp()
            near = root_near(fraction(factor), degree) if factor.is_Rational else Fraction(0)
            if factor.is_Rational and rational(near) ** degree == factor:
                outside *= rational(near)
            elif not factor.is_Rational and e % degree == 0:
                outside *= base ** (e / degree)
            else:
                inside *= factor
        if inside == 1:
            return self.write(outside)
        under = self.write(inside)
        shown = Call("sqrt", (under,)) if degree == 2 else Power(under, Quotient(number(1), number(degree)))
        above, below = (self.write(side) for side in outside.as_numer_denom())
        top = product(above, shown)
        return top if below == number(1) else Quotient(top, below)

    def factored(self, value: Expr) -> Formula:
        """As :meth:`write`, but a difference shows its common factor: BF(2D - 1), not 2BDF - BF.

        >>> from symroof.symbols import symbol
        >>> B, D = symbol("B"), symbol("D")
        >>> Layout(("B", "D")).factored(2*B*D - B) == Layout(("B", "D")).write(B*(2*D - 1))
        True
        """
        if not value.is_rational_function() or not value.free_symbols:
            return self.write(value)
        above, below = (
            self.grouped(side) if any(map(is_negative, Add.make_args(side))) else self.write(side)
            for side in upright(*(side.expand() for side in value.as_numer_denom()))
        )
        return (
            self.write(value)
            if isinstance(above, Negative)
            else above
            if below == number(1)
            else Quotient(above, below)
        )

    def grouped(self, value: Expr, by: str = "") -> Formula:
        """A polynomial with the terms of each power of ``by`` in one bracket: DF - R(D + F).

        Each bracket has its common monomial taken out in front, and so has the whole.
        """
        x = symbol(by) if by else Rational(1)
        groups: dict[Expr, Expr] = {}
        for term in Add.make_args(value.expand()):
            coefficient, power = term.as_coeff_exponent(x) if by else (term, 0)
            groups[power] = groups.get(power, 0) + coefficient
        shared = content(value)[0].as_coeff_Mul()[1].subs(x, 1)
        if shared != 1 and len(groups) > 1:
            return product(self._write(shared), self.grouped((value / shared).expand(), by))
        parts = [
            self._times(head * x**power, rest) for power in sorted(groups) for head, rest in (content(groups[power]),)
        ]
        terms = [term for part in parts for term in (part.terms if isinstance(part, Sum) else (part,))]
        ordered = sorted(terms, key=lambda term: isinstance(term, Negative))
        return ordered[0] if len(ordered) == 1 else Sum(tuple(ordered))

    def _times(self, head: Expr, inner: Expr) -> Formula:
        if inner == 1:
            return self._write(head)
        if head == 1:
            return self._write(inner)
        negative = head.could_extract_minus_sign()
        formula = product(self._write(-head if negative else head), self._write(inner))
        return Negative(formula) if negative else formula


def content(value: Expr) -> tuple[Expr, Expr]:
    """A polynomial as its common factor, negative where every term is, and the rest.

    >>> from symroof.symbols import symbol
    >>> N, R = symbol("N"), symbol("R")
    >>> content(2*N**2 - 2*N*R), content(-N - R)
    ((2*N, N - R), (-1, N + R))
    """
    head, rest = terms_gcd(value.expand()).as_independent(Add, as_Add=False)
    return (-head, -rest) if all(map(is_negative, Add.make_args(rest))) else (head, rest)


def upright(above: Expr, below: Expr) -> tuple[Expr, Expr]:
    """A quotient without a minus above where a difference below can be turned round: X/(a - Y), not -X/(Y - a)."""
    down = all(map(is_negative, Add.make_args(above))) and any(map(is_negative, Add.make_args(below)))
    return (-above, -below) if down else (above, below)


def is_negative(term: Expr) -> bool:
    return bool(term.is_Rational and term < 0) or bool(term.as_coeff_Mul()[0] < 0)


def decimal_root(root: Root) -> Formula:
    """An irrational root in eight digits, and all that stand before the point; an exact one as it is.

    >>> decimal_root(Root(Fraction("123456789012.3"), Fraction("123456789012.4"))).digits
    '123456789012'
    """
    if root.exact:
        return number(root.low)
    text = to_digits(root.middle, max(8, magnitude(root.middle) + 1))
    return Number(Fraction(text), text)


def with_digits(formula: Formula, digits: dict[str, str]) -> Formula:
    """The formula with known quantities shown by their digits.

    >>> with_digits(Name("peak"), {"peak": "1.97e14"})
    Figure(name='peak', digits='1.97e14')
    """

    def known(node: Formula) -> Formula:
        return Figure(node.name, digits[node.name]) if isinstance(node, Name) and node.name in digits else node

    return mapped(formula, known) if digits else formula
