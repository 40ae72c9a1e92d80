"""What `symroof regimes` answers: maps of a problem, with the sizes that are put in; of T_lower which of the times of
arithmetic, memories and links is longest; and the weakest regimes that an approximation needs.

T_lower lies between a part of the sum of the times and the sum, so both grow alike, and the terms of the sum that can be
largest alone tell the regimes. Figures grow as sizes do here, since a time is an amount over a rate: arithmetic takes
longest where peak/ICI << B/X. Among terms that no size tells apart the figures decide, where they are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import chain, permutations

from sympy import Add, Expr, Mul

from symroof.algebra.dominance import approximation, leading_form, similarity_of, weakest_regimes
from symroof.algebra.fan import Fan, corners, relations
from symroof.algebra.rational import Exponents, add, cancel, sign_of
from symroof.algebra.regime import Regime, Relation
from symroof.derivation.drafts import INTENSITY, T_UPPER, Draft, comparisons, dominance
from symroof.derivation.formula_writing import Layout
from symroof.derivation.intensity import margin_steps
from symroof.derivation.pipeline import draft_of, first_draft, up_to_ridge
from symroof.derivation.premises import Setting, require_sizes_agree
from symroof.derivation.quantity_definitions import PEAK, times_in_figures
from symroof.errors import AlgebraError, ContradictionError, ModelError
from symroof.exploration.regime_map import (
    MapPoint,
    RegimeMap,
    at_least_two,
    at_sizes,
    enumerated_regimes,
    has_all_sizes,
    map_point,
    regime_map,
    require_scalings,
    value_of,
    with_definitions,
    with_rows,
)
from symroof.exploration.regime_steps import RegimeForm, Regimes, Traffic, leading_steps, partition, sum_of_leaders
from symroof.formula import Formula, Frozen, Name, Number, Sizes, names, several_of, total
from symroof.model.problem import Problem
from symroof.model.quantities import T_LOWER, time_name
from symroof.model.resources import COMMS, slowest
from symroof.proof.certificates import check_partition
from symroof.proof.check import establish
from symroof.proof.overlap_bounds import LongestTimeLimit
from symroof.proof.step import Check, Ledger, Reason, Step
from symroof.symbols import expression, symbol


class TimeRegime(RegimeForm):
    """A regime, and the ``times`` of which some are longest there."""

    times: tuple[Traffic, ...]

    @property
    def longest(self) -> tuple[str, ...]:
        """The resources whose times are not negligible."""
        form = self.formula("longest")
        return tuple(time.label for time in self.times if form is not None and time.name.name in names(form))

    @property
    def tends(self) -> Formula | None:
        """What T_lower tends to, where it is one of the times."""
        return self.formula("leading")


class TimeRegimes(Regimes):
    """The regimes of T_lower, each with the times that lead there; ``figures`` are the values of the
    quotients of figures that they speak of. ``never`` says of terms of the sum that they are smaller than others, whatever
    the sizes, since no size tells them apart and the figures do."""

    rows: tuple[TimeRegime, ...]
    figures: tuple[Step, ...]
    never: tuple[Step, ...]
    complete: Check | None

    @property
    def count(self) -> int:
        return len(self.rows)

    @property
    def whole(self) -> Formula:
        """T_lower as it is defined."""
        return self.draft.ledger.definitions["T_lower"]


class Cells(Frozen):
    """The regimes of a sum, with what leads in each; ``smaller`` are those whose form another's exceeds for all sizes."""

    fan: Fan
    base: Regime
    relations: Mapping[int, tuple[Relation, ...]]
    forms: Mapping[int, Expr]
    smaller: Mapping[int, int]

    @property
    def shown(self) -> Mapping[int, tuple[Relation, ...]]:
        return {mask: relations for mask, relations in self.relations.items() if mask not in self.smaller}

    def regime(self, mask: int) -> Regime:
        return replace(self.base, relations=(*self.base.relations, *self.relations[mask]))


def time_regimes(problem: Problem) -> TimeRegimes:
    """The regimes of T_lower, every line checked by the second engine.

    >>> from symroof.model.library import library_operation
    >>> from symroof.reading.chips import chip
    >>> found = time_regimes(Problem(library_operation("matmul"), chip("tpu-v5e")))
    >>> [(row.longest, row.tends is not None) for row in found.rows][2:], found.complete.status
    ([(('HBM',), True), (('math',), True)], 'proved')
    """
    require_scalings(problem)
    setting = first_draft(problem).setting
    setting = replace(setting, rates=slowest(setting.rates, setting.exact))
    _require_one_latency(setting)
    draft = with_definitions(up_to_ridge(draft_of(setting)), ("T_lower", "T_upper"))
    setting = draft.setting
    times = _times(draft.setting)
    value = cancel(Add(*(time.amount for time in times)))
    plain = Regime((*setting.regime.relations, *at_least_two(setting)), setting.least_one)
    whole = result = _cells(value, plain, setting)
    strict = [r for r in chain(*whole.shown.values()) if r[1] == "<<"]
    of_figures = dict.fromkeys(r for r in strict if _factors(r[0] / r[2], setting)[0] == 1)
    _require_scales(of_figures, setting)
    with suppress(ContradictionError):  # a relation of figures alone stands once, and what follows from it nowhere
        result = _cells(value, replace(plain, relations=(*plain.relations, *of_figures)), setting)
    evidence = partition(result.fan, result.shown, draft.layout, corners=True)
    named, assumed = total(*(time.name for time in times)), comparisons(result.base.relations, draft.write)
    rows = (
        TimeRegime(_steps(draft, times, result.forms[mask], result.regime(mask)), comparisons(cell, draft.write), times)
        for mask, cell in result.shown.items()
    )
    return TimeRegimes(
        draft,
        result.base,
        result.fan,
        tuple(rows),
        draft.add(*_figures(draft, (*of_figures, *chain(*result.shown.values())))).since(draft),
        draft.add(*_always_smaller(draft, whole)).since(draft),
        None if evidence is None else check_partition(named, evidence, assumed, draft.ledger),
    )


def _require_one_latency(setting: Setting) -> None:
    if len(several := setting.rates.latencies) > 1:
        shown = " and ".join(str(expression(latency)).replace("*", " ") for latency in several)
        raise ModelError(f"which hops take longest is open: {shown}", expected="--on CHIP, or --given for each latency")


def _require_scales(relations: Iterable[Relation], setting: Setting) -> None:
    """Scalings compare times where no size is a number, and where figures grow as the chip orders them: all else is a question
    of numbers. Raises :class:`ModelError` where it is."""
    equal = {expression(r.left): r.right.value for r in setting.equalities if isinstance(r.right, Number)}
    numbers = [f"{size} = {value}" for size, value in equal.items() if str(size) not in setting.problem.mesh]
    false = [(x, y) for x, _, y in relations if (value := setting.in_numbers(x / y)).is_Rational and value >= 1]
    if numbers or false:
        why = ", ".join(numbers) or f"{false[0][0]} << {false[0][1]} would have to hold, and does not on this chip"
        shown = f"scalings do not say which time is longest: {why}"
        raise ModelError(shown, expected="a map without such sizes, or derive and plot, which compare numbers")


def _times(setting: Setting) -> tuple[Traffic, ...]:
    """The times whose longest is T_lower, by what they are the times of."""
    rates, amounts = setting.rates, times_in_figures(setting)
    named = ((rates.called if resource == COMMS else resource, time_name(resource)) for resource in rates.resources)
    result = tuple(Traffic(label, Name(name), amounts[name]) for label, name in named)
    return tuple(time for time in result if time.amount != 0)


def _cells(value: Expr, base: Regime, setting: Setting) -> Cells:
    fan = corners(value, base, [symbol(name) for name in setting.problem.names])
    cells = {mask: tuple(_by_sides(r, setting) for r in relations(fan, mask)) for mask in fan.masks}
    result = Cells(fan, base, cells, {}, {})
    result = replace(result, forms={mask: leading_form(value, result.regime(mask)) for mask in fan.masks})
    return replace(result, smaller=_smaller(result, setting))


def _by_sides(relation: Relation, setting: Setting) -> Relation:
    """A relation with its sizes on one side and its figures on the other: peak/ICI << B/X."""
    left, sign, right = relation
    if sign != "<<":
        return relation
    sizes, figures = _factors(left / right, setting)
    if 1 in (sizes, figures):
        return relation
    value, (above, below) = setting.in_numbers(figures), sizes.as_numer_denom()
    plain = above == 1 or (below != 1 and (value > 1 if value.is_Rational else figures.as_numer_denom()[0].has(PEAK)))
    return (figures, sign, 1 / sizes) if plain else (sizes, sign, 1 / figures)


def _factors(monomial: Expr, setting: Setting) -> tuple[Expr, Expr]:
    """The sizes and the figures of a product."""
    names = {symbol(name) for name in setting.problem.names}
    parts = monomial.as_powers_dict().items()
    return Mul(*(x**e for x, e in parts if x in names)), Mul(*(x**e for x, e in parts if x not in names))


def _smaller(cells: Cells, setting: Setting) -> dict[int, int]:
    """The cells whose form is smaller than that of another one, whatever the sizes, once the figures are put in."""
    above = {axis: axis + 1 for axis in several_of(setting.least_one)}  # an axis has at least two chips
    sizes = {mask: _sizes(cells.fan, mask, setting) for mask in cells.forms}
    smaller: dict[int, int] = {}
    for lower, larger in permutations(cells.forms, 2):
        if sizes[lower] == sizes[larger] and lower not in smaller and larger not in smaller:
            rest = setting.in_numbers(cells.forms[larger] - cells.forms[lower]).subs(above, simultaneous=True)
            if rest.free_symbols <= setting.least_one and sign_of(rest, setting.least_one) == 1:
                smaller[lower] = larger
    return smaller


def _sizes(fan: Fan, mask: int, setting: Setting) -> Exponents:
    """How the sizes stand in the terms that lead in a cell."""
    (above, *_), (below, *_) = (fan.chosen(mask & group) for group in fan.groups)
    return tuple(e for s, e in zip(fan.symbols, add(above, below, -1), strict=True) if s.name in setting.problem.names)


def _steps(draft: Draft, times: tuple[Traffic, ...], form: Expr, regime: Regime) -> tuple[Step, ...]:
    """Which times lead in a regime; and what T_lower tends to, where one of them does."""
    whole, assumed = Add(*(time.amount for time in times)), comparisons(regime.relations, draft.write)
    every = total(*(time.name for time in times)) if draft.setting.rates.latencies else T_UPPER
    lead = sum_of_leaders(draft, regime, every, times, "longest")
    leader = next((time for time in times if time.name == lead.right), None)
    if leader is None:
        return draft.add(lead).since(draft)
    own, of_whole = (dominance(similarity_of(amount, form, regime), draft.write) for amount in (leader.amount, whole))
    evidence, right = LongestTimeLimit(leader.name, own, of_whole), draft.layout.factored(form)
    tends = Step("regime", Reason.LEADING, T_LOWER, "~", right, assumed, evidence, role="leading")
    return draft.add(lead, tends).since(draft)


def _figures(draft: Draft, relations: Iterable[Relation]) -> Iterator[Step]:
    """The values of the quotients of figures in the regimes, where they are known."""
    setting = draft.setting
    sides = (_factors(side, setting)[1] for left, sign, right in relations if sign == "<<" for side in (left, right))
    for quotient in dict.fromkeys(sides):
        value = setting.in_numbers(quotient)
        if quotient.as_numer_denom()[1] != 1 and value.is_Rational:
            yield Step("regime", Reason.FIGURES, draft.write(quotient), "=", draft.write(value), role="figures")


def _always_smaller(draft: Draft, cells: Cells) -> Iterator[Step]:
    """That terms are smaller than others for all sizes, with the figures put in."""
    assumed = comparisons(cells.base.relations, draft.write)
    for lower, larger in cells.smaller.items():
        left, right = (draft.in_digits(draft.layout.factored(cells.forms[mask])) for mask in (lower, larger))
        yield Step("regime", Reason.SIDE, left, "<", right, assumed, role="never")


class Exploration(Frozen):
    """A map, and the points that were asked for on it."""

    regimes: RegimeMap | TimeRegimes
    places: tuple[MapPoint, ...] = ()


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
    points = [values for values in problem.at if has_all_sizes(whole, values)]
    result = []
    if points or not problem.at:
        whole = with_rows(whole, every=every)
        places = tuple(map_point(whole, values) for values in points)
        result.append(Exploration(whole, places))
    for values in problem.at:
        if not has_all_sizes(whole, values):
            smaller = at_sizes(problem, dict(values))
            result.append(Exploration(regime_map(smaller, of, every=every)))
    return tuple(result)


class Weakest(Frozen):
    """The weakest regimes that make ``exact ~ approximate`` true, their steps in the ``ledger``. None is needed where one
    of them has no relations. ``setting`` is that of the problem that they are about."""

    exact: Formula
    approximate: Formula
    layout: Layout
    alternatives: tuple[RegimeForm, ...]
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
    for weakest in weakest_regimes(*values, base):
        regime = Regime((*base.relations, *weakest), base.least_one)
        steps = establish(_true_in(*values, regime, layout), ledger)
        alternatives.append(RegimeForm(steps, comparisons(weakest, layout.write)))
    return Weakest(exact, approximate, layout, tuple(alternatives), ledger, setting)


def _true_in(exact: Expr, approximate: Expr, regime: Regime, layout: Layout) -> tuple[Step, ...]:
    """That an approximation is true in a regime, its factor, and when that is within 5 %."""
    steps = leading_steps(layout.write(exact), exact, approximate, regime, layout)
    pairs = approximation(exact, approximate, regime).within or ()
    return *steps, *margin_steps(steps[1].left, pairs, steps[1].assumptions, layout)
