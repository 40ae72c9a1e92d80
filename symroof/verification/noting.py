"""What a formula adds to what has been said: the names that it defines, and the sizes that it puts in."""

from __future__ import annotations

from collections.abc import Sequence

from symroof.formula import Compare, Name, names
from symroof.model.quantities import QUANTITIES
from symroof.reading.claims import Chain
from symroof.verification.context import Context
from symroof.verification.discourse import Definition, Discourse
from symroof.verification.enclosures import is_numeric
from symroof.verification.selection import Skip
from symroof.verification.surroundings import Surroundings


def noted(
    chain: Chain, skips: Sequence[Skip | None], place: Context, said: Discourse, around: Surroundings
) -> Discourse:
    """What has been said once a chain stands there: what its links define, and the sizes that they put in.

    What is approximated may be used in either form later on, so that it defines nothing.
    """
    *letters, value = chain.sides
    equal = set(chain.relations) == {"="}
    sizes = {one.name: value for one in letters if isinstance(one, Name) and _is_size(one.name, place, said)}
    if equal and is_numeric(value) and len(sizes) == len(letters):  # B = 16, or D = F = 4096
        return said.at(sizes)
    for link, skip in zip(chain.links, skips, strict=True):
        if skip is None or not isinstance(link.left, Name) or link.relation != "=":
            continue
        if skip.reason.kind in ("words", "unreadable"):  # what it stands for is not known any more
            said = said.forgetting([link.left.name])
        elif skip.defines and not equal:
            said = said.forgetting([skip.defines])
        elif skip.defines or (equal and skip.reason.kind == "size" and not is_numeric(link.right)):
            right = value if isinstance(link.right, Name) else link.right  # B = D = F
            said = _defining(link.left.name, Compare(link.left, "=", right), place, said, around)
    return said


def _is_size(name: str, place: Context, said: Discourse) -> bool:
    """Whether a number that is set equal to a name is a size: of a dimension, or of a letter that nothing else explains."""
    return name in place.least_one or (len(name) == 1 and name not in place.definitions and name not in QUANTITIES)


def _defining(name: str, link: Compare, place: Context, said: Discourse, around: Surroundings) -> Discourse:
    """A name stands for the right side of a link, where no problem says what it is and the sizes leave it open."""
    own = said.in_force()
    if name in names(link.right) or name in around.given:
        return said
    meaning = place.put(link.right)
    if name in names(meaning) or (name in own and is_numeric(meaning) and not is_numeric(own[name].formula)):
        return said  # a number for a name that has a formula is its value somewhere
    within = () if around.written.display else said.place if around.supposed else said.place[:1]
    line, size = around.written.place.line, name in place.least_one
    return said.defining(Definition(name, meaning, line, said.path, within, size))
