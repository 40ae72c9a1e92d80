"""Documents: where the formulas stand in Markdown, LaTeX and plain text, and what comments say of them.

Display and inline mathematics and inline code are found with their line and column. Front matter, code blocks, HTML
tags and template tags are left alone: they are blanked out, so that places stay what they are. A comment
``<!-- symroof … -->``, in LaTeX lines ``% symroof: …``, holds TOML, or the word ``ignore``.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from symroof.errors import ReadingError
from symroof.reading.claims import CONNECTIVES, RELATIONS
from symroof.reading.latex_tokens import COMMANDS
from symroof.reading.markup import Row, markdown_blocks, tabular_rows
from symroof.reading.toml import contents, read_table
from symroof.reading.vocabulary import SYNONYMS, WORDS

# What relates two sides, in every spelling. Without one of these a formula relates nothing.
RELATED = {
    **{sign: sign for sign in (*RELATIONS, *CONNECTIVES)},
    **{sign: meaning for sign, meaning in (SYNONYMS | COMMANDS).items() if meaning in (*RELATIONS, *CONNECTIVES)},
}
RELATING = re.compile("|".join(map(re.escape, sorted(RELATED, key=len, reverse=True))))
TEX_SUFFIXES = (".tex", ".ltx", ".latex")
# Keys of a comment that speak of the next formula alone.
NEXT_KEYS = ("expect", "is")
ENVIRONMENTS = "|".join(WORDS["latex"]["environments"])
TAGS = "|".join(WORDS["tags"])

FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--(?P<body>.*?)(?:-->|\Z)", re.DOTALL)
TEMPLATE_BLOCK = re.compile(
    r"\{%-?\s*(highlight|comment|raw)\b[^%]{0,200}%\}.{0,20000}?\{%-?\s*end\1\s*-?%\}|\{::comment\}.{0,20000}?\{:/(?:comment)?\}",
    re.DOTALL,
)
TEMPLATE_TAG = re.compile(r"\{%[^%]{0,2000}%\}|\{\{[^{}\\]{0,500}\}\}")
HTML_BLOCK = re.compile(
    r"<(pre|code|script|style|kbd|samp)\b[^<>]{0,500}>.{0,20000}?</\1\s*>", re.DOTALL | re.IGNORECASE
)
HTML_TAG = re.compile(rf"</?(?:{TAGS})\b[^<>]{{0,1000}}>|\]\([^()\s]{{0,500}}\)", re.IGNORECASE)
CODE_SPAN = re.compile(r"(?<![`\\])(`++)([^`]{1,2000}?)\1(?!`)")
TEX_LITERAL = re.compile(
    r"\\verb\*?([^A-Za-z*\s]).{0,500}?\1|\\lstinline(?:\[[^\]]*\])?(?:\{[^{}]{0,500}\}|([^A-Za-z{\s]).{0,500}?\2)|\\iffalse\b.{0,20000}?\\fi\b|\\end\{document\}.*",
    re.DOTALL,
)
TEX_VERBATIM = re.compile(r"\\begin\{(verbatim|lstlisting|minted|comment)\*?\}.{0,50000}?\\end\{\1\*?\}", re.DOTALL)
TEX_NOTE = re.compile(r"^[ \t]*%[ \t]*symroof:[ \t]?", re.MULTILINE)
TEX_NOTES = re.compile(rf"(?:{TEX_NOTE.pattern}.*(?:\n|\Z))+", re.MULTILINE)
TEX_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
# A line ends inside of a paragraph where neither an empty line, a list, a heading, a quotation nor a table begins.
NEXT_BLOCK = r"[ \t]*(?:\n|[-*+][ \t]|\d+[.)][ \t]|\#{1,6}[ \t]|>|\|)"
BREAK = re.compile(rf"\n(?={NEXT_BLOCK})")
LINE_END = rf"\n(?!{NEXT_BLOCK})"
HEADING = re.compile(
    r"^[ \t]*#{1,6}[ \t].*$|^[^\n]+\n(?:={3,}|-{3,})[ \t]*$|\\(?:part|chapter|section|subsection|subsubsection|paragraph)\*?\{",
    re.MULTILINE,
)

# What opens, with the name of what is open; what closes it; and how many characters there may be between.
VERBATIM = r"(?:verbatim|lstlisting|minted|comment)\*?"
PAIRS = tuple(
    (re.compile(opening, re.IGNORECASE), re.compile(closing, re.IGNORECASE), longest)
    for opening, closing, longest in (
        (r"(?<!\\)\\{1,2}(?P<name>)\[", r"(?P<name>)\\\]", 4096),
        (r"(?<!\\)\\{1,2}(?P<name>)\(", r"(?P<name>)\\\)", 4096),
        (rf"\\begin\{{(?P<name>(?:{ENVIRONMENTS})\*?)\}}", rf"\\end\{{(?P<name>(?:{ENVIRONMENTS})\*?)\}}", 8192),
        (rf"\\begin\{{(?P<name>{VERBATIM})\}}", rf"\\end\{{(?P<name>{VERBATIM})\}}", 50000),
        (r"\\iffalse(?P<name>)\b", r"\\fi(?P<name>)\b", 20000),
        (r"\{%-?\s*(?P<name>highlight|comment|raw)\b", r"\{%-?\s*end(?P<name>highlight|comment|raw)\b", 20000),
        (r"\{::(?P<name>)comment\}", r"\{:/(?P<name>)", 20000),
        (r"<(?P<name>pre|code|script|style|kbd|samp)\b", r"</(?P<name>pre|code|script|style|kbd|samp)\b", 20000),
    )
)

QUOTED = re.compile(r"(?<=\n)[ \t]*>[ \t]?")
DISPLAYS = ("fence", "square", "display")

# The group that matches tells the kind, and holds what stands inside; nothing but displays goes on from one block to the next.
FORMULA = re.compile(
    rf"""
    \$`(?P<github> (?:[^`\n]|{LINE_END}){{1,2000}}? )`\$
  | ```math[^\n]*\n(?P<fence> .{{0,4096}}? )```
  | (?<![`\\])(?P<ticks>`++)(?P<code> (?:[^`\n]|{LINE_END}){{1,2000}}? )(?P=ticks)(?!`)
  | \\begin\{{(?P<name>(?:{ENVIRONMENTS})\*?)\}}(?P<environment> .{{0,8192}}? )\\end\{{(?P=name)\}}
  | (?<!\\)\\{{1,2}}\[(?P<square> .{{0,4096}}? )\\{{1,2}}\]
  | (?<!\\)\\{{1,2}}\((?P<round> (?:[^\n]|{LINE_END}){{0,4096}}? )\\{{1,2}}\)
  | (?<!\\)\$\$(?P<display> .{{1,4096}}? )(?<!\\)\$\$
  | (?<![\\$])\$(?!\$)(?P<inline> [ \t](?:[^$\n]|{LINE_END}){{1,4096}}?[ \t]
                                 | [^$\s](?:(?:[^$\n]|{LINE_END}){{0,4096}}?[^$\s\\])? )\$(?![\d$])
    """,
    re.DOTALL | re.VERBOSE,
)


class Place(NamedTuple):
    """A line and a column, both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Written:
    """A formula as it stands in a document. ``before`` is the text between it and the formula before, in one paragraph;
    a cell of a table has its ``row``, and the ``head`` of its column."""

    text: str
    kind: str
    place: Place
    offset: int
    section: int
    before: str | None
    row: Row | None = None
    head: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A comment: a table of options in force from here on, and what it says of the next formula."""

    options: dict[str, Any]
    following: dict[str, Any]
    place: Place
    ignore: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    name: str
    parts: tuple[Written | Note, ...]
    text: str


def read_document(path: Path) -> Document:
    """The formulas and comments of a file, in order. Bytes that are not UTF-8 are replaced, never an error."""
    text = contents(path).decode("utf-8-sig", errors="replace")
    return read_text(text, str(path), tex=path.suffix.lower() in TEX_SUFFIXES)


def read_text(text: str, name: str = "text", *, tex: bool = False) -> Document:
    """The formulas and comments of a text, in order.

    >>> document = read_text("A product takes $2BDF$ FLOPs.\\n\\nSo `2*3 = 6`.")
    >>> [(part.text, part.place.line, part.place.column) for part in document.parts]
    [('2BDF', 1, 17), ('2*3 = 6', 3, 4)]
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return Document(name, tuple(sorted(_Source(text, name, tex).parts(), key=lambda part: part.place)), text)


class _Source:
    def __init__(self, text: str, name: str, tex: bool) -> None:
        self.name, self.tex = name, tex
        self.lines = _starts(re.compile(r"^", re.MULTILINE), text)
        text = _closed(text)
        self.rows: tuple[Row, ...]
        if tex:
            self.body = _blanked(text, TEX_VERBATIM, TEX_LITERAL)
            self.rows = tuple(tabular_rows(_blanked(self.body, TEX_COMMENT)))
        else:
            self.body, self.rows = markdown_blocks(_blanked(text, FRONT_MATTER))
        self.headings = _starts(HEADING, self.body)

    def place(self, offset: int) -> Place:
        line = bisect_right(self.lines, offset)
        return Place(line, offset - self.lines[line - 1] + 1)

    def parts(self) -> Iterator[Written | Note]:
        notes = list(self._notes())
        yield from (self._note(content, offset) for offset, content in notes)
        others = (TEX_COMMENT,) if self.tex else (COMMENT, TEMPLATE_BLOCK, TEMPLATE_TAG, HTML_BLOCK, HTML_TAG)
        characters = list(_closed(_blanked(_closed(self.body), *others)))
        for offset, _ in notes:  # a comment ends a block
            characters[offset : offset + 2] = "\n\n"
        yield from self._formulas("".join(characters))
        yield from self._cells()

    def _formulas(self, body: str) -> Iterator[Written]:
        breaks = _starts(BREAK, body)
        cells, last = [cell.offset for row in self.rows for cell in row.cells], 0
        for match in FORMULA.finditer(body):
            kind = str(match.lastgroup)
            inside, offset = match[kind], match.start()
            continued = match.start(kind) in cells and RELATING.match(inside)  # "≈ B" is the cell's own
            if continued or (kind == "code" and self.tex):
                continue
            if kind in DISPLAYS:
                offset = match.start(kind) + len(inside) - len(_unquoted(inside).lstrip())
            alone = not last or any(
                bisect_left(ends, last) < bisect_left(ends, match.end()) for ends in (breaks, cells)
            )
            yield Written(
                _unquoted(match.group() if kind == "environment" else inside).strip(),
                "code" if kind == "code" else "math",
                self.place(offset),
                offset,
                bisect_right(self.headings, offset),
                None if alone else body[last : match.start()],
            )
            last = match.end()

    def _cells(self) -> Iterator[Written]:
        """The cells of tables."""
        for row in self.rows:
            for head, cell in zip(row.heads, row.cells, strict=True):
                section = bisect_right(self.headings, cell.offset)
                yield Written(cell.text, cell.kind, self.place(cell.offset), cell.offset, section, None, row, head.text)

    def _notes(self) -> Iterator[tuple[int, str]]:
        """Where comments begin, and what they say."""
        if self.tex:
            yield from (
                (match.start(), TEX_NOTE.sub("", match.group().rstrip("\n"))) for match in TEX_NOTES.finditer(self.body)
            )
            return
        for match in COMMENT.finditer(_blanked(self.body, CODE_SPAN)):
            content = match["body"].strip()
            if content.startswith("symroof") and not match.group().endswith("-->"):
                line = self.place(match.start()).line
                raise ReadingError(f"{self.name}:{line}: the comment is not closed", expected="-->")
            if re.match(r"symroof(?![^\W_])", content):
                yield match.start(), content[7:].lstrip(" :\t")

    def _note(self, content: str, offset: int) -> Note:
        place = self.place(offset)
        if content.strip() == "ignore":
            return Note({}, {}, place, ignore=True)
        table = read_table(content, f"{self.name}:{place.line}: the comment")
        following = {key: table.pop(key) for key in NEXT_KEYS if key in table}
        return Note(table, following, place)


def _closed(text: str) -> str:
    """The text with what opens and is not closed blanked out: nothing is searched for an end that is not there."""
    for opening, closing, longest in PAIRS:
        ends: dict[str, list[int]] = {}
        for match in closing.finditer(text):
            ends.setdefault(match["name"].lower(), []).append(match.start())

        def unless_lone(match: re.Match[str], ends: dict[str, list[int]] = ends, longest: int = longest) -> str:
            behind = ends.get(match["name"].lower(), [])
            place = bisect_left(behind, match.end())
            closed = place < len(behind) and behind[place] - match.end() <= longest
            return match.group() if closed else " " * len(match.group())

        text = opening.sub(unless_lone, text)
    return text


def _starts(pattern: re.Pattern[str], text: str) -> list[int]:
    return [match.start() for match in pattern.finditer(text)]


def _blanked(text: str, *patterns: re.Pattern[str]) -> str:
    """The text with spaces for what is left alone."""
    for pattern in patterns:
        text = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    return text


def _unquoted(text: str) -> str:
    """A display without the marks of the block quote that it stands in; its length stays what it is."""
    rows = text.split("\n")[1:]
    quoted = bool(rows) and all(row.lstrip().startswith(">") for row in rows if row.strip())
    return QUOTED.sub(lambda match: " " * len(match.group()), text) if quoted else text
