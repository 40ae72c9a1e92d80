"""What leads in a regime, as steps; and the list of all regimes as evidence for the second engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Expr

from symroof.algebra.approximation import split_terms
from symroof.algebra.dominance import similar
from symroof.algebra.fan import Fan
from symroof.algebra.lemmas import Parts, combination, lemmas, premises
from symroof.algebra.rational import Exponents, cancelled, plus, polynomial, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.derivation.answer import Said
from symroof.derivation.draft import INTENSITY, dominated, written
from symroof.derivation.layout import Layout
from symroof.errors import AlgebraError
from symroof.formula import Compare, Formula, Group, Name, Quotient
from symroof.proof import cases
from symroof.proof.step import Check, Reason, Step

# Beyond this the proof would take longer than people wait: the list is exact and unproved.
MOST_PROVED = 500


@dataclass(frozen=True, slots=True)
class Led(Said):
    """A quantity in a regime: ``relations`` are what it adds to the problem."""

    relations: tuple[Compare, ...]

    @property
    def leading(self) -> Expr:
        """What the quantity tends to."""
        return self.known("leading")

    @property
    def factor(self) -> Expr:
        """The leading form over the exact value."""
        return self.known("factor")

    @property
    def check(self) -> Check | None:
        step = self.step("leading")
        return None if step is None else step.check


def tends_to(left: Formula, exact: Expr, form: Expr, regime: Regime, layout: Layout) -> Step:
    """That a quantity, whose value is ``exact``, tends to a form in a regime.

    Without anything to neglect it is an identity; but where x ~ y puts y for x, equal forms are no equal values.
    """
    similarity, assume = similar(exact, form, regime), written(regime.relations, layout.write)
    if isinstance(left, Name) and left != INTENSITY:
        left = Group(left)  # what is asked about, and not a definition
    right = layout.write(form)
    if not similarity.certificates and not any(relation == "~" for _, relation, _ in regime.relations):
        return Step("regime", Reason.LEADING, left, "=", right, assume, role="leading")
    evidence = dominated(similarity, layout.write)
    return Step("regime", Reason.LEADING, left, "~", right, assume, evidence, role="leading")


def leads(left: Formula, exact: Expr, form: Expr, regime: Regime, layout: Layout) -> tuple[Step, Step]:
    """That a quantity tends to a form, and by which factor the form is off."""
    factor = split_terms(cancelled(form / exact), symbols_of(form, exact))
    equal = tuple(r for r in written(regime.relations, layout.write) if r.relation == "=")
    over = Quotient(layout.write(form), Group(left))
    off = Step("regime", Reason.FACTOR, over, "=", layout.write(factor), equal, role="factor")
    return tends_to(left, exact, form, regime, layout), off


def partition(fan: Fan, told: Mapping[int, tuple[Relation, ...]], layout: Layout) -> cases.Partition | None:
    """The fan as a list of cases: terms, scalings, relations, and the sums that close the list. ``told`` are the relations
    of those whose conditions are claimed. None for a list that is too long.
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
    own, ratios, known = (
        Regime(relations).cone(fan.symbols, constants=False),
        _ratios(fan, mask),
        premises(fan, mask)[1],
    )
    small, bounded = [*own.small], [*own.bounded]
    inward = {
        _named(fan, r): _sum(fan, r, [*small, *fan.cone.small], [*bounded, *fan.cone.bounded], strict=falls)
        for r, falls in ratios.items()
    }
    falling = [*(r for r, falls in ratios.items() if falls), *fan.cone.small]
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


def _parts(fan: Fan, parts: Parts) -> cases.Parts:
    return tuple((_named(fan, vector), weight) for vector, weight in parts)


def _named(fan: Fan, vector: Exponents) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((s.name, e) for s, e in zip(fan.symbols, vector, strict=True) if e))
