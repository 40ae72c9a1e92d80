"""What the commands print, and where."""

from __future__ import annotations

import os
import sys
from pathlib import Path

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


def complain(error: SymroofError) -> None:
    click.echo(f"symroof: {error}", err=True)
