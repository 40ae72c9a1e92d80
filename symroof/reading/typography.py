"""How people print numbers, beyond their digits: thousands, raised powers, and remarks in brackets behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from symroof.reading.tokens import Token

SUPERSCRIPTS: Final = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻"
SUBSCRIPTS: Final = "₀₁₂₃₄₅₆₇₈₉"
PLAIN: Final = str.maketrans(SUPERSCRIPTS + SUBSCRIPTS, "0123456789+-0123456789")
# Three digits behind each comma, and no fourth.
THOUSANDS: Final = r"[1-9]\d{0,2}(?:,\d{3})+(?!\d)(?:\.\d+)?"
TYPESET_TIMES: Final = "·•×"


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
    kept: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        behind = [t.text for t in tokens[at + 1 : at + 6]]
        minus = behind[3:4] == ["-"]
        power = behind[3 + minus : 4 + minus]
        joins = token.kind == "number" and behind[:3] == ["*", "10", "^"] and power and power[0].isdigit()
        divided = bool(kept) and (kept[-1].text == "^" or (kept[-1].text == "/" and "." not in token.text))
        if joins and "e" not in token.text.lower() and not divided and source[tokens[at + 1].start] in TYPESET_TIMES:
            last = tokens[at + 4 + minus]
            token = token._replace(text=f"{token.text}e{'-' if minus else ''}{power[0]}", end=last.end)
            at += 4 + minus
        kept.append(token)
        at += 1
    return kept


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
