"""How broad text is on a terminal, and lines of it laid out: prose is folded at its spaces, formulas between the links of a chain.

A terminal is a grid of cells: a Chinese character or a Korean syllable takes two, a combining mark none. Chinese is
written without spaces, so a line may end between two of its characters; Korean is folded at its spaces. A formula in prose
holds no-break spaces, so that what folds prose leaves it whole; the finished page has plain ones.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, pairwise, zip_longest
from typing import TYPE_CHECKING
from unicodedata import category, east_asian_width

from symroof.formula import Cases

if TYPE_CHECKING:
    from symroof.rendering.formulas.plain import PlainPrinter
    from symroof.rendering.pages.section_displays import Row


NBSP, JOINER = "\N{NO-BREAK SPACE}", "\N{WORD JOINER}"
OPENING, CLOSING = "（［｛【〔《〈「『", "，。；：、！？）］｝】〕》〉」』％"
HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
CHINESE = f"[{HAN}{OPENING}{CLOSING}]"
# Characters that may be broader or narrower than a cell; letters of Europe and signs of mathematics are not.
UNEVEN = re.compile(r"[^\0-\u02ff\u2010-\u2027\u2190-\u22ff]")


@cache
def breaks() -> re.Pattern[str]:
    """Between two characters, behind what closes, before what opens; a quotation mark is Chinese beside a character."""
    return re.compile(
        rf"(?<=[{HAN}”…—])(?=[{HAN}“])"
        rf"|(?:(?<=[{CLOSING}])|(?<=[{CLOSING}]”))(?=[^{CLOSING}{JOINER}”’…—·,.;:!?%)\]}}\s])"
        rf"|(?<=[^{OPENING}{JOINER}“‘(\[{{\s])(?=[{OPENING}])"
    )


@cache
def spaces_beside() -> re.Pattern[str]:
    """Spaces that Chinese is set without: beside punctuation, which has its own, and between two characters."""
    return re.compile(
        rf"(?<=\S) +(?=[{OPENING}{CLOSING}“”])|(?<=[{OPENING}{CLOSING}“”]) +(?=\S)|(?<=[{HAN}]) +(?=[{HAN}])"
    )


def cells(text: str) -> int:
    """The breadth of a text.

    >>> cells("roofline"), cells("루프라인"), cells("屋顶线，B ≪ D"), cells("e\N{COMBINING ACUTE ACCENT}")
    (8, 8, 13, 1)
    """
    return len(text) if text.isascii() else len(text) + sum(map(_excess, UNEVEN.findall(text)))


@cache
def _excess(character: str) -> int:
    """By how much a character is broader than one cell. Vowels and finals of Korean join the consonant before them."""
    final = "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7fb"
    if final or category(character) in ("Mn", "Me", "Cf"):
        return -1
    return 1 if east_asian_width(character) in "WF" else 0


def padded(text: str, width: int, right: bool = False) -> str:
    """A text with the spaces that fill a width, behind it or before it.

    >>> padded("대역폭", 8) + "|", padded("8192", 8, right=True)
    ('대역폭  |', '    8192')
    """
    room = " " * (width - cells(text))
    return room + text if right else text + room


def pieces(text: str) -> list[str]:
    """What stands on a line whole, with the spaces before it: a word, or a Chinese character and what clings to it.

    >>> pieces("루프라인은 B ≪ D"), pieces("即“屋顶线” （见 B），D")
    (['루프라인은', ' B', ' ≪', ' D'], ['即', '“屋', '顶', '线”', ' （见', ' B），', 'D'])
    """
    words = re.findall(" *[^ ]+", text)
    return [piece for word in words for piece in breaks().split(word)] if _is_chinese(text) else words


def bind(text: str) -> str:
    """The text with its Chinese characters joined, so that no line ends between them.

    >>> pieces(bind("否则不可能")) == [bind("否则不可能")]
    True
    """
    return breaks().sub(JOINER, text) if _is_chinese(text) else text


def unglue(text: str) -> str:
    """The text as it is read, without what held it together."""
    return text if text.isascii() else text.replace(NBSP, " ").replace(JOINER, "")


def close_up(text: str) -> str:
    """Chinese without spaces between its characters and beside full-width punctuation; those at the ends of a line stay.

    >>> close_up("强度 为 B ， 即 “屋顶线” （ 见 D ）。 于是 B > 240"), close_up("say “when” so")
    ('强度为 B，即“屋顶线”（见 D）。于是 B > 240', 'say “when” so')
    """
    return spaces_beside().sub("", text) if _is_chinese(text) else text


def _is_chinese(text: str) -> bool:
    return not text.isascii() and re.search(CHINESE, text) is not None


INDENT = 2
ASIDE = 56
LABEL, VALUE, BROAD = 13, 26, 40
GAP = "  "
# A formula up to this length stands on one line, whatever it says.
SHORT = 30
# Where a formula may go on in the next line: before a relation or a word, behind 이고, never inside a link.
LINKS = re.compile(
    r" (?=(?:[=<>~≈≤≥≪⇔⇒→]|<=|>=|<<|~~|->|<=>|=>|and|or|if|with|[（(]?[가-힣\u4e00-\u9fff]+,?) )|(?<=;) |(?<=이고) "
)
# The same in Chinese, which has no spaces there: before a guard in brackets, behind a case.
CASES = re.compile(f"{JOINER}(?=（)|(?<=；){JOINER}")
TERMS = re.compile(r"[ \u00a0](?=[-+*·/][ \u00a0])")


def glue(formula: str) -> str:
    """The formula with the spaces at which no line may end made no-break.

    >>> glue("B(D - 1)") == "B(D - 1)".replace(" ", NBSP)
    True
    >>> fold(glue("intensity = 2BDF/(2BD + 2DF + 2BF) = BDF/(BD + DF + BF)"), 40)
    ['intensity = 2BDF/(2BD + 2DF + 2BF)', '= BDF/(BD + DF + BF)']
    """
    formula = bind(formula)
    if cells(formula) <= SHORT:
        return formula.replace(" ", NBSP)
    formula = CASES.sub("", formula)
    breaks = {place for place in (match.start() for match in LINKS.finditer(formula)) if _outside(formula, place)}
    return "".join(NBSP if c == " " and i not in breaks else c for i, c in enumerate(formula))


def fold(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of the width, later ones indented; a formula is broken inside only where it alone is longer than a line.

    >>> fold("one two three", 8), fold(glue("BTNH + BSNH + BNTS"), 12)
    (['one two', 'three'], ['BTNH + BSNH', '+ BNTS'])
    """
    waiting, lines, line, used = deque(pieces(text)), [], "", 0
    while waiting:
        piece = waiting.popleft()
        word, breadth = piece.strip(" "), cells(piece)
        if used + breadth <= width:
            line, used = line + piece, used + breadth
        elif len(indent) + cells(word) > width and len(parts := _loosened(word)) > 1:
            waiting.extendleft(reversed([piece[: -len(word)] + parts[0], *parts[1:]]))
        else:
            lines += [line] if line.strip() else []
            line = (indent if lines else "") + word
            used = cells(line)
    return [unglue(line) for line in (*lines, line)]


def _loosened(word: str) -> list[str]:
    """A formula that is longer than a line, in parts: between its terms, or else at any space, or in a Chinese word."""
    terms = [place.start() for place in TERMS.finditer(word)]
    outer = [place for place in terms if _outside(word, place)] or terms
    cuts = outer or _places(NBSP, word) or _places(JOINER, word)
    parts = [word[a:b] for a, b in zip([0, *cuts], [*cuts, len(word)], strict=True)]
    return [" " * part.startswith(NBSP) + part.strip(NBSP + JOINER) for part in parts]


def _places(glue: str, word: str) -> list[int]:
    return [i for i, c in enumerate(word) if c == glue]


def _outside(text: str, place: int) -> bool:
    """Whether a place is outside of all brackets."""
    before = text[:place]
    return sum(map(before.count, "([{（")) == sum(map(before.count, ")]}）"))


def title_line(left: str, right: str, width: int) -> str:
    """Both on one line, at its ends, or on two where they do not fit.

    >>> title_line("matmul", "TPU v5e", 20)
    'matmul       TPU v5e'
    """
    gap = width - cells(left) - cells(right)
    if right and gap >= 2:
        return left + " " * gap + unglue(right)
    return "\n".join((*fold(glue(left), width, GAP), *(fold(right, width, GAP) if right else ())))


def ledger(head: Sequence[str], rows: Sequence[Sequence[str]], width: int, colon: str = ": ") -> Iterator[str]:
    """Rows of label, value and remark, below their heads where they have any; a remark that does not fit goes below, with its head."""
    rows = [head, *rows] if any(head) else rows
    margin = max((LABEL, *(cells(label) for label, *_ in rows))) + len(GAP)
    room = max((VALUE, *(cells(value) for _, value, *remarks in rows if any(remarks) and cells(value) <= BROAD)))
    for label, value, *remarks in rows:
        start, below = padded(label, margin), " " * margin
        first, *rest = fold(value, width - margin) or [""]
        remark = " ".join(remarks)
        apart = f"{head[2]}{colon}" if any(head[2:]) and label != head[0] else ""
        line = start + (padded(first, room) + GAP if cells(first) <= room else first + "   ") + remark
        beside = bool(remark) and not rest and cells(line) <= width
        yield unglue(line) if beside else unglue(start + first).rstrip()
        yield from (below + line for line in rest)
        if remark and not beside:
            yield from (below + GAP + line for line in fold(apart + remark, width - margin - len(GAP)))


class _Chain:
    """A left side, or the room for it, and the links behind it, each with the places by which it is moved to the right."""

    def __init__(self, row: Row, head: str, printer: PlainPrinter) -> None:
        links = row.links(printer)
        if row.unit and links:
            links[-1] += f" {row.unit}"
        self.row, self.head, self.line = row, head, " ".join((head, *links))
        self.parts: list[tuple[str, int]] = []
        for link, (_, right) in zip(links, row.parts, strict=True):
            relation, _, body = link.partition(" ")
            cases = printer.each_case(right) if isinstance(right, Cases) else [(body, "")]
            for i, (then, guard) in enumerate(cases):
                self.parts.append((then, cells(relation) + 1) if i else (f"{relation} {then}", 0))
                self.parts += [(guard.strip(), cells(relation) + 3)] if guard else []

    def fits(self, room: int) -> bool:
        """Whether every link has room beside the left side."""
        widest = max((cells(text) + hang for text, hang in self.parts), default=0)
        return cells(self.line) <= room or cells(self.head) + 1 + widest <= room

    def lines(self, room: int, below: bool) -> list[str]:
        """One line, or a link on each, aligned at the relations; ``below`` puts the links below the left side."""
        head = self.head.strip()
        if cells(self.line) <= room and (head or not below):
            return [self.line]
        lines = fold(glue(head), room) if head and below else []
        column = INDENT if below else cells(self.head) + 1
        for text, hang in self.parts:
            start, hanging = " " * (column + hang), " " * (cells(text.split(" ")[0]) + 1)
            lines += [start + line for line in fold(glue(text), room - len(start), hanging)]
        return lines if below or not lines else [self.head + lines[0][cells(self.head) :], *lines[1:]]


def display(rows: list[Row], printer: PlainPrinter, width: int) -> list[str]:
    """The rows of a display with their relations under one another; a chain goes on below where it is too long."""
    indent = " " * INDENT
    room, lines = width - len(indent), []
    heads = [printer.print(row.left) if row.left is not None else "" for row in rows]
    short = max((cells(head) for head in heads if cells(head) <= 12), default=0)
    starts = [i for i, head in enumerate(heads) if head]
    for start, end in pairwise([*starts, len(rows)]):
        own = cells(heads[start])
        breadth = max(own, short if own <= 12 and rows[start].parts else 0)
        chains = [_Chain(rows[i], padded(heads[i], breadth), printer) for i in range(start, end)]
        below = not all(chain.fits(room) for chain in chains)
        for chain in chains:
            lines += _beside([indent + line for line in chain.lines(room, below)], chain.row.aside, width)
    return lines


def _beside(lines: list[str], remark: str, width: int) -> list[str]:
    """The lines with the remark beside the last one, or below it."""
    if not remark:
        return lines
    last, aside = lines[-1], unglue(remark)
    if cells(last) < ASIDE and ASIDE + len(GAP) + cells(aside) <= width:
        return [*lines[:-1], padded(last, ASIDE) + GAP + aside]
    if cells(last) + 3 + cells(aside) <= width:
        return [*lines[:-1], f"{last}   {aside}"]
    indent = " " * (2 * INDENT + 2)
    return [*lines, *(indent + line for line in fold(remark, width - len(indent)))]


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: frozenset[int] = frozenset(),
    keys: int = 1,
    width: int = 96,
    colon: str = ": ",
) -> list[str]:
    """Columns under one another. Where they are too wide, the words of the head go over lines, then the columns over
    several tables, each with the first ``keys`` columns; what is still too wide is listed row by row, a ``colon`` between
    head and cell. A column without a head stays beside the one before it.

    >>> table(("chip", "peak FLOPs/s", "ridge"), [("TPU v5e", "1.97e14", "240.24")], frozenset({2}), 1, 26)
    ['chip     peak      ridge', '         FLOPs/s', 'TPU v5e  1.97e14  240.24']
    """
    columns = list(zip(head, *rows, strict=True))
    least = [max(map(cells, (*column, *name.split(" ")))) for name, *column in columns]
    for widths in ([max(map(cells, column)) for column in columns], least):
        if sum(widths) + len(GAP) * (len(widths) - 1) <= width:
            return _columns(columns, right, widths)
    edges = list(accumulate(breadth + len(GAP) for breadth in least))
    if edges[keys - 1] + max(least[keys:], default=width) > width:
        return _listed(head, rows, keys, width, colon)
    count = sum(edge <= width + len(GAP) for edge in edges)
    while count > keys + 1 and not head[count]:
        count -= 1
    lines: list[str] = []
    for places in ([*range(count)], [*range(keys), *range(count, len(head))]):
        parts = [[row[place] for place in places] for row in (head, *rows)]
        to_right = frozenset(i for i, place in enumerate(places) if place in right)
        lines += ["", *table(parts[0], parts[1:], to_right, keys, width, colon)]
    return lines[1:]


def _columns(columns: Sequence[Sequence[str]], right: frozenset[int], widths: Sequence[int]) -> list[str]:
    """Rows of a width for each column; the head of a column is folded at its spaces."""
    names = (fold(bind(name), width) for (name, *_), width in zip(columns, widths, strict=True))
    heads = (row for row in zip_longest(*names, fillvalue="") if any(row))
    rows = zip(*(column for _, *column in columns), strict=True)
    return [
        GAP.join(padded(unglue(text), widths[i], i in right) for i, text in enumerate(row)).rstrip()
        for row in (*heads, *rows)
    ]


def _listed(head: Sequence[str], rows: Sequence[Sequence[str]], keys: int, width: int, colon: str) -> list[str]:
    """Each row as a list of its cells with their heads."""
    lines: list[str] = []
    for row in rows:
        lines += fold(GAP.join(cell for cell in row[:keys] if cell), width, GAP)
        for name, cell in zip(head[keys:], row[keys:], strict=True):
            lines += [GAP + line for line in fold(name + colon + cell, width - len(GAP), GAP)] if cell else []
    return lines


def words_table(vocabulary: Mapping[str, list[str]], called: Callable[[str], object] = lambda name: "") -> str:
    """The quantities, each with the words that name it in what is read, and what it is ``called`` in a language.

    >>> print(words_table({"peak": ["peak FLOPs/s", "peak compute"], "ridge": ["ridge point"]}), end="")
    peak   peak FLOPs/s,  peak compute
    ridge  ridge point
    """
    heads = _in_columns([(name, str(called(name))) for name in vocabulary])
    margin = cells(heads[0])
    lines = []
    for head, words in zip(heads, vocabulary.values(), strict=True):
        lines += fold(head + ",  ".join(bind(word.replace(" ", NBSP)) for word in words), 96, indent=" " * margin)
    return "".join(f"{line}\n" for line in lines)


def _in_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Cells beside one another, of the breadth that their column needs, with a gap behind each column that is not empty."""
    columns = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    return [
        "".join(padded(cell, width) + GAP for cell, width in zip(row, columns, strict=True) if width) for row in rows
    ]
