"""Mistakes about figures: the worlds in which a wrong claim would be right.

A stale edition, the figure of another type, a peak with sparsity, a ridge rounded too early.
Every mistake gives what there is to say of it, and the world that it leads to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import floor
from typing import Any

from symroof.algebra.rounding import to_digits
from symroof.formula import Compare, Name, Number, names
from symroof.verification.context import Context
from symroof.verification.definitions import printed
from symroof.verification.enclosures import enclosed, is_numeric

Worlds = Iterator[tuple[Mapping[str, Any], Context]]


def other_figure(link: Compare, context: Context) -> Worlds:
    """Another listed figure of the same chip: a stale edition, another dtype, the peak with sparsity."""
    chip, setting = context.hardware, context.setting
    if chip is None:
        return
    used = {name: name for name in chip.figures}
    if setting is not None:
        used = {"peak": setting.peak_name, "bandwidth": setting.bandwidth_name}
    for name, instead in used.items():
        known = chip.figures.get(instead)
        if known is None or name not in context.definitions:
            continue
        others = [(instead, edition, "listed") for edition in known.alternatives]
        others += [(n, f, "other") for n, f in chip.figures.items() if n != instead and f.unit == known.unit]
        for label, figure, kind in others:
            if figure.value != known.value:
                facts = {"kind": kind, "figure": label, "instead": instead, "digits": figure.digits}
                facts |= {"right": known.digits, "unit": known.unit}
                yield facts, context.defining(dict.fromkeys((name, instead), printed(figure)))


def figures_exchanged(link: Compare, context: Context) -> Worlds:
    """The bandwidth where the peak belongs, or the peak where the bandwidth does."""
    values = {name: context.definitions.get(name) for name in ("peak", "bandwidth")}
    for name, other in (("peak", "bandwidth"), ("bandwidth", "peak")):
        value = values[other]
        if isinstance(values[name], Number) and isinstance(value, Number):
            yield {"written": other, "meant": name}, context.defining({name: value})


def other_rate(link: Compare, context: Context) -> Worlds:
    """The peak with sparsity is twice the dense one."""
    value = context.definitions.get("peak")
    if isinstance(value, Number):
        for factor in (Fraction(2), Fraction(1, 2)):
            facts = {"twice": factor == 2, "right": value.digits}
            yield facts, context.defining({"peak": Number(value.value * factor)})


def rounded_early(link: Compare, context: Context) -> Worlds:
    """The ridge rounded before the condition is solved."""
    if not isinstance(link.left, Compare) or set(names(link.left)) != {"T_math", "T_comms"}:
        return
    peak, bandwidth = (context.put(Name(name)) for name in ("peak", "bandwidth"))
    if not (is_numeric(peak) and is_numeric(bandwidth)):
        return
    width = enclosed(bandwidth).middle
    ridge = enclosed(peak).middle / width
    shown = (number for digits in (2, 3, 4) for number in (Fraction(to_digits(ridge, digits)), _cut(ridge, digits)))
    for rounded in dict.fromkeys(shown):
        if rounded != ridge:
            yield {"value": ridge, "rounded": rounded}, context.defining({"peak": Number(rounded * width)})


def _cut(value: Fraction, digits: int) -> Fraction:
    unit = Fraction(10) ** (len(str(floor(value))) - digits)
    return floor(value / unit) * unit
