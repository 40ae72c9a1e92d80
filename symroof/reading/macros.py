r"""Macros of a document: ``\newcommand``, ``\def``, ``\DeclareMathOperator``, put in before a formula is read.

Only what a formula can use is understood: a body, and at most nine arguments in braces, the first of which may have a
default. Expansion is bounded in depth and in length; what is expanded keeps the places of its source.

Names are read as they are typeset: ``T_\text{FSDP comms}`` is the name T_FSDP_comms; ``T_\text{comms}(X)`` and
``\text{batch size}`` are no names of the grammar, and opaque where they are read at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from symroof.errors import ReadingError
from symroof.reading.claims import CONNECTIVES, RELATIONS
from symroof.reading.scanner import Token
from symroof.reading.vocabulary import WORDS

LONGEST_BODY = 1000
LONGEST_EXPANSION = 16_384
DEEPEST = 16

DEFINITION = re.compile(
    r"""
    \\(?:(?:re|provide)?newcommand|(?P<operator>DeclareMathOperator))\*?\s*
      (?:\{\s*\\(?P<braced>[A-Za-z]+)\s*\}|\\(?P<name>[A-Za-z]+))\s*
      (?:\[(?P<count>[0-9])\]\s*(?:\[(?P<default>[^][{}\n]{0,200})\]\s*)?)? (?=\{)
  | \\def\s*\\(?P<plain>[A-Za-z]+)\s*(?P<parameters>(?:\#[1-9]){0,9})\s* (?=\{)
    """,
    re.VERBOSE,
)
COMMAND = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL)
ARGUMENT = re.compile(r"\s*(?:(?=\{)|(\\[A-Za-z]+|[^\s\\{}]))")
BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
PARAMETER = re.compile(r"#([1-9])")
OPTION = re.compile(r"\s*\[([^][{}]{0,200})\]")
SIGNS = ("+", "-", "*", "/")
TEXTS = "|".join(WORDS["latex"]["texts"])
INDEX = re.compile(
    rf"""
    \s*_\s*(?: \{{ (?P<group> (?: [^{{}}\\$] | \\(?:{TEXTS})\s*\{{[^{{}}\\$]*\}} | \\[ ,;:!_&%] | \\(?:max|min)\b )* ) \}}
             | \\(?:{TEXTS})\s*\{{ (?P<words> [^{{}}\\$]* ) \}}
             | (?P<one> [A-Za-z0-9] )                                                                       )
    """,
    re.VERBOSE,
)
INNER = re.compile(rf"\\(?:{TEXTS})\s*\{{([^{{}}]*)\}}|\\([ ,;:!])|\\(\w+|.)")
BETWEEN = re.compile(r"[\s,/&]+|(?<=[A-Za-z]{2})-(?=\w)")
SUFFIX = re.compile(r"_*[A-Za-z0-9][A-Za-z0-9_]*")
# Sizes and words in brackets behind a name that no product has: the name is that of a function.
ARGUMENTS = re.compile(
    rf"""(?:\\,|\\!|~)?(?:\\left)?\(
         (?P<inside> \s*(?:\d*[A-Za-z](?:_(?:\w|\{{\w*\}}))?(?:/\d+)?|\d+|\\infty|\\(?:{TEXTS})\s*\{{[^{{}}\\$]*\}})\s*(?:,\s*[A-Za-z]\s*)* )
         (?:\\right)?\)""",
    re.VERBOSE,
)
# One name in brackets, as a tensor of a program is typeset.
TENSOR = re.compile(
    rf"""(?:\\,|\\!|~|\s)*(?:\\left)?\(\s*
         (?P<inside> (?: \\(?:{TEXTS})\s*\{{[\w\s\\]*\}} | [A-Za-z]\w*? ) (?:\s*_\s*(?: \w | \{{\s*(?:\w+|\\(?:{TEXTS})\s*\{{\w+\}})\s*\}} | \\(?:{TEXTS})\s*\{{\w+\}} ))? )
         \s*(?:\\right)?\)""",
    re.VERBOSE | re.ASCII,
)
LOOK = re.compile(rf"\\(?:{TEXTS})\s*|[\s{{}}\\]")
LETTERS_ALONE = re.compile(r"[A-Za-z](?:, [A-Za-z])*")
EQUALS = re.compile(r"[\s&]*(?:=|\\approx|\\simeq)")


class Macro(NamedTuple):
    """What stands for a command: ``#1`` in the ``body`` is its first argument, which may have a ``default``."""

    body: str
    arguments: int = 0
    default: str | None = None


class Placed(NamedTuple):
    """A text, and for each of its characters the span of the source that it comes from."""

    text: str
    places: list[tuple[int, int]]

    def part(self, start: int, end: int | None = None) -> Placed:
        return Placed(self.text[start:end], self.places[start:end])


class Definition(NamedTuple):
    """A macro, its name, and where its definition stands."""

    name: str
    macro: Macro
    start: int
    end: int


def definitions(text: str) -> list[Definition]:
    r"""The definitions of a text; one that is not closed, or too long, is none.

    >>> [(d.name, d.macro) for d in definitions(r"\newcommand{\bw}[1]{W_{#1}} \def\B{8}")]
    [('bw', Macro(body='W_{#1}', arguments=1, default=None)), ('B', Macro(body='8', arguments=0, default=None))]
    """
    defined: list[Definition] = []
    for match in DEFINITION.finditer(text):
        end = closing_brace(text, match.end())
        if end is None or (defined and match.start() < defined[-1].end):
            continue
        body = text[match.end() + 1 : end - 1]
        body = rf"\operatorname{{{body}}}" if match["operator"] else body
        arguments = int(match["count"] or 0) or len(match["parameters"] or "") // 2
        name = match["braced"] or match["name"] or match["plain"]
        defined.append(Definition(name, Macro(body, arguments, match["default"]), match.start(), end))
    return defined


def closing_brace(text: str, start: int) -> int | None:
    """The place behind the brace that closes the one at ``start``, where it stands near enough."""
    depth = 0
    for match in BRACE.finditer(text, start, start + LONGEST_BODY):
        depth += (match.group() == "{") - (match.group() == "}")
        if not depth:
            return match.end()
    return None


def expanded(source: str, macros: Mapping[str, Macro]) -> Placed:
    r"""The text with its macros put in, and their definitions left out.

    >>> expanded(r"\bw{2} = 3", {"bw": Macro("W_{#1}", 1)}).text
    'W_{2} = 3'
    """
    now = Placed(source, [(i, i + 1) for i in range(len(source))])
    for definition in reversed(definitions(source)):
        now = _joined(now.part(0, definition.start), now.part(definition.end))
    for _ in range(DEEPEST):
        after = _once(now, macros, source)
        if after is None:
            return now
        now = after
    raise ReadingError("the macros are nested too deeply", expected=f"at most {DEEPEST} levels")


def _once(now: Placed, macros: Mapping[str, Macro], source: str) -> Placed | None:
    """Every macro of the text replaced by its body; None where there is none."""
    pieces: list[Placed] = []
    begin, length = 0, len(now.text)
    for match in COMMAND.finditer(now.text):
        macro = macros.get(match[1])
        if macro is None or match.start() < begin:
            continue
        arguments, end = _arguments(now, macro, match.end(), source)
        call = now.places[match.start()][0], now.places[end - 1][1]
        pieces.append(now.part(begin, match.start()))
        for index, piece in enumerate(PARAMETER.split(macro.body)):
            put_in = index % 2 and int(piece) <= len(arguments)
            pieces.append(arguments[int(piece) - 1] if put_in else Placed(piece, [call] * len(piece)))
            length += len(pieces[-1].text)
        begin = end
        if length > LONGEST_EXPANSION:
            raise ReadingError(f"with its macros put in, the formula has more than {LONGEST_EXPANSION} characters")
    return _joined(*pieces, now.part(begin)) if pieces else None


def _joined(*pieces: Placed) -> Placed:
    return Placed("".join(piece.text for piece in pieces), [place for piece in pieces for place in piece.places])


def _arguments(now: Placed, macro: Macro, position: int, source: str) -> tuple[list[Placed], int]:
    """The arguments that stand here, and where they end."""
    placed: list[Placed] = []
    if macro.default is not None:
        option = OPTION.match(now.text, position)
        given = Placed(macro.default, [now.places[position - 1]] * len(macro.default))
        placed.append(now.part(*option.span(1)) if option else given)
        position = option.end() if option else position
    while len(placed) < macro.arguments:
        match = ARGUMENT.match(now.text, position)
        end = None if match is None else match.end() if match[1] else closing_brace(now.text, match.end())
        if match is None or end is None:
            span = (now.places[position - 1][1],) * 2
            raise ReadingError("the macro lacks an argument", source=source, span=span, expected="{…}")
        placed.append(now.part(match.start(1), end) if match[1] else now.part(match.end() + 1, end - 1))
        position = end
    return placed, position


def joined(tokens: tuple[Token, ...]) -> list[Token]:
    """Rows that begin with a relation go on with the chain, and those that begin with a sign, or with what cannot be read,
    with the side; marks at the end are punctuation."""
    left: list[Token] = []
    for at, token in enumerate(tokens):
        after = tokens[min(at + 1, len(tokens) - 1)]
        joins = not left or after.kind == "end" or {after.text, left[-1].text} & {*RELATIONS, *CONNECTIVES, *SIGNS}
        if token.kind != "row" or not (joins or after.kind == "unread"):
            left.append(token)
        elif after.text in SIGNS and _relates(tokens[at + 1 :]):
            left.append(token._replace(kind="unread", text="a row that begins with a sign has two readings"))
    while len(left) > 1 and left[-2].text in (".", ",", ";", ":") and left[-2].kind == "symbol":
        del left[-2]
    return left


def _relates(tokens: Sequence[Token]) -> bool:
    """Whether a relation stands in the row that begins here."""
    row = takewhile(lambda token: token.kind not in ("row", "end"), tokens)
    return any(token.text in RELATIONS for token in row)


class Index(NamedTuple):
    """An index as a part of a name, as its author wrote it, and the place behind it."""

    name: str
    written: str
    end: int

    @property
    def is_name(self) -> bool:
        return SUFFIX.fullmatch(self.name) is not None


class Decoration(NamedTuple):
    """Marks behind a letter, and the place behind them; with some the two are one name, with others no name of the grammar."""

    name: str
    end: int
    is_name: bool


def index_at(source: str, position: int) -> Index | None:
    r"""The index that stands here.

    >>> index_at(r"T_\text{FSDP comms}", 1), index_at("x_{i+1}", 1).is_name
    (Index(name='FSDP_comms', written='FSDP comms', end=19), False)
    """
    match = INDEX.match(source, position)
    if match is None:
        return None
    written = next(part for part in match.groups() if part is not None).strip()
    if "\\" in written:
        written = INNER.sub(lambda inner: inner[1] or (" " if inner[2] else inner[3] or ""), written).strip()
    return Index(BETWEEN.sub("_", written), written, match.end()) if written else None


# Marks of a name: x', x^*, x^{(k)}.
DECORATION = re.compile(
    r"""(?P<primes> '+ | \s*\^\s*(?: \{\s*(?:\\prime\s*)+\} | \\prime(?![A-Za-z]) ) )
      | \s*\^\s*(?P<star> \{\s*(?:\*|\\ast\b|\\star\b)\s*\} | \\(?:ast|star)(?![A-Za-z]) | \*(?=\s*(?:$|[=<>,&)}]|\\)) )
      | \s*\^\s*\{\s*(?P<script> \([^{}()]*\) | \[[^{}\[\]]*\] )\s*\}""",
    re.VERBOSE,
)


def decorated(source: str, position: int) -> Decoration | None:
    r"""The marks of a name that stand here, with the index before or behind them: a prime, a star, a number in brackets.

    >>> [decorated(text, 1).name for text in ("T'_1", "T_1'", "X^*", "x^{(k)}_i")]
    ["_1'", "_1'", '_star', '^(k)_i']
    """
    before = index_at(source, position)
    match = DECORATION.match(source, before.end if before else position)
    if match is None:
        return None
    index = before or index_at(source, match.end())
    end = index.end if index is not None and before is None else match.end()
    suffix = "" if index is None else f"_{index.name}"
    marked = (index is None or index.is_name) and not match["script"]
    primes = "'" * (len(re.findall(r"'|\\prime", match["primes"])) if match["primes"] else 0)
    script = "^" + "".join(match["script"].split()) if match["script"] else ""
    name = f"{script}{suffix}{'_star' if match['star'] else ''}{primes}"
    return Decoration(name, end, marked)


def arguments_at(source: str, position: int) -> tuple[str, int] | None:
    r"""The arguments of a function that stand here, and the place behind them.

    >>> arguments_at(r"(X, Y) = 3", 0), arguments_at(r"(\text{matmul})", 0), arguments_at("(X + 1)", 0)
    (('X, Y', 6), ('matmul', 15), None)
    """
    match = ARGUMENTS.match(source, position)
    return match and (INNER.sub(lambda inner: inner[1] or "", match["inside"]).strip(), match.end())


def tensor_at(source: str, position: int) -> tuple[tuple[str, ...], int] | None:
    r"""The names that a tensor in brackets may have which stands here, and the place behind it.

    >>> tensor_at(r"(W_1) = 3", 0), tensor_at(r"(\text{h})", 0), tensor_at("(X + 1)", 0)
    ((('W_1', 'W1'), 5), (('h', 'h'), 10), None)
    """
    match = TENSOR.match(source, position)
    if match is None:
        return None
    name = LOOK.sub("", match["inside"])
    return (name, name.replace("_", "")), match.end()
