r"""Formulas that are broader than their room, over several lines: sums between their terms, conditions at their relations.

What goes over lines is a block of its own, ``gathered``, which may stand in a fraction or in brackets: KaTeX, MathJax and
amsmath know it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import ceil

from symroof.formula import Cases, Formula
from symroof.rendering.formulas.plain import Part
from symroof.rendering.formulas.tex import LatexPrinter, breadth

BELOW = " \\\\\n\\quad "
BEGIN, BREAK, END = "\\begin{gathered}\n", " \\\\\n", "\n\\end{gathered}"


class FoldingPrinter(LatexPrinter):
    r"""Formulas over lines of a ``room`` in letters.

    >>> from symroof.formula import Name, Sum
    >>> print(FoldingPrinter(room=6).print(Sum(tuple(map(Name, "BDF")))))
    \begin{gathered}
    B + D \\
    {} + F
    \end{gathered}
    """

    room: float = 60

    def sum(self, node: Formula, *terms: Part) -> Part:
        whole = super().sum(node, *terms)
        if measured(whole.text) <= self.room:
            return whole
        lines: list[str] = []
        for term in self.signed(*terms):
            if lines and measured(f"{lines[-1]} {term}") <= self.room:
                lines[-1] += f" {term}"
            else:
                lines.append("{} " * bool(lines) + term)
        return _block(lines, whole)

    def joined(self, between: str, *parts: Part) -> Part:
        whole = super().joined(between, *parts)
        sign, short = between.strip(), 4 * measured(parts[0].text) < self.room
        if short or sign == "," or len(parts) < 2 or measured(whole.text) <= self.room:
            return whole
        lines = rows_of(parts[0].text)
        for part in parts[1:]:
            first, *more = rows_of(part.text)
            lines += [f"{{}} {sign} {first}", *more]
        return _block(lines, whole)

    def cases(self, node: Cases, *parts: Part) -> Part:
        """Cases, none of which has its guard beside it where one has it below."""
        whole = super().cases(node, *parts)
        return replace(whole, text=whole.text.replace(" & ", r" \quad ")) if BELOW in whole.text else whole

    def case(self, then: str, guard: str) -> str:
        """A case, and its guard below it where they have no room side by side."""
        row = super().case(then, guard)
        return row if measured(row) <= self.room else then + BELOW + guard


def _block(lines: list[str], whole: Part) -> Part:
    if len(lines) < 2:
        return whole
    return Part(BEGIN + BREAK.join(lines) + END, whole.binding, True)


def measured(text: str) -> float:
    r"""The breadth of a formula in letters; a block of lines is as broad as its broadest line.

    >>> measured(BEGIN + "BD" + BREAK + "F" + END + "BD")
    4.0
    """
    while (end := text.find(END)) >= 0:
        start = text.rfind(BEGIN, 0, end)
        rows = text[start + len(BEGIN) : end].split(BREAK)
        text = text[:start] + "x" * ceil(max(map(breadth, rows))) + text[end + len(END) :]
    return breadth(text)


def rows_of(text: str) -> list[str]:
    r"""The lines of a formula that is one block; blocks inside of fractions and brackets stay.

    >>> rows_of(BEGIN + "B + D" + BREAK + "{} + F" + END), rows_of("B + D")
    (['B + D', '{} + F'], ['B + D'])
    """
    if not (text.startswith(BEGIN) and text.endswith(END)):
        return [text]
    rows, depth, row = [], 0, ""
    for line in text[len(BEGIN) : -len(END)].split("\n"):
        depth += line.count("\\begin{") - line.count("\\end{")
        row += line
        if depth < 0:  # the block that begins the formula ends before it
            return [text]
        if depth == 0 and row.endswith(" \\\\"):
            rows.append(row.removesuffix(" \\\\"))
            row = ""
        else:
            row += "\n"
    return list(_flat([*rows, row.rstrip("\n")]))


def in_line(text: str, joint: str = " ") -> str:
    r"""A formula in a line of prose, with a ``joint`` where it may be broken; the blocks inside of it stay, without the sign
    for a new row that some Markdown processors take for their own.

    >>> in_line(BEGIN + "B + D" + BREAK + "{} + F" + END), in_line(rf"\frac{{1}}{{{BEGIN}B{BREAK}+ F{END}}}")
    ('B + D + F', '\\frac{1}{\\begin{gathered} B \\cr + F \\end{gathered}}')
    """
    whole = joint.join(row.removeprefix("{} ") for row in rows_of(text))
    return " ".join(whole.replace(BREAK, r" \cr ").split())


def _flat(rows: Iterable[str]) -> Iterable[str]:
    for row in rows:
        yield from rows_of(row)
