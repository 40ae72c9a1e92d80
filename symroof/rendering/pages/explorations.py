"""Regime maps, the regimes of an approximation, and comparisons as pages: for a terminal, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from textwrap import dedent

from sympy import Expr, oo

from symroof.algebra.rounding import decimal
from symroof.derivation.layout import with_digits
from symroof.derivation.meanings import in_ridge
from symroof.exploration.comparing import Comparison, OneChip, steps_at
from symroof.exploration.explore import Exploration, Weakest
from symroof.exploration.leading_parts import shares
from symroof.exploration.longest import LongestMap, LongestRow
from symroof.exploration.regime_map import RegimeMap
from symroof.formula import Both, Cases, Compare, Formula, Infinity, Name, Verdict
from symroof.rendering.pages.amounts import decimal_number, grouped, grouped_sizes, in_decimals, quantity, to_digits
from symroof.rendering.pages.environment import words
from symroof.rendering.pages.page import Grid, Lines, Page, render_page
from symroof.rendering.pages.typesetting import Pen, Sentences, Style, pen_of
from symroof.rendering.records.maps import comparison_csv

MAP = ("regime", "dominant", "leading", "bound", "equal")
LONGEST = ("regime", "longest", "tends")
COMPARED = ("chip", "dtype", "peak", "bandwidth", "ridge", "condition", "from", "limit")


def render_exploration(exploration: Exploration, form: str, style: Style) -> str:
    """The page of one map."""
    setting = exploration.found.setting
    style = style.of(setting.problem)
    return render_page(partial(_map, exploration), pen_of(form, setting.layout, setting.problem.link, style))


def render_inferred(inferred: Weakest, form: str, style: Style) -> str:
    """The regimes that an approximation needs: a fragment in every format."""

    def build(pen: Pen) -> Page:
        return Page("", "", (Lines(tuple(_sentences(pen).lines("inferred", inferred).split("\n"))),))

    style = replace(style, heading=0, lang=style.lang or inferred.lang)
    text = render_page(build, pen_of(form, inferred.layout, "HBM", style)).lstrip("\n")
    return dedent(text) if form == "text" else text


def render_comparison(comparison: Comparison, form: str, style: Style) -> str:
    """The table in a format; ``csv`` has one line for each row and exact numbers."""
    if form == "csv":
        return comparison_csv(comparison)
    setting = comparison.derivation.setting
    style = style.of(setting.problem)
    return render_page(partial(_comparison, comparison), pen_of(form, setting.layout, setting.problem.link, style))


def _map(exploration: Exploration, pen: Pen) -> Page:
    result, setting = exploration.found, exploration.found.setting
    if isinstance(result, LongestMap):
        return _longest(result, pen)
    symbols = [s.name for s in result.fan.symbols if s.name in setting.layout.order]
    say = _sentences(pen, found=result, ridge=setting.ridge, whole=len(shares(setting)), symbols=symbols)
    blocks: list[Grid | Lines] = [
        Lines(say.each("facts")),
        _grid(say, MAP, result.rows),
        Lines((say("complete"),)),
        *_leaders(result, say),
    ]
    if not pen.style.brief:
        blocks += _details(result, say)
    blocks += [Lines(say.each("place", place, place.over_ridge)) for place in exploration.places]
    title = pen.code(setting.problem.operation.title)
    return Page(title, pen.words(say("machine", setting)), tuple(blocks), landscape=True)


def _longest(found: LongestMap, pen: Pen) -> Page:
    """Which time is longest in each regime."""
    setting = found.setting
    symbols = [s.name for s in found.fan.symbols if s.name in setting.problem.names]
    say = _sentences(pen, found=found, ridge=setting.ridge, symbols=symbols, times_of=_times_of)
    blocks: list[Grid | Lines] = [
        Lines(say.each("times")),
        _grid(say, LONGEST, found.rows),
        Lines((say("bordered"), *say.each("rates"))),
    ]
    if found.never and not pen.style.brief:
        blocks.append(Lines(say.each("never")))
    title = pen.code(setting.problem.operation.title)
    return Page(title, pen.words(say("machine", setting)), tuple(blocks), landscape=True)


def _times_of(row: LongestRow) -> tuple[Name, ...]:
    """The times that are not negligible in a regime."""
    return tuple(time.name for time in row.times if time.label in row.longest)


def _leaders(found: RegimeMap, say: Sentences) -> Iterable[Grid]:
    """Which statements of a program most of its work and of its bytes are in: one row where that is so in all regimes."""
    if not any(row.statements for row in found.rows):
        return
    rows = [tuple(say("cell_leaders", row, whole) for whole in row.statements) for row in found.rows]
    regimes = [say("cell_regime", row) for row in found.rows]
    if len(set(rows)) == 1:
        rows, regimes = rows[:1], [say("any_sizes")]
    head = tuple(say("head", column) for column in ("regime", "work", "moves"))
    yield Grid(head, tuple((regime, *row) for regime, row in zip(regimes, rows, strict=True)))


def _details(found: RegimeMap, say: Sentences) -> Iterable[Grid]:
    """How far the leading forms are off, and what one size alone comes to."""
    if any(row.factor != 1 for row in found.rows):
        yield _grid(say, ("regime", "factor"), found.rows)
    if found.singles:
        yield _grid(say, ("alone", "rises", "possible"), found.singles)


def _comparison(comparison: Comparison, pen: Pen) -> Page:
    problem, answer = comparison.problem, comparison.derivation.answer
    say = _sentences(pen, link=problem.link, variable=Name(comparison.variable.name))
    points = [grouped_sizes(point.values, pen.layout) for point in answer.at]
    table = _grid(say, COMPARED, comparison.rows)
    timed = [i for i in range(len(points)) if any(_steps(row, i) for row in comparison.rows)]
    head = (*table.head, *(say("compared_at", point) for point in points), *(say("steps_at", points[i]) for i in timed))
    rows = [
        (*cells, *(say("cell_at", row, i) for i in range(len(points))), *(_steps(row, i) or "-" for i in timed))
        for cells, row in zip(table.rows, comparison.rows, strict=True)
    ]
    blocks = (
        Lines(say.each("common", problem)),
        Grid(head, tuple(rows), frozenset({4, 6}), keys=2),
        Lines(say.each("missing", comparison.rows)),
    )
    title = pen.words(problem.title) if problem.title else pen.code(problem.operation.title)
    return Page(title, "", blocks, landscape=True)


def _steps(row: OneChip, place: int) -> str:
    """T_steps at a set of sizes, with its unit; nothing where a size is open, or there are no steps."""
    steps = None if row.derivation is None else steps_at(row.derivation.answer.at[place])
    return "" if steps is None else quantity(steps, "s")


def _grid(say: Sentences, columns: tuple[str, ...], values: Iterable[object]) -> Grid:
    """A row for each value, a cell for each column, in the words of the templates."""
    rows = tuple(tuple(say(f"cell_{column}", value) for column in columns) for value in values)
    return Grid(tuple(say("head", column) for column in columns), rows)


def _sentences(pen: Pen, **names: object) -> Sentences:
    """The sentences of explorations, and what they ask for: formulas with the ridge in decimals, conditions in words."""

    def figured(formula: Formula, ridge: Fraction | None) -> Formula:
        return formula if ridge is None else with_digits(formula, {"ridge": decimal(ridge)})

    def shown(value: Expr, ridge: Fraction | None) -> Formula:
        return figured(pen.layout.write(in_ridge(value)), ridge)

    say: Sentences = pen.sentences(
        "explore.j2",
        words(pen.style.template, pen.style.language, "exploration"),
        oo=oo,
        infinity=Infinity(),
        shown=shown,
        value=lambda value, ridge: pen.inline(shown(value, ridge)),
        condition=lambda formula, ridge: in_words(formula and figured(formula, ridge), pen, say),
        joined=pen.condition,
        names=lambda names: tuple(map(Name, names)),
        share=lambda share, digits=3: pen.share(share, to_digits(share * 100, digits)),
        decimal=decimal_number,
        in_decimals=in_decimals,
        grouped=grouped,
        **names,
    )
    return say


def in_words(formula: Formula | None, pen: Pen, say: Sentences) -> str:
    """A condition on a machine in words and formulas."""
    match formula:
        case None:
            return ""
        case Verdict(holds=holds):
            return say("verdict", holds)
        case Cases(rows=rows):
            return say("cases", [say("guarded", *(in_words(part, pen, say) for part in row)) for row in rows])
        case Both(parts=parts):
            return say("both", [in_words(part, pen, say) for part in parts])
        case Compare(left=left, relation=relation, right=right):
            return pen.inline(left, relation, in_decimals(right))
    return pen.inline(formula)
