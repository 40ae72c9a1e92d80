"""Regime maps and comparisons as JSON, ``"schema": 1``; comparisons also as CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from symroof.derivation.answer import Point
from symroof.derivation.quantity_definitions import in_ridge
from symroof.derivation.steps import T_LOWER
from symroof.exploration.comparing import Comparison, OneChip, steps_at
from symroof.exploration.explore import Exploration, Place, Weakest
from symroof.exploration.longest import LongestMap
from symroof.exploration.measured_points import Measurement
from symroof.exploration.regime_map import RegimeMap, RegimeRow
from symroof.rendering.pages.typesetting import claims_typesetter
from symroof.rendering.records.derivations import bracket
from symroof.rendering.records.json_parts import SCHEMA, fields, spelled, text
from symroof.symbols import expression, fraction


def map_record(exploration: Exploration) -> dict[str, Any]:
    """The object of one map; keys that do not apply are null."""
    result, setting = exploration.found, exploration.found.setting
    if isinstance(result, LongestMap):
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
    return dict(spelled(record, lambda value: setting.layout.write(in_ridge(value))))


def _longest(found: LongestMap) -> dict[str, Any]:
    """The object of the map of which time is longest."""
    setting, typesetter = found.setting, claims_typesetter(found.setting.layout)
    chip = setting.problem.hardware
    record = {
        "schema": SCHEMA,
        "operation": str(setting.problem.operation),
        "hardware": chip and {"name": chip.name, "peak": setting.peak_name, "link": setting.problem.link},
        "quantity": T_LOWER,
        "value": found.whole,
        "assume": typesetter.condition(found.assume),
        "figures": {text(step.left): fraction(expression(step.right)) for step in found.figures},
        "count": found.count,
        "regimes": [
            {
                "regime": typesetter.condition(row.relations),
                "longest": list(row.longest),
                "leading": row.tends,
                "check": row.check,
            }
            for row in found.rows
        ],
        "never": [f"{text(step.left)} < {text(step.right)}" for step in found.never],
        "complete": found.complete or {"status": "not proved", "by": "exact enumeration of faces"},
    }
    return dict(spelled(record, lambda value: setting.layout.write(in_ridge(value))))


def _leaders(row: RegimeRow) -> dict[str, list[str]]:
    """The statements of a program that most of its FLOPs and of its bytes are in."""
    return {whole: [statement.label for statement in row.leaders(whole)] for whole in row.statements}


def _place(found: RegimeMap, place: Place) -> dict[str, Any]:
    setting = found.setting
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


def inferred_record(inferred: Weakest) -> dict[str, Any]:
    """The regimes that an approximation needs."""
    typesetter, write = claims_typesetter(inferred.layout), inferred.layout.write
    record = {
        "schema": SCHEMA,
        "approximation": f"{text(inferred.exact)} ~ {text(inferred.approximate)}",
        "regimes": [
            {
                "regime": typesetter.condition(one.relations),
                "factor": one.factor,
                "within": None
                if one.within is None and one.factor != 1
                else [f"{text(a, write)} >= {text(b, write)}" for a, b in one.within or ()],
                "check": one.check,
            }
            for one in inferred.alternatives
        ],
    }
    return dict(spelled(record, write))


def comparison_record(comparison: Comparison) -> dict[str, Any]:
    """The object of one comparison; a row without figures has an error, and the rest of it is null."""
    problem, derivation = comparison.problem, comparison.derivation
    record: dict[str, Any] = {
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
    return dict(spelled(record, derivation.setting.layout.write))


def _row(row: OneChip) -> dict[str, Any]:
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


def _at_sizes(point: Point) -> dict[str, Any]:
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


def _flat(row: dict[str, Any], places: list[str]) -> dict[str, Any]:
    points = zip(places, row.pop("at"), strict=False)
    at = {f"{key} at {place}": value for place, point in points for key, value in point.items()}
    error, ridge = row.pop("error"), row["ridge"]
    return row | {"ridge": ridge and ridge["float"]} | at | {"error": error}


def measured_record(one: Measurement) -> dict[str, Any]:
    """A measured point, and what part of its bound it reached."""
    times = {"seconds": one.seconds, "T_lower": one.bound}
    return {
        "name": one.name,
        "sizes": {name: int(value) for name, value in one.values.items()},
        "FLOPs/byte": float(one.intensity),
        "FLOPs/s": float(one.rate),
        **{name: float(value) for name, value in times.items() if value is not None},
        "reached": float(one.reached),
        "possible": not one.impossible,
    }
