"""Propositions at exact points: the judge of what z3 offers as a counterexample."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from symroof.errors import AlgebraError
from symroof.formula import Compare, Formula, Verdict, fold
from symroof.proof.exact import Exact
from symroof.proof.irrational import between
from symroof.proof.polynomials import Rat
from symroof.proof.step import Step

HOLDS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "=": operator.eq}

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
