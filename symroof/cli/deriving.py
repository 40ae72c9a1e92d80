"""The commands that derive, and that list what derivations are made of."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from symroof.cli.options import answered, output_options, problem_options
from symroof.cli.output import terminal, write


@click.command()
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
    found, alone, failures = answered(operation, options, lambda table: run(read_problem(table)))
    if form == "json":
        import json

        records = [derivation.to_dict() for derivation in found]
        shown = json.dumps(records[0] if alone and records else records, indent=2, ensure_ascii=False) + "\n"
        if found:
            write(shown, output, "never")
    else:
        from symroof.rendering.pages.document import render_derivation

        width, unicode = terminal(output)
        pages = [render_derivation(d, form, **style, width=width, unicode=unicode) for d in found]
        if pages:
            write("\n".join(pages), output, color if form == "text" else "never")
    if failures:
        sys.exit(2)


@click.command()
@click.argument("name", required=False)
@click.option("--chips", multiple=True, metavar="FILE", help="A file with chips of your own.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def hardware(name: str | None, chips: tuple[str, ...], form: str) -> None:
    """List the chips, or the figures of one with their sources."""
    from symroof.reading.catalogue import catalogue, chip
    from symroof.rendering.pages.catalogues import chip_record, chip_table, chips_table

    _finish(
        form,
        [chip(name, *chips)] if name else list(catalogue(*chips).values()),
        chip_record,
        lambda found: chip_table(found[0]) if name else chips_table(found),
        single=bool(name),
    )


@click.command()
@click.argument("name", required=False)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def operations(name: str | None, form: str) -> None:
    """List the operations of the library, or show one with its costs."""
    from symroof.model.library import LIBRARY, library_operation
    from symroof.rendering.pages.catalogues import operation_record, operation_table, operations_table

    if name:
        library_operation(name)  # an unknown name is refused with a suggestion
    _finish(
        form,
        [LIBRARY[name]] if name else list(LIBRARY.values()),
        operation_record,
        lambda found: operation_table(found[0]) if name else operations_table(found),
        single=bool(name),
    )


def _finish(
    form: str, found: list[Any], record: Callable[[Any], Any], table: Callable[[list[Any]], str], *, single: bool
) -> None:
    if form == "json":
        import json

        records = [record(entry) for entry in found]
        click.echo(json.dumps(records[0] if single else records, indent=2, ensure_ascii=False))
    else:
        click.echo(table(found), nl=False)
