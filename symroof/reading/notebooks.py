"""Notebooks: the text of the Markdown cells, and other text in their place. Nothing else of the file changes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from symroof.errors import ReadingError
from symroof.formula import Frozen
from symroof.reading.markers import NEXT_CELL

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
TOKEN = re.compile(
    rf"(?P<key>{STRING.pattern})(?=\s*:)|(?P<string>{STRING.pattern})|(?P<open>[\[{{])|(?P<close>[\]}}])"
)
CHARACTER = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|\\u[0-9a-fA-F]{4}|\\.|[^\\]")
# What stands between two cells when their texts are read as one.
BETWEEN = f"\n\n{NEXT_CELL}\n\n"


class Cell(Frozen):
    """A Markdown cell: its text, and where its source stands in the file."""

    text: str
    start: int
    end: int


def cells(notebook: str) -> tuple[Cell, ...]:
    """The Markdown cells of a notebook.

    >>> [cell.text for cell in cells('{"cells": [{"cell_type": "markdown", "source": ["a\\\\n", "b"]}]}')]
    ['a\\nb']
    """
    try:
        tree = json.loads(notebook)
        kinds = [cell["cell_type"] for cell in tree["cells"]]
        sources = ["".join(cell["source"]) for cell in tree["cells"]]
        parts = zip(kinds, sources, _sources(notebook), strict=True)
        return tuple(Cell(text, *span) for kind, text, span in parts if kind == "markdown")
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ReadingError("the notebook cannot be read", expected="a notebook of format 4") from None


def text_of(notebook: str) -> str:
    """The texts of the Markdown cells as one."""
    return BETWEEN.join(cell.text for cell in cells(notebook))


def offsets_of(notebook: str) -> list[int]:
    """Where each character of :func:`text_of` stands in the notebook; what stands between two cells, where the second begins.

    >>> notebook = '{"cells": [{"cell_type": "markdown", "source": ["a\\\\n", "b"]}]}'
    >>> [notebook[offset] for offset in offsets_of(notebook)]
    ['a', '\\\\', 'b']
    """
    offsets: list[int] = []
    for index, cell in enumerate(cells(notebook)):
        offsets += [cell.start] * len(BETWEEN) if index else []
        for line in STRING.finditer(notebook, cell.start, cell.end):
            characters = list(CHARACTER.finditer(notebook, line.start() + 1, line.end() - 1))
            offsets += [character.start() for character in characters for _ in json.loads(f'"{character.group()}"')]
    return offsets


def with_texts(notebook: str, texts: Sequence[str]) -> str:
    """The notebook with other texts in its Markdown cells."""
    for cell, text in reversed(list(zip(cells(notebook), texts, strict=True))):
        if text != cell.text:
            notebook = notebook[: cell.start] + _source(text, notebook, cell) + notebook[cell.end :]
    return notebook


def _source(text: str, notebook: str, cell: Cell) -> str:
    """A text as its cell has it: one string, or a list of lines, indented as before."""
    ascii_only = notebook.isascii()
    if notebook[cell.start] == '"':
        return json.dumps(text, ensure_ascii=ascii_only)
    lines = [json.dumps(line, ensure_ascii=ascii_only) for line in text.splitlines(keepends=True)]
    indented = re.match(r"\[(\s*)", notebook[cell.start : cell.end])
    before = indented[1] if indented and "\n" in indented[1] else ""
    end = re.search(r"(\s*)\]$", notebook[cell.start : cell.end])
    return "[" + before + ("," + (before or " ")).join(lines) + (end[1] if end and before else "") + "]"


def _sources(notebook: str) -> Iterator[tuple[int, int]]:
    """Where the source of each cell stands: a string, or a list of strings."""
    keys, start = [""], 0
    for match in TOKEN.finditer(notebook):
        if match["key"]:
            keys[-1] = match["key"]
        elif match["open"]:
            start = match.start() if len(keys) == 4 else start
            keys.append("")
        elif match["close"]:
            keys.pop()
        if keys[1::2] == ['"cells"', '"source"'] and len(keys) == 4 and (match["close"] or match["string"]):
            yield (start if match["close"] else match.start()), match.end()
