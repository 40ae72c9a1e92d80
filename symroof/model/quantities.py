"""The quantities of a roofline: what each one is, in which unit, and how it is printed.

    T_math  = flops/peak             T_lower = max(T_math, T_comms)    intensity = flops/bytes
    T_comms = bytes/bandwidth        T_upper = T_math + T_comms        ridge = peak/bandwidth

In these, flops and bytes are those of one chip over the link of the problem, whatever their own names are.
(Williams, Waterman, Patterson, Roofline, CACM 52(4), 2009.)
"""

from __future__ import annotations

from collections.abc import Mapping

from symroof.formula import Call, Formula, Frozen, Name, Quotient, Sum, mapped

FLOPS, BYTES, PEAK, BANDWIDTH, T_MATH, T_COMMS, T_LOWER = map(
    Name, ("flops", "bytes", "peak", "bandwidth", "T_math", "T_comms", "T_lower")
)


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
