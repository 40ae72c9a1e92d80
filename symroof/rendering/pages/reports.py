"""Reports on claims: for a terminal, as Markdown, and as annotations for continuous integration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from symroof.errors import RenderingError, printable
from symroof.reading.exercises import VERDICTS
from symroof.rendering.pages.environment import guarded, render
from symroof.rendering.pages.explanations import Explainer
from symroof.verification.files import Moved
from symroof.verification.judgement import GOOD, FileReport, Judgement

REPORTS = {"text": "report.txt.j2", "markdown": "report.md.j2", "github": "report.github.j2"}
LONGEST_CLAIM = 120
RED, YELLOW, GREEN = (("\x1b[" + code + "m", "\x1b[0m") for code in ("31", "33", "32"))
COLOURS = dict(zip(VERDICTS, (GREEN, GREEN, YELLOW, YELLOW, RED, RED), strict=True))
# GitHub's workflow commands end at a new line, and use these marks themselves.
ESCAPED = {"%": "%25", "\r": "%0D", "\n": "%0A"}


def render_report(
    files: tuple[FileReport, ...],
    form: str,
    *,
    verbose: bool = False,
    strict: bool = False,
    moves: tuple[Moved, ...] | None = None,
    template: str | None = None,
    colour: bool = False,
) -> str:
    """The report on some files. ``verbose`` shows good claims and skipped formulas as well."""
    if form not in REPORTS:
        raise RenderingError(f"unknown format {form!r}", expected=f"one of {', '.join(REPORTS)}, json")
    with guarded():
        explainer = Explainer(template)
        shown = files if moves is None or verbose else ()
        names = {
            "files": [_file(file, explainer, verbose or form == "markdown", verbose, strict) for file in shown],
            "last": last_line(files, explainer),
            "paint": (lambda verdict, text: text.join(COLOURS[verdict])) if colour else (lambda verdict, text: text),
            "moves": None if moves is None else [_move(move, explainer) for move in moves],
            "moved_line": None if moves is None else explainer.say("moved", len(moves)),
        }
        return render(REPORTS[form], template, names).lstrip("\n")


def _file(file: FileReport, explainer: Explainer, every: bool, verbose: bool, strict: bool) -> dict[str, Any]:
    entries = [j for j in file.judgements if every or _worth_showing(j, strict)]
    skips = [(f"{file.file}:{s.line}:{s.column}", _elided(printable(s.text)), s.reason) for s in file.skipped]
    nothing = file.error is None and not file.judgements
    return {
        "name": file.file,
        "escaped": _escaped(file.file),
        "entries": [_entry(file, judgement, explainer) for judgement in entries],
        "skips": [{"place": p, "text": t, "reason": printable(r)} for p, t, r in skips] if verbose else [],
        "nothing": explainer.say("nothing", file.kind == "document", file.formulas, file.notes) if nothing else None,
        "error": None if file.error is None else _escaped(printable(file.error)),
    }


def _worth_showing(judgement: Judgement, strict: bool) -> bool:
    return not judgement.good or (judgement.verdict == "conditional" and (strict or judgement.expect is None))


def _entry(file: FileReport, judgement: Judgement, explainer: Explainer) -> dict[str, Any]:
    claim, expected = printable(explainer.claim(judgement)), judgement.expect == judgement.verdict
    labels = [] if expected else explainer.labels(judgement)
    if judgement.expect and not judgement.good:
        labels.insert(0, ("expect", [explainer.say("expected", judgement.expect)]))
    labels = [(label, [printable(line) for line in lines]) for label, lines in labels]
    praised = judgement.verdict in GOOD and judgement.verdict != "conditional"
    links, remarks = (len(judgement.findings), explainer.asides(judgement)) if praised else (0, [])
    aside = explainer.say("good", links, expected, remarks)
    told = [" ".join(lines) for label, lines in labels if label in ("right", "needs", "mistake", "why")]
    annotation = claim + "".join(f"\n{label}: {' '.join(lines)}" for label, lines in labels)
    return {
        "place": _place(file.file, judgement),
        "file": _escaped(file.file),
        "line": judgement.line,
        "column": judgement.column,
        "verdict": judgement.verdict,
        "claim": _elided(claim),
        "aside": aside,
        "labels": labels,
        "brief": (aside or "; ".join(told)).replace("|", "\\|"),
        "good": judgement.good,
        "annotation": _escaped(annotation),
    }


def _move(move: Moved, explainer: Explainer) -> dict[str, str]:
    return {
        "place": _place(move.file, move.before),
        "claim": _elided(printable(explainer.claim(move.before))),
        "before": _state(move.before, explainer),
        "after": _state(move.after, explainer),
    }


def _state(judgement: Judgement, explainer: Explainer) -> str:
    """A verdict with the right value beside it: that of the worst link, or else of the first that has one."""
    worst = judgement.worst
    valued = [f for f in judgement.findings if f.value is not None]
    right = [explainer.right(f, judgement) for f in ([worst] if worst in valued else valued) if f is not None]
    return "    ".join((judgement.verdict, *filter(None, right[:1])))


def _place(file: str, judgement: Judgement) -> str:
    parts = [str(part) for part in (judgement.line, judgement.column) if part is not None]
    return printable(":".join((file, *parts)) if judgement.line is not None else file)


def _elided(text: str) -> str:
    return text if len(text) <= LONGEST_CLAIM else text[: LONGEST_CLAIM - 4] + " ..."


def _escaped(text: str) -> str:
    for mark, code in ESCAPED.items():
        text = text.replace(mark, code)
    return text


def last_line(files: Iterable[FileReport], explainer: Explainer | None = None) -> str:
    """The summary: how many claims of each verdict, what was read beside them, and what was not judged."""
    files = tuple(files)
    counts = [(verdict, sum(file.counts[verdict] for file in files)) for verdict in VERDICTS]
    expected = sum(j.good and j.expect is not None and j.verdict not in GOOD for file in files for j in file.judgements)
    documents = [file for file in files if file.kind == "document" and file.error is None]
    notes, skipped = sum(file.notes for file in documents), sum(len(file.skipped) for file in documents)
    total = sum(count for _, count in counts)
    say = (explainer or Explainer()).say
    return say.lines("last", total, counts, expected, bool(documents), notes, skipped, len(files))
