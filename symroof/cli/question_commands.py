"""The commands that ask about an operation: its roofline, its regimes, chips side by side, figures and grids; ``symroof list``
and ``symroof help``, which say what can be asked, by the tables that the readers read by and ``reading/reference.toml``."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

import symroof
from symroof.cli.options import (
    OF_DERIVATIONS,
    Flags,
    Grouped,
    form_option,
    lang_option,
    only_problem,
    operation_argument,
    output_options,
    pair,
    problem_options,
    respond,
    workers,
    write,
    write_json,
)
from symroof.errors import ReadingError, require_one_of
from symroof.reading.keys import KEYS
from symroof.reading.toml import shipped_table
from symroof.reading.vocabulary import VOCABULARY, WORDS

# Names of values, several at once.
LIST = re.compile(r"\w+(,\w+)+")


@click.command(cls=Grouped)
@operation_argument
@problem_options()
@click.option("--section", "sections", multiple=True, metavar="NAME", help="Only these sections.")
@click.option("--statement", metavar="NAME", help="Only what is said of this statement of a program.")
@click.option(
    "--value",
    "values",
    multiple=True,
    metavar="NAME|FORMULA",
    help="One value of the answer: smallest_integer; or of its quantities at the sizes: B/T_lower.",
)
@click.option("--unit", metavar="UNIT", help="The unit of --value: ms, GB, tokens/s.")
@click.option("--formula", "formulas", multiple=True, metavar="NAME", help="One formula of the answer: threshold.")
@click.option("--brief", is_flag=True, help="The answer alone.")
@click.option("--all", "full", is_flag=True, help="Every step for a long program too.")
@click.option("--program", is_flag=True, help="The text of the program too, with --brief.")
@output_options("text", "markdown", "latex", "json")
def derive(
    operation: tuple[str, ...], values: tuple[str, ...], formulas: tuple[str, ...], unit: str | None, **options: object
) -> None:
    """Derive the roofline of an operation.

    \b
    symroof derive "bf16[B, D] * bf16[D, F] -> bf16[B, F]" --on tpu-v5e --assume "B << D, F" --at D=F=8192
    symroof derive gated-mlp --training --on h100 --brief
    symroof derive megatron --on tpu-v5p --mesh Y=4 --at B=4096,D=8192,F=28672 --brief
    symroof derive examples/decode.toml --value B/T_lower --unit tokens/s
    """

    def run(table: dict[str, object]) -> Any:
        if not (values or formulas):
            return symroof.derive(table)
        from symroof.rendering.printed_values import counted_parts

        every = tuple(name for text in values for name in (text.split(",") if LIST.fullmatch(text) else [text]))
        parts = None if formulas else counted_parts(table, every, unit)
        parts = parts or symroof.derive(table).only(every, formulas, unit)
        for name, sizes in parts.open.items() if unit is None else ():
            figures = [size for size in sizes if size in ("peak", "bandwidth")]
            left = [size for size in sizes if size not in figures]
            whys = [f"no chip says the {' and the '.join(figures)}: --on"] if figures else []
            whys += [f"--at leaves {', '.join(left)} open"] if left else []
            click.echo(f"symroof: {name} is a formula, for {', and '.join(whys)}", err=True)
        return parts

    respond(operation, options, run)


@click.command(cls=Grouped)
@operation_argument
@click.option("--of", metavar="QUANTITY", help="A quantity such as T_comms/T_math; or 'a ~ b', whose regime is sought.")
@click.option("--all", "every", is_flag=True, help="List every regime, not the corners alone, where there are many.")
@problem_options(*OF_DERIVATIONS)
@click.option("--brief", is_flag=True, help="The map alone.")
@output_options("text", "markdown", "latex", "json")
def regimes(operation: tuple[str, ...], of: str | None, every: bool, **options: object) -> None:
    """List every asymptotic regime of an operation.

    \b
    symroof regimes "bf16[B, D] * bf16[D, F] -> bf16[B, F]" --on tpu-v5e
    symroof regimes --of "BDF/(BD + DF + BF) ~ B"

    Exit status: 0 all good, 1 no regime makes an approximation true, 2 the input or the usage is at fault.
    """
    answers = respond(
        operation, options, lambda table: symroof.regimes(table or None, of=of, every=every), of is not None
    )
    if not all(getattr(answer, "alternatives", True) for answer in answers):
        sys.exit(1)


@click.command(cls=Grouped)
@operation_argument
@problem_options(*OF_DERIVATIONS)
@output_options("text", "markdown", "latex", "csv", "json")
def compare(operation: tuple[str, ...], hardware: tuple[str, ...], dtype: str | None, **options: object) -> None:
    """Put chips and dtypes side by side.

    \b
    symroof compare "bf16[B, D] * bf16[D, F] -> bf16[B, F]" --on tpu-v5e,tpu-v5p,h100 --dtype bf16,int8 --assume "B << D, F"
    """
    if not any(hardware):
        raise ReadingError("there are no chips to compare", expected="--on tpu-v5e,h100")
    respond(operation, options, lambda table: symroof.compare(table, on=",".join(hardware), dtypes=dtype or ""))


@click.command(cls=Grouped)
@operation_argument
@click.option(
    "--kind",
    metavar="KIND",
    help="roofline, throughput, times, breakdown, latency or regimes; by default told by --over.",
)
@click.option("--over", multiple=True, metavar="SIZES", help="B=1..400, or B=1..4096,D=1..4096 for a regime map.")
@click.option("--width", metavar="WIDTH", help="In pixels, 400, or in inches, 3.5in; type is readable at it.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["figure", "text", "csv", "json"]),
    default="figure",
    help="The plotted points: text, csv or json.",
)
@click.option(
    "--points",
    metavar="FILE.csv",
    help="Measured points: sizes, or FLOPs/byte, and seconds or FLOPs/s; one beyond its bound ends with exit code 1.",
)
@lang_option
@click.option("-o", "--output", metavar="FILE", help="A .svg, .png or .pdf file.")
@problem_options(*OF_DERIVATIONS)
def plot(
    operation: tuple[str, ...],
    kind: str | None,
    over: tuple[str, ...],
    width: str | None,
    form: str,
    points: str | None,
    lang: str | None,
    output: str | None,
    hardware: tuple[str, ...],
    link: tuple[str, ...],
    given: tuple[str, ...],
    **options: object,
) -> None:
    """Draw a roofline, throughput, times, what the statements of a program take of them, or a regime map.

    \b
    symroof plot "bf16[B, D] * int8[D, F] -> bf16[B, F]" --on tpu-v5e --at D=F=4096 --at D=F=1024 --over B=1..400 -o q3.svg
    symroof plot matmul --on tpu-v5e --at B=64,D=F=8192 --link HBM --link slow=2.05e11 -o roofline.svg
    symroof plot mlp.toml --on tpu-v5e --at N=64,D=8192,F=32768 --kind breakdown -o times.svg
    symroof plot mesh.toml --over X=1..256 --at Y=4,B=65536,D=8192,F=28672 -o chips.svg
    """
    if form == "figure" and output in (None, "-"):
        raise ReadingError(
            "there is no file to draw in", expected="-o FILE.svg, .png or .pdf; --format text prints the points"
        )
    parts = [part.strip() for whole in link for part in whole.split(",")]
    bandwidths = (pair("link", part) for part in parts if "=" in part)  # of a link of one's own: slow=2.05e11
    options["given"] = (*given, *(f"{name}={value}" for name, value in bandwidths))
    links = [part.partition("=")[0].strip() for part in parts]
    table = only_problem(operation, options, "figure to draw", ",".join(over))
    axes = ",".join(over) or None
    figure = symroof.plot(
        table, on=",".join(hardware) or None, kind=kind, over=axes, links=links or None, points=points
    )
    form_of = Path(output or "").suffix.removeprefix(".")
    tables = {"text": lambda: figure.to_text(lang), "csv": figure.to_csv, "json": figure.to_json}
    write(tables[form]() if form in tables else figure.drawn(form_of, width, lang), output)
    for finding in figure.findings:
        faster = f"faster than its bound allows, by {float(finding.share - 1) * 100:.2g} %"
        click.echo(f"symroof: {finding.label} is {faster}: a count, a figure or the measurement is wrong", err=True)
    if figure.findings:
        sys.exit(1)


@click.command(cls=Grouped)
@operation_argument
@lang_option
@click.option("-o", "--output", metavar="FILE", help="A .html file.")
@problem_options(*OF_DERIVATIONS)
def page(
    operation: tuple[str, ...], lang: str | None, output: str | None, hardware: tuple[str, ...], **options: object
) -> None:
    """Write a page that answers while sizes move: one file that opens without a network.

    \b
    symroof page "bf16[B, D] * bf16[D, F] -> bf16[B, F]" --on tpu-v5e -o product.html
    symroof page mesh.toml --at B=65536,D=8192,F=32768,X=16,Y=4 --lang ko -o mesh.html

    The first chip of --on is the one with which it begins; with one alone those of the catalogue are on it as well.
    """
    if output in (None, "-"):
        raise ReadingError("there is no file to write", expected="-o FILE.html")
    shown = symroof.page(only_problem(operation, options, "page to write"), on=",".join(hardware) or None)
    write(shown.to_html(lang), output)


@click.command(cls=Grouped)
@operation_argument
@click.option("--grid", metavar="GRID", required=True, help="Sizes: B=1:4096:log, D=F=1024|4096.")
@click.option(
    "--of", metavar="NAMES", default="", help="Quantities, with commas; by default intensity, times and throughput."
)
@click.option("-o", "--output", metavar="FILE", required=True, help="A .csv or .parquet file.")
@click.option("--dask", metavar="ADDRESS", help="A Dask scheduler whose workers compute the rows: tcp://host:8786.")
@problem_options(*OF_DERIVATIONS)
def sweep(operation: tuple[str, ...], grid: str, of: str, output: str, dask: str | None, **options: object) -> None:
    """Compute quantities on a grid of sizes.

    \b
    symroof sweep "bf16[B, D] * bf16[D, F] -> bf16[B, F]" --on tpu-v5e --grid "B=1:4096:log, D=F=1024|4096" -o out.csv
    """
    table = only_problem(operation, options, "table to write", grid)
    with workers(dask) as executor:
        rows = symroof.sweep(table, grid, output, of=of, executor=executor)
    click.echo(f"{output}: {rows} rows", err=True)


# What is listed, one of it as a record, and all of it as a table in a language.
Listed = tuple[Any, Callable[[Any], Any], Callable[[Any, str | None], str]]


def written(topic: str) -> tuple[tuple[str, str], ...]:
    """What may be written in a program, or as a claim, and what each of it says."""
    return tuple(shipped_table("reading/reference.toml")[topic].items())


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


def list_chips(names: Sequence[str], options: Flags) -> Listed:
    """The chips with their figures; of one its sources and its parts as well."""
    from symroof.model.hardware import findings
    from symroof.reading.chips import catalogue, chip
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


def list_operations(names: Sequence[str], options: Flags) -> Listed:
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


def list_words(names: Sequence[str], options: Flags) -> Listed:
    """The words of textbooks that name quantities, and those of programs alone; `aliases` in a problem add to them."""
    from symroof.rendering.pages import templating, terminal

    if names:
        raise ReadingError("the words are one list", expected="symroof list words")
    parts = VOCABULARY, WORDS["amounts"]

    def tables(_: object, lang: str | None) -> str:
        called = templating.load(f"{lang}/catalogues.j2", None, lang, {}).called if lang else lambda name: ""
        return "\n".join(terminal.words_table(part, called) for part in parts)

    return {**parts[0], **parts[1]}, dict, tables


LISTS = {"chips": list_chips, "operations": list_operations, "words": list_words}
# The list that an option is of.
OPTIONS = {"chips": "chips", "check": "chips", "config": "operations"}


@click.command("list")
@click.argument("topic", type=click.Choice([*LISTS]), required=False)
@click.argument("names", nargs=-1, metavar="[NAME]")
@click.option("--chips", multiple=True, metavar="FILE", help=KEYS["chips"].says)
@click.option("--check", is_flag=True, help="Look for figures that cannot be; exit status 1 where one is.")
@click.option("--config", metavar="FILE", help="A config.json: the text of an operation with its sizes.")
@lang_option
@form_option("text", "json")
def listing(topic: str | None, names: tuple[str, ...], lang: str | None, form: str, **options: object) -> None:
    """List the chips, the operations of the library, or the words that name quantities; or show one of them.

    \b
    symroof list chips h100
    symroof list operations decoder --config config.json
    """
    for option, kind in OPTIONS.items():
        if options[option] and topic != kind:
            raise ReadingError(f"--{option} is of another list", expected=f"symroof list {kind} --{option}")
    if len(names) > 1:
        raise ReadingError(f"one of {topic} is shown at a time, and there are {len(names)}: {', '.join(names)}")
    if topic is None:
        write("".join(f"symroof list {name:11} {make.__doc__}\n" for name, make in LISTS.items()))
        return
    shown, record, table = LISTS[topic](names, options)
    if form == "text":
        write(table(shown, lang))
    else:
        write_json([record(entry) for entry in shown] if isinstance(shown, list) else record(shown))
    if options["check"] and shown:
        raise SystemExit(1)
