"""Regime maps as pages: for a terminal, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from textwrap import dedent

from sympy import Expr, oo

from symroof.derivation.draft import INTENSITY
from symroof.derivation.layout import with_digits
from symroof.derivation.values import in_ridge
from symroof.exploration.explore import Exploration, Inferred
from symroof.exploration.knobs import Knob
from symroof.exploration.places import Place, Remains
from symroof.exploration.regime_map import RegimeRow
from symroof.exploration.singles import Single
from symroof.exploration.traffic import shares
from symroof.formula import Both, Cases, Compare, Formula, Infinity, Name, Number, Quotient, Verdict, number
from symroof.rendering.formulas.chains import condition
from symroof.rendering.formulas.decimals import decimal, to_digits, to_places
from symroof.rendering.pages.amounts import decimal_number, grouped, in_decimals
from symroof.rendering.pages.page import Grid, Lines, Page, render_page
from symroof.rendering.pages.pen import Pen, Sentences, Style, pen_of

OVER_INTENSITY = Quotient(number(1), INTENSITY)


def render_exploration(exploration: Exploration, form: str, style: Style | None = None) -> str:
    """The page of one map."""
    setting = exploration.found.setting
    pen = pen_of(form, setting.layout, setting.problem.link, style)
    return render_page(lambda pen: _Writer(exploration, pen).page(), pen)


def render_inferred(inferred: Inferred, form: str, style: Style | None = None) -> str:
    """The regimes that an approximation needs: a fragment in every format."""
    pen = pen_of(form, inferred.layout, "HBM", replace(style or Style(), heading=0))
    text = render_page(lambda pen: Page("", "", (Lines(tuple(_inferred(inferred, pen))),)), pen).lstrip("\n")
    return dedent(text) if form == "text" else text


def _inferred(inferred: Inferred, pen: Pen) -> Iterable[str]:
    say, write, text = pen.sentences("explore.j2"), inferred.layout.write, pen.form == "text"
    yield say("inferred", inferred.exact, inferred.approximate, len(inferred.alternatives))
    for regime in inferred.alternatives:
        size = "" if regime.factor == 1 else say("off_by", write(regime.factor))
        if regime.within:
            size += say("within", [(write(a), write(b)) for a, b in regime.within])
        needed = condition(regime.relations, pen) or say("identity" if regime.factor == 1 else "no_need")
        yield f"{'  ' if text else ''}{needed}{'    ' if text else ': '}{size}".rstrip(" :")


class Explainer:
    """Conditions on a machine in words and formulas, the ridge in decimals."""

    def __init__(self, pen: Pen, say: Sentences, ridge: Fraction | None) -> None:
        self.pen, self.say = pen, say
        self.digits = {} if ridge is None else {"ridge": decimal(ridge)}

    def figured(self, formula: Formula) -> Formula:
        return with_digits(formula, self.digits)

    def condition(self, formula: Formula | None) -> str:
        match formula:
            case None:
                return ""
            case Verdict(holds=holds):
                return self.say("verdict", holds)
            case Cases(rows=rows):
                cases = [self.say("guarded", self.condition(then), self.condition(guard)) for then, guard in rows]
                return ", ".join(cases)
            case Both(parts=parts):
                return self.say("both", [self.condition(part) for part in parts])
            case Compare(left=left, relation=relation, right=right):
                return self.pen.inline(self.figured(left), relation, in_decimals(self.figured(right)))
        return self.pen.inline(self.figured(formula))


class _Writer(Explainer):
    def __init__(self, exploration: Exploration, pen: Pen) -> None:
        self.exploration, self.found = exploration, exploration.found
        self.ridge = self.found.setting.ridge
        what = "intensity" if self.found.of_intensity else pen.inline(self.found.name)
        say = pen.sentences("explore.j2", over_intensity=OVER_INTENSITY, what=what, quantity_=self.found.name)
        super().__init__(pen, say, self.ridge)

    def page(self) -> Page:
        found, setting = self.found, self.found.setting
        chip = setting.problem.hardware
        peak = setting.peak_name.removeprefix("peak.") if setting.peak is not None else ""
        machine = self.say("machine", chip.title, peak, setting.problem.link, self.digits.get("ridge")) if chip else ""
        blocks: list[Lines | Grid] = [Lines(tuple(self._lines())), self._regimes(), Lines((self._complete(),))]
        if not self.pen.style.brief:
            if any(row.factor != 1 for row in found.rows):
                blocks.append(self._factors())
            if found.singles:
                blocks.append(self._singles())
            if found.knobs:
                blocks += [self._knobs(), Lines((self.say("machine_knobs"),) if found.of_intensity else ())]
        blocks += [Lines(tuple(self._place(place))) for place in self.exploration.places]
        blocks = [block for block in blocks if not isinstance(block, Lines) or block.lines]
        return Page(
            self.pen.code(str(setting.problem.operation)), self.pen.words(machine), tuple(blocks), landscape=True
        )

    def _lines(self) -> Iterable[str]:
        found, setting = self.found, self.found.setting
        if found.fixed:
            yield self.say("fixed", [([r.left], r.right) for r in found.fixed])
        regime = [r for r in setting.problem.assume if r.relation != "="]
        if regime:
            yield self.say("assuming", condition(regime, self.pen))
        if not found.of_intensity:
            yield self.say("quantity", found.name, self.shown(found.value))
        elif found.draft.answer.reciprocals:
            total, uses = found.draft.answer.formula("reciprocal"), found.draft.answer.uses
            yield self.say("reciprocal", total)
            if uses:
                yield self.say("uses", uses)
            bracket = found.draft.answer.step("bracket")
            if bracket is not None and isinstance(bracket.left, Quotient):
                yield self.say("bracket", bracket.left, INTENSITY, bracket.left.above)
        else:
            yield self.say("quantity", INTENSITY, setting.layout.factored(found.value))
        if self.exploration.remains is not None:
            yield from self._remains(self.exploration.remains)
        if found.cancelled:
            yield self.say("cancelled", [Name(name) for name in found.cancelled])

    def _remains(self, left: Remains) -> Iterable[str]:
        ridge = Number(self.ridge or Fraction(0), self.digits.get("ridge"))
        sizes = [Name(name) for name in left.sizes]
        if left.top is not None and left.share is not None and left.share > 1:
            yield self.say("always", INTENSITY, decimal_number(left.top), ridge)
        elif left.top is not None and left.share is not None:
            digits = 3 if left.share > Fraction(1, 100) else 2
            share = "100 %" if left.share == 1 else self._percent(left.share, digits)
            yield self.say("never", INTENSITY, decimal_number(left.top), left.top_reached, ridge, sizes, share)
        elif left.condition is not None:
            claim = left.condition
            if isinstance(claim, Compare):
                shown = in_decimals(claim.right) if len(sizes) == 1 else claim.right
                claim = Compare(claim.left, claim.relation, shown)
            each = grouped((Name(n), first) for n, first in left.each_from) if len(sizes) > 1 else []
            yield self.say("remains", claim, sizes, left.equal_from, each)

    def _percent(self, share: Fraction, digits: int = 3) -> str:
        return self.pen.percent(to_digits(share * 100, digits))

    def _head(self, *names: str) -> tuple[str, ...]:
        return tuple(self.say("head", name) for name in names)

    def _regimes(self) -> Grid:
        found = self.found
        rows = [
            (
                self._regime(row),
                self._dominant(row),
                self.inline(row.leading),
                self.condition(row.compute_bound),
                "" if row.equal_sizes_from is None else self.say("first", row.equal_sizes_from),
            )
            for row in found.rows
        ]
        leading = "leading" if found.of_intensity else "of"
        return Grid(self._head("regime", "dominant", leading, "bound", "equal"), tuple(rows))

    def _regime(self, row: RegimeRow) -> str:
        return condition(row.relations, self.pen) or self.say("anywhere")

    def _dominant(self, row: RegimeRow) -> str:
        if not row.dominant:
            return ""
        labels = [t.label for t in row.dominant]
        text = self.say("parts", labels, len(shares(self.found.setting)))
        return text if len(labels) > 1 else f"{text} {self.inline(row.dominant[0].amount)}"

    def _complete(self) -> str:
        found = self.found
        names = tuple(Name(s.name) for s in found.fan.symbols if s.name in found.setting.layout.order)
        return self.say("complete", names, found.count, len(found.rows), found.complete is not None)

    def _factors(self) -> Grid:
        rows = (
            (self._regime(r), self.say("exact") if r.factor == 1 else self.inline(r.factor)) for r in self.found.rows
        )
        return Grid(self._head("regime", "factor"), tuple(rows))

    def _singles(self) -> Grid:
        return Grid(self._head("alone", "rises", "possible"), tuple(map(self._single, self.found.singles)))

    def _single(self, single: Single) -> tuple[str, ...]:
        top = self.say("without_bound") if single.limit == oo else self.inline(single.limit)
        possible = self.condition(single.possible_when)
        if len(single.others) > 1 and self.ridge is not None and not isinstance(single.possible_when, Verdict):
            names = [Name(name) for name in single.others]
            start = single.equal_from
            possible += " " + (self.say("equal_from", names, start) if start else self.say("equal_never", names))
        return self.pen.inline(Name(single.variable), "->", Infinity()), top, possible

    def _knobs(self) -> Grid:
        found = self.found
        corners = [i for i, row in enumerate(found.rows) if row in found.corner_rows]
        head = (*self._head("knob"), *(self._regime(found.rows[i]) for i in corners))
        rows = [(self._knob(knob), *(self._factor(knob.factors[i]) for i in corners)) for knob in found.knobs]
        return Grid(head, tuple(rows))

    def _knob(self, knob: Knob) -> str:
        names = [Name(name) for name in knob.what] if knob.kind == "doubled" else list(knob.what)
        return self.say(knob.kind, names, *((knob.dtype,) if knob.kind == "stored" else ()))

    def _factor(self, factor: Expr) -> str:
        return self.say("unbounded") if factor == oo else self.inline(factor)

    def _place(self, place: Place) -> Iterable[str]:
        sizes = grouped((Name(name), value) for name, value in place.values.items())
        bound = distance = None
        if self.ridge is not None and self.found.of_intensity:
            bound = place.intensity > self.ridge
            distance = self._percent(abs(place.intensity / self.ridge - 1))
        yield self.say(
            "place",
            [(names, decimal_number(value)) for names, value in sizes],
            self.found.name,
            decimal_number(place.intensity),
            bound,
            distance,
            "" if place.factor == 1 else self._regime(place.nearest),
            "high" if place.factor > 1 else "low",
            self._percent(abs(place.factor - 1)),
        )
        if self.found.of_intensity:
            yield self.say("shares", [(label, self._percent(share)) for label, share in place.parts])
        if place.knobs:
            factors = ((self._knob(knob), to_places(factor, 3)) for knob, factor in place.knobs)
            yield self.say("knobs", grouped(factors))

    def write(self, value: Expr) -> Formula:
        return self.found.setting.layout.write(value)

    def shown(self, value: Expr) -> Formula:
        return self.figured(self.write(in_ridge(value)))

    def inline(self, value: Expr) -> str:
        return self.pen.inline(self.shown(value))
