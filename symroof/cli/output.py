"""What the commands print, and where."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from symroof.errors import ReadingError, SymroofError
from symroof.rendering.pages.dialects import dialect_named

# The width of what is not read on a terminal, and the narrowest and widest that a page is laid out for.
WIDTH, NARROWEST, WIDEST = 96, 40, 120


def terminal(output: str | None, color: str) -> dict[str, Any]:
    """How text is shown: the width of the terminal, whether it can show more than ASCII, and whether in colours."""
    import shutil

    shown = output in (None, "-")
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    seen = shown and sys.stdout.isatty()
    width = shutil.get_terminal_size((WIDTH, 24)).columns if seen else WIDTH
    colour = color == "always" or (color == "auto" and seen and not os.environ.get("NO_COLOR"))
    return {
        "width": max(NARROWEST, min(width, WIDEST)),
        "unicode": not shown or encoding.startswith("utf"),
        "colour": shown and colour,
    }


def publish(
    answers: Sequence[Any], form: str, output: str | None, color: str, *, alone: bool = True, **style: Any
) -> None:
    """Write the pages of the answers, or their records: one object for one problem, a list for several."""
    if not answers:
        return
    if form == "json":
        written = [answer.to_dict() for answer in answers]
        records = [record for part in written for record in (part if isinstance(part, list) else [part])]
        write_json(records[0] if alone and len(records) == 1 else records, output)
        return
    from symroof.rendering.pages.typesetting import Style

    look = Style(**style, **terminal(output, color))
    form = form if look.dialect is None else dialect_named(look.dialect).form
    write("\n".join(answer.page(form, look) for answer in answers), output)


def write_json(record: Any, output: str | None = None) -> None:
    write(json.dumps(record, indent=2, ensure_ascii=False) + "\n", output)


def write(content: str | bytes, output: str | None = None) -> None:
    if output in (None, "-"):
        click.echo(content, nl=False, color=True)
        return
    try:
        Path(str(output)).write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    except OSError as error:
        raise ReadingError(f"{output} cannot be written: {error.strerror}") from None


def complain(error: SymroofError) -> None:
    click.echo(f"symroof: {error}", err=True)


@contextmanager
def progress_bar(wanted: bool = True) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on the error stream, where a person watches; it appears when work takes longer than a moment."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    with Progress(
        BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, count: bar.update(task, completed=done, total=count)


@contextmanager
def workers(dask: str | None) -> Iterator[Any]:
    """The workers of a Dask cluster, or None for this process."""
    if dask is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise ReadingError(
            "--dask needs the library distributed, which is not installed", hint="pip install distributed"
        ) from None
    try:
        client = Client(dask)
    except (OSError, ValueError) as error:
        raise ReadingError(f"no Dask scheduler at {dask!r}: {error}", expected="tcp://host:8786") from None
    with client:
        yield client.get_executor()
