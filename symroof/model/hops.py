"""How many hops a message takes, one after the other, however short it is.

Between the chips of an axis that are farthest from one another are

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

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sympy import Expr, Integer, floor

from symroof.model.mesh_axes import HANDED, MeshAxis
from symroof.model.trees import TREE, networks, together

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

    >>> from symroof.model.mesh_axes import MeshAxis
    >>> axes = MeshAxis("X", 8, "ring", "ICI"), MeshAxis("Y", 4, "line", "ICI")
    >>> dict(hops("all-gather", axes)), dict(hops("all-reduce", axes[:1]))
    ({'ICI.latency': 7}, {'ICI.latency': 8})
    """
    found: dict[str, Expr] = {}
    axes = [axis for axis in axes if axis.chips != 1]
    for link, number in _farthest(collective, axes):
        figure, twice = latency_of(link), 2 if collective == "all-reduce" else 1
        found[figure] = found.get(figure, Integer(0)) + twice * number
    return found


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
