"""Collectives over the axes of a mesh and the levels of a tree: what the busiest direction of a link carries, the busiest
port of a level, and how many hops away the farthest chip is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from math import prod

from symroof.errors import CheckError
from symroof.formula import Frozen
from symroof.proof.polynomials import ONE, Poly, Rat

# A level of a tree: the link, how many children a switch joins, how much narrower its ports are, whether it adds up.
Level = tuple[str, int, Fraction, bool]
# What lies beside the adapter to all other switches.
APART = "NVLink"
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
    levels: tuple[Level, ...] = ()

    @property
    def is_ring(self) -> bool:
        """Whether the axis closes: as the user says, else as the chip does; two chips are a line."""
        if self.is_switch:
            return False
        if self.chips is None:
            return (self.wiring or "ring") == "ring"
        wiring = self.wiring or ("ring" if self.wraparound and self.chips % self.wraparound == 0 else "line")
        return wiring == "ring" and self.chips > 2

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
    known_speeds, names = (
        [(speed, link) for link, speed in speeds.items() if speed is not None],
        [link.split(".")[0] for link in speeds],
    )
    if len(known_speeds) == len(speeds):
        return [link for _, link in sorted(known_speeds, key=lambda pair: (-pair[0], pair[1]))]
    return (
        sorted(speeds, key=lambda link: (FAST.index(link.split(".")[0]), link)) if {*names} <= {*FAST} else list(speeds)
    )


def share_per_direction(collective: str, chips: Rat, ways: int) -> Rat:
    """What comes in through one of so many directions: the parts of all other chips, one part of each for an all-to-all."""
    others = (chips - Rat(ONE)) / chips
    if collective in ("send", "send back"):
        return Rat(ONE)
    if collective == "all-to-all":
        return others / chips
    return others * Rat(Poly.number(Fraction(2 if collective == "all-reduce" else 1, ways)))


def share_across(axis: MeshAxis) -> Rat:
    """The part of an all-to-all that the middle of an axis carries: from each chip on one side to each on the other, and
    half of it each way around a ring; a quarter of all for every even number."""
    chips = axis.chips or 2
    return Rat(Poly.number(Fraction(chips**2 // 4, chips**2 * (2 if axis.is_ring else 1))))


def merged(parts: Sequence[Sequence[Level]]) -> tuple[Level, ...]:
    """What axes have of a tree, the outermost first, from the chips up: one level where both have some of it."""
    levels_of_all = [level for levels in reversed(parts) for level in levels]
    names = list(dict.fromkeys(link for link, *_ in levels_of_all))
    return tuple(
        (name, prod(degree for link, degree, *_ in levels_of_all if link == name), taper, adds)
        for name in names
        for taper, adds in {(taper, adds) for link, _, taper, adds in levels_of_all if link == name}
    )


def _networks(levels: Sequence[Level]) -> Iterator[tuple[int, tuple[Level, ...]]]:
    """The levels of each network that joins several chips, with the number of chips below it."""
    below = 1
    for _, network in groupby(levels, lambda level: level[0].partition(".")[0] == APART):
        levels_inside = tuple(network)
        degree_product = prod(degree for _, degree, *_ in levels_inside)
        if degree_product > 1:
            yield below, levels_inside
        below *= degree_product


def shares_of_levels(collective: str, levels: Sequence[Level]) -> Iterator[tuple[str, Rat]]:
    """What each level carries of the message of a collective. Of the m chips of a network n are below the child of a level,
    and each of these has a part of what goes out for the m - n others."""
    if collective not in ("all-gather", "reduce-scatter", "all-reduce", "all-to-all"):
        raise CheckError(f"{collective} is not routed on a tree")
    chips = prod(degree for _, degree, *_ in levels)
    for n, network in _networks(levels):
        m = n * prod(degree for _, degree, *_ in network)
        for link, degree, taper, adds in network:
            others = Fraction(m - n, m * n)
            if collective == "all-reduce":
                others = Fraction(1, n) if adds else 2 * others
            elif collective == "all-to-all":
                others = Fraction(m - n, chips**2)
            if n < m:
                yield link, Rat(Poly.number(others * taper))
            n *= degree


def up_and_down(levels: Sequence[Level]) -> Iterator[list[tuple[str, int]]]:
    """The switches of each level on the way to the farthest chip, through one network after the other.

    >>> leaf, spine = ("leaf", 4, Fraction(1), False), ("spine", 2, Fraction(1), False)
    >>> list(up_and_down((("NVLink", 8, Fraction(1), False), leaf, spine)))
    [[('NVLink', 1)], [('leaf', 2), ('spine', 1)]]
    """
    for _, network in _networks(levels):
        top = max(i for i, (_, degree, *_) in enumerate(network) if degree > 1)
        yield [(link, 2 if i < top else 1) for i, (link, *_) in enumerate(network[: top + 1])]


def along(axis: MeshAxis) -> Rat:
    """The hops to the farthest chip of a ring or a line."""
    chips = Rat(Poly.name(axis.name)) if axis.chips is None else Rat(Poly.number(Fraction(axis.chips)))
    if not axis.is_ring:
        return chips - Rat(ONE)
    return chips / Rat(Poly.number(Fraction(2))) if axis.chips is None else Rat(Poly.number(Fraction(axis.chips // 2)))
