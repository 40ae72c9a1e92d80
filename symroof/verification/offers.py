"""What the words and formulas around a formula offer: the sizes of its sentence, and the regimes stated beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from symroof.errors import SymroofError
from symroof.formula import Compare, Formula, Name
from symroof.reading.claims import read_regime, regime
from symroof.reading.cues import AMONG, FORMULA, PUTTING_IN, is_denied, is_supposed_here, stated_regimes, typed_sizes
from symroof.reading.latex import LatexReader, read_latex, read_latex_expression
from symroof.reading.latex_phrases import Dialect

# What a formula that states a regime has in it.
GROWTH = re.compile(r"\\ll\b|\\gg\b|<<|>>|≪|≫|\\infty|∞")
# What stands between two such formulas that hold together.
TOGETHER = re.compile(r"\s*(?:[,，、]\s*(?:and\b)?|and\b|且|和|이고|와|과)\s*")
Regime = tuple[Compare, ...]


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
