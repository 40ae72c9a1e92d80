"""TOML, read exactly, and what stands under its keys: the only importer of ``tomllib``. A float stays the text that was
written."""

from __future__ import annotations

import json
import re
import stat
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

from symroof.errors import ReadingError, require_one_of

LARGEST_FILE = 4_000_000
LARGEST_TABLE = 1_000_000
DEEPEST, MOST_KEYS, LONGEST_WORD = 16, 50_000, 1000
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
    _require_small(text, name)
    try:
        return tomllib.loads(text, parse_float=str)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise ReadingError(f"{name} is not TOML: {error}") from None


def _require_small(text: str, name: str) -> None:
    """Bounds on what the parser is given: its time is quadratic in the parts of a key, and Python's in digits."""
    if len(text) > LARGEST_TABLE:
        raise ReadingError(f"{name} has {len(text)} characters", expected=f"at most {LARGEST_TABLE}")
    bare = TOKEN.sub(
        lambda token: "w" if token.lastgroup in ("a", "b", "c", "d") else token["key"] or token["mark"] or "", text
    )
    if re.search(rf"\w{{{LONGEST_WORD}}}", bare):
        raise ReadingError(f"{name} has a number or a name of more than {LONGEST_WORD} characters")
    if bare.count("=") > MOST_KEYS:
        raise ReadingError(f"{name} has {bare.count('=')} keys", expected=f"at most {MOST_KEYS}")
    if re.search(rf"(?:w[ \t]*\.[ \t]*){{{DEEPEST}}}", re.sub(r"[\w-]+", "w", bare)):
        raise ReadingError(f"{name} has a key of more than {DEEPEST} parts")


@cache
def shipped_table(path: str) -> dict[str, Any]:
    """A table of the package. What was read of it is kept beside its compiled modules for as long as its file is the same.

    >>> shipped_table("reading/words.toml") == read_table_file(Path(str(files("symroof") / "reading/words.toml")))
    True
    """
    source = files("symroof") / path
    if not isinstance(source, Path):  # in a zip file
        return read_table(source.read_text("utf-8"), path)
    status, store = source.stat(), Path(cache_from_source(str(source))).with_suffix(".json")
    stamp = [status.st_mtime_ns, status.st_size]
    with suppress(OSError, ValueError):
        earlier, stored = json.loads(store.read_bytes())
        if earlier == stamp:
            return dict(stored)
    result = read_table(source.read_text("utf-8"), path)
    with suppress(OSError):
        if not sys.dont_write_bytecode:
            store.write_text(json.dumps([stamp, result]))
    return result


def read_table_file(path: Path) -> dict[str, Any]:
    """The table in a file."""
    return read_table(text_file(path), str(path))


def text_file(path: Path, encoding: str = "utf-8-sig") -> str:
    """The text of a file."""
    try:
        return contents(path).decode(encoding)
    except UnicodeDecodeError as error:
        raise ReadingError(f"{path} is not UTF-8: byte {error.start}") from None


def contents(path: Path) -> bytes:
    """The bytes of a file of a size that is read. Devices and pipes, which may have no end, are refused."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise ReadingError(f"{path} is a device or a pipe", expected="a file")
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        hint = f"name its files: {path}/*.md" if path.is_dir() else None
        raise ReadingError(f"{path} cannot be read: {error.strerror}", hint=hint) from None
    if len(data) > LARGEST_FILE:
        raise ReadingError(f"{path} has more than {LARGEST_FILE} bytes", expected="a smaller file")
    return data


def flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables with dotted keys.

    >>> flatten({"peak": {"int8": "3.94e14"}, "HBM": "8.2e11"})
    {'peak.int8': '3.94e14', 'HBM': '8.2e11'}
    """
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
    return flat


def unfit(key: str, value: object, what: str, expected: str | None = None) -> ReadingError:
    """The error that the value of a key is not what it has to be."""
    return ReadingError(f"{key} = {str(value)[:60]} is not {what}", expected=expected)


def text(options: Mapping[str, Any], key: str, known: Iterable[str] | None = None) -> str | None:
    """The text under a key, one of those that are ``known``; None where there is none."""
    value = options.get(key)
    if value is not None and not isinstance(value, str):
        raise unfit(key, value, "text")
    if value is not None and known is not None:
        require_one_of(value, known, f"{key} = {value!r} is not known")
    return value


def flag(options: Mapping[str, Any], key: str, expected: str) -> bool:
    """Whether something is said to be so; nothing said is no."""
    value = options.get(key, False)
    if not isinstance(value, bool):
        raise unfit(key, value, "true or false", expected)
    return value


def texts(options: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = options.get(key) or ()
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, Iterable) or not all(isinstance(text, str) for text in texts):
        raise unfit(key, value, "a list of texts")
    return tuple(texts)


def table(options: Mapping[str, Any], key: str, example: str) -> Mapping[str, Any]:
    value = options.get(key) or {}
    if not isinstance(value, Mapping):
        raise unfit(key, value, "a table", example)
    return value


def claim_places(text: str) -> Iterator[tuple[int, str]]:
    r"""Where the claims of a file stand, in their order: the offset of each, and its text as it is written there.

    >>> list(claim_places('# claims = ["1 = 1"]\nclaims = ["1 = 2", { claim = "2 = 2" }]'))
    [(32, '1 = 2'), (51, '2 = 2')]
    """
    depth, inside = 0, False
    for token in TOKEN.finditer(text):
        if token["key"]:
            inside = True
        elif token["mark"] == "[" and (inside or depth):
            depth, inside = depth + 1, False
        elif token["mark"] == "]" and depth:
            depth -= 1
        elif token.lastgroup in ("a", "b", "c", "d") and (depth or inside):
            yield token.start(token.lastgroup), token[token.lastgroup]
            inside = False
