"""Steps at exact points: the last resort of the check, and the judge of what z3 offers as a counterexample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from symroof.formula import Both, Cases, Compare, Either, Formula, Verdict, names
from symroof.proof.exact import Exact, Poly, minus, names_in, value_at
from symroof.proof.ledger import Ledger, refuted, undecided
from symroof.proof.step import Check, Step

SAMPLES = 200
# How far from a bound a point is that is close to it, as a part of the bound.
CLOSE = Fraction(1, 10**6)
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
    """Exact random points, and for each of them some close to a bound: one counterexample raises, and many points
    without one are worth ``sampled``."""
    from random import Random

    random, exact, found = Random(7), ledger.exact(figures=True), 0
    formulas = (step.left, step.right, *step.assumptions)
    free = sorted({n for formula in formulas for n in free_names(formula, exact)})
    edges = _edges(formulas, exact)
    for _ in range(20 * SAMPLES):
        drawn = {n: _draw(random, n in ledger.least_one) for n in free}
        for point in (drawn, *_close(random, edges, exact, drawn, ledger.least_one)):
            truth = truth_at(step, exact, point)
            if truth is False:
                raise refuted(step, f"it is false at {', '.join(f'{n} = {v}' for n, v in point.items())}")
            found += truth is True and point is drawn
        if found == SAMPLES:
            return Check("sampled", f"{SAMPLES} exact points")
    raise undecided(step, "too few points satisfy its assumptions")


def _draw(random: Any, at_least_one: bool) -> Fraction:
    low = 0 if at_least_one else -3
    return Fraction(random.randint(100, 999), 100) * Fraction(10) ** random.randint(low, 4)


def ends_of(formula: Formula) -> Iterator[Compare]:
    """The equations and inequalities that a proposition is made of."""
    match formula:
        case Both(parts=parts) | Either(parts=parts):
            inside: Iterable[Formula] = parts
        case Cases(rows=rows, otherwise=otherwise):
            inside = (*(part for row in rows for part in row), *(() if otherwise is None else (otherwise,)))
        case Compare(left=left, relation="<=>", right=right):
            inside = (left, right)
        case Compare(relation=relation) if relation in (*ORDER, "="):
            yield formula
            return
        case _:
            return
    for part in inside:
        yield from ends_of(part)


def _edges(formulas: Iterable[Formula], exact: Exact) -> list[Poly]:
    """What vanishes where the truth of the formulas may turn: at their bounds, and where a maximum changes its argument."""
    bounds = [exact.difference(end.left, end.right)[0] for formula in formulas for end in ends_of(formula)]
    for formula in formulas:
        if not isinstance(formula, Compare | Both | Either | Cases | Verdict):
            exact.rational(formula)
    pairs = [pair for function, parts in exact.atoms.values() if function in ("max", "min") for pair in pairwise(parts)]
    return [edge for edge in (*bounds, *(minus(a, b)[0] for a, b in pairs)) if edge]


def _close(
    random: Any, edges: list[Poly], exact: Exact, point: Mapping[str, Fraction], least_one: frozenset[str]
) -> Iterator[Mapping[str, Fraction]]:
    """Just below, at and just above a bound of one name, with all others held."""
    if not edges or not point:
        return
    above, name = random.choice(edges), random.choice(sorted(point))

    def gap(size: Fraction) -> Fraction | None:
        values = _atoms_at(exact, {**point, name: size}, names_in(above))
        return None if values is None else value_at(above, values)

    bound = _zero(gap)
    if bound is not None:
        for size in (bound, bound * (1 - CLOSE), bound * (1 + CLOSE)):
            if size > 0 and (size >= 1 or name not in least_one):
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


def free_names(formula: Formula, exact: Exact) -> set[str]:
    """The names that a formula comes down to, with the definitions put in."""
    found: set[str] = set()
    for name in names(formula):
        found |= free_names(exact.definitions[name], exact) if name in exact.definitions else {name}
    return found
