"""Documents: their claims judged, and their blocks and values written anew."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import symroof
from symroof.building.settings import SUFFIXES, reading_of, settings_of
from symroof.errors import SymroofError
from symroof.reading.claim_sets import read_exercise
from symroof.reading.documents import read_document
from symroof.reading.languages import language_of, languages
from symroof.reading.markers import BLOCKS
from symroof.reading.toml import contents
from symroof.rendering.report import ShownReport, claims_of
from symroof.verification.files import judge_file
from symroof.verification.judge import judge_exercise
from symroof.verification.verdicts import FileReport, Judgement, Remark

if TYPE_CHECKING:
    from symroof.building.build import Block, BuiltDocument


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
        settings_text = reading_of(path)
    except SymroofError as error:
        return FileReport(str(path), (), "document", error=str(error))
    report = judge_file(path, overrides, settings_text)
    if report.error is not None or path.suffix.lower() not in SUFFIXES:
        return report
    text = contents(path).decode("utf-8-sig", errors="replace")
    try:
        settings = settings_of(path)
        if report.lang is None and settings.looks.get("lang") in languages():
            report = replace(report, lang=settings.looks["lang"])
        if not BLOCKS.search(text):
            return report
        built = build_with(text, path=path, settings=settings, overrides=overrides)
    except SymroofError as error:
        return replace(report, error=str(error))
    document = read_document(path)
    starts = [0, *(match.end() for match in re.finditer("\n", document.text))]
    blocks = (replace(_of_block(block), line=document.place(starts[block.line - 1]).line) for block in built.blocks)
    judged = sorted((*report.judgements, *blocks), key=lambda judgement: judgement.line or 0)
    return replace(report, judgements=tuple(judged))


def _of_block(block: Block) -> Judgement:
    """A block as a claim: that it says what is derived."""
    verdict = "holds" if block.status == "same" else "wrong" if block.error is None else "unreadable"
    claim, moved = f"{block.verb} {block.name}".strip(), Remark("block", {"status": block.status, "moves": block.moves})
    reason = moved if verdict == "wrong" else None
    return Judgement(claim, verdict, line=block.line, column=1, error=block.error, reason=reason)


def build_with(text: str, **options: Any) -> BuiltDocument:
    """A document built, each verb of a block answered by the function of that name, which is loaded where there is a block."""
    from symroof.building.build import build

    makers = {verb: getattr(symroof, verb) for verb in ("derive", "regimes", "compare", "plot", "page")}
    return build(text, {**makers, "verify": claims_of}, **options)


def build(
    text: str,
    *,
    path: str | Path | None = None,
    dialect: str | None = None,
    given: Mapping[str, object] | None = None,
    lang: str | None = None,
    force: bool = False,
) -> BuiltDocument:
    """Write the blocks and values of a document anew: its text with derivations that are true.

    ``path`` tells the format, and where the files lie that it names; ``given`` are options of problems that go before
    those of the document, ``lang`` is a language that goes before the one that it says, ``force`` overwrites what was
    changed by hand. Raises :class:`SymroofError` where its markers cannot be read; a block that fails is in ``blocks``,
    and stays as it was.

    >>> text = "From <!-- symroof = mm.smallest_integer -->200<!-- / --> on.\\n\\n<!-- symroof derive\\nid = 'mm'\\n"
    >>> text += "operation = 'matmul'\\nhardware = 'tpu-v5e'\\nassume = 'B << D, F'\\nsections = ['rule']\\n-->\\n"
    >>> build(text).text.splitlines()[0]
    'From <!-- symroof = mm.smallest_integer -->241<!-- / --> on.'
    """
    place, overrides = Path(path) if path is not None else None, {"lang": lang, **(given or {})}
    return build_with(text, path=place, dialect=dialect, overrides=overrides, force=force)
