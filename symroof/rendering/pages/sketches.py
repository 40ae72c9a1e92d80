"""A sketch as a page: its formulas with their values, its relation solved, and where its parts are least."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from symroof.derivation.draft import BANDWIDTH, PEAK, RIDGE, T_COMMS, T_MATH
from symroof.derivation.pipeline import Derivation
from symroof.derivation.sketching import Sketched
from symroof.formula import Compare, Formula, Name
from symroof.proof.step import Reason, Step
from symroof.rendering.pages.amounts import grouped_sizes, in_decimals
from symroof.rendering.pages.blocks import blocks
from symroof.rendering.pages.page import Page, Section, render_page
from symroof.rendering.pages.typesetting import Pen, Style, pen_of

SECTIONS = ("formulas", "solution", "optimum")


class StepsByReason:
    """What is derived, its steps by their reasons, and what is asked to be least."""

    derivation: Derivation | Sketched
    problem: Any
    answer: Any

    def all(self, reason: str, section: str | None = None) -> tuple[Step, ...]:
        """The steps of a reason, in a section or anywhere."""
        wanted = Reason(reason)
        return tuple(s for s in self.derivation.steps if s.reason is wanted and section in (None, s.section))

    def find(self, reason: str, section: str | None = None) -> Step | None:
        return next(iter(self.all(reason, section)), None)

    def first(self, reason: str, point: int) -> Step | None:
        """The first step of a reason at a set of sizes."""
        return next((step for step in self.all(reason) if step.point == point), None)

    @property
    def least(self) -> Formula:
        """What is to be least."""
        result: Formula = self.problem.minimize
        return result

    @property
    def over(self) -> Name:
        """What it is to be least over."""
        return Name(str(self.problem.over))

    @property
    def bound_in_figures(self) -> Formula | None:
        """The condition of being compute-bound there, with the figures put in."""
        bound, value = self.answer.formula("optimum_bound"), self.answer.formula("optimum_bound_value")
        return bound if value is None else replace(bound, right=value)

    def growing(self, step: Step) -> tuple[Compare, ...]:
        """The regime of a step."""
        return step.assumed("<<", "->", "~", "~~")

    def guards(self, step: Step) -> tuple[tuple[Formula, Formula], ...]:
        """What is at least what by assumption."""
        return tuple((guard.left, guard.right) for guard in step.assumed(">="))


class Outline(StepsByReason):
    """A sketch, asked for by name: what the sentences of its steps need."""

    def __init__(self, sketched: Sketched) -> None:
        self.derivation, self.problem, self.answer = sketched, sketched.sketch, sketched.answer
        self.chip, self.unknown = sketched.sketch.hardware, Name(str(sketched.sketch.solve_for))
        self.points = [{"where": grouped_sizes(values, sketched.layout)} for values in sketched.sketch.at]


def render_sketch(sketched: Sketched, form: str, style: Style) -> str:
    """The page of one sketch."""
    view = Outline(sketched)
    pen = pen_of(form, sketched.layout, "HBM", style)

    def page(pen: Pen) -> Page:
        known = {"ridge_": RIDGE, "peak": PEAK, "bandwidth": BANDWIDTH, "t_math": T_MATH, "t_comms": T_COMMS}
        sentences = pen.sentences("prose.j2", d=view, condition=pen.condition, shown=in_decimals, **known)

        def say(part: str, step: Any) -> str:
            return sentences(step.reason.value, part, step)

        joint = "\n" if pen.form == "text" else " "
        written = [(name, blocks(sketched.section(name), say, joint)) for name in SECTIONS if sketched.section(name)]
        sections = tuple(Section(sentences("head", name), tuple(result)) for name, result in written if result)
        closing = "" if pen.style.brief else sentences.lines("closing_of_sketch")
        return Page(pen.words(view.problem.title or ""), "", sections, closing)

    return render_page(page, pen, d=view)
