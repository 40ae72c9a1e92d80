"""Collectives played out, message by message, on a ring or a line of chips: what the busiest direction of a link carries.

Every part is sent in two halves, so that on a ring both directions work alike: a half goes round one way further than
the other half where the number of its hops is odd. Pieces move along their ways from neighbour to neighbour, and in the
end every chip must hold what the collective promises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from symroof.errors import CheckError
from symroof.formula import Frozen

# A piece and its way: the chips that it comes by, the first being the one that has it.
Way = tuple[tuple[int, int], list[int]]


# What goes from chip to chip, and how its gradient goes back.
RETURNED = {"send": "send back", "send back": "send", "send far": "send far"}
SWITCHES = ("NVLink", "InfiniBand", "DCN")
# Where no figure says which link is faster: the fast one is inside.
FAST = ("NVLink", "ICI", "InfiniBand", "DCN")


class MeshAxis(Frozen):
    """An axis of a mesh: how it is wired as the user says, and the chip's multiple that closes to a ring. Without a
    number of ``chips`` it stands for every even one from four. ``speed`` is the bandwidth of its link, where that is
    known. A tree has ``levels``: a link, how many children a switch joins, how much narrower its ports are, whether it
    adds up."""

    name: str
    chips: int | None
    wiring: str | None = None
    wraparound: int | None = None
    link: str = ""
    speed: Fraction | None = None
    levels: tuple[tuple[str, int, Fraction, bool], ...] = ()

    @property
    def is_ring(self) -> bool:
        """Whether the axis closes: as the user says, else as the chip does; two chips are a line."""
        if self.is_switch:
            return False
        if self.chips is None:
            return (self.wiring or "ring") == "ring"
        said = self.wiring or ("ring" if self.wraparound and self.chips % self.wraparound == 0 else "line")
        return said == "ring" and self.chips > 2

    @property
    def is_switch(self) -> bool:
        """Whether every chip is one hop from all others: as the user says, else as its network is."""
        return self.wiring == "switch" or (self.wiring is None and self.link.partition(".")[0] in SWITCHES)

    @property
    def kind(self) -> str:
        """What the axis is: two chips of a ring are a line."""
        return "tree" if self.levels else "switch" if self.is_switch else "ring" if self.is_ring else "line"

    @property
    def origin(self) -> str:
        """Where it is known from how the axis is wired: ``said`` by the user, a switched ``network``, an ``open`` axis that
        is taken as a ring, a ``pair`` of chips, or the ``chip``."""
        if self.wiring is not None:
            return "said"
        if self.is_switch:
            return "network"
        return "open" if self.chips is None else "pair" if self.chips <= 2 else "chip"

    def figure(self, resource: str) -> str:
        """The figure of what is busy: that of a level of a tree, else of the link."""
        return resource if any(link == resource for link, *_ in self.levels) else self.link

    @property
    def is_split(self) -> bool:
        """Whether there are several chips."""
        return self.chips is None or self.chips > 1


def fast_first(axes: tuple[MeshAxis, ...]) -> list[str]:
    """The links of axes from fast to slow, as their bandwidths say; as these networks are anywhere; else as they stand."""
    speeds = {axis.link: axis.speed for axis in axes}
    known, named = (
        [(speed, link) for link, speed in speeds.items() if speed is not None],
        [link.split(".")[0] for link in speeds],
    )
    if len(known) == len(speeds):
        return [link for _, link in sorted(known, key=lambda each: (-each[0], each[1]))]
    return (
        sorted(speeds, key=lambda link: (FAST.index(link.split(".")[0]), link)) if {*named} <= {*FAST} else list(speeds)
    )


@lru_cache(maxsize=512)
def played(collective: str, chips: int, ring: bool, switch: bool = False) -> Fraction:
    """The part of the full result (of the whole tensor for an all-to-all) that the busiest direction of a link carries.

    >>> played("all-reduce", 2, False), played("all-gather", 4, False), played("all-gather", 4, True)
    (Fraction(1, 1), Fraction(3, 4), Fraction(3, 8))
    >>> played("all-to-all", 4, False), played("all-to-all", 5, False)
    (Fraction(1, 4), Fraction(6, 25))
    """
    if switch:
        return _by_ports(collective, chips)
    match collective:
        case "all-gather":
            return _spread(chips, ring)
        case "reduce-scatter":
            return _spread(chips, ring, back=True)
        case "all-reduce":
            return _spread(chips, ring, back=True) + _spread(chips, ring)
        case "all-to-all":
            return _exchanged(chips, ring)
        case "send":
            return _handed(chips, 1)
        case "send back":
            return _handed(chips, -1)
    raise CheckError(f"{collective} cannot be played out")


def _by_ports(collective: str, chips: int) -> Fraction:
    """What the busiest port of a switch sends or takes, message by message: each part straight to where it is wanted."""
    sent: Counter[int] = Counter()
    taken: Counter[int] = Counter()
    if collective in ("send", "send back"):
        return _handed(chips, 1)
    parts = {"all-gather": 1, "reduce-scatter": 1, "all-reduce": 2, "all-to-all": 1}
    if collective not in parts:
        raise CheckError(f"{collective} cannot be played out")
    for sender in range(chips):
        for receiver in range(chips):
            if sender != receiver:
                sent[sender] += parts[collective]
                taken[receiver] += parts[collective]
    each = chips**2 if collective == "all-to-all" else chips
    return Fraction(max([*sent.values(), *taken.values()], default=0), each)


def _handed(chips: int, step: int) -> Fraction:
    """Every chip of a line but the last sends what it has on: the busiest link, and the busiest port, carry one of
    them."""
    load = Counter((chip, chip + step) for chip in range(chips) if 0 <= chip + step < chips)
    return Fraction(max(load.values(), default=0))


def _everywhere(chips: int, ring: bool) -> Iterator[Way]:
    """From each chip, for both halves of its part, the way to the right and the way to the left that reach all others."""
    for chip in range(chips):
        for half in (0, 1):
            right = (chips - 1 + half) // 2 if ring else chips - 1 - chip
            yield (chip, half), [(chip + step) % chips for step in range(right + 1)]
            yield (chip, half), [(chip - step) % chips for step in range(chips - right)]


def _spread(chips: int, ring: bool, *, back: bool = False) -> Fraction:
    """Each part goes to all other chips; ``back``: their partial sums of it join on the same ways to the chip that keeps it."""
    load: Counter[tuple[int, int]] = Counter()
    met: Counter[tuple[tuple[int, int], int]] = Counter()
    for piece, way in _everywhere(chips, ring):
        load.update(pairwise(way[::-1] if back else way))
        met.update((piece, chip) for chip in way[1:])
    if len(met) != 2 * chips * (chips - 1) or any(times > 1 for times in met.values()):
        raise CheckError("a part does not meet every other chip once")
    return Fraction(max(load.values(), default=0), 2 * chips)


def _exchanged(chips: int, ring: bool) -> Fraction:
    """Each chip has a part for every other chip; it takes the shorter way, and half of it each way where both are equal."""
    load: Counter[tuple[int, int]] = Counter()
    for sender in range(chips):
        for receiver in range(chips):
            for half in (0, 1):
                ahead, behind = (receiver - sender) % chips, (sender - receiver) % chips
                right = 2 * ahead + half <= chips if ring else receiver > sender
                way = [(sender + s) % chips for s in (range(ahead + 1) if right else range(0, -behind - 1, -1))]
                if way[-1] != receiver:
                    raise CheckError("a part of the all-to-all does not arrive")
                load.update(pairwise(way))
    return Fraction(max(load.values(), default=0), 2 * chips**2)
