"""The problems of a command line: those of a file, or the one that the options describe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from symroof.cli.options import QUOTE, given_flags
from symroof.cli.output import complain
from symroof.errors import ReadingError, SymroofError


def answered(operation: tuple[str, ...], options: dict[str, Any], run: Callable[[dict[str, Any]], Any]) -> tuple[list[Any], bool, int]:
    """What ``run`` makes of each problem, whether there is one alone, and how many failed, each with its complaint."""
    tables = tables_of(operation, options)
    found, failures = [], 0
    for index, table in enumerate(tables):
        try:
            found.append(run(table))
        except SymroofError as error:
            failures += 1
            error.problem = _place(operation, index, tables) + error.problem
            complain(error)
    return found, len(tables) == 1, failures


def tables_of(operation: tuple[str, ...], options: dict[str, Any]) -> list[dict[str, Any]]:
    """The problems that are asked for: those of a file, or the one on the command line. Flags override the file."""
    if not operation:
        raise ReadingError("there is nothing to derive", expected="an operation in quotes, or a file of problems")
    if len(operation) > 1:
        raise ReadingError(f"there are {len(operation)} operations", hint=QUOTE)
    flags = given_flags(options)
    (text,) = operation
    if not text.endswith(".toml"):
        return [{"operation": text, **flags}]
    from symroof.reading.problems import merged, read_problem_file

    return [merged(table, flags) for table in read_problem_file(Path(text))]


def _place(operation: tuple[str, ...], index: int, tables: list[dict[str, Any]]) -> str:
    """Which problem of which file an error is about."""
    if not operation[0].endswith(".toml"):
        return ""
    title = tables[index].get("title")
    return f"{operation[0]}: " + (f"problem {index + 1}{f' ({title})' if title else ''}: " if len(tables) > 1 else "")
