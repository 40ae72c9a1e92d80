"""What all figures share: colours and dashes that stay apart, units, titles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symroof.derivation.setting import Setting

# Pairs that stay apart for colour-blind readers and in grey, each with a dash of its own.
STROKES: Sequence[tuple[str, Any]] = (
    ("#0072B2", "-"),
    ("#D55E00", (0, (6, 2.5))),
    ("#009E73", (0, (2, 1.6))),
    ("#000000", (0, (7, 2, 1.5, 2))),
)
# Regions from dark to light: wasted arithmetic is warm, none is cool.
SHADES = ("#DE9166", "#F2D08A", "#EEF5FA")
# Regions side by side, apart in hue and in lightness.
FIELDS = ("#F4E3C1", "#B9D6EA", "#E3A98A", "#D7E8C9", "#C9BBDD", "#F7F7F7")
DOTTED = (0, (1, 1.8))
SHAPES = ("s", "D", "^", "v", "o")
RATES = (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("", 1.0))
MOMENTS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def title_of(setting: Setting, *more: str) -> str:
    """The operation, the chip, and sizes."""
    chip = setting.problem.hardware
    where = (
        f" on {setting.chips if setting.chips > 1 else 'a'} {chip.title}"
        if chip is not None and chip.name != "given"
        else ""
    )
    return f"{setting.problem.operation}{where}" + "".join(f", {part}" for part in more if part)


def scaled(value: float, units: Sequence[tuple[str, float]]) -> tuple[str, float]:
    """The unit in which a value has digits before the point.

    >>> scaled(1.97e14, RATES)
    ('T', 1000000000000.0)
    """
    return next(((name, size) for name, size in units if abs(value) >= size), units[-1])


def short(value: float) -> str:
    """Three digits; whole numbers in full.

    >>> short(820.0), short(12.345), short(1970.0)
    ('820', '12.3', '1970')
    """
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
