"""Units: seconds, bytes and FLOPs, their prefixes, and what a unit is made of.

Decimal prefixes are powers of 1000 and binary ones of 1024 (IEC 80000-13).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

Exponents = Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit by the name that is printed: ``scale`` of the base unit. ``aliases`` are other spellings."""

    name: str
    base: str
    scale: Fraction
    aliases: tuple[str, ...] = ()


# From the longest to the shortest.
TIMES = (
    Unit("s", "s", Fraction(1)),
    Unit("ms", "s", Fraction(1, 10**3)),
    Unit("us", "s", Fraction(1, 10**6), ("µs", "μs")),
    Unit("ns", "s", Fraction(1, 10**9)),
)
BYTES = (
    Unit("bytes", "bytes", Fraction(1)),
    *(Unit(f"{prefix}B", "bytes", Fraction(10 ** (3 * i))) for i, prefix in enumerate("kMGT", 1)),
    *(Unit(f"{prefix}iB", "bytes", Fraction(2 ** (10 * i))) for i, prefix in enumerate("KMG", 1)),
)
WORK = tuple(
    Unit(f"{prefix}{noun}", "FLOPs", Fraction(10**power), aliases=(f"{prefix}FLOP",) if noun == "FLOPs" else ())
    for noun in ("FLOPs", "OPs")
    for prefix, power in (("", 0), ("G", 9), ("T", 12), ("P", 15))
)
UNITS: Mapping[str, Unit] = {name: unit for unit in (*TIMES, *BYTES, *WORK) for name in (unit.name, *unit.aliases)}


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
    return {above: Fraction(1)} | ({below: Fraction(-1)} if below else {})


def spelled(unit: Exponents) -> str:
    """A unit as people write it."""
    above = " ".join(name if e == 1 else f"{name}^{e}" for name, e in sorted(unit.items()) if e > 0)
    below = " ".join(name if e == -1 else f"{name}^{-e}" for name, e in sorted(unit.items()) if e < 0)
    return (above or "1") + (f"/{below}" if below else "")
