"""Text to tokens, each with its place, so that every error can point at its column.

Synonyms (``≤``, ``\\leq``) become one spelling here and nowhere else. Nothing is ever evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from symroof.errors import ReadingError
from symroof.reading.tokens import Token
from symroof.reading.typography import SUBSCRIPTS, SUPERSCRIPTS, THOUSANDS, Brackets, lowered, raised
from symroof.reading.vocabulary import SYNONYMS

LONGEST_TEXT = 4096
T = TypeVar("T")

# The Greek letters that have a shape, and so a LaTeX name, of their own.
GREEK = "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ"

TOKEN = re.compile(
    r"""
    (?P<space>   [ \t\r\n]+ | \\[,;:!]                                     )
  | (?P<grouped> THOUSANDS                                                 )
  | (?P<number>  (?: \d[\d_]* (?:\.(?:\d[\d_]*)?)? | \.\d[\d_]* ) (?:[eE][+-]?\d[\d_]*)? )
  | (?P<raised>  [SUPERSCRIPTS]+                                           )
  | (?P<word>    [A-Za-zµGREEK][A-Za-z0-9GREEK]*
                 (?:_[A-Za-z0-9GREEK]+)* [SUBSCRIPTS]*                     )
  | (?P<command> \\[A-Za-z]+                                               )
  | (?P<symbol>  <=>|\*\*|=>|==|<=|>=|<<|>>|->|~~|\.\.\.|[-+*/^=~<>(){}\[\],.%@:|_&·•×−≈→≤≥≪≫⇒⇔∞…] )
    """.replace("GREEK", GREEK)
    .replace("THOUSANDS", THOUSANDS)
    .replace("SUPERSCRIPTS", SUPERSCRIPTS)
    .replace("SUBSCRIPTS", SUBSCRIPTS),
    re.VERBOSE | re.ASCII,
)


def require_short(source: str) -> None:
    if len(source) > LONGEST_TEXT:
        raise ReadingError(
            f"the text has {len(source)} characters", expected=f"at most {LONGEST_TEXT}", source=source, span=(0, 1)
        )


def scan(source: str, *, grouping: bool = False) -> tuple[Token, ...]:
    """The tokens of ``source``, closed by an end token. With ``grouping`` commas group the digits of a number by threes,
    but for those between the arguments of a function or in a shape.

    >>> [t.text for t in scan("B ≥ 2e3F")], [t.text for t in scan("x² = 32,768", grouping=True)]
    (['B', '>=', '2e3', 'F', ''], ['x', '^', '2', '=', '32768', ''])
    """
    require_short(source)
    return scan_long(source, grouping=grouping)


def scan_long(source: str, *, grouping: bool = False) -> tuple[Token, ...]:
    """As :func:`scan`, for texts of any length."""
    tokens: list[Token] = []
    brackets = Brackets()
    position, spaced = 0, False
    while match := TOKEN.match(source, position):
        kind, text, end = str(match.lastgroup), SYNONYMS.get(match.group(), match.group()), match.end()
        if kind == "grouped":
            before = tokens[-1].text if tokens else ""
            if not grouping or brackets.separate(before, source[end : end + 1]):
                text = text.partition(",")[0]
                end = position + len(text)
            kind, text = "number", text.replace(",", "")
        if kind == "raised":
            tokens += raised(text, position, end)
        elif kind != "space":
            kind = "word" if text == "oo" else "symbol" if kind == "command" and text != match.group() else kind
            brackets.see(text, tokens[-1] if tokens else None)
            text = lowered(text.replace("µ", "μ")) if kind == "word" else text
            tokens.append(Token(kind, text, position, end, spaced))
        position, spaced = end, kind == "space"
    if position < len(source):
        raise ReadingError(f"unexpected character {source[position]!r}", source=source, span=(position, position + 1))
    return (*tokens, Token("end", "", len(source), len(source), spaced))


class Reader:
    """A position in the tokens of one text. The grammars are subclasses."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = self.scanned()
        self.go_to(0)

    def scanned(self) -> Sequence[Token]:
        """The tokens of the text, in the language of the grammar."""
        return scan(self.source)

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
