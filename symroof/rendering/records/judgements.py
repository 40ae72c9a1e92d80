"""Judgements as JSON, ``"schema": 1``: formulas in claim syntax with explicit operators, numbers as exact strings."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from symroof.formula import Compare
from symroof.reading.exercises import VERDICTS
from symroof.rendering.pages.environment import guarded
from symroof.rendering.pages.explanations import Explainer
from symroof.rendering.records.scalars import SCHEMA, text
from symroof.verification.files import Moved
from symroof.verification.judgement import Counterexample, FileReport, Finding, Judgement


def report_record(files: Iterable[FileReport], moves: Iterable[Moved] | None = None) -> dict[str, Any]:
    """The JSON object of a report on some files."""
    files = tuple(files)
    with guarded():
        explainer = Explainer()
        record: dict[str, Any] = {
            "schema": SCHEMA,
            "files": [
                {
                    "file": file.file,
                    "judgements": [judgement_record(judgement, explainer) for judgement in file.judgements],
                    "skipped": [
                        {"line": s.line, "column": s.column, "text": s.text, "reason": s.reason} for s in file.skipped
                    ],
                    "counts": file.counts,
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
    return record


def judgement_record(judgement: Judgement, explainer: Explainer) -> dict[str, Any]:
    worst = judgement.worst
    detail = [explainer.remark(remark) for finding in judgement.findings for remark in finding.remarks]
    return {
        "claim": explainer.claim(judgement),
        "problem": judgement.problem,
        "line": judgement.line,
        "column": judgement.column,
        "verdict": judgement.verdict,
        "value": None if worst is None else text(worst.value),
        "detail": "; ".join(dict.fromkeys(detail)) or (judgement.error or None),
        "needs": None if worst is None or not worst.needs else [_regime(relations) for relations in worst.needs],
        "counterexample": None if worst is None else _counterexample(worst.counterexample),
        "diagnosis": None if worst is None or worst.diagnosis is None else explainer.remark(worst.diagnosis),
        "expect": judgement.expect,
        "source": judgement.source,
        "good": judgement.good,
        "links": [_link(finding, explainer) for finding in judgement.findings],
    }


def _link(finding: Finding, explainer: Explainer) -> dict[str, Any]:
    return {
        "link": text(finding.link),
        "verdict": finding.verdict,
        "by": finding.by or None,
        "value": text(finding.value),
        "detail": "; ".join(explainer.remark(remark) for remark in finding.remarks) or None,
        "leaves": text(finding.leaves),
    }


def _regime(relations: Iterable[Compare]) -> str:
    return ", ".join(str(text(relation)) for relation in relations)


def _counterexample(found: Counterexample | None) -> dict[str, Any] | None:
    if found is None:
        return None
    values = {name: text(value) for name, value in found.values.items()}
    return {"values": values, "left": _side(found.left), "right": _side(found.right)}


def _side(value: Fraction | bool | None) -> str | bool | None:
    return value if isinstance(value, bool) else text(value)
