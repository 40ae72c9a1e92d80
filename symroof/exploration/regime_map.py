"""Every asymptotic regime of a quantity: where which terms lead, what the quantity tends to there, and the proof."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from sympy import Expr, Rational

from symroof.algebra.approximation import split_terms
from symroof.algebra.fan import Fan, fan
from symroof.algebra.rational import cancelled, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.algebra.relations import relations
from symroof.derivation.answer import Said
from symroof.derivation.draft import BANDWIDTH, INTENSITY, PEAK, RIDGE, T_COMMS, T_MATH, Draft, written
from symroof.derivation.pipeline import counted
from symroof.derivation.setting import Setting
from symroof.errors import AlgebraError
from symroof.exploration.edges import above_ridge, equal_sizes, upside_down
from symroof.exploration.knobs import Knob, knobs
from symroof.exploration.partition import partition, tends_to
from symroof.exploration.singles import Single, singles
from symroof.exploration.traffic import Traffic, dominant, parts, shares
from symroof.formula import Call, Compare, Formula, Name, Number, Quotient, Sum, children, mapped, names, number
from symroof.model.problem import Problem
from symroof.proof.cases import partitioned
from symroof.proof.step import Check, Reason, Step
from symroof.symbols import symbol

# More regimes than this are not listed in full unless they are asked for.
MOST_LISTED = 8


@dataclass(frozen=True, slots=True)
class RegimeRow(Said):
    """One regime: ``assume`` is all that holds there, ``relations`` what it adds to the problem."""

    mask: int
    relations: tuple[Compare, ...]
    assume: tuple[Compare, ...]
    regime: Regime
    corner: bool
    parts: tuple[Traffic, ...]

    @property
    def leading(self) -> Expr:
        """What the quantity tends to."""
        value = self.value("leading")
        assert value is not None
        return value

    @property
    def check(self) -> Check:
        step = self.step("leading")
        assert step is not None
        assert step.check is not None
        return step.check

    @property
    def factor(self) -> Expr:
        """The leading form over the exact value."""
        value = self.value("factor")
        assert value is not None
        return value

    @property
    def compute_bound(self) -> Formula | None:
        """The condition for the leading form; None where the quantity is not the intensity."""
        return self.formula("condition")

    @property
    def equal_sizes_from(self) -> int | None:
        """The least size at which the leading form is above the ridge with all its sizes equal."""
        return self.whole("equal")

    @property
    def dominant(self) -> tuple[Traffic, ...]:
        """The parts of the bytes that are not negligible."""
        moves = self.formula("moves")
        return tuple(part for part in self.parts if moves is not None and part.name.name in names(moves))


@dataclass(frozen=True)
class RegimeMap:
    """The regimes of a quantity. ``rows`` are those that are listed: all of them, or the corners of a long list."""

    draft: Draft
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
        return self.setting.equalities

    @cached_property
    def singles(self) -> tuple[Single, ...]:
        """What each size does alone."""
        order = [symbol(name) for name in self.setting.problem.operation.dimensions]
        return singles(self.draft, order) if self.of_intensity else ()

    @cached_property
    def knobs(self) -> tuple[Knob, ...]:
        """What a change of one thing does, in every listed regime."""
        return knobs(self.draft, self.fan, self.spelled, [(row.mask, row.regime, row.assume) for row in self.rows])

    @property
    def spelled(self) -> Formula:
        """The quantity with the ridge as the quotient that it is: to dominance a ridge of its own is any constant."""
        return spelled(self.name)

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
    draft = counted(problem)
    setting = draft.setting
    name, value = (INTENSITY, setting.intensity) if of is None else of
    order = [symbol(d) for d in setting.problem.operation.dimensions]
    constants = tuple((s, "~~", Rational(1)) for s in symbols_of(value) if s not in order)
    base = Regime((*setting.regime.relations, *constants), setting.least_one)
    assume = (*setting.problem.assume, *(Compare(Name(s.name), "~~", number(1)) for s, _, _ in constants))
    found = fan(value, base, order)
    listed = [mask for mask in found.masks if every or len(found.masks) <= MOST_LISTED or found.is_corner(mask)]
    told = {mask: relations(found, mask) for mask in listed}
    draft = draft.add(*_definitions(problem, () if of is None else names(name)), *(parts(draft) if of is None else ()))
    rows = tuple(_row(draft, (spelled(name), value), found, mask, told[mask], base, assume) for mask in listed)
    evidence = partition(found, told, draft.layout)
    complete = None if evidence is None else partitioned(spelled(name), evidence, assume, draft.ledger)
    return RegimeMap(draft, name, value, found, rows, complete, assume)


def spelled(name: Formula) -> Formula:
    """The quantity with the ridge as the quotient that it is: to dominance a ridge of its own is any constant."""
    return mapped(name, lambda part: Quotient(PEAK, BANDWIDTH) if part == RIDGE else part)


def _row(
    draft: Draft,
    quantity: tuple[Formula, Expr],
    found: Fan,
    mask: int,
    told: tuple[Relation, ...],
    base: Regime,
    assume: tuple[Compare, ...],
) -> RegimeRow:
    """A regime with its leading form; everything in it has been checked."""
    name, value = quantity
    regime = Regime((*base.relations, *told), base.least_one)
    relations_ = written(told, draft.write)
    everything, form, setting = (*assume, *relations_), found.leading(mask), draft.setting
    factor = draft.write(split_terms(cancelled(form / value), symbols_of(form, value)))
    steps = [
        tends_to(name, value, form, regime, everything, draft.layout),
        Step(
            "regime", Reason.FACTOR, Quotient(draft.write(form), name), "=", factor, setting.equalities, role="factor"
        ),
    ]
    if name == INTENSITY:
        steps += [
            above_ridge(draft, form, upside_down),
            *equal_sizes(draft, form),
            *dominant(draft, regime, everything),
        ]
    said = draft.add(*steps).since(draft)
    return RegimeRow(said, mask, relations_, everything, regime, found.is_corner(mask), shares(setting))


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


def _definitions(problem: Problem, spoken: Iterable[str]) -> Iterator[Step]:
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
