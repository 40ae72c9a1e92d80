"""The words and signs of a text, each with its place."""

from __future__ import annotations

from typing import NamedTuple

OPENINGS, CLOSINGS = ("(", "[", "{", "cases{", "\\lceil", "\\lfloor"), (")", "]", "}", "}cases", "\\rceil", "\\rfloor")


class Token(NamedTuple):
    """``kind`` is number, word, unit, command, symbol, row, end, or "unread", which says in its text what is wrong with it;
    ``spaced`` tells of a space before it."""

    kind: str
    text: str
    start: int
    end: int
    spaced: bool

    @property
    def span(self) -> tuple[int, int]:
        return self.start, self.end
