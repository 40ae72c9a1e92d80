"""The normal fan of a rational function: every set of terms that can be largest together.

Along a scaling x = t**w(x) a monomial m grows like t**(w m), so the terms of a polynomial that are largest are those
where w m is: a face of its Newton polytope. The scalings with the same largest terms in numerator and denominator form
one *cell*. Cells do not overlap, since every scaling has one set of largest terms, and together they are all scalings of
the domain. They are computed exactly: the pairs (w, a) with a >= w m for every term m of a polynomial form a cone, its
rays are found by double description, and every cell is spanned by those rays that have its terms in common.

That no set is missing is proved apart from all this, by :mod:`symroof.algebra.lemmas`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from sympy import Expr

from symroof.algebra.dominance import bounded_below, merged
from symroof.algebra.polyhedron import generators
from symroof.algebra.rational import Exponents, Polynomial, cancelled, polynomial, ratio, symbols_of
from symroof.algebra.regime import Cone, Regime
from symroof.errors import AlgebraError

MOST_CELLS = 200_000


@dataclass(frozen=True, slots=True)
class Cell:
    """Scalings with the same largest terms: those of the numerator, those of the denominator, and one such scaling."""

    above: tuple[Exponents, ...]
    below: tuple[Exponents, ...]
    weights: tuple[int, ...]


@dataclass(frozen=True)
class Fan:
    """The cells of a rational function over ``symbols``, the corners first."""

    symbols: tuple[Expr, ...]
    above: Polynomial
    below: Polynomial
    cone: Cone
    masks: tuple[int, ...]
    rays: tuple[tuple[tuple[int, ...], int], ...]

    @cached_property
    def terms(self) -> tuple[Exponents, ...]:
        return (*self.above, *self.below)

    @cached_property
    def value(self) -> Expr:
        """The function itself, in lowest terms."""
        return polynomial(self.above, self.symbols) / polynomial(self.below, self.symbols)

    def group(self, term: int) -> int:
        """The terms of the polynomial that a term is of."""
        low = (1 << len(self.above)) - 1
        return low if term < len(self.above) else (1 << len(self.terms)) - 1 - low

    def cell(self, mask: int) -> Cell:
        """The cell of a set of terms, one bit for each; the scaling is the sum of the rays that span it."""
        weights = [0] * len(self.symbols)
        for vector, terms in self.rays:
            if terms & mask == mask:
                weights = [a + b for a, b in zip(weights, vector, strict=True)]
        chosen = [
            [t for i, t in enumerate(group, start) if mask >> i & 1]
            for group, start in ((self.above, 0), (self.below, len(self.above)))
        ]
        return Cell(tuple(chosen[0]), tuple(chosen[1]), tuple(weights))

    def leading(self, mask: int) -> Expr:
        """The leading form along the scalings of a cell, in lowest terms."""
        cell = self.cell(mask)
        parts = [
            polynomial({e: group[e] for e in chosen}, self.symbols)
            for group, chosen in ((self.above, cell.above), (self.below, cell.below))
        ]
        return cancelled(parts[0] / parts[1])

    def is_corner(self, mask: int) -> bool:
        """Whether one term of the numerator and one of the denominator lead alone."""
        return mask.bit_count() == 2

    def joined(self, mask: int) -> int | None:
        """The least set of largest terms that contains a set, or None where its terms are never largest together."""
        found = (1 << len(self.terms)) - 1
        for terms in self._sets:
            if terms & mask == mask:
                found &= terms
        return found if found in self._known else None

    @cached_property
    def _sets(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(terms for _, terms in self.rays))

    @cached_property
    def _known(self) -> frozenset[int]:
        return frozenset(self.masks)


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
    expression = merged(expression, regime)
    symbols = symbols_of(expression, *(s for s in regime.symbols if s not in regime.substitution))
    symbols = tuple(sorted(symbols, key=lambda s: (order.index(s) if s in order else len(order), str(s))))
    cone = regime.cone(symbols, constants=False)
    above, below = ratio(expression, symbols)
    if not above:
        raise AlgebraError("0 has no regimes")
    for terms in (above, below):
        if not bounded_below(terms, symbols, regime):
            raise AlgebraError(
                "terms of both signs may cancel, so the largest ones do not tell the order of the whole",
                expected="terms that stay above a part of their positive ones",
            )
    rays = _rays(symbols, (above, below), cone)
    counts = len(above), len(below)
    masks = [mask for mask in _meets([terms for _, terms in rays], counts) if _grows(mask, rays, cone)]
    if not masks:
        raise AlgebraError("no scaling satisfies the regime")
    # small sets first; among those of one size, the ones with later terms of the denominator, which lack the first sizes
    return Fan(symbols, above, below, cone, tuple(sorted(masks, key=lambda mask: (mask.bit_count(), -mask))), rays)


def _rays(
    symbols: tuple[Expr, ...], groups: tuple[Polynomial, Polynomial], cone: Cone
) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Rays that span the closed cells, lines in both directions, each with the terms that are largest along it.

    The scaling 0, along which nothing grows, is the first of them: every term is largest.
    """
    n, count = len(symbols), len(groups[0]) + len(groups[1])
    terms = [(*(-x for x in m), *(int(g == k) for k in range(2))) for g, group in enumerate(groups) for m in group]
    domain = [(*(-x for x in d.exponents), 0, 0) for d in (*cone.small, *cone.bounded)]
    found = generators([*terms, *dict.fromkeys(domain)], n + 2)
    everything = (1 << count) - 1
    rays = [(tuple([0] * n), everything)]
    for line in found.lines:
        rays += [(line[:n], everything), (tuple(-x for x in line[:n]), everything)]
    low = (1 << len(groups[0])) - 1
    rays += [
        (ray.vector[:n], ray.tight & everything)
        for ray in found.rays
        if ray.tight & low and ray.tight & (everything ^ low)
    ]
    return tuple(rays)


def _meets(sets: Iterable[int], counts: tuple[int, int]) -> set[int]:
    """Every intersection of the sets that keeps a term of each group: the sets of terms of the faces."""
    low = (1 << counts[0]) - 1
    high = ((1 << counts[1]) - 1) << counts[0]
    found: set[int] = set()
    for one in dict.fromkeys(sets):
        found |= {m for m in (one & other for other in found) if m & low and m & high}
        found.add(one)
        if len(found) > MOST_CELLS:
            raise AlgebraError(f"there are more than {MOST_CELLS} regimes", expected="fewer terms, or sizes put in")
    return found


def _grows(mask: int, rays: Sequence[tuple[tuple[int, ...], int]], cone: Cone) -> bool:
    """Whether a scaling of the cell makes everything small that the regime says is small."""
    return all(
        any(
            terms & mask == mask and sum(a * b for a, b in zip(vector, d.exponents, strict=True)) < 0
            for vector, terms in rays
        )
        for d in cone.small
    )
