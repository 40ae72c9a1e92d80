"""Configurations of models as model hubs have them, config.json: the sizes of programs, the element type, and what a model has that
the programs of the library have not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from symroof.errors import ReadingError, about
from symroof.formula import Frozen
from symroof.reading.operation_keys import operation_of
from symroof.reading.operations import AnyEntry, ProgramEntry, entries, other_names
from symroof.reading.question_scope import sets_of
from symroof.reading.toml import shipped_table, text

_tables = partial(shipped_table, "reading/configurations.toml")

LARGEST_FILE, LARGEST_SIZE = 2**20, 10**12
# The programs of the library that a whole model is: what it has and they have not is told of them.
KEYED = ("D", "F", "L", "V", "K", "G", "H")
MODELS = ("decoder", "decoder-layer", "decode-step", "training-step")


class Configuration(Frozen):
    """What a configuration says: sizes by the letters of the library, the element type, whether one matrix looks words up and
    compares with them, and what is not modelled, as ``key = value``."""

    sizes: Mapping[str, int]
    dtype: str | None
    tied: bool
    unmodelled: tuple[str, ...]


def configured(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a problem with what the configuration says that they name: its sizes stand under every set of sizes, its
    element type and its ties where nothing else is said. Without one, the options as they are.

    >>> configured({"operation": "matmul"})
    {'operation': 'matmul'}
    """
    given = options.get("config")
    path = given if isinstance(given, Path) else text(options, "config")
    if path is None:
        return dict(options)
    config, operation = read_configuration(Path(path)), options.get("operation")
    keys: dict[str, Any] = {key: value for key, value in options.items() if key != "config"}
    entry = entries().get(other_names().get(operation, operation)) if isinstance(operation, str) else None
    if isinstance(entry, ProgramEntry):
        keys["operation"] = _tied(entry) if config.tied and "Wu" in entry.text and "We" in entry.text else operation
        given = text(options, "dtype") or ""
        if config.dtype is not None and all("=" in part for part in given.split(",") if part.strip()):
            keys["dtype"] = f"{config.dtype}, {given}" if given else config.dtype  # what is said goes before it
    keys["at"] = [(dict(config.sizes), *own) for own in sets_of(options) or [()]]
    whole = entry is not None and entry.name in MODELS
    keys["unmodelled"] = config.unmodelled if whole else ()
    keys["missing"] = tuple(letter for letter in KEYED if letter not in config.sizes) if whole else ()
    return keys


def require_given(options: Mapping[str, Any], sizes: Iterable[str]) -> None:
    """The sizes of a model that its configuration does not say are said beside it. Raises :class:`ReadingError` where they are not."""
    for parts in sets_of(options):
        given = " ".join(part if isinstance(part, str) else " ".join(f"{n}=" for n in part) for part in parts)
        for letter in options.get("missing", ()):
            if letter in {*sizes} and not re.search(rf"\b{letter}\s*=", given):
                keys = " or ".join(_tables()["keys"].get(letter, _tables()["keys"]["heads"])[:2])
                raise ReadingError(f"config: the file does not say {letter}", expected=keys, hint=f"or --at {letter}=…")


def program_with_sizes(entry: AnyEntry, path: str) -> str:
    """The text of a program of the library as a model has it, its sizes below as a comment.

    Raises :class:`ReadingError` where the operation is no program."""
    if not isinstance(entry, ProgramEntry):
        raise ReadingError(f"{entry.name} is no program", expected=f"one of {', '.join(MODELS)}")
    given = configured({"operation": entry.name, "config": path})
    program = operation_of(given)
    (sizes, *_), *_ = given["at"]
    held = ", ".join(f"{name} = {size}" for name, size in sizes.items() if name in program.dimensions)
    rest = "".join(f"# not modelled: {item}\n" for item in given["unmodelled"])
    return f"{program}\n# {held}\n{rest}"


def _tied(entry: ProgramEntry) -> str:
    """The text of a program that compares with the rows that it looks up."""
    return re.sub(r"\bWe, Wu\b", "We", entry.text).replace("* Wu", "* We")


def read_configuration(path: Path) -> Configuration:
    """The configuration in a file.

    Raises :class:`ReadingError` where it is none, or has no size of a model."""
    with about(f"{path}: "):
        try:
            if path.stat().st_size > LARGEST_FILE:
                raise ReadingError("it is larger than a megabyte", expected="a config.json")
            table = json.loads(path.read_text("utf-8"))
        except OSError as error:
            raise ReadingError(f"it cannot be read: {error.strerror}", expected="a config.json") from None
        except (ValueError, RecursionError):
            raise ReadingError("the file is not JSON", expected="a config.json") from None
        if not isinstance(table, dict):
            raise ReadingError("the file has no table of keys", expected="a config.json")
        return _configuration({**table, **(table["text_config"] if isinstance(table.get("text_config"), dict) else {})})


def _configuration(table: Mapping[str, Any]) -> Configuration:
    counts = {letter: _number(table, keys) for letter, keys in _tables()["keys"].items() if letter != "dtype"}
    kind = str(table.get("model_type", ""))
    if counts["D"] is None or counts["L"] is None:
        raise ReadingError("it has no size of a model", expected="hidden_size and num_hidden_layers")
    width, heads = counts["D"], counts["heads"]
    if counts["F"] is None and kind in ("gpt2", "falcon"):
        counts["F"] = 4 * width
    if counts["expert"] is not None and counts["E"] is not None:
        counts["F"] = counts["expert"]
    sizes = {letter: counts[letter] for letter in ("D", "F", "L", "V", "E", "k")}
    if heads is not None:
        kv = counts["kv"] or (1 if table.get("multi_query") else heads)
        if heads % kv:
            raise ReadingError(f"{heads} heads are no multiple of {kv} heads of keys and values")
        if counts["H"] is None and width % heads:
            raise ReadingError(f"hidden_size = {width} is no multiple of {heads} heads", expected="head_dim")
        sizes |= {"K": kv, "G": heads // kv, "H": counts["H"] or width // heads}
    written = next((table[key] for key in _tables()["keys"]["dtype"] if isinstance(table.get(key), str)), None)
    tied = table.get("tie_word_embeddings", kind in ("gpt2", "opt", "gemma", "gemma2", "falcon", "bert", "t5"))
    return Configuration(
        {letter: size for letter, size in sizes.items() if size is not None},
        _tables()["dtypes"].get(written),
        tied is True,
        tuple(_unmodelled(table, kind, counts)),
    )


def _number(table: Mapping[str, Any], keys: list[str]) -> int | None:
    """The size under the first of the keys that is there."""
    for key in keys:
        value = table.get(key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= LARGEST_SIZE:
            raise ReadingError(f"{key} = {json.dumps(value)[:40]} is no size", expected="a whole number above 0")
        return value
    return None


def _unmodelled(table: Mapping[str, Any], kind: str, sizes: Mapping[str, int | None]) -> Iterator[str]:
    """What a decoder of the library has not: by the type of the model, and by keys that have other values than the usual ones."""
    if kind not in _tables()["types"]:
        yield f"model_type = {_spelled(kind)}"
    for name, value in _tables()["types"].get(kind, {}).items():
        yield f"{name} = {value}"
    if sizes["E"] is not None:
        yield f"experts = {sizes['E']}"
    for key, usual in _tables()["usual"].items():
        value = table.get(key)
        if (
            value is not None
            and value not in usual
            and not (key == "sliding_window" and table.get("use_sliding_window") is False)
        ):
            yield f"{key} = {_spelled(value)}"


def _spelled(value: Any) -> str:
    """A value on a line, cut where it is long, without what a page could take for marks of its own."""
    return re.sub(r"[^\w.,:+ -]", "", str(value))[:40] if not isinstance(value, bool) else str(value).lower()
