"""Steps at exact points: the last resort of the check, and the judge of what z3 offers as a counterexample."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

from symroof.errors import AlgebraError
from symroof.formula import Compare, Formula, Verdict, fold, several_of
from symroof.proof.exact import Exact, free_names, rational_root
from symroof.proof.ledger import Ledger, refuted, undecided
from symroof.proof.polynomials import Poly, Rat
from symroof.proof.step import Check, Step

SAMPLES = 200
# How far from a bound a point is that is close to it, as a part of the bound.
CLOSE = Fraction(1, 10**6)
HOLDS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "=": operator.eq}

Point = Mapping[str, Fraction]
Truth = Callable[[Point], bool | None]


def is_fact(assumption: Formula) -> bool:
    """Whether an assumption restricts sizes; relations of growth do not."""
    return not isinstance(assumption, Compare) or assumption.relation in HOLDS


def truth_of(step: Step, exact: Exact) -> tuple[Truth, list[Poly]]:
    """Whether the step is true at a point, None where it says nothing there; and what vanishes where that may turn."""
    rules = _AtPoint(exact)
    assumed: list[Truth] = [fold(a, rules) for a in step.assumptions if is_fact(a)]
    claim: Truth = fold(Compare(step.left, step.relation, step.right), rules)
    maxima = {atom: parts for atom, (function, parts) in exact.atoms.items() if function in ("max", "min")}
    edges = [*rules.edges, *((a - b).above for parts in maxima.values() for a, b in pairwise(parts))]
    rough = exact.atoms.keys() - maxima.keys()  # seldom rational
    smooth = [edge for edge in edges if edge and not edge.names & rough]
    return lambda point: claim(point) if all(a(point) for a in assumed) else None, smooth


class _AtPoint:
    """Rules that make of a proposition its truth at points; a term is what ``exact`` makes of it.

    None stands for no value, or none that is known: a part that is false makes the whole of parts false all the same.
    """

    def __init__(self, exact: Exact) -> None:
        self.exact = exact
        self.edges: list[Poly] = []

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
        self.edges.append(gap.above)

        def truth(point: Point) -> bool | None:
            value = value_at(gap, self.exact, point)
            return None if value is None else HOLDS[node.relation](value, 0)

        return truth


def _decided(truths: set[bool | None], deciding: bool) -> bool | None:
    """What any part decides alone, None where it is open whether one does."""
    return deciding if deciding in truths else None if None in truths else not deciding


def value_at(value: Rat, exact: Exact, point: Point) -> Fraction | None:
    """A quotient at a point; None where it has no value, a root is not rational, or a name is not in the point."""
    known = {name: size for name, size in point.items() if name not in exact.atoms}
    for name in value.names - known.keys():
        function, arguments = exact.atoms.get(name, ("", ()))
        parts = [part for one in arguments if (part := value_at(one, exact, point)) is not None]
        result = VALUES[function](parts) if function in VALUES and len(parts) == len(arguments) else None
        if result is None:
            return None
        known[name] = result
    below = value.below.at(known)
    return value.above.at(known) / below if below else None


VALUES: Mapping[str, Callable[[list[Fraction]], Fraction | None]] = {
    "max": max,
    "min": min,
    "sqrt": lambda values: rational_root(*values),
}


def sampled(step: Step, ledger: Ledger) -> Check:
    """Exact random points, and for each of them some close to a bound: one counterexample raises, and many points
    without one are worth ``sampled``."""
    random, exact, found = Random(7), ledger.exact(figures=True), 0
    truth, edges = truth_of(step, exact)
    free = sorted({n for formula in (step.left, step.right, *step.assumptions) for n in free_names(formula, exact)})
    for tried in range(20 * SAMPLES):
        if tried == 2 * SAMPLES and found * 50 < tried:
            break  # in so few of them that there will not be enough
        several = several_of(ledger.least_one)
        drawn = {n: _draw(random, n in ledger.least_one) + (n in several) for n in free}
        for point in (drawn, *_close(random, edges, exact, drawn)):
            holds = truth(point)
            if holds is False:
                raise refuted(step, f"it is false at {', '.join(f'{n} = {v}' for n, v in point.items())}")
            found += holds is True and point is drawn
        if found == SAMPLES:
            return Check("sampled", f"{SAMPLES} exact points")
    raise undecided(step, "too few points satisfy its assumptions")


def _draw(random: Random, at_least_one: bool) -> Fraction:
    low = 0 if at_least_one else -3
    return Fraction(random.randint(100, 999), 100) * Fraction(10) ** random.randint(low, 4)


def _close(random: Random, edges: list[Poly], exact: Exact, point: Point) -> Iterator[Point]:
    """Just below, at and just above a bound of one name, with all others held."""
    if not edges or not point:
        return
    edge, name = Rat(random.choice(edges)), random.choice(sorted(point))
    bound = _zero(lambda size: value_at(edge, exact, {**point, name: size}))
    if bound is not None:
        for size in (bound, bound * (1 - CLOSE), bound * (1 + CLOSE)):
            if (
                size > 0
                and (size >= 1 or name not in exact.least_one)
                and (size > 1 or name not in several_of(exact.least_one))
            ):
                yield {**point, name: size}


def _zero(gap: Callable[[Fraction], Fraction | None]) -> Fraction | None:
    """Where a function of one size changes its sign: exactly where it is linear, else to within a small part."""
    sizes = [Fraction(10) ** power for power in range(-6, 13)]
    values = [gap(size) for size in sizes]
    for (low, a), (high, b) in pairwise(zip(sizes, values, strict=True)):
        if a is None or b is None or a * b > 0 or a == b:
            continue
        linear = low - a * (high - low) / (b - a)
        if gap(linear) == 0:
            return linear
        while high - low > CLOSE / 4 * low:
            middle = (low + high) / 2
            value = gap(middle)
            if value is None:
                return None
            low, high = (middle, high) if value * a > 0 else (low, middle)
        return low
    return None
