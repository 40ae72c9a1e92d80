"""What moved between two texts of a block: the numbers that differ, under the names of the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher

from symroof.formula import Frozen

# Particles and counters of Korean and Chinese touch what they follow, and are no part of it.
WORD = re.compile(r"[^\s$&|{}\\()\u3000-\u9fff\uac00-\ud7a3\uff00-\uffef]+")
DIGIT = re.compile(r"\d")
EDGES = ".,;:()[]{}*"


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
    found = dict.fromkeys(_moved(WORD.findall(before), WORD.findall(after)))
    named = (Change(old, new, called.get(new, "")) for old, new in found)
    return tuple(sorted(named, key=lambda change: not change.name))


def _moved(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "replace" and b - a == d - c:
            for one, other in zip(old[a:b], new[c:d], strict=True):
                one, other = one.strip(EDGES), other.strip(EDGES)
                if one != other and DIGIT.search(one + other):
                    yield one, other
