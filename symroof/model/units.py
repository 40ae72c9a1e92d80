"""Units: seconds, bytes and FLOPs, their prefixes, and what a unit is made of; and words for what is counted.

Decimal prefixes are powers of 1000 and binary ones of 1024 (IEC 80000-13).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from symroof.formula import Frozen

Exponents = Mapping[str, Fraction]


class Unit(Frozen):
    """A unit by the name that is printed: ``scale`` of the base unit. ``aliases`` are other spellings."""

    name: str
    base: str
    scale: Fraction
    aliases: tuple[str, ...] = ()


# From the longest to the shortest.
TIMES = (
    Unit("s", "s", Fraction(1), ("sec", "second", "seconds")),
    Unit("ms", "s", Fraction(1, 10**3)),
    Unit("us", "s", Fraction(1, 10**6), ("µs", "μs")),
    Unit("ns", "s", Fraction(1, 10**9)),
)
# Longer than anyone measures one operation by, but not a training.
DURATIONS = tuple(
    Unit(name, "s", Fraction(seconds), aliases)
    for name, seconds, aliases in (
        ("minutes", 60, ("minute",)),
        ("hours", 3600, ("hour",)),
        ("days", 24 * 3600, ("day",)),
        ("years", 365 * 24 * 3600, ("year",)),
    )
)
BYTES = (
    Unit("bytes", "bytes", Fraction(1), ("byte", "Bytes")),
    Unit("kB", "bytes", Fraction(10**3), ("KB",)),
    *(Unit(f"{prefix}B", "bytes", Fraction(10 ** (3 * i))) for i, prefix in enumerate("MGTP", 2)),
    Unit("KiB", "bytes", Fraction(2**10), ("kiB",)),
    *(Unit(f"{prefix}iB", "bytes", Fraction(2 ** (10 * i))) for i, prefix in enumerate("MGTP", 2)),
    Unit("bits", "bytes", Fraction(1, 8), ("bit",)),
)
# Networks are sold by the bit.
BIT_RATES = tuple(Unit(f"{prefix}bps", "bytes/s", Fraction(10 ** (3 * i), 8)) for i, prefix in enumerate("kMG", 1))
WORK = tuple(
    Unit(f"{prefix}{noun}", "FLOPs", Fraction(10**power), tuple(prefix + other for other in others))
    for noun, others in (("FLOPs", ("FLOP", "FLOPS")), ("OPs", ("OP", "OPS")))
    for prefix, power in (("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18))
)
# What is counted has no unit.
COUNTS = tuple(
    Unit(f"{noun}s", "1", Fraction(1), (noun,))
    for noun in (
        "token",
        "param",
        "parameter",
        "weight",
        "element",
        "request",
        "sequence",
        "layer",
        "head",
        "chip",
        "GPU",
        "TPU",
    )
)
UNITS: Mapping[str, Unit] = {
    name: unit
    for unit in (*TIMES, *DURATIONS, *BYTES, *BIT_RATES, *WORK, *COUNTS)
    for name in (unit.name, *unit.aliases)
}


def unit_of_time(seconds: Fraction) -> Unit:
    """The unit in which a time has digits before the point; below all of them, the second.

    >>> unit_of_time(Fraction(1, 300)).name, unit_of_time(Fraction(1, 10**12)).name
    ('ms', 's')
    """
    return next((unit for unit in TIMES if abs(seconds) >= unit.scale), TIMES[0])


def exponents(unit: str) -> Exponents:
    """What a unit is made of.

    >>> {name: int(e) for name, e in exponents("FLOPs/s").items()}
    {'FLOPs': 1, 's': -1}
    """
    above, _, below = unit.partition("/")
    parts = ((above, Fraction(1)), (below, Fraction(-1)))
    return {name: power for name, power in parts if name not in ("", "1", "%")}


def spelled(unit: Exponents) -> str:
    """A unit as people write it."""
    above = " ".join(name if e == 1 else f"{name}^{e}" for name, e in sorted(unit.items()) if e > 0)
    below = " ".join(name if e == -1 else f"{name}^{-e}" for name, e in sorted(unit.items()) if e < 0)
    return (above or "1") + (f"/{below}" if below else "")
