"""Quantities on a grid of sizes, chunk by chunk: on one process, on many, or on a cluster, with the same bytes.

Every chunk is a file of its own until the last one is there, so a sweep that was stopped goes on where it was. What a
folder of chunks belongs to is written beside them, and chunks of another sweep are refused.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from symroof.derivation.evaluation import QuantityFunction, function_of
from symroof.derivation.setting import Setting
from symroof.errors import ModelError
from symroof.exploration.parts import join_parts, require_suffix, write_part
from symroof.reading.grids import Axis, size_of
from symroof.symbols import symbol

CHUNK = 1 << 16
# What is computed where nothing is asked for.
QUANTITIES = ("intensity", "T_math", "T_comms", "T_lower", "T_upper", "throughput")


@dataclass(frozen=True, slots=True)
class Sweep:
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
    for name in given:
        if symbol(name) in setting.regime.substitution:
            raise ModelError(
                f"{name} is {setting.regime.substitution[symbol(name)]} here, and the grid has values for it",
                hint=f"leave {name} out of the grid, or of --assume",
            )
    functions = [function_of(setting, name) for name in dict.fromkeys(names or QUANTITIES)]
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
    require_suffix(output)
    folder = output.with_name(f"{output.name}.parts")
    _claim(folder, sweep)
    parts = [folder / f"{index:08d}{output.suffix}" for index in range(sweep.chunks)]
    waiting = [index for index, part in enumerate(parts) if not part.exists()]
    done = len(parts) - len(waiting)
    report = progress or (lambda _done, _all: None)
    report(done, len(parts))
    if executor is None:
        for index in waiting:
            _part(sweep, index, parts[index])
            report(done := done + 1, len(parts))
    else:
        for future in as_completed([executor.submit(_part, sweep, index, parts[index]) for index in waiting]):
            future.result()
            report(done := done + 1, len(parts))
    join_parts(parts, output, sweep.head)
    shutil.rmtree(folder)
    return sweep.size


def _part(sweep: Sweep, index: int, path: Path) -> None:
    write_part(path, sweep.columns(index))


def _claim(folder: Path, sweep: Sweep) -> None:
    """The folder of the parts, which belongs to this sweep alone."""
    identity, note = json.dumps(sweep.identity, sort_keys=True), folder / "sweep.json"
    if folder.exists() and (not note.is_file() or note.read_text("utf-8") != identity):
        raise ModelError(
            f"{folder} holds parts of another sweep",
            hint="finish that one, remove the folder, or write to another file",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        note.write_text(identity, "utf-8")
    except OSError as error:
        raise ModelError(f"{folder} cannot be written: {error.strerror}") from None
