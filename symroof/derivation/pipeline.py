"""The derivation, from a problem to proved steps."""

from __future__ import annotations

from symroof.derivation.counting import traffic, work
from symroof.derivation.derivation import Derivation
from symroof.derivation.draft import Draft
from symroof.derivation.intensity import intensity, regime
from symroof.derivation.meanings import ledger_of
from symroof.derivation.ridge import ridge
from symroof.derivation.rule import rule
from symroof.derivation.setting import Setting, setting_of
from symroof.derivation.sizes import at
from symroof.derivation.summary import summary
from symroof.derivation.threshold import threshold
from symroof.derivation.times import formulas, time
from symroof.model.problem import Problem


def derive(problem: Problem) -> Derivation:
    """Write the derivation that the problem asks for; the second engine decides every line as it is written.

    >>> from symroof.model.library import library_operation
    >>> str(derive(Problem(library_operation("matmul"))).answer.intensity)
    'B*D*F/(B*D + B*F + D*F)'
    """
    draft = begun(problem)

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
    draft = summary(draft)

    return Derivation(draft.setting, draft.steps)


def begun(problem: Problem) -> Draft:
    """A derivation without a line, and with everything that its lines are held against."""
    return drafted(setting_of(problem))


def drafted(setting: Setting) -> Draft:
    return Draft(setting, ledger_of(setting))


def counted(problem: Problem) -> Draft:
    """The part of a derivation that asks nothing: costs, intensity and ridge."""
    return compared(begun(problem))


def compared(draft: Draft) -> Draft:
    """The sections up to the ridge."""
    for section in (work, traffic, intensity, ridge):
        draft = section(draft)
    return draft
