"""The quantities of an answer, one table of what each is, how it is counted and printed; their names; and units, of formulas too.

    T_math  = flops/peak             T_lower = max(T_math, T_comms)    intensity = flops/bytes
    T_comms = bytes/bandwidth        T_upper = T_math + T_comms        ridge = peak/bandwidth

In these, flops and bytes are those of one chip over the link of the problem, whatever their own names are.
(Williams, Waterman, Patterson, Roofline, CACM 52(4), 2009.)

Decimal prefixes of units are powers of 1000 and binary ones of 1024 (IEC 80000-13).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from fractions import Fraction

from symroof.formula import (
    Call,
    Formula,
    Frozen,
    Group,
    Name,
    Negative,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    Written,
    mapped,
)

FLOPS, BYTES, PEAK, BANDWIDTH, T_MATH, T_COMMS, T_LOWER = map(
    Name, ("flops", "bytes", "peak", "bandwidth", "T_math", "T_comms", "T_lower")
)
TRAFFIC = Sum((Name("reads"), Name("writes")))
# The name of a statement that has none; and what names what is of one chip.
NAMELESS, PER_CHIP = "", "_per_chip"
Exponents = Mapping[str, Fraction]


class Owner(Enum):
    """What has a quantity: any operation; programs; programs at sizes alone; a tensor of a program."""

    OPERATION = "operation"
    PROGRAM = "program"
    SIZES = "sizes"
    TENSOR = "tensor"


class Row(Enum):
    """What a table of numbers has for a quantity: one row, or one for each link that sends or each resource that is busy."""

    OWN = "own"
    LINKS = "links"
    RESOURCES = "resources"


class Quantity(Frozen):
    """``formula`` is what the textbook says that it is, None where it is counted or known. ``letter`` is printed in
    formulas; where a dimension has that letter, ``instead`` is, with the problem's link for LINK. ``counted`` is what the
    second engine counts of a program for it, and ``owed`` whether an answer at sizes has to say its number. ``row`` is what
    it has in a table of numbers; ``part`` is the part of the answer that a record has under its name, None for none."""

    name: str
    unit: str
    formula: Formula | None = None
    letter: str | None = None
    instead: str | None = None
    owner: Owner = Owner.OPERATION
    counted: str | None = None
    owed: bool = False
    row: Row | None = None
    part: str | None = ""

    @property
    def of_statements(self) -> bool:
        """Whether each statement of a program has its own."""
        return self.counted in ("flops_exact", "flops", "ops", "reads", "writes", "bytes")

    def measured(self, *, exact: bool) -> str:
        """What is counted of a program for it, where additions are counted ``exact`` or with every multiplication."""
        assert self.counted is not None, self.name
        return "flops_exact" if exact and self.counted == "flops" else self.counted


# What stays in memory: together it is the memory that is needed.
STOCKS = ("weights", "caches", "gradients", "saved")
# What the bytes that are moved belong to.
MOVED = ("weights", "caches", "gradients", "activations")
TOKENS = "tokens_per_second"


def _held(*names: str) -> Iterator[Quantity]:
    """What stays in memory, in all and on one chip."""
    for name in names:
        for suffix in ("", PER_CHIP):
            counted = {"weights": "weight", "caches": "cache", "memory": None}.get(name, name)
            yield Quantity(name + suffix, "bytes", owner=Owner.PROGRAM, counted=counted, owed=True, row=Row.OWN)


# In the order in which they are read.
TABLE: Mapping[str, Quantity] = {
    row.name: row
    for row in (
        Quantity("params", "1", owner=Owner.PROGRAM, counted="weight elements", owed=True, row=Row.OWN),
        Quantity("trainable", "1", owner=Owner.PROGRAM, counted="trainable elements", owed=True, row=Row.OWN),
        *_held(*STOCKS, "memory"),
        Quantity("flops", "FLOPs", letter=r"\text{FLOPs}", counted="flops", owed=True, row=Row.OWN),
        Quantity("flops_exact", "FLOPs", letter=r"\text{FLOPs}", counted="flops_exact"),
        Quantity("flops_per_chip", "FLOPs", letter=r"\text{FLOPs per chip}", counted="flops", owed=True, row=Row.OWN),
        Quantity("flops_forward", "FLOPs", owner=Owner.PROGRAM),
        Quantity("flops_backward", "FLOPs", owner=Owner.PROGRAM),
        Quantity("ops", "FLOPs", owner=Owner.PROGRAM, counted="ops", owed=True),
        Quantity("ops_per_chip", "FLOPs", owner=Owner.PROGRAM, counted="ops", owed=True),
        Quantity("reads", "bytes", letter=r"\text{reads}", counted="reads", owed=True),
        Quantity("writes", "bytes", letter=r"\text{writes}", counted="writes", owed=True),
        Quantity(
            "bytes", "bytes", TRAFFIC, r"\text{bytes}", counted="bytes", owed=True, row=Row.OWN, part="bytes_added"
        ),
        Quantity("bytes_per_chip", "bytes", letter=r"\text{bytes per chip}", counted="bytes", owed=True, row=Row.OWN),
        *(Quantity(f"{kind}_moved{each}", "bytes", owner=Owner.SIZES) for each in ("", PER_CHIP) for kind in MOVED),
        Quantity("sent", "bytes", letter=r"\text{bytes sent}", row=Row.LINKS),
        Quantity("intensity", "FLOPs/bytes", Quotient(FLOPS, BYTES), "I", r"\text{intensity}", owed=True, row=Row.OWN),
        Quantity("ridge", "FLOPs/bytes", Quotient(PEAK, BANDWIDTH), "R", r"I_{\text{ridge}}", part=None),
        Quantity("peak", "FLOPs/s", letter="C", instead=r"C_{\text{peak}}", part=None),
        Quantity("bandwidth", "bytes/s", letter="W", instead=r"W_{\text{LINK}}", part=None),
        Quantity("T_math", "s", Quotient(FLOPS, PEAK), row=Row.RESOURCES),
        Quantity("T_comms", "s", Quotient(BYTES, BANDWIDTH)),
        Quantity("T_lower", "s", Call("max", (T_MATH, T_COMMS)), row=Row.OWN),
        Quantity("T_upper", "s", Sum((T_MATH, T_COMMS))),
        Quantity("bubble", "1", owner=Owner.PROGRAM, owed=True, row=Row.OWN),
        Quantity("T_steps", "s", owner=Owner.PROGRAM, row=Row.OWN),
        Quantity("throughput", "FLOPs/s", Quotient(FLOPS, T_LOWER), r"\text{throughput}", part=None),
        Quantity(TOKENS, "1/s", owner=Owner.SIZES, row=Row.OWN),
        Quantity("size", "bytes", owner=Owner.TENSOR, counted="size"),
        Quantity("elements", "1", owner=Owner.TENSOR, counted="elements"),
        Quantity("pairs", "1", owner=Owner.TENSOR, counted="pairs"),
    )
}


def quantities_of(*owners: Owner) -> tuple[str, ...]:
    """The quantities that these have."""
    return tuple(name for name, row in TABLE.items() if row.owner in owners)


# No dimension may take one of these names.
QUANTITIES = tuple(name for name in quantities_of(Owner.OPERATION) if name != "flops_exact")
# Those that any operation has: the others are of chips of a mesh, or of a network that is asked about.
SPOKEN = tuple(name for name in QUANTITIES if name not in ("flops_per_chip", "bytes_per_chip", "sent"))
# What is worked out from the counts and the figures, in the order in which each rests on those before.
DERIVED = tuple(name for name, row in TABLE.items() if row.formula is not None and name != "bytes")
# What an answer at sizes has to say the number of, beside times and what is sent.
OWED = frozenset(name for name, row in TABLE.items() if row.owed)


def of_statement(quantity: str, name: str) -> str:
    """The name of a cost of one statement, or of an amount of one tensor; that of a nameless one is that of the whole.

    >>> of_statement("flops", "h"), of_statement("flops", NAMELESS)
    ('flops(h)', 'flops')
    """
    return quantity if name == NAMELESS else f"{quantity}({name})"


def sent_over(resource: str, name: str = NAMELESS) -> str:
    """The name of what an axis or a switch carries in all, or for one statement.

    >>> sent_over("X"), sent_over("X", "h")
    ('sent(X)', 'sent_X(h)')
    """
    return f"sent({resource})" if name == NAMELESS else f"sent_{resource}({name})"


def hops_over(figure: str, label: str) -> str:
    """The name of the hops that an exchange takes one after the other, by the figure of their latency.

    >>> hops_over("ICI.latency", "h"), hops_over("ICI.latency", NAMELESS)
    ('hops_ICI(h)', 'hops(ICI)')
    """
    link = figure.partition(".")[0]
    return f"hops({link})" if label == NAMELESS else f"hops_{link}({label})"


def time_name(resource: str, statement: str = NAMELESS) -> str:
    """The name of the time that a resource is busy for, in all or with one statement.

    >>> time_name("HBM"), time_name("math", "h")
    ('T_HBM', 'T_math(h)')
    """
    return of_statement(f"T_{resource}", statement)


def rows_of(resources: Iterable[str], links: Iterable[str], *, split: bool) -> tuple[str, ...]:
    """The names that a table of numbers has rows for, in the order of reading: on chips of a mesh, ``split``, those of one
    chip, where a quantity has such.

    >>> rows_of(("math", "HBM"), (), split=False)[-7:]
    ('intensity', 'T_math', 'T_HBM', 'T_lower', 'bubble', 'T_steps', 'tokens_per_second')
    """
    several = {Row.LINKS: tuple(map(sent_over, links)), Row.RESOURCES: tuple(map(time_name, resources))}
    rows = [(name, row.row) for name, row in TABLE.items() if row.row is not None]
    one_chip = {name for name, _ in rows if name.endswith(PER_CHIP)}
    left_out = {name.removesuffix(PER_CHIP) for name in one_chip} if split else one_chip
    return tuple(label for name, row in rows if name not in left_out for label in several.get(row, (name,)))


def parts_of(name: str) -> tuple[str, str]:
    """The quantity that a name is about, and the statement, the tensor or the link that it is of; none for all of them.

    >>> parts_of("flops_per_chip(h)"), parts_of("sent(X)"), parts_of("T_HBM")
    (('flops_per_chip', 'h'), ('sent', 'X'), ('T_HBM', ''))
    """
    quantity, _, owner = name.removesuffix(")").partition("(")
    return quantity, owner


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
    quantity, _ = parts_of(name)
    if quantity.startswith("T_"):
        return "s"
    return TABLE[quantity].unit if quantity in TABLE else None


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
POWERS = {"p": -12, "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def _prefixed(
    name: str, base: str, prefixes: Iterable[str], *aliases: str, scale: Fraction = Fraction(1)
) -> Iterator[Unit]:
    for prefix in prefixes:
        size = scale * Fraction(10) ** POWERS[prefix]
        yield Unit(prefix + name, base, size, tuple(prefix + other for other in aliases))


STORAGE = (
    Unit("bytes", "bytes", Fraction(1), ("byte", "Bytes")),
    Unit("kB", "bytes", Fraction(10**3), ("KB",)),
    *_prefixed("B", "bytes", "MGTP"),
    Unit("KiB", "bytes", Fraction(2**10), ("kiB",)),
    *(Unit(f"{prefix}iB", "bytes", Fraction(2 ** (10 * i))) for i, prefix in enumerate("MGTP", 2)),
    Unit("bits", "bytes", Fraction(1, 8), ("bit",)),
)
# Networks are sold by the bit.
BIT_RATES = tuple(_prefixed("bps", "bytes/s", "kMG", scale=Fraction(1, 8)))
WORK = (
    *_prefixed("FLOPs", "FLOPs", ("", *"kMGTPE"), "FLOP", "FLOPS"),
    *_prefixed("OPs", "FLOPs", ("", *"kMGTPE"), "OP", "OPS"),
)
# Power and energy; single letters are names.
ENERGY = (
    *_prefixed("W", "J/s", "kMG"),
    *_prefixed("Wh", "J", ("", *"kMG"), scale=Fraction(3600)),
    *_prefixed("J", "J", "pnumkMG"),
    Unit("watts", "J/s", Fraction(1), ("watt",)),
    Unit("joules", "J", Fraction(1), ("joule",)),
)
RATES = (*_prefixed("Hz", "1/s", ("", *"kMG")), *_prefixed("T/s", "1/s", "kMG"))
# What is counted has no unit.
NOUNS = "token param parameter weight element request sequence layer head chip GPU TPU"
COUNTS = tuple(Unit(f"{noun}s", "1", Fraction(1), (noun,)) for noun in NOUNS.split())
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


# A whole number below this counts things, as far as anyone can tell; a larger one without a unit may be in any unit.
COUNT = 100


class Mismatch(Exception):  # noqa: N818
    """Two terms of a sum with different units."""


def unit_of_formula(
    formula: Formula, of_name: Callable[[str], Exponents | None], counts: bool, *, bare: bool = True
) -> Exponents | None:
    """The unit of a formula: no exponents for a count, None where it may be anything.

    A small number without a unit is taken for a count where ``counts`` says so; what is ``bare`` over a unit may have one
    that nobody wrote. Raises :class:`Mismatch` for a sum of different units.

    >>> units = {"M": {"bytes": Fraction(1)}, "T": {"s": Fraction(1)}}
    >>> {name: int(power) for name, power in unit_of_formula(Quotient(Name("M"), Name("T")), units.get, True).items()}
    {'bytes': 1, 's': -1}
    """

    def unit(part: Formula) -> Exponents | None:
        return unit_of_formula(part, of_name, counts, bare=bare)

    def combined(*parts: tuple[Formula, Fraction | int]) -> Exponents | None:
        """The unit of a product of powers."""
        total: Exponents = {}
        for part, power in parts:
            powers = unit(part)
            if powers is None:
                return None
            total = {name: total.get(name, Fraction(0)) + power * powers.get(name, 0) for name in {**total, **powers}}
        return {name: e for name, e in total.items() if e}

    match formula:
        case Number(unit=str(named)):
            return exponents(named)
        case Number(value=value):
            return {} if counts and value.denominator == 1 and abs(value) < COUNT else None
        case Name(name=name):
            return of_name(name)
        case Sum(terms=terms) | Call(function="max" | "min" | "abs" | "ceil" | "floor", arguments=terms):
            every = [unit(term) for term in terms]
            units = [powers for powers in every if powers]
            for unlike in (powers for powers in units if powers != units[0]):
                raise Mismatch(units[0], unlike)
            return units[0] if units else None if None in every else {}
        case Call(function="sqrt", arguments=(body,)):
            return combined((body, Fraction(1, 2)))
        case Product(factors=factors):
            return combined(*((factor, 1) for factor in factors))
        case Quotient(above=above, below=below):
            is_one = above == Number(Fraction(1), "1")  # what stands above in a reciprocal is no amount
            open_ = bare and not is_one and not unit(above) and unit(below)
            return None if open_ else combined((above, 1), (below, -1))
        case Power(base=root, exponent=Number(value=power)) if power.denominator == 1:
            return combined((root, power))
        case Negative(body=body) | Group(body=body) | Written(body=body):
            return unit(body)
    return None
