"""TOML, read exactly: the only importer of ``tomllib``. A float stays the text that was written."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from symroof.errors import ReadingError

LARGEST_FILE = 4_000_000


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
        if path.stat().st_size > LARGEST_FILE:
            raise ReadingError(f"{path} has {path.stat().st_size} bytes", expected=f"at most {LARGEST_FILE}")
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ReadingError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ReadingError(f"{path} is not UTF-8: byte {error.start}") from None
    return read_table(text, str(path))


def flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables with dotted keys.

    >>> flatten({"peak": {"int8": "3.94e14"}, "HBM": "8.2e11"})
    {'peak.int8': '3.94e14', 'HBM': '8.2e11'}
    """
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
    return flat
