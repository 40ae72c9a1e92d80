"""Figures drawn: the function for each kind, maps over two sizes, and bars of the times of statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import log10

from symroof.algebra.rounding import decimal
from symroof.exploration.breakdowns import Bar, Breakdown
from symroof.exploration.curves import same_sizes
from symroof.exploration.figure_kinds import Drawn
from symroof.exploration.planes import Plane
from symroof.formula import Frozen, Number
from symroof.rendering.figures.canvas import WIDTH, Canvas, sheet_of
from symroof.rendering.figures.captions import (
    captions,
    formula_text,
    of_bars,
    of_curves,
    of_latency,
    of_map,
    of_roofs,
    own_sizes,
)
from symroof.rendering.figures.labels import NOTHING, Point, Spot, around
from symroof.rendering.figures.line_plots import draw_latency, draw_throughput, draw_times
from symroof.rendering.figures.rooflines import draw_roofline
from symroof.rendering.figures.style import FIELDS, INK, MOMENTS, factor, moment, place_of, scaled
from symroof.symbols import expression

# The line of a threshold, and the words on it.
BEYOND = ("#0072B2", "#00507D")
SHADED = "#0072B230"  # what is compute-bound, over the colours of the terms
HATCHES = ("", "..", "//", "", "\\\\", "xx")  # "" is none


def draw_plane(plane: Plane, inches: float, lang: str) -> Canvas:
    """Regions by what is largest, the widest of one kind with its name; the exact threshold over them, and the rule of thumb
    dashed."""
    say, setting, (x, y) = captions(lang), plane.setting, plane.names
    (_, right), (low, top) = plane.ranges
    fixed = {str(expression(r.left)): r.right.value for r in setting.equalities if isinstance(r.right, Number)}
    names = say("size", x), say("size", y)
    canvas = sheet_of([setting], fixed, names, plane.ranges, (True, True), inches, lang)
    colours = {form: place_of(setting, str(form)) if plane.times else i + 4 for i, form in enumerate(plane.largest)}
    for region in plane.regions:
        i = colours[region.largest]
        canvas.region(region.corners, FIELDS[i % len(FIELDS)], HATCHES[i % len(HATCHES)])
    for form, region in plane.largest.items():
        words = say("longest", str(form), "") if plane.times else say("intensity", formula_text(setting, form))
        canvas.label(words, _inside(region.corners), bold=True)
    if plane.beyond:
        canvas.region(plane.beyond, SHADED)
    for line in plane.rules:
        canvas.line(line, INK, 1.3, (0, (5, 2.5)))
    ridge = "" if setting.ridge is None else decimal(setting.ridge)
    if plane.threshold:
        canvas.line(plane.threshold, BEYOND[0], 2.4)
        for end in (plane.threshold[0], plane.threshold[-1]):
            _edge(canvas, plane, end)
        words = say("beyond", ridge)
        beyond = reversed(plane.threshold[:: max(1, len(plane.threshold) // 12)])
        spots = [spot for place in beyond for spot in around(place, "nw ne w", (6, 14))]
        canvas.label(words, spots, BEYOND[1], bold=True)
    elif plane.side:
        words = say("on_the_whole_map", plane.side == ">", ridge)
        canvas.label(words, _down(right, low, top), BEYOND[1], bold=True)
    if plane.rules:
        (a, b), (c, d) = max(plane.rules, key=lambda line: sum(_extent(line)))
        places = [(a ** (1 - t) * c**t, b ** (1 - t) * d**t) for t in (0.5, 0.35, 0.65, 0.2, 0.8)]
        canvas.label(say("rule_of_thumb"), [spot for place in places for spot in around(place, "w s e n", (5,))])
    return canvas


def _edge(canvas: Canvas, plane: Plane, end: Point) -> None:
    """The size at which the threshold meets the frame."""
    (x, y), ((left, right), _) = end, plane.ranges
    upright = min(abs(log10(x / left)), abs(log10(x / right))) > 1e-9
    name, size = (plane.names[0], x) if upright else (plane.names[1], y)
    canvas.label(f"{name} ≈ {size:,.4g}", around(end, "sw se nw ne", (4, 9, 16)), BEYOND[1], size=7.5)


def _down(x: float, low: float, top: float) -> list[Spot]:
    """Places on the left of an upright line, from its top down."""
    return [Spot((x, top * (low / top) ** part), "sw", 5) for part in (0, 0.06, 0.12, 0.18, 0.3, 0.5)]


def _extent(line: Sequence[Point]) -> Point:
    """How far a line reaches along each of two logarithmic axes."""
    (a, b), (c, d) = line
    return abs(log10(a / c)), abs(log10(b / d))


def _inside(corners: Sequence[Point]) -> list[Spot]:
    """The middle of a region, and places on the way from there to its corners."""
    x, y = _middle([(log10(x), log10(y)) for x, y in corners])
    ways = [
        (0.0, x, y),
        *((t, log10(a), log10(b)) for t in (0.25, 0.45, 0.6) for a, b in corners[:: len(corners) // 12 + 1]),
    ]
    return [Spot((10 ** (x + t * (a - x)), 10 ** (y + t * (b - y))), "", 0) for t, a, b in ways]


def _middle(corners: Sequence[Point]) -> Point:
    """The centroid of a polygon."""
    total = x = y = 0.0
    for i, (a, b) in enumerate(corners):
        u, v = corners[i - 1]
        cross = u * b - a * v
        total, x, y = total + cross, x + (u + a) * cross, y + (v + b) * cross
    return x / (3 * total), y / (3 * total)


# How many pieces a bar has at most, beside the rest of them together, and the colour of that.
PIECES, REST = 7, "#E8E8E8"
# How broad a bar is, what is between two sets of sizes where bars stand 1 from another, and the height of that in inches.
BROAD, APART, HIGH = 0.72, 1.0, 0.34
JOINT = 1.5  # how broad the white between two pieces is, in points


class Piece(Frozen):
    """A part of a bar: what some statements take together, in seconds; ``of`` is the statement whose colour it has, empty for
    the rest, and ``count`` how many the rest is."""

    name: str
    of: str
    seconds: Fraction
    count: int = 1


def draw_breakdown(breakdown: Breakdown, inches: float, lang: str) -> Canvas:
    """The bars of each set of sizes, from the top, and beneath them every piece with its time and share."""
    longest = max(float(bar.seconds) for bar in breakdown.bars)
    unit, scale = scaled(longest / 3, MOMENTS)
    points = [breakdown.bars[i].values for i in range(0, len(breakdown.bars), breakdown.each)]
    shared, say = same_sizes(points), captions(lang)
    several, names = len(points) > 1, _shown_statements(breakdown)
    heights = [-(i + APART * (i // breakdown.each + several)) for i in range(len(breakdown.bars))]
    canvas = sheet_of(
        [breakdown.setting],
        shared,
        (say("time", unit), ""),
        ((0, longest / scale * 1.3), (heights[-1] - 0.6, 0.6)),
        (False, False),
        inches,
        lang,
        names_of_rows=[(height, bar.time) for height, bar in zip(heights, breakdown.bars, strict=True)],
        body=HIGH * (1.2 - heights[-1]),
    )
    cut = [_pieces(bar, names) for bar in breakdown.bars]
    for height, bar, pieces in zip(heights, breakdown.bars, cut, strict=True):
        if several and not breakdown.bars.index(bar) % breakdown.each:
            canvas.label(own_sizes(bar.values, shared), [Spot((0, height + 1), "e", 1)], bold=True, rank=0)
        _bar(canvas, bar, pieces, height, (unit, scale), names)
    _tabulate(canvas, breakdown, cut, shared, names)
    return canvas


def _shown_statements(breakdown: Breakdown) -> list[str]:
    """The statements that have a piece of their own, in the order of the program: all of them where they are few, else those
    that take longest."""
    part: dict[str, Fraction] = {}
    for name, seconds in (each for bar in breakdown.bars for each in bar.parts):
        first = name.split(", ")[0]
        part[first] = max(part.get(first, Fraction(0)), seconds)
    few = len(part) <= PIECES + 1
    most = sorted(part, key=lambda name: -part[name])[: PIECES + 1 if few else PIECES]
    return [name for name in part if name in most]


def _pieces(bar: Bar, names: Sequence[str]) -> list[Piece]:
    """The pieces of a bar, and the rest of it as the last one."""
    own = [Piece(name, name.split(", ")[0], seconds) for name, seconds in bar.parts]
    rest = [piece for piece in own if piece.of not in names]
    together = Piece("", "", sum((piece.seconds for piece in rest), Fraction(0)), len(rest))
    return [*(piece for piece in own if piece.of in names), *([together] if rest else [])]


def _colour(piece: Piece, names: Sequence[str]) -> str:
    return FIELDS[names.index(piece.of)] if piece.of else REST


def _bar(
    canvas: Canvas, bar: Bar, pieces: Sequence[Piece], height: float, axis: tuple[str, float], names: Sequence[str]
) -> None:
    """Piece by piece from the left, with names where they have room, and the whole at the end, in the unit of the axis."""
    left, shares, (unit, scale) = 0.0, _shares(canvas, bar, pieces), axis
    foot, top = height - BROAD / 2, height + BROAD / 2
    for piece, percent in zip(pieces, shares, strict=True):
        right = left + float(piece.seconds) / scale
        canvas.region([(left, foot), (right, foot), (right, top), (left, top)], _colour(piece, names), joint=JOINT)
        name = _piece_name(canvas, piece)
        texts = (f"{name} {percent}", name, percent)
        words = (text for text in texts if canvas.fits(text, (left, height), (right, height)))
        if (text := next(words, None)) is not None:
            canvas.label(text, [Spot(((left + right) / 2, height), "", 0)])
        left = right
    whole = f"{factor(float(bar.seconds) / scale)} {unit}"
    canvas.label(whole, [Spot((left, height), "e", 3)], bold=True)


def _shares(canvas: Canvas, bar: Bar, pieces: Sequence[Piece]) -> list[str]:
    """What each piece is of its bar; nothing of a time that is 0."""
    return canvas.say.shares([float(piece.seconds / (bar.seconds or 1)) for piece in pieces])


def _piece_name(canvas: Canvas, piece: Piece) -> str:
    """A piece by its statements, of many the first two."""
    names = piece.name.split(", ")
    if not piece.of:
        return canvas.say("the_other", piece.count)
    return piece.name if len(names) < 4 else canvas.say("and_more", ", ".join(names[:2]), len(names) - 2)


def _tabulate(
    canvas: Canvas, breakdown: Breakdown, cut: list[list[Piece]], shared: Mapping[str, object], shown: Sequence[str]
) -> None:
    """Every piece by its name, with its time and share of each bar."""
    cells: list[dict[str, str]] = []
    colours: dict[str, str] = {}
    for bar, pieces in zip(breakdown.bars, cut, strict=True):
        shares = _shares(canvas, bar, pieces)
        names = [_piece_name(canvas, piece) if piece.of else canvas.say("rest") for piece in pieces]
        colours |= {name: _colour(piece, shown) for name, piece in zip(names, pieces, strict=True)}
        texts = (f"{moment(float(piece.seconds))} ({share})" for piece, share in zip(pieces, shares, strict=True))
        cells.append(dict(zip(names, texts, strict=True)))
    ordered = sorted(colours, key=lambda name: (*FIELDS, REST).index(colours[name]))
    rows = [(name, *(column.get(name, NOTHING) for column in cells)) for name in ordered]
    canvas.table(["", *_heads(breakdown, shared)], rows, [colours[name] for name in ordered])


def _heads(breakdown: Breakdown, shared: Mapping[str, object]) -> Iterator[str]:
    """The time of each bar, and its sizes where they are not the same everywhere."""
    for bar in breakdown.bars:
        own = own_sizes(bar.values, shared)
        yield f"{own}: {bar.time}" if own else bar.time


DRAWN: Mapping[str, tuple[Callable[..., Canvas], Callable[..., Iterator[str]]]] = {
    "roofline": (draw_roofline, of_roofs),
    "throughput": (draw_throughput, of_curves),
    "times": (draw_times, of_curves),
    "breakdown": (draw_breakdown, of_bars),
    "latency": (draw_latency, of_latency),
    "regimes": (draw_plane, of_map),
}


def draw(drawing: Drawn, inches: float = WIDTH, lang: str = "en") -> Canvas:
    """The figure, that wide, in a language, with what it shows in sentences."""
    canvas = DRAWN[drawing.kind][0](drawing, inches, lang)
    canvas.description = canvas.say("told", sentences(drawing, lang))
    return canvas


def sentences(drawing: Drawn, lang: str) -> list[str]:
    """What a figure shows, a sentence for each of its curves, points or bars.

    >>> import symroof as sr
    >>> sentences(sr.plot("matmul", on="tpu-v5e", at="D=F=8192", over="B=1..400").drawing, "en")
    ['The peak is 197 TFLOPs/s.', 'It is compute-bound from B = 256.', 'The rule of thumb is B ≥ 241, where D, F ≫ B.']
    """
    return [" ".join(sentence.split()) for sentence in DRAWN[drawing.kind][1](drawing, captions(lang))]
