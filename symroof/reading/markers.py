r"""Markers in documents: blocks and values that are written by a program, and what stands between their ends.

    <!-- symroof derive …TOML… -->          .. symroof derive            % symroof derive
    what is replaced                           operation = "…"           % operation = "…"
    <!-- symroof end 7f3a9c21 -->           .. symroof end 7f3a9c21      % symroof end 7f3a9c21

    from <!-- symroof = mm.ridge; 3 digits -->240<!-- / --> on           from % symroof = mm.ridge; 3 digits
                                                                         240% /
A plain comment ``<!-- symroof … -->`` is context for what follows. Markers in code are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from symroof.errors import ReadingError, require_one_of
from symroof.formula import Frozen

# Words of plain comments that are no verbs.
SAID = ("ignore", "follows", "forget", "input", "weight", "cache", "where", "mesh")
VERBS = ("derive", "regimes", "compare", "plot", "page", "verify")
# What a document with blocks or values has in it.
BLOCKS = re.compile(rf"symroof\s*=|symroof\s+(?:{'|'.join(VERBS)}|end)\b")


# A sentence does not go on across it.
BLANK_LINE = re.compile(r"\n[ \t\r]*\n")


class Span(NamedTuple):
    start: int
    end: int


class Marker(Frozen):
    """A comment of a document: ``verb`` is one of VERBS, ``=`` for a value, empty for context; ``body`` is what it says.

    ``inside`` is what stands between its ends, and is replaced; it is empty where there is no end yet. ``digest`` is
    what the end says of it. ``prefix`` stands before each line of a block.
    """

    verb: str
    body: str
    line: int
    span: Span
    inside: Span
    prefix: str = ""
    digest: str | None = None
    closed: bool = False


class Syntax(Frozen):
    """How a format writes a comment: what finds one, and what an end looks like."""

    comment: re.Pattern[str]
    end: str
    value_end: str | None = None

    def closing(self, digest: str) -> str:
        return self.end.replace("@", digest)


# What stands between the texts of two cells of a notebook; no comment goes on across it.
NEXT_CELL = "\0"
INSIDE, CLOSED = f"[^{NEXT_CELL}]*?", rf"(?:-->|{NEXT_CELL}|\Z)"
MARKDOWN = Syntax(
    re.compile(
        rf"^(?P<prefix>(?:[ \t>]|(?:[-*+]|\d+[.)])[ \t])*)<!--(?P<body>{INSIDE}){CLOSED}|<!--(?P<within>{INSIDE}){CLOSED}",
        re.MULTILINE,
    ),
    "<!-- symroof end @ -->",
    "<!-- / -->",
)
RST = Syntax(
    re.compile(
        r"^(?P<prefix>[ \t]*)\.\.(?P<body>[ \t]+symroof\b[^\n]*(?:\n(?P=prefix)[ \t]+\S[^\n]*|\n[ \t]*(?=\n(?P=prefix)[ \t]+\S))*)",
        re.MULTILINE,
    ),
    ".. symroof end @",
)
TEX = Syntax(
    re.compile(
        r"^(?P<prefix>[ \t]*)%(?P<body>[ \t]*symroof(?!:)\b[^\n]*(?:\n[ \t]*%(?![ \t]*(?:symroof\b|/))[^\n]*)*)|(?<!\\)%(?P<within>[ \t]*(?:symroof[ \t]*=[^\n]*|/[ \t]*))(?=\n|\Z)",
        re.MULTILINE,
    ),
    "% symroof end @",
    "% /",
)
SYNTAXES: Mapping[str, Syntax] = {"markdown": MARKDOWN, "rst": RST, "latex": TEX}


def read_markers(text: str, visible: str, syntax: Syntax, name: str) -> tuple[Marker, ...]:
    """The markers of a text in their order; ``visible`` is the text with its code blanked out.

    Raises :class:`ReadingError` that tells each of those that cannot be read, or has no end.

    >>> text = "From <!-- symroof = mm.ridge -->240<!-- / --> rows on."
    >>> [(m.verb, m.body, text[slice(*m.inside)]) for m in read_markers(text, text, MARKDOWN, "text")]
    [('=', 'mm.ridge', '240')]
    """
    faults: list[ReadingError] = []
    markers = list(_comments(text, visible, syntax, name, faults))
    paired = tuple(_paired(markers, text, syntax, name, faults)) if not faults else ()
    if faults:
        raise ReadingError("\n".join(map(str, faults))) if len(faults) > 1 else faults[0]
    return paired


def blanked_markers(text: str, visible: str, syntax: Syntax, name: str, blank: str = " ") -> str:
    """The text with blocks and values blanked out: what a program writes is not what an author claims. A block that none
    answers is blanked out as well."""
    characters = list(text)
    if "symroof" in text:
        for marker in read_markers(text, visible, syntax, name):
            places = range(*marker.span) if marker.verb else ()
            for place in places:
                characters[place] = "\n" if text[place] == "\n" else blank
    return "".join(characters)


def require_verb(marker: Marker) -> None:
    """Raises :class:`ReadingError` where a block asks for what none answers."""
    if marker.verb not in ("", "="):
        require_one_of(marker.verb, VERBS, f"a block cannot {marker.verb!r}")


def _comments(text: str, visible: str, syntax: Syntax, name: str, faults: list[ReadingError]) -> Iterator[Marker]:
    """Comments that are the program's, without their ends: the verb of one that ends something is ``end`` or ``/``. What
    is wrong with one is added to the ``faults``."""
    line, counted = 1, 0
    for match in syntax.comment.finditer(visible):
        prefix = match["prefix"]
        alone = prefix is not None
        written = text[slice(*match.span("body" if alone else "within"))].replace("\r\n", "\n")
        quoted = alone and (prefix or syntax is TEX)
        inner = re.sub(r"^[ \t>%]*", "", written, flags=re.MULTILINE) if quoted else written
        words = inner.strip()
        start = match.start() + len(prefix or "")
        prefix = re.sub(r"[^\s>]", " ", prefix or "")  # the mark of a list stands before its first line alone
        line, counted = line + text.count("\n", counted, start), start
        whole = Span(start, match.start() + len(match.group().rstrip()))
        behind_it = Span(whole.end, whole.end)
        if words == "/" and syntax.value_end is not None:
            yield Marker("/", "", line, whole, whole)
        if not re.match(r"symroof(?![^\W_])", words):
            continue
        rest = words[len("symroof") :]
        first, _, behind = rest.strip().partition("\n")
        verb, _, more = first.strip().partition(" ")
        written_by_it = verb in (*VERBS, "end") or rest.lstrip().startswith("=")
        if "<!--" in words or (written_by_it and syntax is MARKDOWN and not match.group().endswith("-->")):
            faults.append(ReadingError(f"{name}:{line}: the comment is not closed", expected="-->"))
        elif rest.lstrip().startswith("="):
            if alone and syntax is MARKDOWN:
                wrong = f"{name}:{line}: a value begins a line, which would be taken for HTML"
                faults.append(ReadingError(wrong, expected="words before it in its line"))
            yield Marker("=", rest.lstrip()[1:].strip(), line, whole, behind_it)
        elif verb == "end" and "=" not in first:
            yield Marker("end", more.strip(), line, whole, whole, prefix)
        elif re.fullmatch(r"[a-z]+", verb) and verb not in SAID and not more.startswith("="):
            body = f"{more}\n{behind}".strip()
            yield Marker(verb, body, line, whole, behind_it, prefix)
        else:
            yield Marker("", rest.lstrip(" :\t"), line, whole, behind_it, prefix)


def _paired(marks: list[Marker], text: str, syntax: Syntax, name: str, faults: list[ReadingError]) -> Iterator[Marker]:
    """Openings with their ends. An opening before an end means that the one before it has none yet."""
    for i, marker in enumerate(marks):
        following = marks[i + 1] if i + 1 < len(marks) else None
        if marker.verb in ("end", "/"):
            opened = marks[i - 1].verb if i else ""
            if opened in ("", "end", "/") or (marker.verb == "/") != (opened == "="):
                faults.append(ReadingError(f"{name}:{marker.line}: an end without a beginning"))
            continue
        if marker.verb == "=":
            if syntax.value_end is None:
                wrong = f"{name}:{marker.line}: such a document has no values, but :symroof:`…` with Sphinx"
                faults.append(ReadingError(wrong))
                continue
            start = marker.inside.start if syntax is not TEX else text.find("\n", marker.inside.start) + 1
            if following is None or following.verb != "/" or BLANK_LINE.search(text[start : following.span.start]):
                wrong = f"{name}:{marker.line}: the value is not closed"
                faults.append(ReadingError(wrong, expected=syntax.value_end))
            else:
                yield _closed(marker, start, following)
        elif marker.verb and following is not None and following.verb == "end":
            yield _closed(marker, marker.inside.start, following)
        else:
            yield marker


def _closed(marker: Marker, start: int, end: Marker) -> Marker:
    before = end.span.start - len(end.prefix)
    span, inside = Span(marker.span.start, end.span.end), Span(start, before)
    return replace(marker, span=span, inside=inside, digest=end.body, closed=True)
