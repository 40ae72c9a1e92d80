"""Comparisons as tables: for a terminal, Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

from sympy import oo

from symroof.algebra.rounding import decimal
from symroof.derivation.layout import with_digits
from symroof.exploration.comparing import Compared, Comparison
from symroof.formula import Both, Cases, Compare, Formula, Infinity, Name, Verdict
from symroof.model.hardware import Known
from symroof.rendering.formulas.chains import condition
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.page import Grid, Lines, Page, in_decimals, pen_of, render_page, words_of
from symroof.rendering.pages.regime_maps import grouped, said
from symroof.rendering.records.derivations import SCHEMA

EXPLICIT = PlainPrinter(explicit=True)


def render_comparison(
    found: Comparison, form: str, *, heading: int = 3, template: str | None = None, width: int = 96
) -> str:
    """The table in a format; ``csv`` has one line for each row and exact numbers."""
    return _csv(found) if form == "csv" else _Table(found, form, template).render(heading, template, width)


class _Table:
    def __init__(self, found: Comparison, form: str, template: str | None) -> None:
        setting = found.derivation.setting
        self.found, self.pen = found, pen_of(form, setting.layout, setting.problem.link)
        self.say = words_of(
            self.pen, template, link=setting.problem.link, variable=Name(found.variable.name), infinity=Infinity()
        )

    def render(self, heading: int, template: str | None, width: int) -> str:
        found = self.found
        points = found.derivation.answer.at
        head = ["chip", "dtype", "peak", "bandwidth", "ridge", "condition", "from", "limit"]
        titles = [said(self.say.compared_head(name)) for name in head]
        titles += [
            said(self.say.compared_at(grouped((Name(n), self.pen.layout.write(v)) for n, v in p.values.items())))
            for p in points
        ]
        grid = Grid(tuple(titles), tuple(self._row(row) for row in found.rows), frozenset({4, 6}))
        missing = [
            said(self.say.missing(row.chip.title, str(row.dtype or ""), row.error)) for row in found.rows if row.error
        ]
        assumed = tuple(self._assumed())
        blocks: tuple[Lines | Grid, ...] = (
            *((Lines(assumed),) if assumed else ()),
            grid,
            *((Lines(tuple(missing)),) if missing else ()),
        )
        return render_page(
            Page(str(found.problem.operation), "", blocks), self.pen, heading=heading, template=template, width=width
        )

    def _assumed(self) -> Iterable[str]:
        """What holds for every row: the regime, the mesh, and a count that is not the usual one."""
        problem = self.found.problem
        if problem.assume:
            yield said(self.say.assuming(condition(problem.assume, self.pen)))
        if problem.mesh:
            yield said(self.say.mesh([f"{axis} = {size}" for axis, size in problem.mesh.items()]))
        if problem.count == "exact":
            yield said(self.say.exact_count())
        if problem.compute is not None:
            yield said(self.say.computed_in(str(problem.compute)))

    def _row(self, row: Compared) -> tuple[str, ...]:
        count = len(self.found.derivation.answer.at)
        dtype = "" if row.dtype is None else row.dtype.name
        if row.error is not None:
            return (self.pen.words(row.chip.title), dtype, *["-"] * (6 + count))
        digits = {"ridge": decimal(row.ridge)} if row.ridge is not None else {}
        limit = (
            "oo"
            if row.limit is None
            else self.pen.inline(Infinity() if row.limit == oo else self.pen.layout.write(row.limit))
        )
        return (
            self.pen.words(row.chip.title),
            dtype,
            _digits(row.peak),
            _digits(row.bandwidth),
            "" if row.ridge is None else decimal(row.ridge),
            self._condition(row.condition, digits),
            "" if row.smallest is None else str(row.smallest),
            limit,
            *(
                self._condition(formula, digits) + ("" if first is None else f", {said(self.say.first(first))}")
                for formula, first in row.at
            ),
        )

    def _condition(self, formula: Formula | None, digits: dict[str, str]) -> str:
        match formula:
            case None:
                return ""
            case Verdict(holds=holds):
                return said(self.say.verdict(holds))
            case Cases(rows=rows):
                return ", ".join(
                    said(self.say.guarded(self._condition(then, digits), self._condition(guard, digits)))
                    for then, guard in rows
                )
            case Both(parts=parts):
                return said(self.say.both([self._condition(part, digits) for part in parts]))
            case Compare(left=left, relation=relation, right=right):
                return self.pen.inline(with_digits(left, digits), relation, in_decimals(with_digits(right, digits)))
        return self.pen.inline(with_digits(formula, digits))


def _digits(known: Known | None) -> str:
    return "" if known is None else known.digits


def comparison_record(found: Comparison) -> dict[str, Any]:
    """The JSON object, ``"schema": 1``; exact numbers as text beside a float."""
    points = [{name: str(value) for name, value in p.values.items()} for p in found.derivation.answer.at]
    return {
        "schema": SCHEMA,
        "operation": str(found.problem.operation),
        "link": found.problem.link,
        "variable": found.variable.name,
        "assume": [EXPLICIT.print(r) for r in found.problem.assume],
        "count": found.problem.count,
        "mesh": dict(found.problem.mesh),
        "at": points,
        "rows": [_record(found, row) for row in found.rows],
    }


def _record(found: Comparison, row: Compared) -> dict[str, Any]:
    layout = found.derivation.setting.layout
    return {
        "chip": row.chip.name,
        "dtype": None if row.dtype is None else row.dtype.name,
        "peak": _digits(row.peak) or None,
        "bandwidth": _digits(row.bandwidth) or None,
        "ridge": None if row.ridge is None else {"exact": str(row.ridge), "float": float(row.ridge)},
        "compute_bound": _claim(row.condition),
        "smallest_integer": row.smallest,
        "limit": None if row.limit is None else "oo" if row.limit == oo else EXPLICIT.print(layout.write(row.limit)),
        "at": [{"compute_bound": _claim(formula), "smallest_integer": first} for formula, first in row.at],
        "error": row.error,
    }


def _claim(formula: Formula | None) -> str | None:
    if isinstance(formula, Verdict):
        return "always" if formula.holds else "never"
    return None if formula is None else EXPLICIT.print(formula)


def _csv(found: Comparison) -> str:
    record = comparison_record(found)
    points = [" ".join(f"{name}={value}" for name, value in point.items()) for point in record["at"]]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [
            "chip",
            "dtype",
            "peak",
            "bandwidth",
            "ridge",
            "compute_bound",
            "smallest_integer",
            "limit",
            *(f"{what} at {p}" for p in points for what in ("compute_bound", "smallest_integer")),
            "error",
        ]
    )
    for row in record["rows"]:
        at = [value for point in row["at"] for value in (point["compute_bound"], point["smallest_integer"])] or [""] * (
            2 * len(points)
        )
        writer.writerow(
            [
                _cell(x)
                for x in (
                    row["chip"],
                    row["dtype"],
                    row["peak"],
                    row["bandwidth"],
                    row["ridge"] and row["ridge"]["float"],
                    row["compute_bound"],
                    row["smallest_integer"],
                    row["limit"],
                    *at,
                    row["error"],
                )
            ]
        )
    return out.getvalue()


def _cell(value: Any) -> Any:
    return "" if value is None else value
