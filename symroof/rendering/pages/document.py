"""A derivation as Markdown, LaTeX or terminal text: printers and templates put together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symroof.derivation.derivation import Derivation
from symroof.derivation.draft import Draft
from symroof.errors import RenderingError
from symroof.formula import Name, Quotient, number
from symroof.model.problem import SECTIONS
from symroof.rendering.formulas.letters import Letters
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.formulas.tex import LatexPrinter
from symroof.rendering.pages.blocks import Block, Row, blocks
from symroof.rendering.pages.environment import guarded, load, render
from symroof.rendering.pages.pen import Chain, Pen
from symroof.rendering.pages.terminal import columns, layout, timetable, titled
from symroof.rendering.pages.view import View, decimal_number, merged_regime


@dataclass(frozen=True, slots=True)
class Format:
    """A format is a page template, a template of sentences, and a printer; inline mathematics stands between marks."""

    page: str
    prose: str
    mark: str


FORMATS = {
    "markdown": Format("derivation.md.j2", "prose.j2", "$"),
    "latex": Format("derivation.tex.j2", "prose.j2", "$"),
    "text": Format("derivation.txt.j2", "terse.j2", ""),
}


def render_derivation(
    derivation: Derivation,
    form: str,
    *,
    brief: bool = False,
    heading: int = 3,
    template: str | None = None,
    width: int = 96,
    unicode: bool = True,
) -> str:
    """The page. ``heading`` is the level of the title, 0 for none; a LaTeX page without a title is a fragment."""
    if form not in FORMATS:
        raise RenderingError(f"unknown format {form!r}", expected=f"one of {', '.join(FORMATS)}, json")
    chosen = FORMATS[form]
    letters = Letters(frozenset(derivation.setting.problem.operation.dimensions), derivation.setting.problem.link)
    printer = PlainPrinter(letters, unicode=unicode) if form == "text" else LatexPrinter(letters)
    scribe = _Scribe(form, chosen.mark, printer, derivation.setting.layout, derivation, width)
    names = scribe.names()
    with guarded():
        names["p"] = prose = load(chosen.prose, template, names)
        sections = [_section(scribe, prose, name) for name in SECTIONS if derivation.section(name)]
        page = {"brief": brief, "heading": heading, "answer": _answer(scribe, prose), "sections": sections}
        return render(chosen.page, template, names | page).strip("\n") + "\n"


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    head: str
    lead: str
    blocks: list[Block]
    tables: list[dict[str, Any]]


def _section(scribe: _Scribe, prose: Any, name: str) -> _Section:
    def say(part: str, step: Any) -> str:
        return _line(getattr(prose, step.reason.value)(part, step))

    found = blocks(scribe.derivation.section(name), say, "\n" if scribe.form == "text" else " ")
    lead = found.pop(0).prose if found and found[0].prose else ""
    tables = [point for point in scribe.view.points if point["rows"]] if name == "time" else []
    return _Section(name, _line(prose.head(name)), lead, found, tables)


def _answer(scribe: _Scribe, prose: Any) -> list[dict[str, Any]]:
    view = scribe.view
    rows = ["flops", "bytes", "intensity"]
    if view.ridge is not None and (view.over_network or scribe.form == "text"):
        rows.append("ridge")
    table: list[dict[str, Any]] = [
        {
            part: _line(getattr(prose, f"{macro}_{row}")())
            for part, macro in (("label", "label"), ("exact", "cell"), ("near", "near"))
        }
        for row in (*rows, "compute")
    ]
    for point in (point for point in view.points if not point["same"]):
        table.append(
            {
                part: _line(getattr(prose, f"{macro}_point")(point))
                for part, macro in (("label", "label"), ("exact", "cell"), ("near", "near"))
            }
        )
    for row in table:
        row["lines"] = [(row["exact"], row["near"])]
    return table


def _line(text: Any) -> str:
    """What a macro says, on one line."""
    return " ".join(str(text).split())


@dataclass(frozen=True, slots=True)
class _Scribe(Pen):
    """The pen of one derivation."""

    derivation: Derivation
    width: int

    @property
    def view(self) -> View:
        return View(self.derivation)

    def names(self) -> dict[str, Any]:
        view = self.view
        draft = Draft(self.derivation.setting, (), self.derivation.answer)
        return {
            "d": view,
            "m": self.inline,
            "plain": self.printer.print,
            "code": self.code,
            "words": self.words,
            "each": self.each,
            "run_in": run_in,
            "number": lambda value: str(value),
            "pct": self.percent_of,
            "percent": lambda share: self.percent_of(Fraction(share) * 100),
            "chain": Chain,
            "relations": merged_regime,
            "figure": lambda name: draft.in_digits(Name(name)),
            "over_one": lambda formula: Quotient(number(1), formula),
            "shown": decimal_number,
            "display": self.display,
            "micro": self.micro,
            "titled": lambda left, right: titled(left, _line(right), self.width),
            "columns": lambda label, exact, near: columns(label, exact, near, self.width),
            "layout": lambda head, lead, found: layout(head, lead, found, self.printer, self.width),  # type: ignore[arg-type]
            "timetable": self.timetable,
            "intensity": Name("intensity"),
            "ridge_": Name("ridge"),
            "peak": Name("peak"),
            "bandwidth": Name("bandwidth"),
            "t_math": Name("T_math"),
            "t_comms": Name("T_comms"),
        }

    def display(self, rows: list[Row]) -> str:
        """The body of a display: one line, or rows aligned at their relations."""
        printer = self.printer
        lines = []
        for row in rows:
            mark = "" if len(rows) == 1 and not row.aside else "&"
            text = printer.print(row.left) if row.left is not None else ""
            for i, (relation, right) in enumerate(row.parts):
                text += f" {'' if i else mark}{printer.relation(relation)} {printer.print(right)}"
            text = text.strip() + (rf" \text{{ {row.unit}}}" if row.unit else "")
            if row.aside:
                text += f" && {_words(row.aside)}"
            lines.append(re.sub(r" +\n", "\n", text))
        if len(lines) == 1 and not rows[0].aside:
            return lines[0]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def timetable(self, point: dict[str, Any]) -> list[str]:
        printer = self.printer
        assert isinstance(printer, PlainPrinter)
        heading = (
            ""
            if point["fixed"]
            else ", ".join(
                " = ".join((*map(printer.print, names), printer.print(value))) for names, value in point["where"]
            )
        )
        unit = self.micro(point["unit"])
        ends = [self.view.side(row) for row in point["rows"]]
        return list(timetable(heading, printer.print(point["variable"]), point["rows"], unit, ends))


def run_in(head: str) -> str:
    """A bold head, with mathematics outside of the bold.

    >>> run_in("Solve for $B$.")
    '**Solve for** $B$**.**'
    """
    return re.sub(r" (\$[^$]*\$)", r"** \1**", f"**{head}**")


def _words(aside: str) -> str:
    r"""Words inside a display, with the mathematics among them outside of the words.

    >>> _words(r"as $N \to \infty$")
    '\\text{as }N \\to \\infty'
    """
    parts = aside.split("$")
    return "".join((rf"\text{{{part}}}" if i % 2 == 0 else part) for i, part in enumerate(parts) if part)
