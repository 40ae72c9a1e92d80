"""The commands that explore: regimes of an operation, and chips side by side."""

from __future__ import annotations

import sys
from typing import Any

import click

from symroof.cli.options import answered, given_flags, output_options, problem_options, tables_of
from symroof.cli.output import progress_bar, publish, workers
from symroof.errors import ReadingError


@click.command()
@click.argument("operation", nargs=-1, metavar="OPERATION|FILE.toml")
@click.option("--of", metavar="QUANTITY", help="A quantity such as T_comms/T_math; or 'a ~ b', whose regime is sought.")
@click.option("--all", "every", is_flag=True, help="List every regime, not the corners alone, where there are many.")
@problem_options()
@click.option("--brief", is_flag=True, help="The map alone.")
@output_options("text", "markdown", "latex", "json")
def regimes(
    operation: tuple[str, ...],
    of: str | None,
    every: bool,
    form: str,
    output: str | None,
    color: str,
    brief: bool,
    heading: int,
    template: str | None,
    **options: Any,
) -> None:
    """List every asymptotic regime of an operation.

    \b
    symroof regimes "bf16[B, D] * bf16[D, F] -> bf16[B, F]" --on tpu-v5e
    symroof regimes --of "BDF/(BD + DF + BF) ~ B"

    Exit status: 0 all good, 1 no regime makes an approximation true, 2 the input or the usage is at fault.
    """
    from symroof import api

    if not operation and of is not None:
        if given_flags(options):
            raise ReadingError(
                "without an operation there is nothing that the other options speak of",
                expected="an operation, or --of alone",
            )
        answers, alone, failures = [api.regimes(of=of)], True, 0
    else:
        answers, alone, failures = answered(operation, options, lambda table: api.regimes(table, of=of, every=every))
    publish(answers, form, output, color, alone=alone, brief=brief, heading=heading, template=template)
    if failures:
        sys.exit(2)
    if any(not getattr(answer, "alternatives", True) for answer in answers):
        sys.exit(1)


@click.command()
@click.argument("operation", nargs=-1, metavar="OPERATION|FILE.toml")
@problem_options()
@output_options("text", "markdown", "latex", "csv", "json")
def compare(
    operation: tuple[str, ...],
    form: str,
    output: str | None,
    color: str,
    heading: int,
    template: str | None,
    **options: Any,
) -> None:
    """Put chips and dtypes side by side.

    \b
    symroof compare "bf16[B, D] * bf16[D, F] -> bf16[B, F]" --on tpu-v5e,tpu-v5p,h100 --dtype bf16,int8 --assume "B << D, F"
    """
    from symroof import api

    on = ",".join(options.pop("hardware"))
    dtypes = options.pop("dtype") or ""
    if not on:
        raise ReadingError("there are no chips to compare", expected="--on tpu-v5e,h100")
    kinds = [kind.strip() for kind in dtypes.split(",") if kind.strip()]

    def run(table: dict[str, Any]) -> Any:
        table = {key: value for key, value in table.items() if key != "hardware"}
        first = {"dtype": next(iter(kinds))} if kinds else {}
        return api.compare({**table, **first}, on=on, dtypes=dtypes)

    answers, alone, failures = answered(operation, options, run)
    publish(answers, form, output, color, alone=alone, heading=heading, template=template)
    if failures:
        sys.exit(2)


@click.command()
@click.argument("operation", nargs=-1, metavar="OPERATION|FILE.toml")
@click.option("--grid", metavar="GRID", required=True, help="Sizes: B=1:4096:log, D=F=1024|4096.")
@click.option(
    "--of", metavar="NAMES", default="", help="Quantities, with commas; by default intensity, times and throughput."
)
@click.option("-o", "--output", metavar="FILE", required=True, help="A .csv or .parquet file.")
@click.option("-j", "--jobs", type=click.IntRange(1, 256), default=1, metavar="N", help="Processes at work at once.")
@click.option("--dask", metavar="ADDRESS", help="A Dask scheduler whose workers see the same files: tcp://host:8786.")
@click.option("--chunk", type=click.IntRange(1, 10**8), default=65536, metavar="ROWS", help="Rows of a chunk.")
@problem_options()
def sweep(
    operation: tuple[str, ...], grid: str, of: str, output: str, jobs: int, dask: str | None, chunk: int, **options: Any
) -> None:
    """Compute quantities on a grid of sizes.

    \b
    symroof sweep "bf16[B, D] * bf16[D, F] -> bf16[B, F]" --on tpu-v5e --grid "B=1:4096:log, D=F=1024|4096" -o out.csv

    Stopped work goes on where it was when the command is given again.
    """
    from symroof import api

    with workers(jobs, dask) as executor, progress_bar() as progress:

        def run(table: dict[str, Any]) -> Any:
            return api.sweep(table, grid, output, of=of, chunk=chunk, executor=executor, progress=progress)

        tables = tables_of(operation, options)
        if len(tables) != 1:
            raise ReadingError(
                f"there are {len(tables)} problems, and one table to write", expected="a file with one problem"
            )
        rows = run(tables[0])
    click.echo(f"{output}: {rows} rows", err=True)
