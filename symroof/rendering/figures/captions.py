"""The words of figures in a language: labels, with a row for each line of their macro, and sentences for those who do not see a figure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from types import SimpleNamespace
from typing import TypeAlias

from sympy import Expr, Mul

from symroof.algebra.rounding import decimal
from symroof.derivation.setting import Setting
from symroof.exploration.breakdowns import Breakdown
from symroof.exploration.curves import Curves, in_common
from symroof.exploration.figure import Drawn
from symroof.exploration.latency import Latency
from symroof.exploration.longest_times import Curve
from symroof.exploration.planes import Plane
from symroof.exploration.roofs import Roofline, Track
from symroof.formula import Formula, Number
from symroof.model.hardware import Accelerator, Spec
from symroof.model.resources import LATENCY, MATH, VECTOR
from symroof.rendering.figures.style import factor, moment, plain, rate, share, shares
from symroof.rendering.formulas.plain import Letters, PlainPrinter
from symroof.rendering.pages.environment import load, words
from symroof.rendering.pages.number_formats import sizes
from symroof.rendering.pages.typesetting import Sentences

# The words of a macro, with what it speaks of.
Say: TypeAlias = "Callable[..., str]"


@lru_cache(maxsize=8)
def captions(lang: str) -> Say:
    """
    >>> captions("en")("compute_bound_from", "B", 256, "D = F = 512")
    'compute-bound\\nfrom B = 256,\\nD = F = 512'
    """
    phrases = load(f"{lang}/figures.j2", None, lang, {})
    return Sentences(phrases, SimpleNamespace(given_chip=words(None, lang).given_chip, **phrases.terms)).lines


def share_in(lang: str, part: float, *, up: bool = False) -> str:
    """A part of the whole in percent, as a language writes it.

    >>> share_in("en", 0.6812), share_in("zh", 0.6812), share_in("zh", 0.5328, up=True)
    ('68 %', '68%', '54%')
    """
    return percent_in(lang, share(part, up=up))


def shares_in(lang: str, parts: Sequence[float]) -> list[str]:
    """The parts of one whole in percent, as a language writes them.

    >>> shares_in("zh", [0.25, 0.75])
    ['25%', '75%']
    """
    return [percent_in(lang, text) for text in shares(parts)]


def percent_in(lang: str, text: str) -> str:
    """Percents, as a language sets their sign."""
    return text if words(None, lang).percent_stands_apart else text.replace(" ", "")


def own_sizes(values: Mapping[str, Fraction], shared: Mapping[str, object]) -> str:
    """The sizes of a point that are not those of all, as they stand beside it, thousands apart.

    >>> from fractions import Fraction
    >>> own_sizes({"B": Fraction(1), "D": Fraction(8)}, {"D": Fraction(8)})
    'B = 1'
    """
    own = sizes({name: value for name, value in values.items() if name not in shared})
    return re.sub(r"(?<![\d.])\d{4,}", lambda digits: f"{int(digits[0]):,}", own)


def called(say: Say, chip: Accelerator) -> str:
    """A chip by its title, or as the language calls one that is a table of figures."""
    return say("given_chip") if chip.unnamed else chip.title


def resource(say: Say, name: str) -> str:
    """A unit, or what else takes longest, as the language calls it; a link by its name."""
    known = {MATH: "compute", VECTOR: "vector_unit", LATENCY: "latency"}
    return say(known[name]) if name in known else name


def printed(setting: Setting, formula: Formula | Expr) -> str:
    """A formula in the letters of an operation."""
    printer = PlainPrinter(Letters(frozenset(setting.problem.operation.dimensions)), unicode=True)
    return printer.print(setting.layout.write(formula) if isinstance(formula, Expr) else formula)


def chips_of(setting: Setting) -> str:
    """Over how many chips the arithmetic is split, as ``8 × M``; nothing for one."""
    factors = (printed(setting, factor) for factor in Mul.make_args(setting.chips))
    return "" if setting.chips == 1 else " × ".join(factors)


def title_of(say: Say, settings: Sequence[Setting], sizes: str = "") -> str:
    """What the problem is called, or its operation; the chip where there is one, and sizes."""
    setting, several = settings[0], len({s.problem.hardware.name for s in settings if s.problem.hardware}) > 1
    problem = setting.problem
    chip = None if several else problem.hardware
    title = "" if chip is None or chip.unnamed or chip.title in (problem.title or "") else chip.title
    named = problem.title or problem.operation.title
    return say("title", named, title, chips_of(setting), [sizes] if sizes else [], bool(problem.title))


def assumed(say: Say, *settings: Setting, undrawn: Sequence[str] = ()) -> list[str]:
    """What a figure stands on, row by row: the figures of each chip, and which of them were given; the regime, training,
    how operations are counted; and what is not drawn.

    >>> from symroof.derivation.setting import setting_of
    >>> from symroof.reading.problems import read_problem
    >>> stated = {"operation": "matmul", "hardware": "tpu-v5e", "given": {"HBM": "8.1e11"}, "assume": "D = F"}
    >>> problem = read_problem(stated)
    >>> assumed(captions("en"), setting_of(problem))
    ['peak.bf16 197 TFLOPs/s · HBM 810 GB/s (given) · with D = F']
    """
    chips, problem = dict[str, dict[str, str]](), settings[0].problem
    for one, chip in ((one, one.problem.hardware) for one in settings if one.problem.hardware):
        for name, known in one.figures.items():
            figure = {"peak": one.peak_name, "bandwidth": one.bandwidth_name}.get(name, name)
            words, given = _figure(figure, known, one.bandwidth_name), known.source == "given" and not chip.unnamed
            chips.setdefault(called(say, chip), {})[figure] = say("given", words) if given else words
    rows = [" · ".join([chip, *figures.values()]) for chip, figures in chips.items()] if len(chips) > 1 else []
    sized = [r for r in problem.assume if r.relation == "=" and isinstance(r.right, Number)]  # of the title
    regime = [printed(settings[0], relation) for relation in problem.assume if relation not in sized]
    told = [words for figures in chips.values() for words in figures.values()] if not rows else []
    return [*rows, say("assumed", told, regime, problem.training, problem.count == "exact", list(undrawn))]


def _figure(name: str, known: Spec, link: str) -> str:
    """A figure of a chip with its unit: one that was given without has that of a bandwidth or a peak."""
    plain = "B/s" if name == link else "FLOPs/s" if name.startswith("peak") else ""
    unit = known.unit.replace("bytes", "B") or plain
    return f"{name} {moment(float(known.value)) if unit == 's' else rate(float(known.value), unit, 6)}"


def peak_of(say: Say, setting: Setting, rate: str) -> str:
    """Which peak is drawn; that of the matrix unit is named where work for the vector unit is compared with it."""
    _, *of = setting.peak_name.split(".")
    dtype = "".join(part for part in of if part != "vector")
    return say("peak", rate, dtype, "vector" in of, setting.matrix_stands_in)


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
