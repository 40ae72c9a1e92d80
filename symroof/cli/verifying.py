"""The commands that verify, and that list the names of textbooks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from symroof.cli.options import given_flags
from symroof.cli.output import write
from symroof.errors import ReadingError


@click.command()
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option("--on", "hardware", multiple=True, metavar="CHIP", help="Judge under another chip, and list what moves.")
@click.option(
    "--given", multiple=True, metavar="NAME=VALUE", help="Judge under another figure, and list what moves: HBM=8.19e11."
)
@click.option("--assume", multiple=True, metavar="REGIME", help="A regime in place of those of the file.")
@click.option("--mesh", multiple=True, metavar="AXIS=CHIPS", help="The size of a mesh axis: X=2.")
@click.option("--link", multiple=True, metavar="NAME", help="The memory or link that is compared with.")
@click.option("--count", metavar="fma|exact", help="How additions count.")
@click.option("--compute", metavar="DTYPE", help="The dtype whose peak rate the arithmetic runs at.")
@click.option("--dtype", metavar="DTYPE", help="The dtype of tensors that do not state one.")
@click.option("--chips", multiple=True, metavar="FILE", help="A file with chips of your own.")
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
        import json

        from symroof.rendering.records.judgements import report_record

        write(json.dumps(report_record(reports, moves), indent=2, ensure_ascii=False) + "\n", output, "never")
    else:
        from symroof.rendering.pages.reports import render_report

        text = render_report(reports, form, verbose=verbose, strict=strict, moves=moves, template=template)
        write(text, output, color if form == "text" else "never")
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
        found = list(suggested(read_document(path), path.suffix.lower() in TEX_SUFFIXES))
        if not found:
            click.echo(f"{name}: no typed operation stands in the text", err=True)
        for line, comment in found:
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

    if form == "json":
        import json

        click.echo(json.dumps(VOCABULARY, indent=2, ensure_ascii=False))
        return
    width = max(map(len, VOCABULARY))
    for name, words in VOCABULARY.items():
        line = f"{name:<{width}}"
        for word in words:
            if len(line) + len(word) > 96:
                click.echo(line.rstrip())
                line = " " * width
            line += f"  {word}," if word != words[-1] else f"  {word}"
        click.echo(line)
