"""The normal fan of a rational function: every set of terms that can be largest together.

Along a scaling x = t**w(x) a monomial m grows like t**(w m), so the terms of a polynomial that are largest are those
where w m is: a face of its Newton polytope. The scalings with the same largest terms in numerator and denominator form
one *cell*. Cells do not overlap, since every scaling has one set of largest terms, and together they are all scalings of
the domain. They are computed exactly: the pairs (w, a) with a >= w m for every term m of a polynomial form a cone, its
rays are found by double description, and every cell is spanned by those rays that have its terms in common.

That no set is missing is proved apart from all this, by the second engine.

A cell of a fan as relations between sizes, none of them to spare: B << D, B << F.

A cell is where the terms of a set are largest and no others are: an equality for every two of them, and an order for
every other term. Of the orders those are kept whose boundary in the cell is largest, since the boundaries of the others
lie inside of theirs; of the equalities, as many as are independent. The plainest form of each is taken: a size alone
before a ratio of two, a ratio of two before products.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, reduce
from itertools import combinations, pairwise
from operator import and_

from sympy import Expr, Integer, oo

from symroof.algebra.dominance import stays_above
from symroof.algebra.polyhedron import dot, generators, negated, primitive, unit
from symroof.algebra.rational import Exponents, Polynomial, add, cancel, polynomial, ratio
from symroof.algebra.regime import Cone, Regime, Relation, much_less
from symroof.errors import AlgebraError
from symroof.formula import Frozen

MOST_CELLS = 200_000


# A direction, and the terms that are largest along it, one bit for each.
Spanning = tuple[tuple[int, ...], int]


class Fan(Frozen):
    """The cells of a rational function over ``symbols``, the corners first: each is a set of terms, one bit for each.
    ``above`` and ``below`` are the terms of the numerator and the denominator that may lead."""

    symbols: tuple[Expr, ...]
    numerator: Expr
    denominator: Expr
    above: Polynomial
    below: Polynomial
    cone: Cone
    masks: tuple[int, ...]
    rays: tuple[Spanning, ...]

    @cached_property
    def terms(self) -> tuple[Exponents, ...]:
        return (*self.above, *self.below)

    @cached_property
    def groups(self) -> tuple[int, int]:
        """The terms of the numerator, and those of the denominator."""
        low = (1 << len(self.above)) - 1
        return low, (1 << len(self.terms)) - 1 - low

    def chosen(self, mask: int) -> tuple[Exponents, ...]:
        """The terms of a set."""
        return tuple(t for i, t in enumerate(self.terms) if mask >> i & 1)

    def spanned(self, mask: int) -> list[tuple[int, ...]]:
        """The rays that span a cell."""
        return [vector for vector, terms in self.rays if terms & mask == mask]

    def weights(self, mask: int) -> tuple[int, ...]:
        """A scaling of a cell: the sum of the rays that span it."""
        return tuple(map(sum, zip(*self.spanned(mask), strict=True)))

    def leading(self, mask: int) -> Expr:
        """The leading form along the scalings of a cell, in lowest terms."""
        above, below = (
            polynomial({e: terms[e] for e in self.chosen(mask & group)}, self.symbols)
            for terms, group in zip((self.above, self.below), self.groups, strict=True)
        )
        return cancel(above / below)

    def is_corner(self, mask: int) -> bool:
        """Whether one term of the numerator and one of the denominator lead alone."""
        return mask.bit_count() == 2

    def led(self, pair: int) -> int:
        """The terms that are largest wherever the terms of a set are."""
        return reduce(and_, (terms for _, terms in self.rays if terms & pair == pair))


def fan(expression: Expr, regime: Regime, order: Sequence[Expr] = ()) -> Fan:
    """The fan of a rational function over the scalings of a regime in which every symbol may grow; symbols stand as in ``order``.

    >>> from symroof.symbols import symbol
    >>> B, D, F = map(symbol, "BDF")
    >>> found = fan(B*D*F/(B*D + D*F + B*F), Regime((), frozenset({B, D, F})))
    >>> len(found.masks), sum(found.is_corner(mask) for mask in found.masks)
    (7, 3)
    >>> [found.leading(mask) for mask in found.masks][:3]
    [B, D, F]
    """
    result = _terms(expression, regime, order)
    result = replace(result, rays=_rays((result.above, result.below), result.cone))
    return _known(result, [m for m in _meets((terms for _, terms in result.rays), result.groups) if _grows(result, m)])


def _terms(expression: Expr, regime: Regime, order: Sequence[Expr]) -> Fan:
    """The terms of a rational function over the sizes of a regime; no cells yet."""
    expression = regime.merged(expression)
    ranks = {s: i for i, s in enumerate(order)}
    symbols = tuple(sorted(regime.over(expression), key=lambda s: (ranks.get(s, len(ranks)), str(s))))
    cone = regime.cone(symbols, constants=False)
    above, below = ratio(expression, symbols)
    if not above:
        raise AlgebraError("0 has no regimes")
    if not all(stays_above(terms, symbols, regime) for terms in (above, below)):
        raise AlgebraError(
            "terms of both signs may cancel, so the largest ones do not tell the order of the whole",
            expected="terms that stay above a part of their positive ones",
        )
    return Fan(symbols, polynomial(above, symbols), polynomial(below, symbols), above, below, cone, (), ())


def _known(fan: Fan, masks: Sequence[int]) -> Fan:
    """The terms with their cells."""
    if not masks:
        raise AlgebraError("no scaling satisfies the regime")
    # small sets first; among those of one size, the ones with later terms of the denominator, which lack the first sizes
    return replace(fan, masks=tuple(sorted(masks, key=lambda mask: (mask.bit_count(), -mask))))


def corners(expression: Expr, regime: Regime, order: Sequence[Expr] = ()) -> Fan:
    """The widest cells of the orders of growth: those where no fewer terms lead. Terms below 0 never do, since the whole
    stays above a part of its positive terms.

    >>> from symroof.symbols import symbol
    >>> B, D, F = map(symbol, "BDF")
    >>> found = corners(B*D*F/(B*D + D*F + B*F - F), Regime((), frozenset({B, D, F})))
    >>> [found.leading(mask) for mask in found.masks]
    [B, D, F]
    """
    result = _terms(expression, regime, order)
    above, below = ({m: c for m, c in terms.items() if c > 0} for terms in (result.above, result.below))
    result = replace(result, above=above, below=below, rays=_rays((above, below), result.cone))
    pairs = (1 << i | 1 << len(above) + j for i in range(len(above)) for j in range(len(below)))
    # along the scaling 0, the first of the rays, every term is largest
    masks = {result.led(pair) for pair in pairs}
    least = [mask for mask in masks if not any(other != mask and other & mask == other for other in masks)]
    return _known(result, [mask for mask in least if _grows(result, mask)])


def _rays(groups: tuple[Polynomial, Polynomial], cone: Cone) -> tuple[Spanning, ...]:
    """Rays that span the closed cells, lines in both directions, each with the terms that are largest along it.

    The scaling 0, along which nothing grows, is the first of them: every term is largest.
    """
    n, split = len(cone.symbols), len(groups[0])
    terms = [(*negated(m), int(g == 0), int(g == 1)) for g, group in enumerate(groups) for m in group]
    domain = [(*negated(powers), 0, 0) for powers in (*cone.small, *cone.bounded)]
    result = generators([*terms, *dict.fromkeys(domain)], n + 2)
    everything = (1 << len(terms)) - 1
    lines = [direction for line in result.lines for direction in (line, negated(line))]
    return (
        ((0,) * n, everything),
        *((line[:n], everything) for line in lines),
        *(
            (ray.vector[:n], tight)
            for ray in result.rays
            if (tight := ray.tight & everything) % (1 << split) and tight >> split
        ),
    )


def _meets(sets: Iterable[int], groups: tuple[int, int]) -> set[int]:
    """Every intersection of the sets that keeps a term of each group: the sets of terms of the faces."""
    result: set[int] = set()
    for subset in dict.fromkeys(sets):
        result |= {m for m in (subset & other for other in result) if m & groups[0] and m & groups[1]}
        result.add(subset)
        if len(result) > MOST_CELLS:
            raise AlgebraError(f"there are more than {MOST_CELLS} regimes", expected="fewer terms, or sizes put in")
    return result


def _grows(fan: Fan, mask: int) -> bool:
    """Whether a scaling of the cell makes everything small that the regime says is small."""
    spanned = fan.spanned(mask)
    return all(any(dot(vector, powers) < 0 for vector in spanned) for powers in fan.cone.small)


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
    result: dict[Relation, None] = {}
    for group in groups:
        rights = [large for small, large in singles if small in group]
        if rights or not any(large in group for _, large in singles):
            result |= _tied(fan, group)
        for place in rights:
            other = next(g for g in groups if place in g)
            result[fan.symbols[group[-1]], "<<", fan.symbols[other[0]]] = None
            result |= _tied(fan, other)
    chained = {pair for group in groups for pair in combinations(group, 2)}
    for vector in strict:
        if _single(vector) is None:
            result[_relation(fan, vector)] = None
    for vector in equal:
        pair = _single(vector)
        if pair is None or tuple(sorted(pair)) not in chained:
            left, _, right = _relation(fan, vector)
            result[left, "~~", Integer(1) if right == oo else right] = None
    return tuple(result)


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
    pairs = [add(p, q, -1) for p, q in combinations(sizes, 2)]
    ties = [add(p, q, -1) for group in fan.groups for p, q in combinations(fan.chosen(mask & group), 2)]
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
        primitive(tuple(0 if same else x for x, same in zip(add(p, m, -1), constant, strict=True)))
        for group in fan.groups
        for p in fan.chosen(group & ~mask)
        for m in fan.chosen(group & mask)
    )
    faces: dict[int, Exponents] = {}
    for vector in sorted((*candidates, *fan.cone.small), key=lambda v: (v not in fan.cone.small, _plainness(v))):
        face = sum(1 << i for i, ray in enumerate(spanned) if dot(vector, ray) == 0)
        faces.setdefault(face, vector)
    proper = [
        v
        for face, v in faces.items()
        if v not in fan.cone.small and not any(face & other == face and face != other for other in faces)
    ]
    return sorted(proper, key=_plainness)


def _plainness(vector: Exponents) -> tuple[int, int, tuple[int, ...]]:
    return (sum(1 for x in vector if x), sum(map(abs, vector)), tuple(-abs(x) for x in vector))


def _independent(vector: Exponents, basis: list[list[Fraction]]) -> bool:
    """Whether the vector is not spanned by the basis, which it then joins (Gauss)."""
    row = [Fraction(x) for x in vector]
    for other in basis:
        lead = next(i for i, x in enumerate(other) if x)
        factor = row[lead] / other[lead]
        row = [x - factor * y for x, y in zip(row, other, strict=True)]
    if any(row):
        basis.append(row)
    return any(row)


def _relation(fan: Fan, vector: Exponents) -> Relation:
    """The monomial as a relation between its numerator and its denominator."""
    above, below = (tuple(max(x, 0) for x in side) for side in (vector, negated(vector)))
    return much_less(above, below, fan.symbols)
