"""The command that draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from symroof.cli.options import pair, problem_options, tables_of
from symroof.cli.output import write, write_bytes
from symroof.errors import ReadingError


@click.command()
@click.argument("operation", nargs=-1, metavar="OPERATION|FILE.toml")
@click.option("--kind", metavar="KIND", help="roofline, throughput, times or regimes; by default told by --over.")
@click.option("--over", multiple=True, metavar="SIZES", help="B=1..400, or B=1..4096,D=1..4096 for a regime map.")
@click.option("--width", type=click.IntRange(100, 10_000), default=1440, metavar="PIXELS", help="The width of a PNG.")
@click.option(
    "--format", "form", type=click.Choice(["figure", "text"]), default="figure", help="text prints the plotted points."
)
@click.option("-o", "--output", metavar="FILE", help="A .svg, .png or .pdf file.")
@problem_options()
def plot(
    operation: tuple[str, ...],
    kind: str | None,
    over: tuple[str, ...],
    width: int,
    form: str,
    output: str | None,
    **options: Any,
) -> None:
    """Draw a roofline, throughput, times, or a regime map.

    \b
    symroof plot "bf16[B, D] * int8[D, F] -> bf16[B, F]" --on tpu-v5e --at D=F=4096 --at D=F=1024 --over B=1..400 -o q3.svg
    symroof plot matmul --on tpu-v5e --at B=64,D=F=8192 --link HBM --link slow=2.05e11 -o roofline.svg
    """
    if form == "figure" and (output is None or output == "-"):
        raise ReadingError(
            "there is no file to draw in", expected="-o FILE.svg, .png or .pdf; --format text prints the points"
        )
    from symroof import api

    chips = [name.strip() for text in options.pop("hardware") for name in text.split(",") if name.strip()]
    links, more = _links(options.pop("link"))
    options["given"] = (*options["given"], *more)
    tables = tables_of(operation, options)
    if len(tables) != 1:
        raise ReadingError(
            f"there are {len(tables)} problems, and one figure to draw", expected="a file with one problem"
        )
    figure = api.plot(tables[0], on=chips or None, kind=kind, over=",".join(over) or None, links=links or None)
    if form == "text":
        write(figure.to_text(), output)
    elif output is not None:
        write_bytes(figure.drawn(Path(output).suffix.removeprefix("."), width), output)


def _links(texts: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The links, and the bandwidths of those that are given here: ``slow=2.05e11``."""
    links, given = [], []
    for text in (part for whole in texts for part in whole.split(",")):
        if "=" in text:
            name, value = pair("link", text)
            given.append(f"{name}={value}")
            links.append(name)
        else:
            links.append(text.strip())
    return list(dict.fromkeys(links)), given
