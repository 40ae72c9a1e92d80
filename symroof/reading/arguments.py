"""What Python callers give: names in a text or in a list, operations as text, as values or as tables of options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from symroof.errors import ReadingError
from symroof.model.hardware import Accelerator
from symroof.model.operation import AnyOperation
from symroof.model.problem import Problem
from symroof.reading.problems import hardware_of, read_problem


def table_of(
    operation: AnyOperation | Problem | str | Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Any] | Problem:
    """The table of options that keyword arguments describe; a problem stands for itself."""
    if isinstance(operation, Problem):
        return operation
    table = dict(operation) if isinstance(operation, Mapping) else {"operation": operation}
    return table | {key: value for key, value in options.items() if value is not None}


def problem_of(
    operation: AnyOperation | Problem | str | Mapping[str, Any], options: Mapping[str, Any], spoken: Iterable[str] = ()
) -> Problem:
    """The problem of an operation and options; ``spoken`` are figures that something beside the problem uses."""
    table = table_of(operation, options)
    if isinstance(table, Problem):
        chip = options.get("hardware")
        return replace(table, hardware=chip) if isinstance(chip, Accelerator) else table
    if isinstance(table.get("hardware"), Accelerator):
        table.pop("given", None)
    return read_problem(table, frozenset(spoken))


def listed(names: str | Iterable[Any] | None) -> list[Any]:
    """Names with commas between them, or a list of names or values; each once.

    >>> listed("tpu-v5e, h100,"), listed(["a", "a"])
    (['tpu-v5e', 'h100'], ['a'])
    """
    if not isinstance(names, str | Iterable | None):
        raise ReadingError(f"{names!r} is no list of names")
    if isinstance(names, str):
        names = [name.strip() for name in names.split(",")]
    found = [names] if isinstance(names, Mapping) else list(names or ())
    if any(isinstance(name, Mapping) for name in found):
        return found
    return list(dict.fromkeys(name for name in found if name != ""))


def text_of(value: Any, what: str) -> str:
    """An argument that has to be text."""
    if not isinstance(value, str):
        raise ReadingError(f"{what} = {value!r} is not text")
    return value


def chips_of(table: dict[str, Any] | Problem, named: Iterable[Any]) -> list[Accelerator]:
    """Each chip with the figures that the options give."""
    options = {} if isinstance(table, Problem) else table
    found = [hardware_of({**options, "hardware": one}) for one in named]
    if not found and options.get("hardware") is not None:
        found = [hardware_of(options)]
    return [chip for chip in found if chip is not None]
