"""Regime maps and comparisons as JSON, ``"schema": 1``; comparisons also as CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from symroof.derivation.drafts import Point
from symroof.derivation.quantity_definitions import in_ridge
from symroof.exploration.comparison import Comparison, OneChip, steps_at
from symroof.exploration.measured_points import Measurement
from symroof.exploration.regime_map import MapPoint, RegimeMap, RegimeRow
from symroof.exploration.regimes import Exploration, TimeRegimes, Weakest
from symroof.model.quantities import T_LOWER
from symroof.rendering.pages.typesetting import claims_typesetter
from symroof.rendering.records.derivations import bracket
from symroof.rendering.records.json_parts import SCHEMA, Record, fields, json_of, text
from symroof.symbols import expression, fraction


def map_record(exploration: Exploration) -> Record:
    """The object of one map; keys that do not apply are null."""
    result, setting = exploration.regimes, exploration.regimes.setting
    if isinstance(result, TimeRegimes):
        return _longest(result)
    answer, chip, typesetter = result.draft.answer, setting.problem.hardware, claims_typesetter(setting.layout)
    rows = [typesetter.condition(row.relations) for row in result.rows]
    record = {
        "schema": SCHEMA,
        "operation": str(setting.problem.operation),
        "hardware": chip and {"name": chip.name, "peak": setting.peak_name, "link": setting.problem.link},
        "quantity": result.name,
        "value": result.value,
        "ridge": setting.ridge,
        "fixed": {text(r.left): r.right for r in result.fixed},
        "reciprocal": answer.formula("reciprocal") if result.of_intensity else None,
        "bracket": bracket(answer) if result.of_intensity else None,
        **fields(result, "cancelled", "count", "corners"),
        "regimes": [
            {
                "regime": name,
                "corner": row.corner,
                "dominant": [t.label for t in row.dominant],
                **({"leaders": _leaders(row)} if row.statements else {}),
                "intensity": row.leading,
                "factor": row.factor,
                "compute_bound": row.condition,
                **fields(row, "equal_sizes_from", "check"),
            }
            for name, row in zip(rows, result.rows, strict=True)
        ],
        "complete": result.complete or {"status": "not proved", "by": "exact enumeration of faces"},
        "single": [
            fields(single, "variable", "limit", "supremum", "reached", "possible_when", "equal_sizes_from")
            for single in result.singles
        ],
        "at": [_place(result, place) for place in exploration.places],
    }
    return dict(json_of(record, lambda value: setting.layout.write(in_ridge(value))))


def _longest(longest: TimeRegimes) -> Record:
    """The object of the map of which time is longest."""
    setting, typesetter = longest.setting, claims_typesetter(longest.setting.layout)
    chip = setting.problem.hardware
    record = {
        "schema": SCHEMA,
        "operation": str(setting.problem.operation),
        "hardware": chip and {"name": chip.name, "peak": setting.peak_name, "link": setting.problem.link},
        "quantity": T_LOWER,
        "value": longest.whole,
        "assume": typesetter.condition(longest.assume),
        "figures": {text(step.left): fraction(expression(step.right)) for step in longest.figures},
        "count": longest.count,
        "regimes": [
            {
                "regime": typesetter.condition(row.relations),
                "longest": list(row.longest),
                "leading": row.tends,
                "check": row.check,
            }
            for row in longest.rows
        ],
        "never": [f"{text(step.left)} < {text(step.right)}" for step in longest.never],
        "complete": longest.complete or {"status": "not proved", "by": "exact enumeration of faces"},
    }
    return dict(json_of(record, lambda value: setting.layout.write(in_ridge(value))))


def _leaders(row: RegimeRow) -> dict[str, list[str]]:
    """The statements of a program that most of its FLOPs and of its bytes are in."""
    return {whole: [statement.label for statement in row.leaders(whole)] for whole in row.statements}


def _place(regime_map: RegimeMap, place: MapPoint) -> Record:
    setting = regime_map.setting
    over = place.over_ridge
    return {
        "values": {name: text(value) for name, value in place.values.items()},
        "intensity": place.intensity,
        "compute_bound": None if over is None else over > 1,
        "over_ridge": over,
        "bytes": dict(place.parts),
        "nearest": claims_typesetter(setting.layout).condition(place.nearest.relations),
        "factor": place.factor,
    }


def inferred_record(inferred: Weakest) -> Record:
    """The regimes that an approximation needs."""
    typesetter, write = claims_typesetter(inferred.layout), inferred.layout.write
    record = {
        "schema": SCHEMA,
        "approximation": f"{text(inferred.exact)} ~ {text(inferred.approximate)}",
        "regimes": [
            {
                "regime": typesetter.condition(alternative.relations),
                "factor": alternative.factor,
                "within": None
                if alternative.within is None and alternative.factor != 1
                else [f"{text(a, write)} >= {text(b, write)}" for a, b in alternative.within or ()],
                "check": alternative.check,
            }
            for alternative in inferred.alternatives
        ],
    }
    return dict(json_of(record, write))


def comparison_record(comparison: Comparison) -> dict[str, Any]:
    """The object of one comparison; a row without figures has an error, and the rest of it is null."""
    problem, derivation = comparison.problem, comparison.derivation
    record: Record = {
        "schema": SCHEMA,
        "operation": str(problem.operation),
        "link": problem.link,
        "variable": comparison.variable.name,
        "assume": problem.assume,
        "count": problem.count,
        "mesh": {name: axis.chips for name, axis in problem.mesh.items()},
        "at": [{name: text(x) for name, x in p.values.items()} for p in derivation.answer.at],
        "rows": list(map(_row, comparison.rows)),
    }
    return dict(json_of(record, derivation.setting.layout.write))


def _row(row: OneChip) -> Record:
    setting, answer = row.derivation and row.derivation.setting, row.derivation and row.derivation.answer
    return {
        "chip": row.chip.name,
        "dtype": row.dtype and row.dtype.name,
        "peak": setting and setting.peak and setting.peak.digits,
        "bandwidth": setting and setting.bandwidth and setting.bandwidth.digits,
        "ridge": answer and answer.ridge,
        "compute_bound": answer and answer.condition,
        "smallest_integer": answer and answer.smallest_integer,
        "limit": row.limit,
        "at": list(map(_at_sizes, answer.at)) if answer else [],
        "error": row.error and row.error.problem,
    }


def _at_sizes(point: Point) -> Record:
    """The condition at sizes; and T_steps, where no size of a program is open."""
    steps = steps_at(point)
    seconds = {} if steps is None else {"T_steps": float(steps)}
    held = {} if point.held is None else {"one_chip_holds_it": point.held}
    return {"compute_bound": point.condition, "smallest_integer": point.smallest_integer, **seconds, **held}


def comparison_csv(comparison: Comparison) -> str:
    """A line for each row, with the numbers of its record."""
    record = comparison_record(comparison)
    places = [" ".join(f"{name}={value}" for name, value in point.items()) for point in record["at"]]
    rows = [_flat(row, places) for row in record["rows"]]
    out = io.StringIO()
    writer = csv.DictWriter(out, max(rows, key=len), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _flat(row: dict[str, Any], places: list[str]) -> Record:
    points = zip(places, row.pop("at"), strict=False)
    at = {f"{key} at {place}": value for place, point in points for key, value in point.items()}
    error, ridge = row.pop("error"), row["ridge"]
    return row | {"ridge": ridge and ridge["float"]} | at | {"error": error}


def measured_record(point: Measurement) -> Record:
    """A measured point, and what part of its bound it reached."""
    times = {"seconds": point.seconds, "T_lower": point.bound}
    return {
        "name": point.name,
        "sizes": {name: int(value) for name, value in point.values.items()},
        "FLOPs/byte": float(point.intensity),
        "FLOPs/s": float(point.rate),
        **{name: float(value) for name, value in times.items() if value is not None},
        "reached": float(point.share),
        "possible": not point.impossible,
    }
