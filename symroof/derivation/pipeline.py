"""The derivation of a problem, or of a sketch without an operation: its sections in order, and the answer that they earn."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from sympy import Expr

from symroof.algebra.regime import Regime
from symroof.derivation.bottlenecks import resources
from symroof.derivation.counting import traffic, work
from symroof.derivation.drafts import Answer, Draft
from symroof.derivation.equations import formula_steps, formulas
from symroof.derivation.formula_writing import Layout
from symroof.derivation.intensity import intensity, regime, totals_in_letters
from symroof.derivation.named_formulas import Basis
from symroof.derivation.numbers_at_sizes import conditions_at_sizes, numbers
from symroof.derivation.premises import Setting, setting_of
from symroof.derivation.quantity_definitions import ledger_of, require_spoken, substitute
from symroof.derivation.threshold import rule, summary, threshold
from symroof.derivation.times import ridge, time
from symroof.errors import AlgebraError
from symroof.formula import Formula, Frozen, Name, Number, names
from symroof.model.hardware import Spec
from symroof.model.problem import Problem, Sketch
from symroof.model.quantities import DERIVED, OWED, meaning
from symroof.proof.check import require_answered, require_numbers, require_sealed
from symroof.proof.step import Ledger, Reason, Step
from symroof.symbols import expression


class _Steps(Frozen):
    """The steps of a derivation, each decided by the second engine: ``written`` are all of them."""

    written: tuple[Step, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.written

    def section(self, name: str) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.section == name)

    def find(self, reason: Reason) -> Step | None:
        """The first step of that reason."""
        return next((step for step in self.steps if step.reason is reason), None)

    def counts(self) -> Mapping[str, int]:
        """How many steps were proved, and how many sampled."""
        kinds = [step.check.status for step in self.steps if step.check is not None]
        return {kind: kinds.count(kind) for kind in ("proved", "sampled")}


class Derivation(_Steps):
    """The derivation of one problem."""

    setting: Setting

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


def is_about(step: Step, statement: str) -> bool:
    """Whether a step says something of one statement of a program, or what a size in it is."""
    return step.reason is Reason.CASE or any(name.endswith(f"({statement})") for name in names(step.left))


def values_alone(problem: Problem) -> Derivation:
    """What is counted and the named formulas alone: what the value of a quantity at sizes stands on."""
    draft = formulas(traffic(work(first_draft(problem))))
    return Derivation(draft.steps, draft.setting)


def derive(problem: Problem) -> Derivation:
    """Write the derivation that the problem asks for; the second engine decides every line as it is written.

    >>> from symroof.model.library import library_operation
    >>> str(derive(Problem(library_operation("matmul"))).answer.intensity)
    'B*D*F/(B*D + B*F + D*F)'
    """
    draft = first_draft(problem)

    draft = work(draft)
    draft = traffic(draft)
    idle = draft.setting.idle
    draft = draft if idle else rule(threshold(ridge(regime(intensity(draft)))))
    draft = conditions_at_sizes(draft)
    draft = time(draft)
    draft = draft if idle else resources(draft)
    draft = formulas(draft)
    draft = numbers(draft)
    draft = draft if idle else totals_in_letters(summary(draft))
    require_whole(draft)

    return Derivation(draft.steps, draft.setting)


def require_whole(draft: Draft) -> None:
    """Raises :class:`~symroof.errors.CheckError` where something is left out, or was changed behind its check."""
    program = draft.setting.problem.operation
    require_sealed(draft.steps, draft.ledger.established)
    require_answered(draft.steps, draft.ledger)
    require_numbers(draft.steps, draft.ledger, OWED)
    require_spoken(draft, program)


def draft_after(derivation: Derivation) -> Draft:
    """A draft that takes as established what a derivation has established, to go on from there."""
    draft = draft_of(derivation.setting)
    for step in derivation.written:
        if step.relation == "=" and isinstance(step.left, Name) and draft.ledger.is_new(step.left.name):
            draft.ledger.define(step.left.name, step.right)
    return draft


def first_draft(problem: Problem) -> Draft:
    """A derivation without a line, and with everything that its lines are held against. Where every size is a number in the
    operation itself, nothing is left to be put in."""
    closed = not problem.names and not problem.at
    return draft_of(setting_of(replace(problem, at=({},)) if closed else problem))


def draft_of(setting: Setting) -> Draft:
    return Draft(setting, ledger_of(setting))


def counted_draft(problem: Problem) -> Draft:
    """The part of a derivation that asks nothing: costs, intensity and ridge."""
    return up_to_ridge(first_draft(problem))


def up_to_ridge(draft: Draft) -> Draft:
    """The sections up to the ridge; where nothing is computed those that count."""
    for section in (work, traffic) if draft.setting.idle else (work, traffic, intensity, ridge):
        draft = section(draft)
    return draft


class SketchDerivation(_Steps):
    """The derivation of a sketch."""

    sketch: Sketch
    layout: Layout

    @property
    def answer(self) -> Answer:
        return Answer(self.written, self.sketch.at)


def derive_sketch(sketch: Sketch) -> SketchDerivation:
    """The named formulas of a sketch in what is free, and its relation solved.

    Quantities that no formula defines are what the textbook says of others: T_math = flops/peak.

    >>> from symroof.reading.arguments import read_sketch
    >>> found = derive_sketch(read_sketch({"let": {"x": "2*B"}, "solve": "x > 6", "solve_for": "B"}))
    >>> found.answer.formula("solution_whole").right.value
    Fraction(4, 1)
    """
    figures = figures_of_sketch(sketch)
    own = {*sketch.let, *sketch.symbols, *figures, sketch.solve_for, sketch.over}
    theory = {name: formula for name in DERIVED if name not in own and (formula := meaning(name)) is not None}
    questions = (sketch.solve, sketch.minimize, sketch.subject)
    spoken = (*sketch.let.values(), *(formula for formula in questions if formula is not None))
    order = tuple(dict.fromkeys(name for formula in spoken for name in names(formula)))
    meanings = {**theory, **sketch.let}
    numbers = {name: Number(figure.value, figure.digits) for name, figure in figures.items()}
    layout = Layout(order)
    relations = tuple((expression(r.left), r.relation, expression(r.right)) for r in sketch.assume)
    regime = Regime(relations, frozenset())
    ground = Basis(
        ledger=Ledger(frozenset(), numbers, meanings, points=sketch.at),
        layout=layout,
        let=sketch.let,
        quantities=_values(meanings, regime),
        figures=figures,
        regime=regime,
        points=sketch.at,
        equalities=sketch.assume,
    )
    return SketchDerivation(formula_steps(ground, sketch).steps, sketch, layout)


def figures_of_sketch(sketch: Sketch) -> dict[str, Spec]:
    """The figures of the chip, and those that stand for ``peak`` and ``bandwidth`` where nothing else does."""
    chip, own = sketch.hardware, {*sketch.let, *sketch.symbols, sketch.solve_for}
    if chip is None:
        return {}
    result = dict(chip.spoken)
    if sketch.compute is not None and "peak" not in result:
        result["peak"] = chip.peak(sketch.compute)[1]
    if "HBM" in result:
        result.setdefault("bandwidth", result["HBM"])
    return {name: figure for name, figure in result.items() if name not in own}


def _values(meanings: Mapping[str, Formula], regime: Regime) -> dict[str, Expr]:
    """The values of names in those that stand for nothing, as far as they have any."""
    result: dict[str, Expr] = {}

    def work_out(name: str, inside: tuple[str, ...]) -> None:
        if name in inside:
            raise AlgebraError(f"{name} is defined by itself", hint=f"symbols = [{name!r}] leaves it open")
        for other in names(meanings[name]):
            if other in meanings and other not in result:
                work_out(other, (*inside, name))
        with suppress(AlgebraError):
            result[name] = substitute(regime.apply(expression(meanings[name])), result)

    for name in meanings:
        if name not in result:
            work_out(name, ())
    return result
