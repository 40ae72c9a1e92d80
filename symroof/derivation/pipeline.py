"""The derivation, from a problem to proved steps."""

from __future__ import annotations

from symroof.derivation.counting import traffic, work
from symroof.derivation.derivation import Answer, Derivation
from symroof.derivation.draft import Draft
from symroof.derivation.intensity import intensity, regime
from symroof.derivation.machine import formulas, ridge, time
from symroof.derivation.numbers import at, rule
from symroof.derivation.setting import setting_of
from symroof.derivation.threshold import threshold
from symroof.model.problem import Problem
from symroof.proof.check import checked
from symroof.proof.ledger import Ledger


def derive(problem: Problem) -> Derivation:
    """Write the derivation that the problem asks for, and check every line of it.

    >>> from symroof.model.library import library_operation
    >>> str(derive(Problem(library_operation("matmul"))).answer.intensity)
    'B*D*F/(B*D + B*F + D*F)'
    """
    setting = setting_of(problem)
    draft = Draft(setting, (), Answer(setting.intensity))

    draft = work(draft)
    draft = traffic(draft)
    draft = intensity(draft)
    draft = regime(draft)
    draft = ridge(draft)
    draft = threshold(draft)
    draft = rule(draft)
    draft = at(draft)
    draft = time(draft)
    draft = formulas(draft)

    ledger = Ledger(frozenset(s.name for s in setting.least_one), setting.figures)
    steps = checked(draft.steps, ledger)
    kept = tuple(step for step in steps if step.section in problem.sections)
    return Derivation(setting, kept, draft.answer)


def counted(problem: Problem) -> tuple[Draft, Ledger]:
    """The part of a derivation that asks nothing: costs, intensity and ridge, checked; and the ledger to go on with."""
    setting = setting_of(problem)
    draft = Draft(setting, (), Answer(setting.intensity))
    for section in (work, traffic, intensity, ridge):
        draft = section(draft)
    ledger = Ledger(frozenset(s.name for s in setting.least_one), setting.figures)
    checked(draft.steps, ledger)
    return draft, ledger
