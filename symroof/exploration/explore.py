"""What `symroof regimes` answers: maps of a problem, with the sizes that are put in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sympy import Expr

from symroof.algebra.approximation import approximation
from symroof.algebra.inference import weakest_regimes
from symroof.algebra.regime import Regime
from symroof.derivation.answer import Said
from symroof.derivation.draft import written
from symroof.derivation.layout import Layout
from symroof.derivation.setting import Setting, require_sizes_agree, setting_of
from symroof.derivation.values import put, quantities
from symroof.errors import AlgebraError
from symroof.exploration.partition import tends_to
from symroof.exploration.places import Place, Remains, covers, place, remains
from symroof.exploration.regime_map import RegimeMap, at_sizes, regime_map
from symroof.formula import Compare, Formula, Group, Name, Quotient, names
from symroof.model.problem import Problem
from symroof.proof.check import checked
from symroof.proof.ledger import Ledger
from symroof.proof.step import Check, Reason, Step
from symroof.symbols import expression, rational


@dataclass(frozen=True, slots=True)
class Exploration:
    """A map, the points that were asked for on it, and what its fixed sizes leave to find."""

    found: RegimeMap
    places: tuple[Place, ...] = ()
    remains: Remains | None = None


def explore(problem: Problem, of: Formula | None = None, *, every: bool = False) -> tuple[Exploration, ...]:
    """The map of a problem with its points; and for sizes that leave something open, the smaller map at them.

    >>> from fractions import Fraction
    >>> from symroof.model.library import library_operation
    >>> found, = explore(Problem(library_operation("matmul"), at=({"D": Fraction(128)},)))
    >>> len(found.found.rows)
    4
    """
    plain = replace(problem, at=())
    whole = regime_map(plain, quantity(plain, of), every=every)
    for values in problem.at:
        require_sizes_agree(whole.setting, values)
    full = tuple(place(whole, values) for values in problem.at if covers(whole, values))
    found = [] if problem.at and not full else [Exploration(whole, full, remains(whole) if whole.fixed else None)]
    for values in problem.at:
        if not covers(whole, values):
            smaller = at_sizes(problem, dict(values))
            shrunk = regime_map(smaller, quantity(smaller, of), every=every)
            found.append(Exploration(shrunk, (), remains(shrunk)))
    return tuple(found)


def quantity(problem: Problem, of: Formula | None) -> tuple[Formula, Expr] | None:
    """A formula over named quantities and its value; None for the intensity itself."""
    if of is None or of == Name("intensity"):
        return None
    setting = setting_of(problem)
    return of, valued(of, setting)


def valued(formula: Formula, setting: Setting) -> Expr:
    """The value of a formula over the names of a problem: a function of its sizes and figures."""
    value = setting.regime.apply(put(expression(formula), quantities(setting)))
    if not value.is_rational_function():
        raise AlgebraError(
            "the regimes of a maximum or a root are not enumerated",
            expected="a quotient of sums, such as T_comms/T_math",
        )
    if not value.free_symbols & setting.least_one and value.is_Rational and value <= 0:
        raise AlgebraError(f"{value} is not positive", expected="a positive quantity")
    return value.cancel()


@dataclass(frozen=True, slots=True)
class Alternative(Said):
    """A regime under which an approximation is true, and its size there."""

    relations: tuple[Compare, ...]

    @property
    def factor(self) -> Expr:
        """approximate/exact"""
        value = self.value("factor")
        assert value is not None
        return value

    @property
    def within(self) -> tuple[tuple[Expr, Expr], ...] | None:
        """Pairs (y, x): the factor is 1 ± 5 % once every y >= x; None where it is not known to be."""
        step = self.step("within")
        if step is None:
            return () if self.factor == 1 else None
        relations = (a for a in step.assumptions if isinstance(a, Compare) and a.relation == ">=")
        return tuple((expression(a.left), expression(a.right)) for a in relations)

    @property
    def check(self) -> Check | None:
        step = self.step("leading")
        return None if step is None else step.check


@dataclass(frozen=True, slots=True)
class Inferred:
    """The weakest regimes that make ``exact ~ approximate`` true. None is needed where one of them has no relations."""

    exact: Formula
    approximate: Formula
    layout: Layout
    alternatives: tuple[Alternative, ...]


def infer(exact: Formula, approximate: Formula, setting: Setting | None) -> Inferred:
    """What has to be assumed for an approximation, each answer checked by the second engine.

    >>> from symroof.formula import Product, Quotient, Sum
    >>> b, d = Name("B"), Name("D")
    >>> found = infer(Quotient(Product((b, d)), Sum((b, d))), b, None)
    >>> [[(r.left.name, r.relation, r.right.name) for r in a.relations] for a in found.alternatives]
    [[('B', '<<', 'D')]]
    """
    if setting is None:
        layout = Layout(tuple(dict.fromkeys((*names(exact), *names(approximate)))))
        values = expression(exact), expression(approximate)
        base = Regime()
        assume: tuple[Compare, ...] = ()
    else:
        if setting.problem.at:
            raise AlgebraError(
                "sizes that are put in do not help to find a regime", expected="an equality instead, as in --assume D=8"
            )
        layout, base, assume = setting.layout, setting.regime, setting.problem.assume
        figures = {figure: rational(value) for figure, value in setting.values.items()}
        values = tuple(valued(side, setting).subs(figures).cancel() for side in (exact, approximate))
    ledger = Ledger(frozenset(s.name for s in base.least_one))
    left, alternatives = layout.write(values[0]), []
    for relations in weakest_regimes(*values, base):
        regime = Regime((*base.relations, *relations), base.least_one)
        told = written(relations, layout.write)
        alternatives.append(
            Alternative(checked(_true_in(left, values, regime, (*assume, *told), layout), ledger), told)
        )
    return Inferred(exact, approximate, layout, tuple(alternatives))


def _true_in(
    left: Formula, values: tuple[Expr, Expr], regime: Regime, assume: tuple[Compare, ...], layout: Layout
) -> tuple[Step, ...]:
    """That an approximation is true in a regime, its factor, and when that is within 5 %."""
    size = approximation(*values, regime)
    equal = tuple(r for r in assume if r.relation == "=")
    factor = Quotient(layout.write(values[1]), Group(left))
    steps = [
        tends_to(left, *values, regime, assume, layout),
        Step("regime", Reason.FACTOR, factor, "=", layout.write(size.factor), equal, role="factor"),
    ]
    if size.within:
        where = (*equal, *(Compare(layout.write(y), ">=", layout.write(x)) for y, x in size.within))
        for relation, bound in (("<=", Fraction(21, 20)), (">=", Fraction(19, 20))):
            steps.append(Step("regime", Reason.WITHIN, factor, relation, layout.write(bound), where, role="within"))
    return tuple(steps)
