"""What is read, and what it means: the words of textbooks, signs and their spellings, the commands of LaTeX.

The tables stand in ``words.toml``, beside this file. A problem extends the words of quantities with ``aliases``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symroof.reading.toml import shipped_table

WORDS: Mapping[str, Any] = shipped_table("reading/words.toml")
VOCABULARY: Mapping[str, list[str]] = WORDS["quantities"]


def meanings(table: Mapping[str, list[str]]) -> dict[str, str]:
    """A table the other way round: what each spelling means.

    >>> meanings({"->": ["→", "\\\\to"]})
    {'→': '->', '\\\\to': '->'}
    """
    return {spelling: meaning for meaning, spellings in table.items() for spelling in spellings}


def folded(words: str) -> str:
    """The form in which words are compared.

    >>> folded(" Total  FLOPs")
    'total flops'
    """
    return " ".join(words.split()).casefold()


KNOWN: Mapping[str, str] = {folded(words): name for words, name in meanings(VOCABULARY).items()}
# What only programs have: words that mean it where it has that name.
AMOUNTS: Mapping[str, str] = {folded(words): name for words, name in meanings(WORDS["amounts"]).items()}
# Words that are written so of a program alone, and otherwise of any operation.
OF_PROGRAMS_ALONE = frozenset(meanings(WORDS["amounts"])) - frozenset(meanings(VOCABULARY))
SYNONYMS = meanings(WORDS["signs"])


def named(words: str, own: Mapping[str, str]) -> str | None:
    """The quantity that words name, those of a document's ``own`` before the others; or None.

    >>> named("Arithmetic  Intensity", {}), named("Rechenaufwand", {"rechenaufwand": "flops"})
    ('intensity', 'flops')
    >>> named("OPs", {}), named("ops", {})  # which are those of the vector unit, in a program
    ('flops', None)
    """
    other = words in OF_PROGRAMS_ALONE
    return own.get(folded(words)) or (None if other else KNOWN.get(folded(words)))
