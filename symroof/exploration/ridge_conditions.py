"""What it takes to be above the ridge: for a form, for equal sizes, and for one size alone while the others stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import lcm

from sympy import Add, Expr, oo

from symroof.algebra.dominance import leading, reciprocals
from symroof.algebra.rational import polynomial, ratio, symbols_of
from symroof.algebra.regime import Regime
from symroof.algebra.roots import whole_number
from symroof.derivation.answer import Steps
from symroof.derivation.intensity import grows
from symroof.derivation.solutions import positive
from symroof.derivation.solving import highest, limit, monotony, solution_of, stays_below
from symroof.derivation.steps import INTENSITY, RIDGE, Draft
from symroof.derivation.whole_sizes import wholes
from symroof.exploration.leading_parts import tends_to
from symroof.formula import Compare, Formula, Name, Quotient, Verdict, number, several_of
from symroof.model.mesh import open_axes
from symroof.proof.bounds_and_decimals import WholeBounds
from symroof.proof.limits import Supremum
from symroof.proof.step import Reason, Step
from symroof.symbols import fraction, rational, symbol


class Single(Steps):
    """What the intensity does as ``variable`` grows alone; ``equal_sizes_from`` is about its limit. The ``axes`` of a mesh
    are no sizes that others could be equal to."""

    variable: str
    axes: frozenset[str]

    @property
    def limit(self) -> Expr:
        return self.known("limit")

    @property
    def supremum(self) -> Expr | None:
        """The limit, or the value at 1 where the intensity falls. None where it is not known to rise or fall."""
        return oo if self.limit == oo else self.value("highest")

    @property
    def reached(self) -> bool | None:
        """Whether the supremum is a value of the intensity."""
        step = self.step("highest")
        return False if self.limit == oo else None if step is None else step.relation == "<="

    @property
    def possible_when(self) -> Formula:
        """When the limit is above the ridge."""
        return self.condition or Verdict(self.limit == oo)

    @property
    def others(self) -> tuple[str, ...]:
        names = () if self.limit == oo else tuple(s.name for s in symbols_of(self.limit))
        return () if self.axes.intersection(names) else names


def above_ridge(draft: Draft, form: Expr, several: Callable[[Draft, Expr], Formula]) -> Step:
    """form > ridge: always or never where that is so, solved for one size, and as ``several`` writes it for more."""
    setting = draft.setting
    above, sizes = Compare(draft.write(form), ">", RIDGE), _sizes(draft, form)
    plain: Formula | None = _verdict(draft, form, sizes)
    bands: tuple[Formula, ...] = ()
    if plain is None and len(sizes) == 1:
        level = symbol("ridge") if setting.ridge is None else rational(setting.ridge)
        solution = solution_of(form, level, sizes[0], setting.least_one, layout=setting.layout)
        plain, bands = solution.end if solution.end == solution.formula else None, solution.bands
    elif plain is None and sizes:
        plain = several(draft, form)
    return Step("regime", Reason.RULE, above, "<=>", plain or above, (*setting.equalities, *bands), role="condition")


def _sizes(draft: Draft, form: Expr) -> list[Expr]:
    return [s for s in symbols_of(form) if s in draft.setting.least_one]


def _verdict(draft: Draft, form: Expr, sizes: list[Expr]) -> Verdict | None:
    """Whether a form is always or never above the ridge, where that can be told."""
    ridge, least_one = draft.setting.ridge, draft.setting.least_one
    if ridge is None or form == 0:
        return Verdict(False) if form == 0 else None
    if not sizes:
        return Verdict(fraction(form) > ridge) if form.is_Rational else None
    if len(sizes) == 1:
        outcome = solution_of(form, rational(ridge), sizes[0], least_one).outcome
        return None if outcome == "depends" else Verdict(outcome == "always")
    least = form.subs(dict.fromkeys(sizes, 1))
    if all(monotony(form, s, least_one) in (0, 1) for s in sizes) and least.is_Rational and fraction(least) > ridge:
        return Verdict(True)
    top = highest(form, least_one)
    return Verdict(False) if top is not None and top.is_Rational and fraction(top) <= ridge else None


def upside_down(draft: Draft, form: Expr) -> Formula:
    """1/B + 1/D < 1/ridge, where the reciprocal is such a sum; otherwise the form above the ridge."""
    parts = reciprocals(form)
    if parts is None or len(parts) < 2:
        return Compare(draft.write(form), ">", RIDGE)
    return Compare(draft.write(Add(*(1 / m for m in parts))), "<", Quotient(number(1), RIDGE))


def cleared(draft: Draft, form: Expr) -> Formula:
    """DF > ridge (D + F): the form above the ridge without a denominator."""
    symbols = symbols_of(form)
    above, below = (polynomial(terms, symbols) for terms in ratio(form, symbols))
    return positive((above - symbol("ridge") * below).expand(), draft.layout)


def equal_sizes(draft: Draft, form: Expr) -> tuple[Step, ...]:
    """The least size from which a form is above the ridge, all its sizes being equal; a multiple of the mesh axes that
    split them. Nothing where there is none.

    >>> from symroof.derivation.pipeline import first_draft
    >>> from symroof.model.library import library_operation
    >>> from symroof.model.problem import Problem
    >>> from symroof.reading.catalogue import chip
    >>> step, = equal_sizes(first_draft(Problem(library_operation("matmul"), chip("tpu-v5e"))), symbol("B"))
    >>> step.right.right.value
    Fraction(241, 1)
    """
    setting, sizes = draft.setting, _sizes(draft, form)
    if setting.ridge is None or not sizes or several_of(setting.least_one).intersection(sizes):
        return ()
    x, stride = sizes[0], lcm(*(wholes(setting, s.name).each for s in sizes))
    square = form.subs(dict.fromkeys(sizes[1:], x))
    solution = solution_of(square, rational(setting.ridge), x, setting.least_one)
    bound = rational(Fraction(0)) if solution.outcome == "always" else solution.bound if solution.rises else None
    first = None if bound is None else whole_number(">", bound, stride)
    if first is None or bound is None:
        return ()
    same = (*setting.equalities, *(Compare(Name(s.name), "=", Name(x.name)) for s in sizes[1:]), *solution.bands)
    above, from_first = Compare(draft.write(form), ">", RIDGE), Compare(Name(x.name), ">=", number(first))
    evidence = WholeBounds(stride, (), None if solution.outcome == "always" else draft.write(bound))
    return (Step("regime", Reason.WHOLE, above, "<=>", from_first, same, evidence, role="equal"),)


def singles(draft: Draft, order: Sequence[Expr]) -> tuple[Single, ...]:
    """Each size of the intensity by itself."""
    sizes = sorted(draft.setting.intensity.free_symbols, key=order.index)
    axes = frozenset(open_axes(draft.setting.problem.mesh))
    return tuple(Single(draft.add(*_alone(draft, x)).since(draft), x.name, axes) for x in sizes)


def _alone(draft: Draft, x: Expr) -> tuple[Step, ...]:
    setting, value = draft.setting, draft.setting.intensity
    top = limit(value, x, setting.least_one)
    tends = grows("regime", draft, x, top, role="limit")
    how: tuple[Step, ...] = ()
    if top in (0, oo):
        alone = Regime((*(r for r in setting.regime.relations if r[1] == "="), (x, "->", oo)), setting.least_one)
        how = (replace(tends_to(INTENSITY, value, leading(value, alone), alone, setting.layout), role=""),)
    if top == oo:
        return (tends, *how)
    return (tends, *how, *_highest(draft, x, top), above_ridge(draft, top, cleared), *equal_sizes(draft, top))


def least_upper_bound(value: Expr, x: Expr, least_one: frozenset[Expr]) -> tuple[Expr, bool] | None:
    """What a form rises to in one size, or has at 1 where it falls, and whether that is a value of it; None where neither is
    known."""
    way = monotony(value, x, least_one) if value.has(x) else 0
    if way is None or (way == -1 and x not in least_one):
        return None
    return (value.subs(x, 1), True) if way == -1 else (limit(value, x, least_one), way == 0)


def _highest(draft: Draft, x: Expr, top: Expr) -> tuple[Step, ...]:
    """What the intensity rises to, or has at 1 where it falls; nothing where neither is known."""
    value, equal = draft.setting.intensity, draft.setting.equalities
    found = least_upper_bound(value, x, draft.setting.least_one)
    if found is None:
        return ()
    edge, reached = found
    relation = "<=" if reached else stays_below(top, value, draft.setting.least_one)
    evidence = Supremum((x.name,), reached)
    return (Step("regime", Reason.REACH, INTENSITY, relation, draft.write(edge), equal, evidence, role="highest"),)
