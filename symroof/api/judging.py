"""Claims of problems and of documents, with their blocks, judged."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from symroof.building.built_document import Block
from symroof.building.settings import SUFFIXES, reading_of, settings_of
from symroof.errors import SymroofError
from symroof.reading.documents import read_document
from symroof.reading.exercises import read_exercise
from symroof.reading.languages import language_of, languages
from symroof.reading.markers import BLOCKS
from symroof.reading.toml import contents
from symroof.rendering.report import ShownReport
from symroof.verification.files import judge_file
from symroof.verification.judge import judge_exercise
from symroof.verification.judgement import FileReport, Judgement, Remark


def verify(source: str | Path | Mapping[str, Any], *, lang: str | None = None) -> ShownReport:
    """Judge the claims of a file of problems, the formulas of a document, or the claims of a problem given as a table.

    ``lang`` is the language of the report; where it is not said, that of the problems or of the document. Raises
    :class:`SymroofError` where the input itself cannot be read.

    >>> report = verify({"operation": "matmul", "hardware": "tpu-v5e", "claims": ["compute-bound when B > 240"]})
    >>> report.judgements[0].verdict
    'conditional'
    """
    lang = language_of({"lang": lang})
    if not isinstance(source, Mapping):
        return ShownReport((judged_file(source).require_read(),), lang)
    judgements = judge_exercise(read_exercise(source))
    return ShownReport((FileReport("", judgements, "problems", lang=source.get("lang")),), lang)


def judged_file(path: Path | str, overrides: Mapping[str, Any] | None = None) -> FileReport:
    """The report on a file, with a judgement on every block and value that is not as it should be. A document is spoken of
    in its own language, which its comments or its settings say."""
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
        from symroof.api.writing import build_with  # what makes the blocks anew is loaded where there is one

        built = build_with(text, path=path, settings=settings, overrides=overrides)
    except SymroofError as error:
        return replace(report, error=str(error))
    document = read_document(path)
    starts = [0, *(match.end() for match in re.finditer("\n", document.text))]
    blocks = (replace(_of_block(block), line=document.place(starts[block.line - 1]).line) for block in built.blocks)
    judged = sorted((*report.judgements, *blocks), key=lambda one: one.line or 0)
    return replace(report, judgements=tuple(judged))


def _of_block(block: Block) -> Judgement:
    """A block as a claim: that it says what is derived."""
    verdict = "holds" if block.status == "same" else "wrong" if block.error is None else "unreadable"
    claim, moved = f"{block.verb} {block.name}".strip(), Remark("block", {"status": block.status, "moves": block.moves})
    reason = moved if verdict == "wrong" else None
    return Judgement(claim, verdict, line=block.line, column=1, error=block.error, reason=reason)
