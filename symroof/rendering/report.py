"""The report of judgements on claims, which prints itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from symroof.formula import Frozen
from symroof.rendering.pages.reports import Explainer, render_report
from symroof.rendering.pages.typesetting import Style
from symroof.rendering.records.judgements import report_record
from symroof.rendering.results import Result
from symroof.verification.files import judge_file
from symroof.verification.judgement import FileReport, Judgement


class ShownReport(Result, Frozen):
    """The judgements on claims, and their text.

    >>> import symroof as sr
    >>> report = sr.verify({"operation": "matmul", "claims": ["flops = 2BDF", "intensity = B"]})
    >>> [judgement.verdict for judgement in report.judgements]
    ['holds', 'wrong']
    >>> report
    <2 claims: 1 holds, 1 wrong.>
    """

    files: tuple[FileReport, ...]
    lang: str | None = None

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        return tuple(judgement for file in self.files for judgement in file.judgements)

    @property
    def good(self) -> bool:
        """Whether nothing has to be mended."""
        return not any(file.findings() for file in self.files)

    def page(self, form: str, style: Style) -> str:
        return render_report(self.files, form, replace(style, lang=style.lang or self.lang))

    def to_dict(self) -> dict[str, Any]:
        return report_record(self.files)

    def __repr__(self) -> str:
        return f"<{Explainer().last(self.files)}>"


def claims_of(path: Path) -> ShownReport:
    """The report on what the author of a file claims; its blocks are not built, for they may show this report."""
    return ShownReport((judge_file(path).require_read(),))
