"""Regime maps as JSON, ``"schema": 1``."""

from __future__ import annotations

from typing import Any

from sympy import Expr

from symroof.derivation.values import in_ridge
from symroof.exploration.explore import Exploration, Inferred
from symroof.exploration.knobs import Knob
from symroof.exploration.places import Place, Remains
from symroof.exploration.regime_map import RegimeMap
from symroof.exploration.singles import Single
from symroof.formula import Compare
from symroof.rendering.formulas.chains import condition
from symroof.rendering.pages.pen import claims_pen
from symroof.rendering.records.derivations import bracket
from symroof.rendering.records.scalars import SCHEMA, exact, text, verdict_of


def map_record(exploration: Exploration) -> dict[str, Any]:
    """The object of one map; keys that do not apply are null."""
    found, setting = exploration.found, exploration.found.setting
    answer, chip = found.draft.answer, setting.problem.hardware
    rows = [_regime(found, row.relations) for row in found.rows]
    return {
        "schema": SCHEMA,
        "operation": str(setting.problem.operation),
        "hardware": None
        if chip is None
        else {"name": chip.name, "peak": setting.peak_name, "link": setting.problem.link},
        "quantity": text(found.name),
        "value": _text(found, found.value),
        "ridge": exact(setting.ridge),
        "fixed": {text(r.left): text(r.right) for r in found.fixed},
        "reciprocal": text(answer.formula("reciprocal")) if found.of_intensity else None,
        "bracket": bracket(answer) if found.of_intensity else None,
        "cancelled": list(found.cancelled),
        "count": found.count,
        "corners": found.corners,
        "regimes": [
            {
                "regime": name,
                "corner": row.corner,
                "dominant": [t.label for t in row.dominant],
                "intensity": _text(found, row.leading),
                "factor": _text(found, row.factor),
                "compute_bound": text(row.compute_bound),
                "equal_sizes_from": row.equal_sizes_from,
                "check": verdict_of(row.check),
            }
            for name, row in zip(rows, found.rows, strict=True)
        ],
        "complete": verdict_of(found.complete) or {"status": "not proved", "by": "exact enumeration of faces"},
        "single": [_single(found, one) for one in found.singles],
        "knobs": [_knob(found, knob, rows) for knob in found.knobs],
        "remains": _remains(exploration.remains),
        "at": [_place(found, place) for place in exploration.places],
    }


def inferred_record(inferred: Inferred) -> dict[str, Any]:
    """The regimes that an approximation needs."""
    pen, write = claims_pen(inferred.layout), inferred.layout.write
    return {
        "schema": SCHEMA,
        "approximation": f"{text(inferred.exact)} ~ {text(inferred.approximate)}",
        "regimes": [
            {
                "regime": condition(one.relations, pen),
                "factor": text(one.factor, write),
                "within": None
                if one.within is None
                else [f"{text(a, write)} >= {text(b, write)}" for a, b in one.within],
                "check": verdict_of(one.check),
            }
            for one in inferred.alternatives
        ],
    }


def _text(found: RegimeMap, value: Expr | None) -> str | None:
    return None if value is None else text(found.setting.layout.write(in_ridge(value)))


def _regime(found: RegimeMap, relations: tuple[Compare, ...]) -> str:
    return condition(relations, claims_pen(found.setting.layout))


def _single(found: RegimeMap, one: Single) -> dict[str, Any]:
    return {
        "variable": one.variable,
        "limit": _text(found, one.limit),
        "supremum": _text(found, one.supremum),
        "reached": one.reached,
        "possible_when": text(one.possible_when),
        "equal_sizes_from": one.equal_from,
    }


def _change(knob: Knob) -> str:
    what = " or ".join(knob.what)
    return {
        "doubled": f"double {what}",
        "stored": f"store the {what} in {knob.dtype}",
        "unwritten": f"never write the {what}",
    }[knob.kind]


def _knob(found: RegimeMap, knob: Knob, rows: list[str]) -> dict[str, Any]:
    factors = {row: _text(found, factor) for row, factor in zip(rows, knob.factors, strict=True)}
    return {"change": _change(knob), "factor": factors, "exact": _text(found, knob.ratio)}


def _remains(left: Remains | None) -> dict[str, Any] | None:
    if left is None:
        return None
    return {
        "supremum": text(left.top),
        "share_of_peak": exact(left.share),
        "compute_bound": text(left.condition),
        "equal_sizes_from": left.equal_from,
        "each_from": dict(left.each_from),
    }


def _place(found: RegimeMap, place: Place) -> dict[str, Any]:
    ridge = found.setting.ridge if found.of_intensity else None
    return {
        "values": {name: text(value) for name, value in place.values.items()},
        "intensity": exact(place.intensity),
        "compute_bound": None if ridge is None else place.intensity > ridge,
        "over_ridge": None if ridge is None else exact(place.intensity / ridge),
        "bytes": {label: exact(share) for label, share in place.parts},
        "nearest": _regime(found, place.nearest.relations),
        "factor": exact(place.factor),
        "knobs": [{"change": _change(knob), "factor": exact(factor)} for knob, factor in place.knobs],
    }
