"""The options of the commands, and the problems that they describe."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import click

from symroof.cli.output import complain
from symroof.errors import ReadingError, SymroofError

QUOTE = 'the shell took the operation apart: put it in quotes, symroof derive "bf16[B, D] * bf16[D, F] -> bf16[B, F]"'


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
PROBLEM = {
    "on": click.option("--on", "hardware", multiple=True, metavar="CHIP", help="A chip; see `symroof hardware`."),
    "assume": click.option("--assume", multiple=True, metavar="REGIME", help="A regime: 'B << D, F' or 'N -> oo'."),
    "given": click.option(
        "--given", multiple=True, metavar="NAME=VALUE", help="A figure: HBM=8.1e11, peak='3e14 OPs/s'."
    ),
    "mesh": click.option(
        "--mesh", multiple=True, metavar="AXIS=CHIPS", help="The size of a mesh axis: X=2, or 'X=16 ring'."
    ),
    "link": click.option(
        "--link", multiple=True, metavar="NAME", help="The memory or link to compare with: HBM, ICI, …"
    ),
    "for": click.option("--for", "solve_for", metavar="SIZE", help="The size to solve for."),
    "at": click.option("--at", multiple=True, metavar="SIZES", help="Sizes to put in: D=F=8192,B=256."),
    "count": click.option("--count", metavar="fma|exact", help="How additions count."),
    "compute": click.option("--compute", metavar="DTYPE", help="The dtype whose peak rate the arithmetic runs at."),
    "dtype": click.option("--dtype", metavar="DTYPE", help="The dtype of tensors that do not state one."),
    "chips": click.option("--chips", multiple=True, metavar="FILE", help="A file with chips of your own."),
}


def problem_options(*names: str) -> Decorator:
    """The options that describe a problem, the same for every command; all of them, or some."""
    return _all_of([PROBLEM[name] for name in names or PROBLEM])


def output_options(*forms: str) -> Decorator:
    """The options that describe the output, in one of these formats."""
    return _all_of(
        [
            click.option("--format", "form", type=click.Choice(forms), default="text"),
            click.option("--heading", type=click.IntRange(0, 6), default=3, help="The level of the title; 0 for none."),
            click.option("--template", metavar="DIR", help="A folder whose templates replace the shipped ones."),
            click.option("-o", "--output", metavar="FILE", help="Write to a file."),
            click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto"),
        ]
    )


def _all_of(options: list[Decorator]) -> Decorator:
    return lambda command: reduce(lambda wrapped, option: option(wrapped), reversed(options), command)


def given_flags(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, as the keys of a problem."""
    flags = {key: value for key, value in options.items() if value not in (None, ())}
    for key, value in flags.items():
        if value == "" or (isinstance(value, tuple) and "" in value):
            raise ReadingError(
                f"--{ {'hardware': 'on', 'solve_for': 'for'}.get(key, key) } is empty".replace("-- ", "--")
            )
    for key, flag in (("hardware", "--on"), ("link", "--link")):
        if len(flags.get(key, "1")) > 1:
            raise ReadingError(f"a derivation has one {flag}, and there are {len(flags[key])}: {', '.join(flags[key])}")
        if key in flags:
            (flags[key],) = flags[key]
    for key in ("given", "mesh"):
        if key in flags:
            pairs = [pair(key, text) for whole in flags[key] for text in whole.split(",")]
            flags[key] = dict(pairs)
            if len(flags[key]) < len(pairs):
                raise ReadingError(f"--{key} gives a name twice: {', '.join(name for name, _ in pairs)}")
    return flags


def pair(key: str, text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip() or not value.strip():
        raise ReadingError(f"--{key} {text!r} is not NAME=VALUE", source=text, span=(0, max(1, len(text))))
    return name.strip(), value.strip()


def answered(
    operation: tuple[str, ...], options: dict[str, Any], run: Callable[[dict[str, Any]], Any]
) -> tuple[list[Any], bool, int]:
    """What ``run`` makes of each problem, whether there is one alone, and how many failed, each with its complaint."""
    tables = tables_of(operation, options)
    answers, failures = [], 0
    for index, table in enumerate(tables):
        try:
            answers.append(run(table))
        except SymroofError as error:
            failures += 1
            error.problem = _place(operation, index, tables) + error.problem
            complain(error)
    return answers, len(tables) == 1, failures


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
