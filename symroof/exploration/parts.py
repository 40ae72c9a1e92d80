"""Parts of a table in files: written one by one, joined at the end. CSV, or Parquet where pyarrow is installed."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from symroof.errors import ModelError

SUFFIXES = (".csv", ".parquet")


def write_part(path: Path, columns: Mapping[str, Any]) -> None:
    """One part, whole or not at all: it is written beside its place and then moved there."""
    waiting = path.with_name(f"{path.name}.{os.getpid()}")
    if path.suffix == ".parquet":
        arrow, parquet = _arrow()
        parquet.write_table(arrow.table(dict(columns)), waiting)
    else:
        with waiting.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    os.replace(waiting, path)


def join_parts(parts: Iterable[Path], output: Path, head: Sequence[str]) -> None:
    """The parts as one table."""
    waiting = output.with_name(f"{output.name}.{os.getpid()}")
    if output.suffix == ".parquet":
        _, parquet = _arrow()
        writer = None
        for part in parts:
            table = parquet.read_table(part)
            writer = writer or parquet.ParquetWriter(waiting, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
    else:
        with waiting.open("wb") as file:
            file.write((",".join(head) + "\n").encode())
            for part in parts:
                file.write(part.read_bytes())
    os.replace(waiting, output)


def require_suffix(output: Path) -> None:
    """A table that can be written. Parquet needs pyarrow."""
    if output.suffix not in SUFFIXES:
        raise ModelError(f"{output} is no table", expected=f"a file that ends in {' or '.join(SUFFIXES)}")
    if output.is_dir():
        raise ModelError(f"{output} is a folder", expected="a file")
    if output.suffix == ".parquet":
        _arrow()


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ModelError(
            "Parquet needs pyarrow, which is not installed", hint="pip install pyarrow, or write .csv"
        ) from None
    return pyarrow, pyarrow.parquet
