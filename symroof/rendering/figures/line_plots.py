"""Throughput, times and latency over one size, or over the chips of an axis."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from math import floor, log10
from operator import mul

from symroof.exploration.curves import Curves, in_common
from symroof.exploration.latency import Latency, LatencyCurve
from symroof.exploration.longest_times import BOUNDS, Curve, Stretch
from symroof.model.quantities import time_name
from symroof.model.resources import VECTOR
from symroof.rendering.figures.canvas import Canvas, sheet_of
from symroof.rendering.figures.captions import Say, called, captions, chips_of, own_sizes, peak_of, share_in
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


def draw_throughput(found: Curves, inches: float, lang: str) -> Canvas:
    """A curve for each point below the peak of all chips, which grows with an axis of the mesh, and where another time becomes
    the longest."""
    say, setting, shared = captions(lang), found.setting, in_common([curve.values for curve in found.curves])
    each = [_with_few(curve, "throughput") for curve in found.curves]
    peaks = {line[-1][1]: line for line in (_with_few(curve, "peak") for curve in found.curves)}
    level = all(line[0][1] == line[-1][1] for line in peaks.values())
    foot, top, log = _heights(found, [y for line in each for _, y in line if y > 0], peaks, level)
    unit, scale = scaled(max(peaks) if level else top / 2, RATES)
    names = _size(say, found), say("throughput", unit, chips_of(setting), False, level and log)
    ranges = _ends(found), (foot, top)
    canvas = sheet_of([setting], shared, names, ranges, (found.log, log), inches, lang, scale=scale)
    grows = found.over_chips and not found.log and not level
    if grows or (level and len(peaks) == 1):
        _percent_axis(canvas, *((top / FULL, say("of_perfect_scaling")) if grows else (max(peaks), say("of_peak"))))
    for line in peaks.values():
        _peak(canvas, found, line, level)
    _rule(canvas, found, max(peaks), shared)
    key = list[str]()
    for i, curve in enumerate(found.curves):
        own = own_sizes(curve.values, shared) if len(found.curves) > 1 else ""
        key.append(_curve(canvas, found, curve, i, own))
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
    found: Curves, heights: Sequence[float], peaks: Mapping[float, Sequence[Point]], level: bool
) -> tuple[float, float, bool]:
    """The ends of the axis on the left, and whether it is logarithmic: where all of it is low under a level peak, or where a
    peak grows along a logarithmic axis."""
    peak = max(peaks)
    if level:
        low = bool(heights) and max(heights) < FLAT * peak
        return (10 ** floor(log10(min(heights))) / 10, peak * 3, True) if low else (0, peak * FULL, False)
    top = min(peak, HEADROOM * max(*heights, *(line[0][1] for line in peaks.values())))
    return (min(heights) / 2, top * 2, True) if found.log else (0, top, False)


def _peak(canvas: Canvas, found: Curves, line: Sequence[Point], level: bool) -> None:
    """The peak of all chips; one that is not level grows in proportion to the chips."""
    canvas.line([(canvas.left, line[0][1]), *line] if level else line, INK, 0.9)
    size, height = line[-1]
    shown = [*(place for place in line if place[1] < canvas.top), (size * min(1, canvas.top / height), height)]
    each = rate(float(found.setting.peak.value if found.setting.peak else 0), "FLOPs/s")
    words = peak_of(canvas.say, found.setting, rate(height, "FLOPs/s")) if level else canvas.say("peak_of_all", each)
    places = [shown[int(part * (len(shown) - 1) / 16)] for part in range(16, -1, -1)]
    canvas.label(words, [Spot(place, side, 3) for side in ("nw", "se", "sw") for place in places])


def _rule(canvas: Canvas, found: Curves, peak: float, shared: Mapping[str, object]) -> None:
    """The rule of thumb, dotted, and the curve that falls most short where it says that the peak is reached."""
    if found.rule is None:
        return
    rule, (first, last), say = found.rule, found.ends, canvas.say
    canvas.line(zip(rule.xs, rule.throughput, strict=True), GREY, 1.2, DOTTED, layer=2)
    if first <= rule.bound <= last:
        canvas.line([(rule.bound, canvas.foot), (rule.bound, peak)], GREY, 0.7, DOTTED, layer=2)
        words = say("rule_from", found.variable, plain(rule.first or rule.bound), found.large)
        canvas.label(words, _feet(canvas, rule.bound), GREY, bold=True)
    if rule.short is not None and rule.first is not None and first <= rule.first <= last:
        own = own_sizes(rule.short.values, shared) or own_sizes(rule.short.values, {})
        words = say("reached_by_the_rule", found.variable, plain(rule.first), own, share_in(canvas.lang, rule.share))
        aside, parts = (("e", 0.62), ("w", 0.99), ("e", 0.5), ("e", 0.1)), (0.37, 0.27, 0.49, 0.18)
        spots = [Spot((canvas.across(part), canvas.up(h)), side, 0) for side, part in aside for h in parts]
        canvas.label(words, spots, GREY, leader=(rule.first, rule.share * peak))


def _efficiency(canvas: Canvas, line: Sequence[Point], index: int, full: float) -> None:
    """What part of perfect scaling is left: the throughput of each chip in parts of that with the fewest chips, up to ``full``."""
    chips, whole = line[0]
    each = [(x, full * (y / x) / (whole / chips)) for x, y in line]
    canvas.line(each, stroke(index)[0], 1, DOTTED, layer=2)
    canvas.label(canvas.say("scaling"), along(canvas, each), stroke(index)[0], size=7.5)


def _curve(canvas: Canvas, found: Curves, curve: Curve, index: int, own: str) -> str:
    """A throughput, and a ring at each turn, with what takes longest from there on; or how far it comes. What it is called
    is its label, or a row of the key."""
    (colour, dash), line, words = stroke(index), curve.points("throughput"), _outcome(canvas, found, curve, own)
    few, places = len(found.curves) <= LABELS, dict(line)
    canvas.line(line, colour, dash=dash)
    for one in curve.few:
        canvas.ring((one.chips, one.throughput), colour, filled=True, size=5)
    for stretch in curve.stretches[1:]:
        size = float(stretch.ends[0])
        _turn(canvas, found, stretch, (size, places[size]), colour, own if few else None)
    if few and found.outcome(curve) != "from":
        last = curve.stretches[0].ends[1] if len(curve.stretches) > 1 else found.ends[1]
        part = [place for place in line if place[0] <= last]
        ends = [Spot(part[int(at * (len(part) - 1))], side, 5) for side in ("sw", "nw", "se") for at in (1, 0.8, 0.6)]
        spots = (*along(canvas, part), *around(part[len(part) // 2], "se e nw w", (6, 14, 24)))
        canvas.label(words, (*ends, *spots) if len(curve.stretches) < 2 else spots, colour, bold=True)
    return " ".join(words.split())


def _outcome(canvas: Canvas, found: Curves, curve: Curve, own: str) -> str:
    """What becomes of a throughput along its axis, in words."""
    say, peak = canvas.say, curve.lines["peak"][-1]
    match found.outcome(curve):
        case "never" if curve.ceiling is not None:
            return say("never", own, share_in(canvas.lang, curve.ceiling / peak, up=True), curve.attained)
        case "always":
            return say("from_the_first", own)
        case "reached":
            share = share_in(canvas.lang, curve.lines["throughput"][-1] / peak)
            return say("reached", own, share, found.variable, plain(curve.xs[-1]))
        case "from" if curve.bound is not None:
            return say("compute_bound_from", found.variable, plain(curve.first or curve.bound), own)
    return say("longest", curve.longest(curve.xs[0]), own)


def _turn(canvas: Canvas, found: Curves, stretch: Stretch, place: Point, colour: str, own: str | None = "") -> None:
    """Where another time becomes the longest: a ring, a line to the foot of the figure, and the least whole size; without
    words where a key has them."""
    size, height = place
    canvas.line([(size, canvas.foot), (size, height)], GREY, 0.9, DOTTED, layer=2)
    canvas.ring(place, colour)
    if own is not None:
        name, first = found.variable, plain(stretch.first) if stretch.first else f"{size:,.4g}"
        bound = stretch.time == "T_math" and not found.setting.several_chips
        words = ("compute_bound_from", name, first) if bound else ("longest_from", stretch.time, name, first)
        canvas.label(
            canvas.say(*words, own), (*_feet(canvas, size), *around(place, "nw n ne", (6, 14))), colour, bold=True
        )


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


def draw_times(found: Curves, inches: float, lang: str) -> Canvas:
    """A line for each resource, of one point in the band between the two bounds; of several points those of the arithmetic and
    of the memory."""
    say, setting, shared = captions(lang), found.setting, in_common([curve.values for curve in found.curves])
    several, memory = len(found.curves) > 1, time_name(setting.rates.resources[-1])
    drawn = [name for name in found.curves[0].lines if name not in BOUNDS]
    if several:
        drawn = ["T_math", memory]
    every = [curve.lines[name] for curve in found.curves for name in (drawn if several else curve.lines)]
    largest, positive = max(map(max, every)), [y for ys in every for y in ys if y > 0]
    log = found.log or min(map(max, every)) < FLAT * largest
    unit, scale = scaled(max(max(curve.lines["T_lower"]) for curve in found.curves) / (30 if log else 3), MOMENTS)
    ranges = _ends(found), (min(positive) / 1.6 if log else 0, largest * (2.2 if log else 1.1))
    names = _size(say, found), say("time", unit)
    canvas = sheet_of([setting], shared, names, ranges, (found.log, log), inches, lang, scale=scale)
    key: dict[str, Look] = {}
    for i, curve in enumerate(found.curves):
        key |= _lines(canvas, found, curve, i, drawn, own_sizes(curve.values, shared))
    if key:
        canvas.table([say("curve")], [(words,) for words in key], list(key.values()))
    return canvas


def _lines(canvas: Canvas, found: Curves, curve: Curve, index: int, drawn: Sequence[str], own: str) -> dict[str, Look]:
    """The times at one point, with their names along them, and where another becomes the longest; of many lines the names for
    a key."""
    say, several = canvas.say, len(found.curves) > 1
    words = {name: own_time(say, found, name, own, curve.ceiling is not None) for name in drawn if name in curve.lines}
    bounds = {} if several else {"T_lower": say("lower"), "T_upper": say("upper"), "T_steps": "T_steps"}
    together = partial(_together, canvas, curve)
    words = said_once(say, curve.lines, words | bounds, together)
    keyed, key = len(words) * len(found.curves) > LABELS, dict[str, Look]()
    if not several:
        _bounds(canvas, curve, {} if keyed else words)
        key = {words[name]: (INK, dash) for name, dash in (("T_lower", "-"), ("T_upper", UPPER)) if name in words}
    for name in (*drawn, *(["T_steps"] if "T_steps" in curve.lines and not several else [])):
        place, line = place_of(found.setting, name), [place for place in curve.points(name) if place[1] > 0]
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
        _turn(canvas, found, stretch, (size, lower[size]), INK, own)
    return key if keyed else {}


def _together(canvas: Canvas, curve: Curve, first: str, second: str) -> bool:
    """Whether the eye takes two lines for one."""
    return canvas.together(curve.points(first), curve.points(second), TOGETHER)


def own_time(say: Say, found: Curves, name: str, own: str, never: bool) -> str:
    """The words of the time of a resource."""
    setting, links = found.setting, dict(found.setting.rates.links)
    if name == "T_math":
        return say("t_math", setting.matrix_stands_in, own)
    if name == "T_comms":
        return say("t_comms", setting.link, own, never)
    link = links.get(name.removeprefix("T_"), "")
    return say("t_link", name, link) if link and name != time_name(link) else name


def said_once(
    say: Say, lines: Container[str], words: Mapping[str, str], coincide: Callable[[str, str], bool]
) -> dict[str, str]:
    """The words of lines, those of lines that coincide together on the first of them.

    >>> said_once(captions("en"), "abc", {"a": "A", "b": "B", "c": "C"}, lambda *names: names == ("a", "c"))
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


def _ends(found: Curves) -> tuple[float, float]:
    """The axis that was asked for, from 0 where it begins at 1."""
    first, last = found.ends
    return (first if first > 1 or found.log else 0), last


def _size(say: Say, found: Curves) -> str:
    """What the size is: that of a dimension, or the chips of an axis, and which of them are rings."""
    if not found.over_chips:
        return say("size", found.variable)
    return say("chips_along", found.variable, found.ring, any(curve.few for curve in found.curves))


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
        _served(canvas, found, curve, i, scale, _named(found, curve, shared, say))
    for curve in found.curves:
        if not curve.xs:
            words = say("holds_none", _named(found, curve, shared, say))
            canvas.label(words, around((canvas.right, canvas.foot), "nw", (8, 22, 36)))
    return canvas


def _named(found: Latency, curve: LatencyCurve, shared: Mapping[str, object], say: Say) -> str:
    """What a curve has of its own: its chip where there are several, and its sizes."""
    chip = called(say, curve.chip) if found.several_chips else ""
    return ", ".join(filter(None, (chip, own_sizes(curve.values, shared))))


def _served(canvas: Canvas, found: Latency, curve: LatencyCurve, index: int, scale: float, name: str) -> None:
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
            spots = around(place, "se nw e w s n", (5, 11, 18))
            canvas.label(f"{x} = {plain(size)}", spots, colour, size=7.5, rank=2)
