"""Quantities on a grid of sizes: NumPy in one process, or the workers of a Dask cluster. Columns, CSV, or Parquet."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec
from itertools import chain
from math import lcm, prod
from pathlib import Path
from typing import Any
from warnings import warn

from symroof.derivation.evaluation import QuantityFunction, functions_of
from symroof.derivation.premises import Setting
from symroof.derivation.size_constraints import require_joined, require_own_wiring, require_shared_out
from symroof.errors import ModelError
from symroof.formula import Frozen
from symroof.model.problem import Problem
from symroof.model.splits import open_axes, stride
from symroof.reading.grids import Axis, size_of
from symroof.symbols import symbol

CHUNK = 1 << 16  # rows that are computed at once
AHEAD = 64  # chunks that are handed out at a time
LONGEST_AXIS = 256  # numbers of chips whose wiring is looked at
MOST_ROWS, MOST_HELD = 10**11, 10**7
# What is computed where nothing is asked for.
QUANTITIES = ("intensity", "T_math", "T_comms", "T_lower", "T_upper", "throughput")


class Sweep(Frozen):
    """The functions to compute on a grid."""

    functions: tuple[QuantityFunction, ...]
    grid: tuple[Axis, ...]

    @property
    def size(self) -> int:
        return size_of(self.grid)

    def whole(self) -> dict[str, Any]:
        """All of the rows. Raises :class:`ModelError` where they are too many to hold."""
        if self.size > MOST_HELD:
            raise ModelError(f"{self.size} rows are too many to hold", expected=f"a file, or at most {MOST_HELD} rows")
        return self.columns(0, self.size)

    def columns(self, start: int, count: int = CHUNK) -> dict[str, Any]:
        """So many rows from one on: the last axis runs fastest.

        >>> from symroof.reading.grids import read_grid
        >>> sizes = Sweep((), read_grid("B=1|2, D=5|6|7", ("B", "D")))
        >>> [sizes.columns(4, 4)[name].tolist() for name in "BD"]
        [[2, 2], [6, 7]]
        """
        import numpy

        rows = numpy.arange(start, min(start + count, self.size), dtype=numpy.int64)
        result: dict[str, Any] = {}
        for place, axis in enumerate(self.grid):
            after = prod(len(other.values) for other in self.grid[place + 1 :])
            places = rows // after % len(axis.values)
            if isinstance(axis.values, range):
                values = axis.values.start + places * axis.values.step
            else:
                values = numpy.array(axis.values, dtype=numpy.int64)[places]
            result |= dict.fromkeys(axis.names, values)
        for function in self.functions:
            value = function(**{name: result[name] for name in function.parameters})
            result[function.name] = numpy.broadcast_to(numpy.asarray(value, dtype=numpy.float64), rows.shape)
        return result


def sweep_of(setting: Setting, grid: tuple[Axis, ...], names: Sequence[str] = ()) -> Sweep:
    """The sweep of quantities of a problem, by default of those whose figures are known; refused where it lacks a size."""
    grid = tuple(_with_padding(setting.problem, axis) for axis in grid) if setting.problem.pad else grid
    runs = {name: axis.values for axis in grid for name in axis.names}
    if size_of(grid) > MOST_ROWS:
        wrong = f"a grid of {size_of(grid)} points does not end"
        raise ModelError(wrong, expected=f"at most {MOST_ROWS}; give steps, or log")
    for name in runs:
        if symbol(name) in setting.regime.substitution:
            wrong = f"{name} is {setting.regime.substitution[symbol(name)]} here, and the grid has values for it"
            raise ModelError(wrong, hint=f"leave {name} out of the grid, or of --assume")
    for name in runs.keys() & {*open_axes(setting.problem.mesh)}:
        for value in runs[name][:LONGEST_AXIS]:
            require_own_wiring(setting.problem, name, Fraction(value))
    require_joined(setting.problem, {name: Fraction(max(values)) for name, values in runs.items()})
    require_shared_out(setting.problem, runs)
    functions = list(functions_of(setting, dict.fromkeys(names or QUANTITIES)))
    if not names:
        functions = [f for f in functions if not {"peak", "bandwidth"} & set(f.parameters)]
    for function in functions:
        missing = [name for name in function.parameters if name not in runs]
        if missing:
            cure = "say --on or --given" if set(missing) <= {"peak", "bandwidth"} else f"add {missing[0]}=… to the grid"
            raise ModelError(f"{function.name} needs {', '.join(missing)}, and the grid does not have it", hint=cure)
    return Sweep(tuple(functions), grid)


def _with_padding(problem: Problem, axis: Axis) -> Axis:
    """An axis of a grid, with each value that chips do not share out as the next that they do."""
    operation, mesh = problem.operation, problem.mesh
    each = lcm(*(stride(operation, mesh, name) for name in axis.names if name not in mesh))
    values: Sequence[int] = axis.values
    if isinstance(values, range) and (values.step <= each or values.step % each == 0):  # which is not gone through
        first, last = (value + -value % each for value in (values[0], values[-1]))
        values = range(first, last + 1, max(each, values.step))
    else:
        values = tuple(dict.fromkeys(value + -value % each for value in values))
    if values != (axis.values if isinstance(values, range) else tuple(axis.values)):
        warn(f"{' = '.join(axis.names)} is padded to multiples of {each}", stacklevel=2)
    return replace(axis, values=values)


def write_sweep(sweep: Sweep, output: Path, executor: Executor | None = None) -> int:
    """Write the table of a sweep, whole or not at all; gives the number of rows. ``executor`` is that of a Dask client."""
    if output.suffix not in (".csv", ".parquet"):
        raise ModelError(f"{output} is no table", expected="a file that ends in .csv or .parquet")
    if output.is_dir():
        raise ModelError(f"{output} is a folder", expected="a file")
    if find_spec("numpy") is None:
        raise ModelError("a sweep needs NumPy, which is not installed", hint="pip install 'symroof[plot]'")
    waiting = output.with_name(f"{output.name}.{os.getpid()}.tmp")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        (_write_csv if output.suffix == ".csv" else _write_parquet)(waiting, _chunks(sweep, executor))
        os.replace(waiting, output)
    except OSError as error:
        raise ModelError(f"{output} cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            waiting.unlink()
    return sweep.size


def _chunks(sweep: Sweep, executor: Executor | None) -> Iterator[dict[str, Any]]:
    starts = range(0, sweep.size, CHUNK)
    for first in range(0, len(starts), AHEAD):
        some = starts[first : first + AHEAD]
        yield from map(sweep.columns, some) if executor is None else executor.map(sweep.columns, some)


def _write_csv(path: Path, chunks: Iterator[dict[str, Any]]) -> None:
    first = next(chunks)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(first)
        for columns in chain([first], chunks):
            writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def _write_parquet(path: Path, chunks: Iterator[dict[str, Any]]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ModelError("there is no pyarrow, which writes Parquet", hint="pip install pyarrow") from None
    first = pyarrow.table(next(chunks))
    with pyarrow.parquet.ParquetWriter(path, first.schema) as writer:
        for table in chain([first], map(pyarrow.table, chunks)):
            writer.write_table(table)
