"""What of Markdown and LaTeX is no formula: code, tables, headings, and the words around a formula.

Sentences and paragraphs of a document: which words stand around a formula.

A display belongs to the sentence that it goes on: to the words before it where they do not end a sentence, and to those
behind it where they do not begin one. Headings, comments, list items and rows of tables end a sentence and a paragraph.

How a document spells: the macros that it defines, and the letters that stand alone in its formulas.

Letters that stand alone somewhere are names: ``bsh`` is the product of three of them. Nothing else makes a word of small
letters a product, and ``k`` and ``M`` behind a number are powers of ten only where no such letter is.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import accumulate

from symroof.formula import Frozen
from symroof.reading.latex_tokens import GREEK_COMMANDS
from symroof.reading.macros import EQUALS, LETTERS_ALONE, TEXTS, Macro, arguments_at, definitions, index_at
from symroof.reading.scanner import GREEK
from symroof.reading.vocabulary import WORDS

TABULAR = re.compile(
    r"\\begin\{(?P<name>tabular[xy*]?|longtable)\}(?:\[[^\]]*\])?(?:\{[^{}]*\})*(?P<body>.{0,20000}?)\\end\{(?P=name)\}",
    re.DOTALL,
)
# Where a cell of a tabular ends; rules between rows are no cells.
NEXT_CELL = re.compile(r"(?<!\\)&")
NEXT_ROW = re.compile(r"\\\\(?:\[[^\]]*\])?|\\tabularnewline\b")
RULES = re.compile(
    r"\\(?:hline|(?:top|mid|bottom)rule|c(?:mid|)rule(?:\([^)]*\))?\{[^{}]*\}|cline\{[^{}]*\}|end(?:first|)head\b)"
)

# What holds the indented lines below it: an admonition, a tab, a footnote.
HOLDER = re.compile(r"[ \t]*(?:(?:!!!|\?\?\?\+?|===[!+]?)[ \t]|\[\^[^\]\s]+\]:)")

CODE = re.compile(r"^(?: {4}|\t)|```|~~~", re.MULTILINE)  # without it there is no block of code

# What stands around a cell, or a formula in it, and is no part of it.
MARKS = re.compile(r"\$`?|`\$|`+|\A(?:\*\*|__)|(?:\*\*|__)\Z")
# What the fence of a block says that is text, and no program.
TEXT_BLOCKS = ("", "text", "txt", "plain", "plaintext", "none", "output", "console-output")
ENVIRONMENTS = "|".join(WORDS["latex"]["environments"])
# What opens, with the name of what is open; what closes it; and how many characters there may be between.
VERBATIM = r"(?:verbatim|lstlisting|minted|comment)\*?"
LENGTH = r"\s*-?[\d.]+\s*(?:em|ex|pt|mm|cm|in)\]"  # of the space below a row
PAIRS = tuple(
    (re.compile(opening, re.IGNORECASE), re.compile(closing, re.IGNORECASE), longest)
    for opening, closing, longest in (
        (rf"(?<!\\)\\{{1,2}}(?P<name>)\[(?!{LENGTH})", r"(?P<name>)\\\]", 4096),
        (r"(?<!\\)\\{1,2}(?P<name>)\(", r"(?P<name>)\\\)", 4096),
        (rf"\\begin\{{(?P<name>(?:{ENVIRONMENTS})\*?)\}}", rf"\\end\{{(?P<name>(?:{ENVIRONMENTS})\*?)\}}", 8192),
        (rf"\\begin\{{(?P<name>{VERBATIM})\}}", rf"\\end\{{(?P<name>{VERBATIM})\}}", 50000),
        (r"\\iffalse(?P<name>)\b", r"\\fi(?P<name>)\b", 20000),
        (r"\{%-?\s*(?P<name>highlight|comment|raw)\b", r"\{%-?\s*end(?P<name>highlight|comment|raw)\b", 20000),
        (r"\{::(?P<name>)comment\}", r"\{:/(?P<name>)", 20000),
        (r"<(?P<name>pre|code|script|style|kbd|samp)\b", r"</(?P<name>pre|code|script|style|kbd|samp)\b", 20000),
    )
)
# The headings above a place, outermost first, each by its number in the document: 0 is the first heading.
Headings = tuple[int, ...]
TEX_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
HEADING = re.compile(
    r"^[ \t]*(?P<marks>\#{1,6})[ \t].*$|^[^\n]+\n(?P<line>={3,}|-{3,})[ \t]*$"
    rf"|\\(?P<tex>{'|'.join(TEX_LEVELS)})\*?\{{",
    re.MULTILINE,
)
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
# What holds no letter that stands alone: derivatives, words, commands, indices, and what stands behind a number or a bar.
ASIDE = re.compile(
    r"\\frac\s*\{\s*d\b[^{}]*\}\s*\{\s*d|/s\b|"
    rf"(?:(?<![A-Za-z])[Oo]|\\mathcal\s*(?:\{{\s*O\s*\}}|O))\s*(?:\\left)?\(|\\(?:{TEXTS}|begin|end|label|tag)\s*\{{[^{{}}]*\}}|\\[A-Za-z]+|[A-Za-z]?_\s*(?:\{{[^{{}}]*\}}|\w)|\d[\d.]*(?:[eE][+-]?\d+)?\s*(?:[A-Za-z]\b)?"
)
LETTERS = re.compile(rf"[A-Za-z{GREEK}]\w*")
FUNCTION = re.compile(r"(?:[\s&]|\\begin\{\w+\*?\}|\\label\{[^{}]*\})*([A-Za-z]|\\[A-Za-z]+)")


class Cell(Frozen):
    """What stands in a cell without marks of mathematics, code and bold type, where it begins, and how it is written."""

    text: str
    offset: int
    kind: str


class Row(Frozen):
    """A row of a table below the ``heads`` of its columns; it has as many cells."""

    heads: tuple[Cell, ...]
    cells: tuple[Cell, ...]


def html_of(markdown: str) -> str:
    """Markdown as HTML, with tables; HTML in it stays.

    >>> html_of("## A\\n\\n*b*")
    '<h2>A</h2>\\n<p><em>b</em></p>\\n'
    """
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark").enable("table").render(markdown))


def markdown_blocks(text: str) -> tuple[str, tuple[Row, ...], tuple[tuple[int, int], ...]]:
    r"""Markdown with its blocks of code blanked out, but for those of mathematics; the rows of its tables; and where the
    lines of blocks stand that are text, and no code.

    >>> markdown_blocks("A\n\n    x = 1\n\n> ```py\n> x\n> ```\n```text\n1 + 1\n```\n")
    ('A\n\n         \n\n       \n   \n     \n       \n     \n   \n', (), ((3, 13), (40, 46)))
    >>> markdown_blocks("| op | FLOPs |\n|--|--|\n| `dot` | $2N$ |\n")[1][0].cells
    (Cell(text='dot', offset=26, kind='code'), Cell(text='2N', offset=34, kind='math'))
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    lines = text.split("\n")
    heads: tuple[Cell, ...] | None = None
    cells: list[Cell] | None = None
    rows: list[Row] = []
    texts: list[tuple[int, int]] = []
    starts = (0, *accumulate(len(line) + 1 for line in lines))
    for token in parser.parse(text):
        if token.type in ("code_block", "fence") and token.map is not None and token.info.strip() != "math":
            first, behind = token.map
            info = token.info.strip().split() or ("",)
            if token.type == "fence" and info[0].casefold().strip("{}.") in TEXT_BLOCKS:
                texts.append((starts[first + 1], starts[min(behind, len(lines)) - 1]))
            if token.type == "code_block" and not _held(lines, first):
                texts.append((starts[first], starts[min(behind, len(lines) - 1)]))
            if token.type == "code_block" and _held(lines, first):
                lines[first:behind] = _inner(lines[first:behind])
            else:
                lines[first:behind] = (" " * len(line) for line in lines[first:behind])
        elif token.type == "thead_open":
            heads = None
        elif token.type == "tr_open":
            cells, behind = [], 0
        elif token.type == "inline" and token.map is not None and cells is not None:
            line, written = token.map[0], token.content.replace("|", "\\|")
            behind = max(lines[line].find(written, behind), 0)
            cells.append(_cell(written, starts[line] + behind))
            behind += len(written)
        elif token.type == "tr_close" and cells is not None:
            if heads is None:
                heads = tuple(cells)
            else:
                rows.append(Row(heads, tuple(cells)))
            cells = None
    return "\n".join(lines), tuple(rows), tuple(texts)


def _held(lines: list[str], first: int) -> bool:
    """Whether indented lines are what an admonition, a tab or a footnote says, and no code."""
    indent = len(lines[first]) - len(lines[first].lstrip())
    above = (
        line
        for line in (lines[i] for i in range(first - 1, -1, -1))
        if line.strip() and len(line) - len(line.lstrip()) < indent
    )
    return indent > 0 and HOLDER.match(next(above, "")) is not None


def _inner(lines: list[str]) -> list[str]:
    """Indented lines with the code in them blanked out. The rows of their tables are not read."""
    cuts = [1 if line.startswith("\t") else 4 for line in lines]
    text = "\n".join(line[cut:] for line, cut in zip(lines, cuts, strict=True))
    inside = markdown_blocks(text)[0].split("\n") if CODE.search(text) else text.split("\n")
    return [line[:cut] + new for line, cut, new in zip(lines, cuts, inside, strict=True)]


def tabular_rows(text: str) -> Iterator[Row]:
    r"""The rows of the tabulars of LaTeX; those with cells over several columns are left out.

    >>> next(tabular_rows(r"\begin{tabular}{ll} op & FLOPs \\ \hline dot & 2N \\ \end{tabular}")).cells
    (Cell(text='dot', offset=41, kind='math'), Cell(text='2N', offset=47, kind='math'))
    """
    for table in TABULAR.finditer(text):
        body = RULES.sub(lambda match: " " * len(match.group()), table["body"])
        rows = [list(_cells(row, table.start("body") + at)) for row, at in _between(NEXT_ROW, body)]
        heads = tuple(rows[0])
        yield from (Row(heads, tuple(row)) for row in rows[1:] if len(row) == len(heads))


def _cells(row: str, start: int) -> Iterator[Cell]:
    for text, at in _between(NEXT_CELL, row):
        yield _cell(text, start + at, math=True)


def _cell(written: str, start: int, *, math: bool = False) -> Cell:
    text = MARKS.sub(lambda match: " " * len(match.group()), written)
    kind = "math" if math or "$" in written else "code"
    return Cell(text.strip(), start + len(text) - len(text.lstrip()), kind)


def _between(separator: re.Pattern[str], text: str) -> Iterator[tuple[str, int]]:
    """What stands between the separators, and where."""
    start = 0
    for match in separator.finditer(text):
        yield text[start : match.start()], start
        start = match.end()
    yield text[start:], start


def closed(text: str) -> str:
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


def blanked(text: str, *patterns: re.Pattern[str]) -> str:
    """The text with spaces for what is left alone."""
    for pattern in patterns:
        text = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    return text


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


class Prose(Frozen):
    """A text, and where its sentences and paragraphs end. Everything that is no prose is blank."""

    text: str
    sentences: tuple[int, ...] = ()
    paragraphs: tuple[int, ...] = ()

    def paragraph(self, offset: int) -> int:
        """The number of the paragraph of a place."""
        return bisect_right(self.paragraphs, offset)

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
        block = bisect_left(starts, offset) - 1
        return block >= 0 and offset < ends[block]

    def displayed(block: int) -> bool:
        return 0 <= block < len(formulas) and formulas[block][2]

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


class Spelling(Frozen):
    """The ``macros`` of a document, the ``letters`` that stand alone in it, and the ``functions`` that it defines, each
    with its arguments."""

    macros: Mapping[str, Macro] = field(default_factory=dict)
    letters: frozenset[str] = frozenset()
    functions: Mapping[str, str] = field(default_factory=dict)


def spelling(text: str, formulas: Iterable[str]) -> Spelling:
    """How a text with these formulas spells.

    >>> sorted(spelling("", ["b", "s = 2048", "12lh^2", "2 k", "x_i"]).letters)
    ['b', 's']
    """
    formulas = tuple(formulas)
    words = {word for formula in formulas for word in LETTERS.findall(ASIDE.sub(" ", formula))}
    letters = frozenset(word for word in words if len(word) == 1)
    functions = dict(function for formula in reversed(formulas) for function in _functions(formula))
    return Spelling({definition.name: definition.macro for definition in definitions(text)}, letters, functions)


def _functions(formula: str) -> Iterator[tuple[str, str]]:
    r"""The functions of letters that the rows of a formula define, with their arguments.

    >>> list(_functions(r"T_1(n) = 4n^3 \\ S(n, p) &= \frac{T_1(n)}{T_p}"))
    [('T_1', 'n'), ('S', 'n,p')]
    """
    for row in NEXT_ROW.split(formula):
        if (head := FUNCTION.match(row)) is None:
            continue
        index = index_at(row, head.end())
        arguments = arguments_at(row, index.end if index else head.end())
        if arguments and EQUALS.match(row, arguments[1]) and LETTERS_ALONE.fullmatch(arguments[0]):
            name = GREEK_COMMANDS.get(head[1], head[1]) + (f"_{index.name}" if index else "")
            yield name, "".join(arguments[0].split())
