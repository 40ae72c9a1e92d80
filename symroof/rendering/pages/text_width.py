"""How broad text is on a terminal, and where a line of it may end.

A terminal is a grid of cells: a Chinese character or a Korean syllable takes two, a combining mark none. Chinese is
written without spaces, so a line may end between two of its characters; Korean is folded at its spaces.
"""

from __future__ import annotations

import re
from functools import cache
from unicodedata import category, east_asian_width

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


def whole(text: str) -> str:
    """The text with its Chinese characters joined, so that no line ends between them.

    >>> pieces(whole("否则不可能")) == [whole("否则不可能")]
    True
    """
    return breaks().sub(JOINER, text) if _is_chinese(text) else text


def plain(text: str) -> str:
    """The text as it is read, without what held it together."""
    return text if text.isascii() else text.replace(NBSP, " ").replace(JOINER, "")


def closed_up(text: str) -> str:
    """Chinese without spaces between its characters and beside full-width punctuation; those at the ends of a line stay.

    >>> closed_up("强度 为 B ， 即 “屋顶线” （ 见 D ）。 于是 B > 240"), closed_up("say “when” so")
    ('强度为 B，即“屋顶线”（见 D）。于是 B > 240', 'say “when” so')
    """
    return spaces_beside().sub("", text) if _is_chinese(text) else text


def _is_chinese(text: str) -> bool:
    return not text.isascii() and re.search(CHINESE, text) is not None
