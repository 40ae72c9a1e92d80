"""Products of roots, decided by whole powers: a root is told by what it is the root of, and no root is ever taken."""

from __future__ import annotations

from fractions import Fraction
from math import gcd
from typing import Any

from symroof.errors import CheckError
from symroof.formula import Call, Compare, Formula, Number, Power, fold
from symroof.proof.evidence import last_place
from symroof.proof.polynomials import ONE, Poly, Rat
from symroof.proof.quotients import Exact
from symroof.proof.step import Check, Evidence, Ledger, Step, refuted


class Radicals:
    """Rules for :func:`~symroof.formula.fold`: a product of roots as a quotient and the degree of its one root."""

    def __init__(self, exact: Exact) -> None:
        self.exact = exact

    def of(self, formula: Formula) -> tuple[Rat, int]:
        result: tuple[Rat, int] = fold(formula, self)
        return result

    def name(self, node: Any, *parts: Any) -> tuple[Rat, int]:
        return self.exact.rational(node), 1

    number = figure = name

    def sum(self, node: Formula, *parts: tuple[Rat, int]) -> tuple[Rat, int]:
        if any(degree != 1 for _, degree in parts):
            raise CheckError("a sum of roots is no root")
        return self.exact.rational(node), 1

    def negative(self, node: Formula, body: tuple[Rat, int]) -> tuple[Rat, int]:
        return self.sum(node, body)

    def group(self, node: Formula, body: tuple[Rat, int]) -> tuple[Rat, int]:
        return body

    def product(self, node: Formula, *parts: tuple[Rat, int]) -> tuple[Rat, int]:
        value, degree = Rat(ONE), 1
        for rat, k in parts:
            value, degree = raised(value, k) * raised(rat, degree), degree * k
        return value, degree

    def quotient(self, node: Formula, above: tuple[Rat, int], below: tuple[Rat, int]) -> tuple[Rat, int]:
        return self.product(node, above, (Rat(ONE) / below[0], below[1]))

    def power(self, node: Power, base: tuple[Rat, int], exponent: tuple[Rat, int]) -> tuple[Rat, int]:
        e = exponent[0].constant
        if e is None or exponent[1] != 1 or e <= 0 or max(e.numerator, e.denominator) > 64:
            raise CheckError("only powers with positive numbers are checked")
        return raised(base[0], e.numerator), base[1] * e.denominator

    def call(self, node: Call, *arguments: tuple[Rat, int]) -> tuple[Rat, int]:
        if node.function != "sqrt":
            raise CheckError(f"{node.function}(…) is no root")
        return arguments[0][0], 2 * arguments[0][1]


def raised(value: Rat, power: int) -> Rat:
    """A quotient to a whole power."""
    return Rat(value.above**power, value.below**power) if power >= 0 else Rat(ONE) / raised(value, -power)


class Leads(Evidence):
    """Evidence of a condition at the least place: both of its sides are positive and without sums of roots, so their
    powers compare as they do. And of an equation between such."""

    relations = ("<=>", "=")

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact = ledger.exact(figures=step.relation == "=", assumptions=step.assumptions)
        if step.relation == "=":
            (left, k), (right, n) = (Radicals(exact).of(side) for side in (step.left, step.right))
            positive = exact.is_positive(left) and exact.is_positive(right)
            if not positive or not (raised(left, n) - raised(right, k)).is_zero():
                raise refuted(step, "it is another number")
            return Check("proved", "exact identity of the powers of the sides")
        sides = [self._cleared(step, side, exact) for side in (step.left, step.right)]
        if sides[0] != sides[1]:
            raise refuted(step, "the powers of the sides are another condition")
        return Check("proved", "exact identity of the powers of the sides")

    def _cleared(self, step: Step, side: Formula, exact: Exact) -> tuple[Poly, bool]:
        if not isinstance(side, Compare) or side.relation not in ("<", "<=", ">", ">="):
            raise refuted(step, "this is no order")
        (left, k), (right, n) = (Radicals(exact).of(part) for part in (side.left, side.right))
        if not (exact.is_positive(left) and exact.is_positive(right)):
            raise refuted(step, "a side may not be positive")
        shared = gcd(k, n)
        turned = exact.cleared(raised(left, n // shared) - raised(right, k // shared))
        if turned is None:
            raise refuted(step, "a denominator may vanish")
        return (-turned if side.relation[0] == "<" else turned).primitive(), len(side.relation) == 1


class Rooted(Evidence):
    """Evidence of decimals: a number that is a root, rounded to nearest at its last digit."""

    relations = ("~", "=")

    def examine(self, step: Step, ledger: Ledger) -> Check:
        value, degree = Radicals(ledger.exact(figures=True, assumptions=step.assumptions)).of(step.left)
        power, told = value.constant, step.right
        if power is None or not isinstance(told, Number):
            raise refuted(step, "a number was expected")
        if step.relation == "=":
            if told.value <= 0 or told.value**degree != power:
                raise refuted(step, "it is another number")
            return Check("proved", "exact numbers")
        if told.digits is None or Fraction(told.digits) != told.value:
            raise refuted(step, "digits were expected")
        half = last_place(told.digits) / 2
        low = max(told.value - half, Fraction(0))
        if not low**degree <= power <= (told.value + half) ** degree:
            raise refuted(step, "the root does not round to these digits")
        return Check("proved", "exact rounding")
