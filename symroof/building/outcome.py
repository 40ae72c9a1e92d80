"""What became of a document: its text, and what is to be said of each block and value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from symroof.building.changes import Change
from symroof.building.settings import Settings
from symroof.formula import Frozen
from symroof.reading.languages import USUAL_LANGUAGE
from symroof.rendering.pages.environment import words
from symroof.rendering.pages.pen import Sentences

MOST_CHANGES = 6


def said_of_documents(lang: str | None) -> Sentences:
    """The words for documents in a language.

    >>> said_of_documents("en")("would_change", 1, 2)
    '1 of 2 files would change'
    """
    return Sentences(words(None, lang or USUAL_LANGUAGE, "documents"))


class Built(Frozen):
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

        >>> Built(1, "derive", "mm", "stale", changes=(Change("241", "244", "smallest_integer"),)).moves
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
    blocks: tuple[Built, ...] = ()
    files: Mapping[Path, bytes] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return any(block.status == "failed" for block in self.blocks)

    def says(self, block: Built) -> str:
        """One line of a block: where it stands, and the numbers that are others now; without any, its status."""
        became = said_of_documents(self.lang)("became", block.status, block.moves)
        return f"{self.name}:{block.line} {block.name or block.verb}: {became}"

    @property
    def stale(self) -> tuple[Built, ...]:
        """What is not as it should be: written by hand, or by other figures."""
        return tuple(block for block in self.blocks if block.status not in ("same", "failed"))
