"""A sketch as a page: its formulas with their values, and its relation solved."""

from __future__ import annotations

from typing import Any

from symroof.derivation.draft import BANDWIDTH, PEAK, RIDGE, T_COMMS, T_MATH
from symroof.derivation.sketching import Sketched
from symroof.formula import Name
from symroof.proof.step import Reason, Step
from symroof.rendering.pages.amounts import grouped_sizes, in_decimals
from symroof.rendering.pages.blocks import blocks
from symroof.rendering.pages.dialects import FORMATS
from symroof.rendering.pages.optima_said import Splitting
from symroof.rendering.pages.page import Page, Section, render_page
from symroof.rendering.pages.pen import Pen, Style, pen_of
from symroof.rendering.told import Told

SECTIONS = ("formulas", "solution", "optimum")


class Outline(Splitting):
    """A sketch, asked for by name: what the sentences of its steps need."""

    def __init__(self, sketched: Sketched) -> None:
        self.derivation, self.problem, self.answer = sketched, sketched.sketch, sketched.answer
        self.chip, self.unknown = sketched.sketch.hardware, Name(str(sketched.sketch.solve_for))
        self.points = [{"where": grouped_sizes(values, sketched.layout)} for values in sketched.sketch.at]

    def all(self, reason: str, section: str | None = None) -> tuple[Step, ...]:
        """The steps of a reason, in a section or anywhere."""
        wanted = Reason(reason)
        return tuple(s for s in self.derivation.steps if s.reason is wanted and section in (None, s.section))

    def find(self, reason: str, section: str | None = None) -> Step | None:
        return next(iter(self.all(reason, section)), None)

    def first(self, reason: str, point: int) -> Step | None:
        """The first step of a reason at a set of sizes."""
        return next((step for step in self.all(reason) if step.point == point), None)


def render_sketch(sketched: Sketched, form: str, style: Style) -> str:
    """The page of one sketch."""
    view = Outline(sketched)
    pen = pen_of(form, sketched.layout, "HBM", style)

    def page(pen: Pen) -> Page:
        known = {"ridge_": RIDGE, "peak": PEAK, "bandwidth": BANDWIDTH, "t_math": T_MATH, "t_comms": T_COMMS}
        sentences = pen.sentences(FORMATS[pen.form].prose, d=view, condition=pen.condition, shown=in_decimals, **known)

        def say(part: str, step: Any) -> str:
            return sentences(step.reason.value, part, step)

        joint = "\n" if pen.form == "text" else " "
        written = [(name, blocks(sketched.section(name), say, joint)) for name in SECTIONS if sketched.section(name)]
        sections = tuple(Section(sentences("head", name), tuple(found)) for name, found in written)
        closing = "" if pen.style.brief else sentences.lines("closing_of_sketch")
        return Page(pen.words(view.problem.title or ""), "", sections, closing)

    return render_page(page, pen, lambda: (told_of_sketch(sketched),), d=view)


def told_of_sketch(sketched: Sketched) -> Told:
    """What the steps of a sketch say, and what was asked."""
    told, sketch = Told(sketched.steps, None), sketched.sketch
    told.take(*(asked for asked in (sketch.solve, sketch.minimize, sketch.subject) if asked is not None))
    return told
