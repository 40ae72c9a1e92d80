"""The link of a derivation: a relation between two formulas, the reason for it, and what checked it."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import Any

from symroof.formula import Compare, Formula, Frozen, Number


class Reason(Enum):
    """Why a step holds. The set is closed: every reason has one macro in every template, and the other way round."""

    COUNT = "count"
    AS_GIVEN = "as_given"
    KINDS = "kinds"
    STATEMENT_FLOPS = "statement_flops"
    STATEMENT_ROUNDED = "statement_rounded"
    STATEMENT_OPS = "statement_ops"
    STATEMENT_READS = "statement_reads"
    STATEMENT_WRITES = "statement_writes"
    STATEMENT_BYTES = "statement_bytes"
    STATEMENT_INTENSITY = "statement_intensity"
    STATEMENTS = "statements"
    PASSES = "passes"
    TOKENS = "tokens"
    WHERE = "where"
    CHIPS = "chips"
    ON_EACH = "on_each"
    HELD = "held"
    SENT = "sent"
    STOCK = "stock"
    MULTIPLY_ADD = "multiply_add"
    EXCESS = "excess"
    USED = "used"
    READS = "reads"
    WRITES = "writes"
    BYTES = "bytes"
    TOTAL = "total"
    SHARE_BYTES = "share_bytes"
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
    FACTOR = "factor"
    SIDE = "side"
    LIMIT = "limit"
    GROWS = "grows"
    SUPREMUM = "supremum"
    DEFINE_TIMES = "define_times"
    RIDGE = "ridge"
    FIGURES = "figures"
    ROUNDED = "rounded"
    COMPARE_TIMES = "compare_times"
    COMPARE_INTENSITY = "compare_intensity"
    UPSIDE_DOWN = "upside_down"
    CLEAR = "clear"
    COLLECT = "collect"
    SOLVE = "solve"
    IMPLICIT = "implicit"
    ONE_ROOT = "one_root"
    REACH = "reach"
    SQUARE = "square"
    OUTCOME = "outcome"
    NEVER = "never"
    ALWAYS = "always"
    MARGIN = "margin"
    THROUGHPUT = "throughput"
    TENDS = "tends"
    RULE = "rule"
    WHOLE = "whole"
    EARLY = "early"
    RULE_FACTOR = "rule_factor"
    AT_POINT = "at_point"
    GAP = "gap"
    TIME = "time"
    SECONDS = "seconds"
    LOWER = "lower"
    UPPER = "upper"
    STEPS = "steps"
    ORDER = "order"
    TWICE = "twice"
    TIME_RATIO = "time_ratio"
    PAYS = "pays"
    NAMED = "named"
    MEANS = "means"
    EXPANDED = "expanded"
    VALUE = "value"
    SOLUTION = "solution"
    SUBJECT = "subject"
    PART = "part"
    BEST = "best"
    BEST_VALUE = "best_value"
    THERE = "there"
    INSIDE = "inside"
    AT_AN_END = "at_an_end"
    BEST_SPLIT = "best_split"
    SHARE_LEFT = "share_left"
    DIVIDES = "divides"


class Check(Frozen):
    """``proved`` or ``sampled``, and by what; ``searched`` where the second engine has not decided it again."""

    status: str
    by: str


class Step(Frozen):
    """``left relation right``, under ``assumptions``.

    ``evidence`` is what the check needs beyond the formulas; ``facts`` is what prose needs beyond them. ``role`` is the
    part of the answer that the step says, ``point`` the set of sizes that it is about, counted from 0.
    """

    section: str
    reason: Reason
    left: Formula
    relation: str
    right: Formula
    assumptions: tuple[Formula, ...] = ()
    evidence: Any = None
    facts: Any = None
    role: str = ""
    point: int | None = None
    check: Check | None = None

    def assumed(self, *relations: str) -> tuple[Compare, ...]:
        """The assumptions of these relations."""
        return tuple(a for a in self.assumptions if isinstance(a, Compare) and a.relation in relations)

    @property
    def value(self) -> Fraction:
        """The number on the right."""
        if not isinstance(self.right, Number):
            raise TypeError("the right side is no number")
        return self.right.value
