"""What the commands print, and where."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from symroof.errors import ReadingError, SymroofError


def terminal(output: str | None) -> tuple[int, bool]:
    """The width of the terminal, and whether it can show more than ASCII."""
    import shutil

    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    width = min(shutil.get_terminal_size((96, 24)).columns, 96) if sys.stdout.isatty() else 96
    return max(40, width), output is not None or encoding.startswith("utf")


def write(text: str, output: str | None, color: str) -> None:
    if output is not None and output != "-":
        try:
            Path(output).write_text(text, "utf-8")
        except OSError as error:
            raise ReadingError(f"{output} cannot be written: {error.strerror}") from None
        return
    wanted = color == "always" or (color == "auto" and sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
    if wanted and color != "never":
        from rich.console import Console

        Console(force_terminal=True, soft_wrap=True, no_color=False).print(text, markup=False, end="")
    else:
        click.echo(text, nl=False)


def write_bytes(content: bytes, output: str) -> None:
    try:
        Path(output).write_bytes(content)
    except OSError as error:
        raise ReadingError(f"{output} cannot be written: {error.strerror}") from None


def complain(error: SymroofError) -> None:
    click.echo(f"symroof: {error}", err=True)


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int], None] | None]:
    """A bar on the error stream, where a person watches; it appears when work takes longer than a moment."""
    if not sys.stderr.isatty():
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
def workers(jobs: int, dask: str | None) -> Iterator[Any]:
    """What runs independent work: this process, a pool of processes, or a Dask cluster."""
    if dask is not None:
        try:
            from distributed import Client
        except ImportError:
            raise ReadingError(
                "--dask needs the library distributed, which is not installed", hint="pip install distributed"
            ) from None
        with Client(dask) as client:
            yield client.get_executor()
    elif jobs > 1:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            yield pool
    else:
        yield None
