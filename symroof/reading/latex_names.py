r"""Names as they are typeset: an index of several words, the arguments of a function, the words of a quantity.

``T_\text{FSDP comms}`` is the name T_FSDP_comms; ``T_\text{comms}(X)`` and ``\text{batch size}`` are no names of the
grammar, and opaque where they are read at all.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from symroof.reading.vocabulary import WORDS

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
BETWEEN = re.compile(r"[\s,/&]+|(?<=[A-Za-z]{2})-(?=[A-Za-z]{2})")
SUFFIX = re.compile(r"_*[A-Za-z0-9][A-Za-z0-9_]*")
# Sizes and words in brackets behind a name that no product has: the name is that of a function.
ARGUMENTS = re.compile(
    rf"""(?:\\,|\\!|~)?(?:\\left)?\(
         (?P<inside> \s*(?:\d*[A-Za-z](?:_(?:\w|\{{\w*\}}))?(?:/\d+)?|\d+|\\(?:{TEXTS})\s*\{{[^{{}}\\$]*\}})\s*(?:,\s*[A-Za-z]\s*)* )
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


class Index(NamedTuple):
    """An index as a part of a name, as its author wrote it, and the place behind it."""

    name: str
    written: str
    end: int

    @property
    def is_name(self) -> bool:
        return SUFFIX.fullmatch(self.name) is not None


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
