"""The page: paragraphs, lines, displays and tables, laid out in each format; a formula that is too broad goes over lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from math import ceil, inf
from typing import ClassVar, TypeAlias
from unicodedata import east_asian_width

from symroof.formula import Frozen
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.formulas.tex import FoldingPrinter, LatexPrinter, breadth, rows_of, text_size_cell
from symroof.rendering.pages.dialects import FORMATS, Dialect
from symroof.rendering.pages.section_displays import Code, Display, Paragraph, Row
from symroof.rendering.pages.templating import render, template_errors
from symroof.rendering.pages.terminal import GAP, display, fold, ledger, table, title_line
from symroof.rendering.pages.typesetting import Typesetter

BOLD = "\x1b[1m", "\x1b[0m"
# From how many sheets on formulas go over lines.
FOLDED = 1.2
Block: TypeAlias = "Paragraph | Lines | Code | Display | Grid"
# What fits on paper in capitals, and on a phone; to how much of its room a broken formula is set, and the least of that.
PAPER, PHONE, BROKEN, LEAST = 64, 60, 0.75, 20


class Lines(Frozen):
    """Sentences, each on a line of its own."""

    kind: ClassVar[str] = "lines"
    lines: tuple[str, ...]


class Grid(Frozen):
    """A table; ``right`` are the columns that are set to the right, the first ``keys`` say what a row is about; on a
    terminal a ``ledger`` is labels, values and remarks."""

    kind: ClassVar[str] = "grid"
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()
    keys: int = 1
    ledger: bool = False

    @property
    def tall(self) -> bool:
        """Whether a cell has a fraction of the size of the text."""
        return any(r"\dfrac" in cell for row in self.rows for cell in row)

    @property
    def filled(self) -> Grid:
        """Without the columns that are empty."""
        places = [i for i in range(len(self.head)) if any(row[i] for row in self.rows)]
        rows = tuple(tuple(row[i] for i in places) for row in self.rows)
        right = frozenset(j for j, i in enumerate(places) if i in self.right)
        keys = sum(i < self.keys for i in places)
        return Grid(tuple(self.head[i] for i in places), rows, right, keys, self.ledger)


def merged_rows(rows: Iterable[tuple[str, ...]], together: Callable[[list[str]], str]) -> tuple[tuple[str, ...], ...]:
    """Rows of which the first cell is a name, those that are alike otherwise as one.

    >>> merged_rows([("h", "2BDF"), ("y", "BF"), ("dx", "2BDF")], ", ".join)
    (('h, dx', '2BDF'), ('y', 'BF'))
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, *cells in rows:
        groups.setdefault(tuple(cells), []).append(name)
    return tuple((together(names), *cells) for cells, names in groups.items())


class Section(Frozen):
    """A head that runs into the prose below it."""

    head: str
    blocks: tuple[Block, ...]


class Page(Frozen):
    """``title`` and ``aside`` are set already; ``landscape`` is how a sheet of paper lies."""

    title: str
    aside: str
    blocks: tuple[Block | Section, ...]
    closing: str = ""
    landscape: bool = False


def render_page(build: Callable[[Typesetter], Page], typesetter: Typesetter, **names: object) -> str:
    """The page that ``build`` makes with a typesetter, as text; ``names`` are what a template of one's own may ask for besides.

    Where a formula is broader than a sheet of paper, sizes with long names are given letters, and the page says which;
    where that does not help, formulas in lines of prose and in tables go over lines as well.
    """
    with template_errors(typesetter.style.template):
        page = build(typesetter)
        if typesetter.form != "text" and typesetter.lettered != typesetter and _excess(page, typesetter) > 1:
            typesetter = typesetter.lettered
            page = build(typesetter)
        if typesetter.form != "text" and _excess(page, typesetter) > FOLDED:
            typesetter = typesetter.folded
            page = build(typesetter)
        breaks = typesetter.inner is not None
        variables = {
            "page": _around(page, typesetter),
            "typesetter": typesetter,
            "blocks": list(_in_text(page, typesetter) if typesetter.form == "text" else _on_a_sheet(page, typesetter)),
            "titled": lambda: _strong(title_line(page.title, page.aside, typesetter.style.width), typesetter),
            "display": lambda rows: aligned(rows, typesetter, SHEET),
            "displayed": _numbered(typesetter),
            "sheets": lambda grid: sheets(grid, _room(page), breaks),
            "columns": lambda grid: columns(grid, _room(page), breaks),
        }
        style = typesetter.style
        text = (
            render(FORMATS[typesetter.form].page, style.template, style.language, variables | names).strip("\n") + "\n"
        )
    return typesetter.dialect.finished(text)


def _on_a_sheet(page: Page, typesetter: Typesetter) -> Iterator[Block]:
    """The blocks one after the other: heads run into the prose, and nothing is empty."""
    for block in page.blocks:
        blocks: tuple[Block, ...] = (block,) if not isinstance(block, Section) else block.blocks
        if isinstance(block, Section):
            lead = blocks[0].text if isinstance(blocks[0], Paragraph) else ""
            latex = typesetter.form == "latex"
            head = rf"\paragraph{{{block.head}}}" if latex else run_in(block.head, typesetter.dialect)
            blocks = (Paragraph(f"{head} {lead}".strip()), *(blocks[1:] if lead else blocks))
        yield from (_set(inner, typesetter) for inner in blocks if inner != Lines(()))


def _set(block: Block, typesetter: Typesetter) -> Block:
    """A block as it stands on a sheet: every line of it is set, and no column is empty."""
    match block:
        case Paragraph(text=text):
            return Paragraph(typesetter.line(text))
        case Lines(lines=lines):
            return Lines(tuple(map(typesetter.line, lines)))
        case Code(lines=lines) if typesetter.form == "latex":
            return Code(tuple(typesetter.code(line).replace(" ", "~") for line in lines))
        case Grid():
            rows = tuple(tuple(map(typesetter.line, row)) for row in block.rows)
            grid = replace(block, head=tuple(map(typesetter.line, block.head)), rows=rows).filled
            fits = sum(breadths_of(grid)) <= SHEET
            return replace(grid, rows=tuple(tuple(map(text_size_cell, row)) for row in grid.rows)) if fits else grid
    return block


def _around(page: Page, typesetter: Typesetter) -> Page:
    """The page with what stands around its blocks as a terminal or a sheet has it."""
    if typesetter.form == "text":
        return replace(
            page,
            closing="\n".join(line for text in page.closing.split("\n") for line in fold(text, typesetter.style.width)),
        )
    title, aside, closing = map(typesetter.line, (page.title, page.aside, page.closing))
    return replace(page, title=title, aside=aside, closing=closing)


def _excess(page: Page, typesetter: Typesetter) -> float:
    """The broadest line of a display or row of a table, in sheets."""
    widest = 0.0
    for block in _on_a_sheet(page, typesetter):
        if isinstance(block, Display):
            widest = max(widest, *map(breadth, aligned(block.rows, typesetter).split("\n")))
        elif isinstance(block, Grid):
            widest = max(widest, sum(max(map(breadth, cells)) + 1 for cells in zip(*block.rows, strict=True)))
    return widest / _room(page)


def _room(page: Page) -> float:
    """What fits beside one another on the sheet that a page has."""
    return SHEET * 3 / 2 if page.landscape else SHEET


def _in_text(page: Page, typesetter: Typesetter) -> Iterator[list[str]]:
    """The lines of each block, those of a section below its head, where a table stands apart."""
    for block in page.blocks:
        if not isinstance(block, Section):
            yield _indented(block, typesetter)
            continue
        lines = [_strong(block.head, typesetter)]
        for inner in block.blocks:
            apart = isinstance(inner, Grid)
            rows = _indented(inner, typesetter, 2 * GAP if apart else GAP)
            lines += ["", *rows, ""] if apart else rows
        yield [line for i, line in enumerate(lines) if line or (any(lines[i:]) and lines[i - 1])]


def _indented(block: Block, typesetter: Typesetter, margin: str = GAP) -> list[str]:
    return [(margin + line).rstrip() for line in _plain_lines(block, typesetter, typesetter.style.width - len(margin))]


def _plain_lines(block: Block, typesetter: Typesetter, width: int) -> list[str]:
    """The lines of a block."""
    assert isinstance(typesetter.printer, PlainPrinter)
    match block:
        case Display(rows=rows):
            return display(rows, typesetter.printer, width)
        case Grid(ledger=True):
            return list(ledger(block.head, block.rows, width, typesetter.style.words.colon))
        case Grid():
            grid = block.filled
            return table(grid.head, grid.rows, grid.right, grid.keys, width, typesetter.style.words.colon)
        case Paragraph(text=text):
            return [line for sentence in text.split("\n") for line in fold(sentence, width)]
        case Code(lines=lines):
            margins = [line[: len(line) - len(line.lstrip())] for line in lines]
            parts = zip(margins, lines, strict=True)
            return [m + part for m, line in parts for part in fold(line.lstrip(), width - len(m), 2 * GAP)]
    return [line for text in block.lines for line in fold(text, width, GAP)]


def _strong(text: str, typesetter: Typesetter) -> str:
    """A head, on a terminal with colours."""
    return text.join(BOLD) if typesetter.style.colour else text


def _numbered(typesetter: Typesetter) -> Callable[[Iterable[Row]], str]:
    """Displays in the dialect of the document; the second label has a 2 behind it."""
    numbers, room = count(1), PAPER if typesetter.form == "latex" else PHONE

    def displayed(rows: Iterable[Row]) -> str:
        number, label = next(numbers), typesetter.style.label
        return typesetter.dialect.displayed(
            aligned(rows, typesetter, room), label and (label if number == 1 else f"{label}-{number}")
        )

    return displayed


def run_in(head: str, dialect: Dialect) -> str:
    """A bold head, with mathematics outside of the bold.

    >>> from symroof.rendering.pages.dialects import DIALECTS
    >>> run_in("Solve for $B$.", DIALECTS["dollar"]), run_in("$B$에 대해 푼다.", DIALECTS["dollar"])
    ('**Solve for** $B$**.**', '$B$**에 대해 푼다.**')
    """
    return "".join(part if i % 2 else _bold(part) for i, part in enumerate(at_mathematics(head, dialect)))


def _bold(words: str) -> str:
    """Words in bold, but not the spaces around them, beside which no bold begins or ends."""
    return words.replace(words.strip(), f"**{words.strip()}**") if words.strip() else words


def aligned(rows: Iterable[Row], typesetter: Typesetter, room: float = inf) -> str:
    """The body of a display in LaTeX: rows aligned at their relations, a formula that is broader than the room over lines."""
    printer = typesetter.printer
    assert isinstance(printer, LatexPrinter)
    rows = list(rows)
    lines = []
    for row in rows:
        left = printer.print(row.left) if row.left is not None else ""
        links, whole = [*_in_room(row, printer, room - breadth(left))], row.links(printer)
        unit = rf" \text{{ {row.unit}}}" if row.unit else ""
        aside = f" && {_words(row.aside, typesetter.dialect)}" if row.aside else ""
        if _over_lines(left, whole, typesetter.form):
            lines += [f"{left if i == 0 else ''} &{link}".strip() for i, link in enumerate(links)]
        else:
            lines.append(f"{left} &{' '.join(links)}".strip() if links else left)
        lines[-1] += unit + aside
    lines = [re.sub(r" +\n", "\n", line) for line in lines]
    if len(lines) == 1 and not rows[0].aside and "\n&" not in lines[0]:
        return lines[0].replace("&", "", 1) if rows[0].parts else lines[0]
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def _in_room(row: Row, printer: LatexPrinter, room: float) -> Iterator[str]:
    """The links of a row, those that are broader than the room over lines behind their relations."""
    folding = FoldingPrinter(printer.letters, printer.words, max(LEAST, room * BROKEN))
    for link, (relation, right) in zip(row.links(printer), row.parts, strict=True):
        if breadth(link) <= room:
            yield link
        else:
            broken = folding.print(right)
            yield f"{printer.relation(relation)} " + " \\\\\n&\\quad ".join(rows_of(broken))


def _over_lines(left: str, links: list[str], form: str) -> bool:
    """Whether a chain goes over lines: where it is too long for a sheet, and on a phone from three fractions on."""
    whole = " ".join((left, *links))
    fractions = sum(r"\frac" in part for part in (left, *links))
    return len(links) > 1 and (
        breadth(whole) + len(CAPITAL.findall(whole)) / 3 > SHEET or (form != "latex" and fractions >= 3)
    )


def _words(aside: str, dialect: Dialect) -> str:
    r"""Words inside a display, with the mathematics among them outside of the words.

    >>> from symroof.rendering.pages.dialects import DIALECTS
    >>> _words(r"as $N \to \infty$", DIALECTS["dollar"])
    '\\text{as }N \\to \\infty'
    """
    opening, closing = dialect.inline
    parts = (
        part.removeprefix(opening).removesuffix(closing) if i % 2 else part and rf"\text{{{part}}}"
        for i, part in enumerate(at_mathematics(aside, dialect))
    )
    return "".join(parts)


def at_mathematics(text: str, dialect: Dialect) -> list[str]:
    """A text at its mathematics: words, mathematics, words, …"""
    return re.split(f"({dialect.formula})", text)


Cells = tuple[str, ...]
# A capital is broader than other letters.
CAPITAL = re.compile("[A-Z]")
# What fits beside one another on a sheet of paper, in letters.
SHEET = 84
# The least share of a sheet that a column which goes over lines has; how much broader than others a letter of code is.
NARROW, CODE = 0.22, 0.28
# How many rows of a table stand on a sheet; and what a further line of a row takes of one.
ROWS, ROWS_OF_FRACTIONS, FURTHER = 26, 16, 0.8


def breadths_of(grid: Grid) -> list[float]:
    """The breadth of each column of a table on paper, with the space beside it."""
    return [max(map(_on_paper, cells)) + 4 for cells in zip(grid.head, *grid.rows, strict=True)]


def columns(grid: Grid, room: float, breaks: bool) -> str:
    """The columns of a table in LaTeX: broad ones go over lines on a small sheet, without ``breaks`` only those of words."""
    kinds = ["r" if place in grid.right else "l" for place in range(len(grid.head))]
    for place, breadth_of in _broken(grid, room, breaks).items():
        kinds[place] = rf"p{{{breadth_of / room:.2f}\linewidth}}"
    return "".join(kinds)


def _broken(grid: Grid, room: float, breaks: bool) -> dict[int, float]:
    """The columns that go over lines, each with its breadth."""
    breadths, result = breadths_of(grid), list[int]()
    folding = [place for place, cells in enumerate(zip(*grid.rows, strict=True)) if breaks or any(map(_wordy, cells))]
    for place in sorted(folding, key=breadths.__getitem__, reverse=True):
        if (excess := sum(breadths) - room) > 0 and breadths[place] > room * NARROW:
            breadths[place] = max(breadths[place] - excess, room * NARROW)
            result.append(place)
    less = max(sum(breadths) - room, 0) / max(len(result), 1)  # where all of them are narrow already
    gap = 3  # between two columns
    return {place: breadths[place] - less - (gap if i else 0) for i, place in enumerate(result)}


def sheets(grid: Grid, room: float, breaks: bool) -> tuple[tuple[Cells, ...], ...]:
    """The rows of a table in parts of about equal height, one for each sheet of paper.

    >>> [len(part) for part in sheets(Grid(("a",), (("b",),) * 30), SHEET, False)]
    [15, 15]
    """
    if not grid.rows:
        return ((),)
    broken = _broken(grid, room, breaks)
    heights = [1 + FURTHER * (_lines(row, broken) - 1) for row in grid.rows]
    whole, above = sum(heights), 0.0
    parts = ceil(whole / (ROWS_OF_FRACTIONS if grid.tall else ROWS))
    result: list[list[Cells]] = [[] for _ in range(parts)]
    for row, height in zip(grid.rows, heights, strict=True):
        result[min(int(above * parts / whole), parts - 1)].append(row)
        above += height
    return tuple(tuple(part) for part in result if part)


def _lines(row: Cells, broken: Mapping[int, float]) -> int:
    """The lines that a row takes."""
    return max(1, *(ceil(_on_paper(row[place]) / breadth_of) for place, breadth_of in broken.items()), 1)


def _on_paper(cell: str) -> float:
    """The breadth of a cell in letters; code has broader ones, formulas in capitals have, and Korean and Chinese."""
    code = sum(map(len, re.findall(r"\\texttt\{([^{}]*)\}", cell)))
    capitals = sum(len(CAPITAL.findall(formula)) for formula in re.findall(r"\$(.*?)\$", cell))
    return breadth(cell) + CODE * code + capitals / 3 + sum(east_asian_width(c) in "WF" for c in cell) / 2


def _wordy(cell: str) -> bool:
    """Whether a cell has enough words outside of its formulas to go over lines."""
    return breadth(re.sub(r"\$.*?\$", "", cell)) > 20
