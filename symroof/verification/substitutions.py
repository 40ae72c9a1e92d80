"""Claims at sizes: values of what depends on sizes, and equations that are meant for the sizes beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from symroof.formula import Compare, Formula, Name, names
from symroof.reading.claims import Claim
from symroof.verification.context import Context
from symroof.verification.discourse import Discourse
from symroof.verification.enclosures import is_numeric
from symroof.verification.readings import Reading, free_names
from symroof.verification.surroundings import Surroundings


def with_sizes(plain: Reading, said: Discourse, around: Surroundings) -> Iterator[Reading]:
    """An equation with what its sentence and paragraph put in for its names: it may be meant for those sizes alone."""
    claim, context = plain.claim, plain.context
    if claim.connectives or claim.at or not is_equation(claim, context):
        return
    spoken = {*free_names(claim, context), *(name for link in claim.links for name in names(link))}
    pairs = (
        (r.left.name, r.right) for r in around.related if isinstance(r.left, Name) and r.left != claim.links[0].left
    )
    put = {name: size for name, size in pairs if name in spoken - around.given}
    if put:
        dimensions = [Compare(Name(name), "=", size) for name, size in put.items() if name in context.least_one]
        others = {name: size for name, size in put.items() if name not in context.least_one}
        yield replace(plain, context=context.defining(others).assuming(dimensions))
    sizes = {**said.sizes, **{name: size for name, size in around.sizes.items() if size is not None}}
    numbers = tuple((name, size) for name, size in sizes.items() if name in spoken and name not in put)
    if numbers:
        yield replace(plain, claim=replace(claim, at=numbers))


def at_sizes(
    claim: Claim, context: Context, said: Discourse, around: Surroundings, kind: str, place: Context
) -> Iterator[Reading]:
    """A value, at the sizes of its sentence and paragraph; else at those that were put in before."""
    free = free_names(claim, place)
    one_number = len(claim.links) == 1 and sum(is_numeric(side) for side in _sides(claim)) == 1
    if not free or not (kind == "at_sizes" or one_number) or (kind == "definition" and not _defined(claim, said)):
        return
    typed = {name: value for name, value in around.sizes.items() if value is not None and name in free}
    doubtful = any(
        value != said.sizes.get(name, value) or value is None for name, value in around.sizes.items() if name in free
    )
    sizes = {**said.sizes, **typed}
    if free <= set(sizes):
        exact = kind == "at_sizes" or (free <= set(typed) and around.sized_alone)
        firm = exact and not doubtful and not around.solved
        yield Reading(replace(claim, at=_picked(sizes, free, kind)), context, firm)
    elif free <= {*sizes, *said.past}:
        every = {**said.past, **sizes}
        offered = tuple(Compare(Name(name), "=", every[name]) for name in sorted(free))
        yield Reading(replace(claim, at=_picked(every, free, kind)), context, firm=False, offered=offered)


def _picked(sizes: Mapping[str, Formula], free: set[str], kind: str) -> tuple[tuple[str, Formula], ...]:
    return tuple((name, value) for name, value in sizes.items() if kind == "at_sizes" or name in free)


def _defined(claim: Claim, said: Discourse) -> bool:
    left = claim.links[0].left
    return isinstance(left, Name) and left.name in said.in_force()


def is_equation(claim: Claim, context: Context) -> bool:
    return not claim.connectives and any(
        link.relation == "=" and names(context.put(link.left)) and names(context.put(link.right))
        for link in claim.links
    )


def _sides(claim: Claim) -> tuple[Formula, ...]:
    return (claim.links[0].left, claim.links[-1].right)
