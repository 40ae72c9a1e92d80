"""The link of a derivation: a relation between two formulas, the reason for it, and what checked it."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import Any, Literal, NewType

from symroof.formula import Compare, Formula, Frozen, Number


class Reason(Enum):
    """Why a step holds. The set is closed: every reason has one macro in every template, and the other way round."""

    COUNT = "count"
    AS_GIVEN = "as_given"
    KINDS = "kinds"
    STATEMENT_FLOPS = "statement_flops"
    STATEMENT_OPS = "statement_ops"
    STATEMENT_READS = "statement_reads"
    STATEMENT_WRITES = "statement_writes"
    STATEMENT_BYTES = "statement_bytes"
    STATEMENT_INTENSITY = "statement_intensity"
    STATEMENTS = "statements"
    PASSES = "passes"
    TOKENS = "tokens"
    CASE = "case"
    WHERE = "where"
    PAIRS = "pairs"
    CHIPS = "chips"
    BUBBLE = "bubble"
    ON_EACH = "on_each"
    HELD = "held"
    SENT = "sent"
    HOPS = "hops"
    APART = "apart"
    TAKES_OVER = "takes_over"
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
    LETTER = "letter"
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


# The parts of an answer: each step that says one names it, and who looks for one names it as well.
Role = (
    Literal["", "flops", "flops_exact", "flops_per_parameter", "ops", "reads", "writes", "bytes", "bytes_added"]
    | Literal["params", "trainable", "weights", "caches", "saved", "gradients"]
    | Literal["intensity", "reciprocal", "bracket", "limit", "leading", "moved_leading", "factor", "next", "within"]
    | Literal["moves"]
    | Literal["ridge", "threshold", "bound", "guard", "supremum", "upside_down", "rule", "rule_bound", "rule_factor"]
    | Literal["condition", "smallest", "equal", "early", "gap", "side", "joint", "all", "row"]
    | Literal["solution", "solution_bound", "solution_guard", "solution_whole"]
    | Literal["optimum", "optimum_value", "optimum_guard", "optimum_end", "optimum_bound", "optimum_bound_value"]
    | Literal["optimum_at", "optimum_bound_at"]
    | Literal["T_math", "T_comms", "T_lower", "T_upper", "T_steps"]
    | Literal["quantity", "over", "share", "highest", "figures", "never", "longest"]
    | Literal["part", "whole"]
)
# A part that is there once for each of several things: threshold(X), sent(X), let N.
Part = NewType("Part", str)


def against(role: Literal["threshold", "bound", "figured", "whole"], resource: str) -> Part:
    """The part that says of one resource how long it takes beside the arithmetic.

    >>> against("threshold", "X")
    'threshold(X)'
    """
    return Part(f"{role}({resource})")


def amount_of(name: str) -> Part:
    """The part that says what a named quantity comes to: flops(h), sent(X), T_X."""
    return Part(name)


def lead_of(whole: str) -> Part:
    """The part that says which statements a whole consists of, in a regime."""
    return Part(f"{whole} lead")


def number_of(name: str) -> Part:
    """The part that says what a quantity is at a set of sizes: a number.

    >>> number_of("flops")
    'number flops'
    """
    return Part(f"number {name}")


def named_formula(name: str) -> Part:
    """The part that says what a named formula comes to.

    >>> named_formula("chips")
    'let chips'
    """
    return Part(f"let {name}")


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
    role: Role | Part = ""
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
