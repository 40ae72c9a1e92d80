"""Exercises: claims, and what they speak of. An operation, or a model of named formulas, or nothing at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from symroof.errors import ReadingError, require_one_of
from symroof.formula import Compare, Formula
from symroof.model.dtype import Dtype
from symroof.model.hardware import Accelerator
from symroof.model.problem import Problem
from symroof.model.quantities import QUANTITIES
from symroof.reading.expressions import Scope
from symroof.reading.numbers import exact
from symroof.reading.problems import (
    claims_of,
    dtype_of,
    figure_names,
    formulas_of,
    hardware_of,
    read_problem,
    regime_of,
    require_known,
    require_used,
    text,
    texts,
)

TOLERANCE = Fraction(1, 20)
# From best to worst; the judgement of a claim is its worst link.
VERDICTS = ("holds", "rounded", "conditional", "undecided", "wrong", "unreadable")
# Quantities whose names are units after a number: 2 bytes. A problem that defines them takes the names back.
GIVE_WAY = ("bytes",)
CLAIM_KEYS = ("claim", "expect", "source")


@dataclass(frozen=True, slots=True)
class Stated:
    """A claim as it stands in its file: the verdict that its author expects, and where it comes from."""

    text: str
    expect: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Exercise:
    """What claims are judged against. Without a ``problem`` the named formulas ``let`` are the whole model.

    ``tolerance`` is how far ``~`` lets numbers differ. ``aliases`` are names that a document uses for known ones.
    """

    problem: Problem | None = None
    hardware: Accelerator | None = None
    title: str | None = None
    assume: tuple[Compare, ...] = ()
    symbols: tuple[str, ...] = ()
    let: Mapping[str, Formula] = field(default_factory=dict)
    claims: tuple[Stated, ...] = ()
    tolerance: Fraction = TOLERANCE
    aliases: Mapping[str, str] = field(default_factory=dict)
    compute: Dtype | None = None


def read_exercise(options: Mapping[str, Any], spoken: frozenset[str] = frozenset()) -> Exercise:
    """The exercise that a table of options describes; ``spoken`` are words that may use what it gives.

    >>> exercise = read_exercise({"let": {"work": "1e12 FLOPs"}, "claims": ["work / 1e12 FLOPs/s = 1 s"]})
    >>> exercise.problem, exercise.claims[0].text
    (None, 'work / 1e12 FLOPs/s = 1 s')
    """
    require_known(options, "the problem")
    common: dict[str, Any] = {
        "title": text(options, "title"),
        "claims": tuple(_stated(claim) for claim in claims_of(options)),
        "tolerance": _tolerance(options),
        "aliases": _aliases(options),
    }
    if options.get("operation"):
        problem = read_problem(options, spoken)
        return Exercise(
            problem, problem.hardware, assume=problem.assume, symbols=problem.symbols, let=problem.let, **common
        )
    for key in ("mesh", "link", "solve_for", "at"):
        if options.get(key):
            raise ReadingError(f"{key} speaks of an operation, and the problem has none", expected='operation = "…"')
    symbols, hardware = texts(options, "symbols"), hardware_of(options)
    scope = Scope(symbols, open=True, give_way=() if "bytes" in symbols else GIVE_WAY)
    free = tuple(name for name in QUANTITIES if name not in symbols)
    let = formulas_of(options, scope, (*free, *figure_names(hardware)), redefined=free)
    require_used(options, hardware, let, spoken)
    assume = regime_of(options, Scope((*symbols, *let, *free), open=True))
    return Exercise(
        None, hardware, assume=assume, symbols=symbols, let=let, compute=dtype_of(options, "compute"), **common
    )


def _stated(claim: Any) -> Stated:
    if isinstance(claim, str):
        return Stated(claim)
    if not isinstance(claim, Mapping) or not isinstance(claim.get("claim"), str):
        raise ReadingError(f"{str(claim)[:60]} is not a claim", expected='text, or { claim = "…", expect = "wrong" }')
    for key, value in claim.items():
        require_one_of(key, CLAIM_KEYS, f"a claim has no {key!r}")
        if not isinstance(value, str):
            raise ReadingError(f"{key} = {str(value)[:60]} is not text")
    return Stated(claim["claim"], expected_verdict(claim.get("expect")), claim.get("source"))


def giving_way(exercise: Exercise) -> tuple[str, ...]:
    """The names of an exercise that are units after a number."""
    return tuple(name for name in GIVE_WAY if name not in (*exercise.symbols, *exercise.let))


def expected_verdict(value: Any) -> str | None:
    """The verdict that an author expects, or None where nothing is said."""
    if value is not None:
        require_one_of(value, VERDICTS, f"expect = {str(value)[:40]!r} is no verdict")
    return value


def _tolerance(options: Mapping[str, Any]) -> Fraction:
    value = options.get("tolerance")
    if value is None:
        return TOLERANCE
    try:
        found = exact(str(value).strip().removesuffix("%")) / (100 if str(value).strip().endswith("%") else 1)
    except (ValueError, ReadingError):
        found = Fraction(-1)
    if isinstance(value, bool) or not 0 <= found < 1:
        raise ReadingError(
            f"tolerance = {str(value)[:40]} is not a share", expected='a number from 0 to below 1, as in 0.05 or "5 %"'
        )
    return found


def _aliases(options: Mapping[str, Any]) -> dict[str, str]:
    table = options.get("aliases") or {}
    if not isinstance(table, Mapping) or not all(isinstance(value, str) for value in table.values()):
        raise ReadingError(
            f"aliases = {str(table)[:60]} is not a table of names", expected='{ "Rechenaufwand" = "flops" }'
        )
    return {str(key): value for key, value in table.items()}
