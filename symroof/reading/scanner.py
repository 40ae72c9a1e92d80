"""Text to tokens, each with its place, so that every error can point at its column.

Synonyms (``≤``, ``\\leq``) become one spelling here and nowhere else. Nothing is ever evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from symroof.errors import ReadingError
from symroof.reading.vocabulary import SYNONYMS

LONGEST_TEXT = 4096
T = TypeVar("T")

# The Greek letters that have a shape, and so a LaTeX name, of their own.
GREEK = "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ"

TOKEN = re.compile(
    r"""
    (?P<space>   [ \t\r\n]+ | \\[,;:!]                                     )
  | (?P<number>  (?: \d[\d_]* (?:\.(?:\d[\d_]*)?)? | \.\d[\d_]* ) (?:[eE][+-]?\d[\d_]*)? )
  | (?P<word>    [A-Za-zGREEK][A-Za-z0-9GREEK]*
                 (?:_[A-Za-z0-9GREEK]+)*                           )
  | (?P<command> \\[A-Za-z]+                                               )
  | (?P<symbol>  <=>|\*\*|=>|<=|>=|<<|>>|->|~~|[-+*/^=~<>(){}\[\],.%@:|_&·•×−≈→≤≥≪≫⇒⇔∞] )
    """.replace("GREEK", GREEK),
    re.VERBOSE | re.ASCII,
)


class Token(NamedTuple):
    """``kind`` is number, word, command, symbol or end; ``spaced`` tells of a space before it."""

    kind: str
    text: str
    start: int
    end: int
    spaced: bool

    @property
    def span(self) -> tuple[int, int]:
        return self.start, self.end


def require_short(source: str) -> None:
    if len(source) > LONGEST_TEXT:
        raise ReadingError(
            f"the text has {len(source)} characters", expected=f"at most {LONGEST_TEXT}", source=source, span=(0, 1)
        )


def scan(source: str) -> tuple[Token, ...]:
    """The tokens of ``source``, closed by an end token.

    >>> [t.text for t in scan("B ≥ 2e3F")]
    ['B', '>=', '2e3', 'F', '']
    """
    require_short(source)
    tokens: list[Token] = []
    position, spaced = 0, False
    while match := TOKEN.match(source, position):
        kind, text = str(match.lastgroup), SYNONYMS.get(match.group(), match.group())
        if kind != "space":
            kind = "word" if text == "oo" else "symbol" if kind == "command" and text != match.group() else kind
            tokens.append(Token(kind, text, match.start(), match.end(), spaced))
        position, spaced = match.end(), kind == "space"
    if position < len(source):
        raise ReadingError(f"unexpected character {source[position]!r}", source=source, span=(position, position + 1))
    return (*tokens, Token("end", "", len(source), len(source), spaced))


class Reader:
    """A position in the tokens of one text. The grammars are subclasses."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = scan(source)
        self.go_to(0)

    def go_to(self, index: int) -> None:
        self.index = index
        self.token = self.tokens[index]

    @property
    def following(self) -> Token:
        return self.tokens[min(self.index + 1, len(self.tokens) - 1)]

    def next(self) -> Token:
        token = self.token
        if token.kind != "end":
            self.index += 1
            self.token = self.tokens[self.index]
        return token

    def at(self, *texts: str) -> bool:
        return self.token.text in texts and self.token.kind != "end"

    def accept(self, *texts: str) -> Token | None:
        return self.next() if self.at(*texts) else None

    def expect(self, text: str, what: str | None = None) -> Token:
        if not self.at(text):
            raise self.error(expected=what or repr(text))
        return self.next()

    def take(self, kind: str, what: str) -> Token:
        """The token under the cursor, which has to be of that kind."""
        if self.token.kind != kind:
            raise self.error(expected=what)
        return self.next()

    def separated(self, read: Callable[[], T], *separators: str) -> tuple[list[T], list[str]]:
        """What stands between separators, and these."""
        parts, between = [read()], []
        while token := self.accept(*separators):
            between.append(token.text)
            parts.append(read())
        return parts, between

    def expect_end(self, what: str = "the end") -> None:
        if self.token.kind != "end":
            raise self.error(expected=what)

    def written(self, first: Token) -> str:
        """The text from a token up to the cursor."""
        return self.source[first.start : self.tokens[self.index - 1].end]

    def error(
        self,
        problem: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
        *,
        token: Token | None = None,
        span: tuple[int, int] | None = None,
    ) -> ReadingError:
        """What is wrong, and what was expected, at ``token``: by default the one under the cursor."""
        token = token or self.token
        if problem is None:
            unexpected = f"unexpected {self.source[token.start : token.end]!r}"
            problem = "the text ends too early" if token.kind == "end" else unexpected
        return ReadingError(problem, source=self.source, span=span or token.span, expected=expected, hint=hint)
