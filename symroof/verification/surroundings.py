"""What stands around a formula of a document, and what it offers: sizes of its sentence, regimes stated beside it.

What a document has said so far: the names that it defined, each with its end, and the sizes that it put in.

What a sentence supposes ("if F = 4D") is in force to its end; what it defines, to the end of its paragraph; what a
display of its own defines, to the next heading of the level of its section or a higher one. What has ended is remembered: a claim may be true under it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from symroof.errors import SymroofError
from symroof.formula import Compare, Formula, Name
from symroof.model.dtype import BY_NAME, Dtype
from symroof.reading.catalogue import shipped
from symroof.reading.claims import read_regime, regime
from symroof.reading.cues import (
    AMONG,
    FORMULA,
    PUTTING_IN,
    Cue,
    bound_by,
    is_denied,
    is_solved,
    is_supposed,
    is_supposed_here,
    says_sizes_alone,
    stated_regimes,
    step_between,
    typed_sizes,
)
from symroof.reading.documents import Document, Written
from symroof.reading.latex import LatexReader, read_latex, read_latex_expression
from symroof.reading.latex_phrases import Dialect
from symroof.reading.markup import Headings
from symroof.verification.judgement import Remark

# What a formula that states a regime has in it.
GROWTH = re.compile(r"\\ll\b|\\gg\b|<<|>>|≪|≫|\\infty|∞")
# What stands between two such formulas that hold together.
TOGETHER = re.compile(r"\s*(?:[,，、]\s*(?:and\b)?|and\b|且|和|이고|와|과)\s*")
Regime = tuple[Compare, ...]


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


def sizes_beside(sentence: str, dialect: Dialect) -> dict[str, Formula | None]:
    """The sizes that a sentence puts in; None for a name that has two in it.

    >>> from symroof.reading.scope import Scope
    >>> {name: size and size.digits for name, size in sizes_beside("at B = 48,000", Dialect(Scope(open=True))).items()}
    {'B': '48000'}
    """
    read: dict[str, Formula | None] = {}
    for name, text in typed_sizes(sentence).items():
        with suppress(SymroofError):
            read[name] = text and read_latex_expression(text, dialect)  # type: ignore[assignment]
    return read


def relations_behind(text: str, dialect: Dialect) -> Iterator[Compare]:
    """What the words directly behind a formula put in for names: with F = 4D and E = 2D.

    >>> from symroof.reading.scope import Scope
    >>> def names_in(text): return [r.left.name for r in relations_behind(text, Dialect(Scope(open=True)))]
    >>> names_in(" for $F = 4D$ and $E = 2D$, so $B = 2$"), names_in(", so $F = 4D$")
    (['F', 'E'], [])
    """
    last, joining = 0, PUTTING_IN
    for match in FORMULA.finditer(text):
        inside = next(group for group in match.groups() if group is not None)
        if not joining.fullmatch(text[last : match.start()]):
            return
        with suppress(SymroofError):
            links = [link for claim in read_latex(inside, dialect) for link in claim.links]
            yield from (r for r in links if r.relation == "=" and isinstance(r.left, Name) and len(links) == 1)
        last, joining = match.end(), AMONG


def regimes_beside(text: str, dialect: Dialect) -> tuple[tuple[Regime, str], ...]:
    r"""The regimes that a text states in formulas and in words, the nearest to its end first, with what says them.

    >>> from symroof.reading.scope import Scope
    >>> text = r"For large $N$, as $B \ll D, F$"
    >>> [words for _, words in regimes_beside(text, Dialect(Scope(open=True)))]
    ['B \\ll D, F', 'For large N']
    >>> [words for _, words in regimes_beside(r"when $B \ll D$ and $B \ll F$", Dialect(Scope(open=True)))]
    ['B \\ll D, B \\ll F', 'B \\ll F', 'B \\ll D']
    >>> [words for _, words in regimes_beside(r"when $B \ll D$ or $B \ll F$", Dialect(Scope(open=True)))]
    ['B \\ll F', 'B \\ll D']
    """
    found = (*_in_words(text, dialect), *_in_formulas(text, dialect))
    return tuple({relations: (relations, words) for relations, words in reversed(found)}.values())


def supposed_beside(sentence: str, dialect: Dialect) -> frozenset[Regime]:
    r"""The regimes that the words which touch their formulas suppose: when $B \ll D$ and $B \ll F$.

    >>> from symroof.reading.scope import Scope
    >>> [len(r) for r in supposed_beside(r"when $B \ll D$ and $B \ll F$", Dialect(Scope(open=True)))]
    [2]
    >>> supposed_beside(r"unless $B \ll D$", Dialect(Scope(open=True)))
    frozenset()
    """
    whole: dict[int, tuple[Regime, int]] = {}
    for relations, _, start, end in _by_formulas(sentence, dialect):
        whole[start] = relations, end
    return frozenset(
        relations for start, (relations, end) in whole.items() if is_supposed_here(sentence[:start], sentence[end:])
    )


def _in_words(text: str, dialect: Dialect) -> Iterator[tuple[Regime, str]]:
    for written, words in stated_regimes(text):
        with suppress(SymroofError):
            yield read_regime(written, dialect.scope), words


def _in_formulas(text: str, dialect: Dialect) -> Iterator[tuple[Regime, str]]:
    return ((relations, words) for relations, words, *_ in _by_formulas(text, dialect))


def _by_formulas(text: str, dialect: Dialect) -> Iterator[tuple[Regime, str, int, int]]:
    """The regimes of each formula, and behind them those of formulas that a comma or an "and" joins, each with where it
    begins and ends; but not where the words beside it deny it."""
    before: tuple[Regime, str, int] = (), "", 0
    end = 0
    for match in FORMULA.finditer(text):
        inside = next(group for group in match.groups() if group is not None)
        if not GROWTH.search(inside) or is_denied(text[: match.start()], text[match.end() :]):
            continue
        with suppress(SymroofError):
            found = read_latex_regime(inside, dialect), inside, match.start()
            yield *found, match.end()
            if before[0] and TOGETHER.fullmatch(text, end, match.start()):
                found = (*before[0], *found[0]), f"{before[1]}, {inside}", before[2]
                yield *found, match.end()
            before, end = found, match.end()


def read_latex_regime(text: str, dialect: Dialect) -> Regime:
    """The relations of a regime in LaTeX: B \\ll D, F."""
    reader = LatexReader(text.rstrip(" .,;"), dialect)
    relations = regime(reader)
    reader.expect_end()
    if not all(relation.relation in ("<<", "->") for relation in relations):
        raise reader.error(expected="sizes that are small beside others, or that grow")
    return relations


@dataclass(frozen=True, slots=True)
class Definition:
    """A name, what it stands for with the names put in that were defined before, and the line that says so.

    ``value`` is the number that its line says it comes to. ``size`` tells of one that puts a formula in for a dimension of the operation. ``within`` is the paragraph, or the
    paragraph and the sentence, with which it ends; nothing where that is its section.
    """

    name: str
    formula: Formula
    line: int
    path: Headings
    within: tuple[int, ...] = ()
    size: bool = False
    value: Formula | None = None

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
    """``definitions`` by name, the last one of each; ``sizes`` are those of the paragraph.
    ``stated`` is everything that names have stood for, in the order of the text."""

    path: Headings = ()
    place: tuple[int, ...] = ()
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    sizes: Mapping[str, Formula] = field(default_factory=dict)
    stated: Mapping[str, tuple[Definition, ...]] = field(default_factory=dict)

    def entering(self, written: Written, place: tuple[int, ...]) -> Discourse:
        """At a formula: the sizes of another paragraph are gone.

        >>> from symroof.reading.documents import read_text
        >>> first, second = read_text("# A\\n\\n$x$\\n\\n# B\\n\\n$y$").parts
        >>> said = Discourse().entering(first, (1, 1)).defining(Definition("F", Name("D"), 3, first.path, within=(1,)))
        >>> [(list(at.in_force()), list(at.ended())) for at in (said, said.entering(second, (2, 2)))]
        [(['F'], []), ([], ['F'])]
        """
        said = replace(self, path=written.path, place=place)
        return said if place[:1] == self.place[:1] else replace(said, sizes={})

    def in_force(self) -> dict[str, Definition]:
        """What is defined here, but for what is put in for a dimension."""
        return {name: d for name, d in self.definitions.items() if d.holds(self.path, self.place) and not d.size}

    def ended(self) -> dict[str, Definition]:
        """What was defined, and is in force no more."""
        return {name: d for name, d in self.definitions.items() if not d.holds(self.path, self.place)}

    def defining(self, definition: Definition) -> Discourse:
        """With another definition; the one before of that name is forgotten."""
        others = {name: d for name, d in self.definitions.items() if name != definition.name}
        return replace(self.stating(definition), definitions={**others, definition.name: definition})

    def stating(self, definition: Definition) -> Discourse:
        """With what is said of a name remembered, whether it is in force or not."""
        before = self.stated.get(definition.name, ())
        return replace(self, stated={**self.stated, definition.name: (*before, definition)})

    def last(self, name: str) -> Definition | None:
        """What was said last of a name."""
        return self.stated[name][-1] if self.stated.get(name) else None

    def sole(self, name: str) -> bool:
        """Whether nothing else has been said of it."""
        return len({d.formula for d in self.stated.get(name, ())}) == 1

    def forgetting(self, forgotten: Iterable[str]) -> Discourse:
        """Without the definitions of some names."""
        gone = frozenset(forgotten)
        kept = {name: d for name, d in self.definitions.items() if name not in gone}
        stated = {name: d for name, d in self.stated.items() if name not in gone}
        return replace(self, definitions=kept, stated=stated)

    def at(self, sizes: Mapping[str, Formula], line: int) -> Discourse:
        """With sizes put in."""
        said = replace(self, sizes={**self.sizes, **sizes})
        for name, size in sizes.items():
            said = said.stating(Definition(name, size, line, self.path))
        return said
