"""The pages of regime maps, of the regimes of an approximation, and of comparisons of chips and dtypes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from textwrap import dedent

from sympy import Expr, oo

from symroof.algebra.rounding import decimal
from symroof.derivation.formula_writing import with_digits
from symroof.derivation.pipeline import Derivation
from symroof.derivation.quantity_definitions import in_ridge
from symroof.exploration.comparison import Comparison, OneChip, steps_at
from symroof.exploration.regime_map import RegimeMap
from symroof.exploration.regime_steps import shares
from symroof.exploration.regimes import Exploration, TimeRegime, TimeRegimes, Weakest
from symroof.formula import Both, Cases, Compare, Formula, Infinity, Name, Number, Quotient, Verdict, number
from symroof.proof.check import establish
from symroof.proof.step import Ledger, Reason, Step
from symroof.rendering.pages.derivation_page import Writer
from symroof.rendering.pages.derivation_view import View
from symroof.rendering.pages.number_formats import (
    decimal_number,
    distinct_digits,
    group,
    grouped_sizes,
    in_decimals,
    quantity,
    to_digits,
)
from symroof.rendering.pages.page import Grid, Lines, Page, render_page
from symroof.rendering.pages.templating import words
from symroof.rendering.pages.typesetting import Sentences, Style, Typesetter, typesetter_of
from symroof.rendering.records.derivations import numbers_of
from symroof.rendering.records.maps import comparison_csv

MAP = ("regime", "dominant", "leading", "bound", "equal")
LONGEST = ("regime", "longest", "tends")
COMPARED = ("chip", "dtype", "peak", "bandwidth", "ridge", "condition", "from", "limit")


def render_exploration(exploration: Exploration, form: str, style: Style) -> str:
    """The page of one map."""
    setting = exploration.regimes.setting
    style = style.of(setting.problem)
    return render_page(partial(_map, exploration), typesetter_of(form, setting.layout, setting.problem.link, style))


def render_inferred(inferred: Weakest, form: str, style: Style) -> str:
    """The regimes that an approximation needs: a fragment in every format."""

    def build(typesetter: Typesetter) -> Page:
        return Page("", "", (Lines(tuple(_sentences(typesetter).lines("inferred", inferred).split("\n"))),))

    style = replace(style, heading=0, lang=style.lang or inferred.lang)
    text = render_page(build, typesetter_of(form, inferred.layout, "HBM", style)).lstrip("\n")
    return dedent(text) if form == "text" else text


def render_comparison(comparison: Comparison, form: str, style: Style) -> str:
    """The table in a format; ``csv`` has one line for each row and exact numbers."""
    if form == "csv":
        return comparison_csv(comparison)
    setting = comparison.derivation.setting
    style = style.of(setting.problem)
    return render_page(
        partial(_comparison, comparison), typesetter_of(form, setting.layout, setting.problem.link, style)
    )


def _map(exploration: Exploration, typesetter: Typesetter) -> Page:
    result, setting = exploration.regimes, exploration.regimes.setting
    if isinstance(result, TimeRegimes):
        return _longest(result, typesetter)
    symbols = [s.name for s in result.fan.symbols if s.name in setting.layout.order]
    say = _sentences(typesetter, regimes=result, ridge=setting.ridge, whole=len(shares(setting)), symbols=symbols)
    blocks: list[Grid | Lines] = [
        Lines(say.each("facts")),
        _grid(say, MAP, result.rows),
        Lines((say("complete"),)),
        *_leaders(result, say),
    ]
    if not typesetter.style.brief:
        blocks += _details(result, say)
    blocks += [Lines(say.each("place", place, place.over_ridge)) for place in exploration.places]
    title = typesetter.code(setting.problem.operation.title)
    return Page(title, typesetter.words(say("machine", setting)), tuple(blocks), landscape=True)


def _longest(found: TimeRegimes, typesetter: Typesetter) -> Page:
    """Which time is longest in each regime."""
    setting = found.setting
    symbols = [s.name for s in found.fan.symbols if s.name in setting.problem.names]
    say = _sentences(typesetter, regimes=found, ridge=setting.ridge, symbols=symbols, times_of=_times_of)
    blocks: list[Grid | Lines] = [
        Lines(say.each("times")),
        _grid(say, LONGEST, found.rows),
        Lines((say("bordered"), *say.each("rates"))),
    ]
    if found.never and not typesetter.style.brief:
        blocks.append(Lines(say.each("never")))
    title = typesetter.code(setting.problem.operation.title)
    return Page(title, typesetter.words(say("machine", setting)), tuple(blocks), landscape=True)


def _times_of(row: TimeRegime) -> tuple[Name, ...]:
    """The times that are not negligible in a regime."""
    return tuple(time.name for time in row.times if time.label in row.longest)


def _leaders(regime_map: RegimeMap, say: Sentences) -> Iterable[Grid]:
    """Which statements of a program most of its work and of its bytes are in: one row where that is so in all regimes."""
    if not any(row.statements for row in regime_map.rows):
        return
    rows = [tuple(say("cell_leaders", row, whole) for whole in row.statements) for row in regime_map.rows]
    regimes = [say("cell_regime", row) for row in regime_map.rows]
    if len(set(rows)) == 1:
        rows, regimes = rows[:1], [say("any_sizes")]
    head = tuple(say("head", column) for column in ("regime", "work", "moves"))
    yield Grid(head, tuple((regime, *row) for regime, row in zip(regimes, rows, strict=True)))


def _details(regime_map: RegimeMap, say: Sentences) -> Iterable[Grid]:
    """How far the leading forms are off, and what one size alone comes to."""
    if any(row.factor != 1 for row in regime_map.rows):
        yield _grid(say, ("regime", "factor"), regime_map.rows)
    if regime_map.singles:
        yield _grid(say, ("alone", "rises", "possible"), regime_map.singles)


def _comparison(comparison: Comparison, typesetter: Typesetter) -> Page:
    problem, answer = comparison.problem, comparison.derivation.answer
    say = _sentences(typesetter, link=problem.link, variable=Name(comparison.variable.name))
    points = [grouped_sizes(point.values, typesetter.layout) for point in answer.at]
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
    title = typesetter.words(problem.title) if problem.title else typesetter.code(problem.operation.title)
    return Page(title, "", blocks, landscape=True)


def _steps(row: OneChip, place: int) -> str:
    """T_steps at a set of sizes, with its unit; nothing where a size is open, or there are no steps."""
    steps = None if row.derivation is None else steps_at(row.derivation.answer.at[place])
    return "" if steps is None else quantity(steps, "s")


def _grid(say: Sentences, columns: tuple[str, ...], values: Iterable[object]) -> Grid:
    """A row for each value, a cell for each column, in the words of the templates."""
    rows = tuple(tuple(say(f"cell_{column}", value) for column in columns) for value in values)
    return Grid(tuple(say("head", column) for column in columns), rows)


def _sentences(typesetter: Typesetter, **names: object) -> Sentences:
    """The sentences of explorations, and what they ask for: formulas with the ridge in decimals, conditions in words."""

    def figured(formula: Formula, ridge: Fraction | None) -> Formula:
        return formula if ridge is None else with_digits(formula, {"ridge": decimal(ridge)})

    def shown(value: Expr, ridge: Fraction | None) -> Formula:
        return figured(typesetter.layout.write(in_ridge(value)), ridge)

    say: Sentences = typesetter.sentences(
        "explore.j2",
        words(typesetter.style.template, typesetter.style.language, "exploration"),
        oo=oo,
        infinity=Infinity(),
        shown=shown,
        value=lambda value, ridge: typesetter.inline(shown(value, ridge)),
        condition=lambda formula, ridge: in_words(formula and figured(formula, ridge), typesetter, say),
        joined=typesetter.condition,
        names=lambda names: tuple(map(Name, names)),
        share=lambda share, digits=3: typesetter.share(share, to_digits(share * 100, digits)),
        decimal=decimal_number,
        in_decimals=in_decimals,
        grouped=group,
        **names,
    )
    return say


def in_words(formula: Formula | None, typesetter: Typesetter, say: Sentences) -> str:
    """A condition on a machine in words and formulas."""
    match formula:
        case None:
            return ""
        case Verdict(holds=holds):
            return say("verdict", holds)
        case Cases(rows=rows):
            return say("cases", [say("guarded", *(in_words(part, typesetter, say) for part in row)) for row in rows])
        case Both(parts=parts):
            return say("both", [in_words(part, typesetter, say) for part in parts])
        case Compare(left=left, relation=relation, right=right):
            return typesetter.inline(left, relation, in_decimals(right))
    return typesetter.inline(formula)


def render_contrast(derivations: Sequence[Derivation], names: Sequence[str], form: str, style: Style) -> str:
    """The table of several derivations, each under its name."""
    views = [View(derivation) for derivation in derivations]
    setting = derivations[0].setting
    typesetter = typesetter_of(form, setting.layout, setting.problem.link, style.of(setting.problem))
    ratios = ratios_of(views)
    return render_page(lambda typesetter: _page(views, names, typesetter, ratios), typesetter)


def numbers_at(view: View) -> dict[str, Fraction]:
    """The numbers of a problem at its sizes, by the names of quantities."""
    return numbers_of(view.points[0]["answer"]) if len(view.points) == 1 else {}


def ratios_of(views: Sequence[View]) -> Mapping[str, Step]:
    """How many times the numbers of the first of two problems those of the second are: steps of their own."""
    if len(views) != 2:
        return {}
    first, second = map(numbers_at, views)
    shared = [name for name in first if first[name] and name in second]
    quotients = [(Quotient(Number(second[name]), Number(first[name])), second[name] / first[name]) for name in shared]
    steps = (Step("compare", Reason.VALUE, left, "=", Number(value)) for left, value in quotients)
    return dict(zip(shared, establish(steps, Ledger(frozenset())), strict=True))


def _page(views: Sequence[View], names: Sequence[str], typesetter: Typesetter, ratios: Mapping[str, Step]) -> Page:
    columns = [dict(_cells(view, typesetter)) for view in views]
    labels = {name: label for column in columns for name, (label, _) in column.items()}
    say = Writer(views[0], typesetter).sized.say
    head = (say("head", "name"), *map(typesetter.words, names), *([say("head", "ratio")] if ratios else []))
    rows = tuple(
        (
            label,
            *(column.get(name, ("", ""))[1] for column in columns),
            *([_times(ratios.get(name), typesetter)] if ratios else []),
        )
        for name, label in labels.items()
    )
    about = [_about(view, typesetter) for view in views]
    if len({(operation, *sizes) for operation, _, *sizes in about}) == 1:  # one problem on several chips
        operation, chip, *sizes = about[0]
        lines: tuple[str, ...] = ("; ".join(filter(None, (operation, chip if chip == about[-1][1] else "", *sizes))),)
    else:
        remarks = zip(names, ("; ".join(filter(None, parts)) for parts in about), strict=True)
        lines = tuple(f"{typesetter.words(name)}: {parts}" for name, parts in remarks if parts)
    table = Grid(head, rows, frozenset(range(1, len(head))))
    return Page(
        say("side_by_side"),
        "",
        (Lines(lines), table, Lines(tuple(_too_large(views, names, typesetter)))),
        landscape=True,
    )


def _too_large(views: Sequence[View], names: Sequence[str], typesetter: Typesetter) -> Iterator[str]:
    """Which chips do not hold the problem, each with how many of them do."""
    for name, view in zip(names, views, strict=True):
        tables = Writer(view, typesetter).sized
        held = [tables.held(point["answer"]) for point in view.points if point["answer"].held is False]
        yield from (f"{typesetter.words(name)}: {words}" for words in held)


def _about(view: View, typesetter: Typesetter) -> tuple[str, ...]:
    """What a column is about: what the problem is called, or its operation; the chip, the numbers of chips and the sizes."""
    writer, title = Writer(view, typesetter), view.problem.title
    meshes = [axis for axis in view.problem.mesh.values() if axis.chips]
    axes = [typesetter.inline(Name(axis.name), "=", number(axis.chips)) for axis in meshes]
    sizes = [writer.sized.say("sizes", point) for point in view.points]
    chip = "" if view.chip is None else typesetter.words(view.chip.title)
    return typesetter.words(title) if title else typesetter.code(view.operation.title), chip, *axes, *sizes


def _cells(view: View, typesetter: Typesetter) -> Iterator[tuple[str, tuple[str, str]]]:
    """The label and the number of each quantity, its formula where it is none."""
    sized = Writer(view, typesetter).sized
    point = view.points[0] if len(view.points) == 1 else None
    numbers = numbers_at(view)
    names = [part for name in sized.names() for part in ((name, "ridge") if name == "intensity" else (name,))]
    for name in (*names, *view.problem.let):
        if name in view.problem.let:
            if name in numbers:
                yield name, (typesetter.code(name), sized.named_amount(name, numbers[name]))
            continue
        shown = sized.number(numbers[name], name) if name in numbers and point is not None else sized.formula(name)
        if shown and numbers.get(name) != 0:
            yield name, (sized.label(name), shown)


def _times(step: Step | None, typesetter: Typesetter) -> str:
    if step is None:
        return ""
    digits = distinct_digits(step.value, Fraction(1), 3)
    return typesetter.inline(Number(Fraction(digits), digits))
