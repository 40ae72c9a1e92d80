"""The commands that verify, and that list the names of textbooks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from symroof.cli.options import given_flags, problem_options
from symroof.cli.output import WIDTH, as_json, terminal, write
from symroof.errors import ReadingError


@click.command()
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option("--on", "hardware", multiple=True, metavar="CHIP", help="Judge under another chip, and list what moves.")
@click.option(
    "--given", multiple=True, metavar="NAME=VALUE", help="Judge under another figure, and list what moves: HBM=8.19e11."
)
@problem_options("assume", "mesh", "link", "count", "compute", "dtype", "chips")
@click.option("--format", "form", type=click.Choice(["text", "markdown", "json", "github"]), default="text")
@click.option("-v", "--verbose", is_flag=True, help="Show good claims as well, and what was skipped and why.")
@click.option("--strict", is_flag=True, help="A claim that needs an unstated regime is a finding.")
@click.option("--suggest", is_flag=True, help="Print the comments to paste for operations that stand in the text.")
@click.option("-j", "--jobs", type=click.IntRange(1, 256), default=1, metavar="N", help="Files judged at once.")
@click.option("--template", metavar="DIR", help="A folder whose templates replace the shipped ones.")
@click.option("-o", "--output", metavar="FILE", help="Write to a file.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto")
def verify(
    files: tuple[str, ...],
    form: str,
    verbose: bool,
    strict: bool,
    suggest: bool,
    jobs: int,
    template: str | None,
    output: str | None,
    color: str,
    **options: Any,
) -> None:
    """Judge the claims of problem files and the formulas of documents.

    \b
    symroof verify answers.toml chapter.md notes.tex

    Exit status: 0 all good, 1 a claim is wrong, undecided or unreadable, or a document had none, 2 a file cannot be read.
    """
    if not files:
        raise ReadingError("there is nothing to verify", expected="files: problems (.toml), Markdown, LaTeX or text")
    if suggest:
        sys.exit(_suggest(files))
    from symroof.verification.files import judge_files, moved

    overrides = given_flags(options)
    compared = any(key in overrides for key in ("hardware", "given"))
    plain = {key: value for key, value in overrides.items() if key not in ("hardware", "given")}
    progress = _progress(len(files))
    reports = judge_files(files, overrides, jobs=jobs, progress=progress)
    moves = moved(judge_files(files, plain, jobs=jobs, progress=progress), reports) if compared else None
    _finished(progress)
    for report in reports:
        if report.error is not None:
            click.echo(f"symroof: {report.error}", err=True)
    if form == "json":
        from symroof.rendering.records.judgements import report_record

        write(as_json(report_record(reports, moves)), output)
    else:
        from symroof.rendering.pages.pen import Style
        from symroof.rendering.pages.reports import render_report

        colour = form == "text" and terminal(output, color)["colour"]
        style = Style(brief=not verbose, template=template, colour=colour)
        text = render_report(reports, form, style, strict, moves)
        write(text, output)
    if any(report.error is not None for report in reports):
        sys.exit(2)
    if any(report.findings(strict) for report in reports):
        sys.exit(1)


def _suggest(files: tuple[str, ...]) -> int:
    """The comments to paste into each document."""
    from symroof.reading.documents import TEX_SUFFIXES, read_document
    from symroof.reading.suggestions import suggested

    for name in files:
        path = Path(name)
        if path.suffix.lower() == ".toml":
            raise ReadingError(f"{name} is a file of problems", expected="a document: Markdown, LaTeX or text")
        comments = list(suggested(read_document(path), path.suffix.lower() in TEX_SUFFIXES))
        if not comments:
            click.echo(f"{name}: no typed operation stands in the text", err=True)
        for line, comment in comments:
            click.echo(f"{name}:{line}\n{comment}\n")
    return 0


def _progress(count: int) -> Any:
    """The file at hand, on the error stream, where a person watches long work."""
    if count < 2 or not sys.stderr.isatty():
        return None
    return lambda name: click.echo(f"\r\x1b[K{name[:70]}", nl=False, err=True)


def _finished(progress: Any) -> None:
    if progress is not None:
        click.echo("\r\x1b[K", nl=False, err=True)


@click.command()
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def names(form: str) -> None:
    """List the words of textbooks that name quantities; `aliases` in a problem add to them."""
    from symroof.reading.vocabulary import VOCABULARY
    from symroof.rendering.pages.terminal import NBSP, fold

    if form == "json":
        write(as_json(VOCABULARY), None)
        return
    width = max(map(len, VOCABULARY))
    for name, words in VOCABULARY.items():
        label = f"{name:<{width}}"
        for line in fold(",  ".join(word.replace(" ", NBSP) for word in words), WIDTH - width - 2):
            click.echo(f"{label}  {line}")
            label = " " * width
