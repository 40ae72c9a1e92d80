"""Parts of a table in files: each whole or not there, joined at the end. CSV, or Parquet where pyarrow is installed.

A part is written under another name and then moved to its own, which says its number and the digest of its bytes: a
part that was cut, or changed, is none.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from symroof.errors import ModelError

SUFFIXES = (".csv", ".parquet")
PART = re.compile(r"(\d+)-([0-9a-f]{32})\.(?:csv|parquet)")


def write_part(folder: Path, number: int, suffix: str, columns: Mapping[str, Any]) -> None:
    """One part, whole or not at all."""
    with _replacing(folder / f"{number:08d}{suffix}") as waiting:
        if suffix == ".parquet":
            arrow, parquet = _arrow()
            parquet.write_table(arrow.table(dict(columns)), waiting)
        else:
            with waiting.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
        os.replace(waiting, folder / f"{number:08d}-{_digest(waiting.read_bytes())}{suffix}")


def parts_in(folder: Path) -> dict[int, Path]:
    """The whole parts in a folder by their numbers; what is not whole is removed."""
    found = {}
    for path in folder.iterdir():
        name = PART.fullmatch(path.name)
        if name and _digest(path.read_bytes()) == name[2]:
            found[int(name[1])] = path
        elif name:
            path.unlink()
    return found


def join_parts(parts: Sequence[Path], output: Path, head: Sequence[str], rows: int) -> None:
    """The parts as one table. Raises :class:`ModelError` unless it has that many rows."""
    with _replacing(output) as waiting:
        if output.suffix == ".parquet":
            _, parquet = _arrow()
            tables = (parquet.read_table(part) for part in parts)
            first = next(tables)
            written = first.num_rows
            with parquet.ParquetWriter(waiting, first.schema) as writer:
                writer.write_table(first)
                for table in tables:
                    writer.write_table(table)
                    written += table.num_rows
        else:
            written = 0
            with waiting.open("wb") as file:
                file.write((",".join(head) + "\n").encode())
                for part in parts:
                    data = part.read_bytes()
                    if data and data.partition(b"\n")[0].count(b",") + 1 != len(head):
                        raise ModelError(f"a part of {output} has other columns", expected=", ".join(head))
                    file.write(data)
                    written += data.count(b"\n")
        if written != rows:
            raise ModelError(f"the parts of {output} have {written} rows", expected=f"{rows} rows")
        os.replace(waiting, output)


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A name beside a file to write under; what is left there when writing fails is removed."""
    waiting = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        yield waiting
    finally:
        waiting.unlink(missing_ok=True)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """A folder that no other process works in meanwhile; who dies lets go of it.

    Raises :class:`ModelError` where another process holds it.
    """
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("a") as file:
            _lock(file, folder)
            if _is_there(folder / "lock", file):  # and was not removed by who held it before
                yield
                return


def _lock(file: Any, folder: Path) -> None:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise ModelError(
            f"another process is at work in {folder}", hint="let it end, or write to another file"
        ) from None


def _is_there(path: Path, file: Any) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def require_table(output: Path) -> None:
    """A table that can be written. Numbers in bulk need NumPy, and Parquet needs pyarrow."""
    if output.suffix not in SUFFIXES:
        raise ModelError(f"{output} is no table", expected=f"a file that ends in {' or '.join(SUFFIXES)}")
    if output.is_dir():
        raise ModelError(f"{output} is a folder", expected="a file")
    if find_spec("numpy") is None:
        raise ModelError("a sweep needs NumPy, which is not installed", hint="pip install 'symroof[plot]'")
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
