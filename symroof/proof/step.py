"""Steps of a derivation, what they rest on, and the ledger of what has been established."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar, Literal, NewType, TypeAlias

from symroof.errors import CheckError
from symroof.formula import Cases, Compare, Formula, Frozen, Name, Number, Verdict, names, nodes
from symroof.proof.polynomials import Rat
from symroof.proof.quotients import COMPARISONS, Quotients, free_names
from symroof.proof.whole_numbers import Multiples


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


def role_of(role: Literal["threshold", "bound", "figured", "whole"], resource: str) -> Part:
    """The part that says of one resource how long it takes beside the arithmetic.

    >>> role_of("threshold", "X")
    'threshold(X)'
    """
    return Part(f"{role}({resource})")


def amount_of(name: str) -> Part:
    """The part that says what a named quantity comes to: flops(h), sent(X), T_X."""
    return Part(name)


def lead_role(whole: str) -> Part:
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
    evidence: Evidence | None = None
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


# What a name means: the formula that defines it, or the evidence that a count of it has to rest on.
Meaning: TypeAlias = "Formula | Evidence"


@dataclass
class Ledger:
    """Values of figures, the names that are at least 1 (all others are above 0), and what names stand for.

    ``meanings`` come from the problem and from the textbook, never from the producer of a step: a formula, or the
    evidence that a count has to rest on. A name enters ``definitions`` with the first step that says what it is.
    ``multiples`` say what the sizes that are split over chips come in, ``points`` the sets of sizes that are put in, ``own`` the
    names that a problem gives to formulas: a role of a step may be spelled like one of them.
    """

    least_one: frozenset[str]
    figures: Mapping[str, Number] = field(default_factory=dict)
    meanings: Mapping[str, Meaning] = field(default_factory=dict)
    multiples: Multiples = field(default_factory=Multiples)
    points: tuple[Mapping[str, Fraction], ...] = ()
    own: frozenset[str] = frozenset()
    definitions: dict[str, Formula] = field(default_factory=dict)
    established: list[Step] = field(default_factory=list)
    _values: dict[tuple[bool, tuple[tuple[str, Formula], ...]], dict[str, Rat]] = field(default_factory=dict)

    def define(self, name: str, formula: Formula) -> None:
        """What a name stands for from here on; values that were worked out stay, unless one of them speaks of it."""
        used = (*self.definitions.values(), *(value for _, equal in self._values for _, value in equal))
        self._values = {} if any(name in names(value) for value in used) or not self.is_new(name) else self._values
        self.definitions[name] = formula

    def exact(self, *, figures: bool, assumptions: Iterable[Formula] = (), free: str | None = None) -> Quotients:
        """The arithmetic with the definitions, with or without the values of figures, and with x = y put in.

        A name that is left ``free`` is not replaced: what is proved then holds for each of its values.
        """
        equal, definitions = replaced(assumptions, ("=",)), self.definitions
        if free in definitions:
            definitions = {name: formula for name, formula in definitions.items() if name != free}
        digits = {name: figure.value for name, figure in self.figures.items()}
        numbers: dict[str, Formula] = {**self.figures} if figures else {}
        exact = Quotients(ChainMap(equal, numbers, definitions), self.least_one, digits)
        if free is None:  # worked out once for all steps of the same sizes
            exact.values = self._values.setdefault((figures, tuple(equal.items())), {})
        return exact

    def formula(self, name: str) -> Formula:
        """The formula that defines a name."""
        meaning = self.meanings[name]
        assert isinstance(meaning, Formula), f"{name} is counted"
        return meaning

    def evidence(self, name: str) -> Evidence:
        """The evidence that a count of a name has to rest on."""
        meaning = self.meanings[name]
        assert isinstance(meaning, Evidence), f"{name} is defined by a formula"
        return meaning

    def is_new(self, name: str) -> bool:
        return name not in self.definitions and name not in self.figures and name not in self.least_one


class Evidence(Frozen, ABC):
    """What a step rests on beyond its formulas. Each kind speaks of certain relations, and of no others.

    One that ``counts`` the right side says nothing of the left: that is a name which has to rest on this evidence.
    """

    relations: ClassVar[tuple[str, ...]] = ("=",)
    counts: ClassVar[bool] = False

    @abstractmethod
    def examine(self, step: Step, ledger: Ledger) -> Check:
        """Go through it again. Raises :class:`~symroof.errors.CheckError` where it does not show the step."""


class Facts(Frozen, ABC):
    """What the prose of a step needs beyond its formulas."""

    @abstractmethod
    def agree(self, step: Step, ledger: Ledger) -> bool:
        """Whether they say what the step says."""


def replaced(assumptions: Iterable[Formula], relations: tuple[str, ...]) -> dict[str, Formula]:
    """What the assumptions of these relations put for names, each name once: x = y and x = z put z for y as well."""
    values: dict[str, Formula] = {}

    def end(formula: Formula) -> Formula:
        while isinstance(formula, Name) and formula.name in values:
            formula = values[formula.name]
        return formula

    for relation in assumptions:
        if not isinstance(relation, Compare) or relation.relation not in relations:
            continue
        left, right = end(relation.left), end(relation.right)
        if not isinstance(left, Name):
            left, right = right, left
        if isinstance(left, Name) and left.name not in names(right):
            values[left.name] = right
    return values


class RefutedError(CheckError):
    """A step is false: a bug of the producer, whose derivation is not printed."""


class UndecidedError(CheckError):
    """The second engine could neither prove nor refute a step in its budget, so it is not accepted."""


def refuted(step: Step, why: str) -> RefutedError:
    """The error of a step that does not hold."""
    return RefutedError(f"a step of the derivation was refuted ({step.reason.value} in {step.section}): {why}")


def undecided(step: Step, why: str) -> UndecidedError:
    """The error of a step that may hold."""
    return UndecidedError(
        f"a step of the derivation could not be decided ({step.reason.value} in {step.section}): {why}"
    )


class CancelledNames(Facts):
    """Facts of a cancellation: the names that cancel. They stand behind the names on the left, and not on the right."""

    names: tuple[Name, ...]

    def agree(self, step: Step, ledger: Ledger) -> bool:
        before = free_names(step.left, ledger.exact(figures=False))
        return {name.name for name in self.names} <= before - set(names(step.right))


class Unknown(Facts):
    """Facts of a solved condition: what it is solved for. The first case bounds it, or is not linear in it."""

    variable: str

    def agree(self, step: Step, ledger: Ledger) -> bool:
        first = step.right.rows[0][0] if isinstance(step.right, Cases) else step.right
        return isinstance(first, Verdict) or all(self._is_bound(end, ledger) for end in _ends(first))

    def _is_bound(self, end: Compare, ledger: Ledger) -> bool:
        if end.left == Name(self.variable):
            return self.variable not in names(end.right)
        solved = isinstance(end.left, Name) and end.left.name not in names(end.right)
        gap = ledger.exact(figures=False).difference(end.left, end.right).above
        return self.variable in names(end) and gap.degree(self.variable) > (1 if solved else 0)


class RowSize(Facts):
    """Facts of a row: the size that it is about, assumed of what the condition was solved for, here or without sizes."""

    size: Fraction

    def agree(self, step: Step, ledger: Ledger) -> bool:
        conditions = (s for s in ledger.established if isinstance(s.facts, Unknown) and s.point in (None, step.point))
        solved = [Name(condition.facts.variable) for condition in conditions]
        return any(a.left in solved and _is(a.right, self.size) for a in step.assumed("="))


def _ends(formula: Formula) -> list[Compare]:
    """The equations and inequalities that a proposition is made of."""
    return [node for node in nodes(formula) if isinstance(node, Compare) and node.relation in COMPARISONS]


def _is(formula: Formula, value: Fraction) -> bool:
    return Quotients().difference(formula, Number(value)).is_zero()
