"""An exact simplex: maximise c x subject to A x = b and x >= 0, in rationals, with Bland's rule.

Two phases on a dense tableau. The programs of this project have at most some twenty rows and columns, so the plain
algorithm is faster than any general solver. (Chvátal, Linear Programming, 1983, chapters 2, 3 and 8.)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Row = list[Fraction]


def maximise(c: Sequence[int], a: Sequence[Sequence[int]], b: Sequence[int]) -> tuple[Fraction, ...] | None:
    """An x that maximises c x, or None where no x is feasible. Unbounded programs give a feasible x with c x > 0.

    >>> maximise([1, 0], [[1, 1]], [2])
    (Fraction(2, 1), Fraction(0, 1))
    """
    rows, columns = len(a), len(c)
    table: list[Row] = []
    for i in range(rows):
        flip = -1 if b[i] < 0 else 1
        unit = [Fraction(int(i == j)) for j in range(rows)]
        table.append([Fraction(flip * v) for v in a[i]] + unit + [Fraction(flip * b[i])])
    basis = list(range(columns, columns + rows))
    first = [Fraction(0)] * columns + [Fraction(-1)] * rows
    _optimise(table, basis, first, columns + rows)
    if any(table[i][-1] for i in range(rows) if basis[i] >= columns):
        return None
    for i in range(rows):  # an artificial variable at zero leaves the basis, or its row is redundant
        if basis[i] >= columns:
            pivot = next((j for j in range(columns) if table[i][j]), None)
            if pivot is not None:
                _pivot(table, basis, i, pivot)
    _optimise(table, basis, [Fraction(v) for v in c] + [Fraction(0)] * rows, columns)
    x = [Fraction(0)] * columns
    for i, variable in enumerate(basis):
        if variable < columns:
            x[variable] = table[i][-1]
    return tuple(x)


def _optimise(table: list[Row], basis: list[int], c: Row, columns: int) -> None:
    while True:
        reduced = (
            (j, c[j] - sum(c[basis[i]] * row[j] for i, row in enumerate(table) if row[j])) for j in range(columns)
        )
        entering = next((j for j, gain in reduced if gain > 0), None)
        if entering is None:
            return
        ratios = [(row[-1] / row[entering], basis[i], i) for i, row in enumerate(table) if row[entering] > 0]
        if not ratios:  # unbounded: one long step along the ray
            for _i, row in enumerate(table):
                row[-1] -= row[entering]
            table.append([Fraction(int(j == entering)) for j in range(len(c))] + [Fraction(1)])
            basis.append(entering)
            return
        _pivot(table, basis, min(ratios)[2], entering)


def _pivot(table: list[Row], basis: list[int], leaving: int, entering: int) -> None:
    scale = table[leaving][entering]
    pivot = table[leaving] = [value / scale if value else value for value in table[leaving]]
    for i, row in enumerate(table):
        factor = row[entering]
        if i != leaving and factor:
            table[i] = [v - factor * p if p else v for v, p in zip(row, pivot, strict=True)]
    basis[leaving] = entering
