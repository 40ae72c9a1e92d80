"""Documents: where the formulas stand in Markdown, LaTeX and plain text, and what comments say of them.

Display and inline mathematics and inline code are found with their line and column. Front matter, code blocks, HTML
tags and template tags are left alone: they are blanked out, so that places stay what they are. A comment
``<!-- symroof … -->``, in LaTeX lines ``% symroof: …``, holds TOML, or the word ``ignore``.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from symroof.errors import ReadingError
from symroof.reading.markdown import code_blocks
from symroof.reading.toml import contents, read_table

TEX_SUFFIXES = (".tex", ".ltx", ".latex")
# Keys of a comment that speak of the next formula alone.
NEXT_KEYS = ("expect", "is")
ENVIRONMENTS = "equation|align|alignat|gather|multline|eqnarray|displaymath|math|flalign"

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
TAGS = "a|abbr|b|blockquote|br|details|div|em|figure|h[1-6]|hr|i|iframe|img|input|li|link|meta|ol|p|section|small|span|strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul|d-footnote|d-cite"
HTML_TAG = re.compile(rf"</?(?:{TAGS})\b[^<>]{{0,1000}}>|\]\([^()\s]{{0,500}}\)", re.IGNORECASE)
CODE_SPAN = re.compile(r"(?<![`\\])(`++)([^`]{1,2000}?)\1(?!`)")
TEX_LITERAL = re.compile(
    r"\\verb\*?([^A-Za-z*\s]).{0,500}?\1|\\lstinline(?:\[[^\]]*\])?(?:\{[^{}]{0,500}\}|([^A-Za-z{\s]).{0,500}?\2)|\\iffalse\b.{0,20000}?\\fi\b|\\end\{document\}.*",
    re.DOTALL,
)
TEX_VERBATIM = re.compile(r"\\begin\{(verbatim|lstlisting|minted|comment)\*?\}.{0,50000}?\\end\{\1\*?\}", re.DOTALL)
TEX_NOTE = re.compile(r"^[ \t]*%[ \t]*symroof:[ \t]?(?P<body>.*)$", re.MULTILINE)
TEX_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
BREAK = re.compile(r"\n[ \t]*(?=\n|[-*+][ \t]|\d+[.)][ \t]|#{1,6}[ \t]|>|\|)")
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

KINDS = ("github", "fence", "code", "env", "square", "round", "display", "inline")
QUOTED = re.compile(r"(?<=\n)[ \t]*>[ \t]?")

FORMULA = re.compile(
    rf"""
    (?P<github>   \$`(?P<github_body>[^`]{{1,2000}}?)`\$                                                            )
  | (?P<fence>    ```math[^\n]*\n(?P<fence_body>.{{0,4096}}?)```                                                  )
  | (?P<code>     (?<![`\\])(?P<ticks>`++)(?P<code_body>[^`]{{1,2000}}?)(?P=ticks)(?!`)                           )
  | (?P<env>      \\begin\{{(?P<name>(?:{ENVIRONMENTS})\*?)\}}(?P<env_body>.{{0,8192}}?)\\end\{{(?P=name)\}}     )
  | (?P<square>   (?<!\\)\\{{1,2}}\[(?P<square_body>.{{0,4096}}?)\\{{1,2}}\]                                      )
  | (?P<round>    (?<!\\)\\{{1,2}}\((?P<round_body>.{{0,4096}}?)\\{{1,2}}\)                                       )
  | (?P<display>  (?<!\\)\$\$(?P<display_body>.{{1,4096}}?)(?<!\\)\$\$                                          )
  | (?P<inline>   (?<![\\$])\$(?!\$)(?P<inline_body>[ \t][^$]{{1,4096}}?[ \t]|[^$\s](?:[^$]{{0,4096}}?[^$\s\\])?)\$(?![\d$])   )
    """,
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Place:
    """An offset in a document, as a line and a column that count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Written:
    """A formula as it stands in a document. ``before`` is the text between it and the formula before, in one paragraph."""

    text: str
    kind: str
    place: Place
    offset: int
    section: int
    before: str | None


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
    reader = _Document(text, name, tex)
    return Document(name, tuple(reader.parts()), text)


class _Document:
    def __init__(self, text: str, name: str, tex: bool) -> None:
        self.text, self.name, self.tex = text, name, tex
        self.lines = [0, *(m.end() for m in re.finditer("\n", text))]
        self.body = self._blanked(_closed(text), (TEX_VERBATIM, TEX_LITERAL) if tex else (FRONT_MATTER,))
        if not tex:
            self.body = self._without_code(self.body)
        self.headings = [m.start() for m in HEADING.finditer(self.body)]

    def _without_code(self, text: str) -> str:
        """The text with its blocks of code blanked out; a block that is mathematics stays."""
        lines = text.split("\n")
        for first, behind, language in code_blocks(text):
            if language != "math":
                lines[first:behind] = (" " * len(line) for line in lines[first:behind])
        return "\n".join(lines)

    def place(self, offset: int) -> Place:
        line = bisect.bisect_right(self.lines, offset)
        return Place(line, offset - self.lines[line - 1] + 1)

    def parts(self) -> Iterator[Written | Note]:
        notes = list(self._notes())
        left_alone = (
            (TEX_NOTE, TEX_COMMENT) if self.tex else (COMMENT, TEMPLATE_BLOCK, TEMPLATE_TAG, HTML_BLOCK, HTML_TAG)
        )
        body = _closed(self._blanked(_closed(self.body), left_alone))
        breaks = {m.start() for m in BREAK.finditer(body)} | {at for at, _, _ in notes}
        displays = [match.span() for match in FORMULA.finditer(body) if not self._is_inline(match)]
        starts = [start for start, _ in displays]
        kept = (at for at in breaks if not (i := bisect.bisect_left(starts, at)) or at >= displays[i - 1][1])
        edges = [0, *sorted(kept), len(body)]
        formulas = [written for start, end in itertools.pairwise(edges) for written in self._formulas(body, start, end)]
        inside = [0, *itertools.chain.from_iterable((at, end) for at, end, _ in notes)]
        items: list[tuple[int, Written | Note]] = [(at, note) for at, _, note in notes]
        items += [(w.offset, w) for w in formulas if bisect.bisect_right(inside, w.offset) % 2]
        for _, part in sorted(items, key=lambda item: item[0]):
            yield part

    def _formulas(self, body: str, start: int, end: int) -> Iterator[Written]:
        last: int | None = None
        for match in FORMULA.finditer(body, start, end):
            kind = next(k for k in KINDS if match.group(k) is not None)
            if kind == "code" and self.tex:
                continue
            inside = match.group(f"{kind}_body")
            offset = match.start(f"{kind}_body")
            lead = len(inside) - len(_unquoted(inside).lstrip())
            text = _unquoted(match.group("env")) if kind == "env" else _unquoted(inside).strip()
            at = offset + lead if kind in ("display", "square", "fence") else match.start()
            section = bisect.bisect_right(self.headings, at)
            yield Written(
                text,
                "code" if kind == "code" else "math",
                self.place(at),
                at,
                section,
                None if last is None else body[last : match.start()],
            )
            last = match.end()

    @staticmethod
    def _is_inline(match: re.Match[str]) -> bool:
        return any(match.group(kind) is not None for kind in ("inline", "code", "github", "round"))

    def _notes(self) -> Iterator[tuple[int, int, Note]]:
        if self.tex:
            yield from self._tex_notes()
            return
        for match in COMMENT.finditer(self._blanked(self.body, (CODE_SPAN,))):
            content = match.group("body").strip()
            if content.startswith("symroof") and not match.group().endswith("-->"):
                raise ReadingError(
                    f"{self.name}:{self.place(match.start()).line}: the comment is not closed", expected="-->"
                )
            if content == "symroof" or (content[:8].startswith("symroof") and not content[7:8].isalnum()):
                yield match.start(), match.end(), self._note(content[7:].lstrip(" :\t"), match.start())

    def _tex_notes(self) -> Iterator[tuple[int, int, Note]]:
        lines = list(TEX_NOTE.finditer(self.body))
        while lines:
            group = [lines.pop(0)]
            while lines and lines[0].start() <= group[-1].end() + 1:
                group.append(lines.pop(0))
            yield (
                group[0].start(),
                group[-1].end(),
                self._note("\n".join(m.group("body") for m in group), group[0].start()),
            )

    def _note(self, content: str, offset: int) -> Note:
        place = self.place(offset)
        if content.strip() == "ignore":
            return Note({}, {}, place, ignore=True)
        table = read_table(content, f"{self.name}:{place.line}: the comment")
        following = {key: table.pop(key) for key in NEXT_KEYS if key in table}
        return Note(table, following, place)

    @staticmethod
    def _blanked(text: str, patterns: tuple[re.Pattern[str], ...]) -> str:
        for pattern in patterns:
            text = pattern.sub(_blank, text)
        return text


def _closed(text: str) -> str:
    """The text with what opens and is not closed blanked out: nothing is searched for an end that is not there."""
    for opening, closing, longest in PAIRS:
        ends: dict[str, list[int]] = {}
        for match in closing.finditer(text):
            ends.setdefault(match["name"].lower(), []).append(match.start())

        def unless_lone(match: re.Match[str], ends: dict[str, list[int]] = ends, longest: int = longest) -> str:
            behind = ends.get(match["name"].lower(), [])
            place = bisect.bisect_left(behind, match.end())
            closed = place < len(behind) and behind[place] - match.end() <= longest
            return match.group() if closed else _blank(match)

        text = opening.sub(unless_lone, text)
    return text


def _blank(match: re.Match[str]) -> str:
    """Spaces for what is left alone."""
    return re.sub(r"[^\n]", " ", match.group())


def _unquoted(text: str) -> str:
    """A display without the marks of the block quote that it stands in; its length stays what it is."""
    rows = text.split("\n")[1:]
    quoted = bool(rows) and all(row.lstrip().startswith(">") for row in rows if row.strip())
    return QUOTED.sub(lambda m: " " * len(m.group()), text) if quoted else text
