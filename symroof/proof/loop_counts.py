"""Counts done again: loop nests turn by turn, arrays element by element, cost functions on whole numbers.

A count is a polynomial of degree at most one in each size, so that it is known from its values at sizes 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import product, product as tuples
from math import prod
from operator import mul
from random import Random

from symroof.errors import CheckError
from symroof.formula import Formula, Frozen, Sum
from symroof.proof.polynomials import Poly, Rat
from symroof.proof.quotients import Quotients
from symroof.proof.step import Check, Evidence, Facts, Ledger, Step, refuted

Point = Mapping[str, int]
# A polynomial of degree at most one in each of n sizes is known from 2**n points; beyond this n some are drawn.
GRID = 6
DRAWN = 24
LONGEST_LOOP = 4096
LARGEST_SIZE = 10**6


class Points(Frozen):
    """Sizes to count at; ``complete`` where a polynomial of the degree in question is known from its values there."""

    points: tuple[Point, ...]
    complete: bool

    def compared(self, step: Step, value: Rat, count: Callable[[Point], int | Fraction], by: str) -> Check:
        """The right side of a step is what is counted at every point."""
        if value.names - set(self.points[0]):
            raise refuted(step, "it speaks of a size that is not counted")
        for point in self.points:
            value_at = count(point)
            if _at(value, point) != value_at:
                raise refuted(step, f"counting gives {value_at} at {point}")
        linear = not value.below.names and all(e == 1 for m in value.above for _, e in m)
        return Check("proved" if self.complete and linear else "sampled", by)


def _at(value: Rat, point: Point) -> Fraction:
    return value.at({name: Fraction(size) for name, size in point.items()})


def _size(label: str, point: Point) -> int:
    return int(label) if label.isdigit() else point[label]


def _grid(labels: Iterable[str], sizes: Iterable[int] = (1, 2)) -> Points:
    """Points that determine a polynomial whose degree in each size is below the number of ``sizes``, or some of them."""
    names, sizes = sorted({label for label in labels if not label.isdigit()}), tuple(sizes)
    if len(names) <= GRID:
        return Points(tuple(dict(zip(names, point, strict=True)) for point in tuples(sizes, repeat=len(names))), True)
    random = Random(7)
    return Points(tuple({name: random.choice(sizes) for name in names} for _ in range(DRAWN)), False)


def _nest(shapes: Iterable[Iterable[str]], formula: Rat) -> Points:
    """Points that determine the count of a loop nest.

    Loops over labels that occur in the same arrays are one loop over tuples, so one label of each such group is
    varied, as long as the formula has the group together or not at all.
    """
    shapes = [set(shape) for shape in shapes]
    labels = sorted({label for shape in shapes for label in shape if not label.isdigit()})
    groups: dict[tuple[bool, ...], list[str]] = {}
    for label in labels:
        groups.setdefault(tuple(label in shape for shape in shapes), []).append(label)
    monomials = [dict(m) for side in (formula.above, formula.below) for m in side]
    if any(len({m.get(label, 0) for label in group}) > 1 for m in monomials for group in groups.values()):
        return _grid(labels)
    first = _grid(group[0] for group in groups.values())
    return replace(first, points=tuple({**dict.fromkeys(labels, 1), **point} for point in first.points))


class Loops(Evidence):
    """Evidence of a count: the loop nest. ``operands`` are labels for each input; numbers are sizes of their own.

    ``fused`` counts an addition with every multiplication.
    """

    counts = True

    operands: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]
    fused: bool = False

    def missing_in(self, shape: tuple[str, ...]) -> tuple[str, ...]:
        """The loops that an array of that shape has no label of."""
        labels = dict.fromkeys(label for shape_of in (*self.operands, self.output) for label in shape_of)
        return tuple(label for label in labels if label not in shape)

    def points(self, formula: Rat) -> Points:
        return _nest((*self.operands, self.output), formula)

    def at(self, point: Point) -> dict[str, int]:
        """The loops, one turn after the other: multiply the operands, add the product to what is there.

        A contraction that is too long is multiplied out instead; all output elements take the same.
        """
        lengths = [_size(label, point) for label in self.missing_in(self.output)]
        outputs, turns = prod(_size(label, point) for label in self.output), prod(lengths)
        each, fused = len(self.operands) - 1, int(self.fused and bool(lengths))
        multiplications, additions = turns * each, turns - 1 + fused
        if turns <= LONGEST_LOOP:
            multiplications = additions = 0
            for turn, _ in enumerate(tuples(*map(range, lengths))):
                multiplications += each
                additions += turn > 0 or fused  # the first product is added to 0, or to nothing
        return {"outputs": outputs, "multiplications": multiplications, "additions": additions, "turns": turns}

    def examine(self, step: Step, ledger: Ledger) -> Check:
        """The multiplications and additions of the loop nest."""
        value, longest = ledger.exact(figures=False).rational(step.right), 0

        def count(point: Point) -> int:
            nonlocal longest
            nest = self.at(point)
            longest = max(longest, nest["turns"])
            return nest["outputs"] * (nest["multiplications"] + nest["additions"])

        outcome = self.points(value).compared(step, value, count, "counted in loops")
        return outcome if longest <= LONGEST_LOOP else replace(outcome, by="counted, long contractions multiplied out")


class OutputCounts(Facts):
    """Facts of a count: what each of ``outputs`` takes; ``length`` is that of the contraction, None without one."""

    outputs: Formula
    multiplications: Formula
    additions: Formula
    length: Formula | None

    def agree(self, step: Step, ledger: Ledger) -> bool:
        loops, exact = step.evidence, ledger.exact(figures=False)
        if not isinstance(loops, Loops) or (self.length is None) == bool(loops.missing_in(loops.output)):
            return False
        if self.length not in (None, self.multiplications) and len(loops.operands) == 2:
            return False
        points = loops.points(exact.rational(step.right)).points
        fields = ("outputs", "multiplications", *(() if self.length is None else ("additions",)))
        values = {name: exact.rational(getattr(self, name)) for name in fields}
        return all(
            value.names <= point.keys() and _at(value, point) == loops.at(point)[name]
            for name, value in values.items()
            for point in points
        )


class Touches(Evidence):
    """Evidence of a use: how often the loop nest touches each element of the operand at ``place`` (the output is last)."""

    loops: Loops
    place: int
    operand: str

    def examine(self, step: Step, ledger: Ledger) -> Check:
        """The turns of the loop nest for one element of an operand: those of the loops that it has no label of."""
        exact = ledger.exact(figures=False)
        value = exact.rational(step.right)
        if self not in ledger.meanings.values() or not exact.difference(step.left, step.right).is_zero():
            raise refuted(step, "this is not the use of an operand of the problem")
        others = self.loops.missing_in((*self.loops.operands, self.loops.output)[self.place])

        def count(point: Point) -> int:
            return prod(_size(label, point) for label in others)

        return self.loops.points(value).compared(step, value, count, "uses of an element counted")


class Arrays(Evidence):
    """Evidence of traffic: for each array its labels, the bits of an element, and the dtype that has them."""

    counts = True

    arrays: tuple[tuple[tuple[str, ...], int, str], ...]

    @property
    def widths(self) -> dict[str, Fraction]:
        """The bytes of an element of each dtype."""
        return {name: Fraction(bits, 8) for _, bits, name in self.arrays}

    def examine(self, step: Step, ledger: Ledger) -> Check:
        """The elements of each array, times the bits of one."""
        value = ledger.exact(figures=False).rational(step.right)

        def count(point: Point) -> Fraction:
            return Fraction(sum(bits * prod(_size(n, point) for n in labels) for labels, bits, _ in self.arrays), 8)

        points = _nest((labels for labels, _, _ in self.arrays), value)
        return points.compared(step, value, count, "elements counted")


class CostFunctionCount(Evidence):
    """Evidence of a given cost: the Python function and its parameters."""

    counts = True

    function: Callable[..., Fraction]
    parameters: tuple[str, ...]

    def examine(self, step: Step, ledger: Ledger) -> Check:
        """The function itself, run on whole numbers: on two more in each parameter than the degree of the formula, and on
        large ones that are drawn, where a function of a higher degree agrees by accident only."""
        value = ledger.exact(figures=False).rational(step.right)
        degree = max((e for side in (value.above, value.below) for m in side for _, e in m), default=0)
        grid, random = _grid(self.parameters, range(1, degree + 3)), Random(7)
        large = ({n: random.randint(1, LARGEST_SIZE) for n in sorted(self.parameters)} for _ in range(DRAWN))

        def count(point: Point) -> Fraction:
            return Fraction(self.function(**{name: Fraction(size) for name, size in point.items()}))

        points = replace(grid, points=(*grid.points, *large))
        points.compared(step, value, count, "")
        polynomial = not value.below.names
        return Check("proved" if grid.complete and polynomial else "sampled", "the function run on whole numbers")


class OperationKinds(Evidence):
    """Evidence of a sum: each term is the number of operations of one kind of the problem, as its function gives it."""

    labels: tuple[str, ...]
    functions: tuple[CostFunctionCount, ...]

    def examine(self, step: Step, ledger: Ledger) -> Check:
        """The function of each kind run, and all of them added up."""
        terms = step.right.terms if isinstance(step.right, Sum) else ()
        if self not in ledger.meanings.values():
            raise refuted(step, "these are not the kinds of operations of the problem")
        if (
            len(terms) != len(self.functions)
            or not ledger.exact(figures=False).difference(step.left, step.right).is_zero()
        ):
            raise refuted(step, "the kinds do not add up")
        pairs = zip(terms, self.functions, strict=True)
        outcomes = [function.examine(replace(step, right=term), ledger) for term, function in pairs]
        return next((outcome for outcome in outcomes if outcome.status != "proved"), outcomes[0])


ZERO = Rat(Poly())
# Masks are counted with every size up to this one, of as many sizes as there are.
COUNTED = {1: 12, 2: 9, 3: 6, 4: 5}


class Pairs(Frozen):
    """Which pairs of two labels are worked on: of so many ``rows`` and ``columns``, as each row is gone through; in a ``window`` a
    row meets the last ones of these alone."""

    rows: str
    columns: str
    from_first: bool
    window: str = ""

    @property
    def labels(self) -> frozenset[str]:
        return frozenset((self.rows, self.columns))

    def met(self, row: int, rows: int, columns: int, window: int) -> list[int]:
        """The columns that a row meets, all numbered from 0: of those up to its own place, or to the one that is as far from the
        last, the last ones."""
        last = row if self.from_first else columns - rows + row
        return [column for column in range(columns) if column <= last and (not window or column > last - window)]

    def counted(self, rows: int, columns: int, window: int = 0) -> int:
        """Every row with every column that it meets."""
        return sum(len(self.met(row, rows, columns, window)) for row in range(rows))

    def reached(self, rows: int, columns: int, window: int = 0) -> int:
        """The columns that some row meets."""
        return len({column for row in range(rows) for column in self.met(row, rows, columns, window)})


def pairs_of(masked: Pairs, exact: Quotients) -> Rat:
    """How many pairs a mask leaves."""
    return _polynomial_of(masked, masked.counted, exact)


def reached_of(masked: Pairs, exact: Quotients) -> Rat:
    """How many columns some row meets."""
    return _polynomial_of(masked, masked.reached, exact)


def _polynomial_of(masked: Pairs, count: Callable[..., int], exact: Quotients) -> Rat:
    """A count of rows and columns, and of a window, of degree two in them, as it is counted with small numbers for the sizes
    that define them. Raises :class:`CheckError` where it is of no such degree: where a window is sometimes wider than what a row
    meets."""
    labels = [label for label in (masked.rows, masked.columns, masked.window) if label]
    sizes = [exact.size(label) for label in labels]
    powers = [p for p in product(range(3), repeat=len(sizes)) if sum(p) <= 2]
    equations = [
        [*(Fraction(prod(map(pow, numbers, power))) for power in powers), Fraction(count(*numbers))]
        for numbers in _small_numbers(sizes, labels)
    ]
    coefficients = _solution(equations, len(powers)) if equations else None
    if coefficients is None:
        raise CheckError(f"what is counted of {' and '.join(labels)} is no polynomial of degree two")
    result = ZERO
    for power, coefficient in zip(powers, coefficients, strict=True):
        factors = (size for size, a in zip(sizes, power, strict=True) for _ in range(a))
        result += reduce(mul, factors, Rat(Poly.number(coefficient)))
    return result


def _small_numbers(sizes: list[Rat], labels: list[str]) -> Iterator[list[int]]:
    """The sizes of a mask in small numbers: whole ones, no more rows than columns."""
    free = sorted({name for size in sizes for name in size.names})
    if len(free) > max(COUNTED):
        raise CheckError(f"{', '.join(labels)} are defined by too many sizes to be counted")
    for values in product(range(1, COUNTED.get(len(free), 2)), repeat=len(free)):
        point = {name: Fraction(value) for name, value in zip(free, values, strict=True)}
        numbers = [size.at(point) for size in sizes]
        if all(n.denominator == 1 and n >= 1 for n in numbers) and numbers[0] <= numbers[1]:
            yield [n.numerator for n in numbers]


def _solution(system: list[list[Fraction]], unknowns: int) -> list[Fraction] | None:
    """A solution of linear equations, the right sides last: 0 for what they leave open; None where they have none."""
    rest = [list(row) for row in system]
    pivots: list[list[Fraction]] = []
    columns: list[int] = []
    for column in range(unknowns):
        pivot = next((row for row in rest if row[column]), None)
        if pivot is None:
            continue
        rest.remove(pivot)
        columns.append(column)
        pivot = [x / pivot[column] for x in pivot]
        rest = [[x - row[column] * y for x, y in zip(row, pivot, strict=True)] for row in rest]
        pivots = [[x - row[column] * y for x, y in zip(row, pivot, strict=True)] for row in pivots] + [pivot]
    result = dict(zip(columns, (row[-1] for row in pivots), strict=True))
    return None if any(any(row) for row in rest) else [result.get(column, Fraction(0)) for column in range(unknowns)]


def places(masked: Pairs | None, labels: Iterable[str], exact: Quotients) -> Rat:
    """The places of loops over labels that are worked on: all of them, but where a mask leaves out pairs, or columns."""
    labels = tuple(labels)
    if masked is None or masked.columns not in labels:
        return exact.sizes(labels)
    if masked.rows in labels:
        return exact.sizes(x for x in labels if x not in masked.labels) * pairs_of(masked, exact)
    return exact.sizes(x for x in labels if x != masked.columns) * reached_of(masked, exact)
