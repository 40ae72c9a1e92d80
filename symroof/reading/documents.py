"""Documents: where the formulas stand in Markdown, LaTeX and plain text, and what comments say of them.

Display and inline mathematics and inline code are found with their line and column. Front matter, code blocks, HTML
tags and template tags are left alone: they are blanked out, so that places stay what they are. A comment
``<!-- symroof … -->``, in LaTeX lines ``% symroof: …``, holds TOML, or the word ``ignore``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

from symroof.errors import ReadingError
from symroof.reading.calculations import calculations
from symroof.reading.claims import CONNECTIVES, RELATIONS
from symroof.reading.latex_tokens import COMMANDS
from symroof.reading.markers import BLOCKS, SYNTAXES, blanked_markers
from symroof.reading.markup import (
    ENVIRONMENTS,
    Headings,
    Prose,
    Row,
    blanked,
    closed,
    markdown_blocks,
    prose,
    sections,
    tabular_rows,
)
from symroof.reading.notebooks import offsets_of, text_of
from symroof.reading.problems import read_options
from symroof.reading.toml import contents
from symroof.reading.vocabulary import SYNONYMS, WORDS

# What relates two sides, in every spelling. Without one of these a formula relates nothing.
RELATED = {
    **{sign: sign for sign in (*RELATIONS, *CONNECTIVES)},
    **{sign: meaning for sign, meaning in (SYNONYMS | COMMANDS).items() if meaning in (*RELATIONS, *CONNECTIVES)},
}
RELATING = re.compile("|".join(map(re.escape, sorted(RELATED, key=len, reverse=True))))
LINE = re.compile(r"^", re.MULTILINE)
NOTEBOOK = ".ipynb"
TEX_SUFFIXES = (".tex", ".ltx", ".latex")
# Keys of a comment that speak of the next formula alone, and words that stand alone in one and do so.
NEXT_KEYS = ("expect", "is", "same")
NEXT_WORDS = ("ignore", "follows")
TAGS = "|".join(WORDS["tags"])

FRONT_MATTER = re.compile(r"\A(?P<mark>---|\+\+\+)[ \t]*\n.*?^(?:(?P=mark)|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--(?P<body>.*?)(?:-->|\Z)", re.DOTALL)
TEMPLATE_BLOCK = re.compile(
    r"\{%-?\s*(highlight|comment|raw)\b[^%]{0,200}%\}.{0,20000}?\{%-?\s*end\1\s*-?%\}|\{::comment\}.{0,20000}?\{:/(?:comment)?\}",
    re.DOTALL,
)
TEMPLATE_TAG = re.compile(r"\{%[^%]{0,2000}%\}|\{\{[^{}\\]{0,500}\}\}")
HTML_BLOCK = re.compile(
    r"<(pre|code|script|style|kbd|samp)\b[^<>]{0,500}>.{0,20000}?</\1\s*>", re.DOTALL | re.IGNORECASE
)
MATHML = re.compile(
    r"""<math\b(?P<kind>[^<>]{0,500}?)\balttext="(?P<latex>[^"<>]{0,20000})"[^<>]{0,500}>.{0,200000}?</math>""",
    re.DOTALL,
)
# Mathematics in the tags of a site's generator: {{< katex >}}, {% katex %}.
SHORTCODE = re.compile(
    r"(?P<opening>\{\{[<%]\s*|\{%-?\s*)(?P<name>katex|math|mathjax|latex|tex|equation|eq)\b(?P<how>[^%{}<>]{0,200}?)\s*-?[>%]\}\}?"
    r"(?P<inside>.{1,4096}?)\{(?:\{[<%]\s*/\s*|%-?\s*end)(?P=name)\s*-?[>%]\}\}?",
    re.DOTALL,
)
HTML_TAG = re.compile(rf"</?(?:{TAGS})\b[^<>]{{0,1000}}>|\]\([^()\s]{{0,500}}\)", re.IGNORECASE)
# A span goes on across the end of a line, but not into the next paragraph or a comment that begins a line.
CODE_SPAN = re.compile(r"(?<![`\\])(`++)((?:[^`\n]|\n(?![ \t>]*(?:\n|<!--))){1,2000}?)\1(?!`)")
TEX_LITERAL = re.compile(
    r"\\verb\*?([^A-Za-z*\s]).{0,500}?\1|\\lstinline(?:\[[^\]]*\])?(?:\{[^{}]{0,500}\}|([^A-Za-z{\s]).{0,500}?\2)|\\iffalse\b.{0,20000}?\\fi\b|\\end\{document\}.*",
    re.DOTALL,
)
TEX_VERBATIM = re.compile(r"\\begin\{(verbatim|lstlisting|minted|comment)\*?\}.{0,50000}?\\end\{\1\*?\}", re.DOTALL)
RST_CODE = re.compile(
    r"""
    ^(?P<before>[ \t]*)(?:
        \.\.[ \t]+(?:code-block|code|sourcecode|parsed-literal|prompt|raw|math|highlight)::[^\n]*\n  # what is shown
      | (?!\.\.[ \t]+[\w:+.-]+::)[^\n]*::[ \t]*\n                                                   # a paragraph that announces it
      | \.\.[ \t]+(?!symroof\b|[\w:+.-]+::|\[|_|\|)\S[^\n]*\n | \.\.\n(?=[ \t]+\S)                  # a comment
    )(?:[ \t]*\n)*(?P<indent>(?P=before)[ \t]+)\S[^\n]*(?:\n(?:(?P=indent)[^\n]*|[ \t]*(?=\n|\Z)))*
  | ``[^`\n]+``
    """,
    re.MULTILINE | re.VERBOSE,
)
TEX_NOTE = re.compile(r"^[ \t]*%[ \t]*symroof:[ \t]?", re.MULTILINE)
TEX_NOTES = re.compile(rf"(?:{TEX_NOTE.pattern}.*(?:\n|\Z))+", re.MULTILINE)
TEX_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
# A line ends inside of a paragraph where neither an empty line, a list, a heading, a quotation nor a table begins.
NEXT_BLOCK = r"[ \t]*(?:\n|[-*+][ \t]|\d+[.)][ \t]|\#{1,6}[ \t]|>|\|)"
BREAK = re.compile(rf"\n(?={NEXT_BLOCK})")
LINE_END = rf"\n(?!{NEXT_BLOCK})"

# Where one paragraph ends and the next begins, a list or a table at once.
PARAGRAPH = re.compile(rf"\n[ \t]*(?=\n)|{BREAK.pattern}")
LINE_BREAK = re.compile(r"\n")
TYPED = re.compile(r"[=≈≃≅~<>≤≥][^\n]{0,40}?\d|\d[^\n]{0,40}?[=≈≃≅~<>≤≥]")
TEX_SPACE = re.compile(r"~|\\[,;:! ]|\\(?=%)")
QUOTED = re.compile(r"(?<=\n)[ \t]*>[ \t]?")
DISPLAYS = ("fence", "square", "display", "shown")

# The group that matches tells the kind, and holds what stands inside; nothing but displays goes on from one block to the next.
FORMULA = re.compile(
    rf"""
    \$`(?P<github> (?:[^`\n]|{LINE_END}){{1,2000}}? )`\$
  | \ue000(?P<short> .{{1,4096}}? )\ue001
  | \ue002(?P<shown> .{{1,4096}}? )\ue001
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
    """A formula as it stands in a document, from ``start`` to ``end`` with its marks, below the headings of ``path``; a
    cell of a table has its ``row``, and the ``head`` of its column; what stands in prose may not be ``whole``."""

    text: str
    kind: str
    place: Place
    offset: int
    start: int
    end: int
    path: Headings
    display: bool
    row: Row | None = None
    head: str = ""
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Note:
    """A comment: a table of options in force from here on, what it says of the next formula, and a name that it forgets.

    ``error`` is why it could not be read.
    """

    options: dict[str, Any]
    following: dict[str, Any]
    place: Place
    path: Headings
    forget: str | None = None
    error: ReadingError | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its parts; ``place`` tells where an offset of it stands in its file."""

    name: str
    parts: tuple[Written | Note, ...]
    text: str
    prose: Prose
    place: Callable[[int], Place]


def read_document(path: Path) -> Document:
    """The formulas and comments of a file, in order; of a notebook those of its Markdown cells, which stand where they do
    in the file. Bytes that are not UTF-8 are replaced, never an error."""
    text = contents(path).decode("utf-8-sig", errors="replace")
    if path.suffix.lower() == NOTEBOOK:
        inside, offsets = text_of(text), offsets_of(text)
        lines, last = _starts(LINE, text), len(offsets) - 1
        return _Source(inside, False, lambda offset: _place(lines, offsets[min(offset, last)])).document(str(path))
    return read_text(text, str(path), tex=path.suffix.lower() in TEX_SUFFIXES)


def read_text(text: str, name: str = "text", *, tex: bool = False) -> Document:
    """The formulas and comments of a text, in order.

    >>> document = read_text("A product takes $2BDF$ FLOPs.\\n\\nSo `2*3 = 6`.")
    >>> [(part.text, part.place.line, part.place.column) for part in document.parts]
    [('2BDF', 1, 17), ('2*3 = 6', 3, 4)]
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _Source(text, tex).document(name)


class _Source:
    def __init__(self, text: str, tex: bool, place: Callable[[int], Place] | None = None) -> None:
        self.text, self.tex = text, tex
        lines = _starts(LINE, text)
        self.place = place or (lambda offset: _place(lines, offset))
        form = "latex" if tex else "markdown"
        text = closed(text)
        if BLOCKS.search(text):
            text = closed(blanked_markers(text, visible(text, form), SYNTAXES[form], "the document"))
        self.rows: tuple[Row, ...]
        self.texts: tuple[tuple[int, int], ...]
        text = text if tex else MATHML.sub(_in_dollars, SHORTCODE.sub(_between_marks, text))
        if tex:
            self.body = blanked(text, TEX_VERBATIM, TEX_LITERAL)
            self.rows, self.texts = tuple(tabular_rows(blanked(self.body, TEX_COMMENT))), ()
        else:
            self.body, self.rows, self.texts = markdown_blocks(blanked(text, FRONT_MATTER))
        self.path = sections(self.body)

    def document(self, name: str) -> Document:
        """The parts of the text in their order, and its prose."""
        notes = list(self._notes())
        others = (TEX_COMMENT,) if self.tex else (COMMENT, TEMPLATE_BLOCK, TEMPLATE_TAG, HTML_BLOCK, HTML_TAG)
        characters = list(closed(blanked(closed(self.body), *others)))
        for offset, _ in notes:  # a comment ends a block
            characters[offset : offset + 2] = "\n\n"
        body = "".join(characters)
        formulas = tuple(self._formulas(body))
        spans = [(formula.start, formula.end, formula.display) for formula in formulas]
        cells = [cell.offset for row in self.rows for cell in row.cells]
        words = prose(body, spans, sorted((*_starts(BREAK, body), *cells)))
        typed = self._calculations(body, formulas)
        noted = (self._note(comment, at) for at, comment in notes)
        parts: tuple[Written | Note, ...] = (*noted, *formulas, *typed, *self._cells())
        return Document(name, tuple(sorted(parts, key=lambda part: part.place)), self.text, words, self.place)

    def _formulas(self, body: str) -> Iterator[Written]:
        cells = {cell.offset for row in self.rows for cell in row.cells}
        for match in FORMULA.finditer(body):
            kind = str(match.lastgroup)
            inside, offset = match[kind], match.start()
            continued = match.start(kind) in cells and RELATING.match(inside)  # "≈ B" is the cell's own
            if continued or (kind == "code" and self.tex):
                continue
            if kind in (*DISPLAYS, "short"):
                offset = match.start(kind) + len(inside) - len(_unquoted(inside).lstrip())
            yield Written(
                _unquoted(match.group() if kind == "environment" else inside).strip(),
                "code" if kind == "code" else "math",
                self.place(offset),
                offset,
                *match.span(),
                self.path(match.start()),
                kind in (*DISPLAYS, "environment"),
            )

    def _calculations(self, body: str, formulas: Iterable[Written]) -> Iterator[Written]:
        """The calculations in prose, and in blocks of text."""
        characters = list(body)
        for formula in formulas:
            characters[formula.start : formula.end] = "\0" * (formula.end - formula.start)
        plain = "".join(characters)
        plain = TEX_SPACE.sub(lambda match: " " * len(match.group()), plain) if self.tex else plain
        stretches = [(start, end, False) for start, end in _between(PARAGRAPH, plain)]
        for first, last in self.texts:
            text = self.text[first:last]
            stretches += [(first + start, first + end, True) for start, end in _between(LINE_BREAK, text)]
            plain = plain[:first] + text + plain[last:]
        for start, end, names in stretches:
            stretch = plain[start:end]
            if not TYPED.search(stretch):
                continue
            for part in calculations(stretch, names=names):
                first, last = start + part.start, start + part.end
                text, path = " ".join(plain[first:last].split()), self.path(first)
                yield Written(text, "prose", self.place(first), first, first, last, path, False, whole=part.whole)

    def _cells(self) -> Iterator[Written]:
        """The cells of tables."""
        for row in self.rows:
            for head, cell in zip(row.heads, row.cells, strict=True):
                start, path = cell.offset, self.path(cell.offset)
                yield Written(cell.text, cell.kind, self.place(start), start, start, start, path, False, row, head.text)

    def _notes(self) -> Iterator[tuple[int, str | None]]:
        """Where comments begin, and what they say; None of one that is not closed."""
        if self.tex:
            yield from (
                (match.start(), TEX_NOTE.sub("", match.group().rstrip("\n"))) for match in TEX_NOTES.finditer(self.body)
            )
            return
        for match in COMMENT.finditer(blanked(self.body, CODE_SPAN)):
            content = _unquoted(match["body"]).strip()
            if re.match(r"symroof(?![^\W_])", content):
                yield match.start(), content[7:].lstrip(" :\t") if match.group().endswith("-->") else None

    def _note(self, content: str | None, offset: int) -> Note:
        place, path = self.place(offset), self.path(offset)
        word, *names = (content or "").split() or [""]
        if word in NEXT_WORDS and not names:
            return Note({}, {word: True}, place, path, offset=offset)
        if word == "forget" and len(names) == 1:
            return Note({}, {}, place, path, forget=names[0], offset=offset)
        try:
            if content is None:
                raise ReadingError("the comment is not closed", expected="-->")
            table = read_options(content, "the comment")
        except ReadingError as error:
            return Note({}, {}, place, path, error=error, offset=offset)
        following = {key: table.pop(key) for key in NEXT_KEYS if key in table}
        return Note(table, following, place, path, offset=offset)


def visible(text: str, form: str) -> str:
    """The text with its code blanked out: what stands there is shown, and says nothing."""
    if form == "latex":
        return blanked(text, TEX_VERBATIM, TEX_LITERAL)
    if form == "rst":
        return blanked(text, RST_CODE)
    return blanked(markdown_blocks(blanked(text, FRONT_MATTER))[0], CODE_SPAN)


def mathematics(seen: str, form: str) -> tuple[range, ...]:
    """Where the formulas of a text stand, values among what they say; ``seen`` is the text with its code blanked out."""
    body = closed(blanked_markers(seen, seen, SYNTAXES[form], "the document", "x"))
    return tuple(range(*match.span()) for match in FORMULA.finditer(body))


def with_formulas_set(text: str, set_: Callable[[str, bool], str]) -> str:
    """A Markdown text with each formula as ``set_`` sets its LaTeX, which is a display or not; code and comments stay.

    >>> with_formulas_set("$B$ or `$B`, $$B$$", lambda latex, display: f"<{latex}{display:d}>")
    '<B0> or `$B`, <B1>'
    """
    seen = closed(blanked(closed(visible(text, "markdown")), COMMENT, HTML_BLOCK, HTML_TAG))
    parts, end = [], 0
    for match in FORMULA.finditer(seen):
        kind = str(match.lastgroup)
        if kind != "code":
            latex = match.group() if kind == "environment" else match[kind]
            parts += [text[end : match.start()], set_(_unquoted(latex).strip(), kind in (*DISPLAYS, "environment"))]
            end = match.end()
    return "".join((*parts, text[end:]))


def _in_dollars(match: re.Match[str]) -> str:
    """A formula in MathML as its LaTeX between dollars, where it begins; its length stays what it is."""
    marks = "$$" if 'display="block"' in match.group() else "$"
    formula = unescape(match["latex"]).join((marks, marks))
    rows = match.group().count("\n")
    return (formula + " " * (len(match.group()) - rows - len(formula)) + "\n" * rows)[: len(match.group())]


def _between(separator: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Where the stretches of a text begin and end."""
    start = 0
    for match in separator.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _place(lines: list[int], offset: int) -> Place:
    """Where an offset stands, by the offsets at which lines begin."""
    line = bisect_right(lines, offset)
    return Place(line, offset - lines[line - 1] + 1)


def _between_marks(match: re.Match[str]) -> str:
    """A formula between marks of its own where the tags around it stood; its length stays what it is."""
    before, inside = match.start("inside") - match.start(), match["inside"]
    shown = "display" in match["how"] or "block" in match["how"] or inside.startswith("\n")
    opening = ("\ue002" if shown else "\ue000") + " " * (before - 1)
    return (opening + inside + "\ue001").ljust(len(match.group()))


def _starts(pattern: re.Pattern[str], text: str) -> list[int]:
    return [match.start() for match in pattern.finditer(text)]


def _unquoted(text: str) -> str:
    """A display without the marks of the block quote that it stands in; its length stays what it is."""
    rows = text.split("\n")[1:]
    quoted = bool(rows) and all(row.lstrip().startswith(">") for row in rows if row.strip())
    return QUOTED.sub(lambda match: " " * len(match.group()), text) if quoted else text
