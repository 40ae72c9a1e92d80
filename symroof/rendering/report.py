"""The report of judgements on claims: as text, and as JSON of ``"schema": 1``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from pathlib import Path

from symroof.formula import Frozen
from symroof.reading.claim_sets import VERDICTS
from symroof.rendering.pages.report_page import Explainer, render_report
from symroof.rendering.pages.templating import template_errors
from symroof.rendering.pages.typesetting import Style
from symroof.rendering.records.json_parts import SCHEMA, Record, fields, json_of, text
from symroof.rendering.results import Result
from symroof.verification.baseline import Accepted
from symroof.verification.files import VerdictChange, judge_file
from symroof.verification.verdicts import Counterexample, Coverage, FileReport, Judgement, Skipped


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

    def to_dict(self) -> Record:
        return report_record(self.files)

    def __repr__(self) -> str:
        return f"<{Explainer().last(self.files)}>"


def claims_of(path: Path) -> ShownReport:
    """The report on what the author of a file claims; its blocks are not built, for they may show this report."""
    return ShownReport((judge_file(path).require_read(),))


def report_record(
    files: Iterable[FileReport], moves: Iterable[VerdictChange] | None = None, gone: Iterable[Accepted] | None = None
) -> Record:
    """The JSON object of a report on some files."""
    files = tuple(files)
    with template_errors(None):
        explainer = Explainer()
        record: Record = {
            "schema": SCHEMA,
            "files": [
                {
                    "file": file.file or explainer.words.unnamed,
                    "judgements": [judgement_record(judgement, explainer) for judgement in file.judgements],
                    "skipped": [skipped_record(skip, explainer) for skip in file.skipped],
                    "counts": file.counts,
                    "coverage": coverage_record(file.coverage) if file.kind == "document" else None,
                    "error": file.error,
                }
                for file in files
            ],
            "counts": {verdict: sum(file.counts[verdict] for file in files) for verdict in VERDICTS},
        }
        if moves is not None:
            record["moved"] = [
                {
                    "file": move.file,
                    "before": judgement_record(move.before, explainer),
                    "after": judgement_record(move.after, explainer),
                }
                for move in moves
            ]
        if gone is not None:
            record["gone"] = [fields(finding, "file", "claim", "verdict", "reason", "count") for finding in gone]
    return json_of(record)


def coverage_record(coverage: Coverage) -> Record:
    """Formulas with a relation; those that claim something, those that are judged; and the others by cause."""
    return {**fields(coverage, "formulas", "judgeable", "judged"), "skipped": dict(coverage.skipped)}


def skipped_record(skip: Skipped, explainer: Explainer) -> Record:
    reason = skip.reason
    link = skip.link and explainer.left_out(skip)
    return {
        **fields(skip, "line", "column", "text"),
        "link": link,
        "reason": explainer.remark(reason),
        "cause": reason.cause,
    }


def judgement_record(judgement: Judgement, explainer: Explainer) -> Record:
    worst = judgement.worst
    details = [[explainer.remark(remark) for remark in finding.remarks] for finding in judgement.findings]
    return {
        "claim": explainer.claim(judgement),
        **fields(judgement, "problem", "line", "column", "sentence", "verdict"),
        "value": worst and worst.value,
        "detail": "; ".join(dict.fromkeys(chain.from_iterable(details)))
        or judgement.error
        or (judgement.reason and explainer.remark(judgement.reason)),
        "needs": [", ".join(str(text(r)) for r in relations) for relations in worst.needs] or None if worst else None,
        "counterexample": worst and worst.counterexample and _counterexample(worst.counterexample),
        "diagnosis": worst and worst.diagnosis and explainer.remark(worst.diagnosis),
        **fields(judgement, "expect", "source", "good", "accepted"),
        "links": [
            {
                **fields(finding, "link", "verdict"),
                "by": finding.by or None,
                "value": finding.value,
                "detail": "; ".join(detail) or None,
                "leaves": finding.leaves,
            }
            for finding, detail in zip(judgement.findings, details, strict=True)
        ],
    }


def _counterexample(at: Counterexample) -> Record:
    left, right = (side if isinstance(side, bool) else text(side) for side in (at.left, at.right))
    return {"values": {name: text(value) for name, value in at.values.items()}, "left": left, "right": right}
