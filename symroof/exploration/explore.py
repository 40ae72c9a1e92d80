"""What `symroof regimes` answers: maps of a problem, with the sizes that are put in."""

from __future__ import annotations

from dataclasses import replace

from sympy import Expr

from symroof.algebra.approximation import approximation, weakest_regimes
from symroof.algebra.regime import Regime
from symroof.derivation.draft import INTENSITY, T_LOWER, written
from symroof.derivation.intensity import within
from symroof.derivation.layout import Layout
from symroof.derivation.setting import Setting, require_sizes_agree
from symroof.errors import AlgebraError
from symroof.exploration.leading_parts import Led, leads
from symroof.exploration.longest import LongestMap, longest_map
from symroof.exploration.map_points import Place, covers, place
from symroof.exploration.regime_map import RegimeMap, at_sizes, listed, outlined, regime_map, valued
from symroof.formula import Formula, Frozen, Sizes, names, several_of
from symroof.model.problem import Problem
from symroof.proof.check import checked
from symroof.proof.ledger import Ledger
from symroof.proof.step import Step
from symroof.symbols import expression


class Exploration(Frozen):
    """A map, and the points that were asked for on it."""

    found: RegimeMap | LongestMap
    places: tuple[Place, ...] = ()


def explore(problem: Problem, of: Formula = INTENSITY, *, every: bool = False) -> tuple[Exploration, ...]:
    """The map of a problem with its points; and for sizes that leave something open, the smaller map at them. Of T_lower it
    is the map of which time is longest.

    >>> from fractions import Fraction
    >>> from symroof.model.library import library_operation
    >>> found, = explore(Problem(library_operation("matmul"), at=({"D": Fraction(128)},)))
    >>> len(found.found.rows)
    4
    """
    if of == T_LOWER:
        each = [at_sizes(problem, dict(values)) for values in problem.at] or [problem]
        return tuple(Exploration(longest_map(one)) for one in each)
    plain = replace(problem, at=())
    whole = outlined(plain, of)
    for values in problem.at:
        require_sizes_agree(whole.setting, values)
    points = [values for values in problem.at if covers(whole, values)]
    found = []
    if points or not problem.at:
        whole = listed(whole, every=every)
        places = tuple(place(whole, values) for values in points)
        found.append(Exploration(whole, places))
    for values in problem.at:
        if not covers(whole, values):
            smaller = at_sizes(problem, dict(values))
            found.append(Exploration(regime_map(smaller, of, every=every)))
    return tuple(found)


class Inferred(Frozen):
    """The weakest regimes that make ``exact ~ approximate`` true, their steps in the ``ledger``. None is needed where one
    of them has no relations. ``setting`` is that of the problem that they are about."""

    exact: Formula
    approximate: Formula
    layout: Layout
    alternatives: tuple[Led, ...]
    ledger: Ledger
    setting: Setting | None = None

    @property
    def lang(self) -> str | None:
        return self.setting.problem.lang if self.setting else None


def infer(exact: Formula, approximate: Formula, setting: Setting | None) -> Inferred:
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
        values = tuple(setting.in_numbers(valued(side, setting)) for side in (exact, approximate))
    ledger = Ledger(Sizes(base.least_one, several_of(base.least_one)).named)
    alternatives = []
    for told in weakest_regimes(*values, base):
        regime = Regime((*base.relations, *told), base.least_one)
        steps = checked(_true_in(*values, regime, layout), ledger)
        alternatives.append(Led(steps, written(told, layout.write)))
    return Inferred(exact, approximate, layout, tuple(alternatives), ledger, setting)


def _true_in(exact: Expr, approximate: Expr, regime: Regime, layout: Layout) -> tuple[Step, ...]:
    """That an approximation is true in a regime, its factor, and when that is within 5 %."""
    steps = leads(layout.write(exact), exact, approximate, regime, layout)
    pairs = approximation(exact, approximate, regime).within or ()
    return *steps, *within(steps[1].left, pairs, steps[1].assumptions, layout)
