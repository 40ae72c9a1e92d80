"""The best whole split, and the largest number that divides sizes, decided again: every divisor is tried."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from symroof.formula import Call, Name, Number, Quotient
from symroof.proof.exact import Exact
from symroof.proof.ledger import Evidence, Facts, Ledger, refuted
from symroof.proof.minima import ends_of, parted
from symroof.proof.polynomials import Poly, Rat
from symroof.proof.step import Check, Step

# No list of divisors is longer than that of such a number.
LARGEST = 10**9


class Splits(Evidence):
    """Evidence of the best whole split: every divisor of what is split is tried that the assumptions leave, and in which
    the sizes are ``multiples``."""

    relations = ("=",)

    multiples: tuple[tuple[Name, int], ...] = ()

    def examine(self, step: Step, ledger: Ledger) -> Check:
        left, right = step.left, step.right
        if not (isinstance(left, Call) and left.function == "argmin" and isinstance(left.arguments[1], Name)):
            raise refuted(step, "this is no least place")
        body, x = left.arguments[0], left.arguments[1]
        exact = ledger.exact(figures=True, assumptions=step.assumptions)
        ends = ends_of(step, x.name, exact)
        total = None if ends is None else exact.rational(ends).constant
        if total is None or total.denominator != 1 or not 0 < total <= LARGEST or not isinstance(right, Number):
            raise refuted(step, "a whole number of parts was expected")
        values = [exact.rational(part) for part in parted(body)[1]]
        allowed = [d for d in divisors(int(total)) if self._is_allowed(step, x.name, d, exact)]
        if right.value not in allowed:
            raise refuted(step, "this is no split that the assumptions leave")
        here = [value.put(x.name, Rat(Poly.number(right.value))) for value in values]
        for d in allowed:
            there = [value.put(x.name, Rat(Poly.number(Fraction(d)))) for value in values]
            if not _at_most(here, there, exact, maximum=parted(body)[0]):
                raise refuted(step, f"{d} may be better")
        return Check("proved", f"all {len(allowed)} splits compared")

    def _is_allowed(self, step: Step, name: str, divisor: int, exact: Exact) -> bool:
        """Whether a split meets the sizes that are at least something by assumption."""
        for a in step.assumed(">="):
            gap = exact.difference(a.left, a.right).put(name, Rat(Poly.number(Fraction(divisor))))
            if gap.constant is None and not gap.is_zero():
                raise refuted(step, "an assumption of the split is no number")
            if not gap.is_zero() and (gap.constant or Fraction(0)) < 0:
                return False
        return all(self._is_multiple(step, of, each, name, divisor, exact) for of, each in self.multiples)

    def _is_multiple(self, step: Step, size: Name, each: int, name: str, divisor: int, exact: Exact) -> bool:
        """Whether a size is a multiple of a number, at a split."""
        value = exact.rational(size).put(name, Rat(Poly.number(Fraction(divisor)))).constant
        if value is None:
            raise refuted(step, "a size of the split is no number")
        return (value / each).denominator == 1


class Multiples(Facts):
    """Facts of a best whole split: what the sizes come in multiples of that were tried."""

    each: tuple[tuple[Name, int], ...]

    def agree(self, step: Step, ledger: Ledger) -> bool:
        return bool(step.evidence.multiples == self.each)


class Dividing(Evidence):
    """Evidence of size/d = n: d divides each of the sizes, and no larger multiple of ``step`` up to ``most`` does."""

    relations = ("=",)

    sizes: tuple[Name, ...]
    most: int
    step: int = 1

    def examine(self, step: Step, ledger: Ledger) -> Check:
        left, exact = step.left, ledger.exact(figures=True, assumptions=step.assumptions)
        if not (isinstance(left, Quotient) and left.above in self.sizes and isinstance(left.below, Number)):
            raise refuted(step, "a size over a number was expected")
        known = [exact.rational(size).constant for size in self.sizes]
        tried = [
            d for d in range(self.step, self.most + 1, self.step) if all(k is not None and k % d == 0 for k in known)
        ]
        if not tried or left.below.value != max(tried) or not exact.difference(left, step.right).is_zero():
            raise refuted(step, "this is not the largest number that divides the sizes")
        return Check("proved", f"all numbers up to {self.most} tried")


def _at_most(here: list[Rat], there: list[Rat], exact: Exact, *, maximum: bool) -> bool:
    """Whether a maximum or a sum is at most another."""
    if maximum:
        return all(any(_no_less(b - a, exact) for b in there) for a in here)
    rise = sum((b - a for a, b in zip(here, there, strict=True)), Rat(Poly()))
    return _no_less(rise, exact)


def _no_less(gap: Rat, exact: Exact) -> bool:
    return gap.is_zero() or exact.is_positive(gap, strict=False)


def divisors(whole: int) -> Iterable[int]:
    """The divisors of a whole number, in order.

    >>> list(divisors(12))
    [1, 2, 3, 4, 6, 12]
    """
    low, high, d = [], [], 1
    while d * d <= whole:
        if whole % d == 0:
            low.append(d)
            high += [whole // d] * (d * d != whole)
        d += 1
    return [*low, *reversed(high)]
