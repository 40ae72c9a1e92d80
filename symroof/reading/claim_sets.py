"""Exercises: claims, and what they speak of. An operation, or a model of named formulas, or nothing at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from fractions import Fraction
from typing import Any

from symroof.errors import ReadingError, require_one_of
from symroof.formula import Compare, Formula, Frozen, names, number
from symroof.model.hardware import Accelerator
from symroof.model.problem import Problem
from symroof.model.tensor_types import Dtype
from symroof.reading.claims import Claim
from symroof.reading.keys import having
from symroof.reading.languages import language_of
from symroof.reading.numbers import exact
from symroof.reading.operation_keys import has_operation
from symroof.reading.problems import GIVE_WAY, claims_of, hardware_of, model_of, read_problem, require_known
from symroof.reading.toml import table, text, unfit

TOLERANCE = Fraction(1, 20)
# From best to worst; the judgement of a claim is its worst link.
VERDICTS = ("holds", "rounded", "conditional", "undecided", "wrong", "unreadable")
# How numbers are printed: rounded to nearest, or cut off as well.
DIGITS = ("any", "nearest")
# What an author decides of how numbers are read.
READING = having("claims")
# What GB stands for: 10^9 bytes, or 2^30 as well.
PREFIXES = ("decimal", "any", "binary")
CLAIM_KEYS = ("claim", "expect", "source")


class StatedClaim(Frozen):
    """A claim as it stands in its file: the verdict that its author expects, and where it comes from."""

    text: str
    expect: str | None = None
    source: str | None = None


class Exercise(Frozen):
    """What claims are judged against. Without a ``problem`` the named formulas ``let`` are the whole model.

    ``tolerance`` is how far ``~`` lets numbers differ. ``aliases`` are names that a document uses for known ones. ``count``
    is the way of counting additions that was asked for, None where nothing is said of it. With ``nearest`` a printed number
    is its value rounded to nearest, within 5 %: one that is cut off may not stand. With ``binary`` a GB may be a GiB.
    """

    problem: Problem | None = None
    hardware: Accelerator | None = None
    title: str | None = None
    assume: tuple[Compare, ...] = ()
    symbols: tuple[str, ...] = ()
    let: Mapping[str, Formula] = field(default_factory=dict)
    claims: tuple[StatedClaim, ...] = ()
    tolerance: Fraction = TOLERANCE
    aliases: Mapping[str, str] = field(default_factory=dict)
    compute: Dtype | None = None
    count: str | None = None
    nearest: bool = False
    binary: bool = False


def read_exercise(options: Mapping[str, Any], spoken: frozenset[str] = frozenset()) -> Exercise:
    """The exercise that a table of options describes; ``spoken`` are words that may use what it gives.

    >>> exercise = read_exercise({"let": {"work": "1e12 FLOPs"}, "claims": ["work / 1e12 FLOPs/s = 1 s"]})
    >>> exercise.problem, exercise.claims[0].text
    (None, 'work / 1e12 FLOPs/s = 1 s')
    """
    require_known(options)
    language_of(options)
    stated: dict[str, Any] = {
        "title": text(options, "title"),
        "claims": tuple(_stated(claim) for claim in claims_of(options)),
        "tolerance": _tolerance(options),
        "aliases": _aliases(options),
        "nearest": text(options, "digits", DIGITS) == "nearest",
        "binary": text(options, "gb", PREFIXES) in ("any", "binary"),
    }
    if has_operation(options):
        problem = read_problem(options, spoken)
        shared = {name: getattr(problem, name) for name in ("hardware", "assume", "symbols", "let")}
        return Exercise(problem, **shared, **stated, count=text(options, "count"))
    # what is derived of the same table
    keys = () if options.get("solve") or options.get("minimize") else ("solve_for", "at")
    for key in ("mesh", "link", *keys):
        if options.get(key):
            raise ReadingError(f"{key} speaks of an operation, and the problem has none", expected='operation = "…"')
    return Exercise(None, **model_of(options, hardware_of(options), None, spoken), **stated)


def usual_sizes(claims: Iterable[Claim], problem: Problem | None) -> dict[str, Formula]:
    """The one set of sizes that a problem states, for claims that name none themselves."""
    spoken = {name for claim in claims for link in claim.links for name in names(link)}
    if problem is None or len(problem.at) != 1 or spoken & {*problem.names, *problem.symbols}:
        return {}
    return {name: number(size) for name, size in problem.at[0].items()}


def at_usual_sizes(claim: Claim, problem: Problem | None) -> Claim:
    """A claim of a problem with one set of sizes: where its values name none, it is about these; sizes of its own go before.

    >>> from symroof.reading.claims import read_claim
    >>> from symroof.reading.name_scope import Scope
    >>> table = {"operation": "matmul", "at": "B=64, D=F=8192"}
    >>> scope, problem = Scope(("B", "D", "F", "intensity")), read_exercise(table).problem
    >>> claims = (read_claim(text, scope) for text in ("intensity = 1 at B = 1", "intensity = B", "intensity ~ B as B << D, F"))
    >>> [", ".join(f"{name} = {size.value}" for name, size in at_usual_sizes(claim, problem).at) for claim in claims]
    ['B = 1, D = 8192, F = 8192', '', '']
    """
    if claim.connectives or claim.regime or claim.always is not None:
        return claim
    return replace(claim, at=tuple({**usual_sizes([claim], problem), **dict(claim.at)}.items()))


def _stated(claim: Any) -> StatedClaim:
    if isinstance(claim, str):
        return StatedClaim(claim)
    if not isinstance(claim, Mapping) or not isinstance(claim.get("claim"), str):
        raise ReadingError(f"{str(claim)[:60]} is not a claim", expected='text, or { claim = "…", expect = "wrong" }')
    for key in claim:
        require_one_of(key, CLAIM_KEYS, f"a claim has no {key!r}")
        text(claim, key)
    return StatedClaim(claim["claim"], expected_verdict(claim.get("expect")), claim.get("source"))


def unit_names(exercise: Exercise) -> tuple[str, ...]:
    """The names of an exercise that are units after a number."""
    return tuple(name for name in GIVE_WAY if name not in (*exercise.symbols, *exercise.let))


def expected_verdict(value: Any) -> str | None:
    """The verdict that an author expects, or None where nothing is said."""
    if value is not None:
        require_one_of(value, VERDICTS, f"expect = {str(value)[:40]!r} is no verdict")
    return value


def _tolerance(options: Mapping[str, Any]) -> Fraction:
    key = "roughly" if "roughly" in options else "tolerance"
    if "roughly" in options and "tolerance" in options:
        raise ReadingError("roughly and tolerance are the same", expected="one of the two")
    value = options.get(key)
    if value is None:
        return TOLERANCE
    digits = "".join(str(value).split())
    try:
        share = exact(digits.removesuffix("%")) / (100 if digits.endswith("%") else 1)
    except (ValueError, ReadingError):
        share = Fraction(-1)
    if isinstance(value, bool) or not 0 <= share < 1:
        raise unfit(key, value, "a share", 'a number from 0 to below 1, as in 0.05 or "5 %"')
    return share


def _aliases(options: Mapping[str, Any]) -> dict[str, str]:
    aliases = table(options, "aliases", '{ "Rechenaufwand" = "flops" }')
    if not all(isinstance(value, str) for value in aliases.values()):
        raise unfit("aliases", aliases, "a table of names", '{ "Rechenaufwand" = "flops" }')
    return {str(key): value for key, value in aliases.items()}
