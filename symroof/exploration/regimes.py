"""What `symroof regimes` answers: maps of a problem, with the sizes that are put in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from sympy import Expr

from symroof.algebra.dominance import approximation, weakest_regimes
from symroof.algebra.regime import Regime
from symroof.derivation.answer import Steps
from symroof.derivation.formula_writing import Layout
from symroof.derivation.intensity import within
from symroof.derivation.premises import Setting, require_sizes_agree
from symroof.derivation.steps import INTENSITY, RIDGE, T_LOWER, written
from symroof.errors import AlgebraError
from symroof.exploration.regime_map import (
    RegimeMap,
    RegimeRow,
    at_sizes,
    enumerated_regimes,
    equality,
    regime_map,
    value_of,
    with_rows,
)
from symroof.exploration.regime_steps import Leading, leads, shares, shares_at
from symroof.exploration.time_regimes import TimeRegimes, time_regimes
from symroof.formula import Formula, Frozen, Quotient, Sizes, names, several_of
from symroof.model.problem import Problem
from symroof.proof.check import establish
from symroof.proof.step import Ledger, Reason, Role, Step
from symroof.symbols import expression, fraction, rational, symbol


class Place(Steps):
    """A point on a map, beside the leading forms of its corners."""

    regimes: RegimeMap
    values: Mapping[str, Fraction]

    @property
    def intensity(self) -> Fraction:
        return self.numbers(_role(self.regimes))[0]

    @property
    def over_ridge(self) -> Fraction | None:
        """The intensity over the ridge, where there is one to compare it with."""
        return self.number("over")

    @property
    def parts(self) -> tuple[tuple[str, Fraction], ...]:
        """Each part of the bytes, with its share."""
        labels = (part.label for part in shares(self.regimes.setting))
        return tuple(zip(labels, self.numbers("share"), strict=False))

    @property
    def factor(self) -> Fraction:
        """The leading form of the nearest corner over the exact intensity."""
        return min(self.numbers("factor"), key=lambda factor: max(factor, 1 / factor))

    @property
    def nearest(self) -> RegimeRow:
        """The corner whose leading form is least off."""
        return self.regimes.corner_rows[self.numbers("factor").index(self.factor)]


def covers(regimes: RegimeMap, values: Mapping[str, Fraction]) -> bool:
    """Whether the values leave no size of the quantity open."""
    return all(s.name in values for s in regimes.value.free_symbols if s not in regimes.setting.values)


def place(regimes: RegimeMap, values: Mapping[str, Fraction]) -> Place:
    """Where sizes that leave nothing open stand on the map; everything in it is exact.

    >>> from symroof.exploration.regime_map import regime_map
    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> at = place(regime_map(Problem(library_operation("matmul"))), {"B": Fraction(2), "D": Fraction(64), "F": Fraction(64)})
    >>> at.intensity, str(at.nearest.leading), at.factor
    (Fraction(32, 17), 'B', Fraction(17, 16))
    """
    setting, write = regimes.setting, regimes.draft.write
    point = {symbol(name): rational(value) for name, value in values.items()}
    where = (*setting.equalities, *(equality(name, value) for name, value in values.items()))

    def step(role: Role, left: Formula, value: Expr) -> Step:
        put = write(setting.in_numbers(value.subs(point)))
        return Step("regime", Reason.AT_POINT, left, "=", put, where, role=role)

    steps = [step(_role(regimes), regimes.spelled, regimes.value)]
    if setting.ridge is not None and regimes.of_intensity:
        over = write(fraction(expression(steps[0].right)) / setting.ridge)
        steps.append(Step("regime", Reason.FACT, Quotient(steps[0].right, RIDGE), "=", over, role="over"))
    for row in regimes.corner_rows:
        steps.append(step("factor", Quotient(write(row.leading), regimes.name), row.leading / regimes.value))
    if regimes.of_intensity:
        rest = {name: Fraction(1) for name in setting.problem.operation.dimensions if name not in values}
        open_sizes = (item for item in rest.items() if symbol(item[0]) not in setting.regime.substitution)
        steps += shares_at(regimes.draft, rest | dict(values), (*where, *(equality(*item) for item in open_sizes)))
    return Place(regimes.draft.add(*steps).since(regimes.draft), regimes, values)


def _role(regimes: RegimeMap) -> Role:
    """What the value at a point is said to be of: only the intensity has a name that the second engine knows."""
    return "intensity" if regimes.of_intensity else "quantity"


class Exploration(Frozen):
    """A map, and the points that were asked for on it."""

    regimes: RegimeMap | TimeRegimes
    places: tuple[Place, ...] = ()


def explore(problem: Problem, of: Formula = INTENSITY, *, every: bool = False) -> tuple[Exploration, ...]:
    """The map of a problem with its points; and for sizes that leave something open, the smaller map at them. Of T_lower it
    is the map of which time is longest.

    >>> from fractions import Fraction
    >>> from symroof.model.library import library_operation
    >>> answer, = explore(Problem(library_operation("matmul"), at=({"D": Fraction(128)},)))
    >>> len(answer.regimes.rows)
    4
    """
    if of == T_LOWER:
        problems = [at_sizes(problem, dict(values)) for values in problem.at] or [problem]
        return tuple(map(Exploration, map(time_regimes, problems)))
    plain = replace(problem, at=())
    whole = enumerated_regimes(plain, of)
    for values in problem.at:
        require_sizes_agree(whole.setting, values)
    points = [values for values in problem.at if covers(whole, values)]
    result = []
    if points or not problem.at:
        whole = with_rows(whole, every=every)
        places = tuple(place(whole, values) for values in points)
        result.append(Exploration(whole, places))
    for values in problem.at:
        if not covers(whole, values):
            smaller = at_sizes(problem, dict(values))
            result.append(Exploration(regime_map(smaller, of, every=every)))
    return tuple(result)


class Weakest(Frozen):
    """The weakest regimes that make ``exact ~ approximate`` true, their steps in the ``ledger``. None is needed where one
    of them has no relations. ``setting`` is that of the problem that they are about."""

    exact: Formula
    approximate: Formula
    layout: Layout
    alternatives: tuple[Leading, ...]
    ledger: Ledger
    setting: Setting | None = None

    @property
    def lang(self) -> str | None:
        return self.setting.problem.lang if self.setting else None


def infer(exact: Formula, approximate: Formula, setting: Setting | None) -> Weakest:
    """What has to be assumed for an approximation, each answer checked by the second engine.

    >>> from symroof.formula import Name, Product, Quotient, Sum
    >>> b, d = Name("B"), Name("D")
    >>> found = infer(Quotient(Product((b, d)), Sum((b, d))), b, None)
    >>> [[(r.left.name, r.relation, r.right.name) for r in a.relations] for a in found.alternatives]
    [[('B', '<<', 'D')]]
    """
    if setting is None:
        layout = Layout(tuple(dict.fromkeys((*names(exact), *names(approximate)))))
        values = expression(exact), expression(approximate)
        base = Regime()
    else:
        if setting.problem.at:
            raise AlgebraError(
                "sizes that are put in do not help to find a regime", expected="an equality instead, as in --assume D=8"
            )
        layout, base = setting.layout, setting.regime
        values = tuple(setting.in_numbers(value_of(side, setting)) for side in (exact, approximate))
    ledger = Ledger(Sizes(base.least_one, several_of(base.least_one)).named)
    alternatives = []
    for relations in weakest_regimes(*values, base):
        regime = Regime((*base.relations, *relations), base.least_one)
        steps = establish(_true_in(*values, regime, layout), ledger)
        alternatives.append(Leading(steps, written(relations, layout.write)))
    return Weakest(exact, approximate, layout, tuple(alternatives), ledger, setting)


def _true_in(exact: Expr, approximate: Expr, regime: Regime, layout: Layout) -> tuple[Step, ...]:
    """That an approximation is true in a regime, its factor, and when that is within 5 %."""
    steps = leads(layout.write(exact), exact, approximate, regime, layout)
    pairs = approximation(exact, approximate, regime).within or ()
    return *steps, *within(steps[1].left, pairs, steps[1].assumptions, layout)
