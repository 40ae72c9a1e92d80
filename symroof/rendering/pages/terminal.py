"""Laying out lines for a terminal: prose is folded at its spaces, formulas between the links of a chain.

A formula in prose holds no-break spaces, so that what folds prose leaves it whole; the finished page has plain ones.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from symroof.formula import Cases
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.blocks import Row

NBSP = "\N{NO-BREAK SPACE}"
# Prose stands beside the heads of its sections; where there is no room for that, below them.
GUTTER, NARROW, ROOMY, INDENT = 13, 2, 72, 2
ASIDE = 58
LABEL, VALUE = 13, 26
GAP = "  "
# A formula up to this length stands on one line, whatever it says.
SHORT = 30
# Where a formula may go on in the next line: before a relation or a word, never inside a link.
LINKS = re.compile(r" (?=(?:[=<>~≈≤≥≪⇔⇒→]|<=|>=|<<|~~|->|<=>|=>|and|or|if|with) )|(?<=;) ")
TERMS = re.compile(r"[ \u00a0](?=[-+*·/][ \u00a0])")


def glued(formula: str) -> str:
    """The formula with the spaces at which no line may end made no-break.

    >>> glued("B(D - 1)") == "B(D - 1)".replace(" ", NBSP)
    True
    >>> fold(glued("intensity = 2BDF/(2BD + 2DF + 2BF) = BDF/(BD + DF + BF)"), 40)
    ['intensity = 2BDF/(2BD + 2DF + 2BF)', '= BDF/(BD + DF + BF)']
    """
    if len(formula) <= SHORT:
        return formula.replace(" ", NBSP)
    breaks = {place for place in (match.start() for match in LINKS.finditer(formula)) if _outside(formula, place)}
    return "".join(NBSP if c == " " and i not in breaks else c for i, c in enumerate(formula))


def plain(text: str) -> str:
    return text.replace(NBSP, " ")


def fold(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of the width, later ones indented; a formula is broken inside only where it alone is longer than a line.

    >>> fold("one two three", 8), fold(glued("BTNH + BSNH + BNTS"), 12)
    (['one two', 'three'], ['BTNH + BSNH', '+ BNTS'])
    """
    pieces, lines, line = deque(re.findall(r" *[^ ]+", text)), [], ""
    while pieces:
        piece = pieces.popleft()
        word = piece.strip(" ")
        if len(line) + len(piece) <= width:
            line += piece
        elif len(indent) + len(word) > width and len(parts := _loosened(word)) > 1:
            pieces.extendleft(reversed([piece[: -len(word)] + parts[0], *(" " + part for part in parts[1:])]))
        else:
            lines += [line] if line.strip() else []
            line = (indent if lines else "") + word
    return [plain(line) for line in (*lines, line)]


def _loosened(word: str) -> list[str]:
    """A formula that is longer than a line, in parts: between its terms, or else at any space."""
    terms = [place.start() for place in TERMS.finditer(word)]
    outer = [place for place in terms if _outside(word, place)] or terms
    cuts = outer or [i for i, c in enumerate(word) if c == NBSP]
    return [word[a:b].strip(NBSP) for a, b in zip([0, *cuts], [*cuts, len(word)], strict=True)]


def _outside(text: str, place: int) -> bool:
    """Whether a place is outside of all brackets."""
    before = text[:place]
    return sum(map(before.count, "([{")) == sum(map(before.count, ")]}"))


def titled(left: str, right: str, width: int) -> str:
    """Both on one line, at its ends, or on two where they do not fit.

    >>> titled("matmul", "TPU v5e", 20)
    'matmul       TPU v5e'
    """
    gap = width - len(left) - len(right)
    if right and gap >= 2:
        return left + " " * gap + plain(right)
    return "\n".join((*fold(glued(left), width, GAP), *(fold(right, width, GAP) if right else ())))


def ledger(rows: Iterable[Sequence[str]], width: int) -> Iterator[str]:
    """Rows of label, value and remark; a remark goes below where it does not fit."""
    for label, value, *remarks in rows:
        head = f"{label:<{LABEL}}{GAP}"
        lines = fold(value, width - len(head)) or [""]
        remark = " ".join(remarks)
        line = f"{head}{lines[0]:<{VALUE}}{GAP}{remark}" if len(lines[0]) <= VALUE else f"{head}{lines[0]}   {remark}"
        beside = bool(remark) and len(lines) == 1 and len(line) <= width
        yield plain(line) if beside else (head + lines[0]).rstrip()
        yield from (" " * len(head) + line for line in lines[1:])
        if remark and not beside:
            yield from (" " * (len(head) + 2) + line for line in fold(remark, width - len(head) - 2))


def section(head: str, parts: Iterable[str | list[str]], width: int) -> Iterator[str]:
    """The lines of one section: prose beside its head, and what is laid out already below it."""
    margin = gutter(width)
    label = head
    for part in parts:
        if label and (len(label) >= margin or not isinstance(part, str)):
            yield label
            label = ""
        if isinstance(part, str):
            for line in (line for sentence in part.split("\n") for line in fold(sentence, width - margin)):
                yield f"{label:<{margin}}{line}"
                label = ""
        else:
            yield from part


def gutter(width: int) -> int:
    return GUTTER if width >= ROOMY else NARROW


class _Chain:
    """A left side, or the room for it, and the links behind it."""

    def __init__(self, row: Row, head: str, printer: PlainPrinter) -> None:
        self.row, self.head = row, head
        self.links = [f"{printer.relation(relation)} {printer.print(right)}" for relation, right in row.parts]
        if row.unit and self.links:
            self.links[-1] += f" {row.unit}"

    @property
    def parts(self) -> Iterator[tuple[str, int]]:
        """The lines of the links, each with the places by which it is moved to the right: cases one by one."""
        for link, (_, right) in zip(self.links, self.row.parts, strict=True):
            first, *others = _cases(link) if isinstance(right, Cases) else [link]
            yield first, 0
            yield from ((text, link.index(" ") + 1) for text in others)

    @property
    def line(self) -> str:
        return " ".join((self.head, *self.links))

    def fits(self, room: int) -> bool:
        """Whether every link has room beside the left side."""
        widest = max((len(text) + hang for text, hang in self.parts), default=0)
        return len(self.line) <= room or len(self.head) + 1 + widest <= room

    def lines(self, room: int, below: bool) -> list[str]:
        """One line, or a link on each, aligned at the relations; ``below`` puts the links below the left side."""
        head = self.head.strip()
        if len(self.line) <= room and (head or not below):
            return [self.line]
        lines = fold(glued(head), room) if head and below else []
        column = INDENT if below else len(self.head) + 1
        for text, hang in self.parts:
            start, hanging = " " * (column + hang), " " * (len(text.split(" ")[0]) + 1)
            lines += [start + line for line in fold(_held(text), room - len(start), hanging)]
        return lines if below or not lines else [self.head + lines[0][len(self.head) :], *lines[1:]]


def display(rows: list[Row], printer: PlainPrinter, width: int) -> list[str]:
    """The rows of a display with their relations under one another; a chain goes on below where it is too long."""
    heads = [printer.print(row.left) if row.left is not None else "" for row in rows]
    short = max((len(head) for head in heads if len(head) <= 12), default=0)
    margin, chains = 0, []
    for row, head in zip(rows, heads, strict=True):
        if head:
            margin = max(len(head), short if len(head) <= 12 and row.parts else 0)
        chains.append(_Chain(row, f"{head:<{margin}}", printer))
    indent, below, lines = " " * (gutter(width) + INDENT), False, []
    room = width - len(indent)
    for i, chain in enumerate(chains):
        if heads[i]:
            end = next((j for j in range(i + 1, len(chains)) if heads[j]), len(chains))
            below = not all(other.fits(room) for other in chains[i:end])
        lines += _beside([indent + line for line in chain.lines(room, below)], chain.row, width)
    return lines


def _held(text: str) -> str:
    """A formula with its own indentation kept."""
    start = len(text) - len(text.lstrip())
    return text[:start] + glued(text[start:])


def _cases(link: str) -> list[str]:
    """A guarded condition as lines, each consequence over its guard."""
    ends = [part.partition(" if ") for part in link.split("; ")]
    return [line for then, sign, guard in ends for line in ((then, f"  if {guard}") if sign else (then,))]


def _beside(lines: list[str], row: Row, width: int) -> list[str]:
    """The lines with the remark beside the last one, or below it."""
    if not row.aside:
        return lines
    last, aside = lines[-1], plain(row.aside)
    if len(last) < ASIDE and ASIDE + len(aside) <= width:
        return [*lines[:-1], f"{last:<{ASIDE}}  {aside}"]
    if len(last) + 3 + len(aside) <= width:
        return [*lines[:-1], f"{last}   {aside}"]
    indent = " " * (gutter(width) + 2 * INDENT + 2)
    return [*lines, *(indent + line for line in fold(row.aside, width - len(indent)))]


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: frozenset[int] = frozenset(),
    keys: int = 1,
    width: int = 96,
) -> list[str]:
    """Columns under one another. Where they are too wide, the words of the head go over lines, then the columns over
    several tables, each with the first ``keys`` columns; what is still too wide is listed row by row.

    >>> table(("chip", "peak FLOPs/s", "ridge"), [("TPU v5e", "1.97e14", "240.24")], frozenset({2}), 1, 26)
    ['chip     peak      ridge', '         FLOPs/s', 'TPU v5e  1.97e14  240.24']
    """
    wide = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    least = [max(map(len, (*cells, *name.split(" ")))) for name, *cells in zip(head, *rows, strict=True)]
    for widths in (wide, least):
        if sum(widths) + len(GAP) * (len(widths) - 1) <= width:
            return _columns(head, rows, right, widths)
    lines: list[str] = []
    rest = list(range(keys, len(head)))
    while rest:
        group, room = list(range(keys)), width - sum(least[:keys]) - len(GAP) * (keys - 1)
        while rest and room >= least[rest[0]] + len(GAP):
            room -= least[rest[0]] + len(GAP)
            group.append(rest.pop(0))
        if len(group) == keys:
            return _listed(head, rows, keys, width)
        places = frozenset(j for j, i in enumerate(group) if i in right)
        natural = [wide[i] for i in group]
        fits = sum(natural) + len(GAP) * (len(group) - 1) <= width
        widths = natural if fits else [least[i] for i in group]
        cells = [[row[i] for i in group] for row in rows]
        lines += ([""] if lines else []) + _columns([head[i] for i in group], cells, places, widths)
    return lines


def _columns(
    head: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[int], widths: Sequence[int]
) -> list[str]:
    titles = [fold(name, width) for name, width in zip(head, widths, strict=True)]
    heads = [[title[i] if i < len(title) else "" for title in titles] for i in range(max(map(len, titles)))]
    return [
        GAP.join(
            f"{plain(c):>{w}}" if i in right else f"{plain(c):<{w}}"
            for i, (c, w) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in (*(heads if any(head) else ()), *rows)
    ]


def _listed(head: Sequence[str], rows: Sequence[Sequence[str]], keys: int, width: int) -> list[str]:
    """Each row as a list of its cells with their heads."""
    lines: list[str] = []
    for row in rows:
        lines += fold(GAP.join(cell for cell in row[:keys] if cell), width, GAP)
        for name, cell in zip(head[keys:], row[keys:], strict=True):
            lines += [GAP + line for line in fold(f"{name}: {cell}", width - len(GAP), GAP)] if cell else []
    return lines
