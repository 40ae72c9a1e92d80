"""Quantities on a grid of sizes, chunk by chunk: on one process, on many, or on a cluster, with the same bytes.

Every chunk is a file of its own until the last one is there, so a sweep that was stopped goes on where it was. What a
folder of chunks belongs to is written beside them, and chunks of another sweep are refused.

Parts of a table in files: each whole or not there, joined at the end. CSV, or Parquet where pyarrow is installed.

A part is written under another name and then moved to its own, which says its number and the digest of its bytes: a
part that was cut, or changed, is none.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec
from io import StringIO
from itertools import islice
from math import prod
from pathlib import Path
from random import Random
from typing import Any

from symroof.derivation.evaluation import QuantityFunction, functions_of
from symroof.derivation.figures_used import require_joined, require_own_wiring, require_shared_out
from symroof.derivation.setting import Setting
from symroof.errors import ModelError
from symroof.formula import Frozen
from symroof.model.mesh import open_axes
from symroof.reading.grids import Axis, size_of
from symroof.symbols import symbol

CHUNK = 1 << 16
LONGEST_AXIS = 256  # numbers of chips whose wiring is looked at
MEASURED = 64  # rows of a chunk that are measured again
AHEAD = 64  # parts handed out at a time
MOST_ROWS, MOST_PARTS, MOST_HELD = 10**11, 10**6, 10**7
GO_ON = "what is there stays: give the command again to go on"
# What is computed where nothing is asked for.
QUANTITIES = ("intensity", "T_math", "T_comms", "T_lower", "T_upper", "throughput")
SUFFIXES = (".csv", ".parquet")
PART = re.compile(r"(\d+)-([0-9a-f]{32})\.(?:csv|parquet)")


class Sweep(Frozen):
    """The functions to compute on a grid. ``fixed`` are sizes that have one value."""

    functions: tuple[QuantityFunction, ...]
    grid: tuple[Axis, ...]
    chunk: int = CHUNK

    @property
    def size(self) -> int:
        return size_of(self.grid)

    @property
    def chunks(self) -> int:
        return -(-self.size // self.chunk)

    @property
    def head(self) -> tuple[str, ...]:
        return (*(name for axis in self.grid for name in axis.names), *(f.name for f in self.functions))

    @property
    def identity(self) -> dict[str, Any]:
        """What makes two sweeps the same: functions, grid, chunks."""
        axes = [[list(a.names), repr(a.values) if isinstance(a.values, range) else list(a.values)] for a in self.grid]
        return {"functions": {f.name: str(f.expression) for f in self.functions}, "grid": axes, "chunk": self.chunk}

    def whole(self) -> dict[str, Any]:
        """All of the rows, measured as those of a chunk are. Raises :class:`ModelError` where they are too many to hold."""
        if self.size > MOST_HELD:
            raise ModelError(f"{self.size} rows are too many to hold", expected=f"a file, or at most {MOST_HELD} rows")
        columns = replace(self, chunk=max(self.size, 1)).columns(0)
        _require_measured(self, 0, columns)
        return columns

    def columns(self, index: int) -> dict[str, Any]:
        """The rows of one chunk: the last axis runs fastest.

        >>> from symroof.reading.grids import read_grid
        >>> sizes = Sweep((), read_grid("B=1|2, D=5|6|7", ("B", "D")), chunk=4)
        >>> [sizes.columns(1)[name].tolist() for name in "BD"]
        [[2, 2], [6, 7]]
        """
        import numpy

        rows = numpy.arange(index * self.chunk, min((index + 1) * self.chunk, self.size), dtype=numpy.int64)
        found: dict[str, Any] = {}
        for place, axis in enumerate(self.grid):
            after = prod(len(other.values) for other in self.grid[place + 1 :])
            places = rows // after % len(axis.values)
            if isinstance(axis.values, range):
                values = axis.values.start + places * axis.values.step
            else:
                values = numpy.array(axis.values, dtype=numpy.int64)[places]
            found |= dict.fromkeys(axis.names, values)
        for function in self.functions:
            value = function(**{name: found[name] for name in function.parameters})
            found[function.name] = numpy.broadcast_to(numpy.asarray(value, dtype=numpy.float64), rows.shape)
        return found


def sweep_of(setting: Setting, grid: tuple[Axis, ...], names: Sequence[str] = (), chunk: int = CHUNK) -> Sweep:
    """The sweep of quantities of a problem; by default of those whose figures are known.

    Raises :class:`ModelError` where a quantity needs a size that the grid does not have.
    """
    given = {name for axis in grid for name in axis.names}
    if chunk < 1:
        raise ModelError(f"a chunk of {chunk} rows holds nothing", expected="at least 1")
    if size_of(grid) > MOST_ROWS:
        raise ModelError(
            f"a grid of {size_of(grid)} points does not end", expected=f"at most {MOST_ROWS}; give steps, or log"
        )
    if size_of(grid) > MOST_PARTS * chunk:
        raise ModelError(f"{size_of(grid)} rows are more than {MOST_PARTS} chunks of {chunk}", expected="larger chunks")
    for name in given:
        if symbol(name) in setting.regime.substitution:
            raise ModelError(
                f"{name} is {setting.regime.substitution[symbol(name)]} here, and the grid has values for it",
                hint=f"leave {name} out of the grid, or of --assume",
            )
    runs = {name: axis.values for axis in grid for name in axis.names}
    for name in runs.keys() & {*open_axes(setting.problem.mesh)}:
        for value in runs[name][:LONGEST_AXIS]:
            require_own_wiring(setting.problem, name, Fraction(value))
    require_joined(setting.problem, {name: Fraction(max(values)) for name, values in runs.items()})
    require_shared_out(setting.problem, runs)
    functions = list(functions_of(setting, dict.fromkeys(names or QUANTITIES)))
    if not names:
        functions = [f for f in functions if not {"peak", "bandwidth"} & set(f.parameters)]
    for function in functions:
        missing = [name for name in function.parameters if name not in given]
        if missing:
            what = "say --on or --given" if set(missing) <= {"peak", "bandwidth"} else f"add {missing[0]}=… to the grid"
            raise ModelError(f"{function.name} needs {', '.join(missing)}, and the grid does not have it", hint=what)
    return Sweep(tuple(functions), grid, chunk)


def run(
    sweep: Sweep, output: Path, executor: Executor | None = None, progress: Callable[[int, int], None] | None = None
) -> int:
    """Write the table of a sweep; chunks that are there already are kept. Gives the number of rows.

    ``executor`` is anything that follows :mod:`concurrent.futures`: a pool of processes, or the one of a Dask client
    whose workers see the same files.
    """
    require_table(output)
    folder, report = output.with_name(f"{output.name}.parts"), progress or (lambda _done, _all: None)
    try:
        with held(folder):
            _require_own(folder, sweep)
            parts = parts_in(folder)
            report(len(parts), sweep.chunks)
            waiting = (number for number in range(sweep.chunks) if number not in parts)
            for done, _ in enumerate(_written(sweep, folder, output.suffix, waiting, executor), len(parts) + 1):
                report(done, sweep.chunks)
            parts = parts_in(folder)
            join_parts([parts[number] for number in sorted(parts)], output, sweep.head, sweep.size)
            shutil.rmtree(folder)
    except OSError as error:
        raise ModelError(f"{error.filename or output} cannot be written: {error.strerror}", hint=GO_ON) from None
    except BrokenExecutor:
        raise ModelError("a process of the sweep has died", hint=GO_ON) from None
    return sweep.size


def _written(
    sweep: Sweep, folder: Path, suffix: str, waiting: Iterator[int], executor: Executor | None
) -> Iterator[None]:
    """Write the parts of those numbers; a few more than can be at work are handed out at a time."""
    if executor is None:
        for number in waiting:
            _part(sweep, folder, number, suffix)
            yield
        return
    pending: set[Future[None]] = set()
    while True:
        pending |= {executor.submit(_part, sweep, folder, n, suffix) for n in islice(waiting, AHEAD - len(pending))}
        if not pending:
            return
        ended, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in ended:
            future.result()
            yield


def _part(sweep: Sweep, folder: Path, number: int, suffix: str) -> None:
    columns = sweep.columns(number)
    _require_measured(sweep, number, columns)
    write_part(folder, number, suffix, columns)


def _require_measured(sweep: Sweep, number: int, columns: Mapping[str, Any]) -> None:
    """Raises :class:`~symroof.errors.CheckError` where a value is not what the second engine has: of all rows of a small
    chunk, of some that its number draws of a large one."""
    count = len(columns[sweep.head[0]])
    rows = range(count) if count <= MEASURED else Random(number).sample(range(count), MEASURED)
    for row in rows:
        for function in sweep.functions:
            sizes = {name: float(columns[name][row]) for name in function.parameters}
            function.require(sizes, float(columns[function.name][row]))


def _require_own(folder: Path, sweep: Sweep) -> None:
    """The parts in the folder belong to this sweep."""
    identity, note = json.dumps(sweep.identity, sort_keys=True), folder / "sweep.json"
    if note.is_file() and note.read_text("utf-8") != identity:
        raise ModelError(
            f"{folder} holds parts of another sweep",
            hint="finish that one, remove the folder, or write to another file",
        )
    note.write_text(identity, "utf-8")


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
                with StringIO(newline="") as first_line:
                    csv.writer(first_line, lineterminator="\n").writerow(head)
                    file.write(first_line.getvalue().encode())
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
