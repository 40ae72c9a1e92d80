"""What has been said once a formula stands there: names that it defines, sizes that it puts in, constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from symroof.formula import Formula, Name, names
from symroof.model.quantities import QUANTITIES
from symroof.reading.claims import Chain
from symroof.verification.context import Context
from symroof.verification.enclosures import compared, enclosed, is_numeric
from symroof.verification.premises import constraint, premises
from symroof.verification.readings import Passage
from symroof.verification.selection import Skip
from symroof.verification.surroundings import Definition, Discourse


def noted(chain: Chain, skips: Sequence[Skip | None], passage: Passage) -> Discourse:
    """What has been said once a chain stands there: what its links define, and the sizes that they put in.

    What is approximated may be used in either form later on, so that it defines nothing.
    """
    *letters, value = chain.sides
    said, equal = passage.said, set(chain.relations) == {"="}
    sizes = {one.name: value for one in letters if isinstance(one, Name) and _is_size(one.name, passage.place)}
    if equal and is_numeric(value) and len(sizes) == len(letters):  # B = 16, or D = F = 4096
        return said.at(sizes, passage.around.written.place.line)
    if set(chain.relations) == {"~"} and len(letters) == 1 and isinstance(letters[0], Name) and is_numeric(value):
        return said.stating(Definition(letters[0].name, value, passage.around.written.place.line, said.path))
    for link, skip in zip(chain.links, skips, strict=True):
        if skip is not None and skip.reason.kind in ("equation", "other_letters"):
            if len(chain.relations) == 1 and (told := constraint(link, replace(passage, said=said))) is not None:
                said = said.stating(Definition(*told, passage.around.written.place.line, said.path))
            continue
        if skip is None or not isinstance(link.left, Name) or link.relation != "=":
            continue
        if skip.reason.kind in ("words", "unreadable"):  # what it stands for is not known any more
            said = said.forgetting([link.left.name])
        elif skip.defines and set(chain.relations) <= {"=", "~"} and is_numeric(value) and len(chain.relations) > 1:
            said = said.forgetting([skip.defines])
            line = passage.around.written.place.line
            said = said.stating(Definition(skip.defines, value, line, said.path))
        elif skip.defines and not equal:
            said = said.forgetting([skip.defines])
        elif skip.defines or (equal and skip.reason.kind == "size" and not is_numeric(link.right)):
            right = value if isinstance(link.right, Name) else link.right  # B = D = F
            comes_to = value if is_numeric(value) and value is not right else None
            said = _defining(link.left.name, right, replace(passage, said=said), comes_to)
    return said


def _valued(told: Definition, value: Formula, passage: Passage) -> Discourse:
    """A number for a name that has a formula is its value somewhere. Where it is another one than the text makes of the
    formula, the two contradict each other, and neither is used any more."""
    said = passage.said
    for name, size in passage.around.sizes.items():
        if size is not None:
            said = said.stating(Definition(name, size, told.line, said.path))
    place = replace(passage.place, definitions={n: f for n, f in passage.place.definitions.items() if n != told.name})
    found = premises(names(told.formula), place, said)
    made = told.formula if found is None else found.context.put(told.formula)
    if not is_numeric(made):
        return passage.said.defining(replace(told, value=value))
    agree = (
        compared(made, value) == 0 or abs(enclosed(value).middle / enclosed(made).middle - 1) < passage.place.tolerance
    )
    return passage.said if agree else passage.said.forgetting([told.name])


def _is_size(name: str, place: Context) -> bool:
    """Whether a number that is set equal to a name is a size: of a dimension, or of a letter that nothing else explains."""
    return name in place.least_one or (len(name) == 1 and name not in place.definitions and name not in QUANTITIES)


def _defining(name: str, right: Formula, passage: Passage, comes_to: Formula | None) -> Discourse:
    """A name stands for a formula from here on, where no problem says what it is and the sizes leave it open."""
    said, around, place = passage.said, passage.around, passage.place
    own = said.in_force()
    if name in names(right) or name in around.given:
        return said
    formulas = {n: f for n, f in place.definitions.items() if n not in said.stated or not is_numeric(f)}
    meaning = replace(place, definitions=formulas).put(
        right
    )  # a name that has a number keeps its name: it may get another
    if name in names(meaning):
        return said
    if name in own and is_numeric(meaning) and not is_numeric(own[name].formula):
        return _valued(own[name], meaning, passage)
    within = () if around.written.display else said.place if around.supposed else said.place[:1]
    line, size = around.written.place.line, name in place.least_one
    return said.defining(Definition(name, meaning, line, said.path, within, size, comes_to))
