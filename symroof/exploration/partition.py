"""The list of regimes as evidence for the second engine: terms, scalings, relations, and the sums that close the list."""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Expr

from symroof.algebra.dominance import similar
from symroof.algebra.fan import Fan
from symroof.algebra.lemmas import Parts, combination, lemmas, premises
from symroof.algebra.polyhedron import negated
from symroof.algebra.rational import Exponents, plus, polynomial
from symroof.algebra.regime import Regime, Relation, exponents, quotient
from symroof.derivation.draft import INTENSITY, dominated, written
from symroof.derivation.layout import Layout
from symroof.errors import AlgebraError
from symroof.formula import Compare, Formula, Group, Name
from symroof.proof import cases
from symroof.proof.step import Reason, Step

# Beyond this the proof would take longer than people wait: the list is exact and unproved.
MOST_PROVED = 500


def tends_to(
    left: Formula, exact: Expr, form: Expr, regime: Regime, assume: tuple[Formula, ...], layout: Layout
) -> Step:
    """That a quantity, whose value is ``exact``, tends to a form in a regime.

    Without anything to neglect it is an identity; but where x ~ y puts y for x, equal forms are no equal values.
    """
    similarity = similar(exact, form, regime)
    if isinstance(left, Name) and left != INTENSITY:
        left = Group(left)  # what is asked about, and not a definition
    right = layout.write(form)
    if not similarity.certificates and not any(isinstance(r, Compare) and r.relation == "~" for r in assume):
        return Step("regime", Reason.LEADING, left, "=", right, assume, role="leading")
    evidence = dominated(similarity, layout.write)
    return Step("regime", Reason.LEADING, left, "~", right, assume, evidence, role="leading")


def partition(fan: Fan, told: Mapping[int, tuple[Relation, ...]], layout: Layout) -> cases.Partition | None:
    """The fan as a list of cases; ``told`` are the relations of those whose conditions are claimed.

    None for a list that is too long.
    """
    if len(fan.masks) > MOST_PROVED:
        return None
    found = [_case(fan, mask, told.get(mask), layout) for mask in fan.masks]
    closing = [
        cases.Closing(
            frozenset(i for i in range(len(fan.terms)) if lemma.premise >> i & 1),
            lemma.conclusion,
            _parts(fan, lemma.parts),
        )
        for lemma in lemmas(fan)
    ]
    above, below = (layout.write(polynomial(terms, fan.symbols)) for terms in (fan.above, fan.below))
    return cases.Partition(
        above, below, tuple(_named(fan, t) for t in fan.terms), len(fan.above), tuple(found), tuple(closing)
    )


def _case(fan: Fan, mask: int, relations: tuple[Relation, ...] | None, layout: Layout) -> cases.Case:
    weights = {s.name: w for s, w in zip(fan.symbols, fan.weights(mask), strict=True)}
    if relations is None:
        return cases.Case(weights)
    small, bounded = _directions(fan, relations)
    inward = {}
    for ratio_, falls in _ratios(fan, mask).items():
        inward[_named(fan, ratio_)] = _sum(
            fan, ratio_, [*small, *fan.cone.small], [*bounded, *fan.cone.bounded], strict=falls
        )
    falling = [r for r, falls in _ratios(fan, mask).items() if falls] + [*fan.cone.small]
    _, known = premises(fan, mask)
    outward = {_named(fan, v): _sum(fan, v, falling, known, strict=v in small) for v in (*small, *bounded)}
    return cases.Case(weights, written(relations, layout.write), inward, outward)


def _sum(fan: Fan, target: Exponents, small: list[Exponents], bounded: list[Exponents], *, strict: bool) -> cases.Parts:
    if target in small or (not strict and (target in bounded or not any(target))):
        return ()
    parts = combination(target, small, bounded, strict=strict)
    if parts is None:
        raise AlgebraError("the relations of a regime are not those of its scalings")
    return _parts(fan, parts)


def _ratios(fan: Fan, mask: int) -> dict[Exponents, bool]:
    """q/p for every largest term p; True where q is not among the largest."""
    found = {}
    for p in range(len(fan.terms)):
        for q in range(len(fan.terms)):
            if mask >> p & 1 and p != q and fan.group(p) == fan.group(q):
                found[plus(fan.terms[q], fan.terms[p], -1)] = not mask >> q & 1
    return found


def _directions(fan: Fan, relations: tuple[Relation, ...]) -> tuple[list[Exponents], list[Exponents]]:
    """What the relations make small, and what they keep bounded."""
    small: list[Exponents] = []
    bounded: list[Exponents] = []
    for left, sign, right in relations:
        vector = exponents(quotient(left, sign, right), fan.symbols, f"{left} {sign} {right}")
        if sign == "~~":
            bounded += [vector, negated(vector)]
        else:
            small.append(vector)
    return small, bounded


def _parts(fan: Fan, parts: Parts) -> cases.Parts:
    return tuple((_named(fan, vector), weight) for vector, weight in parts)


def _named(fan: Fan, vector: Exponents) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((s.name, e) for s, e in zip(fan.symbols, vector, strict=True) if e))
