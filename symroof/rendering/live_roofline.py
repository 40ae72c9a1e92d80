"""The figure of a page before its script runs: where an operation stands at the sizes with which the page begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import ceil, floor, log10

from symroof.derivation.premises import Setting
from symroof.formula import Frozen
from symroof.model.resources import LATENCY, MATH, VECTOR
from symroof.rendering.pages.number_formats import quantity, to_digits
from symroof.symbols import fraction, symbol

# The sheet, and the room around its frame: to the left, above, to the right, beneath.
WIDTH, HEIGHT = 640, 300
LEFT, TOP, RIGHT, BELOW = 66, 30, 14, 44
# How many times the outermost points lie within the frame, and how many ticks an axis has at most.
MARGIN, TICKS = 6, 6
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class Mark(Frozen):
    """A roof and the point under it: the link, FLOPs/byte and ridge as text, and the places of ``line`` and point on the sheet."""

    label: str
    intensity: str
    ridge: str
    line: tuple[tuple[float, float], ...]
    place: tuple[float, float]


class StaticRoofline(Frozen):
    """A roofline as places on a sheet of 640 × 300: roofs, ticks of both axes, and how high the peak is."""

    marks: tuple[Mark, ...]
    across: tuple[tuple[float, str], ...]
    up: tuple[tuple[float, str], ...]
    peak: tuple[float, str]
    frame: tuple[int, int, int, int] = (LEFT, TOP, WIDTH - RIGHT, HEIGHT - BELOW)


def static_roofline(setting: Setting, times: Mapping[str, Fraction], flops: Fraction) -> StaticRoofline | None:
    """The roofs of the memory and of every link that is crossed, and the points under them; None where nothing is moved, or
    nothing computed. ``times`` are those of the resources, ``flops`` what is computed in them.

    >>> from symroof.derivation.premises import setting_of
    >>> from symroof.reading.problems import read_problem
    >>> problem = read_problem({"operation": "matmul", "hardware": "tpu-v5e"})
    >>> figure = static_roofline(setting_of(problem), {"math": Fraction(2), "comms": Fraction(4)}, Fraction(197 * 10**12 * 2))
    >>> [(mark.label, mark.intensity, mark.ridge) for mark in figure.marks], figure.peak[1]
    ([('HBM', '120', '240')], '1.97e14 FLOPs/s')
    """
    rates, top = setting.rates, 0.0
    if times[MATH] > 0:
        top = float(flops / times[MATH])
    crossed = {name: time for name, time in times.items() if name not in (MATH, VECTOR, LATENCY) and time > 0}
    if not top or not crossed:
        return None
    attained = float(flops / max(times.values()))
    roofs = []
    for name, time in crossed.items():
        bandwidth = fraction(setting.in_numbers(symbol(rates.rate(name))))
        label = (rates.called or setting.link) if name == rates.comms else name
        height = min(float(flops / time), top, attained if setting.rates.roofless else top)
        roofs.append((label, float(flops / (time * bandwidth)), float(bandwidth), height))
    xs = [x for _, x, rate, _ in roofs for x in (x, top / rate)]
    ys = [*(y for *_, y in roofs), top / 10]
    left, right, low, high = min(xs) / MARGIN, max(xs) * MARGIN, min(ys) / MARGIN, top * 4
    x_of = _scale(left, right, LEFT, WIDTH - RIGHT)
    y_of = _scale(low, high, HEIGHT - BELOW, TOP)
    marks = []
    for label, x, rate, y in roofs:
        foot, knee = max(left, low / rate), top / rate
        line = ((foot, foot * rate), (knee, top), (right, top))
        places = tuple((x_of(a), y_of(b)) for a, b in line)
        marks.append(Mark(label, _digits(x), _digits(knee), places, (x_of(x), y_of(y))))
    peak = quantity(Fraction(top), "FLOPs/s")
    across = tuple((x_of(x), text) for x, text in _ticks(left, right))
    return StaticRoofline(
        tuple(marks), across, tuple((y_of(y), text) for y, text in _ticks(low, high)), (y_of(top), peak)
    )


def _scale(low: float, high: float, start: int, end: int) -> Callable[[float], float]:
    """From numbers on a logarithmic axis to places."""
    return lambda x: round(start + (end - start) * log10(x / low) / log10(high / low), 1)


def _digits(x: float) -> str:
    return to_digits(Fraction(x), 3)


def _ticks(low: float, high: float) -> Iterator[tuple[float, str]]:
    """Powers of ten, so many that they can be read."""
    first, last = ceil(log10(low)), floor(log10(high))
    for power in range(first, last + 1, max(1, ceil((last - first) / TICKS))):
        yield 10.0**power, "10" + str(power).translate(RAISED)
