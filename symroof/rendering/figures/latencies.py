"""Latency against throughput, drawn: a curve over the batch for each chip, ended where its memory is full."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from symroof.exploration.curves import in_common
from symroof.exploration.latency import Latency, LatencyCurve
from symroof.rendering.figures.canvas import Canvas, sheet_of
from symroof.rendering.figures.captions import Say, called, captions, own_sizes
from symroof.rendering.figures.labels import around
from symroof.rendering.figures.strokes import MOMENTS, plain, scaled, stroke

# Beyond so many marks every other one has its name.
NAMED = 5


def draw_latency(found: Latency, inches: float, lang: str) -> Canvas:
    """Tokens/s of a chip against the time of a step, both logarithmic, with a mark at each power of two."""
    say, drawn = captions(lang), [curve for curve in found.curves if curve.xs]
    shared = in_common([curve.values for curve in found.curves])
    places = [curve.place(size) for curve in drawn for size in curve.marks]
    unit, scale = scaled(max(time for time, _ in places), MOMENTS)
    times, tokens = [time / scale for time, _ in places], [each for _, each in places]
    ranges = (min(times) / 1.5, max(times) * 2.6), (min(tokens) / 1.6, max(tokens) * 1.8)
    names, settings = (say("time_of_a_step", unit), say("tokens_of_a_chip")), [curve.setting for curve in found.curves]
    canvas = sheet_of(settings, shared, names, ranges, (True, True), inches, lang)
    for i, curve in enumerate(drawn):
        _curve(canvas, found, curve, i, scale, _named(found, curve, shared, say))
    for curve in found.curves:
        if not curve.xs:
            words = say("holds_none", _named(found, curve, shared, say))
            canvas.label(words, around((canvas.right, canvas.foot), "nw", (8, 22, 36)))
    return canvas


def _named(found: Latency, curve: LatencyCurve, shared: Mapping[str, Fraction], say: Say) -> str:
    """What a curve has of its own: its chip where there are several, and its sizes."""
    chip = called(say, curve.chip) if found.several_chips else ""
    return ", ".join(filter(None, (chip, own_sizes(curve.values, shared))))


def _curve(canvas: Canvas, found: Latency, curve: LatencyCurve, index: int, scale: float, name: str) -> None:
    (colour, dash), x = stroke(index), found.variable
    line = [(time / scale, tokens) for time, tokens in (curve.place(size) for size in curve.xs)]
    canvas.line(line, colour, dash=dash)
    every = 1 if len(curve.marks) <= NAMED else 2
    for i, size in enumerate(curve.marks):
        time, tokens = curve.place(size)
        place, last = (time / scale, tokens), i == len(curve.marks) - 1
        canvas.ring(place, colour, filled=last, size=6)
        if last:
            words = canvas.say("batch", name, x, plain(size), curve.full is not None)
            canvas.label(words, around(place, "e ne se nw sw n s w", (6, 14, 24)), colour, bold=True)
        elif not i % every and len(curve.marks) - 1 - i >= every:
            canvas.label(f"{x} = {plain(size)}", around(place, "se nw e w s n", (5, 11, 18)), colour, size=7.5)
