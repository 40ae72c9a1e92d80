"""Collectives carried out on a tree of switches, message by message: what goes through the ports of its levels.

A chip has a link to the lowest switch, and another one, its adapter, to the switches of all other levels where the
lowest is NVLink. Chips of one place in their parts speak with one another: first those that are farthest apart, then
nearer ones, each with all that it has by then. Every message is counted at each port that it goes out of and into.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod

from symroof.errors import CheckError
from symroof.proof.polynomials import Poly, Rat

# The link, how many children, the taper, and whether switches add up.
Level = tuple[str, int, Fraction, bool]
APART = "NVLink"
# As far as a tree is played in its own size.
MOST = 24


class Wires:
    """The chips of a tree, and what has gone through each port in either direction."""

    def __init__(self, levels: Sequence[Level]) -> None:
        self.levels, self.chips = levels, prod(degree for _, degree, *_ in levels)
        self.below = [prod(degree for _, degree, *_ in levels[:i]) for i in range(len(levels) + 1)]
        self.load: Counter[tuple[int, int, str]] = Counter()

    def networks(self) -> Iterator[tuple[int, int]]:
        """The first level of each network, and the one behind its last: what is behind NVLink goes by the adapter."""
        start = 0
        for i, (link, *_) in enumerate(self.levels):
            if link.split(".")[0] == APART:
                if start < i:
                    yield start, i
                yield i, i + 1
                start = i + 1
        if start < len(self.levels):
            yield start, len(self.levels)

    def network(self, one: int, other: int) -> tuple[int, int]:
        """The network in which two chips meet: the lowest that joins both."""
        return next(ends for ends in self.networks() if one // self.below[ends[1]] == other // self.below[ends[1]])

    def send(self, one: int, other: int, pieces: int) -> None:
        """From chip to chip, up to the switch that joins both and down again."""
        start, end = self.network(one, other)
        for i in range(start, end):
            if one // self.below[i] != other // self.below[i]:
                self.load[i, one // self.below[i], "out"] += pieces
                self.load[i, other // self.below[i], "in"] += pieces

    def carried(self, parts: int) -> dict[str, Fraction]:
        """Of a message in so many parts what the busiest port of each level has, in the time that a chip's link
        takes."""
        found = {}
        for i, (link, _, taper, _) in enumerate(self.levels):
            most = max((load for (level, *_), load in self.load.items() if level == i), default=0)
            if most:
                found[link] = Fraction(most, parts) * taper / self.below[i]
        return found


@lru_cache(maxsize=256)
def routed(collective: str, levels: tuple[Level, ...]) -> dict[str, Fraction]:
    """What each level carries of the message of a collective, as it is carried out.

    >>> routed("all-gather", (("NVLink", 2, Fraction(1), False), ("leaf", 3, Fraction(1), False)))
    {'NVLink': Fraction(1, 2), 'leaf': Fraction(1, 3)}
    """
    wires = Wires(levels)
    match collective:
        case "all-gather" | "reduce-scatter":
            _spread(wires, back=collective == "reduce-scatter")
        case "all-reduce":
            _spread(wires, back=True, added=True)
            _spread(wires, back=False, added=True)
            _added_up(wires)
        case "all-to-all":
            for one in range(wires.chips):
                for other in range(wires.chips):
                    if one != other:
                        wires.send(one, other, 1)
            return wires.carried(wires.chips**2)
        case _:
            raise CheckError(f"{collective} is not routed on a tree")
    return wires.carried(wires.chips)


def _spread(wires: Wires, *, back: bool, added: bool = False) -> None:
    """From the top down the chips of one place in the children of a switch give one another what they have; ``back``:
    from below up each takes the sums of its part. In the end every chip has met all parts. What switches add up is not
    sent."""
    has: dict[int, set[int]] = {chip: {chip} for chip in range(wires.chips)}
    for i in reversed(range(len(wires.levels))):
        below, degree = wires.below[i], wires.levels[i][1]
        new: dict[int, set[int]] = defaultdict(set)
        for chip in range(wires.chips):
            first = chip // (below * degree) * below * degree + chip % below
            for child in range(degree):
                other = first + child * below
                if other == chip:
                    continue
                if not (added and wires.levels[i][3]):
                    wires.send(*((chip, other) if not back else (other, chip)), len(has[chip]))
                if has[chip] & (has[other] | new[other]):
                    raise CheckError("a part comes twice")
                new[other] |= has[chip]
        for chip, more in new.items():
            has[chip] |= more
    if any(len(parts) != wires.chips for parts in has.values()):
        raise CheckError("a part does not come to every chip")


def _added_up(wires: Wires) -> None:
    """Where switches add up every chip sends its numbers up once, and takes the sums once: what a child hands on is one
    sum of those below."""
    for start, end in wires.networks():
        if not wires.levels[start][3]:
            continue
        each = wires.chips // wires.below[start]  # chips below this network share out the message
        for i in (i for i in range(start, end) if wires.below[i] < wires.below[end]):
            for child in range(wires.chips // wires.below[i]):
                inside = range(child * wires.below[i], (child + 1) * wires.below[i])
                sums = {chip % wires.below[start] for chip in inside}  # chips of one place have one sum
                for way in ("out", "in"):
                    wires.load[i, child, way] += each * len(sums)


def merged(parts: Sequence[Sequence[Level]]) -> tuple[Level, ...]:
    """What axes have of a tree, the outermost first, from the chips up: one level where both have some of it."""
    every = [level for levels in reversed(parts) for level in levels]
    names = list(dict.fromkeys(link for link, *_ in every))
    return tuple(
        (name, prod(degree for link, degree, *_ in every if link == name), taper, adds)
        for name in names
        for taper, adds in {(taper, adds) for link, _, taper, adds in every if link == name}
    )


def shares_of_levels(collective: str, levels: tuple[Level, ...]) -> Iterator[tuple[str, Rat]]:
    """What each level carries of the message of a collective: as it is routed, on a tree of its own size where that is
    small; of a larger one as its shape says, which a small one of that shape is held against."""
    small = tuple((link, min(degree, 2 + i % 2), taper, adds) for i, (link, degree, taper, adds) in enumerate(levels))
    tried = levels if prod(degree for _, degree, *_ in levels) <= MOST else small
    if _by_shape(collective, tried) != routed(collective, tried):
        raise CheckError(f"{collective} on a tree carries something else")
    for link, share in _by_shape(collective, levels).items():
        yield link, Rat(Poly.number(share))


def _by_shape(collective: str, levels: tuple[Level, ...]) -> dict[str, Fraction]:
    """A chip of N is below the child of a level with n - 1 others; its network has m/n such children in all."""
    wires, found = Wires(levels), {}
    for start, end in wires.networks():
        for i in range(start, end):
            link, _, taper, adds = levels[i]
            n, m = wires.below[i], wires.below[end]
            if n == m:
                continue
            way = Fraction(m - n, m * n)
            if collective == "all-reduce":
                way = Fraction(1, n) if adds else 2 * way
            elif collective == "all-to-all":
                way = Fraction(m - n, wires.chips**2)
            found[link] = way * taper
    return found
