"""A cell of a fan as relations between sizes, none of them to spare: B << D, B << F.

A cell is where the terms of a set are largest and no others are: an equality for every two of them, and an order for
every other term. Of the orders those are kept whose boundary in the cell is largest, since the boundaries of the others
lie inside of theirs; of the equalities, as many as are independent. The plainest form of each is taken: a size alone
before a ratio of two, a ratio of two before products.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations, pairwise

from sympy import Integer, oo

from symroof.algebra.fan import Fan
from symroof.algebra.polyhedron import dot, negated, primitive, unit
from symroof.algebra.rational import Exponents, plus
from symroof.algebra.regime import Relation, much_less


def relations(fan: Fan, mask: int) -> tuple[Relation, ...]:
    """The relations that hold exactly along the scalings of a cell; beside those of the regime of the fan itself.

    >>> from symroof.symbols import symbol
    >>> from symroof.algebra.fan import fan
    >>> from symroof.algebra.regime import Regime
    >>> B, D, F = map(symbol, "BDF")
    >>> found = fan(B*D*F/(B*D + D*F + B*F), Regime((), frozenset({B, D, F})))
    >>> relations(found, found.masks[0]), relations(found, found.masks[3])
    (((B, '<<', D), (B, '<<', F)), ((B, '~~', D), (D, '<<', F)))
    """
    equal, strict = _equalities(fan, mask), _strict(fan, mask)
    groups = _groups(fan, equal)
    singles = [pair for vector in strict if (pair := _single(vector)) is not None]
    found: dict[Relation, None] = {}
    for group in groups:
        rights = [large for small, large in singles if small in group]
        if rights or not any(large in group for _, large in singles):
            found |= _tied(fan, group)
        for place in rights:
            other = next(g for g in groups if place in g)
            found[fan.symbols[group[-1]], "<<", fan.symbols[other[0]]] = None
            found |= _tied(fan, other)
    chained = {pair for group in groups for pair in combinations(group, 2)}
    for vector in strict:
        if _single(vector) is None:
            found[_relation(fan, vector)] = None
    for vector in equal:
        pair = _single(vector)
        if pair is None or tuple(sorted(pair)) not in chained:
            left, _, right = _relation(fan, vector)
            found[left, "~~", Integer(1) if right == oo else right] = None
    return tuple(found)


def _tied(fan: Fan, group: tuple[int, ...]) -> dict[Relation, None]:
    """B ~~ D, D ~~ F for sizes of one order."""
    return {(fan.symbols[a], "~~", fan.symbols[b]): None for a, b in pairwise(group)}


def _groups(fan: Fan, equal: Iterable[Exponents]) -> list[tuple[int, ...]]:
    """The sizes that are of one order by themselves, the others alone."""
    group: dict[int, tuple[int, ...]] = {i: (i,) for i in range(len(fan.symbols))}
    for vector in equal:
        pair = _single(vector)
        if pair is not None:
            whole = tuple(sorted({*group[pair[0]], *group[pair[1]]}))
            group |= dict.fromkeys(whole, whole)
    return list(dict.fromkeys(group.values()))


def _single(vector: Exponents) -> tuple[int, int] | None:
    """(i, j) where the vector stands for the ratio of size i to size j."""
    return (vector.index(1), vector.index(-1)) if sorted(filter(None, vector)) == [-1, 1] else None


def _equalities(fan: Fan, mask: int) -> list[Exponents]:
    """Independent monomials that stay bounded both ways along the cell, the plainest first."""
    spanned = fan.spanned(mask)
    sizes = [unit(i, len(fan.symbols)) for i in range(len(fan.symbols))]
    pairs = [plus(p, q, -1) for p, q in combinations(sizes, 2)]
    ties = [plus(p, q, -1) for group in fan.groups for p, q in combinations(fan.chosen(mask & group), 2)]
    basis: list[list[Fraction]] = []
    for vector in fan.cone.bounded:  # what the regime of the fan itself says is not said again
        if negated(vector) in fan.cone.bounded:
            _independent(vector, basis)
    return [
        vector
        for vector in (*sizes, *pairs, *sorted(map(primitive, ties), key=_plainness))
        if all(dot(vector, ray) == 0 for ray in spanned) and _independent(vector, basis)
    ]


def _strict(fan: Fan, mask: int) -> list[Exponents]:
    """Monomials that tend to 0 along the cell, none of which follows from the others."""
    spanned = fan.spanned(mask)
    sizes = [unit(i, len(fan.symbols)) for i in range(len(fan.symbols))]
    constant = [{size, negated(size)} <= fan.cone.bounded.keys() for size in sizes]
    candidates = dict.fromkeys(
        primitive(tuple(0 if same else x for x, same in zip(plus(p, m, -1), constant, strict=True)))
        for group in fan.groups
        for p in fan.chosen(group & ~mask)
        for m in fan.chosen(group & mask)
    )
    faces: dict[int, Exponents] = {}
    for vector in sorted((*candidates, *fan.cone.small), key=lambda v: (v not in fan.cone.small, _plainness(v))):
        face = sum(1 << i for i, ray in enumerate(spanned) if dot(vector, ray) == 0)
        faces.setdefault(face, vector)
    kept = [
        v
        for face, v in faces.items()
        if v not in fan.cone.small and not any(face & other == face and face != other for other in faces)
    ]
    return sorted(kept, key=_plainness)


def _plainness(vector: Exponents) -> tuple[int, int, tuple[int, ...]]:
    return (sum(1 for x in vector if x), sum(map(abs, vector)), tuple(-abs(x) for x in vector))


def _independent(vector: Exponents, basis: list[list[Fraction]]) -> bool:
    """Whether the vector is not spanned by the basis, which it then joins (Gauss)."""
    row = [Fraction(x) for x in vector]
    for known in basis:
        lead = next(i for i, x in enumerate(known) if x)
        factor = row[lead] / known[lead]
        row = [x - factor * y for x, y in zip(row, known, strict=True)]
    if any(row):
        basis.append(row)
    return any(row)


def _relation(fan: Fan, vector: Exponents) -> Relation:
    """The monomial as a relation between its numerator and its denominator."""
    above, below = (tuple(max(x, 0) for x in side) for side in (vector, negated(vector)))
    return much_less(above, below, fan.symbols)
