"""What a document has said so far: the names that it defined, each with its end, and the sizes that it put in.

What a sentence supposes ("if F = 4D") is in force to its end; what it defines, to the end of its paragraph; what a
display of its own defines, to the next heading of the level of its section or a higher one. What has ended is remembered: a claim may be true under it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from symroof.formula import Compare, Formula, Name
from symroof.reading.documents import Written
from symroof.reading.headings import Headings
from symroof.verification.judgement import Remark


@dataclass(frozen=True, slots=True)
class Definition:
    """A name, what it stands for with the names put in that were defined before, and the line that says so.

    ``size`` tells of one that puts a formula in for a dimension of the operation. ``within`` is the paragraph, or the
    paragraph and the sentence, with which it ends; nothing where that is its section.
    """

    name: str
    formula: Formula
    line: int
    path: Headings
    within: tuple[int, ...] = ()
    size: bool = False

    @property
    def equation(self) -> Compare:
        """The definition as a relation."""
        return Compare(Name(self.name), "=", self.formula)

    @property
    def in_use(self) -> Remark:
        """What a judgement says of it that uses it."""
        return Remark("defined", {"name": self.name, "formula": self.formula, "line": self.line})

    @property
    def past(self) -> Remark:
        """What a judgement says of it that would need it."""
        return Remark("ended", {"line": self.line})

    def holds(self, path: Headings, place: tuple[int, ...]) -> bool:
        """Whether it is in force in a section, at a paragraph and a sentence."""
        whole, part = (place, self.within) if self.within else (path, self.path)
        return whole[: len(part)] == part


@dataclass(frozen=True, slots=True)
class Discourse:
    """``definitions`` by name, the last one of each; ``sizes`` are those of the paragraph, ``past`` those before it."""

    path: Headings = ()
    place: tuple[int, ...] = ()
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    sizes: Mapping[str, Formula] = field(default_factory=dict)
    past: Mapping[str, Formula] = field(default_factory=dict)

    def entering(self, written: Written, place: tuple[int, ...]) -> Discourse:
        """At a formula: the sizes of another paragraph are gone.

        >>> from symroof.reading.documents import read_text
        >>> first, second = read_text("# A\\n\\n$x$\\n\\n# B\\n\\n$y$").parts
        >>> said = Discourse().entering(first, (1, 1)).defining(Definition("F", Name("D"), 3, first.path, within=(1,)))
        >>> [(list(at.in_force()), list(at.ended())) for at in (said, said.entering(second, (2, 2)))]
        [(['F'], []), ([], ['F'])]
        """
        said = replace(self, path=written.path, place=place)
        return said if place[:1] == self.place[:1] else replace(said, sizes={}, past={**self.past, **self.sizes})

    def in_force(self, *, size: bool = False) -> dict[str, Definition]:
        """What is defined here."""
        return {name: d for name, d in self.definitions.items() if d.holds(self.path, self.place) and d.size == size}

    def ended(self) -> dict[str, Definition]:
        """What was defined, and is in force no more."""
        return {name: d for name, d in self.definitions.items() if not d.holds(self.path, self.place)}

    def defining(self, definition: Definition) -> Discourse:
        """With another definition; the one before of that name is forgotten."""
        return replace(
            self, definitions={**self.forgetting([definition.name]).definitions, definition.name: definition}
        )

    def forgetting(self, forgotten: Iterable[str]) -> Discourse:
        """Without the definitions of some names."""
        gone = frozenset(forgotten)
        return replace(self, definitions={name: d for name, d in self.definitions.items() if name not in gone})

    def at(self, sizes: Mapping[str, Formula]) -> Discourse:
        """With sizes put in."""
        return replace(self, sizes={**self.sizes, **sizes})
