"""The commands that explore: regimes of an operation, and chips side by side."""

from __future__ import annotations

import sys
from typing import Any

import click

from symroof.cli.options import output_options, problem_options
from symroof.cli.output import terminal, write
from symroof.cli.problems import answered


@click.command()
@click.argument("operation", nargs=-1, metavar="OPERATION|FILE.toml")
@click.option("--of", metavar="QUANTITY", help="A quantity such as T_comms/T_math; or 'a ~ b', whose regime is sought.")
@click.option("--all", "every", is_flag=True, help="List every regime, not the corners alone, where there are many.")
@problem_options
@output_options
def regimes(operation: tuple[str, ...], of: str | None, every: bool, form: str, output: str | None, color: str, **options: Any) -> None:
    """List every asymptotic regime of an operation.

    \b
    symroof regimes "bf16[B, D] * bf16[D, F] -> bf16[B, F]" --on tpu-v5e
    symroof regimes --of "BDF/(BD + DF + BF) ~ B"

    Exit status: 0 all good, 1 no regime makes an approximation true, 2 the input or the usage is at fault.
    """
    style = {key: options.pop(key) for key in ("brief", "heading", "template")}
    from symroof import api
    from symroof.exploration.explore import Inferred
    from symroof.rendering.mapped import inferred_record
    from symroof.rendering.maps import render_inferred

    if not operation and of is not None:
        found, alone, failures = [api.regimes(of=of)], True, 0
    else:
        found, alone, failures = answered(operation, options, lambda table: api.regimes(table, of=of, every=every))
    if form == "json":
        import json

        records: list[Any] = []
        for one in found:
            record = inferred_record(one) if isinstance(one, Inferred) else one.to_dict()
            records += record if isinstance(record, list) else [record]
        text = json.dumps(records[0] if alone and len(records) == 1 else records, indent=2, ensure_ascii=False) + "\n"
    else:
        width, _ = terminal(output)
        pages = []
        for one in found:
            if isinstance(one, Inferred):
                pages.append(render_inferred(one, form, template=style["template"]))
            else:
                sizes = {"width": width} if form == "text" else {"heading": style["heading"]}
                pages.append(getattr(one, f"to_{form}")(brief=style["brief"], template=style["template"], **sizes))
        text = "\n".join(pages)
    if found:
        write(text, output, color if form == "text" else "never")
    if failures:
        sys.exit(2)
    if any(isinstance(one, Inferred) and not one.alternatives for one in found):
        sys.exit(1)


