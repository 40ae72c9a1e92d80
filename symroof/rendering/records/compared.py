"""Comparisons as JSON, ``"schema": 1``, and as CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from symroof.exploration.comparing import Compared, Comparison
from symroof.rendering.records.scalars import SCHEMA, exact, text


def comparison_record(comparison: Comparison) -> dict[str, Any]:
    """The object of one comparison; a row without figures has an error, and the rest of it is null."""
    problem = comparison.problem
    return {
        "schema": SCHEMA,
        "operation": str(problem.operation),
        "link": problem.link,
        "variable": comparison.variable.name,
        "assume": [text(r) for r in problem.assume],
        "count": problem.count,
        "mesh": dict(problem.mesh),
        "at": [{name: text(x) for name, x in p.values.items()} for p in comparison.derivation.answer.at],
        "rows": [_row(comparison, row) for row in comparison.rows],
    }


def _row(comparison: Comparison, row: Compared) -> dict[str, Any]:
    setting = row.derivation and row.derivation.setting
    answer = row.derivation and row.derivation.answer
    return {
        "chip": row.chip.name,
        "dtype": row.dtype and row.dtype.name,
        "peak": setting and setting.peak and setting.peak.digits,
        "bandwidth": setting and setting.bandwidth and setting.bandwidth.digits,
        "ridge": exact(answer.ridge if answer else None),
        "compute_bound": text(row.conditions[0].right) if row.conditions else None,
        "smallest_integer": answer and answer.smallest_integer,
        "limit": text(row.limit, comparison.derivation.setting.layout.write),
        "at": [{"compute_bound": text(formula), "smallest_integer": first} for formula, first in row.at],
        "error": row.error and row.error.problem,
    }


def comparison_csv(comparison: Comparison) -> str:
    """A line for each row, with the numbers of its record."""
    record = comparison_record(comparison)
    places = [" ".join(f"{name}={value}" for name, value in point.items()) for point in record["at"]]
    out = io.StringIO()
    keys = [key for key in record["rows"][0] if key not in ("at", "error")]
    at = [f"{key} at {place}" for place in places for key in ("compute_bound", "smallest_integer")]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*keys, *at, "error"])
    for row in record["rows"]:
        ridge = row["ridge"] and row["ridge"]["float"]
        cells = [value for point in row["at"] for value in point.values()] or [None] * len(at)
        writer.writerow([*(ridge if key == "ridge" else row[key] for key in keys), *cells, row["error"]])
    return out.getvalue()
