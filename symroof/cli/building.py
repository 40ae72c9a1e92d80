"""The command that writes derivations and values into documents, or checks that they are still true."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
from difflib import unified_diff
from pathlib import Path
from typing import Any

import click

import symroof
from symroof.cli.options import OF_DERIVATIONS, Grouped, given_flags, lang_option, problem_options
from symroof.cli.output import complain, write
from symroof.errors import ReadingError, SymroofError
from symroof.reading.toml import text_file

WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@click.command(cls=Grouped)
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option("--check", is_flag=True, help="Write nothing; phrase what moved, and exit 1 where something is stale.")
@click.option("--diff", is_flag=True, help="Write nothing; print the difference.")
@click.option("--stdout", is_flag=True, help="Write nothing; print the document.")
@click.option("--force", is_flag=True, help="Overwrite blocks that were changed by hand, and pictures of others.")
@click.option("--require", is_flag=True, help="A file without a block or a value is a finding.")
@click.option("--dialect", metavar="NAME", help="How mathematics is set; else what symroof.toml says.")
@lang_option
@click.option("-v", "--verbose", is_flag=True, help="Say which dialect is used and why, and what stayed the same.")
@problem_options(*OF_DERIVATIONS, "solve_for", "at", "assume", "mesh", "link", "dtype", usual=("hardware", "given"))
def build(
    files: tuple[str, ...],
    check: bool,
    diff: bool,
    stdout: bool,
    force: bool,
    require: bool,
    dialect: str | None,
    lang: str | None,
    verbose: bool,
    **options: Any,
) -> None:
    """Write the blocks and values of documents anew, between their markers.

    \b
    symroof build docs/*.md
    symroof build --check --given HBM=8.1e11 docs/*.md

    Exit status: 0 written or clean, 1 stale (and not written) or changed by hand, 2 the input or the usage is at fault.
    """
    if not files:
        raise ReadingError(
            "there is nothing to build", expected="documents: Markdown, reStructuredText, LaTeX, notebooks"
        )
    overrides, results = given_flags(options), []
    for name in files:
        try:
            text = sys.stdin.read() if name == "-" else text_file(Path(name), "utf-8")
            built = _built(name, text, dialect=dialect, lang=lang, force=force, given=overrides)
            results.append(built)
            if built is not None:
                _report_blocks(built, check, verbose)
            elif require:
                click.echo(f"{name}: {_phrases(lang)('nothing')}", err=True)
            if stdout or (name == "-" and not (check or diff)):
                write(text if built is None else built.text)
            elif built is not None and not (check or diff or built.failed):
                _write(Path(name), built)
        except SymroofError as error:
            complain(error)
            results.append(error)
    for built in (result for result in results if hasattr(result, "text") and (diff or check)):
        write("".join(_difference(built)))
    stale = sum(bool(getattr(result, "stale", ())) for result in results)
    if check and stale:
        click.echo(
            _phrases(*{result.lang for result in results if hasattr(result, "lang")})("would_change", stale, len(files))
        )
    if any(isinstance(result, SymroofError) or getattr(result, "failed", False) for result in results):
        sys.exit(2)
    edited = any(block.status == "edited" for result in results for block in getattr(result, "blocks", ()))
    sys.exit(int(edited or ((check or diff) and stale > 0) or (require and None in results)))


def _built(name: str, text: str, **options: Any) -> Any:
    """The document built, or None where it has no marker: then nothing else is imported."""
    if "symroof" not in text:
        return None
    built = symroof.build(text, path=None if name == "-" else Path(name), **options)
    return built if built.blocks else None


def _report_blocks(built: Any, check: bool, verbose: bool) -> None:
    """What is to be said of each block."""
    if verbose:
        settings = built.settings
        click.echo(f"{built.name}: {_phrases(built.lang)('dialect', settings.dialect, settings.why)}", err=True)
    for block in built.blocks:
        if block.error is not None:
            click.echo(f"symroof: {block.error}", err=True)
        elif verbose or block.status == "edited" or (check and block.status != "same"):
            click.echo(built.says(block), err=not check)


def _difference(built: Any) -> list[str]:
    old, new = (text.splitlines(keepends=True) for text in (built.before, built.text))
    phrase = _phrases(built.lang)
    return list(unified_diff(old, new, phrase("before", built.name), phrase("after", built.name)))


def _phrases(*langs: str | None) -> Any:
    """The words for documents in their language; where they have several, or none is said, in English."""
    from symroof.building.built_document import said_of_documents

    return said_of_documents(langs[0] if len(langs) == 1 else None)


def _write(path: Path, built: Any) -> None:
    """The pictures, and then the document: each whole, or as it was."""
    for file, data in built.files.items():
        if not file.is_file() or file.read_bytes() != data:
            _replace(file, data)
    if built.text != built.before:
        if path.read_bytes() != built.before.encode("utf-8"):
            raise ReadingError(f"{path} was changed while it was built")
        _replace(path, built.text.encode("utf-8"))


def _replace(path: Path, data: bytes) -> None:
    """Other bytes in a file at once: a crash leaves the old ones. A link stays result."""
    path = path.resolve()
    try:
        if path.exists() and not path.stat().st_mode & WRITABLE:
            raise PermissionError(errno.EACCES, "it is read-only")
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if path.exists():
                os.chmod(beside, path.stat().st_mode)
            else:
                os.chmod(beside, 0o644)
            Path(beside).replace(path)
        except BaseException:
            Path(beside).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ReadingError(f"{path} cannot be written: {error.strerror}") from None
