"""Regime maps and comparisons as JSON, ``"schema": 1``; comparisons also as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from symroof.derivation.answer import Point, Said
from symroof.derivation.draft import INTENSITY, RIDGE, T_LOWER
from symroof.derivation.meanings import in_ridge
from symroof.errors import CheckError
from symroof.exploration.comparing import Compared, Comparison, steps_at
from symroof.exploration.edges import Single
from symroof.exploration.explore import Exploration, Inferred
from symroof.exploration.longest import LongestMap
from symroof.exploration.map_points import Place
from symroof.exploration.reached import Measurement
from symroof.exploration.regime_map import RegimeMap, RegimeRow
from symroof.formula import Formula, Infinity, Sum, Verdict, nodes
from symroof.rendering.pages.pen import claims_pen
from symroof.rendering.records.audit import Audit
from symroof.rendering.records.derivations import bracket
from symroof.rendering.records.scalars import SCHEMA, fields, spelled, text
from symroof.rendering.told import Told, told_by
from symroof.symbols import expression, fraction

T = TypeVar("T", bound=Told)


def told_on_map(exploration: Exploration) -> tuple[Told]:
    """What the steps of a map say, those of its points and of what is left to find among them."""
    return (_of_map(exploration, Told),)


def _of_map(exploration: Exploration, kind: type[T]) -> T:
    """What the steps of a sealed map say, and the sizes that were put in."""
    draft = exploration.found.draft
    require_sealed_in(exploration)
    told = kind(draft.ledger.established, draft.setting)
    told.numbers.update(value for place in exploration.places for value in place.values.values())
    return told


def require_sealed_in(exploration: Exploration) -> None:
    """Raises :class:`~symroof.errors.CheckError` where a part of a map holds a step that is not one of its ledger."""
    found = exploration.found
    singles = vars(found).get("singles", ())  # what each size does alone, where the page asked for it
    known = set(map(id, found.draft.ledger.established))
    every: tuple[Said, ...] = (*found.rows, *singles, *exploration.places)
    for said in every:
        if not known.issuperset(map(id, said.steps)):
            raise CheckError("a step of the map was not checked")


def told_of(inferred: Inferred) -> Told:
    """What the steps of inferred regimes say, and what was asked."""
    told = Told(inferred.ledger.established, inferred.setting)
    told.take(inferred.exact, inferred.approximate)
    return told


def told_in(comparison: Comparison) -> tuple[Told, ...]:
    """What the steps of the derivations of a comparison say."""
    derivations = (row.derivation for row in comparison.rows if row.derivation is not None)
    return tuple(told for derivation in derivations for told in told_by(derivation))


def map_record(exploration: Exploration) -> dict[str, Any]:
    """The object of one map; keys that do not apply are null."""
    found, setting = exploration.found, exploration.found.setting
    if isinstance(found, LongestMap):
        return _audited(_longest(found), exploration)
    answer, chip, pen = found.draft.answer, setting.problem.hardware, claims_pen(setting.layout)
    rows = [pen.condition(row.relations) for row in found.rows]
    record = {
        "schema": SCHEMA,
        "operation": str(setting.problem.operation),
        "hardware": chip and {"name": chip.name, "peak": setting.peak_name, "link": setting.problem.link},
        "quantity": found.name,
        "value": found.value,
        "ridge": setting.ridge,
        "fixed": {text(r.left): r.right for r in found.fixed},
        "reciprocal": answer.formula("reciprocal") if found.of_intensity else None,
        "bracket": bracket(answer) if found.of_intensity else None,
        **fields(found, "cancelled", "count", "corners"),
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
            for name, row in zip(rows, found.rows, strict=True)
        ],
        "complete": found.complete or {"status": "not proved", "by": "exact enumeration of faces"},
        "single": [
            fields(single, "variable", "limit", "supremum", "reached", "possible_when", "equal_sizes_from")
            for single in found.singles
        ],
        "at": [_place(found, place) for place in exploration.places],
    }
    tree: dict[str, Any] = spelled(record, lambda value: setting.layout.write(in_ridge(value)))
    _require_rows(tree, found)
    return _audited(tree, exploration)


def _audited(tree: dict[str, Any], exploration: Exploration) -> dict[str, Any]:
    """The object of a map, every formula and number of which some step of the map says."""
    audit = _of_map(exploration, Audit)
    if tree["quantity"] != str(INTENSITY.name):
        audit.said.pop((INTENSITY.name, None), None)  # "intensity" is the form of the quantity in a regime
    for single in vars(exploration.found).get("singles", ()):
        audit.take(*_above_all(single))
    audit.require_tree(tree)
    return tree


def _above_all(single: Single) -> Iterator[Formula]:
    """That an intensity is above any ridge, where its step says that it grows without bound."""
    step = single.step("limit")
    if step is not None and isinstance(step.right, Infinity):
        yield Verdict(True)


def _require_rows(tree: Mapping[str, Any], found: RegimeMap) -> None:
    """Every row says what its own steps do; the list is as long as it says, and a corner is led by one product."""
    listed = tree["regimes"]
    for row, entry in zip(found.rows, listed, strict=True):
        audit = Audit(row.steps, found.setting)
        audit.require_regime("regime", entry["regime"])
        audit.require_tree({key: entry[key] for key in ("intensity", "factor", "compute_bound", "equal_sizes_from")})
        if entry["corner"] and any(isinstance(node, Sum) for node in nodes(row.formula("leading") or RIDGE)):
            raise CheckError(f"the regime {entry['regime']} is no corner")
    for single, entry in zip(found.singles, tree["single"], strict=True):
        own = Audit(single.steps, found.setting)
        own.take(*_above_all(single))
        own.require_tree({"possible_when": entry["possible_when"]})
        highest = single.step("highest")
        if entry["reached"] is not None and entry["reached"] != (highest is not None and highest.relation == "<="):
            raise CheckError(
                f"whether the intensity reaches its supremum over {entry['variable']} is not what its step says"
            )
    named = {entry["regime"] for entry in listed}
    if any(place["nearest"] not in named for place in tree["at"]):
        raise CheckError("the nearest regime of a point is none of the list")
    corners = sum(entry["corner"] for entry in listed)
    if tree["corners"] != corners or (tree["count"] != len(listed) and len(listed) != corners):
        raise CheckError(f"{tree['count']} regimes, of which {tree['corners']} are corners, are not those of the list")


def _longest(found: LongestMap) -> dict[str, Any]:
    """The object of the map of which time is longest."""
    setting, pen = found.setting, claims_pen(found.setting.layout)
    chip = setting.problem.hardware
    record = {
        "schema": SCHEMA,
        "operation": str(setting.problem.operation),
        "hardware": chip and {"name": chip.name, "peak": setting.peak_name, "link": setting.problem.link},
        "quantity": T_LOWER,
        "value": found.whole,
        "assume": pen.condition(found.assume),
        "figures": {text(step.left): fraction(expression(step.right)) for step in found.figures},
        "count": found.count,
        "regimes": [
            {
                "regime": pen.condition(row.relations),
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
        "nearest": claims_pen(setting.layout).condition(place.nearest.relations),
        "factor": place.factor,
    }


def inferred_record(inferred: Inferred) -> dict[str, Any]:
    """The regimes that an approximation needs."""
    pen, write = claims_pen(inferred.layout), inferred.layout.write
    record = {
        "schema": SCHEMA,
        "approximation": f"{text(inferred.exact)} ~ {text(inferred.approximate)}",
        "regimes": [
            {
                "regime": pen.condition(one.relations),
                "factor": one.factor,
                "within": None
                if one.within is None and one.factor != 1
                else [f"{text(a, write)} >= {text(b, write)}" for a, b in one.within or ()],
                "check": one.check,
            }
            for one in inferred.alternatives
        ],
    }
    tree: dict[str, Any] = spelled(record, write)
    audit = Audit(inferred.ledger.established, inferred.setting)
    audit.require_tree(tree)
    for entry in tree["regimes"]:
        audit.require_regime("regime", entry["regime"])
    return tree


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
    tree: dict[str, Any] = spelled(record, derivation.setting.layout.write)
    for row, entry in zip(comparison.rows, tree["rows"], strict=True):
        _require_row(row, entry)
    return tree


def _require_row(row: Compared, entry: Mapping[str, Any]) -> None:
    """Raises :class:`~symroof.errors.CheckError` where a row says what no step of its derivation does."""
    if row.derivation is not None:
        row.derivation.require_sealed()
        Audit(row.derivation.written, row.derivation.setting).require_tree(entry)


def _row(row: Compared) -> dict[str, Any]:
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
    return {"compute_bound": point.condition, "smallest_integer": point.smallest_integer, **seconds}


def comparison_csv(comparison: Comparison) -> str:
    """A line for each row, with the numbers of its record."""
    record = comparison_record(comparison)
    places = [" ".join(f"{name}={value}" for name, value in point.items()) for point in record["at"]]
    rows = [_flat(row, places) for row in record["rows"]]
    for row, flat in zip(comparison.rows, rows, strict=True):
        _require_row(row, flat)
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
