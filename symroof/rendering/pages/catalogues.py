"""The catalogues as tables in a language: chips with their figures and sources, operations with their costs. Records are
in English."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symroof.derivation.pipeline import counted_draft
from symroof.model.hardware import Accelerator, Finding, Spec
from symroof.reading.languages import USUAL_LANGUAGE
from symroof.reading.operations import AnyEntry, ProgramEntry, other_names
from symroof.reading.problems import read_problem
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.pages.templating import load
from symroof.rendering.pages.terminal import table
from symroof.rendering.pages.typesetting import Sentences
from symroof.rendering.records.json_parts import Record


def chips_table(chips: list[Accelerator], lang: str | None) -> str:
    """One line for each chip: its name, its peaks, its memory and its links."""
    heads = _words(lang).heads
    rows: list[tuple[str, ...]] = [(heads["name"], heads["chip"], "bf16", "int8", "HBM", heads["links"])]
    for chip in chips:
        links = ", ".join(f"{link} {chip.figures[link].digits}" for link in chip.links if link != "HBM")
        figures = (chip.figures.get(name) for name in ("peak.bf16", "peak.int8", "HBM"))
        rows.append((chip.name, chip.title, *(figure.digits if figure else "-" for figure in figures), links))
    return f"{columns(rows)}\n{_say(lang, 'chips_note')}"


def chip_table(chip: Accelerator, lang: str | None) -> str:
    """Every figure of a chip with its source, and the figures that other sources give."""
    return _say(lang, "chip", chip)


def findings_table(findings: Sequence[Finding], count: int, lang: str | None) -> str:
    """What cannot be in a table of so many chips, a line for each."""
    return _say(lang, "checked", findings, count)


def finding_record(finding: Finding) -> dict[str, str]:
    return {"chip": finding.chip, "kind": finding.kind, "shown": finding.shown}


def chip_record(chip: Accelerator) -> Record:
    return {
        "name": chip.name,
        "title": chip.title,
        "aliases": list(chip.aliases),
        "wraparound": chip.closing,
        "domain": int(chip.domain.value) if chip.domain else None,
        "after": chip.after or None,
        "figures": {name: _figure(spec) for name, spec in chip.figures.items()},
        "parts": {name: _figure(spec) for name, spec in chip.parts.items()},
    }


def _figure(spec: Spec) -> Record:
    figure = {"value": spec.digits, "float": float(spec.value), "unit": spec.unit, "source": spec.source}
    return figure | {"alternatives": [_figure(other) for other in spec.alternatives]}


def operations_table(entries: list[AnyEntry], lang: str | None) -> str:
    """One line for each operation: its name, and what it is."""
    words = _words(lang)
    rows = ((entry.name, words.summaries[entry.name]) for entry in entries)
    return columns([(words.heads["name"], words.heads["operation"]), *rows])


def operation_table(entry: AnyEntry, lang: str | None) -> str:
    """An operation with its costs and its source."""
    return _say(lang, "operation", operation_record(entry))


def operation_record(entry: AnyEntry) -> Record:
    """An operation in plain values, as its derivation says them; that of a program is its text, and has its parameters."""
    problem = read_problem({"operation": entry.name})
    draft, printer = counted_draft(problem), PlainPrinter()
    formulas = ((key, draft.answer.formula(key)) for key in ("params", "flops", "reads", "writes", "intensity"))
    amounts = {key: printer.print(formula) for key, formula in formulas if formula is not None}
    others = [other for other, name in other_names().items() if name == entry.name]
    return {
        "name": entry.name,
        "summary": _words(None).summaries[entry.name],
        "operation": entry.text if isinstance(entry, ProgramEntry) else str(problem.operation),
        **amounts,
        **({"other_names": ", ".join(others)} if others else {}),
        "source": entry.source,
    }


def _words(lang: str | None) -> Any:
    """What the catalogues say in a language."""
    lang = lang or USUAL_LANGUAGE
    return load(f"{lang}/catalogues.j2", None, lang, {})


def _say(lang: str | None, macro: str, *facts: object) -> str:
    return Sentences(load("catalogues.j2", None, lang or USUAL_LANGUAGE, {})).lines(macro, *facts) + "\n"


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows with their columns under one another.

    >>> print(columns([("a", "bc"), ("def", "g")]), end="")
    a    bc
    def  g
    """
    return "\n".join(table(rows[0], rows[1:], width=10**6)) + "\n"
