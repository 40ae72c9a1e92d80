"""Cones in rational space, from their inequalities to their rays: the double description method, in whole numbers.

A cone {v : h v >= 0 for every h} is a linear space (its lines) plus the sums of finitely many rays. The inequalities
are taken in one after the other; a new one cuts the edges between rays on its two sides. Two rays span an edge exactly
when no third ray is tight in every inequality in which both are. (Motzkin, Raiffa, Thompson, Thrall, 1953; Fukuda,
Prodon, "Double description method revisited", 1996.)
"""

from __future__ import annotations

from collections.abc import Sequence
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
    made = []
    tights = [ray.tight for ray in rays]
    for a, up in above:
        for b, down in below:
            common = up.tight & down.tight
            if common.bit_count() < rank - 2 or not _edge(common, tights):
                continue
            vector = primitive(tuple(b * x + a * y for x, y in zip(up.vector, down.vector, strict=True)))
            made.append(Ray(vector, common | bit))
    return [*(ray for _, ray in above), *on, *made]


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
