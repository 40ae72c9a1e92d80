"""Judgements as JSON, ``"schema": 1``: formulas in claim syntax with explicit operators, numbers as exact strings."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from symroof.formula import Compare, Formula
from symroof.reading.exercises import VERDICTS
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.amounts import short
from symroof.rendering.pages.environment import guarded
from symroof.rendering.pages.reports import _Page
from symroof.verification.files import Moved
from symroof.verification.judgement import Counterexample, FileReport, Finding, Judgement

EXPLICIT = PlainPrinter(explicit=True)


def report_record(files: Iterable[FileReport], moves: Iterable[Moved] | None = None) -> dict[str, Any]:
    """The JSON object of a report on some files."""
    files = tuple(files)
    with guarded():
        page = _Page(None)
        record: dict[str, Any] = {
            "schema": 1,
            "files": [
                {
                    "file": file.file,
                    "judgements": [judgement_record(judgement, page) for judgement in file.judgements],
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
                    "before": judgement_record(move.before, page),
                    "after": judgement_record(move.after, page),
                }
                for move in moves
            ]
    return record


def judgement_record(judgement: Judgement, page: _Page) -> dict[str, Any]:
    worst = judgement.worst
    detail = [page.say(remark) for finding in judgement.findings for remark in finding.remarks]
    return {
        "claim": page.claim(judgement),
        "problem": judgement.problem,
        "line": judgement.line,
        "column": judgement.column,
        "verdict": judgement.verdict,
        "value": None if worst is None else _formula(worst.value),
        "detail": "; ".join(dict.fromkeys(detail)) or (judgement.error or None),
        "needs": None if worst is None or not worst.needs else [_regime(relations) for relations in worst.needs],
        "counterexample": None if worst is None else _counterexample(worst.counterexample),
        "diagnosis": None if worst is None or worst.diagnosis is None else page.say(worst.diagnosis),
        "expect": judgement.expect,
        "source": judgement.source,
        "good": judgement.good,
        "links": [_link(finding, page) for finding in judgement.findings],
    }


def _link(finding: Finding, page: _Page) -> dict[str, Any]:
    return {
        "link": _formula(finding.link),
        "verdict": finding.verdict,
        "by": finding.by or None,
        "value": _formula(finding.value),
        "detail": "; ".join(page.say(remark) for remark in finding.remarks) or None,
        "leaves": _formula(finding.leaves),
    }


def _formula(formula: Formula | None) -> str | None:
    return None if formula is None else EXPLICIT.print(formula)


def _regime(relations: Iterable[Compare]) -> str:
    return ", ".join(EXPLICIT.print(relation) for relation in relations)


def _counterexample(found: Counterexample | None) -> dict[str, Any] | None:
    if found is None:
        return None
    values = {name: _exact(value) for name, value in found.values.items()}
    return {"values": values, "left": _side(found.left), "right": _side(found.right)}


def _side(value: Fraction | bool | None) -> str | bool | None:
    return value if isinstance(value, bool) or value is None else _exact(value)


def _exact(value: Fraction) -> str:
    """A rational in full, up to a length that people and parsers take."""
    return str(value) if max(abs(value.numerator).bit_length(), value.denominator.bit_length()) < 4000 else short(value)
