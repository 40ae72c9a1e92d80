"""Values and propositions at exact points: the judge of what z3 offers as a counterexample, and of numbers in print.

Roots, exponentials and logarithms lie between two rational numbers, to many digits: the functions of :mod:`decimal` round
correctly, so that what they are lies between the neighbours of what they give.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import product
from math import ceil, floor
from random import Random
from typing import Any

from symroof.errors import AlgebraError
from symroof.formula import Compare, Formula, Verdict, fold, several_of
from symroof.proof.exact import Exact, free_names
from symroof.proof.ledger import Ledger, refuted, undecided
from symroof.proof.polynomials import Poly, Rat
from symroof.proof.step import Check, Step

SAMPLES = 200
HOLDS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "=": operator.eq}

# No larger powers of e are worked out.
LARGEST_POWER = 200
DOWN, UP = (Context(50, rounding, -10_000, 100_000) for rounding in (ROUND_FLOOR, ROUND_CEILING))
Ends = tuple[Fraction, Fraction]
Point = Mapping[str, Fraction]
Truth = Callable[[Point], bool | None]


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
        rule = FUNCTIONS.get(function)
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
        ends = (coefficient, coefficient)
        for name, power in monomial:
            for _ in range(power):
                corners = [a * b for a, b in product(ends, known[name])]
                ends = min(corners), max(corners)
        low, high = low + ends[0], high + ends[1]
    return low, high


def _rising(
    function: Callable[[Context, Decimal], Decimal], domain: Callable[[Ends], bool]
) -> Callable[[Ends], Ends | None]:
    """The ends of a function that rises, where it is known."""

    def of(ends: Ends) -> Ends | None:
        if not domain(ends):
            return None
        low, high = (c.divide(end.numerator, end.denominator) for c, end in zip((DOWN, UP), ends, strict=True))
        return Fraction(DOWN.next_minus(function(DOWN, low))), Fraction(UP.next_plus(function(UP, high)))

    return of


def _abs(ends: Ends) -> Ends:
    low, high = ends
    return (Fraction(0), max(-low, high)) if low < 0 < high else (min(abs(low), abs(high)), max(abs(low), abs(high)))


def _whole(rule: Callable[[Fraction], int]) -> Callable[[Ends], Ends | None]:
    def of(ends: Ends) -> Ends | None:
        low, high = map(rule, ends)
        return (Fraction(low), Fraction(high)) if low == high else None

    return of


FUNCTIONS: Mapping[str, Callable[..., Ends | None]] = {
    "sqrt": _rising(Context.sqrt, lambda ends: ends[0] >= 0),
    "log": _rising(Context.ln, lambda ends: ends[0] > 0),
    "exp": _rising(Context.exp, lambda ends: max(map(abs, ends)) <= LARGEST_POWER),
    "abs": _abs,
    "floor": _whole(floor),
    "ceil": _whole(ceil),
    "max": lambda *parts: (max(low for low, _ in parts), max(high for _, high in parts)),
    "min": lambda *parts: (min(low for low, _ in parts), min(high for _, high in parts)),
}
