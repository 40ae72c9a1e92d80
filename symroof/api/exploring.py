"""Regimes, comparisons, figures, pages that move, and grids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, Unpack, overload

from symroof.derivation.drafts import INTENSITY
from symroof.derivation.premises import setting_of
from symroof.errors import ReadingError
from symroof.exploration.comparison import compare as compared
from symroof.exploration.figure_kinds import figure
from symroof.exploration.regimes import explore, infer
from symroof.exploration.sweep import sweep_of, write_sweep
from symroof.model.tensor_types import dtype as read_dtype
from symroof.reading.arguments import (
    Asked,
    Chip,
    Chips,
    Options,
    listed,
    problem_of,
    problem_on_each,
    question_of,
    text_of,
)
from symroof.reading.chips import catalogue, first_of_forms
from symroof.reading.grids import fixed_axes, read_grid
from symroof.reading.languages import language_of
from symroof.reading.measurements import read_measured
from symroof.rendering.exploration_results import ShownComparison, ShownFigure, ShownInferred, ShownRegimes
from symroof.rendering.live_page import ShownPage
from symroof.rendering.printed_values import with_expressions


def regimes(
    operation: Asked | None = None,
    *,
    on: Chip = None,
    of: str | None = None,
    every: bool = False,
    **options: Unpack[Options],
) -> ShownRegimes | ShownInferred:
    """Every asymptotic regime of the intensity of an operation, or of another quantity: proved complete.

    ``of`` is a formula over named quantities, or an approximation ``a ~ b``, for which the weakest regimes are found
    that make it true (then there need not be an operation; ``lang`` speaks of none). ``every`` lists all of a long list.
    The other options are those of :func:`derive`. Raises :class:`SymroofError` for what cannot be read or enumerated.

    >>> answer = regimes("bf16[B, D] * bf16[D, F] -> bf16[B, F]", on="tpu-v5e")
    >>> [(str(row.leading), row.equal_sizes_from) for row in answer.map.rows if row.corner]
    [('B', 241), ('D', 241), ('F', 241)]
    >>> inferred = regimes(of="BDF/(BD + DF + BF) ~ B")
    >>> [relation.right.name for relation in inferred.alternatives[0].relations]
    ['D', 'F']
    """
    problem = None if operation is None else problem_of(operation, on, options)
    lang = language_of(options) if problem is None else problem.lang
    if problem is None and (of is None or options.keys() - {"lang"} or on is not None):
        raise ReadingError("there is no operation to explore", expected='an operation, or of="a ~ b"')
    exact, approximate = question_of(of, problem)
    if exact is not None and approximate is not None:
        return ShownInferred(infer(exact, approximate, None if problem is None else setting_of(problem)), lang)
    if problem is None:
        raise ReadingError(f"{of!r} has no operation to speak of", expected="an operation, or an approximation a ~ b")
    return ShownRegimes(explore(problem, INTENSITY if exact is None else exact, every=every))


def compare(
    operation: Asked, *, on: Chips, dtypes: str | Iterable[str] = (), **options: Unpack[Options]
) -> ShownComparison:
    """Ridges, thresholds and limits of an operation on several chips, with its tensors in several dtypes; where all
    sizes are numbers, its quantities there.

    ``on`` are names of chips, ``dtypes`` names of dtypes that every tensor takes in turn; the other options are those
    of :func:`derive`. A chip without figures for a dtype has a row that says so.

    >>> answer = compare("bf16[B, D] * bf16[D, F] -> bf16[B, F]", on="tpu-v5e, h100", assume="B << D, F")
    >>> [(row.chip.name, row.derivation.answer.smallest_integer) for row in answer.comparison.rows]
    [('tpu-v5e', 241), ('h100-sxm', 296)]
    """
    kinds = listed(dtypes)
    problem, accelerators = problem_on_each(operation, listed(on), {"dtype": next(iter(kinds), None), **options})
    if not accelerators:
        raise ReadingError("there are no chips to compare", expected='on="tpu-v5e, h100"')
    return ShownComparison(compared(problem, accelerators, [read_dtype(kind) for kind in kinds]))


def plot(
    operation: Asked,
    *,
    on: Chips = None,
    kind: str | None = None,
    over: str | None = None,
    links: str | Iterable[str] | None = None,
    points: str | Path | Iterable[Mapping[str, Any]] | None = None,
    **options: Unpack[Options],
) -> ShownFigure:
    """A figure: a roofline, throughput or times against a size, a breakdown of the times of a program by its statements,
    or a regime map in two sizes. It needs matplotlib.

    ``over`` is a range of sizes, ``"B=1..400"``; several points of ``at`` are several lines, several ``links`` and chips
    several roofs. A program on a mesh is drawn over the chips of an axis as well. Without ``kind``: a
    regime map over two sizes, throughput over one, else a roofline.

    ``points`` are measured ones, a CSV file or rows: sizes, or FLOPs/byte, and seconds or FLOPs/s. They stand beside what was
    proved, and ``findings`` are those that are faster than the bound.

    >>> answer = plot("matmul", on="tpu-v5e", points=[{"B": 64, "D": 8192, "F": 8192, "us": 200}])
    >>> [f"{float(point.share):.2f}" for point in answer.drawing.measured], answer.findings
    (['0.83'], ())
    >>> answer = plot("matmul", on="tpu-v5e", at=["D=F=4096", "D=F=1024"], over="B=1..600")
    >>> [curve.first for curve in answer.drawing.curves]
    [273, 453]
    """
    roofs, over = listed(links), text_of(over, "over") if over else ""
    problem, accelerators = problem_on_each(
        operation, listed(on), {"link": next(iter(roofs), None), **options}, roofs, over
    )
    axes = read_grid(over, problem.names) if over else ()
    rows = () if points is None else read_measured(points, problem.names)
    return ShownFigure(figure(problem, kind, axes, accelerators, roofs, rows))


def page(operation: Asked, *, on: Chips = None, **options: Unpack[Options]) -> ShownPage:
    """A page that answers while sizes move: one file of HTML, without a network, with every quantity proved.

    ``on`` are chips, the first of them the one with which the page begins; the catalogue's others are on it as well. Raises
    :class:`SymroofError` where the first one lacks a figure. Sizes
    of ``at`` are those with which it begins. The other options are those of :func:`derive`.

    >>> answer = page("matmul", on="tpu-v5e", at="B=64,D=F=8192")
    >>> answer
    <page of bf16[B, D] * bf16[D, F] -> bf16[B, F] on 20 chips>
    >>> "<script" in answer.html
    True
    """
    problem, named = problem_on_each(operation, listed(on), options, moving=True)
    others = sorted(catalogue(*listed(options.get("chips"))).values(), key=first_of_forms) if len(named) < 2 else ()
    names = {chip.name for chip in named}
    return ShownPage(problem, (*named, *(chip for chip in others if chip.name not in names)))


class SweepOptions(Options, total=False):
    """The options of a sweep: the chip, the quantities, and what computes the rows."""

    on: Chip
    of: str | Iterable[str]
    executor: Executor | None


@overload
def sweep(operation: Asked, grid: str, output: str | Path, **options: Unpack[SweepOptions]) -> int: ...
@overload
def sweep(operation: Asked, grid: str, output: None = None, **options: Unpack[SweepOptions]) -> dict[str, Any]: ...
def sweep(
    operation: Asked,
    grid: str,
    output: str | Path | None = None,
    *,
    on: Chip = None,
    of: str | Iterable[str] = (),
    executor: Executor | None = None,
    **options: Unpack[Options],
) -> int | dict[str, Any]:
    """Write quantities on a grid of sizes to a CSV or Parquet file; gives the number of rows. Without a file, the columns
    themselves: NumPy arrays by name, which ``pandas.DataFrame`` takes.

    ``grid`` is ``"B=1:4096:log, D=F=1024|4096"``, ``of`` are quantities or expressions of them, B/T_lower (intensity,
    times and throughput by default), ``executor`` computes the rows: ``client.get_executor()`` of a Dask client. Sizes of
    ``at`` have one value. The other options are those of :func:`derive`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = sweep("matmul", "B=1:4:log, D=F=64", folder + "/out.csv", of="intensity")
    ...     print(rows, Path(folder, "out.csv").read_text().split()[:2])
    3 ['B,D,F,intensity', '1,64,64,0.9696969696969697']
    >>> {name: column.tolist() for name, column in sweep("dot", "N=1|2", of="flops").items()}
    {'N': [1, 2], 'flops': [2.0, 4.0]}
    """
    grid = text_of(grid, "grid")
    problem, quantities = problem_of(operation, on, options, grid), listed(of)
    setting = setting_of(with_expressions(problem, quantities))
    axes = read_grid(grid, setting.problem.names)
    axes = (*axes, *fixed_axes(setting.problem.at, axes))
    grid_sweep = sweep_of(setting, axes, quantities)
    return grid_sweep.whole() if output is None else write_sweep(grid_sweep, Path(output), executor)
