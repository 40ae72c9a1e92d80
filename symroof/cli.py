"""The command line: the only module that prints. Commands import what they need when they run."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from symroof import __version__
from symroof.errors import ReadingError, SymroofError

QUOTE = "the shell took the operation apart: put it in quotes, symroof derive \"bf16[B, D] * bf16[D, F] -> bf16[B, F]\""


def problem_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that describe a problem, the same for every command."""
    for option in reversed(
        (
            click.option("--on", "hardware", multiple=True, metavar="CHIP", help="A chip; see `symroof hardware`."),
            click.option("--assume", multiple=True, metavar="REGIME", help="A regime such as 'B << D, F' or 'N -> oo'."),
            click.option("--given", multiple=True, metavar="NAME=VALUE", help="A figure: HBM=8.1e11, peak='3.94e14 OPs/s'."),
            click.option("--mesh", multiple=True, metavar="AXIS=CHIPS", help="The size of a mesh axis: X=2."),
            click.option("--link", multiple=True, metavar="NAME", help="The memory or link that is compared with: HBM (default), ICI, …"),
            click.option("--for", "solve_for", metavar="SIZE", help="The size to solve for."),
            click.option("--at", multiple=True, metavar="SIZES", help="Sizes to put in: D=F=8192,B=256."),
            click.option("--count", metavar="fma|exact", help="How additions count."),
            click.option("--compute", metavar="DTYPE", help="The dtype whose peak rate the arithmetic runs at."),
            click.option("--dtype", metavar="DTYPE", help="The dtype of tensors that do not state one."),
            click.option("--chips", multiple=True, metavar="FILE", help="A file with chips of your own."),
            click.option("--section", "sections", multiple=True, metavar="NAME", help="Only these sections."),
        )
    ):
        command = option(command)
    return command


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that describe the output."""
    for option in reversed(
        (
            click.option("--format", "form", type=click.Choice(["text", "markdown", "latex", "json"]), default="text"),
            click.option("--brief", is_flag=True, help="The answer alone."),
            click.option("--heading", type=click.IntRange(0, 6), default=3, help="The level of the title; 0 for none."),
            click.option("--template", metavar="DIR", help="A folder whose templates replace the shipped ones."),
            click.option("-o", "--output", metavar="FILE", help="Write to a file."),
            click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto"),
        )
    ):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="symroof")
def cli() -> None:
    """Symbolic roofline derivations: written step by step, every line proved by a second engine.

    Exit status: 0 all good, 1 a finding, 2 the input or the usage is at fault.
    """


@cli.command()
@click.argument("operation", nargs=-1, metavar="OPERATION|FILE.toml")
@problem_options
@output_options
def derive(operation: tuple[str, ...], form: str, output: str | None, color: str, **options: Any) -> None:
    """Derive the roofline of an operation.

    \b
    symroof derive "bf16[B, D] * bf16[D, F] -> bf16[B, F]" --on tpu-v5e --assume "B << D, F" --at D=F=8192
    """
    from symroof.api import derive as run
    from symroof.reading.problems import read_problem

    style = {key: options.pop(key) for key in ("brief", "heading", "template")}
    tables = _tables(operation, options)
    found, failures = [], 0
    for index, table in enumerate(tables):
        try:
            found.append(run(read_problem(table)))
        except SymroofError as error:
            failures += 1
            error.problem = _place(operation, index, tables) + error.problem
            _complain(error)
    if form == "json":
        import json

        records = [derivation.to_dict() for derivation in found]
        shown = json.dumps(records[0] if len(tables) == 1 and records else records, indent=2, ensure_ascii=False) + "\n"
        if found:
            _write(shown, output, "never")
    else:
        from symroof.rendering.document import render_derivation

        width, unicode = _terminal(output)
        pages = [render_derivation(d, form, **style, width=width, unicode=unicode) for d in found]
        if pages:
            _write("\n".join(pages), output, color if form == "text" else "never")
    if failures:
        sys.exit(2)


@cli.command()
@click.argument("name", required=False)
@click.option("--chips", multiple=True, metavar="FILE", help="A file with chips of your own.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def hardware(name: str | None, chips: tuple[str, ...], form: str) -> None:
    """List the chips, or the figures of one with their sources."""
    from symroof.reading.catalogue import catalogue, chip
    from symroof.rendering.listing import chip_record, chip_table, chips_table

    _finish(form, [chip(name, *chips)] if name else list(catalogue(*chips).values()), chip_record,
            lambda found: chip_table(found[0]) if name else chips_table(found), single=bool(name))  # fmt: skip


@cli.command()
@click.argument("name", required=False)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def operations(name: str | None, form: str) -> None:
    """List the operations of the library, or show one with its costs."""
    from symroof.model.library import LIBRARY, library_operation
    from symroof.rendering.listing import operation_record, operation_table, operations_table

    if name:
        library_operation(name)  # an unknown name is refused with a suggestion
    _finish(form, [LIBRARY[name]] if name else list(LIBRARY.values()), operation_record,
            lambda found: operation_table(found[0]) if name else operations_table(found), single=bool(name))  # fmt: skip


def _finish(form: str, found: list[Any], record: Callable[[Any], Any], table: Callable[[list[Any]], str], *, single: bool) -> None:
    if form == "json":
        import json

        records = [record(entry) for entry in found]
        click.echo(json.dumps(records[0] if single else records, indent=2, ensure_ascii=False))
    else:
        click.echo(table(found), nl=False)


def _tables(operation: tuple[str, ...], options: dict[str, Any]) -> list[dict[str, Any]]:
    """The problems that are asked for: those of a file, or the one on the command line. Flags override the file."""
    if not operation:
        raise ReadingError("there is nothing to derive", expected="an operation in quotes, or a file of problems")
    if len(operation) > 1:
        raise ReadingError(f"there are {len(operation)} operations", hint=QUOTE)
    flags = _flags(options)
    (text,) = operation
    if not text.endswith(".toml"):
        return [{"operation": text, **flags}]
    from symroof.reading.problems import read_problem_file

    return [{**table, **_merged(table, flags)} for table in read_problem_file(Path(text))]


def _place(operation: tuple[str, ...], index: int, tables: list[dict[str, Any]]) -> str:
    """Which problem of which file an error is about."""
    if not operation[0].endswith(".toml"):
        return ""
    title = tables[index].get("title")
    return f"{operation[0]}: " + (f"problem {index + 1}{f' ({title})' if title else ''}: " if len(tables) > 1 else "")


def _flags(options: dict[str, Any]) -> dict[str, Any]:
    flags = {key: value for key, value in options.items() if value not in (None, ())}
    for key, value in flags.items():
        if value == "" or (isinstance(value, tuple) and "" in value):
            raise ReadingError(f"--{ {'hardware': 'on', 'solve_for': 'for'}.get(key, key) } is empty".replace("-- ", "--"))
    for key, flag in (("hardware", "--on"), ("link", "--link")):
        if len(flags.get(key, "1")) > 1:
            raise ReadingError(f"a derivation has one {flag}, and there are {len(flags[key])}: {', '.join(flags[key])}")
        if key in flags:
            (flags[key],) = flags[key]
    for key in ("given", "mesh"):
        if key in flags:
            pairs = [_pair(key, text) for whole in flags[key] for text in whole.split(",")]
            flags[key] = dict(pairs)
            if len(flags[key]) < len(pairs):
                raise ReadingError(f"--{key} gives a name twice: {', '.join(name for name, _ in pairs)}")
    return flags


def _pair(key: str, text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip() or not value.strip():
        raise ReadingError(f"--{key} {text!r} is not NAME=VALUE", source=text, span=(0, max(1, len(text))))
    return name.strip(), value.strip()


def _merged(table: dict[str, Any], flags: dict[str, Any]) -> dict[str, Any]:
    """Figures and axes add to those of the file; every other flag replaces what the file says."""
    from symroof.reading.tables import flatten

    joined: dict[str, Any] = {key: {**flatten(table.get(key) or {}), **flags[key]} for key in ("given", "mesh") if key in flags}
    return {**flags, **joined}


def _terminal(output: str | None) -> tuple[int, bool]:
    """The width of the terminal, and whether it can show more than ASCII."""
    import shutil

    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    width = min(shutil.get_terminal_size((96, 24)).columns, 96) if sys.stdout.isatty() else 96
    return max(40, width), output is not None or encoding.startswith("utf")


def _write(text: str, output: str | None, color: str) -> None:
    if output is not None and output != "-":
        try:
            Path(output).write_text(text, "utf-8")
        except OSError as error:
            raise ReadingError(f"{output} cannot be written: {error.strerror}") from None
        return
    wanted = color == "always" or (color == "auto" and sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
    if wanted and color != "never":
        from rich.console import Console

        Console(force_terminal=True, soft_wrap=True, no_color=False).print(text, markup=False, end="")
    else:
        click.echo(text, nl=False)


def _complain(error: SymroofError) -> None:
    click.echo(f"symroof: {error}", err=True)


def main(arguments: Iterable[str] | None = None) -> None:
    """Run the command line. One clear message and exit status 2 for any fault, never a traceback."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = cli.main(given, prog_name="symroof", standalone_mode=False)
    except SymroofError as error:
        _complain(error)
        status = 2
    except click.ClickException as error:
        broken = isinstance(error, click.NoSuchOption) and error.option_name in ("-", "->", "->>")
        click.echo(f"symroof: {error.format_message()}" + (f"\n  {QUOTE}" if broken else ""), err=True)
        status = 2
    except (click.Abort, KeyboardInterrupt):
        status = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 0
    except Exception as error:  # a bug: say so in one line, unless its traceback is wanted
        if os.environ.get("SYMROOF_TRACEBACK"):
            raise
        click.echo(f"symroof: internal error, please report it: {type(error).__name__}: {str(error)[:300]}", err=True)
        status = 2
    sys.exit(status if isinstance(status, int) else 0)


def entry() -> None:
    """The command of the shell: a short process, whose memory is not tidied before it ends."""
    gc.disable()
    status: Any = 0
    try:
        main()
    except SystemExit as end:
        status = end.code
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status if isinstance(status, int) else 0)
