"""Problems from TOML files, from keyword arguments and from command lines: one set of keys, one reader."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from symroof.errors import ReadingError, about, require_one_of, suggestion
from symroof.formula import KEYWORDS, Compare, Formula, Name, names
from symroof.model.cost import COUNTINGS
from symroof.model.dtype import Dtype, dtype
from symroof.model.einsum import Einsum
from symroof.model.hardware import Accelerator, Known
from symroof.model.operation import AnyOperation, Operation
from symroof.model.problem import SECTIONS, Problem
from symroof.model.quantities import QUANTITIES
from symroof.reading.axes import axes_of, read_mesh
from symroof.reading.bindings import read_bindings
from symroof.reading.catalogue import chip, figure, own_chip, shipped, unit_of
from symroof.reading.expressions import Scope, read_expression
from symroof.reading.operations import read_operation
from symroof.reading.regimes import read_regime
from symroof.reading.toml import flatten, read_table_file
from symroof.reading.vocabulary import WORDS

WORD = re.compile(r"[^\W\d]\w*")
KEYS: list[str] = WORDS["problem"]["keys"]


def read_problem_file(path: Path) -> tuple[dict[str, Any], ...]:
    """The problems of a TOML file, as option tables: the whole file, or one for each ``[[problem]]``."""
    table = read_table_file(path)
    tables = table.get("problem", [table])
    if "problem" in table and (len(table) > 1 or not isinstance(tables, list)):
        extra = ", ".join(key for key in table if key != "problem")
        raise ReadingError(
            f"{path} mixes [[problem]] with {extra or 'another form'}", expected="only [[problem]] tables"
        )
    if not tables:
        raise ReadingError(f"{path} has no problem in it")
    for entry in tables:
        if not isinstance(entry, Mapping):
            raise ReadingError(f"{path}: a problem is not a table", expected="[[problem]]")
    return tuple(dict(entry) for entry in tables)


def read_problem(options: Mapping[str, Any], spoken: frozenset[str] = frozenset()) -> Problem:
    """The problem that a table of options describes. Every key is optional but ``operation``.

    >>> problem = read_problem({"operation": "matmul", "hardware": "tpu-v5e", "assume": "B << D, F"})
    >>> problem.hardware.title, len(problem.assume)
    ('TPU v5e', 2)
    """
    require_known(options, "the problem")
    if not options.get("operation"):
        raise ReadingError("the problem has no operation, so there is nothing to derive", expected='operation = "…"')
    element = dtype_of(options, "dtype")
    operation = options["operation"]
    if isinstance(operation, str):
        operation = read_operation(operation, element)
    if not isinstance(operation, Einsum | Operation):
        raise ReadingError(
            f"operation = {str(operation)[:60]!r} is not an operation", expected="text, or sr.Operation(…)"
        )
    scope = Scope((*operation.dimensions, *texts(options, "symbols")))
    hardware = hardware_of(options)
    let = formulas_of(options, scope, (*QUANTITIES, *figure_names(hardware)))
    require_used(options, hardware, let, spoken)
    mesh, wiring = read_mesh(options.get("mesh") or {})
    return Problem(
        operation=operation,
        hardware=hardware,
        assume=regime_of(options, scope),
        title=text(options, "title"),
        solve_for=_choice(options, "solve_for", operation.dimensions),
        count=_choice(options, "count", COUNTINGS) or "fma",  # type: ignore[arg-type]
        compute=dtype_of(options, "compute"),
        mesh=mesh,
        wiring=wiring,
        link=text(options, "link") or "HBM",
        at=_points(options, operation),
        symbols=texts(options, "symbols"),
        let=let,
        sections=_sections(options),
    )


def claims_of(options: Mapping[str, Any]) -> list[Any]:
    """The claims of a problem, as they were written; their reader judges them one by one."""
    claims = options.get("claims") or []
    if not isinstance(claims, list | tuple):
        raise ReadingError(f"claims = {str(claims)[:60]} is not a list of claims")
    return list(claims)


def merged(table: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Options under overrides: figures and axes add to those of the table, everything else replaces.

    >>> merged({"given": {"HBM": "8.2e11"}, "hardware": "tpu-v5e"}, {"given": {"peak": "2e14"}})
    {'given': {'HBM': '8.2e11', 'peak': '2e14'}, 'hardware': 'tpu-v5e'}
    """
    joined = {
        key: {**flatten(axes_of(table.get(key)) or {}), **axes_of(overrides[key])}
        for key in ("given", "mesh")
        if overrides.get(key)
    }
    return {**table, **overrides, **joined}


def require_used(
    options: Mapping[str, Any], hardware: Accelerator | None, let: Mapping[str, Formula], words: frozenset[str]
) -> None:
    """A figure that is given is one that chips have, the link, or one that a formula speaks of."""
    spoken = {name for formula in let.values() for name in names(formula)} | {str(options.get("link") or "HBM")}
    spoken |= words
    spoken |= {word for claim in claims_of(options) for word in WORD.findall(str(claim))}
    usual = {figure for accelerator in shipped().values() for figure in accelerator.figures} | {"peak"}
    for name in flatten(options.get("given") or {}):
        if name.partition(".")[0] not in {figure.partition(".")[0] for figure in usual} | spoken:
            raise ReadingError(f"given: nothing uses {name}", hint=suggestion(name, usual | spoken))


def require_known(options: Mapping[str, Any], where: str) -> None:
    for key in options:
        require_one_of(key, KEYS, f"{where}: unknown key {key!r}")


def text(options: Mapping[str, Any], key: str) -> str | None:
    value = options.get(key)
    if value is not None and not isinstance(value, str):
        raise ReadingError(f"{key} = {str(value)[:60]} is not text")
    return value


def texts(options: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = options.get(key) or ()
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, Iterable) or not all(isinstance(text, str) for text in texts):
        raise ReadingError(f"{key} = {str(value)[:60]} is not a list of texts")
    return tuple(texts)


def _choice(options: Mapping[str, Any], key: str, known: Iterable[str]) -> str | None:
    value = text(options, key)
    if value is not None:
        require_one_of(value, known, f"{key} = {value!r} is not known")
    return value


def _sections(options: Mapping[str, Any]) -> tuple[str, ...]:
    chosen = tuple(name.strip() for text in texts(options, "sections") for name in text.split(","))
    for name in chosen:
        _choice({"sections": name}, "sections", SECTIONS)
    return chosen or tuple(SECTIONS)


def dtype_of(options: Mapping[str, Any], key: str) -> Dtype | None:
    name = text(options, key)
    return None if name is None else dtype(name)


def hardware_of(options: Mapping[str, Any]) -> Accelerator | None:
    named, given = options.get("hardware"), options.get("given") or {}
    if not isinstance(given, Mapping):
        raise ReadingError(f"given = {str(given)[:60]!r} is not a table", expected='{ HBM = "8.1e11 bytes/s" }')
    given = flatten(given)
    paths = texts(options, "chips")
    if isinstance(named, Accelerator):
        accelerator = named
    elif isinstance(named, str):
        accelerator = chip(named, *paths)
    elif isinstance(named, Mapping):
        accelerator = own_chip(named)
    elif named is None:
        accelerator = Accelerator("given", "the given chip", {})
    else:
        raise ReadingError(f"hardware = {str(named)[:60]!r} is not a chip", expected="a name or a table of figures")
    overrides = {}
    for name, value in given.items():
        overrides[name] = _referred(accelerator, name, value) or figure(name, value, otherwise="")
    return None if named is None and not overrides else accelerator.given(overrides)


def _referred(accelerator: Accelerator, name: str, value: Any) -> Known | None:
    """A figure given by the name of another: peak = peak.vector."""
    if not isinstance(value, str) or not value.strip()[:1].isalpha():
        return None
    known = accelerator.figure(value.strip())
    if unit_of(name) not in (None, known.unit):
        raise ReadingError(f"given: {name} is in {unit_of(name)}, and {value.strip()} in {known.unit}")
    return known


def regime_of(options: Mapping[str, Any], scope: Scope) -> tuple[Compare, ...]:
    relations = [relation for text in texts(options, "assume") for relation in read_regime(text, scope)]
    return tuple(_turned(relation) for relation in relations)


def _turned(relation: Compare) -> Compare:
    """An equality with its name on the left."""
    if relation.relation in ("=", "~") and isinstance(relation.right, Name) and not isinstance(relation.left, Name):
        return Compare(relation.right, relation.relation, relation.left)
    return relation


def _points(options: Mapping[str, Any], operation: AnyOperation) -> tuple[dict[str, Fraction], ...]:
    points = options.get("at") or ()
    points = (points,) if isinstance(points, str | Mapping) else points
    read = []
    if not isinstance(points, Iterable) or not all(isinstance(point, str | Mapping) for point in points):
        raise ReadingError(f"at = {str(points)[:60]} is not a set of sizes", expected="{ D = 8192 }, or D=8192")
    for point in points:
        text = point if isinstance(point, str) else ", ".join(f"{name} = {value}" for name, value in point.items())
        read.append(read_bindings(text, Scope(operation.dimensions)))
    for point in read:
        for name, value in point.items():
            if value < 1:
                raise ReadingError(f"at: {name} = {value} is no size of a dimension", expected="a number from 1")
    return tuple(point for i, point in enumerate(read) if point not in read[:i])


def figure_names(hardware: Accelerator | None) -> tuple[str, ...]:
    """The figures that a formula can speak of."""
    return tuple(name for name in (hardware.figures if hardware else ()) if "." not in name)


def formulas_of(
    options: Mapping[str, Any], scope: Scope, known: tuple[str, ...], redefined: tuple[str, ...] = ()
) -> dict[str, Formula]:
    """The named formulas: each may speak of the ``known`` names and of those before it.

    Names that are ``redefined`` may be given a formula although they have a meaning without one.
    """
    table = options.get("let") or {}
    if not isinstance(table, Mapping):
        raise ReadingError(f"let = {str(table)[:60]} is not a table", expected='{ name = "formula" }')
    names, formulas = (*scope.names, *known), {}
    for name, text in table.items():
        taken = name in names and name not in redefined
        if taken or name in KEYWORDS or not name.replace("_", "").isalnum() or name[:1].isdigit():
            raise ReadingError(f"let: the name {name!r} is taken or is no name")
        with about(f"let {name}: "):
            formulas[name] = read_expression(str(text), replace(scope, names=names))
        names = (*names, name)
    return formulas
