"""The catalogue of chips: the shipped one, files of the user's own, and figures given by hand."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from symroof.errors import ModelError, ReadingError, about, nearest, require_one_of, suggestion
from symroof.formula import Formula, Name, Number, mapped
from symroof.model.collectives import NETWORKS
from symroof.model.hardware import UNNAMED, Accelerator, Spec
from symroof.model.tensor_types import BY_NAME, spelled_size
from symroof.reading.expressions import read_expression
from symroof.reading.name_scope import Scope
from symroof.reading.numbers import quantity, scientific
from symroof.reading.toml import flatten, read_table_file, shipped_table
from symroof.symbols import expression, fraction, rational, symbol

# The keys of a chip, with what fits there.
CHIP_KEYS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "title": (lambda value: isinstance(value, str), "a text"),
    "aliases": (
        lambda value: isinstance(value, list) and all(isinstance(alias, str) for alias in value),
        'a list, as in ["h100"]',
    ),
    "wraparound": (
        lambda value: _is_count(value),
        "the number of chips whose multiples close an axis to a ring, or [number, source]",
    ),
    "domain": (lambda value: _is_count(value), "how many chips a switch of NVLink joins, or [number, source]"),
    "figures": (lambda value: isinstance(value, Mapping), "a table"),
    "parts": (lambda value: isinstance(value, Mapping), "a table"),
    "after": (lambda value: isinstance(value, str), "the name of a chip of this file"),
}
# The source of a figure that follows of the parts of a chip: a formula stands there instead of a number.
OF_PARTS = "parts"
LINKS = ("HBM", "VMEM", "L2", *NETWORKS, "PCIe")
CHIPS_VARIABLE = "SYMROOF_CHIPS"


def unit_of(figure: str) -> str | None:
    """The base unit of a figure, told by its name; None where the name is not that of a figure.

    >>> unit_of("peak.int8"), unit_of("HBM"), unit_of("capacity.HBM"), unit_of("ICI.latency"), unit_of("mfu")
    ('FLOPs/s', 'bytes/s', 'bytes', 's', None)
    """
    family, _, kind = figure.partition(".")
    if kind == "latency":
        return "s"
    return {"peak": "FLOPs/s", "capacity": "bytes", "clock": "1/s"}.get(family, "bytes/s" if family in LINKS else None)


class Catalogue(Mapping[str, Accelerator]):
    """Chips of a table by their names, each read when it is asked for. ``where`` is what errors call the table."""

    def __init__(self, table: Mapping[str, Any], where: str) -> None:
        sources = table.get("sources")
        if not isinstance(sources, Mapping) or not all(isinstance(source, Mapping) for source in sources.values()):
            raise ReadingError(
                f"{where}: there is no table [sources]",
                expected='[sources] with sheet = { title = "…", url = "…", date = "…" }, and figures as ["8.2e11 bytes/s", "sheet"]',
            )
        if OF_PARTS in sources:
            raise ReadingError(
                f"{where}: a source is called {OF_PARTS}", expected="another key: parts say what follows"
            )
        self.sources, self.where = sources, where
        self.entries = {name: entry for name, entry in table.items() if name != "sources"}
        self.read: dict[str, Accelerator] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __getitem__(self, name: str) -> Accelerator:
        if name not in self.read:
            self.read[name] = self._chip(name, self.entries[name])
        return self.read[name]

    def called(self, name: str) -> tuple[str, ...]:
        """The name and the aliases of a chip."""
        return name, *self.entries[name].get("aliases", ())

    @property
    def figures(self) -> frozenset[str]:
        """What the figures of chips are called."""
        return frozenset(figure for entry in self.entries.values() for figure in flatten(entry["figures"]))

    def _chip(self, name: str, entry: Any) -> Accelerator:
        where, sources = self.where, self.sources
        if not isinstance(entry, Mapping) or not isinstance(entry.get("figures"), Mapping):
            raise ReadingError(f"{where}: {name} has no figures", expected=f"a table [{name}.figures]")
        for key, value in entry.items():
            require_one_of(key, CHIP_KEYS, f"{where}: unknown key {key!r} in {name}")
            fits, expected = CHIP_KEYS[key]
            if not fits(value):
                raise ReadingError(f"{where}: {key} of {name} is {str(value)[:40]!r}", expected=expected)
        place = f"{where}: {name}"
        written = flatten(entry.get("parts", {})).items()
        parts = {key: _sourced(key, value, sources, place, otherwise="") for key, value in written}
        figures = {key: _sourced(key, value, sources, place, parts) for key, value in flatten(entry["figures"]).items()}
        rings, node = (_counted(key, entry.get(key), sources, place) for key in ("wraparound", "domain"))
        after = str(entry.get("after", ""))
        if after:
            require_one_of(after, list(self), f"{place} follows {after!r}, and there is no such chip")
        return Accelerator(name, entry.get("title", name), figures, self.called(name)[1:], rings, node, parts, after)


@lru_cache(maxsize=1)
def shipped() -> Catalogue:
    """The catalogue that comes with symroof."""
    return Catalogue(shipped_table("model/hardware.toml"), "the catalogue")


def catalogue(*paths: str) -> ChainMap[str, Accelerator]:
    """Every known chip by its name; files of the user's own add chips, and may replace one."""
    own: list[Catalogue] = []
    for path in (*filter(None, os.environ.get(CHIPS_VARIABLE, "").split(os.pathsep)), *paths):
        own.insert(0, Catalogue(read_table_file(Path(path)), path))
        dict(own[0])  # each of them is read, so that a fault is said now
    return ChainMap(*own, shipped())  # type: ignore[arg-type]  # nothing is written


def first_of_forms(chip: Accelerator) -> bool:
    """A key that puts the chip first with which a form begins.

    >>> min(shipped().values(), key=first_of_forms).title
    'TPU v5e'
    """
    return chip.name != "tpu-v5e"


def chip(name: str, *paths: str) -> Accelerator:
    """The chip of that name or alias.

    >>> chip("tpu-v5e").figure("HBM").digits
    '8.2e11'
    """
    chips = catalogue(*paths)
    folded = name.strip().lower().replace(" ", "-").replace("_", "-")
    tables = {title: next(table for table in chips.maps if title in table) for title in chips}
    called = {other: title for title, table in tables.items() for other in table.called(title)}  # type: ignore[attr-defined]
    if folded in called:
        return chips[called[folded]]
    near = nearest(folded, called)
    meant = "" if near is None else f"did you mean {called[near]}?"
    raise ModelError(
        f"unknown chip {name!r}",
        expected=f"one of {', '.join(chips)}",
        hint=f"{meant} another chip is given: --given peak=…,HBM=…, or --chips FILE".strip(),
    )


def own_chip(table: Mapping[str, Any]) -> Accelerator:
    """A chip written down in a problem: a title and its figures."""
    flat = flatten(table)
    title = flat.pop("title", None) or flat.pop("name", None) or UNNAMED
    return Accelerator("given", str(title), {name: figure(name, value) for name, value in flat.items()})


def figure(name: str, value: Any, source: str = "given", *, otherwise: str = "bytes/s") -> Spec:
    """A figure from text or a Python number.

    A name that is not that of a figure keeps the unit that is written; ``otherwise`` is its unit where none is.

    >>> figure("peak", "3.94e14 FLOPs/s").value == 394 * 10**12
    True
    """
    family, _, kind = name.partition(".")
    if family == "peak" and kind not in ("", "vector") and kind.removeprefix("vector.") not in BY_NAME:
        raise ModelError(
            f"{name} is not a figure",
            expected="peak, peak.DTYPE, peak.vector or peak.vector.DTYPE",
            hint=suggestion(kind.removeprefix("vector."), BY_NAME),
        )
    if isinstance(value, bool) or not isinstance(value, str | int | float | Fraction):
        raise ReadingError(
            f"{name} = {str(value)[:60]!r} is not a number",
            expected=f"a number such as 8.2e11 {unit_of(name) or otherwise}".rstrip(),
        )
    with about(f"{name}: "):
        if isinstance(value, Fraction) and value.denominator != 1:
            raise ReadingError(f"{value} is not a decimal number", expected="digits, as in 8.2e11")
        number = quantity(str(value), unit_of(name))
    unit = otherwise if number.unit in (None, "%") else number.unit
    return Spec(number.value, number.digits or "", unit, source)


def _is_count(value: Any) -> bool:
    number, *source = value if isinstance(value, list) and len(value) == 2 else (value,)
    return type(number) is int and number > 0 and all(isinstance(text, str) for text in source)


def _counted(name: str, value: Any, sources: Mapping[str, Any], where: str) -> Spec | None:
    """A number of chips, and its source where one is said."""
    if value is None:
        return None
    number, origin = value if isinstance(value, list) else (value, None)
    source = "given" if origin is None else _source(name, origin, sources, where)
    return Spec(Fraction(number), str(number), "chips", source)


def _sourced(
    name: str,
    value: Any,
    sources: Mapping[str, Any],
    where: str,
    parts: Mapping[str, Spec] | None = None,
    otherwise: str = "bytes/s",
) -> Spec:
    pairs = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
    figures = []
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)):
            raise ReadingError(f"{where}: {name} has no source", expected='["8.2e11 bytes/s", "source"]')
        if parts is not None and pair[1] == OF_PARTS:
            with about(f"{where}: {name}: "):
                figures.append(_of_parts(name, pair[0], parts))
            continue
        figures.append(figure(name, pair[0], _source(name, pair[1], sources, where), otherwise=otherwise))
    return replace(figures[0], alternatives=tuple(figures[1:]))


def _source(name: str, citation: str, sources: Mapping[str, Any], where: str) -> str:
    """The source that a key stands for, with the remark behind it."""
    key, _, remark = citation.partition(":")
    require_one_of(key, sources, f"{where}: unknown source {key!r} of {name}")
    entry = sources[key]
    title = f"{entry.get('title', key)} ({entry.get('url', 'no address')}, {entry.get('date', 'no date')})"
    return title + (f": {remark.strip()}" if remark else "")


def _of_parts(name: str, written: str, parts: Mapping[str, Spec]) -> Spec:
    """What follows of the parts of a chip by a formula, with the arithmetic for its source.

    >>> parts = {"cores": Spec(Fraction(2), "2", ""), "clock": Spec(Fraction(1750000000), "1.75e9", "")}
    >>> known = _of_parts("peak.vector", "2*cores*1024*clock", parts)
    >>> known.digits, known.source
    ('7.168e12', '2*cores*1024*clock = 2*2*1024*1.75e9')
    """
    formula = read_expression(written, Scope(tuple(parts)))
    value = expression(formula).subs({symbol(part): rational(figure.value) for part, figure in parts.items()})
    if not value.is_Rational or value <= 0:
        raise ReadingError(f"{written} is no number above 0", expected="a formula of parts, as in cores*lanes*clock")
    numbers = mapped(formula, lambda node: _in_digits(node, parts))
    exact_value = fraction(value)
    digits = scientific(str(int(exact_value)) if exact_value.denominator == 1 else str(float(exact_value)), exact_value)
    return Spec(exact_value, digits, unit_of(name) or "", f"{spelled_size(formula)} = {spelled_size(numbers)}")


def _in_digits(node: Formula, parts: Mapping[str, Spec]) -> Formula:
    """A part with its digits; anything else as it is."""
    return Number(parts[node.name].value, parts[node.name].digits) if isinstance(node, Name) else node
