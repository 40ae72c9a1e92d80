"""Measured points: a table in CSV, with sizes or FLOPs/byte, and a time or a rate."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from io import StringIO
from pathlib import Path

from symroof.errors import ReadingError, SymroofError, suggestion
from symroof.formula import Frozen
from symroof.reading.numbers import measured, quantity, unit_named

# What a column may be in, beside sizes: the name of its row, and what these units are of.
NAME, KINDS = "name", {"s": "time", "FLOPs/s": "rate", "FLOPs/bytes": "intensity"}
MOST = 10_000  # rows


class Row(Frozen):
    """What was measured: ``sizes`` or an ``intensity`` in FLOPs/byte, and ``seconds`` or a ``rate`` in FLOPs/s."""

    name: str
    sizes: Mapping[str, Fraction]
    intensity: Fraction | None
    seconds: Fraction | None
    rate: Fraction | None
    where: str


def read_measurements(text: str, names: Sequence[str], file: str = "the table") -> tuple[Row, ...]:
    """The rows of a table under a head of the ``names`` of sizes, ``name``, and units; a cell may have a unit of its own.

    Raises :class:`ReadingError` for a column or a cell that is none of these, and for a row that says too little.

    >>> table = "name,B,D,F,ms\\nours,64,8192,8192,0.21\\n,256,8192,8192,300 us\\n"
    >>> [(row.name, row.sizes["B"], str(row.seconds)) for row in read_measurements(table, "BDF")]
    [('ours', Fraction(64, 1), '21/100000'), ('', Fraction(256, 1), '3/10000')]
    """
    lines = text.removeprefix("\ufeff").splitlines()
    if len(lines) > MOST:
        raise ReadingError(f"{file} has {len(lines)} lines", expected=f"at most {MOST}")
    try:
        table = [row for row in csv.reader(StringIO("\n".join(lines))) if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise ReadingError(f"{file} is no table: {error}", expected="a head such as B,D,F,ms and rows") from None
    if len(table) < 2:
        raise ReadingError(f"{file} has no measured points", expected="a head such as B,D,F,ms, and rows")
    head = [_column(cell.strip(), names, lines[0]) for cell in table[0]]
    columns = [unit if kind == "size" else f"a {kind}" for kind, unit in head]
    if (twice := next((column for column in columns if columns.count(column) > 1), None)) is not None:
        raise ReadingError(f"{file} has two columns for {twice}", expected="one")
    return tuple(_row(cells, head, f"{file}, row {i}") for i, cells in enumerate(table[1:], 1))


def from_rows(rows: Iterable[Mapping[str, object]], names: Sequence[str]) -> tuple[Row, ...]:
    """The same of mappings from the heads of columns to what is in them."""
    cells = [{str(key): "" if value is None else str(value) for key, value in row.items()} for row in rows]
    heads = list(dict.fromkeys(key for row in cells for key in row))
    out = StringIO()
    csv.writer(out).writerows([heads, *([row.get(key, "") for key in heads] for row in cells)])
    return read_measurements(out.getvalue(), names)


def read_measured(points: str | Path | Iterable[Mapping[str, object]], names: Sequence[str]) -> tuple[Row, ...]:
    """Measured points of a file, or of rows. Raises :class:`ReadingError` where there is no such file."""
    if not isinstance(points, str | Path):
        return from_rows(points, names)
    try:
        text = Path(points).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ReadingError(f"{points} cannot be read: {why}", expected="a CSV file with measured points") from None
    return read_measurements(text, names, Path(points).name)


# What a column holds: a name, a size by its name, or a kind with its unit.
Column = tuple[str, str]


def _column(cell: str, names: Sequence[str], line: str) -> Column:
    if cell in names:
        return "size", cell
    if cell.lower() == NAME:
        return NAME, NAME
    unit = unit_named({"time": "s", "FLOPs/byte": "FLOPs/bytes"}.get(cell, cell))
    if unit is not None and measured(unit)[1] in KINDS:
        return KINDS[measured(unit)[1]], unit
    columns = (*names, NAME, "seconds", "ms", "FLOPs/s", "FLOPs/byte")
    at = max(0, line.find(cell))
    raise ReadingError(
        f"there is no column {cell!r}",
        source=line,
        span=(at, at + max(1, len(cell))),
        expected=f"a size ({', '.join(names)}), name, seconds, ms, FLOPs/s, TFLOPs/s or FLOPs/byte",
        hint=suggestion(cell, columns),
    )


def _row(cells: Sequence[str], head: Sequence[Column], where: str) -> Row:
    if len(cells) > len(head):
        raise ReadingError(f"{where} has {len(cells)} cells", expected=f"{len(head)}, as the head has")
    sizes, amounts, name = dict[str, Fraction](), dict[str, Fraction](), ""
    for cell, (kind, unit) in zip((cell.strip() for cell in cells), head, strict=False):
        if not cell:
            continue
        if kind == NAME:
            name = cell[:60]
            continue
        try:
            if kind == "size":
                size = quantity(cell, None)
                if size.unit is not None or size.value.denominator != 1:
                    raise ReadingError(f"{unit} = {cell} is no size", expected="a whole number from 1")
                sizes[unit] = size.value
            else:
                scale, base = measured(unit)
                amount = quantity(cell, None)
                if amount.unit not in (None, base):
                    raise ReadingError(f"{cell} is in {amount.unit}", expected=base)
                amounts[kind] = amount.value * (scale if amount.unit is None else 1)
        except SymroofError as error:
            problem = f"{where}: {error.problem}"
            raise ReadingError(problem, source=cell, span=(0, len(cell)), expected=error.expected) from None
    if ("time" in amounts) == ("rate" in amounts):
        words = "both a time and a rate" if "time" in amounts else "neither a time nor a rate"
        raise ReadingError(f"{where} says {words}", expected="one of seconds and FLOPs/s")
    return Row(name, sizes, amounts.get("intensity"), amounts.get("time"), amounts.get("rate"), where)
