"""A derivation as a page: its answer as a table, its sections as sentences and displays, its times as tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from symroof.derivation.derivation import Derivation
from symroof.derivation.draft import BANDWIDTH, PEAK, RIDGE, T_COMMS, T_MATH
from symroof.formula import Number
from symroof.model.problem import SECTIONS
from symroof.proof.step import Reason, Step
from symroof.rendering.formulas.chains import condition
from symroof.rendering.pages.amounts import in_decimals, quantity, shown_times, unit_of_times
from symroof.rendering.pages.blocks import Paragraph, blocks
from symroof.rendering.pages.page import Grid, Page, Section, render_page
from symroof.rendering.pages.pen import FORMATS, Pen, Style, pen_of
from symroof.rendering.pages.terminal import fold
from symroof.rendering.pages.view import View


def render_derivation(derivation: Derivation, form: str, style: Style | None = None) -> str:
    """The page of one derivation."""
    setting = derivation.setting
    pen = pen_of(form, setting.layout, setting.problem.link, style)
    return render_page(lambda pen: _Writer(derivation, pen).page(), pen, d=View(derivation))


class _Writer:
    def __init__(self, derivation: Derivation, pen: Pen) -> None:
        self.derivation, self.pen, self.view = derivation, pen, View(derivation)
        self.say = pen.sentences(
            FORMATS[pen.form].prose,
            d=self.view,
            condition=lambda relations: condition(relations, pen, ", " if pen.form == "text" else " and "),
            figure=self.view.figure,
            shown=in_decimals,
            ridge_=RIDGE,
            peak=PEAK,
            bandwidth=BANDWIDTH,
            t_math=T_MATH,
            t_comms=T_COMMS,
        )

    def page(self) -> Page:
        sections = [] if self.pen.style.brief else [n for n in SECTIONS if self.derivation.section(n)]
        closing = "" if self.pen.style.brief else self.say.lines("closing")
        if self.pen.form == "text":
            closing = "\n".join(line for text in closing.split("\n") for line in fold(text, self.pen.style.width))
        return Page(self.say("title"), self.say("machine"), (self._answer(), *map(self._section, sections)), closing)

    def _answer(self) -> Grid:
        view, text = self.view, self.pen.form == "text"
        names = ["flops", "bytes", "intensity", "compute"]
        if view.ridge is not None and (view.over_network or text):
            names.insert(3, "ridge")
        parts = ("label", "cell", "near") if text or view.scaling else ("label", "cell")
        rows = [tuple(self.say(f"{part}_{name}") for part in parts) for name in names]
        rows += [tuple(self.say(f"{part}_point", p) for part in parts) for p in view.points if not p["same"]]
        return Grid(tuple(self.say(f"head_{part}") for part in parts), tuple(rows), ledger=True)

    def _section(self, name: str) -> Section:
        def say(part: str, step: Any) -> str:
            return self.say(step.reason.value, part, step)

        written = blocks(
            tuple(map(_in_units, self.derivation.section(name))), say, "\n" if self.pen.form == "text" else " "
        )
        points = [point for point in self.view.points if point["rows"]] if name == "time" else []
        tables = map(self._times, points)
        match written:
            case [Paragraph(text=lead), *below]:
                return Section(self.say("head", name), lead, (*below, *tables))
        return Section(self.say("head", name), "", (*written, *tables))

    def _times(self, point: dict[str, Any]) -> Grid:
        """The times at some sizes, with the side that bounds them."""
        head = [
            self.say("head_times", column, point) for column in ("size", "T_math", "T_comms", "lower", "upper", "by")
        ]
        return Grid(tuple(head), tuple(self._times_rows(point)), frozenset(range(self.pen.form == "text", 5)))

    def _times_rows(self, point: dict[str, Any]) -> Iterator[tuple[str, ...]]:
        rows, unit = point["rows"], unit_of_times(point["rows"])
        wide = max(len(str(row.size)) for row in rows)
        for row in rows:
            times = [self.pen.amount(time, unit.name) for time in shown_times(row, unit)]
            size, side = str(row.size), self.view.side(row)
            if self.pen.form == "text":
                yield f"{self.pen.inline(point['variable'])} = {size:>{wide}}", *times, side
            elif row.threshold:
                yield self.pen.strong(size), *times, self.pen.strong(side) if row.compute_bound else side
            else:
                yield size, *times, side


def _in_units(step: Step) -> Step:
    """A time in the unit that gives it digits before the point."""
    if step.section == "time" and step.reason is Reason.ROUNDED and isinstance(step.right, Number):
        return replace(step, right=Number(step.right.value, quantity(step.right.value, "s")))
    return step
