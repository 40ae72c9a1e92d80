"""The headings of a document: in which section, of which sections, a place stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

# The headings above a place, outermost first, each by its number in the document: 0 is the first heading.
Headings = tuple[int, ...]

TEX_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
HEADING = re.compile(
    r"^[ \t]*(?P<marks>\#{1,6})[ \t].*$|^[^\n]+\n(?P<line>={3,}|-{3,})[ \t]*$"
    rf"|\\(?P<tex>{'|'.join(TEX_LEVELS)})\*?\{{",
    re.MULTILINE,
)


def sections(text: str) -> Callable[[int], Headings]:
    """The headings above each place of a text: a heading closes those before it of its level or a lower one.

    >>> path = sections("# A\\n\\n## B\\n\\n## C\\n\\n# D\\n")
    >>> [path(offset) for offset in (0, 5, 11, 17)]
    [(0,), (0, 1), (0, 2), (3,)]
    """
    starts: list[int] = []
    paths: list[Headings] = [()]
    levels: list[int] = []
    for index, match in enumerate(HEADING.finditer(text)):
        level = _level(match)
        above = [i for i in paths[-1] if levels[i] < level]
        levels.append(level)
        starts.append(match.start())
        paths.append((*above, index))
    return lambda offset: paths[bisect_right(starts, offset)]


def _level(heading: re.Match[str]) -> int:
    """How deep a heading is: the number of its marks, that of its line, or that of its command."""
    if heading["marks"]:
        return len(heading["marks"])
    return TEX_LEVELS.index(heading["tex"]) if heading["tex"] else 1 + heading["line"].startswith("-")
