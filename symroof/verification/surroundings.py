"""What stands around a formula of a document: its sentence, and the formula before with the words between the two."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, cached_property

from symroof.formula import Compare, Formula
from symroof.model.dtype import BY_NAME, Dtype
from symroof.reading.catalogue import shipped
from symroof.reading.cues import Cue, bound_by, is_solved, is_supposed, says_sizes_alone, step_between
from symroof.reading.documents import Document, Written
from symroof.reading.latex_phrases import Dialect
from symroof.verification.offers import Regime, regimes_beside, relations_behind, sizes_beside, supposed_beside


@cache
def _called() -> dict[str, str]:
    """What the chips of the catalogue are called."""
    return {called.casefold(): name for name, chip in shipped().items() for called in (name, chip.title, *chip.aliases)}


@dataclass(frozen=True)
class Surroundings:
    """A formula in its document; ``given`` are the names that a problem explains, ``before`` is the formula that it may
    go on from, with its last condition or equation, and ``arrow`` the sign that it begins with."""

    document: Document
    written: Written
    dialect: Dialect
    given: frozenset[str] = frozenset()
    before: tuple[Written, Compare] | None = None
    arrow: str | None = None

    @cached_property
    def sentence(self) -> tuple[str, str]:
        """The words before the formula, and those behind it."""
        return self.document.prose.around(self.written.start, self.written.end)

    @cached_property
    def sizes(self) -> dict[str, Formula | None]:
        """The sizes of its sentence; None for a name with two values there."""
        return sizes_beside(" | ".join(self.sentence), self.dialect)

    @cached_property
    def related(self) -> tuple[Compare, ...]:
        """What the words directly behind it put in for names."""
        return tuple(relations_behind(self.sentence[1], self.dialect))

    @cached_property
    def sized_alone(self) -> bool:
        """Whether its sentence says nothing of it but the sizes that it is for."""
        return says_sizes_alone(*self.sentence)

    @cached_property
    def regimes(self) -> tuple[tuple[Regime, str], ...]:
        """The regimes that are stated in its paragraph up to the end of its sentence, and what says them."""
        return regimes_beside(f"{self.document.prose.so_far(self.written.start)} | {self.sentence[1]}", self.dialect)

    @cached_property
    def stated(self) -> tuple[tuple[Regime, str], ...]:
        """Those that are stated in its sentence."""
        return regimes_beside(" | ".join(self.sentence), self.dialect)

    @cached_property
    def supposed_regimes(self) -> frozenset[Regime]:
        """Those that its sentence supposes."""
        return supposed_beside(" | ".join(self.sentence), self.dialect)

    @cached_property
    def solved(self) -> bool:
        """Whether the words before it make an equation of it that is to be solved."""
        return is_solved(self.sentence[0].rpartition("$")[2])

    @cached_property
    def sought(self) -> bool:
        """Whether any words of its sentence do."""
        return any(map(is_solved, self.sentence))

    @cached_property
    def types(self) -> set[Dtype]:
        """The element types of which its sentence speaks: those whose names say their width, and are no words."""
        words = set(re.findall(r"\w+", " ".join(self.sentence).casefold()))
        return {entry for name, entry in BY_NAME.items() if name in words and not name.isalpha()}

    @cached_property
    def chips(self) -> set[str]:
        """The chips of which its sentence speaks."""
        words = " ".join(self.sentence).casefold()
        return {
            chip for name, chip in _called().items() if name in words and re.search(rf"\b{re.escape(name)}\b", words)
        }

    @cached_property
    def bound_by(self) -> str | None:
        """What the words before it say that the operation is bound by where it holds."""
        return bound_by(self.sentence[0])

    @cached_property
    def answers(self) -> str | None:
        """What the operation is bound by exactly where it holds: by the row of an answer, as derivations print it."""
        for cell in (part for part in self.document.parts if isinstance(part, Written)):
            around = cell.offset - len("$$") <= self.written.start < cell.offset + len(cell.text)
            if cell.row is not None and around and cell.row.heads[0].text == "quantity" and cell.head != "exact":
                return bound_by(f"{cell.row.cells[0].text} when")
        return None

    @cached_property
    def supposed(self) -> bool:
        """Whether its sentence supposes what it says, for what else it says."""
        return is_supposed(*self.sentence)

    @cached_property
    def going_on(self) -> Compare | None:
        """The condition or equation that it may go on from: of the same paragraph, or of a display before a display."""
        if self.before is None:
            return None
        formula, condition = self.before
        paragraph = self.document.prose.paragraph
        joined = paragraph(formula.start) == paragraph(self.written.start) or (formula.display and self.written.display)
        return condition if joined and formula.path == self.written.path else None

    @cached_property
    def cue(self) -> Cue | None:
        """What the words between the two say, or the arrow that the formula begins with."""
        if self.before is None:
            return None
        words = self.document.prose.text[self.before[0].end : self.written.start]
        said = step_between(f"{words} {self.arrow or ''}")
        return said and replace(said, sign=self.arrow or said.sign)
