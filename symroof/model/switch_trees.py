"""Axes over the levels of a tree of switches: what leaves one child of a level.

The levels stand from the chips up, each with its degree: how many children it joins. A child of a level has n chips,
what the levels of its network join has m, the whole tree N; a message V is that of the full result (of the whole tensor
for an all-to-all). Through the port of a child goes, in one direction, of V

    all-gather, reduce-scatter   1 - n/m       what the others of its network have: 1 - 1/p, p children under its top
    all-reduce                   2 (1 - n/m)   a reduce-scatter, then an all-gather; 1 where switches add up (``sharp``)
    all-to-all                   n (m - n)/N²  from each chip below to each chip beside

and the port is as wide as the links of its n chips, divided by the taper of its level. So each of these chips has a
n-th of it, and takes the taper times as long. Levels whose ports are the same cables, as leaves and spines are, are one
network: what goes on to the top of it passes all of them. NVLink lies beside the adapter of a chip, and is a network of
its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from math import prod

from symroof.errors import ModelError
from symroof.formula import Frozen

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
        taper = "" if self.taper == 1 else f" taper {tapered(self.taper)}"
        return f"{self.link}{degree}{taper}{' sharp' if self.sharp else ''}"


def tapered(taper: Fraction) -> str:
    """A taper in decimals."""
    return f"{(Decimal(taper.numerator) / taper.denominator).normalize():f}"


def spelled(levels: Iterable[Level]) -> str:
    """
    >>> spelled((Level("NVLink", 8), Level("leaf", 32, Fraction(2))))
    'NVLink(8)/leaf(32) taper 2'
    """
    return "/".join(map(str, levels))


def filled(levels: Sequence[Level], chips: Sequence[int]) -> tuple[tuple[Level, ...], ...]:
    """The levels that axes of so many chips take, the innermost first, each from below what the one before has left,
    with their degrees there: 1 for those that others have, which what goes further up passes as well. Those above are
    empty.

    >>> tree = (Level("NVLink", 8), Level("leaf", 32), Level("spine"))
    >>> [spelled(one) for one in filled(tree, (64, 8))]
    ['NVLink(8)/leaf(8)', 'NVLink(1)/leaf(4)/spine(2)']
    """
    result, rest, shown = list[tuple[Level, ...]](), list(levels), spelled(levels)
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


def together(parts: Iterable[Sequence[Level]]) -> tuple[Level, ...]:
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
            f"what goes from chip to chip of {spelled(levels)} goes through other ports for each",
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
        raise ModelError(f"{spelled(levels)} has {twice} twice", expected="a name for each level")
    if any(level.degree is None for level in levels[:-1]):
        inner = next(level.link for level in levels[:-1] if level.degree is None)
        raise ModelError(f"{inner} of {spelled(levels)} has no degree", expected=f"how many it joins, as in {inner}(8)")
    for _, network in networks(levels):
        if len({level.sharp for level in network}) > 1:
            shown = " and ".join(level.link for level in network)
            raise ModelError(f"only some of {shown} add up in their switches", expected=f"sharp for each of {shown}")
