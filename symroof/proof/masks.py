"""What masks leave, counted: every row is gone through with every column, at many numbers of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import reduce
from itertools import product
from operator import mul

from symroof.errors import CheckError
from symroof.formula import Frozen, Name, number
from symroof.proof.polynomials import ONE, Poly, Rat
from symroof.proof.quotients import Exact

ZERO = Rat(Poly())
# Masks are counted with every size up to this one, of as many sizes as there are.
COUNTED = {1: 12, 2: 9, 3: 6, 4: 5}


class Masked(Frozen):
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


def pairs_of(masked: Masked, exact: Exact) -> Rat:
    """How many pairs a mask leaves."""
    return _fitted(masked, masked.counted, exact)


def reached_of(masked: Masked, exact: Exact) -> Rat:
    """How many columns some row meets."""
    return _fitted(masked, masked.reached, exact)


def _fitted(masked: Masked, count: Callable[[int, int, int], int], exact: Exact) -> Rat:
    """A count of rows and columns, and of a window, of degree two in them, as it is counted with small numbers for the sizes
    that define them. Raises :class:`CheckError` where it is of no such degree: where a window is sometimes wider than what a row
    meets."""
    labels = [label for label in (masked.rows, masked.columns, masked.window) if label]
    sizes = [exact.rational(number(int(x)) if x.isdigit() else Name(x)) for x in labels]
    free = sorted({name for size in sizes for name in size.names})
    if len(free) > max(COUNTED):
        raise CheckError(f"{', '.join(labels)} are defined by too many sizes to be counted")
    powers = [p for p in product(range(3), repeat=len(sizes)) if sum(p) <= 2]
    system: list[list[Fraction]] = []
    for values in product(range(1, COUNTED.get(len(free), 2)), repeat=len(free)):
        point = {name: Fraction(value) for name, value in zip(free, values, strict=True)}
        numbers = [size.above.at(point) / size.below.at(point) for size in sizes]
        if any(n.denominator != 1 or n < 1 for n in numbers) or numbers[0] > numbers[1]:
            continue
        row = [reduce(mul, (n**a for n, a in zip(numbers, power, strict=True)), Fraction(1)) for power in powers]
        whole = [n.numerator for n in numbers] + ([] if masked.window else [0])
        system.append([*row, Fraction(count(*whole))])
    solved = _eliminated(system, len(powers)) if system else None
    if solved is None:
        raise CheckError(f"what is counted of {' and '.join(labels)} is no polynomial of degree two")
    result = ZERO
    for power, coefficient in zip(powers, solved, strict=True):
        factors = (size for size, a in zip(sizes, power, strict=True) for _ in range(a))
        result += reduce(mul, factors, Rat(Poly.number(coefficient)))
    return result


def _eliminated(system: list[list[Fraction]], unknowns: int) -> list[Fraction] | None:
    """A solution of linear equations, the right sides last: 0 for what they leave open; None where they have none."""
    rest = [list(row) for row in system]
    pivots: list[list[Fraction]] = []
    places: list[int] = []
    for column in range(unknowns):
        pivot = next((row for row in rest if row[column]), None)
        if pivot is None:
            continue
        rest.remove(pivot)
        places.append(column)
        pivot = [x / pivot[column] for x in pivot]
        rest = [[x - row[column] * y for x, y in zip(row, pivot, strict=True)] for row in rest]
        pivots = [[x - row[column] * y for x, y in zip(row, pivot, strict=True)] for row in pivots] + [pivot]
    result = dict(zip(places, (row[-1] for row in pivots), strict=True))
    return None if any(any(row) for row in rest) else [result.get(column, Fraction(0)) for column in range(unknowns)]


def worked(masked: Masked | None, labels: Iterable[str], exact: Exact) -> Rat:
    """The places of loops over labels that are worked on: all of them, but where a mask leaves out pairs, or columns."""
    labels = tuple(labels)
    if masked is None or masked.columns not in labels:
        return _sized(labels, exact)
    if masked.rows in labels:
        return _sized((x for x in labels if x not in masked.labels), exact) * pairs_of(masked, exact)
    return _sized((x for x in labels if x != masked.columns), exact) * reached_of(masked, exact)


def _sized(labels: Iterable[str], exact: Exact) -> Rat:
    return reduce(mul, (exact.rational(number(int(x)) if x.isdigit() else Name(x)) for x in labels), Rat(ONE))
