"""Values and propositions at exact points: the judge of what z3 offers as a counterexample, and of numbers in print.

Roots, exponentials and logarithms lie between two rational numbers, to many digits: the functions of :mod:`decimal` round
correctly, so that what they are lies between the neighbours of what they give.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache, reduce
from itertools import product
from math import ceil, floor
from random import Random
from typing import Any

from symroof.errors import AlgebraError
from symroof.formula import Compare, Formula, Verdict, fold, several_of
from symroof.proof.exact import Exact, free_names, rational_root
from symroof.proof.ledger import Ledger, refuted, undecided
from symroof.proof.polynomials import Poly, Rat
from symroof.proof.step import Check, Step

SAMPLES = 200
HOLDS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "=": operator.eq}

# No larger powers of e are worked out.
LARGEST_POWER = 20_000
DIGITS = 50
Ends = tuple[Fraction, Fraction]
Point = Mapping[str, Fraction]
Truth = Callable[[Point], bool | None]
Rising = Callable[[Context, Decimal], Decimal]
Rule = Callable[..., Ends | None]


def is_fact(assumption: Formula) -> bool:
    """Whether an assumption restricts sizes; relations of growth do not."""
    return not isinstance(assumption, Compare) or assumption.relation in HOLDS


def truth_of(step: Step, exact: Exact) -> Truth:
    """Whether the step is true at a point, None where it says nothing there."""
    rules = _AtPoint(exact)
    assumed: list[Truth] = [fold(a, rules) for a in step.assumptions if is_fact(a)]
    claim: Truth = fold(Compare(step.left, step.relation, step.right), rules)
    return lambda point: claim(point) if all(a(point) for a in assumed) else None


def sampled(step: Step, ledger: Ledger) -> Check:
    """An identity at exact points that are drawn: one where it is false raises."""
    random, exact, several = Random(7), ledger.exact(figures=True), several_of(ledger.least_one)
    truth, found = truth_of(step, exact), 0
    free = sorted({n for formula in (step.left, step.right, *step.assumptions) for n in free_names(formula, exact)})
    for _ in range(20 * SAMPLES):
        powers = {n: random.randint(0 if n in ledger.least_one else -3, 4) for n in free}
        point = {n: Fraction(random.randint(100, 999), 100) * Fraction(10) ** powers[n] + (n in several) for n in free}
        if (holds := truth(point)) is False:
            raise refuted(step, f"it is false at {', '.join(f'{n} = {v}' for n, v in point.items())}")
        found += holds is True
        if found == SAMPLES:
            return Check("sampled", f"{SAMPLES} exact points")
    raise undecided(step, "too few points satisfy its assumptions")


class _AtPoint:
    """Rules that make of a proposition its truth at points; a term is what ``exact`` makes of it.

    None stands for no value, or none that is known: a part that is false makes the whole of parts false all the same.
    """

    def __init__(self, exact: Exact) -> None:
        self.exact = exact

    def __getattr__(self, term: str) -> Any:
        return getattr(self.exact, term)

    def verdict(self, node: Verdict) -> Truth:
        return lambda point: node.holds

    def both(self, node: Formula, *parts: Truth) -> Truth:
        return lambda point: _decided({part(point) for part in parts}, False)

    def either(self, node: Formula, *parts: Truth) -> Truth:
        return lambda point: _decided({part(point) for part in parts}, True)

    def cases(self, node: Formula, *parts: Truth) -> Truth:
        if not all(map(callable, parts)):
            raise AlgebraError("a value by cases is no proposition")

        def truth(point: Point) -> bool | None:
            for consequence, guard in zip(parts[::2], parts[1::2], strict=False):
                if (holds := guard(point)) is not False:
                    return consequence(point) if holds else None
            return parts[-1](point) if len(parts) % 2 else None

        return truth

    def compare(self, node: Compare, left: Any, right: Any) -> Truth:
        if node.relation == "<=>":
            return lambda point: None if None in (sides := (left(point), right(point))) else sides[0] == sides[1]
        gap: Rat = left - right

        def truth(point: Point) -> bool | None:
            low, high = between(gap, self.exact, point) or (-1, 1)
            return HOLDS[node.relation](low, 0) if low == high or low > 0 or high < 0 else None

        return truth


def _decided(truths: set[bool | None], deciding: bool) -> bool | None:
    """What any part decides alone, None where it is open whether one does."""
    return deciding if deciding in truths else None if None in truths else not deciding


def between(value: Rat, exact: Exact, point: Mapping[str, Fraction] | None = None) -> Ends | None:
    """Two rational numbers that a value of numbers, roots and logarithms lies between, where names are at a point; None for
    what has no such ends."""
    known = {name: (size, size) for name, size in (point or {}).items() if name not in exact.atoms}
    for name in value.names - known.keys():
        function, arguments = exact.atoms.get(name, ("", ()))
        parts = [between(argument, exact, point) for argument in arguments]
        rule = functions(DIGITS).get(function)
        ends = None if rule is None or None in parts else rule(*(part for part in parts if part is not None))
        if ends is None:
            return None
        known[name] = ends
    above, below = (_of_poly(poly, known) for poly in (value.above, value.below))
    if below[0] <= 0 <= below[1]:
        return None
    corners = [a / b for a, b in product(above, below)]
    return min(corners), max(corners)


def _of_poly(poly: Poly, known: Mapping[str, Ends]) -> Ends:
    low = high = Fraction(0)
    for monomial, coefficient in poly.items():
        ends = reduce(
            multiplied, (known[name] for name, power in monomial for _ in range(power)), (coefficient, coefficient)
        )
        low, high = low + ends[0], high + ends[1]
    return low, high


def multiplied(one: Ends, other: Ends) -> Ends:
    """What the products of numbers between two ends lie between."""
    if one[0] is one[1] and other[0] is other[1]:
        return ((exact := one[0] * other[0]), exact)
    corners = [a * b for a, b in product(one, other)]
    return min(corners), max(corners)


@cache
def functions(digits: int) -> Mapping[str, Callable[..., Ends | None]]:
    """The functions of formulas between ends, to so many digits; None where one has no value, or is too large.

    >>> [float(end) for end in functions(20)["sqrt"]((Fraction(2), Fraction(2)))], functions(20)["log"]((Fraction(0), Fraction(1)))
    ([1.4142135623730951, 1.4142135623730951], None)
    """
    down, up = (Context(digits, rounding, -10_000, 100_000) for rounding in (ROUND_FLOOR, ROUND_CEILING))

    def rising(
        function: Rising, exactly: Callable[[Fraction], Fraction | None], domain: Callable[[Ends], bool]
    ) -> Rule:
        def of(ends: Ends) -> Ends | None:
            if not domain(ends):
                return None
            if ends[0] == ends[1] and (known := exactly(ends[0])) is not None:
                return known, known
            low, high = (c.divide(end.numerator, end.denominator) for c, end in zip((down, up), ends, strict=True))
            return Fraction(down.next_minus(function(down, low))), Fraction(up.next_plus(function(up, high)))

        return of

    root = rising(Context.sqrt, rational_root, lambda ends: ends[0] >= 0)
    logarithm = rising(Context.ln, lambda x: Fraction(0) if x == 1 else None, lambda ends: ends[0] > 0)
    power = rising(Context.exp, lambda x: None if x else Fraction(1), lambda ends: max(map(abs, ends)) <= LARGEST_POWER)

    def log2(ends: Ends) -> Ends | None:
        exact, found = power_of_two(ends[0]) if ends[0] == ends[1] > 0 else None, logarithm(ends)
        low, high = logarithm((Fraction(2), Fraction(2))) or ends
        return (exact, exact) if exact is not None else found and multiplied(found, (1 / high, 1 / low))

    def absolute(ends: Ends) -> Ends:
        low, high = ends
        return _ordered(Fraction(0) if low < 0 < high else min(abs(low), abs(high)), max(abs(low), abs(high)))

    def each(rule: Callable[..., Any]) -> Rule:
        return lambda *parts: _ordered(*(Fraction(rule(*ends)) for ends in zip(*parts, strict=True)))

    whole = {"floor": each(floor), "ceil": each(ceil), "max": each(lambda *x: max(x)), "min": each(lambda *x: min(x))}
    return {"sqrt": root, "log": logarithm, "exp": power, "log2": log2, "abs": absolute, **whole}


def _ordered(low: Fraction, high: Fraction) -> Ends:
    return (low, low) if low == high else (low, high)


def power_of_two(value: Fraction) -> Fraction | None:
    """k with value = 2^k, where there is one."""
    top, bottom = value.numerator, value.denominator
    single = top & (top - 1) == 0 and bottom & (bottom - 1) == 0
    return Fraction(top.bit_length() - bottom.bit_length()) if single else None
