"""Least maxima and least sums, decided again: the parts are powers of the variable with positive coefficients, so they are
straight lines in its logarithm, and what is least is told by slopes.

A maximum is least where a rising part equals a falling one and no other is above them. A sum of a x**p and b x**-q is at
least (a x**p/v)**v (b x**-q/w)**w with v = q/(p + q) and w = p/(p + q), in which x cancels: the weighted means of its
terms, with equality where both are the same. Before its least place each of the two falls, and behind it each rises: so on
1 <= x <= M the end that is nearest is best where that place is outside.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from math import gcd

from symroof.errors import CheckError
from symroof.formula import Call, Compare, Formula, Name, Power, Quotient, Sum, fold, names, number
from symroof.proof.polynomials import ONE, Poly, Rat
from symroof.proof.quotients import Quotients
from symroof.proof.step import Check, Evidence, Facts, Ledger, Step, refuted, replaced


class Radicals:
    """Rules for :func:`~symroof.formula.fold`: a product of roots as a quotient and the degree of its one root."""

    def __init__(self, exact: Quotients) -> None:
        self.exact = exact

    def of(self, formula: Formula) -> tuple[Rat, int]:
        result: tuple[Rat, int] = fold(formula, self)
        return result

    def name(self, node: Formula, *parts: object) -> tuple[Rat, int]:
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
            value, degree = power_of(value, k) * power_of(rat, degree), degree * k
        return value, degree

    def quotient(self, node: Formula, above: tuple[Rat, int], below: tuple[Rat, int]) -> tuple[Rat, int]:
        return self.product(node, above, (Rat(ONE) / below[0], below[1]))

    def power(self, node: Power, base: tuple[Rat, int], exponent: tuple[Rat, int]) -> tuple[Rat, int]:
        e = exponent[0].constant
        if e is None or exponent[1] != 1 or e <= 0 or max(e.numerator, e.denominator) > 64:
            raise CheckError("only powers with positive numbers are checked")
        return power_of(base[0], e.numerator), base[1] * e.denominator

    def call(self, node: Call, *arguments: tuple[Rat, int]) -> tuple[Rat, int]:
        if node.function != "sqrt":
            raise CheckError(f"{node.function}(…) is no root")
        return arguments[0][0], 2 * arguments[0][1]


def power_of(value: Rat, power: int) -> Rat:
    """A quotient to a whole power."""
    return Rat(value.above**power, value.below**power) if power >= 0 else Rat(ONE) / power_of(value, -power)


class Roots(Evidence):
    """Evidence of a condition at the least place: both of its sides are positive and without sums of roots, so their
    powers compare as they do. And of an equation between such."""

    relations = ("<=>", "=")

    def examine(self, step: Step, ledger: Ledger) -> Check:
        exact = ledger.exact(figures=step.relation == "=", assumptions=step.assumptions)
        if step.relation == "=":
            (left, k), (right, n) = (Radicals(exact).of(side) for side in (step.left, step.right))
            positive = exact.is_positive(left) and exact.is_positive(right)
            if not positive or not (power_of(left, n) - power_of(right, k)).is_zero():
                raise refuted(step, "it is another number")
            return Check("proved", "exact identity of the powers of the sides")
        sides = [self._cleared(step, side, exact) for side in (step.left, step.right)]
        if sides[0] != sides[1]:
            raise refuted(step, "the powers of the sides are another condition")
        return Check("proved", "exact identity of the powers of the sides")

    def _cleared(self, step: Step, side: Formula, exact: Quotients) -> tuple[Poly, bool]:
        if not isinstance(side, Compare) or side.relation not in ("<", "<=", ">", ">="):
            raise refuted(step, "this is no order")
        (left, k), (right, n) = (Radicals(exact).of(part) for part in (side.left, side.right))
        if not (exact.is_positive(left) and exact.is_positive(right)):
            raise refuted(step, "a side may not be positive")
        shared = gcd(k, n)
        turned = exact.cleared(power_of(left, n // shared) - power_of(right, k // shared))
        if turned is None:
            raise refuted(step, "a denominator may vanish")
        return (-turned if side.relation[0] == "<" else turned).primitive(), len(side.relation) == 1


BY = "weighted means multiplied out"
CROSSES = "one part rises, one falls, equal there"


def powers(value: Rat, name: str) -> dict[int, Rat]:
    """What each power of the name is multiplied with; the denominator has to have one of them."""
    above, below = value.above.in_powers_of(name), value.below.in_powers_of(name)
    if len(below) != 1:
        raise CheckError(f"this is no sum of powers of {name}")
    ((low, under),) = below.items()
    return {e - low: Rat(part, under) for e, part in above.items()}


class LeastPlace(Evidence):
    """Evidence of the least place (``argmin``) or the least value (``minimum``) of a maximum or a sum on 1 <= x <= M,
    where M is what the equation for another size leaves. ``forms`` are its parts: as they are, or as established steps
    say they are in the regime.

    The place is inside under a guard that is assumed, and it is an end where the guard of the other side is.
    """

    relations = ("=", "~")

    forms: tuple[Formula, ...]

    def examine(self, step: Step, ledger: Ledger) -> Check:
        left = step.left
        if not (
            isinstance(left, Call) and left.function in ("argmin", "minimum") and isinstance(left.arguments[1], Name)
        ):
            raise refuted(step, "this is no least place and no least value")
        body, name = left.arguments[0], left.arguments[1].name
        exact = ledger.exact(figures=False, assumptions=step.assumptions)
        maximum, parts = parts_of(body)
        if len(parts) != len(self.forms) or not all(
            self._stands_for(step, *pair, exact, ledger) for pair in zip(self.forms, parts, strict=True)
        ):
            raise refuted(step, "the parts are others")
        powers_of_parts = [powers(exact.rational(form), name) for form in self.forms]
        if not all(exact.is_positive(c) for part in powers_of_parts for c in part.values()):
            raise refuted(step, "a part may not be positive")
        try:
            return self._decided(step, left.function, _PowerSum(powers_of_parts, exact, maximum), name)
        except CheckError as error:
            raise refuted(step, str(error)) from None

    def _stands_for(self, step: Step, form: Formula, part: Formula, exact: Quotients, ledger: Ledger) -> bool:
        """Whether a form is the part, or what an established step of the same regime says that it is."""
        if step.relation == "~":
            for established in ledger.established:
                stated = established.left == part and established.right == form and established.relation == "~"
                if stated and set(established.assumptions) <= set(step.assumptions) and established.check is not None:
                    return True
        return exact.difference(form, part).is_zero()

    def _decided(self, step: Step, function: str, lines: _PowerSum, name: str) -> Check:
        exact, ends = lines.exact, ends_of(step, name, lines.exact)
        place = lines.place()
        if function == "argmin" and step.relation == "=" and step.right in (number(1), ends):
            inside = place is None and lines.way == (1 if step.right == number(1) else -1)
            if place is not None:
                end = power_of(exact.rational(step.right), place[1])
                gap = end - place[0] if step.right == number(1) else place[0] - end
                inside = _is_not_negative(gap, step, exact)
            if not inside:
                raise CheckError("the least place is not known to be at or beyond this end")
            return Check("proved", "it rises or falls all the way" if place is None else f"{lines.by}, beyond the end")
        if place is None:
            raise CheckError("it has its least place at an end")
        power, degree = place
        if not _is_not_negative(power - Rat(ONE), step, exact):
            raise CheckError("the place may be below 1")
        if ends is not None and not _is_not_negative(power_of(exact.rational(ends), degree) - power, step, exact):
            raise CheckError("the place may be above what is there")
        if function == "argmin":
            radicand, root_degree = Radicals(exact).of(step.right)
            same = power_of(radicand, degree) - power_of(power, root_degree)
        else:
            radicand, root_degree = Radicals(exact).of(_moving_part(step.right, lines, exact))
            value, degree = lines.value(power, degree)
            same = power_of(radicand, degree) - power_of(value, root_degree)
        if not same.is_zero() or not exact.is_positive(radicand):
            raise CheckError("it is another place" if function == "argmin" else "it is another value")
        return Check("proved", lines.by)


def parts_of(body: Formula) -> tuple[bool, tuple[Formula, ...]]:
    """Whether something is a maximum, and its parts."""
    if isinstance(body, Call) and body.function == "max":
        return True, body.arguments
    return False, body.terms if isinstance(body, Sum) else (body,)


class _PowerSum:
    """Powers of a name with positive coefficients, as parts of a maximum or of a sum."""

    def __init__(self, powers_of_parts: list[dict[int, Rat]], exact: Quotients, maximum: bool) -> None:
        self.exact, self.maximum, self.by = exact, maximum, CROSSES if maximum else BY
        if maximum and any(len(part) != 1 for part in powers_of_parts):
            raise CheckError("a part of the maximum is no single power")
        self.all: list[tuple[int, Rat]] = []
        for part in powers_of_parts:
            for e, c in part.items():
                at = None if maximum else next((i for i, (f, _) in enumerate(self.all) if f == e), None)
                if at is None:
                    self.all.append((e, c))
                else:
                    self.all[at] = (e, self.all[at][1] + c)
        self.moving = [(e, c) for e, c in self.all if e]
        self.constant = [c for e, c in self.all if not e]

    @property
    def way(self) -> int:
        """1 where everything rises, -1 where it falls, else 0."""
        sides = {1 if e > 0 else -1 for e, _ in self.moving}
        return sides.pop() if len(sides) == 1 else 0

    def place(self) -> tuple[Rat, int] | None:
        """The power of the least place that has a known value, and its exponent; None where it is an end."""
        if not self.moving:
            raise CheckError("nothing of it moves")
        if self.way:
            return None
        pairs = [(up, down) for up in self.moving for down in self.moving if up[0] > 0 > down[0]]
        if not self.maximum and len(pairs) != 1:
            raise CheckError("the weighted means of more than two powers are not compared")
        for (p, a), (minus_q, b) in pairs:
            q = -minus_q
            weighs = Fraction(1) if self.maximum else Fraction(q, p)
            power = b / a * Rat(Poly.number(weighs))
            if not self.maximum or all(self._is_below(part, (p, a), power, p + q) for part in self.moving):
                return power, p + q
        raise CheckError("a part may be above the two that cross")

    def _is_below(self, part: tuple[int, Rat], top: tuple[int, Rat], power: Rat, degree: int) -> bool:
        """Whether one part is at most another at the place."""
        sides = [power_of(c, degree) * power_of(power, e) for e, c in (top, part)]
        gap = sides[0] - sides[1]
        return gap.is_zero() or self.exact.is_positive(gap, strict=False)

    def value(self, power: Rat, degree: int) -> tuple[Rat, int]:
        """The value at the place, without what does not move: to what power it is this."""
        rising = [part for part in self.moving if part[0] > 0]
        if self.maximum:
            rising = [r for r in rising if all(self._is_below(part, r, power, degree) for part in self.moving)]
        (p, a), *_ = rising
        q = degree - p
        factor = Fraction(1) if self.maximum else Fraction(p + q, q)
        return power_of(a * Rat(Poly.number(factor)), degree) * power_of(power, p), degree


def _moving_part(right: Formula, lines: _PowerSum, exact: Quotients) -> Formula:
    """The part of a value that is a root: beside it stand the parts that do not move, all of them."""
    if not lines.constant:
        return right
    maximum, parts = parts_of(right)
    if maximum != lines.maximum or len(parts) != len(lines.constant) + 1:
        raise CheckError("the value lacks what does not move")
    for part, constant in zip(parts[1:], lines.constant, strict=True):
        if not (exact.rational(part) - constant).is_zero():
            raise CheckError("the value has another constant part")
    return parts[0]


def ends_of(step: Step, name: str, exact: Quotients) -> Formula | None:
    """The end of the domain: where another size that is put in is 1, as it is a quotient of something by the name."""
    for other, formula in replaced(step.assumptions, ("=",)).items():
        if name in names(formula):
            end = exact.rational(formula) * Rat(Poly.name(name))
            shown = formula.above if isinstance(formula, Quotient) else None
            if shown is None or name in names(shown) or not (exact.rational(shown) - end).is_zero():
                raise CheckError(f"{other} is no quotient by {name}")
            return shown
    return None


def _is_not_negative(gap: Rat, step: Step, exact: Quotients) -> bool:
    """Whether a quotient is at least 0: by its coefficients, or by an assumption."""
    if gap.is_zero() or exact.is_positive(gap, strict=False):
        return True
    numerator = exact.cleared(gap)
    facts = (exact.normal(a) for a in step.assumptions if isinstance(a, Compare))
    assumed = [fact[0] for fact in facts if fact is not None]
    return numerator is not None and numerator.primitive() in assumed


class Slope(Facts):
    """Facts of a part: it rises (1) or falls (-1) in a name, or stays (0)."""

    name: str
    way: int

    def agree(self, step: Step, ledger: Ledger) -> bool:
        value = ledger.exact(figures=False, assumptions=step.assumptions).rational(step.right)
        slopes = {(e > 0) - (e < 0) for e in powers(value, self.name)}
        return slopes == {self.way}


def is_least_where_parts_cross(body: Formula, name: str, place: Formula, exact: Quotients) -> bool | None:
    """Whether powers of a name with positive coefficients are least at a place; None of anything else."""
    maximum, parts = parts_of(body)
    with suppress(CheckError):
        lines = _PowerSum([powers(exact.rational(part), name) for part in parts], exact, maximum)
        positive = all(exact.is_positive(c) for _, c in lines.all) and not (maximum and lines.constant)
        least, (radicand, degree) = lines.place(), Radicals(exact).of(place)
        if positive and least is not None and exact.is_positive(radicand):
            return (power_of(radicand, least[1]) - power_of(least[0], degree)).is_zero()
    return None
