"""Collectives played out, message by message, on a ring or a line of chips: what the busiest direction of a link carries.

Every part is sent in two halves, so that on a ring both directions work alike: a half goes round one way further than
the other half where the number of its hops is odd. Pieces move along their routes from neighbour to neighbour; a chip
sends on only what it holds, and in the end every chip must hold what the collective promises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from symroof.errors import CheckError

Hop = tuple[int, int]


@lru_cache(maxsize=512)
def played(collective: str, chips: int, ring: bool) -> Fraction:
    """The part of the full result (of the whole tensor for an all-to-all) that the busiest direction of a link carries.

    >>> played("all-reduce", 2, False), played("all-gather", 4, False), played("all-gather", 4, True)
    (Fraction(1, 1), Fraction(3, 4), Fraction(3, 8))
    >>> played("all-to-all", 4, False), played("all-to-all", 5, False)
    (Fraction(1, 4), Fraction(6, 25))
    """
    match collective:
        case "all-gather":
            return _gathered(chips, ring)
        case "reduce-scatter":
            return _scattered(chips, ring)
        case "all-reduce":
            return _scattered(chips, ring) + _gathered(chips, ring)
        case "all-to-all":
            return _exchanged(chips, ring)
    raise CheckError(f"{collective} cannot be played out")


def _routes(chips: int, ring: bool) -> Iterator[tuple[int, int, list[int]]]:
    """From each chip, for both halves of its part, the way to the right and the way to the left that reach all others."""
    for chip in range(chips):
        for half in (0, 1):
            right = (chips - 1 + half) // 2 if ring else chips - 1 - chip
            yield chip, half, [(chip + step) % chips for step in range(right + 1)]
            yield chip, half, [(chip - step) % chips for step in range(chips - right)]


def _busiest(load: Counter[Hop], pieces: int) -> Fraction:
    return Fraction(max(load.values(), default=0), pieces)


def _gathered(chips: int, ring: bool) -> Fraction:
    load: Counter[Hop] = Counter()
    held = [{(chip, 0), (chip, 1)} for chip in range(chips)]
    for part, half, way in _routes(chips, ring):
        for sender, receiver in pairwise(way):
            if (part, half) not in held[sender] or (part, half) in held[receiver]:
                raise CheckError("a chip of the all-gather sends what it does not hold, or twice")
            held[receiver].add((part, half))
            load[sender, receiver] += 1
    if any(len(pieces) != 2 * chips for pieces in held):
        raise CheckError("the all-gather does not end with every part everywhere")
    return _busiest(load, 2 * chips)


def _scattered(chips: int, ring: bool) -> Fraction:
    """The same ways backwards: partial sums join on their way to the chip that keeps the part."""
    load: Counter[Hop] = Counter()
    sums = {(part, half): 1 << part for part in range(chips) for half in (0, 1)}  # the chips whose terms are in the sum
    for part, half, way in _routes(chips, ring):
        joined = 0
        for sender, receiver in zip(way[:0:-1], way[-2::-1], strict=True):
            joined |= 1 << sender
            load[sender, receiver] += 1
        if sums[part, half] & joined:
            raise CheckError("the reduce-scatter adds a term twice")
        sums[part, half] |= joined
    if any(terms != (1 << chips) - 1 for terms in sums.values()):
        raise CheckError("the reduce-scatter does not end with whole sums")
    return _busiest(load, 2 * chips)


def _exchanged(chips: int, ring: bool) -> Fraction:
    """Each chip has a part for every other chip; it takes the shorter way, and half of it each way where both are equal."""
    load: Counter[Hop] = Counter()
    arrived: Counter[int] = Counter()
    for sender in range(chips):
        for receiver in range(chips):
            for half in (0, 1):
                ahead = (receiver - sender) % chips
                right = 2 * ahead + half <= chips if ring else receiver > sender
                way = [(sender + s) % chips for s in range(ahead + 1)] if right else []
                way = way or [(sender - s) % chips for s in range((sender - receiver) % chips + 1)]
                load.update(pairwise(way))
                arrived[way[-1]] += way[-1] == receiver
    if any(arrived[chip] != 2 * chips for chip in range(chips)):
        raise CheckError("the all-to-all does not end with a part of every chip")
    return _busiest(load, 2 * chips**2)
