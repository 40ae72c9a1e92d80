"""Regime maps as JSON, ``"schema": 1``."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sympy import Add, Expr, oo

from symroof.derivation.values import in_ridge
from symroof.exploration.explore import Exploration, Inferred
from symroof.exploration.knobs import Knob
from symroof.exploration.places import Place, Remains
from symroof.exploration.regime_map import RegimeMap
from symroof.exploration.singles import Single
from symroof.formula import Call, Compare, Formula, Verdict
from symroof.proof.step import Reason
from symroof.rendering.formulas.chains import condition
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.page import pen_of
from symroof.rendering.records.derivations import SCHEMA

EXPLICIT = PlainPrinter(explicit=True)


def map_record(exploration: Exploration) -> dict[str, Any]:
    """The object of one map; keys that do not apply are null."""
    found, setting = exploration.found, exploration.found.setting
    steps = {s.reason: s for s in found.draft.steps}
    answer, chip = found.draft.answer, setting.problem.hardware
    harmonic = answer.reciprocals if found.of_intensity else None
    rows = [_regime(found, row.relations) for row in found.rows]
    return {
        "schema": SCHEMA,
        "operation": str(setting.problem.operation),
        "hardware": None
        if chip is None
        else {"name": chip.name, "peak": setting.peak_name, "link": setting.problem.link},
        "quantity": EXPLICIT.print(found.name),
        "value": _text(found, found.value),
        "ridge": None if setting.ridge is None else _exact(setting.ridge),
        "fixed": {EXPLICIT.print(r.left): EXPLICIT.print(r.right) for r in found.fixed},
        "reciprocal": _text(found, Add(*(1 / m for m in harmonic))) if harmonic else None,
        "bracket": _bracket(steps) if harmonic else None,
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
                "compute_bound": _condition(row.compute_bound),
                "equal_sizes_from": row.equal_sizes_from,
                "check": {"status": row.check.status, "by": row.check.by},
            }
            for name, row in zip(rows, found.rows, strict=True)
        ],
        "complete": {"status": "proved", "by": found.complete.by}
        if found.complete
        else {"status": "not proved", "by": "exact enumeration of faces"},
        "single": [_single(found, one) for one in found.singles],
        "knobs": [_knob(found, knob, rows) for knob in found.knobs],
        "remains": _remains(exploration.remains),
        "at": [_place(found, place) for place in exploration.places],
    }


def inferred_record(inferred: Inferred) -> dict[str, Any]:
    """The regimes that an approximation needs."""
    pen, write = pen_of("text", inferred.layout, "HBM"), inferred.layout.write
    return {
        "schema": SCHEMA,
        "approximation": f"{EXPLICIT.print(inferred.exact)} ~ {EXPLICIT.print(inferred.approximate)}",
        "regimes": [
            {
                "regime": condition(one.relations, pen),
                "factor": EXPLICIT.print(write(one.factor)),
                "within": None
                if one.within is None
                else [f"{EXPLICIT.print(write(a))} >= {EXPLICIT.print(write(b))}" for a, b in one.within],
                "check": {"status": one.check.status, "by": one.check.by},
            }
            for one in inferred.alternatives
        ],
    }


def _text(found: RegimeMap, value: Expr) -> str:
    return EXPLICIT.print(found.setting.layout.write(in_ridge(value)))


def _exact(value: Fraction) -> dict[str, Any]:
    return {"exact": str(value), "float": float(value)}


def _regime(found: RegimeMap, relations: tuple[Compare, ...]) -> str:
    return condition(relations, pen_of("text", found.setting.layout, found.setting.problem.link))


def _bracket(steps: dict[Reason, Any]) -> str:
    least, each = steps[Reason.BRACKET].left, steps[Reason.BELOW_EACH].facts["each"]
    return f"{EXPLICIT.print(least)} <= intensity < {EXPLICIT.print(Call('min', each) if len(each) > 1 else each[0])}"


def _condition(formula: Formula | None) -> str | None:
    match formula:
        case None:
            return None
        case Verdict(holds=holds):
            return "always" if holds else "never"
    return EXPLICIT.print(formula)


def _single(found: RegimeMap, one: Single) -> dict[str, Any]:
    return {
        "variable": one.variable,
        "limit": "oo" if one.limit == oo else _text(found, one.limit),
        "supremum": None if one.supremum is None else "oo" if one.supremum == oo else _text(found, one.supremum),
        "reached": one.reached,
        "possible_when": _condition(one.possible_when),
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
    factors = {
        row: "oo" if factor == oo else _text(found, factor) for row, factor in zip(rows, knob.factors, strict=True)
    }
    return {"change": _change(knob), "factor": factors, "exact": _text(found, knob.ratio)}


def _remains(left: Remains | None) -> dict[str, Any] | None:
    if left is None:
        return None
    return {
        "supremum": None if left.top is None else str(left.top),
        "share_of_peak": None if left.share is None else _exact(left.share),
        "compute_bound": _condition(left.condition),
        "equal_sizes_from": left.equal_from,
        "each_from": dict(left.each_from),
    }


def _place(found: RegimeMap, place: Place) -> dict[str, Any]:
    ridge = found.setting.ridge if found.of_intensity else None
    return {
        "values": {name: str(value) for name, value in place.values.items()},
        "intensity": _exact(place.intensity),
        "compute_bound": None if ridge is None else place.intensity > ridge,
        "over_ridge": None if ridge is None else _exact(place.intensity / ridge),
        "bytes": {label: _exact(share) for label, share in place.parts},
        "nearest": _regime(found, place.nearest.relations),
        "factor": _exact(place.factor),
        "knobs": [{"change": _change(knob), "factor": _exact(factor)} for knob, factor in place.knobs],
    }
