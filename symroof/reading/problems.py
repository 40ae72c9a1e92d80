"""Problems from TOML files, from keyword arguments and from command lines: one set of keys, one reader."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from os.path import realpath
from pathlib import Path
from typing import Any
from warnings import warn

from symroof.errors import ReadingError, about, nearest, require_one_of, suggestion
from symroof.formula import Compare, Formula, Name, names
from symroof.model.collectives import Mesh
from symroof.model.given_costs import COUNTINGS
from symroof.model.hardware import WORDS_OF_TEXTS, Accelerator, Spec
from symroof.model.mesh_wiring import with_wiring
from symroof.model.problem import SECTIONS, Problem
from symroof.model.program import Program
from symroof.model.program_quantities import other_names
from symroof.model.program_sizes import known_of_sizes
from symroof.model.program_tree import ROLES
from symroof.model.quantities import QUANTITIES
from symroof.model.splits import open_axes, padded_sizes
from symroof.reading.chips import chip, figure, own_chip, shipped, unit_of
from symroof.reading.claims import read_regime
from symroof.reading.configurations import configured, require_given
from symroof.reading.expressions import read_expression
from symroof.reading.keys import CALLED, KEYS
from symroof.reading.languages import language_of
from symroof.reading.meshes import axes_of, meshed, read_mesh, wired_otherwise
from symroof.reading.name_scope import Scope
from symroof.reading.operation_keys import dtype_of, operation_of, size_facts_of, statement_of
from symroof.reading.question_scope import (
    figure_names,
    is_name,
    of_programs,
    points_of,
    read_minimize,
    read_solve,
    scope_of,
    sets_of,
    shared,
)
from symroof.reading.tensors import COMMENT
from symroof.reading.toml import flag, flatten, read_table, table, text, text_file, texts, unfit
from symroof.symbols import depth, expression

Options = Mapping[str, Any]
Names = tuple[str, ...]
WORD = re.compile(r"[^\W\d]\w*")
FIGURES = '{ HBM = "8.1e11 bytes/s" }'
# Quantities whose names are units after a number: 2 bytes. A problem that defines them takes the names back.
GIVE_WAY = ("bytes",)
MOST_FORMULAS, MOST_SIZES = 1000, 64
# The keys of what is asked, in whose formulas a number of chips may have the name of its axis.
ASKING = ("solve", "minimize", "subject", "claims")
# How a program begins, and no table of TOML does.
BEGINNING = re.compile(rf"[\s;]*(?:(?:frozen|shared|mesh|where|{'|'.join(ROLES)})[ \t]+[^\W\d]|\w+[ \t]*:\s*\w+\[)")


def _on_its_mesh(options: Options, chips: Iterable[Accelerator | None], moving: bool) -> tuple[Options, Program, Mesh]:
    """The options, the operation on its mesh, and the mesh. An axis that one of the chips wires so many chips of otherwise has a
    number, and is no size."""
    own = {axis.name: axis for axis in read_mesh(options.get("mesh") or {})}
    operation, mesh = meshed(operation_of(options), own)
    points = size_facts_of(options).points if operation.axes and not moving else ()
    numbers = wired_otherwise(operation, chips, text(options, "link") or "", points) if operation.axes else {}
    if not numbers:
        return options, operation, mesh
    numbered = {name: replace(mesh[name], chips=n) for name, n in numbers.items()}
    operation, mesh = meshed(operation_of(options), {**own, **numbered})
    left = ({name: size for name, size in point.items() if name not in numbers} for point in points)
    spoken = {*WORD.findall(" ".join(str(options.get(key) or "") for key in ("let", *ASKING)))}
    sizes = {name: str(n) for name, n in numbers.items() if name in spoken}
    options = {**options, "at": [point for point in left if point]}
    return options | ({"let": {**sizes, **(options.get("let") or {})}} if sizes else {}), operation, mesh


def read_problem(
    options: Options, spoken: frozenset[str] = frozenset(), beside: Iterable[Accelerator] = (), moving: bool = False
) -> Problem:
    """The problem that a table of options describes. Every key is optional but ``operation``. ``beside`` are other chips that
    it is held against; an axis has a number where one of them wires so many chips otherwise, unless sizes are ``moving``.

    >>> problem = read_problem({"operation": "matmul", "hardware": "tpu-v5e", "assume": "B << D, F"})
    >>> problem.hardware.title, len(problem.assume)
    ('TPU v5e', 2)
    """
    require_known(options)
    options = configured(options)
    hardware = hardware_of(options)
    options, operation, mesh = _on_its_mesh(options, (hardware, *beside), moving)
    # what questions can speak of: the times of axes, or of the switch that they are on
    named = with_wiring(operation, hardware, text(options, "link") or "") if operation.axes else operation
    axes = open_axes(mesh)
    sizes = (*operation.dimensions, *axes)
    if len(sizes) > MOST_SIZES:
        expected = f"at most {MOST_SIZES}; those that are known as numbers"
        raise ReadingError(f"{len(sizes)} sizes are too many", expected=expected)
    require_given(options, sizes)
    model = model_of(options, hardware, named, spoken, axes)
    scope = scope_of(sizes, named, model["symbols"], model["let"], model["hardware"], options)
    solve, solve_for = read_solve(options, scope)
    least = read_minimize(options, scope, sizes)
    given = _given(operation, (*sizes, *shared(least["subject"], scope), *model["symbols"]))
    points = points_of(_of_operation(options, sizes), given, model["symbols"])
    if pad := flag(options, "pad", "true where sizes are the next multiple that chips share out"):
        points = tuple(padded_sizes(operation, mesh, point) for point in points)
    return Problem(
        operation=operation,
        title=text(options, "title"),
        solve=solve,
        solve_for=text(options, "solve_for", sizes) if solve is None else solve_for,
        count=text(options, "count", COUNTINGS) or "fma",  # type: ignore[arg-type]
        mesh=mesh,
        link=text(options, "link") or "HBM",
        joint=text(options, "link") is None,
        at=points,
        pad=pad,
        unmodelled=options.get("unmodelled", ()),
        sections=sections_of(options),
        statement=statement_of(options, operation),
        lang=language_of(options),
        **least,
        **model,
    )


def _of_operation(options: Options, sizes: Collection[str]) -> Options:
    """The options with those sizes of a configuration alone that the operation has."""
    if "unmodelled" not in options:
        return options
    sets = [({n: x for n, x in own.items() if n in sizes}, *rest) for own, *rest in sets_of(options)]
    return {**options, "at": sets}


def _given(operation: Program, known: tuple[str, ...]) -> Scope:
    """What sets of sizes may name; a size that others define is told from one that is not there."""
    defined = tuple((name, names(formula)) for name, formula in operation.where.items() if name not in known)
    return Scope(known, defined=defined)


def model_of(
    options: Options,
    hardware: Accelerator | None,
    operation: Program | None,
    spoken: Iterable[str],
    axes: tuple[str, ...] = (),
) -> dict[str, Any]:
    """What is stated with an operation or without one: the chip, the names and their formulas, and the regime. Without an
    operation names declare themselves, and what is a quantity elsewhere may be given a formula."""
    symbols = texts(options, "symbols")
    for name in symbols:
        if not is_name(name):
            raise ReadingError(f"symbols: {name!r} is no name", expected="letters, digits and _, as in n_heads")
    own = {*WORDS_OF_TEXTS}.intersection(let if isinstance(let := options.get("let"), Mapping) else ())
    figures = tuple(name for name in figure_names(hardware) if name not in own)
    if operation is not None:
        scope = Scope((*operation.dimensions, *axes, *symbols)).with_others(other_names(operation))
        let = formulas_of(options, scope, (*QUANTITIES, *of_programs(operation, hardware, options), *figures))
    else:
        free = tuple(name for name in QUANTITIES if name not in symbols)
        scope = Scope(symbols, open=True, give_way=() if "bytes" in symbols else GIVE_WAY)
        let = formulas_of(options, scope, (*free, *figures), redefined=free)
        scope = Scope((*symbols, *let, *free), open=True)
    mesh = () if operation is None else operation.mesh
    links = tuple(word for axis in mesh if axis.link for word in (axis.link, *WORD.findall(axis.link)))
    links += tuple(WORD.findall(f"{options.get('mesh') or ''} {options.get('operation') or ''}"))
    require_used(options, let, (*spoken, *links))
    assume, compute = regime_of(options, scope), dtype_of(options, "compute")
    facts = [fact for fact in (() if operation is None else known_of_sizes(operation)) if _relates_products(fact)]
    assume = tuple(dict.fromkeys((*facts, *assume)))
    return {"hardware": hardware, "symbols": symbols, "let": let, "assume": assume, "compute": compute}


def _relates_products(fact: Compare) -> bool:
    """Whether a regime has room for what is known of sizes: products. What has sums stands in the program alone."""
    parts = (part for side in (fact.left, fact.right) for part in expression(side).as_numer_denom())
    return not any(part.expand().is_Add for part in parts)


def claims_of(options: Options) -> list[Any]:
    """The claims of a problem, as they were written; their reader judges them one by one."""
    claims = options.get("claims") or []
    if not isinstance(claims, list | tuple):
        raise unfit("claims", claims, "a list of claims")
    return list(claims)


def merged(options: Options, overrides: Options, folder: Path) -> dict[str, Any]:
    """Options of a file in a folder under overrides: figures, axes, formulas and sizes add to those of the file, everything
    else replaces. Each set of sizes of the file is under each of the overrides.

    A file names chips in its own folder alone: files are not trusted, and what is said on the command line is.

    >>> merged({"given": {"HBM": "8.2e11"}, "hardware": "tpu-v5e"}, {"given": {"peak": "2e14"}}, Path())
    {'given': {'HBM': '8.2e11', 'peak': '2e14'}, 'hardware': 'tpu-v5e'}
    >>> merged({"at": "B=64, D=8192"}, {"at": ["B=1", "B=2"]}, Path())
    {'at': [('B=64, D=8192', 'B=1'), ('B=64, D=8192', 'B=2')]}
    """
    joined: dict[str, Any] = {
        key: {**flatten(table({key: axes_of(options.get(key))}, key, example)), **axes_of(overrides[key])}
        for key, example in (
            ("given", FIGURES),
            ("mesh", "{ X = 2 }"),
            ("functions", "{ f = 3 }"),
            ("let", '{ name = "formula" }'),
        )
        if isinstance(axes_of(overrides.get(key)), Mapping) and overrides[key]
    }
    if options.get("chips") and "chips" not in overrides:
        joined["chips"] = [_inside(folder, name) for name in texts(options, "chips")]
    if options.get("config") and "config" not in overrides:
        joined["config"] = _inside(folder, str(text(options, "config")), "config")
    if options.get("at") and overrides.get("at"):
        joined["at"] = [(*own, *others) for own in sets_of(options) for others in sets_of(overrides)]
    return {**options, **overrides, **joined}


def freed(options: Options, axes: str) -> dict[str, Any]:
    """Options of a file, in which no size is fixed that runs over one of the ``axes``.

    >>> freed({"at": "B=64, D=8192"}, "B=1..400")
    {'at': [('B=64, D=8192', frozenset({'B'}))]}
    """
    free = frozenset(re.findall(r"(\w+)\s*=", axes))
    sets = [(*own, free) for own in sets_of(options)] if free else []
    return {**options, **({"at": sets} if sets else {})}


def _inside(folder: Path, name: str, key: str = "chips") -> str:
    path = Path(realpath(folder / name))
    if not path.is_relative_to(Path(realpath(folder))):
        raise ReadingError(
            f"{key}: {name} is not in the folder of the file that names it",
            hint=f"--{key} FILE on the command line reads any file",
        )
    return str(path)


def require_used(options: Options, let: Mapping[str, Formula], words: Iterable[str]) -> None:
    """A figure that is given is one that chips have, the link, or one that a formula or a word speaks of."""
    names_used = {
        "peak",
        str(options.get("link") or "HBM"),
        *words,
        *(name for formula in let.values() for name in names(formula)),
    }
    for key in ("solve", "minimize"):
        names_used |= set(WORD.findall(str(options.get(key) or "")))
    names_used |= {word for claim in claims_of(options) for word in WORD.findall(str(claim))}
    names_used |= shipped().figures
    families = {name.partition(".")[0] for name in names_used} | names_used
    for name, value in flatten(options.get("given") or {}).items():
        unit = unit_of(name) if isinstance(options.get("hardware"), str) and BARE.fullmatch(str(value)) else None
        if unit in LOST:
            warn(f"{name} is {value} {unit} here: or is it {value} {LOST[unit]}?", stacklevel=2)
        if name.partition(".")[0] not in families:
            hint = suggestion(FIGURES_CALLED.get(nearest(name, FIGURES_CALLED) or "", name), names_used)
            raise ReadingError(f"given: nothing uses {name}", hint=hint)


# A figure of less than a million without a unit, and the unit that it may have lost.
BARE = re.compile(r"\s*\d{1,6}(\.\d*)?\s*")
LOST = {"bytes/s": "GB/s", "FLOPs/s": "TFLOPs/s"}
# What people call a figure.
FIGURES_CALLED = {
    **dict.fromkeys(("bandwidth", "bw", "memory", "dram"), "HBM"),
    **dict.fromkeys(("flops", "FLOPs", "tflops", "compute"), "peak"),
}


def require_key(key: str, keys: Collection[str], where: str) -> None:
    """Raises :class:`ReadingError` where a key is none of the known ones; the one that is meant is offered.

    >>> require_key("on", KEYS, "the problem")
    Traceback (most recent call last):
    symroof.errors.ReadingError: the problem: unknown key 'on'
      did you mean hardware?
    """
    meant = CALLED.get(key)
    if meant is not None and meant in keys and key not in keys:
        raise ReadingError(f"{where}: unknown key {key!r}", hint=f"did you mean {meant}?")
    require_one_of(key, keys, f"{where}: unknown key {key!r}")


def require_known(options: Options) -> None:
    for key, value in options.items():
        if key not in KEYS and key[:1].isupper() and isinstance(value, int | float):
            raise ReadingError(f"the problem: unknown key {key!r}", hint=f'sizes are put in by at: at="{key}={value}"')
        require_key(key, KEYS, "the problem")


def sections_of(options: Options) -> tuple[str, ...]:
    chosen = [name.strip() for text in texts(options, "sections") for name in text.split(",")]
    for name in chosen:
        require_one_of(name, SECTIONS, f"sections = {name!r} is not known")
    return tuple(chosen or SECTIONS)


def hardware_of(options: Options) -> Accelerator | None:
    """The chip with the figures that are given beside it; None where nothing is said of either."""
    named, given = options.get("hardware"), flatten(table(options, "given", FIGURES))
    paths = texts(options, "chips")
    if not isinstance(named, Accelerator | str | Mapping | None):
        raise unfit("hardware", named, "a chip", "a name or a table of figures")
    if isinstance(named, str):
        own = chip(named, *paths)
    else:
        own = named if isinstance(named, Accelerator) else own_chip(named or {})
    figures = {name: _referred(own, name, value) or figure(name, value, otherwise="") for name, value in given.items()}
    return None if named is None and not figures else own.given(figures)


def _referred(accelerator: Accelerator, name: str, value: Any) -> Spec | None:
    """A figure given by the name of another: peak = peak.vector."""
    if not isinstance(value, str) or not value.strip()[:1].isalpha():
        return None
    figure = accelerator.figures.get(value.strip())
    if figure is None:
        number = f"a number such as 8.2e11 {unit_of(name) or ''}".rstrip()
        figures = f"one of {', '.join(accelerator.figures)}" if accelerator.figures else ""
        expected = ", or ".join(filter(None, (number, figures)))
        raise ReadingError(f"given: {name} = {value.strip()}: there is no figure of that name", expected=expected)
    if unit_of(name) not in (None, figure.unit):
        raise ReadingError(f"given: {name} is in {unit_of(name)}, and {value.strip()} in {figure.unit}")
    return figure


def regime_of(options: Options, scope: Scope) -> tuple[Compare, ...]:
    return tuple(_turned(relation) for text in texts(options, "assume") for relation in read_regime(text, scope))


def _turned(relation: Compare) -> Compare:
    """An equality with its name on the left."""
    if relation.relation in ("=", "~") and isinstance(relation.right, Name) and not isinstance(relation.left, Name):
        return Compare(relation.right, relation.relation, relation.left)
    return relation


def formulas_of(options: Options, scope: Scope, known: Names, redefined: Names = ()) -> dict[str, Formula]:
    """The named formulas: each may speak of the ``known`` names and of those before it.

    Names that are ``redefined`` may be given a formula although they have a meaning without one.
    """
    names, formulas, steps = (*scope.names, *known), dict[str, Formula](), dict[str, int]()
    table_of_names = table(options, "let", '{ name = "formula" }')
    if len(table_of_names) > MOST_FORMULAS:
        raise ReadingError(f"let: {len(table_of_names)} formulas are too many", expected=f"at most {MOST_FORMULAS}")
    for name, written in table_of_names.items():
        taken = name in names and name not in redefined
        if taken or not is_name(name):
            raise ReadingError(f"let: the name {name!r} is taken or is no name")
        with about(f"let {name}: "):
            formulas[name] = read_expression(str(written), replace(scope, names=names))
            steps[name] = depth(formulas[name], steps)
        names = (*names, name)
    return formulas


def read_problem_file(path: Path) -> tuple[dict[str, Any], ...]:
    """The problems of a file, as option tables."""
    return read_problems(text_file(path), str(path))


def read_problems(written: str, name: str) -> tuple[dict[str, Any], ...]:
    """The problems of a text that errors call ``name``: the whole text, or one for each ``[[problem]]``.

    >>> read_problems('operation = "matmul"', "a file"), read_problems("input x: bf16[N]; y = relu(x)", "a file")
    (({'operation': 'matmul'},), ({'operation': 'input x: bf16[N]; y = relu(x)'},))
    """
    whole = read_options(written, name)
    tables = whole.get("problem", [whole])
    if "problem" in whole and (len(whole) > 1 or not isinstance(tables, list)):
        extra = ", ".join(key for key in whole if key != "problem") or "another form"
        raise ReadingError(f"{name} mixes [[problem]] with {extra}", expected="only [[problem]] tables")
    if not tables:
        raise ReadingError(f"{name} has no problem in it")
    if not all(isinstance(table, Mapping) for table in tables):
        raise ReadingError(f"{name}: a problem is not a table", expected="[[problem]]")
    return tuple(map(dict, tables))


def read_options(written: str, name: str) -> dict[str, Any]:
    """The options that a text states in TOML; one that begins as a program does is the operation."""
    if BEGINNING.match(COMMENT.sub("", written)):
        return {"operation": written}
    return read_table(written, name)
