"""Every asymptotic regime of a quantity: where which terms lead, what the quantity tends to there, and the proof."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from sympy import Expr, Integer, Rational

from symroof.algebra.fan import fan, relations
from symroof.algebra.rational import symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.derivation.drafts import INTENSITY, RIDGE, Draft, Steps, comparisons
from symroof.derivation.pipeline import counted_draft
from symroof.derivation.premises import Setting, require_arithmetic
from symroof.derivation.quantity_definitions import quantities, substitute
from symroof.derivation.times import times_defined
from symroof.errors import AlgebraError
from symroof.exploration.regime_steps import (
    MOST_PROVED,
    RegimeForm,
    Regimes,
    SizeGrowth,
    Traffic,
    above_ridge,
    dominance_steps,
    equal_sizes,
    leading_statement_steps,
    leading_steps,
    partition,
    reciprocal_condition,
    shares,
    shares_at,
    size_growths,
    statements,
    traffic_steps,
)
from symroof.formula import Call, Compare, Formula, Name, Number, Quotient, mapped, names, nodes, number
from symroof.model.problem import Problem
from symroof.model.quantities import BANDWIDTH, PEAK
from symroof.model.splits import open_axes
from symroof.proof.certificates import check_partition
from symroof.proof.step import Check, Reason, Role, Step, lead_role
from symroof.symbols import expression, fraction, rational, symbol

# More regimes than this are not listed in full unless they are asked for.
MOST_LISTED = 8


class RegimeRow(RegimeForm):
    """One regime of a map, the parts of the bytes, and what the statements of a program add to its work and bytes. Where
    the quantity is the intensity, ``condition`` and ``equal_sizes_from`` are about its leading form."""

    mask: int
    regime: Regime
    corner: bool
    parts: tuple[Traffic, ...]
    statements: Mapping[str, tuple[Traffic, ...]]

    @property
    def dominant(self) -> tuple[Traffic, ...]:
        """The parts of the bytes that are not negligible."""
        moves = self.formula("moves")
        return tuple(part for part in self.parts if moves is not None and part.name.name in names(moves))

    def leaders(self, whole: str) -> tuple[Traffic, ...]:
        """The statements whose part of the ``flops`` or the ``bytes`` is not negligible."""
        total = self.formula(lead_role(whole))
        return tuple(s for s in self.statements.get(whole, ()) if total is not None and s.name.name in names(total))


class RegimeMap(Regimes):
    """The regimes of a quantity. ``rows`` are those that are listed: all, or the corners of a long list."""

    name: Formula
    value: Expr
    rows: tuple[RegimeRow, ...] = ()
    complete: Check | None = None
    every: bool = False

    @property
    def count(self) -> int:
        return len(self.fan.masks)

    @property
    def too_long(self) -> bool:
        """Whether a proof that the list is complete is not tried."""
        return self.count > MOST_PROVED

    @property
    def corners(self) -> int:
        return sum(self.fan.is_corner(mask) for mask in self.fan.masks)

    @property
    def of_intensity(self) -> bool:
        return self.name == INTENSITY

    @property
    def of_ridge(self) -> bool:
        """Whether it is compute-bound where the quantity is above a ridge: not where contractions run at several peaks."""
        return self.of_intensity and not self.setting.mixed

    @property
    def cancelled(self) -> tuple[str, ...]:
        """The dimensions of the operation that the quantity does not depend on."""
        free = {s.name for s in self.value.free_symbols} | {s.name for s in self.setting.regime.substitution}
        return tuple(name for name in self.setting.problem.operation.dimensions if name not in free)

    @property
    def fixed(self) -> tuple[Compare, ...]:
        """The sizes that have been put in."""
        return self.setting.equalities

    @cached_property
    def singles(self) -> tuple[SizeGrowth, ...]:
        """What each size does alone."""
        order = [symbol(name) for name in self.setting.problem.names]
        return size_growths(self.draft, order) if self.of_ridge else ()

    @property
    def spelled(self) -> Formula:
        """The quantity with the ridge as the quotient that it is: to dominance a ridge of its own is any constant."""
        return mapped(self.name, lambda part: Quotient(PEAK, BANDWIDTH) if part == RIDGE else part)

    @property
    def corner_rows(self) -> tuple[RegimeRow, ...]:
        return tuple(row for row in self.rows if row.corner) or self.rows[:1]


def regime_map(problem: Problem, of: Formula = INTENSITY, *, every: bool = False) -> RegimeMap:
    """Every regime of the intensity of a problem, or of another quantity, each line checked by the second engine.

    ``of`` is a formula over named quantities. Raises :class:`SymroofError` where terms of both signs may cancel, or where
    the quantity is no rational function.

    >>> from symroof.model.library import library_operation
    >>> found = regime_map(Problem(library_operation("matmul")))
    >>> [str(row.leading) for row in found.rows][:4], found.complete.status
    (['B', 'D', 'F', 'B*D/(B + D)'], 'proved')
    """
    return with_rows(enumerated_regimes(problem, of), every=every)


def enumerated_regimes(problem: Problem, of: Formula = INTENSITY) -> RegimeMap:
    """The map with its regimes enumerated, and none of them listed."""
    require_scalings(problem)
    draft = counted_draft(problem)
    setting = draft.setting
    if of == INTENSITY:
        require_arithmetic(setting, "regimes of a time: --of T_lower")
    value = setting.intensity if of == INTENSITY else value_of(of, setting)
    order = [symbol(name) for name in setting.problem.names]
    constants = tuple((s, "~~", Rational(1)) for s in symbols_of(value) if s not in order)
    base = Regime((*setting.regime.relations, *constants, *at_least_two(setting)), setting.least_one)
    draft = with_definitions(draft, names(of))
    result = RegimeMap(draft, base, fan(value, base, order), of, value)
    if of == INTENSITY:
        return replace(result, draft=draft.add(*traffic_steps(draft)))
    equal = tuple(r for r in result.assume if r.relation == "=")
    step = Step("regime", Reason.CANCEL, result.spelled, "=", draft.write(value), equal)
    return replace(result, draft=draft.add(step))


def with_rows(regimes: RegimeMap, *, every: bool = False) -> RegimeMap:
    """The map with its regimes, each with its leading form and what leads there; the corners alone of a long list."""
    masks, draft = regimes.fan.masks, regimes.draft
    if every and len(masks) > MOST_PROVED:
        raise AlgebraError(
            f"{len(masks)} regimes are too many to list",
            expected=f"at most {MOST_PROVED}: put sizes in, as in --at {regimes.fan.symbols[-1]}=8192, or assume more",
        )
    chosen = [mask for mask in masks if every or len(masks) <= MOST_LISTED or regimes.fan.is_corner(mask)]
    cells = {mask: relations(regimes.fan, mask) for mask in chosen}
    evidence = partition(regimes.fan, cells, draft.layout)
    return replace(
        regimes,
        every=every,
        rows=tuple(_row(regimes, mask, cells[mask]) for mask in chosen),
        complete=None if evidence is None else check_partition(regimes.spelled, evidence, regimes.assume, draft.ledger),
    )


def at_least_two(setting: Setting) -> tuple[Relation, ...]:
    """An axis has several chips, so that X - 1 stays above a part of X."""
    axes = map(symbol, open_axes(setting.problem.mesh))
    return tuple((axis, ">=", Integer(2)) for axis in axes if axis not in setting.regime.substitution)


def value_of(formula: Formula, setting: Setting) -> Expr:
    """The value of a formula over the names of a problem: a function of its sizes and figures."""
    value = setting.regime.apply(substitute(expression(formula), quantities(setting)))
    if not value.is_rational_function():
        raise AlgebraError(
            "the regimes of a maximum or a root are not enumerated",
            expected="a quotient of sums, such as T_comms/T_math",
        )
    if not value.free_symbols & setting.least_one and value.is_Rational and value <= 0:
        raise AlgebraError(f"{value} is not positive", expected="a positive quantity")
    return value.cancel()


def _row(regimes: RegimeMap, mask: int, cell: tuple[Relation, ...]) -> RegimeRow:
    """A regime with its leading form; everything in it has been checked."""
    draft, form = regimes.draft, regimes.fan.leading(mask)
    regime = Regime((*regimes.base.relations, *cell), regimes.base.least_one)
    steps: tuple[Step, ...] = leading_steps(regimes.spelled, regimes.value, form, regime, draft.layout)
    if regimes.of_intensity:
        steps = (*steps, *dominance_steps(draft, regime), *leading_statement_steps(draft, regime))
    if regimes.of_ridge:
        steps = (*steps, above_ridge(draft, form, reciprocal_condition), *equal_sizes(draft, form))
    steps_of_row = draft.add(*steps).since(draft)
    corner = regimes.fan.is_corner(mask)
    whole = shares(draft.setting), statements(draft.setting) if regimes.of_intensity else {}
    return RegimeRow(steps_of_row, comparisons(cell, draft.write), mask, regime, corner, *whole)


def require_scalings(problem: Problem) -> None:
    """A map is of scalings: what is at most something, or at most another size, has no place on it."""
    for r in problem.assume:
        at_least = r.relation == ">=" and isinstance(r.right, Number) and isinstance(r.left, Name)
        if r.relation in ("<=", ">=") and not at_least:
            raise AlgebraError(
                "a bound on a size says nothing of how it grows, so it does not change a map of regimes",
                expected="<<, ~~, ~, -> or =, as in B ~~ 1 for a size that stays bounded",
            )


def with_definitions(draft: Draft, names_used: Iterable[str]) -> Draft:
    """What the names mean that a quantity speaks of and the counts have not defined."""
    problem = draft.setting.problem
    names_used = {*names_used, *(name for formula in problem.let.values() for name in names(formula))}
    if any(name.startswith("T_") for name in names_used):
        draft = times_defined(draft, problem.operation)
    bounds = (name for name in ("T_lower", "T_upper") if name in names_used)
    draft = draft.add(*(Step("time", Reason.LINE, Name(name), "=", draft.ledger.formula(name)) for name in bounds))
    named = (item for item in problem.let.items() if names_used & set(problem.let))
    plain = ((name, formula) for name, formula in named if not any(isinstance(part, Call) for part in nodes(formula)))
    return draft.add(*(Step("formulas", Reason.LINE, Name(name), "=", formula) for name, formula in plain))


def equality(name: str, value: Fraction) -> Compare:
    """A size that is put in, as a relation of the regime."""
    return Compare(Name(name), "=", number(value))


def at_sizes(problem: Problem, values: dict[str, Fraction]) -> Problem:
    """The problem with some of its sizes put in; how these grow is no question then."""
    other = (r for r in problem.assume if r.relation == "=" or not values.keys() & {*names(r.left), *names(r.right)})
    return replace(problem, assume=(*other, *(equality(name, value) for name, value in values.items())), at=())


class MapPoint(Steps):
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


def has_all_sizes(regimes: RegimeMap, values: Mapping[str, Fraction]) -> bool:
    """Whether the values leave no size of the quantity open."""
    return all(s.name in values for s in regimes.value.free_symbols if s not in regimes.setting.values)


def map_point(regimes: RegimeMap, values: Mapping[str, Fraction]) -> MapPoint:
    """Where sizes that leave nothing open stand on the map; everything in it is exact.

    >>> from symroof.exploration.regime_map import regime_map
    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> at = map_point(regime_map(Problem(library_operation("matmul"))), {"B": Fraction(2), "D": Fraction(64), "F": Fraction(64)})
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
    return MapPoint(regimes.draft.add(*steps).since(regimes.draft), regimes, values)


def _role(regimes: RegimeMap) -> Role:
    """What the value at a point is said to be of: only the intensity has a name that the second engine knows."""
    return "intensity" if regimes.of_intensity else "quantity"
