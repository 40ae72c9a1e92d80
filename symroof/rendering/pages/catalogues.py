"""The catalogues as tables in a language: chips with their figures and sources, operations with their costs, and the
words that name quantities. Records are in English."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from symroof.derivation.layout import Layout
from symroof.model.hardware import Accelerator, Known
from symroof.model.library import Entry
from symroof.reading.languages import USUAL_LANGUAGE
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.characters import NBSP, cells, padded
from symroof.rendering.pages.environment import load
from symroof.rendering.pages.pen import Sentences
from symroof.rendering.pages.terminal import GAP, fold, table


def chips_table(chips: list[Accelerator], lang: str) -> str:
    """One line for each chip: its name, its peaks, its memory and its links."""
    heads = _words(lang).heads
    rows: list[tuple[str, ...]] = [(heads["name"], heads["chip"], "bf16", "int8", "HBM", heads["links"])]
    for chip in chips:
        links = ", ".join(f"{link} {chip.figures[link].digits}" for link in chip.links if link != "HBM")
        figures = (chip.figures.get(name) for name in ("peak.bf16", "peak.int8", "HBM"))
        rows.append((chip.name, chip.title, *(figure.digits if figure else "-" for figure in figures), links))
    return f"{columns(rows)}\n{_say(lang, 'chips_note')}"


def chip_table(chip: Accelerator, lang: str) -> str:
    """Every figure of a chip with its source, and the figures that other sources give."""
    return _say(lang, "chip", chip)


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


def operations_table(entries: list[Entry], lang: str) -> str:
    """One line for each operation: its name, and what it is."""
    words = _words(lang)
    rows = ((entry.name, words.summaries[entry.name]) for entry in entries)
    return columns([(words.heads["name"], words.heads["operation"]), *rows])


def operation_table(entry: Entry, lang: str) -> str:
    """An operation with its costs and its source."""
    return _say(lang, "operation", operation_record(entry))


def operation_record(entry: Entry) -> dict[str, Any]:
    operation = entry.build(None)
    cost = operation.cost()
    layout, printer = Layout(operation.dimensions, tuple(t.labels for t in operation.tensors)), PlainPrinter()
    amounts = {"flops": cost.flops, "reads": cost.reads, "writes": cost.writes, "intensity": cost.intensity}
    return {
        "name": entry.name,
        "summary": _words(USUAL_LANGUAGE).summaries[entry.name],
        "operation": str(operation),
        **{key: printer.print(layout.write(value)) for key, value in amounts.items()},
        "source": entry.source,
    }


def words_table(vocabulary: Mapping[str, list[str]], lang: str, width: int = 96) -> str:
    """The quantities, each with the words that name it in what is read."""
    language = _words(lang)
    heads = _beside([(name, str(language.called(name))) for name in vocabulary])
    margin = cells(heads[0])
    lines = []
    for head, words in zip(heads, vocabulary.values(), strict=True):
        lines += fold(head + ",  ".join(word.replace(" ", NBSP) for word in words), width, indent=" " * margin)
    return "".join(f"{line}\n" for line in lines)


def _beside(rows: Sequence[Sequence[str]]) -> list[str]:
    """Cells beside one another, of the breadth that their column needs, with a gap behind each column that is not empty."""
    columns = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    return [
        "".join(padded(cell, width) + GAP for cell, width in zip(row, columns, strict=True) if width) for row in rows
    ]


def _words(lang: str) -> Any:
    """What the catalogues say in a language."""
    return load(f"{lang}/catalogues.j2", None, lang, {})


def _say(lang: str, macro: str, *facts: Any) -> str:
    return Sentences(load("catalogues.j2", None, lang, {})).lines(macro, *facts) + "\n"


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows with their columns under one another.

    >>> print(columns([("a", "bc"), ("def", "g")]), end="")
    a    bc
    def  g
    """
    return "\n".join(table(rows[0], rows[1:], width=10**6)) + "\n"
