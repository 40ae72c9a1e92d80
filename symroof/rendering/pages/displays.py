"""Displays in LaTeX: formulas on lines of their own, over several lines where they are too broad."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import inf

from symroof.rendering.formulas.folding import FoldingPrinter, kept, rows_of
from symroof.rendering.formulas.tex import LatexPrinter, breadth
from symroof.rendering.pages.blocks import Row
from symroof.rendering.pages.dialects import Dialect
from symroof.rendering.pages.pen import Pen

# A capital is broader than other letters.
CAPITAL = re.compile("[A-Z]")
# What fits beside one another on a sheet of paper, in letters.
SHEET = 84
# What fits on paper in capitals, and on a phone; to how much of its room a broken formula is set, and the least of that.
PAPER, PHONE, BROKEN, LEAST = 64, 60, 0.75, 20


def aligned(rows: Iterable[Row], pen: Pen, room: float = inf) -> str:
    """The body of a display in LaTeX: one line, or rows aligned at their relations; a link that is broader than the room
    goes over lines."""
    printer = pen.printer
    assert isinstance(printer, LatexPrinter)
    rows = list(rows)
    lines = []
    for row in rows:
        left = printer.print(row.left) if row.left is not None else ""
        links, whole = [*_in_room(row, printer, room - breadth(left))], row.links(printer)
        unit = rf" \text{{ {row.unit}}}" if row.unit else ""
        aside = f" && {_words(row.aside, pen.dialect)}" if row.aside else ""
        if _over_lines(left, whole, pen.form):
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
    folding = FoldingPrinter(printer.letters, printer.words, printer.heard, max(LEAST, room * BROKEN))
    for link, (relation, right) in zip(row.links(printer), row.parts, strict=True):
        if breadth(link) <= room:
            yield link
        else:
            broken = folding.print(right)
            yield f"{printer.relation(relation)} " + kept(broken, " \\\\\n&\\quad ".join(rows_of(broken)))


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
