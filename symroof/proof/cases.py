"""That a list of cases leaves out nothing and says nothing twice, checked by code that did not find the list.

The cases are sets of terms of n and d, where the quantity is n/d, that are largest together along some scaling. Every
scaling has exactly one such set, so different sets do not overlap. That no set is missing follows from lemmas, each a
sum that is added up again here: from any pair of terms, one of n and one of d, adding terms and applying lemmas leads
to sets of the list, or to what never is largest; the set of any scaling is reached in this way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from symroof.errors import CheckError
from symroof.formula import Compare, Formula
from symroof.proof.certificates import directions
from symroof.proof.exact import Exact, Monomial, add, join, names_in, sign, times
from symroof.proof.ledger import Ledger, replaced
from symroof.proof.step import Check

Parts = tuple[tuple[Monomial, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One scaling of the case, x = t**weight, and the relations that hold along its scalings and no others.

    ``inward`` shows that the relations make the terms of the case largest, ``outward`` that they follow from that:
    for each ratio that has to tend to 0 or stay bounded, the ratios that multiply to it. None where nothing is claimed.
    """

    weights: Mapping[str, int]
    relations: tuple[Compare, ...] | None = None
    inward: Mapping[Monomial, Parts] | None = None
    outward: Mapping[Monomial, Parts] | None = None


@dataclass(frozen=True, slots=True)
class Closing:
    """Where the terms of ``premise`` are largest together, so is ``conclusion``; None: they never are."""

    premise: frozenset[int]
    conclusion: int | None
    parts: Parts


@dataclass(frozen=True, slots=True)
class Partition:
    """``terms`` are numbered, the first ``split`` of them being those of the numerator."""

    numerator: Formula
    denominator: Formula
    terms: tuple[Monomial, ...]
    split: int
    cases: tuple[Case, ...]
    lemmas: tuple[Closing, ...]


def partitioned(quantity: Formula, evidence: Partition, assumptions: Iterable[Formula], ledger: Ledger) -> Check:
    """Decide again that the cases are all scalings of the quantity's terms, each once. Raises CheckError otherwise."""
    regime = [a for a in assumptions if isinstance(a, Compare)]
    known = {name: formula for name, formula in ledger.definitions.items() if name != "ridge"}
    exact = Exact(known | replaced(regime, ("=", "~")))
    qn, qd = exact.rational(quantity)
    n, d = (exact.rational(f)[0] for f in (evidence.numerator, evidence.denominator))
    if add(times(qn, d), {m: -c for m, c in times(qd, n).items()}):
        raise CheckError("the terms are not those of the quantity")
    if set(evidence.terms[: evidence.split]) != set(n) or set(evidence.terms[evidence.split :]) != set(d):
        raise CheckError("the list of terms is not complete")
    for poly in (n, d):
        rest = add(poly, {m: -c / 16 for m, c in poly.items() if c > 0})
        if sign(rest, ledger.least_one, strict=False) not in (0, 1):
            raise CheckError("terms of both signs may cancel")
    given = directions(
        regime, Exact(known | replaced(regime, ("=",))), ledger, names_in(n) | names_in(d), constants=False
    )
    sets = [_largest(evidence, case, given) for case in evidence.cases]
    if len(set(sets)) < len(sets):
        raise CheckError("two cases are one")
    for lemma in evidence.lemmas:
        _require_lemma(evidence, lemma, given)
    _require_closed(evidence, frozenset(sets))
    for case, largest in zip(evidence.cases, sets, strict=True):
        if case.relations is not None:
            _require_relations(evidence, case, largest, given, ledger)
    return Check("proved", "case split, certificates multiplied out")


def _largest(evidence: Partition, case: Case, given: tuple[set[Monomial], set[Monomial]]) -> frozenset[int]:
    """The terms that are largest along the scaling of a case, which has to be one of the regime."""

    def order(m: Monomial) -> int:
        return sum(e * case.weights.get(name, 0) for name, e in m)

    if any(order(m) >= 0 for m in given[0]) or any(order(m) > 0 for m in given[1]):
        raise CheckError("the scaling of a case is none of the regime")
    found: set[int] = set()
    for group in _groups(evidence):
        top = max(order(evidence.terms[i]) for i in group)
        found |= {i for i in group if order(evidence.terms[i]) == top}
    return frozenset(found)


def _groups(evidence: Partition) -> tuple[range, range]:
    return range(evidence.split), range(evidence.split, len(evidence.terms))


def _ratios(evidence: Partition, largest: Iterable[int]) -> dict[Monomial, bool]:
    """q/p for every p of the largest terms: at most of order 1. True where q is not among the largest."""
    largest, found = frozenset(largest), {}
    for group in _groups(evidence):
        for p in largest & set(group):
            for q in group:
                found[join(evidence.terms[q], evidence.terms[p], -1)] = q not in largest
    return found


def _require_lemma(evidence: Partition, lemma: Closing, given: tuple[set[Monomial], set[Monomial]]) -> None:
    small, bounded = given
    allowed = small | bounded | set(_ratios(evidence, lemma.premise))
    total = _sum(lemma.parts, allowed)
    if lemma.conclusion is None:
        if total or not any(w for m, w in lemma.parts if m in small):
            raise CheckError("a lemma does not add up")
        return
    group = next(g for g in _groups(evidence) if lemma.conclusion in g)
    wanted = [dict(join(evidence.terms[p], evidence.terms[lemma.conclusion], -1)) for p in lemma.premise if p in group]
    if total not in wanted:
        raise CheckError("a lemma does not add up")


def _require_closed(evidence: Partition, family: frozenset[frozenset[int]]) -> None:
    """Every set of largest terms is reached from a pair by adding terms and applying lemmas, and is in the family."""
    known = {_bits(one) for one in family}
    uses: dict[int, list[tuple[int, int]]] = {}
    for lemma in evidence.lemmas:
        for t in lemma.premise:
            uses.setdefault(1 << t, []).append(
                (_bits(lemma.premise), 0 if lemma.conclusion is None else 1 << lemma.conclusion)
            )
    above, below = _groups(evidence)
    wanted = {1 << i | 1 << j: (0, 1 << i | 1 << j) for i in above for j in below}
    wanted |= {one | 1 << t: (one, 1 << t) for one in known for t in range(len(evidence.terms)) if not one >> t & 1}
    for one, new in wanted.values():
        reached = _closed(one, new, uses)
        if reached is not None and reached not in known:
            raise CheckError("a set of largest terms is not in the list")


def _closed(reached: int, new: int, uses: Mapping[int, list[tuple[int, int]]]) -> int | None:
    """What lemmas make of a set of the list and new terms. Lemmas that speak of the set alone need not be looked at: they
    are true, and the set is the whole of what is largest along its scaling."""
    reached |= new
    while new:
        term = new & -new
        new ^= term
        for premise, conclusion in uses.get(term, ()):
            if reached & premise == premise:
                if not conclusion:
                    return None
                new |= conclusion & ~reached
                reached |= conclusion
    return reached


def _bits(terms: Iterable[int]) -> int:
    return sum(1 << t for t in terms)


def _require_relations(
    evidence: Partition, case: Case, largest: frozenset[int], given: tuple[set[Monomial], set[Monomial]], ledger: Ledger
) -> None:
    """The relations of a case hold exactly along its scalings."""
    relations = case.relations or ()
    names = {name for m in evidence.terms for name, _ in m}
    small, bounded = directions(relations, Exact({}), ledger, names, constants=False)
    ratios = _ratios(evidence, largest)
    for ratio, falls in ratios.items():
        _require_sum(ratio, falls, case.inward or {}, small | given[0], bounded | given[1])
    falling = {m for m, falls in ratios.items() if falls} | given[0]
    for m in small:
        _require_sum(m, True, case.outward or {}, falling, set(ratios) | given[1])
    for m in bounded:
        _require_sum(m, False, case.outward or {}, falling, set(ratios) | given[1])


def _require_sum(
    target: Monomial, strict: bool, sums: Mapping[Monomial, Parts], small: set[Monomial], bounded: set[Monomial]
) -> None:
    """The target is a product of known ratios with exponents that are not negative, with some small one if strict."""
    if target in small or (not strict and (target in bounded or not target)):
        return
    parts = sums.get(target, ())
    if _sum(parts, small | bounded) != dict(target) or (strict and not any(w for m, w in parts if m in small)):
        raise CheckError("the relations of a case are not those of its scalings")


def _sum(parts: Parts, allowed: set[Monomial]) -> dict[str, Fraction]:
    powers: dict[str, Fraction] = {}
    for m, weight in parts:
        if weight < 0 or m not in allowed:
            raise CheckError("a sum uses what is not known")
        for name, e in m:
            powers[name] = powers.get(name, Fraction(0)) + weight * e
    return {name: e for name, e in powers.items() if e}
