"""Sentences and paragraphs of a document: which words stand around a formula.

A display belongs to the sentence that it goes on: to the words before it where they do not end a sentence, and to those
behind it where they do not begin one. Headings, comments, list items and rows of tables end a sentence and a paragraph.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from symroof.formula import Frozen

SENTENCE_END = re.compile(
    r"(?<!\bi\.e)(?<!\be\.g)(?<!\bcf)(?<!\bvs)(?<!\bEq)(?<!\bFig)(?<!\bSec)[.!?][\"”'*_)]*(?=\s+[A-Z$\"“*_(\\가-힣一-鿿]|\s*\Z)"
    r"|[。！？]"
)
FINISHED = re.compile(r"[.!?。！？][\"”'*_)]*\Z")
GOES_ON = re.compile(r"[a-z$,;)]|\\\(")
# How far from a display a word is looked for.
NEAR = 200
# How much of a sentence is quoted on each side of a formula.
QUOTED = 60


class Prose(Frozen):
    """A text, and where its sentences and paragraphs end. Everything that is no prose is blank."""

    text: str
    sentences: tuple[int, ...] = ()
    paragraphs: tuple[int, ...] = ()

    def paragraph(self, offset: int) -> int:
        """The number of the paragraph of a place."""
        return bisect_right(self.paragraphs, offset)

    def place(self, offset: int) -> tuple[int, int]:
        """The numbers of the paragraph and of the sentence of a place."""
        return self.paragraph(offset), bisect_right(self.sentences, offset)

    def so_far(self, offset: int) -> str:
        """The paragraph of a place up to it; of one that begins there, the paragraph before it as well."""
        number = self.paragraph(offset)
        first = self.paragraphs[number - 1] if number else 0
        if not self.text[first:offset].strip(" \n$\\["):
            earlier = [end for end in self.paragraphs[max(0, number - 4) : number] if self.text[end:first].strip()]
            first = earlier[-1] if earlier else 0
        return self.text[first:offset].rpartition("\n#")[2]

    def around(self, start: int, end: int) -> tuple[str, str]:
        """The words of a sentence before a formula, and those behind it."""
        first = bisect_right(self.sentences, start)
        last = bisect_left(self.sentences, end)
        begins = self.sentences[first - 1] if first else 0
        ends = self.sentences[last] if last < len(self.sentences) else len(self.text)
        return self.text[begins:start], self.text[end:ends]

    def quotation(self, start: int, end: int) -> str | None:
        """A formula with the words near it in its sentence, on one line; None where it stands alone.

        >>> Prose("So 2 + 2 = 5 holds").quotation(3, 12), Prose("2 + 2 = 5").quotation(0, 9)
        ('So 2 + 2 = 5 holds', None)
        """
        before, after = (" ".join(words.split()) for words in self.around(start, end))
        if not re.search(r"\w", before + after):
            return None
        first = before if len(before) <= QUOTED else "… " + before[-QUOTED:].partition(" ")[2]
        last = after if len(after) <= QUOTED else after[:QUOTED].rpartition(" ")[0] + " …"
        gaps = (" " * self.text[start - 1 : start].isspace(), " " * self.text[end : end + 1].isspace())
        return first + gaps[0] + " ".join(self.text[start:end].split()) + gaps[1] + last


def prose(text: str, formulas: Sequence[tuple[int, int, bool]], breaks: Sequence[int]) -> Prose:
    """The prose of a text: ``formulas`` are where formulas begin and end, and whether they are displays.

    >>> text = "With D = 8 we get\\n\\n$$x$$\\n\\nwhere $y$ is. Now z."
    >>> found = prose(text, [(19, 24, True), (32, 35, False)], [17, 24])
    >>> found.around(19, 24)
    ('With D = 8 we get\\n\\n', '\\n\\nwhere $y$ is.')
    >>> [found.paragraph(offset) for offset in (0, 19, 32)]
    [0, 0, 0]
    """
    starts, ends = [start for start, _, _ in formulas], [end for _, end, _ in formulas]

    def within(offset: int) -> bool:
        found = bisect_left(starts, offset) - 1
        return found >= 0 and offset < ends[found]

    def displayed(found: int) -> bool:
        return 0 <= found < len(formulas) and formulas[found][2]

    def ends_here(offset: int) -> bool:
        before, after = text[max(0, offset - NEAR) : offset].rstrip(), text[offset : offset + NEAR].lstrip()
        following = bisect_left(starts, offset)
        leads = displayed(following) and not text[offset : starts[following]].strip()
        if leads:
            return bool(FINISHED.search(before)) or before.rpartition("\n")[2].lstrip().startswith("#")
        follows = displayed(following - 1) and not text[ends[following - 1] : offset].strip()
        return not (follows and GOES_ON.match(after))

    paragraphs = [offset for offset in breaks if not within(offset) and ends_here(offset)]
    sentences = {match.end() for match in SENTENCE_END.finditer(text) if not within(match.start())}
    return Prose(text, tuple(sorted(sentences.union(paragraphs))), tuple(paragraphs))
