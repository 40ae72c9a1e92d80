"""The commands that derive, and that list what derivations are made of."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from symroof.cli.options import answered, output_options, problem_options
from symroof.cli.output import as_json, publish, write


@click.command()
@click.argument("operation", nargs=-1, metavar="OPERATION|FILE.toml")
@problem_options()
@click.option("--section", "sections", multiple=True, metavar="NAME", help="Only these sections.")
@click.option("--brief", is_flag=True, help="The answer alone.")
@output_options("text", "markdown", "latex", "json")
def derive(
    operation: tuple[str, ...],
    form: str,
    output: str | None,
    color: str,
    brief: bool,
    heading: int,
    template: str | None,
    **options: Any,
) -> None:
    """Derive the roofline of an operation.

    \b
    symroof derive "bf16[B, D] * bf16[D, F] -> bf16[B, F]" --on tpu-v5e --assume "B << D, F" --at D=F=8192
    """
    from symroof.api import derive as run
    from symroof.reading.problems import read_problem

    answers, alone, failures = answered(operation, options, lambda table: run(read_problem(table)))
    publish(answers, form, output, color, alone=alone, brief=brief, heading=heading, template=template)
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

    if name:
        known = chip(name, *chips)
        _show(form, lambda: chip_record(known), lambda: chip_table(known))
    else:
        every = list(catalogue(*chips).values())
        _show(form, lambda: [chip_record(one) for one in every], lambda: chips_table(every))


@click.command()
@click.argument("name", required=False)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def operations(name: str | None, form: str) -> None:
    """List the operations of the library, or show one with its costs."""
    from symroof.model.library import LIBRARY, library_operation
    from symroof.rendering.pages.catalogues import operation_record, operation_table, operations_table

    if name:
        library_operation(name)  # an unknown name is refused with a suggestion
        _show(form, lambda: operation_record(LIBRARY[name]), lambda: operation_table(LIBRARY[name]))
    else:
        every = list(LIBRARY.values())
        _show(form, lambda: [operation_record(entry) for entry in every], lambda: operations_table(every))


def _show(form: str, record: Callable[[], Any], text: Callable[[], str]) -> None:
    write(as_json(record()) if form == "json" else text(), None)
