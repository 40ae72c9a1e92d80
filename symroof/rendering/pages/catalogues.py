"""The catalogues as tables: chips with their figures and sources, operations with their costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symroof.derivation.layout import Layout
from symroof.model.hardware import Accelerator, Known
from symroof.model.library import Entry
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.environment import load
from symroof.rendering.pages.pen import Sentences
from symroof.rendering.pages.terminal import table


def chips_table(chips: list[Accelerator]) -> str:
    """One line for each chip: its name, its peaks, its memory and its links."""
    rows: list[tuple[str, ...]] = [("name", "chip", "bf16", "int8", "HBM", "links")]
    for chip in chips:
        links = ", ".join(f"{link} {chip.figures[link].digits}" for link in chip.links if link != "HBM")
        known = (chip.figures.get(name) for name in ("peak.bf16", "peak.int8", "HBM"))
        rows.append((chip.name, chip.title, *(figure.digits if figure else "-" for figure in known), links))
    return f"{columns(rows)}\n{_say('chips_note')}"


def chip_table(chip: Accelerator) -> str:
    """Every figure of a chip with its source, and the figures that other sources give."""
    return _say("chip", chip)


def chip_record(chip: Accelerator) -> dict[str, Any]:
    return {
        "name": chip.name,
        "title": chip.title,
        "aliases": list(chip.aliases),
        "wraparound": chip.wraparound,
        "figures": {name: _figure(known) for name, known in chip.figures.items()},
    }


def _figure(known: Known) -> dict[str, Any]:
    figure = {"value": known.digits, "float": float(known.value), "unit": known.unit, "source": known.source}
    return figure | {"alternatives": [_figure(other) for other in known.alternatives]}


def operations_table(entries: list[Entry]) -> str:
    return columns([("name", "operation"), *((entry.name, entry.summary) for entry in entries)])


def operation_table(entry: Entry) -> str:
    """An operation with its costs and its source."""
    return _say("operation", operation_record(entry))


def operation_record(entry: Entry) -> dict[str, Any]:
    operation = entry.build(None)
    cost = operation.cost()
    layout, printer = Layout(operation.dimensions, tuple(t.labels for t in operation.tensors)), PlainPrinter()
    amounts = {"flops": cost.flops, "reads": cost.reads, "writes": cost.writes, "intensity": cost.intensity}
    return {
        "name": entry.name,
        "summary": entry.summary,
        "operation": str(operation),
        **{key: printer.print(layout.write(value)) for key, value in amounts.items()},
        "source": entry.source,
    }


def _say(macro: str, *facts: Any) -> str:
    return Sentences(load("catalogues.j2", None, "en", {})).lines(macro, *facts) + "\n"


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows with their columns under one another.

    >>> print(columns([("a", "bc"), ("def", "g")]), end="")
    a    bc
    def  g
    """
    return "\n".join(table(rows[0], rows[1:], width=10**6)) + "\n"
