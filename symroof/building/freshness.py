"""Documents judged with their blocks: what is up to date is passed over, what is stale or changed by hand is a finding."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symroof.building.settings import SUFFIXES, reading_of, settings_of
from symroof.errors import SymroofError
from symroof.reading.documents import read_document
from symroof.reading.languages import languages
from symroof.reading.markers import BLOCKS
from symroof.reading.toml import contents
from symroof.verification.files import judge_file
from symroof.verification.judgement import FileReport, Judgement, Remark

if TYPE_CHECKING:
    from symroof.building.contents import Makers
    from symroof.building.outcome import Built


def judge_with_blocks(
    path: Path | str, overrides: Mapping[str, Any] | None = None, *, makers: Callable[[], Makers]
) -> FileReport:
    """The report on a file, with a judgement on every block and value that is not as it should be. A document is spoken of
    in its own language, which its comments or its settings say. What makes the blocks anew is loaded where there is one."""
    path = Path(path)
    try:
        said = reading_of(path)
    except SymroofError as error:
        return FileReport(str(path), (), "document", error=str(error))
    report = judge_file(path, overrides, said)
    if report.error is not None or path.suffix.lower() not in SUFFIXES:
        return report
    text = contents(path).decode("utf-8-sig", errors="replace")
    try:
        settings = settings_of(path)
        if report.lang is None and settings.looks.get("lang") in languages():
            report = replace(report, lang=settings.looks["lang"])
        if not BLOCKS.search(text):
            return report
        from symroof.building.build import build

        built = build(text, makers(), path=path, settings=settings, overrides=overrides)
    except SymroofError as error:
        return replace(report, error=str(error))
    document = read_document(path)
    starts = [0, *(match.end() for match in re.finditer("\n", document.text))]
    blocks = (replace(_judged(block), line=document.place(starts[block.line - 1]).line) for block in built.blocks)
    judged = sorted((*report.judgements, *blocks), key=lambda one: one.line or 0)
    return replace(report, judgements=tuple(judged))


def _judged(block: Built) -> Judgement:
    """A block as a claim: that it says what is derived."""
    verdict = "holds" if block.status == "same" else "wrong" if block.error is None else "unreadable"
    claim, moved = f"{block.verb} {block.name}".strip(), Remark("block", {"status": block.status, "moves": block.moves})
    reason = moved if verdict == "wrong" else None
    return Judgement(claim, verdict, line=block.line, column=1, error=block.error, reason=reason)
