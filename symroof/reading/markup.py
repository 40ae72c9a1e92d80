"""The blocks of Markdown and LaTeX that change what stands in them: code, which is left alone, and the rows of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from symroof.formula import Frozen

TABULAR = re.compile(
    r"\\begin\{(?P<name>tabular[xy*]?|longtable)\}(?:\[[^\]]*\])?(?:\{[^{}]*\})*(?P<body>.{0,20000}?)\\end\{(?P=name)\}",
    re.DOTALL,
)
# Where a cell of a tabular ends; rules between rows are no cells.
NEXT_CELL = re.compile(r"(?<!\\)&")
NEXT_ROW = re.compile(r"\\\\(?:\[[^\]]*\])?|\\tabularnewline\b")
RULES = re.compile(
    r"\\(?:hline|(?:top|mid|bottom)rule|c(?:mid|)rule(?:\([^)]*\))?\{[^{}]*\}|cline\{[^{}]*\}|end(?:first|)head\b)"
)

# What holds the indented lines below it: an admonition, a tab, a footnote.
HOLDER = re.compile(r"[ \t]*(?:(?:!!!|\?\?\?\+?|===[!+]?)[ \t]|\[\^[^\]\s]+\]:)")

CODE = re.compile(r"^(?: {4}|\t)|```|~~~", re.MULTILINE)  # without it there is no block of code

# What stands around a cell, or a formula in it, and is no part of it.
MARKS = re.compile(r"\$`?|`\$|`+|\A(?:\*\*|__)|(?:\*\*|__)\Z")


class Cell(Frozen):
    """What stands in a cell without marks of mathematics, code and bold type, where it begins, and how it is written."""

    text: str
    offset: int
    kind: str


class Row(Frozen):
    """A row of a table below the ``heads`` of its columns; it has as many cells."""

    heads: tuple[Cell, ...]
    cells: tuple[Cell, ...]


def markdown_blocks(text: str) -> tuple[str, tuple[Row, ...]]:
    r"""Markdown with its blocks of code blanked out, but for those of mathematics; and the rows of its tables.

    >>> markdown_blocks("A\n\n    x = 1\n\n> ```py\n> x\n> ```\n")
    ('A\n\n         \n\n       \n   \n     \n', ())
    >>> markdown_blocks("| op | FLOPs |\n|--|--|\n| `dot` | $2N$ |\n")[1][0].cells
    (Cell(text='dot', offset=26, kind='code'), Cell(text='2N', offset=34, kind='math'))
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    lines = text.split("\n")
    heads: tuple[Cell, ...] | None = None
    cells: list[Cell] | None = None
    rows: list[Row] = []
    starts = (0, *accumulate(len(line) + 1 for line in lines))
    for token in parser.parse(text):
        if token.type in ("code_block", "fence") and token.map is not None and token.info.strip() != "math":
            first, behind = token.map
            if token.type == "code_block" and _held(lines, first):
                lines[first:behind] = _inner(lines[first:behind])
            else:
                lines[first:behind] = (" " * len(line) for line in lines[first:behind])
        elif token.type == "thead_open":
            heads = None
        elif token.type == "tr_open":
            cells, behind = [], 0
        elif token.type == "inline" and token.map is not None and cells is not None:
            line, written = token.map[0], token.content.replace("|", "\\|")
            behind = max(lines[line].find(written, behind), 0)
            cells.append(_cell(written, starts[line] + behind))
            behind += len(written)
        elif token.type == "tr_close" and cells is not None:
            if heads is None:
                heads = tuple(cells)
            else:
                rows.append(Row(heads, tuple(cells)))
            cells = None
    return "\n".join(lines), tuple(rows)


def _held(lines: list[str], first: int) -> bool:
    """Whether indented lines are what an admonition, a tab or a footnote says, and no code."""
    indent = len(lines[first]) - len(lines[first].lstrip())
    above = (
        line
        for line in (lines[i] for i in range(first - 1, -1, -1))
        if line.strip() and len(line) - len(line.lstrip()) < indent
    )
    return indent > 0 and HOLDER.match(next(above, "")) is not None


def _inner(lines: list[str]) -> list[str]:
    """Indented lines with the code in them blanked out. The rows of their tables are not read."""
    cuts = [1 if line.startswith("\t") else 4 for line in lines]
    text = "\n".join(line[cut:] for line, cut in zip(lines, cuts, strict=True))
    inside = markdown_blocks(text)[0].split("\n") if CODE.search(text) else text.split("\n")
    return [line[:cut] + new for line, cut, new in zip(lines, cuts, inside, strict=True)]


def tabular_rows(text: str) -> Iterator[Row]:
    r"""The rows of the tabulars of LaTeX; those with cells over several columns are left out.

    >>> next(tabular_rows(r"\begin{tabular}{ll} op & FLOPs \\ \hline dot & 2N \\ \end{tabular}")).cells
    (Cell(text='dot', offset=41, kind='math'), Cell(text='2N', offset=47, kind='math'))
    """
    for table in TABULAR.finditer(text):
        body = RULES.sub(lambda match: " " * len(match.group()), table["body"])
        rows = [list(_cells(row, table.start("body") + at)) for row, at in _between(NEXT_ROW, body)]
        heads = tuple(rows[0])
        yield from (Row(heads, tuple(row)) for row in rows[1:] if len(row) == len(heads))


def _cells(row: str, start: int) -> Iterator[Cell]:
    for text, at in _between(NEXT_CELL, row):
        yield _cell(text, start + at, math=True)


def _cell(written: str, start: int, *, math: bool = False) -> Cell:
    text = MARKS.sub(lambda match: " " * len(match.group()), written)
    kind = "math" if math or "$" in written else "code"
    return Cell(text.strip(), start + len(text) - len(text.lstrip()), kind)


def _between(separator: re.Pattern[str], text: str) -> Iterator[tuple[str, int]]:
    """What stands between the separators, and where."""
    start = 0
    for match in separator.finditer(text):
        yield text[start : match.start()], start
        start = match.end()
    yield text[start:], start
