"""The result of building a document: its text, a remark for each block and value, and which numbers moved."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from difflib import SequenceMatcher
from pathlib import Path

from symroof.building.settings import Settings
from symroof.formula import Frozen
from symroof.reading.languages import USUAL_LANGUAGE
from symroof.rendering.pages.environment import words
from symroof.rendering.pages.typesetting import Sentences

MOST_CHANGES = 6
# Particles and counters of Korean and Chinese touch what they follow, and are no part of it.
WORD = re.compile(r"[^\s$&|{}\\()\u3000-\u9fff\uac00-\ud7a3\uff00-\uffef]+")
DIGIT = re.compile(r"\d")
EDGES = ".,;:()[]{}*"


def said_of_documents(lang: str | None) -> Sentences:
    """The words for documents in a language.

    >>> said_of_documents("en")("would_change", 1, 2)
    '1 of 2 files would change'
    """
    return Sentences(words(None, lang or USUAL_LANGUAGE, "documents"))


class Block(Frozen):
    """What became of one block or value: ``status`` is ``same``, ``new``, ``stale``, ``edited`` or ``failed``; ``text`` is
    what should stand there."""

    line: int
    verb: str
    name: str
    status: str
    text: str = ""
    changes: tuple[Change, ...] = ()
    error: str | None = None

    @property
    def moves(self) -> list[str]:
        """The numbers that are others now, each under its name.

        >>> Block(1, "derive", "mm", "stale", changes=(Change("241", "244", "smallest_integer"),)).moves
        ['smallest_integer 241 -> 244']
        """
        return [f"{c.name} {c.before} -> {c.after}".lstrip() for c in self.changes[:MOST_CHANGES]]


class BuiltDocument(Frozen):
    """``text`` is the document as it should be, ``before`` as it was; ``lang`` is the language in which its authors are
    spoken to, ``files`` are the pictures that it shows."""

    name: str
    before: str
    text: str
    settings: Settings
    lang: str
    blocks: tuple[Block, ...] = ()
    files: Mapping[Path, bytes] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return any(block.status == "failed" for block in self.blocks)

    def says(self, block: Block) -> str:
        """One line of a block: where it stands, and the numbers that are others now; without any, its status."""
        became = said_of_documents(self.lang)("became", block.status, block.moves)
        return f"{self.name}:{block.line} {block.name or block.verb}: {became}"

    @property
    def stale(self) -> tuple[Block, ...]:
        """What is not as it should be: written by hand, or by other figures."""
        return tuple(block for block in self.blocks if block.status not in ("same", "failed"))


class Change(Frozen):
    """A number, or a word with digits, that is another one now; ``name`` is what the answer calls it, or empty."""

    before: str
    after: str
    name: str = ""


def changes(before: str, after: str, called: Mapping[str, str]) -> tuple[Change, ...]:
    """The numbers that changed, each once, those with a name first; ``called`` are names by what is printed.

    >>> changes("so $B > 240.24$, from 241 on", "so $B > 243.21$, from 244 on", {"244": "smallest_integer"})
    (Change(before='241', after='244', name='smallest_integer'), Change(before='240.24', after='243.21', name=''))
    >>> changes("행이 241개부터", "행이 244개부터", {"244": "smallest_integer"})
    (Change(before='241', after='244', name='smallest_integer'),)
    """
    result = dict.fromkeys(_moved(WORD.findall(before), WORD.findall(after)))
    named = (Change(old, new, called.get(new, "")) for old, new in result)
    return tuple(sorted(named, key=lambda change: not change.name))


def _moved(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "replace" and b - a == d - c:
            for before, after in zip(old[a:b], new[c:d], strict=True):
                before, after = before.strip(EDGES), after.strip(EDGES)
                if before != after and DIGIT.search(before + after):
                    yield before, after
