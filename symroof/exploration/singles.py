"""One size alone: what the intensity rises to as it grows and the others stay, and whether that suffices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sympy import Expr, oo

from symroof.algebra.dominance import leading
from symroof.algebra.optima import growth, monotony
from symroof.algebra.rational import cancelled, symbols_of
from symroof.algebra.regime import Regime
from symroof.derivation.draft import INTENSITY, Draft
from symroof.exploration.edges import above_ridge, cleared, equal_sizes_from
from symroof.exploration.partition import tends_to
from symroof.formula import Compare, Formula, Infinity, Name, Verdict
from symroof.proof.check import check
from symroof.proof.ledger import Ledger
from symroof.proof.step import Reason, Step


@dataclass(frozen=True, slots=True)
class Single:
    """``limit`` is what the intensity tends to as the variable grows alone; ``supremum`` the limit, or the value at 1 where
    the intensity falls, which it then has reached. None where it is not known to rise or fall. ``possible_when``
    says when the limit is above the ridge, ``equal_from`` the least size at which it is with the other sizes equal."""

    variable: str
    limit: Expr
    supremum: Expr | None
    reached: bool | None
    possible_when: Formula
    others: tuple[str, ...]
    equal_from: int | None


def singles(draft: Draft, ledger: Ledger, value: Expr, order: Sequence[Expr]) -> tuple[Single, ...]:
    """Each size of the intensity by itself, checked by the second engine."""
    return tuple(_single(draft, ledger, value, x) for x in sorted(value.free_symbols, key=order.index))


def _single(draft: Draft, ledger: Ledger, value: Expr, x: Expr) -> Single:
    setting = draft.setting
    equal = tuple(r for r in setting.problem.assume if r.relation == "=")
    grows = Regime((*(r for r in setting.regime.relations if r[1] == "="), (x, "->", oo)), setting.least_one)
    top = growth(value, x)
    form = top if top.is_finite and top != 0 else leading(value, grows).form
    tends_to(INTENSITY, value, form, grows, (*equal, Compare(Name(x.name), "->", Infinity())), draft.layout, ledger)
    rises = monotony(value, x, setting.least_one)
    if top == oo:
        return Single(x.name, oo, oo, False, Verdict(True), (), None)
    if rises == 1:
        check(Step("regime", Reason.REACH, INTENSITY, "<", draft.write(top), equal), ledger)
    supremum = {1: top, 0: top, -1: cancelled(value.subs(x, 1))}.get(rises) if rises is not None else None
    reached = {1: False, -1: True, 0: True}.get(rises) if rises is not None else None
    possible = Verdict(False) if top == 0 else above_ridge(draft, ledger, top, cleared)
    return Single(
        x.name, top, supremum, reached, possible, tuple(s.name for s in symbols_of(top)), equal_sizes_from(setting, top)
    )
