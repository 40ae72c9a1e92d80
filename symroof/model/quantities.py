"""The quantities of a roofline: what each one is, in which unit, and how it is printed.

    T_math  = flops/peak             T_lower = max(T_math, T_comms)    intensity = flops/bytes
    T_comms = bytes/bandwidth        T_upper = T_math + T_comms        ridge = peak/bandwidth

In these, flops and bytes are those of one chip over the link of the problem, whatever their own names are.
(Williams, Waterman, Patterson, Roofline, CACM 52(4), 2009.)

Decimal prefixes of units are powers of 1000 and binary ones of 1024 (IEC 80000-13).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from symroof.formula import Call, Formula, Frozen, Name, Quotient, Sum, mapped

FLOPS, BYTES, PEAK, BANDWIDTH, T_MATH, T_COMMS, T_LOWER = map(
    Name, ("flops", "bytes", "peak", "bandwidth", "T_math", "T_comms", "T_lower")
)
Exponents = Mapping[str, Fraction]


class Quantity(Frozen):
    """``formula`` is what the textbook says it is, None where it is counted or known. ``letter`` is printed in
    formulas; where a dimension has that letter, ``instead`` is, with the problem's link for LINK."""

    name: str
    unit: str
    formula: Formula | None = None
    letter: str | None = None
    instead: str | None = None


TABLE: Mapping[str, Quantity] = {
    row.name: row
    for row in (
        Quantity("flops", "FLOPs", letter=r"\text{FLOPs}"),
        Quantity("flops_exact", "FLOPs", letter=r"\text{FLOPs}"),
        Quantity("flops_per_chip", "FLOPs", letter=r"\text{FLOPs per chip}"),
        Quantity("reads", "bytes", letter=r"\text{reads}"),
        Quantity("writes", "bytes", letter=r"\text{writes}"),
        Quantity("bytes", "bytes", Sum((Name("reads"), Name("writes"))), r"\text{bytes}"),
        Quantity("bytes_per_chip", "bytes", letter=r"\text{bytes per chip}"),
        Quantity("sent", "bytes", letter=r"\text{bytes sent}"),
        Quantity("intensity", "FLOPs/bytes", Quotient(FLOPS, BYTES), "I", r"\text{intensity}"),
        Quantity("ridge", "FLOPs/bytes", Quotient(PEAK, BANDWIDTH), "R", r"I_{\text{ridge}}"),
        Quantity("peak", "FLOPs/s", letter="C", instead=r"C_{\text{peak}}"),
        Quantity("bandwidth", "bytes/s", letter="W", instead=r"W_{\text{LINK}}"),
        Quantity("T_math", "s", Quotient(FLOPS, PEAK)),
        Quantity("T_comms", "s", Quotient(BYTES, BANDWIDTH)),
        Quantity("T_lower", "s", Call("max", (T_MATH, T_COMMS))),
        Quantity("T_upper", "s", Sum((T_MATH, T_COMMS))),
        Quantity("throughput", "FLOPs/s", Quotient(FLOPS, T_LOWER), r"\text{throughput}"),
    )
}
# No dimension may take one of these names.
QUANTITIES = tuple(name for name in TABLE if name != "flops_exact")
# Those that any operation has: the others are of chips of a mesh, or of a network that is asked about.
SPOKEN = tuple(name for name in QUANTITIES if name not in ("flops_per_chip", "bytes_per_chip", "sent"))
# What only programs have, with its unit: stocks, work of the passes, what one chip of a mesh holds and does.
OF_PROGRAMS: Mapping[str, str] = {
    "params": "1",
    "trainable": "1",
    **dict.fromkeys(("weights", "caches", "saved", "gradients", "memory"), "bytes"),
    **dict.fromkeys(("ops", "flops_forward", "flops_backward"), "FLOPs"),
    **dict.fromkeys(("weights_per_chip", "caches_per_chip", "gradients_per_chip", "saved_per_chip"), "bytes"),
    "memory_per_chip": "bytes",
    **dict.fromkeys(("flops_per_chip", "ops_per_chip"), TABLE["flops_per_chip"].unit),
    "bytes_per_chip": TABLE["bytes_per_chip"].unit,
    "bubble": "1",
}
# What the bytes that are moved belong to; each is said of programs where sizes are given, as what they make in a second is.
MOVED = ("weights", "caches", "gradients", "activations")
TOKENS = "tokens_per_second"
AT_SIZES: Mapping[str, str] = {
    **{f"{what}_moved{each}": "bytes" for each in ("", "_per_chip") for what in MOVED},
    TOKENS: "1/s",
}
# What stays in memory: together it is the memory that is needed.
STOCKS = ("weights", "caches", "gradients", "saved")
# The same of one tensor.
OF_TENSORS: Mapping[str, str] = {"size": "bytes", "elements": "1", "pairs": "1"}
# What is worked out from the counts and the figures, in the order in which each rests on those before.
DERIVED = tuple(name for name, row in TABLE.items() if row.formula is not None and name != "bytes")


def meaning(name: str, flops: str = "flops", moved: str = "bytes") -> Formula | None:
    """What the textbook says that a quantity is, where one chip does ``flops`` and moves ``moved``.

    >>> meaning("T_math", flops="flops_per_chip")
    Quotient(above=Name(name='flops_per_chip'), below=Name(name='peak'))
    """
    formula = TABLE[name].formula
    if formula is None or name in ("bytes", "throughput"):  # these are the whole operation's
        return formula
    return mapped(formula, lambda part: {FLOPS: Name(flops), BYTES: Name(moved)}.get(part, part))  # type: ignore[call-overload]


def unit_of_amount(name: str) -> str | None:
    """The base unit of a quantity; a cost of one statement has that of all of them. None for what is no quantity.

    >>> unit_of_amount("flops(h)"), unit_of_amount("T_HBM"), unit_of_amount("memory"), unit_of_amount("n")
    ('FLOPs', 's', 'bytes', None)
    """
    plain = name.partition("(")[0]
    if name.startswith("T_"):
        return "s"
    known = OF_PROGRAMS.get(plain) or OF_TENSORS.get(plain) or AT_SIZES.get(plain)
    return TABLE[plain].unit if known is None and plain in TABLE else known


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
STORAGE = (
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
# Power and energy; single letters are names.
ENERGY = (
    *(Unit(f"{prefix}W", "J/s", Fraction(10**power)) for prefix, power in (("k", 3), ("M", 6), ("G", 9))),
    *(
        Unit(f"{prefix}Wh", "J", Fraction(3600 * 10**power))
        for prefix, power in (("", 0), ("k", 3), ("M", 6), ("G", 9))
    ),
    *(
        Unit(f"{prefix}J", "J", Fraction(10) ** power)
        for prefix, power in (("p", -12), ("n", -9), ("u", -6), ("m", -3), ("k", 3), ("M", 6), ("G", 9))
    ),
    Unit("watts", "J/s", Fraction(1), ("watt",)),
    Unit("joules", "J", Fraction(1), ("joule",)),
)
RATES = tuple(
    Unit(name, "1/s", Fraction(10**power))
    for noun in ("Hz", "T/s")
    for prefix, power in (("", 0), ("k", 3), ("M", 6), ("G", 9))
    if (name := prefix + noun) != "T/s"
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
    for unit in (*TIMES, *DURATIONS, *STORAGE, *BIT_RATES, *WORK, *ENERGY, *RATES, *COUNTS)
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
