"""The classic roofline: roofs named along their slopes, ridges, regions, and operations under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, floor, log10
from operator import itemgetter

from symroof.exploration.measured_points import Measurement
from symroof.exploration.roofs import Roof, Roofline, Track
from symroof.formula import Frozen
from symroof.model.mesh_wiring import is_network
from symroof.rendering.figures.canvas import Canvas, sheet_of
from symroof.rendering.figures.captions import Captions, captions, own_sizes, point_name
from symroof.rendering.figures.labels import NOTHING, Look, Point, Spot, around
from symroof.rendering.figures.style import (
    COLOURS,
    DASHES,
    DOTTED,
    GREY,
    INK,
    RATES,
    SHADES,
    SHAPES,
    Dash,
    factor,
    place_of,
    plain,
    rate,
    scaled,
    stroke,
)

# How wide a mark is, in points: marks nearer to one another are one. More than a few have numbers, and more
# chips than that a key.
WIDE, FEW = 7, 4
MANY = 12  # beyond so many measured points some have no words
AT_PEAK = 0.995  # from which part of the peak on nothing is left
MEASURED, WRONG = "#7A4FBF", "#B00020"
MARKS, GAPS = "se ne sw nw s n e w", (5, 11, 16, 22, 30)


def draw_roofline(roofline: Roofline, inches: float, lang: str) -> Canvas:
    """The classic roofline: roofs, ridges, regions under the highest roof, operations as markers or as paths."""
    roofs, several = roofline.roofs, roofline.several_chips
    measured = [measurement.point for measurement in roofline.measured]
    seen = [place.intensity for track in roofline.tracks for place in track.places]
    seen += [x for x, _ in measured]
    peak, first = float(roofs[0].peak.value), min(roof.ridge for roof in roofs)
    unit, scale = scaled(peak, RATES)
    low = 10 ** (floor(2 * log10(min([*seen, first / 3]) / 3) / 2))
    high = 10 ** (ceil(2 * log10(max([*seen, *(roof.ridge * 4 for roof in roofs)]))) / 2)
    say = captions(lang)
    one_place = not several and len({roof.setting.intensity for roof in roofs}) == 1
    each = any(roof.setting.chips != 1 for roof in roofs)
    names = say("arithmetic_intensity", each, one_place and len(roofs) > 1), say("throughput", unit, "", each, False)
    heights = [y for _, y in measured]
    foot = min([roof.height(low) / 3 for roof in roofs] + [y / 2 for y in heights])
    top = max([peak * 3] + [y * 2 for y in heights])
    ranges, settings = ((low, high), (foot, top)), [roof.setting for roof in roofs]
    shared, undrawn = roofline.shared, roofline.undrawn
    canvas = sheet_of(settings, shared, names, ranges, (True, True), inches, lang, undrawn, scale=scale)
    if one_place:  # a point has one place on the axis
        _shade(canvas, roofs)
    _key(canvas, roofline)
    for roof, links in roofline.named:
        _roof(canvas, roofline, roof, links)
    _paths(canvas, roofline)
    _vector_roof(canvas, roofline)
    _points(canvas, roofline)
    return canvas


def _key(canvas: Canvas, roofline: Roofline) -> None:
    """Of many chips a key in place of labels."""
    if not _named_chips(roofline):
        chips = _chips(roofline)
        names = [(canvas.say.chip(roof.chip),) for roof in chips]
        canvas.table([canvas.say("chip")], names, [_look(roofline, roof) for roof in chips])


class Mark(Frozen):
    """Points that are one mark: their places under the roofs, and their tracks."""

    places: tuple[Point, ...]
    tracks: tuple[Track, ...]
    shape: str


def _points(canvas: Canvas, roofline: Roofline) -> None:
    """The points under the roofs. Those that are nearer than a mark is wide are one, with the names of all; more than a
    few have numbers, and a table beneath."""
    tracks, shared = [track for track in roofline.tracks if not track.runs], roofline.shared
    itemized, marks = any(track.statement for track in tracks), list[Mark]()
    points = [track.values for track in tracks if not track.statement]
    for track in tracks:
        places = tuple(place.point for place in track.places)
        shape = SHAPES[points.index(track.values) % len(SHAPES)]
        near = next((i for i, mark in enumerate(marks) if canvas.together(mark.places, places, WIDE)), None)
        if near is None:
            marks.append(Mark(places, (track,), shape))
        else:
            marks[near] = replace(marks[near], tracks=(*marks[near].tracks, track))
    labelled = _labelled(roofline)
    several = len(marks) + len(labelled) > FEW
    for measurement in roofline.measured:
        if measurement not in labelled:
            _cross(canvas, measurement, 4)
    for i, mark in enumerate(marks, 1):
        words = str(i) if several else _mark_name(mark, shared, canvas.say("in_all") if itemized else "")
        if all(track.statement for track in mark.tracks):
            colour, _ = stroke(points.index(mark.tracks[0].values))
            for place in mark.places[:1]:
                canvas.ring(place, colour, shape=mark.shape, filled=True, size=4)
                canvas.label(words, around(place, MARKS, GAPS), colour, size=8)
        else:
            first = next(track for track in mark.tracks if not track.statement)
            _mark(canvas, roofline, first, words, mark.shape)
    for i, measurement in enumerate(labelled, len(marks) + 1):
        _measurement(canvas, measurement, point_name(measurement, shared), str(i) if several else "")
    if several or roofline.measured:
        _tabulate(canvas, roofline, marks)


def _labelled(roofline: Roofline) -> list[Measurement]:
    """The measured points that have words: all of few, else those beyond their bound, then the first ones."""
    if len(roofline.measured) <= MANY:
        return list(roofline.measured)
    return sorted(roofline.measured, key=lambda measurement: not measurement.impossible)[:MANY]


def _cross(canvas: Canvas, measurement: Measurement, size: float) -> tuple[Point, str]:
    """The mark of a measured point, red where it lies beyond its bound: its place and its colour."""
    place, colour = measurement.point, WRONG if measurement.impossible else MEASURED
    canvas.ring(place, colour, shape="X", filled=True, size=size)
    return place, colour


def _measurement(canvas: Canvas, measurement: Measurement, name: str, number: str) -> None:
    """A cross, and a thin line from it to what is the most there."""
    place, colour = _cross(canvas, measurement, 6)
    canvas.line([place, (place[0], float(measurement.attainable / measurement.chips))], colour, 0.9, DOTTED, layer=4)
    part = canvas.say.share(float(measurement.share))
    phrase = "measured_beyond" if measurement.impossible else "reached_of_the_bound"
    words = number or canvas.say(phrase, name, part)
    canvas.label(words, around(place, MARKS, GAPS), colour, bold=not number, size=8)


def _track_name(track: Track, shared: Mapping[str, object]) -> str:
    return ": ".join(filter(None, (own_sizes(track.values, shared), track.statement)))


def _mark_name(mark: Mark, shared: Mapping[str, object], whole: str) -> str:
    """All that a mark stands for: points row by row, each with its statements, and ``whole`` for all of them."""
    rows: dict[str, list[str]] = {}
    for track in mark.tracks:
        rows.setdefault(own_sizes(track.values, shared), []).append(track.statement or whole)
    rows = {sizes: [] if parts == [whole] and sizes else parts for sizes, parts in rows.items()}
    return "\n".join(": ".join(filter(None, (sizes, ", ".join(parts)))) for sizes, parts in rows.items())


def _tabulate(canvas: Canvas, roofline: Roofline, marks: Sequence[Mark]) -> None:
    """The points by their numbers: where each is under the roof that holds it down, and how far below the peak; and what part
    of the bound was reached by those that were measured."""
    say, rows, several = canvas.say, list[tuple[str, ...]](), len(marks) + len(_labelled(roofline)) > FEW
    nothing, looks = [NOTHING] if roofline.measured else [], list[Look]()
    for i, mark in enumerate(marks, 1):
        for track in mark.tracks:
            name = _track_name(track, roofline.shared) or (say("in_all") if len(roofline.tracks) > 1 else "")
            lowest = [min(track.places, key=lambda place: place.throughput)]
            for place in track.places if roofline.several_chips else lowest:
                chip = [say.chip(place.roof.chip)] if roofline.several_chips else []
                part, left = place.throughput / place.peak, f"× {factor(place.peak / place.throughput)}"
                cells = f"{place.intensity:,.4g}", rate(place.throughput, "FLOPs/s"), *nothing
                by = say.resource(place.bound_by)
                rows.append((str(i) if several else "", name, *chip, *cells, canvas.say.share(part), left, by))
                looks.append(_look(roofline, place.roof))
    peak = float(roofline.roofs[0].peak.value)
    for i, measurement in enumerate(_labelled(roofline), len(marks) + 1):
        (x, y), name = measurement.point, say("measured", point_name(measurement, roofline.shared))
        shares = (canvas.say.share(part) for part in (float(measurement.share), y / peak))
        cells = f"{x:,.4g}", rate(y, "FLOPs/s"), *shares, f"× {factor(peak / y)}"
        rows.append((str(i) if several else "", name, *cells, say("impossible") if measurement.impossible else NOTHING))
    if more := len(roofline.measured) - len(_labelled(roofline)):
        rows.append(("", say("the_other", more), *[NOTHING] * 6))
    chip = [say("chip")] if roofline.several_chips else []
    of_bound = [say("of_the_bound")] if roofline.measured else []
    rates = "FLOPs/byte", "FLOPs/s", *of_bound, say("of_its_peak"), say("left")
    head = ("", say("what"), *chip, *rates, say("bound_by"))
    looks = [] if _named_chips(roofline) or roofline.measured else looks
    canvas.table(*((head, rows) if several else (head[1:], [row[1:] for row in rows])), looks)


def _vector_roof(canvas: Canvas, roofline: Roofline) -> None:
    """The peak of the vector unit, where something under it is drawn."""
    ridges: dict[float, float] = {}
    for place in (place for track in roofline.tracks if track.vector for place in track.places):
        ridge = place.peak / float(place.roof.bandwidth.value)
        ridges[place.peak] = min(ridge, ridges.get(place.peak, ridge))
    for peak, ridge in ridges.items():
        canvas.line([(ridge, peak), (canvas.right, peak)], GREY, 0.9, DASHES[1])
        words = canvas.say("peak", rate(peak, "FLOPs/s"), "", True, False)
        places = [canvas.right / (canvas.right / ridge) ** (part / 20) for part in range(16)]
        canvas.label(words, [Spot((x, peak), side, 3) for side in ("nw", "sw") for x in places], GREY, rank=0)


def _shade(canvas: Canvas, roofs: Sequence[Roof]) -> None:
    """The regions under the highest roof, from bound by every link to compute-bound on all."""
    fast, low, high = roofs[0], canvas.left, canvas.right
    edges = [low, *sorted(max(low, min(high, roof.ridge)) for roof in roofs), high]
    shades = [SHADES[0], *[SHADES[1]] * (len(roofs) - 1), SHADES[2]]
    for i, (left, right) in enumerate(pairwise(edges)):
        if right <= left:
            continue
        places = (left, *([fast.ridge] if left < fast.ridge < right else []), right)
        canvas.region([(left, canvas.foot), *((x, fast.height(x)) for x in places), (right, canvas.foot)], shades[i])
        spots = [
            Spot((left * (right / left) ** part, canvas.foot), "n", gap)
            for gap in (5, 18, 31)
            for part in (0.5, 0.4, 0.6)
        ]
        canvas.label(_bound_by(canvas.say, roofs, i), spots, size=7.5)


def _bound_by(say: Captions, roofs: Sequence[Roof], index: int) -> str:
    """What the region of that number is bound by, from the lowest intensities up."""
    slower = [roof.link for roof in sorted(roofs, key=lambda r: r.ridge)[index:]]
    bound = "compute" if not slower else "comms" if is_network(slower[0]) else "memory"
    return say("bound", bound, len(roofs), [] if index in (0, len(roofs)) else slower)


def _roof(canvas: Canvas, roofline: Roofline, roof: Roof, links: str) -> None:
    """A slope and its peak, with their names."""
    several, low = roofline.several_chips, canvas.left
    peak, ridge, (colour, dash) = float(roof.peak.value), roof.ridge, _look(roofline, roof)
    canvas.line([(low, roof.height(low)), (ridge, peak)], colour, dash=dash)
    canvas.line([(ridge, peak), (canvas.right, peak)], colour if several else INK, dash=dash if several else "-")
    chip = canvas.say.chip(roof.chip)
    if not several or len({other.link for other in roofline.roofs}) > 1:
        words = f"{chip} {links}" if several else f"{links}  {rate(float(roof.bandwidth.value), 'B/s')}"
        _name_slope(canvas, roof, words, colour)
    if roof in _named_chips(roofline):
        words = chip if several else canvas.say.peak(roof.setting, rate(peak, "FLOPs/s"))
        places = [canvas.right / (canvas.right / ridge) ** (part / 20) for part in range(16 if several else 30)]
        each = [(gap, side) for gap in (3, 9, 16, 24) for side in (("nw", "sw") if several else ("nw",))]
        spots = [Spot((x, peak), side, gap) for gap, side in each for x in places if x > canvas.left]
        whole = [(low, roof.height(low)), (ridge, peak), (canvas.right, peak)]
        canvas.label(words, spots, colour if several else INK, line=whole if several else (), rank=0)
    canvas.line([(ridge, canvas.foot), (ridge, peak)], INK, 0.7, DOTTED, layer=2)
    canvas.ring((ridge, peak), colour)
    canvas.label(canvas.say("ridge", factor(ridge)), around((ridge, peak), "n nw se ne sw s", GAPS), colour)


def _chips(roofline: Roofline) -> list[Roof]:
    """The first roof of each chip."""
    names = [roof.chip.name for roof in roofline.roofs]
    return [roof for i, roof in enumerate(roofline.roofs) if roof.chip.name not in names[:i]]


def _named_chips(roofline: Roofline) -> list[Roof]:
    """The roofs with the name of their chip: none where a key has them."""
    return chips if len(chips := _chips(roofline)) <= FEW else []


def _name_slope(canvas: Canvas, roof: Roof, words: str, colour: str) -> None:
    """Words along a slope."""
    low, ridge = canvas.left, roof.ridge
    line = [(low, roof.height(low)), (ridge, roof.height(ridge))]
    places = [low * (ridge / low) ** part for part in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.02)]
    each = [(gap, side, x) for gap in (3, 16) for side in ("ne", "se") for x in places]
    spots = [Spot((x, roof.height(x)), side, gap, canvas.angle(*line)) for gap, side, x in each]
    canvas.label(words, spots, colour, line=line)


def _look(roofline: Roofline, roof: Roof) -> tuple[str, Dash]:
    """Of several roofs each has the colour of its chip where there are several chips, else of its link, and a dash of
    its own; paths have colours themselves."""
    roofs = roofline.roofs
    index, place = roofs.index(roof), place_of(roof.setting, roof.link, [other.link for other in roofs])
    if roofline.several_chips:
        place = list(dict.fromkeys(other.chip.name for other in roofs)).index(roof.chip.name)
    plain = len(roofs) == 1 or sum(bool(track.runs) for track in roofline.tracks) > 1
    return INK if plain else COLOURS[place % len(COLOURS)], DASHES[index % len(DASHES)]


def _mark(canvas: Canvas, roofline: Roofline, track: Track, name: str, shape: str) -> None:
    """Filled on the first roof, open on the others, joined by a thin line: what the slower memory costs. A program on a mesh
    uses all of its links, so that it is filled where it is lowest, and each has the name of its link."""
    points = [place.point for place in track.places]
    every, lowest_first = (
        roofline.setting.several_chips and not roofline.several_chips,
        sorted(points, key=itemgetter(1)),
    )
    if len(points) > 1 and not every:
        canvas.line(points, INK, 0.9, layer=4)
    for i, place in enumerate(points):
        bounds = place[1] == lowest_first[0][1] if every else i == 0
        roof = track.places[i].roof
        colour, _ = _look(roofline, roof)
        canvas.ring(place, colour, shape=shape, filled=bounds)
        if every and len(points) > 1:
            canvas.label(roof.link, around(place, MARKS, GAPS), colour, size=8)
    (x, y), peak = lowest_first[0], float(roofline.roofs[0].peak.value)
    if not roofline.several_chips and (every or len(points) == 1) and "\n" not in name and not name.isdigit():
        name = canvas.say("headroom", name, canvas.say.share(y / peak), factor(peak / y) if y < AT_PEAK * peak else "")
        if y < AT_PEAK * peak:
            canvas.line([(x, y), (x, peak)], GREY, 0.9, DOTTED, layer=2)
    if name:
        canvas.label(name, [spot for place in lowest_first for spot in around(place, MARKS, GAPS)], bold=True)


def _paths(canvas: Canvas, roofline: Roofline) -> None:
    """The ways of an operation along each roof, with the sizes at their ends; of many a key in place of labels."""
    paths = [track for track in roofline.tracks if track.runs]
    names = [own_sizes(track.values, roofline.shared) for track in paths]
    for i, track in enumerate(paths):
        for j, places in enumerate(map(track.under, roofline.roofs)):
            alone = len(roofline.roofs) > 1 and len(paths) == 1
            colour, _ = _look(roofline, roofline.roofs[j]) if alone else stroke(i)
            if places:
                canvas.line([place.point for place in places], colour, 4.5, DASHES[j % len(DASHES)], layer=4)
            for place in (places[0], places[-1]) if places else ():
                canvas.ring(place.point, colour, filled=True, size=6)
                if j == 0 and len(paths) <= FEW:
                    words = ", ".join(filter(None, (f"{roofline.variable} = {plain(place.size or 0)}", names[i])))
                    canvas.label(words, around(place.point, MARKS, GAPS), colour, bold=True)
    if len(paths) > FEW:
        canvas.table([canvas.say("curve")], [(own,) for own in names], [(stroke(i)[0], "-") for i in range(len(paths))])
