"""Pipelines played out, stage by stage: when each microbatch goes forward and back, how long chips wait, and how many
microbatches a stage keeps something of.

A stage does one thing at a time, in the order of its schedule, as soon as what it needs is there: what the stage before
made of a microbatch, or on the way back the stage behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from symroof.errors import CheckError
from symroof.formula import Frozen
from symroof.proof.polynomials import ONE, Poly, Rat

SCHEDULES = ("1f1b", "gpipe")
# What a microbatch takes in a stage, forward and back: two times that have nothing in common.
TIMES = (Fraction(2), Fraction(5))
# The stages and microbatches that are played where one of them is open.
PLAYED = ((2, 2), (2, 5), (3, 3), (3, 7), (4, 6), (5, 5), (5, 9))
LARGEST = 64


class Played(Frozen):
    """How long all of it takes, how long of it a stage works, and of how many microbatches a stage keeps something at
    most."""

    whole: Fraction
    busy: Fraction
    held: int


def _order(schedule: str, stages: int, stage: int, microbatches: int, back: bool) -> Iterator[tuple[str, int]]:
    """What a stage does, in order. It goes forward until the first microbatch can come back, then back and forward in
    turn."""
    if not back:
        yield from (("forward", i) for i in range(microbatches))
        return
    ahead = microbatches if schedule == "gpipe" else min(stages - stage, microbatches)
    yield from (("forward", i) for i in range(ahead))
    for i in range(microbatches):
        yield "back", i
        if ahead + i < microbatches:
            yield "forward", ahead + i


@lru_cache(maxsize=256)
def played(stages: int, microbatches: int, schedule: str = "1f1b", back: bool = True) -> Played:
    """
    >>> found = played(4, 8)
    >>> found.held, 1 - found.busy / found.whole, played(4, 8, "gpipe").held
    (4, Fraction(3, 11), 8)
    """
    if schedule not in SCHEDULES:
        raise CheckError(f"{schedule} is no schedule")
    orders = [list(_order(schedule, stages, stage, microbatches, back)) for stage in range(stages)]
    ends: dict[tuple[str, int, int], Fraction] = {}
    free, done = [Fraction(0)] * stages, [0] * stages
    held, most = [0] * stages, 0
    while any(done[stage] < len(orders[stage]) for stage in range(stages)):
        moved = False
        for stage in range(stages):
            if done[stage] == len(orders[stage]):
                continue
            what, i = orders[stage][done[stage]]
            before = stage - 1 if what == "forward" else stage + 1
            needed = ("forward", stage, i) if what == "back" and before == stages else (what, before, i)
            if before >= 0 and needed not in ends:
                continue
            start = max(free[stage], ends.get(needed, Fraction(0)))
            free[stage] = ends[what, stage, i] = start + TIMES[what == "back"]
            held[stage] += 1 if what == "forward" else -1
            most, moved = max(most, held[stage]), True
            done[stage] += 1
        if not moved:
            raise CheckError("the stages wait for one another")
    return Played(max(free), microbatches * (TIMES[0] + TIMES[1] if back else TIMES[0]), most if back else 1)


def bubble_of(stages: Rat, microbatches: Rat, schedule: str, back: bool) -> Rat:
    """The part of the time of all microbatches that a stage does not work, as it is played."""
    for p, m in _points(stages, microbatches, at_least=False):
        found = played(p, m, schedule, back)
        if (found.whole - found.busy) * (m + p - 1) != found.whole * (p - 1):
            raise CheckError(f"{p} stages wait for something else with {m} microbatches")
    waits = stages - Rat(ONE)
    return waits / (microbatches + waits)


def presumes(stages: Rat, microbatches: Rat, schedule: str) -> bool:
    """Whether nothing says that there are at least as many microbatches as stages, and it makes a difference."""
    counted = stages.constant is not None and microbatches.constant is not None
    return schedule != "gpipe" and microbatches.constant != 1 and not counted


def in_flight(stages: Rat, microbatches: Rat, schedule: str) -> Rat:
    """Of how many microbatches the first stage keeps something: as many as are played, and where a number is open as
    many as there are stages, of at least as many microbatches."""
    p, m = stages.constant, microbatches.constant
    every = schedule == "gpipe" or m == 1
    for few, many in _points(stages, microbatches, at_least=not every):
        if played(few, many, schedule).held != (many if every else min(few, many)):
            raise CheckError(f"{few} stages keep something else of {many} microbatches")
    if every:
        return microbatches
    return stages if p is None or m is None else Rat(Poly.number(min(p, m)))


def _points(stages: Rat, microbatches: Rat, *, at_least: bool) -> Iterator[tuple[int, int]]:
    """The numbers that are played: those that there are, else several, of at least as many microbatches as stages."""
    p, m = stages.constant, microbatches.constant
    if p is not None and m is not None and max(p, m) <= LARGEST:
        yield int(p), int(m)
        return
    for few, many in PLAYED:
        own = int(p) if p is not None and p <= LARGEST else few
        yield own, max(own, many) if at_least else int(m) if m is not None and m <= LARGEST else many
