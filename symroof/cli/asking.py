"""The commands that ask about an operation: its roofline, its regimes, chips side by side, figures and grids."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click

import symroof
from symroof.cli.options import (
    OF_DERIVATIONS,
    Grouped,
    lang_option,
    only_problem,
    operation_argument,
    output_options,
    pair,
    problem_options,
    respond,
)
from symroof.cli.output import workers, write
from symroof.errors import ReadingError

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
    operation: tuple[str, ...], values: tuple[str, ...], formulas: tuple[str, ...], unit: str | None, **options: Any
) -> None:
    """Derive the roofline of an operation.

    \b
    symroof derive "bf16[B, D] * bf16[D, F] -> bf16[B, F]" --on tpu-v5e --assume "B << D, F" --at D=F=8192
    symroof derive gated-mlp --training --on h100 --brief
    symroof derive megatron --on tpu-v5p --mesh Y=4 --at B=4096,D=8192,F=28672 --brief
    symroof derive examples/decode.toml --value B/T_lower --unit tokens/s
    """

    def run(table: dict[str, Any]) -> Any:
        if not (values or formulas):
            return symroof.derive(table)
        from symroof.rendering.values_at_sizes import counted_parts

        every = tuple(name for text in values for name in (text.split(",") if LIST.fullmatch(text) else [text]))
        parts = None if formulas else counted_parts(table, every, unit)
        parts = parts or symroof.derive(table).only(every, formulas, unit)
        for name, sizes in parts.open.items() if unit is None else ():
            figures = [size for size in sizes if size in ("peak", "bandwidth")]
            left = [size for size in sizes if size not in figures]
            whys = [f"no chip says the {' and the '.join(figures)}: --on"] if figures else []
            whys += [f"--at leaves {', '.join(left)} open"] if left else []
            why = ", and ".join(whys)
            click.echo(f"symroof: {name} is a formula, for {why}", err=True)
        return parts

    respond(operation, options, run)


@click.command(cls=Grouped)
@operation_argument
@click.option("--of", metavar="QUANTITY", help="A quantity such as T_comms/T_math; or 'a ~ b', whose regime is sought.")
@click.option("--all", "every", is_flag=True, help="List every regime, not the corners alone, where there are many.")
@problem_options(*OF_DERIVATIONS)
@click.option("--brief", is_flag=True, help="The map alone.")
@output_options("text", "markdown", "latex", "json")
def regimes(operation: tuple[str, ...], of: str | None, every: bool, **options: Any) -> None:
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
def compare(operation: tuple[str, ...], hardware: tuple[str, ...], dtype: str | None, **options: Any) -> None:
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
    **options: Any,
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
    chips = ",".join(options.pop("hardware"))
    parts = [part.strip() for whole in options.pop("link") for part in whole.split(",")]
    given = [pair("link", part) for part in parts if "=" in part]  # the bandwidth of a link: slow=2.05e11
    options["given"] += tuple(f"{name}={value}" for name, value in given)
    links = [part.partition("=")[0].strip() for part in parts]
    table = only_problem(operation, options, "figure to draw", ",".join(over))
    axes = ",".join(over) or None
    figure = symroof.plot(table, on=chips or None, kind=kind, over=axes, links=links or None, points=points)
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
def page(operation: tuple[str, ...], lang: str | None, output: str | None, **options: Any) -> None:
    """Write a page that answers while sizes move: one file that opens without a network.

    \b
    symroof page "bf16[B, D] * bf16[D, F] -> bf16[B, F]" --on tpu-v5e -o product.html
    symroof page mesh.toml --at B=65536,D=8192,F=32768,X=16,Y=4 --lang ko -o mesh.html

    The first chip of --on is the one with which it begins; with one alone those of the catalogue are on it as well.
    """
    if output in (None, "-"):
        raise ReadingError("there is no file to write", expected="-o FILE.html")
    chips = ",".join(options.pop("hardware"))
    shown = symroof.page(only_problem(operation, options, "page to write"), on=chips or None)
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
def sweep(operation: tuple[str, ...], grid: str, of: str, output: str, dask: str | None, **options: Any) -> None:
    """Compute quantities on a grid of sizes.

    \b
    symroof sweep "bf16[B, D] * bf16[D, F] -> bf16[B, F]" --on tpu-v5e --grid "B=1:4096:log, D=F=1024|4096" -o out.csv
    """
    table = only_problem(operation, options, "table to write", grid)
    with workers(dask) as executor:
        rows = symroof.sweep(table, grid, output, of=of, executor=executor)
    click.echo(f"{output}: {rows} rows", err=True)
