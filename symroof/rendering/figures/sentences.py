"""Figures in sentences, for those who do not see them: what one reads off, in numbers of the figure."""

from __future__ import annotations

from collections.abc import Iterator

from symroof.algebra.rounding import decimal
from symroof.exploration.breakdowns import Breakdown
from symroof.exploration.curves import Curves, in_common
from symroof.exploration.figure import Drawn
from symroof.exploration.latency import Latency
from symroof.exploration.longest_over_a_size import Curve
from symroof.exploration.planes import Plane
from symroof.exploration.roofs import Roofline, Track
from symroof.model.resources import MATH
from symroof.rendering.figures.captions import Say, called, captions, own_sizes, printed, resource, share_in, shares_in
from symroof.rendering.figures.strokes import factor, moment, plain, rate

# Of how many statements a roofline is told, and of how many pieces a bar: the largest.
STATEMENTS, PIECES = 12, 3


def sentences(found: Drawn, lang: str) -> list[str]:
    """What a figure shows, a sentence for each of its curves, points or bars.

    >>> import symroof as sr
    >>> sentences(sr.plot("matmul", on="tpu-v5e", at="D=F=8192", over="B=1..400").drawing, "en")
    ['The peak is 197 TFLOPs/s.', 'It is compute-bound from B = 256.', 'The rule of thumb is B ≥ 241, where D, F ≫ B.']
    """
    say = captions(lang)
    match found:
        case Roofline():
            told = _under_roofs(found, say, lang)
        case Curves():
            told = _over_a_size(found, say, lang)
        case Breakdown():
            told = _bars(found, say, lang)
        case Latency():
            told = _served(found, say)
        case Plane():
            told = _map(found, say)
    return [" ".join(sentence.split()) for sentence in told]


def _under_roofs(found: Roofline, say: Say, lang: str) -> Iterator[str]:
    for roof, links in found.named:
        yield say("told_ridge", called(say, roof.chip), links, factor(roof.ridge))
    statements = [track for track in found.tracks if track.statement]
    for track in (track for track in found.tracks if not track.statement):
        yield from _track(found, track, say, lang)
    for track in statements[:STATEMENTS]:
        yield from _track(found, track, say, lang)
    for one in found.measured:
        yield say("told_measured", one.said, share_in(lang, float(one.reached)), one.impossible)


def _track(found: Roofline, track: Track, say: Say, lang: str) -> Iterator[str]:
    """A point under the roof that holds it down, on each of several chips; or where a path begins and ends."""
    own, places = own_sizes(track.values, found.shared), list(track.places)
    if track.runs:
        ends = [track.under(places[0].roof)[end] for end in (0, -1)]
        sizes = [f"{found.variable} = {plain(end.size or 0)}" for end in ends]
        yield say("told_path", own, *sizes, *(f"{end.intensity:.3g}" for end in ends))
        return
    links = not found.several_chips and not found.setting.several_chips and len(places) > 1  # one instead of the other
    if not found.several_chips and not links:
        places = sorted(places, key=lambda place: place.throughput)[:1]
    for place in places:
        chip = called(say, place.roof.chip) if found.several_chips else ""
        by = "" if place.bound_by == MATH else resource(say, place.bound_by)
        where = say("over_link", own, place.roof.link) if links else own
        yield say("told_point", where, track.statement, chip, by, share_in(lang, place.throughput / place.peak))


def _over_a_size(found: Curves, say: Say, lang: str) -> Iterator[str]:
    setting, shared = found.setting, in_common([curve.values for curve in found.curves])
    chips = 0 if setting.chips.free_symbols else int(setting.chips)
    if found.kind == "throughput" and setting.peak is not None:
        peak = float(setting.peak.value) * (chips or 1)
        yield say("told_whole", rate(peak, "FLOPs/s"), chips or "")
    for curve in found.curves:
        yield from _along(found, curve, own_sizes(curve.values, shared), say, lang)
    if found.rule is not None and found.rule.first is not None:
        yield say("told_rule", found.variable, plain(found.rule.first), list(found.large))


def _along(found: Curves, curve: Curve, where: str, say: Say, lang: str) -> Iterator[str]:
    """What takes longest from where on; of a throughput that never is at the peak, how far it comes."""
    x, (first, last), peak = found.variable, (curve.xs[0], curve.xs[-1]), found.setting.peak
    match found.outcome(curve):
        case "never" if curve.ceiling is not None and peak is not None:
            share = share_in(lang, curve.ceiling / float(peak.value), up=True)
            yield say("told_never", where, share, curve.attained)
        case "always":
            yield say("told_always", where)
        case "reached":
            share = share_in(lang, curve.lines["throughput"][-1] / curve.lines["peak"][-1])
            yield say("told_reached", where, share, x, plain(last))
        case "from" if curve.bound is not None:
            yield say("told_from", where, x, plain(curve.first or curve.bound))
        case _ if not curve.stretches:
            yield say("told_ends", where, x, plain(first), curve.longest(first), plain(last), curve.longest(last))
        case _:
            apart = [few for few in curve.few if any(one.longest.time != curve.stretches[0].time for one in curve.few)]
            yield from (say("told_longest_at", where, few.longest.time, x, few.chips) for few in apart)
            for i, stretch in enumerate(curve.stretches):
                start = plain(stretch.first) if stretch.first is not None else f"{float(stretch.ends[0]):,.4g}"
                yield say("told_longest", where, stretch.time, x if i or apart else "", start)


def _bars(found: Breakdown, say: Say, lang: str) -> Iterator[str]:
    shared = in_common([bar.values for bar in found.bars])
    for bar in (bar for bar in found.bars if bar.seconds):
        most = sorted(bar.parts, key=lambda part: -part[1])[:PIECES]
        shares = shares_in(lang, list(map(float, bar.shares)))
        share = dict(zip((name for name, _ in bar.parts), shares, strict=True))
        parts = [f"{name} {share[name]}" for name, _ in most]
        yield say("told_bar", own_sizes(bar.values, shared), bar.time, moment(float(bar.seconds)), parts)


def _served(found: Latency, say: Say) -> Iterator[str]:
    shared = in_common([curve.values for curve in found.curves])
    for curve in found.curves:
        where = ", ".join(filter(None, (called(say, curve.chip), own_sizes(curve.values, shared))))
        if not curve.marks:
            yield say("told_holds_none", where, found.variable)
            continue
        for size in dict.fromkeys((curve.marks[0], curve.marks[-1])):
            time, tokens = curve.place(size)
            full = curve.full == size
            yield say("told_served", where, found.variable, size, moment(time), factor(tokens), full)


def _map(found: Plane, say: Say) -> Iterator[str]:
    largest = [printed(found.setting, form) for form in dict.fromkeys(region.largest for region in found.regions)]
    yield say("told_territories" if found.times else "told_map", *found.names, largest)
    if found.times:
        return
    if found.setting.ridge is not None:
        side = "" if found.threshold else found.side
        if found.threshold or side:
            yield say("told_edge", decimal(found.setting.ridge), side)
