"""The page of a comparison: a problem on several chips or in several dtypes, in numbers at its sizes, else in formulas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from symroof.derivation.pipeline import Derivation
from symroof.formula import Name, Number, Quotient, number
from symroof.proof.check import checked
from symroof.proof.ledger import Ledger
from symroof.proof.step import Reason, Step
from symroof.rendering.pages.amounts import told_apart
from symroof.rendering.pages.derivation_view import View
from symroof.rendering.pages.document import Writer
from symroof.rendering.pages.page import Grid, Lines, Page, render_page
from symroof.rendering.pages.typesetting import Pen, Style, pen_of
from symroof.rendering.records.derivations import numbers_of


def render_contrast(derivations: Sequence[Derivation], names: Sequence[str], form: str, style: Style) -> str:
    """The table of several derivations, each under its name."""
    views = [View(derivation) for derivation in derivations]
    setting = derivations[0].setting
    pen = pen_of(form, setting.layout, setting.problem.link, style.of(setting.problem))
    ratios = ratios_of(views)
    return render_page(lambda pen: _page(views, names, pen, ratios), pen)


def numbers_at(view: View) -> dict[str, Fraction]:
    """The numbers of a problem at its sizes, by the names of quantities."""
    return numbers_of(view.points[0]["said"]) if len(view.points) == 1 else {}


def ratios_of(views: Sequence[View]) -> Mapping[str, Step]:
    """How many times the numbers of the first of two problems those of the second are: steps of their own."""
    if len(views) != 2:
        return {}
    first, second = map(numbers_at, views)
    shared = [name for name in first if first[name] and name in second]
    quotients = [(Quotient(Number(second[name]), Number(first[name])), second[name] / first[name]) for name in shared]
    steps = (Step("compare", Reason.VALUE, left, "=", Number(value)) for left, value in quotients)
    return dict(zip(shared, checked(steps, Ledger(frozenset())), strict=True))


def _page(views: Sequence[View], names: Sequence[str], pen: Pen, ratios: Mapping[str, Step]) -> Page:
    columns = [dict(_cells(view, pen)) for view in views]
    labels = {name: label for column in columns for name, (label, _) in column.items()}
    say = Writer(views[0], pen).sized.say
    head = (say("head", "name"), *map(pen.words, names), *([say("head", "ratio")] if ratios else []))
    rows = tuple(
        (
            label,
            *(column.get(name, ("", ""))[1] for column in columns),
            *([_times(ratios.get(name), pen)] if ratios else []),
        )
        for name, label in labels.items()
    )
    about = [_about(view, pen) for view in views]
    if len({(operation, *sizes) for operation, _, *sizes in about}) == 1:  # one problem on several chips
        operation, chip, *sizes = about[0]
        lines: tuple[str, ...] = ("; ".join(filter(None, (operation, chip if chip == about[-1][1] else "", *sizes))),)
    else:
        said = zip(names, ("; ".join(filter(None, parts)) for parts in about), strict=True)
        lines = tuple(f"{pen.words(name)}: {parts}" for name, parts in said if parts)
    table = Grid(head, rows, frozenset(range(1, len(head))))
    return Page(
        say("side_by_side"), "", (Lines(lines), table, Lines(tuple(_too_large(views, names, pen)))), landscape=True
    )


def _too_large(views: Sequence[View], names: Sequence[str], pen: Pen) -> Iterator[str]:
    """Which chips do not hold the problem, each with how many of them do."""
    for name, view in zip(names, views, strict=True):
        held = [Writer(view, pen).sized.held(point["said"]) for point in view.points if point["said"].held is False]
        yield from (f"{pen.words(name)}: {words}" for words in held)


def _about(view: View, pen: Pen) -> tuple[str, ...]:
    """What a column is about: what the problem is called, or its operation; the chip, the numbers of chips and the sizes."""
    writer, title = Writer(view, pen), view.problem.title
    axes = [pen.inline(Name(axis.name), "=", number(axis.chips)) for axis in view.problem.mesh.values() if axis.chips]
    sizes = [writer.sized.say("sizes", point) for point in view.points]
    chip = "" if view.chip is None else pen.words(view.chip.title)
    return pen.words(title) if title else pen.code(view.operation.title), chip, *axes, *sizes


def _cells(view: View, pen: Pen) -> Iterator[tuple[str, tuple[str, str]]]:
    """The label and the number of each quantity, its formula where it is none."""
    sized = Writer(view, pen).sized
    point = view.points[0] if len(view.points) == 1 else None
    numbers = numbers_at(view)
    names = [part for name in sized.names() for part in ((name, "ridge") if name == "intensity" else (name,))]
    for name in (*names, *view.problem.let):
        if name in view.problem.let:
            if name in numbers:
                yield name, (pen.code(name), sized.named(name, numbers[name]))
            continue
        shown = sized.number(numbers[name], name) if name in numbers and point is not None else sized.formula(name)
        if shown and numbers.get(name) != 0:
            yield name, (sized.label(name), shown)


def _times(step: Step | None, pen: Pen) -> str:
    if step is None:
        return ""
    digits = told_apart(step.value, Fraction(1), 3)
    return pen.inline(Number(Fraction(digits), digits))
