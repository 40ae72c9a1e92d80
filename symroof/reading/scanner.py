"""Text to tokens, each with its place, so that every error can point at its column.

Synonyms (``≤``, ``\\leq``) become one spelling here and nowhere else. Nothing is ever evaluated.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple, TypeVar

from symroof.errors import ReadingError, SymroofError
from symroof.reading.vocabulary import SYNONYMS

SUPERSCRIPTS: Final = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻"
SUBSCRIPTS: Final = "₀₁₂₃₄₅₆₇₈₉"
PLAIN: Final = str.maketrans(SUPERSCRIPTS + SUBSCRIPTS, "0123456789+-0123456789")
# Three digits behind each comma, and no fourth.
THOUSANDS: Final = r"[1-9]\d{0,2}(?:,\d{3})+(?!\d)(?:\.\d+)?"
TYPESET_TIMES: Final = "·•×"
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
OPENINGS, CLOSINGS = ("(", "[", "{", "cases{", "\\lceil", "\\lfloor"), (")", "]", "}", "}cases", "\\rceil", "\\rfloor")


class Brackets:
    """The brackets that are open: in those of a function, a list or a shape a comma separates, and groups no digits."""

    def __init__(self) -> None:
        self.separating: list[bool] = []

    def see(self, sign: str, before: Token | None) -> None:
        if sign in ("(", "["):
            self.separating.append(sign != "(" or (before is not None and before.kind == "word"))
        elif sign in (")", "]") and self.separating:
            self.separating.pop()

    def separate(self, before: str, behind: str) -> bool:
        """Whether a comma separates here, between a sign and a character: (1,024) alone is a pair."""
        return bool(self.separating) and (self.separating[-1] or (before == "(" and behind == ")"))


def raised(text: str, start: int, end: int) -> list[Token]:
    """The tokens of raised digits.

    >>> [token.text for token in raised("⁻¹²", 0, 3)]
    ['^', '-', '12']
    """
    digits = text.translate(PLAIN)
    sign = [Token("symbol", "-", start, start + 1, False)] if digits[0] == "-" else []
    return [Token("symbol", "^", start, start, False), *sign, Token("number", digits.lstrip("+-"), start, end, False)]


def lowered(word: str) -> str:
    """A word with its lowered digits as an index.

    >>> lowered("x₁₂"), lowered("x")
    ('x_12', 'x')
    """
    letters = word.rstrip(SUBSCRIPTS)
    return word if letters == word else f"{letters}_{word[len(letters) :].translate(PLAIN)}"


def as_printed(tokens: Sequence[Token], source: str, *, remarks: bool) -> list[Token]:
    """The tokens of a line as people print it: its powers of ten, ``= ~``, and with ``remarks`` those behind numbers."""
    about = [t for t, after in zip(tokens, (*tokens[1:], None), strict=True) if not _only_about(t, after)]
    joined = joined_powers(about, source) if any(sign in source for sign in TYPESET_TIMES) else about
    return without_remarks(joined) if remarks else joined


def _only_about(token: Token, after: Token | None) -> bool:
    """An equals sign before ``~``: = ~134 is about 134."""
    return token.text == "=" and after is not None and after.text == "~"


def joined_powers(tokens: Sequence[Token], source: str) -> list[Token]:
    """Numbers with the power of ten that is typeset behind them: 1.97·10^14 is one number, 1.97*10^14 is a product.

    >>> from symroof.reading.scanner import scan
    >>> [[t.text for t in joined_powers(scan(text), text)] for text in ("1.97·10⁻⁹", "2*10^9")]
    [['1.97e-9', ''], ['2', '*', '10', '^', '9', '']]
    """
    left: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        behind = [t.text for t in tokens[at + 1 : at + 6]]
        minus = behind[3:4] == ["-"]
        power = behind[3 + minus : 4 + minus]
        joins = token.kind == "number" and behind[:3] == ["*", "10", "^"] and power and power[0].isdigit()
        divided = bool(left) and (left[-1].text == "^" or (left[-1].text == "/" and "." not in token.text))
        if joins and "e" not in token.text.lower() and not divided and source[tokens[at + 1].start] in TYPESET_TIMES:
            last = tokens[at + 4 + minus]
            token = token._replace(text=f"{token.text}e{'-' if minus else ''}{power[0]}", end=last.end)
            at += 4 + minus
        left.append(token)
        at += 1
    return left


def without_remarks(tokens: Sequence[Token]) -> list[Token]:
    """Tokens without what is remarked in brackets behind numbers: 8192 (T) × 40 (K). A word that stands elsewhere as well
    is no remark: 2 (N) + N.

    >>> from symroof.reading.scanner import scan
    >>> [[t.text for t in without_remarks(scan(text))] for text in ("8192 (T) * 40 (K)", "2 (N) + N")]
    [['8192', '*', '40', ''], ['2', '(', 'N', ')', '+', 'N', '']]
    """
    if not any(token.text == "(" for token in tokens):
        return list(tokens)
    quads = zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False)
    starts = [
        at + 1
        for at, (number, opening, word, closing) in enumerate(quads)
        if (number.kind, opening.text, word.kind, closing.text) == ("number", "(", "word", ")") and opening.spaced
    ]
    written = Counter(token.text for token in tokens if token.kind == "word")
    written.subtract(tokens[start + 1].text for start in starts)
    left_out = {at for start in starts if not written[tokens[start + 1].text] for at in range(start, start + 3)}
    return [token for at, token in enumerate(tokens) if at not in left_out]


def require_short(source: str) -> None:
    if len(source) > LONGEST_TEXT:
        problem = f"the text has {len(source)} characters"
        raise ReadingError(problem, expected=f"at most {LONGEST_TEXT}", source=source, span=(0, 1))


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

    @contextmanager
    def faults_at(self, start: int, end: int) -> Iterator[None]:
        """Says at its place what is wrong with a part of the text that is read inside of the block."""
        try:
            yield
        except SymroofError as error:
            first, last = error.span or (0, end - start)
            place = (start + first, start + last)
            raise self.error(error.problem, error.expected, error.hint, span=place) from None


class Token(NamedTuple):
    """``kind`` is number, word, unit, command, symbol, row, end, or "unread", which says in its text what is wrong with it;
    ``spaced`` tells of a space before it."""

    kind: str
    text: str
    start: int
    end: int
    spaced: bool

    @property
    def span(self) -> tuple[int, int]:
        return self.start, self.end
