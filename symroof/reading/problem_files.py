"""Files and texts that state problems: TOML, or the statements of a program alone, which are its operation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from symroof.errors import ReadingError
from symroof.model.program import ROLES
from symroof.reading.program_words import COMMENT
from symroof.reading.toml import contents, read_table

# How a program begins, and no table of TOML does.
BEGINNING = re.compile(rf"[\s;]*(?:{'|'.join((*ROLES, 'mesh', 'where'))})[ \t]+[^\W\d]")


def read_problem_file(path: Path) -> tuple[dict[str, Any], ...]:
    """The problems of a file, as option tables."""
    try:
        written = contents(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReadingError(f"{path} is not UTF-8: byte {error.start}") from None
    return read_problems(written, str(path))


def read_problems(written: str, name: str) -> tuple[dict[str, Any], ...]:
    """The problems of a text that errors call ``name``: the whole text, or one for each ``[[problem]]``.

    >>> read_problems('operation = "matmul"', "a file"), read_problems("input x: bf16[N]; y = relu(x)", "a file")
    (({'operation': 'matmul'},), ({'operation': 'input x: bf16[N]; y = relu(x)'},))
    """
    whole = read_options(written, name)
    tables = whole.get("problem", [whole])
    if "problem" in whole and (len(whole) > 1 or not isinstance(tables, list)):
        extra = ", ".join(key for key in whole if key != "problem") or "another form"
        raise ReadingError(f"{name} mixes [[problem]] with {extra}", expected="only [[problem]] tables")
    if not tables:
        raise ReadingError(f"{name} has no problem in it")
    if not all(isinstance(table, Mapping) for table in tables):
        raise ReadingError(f"{name}: a problem is not a table", expected="[[problem]]")
    return tuple(map(dict, tables))


def read_options(written: str, name: str) -> dict[str, Any]:
    """The options that a text states in TOML; one that begins as a program does is the operation."""
    if BEGINNING.match(COMMENT.sub("", written)):
        return {"operation": written}
    return read_table(written, name)
