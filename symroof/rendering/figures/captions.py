"""The words of figures in a language: labels, with a row for each line of their macro, and sentences for those who do not see a figure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from types import SimpleNamespace

from sympy import Expr, Mul

from symroof.algebra.rounding import decimal
from symroof.derivation.premises import Setting
from symroof.exploration.breakdowns import Breakdown
from symroof.exploration.curves import Curves, same_sizes
from symroof.exploration.latency import Latency
from symroof.exploration.longest_times import Curve
from symroof.exploration.measured_points import Measurement
from symroof.exploration.planes import Plane
from symroof.exploration.roofs import Roofline, Track
from symroof.formula import Formula, Number
from symroof.model.hardware import Accelerator, Spec
from symroof.model.resources import LATENCY, MATH, VECTOR
from symroof.rendering.figures.style import factor, moment, plain, rate, share, shares
from symroof.rendering.formulas.plain import Letters, PlainPrinter
from symroof.rendering.pages.number_formats import sizes
from symroof.rendering.pages.templating import load, words
from symroof.rendering.pages.typesetting import Sentences


class Captions(Sentences):
    """The words of figures in a language: a phrase with its facts has a row for each line, and percents have their sign."""

    def __init__(self, lang: str) -> None:
        of_language, phrases = words(None, lang), load(f"{lang}/figures.j2", None, lang, {})
        super().__init__(phrases, SimpleNamespace(given_chip=of_language.given_chip, **phrases.terms))
        self.gap = " " if of_language.percent_stands_apart else ""

    def __call__(self, macro: str, *facts: object) -> str:
        return self.lines(macro, *facts)

    def share(self, part: float, *, up: bool = False) -> str:
        """A part of the whole in percent.

        >>> captions("en").share(0.6812), captions("zh").share(0.5328, up=True)
        ('68 %', '54%')
        """
        return share(part, up=up).replace(" ", self.gap)

    def shares(self, parts: Sequence[float]) -> list[str]:
        """The parts of one whole in percent."""
        return [text.replace(" ", self.gap) for text in shares(parts)]

    def chip(self, chip: Accelerator) -> str:
        """A chip by its title, or as the language calls one that is a table of figures."""
        return self("given_chip") if chip.unnamed else chip.title

    def resource(self, name: str) -> str:
        """A unit, or what else takes longest, as the language calls it; a link by its name."""
        phrases = {MATH: "compute", VECTOR: "vector_unit", LATENCY: "latency"}
        return self(phrases[name]) if name in phrases else name

    def title(self, settings: Sequence[Setting], sizes: str = "") -> str:
        """What the problem is called, or its operation; the chip where there is one, and sizes."""
        setting, several = settings[0], len({s.problem.hardware.name for s in settings if s.problem.hardware}) > 1
        problem = setting.problem
        chip = None if several else problem.hardware
        title = "" if chip is None or chip.unnamed or chip.title in (problem.title or "") else chip.title
        named = problem.title or problem.operation.title
        return self("title", named, title, chips_of(setting), [sizes] if sizes else [], bool(problem.title))

    def peak(self, setting: Setting, rate: str) -> str:
        """Which peak is drawn; that of the matrix unit is named where work for the vector unit is compared with it."""
        _, *of = setting.peak_name.split(".")
        dtype = "".join(part for part in of if part != "vector")
        return self("peak", rate, dtype, "vector" in of, setting.matrix_stands_in)


@lru_cache(maxsize=8)
def captions(lang: str) -> Captions:
    """
    >>> captions("en")("compute_bound_from", "D = F = 512", "B", 256)
    'compute-bound\\nfrom B = 256,\\nD = F = 512'
    """
    return Captions(lang)


def own_sizes(values: Mapping[str, Fraction], shared: Mapping[str, object]) -> str:
    """The sizes of a point that are not those of all, as they stand beside it, thousands apart.

    >>> from fractions import Fraction
    >>> own_sizes({"B": Fraction(1), "D": Fraction(8)}, {"D": Fraction(8)})
    'B = 1'
    """
    own = sizes({name: value for name, value in values.items() if name not in shared})
    return re.sub(r"(?<![\d.])\d{4,}", lambda digits: f"{int(digits[0]):,}", own)


def point_name(measurement: Measurement, shared: Mapping[str, object]) -> str:
    """A measured point by its name, by the sizes that are not those of all points, or by its place."""
    own = own_sizes(measurement.values, shared) or own_sizes(measurement.values, {})
    return measurement.name or own or f"{float(measurement.intensity):.4g} FLOPs/byte"


def formula_text(setting: Setting, formula: Formula | Expr) -> str:
    """A formula in the letters of an operation."""
    printer = PlainPrinter(Letters(frozenset(setting.problem.operation.dimensions)), unicode=True)
    return printer.print(setting.layout.write(formula) if isinstance(formula, Expr) else formula)


def chips_of(setting: Setting) -> str:
    """Over how many chips the arithmetic is split, as ``8 × M``; nothing for one."""
    factors = (formula_text(setting, factor) for factor in Mul.make_args(setting.chips))
    return "" if setting.chips == 1 else " × ".join(factors)


def assumptions(say: Captions, *settings: Setting, undrawn: Sequence[str] = ()) -> list[str]:
    """What a figure stands on, row by row: the figures of each chip, and which of them were given; the regime, training,
    how operations are counted; and what is not drawn.

    >>> from symroof.derivation.premises import setting_of
    >>> from symroof.reading.problems import read_problem
    >>> stated = {"operation": "matmul", "hardware": "tpu-v5e", "given": {"HBM": "8.1e11"}, "assume": "D = F"}
    >>> problem = read_problem(stated)
    >>> assumptions(captions("en"), setting_of(problem))
    ['peak.bf16 197 TFLOPs/s · HBM 810 GB/s (given) · with D = F']
    """
    chips, problem = dict[str, dict[str, str]](), settings[0].problem
    for setting, chip in ((setting, setting.problem.hardware) for setting in settings if setting.problem.hardware):
        for name, spec in setting.figures.items():
            figure = {"peak": setting.peak_name, "bandwidth": setting.bandwidth_name}.get(name, name)
            words, given = _figure(figure, spec, setting.bandwidth_name), spec.source == "given" and not chip.unnamed
            chips.setdefault(say.chip(chip), {})[figure] = say("given", words) if given else words
    rows = [" · ".join([chip, *figures.values()]) for chip, figures in chips.items()] if len(chips) > 1 else []
    sized = [r for r in problem.assume if r.relation == "=" and isinstance(r.right, Number)]  # of the title
    regime = [formula_text(settings[0], relation) for relation in problem.assume if relation not in sized]
    shown = [words for figures in chips.values() for words in figures.values()] if not rows else []
    return [*rows, say("assumed", shown, regime, problem.training, problem.count == "exact", list(undrawn))]


def _figure(name: str, figure: Spec, link: str) -> str:
    """A figure of a chip with its unit: one that was given without has that of a bandwidth or a peak."""
    plain = "B/s" if name == link else "FLOPs/s" if name.startswith("peak") else ""
    unit = figure.unit.replace("bytes", "B") or plain
    return f"{name} {moment(float(figure.value)) if unit == 's' else rate(float(figure.value), unit, 6)}"


# Of how many statements a roofline is told, and of how many pieces a bar: the largest.
STATEMENTS, PIECES = 12, 3


def of_roofs(roofline: Roofline, say: Captions) -> Iterator[str]:
    for roof, links in roofline.named:
        yield say("told_ridge", say.chip(roof.chip), links, factor(roof.ridge))
    statements = [track for track in roofline.tracks if track.statement]
    for track in (track for track in roofline.tracks if not track.statement):
        yield from _of_track(roofline, track, say)
    for track in statements[:STATEMENTS]:
        yield from _of_track(roofline, track, say)
    for measurement in roofline.measured:
        yield say(
            "told_measured",
            point_name(measurement, roofline.shared),
            say.share(float(measurement.share)),
            measurement.impossible,
        )


def _of_track(roofline: Roofline, track: Track, say: Captions) -> Iterator[str]:
    """A point under the roof that holds it down, on each of several chips; or where a path begins and ends."""
    own, places = own_sizes(track.values, roofline.shared), list(track.places)
    if track.runs:
        ends = [track.under(places[0].roof)[end] for end in (0, -1)]
        sizes = [f"{roofline.variable} = {plain(end.size or 0)}" for end in ends]
        yield say("told_path", own, *sizes, *(f"{end.intensity:.3g}" for end in ends))
        return
    # The links of one chip, of which one is used instead of another.
    links = len(places) > 1 and not roofline.several_chips and not roofline.setting.several_chips
    if not roofline.several_chips and not links:
        places = sorted(places, key=lambda place: place.throughput)[:1]
    for place in places:
        chip = say.chip(place.roof.chip) if roofline.several_chips else ""
        by = "" if place.bound_by == MATH else say.resource(place.bound_by)
        where = say("over_link", own, place.roof.link) if links else own
        yield say("told_point", where, track.statement, chip, by, say.share(place.throughput / place.peak))


def of_curves(curves: Curves, say: Captions) -> Iterator[str]:
    setting, shared = curves.setting, same_sizes([curve.values for curve in curves.curves])
    chips = 0 if setting.chips.free_symbols else int(setting.chips)
    if curves.kind == "throughput" and setting.peak is not None:
        peak = float(setting.peak.value) * (chips or 1)
        yield say("told_whole", rate(peak, "FLOPs/s"), chips or "")
    for curve in curves.curves:
        yield from _of_curve(curves, curve, own_sizes(curve.values, shared), say)
    if curves.rule is not None and curves.rule.first is not None:
        yield say("told_rule", curves.variable, plain(curves.rule.first), list(curves.large))


def _of_curve(curves: Curves, curve: Curve, where: str, say: Captions) -> Iterator[str]:
    """What takes longest from where on; of a throughput that never is at the peak, how far it comes."""
    x, (first, last), outcome = curves.variable, (curve.xs[0], curve.xs[-1]), curves.outcome(curve)
    if outcome != "longest":
        yield say(f"told_{outcome}", where, *outcome_facts(curves, curve, say))
    elif not curve.stretches:
        yield say("told_ends", where, x, plain(first), curve.longest(first), plain(last), curve.longest(last))
    else:
        apart = curve.few if any(few.longest.time != curve.stretches[0].time for few in curve.few) else ()
        yield from (say("told_longest_at", where, few.longest.time, x, few.chips) for few in apart)
        for i, stretch in enumerate(curve.stretches):
            start = plain(stretch.first) if stretch.first is not None else f"{float(stretch.ends[0]):,.4g}"
            yield say("told_longest", where, stretch.time, x if i or apart else "", start)


def outcome_facts(curves: Curves, curve: Curve, say: Captions) -> tuple[object, ...]:
    """The facts of the phrase for what becomes of a throughput: which part of the peak it reaches, or where it is at the peak."""
    peak = curves.setting.peak
    match curves.outcome(curve):
        case "never" if peak is not None:
            return say.share((curve.ceiling or 0) / float(peak.value), up=True), curve.attained
        case "reached":
            part = curve.lines["throughput"][-1] / curve.lines["peak"][-1]
            return say.share(part), curves.variable, plain(curve.xs[-1])
        case "from":
            return curves.variable, plain(curve.first or curve.bound or 0)
    return ()


def of_bars(breakdown: Breakdown, say: Captions) -> Iterator[str]:
    shared = same_sizes([bar.values for bar in breakdown.bars])
    for bar in (bar for bar in breakdown.bars if bar.seconds):
        most = sorted(bar.parts, key=lambda part: -part[1])[:PIECES]
        shares = say.shares(list(map(float, bar.shares)))
        share = dict(zip((name for name, _ in bar.parts), shares, strict=True))
        parts = [f"{name} {share[name]}" for name, _ in most]
        yield say("told_bar", own_sizes(bar.values, shared), bar.time, moment(float(bar.seconds)), parts)


def of_latency(latency: Latency, say: Captions) -> Iterator[str]:
    shared = same_sizes([curve.values for curve in latency.curves])
    for curve in latency.curves:
        where = ", ".join(filter(None, (say.chip(curve.chip), own_sizes(curve.values, shared))))
        if not curve.marks:
            yield say("told_holds_none", where, latency.variable)
            continue
        for size in dict.fromkeys((curve.marks[0], curve.marks[-1])):
            time, tokens = curve.place(size)
            full = curve.full == size
            yield say("told_served", where, latency.variable, size, moment(time), factor(tokens), full)


def of_map(plane: Plane, say: Captions) -> Iterator[str]:
    largest = [formula_text(plane.setting, form) for form in dict.fromkeys(region.largest for region in plane.regions)]
    yield say("told_territories" if plane.times else "told_map", *plane.names, largest)
    if plane.times:
        return
    if plane.setting.ridge is not None:
        side = "" if plane.threshold else plane.side
        if plane.threshold or side:
            yield say("told_edge", decimal(plane.setting.ridge), side)
