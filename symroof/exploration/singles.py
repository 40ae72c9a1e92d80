"""One size alone: what the intensity rises to as it grows and the others stay, and whether that suffices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sympy import Expr, oo

from symroof.algebra.dominance import leading
from symroof.algebra.rational import symbols_of
from symroof.algebra.regime import Regime
from symroof.derivation.answer import Said
from symroof.derivation.draft import INTENSITY, RIDGE, Draft
from symroof.derivation.solving import limit, monotony
from symroof.exploration.edges import above_ridge, cleared, equal_sizes
from symroof.exploration.partition import tends_to
from symroof.formula import Compare, Formula, Infinity, Name, Verdict, number
from symroof.proof.grounds import Growing, Highest
from symroof.proof.step import Reason, Step


@dataclass(frozen=True, slots=True)
class Single(Said):
    """What the intensity does as ``variable`` grows alone."""

    variable: str

    @property
    def limit(self) -> Expr:
        value = self.value("limit")
        assert value is not None
        return value

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
        formula = self.formula("condition")
        return Verdict(self.limit == oo) if formula is None else formula

    @property
    def others(self) -> tuple[str, ...]:
        return () if self.limit == oo else tuple(s.name for s in symbols_of(self.limit))

    @property
    def equal_from(self) -> int | None:
        """The least size at which the limit is above the ridge with the other sizes equal."""
        return self.whole("equal")


def singles(draft: Draft, order: Sequence[Expr]) -> tuple[Single, ...]:
    """Each size of the intensity by itself."""
    sizes = sorted(draft.setting.intensity.free_symbols, key=order.index)
    return tuple(Single(draft.add(*_steps(draft, x)).since(draft), x.name) for x in sizes)


def _steps(draft: Draft, x: Expr) -> tuple[Step, ...]:
    setting, value, equal = draft.setting, draft.setting.intensity, draft.setting.equalities
    towards = Compare(Name(x.name), "->", Infinity())
    top = limit(value, x, setting.least_one)
    tends = Step(
        "regime", Reason.GROWS, INTENSITY, "->", draft.write(top), (*equal, towards), Growing(x.name), role="limit"
    )
    if top == oo or top == 0:
        grows = Regime((*(r for r in setting.regime.relations if r[1] == "="), (x, "->", oo)), setting.least_one)
        form = leading(value, grows)
        how = tends_to(INTENSITY, value, form, grows, (*equal, towards), setting.layout)
        never = (*_highest(draft, x, top), _never(draft)) if top == 0 else ()
        return (tends, replace(how, role=""), *never)
    return (tends, *_highest(draft, x, top), above_ridge(draft, top, cleared), *equal_sizes(draft, top))


def _highest(draft: Draft, x: Expr, top: Expr) -> tuple[Step, ...]:
    """What the intensity rises to, or has at 1 where it falls; nothing where neither is known."""
    value, equal = draft.setting.intensity, draft.setting.equalities
    rises = monotony(value, x, draft.setting.least_one)
    if rises is None:
        return ()
    edge, relation = (value.subs(x, 1), "<=") if rises == -1 else (top, "<" if rises == 1 else "<=")
    evidence = Highest((x.name,), relation == "<=")
    return (Step("regime", Reason.REACH, INTENSITY, relation, draft.write(edge), equal, evidence, role="highest"),)


def _never(draft: Draft) -> Step:
    """Nothing is above the ridge that tends to 0."""
    above = Compare(number(0), ">", RIDGE)
    return Step("regime", Reason.RULE, above, "<=>", Verdict(False), draft.setting.equalities, role="condition")
