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
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from sympy import Expr, Integer, Rational, floor

from symroof.formula import Frozen
from symroof.model.switch_trees import TREE, Level, networks, together
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
    ``pair`` of chips, or the ``chip``, where multiples of ``closing`` close to a ring. ``said`` stays what the user wrote.
    ``speed`` is the bandwidth of its link, in bytes/s, where a figure says it. An axis over a ``tree`` of switches,
    whose text its link is, has its ``levels`` there once the mesh is wired.
    """

    name: str
    chips: int | None = None
    wiring: str | None = None
    link: str | None = None
    origin: str | None = None
    closing: int | None = None
    said: str | None = None
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
        wiring = self.wiring if self.origin is None else self.said
        unsaid = replace(self, chips=chips, wiring=wiring, origin=None)
        return unsaid if self.origin is None else unsaid.wired(str(self.link), self.closing)

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
        return replace(self, link=own, wiring=wiring, origin=origin, closing=closing, said=self.wiring)


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
        levels = together(axis.levels for axis in reversed(axes))
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
