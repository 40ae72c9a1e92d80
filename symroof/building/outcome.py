"""What became of a document: its text, and what is to be said of each block and value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from symroof.building.changes import Change
from symroof.building.settings import Settings
from symroof.formula import Frozen

MOST_CHANGES = 6
STATUS = {
    "same": "as it should be",
    "new": "not written yet",
    "stale": "stale",
    "edited": "changed by hand; --force overwrites it",
}


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


class BuiltDocument(Frozen):
    """``text`` is the document as it should be, ``before`` as it was; ``files`` are the pictures that it shows."""

    name: str
    before: str
    text: str
    settings: Settings
    blocks: tuple[Built, ...] = ()
    files: Mapping[Path, bytes] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return any(block.status == "failed" for block in self.blocks)

    def says(self, block: Built) -> str:
        """One line of a block: where it stands, and what moved."""
        return f"{self.name}:{block.line} {block.name or block.verb}: {what_moved(block)}"

    @property
    def stale(self) -> tuple[Built, ...]:
        """What is not as it should be: written by hand, or by other figures."""
        return tuple(block for block in self.blocks if block.status not in ("same", "failed"))


def what_moved(block: Built) -> str:
    """The numbers that are others now; without any, what is to be said of the block."""
    moved = ", ".join(f"{c.name} {c.before} -> {c.after}".lstrip() for c in block.changes[:MOST_CHANGES])
    return f"{STATUS[block.status]} ({moved})" if moved and block.status == "edited" else moved or STATUS[block.status]
