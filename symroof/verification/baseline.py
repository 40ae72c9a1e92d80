"""Findings that an author accepts, so that new ones alone fail: a file with the text of each, wherever it stands.

    [[finding]]
    file    = "chapters/rooflines.md"    # from the folder of the baseline
    claim   = "B > 243"                  # as it is written; absent where nothing of the file is judged
    verdict = "wrong"
    reason  = "the figure of the second edition"

A finding is accepted where its file, its text and its verdict are those of an entry, ``count`` times where the text stands there more
than once. An entry that no finding of its file has any more is gone.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from os.path import realpath
from pathlib import Path
from typing import Any

from symroof.errors import ReadingError, about, require_one_of
from symroof.formula import Frozen
from symroof.reading.claim_sets import VERDICTS
from symroof.reading.toml import read_table_file, unfit
from symroof.verification.verdicts import FileReport, Standard

KEYS = ("file", "claim", "verdict", "reason", "count")
# The verdict on a file of which nothing is judged.
UNJUDGED = "unjudged"
HEAD = "# Findings that are accepted: symroof verify --baseline passes over them. A reason may be added to each.\n"


class Accepted(Frozen):
    """A finding that is accepted, so many times: the text of the claim, nothing where nothing of its file is judged."""

    file: str
    claim: str
    verdict: str
    reason: str = ""
    count: int = 1

    @property
    def key(self) -> tuple[str, str, str]:
        return self.file, self.claim, self.verdict


def read_baseline(path: Path, beside: Path | None = None) -> tuple[Accepted, ...]:
    """The findings that a file accepts; ``beside`` another baseline, with their files as from there. Those of one file, text
    and verdict are one: as many as all, with the reasons of all.

    Raises :class:`ReadingError` where it is no baseline.
    """
    table = read_table_file(path)
    rows = table.pop("finding", [])
    if table or not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise ReadingError(f"{path} is no baseline", expected="[[finding]] tables, as --write-baseline writes them")
    accepted: dict[tuple[str, str, str], Accepted] = {}
    for place, row in enumerate(rows, 1):
        with about(f"{path}: finding {place}: "):
            entry = _accepted(row)
        if beside is not None:
            entry = replace(entry, file=_relative(str(path.parent / entry.file), beside))
        if (before := accepted.get(entry.key)) is not None:
            reasons = dict.fromkeys(filter(None, (before.reason, entry.reason)))
            entry = replace(entry, reason="; ".join(reasons), count=before.count + entry.count)
        accepted[entry.key] = entry
    return tuple(accepted.values())


def _accepted(row: Mapping[str, Any]) -> Accepted:
    for key in row:
        require_one_of(key, KEYS, f"unknown key {key!r}")
    for key in ("file", "verdict"):
        if key not in row:
            raise ReadingError(f"{key} is missing", expected=f'{key} = "…"')
    for key in ("file", "claim", "verdict", "reason"):
        if not isinstance(row.get(key, ""), str):
            raise unfit(key, row[key], "text", f'{key} = "…"')
    require_one_of(row["verdict"], (*VERDICTS, UNJUDGED), f"verdict: {row['verdict']!r} is none")
    count = row.get("count", 1)
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise unfit("count", count, "how many times it stands there", "2")
    return Accepted(row["file"], _plain(row.get("claim", "")), row["verdict"], row.get("reason", ""), count)


def without_accepted(
    reports: Iterable[FileReport], accepted: Iterable[Accepted], path: Path, standard: Standard
) -> tuple[tuple[FileReport, ...], tuple[Accepted, ...]]:
    """The reports with the findings that are accepted told from the others; and what is gone from the files of these."""
    accepted = tuple(accepted)
    left, reasons = (Counter({row.key: row.count for row in accepted}), {row.key: row.reason for row in accepted})
    passed, files = list[FileReport](), set[str]()
    for report in reports:
        name, judgements = _relative(report.file, path), []
        files |= {name} if report.error is None else set()
        for judgement in report.judgements:
            key = name, _plain(judgement.claim), judgement.verdict
            taken = not standard.met_by(judgement) and left[key] > 0
            left[key] -= taken
            judgements.append(replace(judgement, accepted=reasons[key]) if taken else judgement)
        key = name, "", UNJUDGED
        unjudged = report.lacking(standard) and left[key] > 0
        left[key] -= unjudged
        passed.append(replace(report, judgements=tuple(judgements), accepted=unjudged))
    gone = (replace(row, count=left[row.key]) for row in accepted)
    return tuple(passed), tuple(row for row in gone if row.count > 0 and row.file in files)


def baseline_of(
    reports: Iterable[FileReport], before: Iterable[Accepted], path: Path, standard: Standard
) -> tuple[Accepted, ...]:
    """What accepts all findings of some files, with the reasons that were there; what others have stays."""
    reports, before = tuple(reports), tuple(before)
    reasons = {row.key: row.reason for row in before if row.reason}
    judged = {_relative(report.file, path) for report in reports if report.error is None}
    counted = Counter(key for report in reports if report.error is None for key in _findings(report, path, standard))
    findings = (Accepted(*key, reasons.get(key, ""), count) for key, count in counted.items())
    others = {row.key: replace(row, reason=reasons.get(row.key, "")) for row in before if row.file not in judged}
    return tuple(sorted((*others.values(), *findings), key=lambda row: row.file))


def _findings(report: FileReport, path: Path, standard: Standard) -> Iterator[tuple[str, str, str]]:
    name = _relative(report.file, path)
    for judgement in report.judgements:
        if not standard.met_by(judgement):
            yield name, _plain(judgement.claim), judgement.verdict
    if report.lacking(standard):
        yield name, "", UNJUDGED


def written(accepted: Iterable[Accepted]) -> str:
    """A baseline as text."""
    parts = [HEAD]
    for row in accepted:
        rows = {"file": row.file, "claim": row.claim, "verdict": row.verdict, "reason": row.reason}
        lines = [f"{key:7} = {_quoted(text)}" for key, text in rows.items() if text or key == "reason"]
        lines += [f"{'count':7} = {row.count}"] if row.count > 1 else []
        parts.append("\n".join(("[[finding]]", *lines)) + "\n")
    return "\n".join(parts)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _plain(text: str) -> str:
    """The text of a claim, whatever its spaces and lines are."""
    return " ".join(text.split())


def _relative(file: str, path: Path) -> str:
    """A file from the folder of a baseline, alike on all systems."""
    try:
        return Path(os.path.relpath(Path(realpath(file)), Path(realpath(path)).parent)).as_posix()
    except ValueError:  # on another drive
        return Path(realpath(file)).as_posix()
