"""The command ``symroof verify``."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symroof.cli.options import OF_DERIVATIONS, Grouped, given_flags, output_options, problem_options
from symroof.cli.output import progress_bar, terminal, write, write_json
from symroof.errors import ReadingError

if TYPE_CHECKING:
    from symroof.verification.baseline import Accepted
    from symroof.verification.judgement import FileReport, Standard


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
    **options: Any,
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
    from symroof.api.judging import judged_file
    from symroof.rendering.pages.report_page import render_report
    from symroof.rendering.pages.typesetting import Style
    from symroof.rendering.report import report_record
    from symroof.verification.files import judge_files, moved
    from symroof.verification.judgement import Standard

    style = Style(brief=not verbose, template=template, lang=lang, hints=hints)
    overrides = given_flags(options)
    plain = {key: value for key, value in overrides.items() if key not in ("hardware", "given")}
    with progress_bar(len(files) > 1) as progress:
        judged = partial(judge_files, files, judge=judged_file, jobs=jobs, progress=progress)
        reports = judged(overrides=overrides)
        moves = None if plain == overrides else moved(judged(overrides=plain), reports)
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
        style = replace(style, **terminal(output, color if form == "text" else "never"))
        write(render_report(reports, form, style, standard, moves, gone or ()), output)
    if errors:
        sys.exit(2)
    if any(report.findings(standard) for report in reports):
        sys.exit(1)


def _compared(
    reports: tuple[FileReport, ...], baseline: str | None, new: str | None, standard: Standard
) -> tuple[tuple[FileReport, ...], tuple[Accepted, ...] | None]:
    """The reports beside a baseline, and what of it is gone; one that is asked for is written."""
    from symroof.verification.baseline import baseline_of, passed_over, read_baseline, written

    path = Path(new or baseline or "")
    accepted = read_baseline(Path(baseline), path) if baseline else ()
    if new is not None:
        before = (*accepted, *(read_baseline(path) if path.exists() and Path(baseline or "") != path else ()))
        accepted = baseline_of(reports, before, path, standard)
        write(written(accepted), new)
    if baseline is None and new is None:
        return reports, None
    return passed_over(reports, accepted, path, standard)
