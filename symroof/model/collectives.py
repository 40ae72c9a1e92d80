"""The axes of a mesh, and what a collective over them costs: what links carry, and by how many hops it goes.

On one axis of X chips let V be the bytes of the full result (of the whole tensor for an all-to-all) and k the
directions that carry it at once (1 on a line, and for X = 2; 2 on a ring). Then the busiest direction of a link
carries, of V,

    all-gather, reduce-scatter   (X - 1) / (X k)
    all-reduce                   2 (X - 1) / (X k)      a reduce-scatter, then an all-gather
    all-to-all                   floor(X²/4) / (X² k)   which is 1 / (4 k) where X is even; (X - 1) / X² on a switch

(Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory, practice, and experience", 2007; for the
all-to-all, half of the chips send to the other half over the middle of a line.)

However short a message is, it takes so many hops, one after the other. Between the chips of an axis that are farthest from one another are

    ring of N chips     floor(N/2) hops
    line of N chips     N - 1
    switch              1
    l levels of a tree  2 l - 1 switches, up and down again, in each of its networks; of an all-to-all in the outermost

and one over a collective's several axes, which go one after the other. An all-reduce takes twice that: the sums come
together, and go out. What goes to a neighbour takes one. So many times the latency of a link is the least time of a
collective, and its bytes over the bandwidth are another: it takes at least the larger of both. Carried out from hop to hop
that is what it takes on lines and rings of odd numbers of chips; on rings of even numbers at most a sixth more.

The levels of a tree of switches stand from the chips up, each with its degree: how many children it joins. A child of a level
has n chips, what the levels of its network join has m, the whole tree N. Through the port of a child goes, in one direction, of V

    all-gather, reduce-scatter   1 - n/m       what the others of its network have: 1 - 1/p, p children under its top
    all-reduce                   2 (1 - n/m)   a reduce-scatter, then an all-gather; 1 where switches add up (``sharp``)
    all-to-all                   n (m - n)/N²  from each chip below to each chip beside

and the port is as wide as the links of its n chips, divided by the taper of its level. So each of these chips has a
n-th of it, and takes the taper times as long. Levels whose ports are the same cables, as leaves and spines are, are one
network: what goes on to the top of it passes all of them. NVLink lies beside the adapter of a chip, and is a network of
its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from math import prod

from sympy import Expr, Integer, Rational, floor

from symroof.errors import ModelError
from symroof.formula import Frozen
from symroof.symbols import symbol

COLLECTIVES: Mapping[str, Callable[[Expr, int], Expr]] = {
    "all-gather": lambda chips, ways: (chips - 1) / (chips * ways),
    "reduce-scatter": lambda chips, ways: (chips - 1) / (chips * ways),
    "all-reduce": lambda chips, ways: Rational(2, ways) * ((chips - 1) / chips),
    "all-to-all": lambda chips, ways: (floor(chips**2 / 4) if chips.is_Integer else chips**2 / 4) / (chips**2 * ways),
}

# What goes from one chip of an axis to the next, and to the one before: over the link between them, each in one direction of it.
HANDED = ("send", "send back")
# What goes from each chip to the one that is farthest from it, along all axes at once.
FAR = "send far"
BACK = "_back"

# On a switch every chip has one port, and all others are one hop away.
SWITCHED: Mapping[str, Callable[[Expr], Expr]] = {"all-to-all": lambda chips: (chips - 1) / chips**2}
WIRINGS = ("ring", "line", "switch")
# The networks between chips from fast to slow, and whether an axis on one is a switch where nobody says otherwise.
NETWORKS: Mapping[str, bool] = {"NVLink": True, "ICI": False, "InfiniBand": True, "DCN": True}


class MeshAxis(Frozen):
    """An axis of a mesh. Without a number of ``chips`` it stands for any even one from four, and is a size like others.

    ``origin`` is where its wiring is known from, once it has one: ``said``, a switched ``network``, an ``open`` axis, a
    ``pair`` of chips, or the ``chip``, where multiples of ``closing`` close to a ring. ``user_wiring`` stays what the user wrote.
    ``speed`` is the bandwidth of its link, in bytes/s, where a figure says it. An axis over a ``tree`` of switches,
    whose text its link is, has its ``levels`` there once the mesh is wired.
    """

    name: str
    chips: int | None = None
    wiring: str | None = None
    link: str | None = None
    origin: str | None = None
    closing: int | None = None
    user_wiring: str | None = None
    speed: Fraction | None = None
    tree: tuple[Level, ...] = ()
    levels: tuple[Level, ...] = ()

    @property
    def links(self) -> tuple[str, ...]:
        """The figures of its links: of each level of a tree."""
        return tuple(level.link for level in self.levels or self.tree) or (str(self.link),)

    @property
    def size(self) -> Expr:
        """
        >>> MeshAxis("X", 4).size, MeshAxis("X").size
        (4, X)
        """
        return symbol(self.name) if self.chips is None else Integer(self.chips)

    @property
    def ways(self) -> int:
        """The directions that carry a collective at once: two chips are a line, however they are wired."""
        return 2 if self.wiring == "ring" and (self.chips is None or self.chips > 2) else 1

    def numbered(self, chips: int) -> MeshAxis:
        """The axis with a number of chips, wired as that many are."""
        wiring = self.wiring if self.origin is None else self.user_wiring
        plain = replace(self, chips=chips, wiring=wiring, origin=None)
        return plain if self.origin is None else plain.wired(str(self.link), self.closing)

    def wired(self, link: str, closing: int | None) -> MeshAxis:
        """The axis with its link and its wiring, where nobody says them: one of any size is a ring, or on a switch.

        >>> [(axis.wiring, axis.origin) for axis in (MeshAxis("X", n).wired("ICI", 4) for n in (None, 2, 6, 8))]
        [('ring', 'open'), ('line', 'pair'), ('line', 'chip'), ('ring', 'chip')]
        """
        own = self.link or link
        if self.origin is not None:
            return self
        if self.wiring is not None:
            wiring, origin = self.wiring, "said"
        elif NETWORKS.get(own.partition(".")[0]):
            wiring, origin = "switch", "network"
        elif self.chips is None:
            wiring, origin = "ring", "open"
        elif self.chips <= 2:
            wiring, origin = "line", "pair"
        else:
            wiring, origin = "ring" if closing and self.chips % closing == 0 else "line", "chip"
        return replace(self, link=own, wiring=wiring, origin=origin, closing=closing, user_wiring=self.wiring)


Mesh = Mapping[str, MeshAxis]


def fast_first(axes: Iterable[MeshAxis]) -> tuple[str, ...]:
    """The links of axes from fast to slow: by their figures; else as these networks are anywhere; else as they stand.

    >>> slow, fast = MeshAxis("X", 2, link="fabric", speed=Fraction(10)), MeshAxis("Y", 2, link="rail", speed=Fraction(40))
    >>> fast_first((slow, fast)), fast_first((MeshAxis("X", link="DCN"), MeshAxis("Y", link="ICI.bidirectional")))
    (('rail', 'fabric'), ('ICI.bidirectional', 'DCN'))
    """
    axes = tuple(axes)
    speeds = {str(axis.link or ""): axis.speed for axis in axes}
    order, families = tuple(NETWORKS), {link: link.partition(".")[0] for link in speeds}
    if None not in speeds.values():
        return tuple(sorted(speeds, key=lambda link: (-(speeds[link] or 0), link)))
    if {*families.values()} <= {*order}:
        return tuple(sorted(speeds, key=lambda link: (order.index(families[link]), link)))
    return tuple(speeds)


def presumed_order(axes: Iterable[MeshAxis]) -> bool:
    """Whether :func:`fast_first` takes links as they stand: nothing says which of them is faster.

    >>> fabric, rail = MeshAxis("X", 2, link="fabric"), MeshAxis("Y", 2, link="rail", speed=Fraction(40))
    >>> presumed_order((fabric, rail)), presumed_order((replace(fabric, speed=Fraction(10)), rail)), presumed_order((fabric,))
    (True, False, False)
    """
    axes = tuple(axes)
    return fast_first(axes) != fast_first(reversed(axes))


# The figure of what a message needs for one hop over a link, in seconds.
LATENCY = "latency"


def latency_of(link: str) -> str:
    """The figure of a hop over a link: directions have one.

    >>> latency_of("ICI.bidirectional")
    'ICI.latency'
    """
    return f"{link.partition('.')[0]}.{LATENCY}"


def is_latency(figure: str) -> bool:
    """Whether a figure is the time of a hop."""
    return figure.endswith(f".{LATENCY}")


def hops(collective: str, axes: Iterable[MeshAxis]) -> Mapping[str, Expr]:
    """The hops of a collective over axes, by the figure of their latency.

    >>> axes = MeshAxis("X", 8, "ring", "ICI"), MeshAxis("Y", 4, "line", "ICI")
    >>> dict(hops("all-gather", axes)), dict(hops("all-reduce", axes[:1]))
    ({'ICI.latency': 7}, {'ICI.latency': 8})
    """
    result: dict[str, Expr] = {}
    axes = [axis for axis in axes if axis.chips != 1]
    for link, number in _farthest(collective, axes):
        figure, twice = latency_of(link), 2 if collective == "all-reduce" else 1
        result[figure] = result.get(figure, Integer(0)) + twice * number
    return result


def _farthest(collective: str, axes: Sequence[MeshAxis]) -> Iterator[tuple[str, Expr]]:
    """The hops to the farthest chip, link by link."""
    if axes and axes[0].wiring == TREE:
        levels = joined_levels(axis.levels for axis in reversed(axes))
        joining = [network for _, network in networks(levels) if any(level.degree != 1 for level in network)]
        for network in joining[-1:] if collective == "all-to-all" else joining:
            top = max(i for i, level in enumerate(network) if level.degree != 1)
            yield from ((level.link, Integer(2 if i < top else 1)) for i, level in enumerate(network[: top + 1]))
    elif axes and axes[0].wiring == "switch":
        yield str(axes[0].link), Integer(1)  # axes on one switch are joined by it
    else:
        for axis in axes:
            yield str(axis.link), Integer(1) if collective in HANDED else farthest(axis)


def farthest(axis: MeshAxis) -> Expr:
    """The hops to the farthest chip of a ring or a line, of an even number of chips where that is open."""
    if axis.ways == 1:
        return axis.size - 1
    return floor(axis.size / 2) if axis.chips is not None else axis.size / 2


TREE = "tree"
# The switch that joins no more than the chips of one node, or of one rack, beside the adapter to all other switches.
NODE = "NVLink"


class Level(Frozen):
    """A level of a tree: the figure of a chip's link there, how many children it joins (None: as many as there are), by
    what factor its ports are narrower than the links below them, and whether its switches add up."""

    link: str
    degree: int | None = None
    taper: Fraction = Fraction(1)
    sharp: bool = False

    def __str__(self) -> str:
        degree = "" if self.degree is None else f"({self.degree})"
        taper = "" if self.taper == 1 else f" taper {taper_text(self.taper)}"
        return f"{self.link}{degree}{taper}{' sharp' if self.sharp else ''}"


def taper_text(taper: Fraction) -> str:
    """A taper in decimals."""
    return f"{(Decimal(taper.numerator) / taper.denominator).normalize():f}"


def spell(levels: Iterable[Level]) -> str:
    """
    >>> spell((Level("NVLink", 8), Level("leaf", 32, Fraction(2))))
    'NVLink(8)/leaf(32) taper 2'
    """
    return "/".join(map(str, levels))


def occupied_levels(levels: Sequence[Level], chips: Sequence[int]) -> tuple[tuple[Level, ...], ...]:
    """The levels that axes of so many chips take, the innermost first, each from below what the one before has left,
    with their degrees there: 1 for those that others have, which what goes further up passes as well. Those above are
    empty.

    >>> tree = (Level("NVLink", 8), Level("leaf", 32), Level("spine"))
    >>> [spell(one) for one in occupied_levels(tree, (64, 8))]
    ['NVLink(8)/leaf(8)', 'NVLink(1)/leaf(4)/spine(2)']
    """
    result, rest, shown = list[tuple[Level, ...]](), list(levels), spell(levels)
    for number in chips:
        levels_of_axis, remaining = [replace(level, degree=1) for level in levels[: len(levels) - len(rest)]], number
        while remaining > 1 and rest:
            degree = min(rest[0].degree or remaining, remaining)
            if remaining % degree or (rest[0].degree or degree) % degree:
                cure = f"a multiple of {prod(part.degree or 1 for part in levels_of_axis) * degree} chips"
                joins = f"{rest[0].link} of {shown} joins {rest[0].degree}"
                raise ModelError(f"{joins}, and {remaining} are to be joined there", expected=cure)
            levels_of_axis.append(replace(rest[0], degree=degree))
            remaining, over = remaining // degree, None if rest[0].degree is None else rest[0].degree // degree
            rest[0] = replace(rest[0], degree=over)
            rest = rest[1:] if over == 1 else rest
        if remaining > 1:
            raise ModelError(
                f"{shown} joins {prod(chips) // remaining} chips, and there are {prod(chips)}",
                expected="fewer chips, or a last level without a number",
            )
        result.append(tuple(levels_of_axis))
    return tuple(result)


def joined_levels(parts: Iterable[Sequence[Level]]) -> tuple[Level, ...]:
    """The levels of axes on one tree, the innermost first, as those of one axis: what they have of one level is
    joined."""
    result: dict[str, Level] = {}
    for level in (level for part in parts for level in part):
        before = result.get(level.link)
        result[level.link] = replace(level, degree=(before.degree or 1 if before else 1) * (level.degree or 1))
    return tuple(result.values())


def networks(levels: Sequence[Level]) -> Iterator[tuple[int, tuple[Level, ...]]]:
    """The levels of each network, and the number of chips below it."""
    below = 1
    for _, network in groupby(levels, lambda level: level.link.partition(".")[0] == NODE):
        levels_of_network = tuple(network)
        yield below, levels_of_network
        below *= prod(level.degree or 1 for level in levels_of_network)


def shares_on_tree(collective: str, levels: Sequence[Level]) -> Iterator[tuple[str, Fraction]]:
    """What each level carries of the message of a collective: of the port of a child what one of its chips has.

    >>> dict(shares_on_tree("all-gather", (Level("NVLink", 8), Level("leaf", 4))))
    {'NVLink': Fraction(7, 8), 'leaf': Fraction(3, 32)}
    """
    if collective not in ("all-gather", "reduce-scatter", "all-reduce", "all-to-all"):
        raise ModelError(
            f"what goes from chip to chip of {spell(levels)} goes through other ports for each",
            expected="an axis of its own for the stages of a pipeline, as in mesh P on InfiniBand",
        )
    chips = prod(level.degree or 1 for level in levels)
    for below, network in networks(levels):
        top = below * prod(level.degree or 1 for level in network)
        for level in network:
            outside = 1 - Fraction(below, top)
            share = outside / below
            if collective == "all-reduce":
                share = Fraction(1, below) if level.sharp else 2 * share
            elif collective == "all-to-all":
                share = Fraction(top - below, chips**2)
            if outside:  # else all of a network are below one child
                yield level.link, share * level.taper
            below *= level.degree or 1


def require_levels(levels: Sequence[Level]) -> None:
    """Levels have figures of their own, those of one network stand together, and all of its switches add up or none."""
    links = [level.link for level in levels]
    twice = next((link for link in links if links.count(link) > 1), None)
    if twice is not None:
        raise ModelError(f"{spell(levels)} has {twice} twice", expected="a name for each level")
    if any(level.degree is None for level in levels[:-1]):
        inner = next(level.link for level in levels[:-1] if level.degree is None)
        raise ModelError(f"{inner} of {spell(levels)} has no degree", expected=f"how many it joins, as in {inner}(8)")
    for _, network in networks(levels):
        if len({level.sharp for level in network}) > 1:
            shown = " and ".join(level.link for level in network)
            raise ModelError(f"only some of {shown} add up in their switches", expected=f"sharp for each of {shown}")
