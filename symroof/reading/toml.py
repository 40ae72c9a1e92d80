"""TOML, read exactly: the only importer of ``tomllib``. A float stays the text that was written."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from symroof.errors import ReadingError

LARGEST_FILE = 4_000_000
# What can hold a bracket or a quotation mark that means nothing: strings of four kinds, and comments.
TOKEN = re.compile(
    r'"""(?P<a>(?:\\.|[^\\])*?)"""|\'\'\'(?P<b>.*?)\'\'\'|"(?P<c>(?:\\.|[^"\\\n])*)"|\'(?P<d>[^\'\n]*)\''
    r"|\#[^\n]*|(?P<key>\bclaims?\s*=)|(?P<mark>[\[\]])",
    re.DOTALL,
)


def read_table(text: str, name: str) -> dict[str, Any]:
    """The table that ``text`` writes; ``name`` is what errors call it.

    >>> read_table("HBM = 8.20e11", "a problem")
    {'HBM': '8.20e11'}
    """
    try:
        return tomllib.loads(text, parse_float=str)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise ReadingError(f"{name} is not TOML: {error}") from None


def read_table_file(path: Path) -> dict[str, Any]:
    """The table in a file."""
    try:
        return read_table(contents(path).decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        raise ReadingError(f"{path} is not UTF-8: byte {error.start}") from None


def contents(path: Path) -> bytes:
    """The bytes of a file of a size that is read."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ReadingError(f"{path} has {path.stat().st_size} bytes", expected=f"at most {LARGEST_FILE}")
        return path.read_bytes()
    except OSError as error:
        raise ReadingError(f"{path} cannot be read: {error.strerror}") from None


def flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables with dotted keys.

    >>> flatten({"peak": {"int8": "3.94e14"}, "HBM": "8.2e11"})
    {'peak.int8': '3.94e14', 'HBM': '8.2e11'}
    """
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
    return flat


def claim_places(text: str) -> Iterator[tuple[int, str]]:
    r"""Where the claims of a file stand, in their order: the offset of each, and its text as it is written there.

    >>> list(claim_places('# claims = ["1 = 1"]\nclaims = ["1 = 2", { claim = "2 = 2" }]'))
    [(32, '1 = 2'), (51, '2 = 2')]
    """
    depth, wanted = 0, False
    for token in TOKEN.finditer(text):
        if token["key"]:
            wanted = True
        elif token["mark"] == "[" and (wanted or depth):
            depth, wanted = depth + 1, False
        elif token["mark"] == "]" and depth:
            depth -= 1
        elif token.lastgroup in ("a", "b", "c", "d") and (depth or wanted):
            yield token.start(token.lastgroup), token[token.lastgroup]
            wanted = False
