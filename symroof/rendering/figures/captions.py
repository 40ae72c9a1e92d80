"""The words of figures in a language: a label has a row for each line of its macro."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, TypeAlias

from sympy import Expr, Mul

from symroof.derivation.premises import Setting
from symroof.formula import Formula, Number
from symroof.model.hardware import Accelerator, Spec
from symroof.model.resources import LATENCY, MATH, VECTOR
from symroof.rendering.figures.strokes import moment, rate, share, shares
from symroof.rendering.formulas.letters import Letters
from symroof.rendering.formulas.plain import PlainPrinter
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


def own_sizes(values: Mapping[str, Any], shared: Mapping[str, Any]) -> str:
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

    >>> from symroof.derivation.premises import setting_of
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
