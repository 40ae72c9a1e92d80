"""Throughput, times and latency over one size, or over the chips of an axis."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from math import floor, log10
from operator import mul

from symroof.exploration.curves import Curves, same_sizes
from symroof.exploration.latency import Latency, LatencyCurve
from symroof.exploration.longest_times import BOUNDS, Curve, Stretch
from symroof.model.quantities import time_name
from symroof.model.resources import VECTOR
from symroof.rendering.figures.canvas import Canvas, sheet_of
from symroof.rendering.figures.captions import Captions, captions, chips_of, outcome_facts, own_sizes
from symroof.rendering.figures.labels import Look, Point, Spot, around
from symroof.rendering.figures.style import (
    COLOURS,
    DASHES,
    DOTTED,
    GREY,
    INK,
    MOMENTS,
    RATES,
    place_of,
    plain,
    rate,
    scaled,
    stroke,
)

# How far up an upright line words may stand beside it.
HEIGHTS = (0.03, 0.12, 0.21, 0.3, 0.39, 0.48, 0.6, 0.72)
# How far above the highest throughput a peak that grows with the chips is followed, on an axis that is not logarithmic.
HEADROOM = 1.6
FULL = 1.13  # what is above the height of perfect scaling, in parts of it
FLAT = 0.05  # where every line stays below that part of the highest, heights are logarithmic
UPPER = (0, (4, 2))  # the dash of the upper bound
NAMED = 5  # beyond so many marks of a latency every other one has its name
TOGETHER = 1.2  # how near lines are that the eye takes for one, in points
LABELS = 4  # more lines than that have a key beneath the figure in place of labels


def draw_throughput(curves: Curves, inches: float, lang: str) -> Canvas:
    """A curve for each point below the peak of all chips, which grows with an axis of the mesh, and where another time becomes
    the longest."""
    say, setting, shared = captions(lang), curves.setting, same_sizes([curve.values for curve in curves.curves])
    each = [_with_few(curve, "throughput") for curve in curves.curves]
    peaks = {line[-1][1]: line for line in (_with_few(curve, "peak") for curve in curves.curves)}
    level = all(line[0][1] == line[-1][1] for line in peaks.values())
    foot, top, log = _heights(curves, [y for line in each for _, y in line if y > 0], peaks, level)
    unit, scale = scaled(max(peaks) if level else top / 2, RATES)
    names = _size(say, curves), say("throughput", unit, chips_of(setting), False, level and log)
    ranges = _ends(curves), (foot, top)
    canvas = sheet_of([setting], shared, names, ranges, (curves.log, log), inches, lang, scale=scale)
    grows = curves.over_chips and not curves.log and not level
    if grows or (level and len(peaks) == 1):
        _percent_axis(canvas, *((top / FULL, say("of_perfect_scaling")) if grows else (max(peaks), say("of_peak"))))
    for line in peaks.values():
        _peak(canvas, curves, line, level)
    _rule(canvas, curves, max(peaks), shared)
    key = list[str]()
    for i, curve in enumerate(curves.curves):
        own = own_sizes(curve.values, shared) if len(curves.curves) > 1 else ""
        key.append(_curve(canvas, curves, curve, i, own))
        if grows:
            _efficiency(canvas, each[i], i, top / FULL)
    if len(key) > LABELS:
        canvas.table([say("curve")], [(words,) for words in key], [stroke(i) for i in range(len(key))])
    return canvas


def _percent_axis(canvas: Canvas, full: float, label: str) -> None:
    """A second axis on the right, in percent of ``full``."""
    percent = full / canvas.scale / 100
    with canvas.sheet.styled():
        other = canvas.axes.secondary_yaxis("right", functions=(partial(mul, 1 / percent), partial(mul, percent)))
        other.set_ylabel(label, color=GREY)
        other.set_ticks([0, 25, 50, 75, 100])
        if canvas.log[1]:
            shown = [part for part in (1e-4, 1e-3, 0.01, 0.1, 1, 10, 100) if part / 100 * full >= canvas.foot]
            other.set_ticks(shown, labels=list(map(plain, shown)))
            other.minorticks_off()
        other.tick_params(colors=GREY, labelsize=8.5, width=0.6)
        other.spines["right"].set_visible(False)


def _with_few(curve: Curve, name: str) -> list[Point]:
    """The throughput or the peak of a curve, from the fewest chips on."""
    few = ((float(few.chips), few.throughput if name == "throughput" else few.peak) for few in curve.few)
    return [*few, *curve.points(name)]


def _heights(
    curves: Curves, heights: Sequence[float], peaks: Mapping[float, Sequence[Point]], level: bool
) -> tuple[float, float, bool]:
    """The ends of the axis on the left, and whether it is logarithmic: where all of it is low under a level peak, or where a
    peak grows along a logarithmic axis."""
    peak = max(peaks)
    if level:
        low = bool(heights) and max(heights) < FLAT * peak
        return (10 ** floor(log10(min(heights))) / 10, peak * 3, True) if low else (0, peak * FULL, False)
    top = min(peak, HEADROOM * max(*heights, *(line[0][1] for line in peaks.values())))
    return (min(heights) / 2, top * 2, True) if curves.log else (0, top, False)


def _peak(canvas: Canvas, curves: Curves, line: Sequence[Point], level: bool) -> None:
    """The peak of all chips; one that is not level grows in proportion to the chips."""
    canvas.line([(canvas.left, line[0][1]), *line] if level else line, INK, 0.9)
    size, height = line[-1]
    shown = [*(place for place in line if place[1] < canvas.top), (size * min(1, canvas.top / height), height)]
    each = rate(float(curves.setting.peak.value if curves.setting.peak else 0), "FLOPs/s")
    words = canvas.say.peak(curves.setting, rate(height, "FLOPs/s")) if level else canvas.say("peak_of_all", each)
    places = [shown[int(part * (len(shown) - 1) / 16)] for part in range(16, -1, -1)]
    canvas.label(words, [Spot(place, side, 3) for side in ("nw", "se", "sw") for place in places])


def _rule(canvas: Canvas, curves: Curves, peak: float, shared: Mapping[str, object]) -> None:
    """The rule of thumb, dotted, and the curve that falls most short where it says that the peak is reached."""
    if curves.rule is None:
        return
    rule, (first, last), say = curves.rule, curves.ends, canvas.say
    canvas.line(zip(rule.xs, rule.throughput, strict=True), GREY, 1.2, DOTTED, layer=2)
    if first <= rule.bound <= last:
        canvas.line([(rule.bound, canvas.foot), (rule.bound, peak)], GREY, 0.7, DOTTED, layer=2)
        words = say("rule_from", curves.variable, plain(rule.first or rule.bound), curves.large)
        canvas.label(words, _feet(canvas, rule.bound), GREY, bold=True)
    if rule.short is not None and rule.first is not None and first <= rule.first <= last:
        own = own_sizes(rule.short.values, shared) or own_sizes(rule.short.values, {})
        words = say("reached_by_the_rule", curves.variable, plain(rule.first), own, canvas.say.share(rule.share))
        aside, parts = (("e", 0.62), ("w", 0.99), ("e", 0.5), ("e", 0.1)), (0.37, 0.27, 0.49, 0.18)
        spots = [Spot((canvas.across(part), canvas.up(h)), side, 0) for side, part in aside for h in parts]
        canvas.label(words, spots, GREY, leader=(rule.first, rule.share * peak))


def _efficiency(canvas: Canvas, line: Sequence[Point], index: int, full: float) -> None:
    """What part of perfect scaling is left: the throughput of each chip in parts of that with the fewest chips, up to ``full``."""
    chips, whole = line[0]
    each = [(x, full * (y / x) / (whole / chips)) for x, y in line]
    canvas.line(each, stroke(index)[0], 1, DOTTED, layer=2)
    canvas.label(canvas.say("scaling"), along(canvas, each), stroke(index)[0], size=7.5)


def _curve(canvas: Canvas, curves: Curves, curve: Curve, index: int, own: str) -> str:
    """A throughput, and a ring at each turn, with what takes longest from there on; or how far it comes. What it is called
    is its label, or a row of the key."""
    (colour, dash), line, words = stroke(index), curve.points("throughput"), _outcome(canvas, curves, curve, own)
    few, places = len(curves.curves) <= LABELS, dict(line)
    canvas.line(line, colour, dash=dash)
    for few_chips in curve.few:
        canvas.ring((few_chips.chips, few_chips.throughput), colour, filled=True, size=5)
    for stretch in curve.stretches[1:]:
        size = float(stretch.ends[0])
        _turn(canvas, curves, stretch, (size, places[size]), colour, own if few else None)
    if few and curves.outcome(curve) != "from":
        last = curve.stretches[0].ends[1] if len(curve.stretches) > 1 else curves.ends[1]
        part = [place for place in line if place[0] <= last]
        ends = [Spot(part[int(at * (len(part) - 1))], side, 5) for side in ("sw", "nw", "se") for at in (1, 0.8, 0.6)]
        spots = (*along(canvas, part), *around(part[len(part) // 2], "se e nw w", (6, 14, 24)))
        canvas.label(words, (*ends, *spots) if len(curve.stretches) < 2 else spots, colour, bold=True)
    return " ".join(words.split())


def _outcome(canvas: Canvas, curves: Curves, curve: Curve, own: str) -> str:
    """What becomes of a throughput along its axis, in words."""
    outcome = curves.outcome(curve)
    if outcome == "longest":
        return canvas.say("longest", curve.longest(curve.xs[0]), own)
    phrase = {"always": "from_the_first", "from": "compute_bound_from"}.get(outcome, outcome)
    return canvas.say(phrase, own, *outcome_facts(curves, curve, canvas.say))


def _turn(canvas: Canvas, curves: Curves, stretch: Stretch, place: Point, colour: str, own: str | None = "") -> None:
    """Where another time becomes the longest: a ring, a line to the foot of the figure, and the least whole size; without
    words where a key has them."""
    size, height = place
    canvas.line([(size, canvas.foot), (size, height)], GREY, 0.9, DOTTED, layer=2)
    canvas.ring(place, colour)
    if own is not None:
        name, first = curves.variable, plain(stretch.first) if stretch.first else f"{size:,.4g}"
        bound = stretch.time == "T_math" and not curves.setting.several_chips
        words = ("compute_bound_from", own, name, first) if bound else ("longest_from", stretch.time, name, first, own)
        canvas.label(canvas.say(*words), (*_feet(canvas, size), *around(place, "nw n ne", (6, 14))), colour, bold=True)


def _feet(canvas: Canvas, size: float) -> list[Spot]:
    """Both sides of an upright line, from its foot up."""
    return [Spot((size, canvas.up(part * 0.885)), side, 4) for part in HEIGHTS for side in ("ne", "nw")]


def along(canvas: Canvas, line: Sequence[Point]) -> list[Spot]:
    """Below and above a line, along it."""
    count, spots = len(line) - 1, []
    for side in ("se", "ne"):
        for part in (0.25, 0.4, 0.6, 0.1, 0.75, 0.5, 0.85):
            place = line[int(part * count)]
            angle = canvas.angle(place, line[min(count, int((part + 0.15) * count))])
            spots.append(Spot(place, side, 4, angle))
    return spots


def draw_times(curves: Curves, inches: float, lang: str) -> Canvas:
    """A line for each resource, of one point in the band between the two bounds; of several points those of the arithmetic and
    of the memory."""
    say, setting, shared = captions(lang), curves.setting, same_sizes([curve.values for curve in curves.curves])
    several, memory = len(curves.curves) > 1, time_name(setting.rates.resources[-1])
    drawn = [name for name in curves.curves[0].lines if name not in BOUNDS]
    if several:
        drawn = ["T_math", memory]
    every = [curve.lines[name] for curve in curves.curves for name in (drawn if several else curve.lines)]
    largest, positive = max(map(max, every)), [y for ys in every for y in ys if y > 0]
    log = curves.log or min(map(max, every)) < FLAT * largest
    unit, scale = scaled(max(max(curve.lines["T_lower"]) for curve in curves.curves) / (30 if log else 3), MOMENTS)
    ranges = _ends(curves), (min(positive) / 1.6 if log else 0, largest * (2.2 if log else 1.1))
    names = _size(say, curves), say("time", unit)
    canvas = sheet_of([setting], shared, names, ranges, (curves.log, log), inches, lang, scale=scale)
    key: dict[str, Look] = {}
    for i, curve in enumerate(curves.curves):
        key |= _lines(canvas, curves, curve, i, drawn, own_sizes(curve.values, shared))
    if key:
        canvas.table([say("curve")], [(words,) for words in key], list(key.values()))
    return canvas


def _lines(canvas: Canvas, curves: Curves, curve: Curve, index: int, drawn: Sequence[str], own: str) -> dict[str, Look]:
    """The times at one point, with their names along them, and where another becomes the longest; of many lines the names for
    a key."""
    say, several = canvas.say, len(curves.curves) > 1
    words = {name: time_label(say, curves, curve, name, own) for name in drawn if name in curve.lines}
    bounds = {} if several else {"T_lower": say("lower"), "T_upper": say("upper"), "T_steps": "T_steps"}
    words = joint_names(say, curve.lines, words | bounds, partial(_together, canvas, curve))
    keyed, key = len(words) * len(curves.curves) > LABELS, dict[str, Look]()
    if not several:
        _bounds(canvas, curve, {} if keyed else words)
        key = {words[name]: (INK, dash) for name, dash in (("T_lower", "-"), ("T_upper", UPPER)) if name in words}
    for name in (*drawn, *(["T_steps"] if "T_steps" in curve.lines and not several else [])):
        place, line = place_of(curves.setting, name), [place for place in curve.points(name) if place[1] > 0]
        colour, thin = COLOURS[place % len(COLOURS)], index >= len(DASHES) or name in ("T_steps", time_name(VECTOR))
        dash = DASHES[(place + index) % len(DASHES)]
        canvas.line(line, colour, 1.2 if thin else 2.2, dash)
        if name in words and not keyed:
            canvas.label(words[name], along(canvas, line), colour, bold=not thin, line=line)
        elif name in words:
            key[words[name]] = colour, dash
    lower = dict(curve.points("T_lower"))
    for stretch in curve.stretches[1:]:
        size = float(stretch.ends[0])
        _turn(canvas, curves, stretch, (size, lower[size]), INK, own)
    return key if keyed else {}


def time_label(say: Captions, curves: Curves, curve: Curve, name: str, own: str) -> str:
    """The words of the time of a resource."""
    setting, links = curves.setting, dict(curves.setting.rates.links)
    if name == "T_math":
        return say("t_math", setting.matrix_stands_in, own)
    if name == "T_comms":
        return say("t_comms", setting.link, own, curve.ceiling is not None)
    link = links.get(name.removeprefix("T_"), "")
    return say("t_link", name, link) if link and name != time_name(link) else name


def _together(canvas: Canvas, curve: Curve, first: str, second: str) -> bool:
    """Whether the eye takes two lines for one."""
    return canvas.together(curve.points(first), curve.points(second), TOGETHER)


def joint_names(
    say: Captions, lines: Container[str], words: Mapping[str, str], coincide: Callable[[str, str], bool]
) -> dict[str, str]:
    """The words of lines, those of lines that coincide together on the first of them.

    >>> joint_names(captions("en"), "abc", {"a": "A", "b": "B", "c": "C"}, lambda *names: names == ("a", "c"))
    {'a': 'A, C', 'b': 'B'}
    """
    result: dict[str, list[str]] = {}
    for name in (name for name in words if name in lines):
        first = next((other for other in result if coincide(other, name)), name)
        result.setdefault(first, []).append(words[name])
    return {name: say("coinciding", names) for name, names in result.items()}


def _bounds(canvas: Canvas, curve: Curve, words: Mapping[str, str]) -> None:
    """The two bounds on the running time, and the band between them."""
    lower, upper = curve.points("T_lower"), curve.points("T_upper")
    canvas.region([*lower, *reversed(upper)], "#E9E9E9")
    for name, line, dash in (("T_upper", upper, UPPER), ("T_lower", lower, "-")):
        canvas.line(line, INK, 0.9, dash, layer=4)
        if name in words:
            canvas.label(words[name], along(canvas, line), line=line)


def _ends(curves: Curves) -> tuple[float, float]:
    """The axis that was asked for, from 0 where it begins at 1."""
    first, last = curves.ends
    return (first if first > 1 or curves.log else 0), last


def _size(say: Captions, curves: Curves) -> str:
    """What the size is: that of a dimension, or the chips of an axis, and which of them are rings."""
    if not curves.over_chips:
        return say("size", curves.variable)
    return say("chips_along", curves.variable, curves.ring, any(curve.few for curve in curves.curves))


def draw_latency(latency: Latency, inches: float, lang: str) -> Canvas:
    """Tokens/s of a chip against the time of a step, both logarithmic, with a mark at each power of two."""
    say, drawn = captions(lang), [curve for curve in latency.curves if curve.xs]
    shared = same_sizes([curve.values for curve in latency.curves])
    places = [curve.place(size) for curve in drawn for size in curve.marks]
    unit, scale = scaled(max(time for time, _ in places), MOMENTS)
    times, tokens = [time / scale for time, _ in places], [each for _, each in places]
    ranges = (min(times) / 1.5, max(times) * 2.6), (min(tokens) / 1.6, max(tokens) * 1.8)
    names, settings = (say("time_of_a_step", unit), say("tokens_of_a_chip")), [c.setting for c in latency.curves]
    canvas = sheet_of(settings, shared, names, ranges, (True, True), inches, lang)
    for i, curve in enumerate(drawn):
        _latency_curve(canvas, latency, curve, i, scale, _curve_name(latency, curve, shared, say))
    for curve in latency.curves:
        if not curve.xs:
            words = say("holds_none", _curve_name(latency, curve, shared, say))
            canvas.label(words, around((canvas.right, canvas.foot), "nw", (8, 22, 36)))
    return canvas


def _curve_name(latency: Latency, curve: LatencyCurve, shared: Mapping[str, object], say: Captions) -> str:
    """What a curve has of its own: its chip where there are several, and its sizes."""
    chip = say.chip(curve.chip) if latency.several_chips else ""
    return ", ".join(filter(None, (chip, own_sizes(curve.values, shared))))


def _latency_curve(canvas: Canvas, latency: Latency, curve: LatencyCurve, index: int, scale: float, name: str) -> None:
    (colour, dash), x = stroke(index), latency.variable
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
            canvas.label(f"{x} = {plain(size)}", around(place, "se nw e w s n", (5, 11, 18)), colour, size=7.5, rank=2)
