"""Boxes of blocks: the places on axes that the blocks of each dimension have, as the bits of a number; all where nothing is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Box = Mapping[tuple[str, str], int]


def any_of(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found


def common(one: Box, other: Box) -> Box:
    return {**one, **{pair: places & one.get(pair, places) for pair, places in other.items()}}


def within(one: Box, other: Box) -> bool:
    """Whether a box lies in another."""
    return all(pair in one and not one[pair] & ~places for pair, places in other.items())


def overlap(one: Box, other: Box) -> bool:
    return all(one[pair] & other[pair] for pair in one.keys() & other.keys())
