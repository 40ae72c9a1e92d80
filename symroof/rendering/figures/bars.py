"""Horizontal bars: what the statements of a program take of its times, with a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from symroof.exploration.breakdowns import Bar, Breakdown
from symroof.exploration.curves import in_common
from symroof.formula import Frozen
from symroof.rendering.figures.canvas import Canvas, sheet_of
from symroof.rendering.figures.captions import captions, own_sizes, shares_in
from symroof.rendering.figures.labels import Spot
from symroof.rendering.figures.strokes import FIELDS, MOMENTS, factor, moment, scaled
from symroof.rendering.figures.table_below import NOTHING

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


def draw_breakdown(found: Breakdown, inches: float, lang: str) -> Canvas:
    """The bars of each set of sizes, from the top, and beneath them every piece with its time and share."""
    longest = max(float(bar.seconds) for bar in found.bars)
    unit, scale = scaled(longest / 3, MOMENTS)
    points = [found.bars[i].values for i in range(0, len(found.bars), found.each)]
    shared, say = in_common(points), captions(lang)
    several, kept = len(points) > 1, _shown_statements(found)
    heights = [-(i + APART * (i // found.each + several)) for i in range(len(found.bars))]
    canvas = sheet_of(
        [found.setting],
        shared,
        (say("time", unit), ""),
        ((0, longest / scale * 1.3), (heights[-1] - 0.6, 0.6)),
        (False, False),
        inches,
        lang,
        names_of_rows=[(height, bar.time) for height, bar in zip(heights, found.bars, strict=True)],
        body=HIGH * (1.2 - heights[-1]),
    )
    cut = [_pieces(bar, kept) for bar in found.bars]
    for height, bar, pieces in zip(heights, found.bars, cut, strict=True):
        if several and not found.bars.index(bar) % found.each:
            canvas.label(own_sizes(bar.values, shared), [Spot((0, height + 1), "e", 1)], bold=True, rank=0)
        _bar(canvas, bar, pieces, height, (unit, scale), kept)
    _tabulate(canvas, found, cut, shared, kept)
    return canvas


def _shown_statements(found: Breakdown) -> list[str]:
    """The statements that have a piece of their own, in the order of the program: all of them where they are few, else those
    that take longest."""
    part: dict[str, Fraction] = {}
    for name, seconds in (each for bar in found.bars for each in bar.parts):
        first = name.split(", ")[0]
        part[first] = max(part.get(first, Fraction(0)), seconds)
    few = len(part) <= PIECES + 1
    most = sorted(part, key=lambda name: -part[name])[: PIECES + 1 if few else PIECES]
    return [name for name in part if name in most]


def _pieces(bar: Bar, kept: Sequence[str]) -> list[Piece]:
    """The pieces of a bar, and the rest of it as the last one."""
    own = [Piece(name, name.split(", ")[0], seconds) for name, seconds in bar.parts]
    rest = [piece for piece in own if piece.of not in kept]
    together = Piece("", "", sum((piece.seconds for piece in rest), Fraction(0)), len(rest))
    return [*(piece for piece in own if piece.of in kept), *([together] if rest else [])]


def _colour(piece: Piece, kept: Sequence[str]) -> str:
    return FIELDS[kept.index(piece.of)] if piece.of else REST


def _bar(
    canvas: Canvas, bar: Bar, pieces: Sequence[Piece], height: float, axis: tuple[str, float], kept: Sequence[str]
) -> None:
    """Piece by piece from the left, with names where they have room, and the whole at the end, in the unit of the axis."""
    left, shares, (unit, scale) = 0.0, _shares(canvas, bar, pieces), axis
    foot, top = height - BROAD / 2, height + BROAD / 2
    for piece, percent in zip(pieces, shares, strict=True):
        right = left + float(piece.seconds) / scale
        canvas.region([(left, foot), (right, foot), (right, top), (left, top)], _colour(piece, kept), joint=JOINT)
        name = _called(canvas, piece)
        words = (
            text for text in (f"{name} {percent}", name, percent) if canvas.fits(text, (left, height), (right, height))
        )
        if (text := next(words, None)) is not None:
            canvas.label(text, [Spot(((left + right) / 2, height), "", 0)])
        left = right
    whole = f"{factor(float(bar.seconds) / scale)} {unit}"
    canvas.label(whole, [Spot((left, height), "e", 3)], bold=True)


def _shares(canvas: Canvas, bar: Bar, pieces: Sequence[Piece]) -> list[str]:
    """What each piece is of its bar; nothing of a time that is 0."""
    return shares_in(canvas.lang, [float(piece.seconds / (bar.seconds or 1)) for piece in pieces])


def _called(canvas: Canvas, piece: Piece) -> str:
    """A piece by its statements, of many the first two."""
    names = piece.name.split(", ")
    if not piece.of:
        return canvas.say("the_other", piece.count)
    return piece.name if len(names) < 4 else canvas.say("and_more", ", ".join(names[:2]), len(names) - 2)


def _tabulate(
    canvas: Canvas, found: Breakdown, cut: Sequence[Sequence[Piece]], shared: Mapping[str, object], kept: Sequence[str]
) -> None:
    """Every piece by its name, with its time and share of each bar."""
    cells: list[dict[str, str]] = []
    colours: dict[str, str] = {}
    for bar, pieces in zip(found.bars, cut, strict=True):
        shares = _shares(canvas, bar, pieces)
        names = [_called(canvas, piece) if piece.of else canvas.say("rest") for piece in pieces]
        colours |= {name: _colour(piece, kept) for name, piece in zip(names, pieces, strict=True)}
        told = (f"{moment(float(piece.seconds))} ({share})" for piece, share in zip(pieces, shares, strict=True))
        cells.append(dict(zip(names, told, strict=True)))
    ordered = sorted(colours, key=lambda name: (*FIELDS, REST).index(colours[name]))
    rows = [(name, *(column.get(name, NOTHING) for column in cells)) for name in ordered]
    canvas.table(["", *_heads(found, shared)], rows, [colours[name] for name in ordered])


def _heads(found: Breakdown, shared: Mapping[str, object]) -> Iterator[str]:
    """The time of each bar, and its sizes where they are not the same everywhere."""
    for bar in found.bars:
        own = own_sizes(bar.values, shared)
        yield f"{own}: {bar.time}" if own else bar.time
