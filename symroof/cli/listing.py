"""The commands that list what derivations are made of: chips, operations, and the words of textbooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from symroof.cli.options import PROBLEM, form_option
from symroof.cli.output import WIDTH, write, write_json


@click.command()
@click.argument("name", required=False)
@click.option("--chips", multiple=True, metavar="FILE", help=PROBLEM["chips"][-1])
@form_option("text", "json")
def hardware(name: str | None, chips: tuple[str, ...], form: str) -> None:
    """List the chips, or the figures of one with their sources."""
    from symroof.reading.catalogue import catalogue, chip
    from symroof.rendering.pages.catalogues import chip_record, chip_table, chips_table

    shown = chip(name, *chips) if name else list(catalogue(*chips).values())
    _show(form, shown, chip_record, chip_table if name else chips_table)


@click.command()
@click.argument("name", required=False)
@form_option("text", "json")
def operations(name: str | None, form: str) -> None:
    """List the operations of the library, or show one with its costs."""
    from symroof.model.library import LIBRARY, library_operation
    from symroof.rendering.pages.catalogues import operation_record, operation_table, operations_table

    if name:
        library_operation(name)  # an unknown name is refused with a suggestion
    shown = LIBRARY[name] if name else list(LIBRARY.values())
    _show(form, shown, operation_record, operation_table if name else operations_table)


@click.command()
@form_option("text", "json")
def names(form: str) -> None:
    """List the words of textbooks that name quantities; `aliases` in a problem add to them."""
    from symroof.reading.vocabulary import VOCABULARY

    _show(form, VOCABULARY, dict, _words_table)


def _words_table(vocabulary: Mapping[str, list[str]]) -> str:
    from symroof.rendering.pages.terminal import NBSP, fold

    width = max(map(len, vocabulary)) + 2
    rows = (
        name.ljust(width) + ",  ".join(word.replace(" ", NBSP) for word in words) for name, words in vocabulary.items()
    )
    return "".join(f"{line}\n" for row in rows for line in fold(row, WIDTH, indent=" " * width))


def _show(form: str, entries: Any, record: Callable[[Any], Any], table: Callable[[Any], str]) -> None:
    if form == "text":
        write(table(entries))
    else:
        write_json([record(entry) for entry in entries] if isinstance(entries, list) else record(entries))
