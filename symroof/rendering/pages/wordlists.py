"""The words that name quantities, as a table. Where no language is said, no template is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from symroof.rendering.pages.characters import NBSP, cells, padded, whole
from symroof.rendering.pages.environment import load
from symroof.rendering.pages.terminal import GAP, fold


def words_table(vocabulary: Mapping[str, list[str]], lang: str | None = None, width: int = 96) -> str:
    """The quantities, each with the words that name it in what is read; with what a language calls it, where one is said.

    >>> print(words_table({"peak": ["peak FLOPs/s", "peak compute"], "ridge": ["ridge point"]}), end="")
    peak   peak FLOPs/s,  peak compute
    ridge  ridge point
    """
    called = load(f"{lang}/catalogues.j2", None, lang, {}).called if lang else lambda name: ""
    heads = _beside([(name, str(called(name))) for name in vocabulary])
    margin = cells(heads[0])
    lines = []
    for head, words in zip(heads, vocabulary.values(), strict=True):
        lines += fold(head + ",  ".join(whole(word.replace(" ", NBSP)) for word in words), width, indent=" " * margin)
    return "".join(f"{line}\n" for line in lines)


def _beside(rows: Sequence[Sequence[str]]) -> list[str]:
    """Cells beside one another, of the breadth that their column needs, with a gap behind each column that is not empty."""
    columns = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    return [
        "".join(padded(cell, width) + GAP for cell, width in zip(row, columns, strict=True) if width) for row in rows
    ]
