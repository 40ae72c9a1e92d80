"""What is heard last when set text is read aloud: particles of Korean agree with it."""

from __future__ import annotations

import re
import unicodedata

# What is not heard, and what ends in a way of its own.
SILENT = re.compile(r"\\(?:text|mathrm|texttt|left|right)\b|[$`*]+$")
CLOSING = " )]|"
FRACTION = re.compile(r"\\d?frac(?=\{)")
POWER = re.compile(r"(?:\^(?:\{[^{}]*\}|\d+|[A-Za-z])|(?<![\w.])[\d.]+e-?\d+)[^\w^]*$")
HEARD = re.compile(r"[^\W\d_]+|\d|%|∞|\\infty")


def last_heard(text: str) -> str:
    r"""The last word, digit, sign or part of a syllable that is heard, the upper part of a fraction last; ``^`` of a power.

    >>> last_heard("$B$"), last_heard(r"$\frac{BDF}{BD + DL}$"), last_heard("$D^{2}$"), last_heard("`bf16`")
    ('B', 'BDF', '^', '6')
    >>> last_heard(r"$R \left( \frac{1}{D} + \frac{1}{F} \right)$"), last_heard("1.97e14"), last_heard("B^2D")
    ('1', '^', 'D')
    >>> last_heard("100 %"), last_heard("T_{\\text{math}}"), last_heard("강도"), last_heard("병목")
    ('%', 'math', 'ᅩ', 'ᆨ')
    """
    said = SILENT.sub("", text.strip()).rstrip(CLOSING)
    while said.endswith("}") and (above := _upper_part(said)) is not None:
        said = above.rstrip(CLOSING)
    if POWER.search(said):
        return "^"
    words = HEARD.findall(said)
    return unicodedata.normalize("NFD", words[-1])[-1] if words and ord(words[-1][-1]) > 0x1100 else (words or [""])[-1]


def _upper_part(said: str) -> str | None:
    """The upper part of the fraction with which a text ends."""
    for start in (match.end() for match in FRACTION.finditer(said)):
        middle = _closing(said, start) + 1
        if said[middle : middle + 1] == "{" and _closing(said, middle) == len(said) - 1:
            return said[start + 1 : middle - 1]
    return None


def _closing(text: str, place: int) -> int:
    """Where the brace that opens at a place closes."""
    depth = 0
    for i in range(place, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return i
    return len(text)
