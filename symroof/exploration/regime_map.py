"""Every asymptotic regime of a quantity: where which terms lead, what the quantity tends to there, and the proof."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from sympy import Expr, Rational

from symroof.algebra.approximation import split_terms
from symroof.algebra.fan import Fan, fan
from symroof.algebra.rational import cancelled, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.algebra.relations import relations
from symroof.derivation.draft import BANDWIDTH, INTENSITY, PEAK, RIDGE, T_COMMS, T_MATH, Draft, written
from symroof.derivation.pipeline import counted
from symroof.derivation.setting import Setting
from symroof.errors import AlgebraError
from symroof.exploration.edges import above_ridge, equal_sizes_from, upside_down
from symroof.exploration.knobs import Knob, knobs
from symroof.exploration.partition import partition, tends_to
from symroof.exploration.singles import Single, singles
from symroof.exploration.traffic import Traffic, dominant
from symroof.formula import Call, Compare, Formula, Name, Number, Quotient, Sum, children, mapped, names, number
from symroof.model.problem import Problem
from symroof.proof.cases import partitioned
from symroof.proof.check import check
from symroof.proof.ledger import Ledger
from symroof.proof.step import Check, Reason, Step
from symroof.symbols import symbol

# More regimes than this are not listed in full unless they are asked for.
MOST_LISTED = 8


@dataclass(frozen=True, slots=True)
class RegimeRow:
    """One regime. ``factor`` is the leading form over the exact value; ``compute_bound`` the condition for the leading
    form, None where the quantity is not the intensity; ``equal_sizes_from`` the least size at which it holds with all
    sizes of the leading form equal, None where there is none."""

    mask: int
    relations: tuple[Compare, ...]
    regime: Regime
    corner: bool
    dominant: tuple[Traffic, ...]
    leading: Expr
    factor: Expr
    compute_bound: Formula | None
    equal_sizes_from: int | None
    check: Check


@dataclass(frozen=True)
class RegimeMap:
    """The regimes of a quantity. ``rows`` are those that are listed: all of them, or the corners of a long list."""

    draft: Draft
    ledger: Ledger
    name: Formula
    value: Expr
    fan: Fan
    rows: tuple[RegimeRow, ...]
    complete: Check | None
    assume: tuple[Compare, ...]

    @property
    def setting(self) -> Setting:
        return self.draft.setting

    @property
    def count(self) -> int:
        return len(self.fan.masks)

    @property
    def corners(self) -> int:
        return sum(self.fan.is_corner(mask) for mask in self.fan.masks)

    @property
    def of_intensity(self) -> bool:
        return self.name == INTENSITY

    @property
    def cancelled(self) -> tuple[str, ...]:
        """The dimensions of the operation that the quantity does not depend on."""
        free = {s.name for s in self.value.free_symbols} | {s.name for s in self.setting.regime.substitution}
        return tuple(name for name in self.setting.problem.operation.dimensions if name not in free)

    @property
    def fixed(self) -> tuple[Compare, ...]:
        """The sizes that have been put in."""
        return tuple(r for r in self.setting.problem.assume if r.relation == "=")

    @cached_property
    def singles(self) -> tuple[Single, ...]:
        """What each size does alone."""
        order = [symbol(name) for name in self.setting.problem.operation.dimensions]
        return singles(self.draft, self.ledger, self.value, order) if self.of_intensity else ()

    @cached_property
    def knobs(self) -> tuple[Knob, ...]:
        """What a change of one thing does, in every listed regime."""
        return knobs(
            self.setting, self.fan, [(row.mask, row.regime) for row in self.rows], of_intensity=self.of_intensity
        )

    @property
    def corner_rows(self) -> tuple[RegimeRow, ...]:
        return tuple(row for row in self.rows if row.corner) or self.rows[:1]


def regime_map(problem: Problem, of: tuple[Formula, Expr] | None = None, *, every: bool = False) -> RegimeMap:
    """Every regime of the intensity of a problem, or of another quantity, each line checked by the second engine.

    ``of`` is a formula over named quantities and its value. Raises :class:`SymroofError` where terms of both signs may
    cancel, or where the quantity is no rational function.

    >>> from symroof.model.library import library_operation
    >>> found = regime_map(Problem(library_operation("matmul")))
    >>> [str(row.leading) for row in found.rows][:4], found.complete.status
    (['B', 'D', 'F', 'B*D/(B + D)'], 'proved')
    """
    _require_scalings(problem)
    draft, ledger = counted(problem)
    setting = draft.setting
    name, value = (INTENSITY, setting.intensity) if of is None else of
    order = [symbol(d) for d in setting.problem.operation.dimensions]
    constants = tuple((s, "~~", Rational(1)) for s in symbols_of(value) if s not in order)
    base = Regime((*setting.regime.relations, *constants), setting.least_one)
    assume = (*setting.problem.assume, *(Compare(Name(s.name), "~~", number(1)) for s, _, _ in constants))
    found = fan(value, base, order)
    listed = [mask for mask in found.masks if every or len(found.masks) <= MOST_LISTED or found.is_corner(mask)]
    told = {mask: relations(found, mask) for mask in listed}
    for step in _definitions(problem, () if of is None else names(of[0])):
        check(step, ledger)
    seen = _Seen(draft, ledger, _spelled(name), value, base, assume)
    rows = tuple(seen.row(found, mask, told[mask]) for mask in listed)
    evidence = partition(found, told, draft.layout)
    complete = None if evidence is None else partitioned(_spelled(name), evidence, assume, ledger)
    return RegimeMap(draft, ledger, name, value, found, rows, complete, assume)


def _spelled(name: Formula) -> Formula:
    """The quantity with the ridge as the quotient that it is: to dominance a ridge of its own is any constant."""
    return mapped(name, lambda part: Quotient(PEAK, BANDWIDTH) if part == RIDGE else part)


def _require_scalings(problem: Problem) -> None:
    """A map is of scalings: what is at most something, or at most another size, has no place on it."""
    for r in problem.assume:
        if r.relation in ("<=", ">=") and not (
            r.relation == ">=" and isinstance(r.right, Number) and isinstance(r.left, Name)
        ):
            raise AlgebraError(
                "a bound on a size says nothing of how it grows, so it does not change a map of regimes",
                expected="<<, ~~, ~, -> or =, as in B ~~ 1 for a size that stays bounded",
            )


def _definitions(problem: Problem, spoken: Iterable[str]) -> Iterable[Step]:
    """What the names mean that a quantity speaks of and the counts have not defined."""
    spoken = set(spoken)
    if problem.let or "T_upper" in spoken:
        yield Step("time", Reason.UPPER, Name("T_upper"), "=", Sum((T_MATH, T_COMMS)))
    for name, formula in problem.let.items() if spoken & set(problem.let) else ():
        if not any(isinstance(part, Call) for part in _parts(formula)):
            yield Step("formulas", Reason.NAMED, Name(name), "=", formula)


def _parts(formula: Formula) -> Iterable[Formula]:
    yield formula
    for part in children(formula):
        yield from _parts(part)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What every row of a map is written from."""

    draft: Draft
    ledger: Ledger
    name: Formula
    value: Expr
    base: Regime
    assume: tuple[Compare, ...]

    def row(self, found: Fan, mask: int, told: tuple[Relation, ...]) -> RegimeRow:
        """A regime with its leading form; everything in it has been checked."""
        regime = Regime((*self.base.relations, *told), self.base.least_one)
        relations_ = written(told, self.draft.write)
        assume = (*self.assume, *relations_)
        form = found.leading(mask)
        verdict = tends_to(self.name, self.value, form, regime, assume, self.draft.layout, self.ledger)
        condition = None
        first = None
        if self.name == INTENSITY:
            condition = above_ridge(self.draft, self.ledger, form, upside_down)
            first = equal_sizes_from(self.draft.setting, form)
        return RegimeRow(
            mask,
            relations_,
            regime,
            found.is_corner(mask),
            dominant(self.draft.setting, regime) if self.name == INTENSITY else (),
            form,
            split_terms(cancelled(form / self.value), symbols_of(form, self.value)),
            condition,
            first,
            verdict,
        )


def equality(name: str, value: Fraction) -> Compare:
    """A size that is put in, as a relation of the regime."""
    return Compare(
        Name(name),
        "=",
        number(value.numerator)
        if value.denominator == 1
        else Quotient(number(value.numerator), number(value.denominator)),
    )


def at_sizes(problem: Problem, values: dict[str, Fraction]) -> Problem:
    """The problem with some of its sizes put in."""
    return replace(problem, assume=(*problem.assume, *(equality(name, value) for name, value in values.items())), at=())
