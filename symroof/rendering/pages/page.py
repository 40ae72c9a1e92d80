"""Pages of lines and tables, in each format: what explorations and comparisons are shown on."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symroof.algebra.rounding import decimal
from symroof.derivation.layout import Layout
from symroof.errors import RenderingError
from symroof.formula import Formula, Number, Quotient
from symroof.rendering.formulas.letters import Letters
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.formulas.tex import LatexPrinter
from symroof.rendering.pages.environment import guarded, load, render
from symroof.rendering.pages.pen import Chain, Pen
from symroof.rendering.pages.terminal import titled

NUMERALS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
PAGES = {"text": ("page.txt.j2", ""), "markdown": ("page.md.j2", "$"), "latex": ("page.tex.j2", "$")}


@dataclass(frozen=True, slots=True)
class Lines:
    """Sentences, each on a line of its own."""

    lines: tuple[str, ...]

    @property
    def text(self) -> list[str]:
        return list(self.lines)


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; ``right`` are the columns that are set to the right."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()

    @property
    def kept(self) -> Grid:
        """Without the columns that are empty."""
        places = [i for i in range(len(self.head)) if any(row[i] for row in self.rows)]
        rows = tuple(tuple(row[i] for i in places) for row in self.rows)
        return Grid(
            tuple(self.head[i] for i in places), rows, frozenset(j for j, i in enumerate(places) if i in self.right)
        )

    @property
    def text(self) -> list[str]:
        """The rows with their columns under one another."""
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows, strict=True)]

        def line(cells: tuple[str, ...]) -> str:
            return "  ".join(
                f"{c:>{w}}" if i in self.right else f"{c:<{w}}"
                for i, (c, w) in enumerate(zip(cells, widths, strict=True))
            ).rstrip()

        return [line(self.head), *map(line, self.rows)]


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    aside: str
    blocks: tuple[Lines | Grid, ...]


def pen_of(form: str, layout: Layout, link: str, *, unicode: bool = False) -> Pen:
    """The pen of a format."""
    if form not in PAGES:
        raise RenderingError(f"unknown format {form!r}", expected=f"one of {', '.join(PAGES)}, json")
    letters = Letters(frozenset(layout.order), link)
    printer = PlainPrinter(letters, unicode=unicode) if form == "text" else LatexPrinter(letters)
    return Pen(form, PAGES[form][1], printer, layout)


def numeral(count: int) -> str:
    """A small number in words.

    >>> numeral(7), numeral(23)
    ('seven', '23')
    """
    return NUMERALS[count] if count < len(NUMERALS) else str(count)


def in_decimals(formula: Formula) -> Formula:
    """A fraction of whole numbers as the decimals in which it is shown; any other formula as it is.

    >>> in_decimals(Quotient(Number(Fraction(9850)), Number(Fraction(41)))).digits
    '240.24'
    """
    if isinstance(formula, Quotient) and isinstance(formula.above, Number) and isinstance(formula.below, Number):
        text = decimal(formula.above.value / formula.below.value)
        return Number(Fraction(text), text)
    return formula


def words_of(pen: Pen, template: str | None, **names: Any) -> Any:
    """The sentences of explorations, set with a pen."""
    return load(
        "explore.j2",
        template,
        {
            "m": pen.inline,
            "code": pen.code,
            "words": pen.words,
            "pct": pen.percent_of,
            "chain": Chain,
            "form": pen.form,
            "numeral": numeral,
            **names,
        },
    )


def render_page(page: Page, pen: Pen, *, heading: int = 3, template: str | None = None, width: int = 96) -> str:
    """The page as text."""
    blocks = [block.kept if isinstance(block, Grid) else block for block in page.blocks]
    with guarded():
        names = {
            "title": page.title,
            "aside": page.aside,
            "blocks": blocks,
            "heading": heading,
            "code": pen.code,
            "words": pen.words,
            "cell": _cell(pen.form),
        }
        return (
            render(
                PAGES[pen.form][0], template, names | {"titled": lambda left, right: titled(left, right, width)}
            ).strip("\n")
            + "\n"
        )


def _cell(form: str) -> Any:
    """A cell of a table, with what would end it taken as itself."""
    return (lambda text: text.replace("|", r"\|")) if form == "markdown" else (lambda text: text)
