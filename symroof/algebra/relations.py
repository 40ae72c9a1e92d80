"""A cell of a fan as relations between sizes, none of them to spare: B << D, B << F.

A cell is where the terms of a set are largest and no others are: an equality for every two of them, and an order for
every other term. Of the orders those are kept whose boundary in the cell is largest, since the boundaries of the others
lie inside of theirs; of the equalities, as many as are independent. The plainest form of each is taken: a size alone
before a ratio of two, a ratio of two before products.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from math import gcd

from sympy import Expr, oo

from symroof.algebra.fan import Fan
from symroof.algebra.rational import Exponents, monomial
from symroof.algebra.regime import Relation


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
    spanned = [vector for vector, terms in fan.rays if terms & mask == mask]
    equal = _equalities(fan, mask, spanned)
    groups = _groups(fan, equal)
    strict = _strict(fan, mask, spanned)
    found: list[Relation] = []
    told: set[int] = set()
    singles = {v: _single(v) for v in strict}
    for group in groups:
        rights = [pair[1] for pair in singles.values() if pair is not None and pair[0] in group]
        if rights or (len(group) > 1 and not any(pair and pair[1] in group for pair in singles.values())):
            found += _tied(fan, group, told)
        for place in rights:
            other = next((g for g in groups if place in g), (place,))
            found.append((fan.symbols[group[-1]], "<<", fan.symbols[other[0]]))
            found += _tied(fan, other, told)
    for vector in strict:
        if singles[vector] is None:
            found.append(_relation(fan.symbols, vector, "<<"))
    chained = {(a, b) for group in groups for a, b in combinations(group, 2)}
    for vector in equal:
        pair = _single(vector)
        if pair is None or tuple(sorted(pair)) not in chained:
            found.append(_relation(fan.symbols, vector, "~~"))
    return tuple(found)


def _tied(fan: Fan, group: tuple[int, ...], told: set[int]) -> list[Relation]:
    """B ~~ D, D ~~ F for sizes of one order, once."""
    if len(group) < 2 or group[0] in told:
        return []
    told.update(group)
    return [(fan.symbols[a], "~~", fan.symbols[b]) for a, b in pairwise(group)]


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
    places = [i for i, x in enumerate(vector) if x]
    if sorted(vector[i] for i in places) != [-1, 1]:
        return None
    small, large = sorted(places, key=lambda i: -vector[i])
    return small, large


def _equalities(fan: Fan, mask: int, spanned: Sequence[tuple[int, ...]]) -> list[Exponents]:
    """Independent monomials that stay bounded both ways along the cell, the plainest first."""
    size = len(fan.symbols)
    units = [tuple(int(i == j) for j in range(size)) for i in range(size)]
    pairs = [tuple(a - b for a, b in zip(units[i], units[j], strict=True)) for i, j in combinations(range(size), 2)]
    given = [
        d.exponents
        for d in fan.cone.bounded
        if tuple(-x for x in d.exponents) in {b.exponents for b in fan.cone.bounded}
    ]
    found: list[Exponents] = []
    basis: list[list[Fraction]] = []
    for vector in given:  # what the regime of the fan itself says is not said again
        _independent(vector, basis)
    for vector in (*units, *pairs, *sorted(map(_normal, _ties(fan, mask)), key=_plainness)):
        if all(_dot(vector, ray) == 0 for ray in spanned) and _independent(vector, basis):
            found.append(vector)
    return found


def _ties(fan: Fan, mask: int) -> list[Exponents]:
    found = []
    for group in _chosen(fan, mask, inside=True):
        found += [tuple(a - b for a, b in zip(p, q, strict=True)) for p, q in combinations(group, 2)]
    return found


def _chosen(fan: Fan, mask: int, *, inside: bool) -> list[list[Exponents]]:
    split = len(fan.above)
    return [
        [t for i, t in enumerate(fan.terms) if (i < split) == first and bool(mask >> i & 1) == inside]
        for first in (True, False)
    ]


def _strict(fan: Fan, mask: int, spanned: Sequence[tuple[int, ...]]) -> list[Exponents]:
    """Monomials that tend to 0 along the cell, none of which follows from the others."""
    given = {d.exponents for d in fan.cone.small}
    bounded = {d.exponents for d in fan.cone.bounded}
    units = [tuple(int(i == j) for j in range(len(fan.symbols))) for i in range(len(fan.symbols))]
    constant = [unit in bounded and tuple(-x for x in unit) in bounded for unit in units]
    candidates = dict.fromkeys(
        _normal(tuple(0 if same else a - b for a, b, same in zip(p, m, constant, strict=True)))
        for outer, inner in zip(_chosen(fan, mask, inside=False), _chosen(fan, mask, inside=True), strict=True)
        for p in outer
        for m in inner
    )
    faces: dict[int, Exponents] = {}
    for vector in sorted((*candidates, *given), key=lambda v: (v not in given, _plainness(v))):
        face = sum(1 << i for i, ray in enumerate(spanned) if _dot(vector, ray) == 0)
        faces.setdefault(face, vector)
    kept = [
        v
        for face, v in faces.items()
        if v not in given and not any(face & other == face and face != other for other in faces)
    ]
    return sorted(kept, key=_plainness)


def _plainness(vector: Exponents) -> tuple[int, int, tuple[int, ...]]:
    return (sum(1 for x in vector if x), sum(map(abs, vector)), tuple(-abs(x) for x in vector))


def _normal(vector: Exponents) -> Exponents:
    shared = gcd(*vector)
    return tuple(x // shared for x in vector) if shared > 1 else vector


def _independent(vector: Exponents, basis: list[list[Fraction]]) -> bool:
    """Whether the vector is not spanned by the basis, which it then joins (Gauss)."""
    row = [Fraction(x) for x in vector]
    for known in basis:
        lead = next(i for i, x in enumerate(known) if x)
        if row[lead]:
            factor = row[lead] / known[lead]
            row = [x - factor * y for x, y in zip(row, known, strict=True)]
    if any(row):
        basis.append(row)
        return True
    return False


def _relation(symbols: tuple[Expr, ...], vector: Exponents, sign: str) -> Relation:
    """The monomial as a relation between its numerator and its denominator."""
    above = monomial((max(x, 0) for x in vector), symbols)
    below = monomial((max(-x, 0) for x in vector), symbols)
    if sign == "<<" and above == 1:
        return (below, "->", oo)
    if sign == "~~" and above == 1:
        above, below = below, above
    return (above, sign, below)


def _dot(left: Sequence[int], right: Sequence[int]) -> int:
    return sum(x * y for x, y in zip(left, right, strict=True) if x)
