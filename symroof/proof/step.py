"""The link of a derivation: a relation between two formulas, the reason for it, and what checked it."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import Any, Literal, NewType

from symroof.formula import Compare, Formula, Frozen, Number


class Reason(Enum):
    """Why a step holds. The set is closed: every reason has one macro in every template, and the other way round."""

    FACT = "fact"  # which a sentence, a table or the answer says: it has no line
    LINE = "line"  # which needs no sentence
    SAME = "same"  # as the line before: it goes on there
    COUNT = "count"
    KINDS = "kinds"
    STATEMENTS = "statements"
    TOKENS = "tokens"
    CASE = "case"
    PAIRS = "pairs"
    CHIPS = "chips"
    BUBBLE = "bubble"
    ON_EACH = "on_each"
    SENT = "sent"
    HOPS = "hops"
    TAKES_OVER = "takes_over"
    MULTIPLY_ADD = "multiply_add"
    READS = "reads"
    TOTAL = "total"
    CANCEL = "cancel"
    RECIPROCAL = "reciprocal"
    BELOW_EACH = "below_each"
    BRACKET = "bracket"
    EQUALITY = "equality"
    TAKE_OUT = "take_out"
    LEADING = "leading"
    WITHIN = "within"
    AT_MOST = "at_most"
    NEXT_ORDER = "next_order"
    FACTOR = "factor"
    SIDE = "side"
    LIMIT = "limit"
    SUPREMUM = "supremum"
    RIDGE = "ridge"
    FIGURES = "figures"
    ROUNDED = "rounded"
    COMPARE_TIMES = "compare_times"
    CLEAR = "clear"
    SOLVE = "solve"
    IMPLICIT = "implicit"
    REACH = "reach"
    SQUARE = "square"
    NEVER = "never"
    ALWAYS = "always"
    THROUGHPUT = "throughput"
    RULE = "rule"
    WHOLE = "whole"
    RULE_FACTOR = "rule_factor"
    AT_POINT = "at_point"
    GAP = "gap"
    TIME = "time"
    STEPS = "steps"
    ORDER = "order"
    PAYS = "pays"
    LETTER = "letter"
    EXPANDED = "expanded"
    VALUE = "value"
    SOLUTION = "solution"
    SUBJECT = "subject"
    PART = "part"
    BEST = "best"
    BEST_VALUE = "best_value"
    THERE = "there"
    AT_AN_END = "at_an_end"


# The parts of an answer: each step that says one names it, and who looks for one names it as well.
Role = (
    Literal["", "flops", "flops_exact", "flops_per_parameter", "ops", "reads", "writes", "bytes", "bytes_added"]
    | Literal["params", "trainable", "weights", "caches", "saved", "gradients"]
    | Literal["intensity", "reciprocal", "bracket", "limit", "leading", "moved_leading", "factor", "next", "within"]
    | Literal["moves"]
    | Literal["ridge", "threshold", "bound", "guard", "supremum", "upside_down", "rule", "rule_bound", "rule_factor"]
    | Literal["excess", "margin", "root", "collected", "passes"]
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
