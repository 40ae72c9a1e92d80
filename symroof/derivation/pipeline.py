"""The derivation, from a problem to proved steps, and the answer that they earn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from symroof.derivation.abbreviations import letters
from symroof.derivation.answer import Answer
from symroof.derivation.bottlenecks import resources
from symroof.derivation.counting import traffic, work
from symroof.derivation.draft import Draft
from symroof.derivation.intensity import intensity, regime
from symroof.derivation.quantity_definitions import ledger_of, require_spoken
from symroof.derivation.setting import Setting, setting_of
from symroof.derivation.sizes import at, summary
from symroof.derivation.threshold import rule, threshold
from symroof.derivation.times import formulas, ridge, time
from symroof.derivation.values import numbers
from symroof.formula import Frozen, Name, names
from symroof.model.problem import Problem
from symroof.model.quantities import OWED
from symroof.proof.completeness import require_answered, require_numbers, require_sealed
from symroof.proof.step import Reason, Step


class Derivation(Frozen):
    """The derivation of one problem: ``written`` are its steps, each decided by the second engine."""

    setting: Setting
    written: tuple[Step, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the sections and of the statement that were asked for."""
        problem = self.setting.problem
        chosen = (step for step in self.written if step.section in problem.sections)
        return tuple(step for step in chosen if problem.statement is None or is_about(step, problem.statement))

    @property
    def answer(self) -> Answer:
        """What people look for first."""
        return Answer(self.written, self.setting.problem.at)

    def section(self, name: str) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.section == name)

    def find(self, reason: Reason) -> Step | None:
        """The first step of that reason."""
        return next((step for step in self.steps if step.reason is reason), None)

    def counts(self) -> Mapping[str, int]:
        """How many steps were proved, and how many sampled."""
        kinds = [step.check.status for step in self.steps if step.check is not None]
        return {kind: kinds.count(kind) for kind in ("proved", "sampled")}


def is_about(step: Step, statement: str) -> bool:
    """Whether a step says something of one statement of a program, or what a size in it is."""
    return step.reason is Reason.CASE or any(name.endswith(f"({statement})") for name in names(step.left))


def values_alone(problem: Problem) -> Derivation:
    """What is counted and the named formulas alone: what the value of a quantity at sizes stands on."""
    draft = formulas(traffic(work(begun(problem))))
    return Derivation(draft.setting, draft.steps)


def derive(problem: Problem) -> Derivation:
    """Write the derivation that the problem asks for; the second engine decides every line as it is written.

    >>> from symroof.model.library import library_operation
    >>> str(derive(Problem(library_operation("matmul"))).answer.intensity)
    'B*D*F/(B*D + B*F + D*F)'
    """
    draft = begun(problem)

    draft = work(draft)
    draft = traffic(draft)
    idle = draft.setting.idle
    draft = draft if idle else rule(threshold(ridge(regime(intensity(draft)))))
    draft = at(draft)
    draft = time(draft)
    draft = draft if idle else resources(draft)
    draft = formulas(draft)
    draft = numbers(draft)
    draft = draft if idle else letters(summary(draft))
    require_whole(draft)

    return Derivation(draft.setting, draft.steps)


def require_whole(draft: Draft) -> None:
    """Raises :class:`~symroof.errors.CheckError` where something is left out, or was changed behind its check."""
    program = draft.setting.problem.operation
    require_sealed(draft.steps, draft.ledger.established)
    require_answered(draft.steps, draft.ledger)
    require_numbers(draft.steps, draft.ledger, OWED)
    require_spoken(draft, program)


def resumed(derivation: Derivation) -> Draft:
    """A draft that takes as established what a derivation has established, to go on from there."""
    draft = drafted(derivation.setting)
    for step in derivation.written:
        if step.relation == "=" and isinstance(step.left, Name) and draft.ledger.is_new(step.left.name):
            draft.ledger.define(step.left.name, step.right)
    return draft


def begun(problem: Problem) -> Draft:
    """A derivation without a line, and with everything that its lines are held against. Where every size is a number in the
    operation itself, nothing is left to be put in."""
    closed = not problem.names and not problem.at
    return drafted(setting_of(replace(problem, at=({},)) if closed else problem))


def drafted(setting: Setting) -> Draft:
    return Draft(setting, ledger_of(setting))


def counted(problem: Problem) -> Draft:
    """The part of a derivation that asks nothing: costs, intensity and ridge."""
    return compared(begun(problem))


def compared(draft: Draft) -> Draft:
    """The sections up to the ridge; where nothing is computed those that count."""
    for section in (work, traffic) if draft.setting.idle else (work, traffic, intensity, ridge):
        draft = section(draft)
    return draft
