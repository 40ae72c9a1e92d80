"""Counts done again: loop nests turn by turn, arrays element by element, cost functions on whole numbers.

A count is a polynomial of degree at most one in each size, so that it is known from its values at sizes 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product as tuples
from math import prod

from symroof.formula import Sum
from symroof.proof.exact import Poly, Rat, names_in, value_at
from symroof.proof.grounds import Arrays, Counted, Function, Kinds, Loops, Uses
from symroof.proof.ledger import Ledger, refuted
from symroof.proof.step import Check, Step

Count = int | Fraction
# A polynomial of degree at most one in each of n sizes is known from 2**n points; beyond this n some are drawn.
GRID = 6
DRAWN = 24
LONGEST_LOOP = 4096
LARGEST_SIZE = 10**6


def _grid(labels: Iterable[str], sizes: Iterable[int] = (1, 2)) -> tuple[list[dict[str, int]], bool]:
    """Points that determine a multilinear polynomial, or some of them; and whether they are all."""
    names, sizes = sorted({label for label in labels if not label.isdigit()}), tuple(sizes)
    if len(names) <= GRID:
        return [dict(zip(names, point, strict=True)) for point in tuples(sizes, repeat=len(names))], True
    from random import Random

    random = Random(7)
    return [{name: random.choice(sizes) for name in names} for _ in range(DRAWN)], False


def _nest(shapes: Iterable[Iterable[str]], formula: tuple[Poly, Poly]) -> tuple[list[dict[str, int]], bool]:
    """Points that determine the count of a loop nest.

    Loops over labels that occur in the same arrays are one loop over tuples, so one label of each such group is
    varied, as long as the formula has the group together or not at all.
    """
    shapes = [set(shape) for shape in shapes]
    groups: dict[tuple[bool, ...], list[str]] = {}
    for label in sorted({label for shape in shapes for label in shape if not label.isdigit()}):
        groups.setdefault(tuple(label in shape for shape in shapes), []).append(label)
    monomials = [dict(m) for poly in formula for m in poly]
    together = all(len({m.get(label, 0) for label in group}) == 1 for m in monomials for group in groups.values())
    if not together:
        return _grid(label for group in groups.values() for label in group)
    points, complete = _grid(group[0] for group in groups.values())
    return [
        {label: point[g[0]] if label == g[0] else 1 for g in groups.values() for label in g} for point in points
    ], complete


def _agree(
    step: Step, value: Rat, points: Sequence[Mapping[str, int]], counts: Sequence[Count], complete: bool, by: str
) -> Check:
    """The right side of a step is what has been counted at every point."""
    above, below = value
    linear = len(below) == 1 and () in below and all(e == 1 for m in above for _, e in m)
    if (names_in(above) | names_in(below)) - set(points[0]):
        raise refuted(step, "it speaks of a size that is not counted")
    for point, count in zip(points, counts, strict=True):
        if _value(value, point) != count:
            raise refuted(step, f"counting gives {count} at {point}")
    return Check("proved" if complete and linear else "sampled", by)


def _value(sides: Rat, point: Mapping[str, int]) -> Fraction:
    above, below = (value_at(side, {name: Fraction(size) for name, size in point.items()}) for side in sides)
    return above / below


@dataclass(frozen=True, slots=True)
class Nest:
    """A loop nest at a point: how many outputs, and the operations of one; ``run`` tells whether its loops were run."""

    outputs: int
    multiplications: int
    additions: int
    run: bool


def _nest_at(loops: Loops, point: Mapping[str, int]) -> Nest:
    """The loops, one turn after the other: multiply the operands, add the product to what is there.

    A contraction that is too long is multiplied out instead; all output elements take the same.
    """
    size = {
        label: int(label) if label.isdigit() else point[label]
        for shape in (*loops.operands, loops.output)
        for label in shape
    }
    summed = [
        label
        for label in dict.fromkeys(label for shape in loops.operands for label in shape)
        if label not in loops.output
    ]
    outputs, turns = prod(size[label] for label in loops.output), prod(size[label] for label in summed)
    each, fused = len(loops.operands) - 1, int(loops.fused and bool(summed))
    if turns > LONGEST_LOOP:
        return Nest(outputs, turns * each, turns - 1 + fused, False)
    multiplications = additions = 0
    for turn, _ in enumerate(tuples(*(range(size[label]) for label in summed))):
        multiplications += each
        additions += turn > 0 or fused  # the first product is added to 0, or to nothing
    return Nest(outputs, multiplications, additions, True)


def turns(step: Step, loops: Loops, ledger: Ledger) -> Check:
    """The multiplications and additions of the loop nest; and what the facts say of one output."""
    value = ledger.exact(figures=False).rational(step.right)
    points, complete = _nest((*loops.operands, loops.output), value)
    nests = [_nest_at(loops, point) for point in points]
    totals = [nest.outputs * (nest.multiplications + nest.additions) for nest in nests]
    if isinstance(step.facts, Counted):
        summed = {label for shape in loops.operands for label in shape} - set(loops.output)
        if (step.facts.length is None) == bool(summed):
            raise refuted(step, "its facts say of a contraction what the loops do not")
        said = {
            "outputs": step.facts.outputs,
            "multiplications": step.facts.multiplications,
            "additions": step.facts.additions,
        }
        for name, formula in said.items():
            sides = ledger.exact(figures=False).rational(formula)
            if step.facts.length is None and name == "additions":
                continue
            if any(_value(sides, point) != getattr(nest, name) for point, nest in zip(points, nests, strict=True)):
                raise refuted(step, f"the {name} of its facts are not those that are counted")
        if step.facts.length not in (None, step.facts.multiplications) and len(loops.operands) == 2:
            raise refuted(step, "the length of its facts is not that of the contraction")
    by = "counted in loops" if all(nest.run for nest in nests) else "counted, long contractions multiplied out"
    return _agree(step, value, points, totals, complete, by)


def uses_of(step: Step, uses: Uses, ledger: Ledger) -> Check:
    """The turns of the loop nest for one element of an operand: those of the loops that it has no label of."""
    exact = ledger.exact(figures=False)
    value = exact.rational(step.right)
    if uses not in ledger.meanings.values() or exact.difference(step.left, step.right)[0]:
        raise refuted(step, "this is not the use of an operand of the problem")
    shapes = (*uses.loops.operands, uses.loops.output)
    others = [n for n in dict.fromkeys(n for shape in shapes for n in shape) if n not in shapes[uses.place]]
    points, complete = _nest(shapes, value)
    counts = []
    for point in points:
        sizes = [int(label) if label.isdigit() else point[label] for label in others]
        counts.append(prod(sizes) if prod(sizes) > LONGEST_LOOP else sum(1 for _ in tuples(*map(range, sizes))))
    return _agree(step, value, points, counts, complete, "uses of an element counted")


def elements(step: Step, arrays: Arrays, ledger: Ledger) -> Check:
    """The elements of each array, times the bits of one."""
    value = ledger.exact(figures=False).rational(step.right)
    points, complete = _nest((labels for labels, _, _ in arrays.arrays), value)
    counts = []
    for point in points:
        bits = (width * prod(int(n) if n.isdigit() else point[n] for n in labels) for labels, width, _ in arrays.arrays)
        counts.append(Fraction(sum(bits), 8))
    return _agree(step, value, points, counts, complete, "elements counted")


def function_run(step: Step, given: Function, ledger: Ledger) -> Check:
    """The Python function itself, run on whole numbers: on two more in each parameter than the degree of the formula,
    and on large ones that are drawn, where a function of a higher degree agrees by accident only."""
    above, below = value = ledger.exact(figures=False).rational(step.right)
    degree = max((e for p in value for m in p for _, e in m), default=0)
    points, complete = _grid(given.parameters, range(1, degree + 3))
    if (names_in(above) | names_in(below)) - set(points[0]):
        raise refuted(step, "it speaks of a size that the function does not have")
    for point in (*points, *_large(given.parameters)):
        counted = Fraction(given.function(**{name: Fraction(size) for name, size in point.items()}))
        if _value(value, point) != counted:
            raise refuted(step, f"the function gives {counted} at {point}")
    polynomial = len(below) == 1 and () in below
    return Check("proved" if complete and polynomial else "sampled", "the function run on whole numbers")


def _large(names: Iterable[str]) -> Iterator[dict[str, int]]:
    from random import Random

    random, names = Random(7), sorted(names)
    return ({name: random.randint(1, LARGEST_SIZE) for name in names} for _ in range(DRAWN))


def kinds(step: Step, given: Kinds, ledger: Ledger) -> Check:
    """The function of each kind run, and all of them added up."""
    terms = step.right.terms if isinstance(step.right, Sum) else ()
    if len(terms) != len(given.functions) or ledger.exact(figures=False).difference(step.left, step.right)[0]:
        raise refuted(step, "the kinds do not add up")
    outcomes = [function_run(replace(step, right=t), f, ledger) for t, f in zip(terms, given.functions, strict=True)]
    return next((outcome for outcome in outcomes if outcome.status != "proved"), outcomes[0])
