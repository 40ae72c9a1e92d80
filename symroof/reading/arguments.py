"""What Python callers give: names in a text or in a list, operations, problems without one, as text, values or tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypedDict

from symroof.errors import ReadingError
from symroof.formula import Formula
from symroof.model.hardware import Accelerator
from symroof.model.mesh_wiring import with_wiring
from symroof.model.problem import Problem, Sketch
from symroof.model.program import Program
from symroof.model.quantities import QUANTITIES
from symroof.reading.claims import read_question
from symroof.reading.keys import having
from symroof.reading.languages import language_of
from symroof.reading.name_scope import Scope
from symroof.reading.operation_keys import has_operation
from symroof.reading.problems import (
    freed,
    hardware_of,
    merged,
    model_of,
    read_problem,
    read_problem_file,
    require_known,
    sections_of,
)
from symroof.reading.question_scope import figure_names, points_of, read_minimize, read_solve, scope_of
from symroof.reading.toml import text

Given = Program | Problem | str | Path
Asked = Given | Mapping[str, Any]
Chip = str | Mapping[str, Any] | Accelerator | None
Chips = Chip | Iterable[str | Accelerator]
Words = str | Iterable[str]
Sizes = Mapping[str, int | Fraction | str]


class Options(TypedDict, total=False):
    """What is said of an operation beside its chip, under the keys of problem files; None says nothing.

    ``assume`` is a regime, ``at`` are sizes to put in, ``given`` figures that override those of the chip, ``mesh`` the
    sizes of its axes, ``link`` what the arithmetic is compared with, ``count`` is fma or exact, ``compute`` the dtype
    of the peak rate, ``dtype`` that of tensors without one, ``chips`` files of your own, ``let`` named formulas,
    ``functions`` the operations for each element of functions in programs, ``solve`` a relation between quantities that
    is to be solved for ``solve_for``, ``training`` whether the backward pass is part of it, ``keep`` weights that stay
    gathered for it on a mesh and ``regather`` what does not, ``reduce`` whether the gradients of microbatches are added
    up over the chips after the ``last`` or after ``each``, ``schedule`` what the stages of a pipeline do first (1f1b,
    gpipe), ``latency`` whether an exchange takes at least the time of its hops, ``config`` a config.json that has the sizes of a model,
    ``pad`` whether sizes that chips do not share out are the next that they do, ``lang`` the language of pages: en, ko or zh.
    """

    assume: str | Iterable[str] | None
    solve_for: str | None
    at: Sizes | str | Iterable[Sizes | str] | None
    given: Mapping[str, str | int | float] | None
    mesh: Mapping[str, int | str] | str | None
    link: str | None
    count: str | None
    compute: str | None
    dtype: str | None
    chips: str | Iterable[str] | None
    title: str | None
    let: Mapping[str, str] | None
    functions: Mapping[str, int | str | Sequence[int | str]] | None
    symbols: str | Iterable[str] | None
    sections: str | Iterable[str] | None
    training: bool | None
    config: str | Path | None
    pad: bool | None
    keep: str | Sequence[str] | None
    regather: str | Sequence[str] | None
    reduce: str | None
    schedule: str | None
    latency: bool | None
    statement: str | None
    lang: str | None
    solve: str | None


class Questions(Options, total=False):
    """What a derivation is asked besides: ``minimize`` is a formula that is to be least ``over`` a size, where the equation
    ``subject`` holds."""

    minimize: str | None
    over: str | None
    subject: str | None


def problem_of(asked: Asked, on: Chip, options: Options, axes: str = "") -> Problem:
    """The problem of an operation, a chip and options; a size that runs over one of the ``axes`` is not the one of a file."""
    return problem_on_each(asked, [] if on is None else [on], options, axes=axes)[0]


def sketch_of(asked: Asked | None, on: Chip, options: Options) -> Sketch | None:
    """The sketch of named formulas or a relation to solve, where there is no operation; None elsewhere.

    >>> sketch_of(None, None, {"let": {"x": "2"}}).let.keys(), sketch_of({"operation": "dot"}, None, {"let": {"x": "2"}})
    (dict_keys(['x']), None)
    """
    options_given = _given(options)
    if not isinstance(asked, Mapping | None) or has_operation(asked or {}):
        return None
    table = {**(asked or {}), **options_given, **({} if on is None else {"hardware": on})}
    return read_sketch(table) if any(map(table.get, ("let", "solve", "minimize"))) else None


def _given(options: Mapping[str, object]) -> dict[str, object]:
    """The options that say something. Raises :class:`ReadingError` for one of claims: nothing is judged."""
    if wrong := next((key for key in ("claims", *having("claims")) if options.get(key) is not None), None):
        raise ReadingError(f"{wrong} speaks of claims, and nothing is judged here", hint="give it to symroof.verify")
    return {key: value for key, value in options.items() if value is not None}


def _of_file(asked: object, axes: str = "") -> dict[str, Any] | None:
    """The one problem of a file, where a path is asked for; None for anything else."""
    if not (isinstance(asked, Path) or (isinstance(asked, str) and asked.endswith(".toml") and "\n" not in asked)):
        return None
    path = Path(asked)
    problems = read_problem_file(path)
    if len(problems) != 1:
        raise ReadingError(f"{path} has {len(problems)} problems", expected="a file with one problem")
    return merged(freed(problems[0], axes), {}, path.parent)


def problem_on_each(
    asked: Asked, on: list[Any], options: Options, spoken: Iterable[str] = (), axes: str = "", moving: bool = False
) -> tuple[Problem, list[Accelerator]]:
    """The problem on the first of several chips, and each of these with the figures that the options give.

    ``spoken`` are figures that something beside the problem uses. What is said of a problem goes before what it says; figures,
    axes, formulas and sizes add to its own, as they do on the command line. A size that runs over one of the ``axes`` is not
    the one of a file. Where sizes are ``moving``, theirs are where they begin.
    """
    options_given = _given(options)
    if isinstance(asked, Problem):
        table = {"operation": asked.operation, "hardware": asked.hardware, "symbols": asked.symbols} | options_given
    else:
        table = dict(asked) if isinstance(asked, Mapping) else _of_file(asked, axes) or {"operation": asked}
        own = {key: table.pop(key) for key in ("chips", "config") if key in table and key not in options_given}
        table = merged(table, options_given, Path()) | own
    if table.get("hardware") is not None:
        on = on or [table["hardware"]]
    chips = list(filter(None, (hardware_of(table | {"hardware": chip}) for chip in on)))
    problem = read_problem(table | {"hardware": on[0]} if on else table, frozenset(spoken), chips[1:], moving)
    if isinstance(asked, Problem):
        changed = {
            "hardware",
            *options_given,
            *(
                ("operation",)
                if options_given.keys() & {"training", "keep", "regather", "reduce", "schedule", "latency", "mesh"}
                else ()
            ),
            *(("joint",) if "link" in options_given else ()),
            *(("at", "unmodelled") if "config" in options_given else ()),
        } & Problem.__dataclass_fields__.keys()
        problem = replace(asked, **{name: getattr(problem, name) for name in changed})
    return problem, chips


def question_of(of: Any, problem: Problem | None) -> tuple[Formula | None, Formula | None]:
    """What is asked about: a quantity, or one and what it is said to be approximately. It speaks of the names of a
    problem, where there is one."""
    if of is None:
        return None, None
    scope = Scope(open=True)
    if problem is not None:
        options, operation = {"link": problem.link}, problem.operation
        if operation.axes:
            operation = with_wiring(operation, problem.hardware, problem.link)
        scope = scope_of(problem.names, operation, problem.symbols, problem.let, problem.hardware, options)
    return read_question(text_of(of, "of"), scope)


def listed(names: Any) -> list[Any]:
    """Names with commas between them, or a list of names or values; each once. What stands in brackets is one.

    >>> listed("tpu-v5e, h100,"), listed(["a", "a"]), listed("T_math, max(T_X, T_Y)")
    (['tpu-v5e', 'h100'], ['a'], ['T_math', 'max(T_X, T_Y)'])
    """
    if not isinstance(names, str | Iterable | None):
        raise ReadingError(f"{names!r} is no list of names")
    if isinstance(names, str):
        names = [name.strip() for name in re.split(r",(?![^(]*\))", names)]
    chips = [names] if isinstance(names, Mapping) else list(names or ())
    if any(isinstance(name, Mapping) for name in chips):
        return chips
    return list(dict.fromkeys(name for name in chips if name != ""))


def text_of(value: Any, what: str) -> str:
    """An argument that has to be text."""
    if not isinstance(value, str):
        raise ReadingError(f"{what} = {value!r} is not text")
    return value


def read_sketch(options: Mapping[str, Any]) -> Sketch:
    """The sketch that a table of options describes.

    >>> read_sketch({"let": {"chips": "weights/capacity"}, "symbols": ["weights", "capacity"]}).let.keys()
    dict_keys(['chips'])
    """
    require_known(options)
    for key in having("operation"):
        if options.get(key):
            raise ReadingError(f"{key} speaks of an operation, and the problem has none", expected='operation = "…"')
    model = model_of(options, hardware_of(options), None, ())
    growing = [relation for relation in model["assume"] if relation.relation != "="]
    if growing:
        raise ReadingError("assume: a regime is of an operation", expected="an equality, or an operation to derive")
    free = tuple(name for name in QUANTITIES if name not in (*model["symbols"], *model["let"]))
    names = (*model["symbols"], *model["let"], *free, *figure_names(model["hardware"]))
    scope = Scope(names, open=True, give_way=() if "bytes" in names else ("bytes",))
    solve, solve_for = read_solve(options, scope)
    least = read_minimize(options, scope, None)
    sections_of(options)
    title, at, lang = text(options, "title"), points_of(options, scope), language_of(options)
    return Sketch(**model, title=title, at=at, solve=solve, solve_for=solve_for, lang=lang, **least)
