"""Comparisons as tables: chips and dtypes side by side."""

from __future__ import annotations

from collections.abc import Iterable

from sympy import oo

from symroof.exploration.comparing import Compared, Comparison
from symroof.formula import Infinity, Name
from symroof.model.problem import Problem
from symroof.rendering.formulas.chains import condition
from symroof.rendering.formulas.decimals import decimal
from symroof.rendering.pages.amounts import grouped
from symroof.rendering.pages.page import Grid, Lines, Page, render_page
from symroof.rendering.pages.pen import Pen, Sentences, Style, pen_of
from symroof.rendering.pages.regime_maps import Explainer
from symroof.rendering.records.compared import comparison_csv

HEAD = ("chip", "dtype", "peak", "bandwidth", "ridge", "condition", "from", "limit")


def render_comparison(comparison: Comparison, form: str, style: Style | None = None) -> str:
    """The table in a format; ``csv`` has one line for each row and exact numbers."""
    if form == "csv":
        return comparison_csv(comparison)
    setting = comparison.derivation.setting
    pen = pen_of(form, setting.layout, setting.problem.link, style)
    return render_page(lambda pen: _page(comparison, pen), pen)


def _page(comparison: Comparison, pen: Pen) -> Page:
    problem, variable = comparison.problem, Name(comparison.variable.name)
    say = pen.sentences("explore.j2", link=problem.link, variable=variable, infinity=Infinity())
    points = [
        grouped((Name(name), pen.layout.write(x)) for name, x in point.values.items())
        for point in comparison.derivation.answer.at
    ]
    head = (*(say("compared_head", name) for name in HEAD), *(say("compared_at", point) for point in points))
    rows = tuple(
        _row(row, Explainer(pen, say, row.derivation.answer.ridge if row.derivation else None), len(points))
        for row in comparison.rows
    )
    missing = tuple(
        say("missing", r.chip.title, str(r.dtype or ""), r.error.problem) for r in comparison.rows if r.error
    )
    blocks = (Lines(tuple(_assumed(problem, pen, say))), Grid(head, rows, frozenset({4, 6}), keys=2), Lines(missing))
    shown = tuple(block for block in blocks if isinstance(block, Grid) or block.lines)
    return Page(pen.code(str(problem.operation)), "", shown, landscape=True)


def _assumed(problem: Problem, pen: Pen, say: Sentences) -> Iterable[str]:
    """What holds for every row: the regime, the mesh, and a count that is not the usual one."""
    if problem.assume:
        yield say("assuming", condition(problem.assume, pen))
    if problem.mesh:
        yield say("mesh", [f"{axis} = {size}" for axis, size in problem.mesh.items()])
    if problem.count == "exact":
        yield say("exact_count")
    if problem.compute is not None:
        yield say("computed_in", str(problem.compute))


def _row(row: Compared, explainer: Explainer, points: int) -> tuple[str, ...]:
    pen, say = explainer.pen, explainer.say
    names = pen.words(row.chip.title), "" if row.dtype is None else row.dtype.name
    if row.derivation is None:
        return (*names, *["-"] * (len(HEAD) - len(names) + points))
    setting, answer = row.derivation.setting, row.derivation.answer
    limit = Infinity() if row.limit == oo else None if row.limit is None else pen.layout.write(row.limit)
    return (
        *names,
        setting.peak.digits if setting.peak else "",
        setting.bandwidth.digits if setting.bandwidth else "",
        "" if answer.ridge is None else decimal(answer.ridge),
        explainer.condition(row.conditions[0].right),
        "" if answer.smallest_integer is None else str(answer.smallest_integer),
        "oo" if limit is None else pen.inline(limit),
        *(
            explainer.condition(formula) + ("" if first is None else f", {say('first', first)}")
            for formula, first in row.at
        ),
    )
