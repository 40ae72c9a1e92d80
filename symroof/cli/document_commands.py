"""The commands that read documents: ``symroof verify`` judges their claims, ``symroof build`` writes derivations and values into
them, or checks that these are still true."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable
from difflib import unified_diff
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

import symroof
from symroof.cli.options import (
    OF_DERIVATIONS,
    Grouped,
    complain,
    given_flags,
    lang_option,
    on_terminal,
    output_options,
    problem_options,
    progress_bar,
    write,
    write_json,
)
from symroof.errors import ReadingError, SymroofError
from symroof.reading.toml import text_file

if TYPE_CHECKING:
    from symroof.building.build import BuiltDocument
    from symroof.rendering.pages.typesetting import Sentences
    from symroof.verification.baseline import Accepted
    from symroof.verification.verdicts import FileReport, Standard


@click.command(cls=Grouped)
@click.argument("files", nargs=-1, metavar="FILE...")
@problem_options(
    *OF_DERIVATIONS,
    "solve_for",
    "at",
    usual=("hardware", "given"),
    hardware="Judge under another chip, and list what moves.",
    given="Judge under another figure, and list what moves: HBM=8.19e11.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show good claims as well, and what was skipped and why.")
@click.option("--strict", is_flag=True, help="A claim that needs an unstated regime, or cuts digits off, is a finding.")
@click.option(
    "--require", is_flag=True, help="A document of which nothing is judged is a finding, without a comment too."
)
@click.option(
    "--coverage",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Less than this share judged is a finding: of the formulas with a relation that claim something.",
)
@click.option(
    "--hints", is_flag=True, help="Say of a wrong answer which step to look at and what for, without what is right."
)
@click.option("--baseline", metavar="FILE", help="Findings that are accepted, by their text: new ones alone fail.")
@click.option(
    "--write-baseline", "new", metavar="FILE", help="Accept all findings that there are: reasons that stand there stay."
)
@click.option("-j", "--jobs", type=click.IntRange(1, 256), default=1, metavar="N", help="Files judged at once.")
@output_options("text", "markdown", "json", "github", without=("heading", "dialect"))
def verify(
    files: tuple[str, ...],
    verbose: bool,
    strict: bool,
    require: bool,
    coverage: float | None,
    hints: bool,
    baseline: str | None,
    new: str | None,
    jobs: int,
    form: str,
    template: str | None,
    lang: str | None,
    output: str | None,
    color: str,
    **options: object,
) -> None:
    """Judge the claims of problem files and the formulas of documents.

    \b
    symroof verify answers.toml chapter.md notes.tex

    \b
    Comments in a document:
    <!-- symroof operation = "matmul" -->       what formulas speak of from here on
    <!-- symroof let = { T_step = "B/C" } -->   to the end of the section
    <!-- symroof forget T_step -->              or to here
    <!-- symroof same = "T_math > T_comms" -->  the next formula is the same
    <!-- symroof follows -->                    it follows from the one before it

    Exit status: 0 all good, 1 a claim is wrong, undecided or unreadable, or a file with comments or claims has none that
    is judged, 2 a file cannot be read.
    """
    if not files:
        raise ReadingError("there is nothing to verify", expected="files: problems (.toml), Markdown, LaTeX or text")
    if hints and form == "json":
        raise ReadingError("--hints says what a person is to look at", expected="--format text, markdown or github")
    from symroof.api.authoring import judged_file
    from symroof.rendering.pages.report_page import render_report
    from symroof.rendering.pages.typesetting import Style
    from symroof.rendering.report import report_record
    from symroof.verification.files import judge_files, verdict_changes
    from symroof.verification.verdicts import Standard

    style = Style(brief=not verbose, template=template, lang=lang, hints=hints)
    overrides = given_flags(options)
    plain = {key: value for key, value in overrides.items() if key not in ("hardware", "given")}
    with progress_bar(len(files) > 1) as progress:
        judged = partial(judge_files, files, judge=judged_file, jobs=jobs, progress=progress)
        reports = judged(overrides=overrides)
        moves = None if plain == overrides else verdict_changes(judged(overrides=plain), reports)
    if coverage != coverage:  # not a number, which click takes for one
        raise click.BadParameter("nan is no share", param_hint="--coverage")
    standard = Standard(strict, require, Fraction(str(coverage or 0)) / 100)
    reports, gone = _compared(reports, baseline, new, standard)
    errors = [report.error for report in reports if report.error is not None]
    for error in errors:
        click.echo(f"symroof: {error}", err=True)
    if form == "json":
        write_json(report_record(reports, moves, gone), output)
    else:
        style = on_terminal(style, output, color if form == "text" else "never")
        write(render_report(reports, form, style, standard, moves, gone or ()), output)
    if errors:
        sys.exit(2)
    if any(report.findings(standard) for report in reports):
        sys.exit(1)


def _compared(
    reports: tuple[FileReport, ...], baseline: str | None, new: str | None, standard: Standard
) -> tuple[tuple[FileReport, ...], tuple[Accepted, ...] | None]:
    """The reports beside a baseline, and what of it is gone; one that is asked for is written."""
    from symroof.verification.baseline import baseline_of, read_baseline, without_accepted, written

    path = Path(new or baseline or "")
    accepted = read_baseline(Path(baseline), path) if baseline else ()
    if new is not None:
        before = (*accepted, *(read_baseline(path) if path.exists() and Path(baseline or "") != path else ()))
        accepted = baseline_of(reports, before, path, standard)
        write(written(accepted), new)
    if baseline is None and new is None:
        return reports, None
    return without_accepted(reports, accepted, path, standard)


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
    **options: object,
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
    documents: list[BuiltDocument] = []
    dry, lacking, failed = check or diff, False, False
    make = partial(symroof.build, dialect=dialect, lang=lang, force=force, given=given_flags(options))
    for name in files:
        try:
            text = sys.stdin.read() if name == "-" else text_file(Path(name), "utf-8")
            built = _built(name, text, make)
            if built is not None:
                documents.append(built)
                _report_blocks(built, check, verbose)
            elif require:
                lacking = True
                click.echo(f"{name}: {_phrases(lang)('nothing')}", err=True)
            if stdout or (name == "-" and not dry):
                write(text if built is None else built.text)
            elif built is not None and not (dry or built.failed):
                _write(Path(name), built)
        except SymroofError as error:
            complain(error)
            failed = True
    status = _judged(documents, check, dry, len(files))
    sys.exit(2 if failed else status or int(lacking))


def _judged(documents: list[BuiltDocument], check: bool, dry: bool, files: int) -> int:
    """The exit status for documents; in a ``dry`` run what would change is printed."""
    for document in documents if dry else ():
        write("".join(_difference(document)))
    stale = sum(bool(document.stale) for document in documents)
    if check and stale:
        click.echo(_phrases(*{document.lang for document in documents})("would_change", stale, files))
    edited = any(block.status == "edited" for document in documents for block in document.blocks)
    return 2 if any(document.failed for document in documents) else int(edited or (dry and stale > 0))


def _built(name: str, text: str, make: Callable[..., BuiltDocument]) -> BuiltDocument | None:
    """The document built, or None where it has no marker: then nothing else is imported."""
    if "symroof" not in text:
        return None
    built = make(text, path=None if name == "-" else Path(name))
    return built if built.blocks else None


def _report_blocks(built: BuiltDocument, check: bool, verbose: bool) -> None:
    """What is to be said of each block."""
    if verbose:
        settings = built.settings
        click.echo(f"{built.name}: {_phrases(built.lang)('dialect', settings.dialect, settings.why)}", err=True)
    for block in built.blocks:
        if block.error is not None:
            click.echo(f"symroof: {block.error}", err=True)
        elif verbose or block.status == "edited" or (check and block.status != "same"):
            click.echo(built.says(block), err=not check)


def _difference(built: BuiltDocument) -> list[str]:
    old, new = (text.splitlines(keepends=True) for text in (built.before, built.text))
    phrase = _phrases(built.lang)
    return list(unified_diff(old, new, phrase("before", built.name), phrase("after", built.name)))


def _phrases(*langs: str | None) -> Sentences:
    """The words for documents in their language; where they have several, or none is said, in English."""
    from symroof.building.build import document_words

    return document_words(langs[0] if len(langs) == 1 else None)


def _write(path: Path, built: BuiltDocument) -> None:
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
    import tempfile

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
