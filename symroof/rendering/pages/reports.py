"""Reports on claims: for a terminal, as Markdown, and as annotations for continuous integration."""

from __future__ import annotations

from collections.abc import Iterable

from symroof.errors import RenderingError, printable
from symroof.reading.exercises import VERDICTS
from symroof.reading.languages import USUAL_LANGUAGE
from symroof.rendering.pages.characters import padded
from symroof.rendering.pages.environment import guarded, render
from symroof.rendering.pages.explanations import Explainer
from symroof.rendering.pages.pen import Style
from symroof.rendering.pages.terminal import fold
from symroof.verification.files import Moved
from symroof.verification.judgement import FileReport, Judgement, Skipped, Standard

REPORTS = {"text": "report.txt.j2", "markdown": "report.md.j2", "github": "report.github.j2"}
VERDICT, LONGEST_CLAIM = 11, 120
RED, YELLOW, GREEN = (("\x1b[" + code + "m", "\x1b[0m") for code in ("31", "33", "32"))
COLOURS = dict(zip(VERDICTS, (GREEN, GREEN, YELLOW, YELLOW, RED, RED), strict=True))
# GitHub's workflow commands end at a new line, and use these marks themselves.
ESCAPED = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})


def render_report(
    files: tuple[FileReport, ...],
    form: str,
    style: Style,
    standard: Standard | None = None,
    moves: tuple[Moved, ...] | None = None,
) -> str:
    """The report on some files, what is a finding under the standard first; one that is not brief shows good claims and
    skipped formulas as well, and how much of each document was judged."""
    standard = standard or Standard()
    if form not in REPORTS:
        raise RenderingError(f"unknown format {form!r}", expected=f"one of {', '.join(REPORTS)}, json")

    def shown(judgement: Judgement) -> bool:
        doubtful = judgement.verdict == "conditional" and judgement.expect is None
        return not style.brief or form == "markdown" or doubtful or not standard.met_by(judgement)

    def paint(verdict: str) -> str:
        word = padded(explainer.words.verdicts[verdict], VERDICT)
        return word.join(COLOURS[verdict] if style.colour else ("", ""))

    lang = style.lang or lang_of(files)
    with guarded(style.template):
        explainer = Explainer(style.template, lang)
        names = {
            "files": () if moves is not None and style.brief else files,
            "shown": shown,
            "ordered": lambda file: sorted(file.judgements, key=standard.met_by),
            "verbose": not style.brief,
            "standard": standard,
            "explain": explainer,
            "last": explainer.last(files),
            "moves": moves,
            "titled": style.heading > 0,
            "paint": paint,
            "place": lambda file, at: _place(file or explainer.words.unnamed, at),
            "folded": lambda line, indent: "\n".join(fold(line, style.width, " " * indent)),
            "elided": lambda text: text if len(text) <= LONGEST_CLAIM else text[: LONGEST_CLAIM - 4] + " ...",
            "printable": printable,
            "escaped": lambda text: text.translate(ESCAPED),
        }
        return render(REPORTS[form], style.template, lang, names).lstrip("\n")


def lang_of(files: Iterable[FileReport]) -> str:
    """The language that all files ask for, where they agree on one."""
    asked = {file.lang for file in files}
    return (asked.pop() if len(asked) == 1 else None) or USUAL_LANGUAGE


def _place(file: str, judgement: Judgement | Skipped) -> str:
    parts = [str(part) for part in (judgement.line, judgement.column) if part is not None]
    return printable(":".join((file, *parts)) if judgement.line is not None else file)
