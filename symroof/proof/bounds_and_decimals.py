"""Bounds rounded to decimals and to whole sizes, and bounds compared with one another: their numbers worked out again."""

from __future__ import annotations

from fractions import Fraction

from symroof.formula import Call, Cases, Compare, Formula, Name, Negative, Number, Quotient, Sum, Verdict, nodes, number
from symroof.proof.exact_values import enclosure
from symroof.proof.minima import Radicals
from symroof.proof.propositions import direct_proof, search
from symroof.proof.step import Check, Evidence, Ledger, Step, refuted, undecided
from symroof.proof.whole_numbers import Bounds


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


class BoundsCompared(Evidence):
    """Evidence of a factor or a distance: the bounds of two checked conditions, one over the other or one less the other;
    a distance is one between whole sizes."""

    high: Step
    low: Step

    def examine(self, step: Step, ledger: Ledger) -> Check:
        ends = _bounds(step, (self.high, self.low), ledger)
        written: list[Formula] = [Quotient(*ends)]
        if isinstance(self.high.evidence, WholeBounds) and isinstance(self.low.evidence, WholeBounds):
            written.append(Sum((ends[0], Negative(ends[1]))))
        identity = direct_proof(Compare(step.left, "=", step.right), ledger.exact(figures=True), step.assumptions)
        if step.left not in written or identity != "exact identity":
            raise refuted(step, "the bounds beside one another are others")
        return Check("proved", identity if isinstance(step.left, Quotient) else "exact numbers")


class RelativeGap(Evidence):
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
    ends = enclosure(step.left, exact.definitions) if value.constant is None else (value.constant, value.constant)
    if ends is None and exact.atoms:
        raise undecided(step, "no ends of its value are known")
    if ends is None:
        raise refuted(step, "a number was expected")
    digits = step.right.digits
    if Fraction(digits) != step.right.value or not all(rounds_to(digits, end) for end in ends):
        raise refuted(step, f"{float(ends[0])} does not round to {digits}")
    return Check("proved", "exact rounding" if ends[0] == ends[1] else "rounding of both ends of an interval")


def rounds_to(digits: str, value: Fraction) -> bool:
    """Whether the digits are the value, rounded to nearest at the last of them.

    >>> rounds_to("240.24", Fraction(9850, 41)), rounds_to("240.25", Fraction(9850, 41)), rounds_to("2e2", Fraction(240))
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


class RoundedRoot(Evidence):
    """Evidence of decimals: a number that is a root, rounded to nearest at its last digit."""

    relations = ("~", "=")

    def examine(self, step: Step, ledger: Ledger) -> Check:
        value, degree = Radicals(ledger.exact(figures=True, assumptions=step.assumptions)).of(step.left)
        power, decimal = value.constant, step.right
        if power is None or not isinstance(decimal, Number):
            raise refuted(step, "a number was expected")
        if step.relation == "=":
            if decimal.value <= 0 or decimal.value**degree != power:
                raise refuted(step, "it is another number")
            return Check("proved", "exact numbers")
        if decimal.digits is None or Fraction(decimal.digits) != decimal.value:
            raise refuted(step, "digits were expected")
        half = last_place(decimal.digits) / 2
        low = max(decimal.value - half, Fraction(0))
        if not low**degree <= power <= (decimal.value + half) ** degree:
            raise refuted(step, "the root does not round to these digits")
        return Check("proved", "exact rounding")


class WholeBounds(Evidence):
    """Evidence of a rounding to whole numbers: the multiples of ``step``, and of chips those that share out the ``sizes``
    evenly. Where the left side is no bound on the size itself it is one by ``bound``, and without one it holds for every
    size.

    Over these numbers, conditions on the size are met by the same, and the numbers on the right are of them: ``x > bound``
    is ``x >= n``, ``x < bound`` is ``x <= n``; and never, where there is no such n.
    """

    relations = ("<=>",)

    step: int
    sizes: tuple[Name, ...] = ()
    bound: Formula | None = None

    def examine(self, step: Step, ledger: Ledger) -> Check:
        left, right = step.left, step.right
        match left, right:
            case Compare(), Compare() if self.bound is not None or left.left != right.left:
                left = self._on_the_size(step, left, right.left, ledger)
        size = next((part.left for part in nodes(left) if isinstance(part, Compare)), None)
        if not isinstance(size, Name):
            raise refuted(step, "a bound on a size was expected")
        put = _numbers_put_in(step)
        same = (size, *(a.left for a in step.assumed("=") if a.right == size))
        names_of = [part.name for part in same if isinstance(part, Name)]
        admitted = ledger.multiples.numbers(names_of, put)
        if self.step != admitted.each:
            raise refuted(step, f"these sizes do not come in multiples of {self.step}")
        shared = {size for name in names_of for size, _ in ledger.multiples.shared(name, put)}
        if {size.name for size in self.sizes} != shared:
            raise refuted(step, "chips share out other sizes than these")
        exact = ledger.exact(figures=True, assumptions=step.assumptions)
        bounds = Bounds(size, lambda side: exact.rational(side).constant)
        if any(admitted.last("<=", edge) != edge for edge in bounds.edges(right)):
            raise refuted(step, "these are not whole numbers that the size may be")
        if not bounds.agree(left, right, admitted.beside):
            raise refuted(step, "other whole numbers meet this than the bound")
        return Check("proved", "exact numbers")

    def _on_the_size(self, step: Step, left: Compare, size: Formula, ledger: Ledger) -> Compare:
        """The left side as a bound on the size, settled first: x > bound, or x > 0 where it holds for every size."""
        same = Verdict(True) if self.bound is None else Compare(size, left.relation, self.bound)
        exact = ledger.exact(figures=True, assumptions=(where := step.assumed("=")))
        claim, rest = Compare(left, "<=>", same), tuple(a for a in step.assumptions if a not in where)
        if not direct_proof(claim, exact, rest) and not search(claim, exact, rest).truth:
            raise refuted(step, "the left side is not this bound on the size")
        return Compare(size, left.relation, self.bound or number(0))


def _numbers_put_in(step: Step) -> dict[str, Fraction]:
    """The numbers that are put in for names."""
    sides = ((a.left, a.right) for a in step.assumed("="))
    return {left.name: right.value for left, right in sides if isinstance(left, Name) and isinstance(right, Number)}
