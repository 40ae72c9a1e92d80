"""What masks leave, counted: every row is gone through with every column, at many numbers of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import reduce
from operator import mul

from symroof.errors import CheckError
from symroof.formula import Name, number
from symroof.proof.exact import Exact
from symroof.proof.polynomials import ONE, Poly, Rat
from symroof.proof.script import Masked

ZERO = Rat(Poly())
# Masks are counted at these numbers of rows and columns.
COUNTED = 9


def pairs_of(masked: Masked, exact: Exact) -> Rat:
    """How many pairs a mask leaves."""
    return _fitted(masked, masked.counted, exact)


def _fitted(masked: Masked, counted: Callable[[int, int], int], exact: Exact) -> Rat:
    """A count of rows and columns, of degree two in them, as it is counted at every place up to so many. Raises
    :class:`CheckError` where it is of no such degree."""
    powers = ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
    places = [(rows, columns) for columns in range(1, COUNTED) for rows in range(1, columns + 1)]
    system = [
        [Fraction(rows) ** a * Fraction(columns) ** b for a, b in powers] + [Fraction(counted(rows, columns))]
        for rows, columns in places
    ]
    solved = _eliminated(system, len(powers))
    if solved is None:
        raise CheckError(f"what is counted of {masked.rows} and {masked.columns} is no polynomial of degree two")
    rows, columns = exact.rational(Name(masked.rows)), exact.rational(Name(masked.columns))
    found = ZERO
    for (a, b), coefficient in zip(powers, solved, strict=True):
        found += reduce(mul, (*[rows] * a, *[columns] * b), Rat(Poly.number(coefficient)))
    return found


def _eliminated(system: list[list[Fraction]], unknowns: int) -> list[Fraction] | None:
    """The solution of linear equations, the right sides last, more of them than unknowns; None where they have none."""
    rest = [list(row) for row in system]
    pivots: list[list[Fraction]] = []
    for column in range(unknowns):
        pivot = next((row for row in rest if row[column]), None)
        if pivot is None:
            return None
        rest.remove(pivot)
        pivot = [x / pivot[column] for x in pivot]
        rest = [[x - row[column] * y for x, y in zip(row, pivot, strict=True)] for row in rest]
        pivots = [[x - row[column] * y for x, y in zip(row, pivot, strict=True)] for row in pivots] + [pivot]
    return None if any(any(row) for row in rest) else [row[-1] for row in pivots]


def worked(masked: Masked | None, labels: Iterable[str], exact: Exact) -> Rat:
    """The places of loops over labels that are worked on: all of them, but where a mask leaves out pairs, or columns."""
    labels = tuple(labels)
    if masked is None or masked.columns not in labels:
        return _sized(labels, exact)
    if masked.rows in labels:
        return _sized((x for x in labels if x not in masked.labels), exact) * pairs_of(masked, exact)
    return _sized((x for x in labels if x != masked.columns), exact) * _fitted(masked, masked.reached, exact)


def _sized(labels: Iterable[str], exact: Exact) -> Rat:
    return reduce(mul, (exact.rational(number(int(x)) if x.isdigit() else Name(x)) for x in labels), Rat(ONE))
