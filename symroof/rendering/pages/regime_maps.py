"""Regime maps as pages: for a terminal, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from textwrap import dedent
from typing import Any

from sympy import Add, Expr, oo

from symroof.algebra.rounding import decimal, to_digits, to_places
from symroof.derivation.draft import INTENSITY
from symroof.derivation.layout import with_digits
from symroof.derivation.values import in_ridge
from symroof.exploration.explore import Exploration, Inferred
from symroof.exploration.knobs import Knob
from symroof.exploration.places import Place, Remains
from symroof.exploration.regime_map import RegimeRow
from symroof.exploration.traffic import shares
from symroof.formula import Call, Compare, Formula, Infinity, Name, Number, Quotient, Verdict, number
from symroof.proof.step import Reason
from symroof.rendering.formulas.chains import condition
from symroof.rendering.pages.page import Grid, Lines, Page, in_decimals, pen_of, render_page, words_of
from symroof.rendering.pages.pen import Pen

OVER_INTENSITY = Quotient(number(1), INTENSITY)


def render_exploration(
    exploration: Exploration,
    form: str,
    *,
    brief: bool = False,
    heading: int = 3,
    template: str | None = None,
    width: int = 96,
) -> str:
    """The page of one map."""
    found = exploration.found
    pen = pen_of(form, found.setting.layout, found.setting.problem.link)
    return render_page(
        _Writer(exploration, pen, template).page(brief), pen, heading=heading, template=template, width=width
    )


def render_inferred(inferred: Inferred, form: str, *, template: str | None = None) -> str:
    """The regimes that an approximation needs."""
    pen = pen_of(form, inferred.layout, "HBM")
    say = words_of(pen, template)
    lines = [said(say.inferred(inferred.exact, inferred.approximate, len(inferred.alternatives)))]
    rows = []
    for one in inferred.alternatives:
        size = "" if one.factor == 1 else said(say.off_by(inferred.layout.write(one.factor)))
        if one.within:
            size += said(say.within([(inferred.layout.write(a), inferred.layout.write(b)) for a, b in one.within]))
        needed = condition(one.relations, pen) or said(say.identity() if one.factor == 1 else say.no_need())
        rows.append(f"{needed}{'    ' if form == 'text' else ': '}{size}".rstrip(" :"))
    page = Page("", "", (Lines((*lines, *(f"  {row}" if form == "text" else row for row in rows))),))
    text = render_page(page, pen, heading=0, template=template).lstrip("\n")
    return dedent(text) if form == "text" else text


def said(text: Any) -> str:
    """What a macro says, on one line; runs of spaces between columns stay."""
    return " ".join(str(text).split("\n")).strip()


def grouped(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[list[Any], Any]]:
    """What has the same value together."""
    found: dict[Any, list[Any]] = {}
    for what, value in pairs:
        found.setdefault(value, []).append(what)
    return [(whats, value) for value, whats in found.items()]


class _Writer:
    def __init__(self, exploration: Exploration, pen: Pen, template: str | None) -> None:
        self.exploration, self.found, self.pen = exploration, exploration.found, pen
        self.ridge = self.found.setting.ridge
        self.digits = {} if self.ridge is None else {"ridge": decimal(self.ridge)}
        what = "intensity" if self.found.of_intensity else pen.inline(self.found.name)
        self.say = words_of(
            pen, template, intensity=INTENSITY, over_intensity=OVER_INTENSITY, what=what, quantity_=self.found.name
        )

    def page(self, brief: bool) -> Page:
        found, setting = self.found, self.found.setting
        chip = setting.problem.hardware
        ridge = None if self.ridge is None else decimal(self.ridge)
        peak = setting.peak_name.removeprefix("peak.") if setting.peak is not None else ""
        machine = said(self.say.machine(chip.title if chip else "", peak, setting.problem.link, ridge)) if chip else ""
        blocks: list[Lines | Grid] = [Lines(tuple(self._lines())), self._regimes()]
        blocks.append(Lines((self._complete(),)))
        if not brief:
            if any(row.factor != 1 for row in found.rows):
                blocks.append(self._factors())
            if found.singles:
                blocks.append(self._singles())
            if found.knobs:
                blocks.append(self._knobs())
                if found.of_intensity:
                    blocks.append(Lines((said(self.say.machine_knobs()),)))
        blocks += [Lines(tuple(self._place(place))) for place in self.exploration.places]
        return Page(
            str(setting.problem.operation), machine, tuple(b for b in blocks if not isinstance(b, Lines) or b.lines)
        )

    def _lines(self) -> Iterable[str]:
        found, setting = self.found, self.found.setting
        if found.fixed:
            yield said(self.say.fixed([([r.left], r.right) for r in found.fixed]))
        regime = [r for r in setting.problem.assume if r.relation != "="]
        if regime:
            yield said(self.say.assuming(condition(regime, self.pen)))
        if not found.of_intensity:
            yield said(self.say.quantity(found.name, self.shown(found.value)))
        elif found.draft.answer.reciprocals:
            steps = {s.reason: s for s in found.draft.steps}
            total = self.write(Add(*(1 / m for m in found.draft.answer.reciprocals)))
            yield said(self.say.reciprocal(INTENSITY, total, steps[Reason.RECIPROCAL].facts["uses"]))
            least, each = steps[Reason.BRACKET].left, steps[Reason.BELOW_EACH].facts["each"]
            yield said(self.say.bracket(least, INTENSITY, Call("min", each) if len(each) > 1 else each[0]))
        else:
            yield said(self.say.quantity(INTENSITY, setting.layout.factored(found.value)))
        if self.exploration.remains is not None:
            yield from self._remains(self.exploration.remains)
        if found.cancelled:
            yield said(self.say.cancelled([Name(name) for name in found.cancelled]))

    def _remains(self, left: Remains) -> Iterable[str]:
        ridge = Number(self.ridge or Fraction(0), self.digits.get("ridge"))
        sizes = [Name(name) for name in left.sizes]
        if left.top is not None and left.share is not None:
            if left.share > 1:
                yield said(self.say.always(INTENSITY, self.number(left.top), ridge))
            else:
                share = (
                    "100 %" if left.share == 1 else self._percent(left.share, 3 if left.share > Fraction(1, 100) else 2)
                )
                yield said(self.say.never(INTENSITY, self.number(left.top), left.top_reached, ridge, sizes, share))
        elif left.condition is not None:
            shown = (
                Compare(left.condition.left, left.condition.relation, in_decimals(left.condition.right))
                if isinstance(left.condition, Compare) and len(sizes) == 1
                else left.condition
            )
            yield said(
                self.say.remains(
                    shown,
                    sizes,
                    left.equal_from,
                    grouped((Name(n), first) for n, first in left.each_from) if len(left.sizes) > 1 else [],
                )
            )

    def _percent(self, share: Fraction, digits: int) -> str:
        return f"{to_digits(share * 100, digits)}{chr(92) + ',' + chr(92) if self.pen.form == 'latex' else ' '}%"

    def _regimes(self) -> Grid:
        found = self.found
        head = ("regime", "dominant", "leading" if found.of_intensity else "of", "bound", "equal")
        rows = [
            (
                self._regime(row),
                self._dominant(row),
                self.inline(row.leading),
                self._condition(row.compute_bound),
                "" if row.equal_sizes_from is None else said(self.say.first(row.equal_sizes_from)),
            )
            for row in found.rows
        ]
        return Grid(tuple(said(self.say.head(name)) for name in head), tuple(rows))

    def _regime(self, row: RegimeRow) -> str:
        return condition(row.relations, self.pen) or said(self.say.anywhere())

    def _dominant(self, row: RegimeRow) -> str:
        if not row.dominant:
            return ""
        labels = [t.label for t in row.dominant]
        text = said(self.say.parts(labels, len(shares(self.found.setting))))
        return text if len(labels) > 1 else f"{text} {self.inline(row.dominant[0].amount)}"

    def _condition(self, formula: Formula | None) -> str:
        match formula:
            case None:
                return ""
            case Verdict(holds=holds):
                return said(self.say.verdict(holds))
            case Compare(left=left, relation=relation, right=right):
                return self.pen.inline(self.figured(left), relation, in_decimals(self.figured(right)))
        return self.pen.inline(formula)

    def _complete(self) -> str:
        found = self.found
        names = tuple(Name(s.name) for s in found.fan.symbols if s.name in found.setting.layout.order)
        return said(self.say.complete(names, found.count, len(found.rows), found.complete is not None))

    def _factors(self) -> Grid:
        rows = tuple(
            (self._regime(row), said(self.say.exact()) if row.factor == 1 else self.inline(row.factor))
            for row in self.found.rows
        )
        return Grid((said(self.say.head("regime")), said(self.say.head("factor"))), rows)

    def _singles(self) -> Grid:
        rows = []
        for one in self.found.singles:
            top = said(self.say.without_bound()) if one.limit == oo else self.inline(one.limit)
            suffices = self._condition(one.possible_when)
            if len(one.others) > 1 and self.ridge is not None and not isinstance(one.possible_when, Verdict):
                names = [Name(name) for name in one.others]
                suffices += " " + said(
                    self.say.equal_from(names, one.equal_from) if one.equal_from else self.say.equal_never(names)
                )
            rows.append((self.pen.inline(Name(one.variable), "->", Infinity()), top, suffices))
        return Grid(tuple(said(self.say.head(name)) for name in ("alone", "rises", "possible")), tuple(rows))

    def _knobs(self) -> Grid:
        found = self.found
        corners = [i for i, row in enumerate(found.rows) if row in found.corner_rows]
        head = (said(self.say.head("knob")), *(self._regime(found.rows[i]) for i in corners))
        rows = [(self._knob(knob), *(self._factor(knob.factors[i]) for i in corners)) for knob in found.knobs]
        return Grid(head, tuple(rows))

    def _knob(self, knob: Knob) -> str:
        names = [Name(name) for name in knob.what] if knob.kind == "doubled" else list(knob.what)
        return said(
            self.say.stored(names, knob.dtype) if knob.kind == "stored" else getattr(self.say, knob.kind)(names)
        )

    def _factor(self, factor: Expr) -> str:
        return said(self.say.unbounded()) if factor == oo else self.inline(factor)

    def _place(self, place: Place) -> Iterable[str]:
        values = [
            (names, self.number(value))
            for names, value in grouped((Name(name), value) for name, value in place.values.items())
        ]
        bound = distance = None
        if self.ridge is not None and self.found.of_intensity:
            bound = place.intensity > self.ridge
            distance = self._percent(abs(place.intensity / self.ridge - 1), 3)
        sign = "high" if place.factor > 1 else "low"
        regime = "" if place.factor == 1 else self._regime(place.nearest)
        yield said(
            self.say.place(
                values,
                self.found.name,
                self.number(place.intensity),
                bound,
                distance,
                regime,
                sign,
                self._percent(abs(place.factor - 1), 3),
            )
        )
        if self.found.of_intensity:
            yield said(self.say.shares([(label, self._percent(share, 3)) for label, share in place.parts]))
        if place.knobs:
            yield said(
                self.say.knobs(grouped((self._knob(knob), to_places(factor, 3)) for knob, factor in place.knobs))
            )

    def number(self, value: Fraction) -> Number:
        text = decimal(value)
        return Number(Fraction(text), text)

    def write(self, value: Expr) -> Formula:
        return self.found.setting.layout.write(value)

    def figured(self, formula: Formula) -> Formula:
        return with_digits(formula, self.digits)

    def shown(self, value: Expr) -> Formula:
        return self.figured(self.write(in_ridge(value)))

    def inline(self, value: Expr) -> str:
        return self.pen.inline(self.shown(value))
