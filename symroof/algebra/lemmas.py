"""Why a list of cells is complete, in sums that anyone can add up.

A *lemma* says: along every scaling for which the terms of its premise are largest together, its conclusion is among the
largest as well; or there is no such scaling. Its proof is a sum of monomials, with weights that are not negative, each
of which is known to be at most of order 1: that monomial of the sum is then at most of order 1 too. A family of sets is
complete as soon as the lemmas close it: add to any set of the family any term, and what the lemmas make of it is in the
family again, or never is largest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from symroof.algebra.fan import Fan
from symroof.algebra.polyhedron import negated
from symroof.algebra.rational import Exponents, plus
from symroof.algebra.simplex import weights
from symroof.errors import AlgebraError

Parts = tuple[tuple[Exponents, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Lemma:
    """Terms by their number in the fan, sets of them as bits. ``parts`` add up to largest - conclusion, where ``largest`` is a term of the
    premise beside which the conclusion is measured; or to 0, with some weight on what tends to 0."""

    premise: int
    conclusion: int | None
    parts: Parts


def combination(
    target: Exponents, small: Sequence[Exponents], bounded: Sequence[Exponents], *, strict: bool
) -> Parts | None:
    """Weights that are not negative under which the vectors add up to the target; with ``strict``, some of it small.

    >>> combination((1, -1), [(1, 0)], [(0, -1)], strict=True)
    (((1, 0), Fraction(1, 1)), ((0, -1), Fraction(1, 1)))
    """
    vectors = [*small, *bounded]
    found = weights(target, vectors, range(len(small)) if strict else None)
    return None if found is None else tuple((v, w) for v, w in zip(vectors, found, strict=True) if w)


def premises(fan: Fan, mask: int) -> tuple[list[Exponents], list[Exponents]]:
    """What is small, and what is bounded, where the terms of a set are among the largest: every q/p, p in the set."""
    bounded = list(fan.cone.bounded)
    for q, term in enumerate(fan.terms):
        beside = mask & fan.group(q)
        if beside and q != _lowest(beside):
            ratio = plus(term, fan.terms[_lowest(beside)], -1)
            bounded += [ratio, negated(ratio)] if mask >> q & 1 else [ratio]
    return list(fan.cone.small), bounded


def lemmas(fan: Fan) -> tuple[Lemma, ...]:
    """Lemmas that close the family of cells: together they show that no set of largest terms is missing.

    >>> from symroof.algebra.fan import fan
    >>> from symroof.algebra.regime import Regime
    >>> from symroof.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> plain = Regime((), frozenset({B, D}))
    >>> len(lemmas(fan(B*D/(B + D), plain))), len(lemmas(fan(1/(1 + B + D), plain)))
    (0, 2)
    """
    base = Base(())
    starts = [(0, 1 << i | 1 << j) for i in range(len(fan.above)) for j in range(len(fan.above), len(fan.terms))]
    wanted = {known | more: (known, more) for known, more in starts}
    wanted |= {mask | 1 << t: (mask, 1 << t) for mask in fan.masks for t in range(len(fan.terms)) if not mask >> t & 1}
    for known, more in wanted.values():
        goal = fan.joined(known | more)
        closed = base.closure(known, more)
        while closed != goal:
            if closed is None or (goal is not None and closed & ~goal):
                raise AlgebraError("the lemmas say more than is true")
            base.add(_lemma(fan, closed, goal))
            before, closed = closed, base.closure(0, known | more)
            if closed == before:
                raise AlgebraError("a lemma says nothing")
    return tuple(base.lemmas)


class Base:
    """Lemmas, found by the terms of their premises."""

    def __init__(self, lemmas: Iterable[Lemma]) -> None:
        self.lemmas: list[Lemma] = []
        self.by_term: dict[int, list[Lemma]] = {}
        for lemma in lemmas:
            self.add(lemma)

    def add(self, lemma: Lemma) -> None:
        self.lemmas.append(lemma)
        premise = lemma.premise
        while premise:
            self.by_term.setdefault(premise & -premise, []).append(lemma)
            premise &= premise - 1

    def closure(self, known: int, more: int) -> int | None:
        """A closed set and more terms, with everything that the lemmas add; None where they say that it never is largest."""
        mask, waiting = known | more, more
        while waiting:
            term = waiting & -waiting
            waiting ^= term
            for lemma in self.by_term.get(term, ()):
                if mask & lemma.premise == lemma.premise:
                    if lemma.conclusion is None:
                        return None
                    added = (1 << lemma.conclusion) & ~mask
                    mask |= added
                    waiting |= added
        return mask


def _lemma(fan: Fan, mask: int, goal: int | None) -> Lemma:
    """One more lemma on a set of terms: its first missing companion, or that it never is largest."""
    small, bounded = premises(fan, mask)
    conclusion = largest = None
    target: Exponents = (0,) * len(fan.symbols)
    if goal is not None:
        conclusion = _lowest(goal & ~mask)
        largest = _lowest(mask & fan.group(conclusion))
        target = plus(fan.terms[largest], fan.terms[conclusion], -1)
    parts = combination(target, small, bounded, strict=goal is None)
    if parts is None:
        raise AlgebraError("the list of regimes has no proof")  # the lattice and the linear program disagree
    return Lemma(_used(fan, mask, parts, largest), conclusion, parts)


def _used(fan: Fan, mask: int, parts: Parts, largest: int | None) -> int:
    """The terms of a premise that a proof speaks of: without one, its sum would not be known to be at most of order 1."""
    vectors = {v for v, _ in parts}
    for i in reversed(range(len(fan.terms))):
        rest = mask & ~(1 << i)
        if rest != mask and i != largest:
            small, bounded = premises(fan, rest)
            if vectors <= {*small, *bounded}:
                mask = rest
    return mask


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1
