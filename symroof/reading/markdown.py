"""The block structure of Markdown: the only importer of markdown-it."""

from __future__ import annotations

from collections.abc import Iterator


def code_blocks(text: str) -> Iterator[tuple[int, int, str]]:
    """The first line and the line behind each block of code, counted from 0, and what its fence says it is written in.

    >>> list(code_blocks("A\\n\\n    x = 1\\n\\n> ```py\\n> x\\n> ```\\n"))
    [(2, 3, ''), (4, 7, 'py')]
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    for token in parser.parse(text):
        if token.type in ("code_block", "fence") and token.map is not None:
            yield token.map[0], token.map[1], token.info.strip()
