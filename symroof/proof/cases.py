"""That a list of cases leaves out nothing and says nothing twice, checked by code that did not find the list.

A case is a set of terms of n and d, where the quantity is n/d, that are largest together along some scaling
x = t**w(x). Every scaling has exactly one such set, so different sets do not overlap. That none is missing, and that the
relations of a case hold along its scalings and no others, are propositions about the exponents w: linear inequalities
over the reals, which z3 decides. They hold in every ordered vector space over the rationals or in none, so what is true
of the scalings t**w is true of all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from symroof.errors import CheckError
from symroof.formula import Compare, Formula
from symroof.proof.certificates import directions, in_regime, keeps_its_size
from symroof.proof.exact import Exact
from symroof.proof.ledger import Ledger
from symroof.proof.polynomials import Monomial
from symroof.proof.prover import Directions, Scalings
from symroof.proof.step import Check

# The largest terms of the numerator and of the denominator.
Largest = tuple[frozenset[Monomial], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One scaling of the case, and the relations that hold along its scalings and no others; None claims nothing."""

    weights: Mapping[str, int]
    relations: tuple[Compare, ...] | None = None


@dataclass(frozen=True, slots=True)
class Partition:
    """The quantity as numerator/denominator, each written out, and all of its cases."""

    numerator: Formula
    denominator: Formula
    cases: tuple[Case, ...]


def partitioned(quantity: Formula, evidence: Partition, assumptions: Iterable[Formula], ledger: Ledger) -> Check:
    """Decide again that the cases are all scalings of the quantity's terms, each once. Raises CheckError otherwise."""
    regime = [a for a in assumptions if isinstance(a, Compare)]
    exact, equal = in_regime(regime, ledger)
    value = exact.rational(quantity)
    n, d = groups = tuple(exact.rational(side).above for side in (evidence.numerator, evidence.denominator))
    if value.above * d != value.below * n:
        raise CheckError("the terms are not those of the quantity")
    if not all(keeps_its_size(side, exact) for side in groups):
        raise CheckError("terms of both signs may cancel")
    used = n.names | d.names
    given = directions(regime, equal, used, constants=False)
    sets = {_largest(groups, case.weights, given): case for case in evidence.cases}
    if len(sets) < len(evidence.cases):
        raise CheckError("two cases are one")
    scalings = Scalings(given, groups)
    in_a_case = {largest: scalings.led_by(largest) for largest in sets}
    if not scalings.always(*in_a_case.values()):
        raise CheckError("a set of largest terms is not in the list")
    for largest, case in sets.items():
        if case.relations is not None:
            told = directions(case.relations, Exact(least_one=ledger.least_one), used, constants=False)
            if not scalings.always(scalings.are(told) == in_a_case[largest]):
                raise CheckError("the relations of a case are not those of its scalings")
    return Check("proved", "case split, z3")


def _largest(groups: Iterable[Iterable[Monomial]], weights: Mapping[str, int], given: Directions) -> Largest:
    """The terms that are largest along a scaling, which has to be one of the regime."""

    def order(m: Monomial) -> int:
        return sum(e * weights.get(name, 0) for name, e in m)

    if any(order(m) >= 0 for m in given[0]) or any(order(m) > 0 for m in given[1]):
        raise CheckError("the scaling of a case is none of the regime")
    highest = [(group, max(map(order, group))) for group in groups]
    return tuple(frozenset(m for m in group if order(m) == top) for group, top in highest)
