"""What stands beneath a figure: a table, in as many parts as the sheet is too narrow for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import NamedTuple, TypeAlias

from symroof.rendering.pages.terminal import fold
from symroof.rendering.pages.text_width import NBSP, cells, closed_up

# A space at which no row ends: beside a sign, and before a unit.
UNBROKEN = re.compile(r"((?<=\s[=≈≪≫≤≥<>×·])|(?<=\S)(?=\s[=≈≪≫≤≥<>×·]\s)|(?<=\d)(?=\s[kMGTP]?(?:B/s|FLOPs/s|%)))\s")
# A cell that has nothing to say.
NOTHING = "–"


# The colour of a row, or that and the dash of a line.
Look: TypeAlias = "str | tuple[str, object]"


class Table(NamedTuple):
    """What is told beneath a figure: a row for each of the colours, where it has some."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    colours: Sequence[Look] = ()

    @property
    def columns(self) -> list[tuple[str, ...]]:
        return list(zip(self.head, *self.rows, strict=True))

    def narrowed(self, breadth: Callable[[str], float], room: float, gap: float) -> Table:
        """The same with long names in the first columns cut, so that each of the others has room beside them."""
        columns = self.columns
        names = 2 if self.rows and self.rows[0][0].isdigit() else 1
        rest = max((breadth(cell) for column in columns[names:] for cell in column), default=0.0)
        most = room - rest - gap * 2 - (max(map(breadth, columns[0])) + gap if names == 2 else 0)

        def cut(cell: str) -> str:
            while len(cell) > 4 and breadth(cell) > most:
                cell = cell[:-2].rstrip(" …") + "…"
            return cell

        rows = [[cut(cell) if j == names - 1 else cell for j, cell in enumerate(row)] for row in self.rows]
        return Table(self.head, rows, self.colours)

    def part(self, columns: Sequence[int]) -> Table:
        """Some of the columns, with the rows in which one but the first says something."""
        kept = [i for i, row in enumerate(self.rows) if any(row[j] != NOTHING for j in columns[1:] or columns)]
        rows = [[self.rows[i][j] for j in columns] for i in kept]
        return Table([self.head[j] for j in columns], rows, [self.colours[i] for i in kept if self.colours])


def blocks(breadths: Sequence[float], room: float, gap: float) -> list[list[int]]:
    """The columns of a table that stand beside one another in so much room, those of the first one at the head of each.

    >>> blocks([3, 2, 2, 2], 8, 0), blocks([3, 2, 2, 2], 9, 0), blocks([3, 9], 8, 0)
    ([[0, 1, 2], [0, 3]], [[0, 1, 2, 3]], [[0, 1]])
    """
    result = [[0]]
    for j in range(1, len(breadths)):
        if len(result[-1]) > 1 and sum(breadths[i] + gap for i in (*result[-1], j)) - gap > room:
            result.append([0])
        result[-1].append(j)
    return result


def rows_of(text: str, width: int, indent: str = "") -> list[str]:
    """Rows of so many letters, later ones indented, a Korean or Chinese character counting as two; a name that is longer
    than a row is cut."""
    rows = fold(UNBROKEN.sub(r"\1" + NBSP, _in_one(text)), width, indent)
    return [part for row in rows for part in (wrap(row, width) if cells(row) > width else [row])]


def _in_one(text: str) -> str:
    """The rows of a label as one."""
    return closed_up(text.replace("\n", " "))
