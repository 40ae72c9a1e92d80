"""The functions that Python users call: text or values in, derivations out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

import sympy  # noqa: F401 (first, and from here: deep in other imports Python 3.11 takes a third longer for it)

from symroof.errors import ReadingError
from symroof.reading.arguments import Options, Questions, listed, problem_of, problem_on_each, sketch_of, text_of
from symroof.reading.languages import language_of
from symroof.rendering.shown import ShownDerivation

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from symroof.building.outcome import BuiltDocument
    from symroof.model.hardware import Accelerator
    from symroof.model.program import Program
    from symroof.reading.arguments import Asked, Chip, Chips, Given
    from symroof.rendering.answers import ShownComparison, ShownFigure, ShownInferred, ShownRegimes, ShownSketch
    from symroof.rendering.live_page import ShownPage
    from symroof.rendering.report import ShownReport
    from symroof.verification.judgement import FileReport

# A question imports what answers it when it is asked; deriving needs neither maps nor judgements.


def operation(text: str, *, dtype: str | None = None) -> Program:
    """The operation that ``text`` writes, with its costs as plain SymPy expressions.

    >>> cost = operation("bf16[B, D] * bf16[D, F] -> bf16[B, F]").cost()
    >>> cost.flops, cost.intensity
    (2*B*D*F, B*D*F/(B*D + B*F + D*F))
    """
    from symroof.model.dtype import dtype as read_dtype
    from symroof.reading.operations import read_operation

    return read_operation(text, None if dtype is None else read_dtype(dtype))


def chips(*files: str) -> Mapping[str, Accelerator]:
    """The chips of the catalogue by name, with those of the user's own files.

    >>> chips()["tpu-v5e"].figures["HBM"].digits
    '8.2e11'
    """
    from symroof.reading.catalogue import catalogue

    return catalogue(*files)


def dimensions(names: str) -> tuple[Any, ...]:
    """The SymPy symbols of dimensions, as the costs use them: positive reals.

    >>> N, = dimensions("N")
    >>> operation("dot").cost().intensity.subs(N, 1)
    1/3
    """
    from symroof.symbols import symbol

    return tuple(symbol(name) for name in names.replace(",", " ").split())


@overload
def derive(operation: Given, on: Chip = None, **options: Unpack[Questions]) -> ShownDerivation: ...
@overload
def derive(
    operation: Mapping[str, Any] | None = None, on: Chip = None, **options: Unpack[Questions]
) -> ShownDerivation | ShownSketch: ...
def derive(
    operation: Asked | None = None, on: Chip = None, **options: Unpack[Questions]
) -> ShownDerivation | ShownSketch:
    """Derive the roofline of an operation, every line proved by a second engine.

    ``on`` is a chip or a table of its figures, ``assume`` a regime, ``at`` sizes to put in, ``given`` figures that
    override those of the chip, ``lang`` the language of its pages; :class:`Options` lists all of them. Without an operation
    ``let`` and ``solve`` alone are derived. Raises :class:`SymroofError` for anything that cannot be read, costed or decided.

    >>> d = derive("bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]", on="tpu-v5e", mesh={"X": 2}, link="ICI", solve_for="D")
    >>> d.answer.bound, d.answer.smallest_integer
    (78800/9, 8756)
    """
    from symroof.derivation.pipeline import derive as run

    if (sketch := sketch_of(operation, on, options)) is not None:
        from symroof.rendering.answers import sketched

        return sketched(sketch)
    return ShownDerivation(**vars(run(problem_of(operation or {}, on, options))))


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
    from symroof.derivation.draft import INTENSITY
    from symroof.derivation.setting import setting_of
    from symroof.exploration.explore import explore, infer
    from symroof.reading.arguments import question_of
    from symroof.rendering.answers import ShownInferred, ShownRegimes

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
    from symroof.exploration.comparing import compare as run
    from symroof.model.dtype import dtype as read_dtype
    from symroof.rendering.answers import ShownComparison

    kinds = listed(dtypes)
    problem, accelerators = problem_on_each(operation, listed(on), {"dtype": next(iter(kinds), None), **options})
    if not accelerators:
        raise ReadingError("there are no chips to compare", expected='on="tpu-v5e, h100"')
    return ShownComparison(run(problem, accelerators, [read_dtype(kind) for kind in kinds]))


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
    >>> [f"{float(point.reached):.2f}" for point in answer.drawing.measured], answer.findings
    (['0.83'], ())
    >>> answer = plot("matmul", on="tpu-v5e", at=["D=F=4096", "D=F=1024"], over="B=1..400")
    >>> [curve.first for curve in answer.drawing.curves]
    [273, 453]
    """
    from symroof.exploration.figure import figure
    from symroof.reading.grids import read_grid
    from symroof.reading.measurements import read_measured
    from symroof.rendering.answers import ShownFigure

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
    from symroof.reading.catalogue import catalogue, first_of_forms
    from symroof.rendering.live_page import ShownPage

    problem, named = problem_on_each(operation, listed(on), options, moving=True)
    others = sorted(catalogue(*listed(options.get("chips"))).values(), key=first_of_forms) if len(named) < 2 else ()
    known = {chip.name for chip in named}
    return ShownPage(problem, (*named, *(chip for chip in others if chip.name not in known)))


@overload
def sweep(
    operation: Asked,
    grid: str,
    output: str | Path,
    *,
    on: Chip = None,
    of: str | Iterable[str] = (),
    executor: Executor | None = None,
    **options: Unpack[Options],
) -> int: ...
@overload
def sweep(
    operation: Asked,
    grid: str,
    output: None = None,
    *,
    on: Chip = None,
    of: str | Iterable[str] = (),
    **options: Unpack[Options],
) -> dict[str, Any]: ...
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
    from symroof.derivation.setting import setting_of
    from symroof.exploration.sweeping import sweep_of, write_sweep
    from symroof.exploration.wanted import with_expressions
    from symroof.reading.grids import fixed_axes, read_grid

    grid = text_of(grid, "grid")
    problem, wanted = problem_of(operation, on, options, grid), listed(of)
    setting = setting_of(with_expressions(problem, wanted))
    axes = read_grid(grid, setting.problem.names)
    axes = (*axes, *fixed_axes(setting.problem.at, axes))
    asked = sweep_of(setting, axes, wanted)
    return asked.whole() if output is None else write_sweep(asked, Path(output), executor)


def verify(source: str | Path | Mapping[str, Any], *, lang: str | None = None) -> ShownReport:
    """Judge the claims of a file of problems, the formulas of a document, or the claims of a problem given as a table.

    ``lang`` is the language of the report; where it is not said, that of the problems or of the document. Raises
    :class:`SymroofError` where the input itself cannot be read.

    >>> report = verify({"operation": "matmul", "hardware": "tpu-v5e", "claims": ["compute-bound when B > 240"]})
    >>> report.judgements[0].verdict
    'conditional'
    """
    from symroof.reading.exercises import read_exercise
    from symroof.rendering.report import ShownReport
    from symroof.verification.judge import judge_exercise
    from symroof.verification.judgement import FileReport

    lang = language_of({"lang": lang})
    if not isinstance(source, Mapping):
        return ShownReport((judged_file(source).require_read(),), lang)
    judgements = judge_exercise(read_exercise(source))
    return ShownReport((FileReport("", judgements, "problems", lang=source.get("lang")),), lang)


def build(
    text: str,
    *,
    path: str | Path | None = None,
    dialect: str | None = None,
    given: Mapping[str, Any] | None = None,
    lang: str | None = None,
    force: bool = False,
) -> BuiltDocument:
    """Write the blocks and values of a document anew: its text with derivations that are true.

    ``path`` tells the format, and where the files lie that it names; ``given`` are options of problems that go before
    those of the document, ``lang`` is a language that goes before the one that it says, ``force`` overwrites what was
    changed by hand. Raises :class:`SymroofError` where its markers cannot be read; a block that fails is in ``blocks``,
    and stays as it was.

    >>> text = "From <!-- symroof = mm.smallest_integer -->200<!-- / --> on.\\n\\n<!-- symroof derive\\nid = 'mm'\\n"
    >>> text += "operation = 'matmul'\\nhardware = 'tpu-v5e'\\nassume = 'B << D, F'\\nsections = ['rule']\\n-->\\n"
    >>> build(text).text.splitlines()[0]
    'From <!-- symroof = mm.smallest_integer -->241<!-- / --> on.'
    """
    from symroof.building.build import build as run

    place, overrides = Path(path) if path is not None else None, {"lang": lang, **(given or {})}
    return run(text, makers(), path=place, dialect=dialect, overrides=overrides, force=force)


def makers() -> dict[str, Callable[..., Any]]:
    """What answers each verb of a block."""
    from symroof.rendering.report import claims_of

    return {**{maker.__name__: maker for maker in (derive, regimes, compare, plot, page)}, "verify": claims_of}


def judged_file(path: str | Path, overrides: Mapping[str, Any] | None = None) -> FileReport:
    """The report on a file of problems, or on a document with its blocks."""
    from symroof.building.freshness import judge_with_blocks

    return judge_with_blocks(path, overrides, makers=makers)
