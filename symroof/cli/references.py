"""``symroof list``: the chips, operations and words that derivations are made of; ``symroof help``: the short references of
programs, problems and claims. Both are made of tables: those that the readers read by, and ``reading/reference.toml``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

import click

from symroof.cli.options import form_option, lang_option
from symroof.cli.output import write, write_json
from symroof.errors import ReadingError, require_one_of
from symroof.reading.keys import KEYS
from symroof.reading.toml import read_table
from symroof.reading.vocabulary import VOCABULARY, WORDS

Options = Mapping[str, Any]
# What is listed, one of it as a record, and all of it as a table in a language.
Listed = tuple[Any, Callable[[Any], Any], Callable[[Any, str | None], str]]


def written(topic: str) -> tuple[tuple[str, str], ...]:
    """What may be written in a program, or as a claim, and what each of it says."""
    text = (files("symroof") / "reading" / "reference.toml").read_text("utf-8")
    return tuple(read_table(text, "the reference")[topic].items())


def programs() -> Iterator[str]:
    """Statements and functions, with the operations of each."""
    from symroof.model.functions import FUNCTIONS

    yield "A program is a statement on each line, or between semicolons; # starts a comment.\n"
    yield from _rows(written("programs"))
    yield "\nFunctions, the operations for each element of a row and for the row, forward and to the first operand:\n"
    head = ("function", "forward", "backward")
    rows = (
        (f.name, _work(f.each, f.row), _work(f.back_each, f.back_row) if f.back is not None else "-")
        for f in FUNCTIONS.values()
    )
    yield from _rows((head, *rows))
    yield "\nA function of your own: --function f=3, with 3 operations for each element."


def _work(each: object, row: object) -> str:
    """
    >>> _work(5, -2), _work(4, 2), _work(3, 0), _work(0, 0)
    ('5N - 2', '4N + 2', '3N', 'none')
    """
    whole = int(str(row))
    if not each and not whole:
        return "none"
    return f"{'' if each == 1 else each}N" + (f" {'+' if whole > 0 else '-'} {abs(whole)}" if whole else "")


def problems() -> Iterator[str]:
    """The keys of a problem file, with the flag that gives the same."""
    yield "A problem file is TOML; [[problem]] begins each of several. A flag goes before the key of the file.\n"
    yield from _rows((("key", "flag", "says"), *((key.name, key.flag, key.says) for key in KEYS.values())))


def claims() -> Iterator[str]:
    """What claims look like."""
    yield 'A claim stands in claims = ["…"] of a problem, or in a document. Behind it: assuming R, as x -> oo, at B = 1.\n'
    yield from _rows(written("claims"))


def _rows(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()


TOPICS: Mapping[str, Callable[[], Iterator[str]]] = {"programs": programs, "problems": problems, "claims": claims}


@click.command("help")
@click.argument("topic", required=False)
def reference(topic: str | None) -> None:
    """Print the short reference of programs, problems or claims."""
    if topic is None:
        write("".join(f"symroof help {name:10} {make.__doc__}\n" for name, make in TOPICS.items()))
        return
    topic = "problems" if topic == "options" else topic  # a flag is a key of a problem
    require_one_of(topic, TOPICS, f"there is no reference of {topic!r}")
    write("".join(f"{line}\n" for line in TOPICS[topic]()))


def list_chips(names: Sequence[str], options: Options) -> Listed:
    """The chips with their figures; of one its sources and its parts as well."""
    from symroof.model.hardware import findings
    from symroof.reading.catalogue import catalogue, chip
    from symroof.rendering.pages import catalogues

    chips = catalogue(*options["chips"])
    chosen = [chip(name, *options["chips"]) for name in names] or [*chips.values()]
    if options["check"]:
        names = [chip.name for chip in chosen]
        wrong = [finding for finding in findings(chips.values()) if finding.chip in names]
        return wrong, catalogues.finding_record, lambda wrong, lang: catalogues.findings_table(wrong, len(names), lang)
    if names:
        return chosen[0], catalogues.chip_record, catalogues.chip_table
    return chosen, catalogues.chip_record, catalogues.chips_table


def list_operations(names: Sequence[str], options: Options) -> Listed:
    """The operations of the library; one as text to paste and to change."""
    from symroof.reading.configurations import program_with_sizes
    from symroof.reading.operations import entries, required
    from symroof.rendering.pages import catalogues

    if options["config"] is not None:
        sized = program_with_sizes(required(names[0] if names else "decoder"), options["config"])
        return sized, str, lambda text, _: text
    if names:
        return required(names[0]), catalogues.operation_record, catalogues.operation_table
    return list(entries().values()), catalogues.operation_record, catalogues.operations_table


def list_words(names: Sequence[str], options: Options) -> Listed:
    """The words of textbooks that name quantities, and those of programs alone; `aliases` in a problem add to them."""
    from symroof.rendering.pages.terminal import words_table

    if names:
        raise ReadingError("the words are one list", expected="symroof list words")
    parts = VOCABULARY, WORDS["amounts"]
    return {**parts[0], **parts[1]}, dict, lambda _, lang: "\n".join(words_table(part, lang) for part in parts)


LISTS = {"chips": list_chips, "operations": list_operations, "words": list_words}
# The list that an option is of.
OPTIONS = {"chips": "chips", "check": "chips", "config": "operations"}


@click.command("list")
@click.argument("what", type=click.Choice([*LISTS]), required=False)
@click.argument("names", nargs=-1, metavar="[NAME]")
@click.option("--chips", multiple=True, metavar="FILE", help=KEYS["chips"].says)
@click.option("--check", is_flag=True, help="Look for figures that cannot be; exit status 1 where one is.")
@click.option("--config", metavar="FILE", help="A config.json: the text of an operation with its sizes.")
@lang_option
@form_option("text", "json")
def listing(what: str | None, names: tuple[str, ...], lang: str | None, form: str, **options: Any) -> None:
    """List the chips, the operations of the library, or the words that name quantities; or show one of them.

    \b
    symroof list chips h100
    symroof list operations decoder --config config.json
    """
    for option, kind in OPTIONS.items():
        if options[option] and what != kind:
            raise ReadingError(f"--{option} is of another list", expected=f"symroof list {kind} --{option}")
    if len(names) > 1:
        raise ReadingError(f"one of {what} is shown at a time, and there are {len(names)}: {', '.join(names)}")
    if what is None:
        write("".join(f"symroof list {name:11} {make.__doc__}\n" for name, make in LISTS.items()))
        return
    shown, record, table = LISTS[what](names, options)
    if form == "text":
        write(table(shown, lang))
    else:
        write_json([record(entry) for entry in shown] if isinstance(shown, list) else record(shown))
    if options["check"] and shown:
        raise SystemExit(1)
