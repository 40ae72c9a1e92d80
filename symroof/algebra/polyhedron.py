"""Cones and polyhedra in rational space, in whole numbers: their rays by double description, and an exact simplex.

A cone {v : h v >= 0 for every h} is a linear space (its lines) plus the sums of finitely many rays. The inequalities
are taken in one after the other; a new one cuts the edges between rays on its two sides. Two rays span an edge exactly
when no third ray is tight in every inequality in which both are. (Motzkin, Raiffa, Thompson, Thrall, 1953; Fukuda,
Prodon, "Double description method revisited", 1996.)

The simplex maximises c x subject to A x = b and x >= 0, with Bland's rule: two phases on a dense tableau without
fractions, whose entries are whole, over one common denominator, which is the last pivot (Edmonds, 1967; Bareiss, 1968).
The programs of this project have at most some fifty columns, so the plain algorithm is faster than any general solver.
(Chvátal, Linear Programming, 1983, chapters 2, 3 and 8.)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd

from symroof.formula import Frozen

Vector = tuple[int, ...]


def dot(left: Vector, right: Vector) -> int:
    return sum(x * y for x, y in zip(left, right, strict=True) if y)


def negated(vector: Vector) -> Vector:
    return tuple(-x for x in vector)


def unit(place: int, size: int) -> Vector:
    return tuple(int(i == place) for i in range(size))


def primitive(vector: Vector) -> Vector:
    """The shortest vector of whole numbers in the same direction."""
    shared = gcd(*vector)
    return vector if shared in (0, 1) else tuple(x // shared for x in vector)


class Ray(Frozen):
    """A direction, and the set of inequalities that it meets with equality, one bit for each."""

    vector: Vector
    tight: int


class Generators(Frozen):
    """Every vector of the cone is a combination of the lines plus a combination of the rays that is nowhere negative."""

    lines: tuple[Vector, ...]
    rays: tuple[Ray, ...]


def generators(inequalities: Sequence[Vector], size: int) -> Generators:
    """The lines and rays of the cone {v : h v >= 0}.

    >>> found = generators([(1, 0), (0, 1), (1, -1)], 2)
    >>> sorted(ray.vector for ray in found.rays), found.lines
    ([(1, 0), (1, 1)], ())
    """
    lines: list[Vector] = [unit(j, size) for j in range(size)]
    rays: list[Ray] = []
    for index, h in enumerate(inequalities):
        bit = 1 << index
        pivot = next((line for line in lines if dot(h, line)), None)
        if pivot is None:
            rays = _cut(rays, h, bit, size - len(lines))
            continue
        if dot(h, pivot) < 0:
            pivot = negated(pivot)
        rays = [Ray(_flattened(ray.vector, pivot, h), ray.tight | bit) for ray in rays]
        rays.append(Ray(primitive(pivot), bit - 1))
        lines = [_flattened(line, pivot, h) for line in lines if line not in (pivot, negated(pivot))]
    return Generators(tuple(lines), tuple(rays))


def _cut(rays: list[Ray], h: Vector, bit: int, rank: int) -> list[Ray]:
    """The rays of the part of a cone where h v >= 0."""
    above, on, below = [], [], []
    for ray in rays:
        value = dot(h, ray.vector)
        if value > 0:
            above.append((value, ray))
        elif value < 0:
            below.append((-value, ray))
        else:
            on.append(Ray(ray.vector, ray.tight | bit))
    if not below:
        return [*(ray for _, ray in above), *on]
    combined = []
    tights = [ray.tight for ray in rays]
    for a, up in above:
        for b, down in below:
            common = up.tight & down.tight
            if common.bit_count() < rank - 2 or not _edge(common, tights):
                continue
            vector = primitive(tuple(b * x + a * y for x, y in zip(up.vector, down.vector, strict=True)))
            combined.append(Ray(vector, common | bit))
    return [*(ray for _, ray in above), *on, *combined]


def _edge(common: int, tights: list[int]) -> bool:
    """Whether exactly two rays are tight in all of ``common``."""
    seen = 0
    for tight in tights:
        if tight & common == common:
            seen += 1
            if seen > 2:
                return False
    return True


def _flattened(vector: Vector, pivot: Vector, h: Vector) -> Vector:
    """The vector moved along the pivot until h is 0 on it."""
    a, b = dot(h, pivot), dot(h, vector)
    return vector if b == 0 else primitive(tuple(a * x - b * y for x, y in zip(vector, pivot, strict=True)))


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
    result = maximise(gain, rows, right)
    return None if result is None or (strict is not None and not any(result[j] for j in strict)) else result


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
