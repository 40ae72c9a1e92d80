"""Differences, means, decimals, and what is told beside another step: gone through again."""

from __future__ import annotations

from fractions import Fraction

from symroof.formula import Call, Cases, Compare, Formula, Negative, Number, Quotient, Sum, number
from symroof.proof.limits import Whole
from symroof.proof.pointwise import between
from symroof.proof.propositions import read
from symroof.proof.step import Check, Evidence, Ledger, Step, refuted, undecided


class Excess(Evidence):
    """Evidence of a working count: right - left is exactly this, and positive."""

    relations = ("~",)

    amount: Formula

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact = ledger.exact(figures=False)
        amount = exact.rational(self.amount)
        if not (exact.difference(step.right, step.left) - amount).is_zero():
            raise refuted(step, "the stated difference is not the difference")
        if not exact.is_positive(amount):
            raise refuted(step, "the stated difference is not positive")
        return Check("proved", "exact difference")


class Harmonic(Evidence):
    """Evidence of a bracket: 1/right is the sum of the reciprocals of the parts, and left is their least over their
    number.

    min(m)/k <= 1/(1/m_1 + … + 1/m_k), because no 1/m_i is more than 1/min(m): all m_i have to be positive.
    """

    relations = ("<=",)

    parts: tuple[Formula, ...]

    def examine(self, step: Step, ledger: Ledger) -> Check:
        parts, exact = self.parts, ledger.exact(figures=False, assumptions=step.assumptions)
        if not isinstance(step.left, Quotient) or step.left.below != number(len(parts)):
            raise refuted(step, "the left side is not the least part over their number")
        least = step.left.above
        least_parts = least.arguments if isinstance(least, Call) and least.function == "min" else (least,)
        for part in parts:  # a part that is left out is nowhere below one that is kept
            if not any(exact.is_positive(exact.difference(part, candidate), strict=False) for candidate in least_parts):
                raise refuted(step, "a part may be the least and is left out")
        if any(not any(exact.difference(part, candidate).is_zero() for part in parts) for candidate in least_parts):
            raise refuted(step, "it is the least of something else")
        if not all(exact.is_positive(exact.rational(part)) for part in parts):
            raise refuted(step, "a part may not be positive")
        reciprocals = Sum(tuple(Quotient(number(1), part) for part in parts))
        if not exact.difference(Quotient(number(1), step.right), reciprocals).is_zero():
            raise refuted(step, "the reciprocals do not add up")
        return Check("proved", "harmonic mean, exact identity")


class Beside(Evidence):
    """Evidence of a factor or a distance: the bounds of two checked conditions, one over the other or one less the other;
    a distance is one between whole sizes."""

    high: Step
    low: Step

    def examine(self, step: Step, ledger: Ledger) -> Check:
        ends = _bounds(step, (self.high, self.low), ledger)
        written: list[Formula] = [Quotient(*ends)]
        if isinstance(self.high.evidence, Whole) and isinstance(self.low.evidence, Whole):
            written.append(Sum((ends[0], Negative(ends[1]))))
        identity = read(Compare(step.left, "=", step.right), ledger.exact(figures=True), step.assumptions)
        if step.left not in written or identity != "exact identity":
            raise refuted(step, "the bounds beside one another are others")
        return Check("proved", identity if isinstance(step.left, Quotient) else "exact numbers")


class Higher(Evidence):
    """Evidence of how much higher the bound of one checked condition is than that of another: a/b - 1 in numbers, rounded."""

    relations = ("~",)
    high: Step
    low: Step

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact = ledger.exact(figures=True, assumptions=step.assumptions)
        values = [exact.rational(end).constant for end in _bounds(step, (self.high, self.low), ledger)]
        match step.left:
            case Sum(terms=(Quotient(above=high, below=low), Negative(body=Number(value=1)))):
                if None not in values and values == [exact.rational(side).constant for side in (high, low)]:
                    return rounded(step, ledger)
        raise refuted(step, "the bounds beside one another are others")


def _bounds(step: Step, conditions: tuple[Step, ...], ledger: Ledger) -> list[Formula]:
    """The bounds of conditions that were checked, of all sizes or of those of the step."""
    ends = []
    for condition in conditions:
        first = condition.right.rows[0][0] if isinstance(condition.right, Cases) else condition.right
        same_sizes = condition.point in (None, step.point)
        if not same_sizes or condition not in ledger.established or not isinstance(first, Compare):
            raise refuted(step, "these are not the bounds of two checked conditions")
        ends.append(first.right)
    return ends


def rounded(step: Step, ledger: Ledger) -> Check:
    """A decimal number is the value rounded to nearest at its last digit; of a root or a logarithm it is both ends that it
    is known to lie between."""
    if not isinstance(step.right, Number) or step.right.digits is None:
        raise refuted(step, "an approximation needs evidence")
    exact = ledger.exact(figures=True, assumptions=step.assumptions)
    value = exact.rational(step.left)
    ends = between(step.left, exact.definitions) if value.constant is None else (value.constant, value.constant)
    if ends is None and exact.atoms:
        raise undecided(step, "no ends of its value are known")
    if ends is None:
        raise refuted(step, "a number was expected")
    digits = step.right.digits
    if Fraction(digits) != step.right.value or not all(stands_for(digits, end) for end in ends):
        raise refuted(step, f"{float(ends[0])} does not round to {digits}")
    return Check("proved", "exact rounding" if ends[0] == ends[1] else "rounding of both ends of an interval")


def stands_for(digits: str, value: Fraction) -> bool:
    """Whether the digits are the value, rounded to nearest at the last of them.

    >>> stands_for("240.24", Fraction(9850, 41)), stands_for("240.25", Fraction(9850, 41)), stands_for("2e2", Fraction(240))
    (True, False, True)
    """
    return abs(value - Fraction(digits)) * 2 <= last_place(digits)


def last_place(digits: str) -> Fraction:
    """
    >>> last_place("240.24"), last_place("2e2")
    (Fraction(1, 100), Fraction(100, 1))
    """
    mantissa, _, power = digits.lower().partition("e")
    return Fraction(10) ** (int(power or 0) - len(mantissa.partition(".")[2]))
