"""Prose in parts: numbers with what stands behind them, names, operators, relations, brackets, and other words.

Behind a number stand its power of ten in a letter or a word (``8B``, ``4 million``, ``130 亿``), its unit, what it counts
(``32 layers``) and remarks in brackets (``2 (K and V)``); all of that is one part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from symroof.formula import Frozen
from symroof.reading.claims import RELATIONS
from symroof.reading.name_scope import opaque
from symroof.reading.numbers import COUNT_SCALES, measured, unit_named
from symroof.reading.scanner import SUPERSCRIPTS, THOUSANDS, Token, raised
from symroof.reading.sentence_cues import CUES
from symroof.reading.vocabulary import SYNONYMS

CALCULATIONS = CUES["calculations"]
POWERS = {word: int(power) for power, words in CUES["powers"].items() for word in words if "%" not in word}
ABOUT = frozenset(CALCULATIONS["about"])
ENDING = frozenset(CALCULATIONS["ending"])
UNITS: dict[str, str] = CALCULATIONS["units"]
MONEY = frozenset(CALCULATIONS["money"])
PARTICLES = frozenset(CALCULATIONS["particles"])
LETTER_POWERS = {letter: len(str(scale)) - 1 for letter, scale in COUNT_SCALES.items()} | {"%": -2}
# Powers of ten in words of Chinese and Korean, longest first, as the beginning of a word.
SCALED = re.compile("|".join(sorted((word for word in POWERS if not word.isascii()), key=len, reverse=True)))
SIGNS = SYNONYMS | dict.fromkeys(("≃", "≅", "∼", "~=", "=~"), "~") | {"÷": "/", "–": "-", "‑": "-"}
LONGEST_NOUN = 3
WHEN = re.compile(r"일\s*때")  # no days
# What makes a rate of the unit before it.
EACH = r"\s+(?:for )?(?:an?|each|every)\s+"
RATE = re.compile(rf"(?:(?P<close>/|\s+per\s+)|(?P<bar> / )|{EACH})(?P<of>[A-Za-z]+(?!\w)|[가-힣一-鿿]+)", re.ASCII)

TOKEN = re.compile(
    rf"""
    (?P<share>    (?:(?<=%)|(?<=percent))\s+of\s+(?=\d) | [의的]\s*(?=[\d.]+\s*%)             )  # 40 % of 3 GB
  | (?P<space>    \s+                                                                     )
  | (?P<number>   (?: {THOUSANDS} | \d+(?:_\d{{3}})*(?:\.\d+)? | \.\d+ )(?:[eE][+-]?\d+)?  )
  | (?P<raised>   [{SUPERSCRIPTS}]+                                                       )
  | (?P<relation> <=>|=>|->|<=|>=|==|~=|=~|=|≈|≃|≅|∼|~|≤|≥|→|⇒|<|>                         )
  | (?P<operator> \*\*|[-+*/^×·•÷−–]                                                       )
  | (?P<times>    (?<=\d)(?<!(?<!\d)0)x(?=\d)                                              )
  | (?P<word>     [A-Za-zµμ](?:[A-Za-z0-9_]*[A-Za-z0-9])? | [가-힣]+ | [一-鿿]+ | %          )
  | (?P<bracket>  [(\[)\]]                                                                 )
  | (?P<other>    .                                                                        )
    """,
    re.VERBOSE | re.DOTALL,
)


class Part(Frozen):
    """A token of prose: a number with what stands behind it, a name, an operator, a relation, a bracket, or anything else.

    ``tokens`` are those of the grammar; ``known`` tells whether what stands behind a number is of a known kind,
    ``measured_end`` is where it ends with its unit, before the words that say what is counted.
    """

    kind: str
    text: str
    start: int
    end: int
    spaced: bool
    tokens: tuple[Token, ...] = ()
    unit: str = ""
    known: bool = True
    measured_end: int = 0


def parts_of(text: str, known: frozenset[str] = frozenset(), names: bool = True) -> Iterator[Part]:
    """The parts of a text, each number with what stands behind it; a letter that is known is a name there as well."""
    letters, at = {name for name in known if len(name) == 1}, 0
    tokens = [token._replace(kind="name") if token.text in letters else token for token in _tokens(text)]
    while tokens[at].kind != "end":
        if tokens[at].kind == "number" and not _attached(tokens, at):
            part, at = _number(tokens, at)
        else:
            part, at = _other(tokens, at, known, names), at + 1
        yield part


def with_unit_behind(formula: str, behind: str) -> str | None:
    r"""A formula with the power of ten and the unit that the words behind it say; None where they say none.

    >>> with_unit_behind("4 + 6 = 10", " million tokens"), with_unit_behind("5.2 = 5", " GB."), with_unit_behind("2 = 2", " cards")
    ('4 + 6 = 10 \\times 10^{6}', '5.2 = 5\\text{ GB}', None)
    """
    text, words = formula.rstrip(" .,;"), re.sub(r"\A(?:~|\\,)|\\(?=%)", " ", behind)
    number, *units = next(parts_of(f"1 {re.split('[=<>≈]', words)[0]}")).tokens
    power = sum(LETTER_POWERS.get(unit.text, 0) for unit in units) + int(number.text.partition("e")[2] or 0)
    unit = next((unit.text for unit in units if unit.text not in LETTER_POWERS), "")
    if not re.search(r"[\d}]\Z", text) or not (power or unit):
        return None
    counts = power and (not unit or measured(unit)[1] in ("1", "1/1"))
    return text + (rf" \times 10^{{{power}}}" if power else "") + ("" if counts else rf"\text{{ {unit}}}")


def amount_in(text: str) -> tuple[tuple[str, ...], str]:
    """The number with which a text begins, its power of ten in a letter and its unit; and the words behind them.

    >>> amount_in("14 GB/s"), amount_in("130亿 张卡"), amount_in("7B parameters"), amount_in("of 3")
    ((('14', 'GB/s'), ''), (('130e8',), '张卡'), (('7', 'B', 'parameters'), ''), ((), 'of 3'))
    """
    part = next(parts_of(text), None)
    if part is None or part.kind != "number":
        return (), text
    return tuple(token.text for token in part.tokens), text[part.measured_end :].strip()


def _tokens(text: str) -> Iterator[Token]:
    """The tokens of a text, and two that end it; of a word behind a number that begins with a power of ten, that is one of
    its own: 亿字节."""
    numbered = spaced = False
    for match in TOKEN.finditer(text):
        word, start = match.group(), match.start()
        kind = "other" if WHEN.match(text, start) else str(match.lastgroup)
        if kind == "space":
            spaced, numbered = True, numbered and "\n" not in word
            continue
        cuts = [0, len(word)]
        if kind == "word" and numbered and not word.isascii():
            power = SCALED.match(word)
            first = power.end() if power else _unit_length(word)
            first = len(word) if power and word[first:] in PARTICLES - {"당"} else first
            cuts = sorted({0, first, first + (_unit_length(word[first:]) if power else 0), len(word)})
        yield from (Token(kind, word[a:b], start + a, start + b, spaced and not a) for a, b in pairwise(cuts))
        numbered, spaced = kind == "number", False
    yield from (Token("end", "", len(text), len(text), spaced),) * 2


def _unit_length(word: str) -> int:
    """How much of a word of Chinese or Korean is a unit, with nothing behind it but what hangs on words."""
    lengths = (n for n in range(len(word), 0, -1) if n == len(word) or word[n:] in PARTICLES)
    return next((n for n in lengths if unit_named(word[:n]) is not None), 0)


def _attached(tokens: Sequence[Token], at: int) -> bool:
    """Whether a number is a part of a word before it: a version, a date, an amount of money."""
    before = None if tokens[at].spaced or not at else tokens[at - 1]
    return bool(before and before.kind in ("word", "other", "number") and before.text not in "(,;:|\0。，；：、（")


def _number(tokens: Sequence[Token], at: int) -> tuple[Part, int]:
    """A number with its power of ten, its unit, what it counts and what is remarked on it; and the place behind."""
    first, word, following = tokens[at : at + 3]
    digits, end, unit, at = first.text.replace(",", "").replace("_", ""), first.end, "", at + 1
    units: list[Token] = []
    if word.kind == "word":
        power = POWERS.get(word.text.casefold())
        counted = following.kind == "word" and following.text.islower() and following.text not in ENDING
        if word.text in COUNT_SCALES and (counted if word.spaced else not _slash(tokens, at + 1)):
            units.append(word._replace(kind="unit"))
            at, end = at + 1, word.end
        elif power is not None and "e" not in digits.lower():
            digits, at, end = _more(tokens, f"{digits}e{power}", power, at + 1, word.end)
        word = tokens[at]
    if word.kind == "word" and (named := _unit(tokens, at)) is not None:
        unit, at = named
        end = tokens[at - 1].end
        units.append(Token("unit", unit, word.start, end, word.spaced))
    measured_end = end
    at, end, is_known = _nouns(tokens, at, end, bool(unit))
    at, end = _remark(tokens, at, end)
    number = (first._replace(text=digits), *units)
    return Part("number", digits, first.start, end, first.spaced, number, unit, is_known, measured_end), at


def _more(tokens: Sequence[Token], digits: str, power: int, at: int, end: int) -> tuple[str, int, int]:
    """A number in words of Chinese and Korean goes on with smaller powers: 1억 8천만 is 18e7."""
    value = Fraction(digits)
    while tokens[at].kind == "number" and re.fullmatch(r"\d{1,4}", tokens[at].text):
        word = tokens[at + 1]
        if word.text.isascii() or (smaller := POWERS.get(word.text, power)) >= power:
            break
        value += Fraction(tokens[at].text) * 10**smaller
        power, at, end = smaller, at + 2, word.end
        digits = f"{int(value / 10**smaller)}e{smaller}"
    return digits, at, end


def _slash(tokens: Sequence[Token], at: int) -> bool:
    """Whether a bar stands here close between two words."""
    bar, word = tokens[at : at + 2]
    return bar.text == "/" and word.kind == "word" and not (bar.spaced or word.spaced)


def _unit(tokens: Sequence[Token], at: int) -> tuple[str, int] | None:
    """The unit that begins here, and the place behind it: GB, GB/s, tokens per second."""
    word, following = tokens[at : at + 2]
    if word.text == "%":
        return "%", at + 1
    texts = [" " * t.spaced + (t.text if t.kind != "name" or t.text == "s" else "") for t in tokens[at + 1 : at + 5]]
    rate = RATE.match("".join(texts))
    unit = None if rate is None else unit_named(f"{word.text}/{rate['of']}")
    base = measured(unit)[1].split("/") if unit else []
    fits = rate and (rate["close"] or ("1" in base[1:] if rate["bar"] else "1" not in base))  # bytes / token
    if rate and unit and fits:
        return unit, at + 2 + next(n for n, _ in enumerate(texts) if len("".join(texts[: n + 1])) >= rate.end())
    named = UNITS.get(word.text) or unit_named(word.text)
    if word.text == "B" and word.spaced:
        named = "bytes" if following.kind in ("operator", "relation") else None
    return None if named is None else (named, at + 1)


def _nouns(tokens: Sequence[Token], at: int, end: int, measured: bool) -> tuple[int, int, bool]:
    """The place behind the words that say what is counted, and whether they are words of the language. Behind a unit they
    belong to the calculation only where it goes on behind them."""
    is_known = True
    for count in range(LONGEST_NOUN):
        at += (count > 0 or measured) and _slash(tokens, at)
        word, behind = tokens[at : at + 2]
        if word.kind != "word" or word.text in ENDING or word.text.casefold() in POWERS:
            break
        if word.text in ("x", "X"):
            if behind.kind in ("number", "bracket") or (word.spaced and behind.kind == "word"):
                break
            if not word.spaced:  # 5.2x for free
                return at + 1, word.end, is_known
        elif not (word.text.islower() and len(word.text) > 1) and word.text[0].isascii() and word.text not in MONEY:
            is_known = False
        at, end = at + 1, word.end
    return at, end, is_known


def _remark(tokens: Sequence[Token], at: int, end: int) -> tuple[int, int]:
    """The place behind a remark in brackets, in which nothing is calculated."""
    if tokens[at].text != "(":
        return at, end
    for place, token in enumerate(tokens[at + 1 : at + 13], at + 1):
        if token.text == ")":
            return (place + 1, token.end) if place > at + 1 else (at, end)
        if token.kind in ("number", "relation", "raised") or (token.kind == "operator" and token.text not in "/-"):
            break
    return at, end


def _other(tokens: Sequence[Token], at: int, known: frozenset[str], names: bool) -> Part:
    (kind, text, start, end, spaced), behind = tokens[at : at + 2]
    sign, before = SIGNS.get(text, text), tokens[at - 1].kind if at and not spaced else ""

    def part(kind: str, written: str = "") -> Part:
        """The part, with what the grammar reads of it."""
        read = (Token("word" if kind == "name" else "symbol", written, start, end, spaced),) if written else ()
        return Part(kind, written if written and kind != "name" else text, start, end, spaced, read)

    if kind == "name" or text in known:
        return part("name", text)
    between = text in ("x", "X") and (spaced or before == "number") and behind.kind in ("number", "word", "bracket")
    if kind in ("times", "share") or between:
        return part("operator", "*")
    if kind == "word" and text in ABOUT:
        return part("about")
    if kind == "word" and (names or "_" in text or (len(text) == 1 and text.isascii() and text not in "aAI")):
        return part("name", text if len(text) == 1 or (text[1] == "_" and "_" not in text[2:]) else opaque(text))
    if kind == "relation":
        touches = behind.kind == "number" and not behind.spaced
        if text == "~" and touches and before in ("", "relation"):
            return part("about")
        return part("relation", sign) if sign in RELATIONS else part("other")
    if kind == "operator":
        hyphen = text in "-–" and behind.kind == "word" and not (spaced or behind.spaced)
        return part("other") if hyphen else part("operator", sign)
    if kind == "raised":
        return Part("operator", "^", start, end, spaced, tuple(raised(text, start, end)), "raised")
    return part("bracket", text) if kind == "bracket" else part("other")
