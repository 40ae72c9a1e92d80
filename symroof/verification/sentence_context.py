"""What stands around a formula of a document, and what it offers: sizes of its sentence, regimes stated beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from symroof.errors import SymroofError
from symroof.formula import Compare, Formula, Name, once
from symroof.model.tensor_types import BY_NAME, Dtype
from symroof.reading.chips import shipped
from symroof.reading.claims import read_regime, regime
from symroof.reading.documents import Document, Written
from symroof.reading.latex import LatexReader, read_latex, read_latex_expression
from symroof.reading.latex_phrases import Dialect
from symroof.reading.prose_parts import amount_in
from symroof.reading.sentence_cues import (
    AMONG,
    FORMULA,
    GROWTH,
    PUTTING_IN,
    TOGETHER,
    Bound,
    Cue,
    bound_by,
    has_cue,
    is_denied,
    is_supposed_here,
    says_sizes_alone,
    stated_regimes,
    step_between,
    typed_sizes,
    without_regimes,
)

Regime = tuple[Compare, ...]


@cache
def _called() -> dict[str, str]:
    """What the chips of the catalogue are called."""
    return {called.casefold(): name for name, chip in shipped().items() for called in (name, chip.title, *chip.aliases)}


@dataclass(frozen=True)
class Surroundings:
    """A formula in its document; ``given`` are the names that a problem explains, ``before`` is the formula that it may
    say again, with its last condition, and ``arrow`` the sign that it begins with; ``usual`` are the sizes
    that its problem states, where it names none itself."""

    document: Document
    written: Written
    dialect: Dialect
    given: frozenset[str] = frozenset()
    before: tuple[Written, Compare] | None = None
    arrow: str | None = None
    usual: Mapping[str, Formula] = field(default_factory=dict)

    @cached_property
    def sentence(self) -> tuple[str, str]:
        """The words before the formula, and those behind it."""
        return self.document.prose.around(self.written.start, self.written.end)

    @cached_property
    def sizes(self) -> dict[str, Formula | None]:
        """The sizes of its sentence, and those of the problem; None for a name with two values there."""
        return {**self.usual, **sizes_beside(" | ".join(self.sentence), self.dialect)}

    @cached_property
    def related(self) -> tuple[Compare, ...]:
        """What its sentence puts in for names: before it, and directly behind it."""
        before, behind = self.sentence
        return (*relations_behind(behind, self.dialect), *reversed([*relations_before(before, self.dialect)]))

    @cached_property
    def sized_alone(self) -> bool:
        """Whether its sentence says nothing of it but the sizes that it is for."""
        before, behind = self.sentence
        (_, *unit), rest = amount_in(f"1 {behind}")  # the unit of the formula, but for one of each chip
        return says_sizes_alone(before, rest if "/" not in "".join(unit) else behind)

    @cached_property
    def regimes(self) -> tuple[tuple[Regime, str], ...]:
        """The regimes that are stated in its sentence, and what says them."""
        return regimes_beside(" | ".join(self.sentence), self.dialect)

    @cached_property
    def supposed_regimes(self) -> frozenset[Regime]:
        """Those that its sentence supposes."""
        return supposed_beside(" | ".join(self.sentence), self.dialect)

    @cached_property
    def solved(self) -> bool:
        """Whether the words before it make an equation of it that is to be solved."""
        return has_cue("solving", self.sentence[0].rpartition("$")[2])

    @cached_property
    def types(self) -> set[Dtype]:
        """The element types of which its sentence speaks: those whose names say their width, and are no words."""
        words = set(re.findall(r"\w+", " ".join(self.sentence).casefold()))
        return {entry for name, entry in BY_NAME.items() if name in words and not name.isalpha()}

    @cached_property
    def chips(self) -> set[str]:
        """The chips of which its sentence speaks."""
        text = " ".join(self.sentence).casefold()
        return {chip for name, chip in _called().items() if name in text and re.search(rf"\b{re.escape(name)}\b", text)}

    @cached_property
    def bound_by(self) -> Bound | None:
        """What the words beside it say that the operation is bound by."""
        return bound_by(*self.sentence)

    @cached_property
    def answer(self) -> Bound | None:
        """What the operation is bound by where it holds: by the row of an answer, as derivations print it."""
        for cell in (part for part in self.document.parts if isinstance(part, Written)):
            around = cell.offset - len("$$") <= self.written.start < cell.offset + len(cell.text)
            if cell.row is not None and around and cell.row.heads[0].text == "quantity" and cell.head != "exact":
                return bound_by(f"{cell.row.cells[0].text} when")
        return None

    @cached_property
    def restated_condition(self) -> Compare | None:
        """The condition that it may say again: of the same paragraph, of the one before, or of a display before a display."""
        if self.before is None:
            return None
        formula, condition = self.before
        paragraph = self.document.prose.paragraph
        joined = paragraph(self.written.start) - paragraph(formula.start) <= 1
        joined = joined or (formula.display and self.written.display)
        return condition if joined and formula.path == self.written.path else None

    @cached_property
    def cue(self) -> Cue | None:
        """What the words between the two say, or the arrow that the formula begins with."""
        if self.before is None:
            return None
        words = self.document.prose.text[self.before[0].end : self.written.start]
        step = step_between(f"{without_regimes(words)} {self.arrow or ''}")
        return step and replace(step, sign=self.arrow or step.sign)


def sizes_beside(sentence: str, dialect: Dialect) -> dict[str, Formula | None]:
    """The sizes that a sentence puts in; None for a name that has two in it.

    >>> from symroof.reading.name_scope import Scope
    >>> {name: size and size.digits for name, size in sizes_beside("at B = 48,000", Dialect(Scope(open=True))).items()}
    {'B': '48000'}
    """
    read: dict[str, Formula | None] = {}
    for name, text in typed_sizes(sentence).items():
        with suppress(SymroofError):
            read[name] = text and read_latex_expression(text, dialect)  # type: ignore[assignment]
    return read


def relations_before(text: str, dialect: Dialect) -> Iterator[Compare]:
    """What the formulas before another one in its sentence say that names are: if F = 4D, where B = D = F.

    >>> from symroof.reading.name_scope import Scope
    >>> [r.left.name for r in relations_before("With $B = D = F$, not $D = 2F$, and $2B = D$ ", Dialect(Scope(open=True)))]
    ['B', 'D']
    """
    for match in FORMULA.finditer(text):
        inside = next(group for group in match.groups() if group is not None)
        if "=" in inside and not is_denied(text[: match.start()], text[match.end() :]):
            with suppress(SymroofError):
                links = _links_of(inside, dialect)
                if all(link.relation == "=" and isinstance(link.left, Name) for link in links):
                    yield from links


def relations_behind(text: str, dialect: Dialect) -> Iterator[Compare]:
    """What the words directly behind a formula put in for names: with F = 4D and E = 2D.

    >>> from symroof.reading.name_scope import Scope
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
            links = _links_of(inside, dialect)
            yield from (r for r in links if r.relation == "=" and isinstance(r.left, Name) and len(links) == 1)
        last, joining = match.end(), AMONG


@once
def _links_read(dialect: Dialect) -> dict[str, tuple[Compare, ...]]:
    """The relations of formulas that were read so far: every later formula of a sentence asks for them."""
    return {}


def _links_of(inside: str, dialect: Dialect) -> tuple[Compare, ...]:
    """The relations of a formula."""
    read = _links_read(dialect)
    if inside not in read:
        read[inside] = tuple(link for claim in read_latex(inside, dialect) for link in claim.links)
    return read[inside]


def regimes_beside(text: str, dialect: Dialect) -> tuple[tuple[Regime, str], ...]:
    r"""The regimes that a text states in formulas and in words, the nearest to its end first, with what says them.

    >>> from symroof.reading.name_scope import Scope
    >>> text = r"For large $N$, as $B \ll D, F$"
    >>> [words for _, words in regimes_beside(text, Dialect(Scope(open=True)))]
    ['B \\ll D, F', 'For large N']
    >>> [words for _, words in regimes_beside(r"when $B \ll D$ and $B \ll F$", Dialect(Scope(open=True)))]
    ['B \\ll D, B \\ll F', 'B \\ll F', 'B \\ll D']
    >>> [words for _, words in regimes_beside(r"when $B \ll D$ or $B \ll F$", Dialect(Scope(open=True)))]
    ['B \\ll F', 'B \\ll D']
    """
    stated = [(relations, words) for relations, words, *_ in _by_formulas(text, dialect)]
    for written, words in reversed([*stated_regimes(text)]):
        with suppress(SymroofError):
            stated.insert(0, (read_regime(written, dialect.scope), words))
    return tuple({relations: (relations, words) for relations, words in reversed(stated)}.values())


def supposed_beside(sentence: str, dialect: Dialect) -> frozenset[Regime]:
    r"""The regimes that the words which touch their formulas suppose: when $B \ll D$ and $B \ll F$.

    >>> from symroof.reading.name_scope import Scope
    >>> [len(r) for r in supposed_beside(r"when $B \ll D$ and $B \ll F$", Dialect(Scope(open=True)))]
    [2]
    >>> supposed_beside(r"unless $B \ll D$", Dialect(Scope(open=True)))
    frozenset()
    """
    whole = {start: (relations, end) for relations, _, start, end in _by_formulas(sentence, dialect)}
    return frozenset(
        relations for start, (relations, end) in whole.items() if is_supposed_here(sentence[:start], sentence[end:])
    )


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
            regime_found = read_latex_regime(inside, dialect), inside, match.start()
            yield *regime_found, match.end()
            if before[0] and TOGETHER.fullmatch(text, end, match.start()):
                regime_found = (*before[0], *regime_found[0]), f"{before[1]}, {inside}", before[2]
                yield *regime_found, match.end()
            before, end = regime_found, match.end()


def read_latex_regime(text: str, dialect: Dialect) -> Regime:
    """The relations of a regime in LaTeX: B \\ll D, F."""
    reader = LatexReader(text.rstrip(" .,;"), dialect)
    relations = regime(reader)
    reader.expect_end()
    if not all(relation.relation in ("<<", "->") for relation in relations):
        raise reader.error(expected="sizes that are small beside others, or that grow")
    return relations
