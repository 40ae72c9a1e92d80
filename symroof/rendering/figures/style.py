"""The style of figures: colours and dashes that stay apart, and how numbers are written in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor, log10
from typing import TypeAlias

from symroof.derivation.premises import Setting
from symroof.model.quantities import TIMES
from symroof.model.resources import COMMS, LATENCY, MATH, VECTOR

INK, GREY = "#1A1A1A", "#666666"
# Pairs that stay apart for colour-blind readers and in grey, each with a dash of its own.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#8C6D00", "#56B4E9", "#7A4FBF")
# Colours as dark as words on white have to be: a contrast of 4.5 to 1, by the rule of WCAG 2.
OF_WORDS = {"#56B4E9": "#397ba0", "#D55E00": "#bf5400", "#009E73": "#007f5c", "#CC79A7": "#9b5b7f"}
# A style of lines by its name, or an offset and the lengths of strokes and gaps, in widths of the line.
Dash: TypeAlias = "str | tuple[float, tuple[float, ...]]"
DASHES: Sequence[Dash] = ("-", (0, (6, 2.5)), (0, (2, 1.6)), (0, (7, 2, 1.5, 2)))
# Regions from dark to light, as light as on a page that answers: wasted arithmetic is warm, none is cool.
SHADES = ("#F8E3D4", "#F8F0DC", "#F1F7FC")
# Regions side by side, apart in hue and in lightness.
FIELDS = ("#B9D6EA", "#E3A98A", "#D7E8C9", "#CDB56A", "#F4E3C1", "#C9BBDD", "#F2C4D0", "#9CCDBF")
DOTTED = (0, (1, 1.8))
SUPERSCRIPT = dict(zip("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹", strict=True))
SHAPES = ("s", "D", "^", "v", "o")
RATES = (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("", 1.0))
MOMENTS = (
    *((next((a for a in unit.aliases if not a.isascii()), unit.name), float(unit.scale)) for unit in TIMES),
    *(("ps", 1e-12), ("fs", 1e-15)),
)


# What has a colour of its own beside the links of a mesh.
LINKS = ("VMEM", "PCIe")


def place_of(setting: Setting, time: str, others: Iterable[str] = ()) -> int:
    """The place of a time, or of a link, among the colours: that of arithmetic, of memory and of each link is one in all
    figures; ``others`` are links that are given."""
    rates, name = setting.rates, time.removeprefix("T_")
    order = list(dict.fromkeys([MATH, "HBM", VECTOR, LATENCY, *(link for link, _ in rates.links), *LINKS, *others]))
    return 1 if name in (COMMS, rates.memory) else order.index(name) if name in order else len(order)


def stroke(index: int) -> tuple[str, Dash]:
    """The colour and the dash of a line; the pairs of the first 32 are all different.

    >>> len({stroke(i) for i in range(32)})
    32
    """
    turn, place = divmod(index, len(COLOURS))
    return COLOURS[place], DASHES[(index + turn) % len(DASHES)]


def share(part: float, *, up: bool = False) -> str:
    """A part of the whole in percent, with two digits where it is small; rounded ``up`` where it is an upper bound.

    >>> share(0.6812), share(0.0021), share(0.999), share(1), share(0.5328, up=True), share(0.002082, up=True)
    ('68 %', '0.21 %', '99.9 %', '100 %', '54 %', '0.21 %')
    """
    percent = part * 100
    if up:
        step = 10.0 ** (floor(log10(percent)) - 1) if percent < 10 else 1.0
        percent = ceil(percent / step) * step
    return f"{percent:.2g} %" if percent < 10 else f"{percent:.3g} %" if 99.5 <= percent < 100 else f"{percent:.0f} %"


def shares(parts: Sequence[float]) -> list[str]:
    """The parts of one whole in percent: whole percents where they add up to 100, else one decimal for all, and two
    digits of what would be none.

    >>> shares([0.25, 0.75]), shares([1 / 6] * 6)[:2], shares([0.0002, 0.9998])
    (['25 %', '75 %'], ['16.7 %', '16.7 %'], ['0.02 %', '100.0 %'])
    """
    whole = [round(part * 100) for part in parts]
    if sum(whole) == 100 and all(whole):
        return [f"{percent} %" for percent in whole]
    return [f"{part * 100:.1f} %" if part >= 0.0005 else share(part) for part in parts]


def scaled(value: float, units: Sequence[tuple[str, float]]) -> tuple[str, float]:
    """The unit in which a value has digits before the point.

    >>> scaled(1.97e14, RATES)
    ('T', 1000000000000.0)
    """
    return next(((name, size) for name, size in units if abs(value) >= size), units[-1])


def rate(value: float, of: str, digits: int = 3) -> str:
    """A rate with that many digits, or whole, in the unit in which it has digits before the point.

    >>> rate(8.2e11, "B/s"), rate(1.97e15, "FLOPs/s"), rate(12.345, "B/s")
    ('820 GB/s', '1.97 PFLOPs/s', '12.3 B/s')
    """
    unit, size = scaled(value, RATES)
    amount = value / size
    return f"{amount:.{digits}g} {unit}{of}" if amount < 1000 else f"{amount:.0f} {unit}{of}"


def moment(seconds: float) -> str:
    """A time with three digits, or whole, in the unit in which it has digits before the point.

    >>> moment(1.66e-4), moment(2.5e3), moment(4.85e-11), moment(4.85e-14), moment(4.85e-20)
    ('166 µs', '2,500 s', '48.5 ps', '48.5 fs', '4.85·10⁻⁵ fs')
    """
    unit, scale = scaled(seconds, MOMENTS)
    return f"{factor(seconds / scale)} {unit}"


def factor(value: float) -> str:
    """A number without a unit with three digits, or whole.

    >>> factor(3.8123), factor(2.79e3), factor(4.85e-5)
    ('3.81', '2,790', '4.85·10⁻⁵')
    """
    return f"{value:,.0f}" if value >= 999.5 else power(value) if 0 < value < 1e-4 else f"{value:.3g}"


def plain(value: float) -> str:
    """A number on an axis, its thousands apart.

    >>> plain(0.01), plain(8192.0), plain(50000), plain(2e-7)
    ('0.01', '8,192', '50,000', '2e-7')
    """
    return f"{value:,.12g}" if value == 0 or 1e-5 <= abs(value) < 1e15 else f"{value:.0e}".replace("e-0", "e-")


def power(value: float) -> str:
    """A number on a logarithmic axis that is long.

    >>> power(1e6), power(2e5), power(0.01), power(1)
    ('10⁶', '2·10⁵', '10⁻²', '1')
    """
    exponent = floor(log10(value) + 1e-9)
    digit = f"{value / 10**exponent:.3g}"
    if exponent == 0:
        return digit
    raised = "10" + "".join(SUPERSCRIPT[sign] for sign in str(exponent))
    return raised if digit == "1" else f"{digit}·{raised}"


def ticks(values: Sequence[float], logarithmic: bool) -> list[str]:
    """The numbers of an axis in one manner: powers of ten where a logarithmic one reaches 10^5; a prefix where another
    reaches a million; else with their thousands apart.

    >>> ticks([1, 100, 10000], True), ticks([10, 1000, 100000], True)
    (['1', '100', '10,000'], ['10', '10³', '10⁵'])
    >>> ticks([0, 500000, 1000000], False), ticks([0, 2000, 4000], False)
    (['0', '0.5 M', '1 M'], ['0', '2,000', '4,000'])
    """
    largest = max(map(abs, values), default=0)
    if logarithmic and largest >= 1e5 * (1 - 1e-9):
        return [f"{value:.0f}" if value in (1, 10) else power(value) for value in values]
    if not logarithmic and largest >= 1e6:
        unit, size = scaled(largest, RATES)
        return [f"{value / size:g} {unit}" if value else "0" for value in values]
    return list(map(plain, values))


def between(low: float, high: float, part: float, logarithmic: bool) -> float:
    """The place that far from one end of an axis to the other."""
    return low * (high / low) ** part if logarithmic else low + (high - low) * part
