"""Steps at exact points: the last resort of the check, and the judge of what z3 offers as a counterexample."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from symroof.formula import Both, Cases, Compare, Either, Formula, Verdict, names
from symroof.proof.exact import Exact, names_in, value_at
from symroof.proof.ledger import Ledger, refuted
from symroof.proof.step import Check, Step

SAMPLES = 200
ORDER = ("<", "<=", ">", ">=")


def is_fact(assumption: Formula) -> bool:
    """Whether an assumption restricts sizes; relations of growth do not."""
    return not isinstance(assumption, Compare) or assumption.relation in (*ORDER, "=")


def truth_at(step: Step, exact: Exact, point: Mapping[str, Fraction]) -> bool | None:
    """Whether the step is true at a point, in exact numbers; None where it says nothing there."""
    if not all(_truth(a, exact, point) for a in step.assumptions if is_fact(a)):
        return None
    return _truth(Compare(step.left, step.relation, step.right), exact, point)


def _truth(formula: Formula, exact: Exact, point: Mapping[str, Fraction]) -> bool | None:
    match formula:
        case Verdict(holds=holds):
            return holds
        case Both(parts=parts):
            return all(_truth(part, exact, point) for part in parts)
        case Either(parts=parts):
            return any(_truth(part, exact, point) for part in parts)
        case Compare(left=left, relation="<=>", right=right):
            sides = _truth(left, exact, point), _truth(right, exact, point)
            return None if None in sides else sides[0] == sides[1]
        case Cases(rows=rows, otherwise=otherwise):
            for consequence, guard in rows:
                if _truth(guard, exact, point):
                    return _truth(consequence, exact, point)
            return None if otherwise is None else _truth(otherwise, exact, point)
        case Compare(left=left, relation=relation, right=right):
            above, below = exact.difference(left, right)
            values = _atoms_at(exact, point, names_in(above) | names_in(below))
            bottom = None if values is None else value_at(below, values)
            if values is None or not bottom:
                return None
            gap = value_at(above, values) / bottom
            return {">": gap > 0, ">=": gap >= 0, "<": gap < 0, "<=": gap <= 0, "=": gap == 0}[relation]
    return None


def _atoms_at(exact: Exact, point: Mapping[str, Fraction], used: set[str]) -> Mapping[str, Fraction] | None:
    """The point with the values of maxima and minima; None where a root is not rational or a name has no value."""
    values = dict(point)
    for atom, (function, arguments) in exact.atoms.items():
        if atom in used:
            if function not in ("max", "min"):
                return None
            parts = [value_at(a, values) / value_at(b, values) for a, b in arguments]
            values[atom] = max(parts) if function == "max" else min(parts)
    return values if used <= set(values) else None


def sampled(step: Step, ledger: Ledger) -> Check:
    """Exact random points: one counterexample raises, and many points without one are worth ``sampled``."""
    from random import Random

    random, exact, found = Random(7), ledger.exact(figures=True), 0
    for _ in range(20 * SAMPLES):
        free = {n for f in (step.left, step.right, *step.assumptions) for n in _free(f, exact)}
        point = {n: _draw(random, n in ledger.least_one) for n in sorted(free)}
        truth = truth_at(step, exact, point)
        if truth is False:
            raise refuted(step, f"it is false at {', '.join(f'{n} = {v}' for n, v in point.items())}")
        found += truth is True
        if found == SAMPLES:
            return Check("sampled", f"{SAMPLES} exact points")
    raise refuted(step, "too few points satisfy its assumptions, so it was not checked")


def _draw(random: Any, at_least_one: bool) -> Fraction:
    low = 0 if at_least_one else -3
    return Fraction(random.randint(100, 999), 100) * Fraction(10) ** random.randint(low, 4)


def _free(formula: Formula, exact: Exact) -> set[str]:
    found: set[str] = set()
    for name in names(formula):
        found |= _free(exact.definitions[name], exact) if name in exact.definitions else {name}
    return found
