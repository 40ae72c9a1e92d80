"""Tables on a sheet of paper: how broad their columns are, which of them go over lines, and how many rows stand on
one."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from math import ceil
from unicodedata import east_asian_width

from symroof.rendering.formulas.tex import breadth

Cells = tuple[str, ...]
# A capital is broader than other letters.
CAPITAL = re.compile("[A-Z]")
# What fits beside one another on a sheet of paper, in letters.
SHEET = 84
# The least share of a sheet that a column which goes over lines has; how much broader than others a letter of code is.
NARROW, CODE = 0.22, 0.28
# How many rows of a table stand on a sheet; and what a further line of a row takes of one.
ROWS, ROWS_OF_FRACTIONS, FURTHER = 26, 16, 0.8


def breadths_of(head: Cells, rows: Sequence[Cells]) -> list[float]:
    """The breadth of each column with what stands beside it."""
    return [max(map(_on_paper, cells)) + 4 for cells in zip(head, *rows, strict=True)]


def columns(head: Cells, rows: Sequence[Cells], right: Container[int], room: float, breaks: bool) -> str:
    """The columns of a table in LaTeX: the broadest go over lines on a small sheet, without ``breaks`` those of
    words."""
    kinds = ["r" if place in right else "l" for place in range(len(head))]
    for place, breadth_of in _broken(head, rows, room, breaks).items():
        kinds[place] = rf"p{{{breadth_of / room:.2f}\linewidth}}"
    return "".join(kinds)


def _broken(head: Cells, rows: Sequence[Cells], room: float, breaks: bool) -> dict[int, float]:
    """The columns that go over lines, each with its breadth."""
    breadths, result = breadths_of(head, rows), list[int]()
    folding = [place for place, cells in enumerate(zip(*rows, strict=True)) if breaks or any(map(_wordy, cells))]
    for place in sorted(folding, key=breadths.__getitem__, reverse=True):
        if (excess := sum(breadths) - room) > 0 and breadths[place] > room * NARROW:
            breadths[place] = max(breadths[place] - excess, room * NARROW)
            result.append(place)
    less = max(sum(breadths) - room, 0) / max(len(result), 1)  # where all of them are narrow already
    return {
        place: breadths[place] - less - (3 if i else 0) for i, place in enumerate(result)
    }  # what stands between two


def sheets(head: Cells, rows: tuple[Cells, ...], most: int, room: float, breaks: bool) -> tuple[tuple[Cells, ...], ...]:
    """The rows as they stand on sheets of paper, ``most`` of one line each, with the head above them: about as many on
    each.

    >>> [len(part) for part in sheets(("a",), (("b",),) * 30, 26, SHEET, False)]
    [15, 15]
    """
    if not rows:
        return ((),)
    broken = _broken(head, rows, room, breaks)
    heights = [1 + FURTHER * (_lines(row, broken) - 1) for row in rows]
    whole, parts, above = sum(heights), ceil(sum(heights) / most), 0.0
    result: list[list[Cells]] = [[] for _ in range(parts)]
    for row, height in zip(rows, heights, strict=True):
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
