"""The best split against a size: a line for each set of sizes, level where an end is best."""

from __future__ import annotations

from symroof.exploration.best_split import BestSplit, SplitCurve
from symroof.formula import Call, Compare, Name
from symroof.rendering.figures.canvas import Canvas
from symroof.rendering.figures.captions import assumed, captions, in_common, title_of
from symroof.rendering.figures.durations import along
from symroof.rendering.figures.labels import Spot, around
from symroof.rendering.figures.strokes import stroke
from symroof.rendering.formulas.letters import Letters
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.amounts import sizes


def draw_split(found: BestSplit, inches: float, lang: str) -> Canvas:
    """The lines on logarithmic heights, the formula of the place inside beside the first, and the regime in the title."""
    printer = PlainPrinter(Letters(frozenset(found.setting.problem.operation.dimensions)), unicode=True)
    shared, say = in_common([curve.values for curve in found.curves]), captions(lang)
    assert isinstance(found.place.left, Call)
    regime = (printer.print(a) for a in found.place.assumed("->", "<<"))
    title = title_of(say, found.setting, *([sizes(shared)] if shared else []), *regime)
    every = [y for curve in found.curves for y in curve.best]
    names = say("size", found.variable), say("best", found.chosen, printer.print(found.place.left.arguments[0]))
    ends = found.curves[0].xs[0], found.curves[0].xs[-1]
    ranges = (ends[0] if found.log or ends[0] > 1 else 0, ends[1]), (min(every) / 1.5, max(every) * 2)
    aside = assumed(say, found.setting)
    canvas = Canvas(title, names, ranges, log=(found.log, True), inches=inches, lang=lang, aside=aside)
    inside = printer.print(Compare(Name(found.chosen), found.place.relation, found.place.right))
    for i, curve in enumerate(found.curves):
        own = {name: value for name, value in curve.values.items() if name not in shared}
        _line(canvas, curve, i, ": ".join(filter(None, (sizes(own), "" if i else inside))))
    return canvas


def _line(canvas: Canvas, curve: SplitCurve, index: int, words: str) -> None:
    """A line with a ring at each end of the inside, which its label stands along."""
    (colour, dash), line = stroke(index), curve.points
    canvas.line(line, colour, dash=dash)
    for place in line:
        if place[0] in curve.turns:
            canvas.ring(place, colour)
    low, high = min(curve.best), max(curve.best)
    inside = [place for place in line if low < place[1] < high] or line
    spots: list[Spot] = [*along(canvas, inside), *around(inside[len(inside) // 2], "se nw e w", (6, 14, 24))]
    canvas.label(words, spots, colour, bold=True)
