"""The link of a derivation: a relation between two formulas, the reason for it, and what checked it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from symroof.formula import Formula


class Reason(Enum):
    """Why a step holds. The set is closed: every reason has one macro in every template, and the other way round."""

    COUNT = "count"
    AS_GIVEN = "as_given"
    MULTIPLY_ADD = "multiply_add"
    EXCESS = "excess"
    READS = "reads"
    WRITES = "writes"
    BYTES = "bytes"
    SHARE_WORK = "share_work"
    SHARE_BYTES = "share_bytes"
    EXCHANGE = "exchange"
    DIVIDE = "divide"
    PUT_IN = "put_in"
    CANCEL = "cancel"
    RECIPROCAL = "reciprocal"
    BELOW_EACH = "below_each"
    BRACKET = "bracket"
    APPROACH = "approach"
    EQUALITY = "equality"
    TAKE_OUT = "take_out"
    LEADING = "leading"
    WITHIN = "within"
    AT_MOST = "at_most"
    NEXT_ORDER = "next_order"
    LIMIT = "limit"
    SUPREMUM = "supremum"
    DEFINE_TIMES = "define_times"
    RIDGE = "ridge"
    FIGURES = "figures"
    ROUNDED = "rounded"
    COMPARE_TIMES = "compare_times"
    COMPARE_INTENSITY = "compare_intensity"
    CLEAR = "clear"
    COLLECT = "collect"
    SOLVE = "solve"
    IMPLICIT = "implicit"
    REACH = "reach"
    SQUARE = "square"
    NEVER = "never"
    ALWAYS = "always"
    MARGIN = "margin"
    THROUGHPUT = "throughput"
    RULE = "rule"
    WHOLE = "whole"
    RULE_FACTOR = "rule_factor"
    AT_POINT = "at_point"
    GAP = "gap"
    TIME = "time"
    LOWER = "lower"
    UPPER = "upper"
    TWICE = "twice"
    TIME_RATIO = "time_ratio"
    PAYS = "pays"
    NAMED = "named"


@dataclass(frozen=True, slots=True)
class Check:
    """``proved`` or ``sampled``, and by what."""

    status: str
    by: str


@dataclass(frozen=True, slots=True)
class Step:
    """``left relation right``, under ``assumptions``.

    ``evidence`` is what the check needs beyond the formulas; ``facts`` is what prose needs. A step with ``shown``
    false is stated in the prose of its reason alone; one with ``joined`` stands on the line of the step before; and of
    one with ``right_alone`` only the right side is displayed, because prose has said what it equals.
    """

    section: str
    reason: Reason
    left: Formula
    relation: str
    right: Formula
    assumptions: tuple[Formula, ...] = ()
    evidence: Any = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    shown: bool = True
    joined: bool = False
    right_alone: bool = False
    check: Check | None = None


@dataclass(frozen=True, slots=True)
class Loops:
    """Evidence of a count: the loop nest. ``operands`` are labels for each input; numbers are sizes of their own."""

    operands: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrays:
    """Evidence of traffic: for each array its labels and the bits of an element."""

    arrays: tuple[tuple[tuple[str, ...], int], ...]


@dataclass(frozen=True, slots=True)
class Function:
    """Evidence of a given cost: the Python function and its parameters."""

    function: Any
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Collective:
    """Evidence of an exchange: the formula is ``share`` of the payload, by the collective on so many chips."""

    name: str
    chips: int
    ways: int
    payload: Formula


@dataclass(frozen=True, slots=True)
class Excess:
    """Evidence of a working count: right - left is exactly this, and positive."""

    amount: Formula


@dataclass(frozen=True, slots=True)
class Dominated:
    """Evidence of an approximation: left/right = numerator/denominator, and a certificate for each monomial of
    numerator - denominator beside ``measure``, which is one of the two."""

    numerator: Formula
    denominator: Formula
    certificates: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Harmonic:
    """Evidence of a bracket: 1/right is the sum of the reciprocals of the parts, and left is their least over their
    number."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Whole:
    """Evidence of a rounding up to whole numbers: the multiples of ``step``."""

    step: int
