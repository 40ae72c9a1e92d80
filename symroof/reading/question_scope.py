"""What a question about a problem can speak of, and the relation that it asks to be solved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypedDict

from symroof.errors import ReadingError, about, require_one_of
from symroof.formula import KEYWORDS, Compare, Formula, names
from symroof.model.hardware import Accelerator
from symroof.model.program import Program
from symroof.model.program_quantities import names_of_amounts, other_names
from symroof.model.program_sizes import served_tokens
from symroof.model.quantities import SPOKEN, TOKENS
from symroof.model.resources import time_names
from symroof.proof.quotients import ORDER
from symroof.reading.claims import ClaimReader
from symroof.reading.expressions import read_expression
from symroof.reading.grids import read_bindings
from symroof.reading.name_scope import Scope
from symroof.reading.toml import table, text, texts, unfit


def figure_names(hardware: Accelerator | None) -> tuple[str, ...]:
    """The figures that a formula can speak of: HBM, capacity.HBM, clock."""
    return tuple(hardware.spoken) if hardware else ()


def scope_of(
    sizes: tuple[str, ...],
    operation: Program,
    symbols: tuple[str, ...],
    let: Mapping[str, Formula],
    hardware: Accelerator | None,
    options: Mapping[str, Any],
) -> Scope:
    """Every name that a question about an operation can speak of."""
    named = of_programs(operation, hardware, options)
    every = (*sizes, *named, *symbols, *SPOKEN, *let, *figure_names(hardware))
    return Scope(tuple(dict.fromkeys(every))).with_others(other_names(operation))


def of_programs(operation: Program, hardware: Accelerator | None, options: Mapping[str, Any]) -> tuple[str, ...]:
    """The quantities that only programs have; one that the author has a formula for is theirs."""
    memory, let = text(options, "link") or "HBM", table(options, "let", '{ name = "formula" }')
    own = (*let, *texts(options, "symbols"))
    rate = () if TOKENS in own or operation.alone or served_tokens(operation) is None else (TOKENS,)
    return (*names_of_amounts(operation), *time_names(operation, memory, hardware), *rate)


def read_solve(options: Mapping[str, Any], scope: Scope) -> tuple[Compare | None, str | None]:
    """A relation between quantities, and the name that it is to be solved for: one that may stand for nothing else."""
    written, name = text(options, "solve"), text(options, "solve_for")
    if written is None:
        return None, name
    if name is None or not is_name(name):
        raise ReadingError("solve: what is it to be solved for?", expected='solve_for = "N", a name of the relation')
    with about("solve: "):
        scope = replace(scope, names=(*scope.names, name))
        return _one_relation(written, scope, (*ORDER, "="), "one of <, <=, >, >= and =, once"), name


def _one_relation(written: str, scope: Scope, relations: tuple[str, ...], expected: str) -> Compare:
    reader = ClaimReader(written, scope)
    links = [link for chain in reader.proposition() for link in chain.links]
    reader.expect_end("the end of the relation")
    if len(links) != 1 or links[0].relation not in relations:
        raise reader.error("this is no relation to solve", expected, token=reader.tokens[0])
    return links[0]


class Minimum(TypedDict):
    """What is to be least, over what, and subject to which equation."""

    minimize: Formula | None
    over: str | None
    subject: Compare | None


def read_minimize(options: Mapping[str, Any], scope: Scope, sizes: Iterable[str] | None) -> Minimum:
    """A formula that is to be least over one of the sizes, and an equation that may name what it shares out: 64 chips, or N.

    >>> scope = Scope(("X", "Y", "T_X", "T_Y"))
    >>> asked = read_minimize({"minimize": "max(T_X, T_Y)", "over": "X", "subject": "X*Y = N"}, scope, "XY")
    >>> asked["over"], shared(asked["subject"], scope)
    ('X', ('N',))
    """
    written, over, subject = (text(options, key) for key in ("minimize", "over", "subject"))
    if written is None:
        for key in ("over", "subject"):
            if options.get(key) is not None:
                raise ReadingError(f"{key} speaks of what is to be least", expected='minimize = "max(T_X, T_Y)"')
        return {"minimize": None, "over": None, "subject": None}
    if over is None or not is_name(over):
        raise ReadingError("minimize: what is it to be least over?", expected='over = "X", a size')
    if sizes is not None:
        require_one_of(over, sizes, f"over = {over!r} is not known")
    scope = replace(scope, names=(*scope.names, over))
    equation = None
    if subject is not None:
        with about("subject: "):
            equation = _one_relation(subject, replace(scope, open=True), ("=",), 'an equation, as in "X*Y = N"')
    with about("minimize: "):
        named = replace(scope, names=(*scope.names, *shared(equation, scope)))
        return {"minimize": read_expression(written, named), "over": over, "subject": equation}


def shared(subject: Compare | None, scope: Scope) -> tuple[str, ...]:
    """The names that an equation gives to what is shared out."""
    return () if subject is None else tuple(name for name in names(subject) if name not in scope.names)


def is_name(name: str) -> bool:
    return name not in KEYWORDS and name.replace("_", "").isalnum() and not name[:1].isdigit()


def points_of(options: Mapping[str, Any], scope: Scope, symbols: Iterable[str] = ()) -> tuple[dict[str, Fraction], ...]:
    """The sets of sizes that are put in; ``symbols`` are names that are no sizes."""
    read = []
    for parts in sets_of(options):
        sizes: dict[str, Fraction] = {}
        for part in parts:
            if isinstance(part, frozenset):
                sizes = {name: size for name, size in sizes.items() if name not in part}
                continue
            text = part if isinstance(part, str) else ", ".join(f"{name} = {value}" for name, value in part.items())
            sizes |= read_bindings(text, scope, tuple(symbols))
        read += [sizes] if sizes and sizes not in read else []
    return tuple(read)


def sets_of(options: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The sets of sizes as they were given: each in parts, of which a later one goes before an earlier one; a part that is
    a set of names leaves these open."""
    given = options.get("at") or ()
    given = (given,) if isinstance(given, str | Mapping) else given
    if isinstance(given, Iterable):
        points = [point if isinstance(point, tuple) else (point,) for point in given]
        if all(isinstance(part, str | Mapping | frozenset) for parts in points for part in parts):
            return points
    raise unfit("at", given, "a set of sizes", "{ D = 8192 }, or D=8192")
