"""Laying out lines for a terminal: prose is folded to the width, formulas never are."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from symroof.formula import Cases
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.blocks import Block

GUTTER, INDENT, ASIDE = 13, 15, 58


def titled(left: str, right: str, width: int) -> str:
    """Both on one line, at its ends, or on two where they do not fit.

    >>> titled("matmul", "TPU v5e", 20)
    'matmul       TPU v5e'
    """
    if not right:
        return left
    gap = width - len(left) - len(right)
    return left + " " * gap + right if gap >= 2 else f"{left}\n{right}"


def columns(label: str, exact: str, near: str, width: int) -> str:
    """A row of the answer: label, value, remark; the remark goes below where it does not fit."""
    head = f"{label:<14} {exact}"
    if not near:
        return head.rstrip()
    line = f"{head:<42} {near}" if len(head) <= 41 else f"{head}   {near}"
    return line if len(line) + 2 <= width or len(head) + len(near) < width - 4 else f"{head}\n{' ' * 17}{near}"


def layout(head: str, lead: str, blocks: Iterable[Block], printer: PlainPrinter, width: int) -> Iterator[str]:
    """The lines of one section: its head in a gutter, prose beside it, formulas indented."""
    label = head
    paragraphs = [Block(prose=lead)] if lead else []
    for block in (*paragraphs, *blocks):
        if block.prose:
            for sentence in block.prose.split("\n"):
                for line in textwrap.wrap(
                    sentence, max(20, width - GUTTER), break_long_words=False, break_on_hyphens=False
                ):
                    yield f"{label:<{GUTTER}}{line}"
                    label = ""
            continue
        if label:
            yield label
            label = ""
        yield from _rows(block.rows, printer, width)


def _rows(rows: list[Any], printer: PlainPrinter, width: int) -> Iterator[str]:
    heads = [printer.print(row.left) if row.left is not None else None for row in rows]
    short = [len(head) for head in heads if head is not None and len(head) <= 12]
    margin = 0
    for row, head in zip(rows, heads, strict=True):
        if head is not None:
            margin = max(len(head), max(short, default=0) if len(head) <= 12 and row.parts else 0)
        text = f"{head or '':<{margin}}"
        for relation, right in row.parts:
            text += f" {printer.relation(relation)} {printer.print(right)}"
        line = " " * INDENT + text + (f" {row.unit}" if row.unit else "")
        if len(line) > width and row.parts and isinstance(row.parts[-1][1], Cases):
            yield from _cases(line, printer)
            continue
        if not row.aside:
            yield line
        elif len(line) < ASIDE and ASIDE + len(row.aside) <= width:
            yield f"{line:<{ASIDE}}  {row.aside}"
        elif len(line) + 3 + len(row.aside) <= width:
            yield f"{line}   {row.aside}"
        else:
            yield line
            yield " " * (INDENT + 4) + row.aside


def _cases(line: str, printer: PlainPrinter) -> Iterator[str]:
    """A guarded condition that is too long for one line: each consequence over its guard."""
    head, _, rest = line.rpartition(f" {printer.relation('<=>')} ")
    margin = " " * (len(head) + len(printer.relation("<=>")) + 2)
    for i, part in enumerate(rest.split("; ")):
        consequence, sign, guard = part.partition(" if ")
        yield (f"{head} {printer.relation('<=>')} " if i == 0 else margin) + consequence
        if sign:
            yield f"{margin}  if {guard}"


def timetable(
    heading: str, variable: str, rows: Iterable[dict[str, Any]], unit: str, ends: Iterable[str]
) -> Iterator[str]:
    """The times as columns, right-aligned, with the side that bounds them."""
    rows = list(rows)
    cells = [[f"{time} {unit}" for time in row["times"]] for row in rows]
    names = ("T_math", "T_comms", "lower", "upper")
    widths = [max(len(name), *(len(row[i]) for row in cells)) for i, name in enumerate(names)]
    sizes = [str(row["size"]) for row in rows]
    left = [f"{variable} = {size:>{max(map(len, sizes))}}" for size in sizes]
    first = max(len(heading), *(map(len, left)))
    yield (
        " " * GUTTER
        + f"{heading:<{first}}  "
        + "  ".join(f"{name:>{w}}" for name, w in zip(names, widths, strict=True))
    )
    for label, row, end in zip(left, cells, ends, strict=True):
        times = "  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True))
        yield (" " * GUTTER + f"{label:<{first}}  {times}   {end}").rstrip()
