"""What leads in a regime, as steps; and the list of all regimes as evidence for the second engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Expr

from symroof.algebra.approximation import split_terms
from symroof.algebra.dominance import similar
from symroof.algebra.fan import Fan
from symroof.algebra.rational import cancelled, polynomial, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.derivation.answer import Said
from symroof.derivation.draft import INTENSITY, dominated, written
from symroof.derivation.layout import Layout
from symroof.formula import Compare, Formula, Group, Name, Quotient
from symroof.proof.certificates import Case, Partition
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


def partition(fan: Fan, told: Mapping[int, tuple[Relation, ...]], layout: Layout) -> Partition | None:
    """The fan as a list of cases: a scaling of each, and the relations of those in ``told``, whose conditions are claimed.

    None for a list that is too long.
    """
    if len(fan.masks) > MOST_PROVED:
        return None
    above, below = (layout.write(polynomial(terms, fan.symbols)) for terms in (fan.above, fan.below))
    return Partition(above, below, tuple(_case(fan, mask, told.get(mask), layout) for mask in fan.masks))


def _case(fan: Fan, mask: int, relations: tuple[Relation, ...] | None, layout: Layout) -> Case:
    weights = {s.name: w for s, w in zip(fan.symbols, fan.weights(mask), strict=True)}
    return Case(weights, None if relations is None else written(relations, layout.write))
