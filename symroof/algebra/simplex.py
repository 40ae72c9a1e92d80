"""An exact simplex: maximise c x subject to A x = b and x >= 0, in whole numbers, with Bland's rule.

Two phases on a dense tableau without fractions: its entries are whole, over one common denominator, which is the last
pivot (Edmonds, 1967; Bareiss, 1968). The programs of this project have at most some fifty columns, so the plain algorithm is faster
than any general solver. (Chvátal, Linear Programming, 1983, chapters 2, 3 and 8.)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def maximise(c: Sequence[int], a: Sequence[Sequence[int]], b: Sequence[int]) -> tuple[Fraction, ...] | None:
    """An x that maximises c x, or None where no x is feasible. Unbounded programs give a feasible x with c x > 0.

    >>> maximise([1, 0], [[1, 1]], [2])
    (Fraction(2, 1), Fraction(0, 1))
    """
    columns = len(c)
    rows = [[*(-v for v in row), -right] if right < 0 else [*row, right] for row, right in zip(a, b, strict=True)]
    table = _Tableau(
        rows,
        list(range(columns, columns + len(rows))),
        [sum(column) for column in zip(*rows, strict=True)] or [0] * (columns + 1),
    )
    table.optimise(columns)
    if any(row[-1] for row, variable in zip(table.rows, table.basis, strict=True) if variable >= columns):
        return None
    table.drop_artificial(columns)
    table.gains = [v * table.scale for v in (*c, 0)]
    for row, variable in zip(table.rows, table.basis, strict=True):
        if c[variable]:
            table.gains = [g - c[variable] * v for g, v in zip(table.gains, row, strict=True)]
    ray = table.optimise(columns)
    x = [Fraction(0)] * columns
    for row, variable in zip(table.rows, table.basis, strict=True):
        x[variable] = Fraction(row[-1] - (row[ray] if ray is not None else 0), table.scale)
    if ray is not None:  # unbounded: one long step along the ray
        x[ray] = Fraction(1)
    return tuple(x)


def weights(
    target: Sequence[int], vectors: Sequence[Sequence[int]], strict: range | None = None
) -> tuple[Fraction, ...] | None:
    """Weights that are not negative under which the vectors add up to the target, or None where there are none.

    With ``strict``, not all of the vectors at these places have the weight 0.

    >>> weights((1, -1), [(1, 0), (0, -1)], range(1))
    (Fraction(1, 1), Fraction(1, 1))
    """
    rows: list[Sequence[int]] = [*zip(*vectors, strict=True)] or [() for _ in target]
    gain = [int(strict is not None and j in strict) for j in range(len(vectors))]
    right = list(target)
    if strict is not None and not any(target):  # homogeneous: only the direction matters
        rows, right = [*rows, gain], [*right, 1]
    found = maximise(gain, rows, right)
    return None if found is None or (strict is not None and not any(found[j] for j in strict)) else found


class _Tableau:
    """Rows and gains are whole numbers over ``scale``; variables from the number of columns on are artificial."""

    def __init__(self, rows: list[list[int]], basis: list[int], gains: list[int]) -> None:
        self.rows, self.basis, self.gains, self.scale = rows, basis, gains, 1

    def optimise(self, columns: int) -> int | None:
        """Pivot until nothing gains; the entering column where the program is unbounded."""
        while True:
            entering = next((j for j in range(columns) if self.gains[j] > 0), None)
            if entering is None:
                return None
            ratios = [
                (Fraction(row[-1], row[entering]), self.basis[i], i)
                for i, row in enumerate(self.rows)
                if row[entering] > 0
            ]
            if not ratios:
                return entering
            self.pivot(min(ratios)[2], entering)

    def drop_artificial(self, columns: int) -> None:
        """An artificial variable at zero leaves the basis, or its row is redundant."""
        for i in reversed(range(len(self.rows))):
            if self.basis[i] < columns:
                continue
            entering = next((j for j in range(columns) if self.rows[i][j]), None)
            if entering is None:
                del self.rows[i], self.basis[i]
                continue
            if self.rows[i][entering] < 0:
                self.rows[i] = [-v for v in self.rows[i]]
            self.pivot(i, entering)

    def pivot(self, leaving: int, entering: int) -> None:
        pivot = self.rows[leaving]
        size, scale = pivot[entering], self.scale

        def reduced(row: list[int]) -> list[int]:
            factor = row[entering]
            if not factor:
                return row if size == scale else [v * size // scale for v in row]
            return [(v * size - factor * p) // scale for v, p in zip(row, pivot, strict=True)]

        self.rows = [row if i == leaving else reduced(row) for i, row in enumerate(self.rows)]
        self.gains = reduced(self.gains)
        self.basis[leaving], self.scale = entering, size
