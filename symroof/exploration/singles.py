"""One size alone: what the intensity rises to as it grows and the others stay, and whether that suffices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sympy import Expr, oo

from symroof.algebra.dominance import leading, similar
from symroof.algebra.inequality import solve_for
from symroof.algebra.optima import growth, highest, monotony
from symroof.algebra.rational import polynomial as summed
from symroof.algebra.rational import ratio, symbols_of
from symroof.algebra.regime import Regime
from symroof.algebra.threshold import smallest_integer
from symroof.derivation.check import check
from symroof.derivation.draft import INTENSITY, RIDGE, Draft, numeric
from symroof.derivation.ledger import Ledger
from symroof.derivation.solution import positive, solution
from symroof.derivation.step import Dominated, Reason, Step
from symroof.formula import Compare, Formula, Infinity, Name, Verdict
from symroof.symbols import rational, symbol


@dataclass(frozen=True, slots=True)
class Single:
    """``supremum`` is the limit as the variable grows alone; ``reached`` whether the intensity takes it: None where it is
    not known to rise or fall. ``possible_when`` says when the limit is above the ridge, ``equal_from`` the least size
    at which it is with the other sizes equal."""

    variable: str
    supremum: Expr
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
    found = similar(value, form, grows)
    assume = (*equal, Compare(Name(x.name), "->", Infinity()))
    evidence = Dominated(draft.write(found.numerator), draft.write(found.denominator), found.certificates) if found.certificates else None
    check(Step("regime", Reason.LIMIT, INTENSITY, "~" if evidence else "=", draft.write(form), assume, evidence), ledger)
    rises = monotony(value, x, setting.least_one)
    if top == oo:
        return Single(x.name, oo, False, Verdict(True), (), None)
    if rises == 1:
        check(Step("regime", Reason.REACH, INTENSITY, "<", draft.write(top), equal), ledger)
    highest = value.subs(x, 1) if rises == -1 else top
    reached = {1: False, -1: True, 0: True}.get(rises) if rises is not None else None
    others = symbols_of(highest)
    return Single(x.name, highest, reached, _possible(draft, ledger, highest, equal), tuple(s.name for s in others), _equal_from(draft, highest))


def _possible(draft: Draft, ledger: Ledger, top: Expr, equal: tuple[Compare, ...]) -> Formula:
    ridge = draft.setting.ridge
    if not top.free_symbols:
        return Compare(draft.write(top), ">", RIDGE) if ridge is None else Verdict(numeric(top) > ridge)  # type: ignore[operator]
    symbols = symbols_of(top)
    if ridge is not None and (most := highest(top, draft.setting.least_one)) is not None and numeric(most) <= ridge:  # type: ignore[operator]
        check(Step("regime", Reason.NEVER, draft.write(top), "<=", RIDGE, equal), ledger)
        return Verdict(False)
    if ridge is not None and len(symbols) == 1:
        condition = solution(draft, solve_for(top - rational(ridge), symbols[0], draft.setting.least_one))
        if isinstance(condition, Compare):
            check(Step("regime", Reason.RULE, Compare(draft.write(top), ">", RIDGE), "<=>", condition, equal), ledger)
            return condition
    above, below = (summed(terms, symbols) for terms in ratio(top, symbols))
    condition = positive(draft, (above - symbol("ridge") * below).expand())
    check(Step("regime", Reason.RULE, Compare(draft.write(top), ">", RIDGE), "<=>", condition, equal), ledger)
    return condition


def _equal_from(draft: Draft, top: Expr) -> int | None:
    ridge, sizes = draft.setting.ridge, symbols_of(top)
    if ridge is None or not sizes:
        return None
    square = top.subs(dict.fromkeys(sizes[1:], sizes[0]))
    solved = solve_for(square - rational(ridge), sizes[0], draft.setting.least_one)
    if solved.bound is None or not solved.rises:
        return None
    return smallest_integer(solved.bound)
