"""The times of a program as bars, each a stack of its statements: for every set of sizes the times side by side."""

from __future__ import annotations

from symroof.exploration.breakdowns import Bar, Breakdown
from symroof.rendering.figures.canvas import Canvas
from symroof.rendering.figures.captions import assumed, captions, in_common, shares_in, title_of
from symroof.rendering.figures.labels import Spot
from symroof.rendering.figures.strokes import FIELDS, MOMENTS, scaled
from symroof.rendering.pages.amounts import sizes

BROAD, APART = 0.66, 0.4  # how broad a bar is, and how far sets of sizes are apart, where bars stand 1 from another
# The least part of the highest bar that has its name on it: the height of a row.
NAMED = 0.06

LEAST = 100  # what takes less than this part of its longest time has a row in the table of points, and no name


def draw_breakdown(found: Breakdown, inches: float, lang: str) -> Canvas:
    """The bars, with the names of statements on their parts, from the first at the foot."""
    highest = max(float(bar.seconds) for bar in found.bars)
    unit, scale = scaled(highest / 3, MOMENTS)
    points = [found.bars[i].values for i in range(0, len(found.bars), found.each)]
    shared, say = in_common(points), captions(lang)
    places = [i + APART * (i // found.each) for i in range(len(found.bars))]
    ranges = (-0.6, places[-1] + 0.6), (0, highest * 1.12)
    title = title_of(say, found.setting, sizes(shared))
    canvas = Canvas(
        title,
        ("", say("time", unit)),
        ranges,
        log=(False, False),
        scale=scale,
        inches=inches,
        lang=lang,
        aside=assumed(say, found.setting),
    )
    ticks = [(x, bar.time) for x, bar in zip(places, found.bars, strict=True)]
    for i, values in enumerate(points):
        middle = (places[i * found.each] + places[(i + 1) * found.each - 1]) / 2
        own = {name: value for name, value in values.items() if name not in shared}
        ticks += [(middle, "\n" + sizes(own))] if own else []
    canvas.name_places(ticks)
    for place, bar in zip(places, found.bars, strict=True):
        _bar(canvas, found, bar, place, highest, unit)
    return canvas


def _bar(canvas: Canvas, found: Breakdown, bar: Bar, place: float, highest: float, unit: str) -> None:
    """A stack; a part that is too small for its name has it beside the bar, if it is nowhere larger."""
    foot, left, right, row = 0.0, place - BROAD / 2, place + BROAD / 2, NAMED * highest
    free = 0.7 * row
    percents = shares_in(canvas.lang, [float(seconds / bar.seconds) for _, seconds in bar.parts])
    for (name, seconds), percent in zip(bar.parts, percents, strict=True):
        top, colour = foot + float(seconds), FIELDS[found.statements.index(name) % len(FIELDS)]
        canvas.region([(left, foot), (right, foot), (right, top), (left, top)], colour)
        words, middle = f"{name} {percent}", (foot + top) / 2
        if top - foot >= row:
            canvas.label(words, [Spot((place, middle), "", 0)])
        elif found.largest(name) == (bar, seconds) and seconds * LEAST >= bar.seconds:
            beside = max(free, middle)
            free = beside + row
            canvas.label(words, [Spot((right, beside), "e", 9)], size=7.5, leader=(right, middle))
        foot = top
    total = float(bar.seconds) / canvas.scale
    canvas.label(
        f"{total:.3g} {unit}" if total < 999.5 else f"{total:,.0f} {unit}", [Spot((place, foot), "n", 3)], bold=True
    )
