"""What leads in a regime, decided again by code that did not find it: certificates of dominance are multiplied out, and a
list of cases leaves out nothing and says nothing twice.

A case is a set of terms of n and d, where the quantity is n/d, that are largest together along some scaling
x = t**w(x). Every scaling has exactly one such set, so different sets do not overlap. That none is missing, and that the
relations of a case hold along its scalings and no others, are propositions about the exponents w: linear inequalities
over the reals, which z3 decides. They hold in every ordered vector space over the rationals or in none, so what is true
of the scalings t**w is true of all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import chain
from math import prod
from typing import Any

from symroof.errors import CheckError
from symroof.formula import Compare, Formula, Frozen, Infinity, Name, Number, names
from symroof.proof.polynomials import ONE, Monomial, Poly, Rat, join, power_product
from symroof.proof.prover import Directions, Scalings
from symroof.proof.quotients import Quotients
from symroof.proof.step import Check, Evidence, Ledger, Step, refuted, replaced


class Dominance(Evidence):
    """Evidence of an approximation: left/right = numerator/denominator, and a certificate for each monomial of
    numerator - denominator beside one of the two."""

    relations = ("~", "->")

    numerator: Formula
    denominator: Formula
    certificates: tuple[Any, ...]

    def examine(self, step: Step, ledger: Ledger) -> Check:
        regime = [a for a in step.assumptions if isinstance(a, Compare)]
        growing = set().union(*(names(a) for a in regime if a.relation != "="))
        if step.relation == "->" and not growing.isdisjoint(names(step.right)):
            raise refuted(step, "a limit does not change with what grows")
        exact, equal = arithmetic_in_regime(regime, ledger)
        left, right = exact.rational(step.left), exact.rational(step.right)
        n, d = (exact.rational(side).above for side in (self.numerator, self.denominator))
        coefficients = chain(*(side.values() for value in (left, right) for side in (value.above, value.below)))
        if any(a.relation == "~" for a in regime) and min(coefficients) < 0:
            raise refuted(step, "x ~ y is put in for a difference")
        if left.above * right.below * d != left.below * right.above * n:
            raise refuted(step, "the quotient of the sides is not the one that the certificates speak of")
        scalings = directions(regime, equal, n.names | d.names)
        certified = {_monomial(c, c.monomial): c for c in self.certificates}
        for measure in (d, n):
            negligible = (m in certified and _multiplies_out(m, certified[m], measure, scalings) for m in n - d)
            if all(negligible) and keeps_its_size(measure, exact, regime):
                return Check("proved", "certificate of dominance multiplied out")
        raise refuted(step, "the certificate does not multiply out")


def arithmetic_in_regime(regime: Iterable[Compare], ledger: Ledger) -> tuple[Quotients, Quotients]:
    """The arithmetic with y put in for x where x = y or x ~ y; and with equal ones alone. A ridge is any constant."""
    regime = tuple(regime)
    definitions = {name: formula for name, formula in ledger.definitions.items() if name != "ridge"}
    near, equal = (definitions | replaced(regime, relations) for relations in (("=", "~"), ("=",)))
    return Quotients(near, ledger.least_one), Quotients(equal, ledger.least_one)


def keeps_its_size(poly: Poly, exact: Quotients, regime: Iterable[Compare] = ()) -> bool:
    """Whether a sixteenth of the terms above 0 is left when those below 0 are taken away; x = 2y with y >= 1 where the
    regime says that x >= 2."""
    lower_bounds = {name: low for name, low in _least(regime).items() if low > 1 and name in exact.least_one}
    rest = Poly(
        {
            m: c * (Fraction(15, 16) if c > 0 else 1) * prod(lower_bounds.get(n, 1) ** e for n, e in m)
            for m, c in poly.items()
        }
    )
    return exact.is_positive(Rat(rest), strict=False)


def _least(regime: Iterable[Compare]) -> dict[str, Fraction]:
    """What the regime says that names are at least."""
    result: dict[str, Fraction] = {}
    for a in regime:
        match a:
            case Compare(left=Name(name=name), relation=">=", right=Number(value=low)):
                result[name] = max(low, result.get(name, low))
    return result


def directions(regime: Iterable[Compare], exact: Quotients, used: set[str], *, constants: bool = True) -> Directions:
    """The monomials that tend to 0 in the regime, and those that stay bounded.

    Without ``constants`` the names that no relation mentions scale as they like.
    """
    small: set[Monomial] = set()
    bounded: set[Monomial] = set()
    mentioned: set[str] = set()
    for a in regime:
        if a.relation not in ("<<", "->", "~", "~~", "<=", ">="):
            continue
        left = exact.rational(a.left)
        right = Rat(ONE) if isinstance(a.right, Infinity) else exact.rational(a.right)
        quotient = left / right
        if len(quotient.above) != 1 or len(quotient.below) != 1:
            raise CheckError("a regime relates products")
        (top,), (bottom,) = quotient.above, quotient.below
        ratio, inverse = join(top, bottom, -1), join(bottom, top, -1)
        match a.relation:
            case "<<":
                small.add(ratio)
            case "->":
                small.add(inverse)
            case "<=" | ">=":
                bounded.add(ratio if a.relation == "<=" else inverse)
                continue
            case _:
                bounded |= {ratio, inverse}
        mentioned |= left.above.names | right.above.names
    bounded |= {((name, -1),) for name in (mentioned if constants else mentioned | used) & exact.least_one}
    if constants:
        bounded |= {((name, e),) for name in used - mentioned for e in (1, -1)}
    return small, bounded


def _monomial(certificate: Any, exponents: Iterable[int]) -> Monomial:
    return tuple(sorted((str(s), e) for s, e in zip(certificate.symbols, exponents, strict=True) if e))


def _multiplies_out(m: Monomial, certificate: Any, measure: Poly, scalings: Directions) -> bool:
    """m = prod beside**nu * prod small**lambda * prod bounded**mu with nu adding up to 1 and some lambda > 0."""
    beside, small, bounded = (
        [(_monomial(certificate, exponents), weight) for exponents, weight in part]
        for part in (certificate.beside, certificate.small, certificate.bounded)
    )
    parts = [*beside, *small, *bounded]
    allowed = all(measure.get(factor, 0) > 0 for factor, _ in beside)
    allowed &= all(factor in some for part, some in zip((small, bounded), scalings, strict=True) for factor, _ in part)
    mixed = sum(weight for _, weight in beside) == 1 and any(weight for _, weight in small)
    return allowed and mixed and all(weight >= 0 for _, weight in parts) and power_product(parts) == dict(m)


# The largest terms of the numerator and of the denominator.
Largest = tuple[frozenset[Monomial], ...]


class Case(Frozen):
    """One scaling of the case, and the relations that hold along its scalings and no others; None claims nothing."""

    weights: Mapping[str, int]
    relations: tuple[Compare, ...] | None = None


class Partition(Frozen):
    """The quantity as numerator/denominator, each written out, and all of its cases; with ``corners`` only those of orders
    of growth in which no fewer terms lead: every other scaling is on a border, where the terms of several of them lead."""

    numerator: Formula
    denominator: Formula
    cases: tuple[Case, ...]
    corners: bool = False


def check_partition(
    quantity: Formula, evidence: Partition, assumptions: Iterable[Formula], ledger: Ledger
) -> Check | None:
    """Decide again that the cases are all scalings of the quantity's terms, each once: None where z3 gives up.

    Raises CheckError where they are not.
    """
    regime = [a for a in assumptions if isinstance(a, Compare)]
    exact, equal = arithmetic_in_regime(regime, ledger)
    value = exact.rational(quantity)
    n, d = groups = tuple(exact.rational(side).above for side in (evidence.numerator, evidence.denominator))
    if value.above * d != value.below * n:
        raise CheckError("the terms are not those of the quantity")
    if not all(keeps_its_size(side, exact, regime) for side in groups):
        raise CheckError("terms of both signs may cancel")
    if evidence.corners:
        groups = tuple(Poly({m: c for m, c in side.items() if c > 0}) for side in groups)
    used = n.names | d.names
    regime_directions = directions(regime, equal, used, constants=False)
    sets = {_largest(groups, case.weights, regime_directions): case for case in evidence.cases}
    if len(sets) < len(evidence.cases):
        raise CheckError("two cases are one")
    scalings = Scalings(regime_directions, groups)
    in_a_case = {largest: scalings.led_by(largest) for largest in sets}
    covered = map(scalings.led_also_by, sets) if evidence.corners else in_a_case.values()
    answers = [scalings.always(*covered)]
    if answers[0] is False:
        raise CheckError("a set of largest terms is not in the list")
    for largest, case in sets.items():
        if case.relations is not None:
            case_directions = directions(case.relations, Quotients(least_one=ledger.least_one), used, constants=False)
            answers.append(scalings.always(scalings.are(case_directions) == in_a_case[largest]))
            if answers[-1] is False:
                raise CheckError("the relations of a case are not those of its scalings")
    return None if None in answers else Check("proved", "case split, z3")


def _largest(
    groups: Iterable[Iterable[Monomial]], weights: Mapping[str, int], regime_directions: Directions
) -> Largest:
    """The terms that are largest along a scaling, which has to be one of the regime."""

    def order(m: Monomial) -> int:
        return sum(e * weights.get(name, 0) for name, e in m)

    if any(order(m) >= 0 for m in regime_directions[0]) or any(order(m) > 0 for m in regime_directions[1]):
        raise CheckError("the scaling of a case is none of the regime")
    highest = [(group, max(map(order, group))) for group in groups]
    return tuple(frozenset(m for m in group if order(m) == top) for group, top in highest)
