"""What the second engine takes as established: what names mean, figures, definitions, the domain; and what a step shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from symroof.errors import CheckError
from symroof.formula import Cases, Compare, Formula, Frozen, Name, Number, Verdict, names, nodes
from symroof.proof.polynomials import Rat
from symroof.proof.quotients import ORDER, Exact, free_names
from symroof.proof.step import Check, Step
from symroof.proof.whole_numbers import Multiples


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
    meanings: Mapping[str, Any] = field(default_factory=dict)
    multiples: Multiples = field(default_factory=Multiples)
    points: tuple[Mapping[str, Fraction], ...] = ()
    own: frozenset[str] = frozenset()
    definitions: dict[str, Formula] = field(default_factory=dict)
    established: list[Step] = field(default_factory=list)
    _known: dict[Any, dict[str, Rat]] = field(default_factory=dict)

    def define(self, name: str, formula: Formula) -> None:
        self.definitions[name] = formula
        self._known.clear()

    def exact(self, *, figures: bool, assumptions: Iterable[Formula] = (), free: str | None = None) -> Exact:
        """The arithmetic with the definitions, with or without the values of figures, and with x = y put in.

        A name that is left ``free`` is not replaced: what is proved then holds for each of its values.
        """
        equal, known = replaced(assumptions, ("=",)), self.definitions
        if free in known:
            known = {name: formula for name, formula in known.items() if name != free}
        digits = {name: figure.value for name, figure in self.figures.items()}
        put: list[Any] = [equal, *([self.figures] if figures else []), known]
        exact = Exact(ChainMap(*put), self.least_one, digits)
        if free is None:  # worked out once for all steps of the same sizes
            exact.known = self._known.setdefault((figures, tuple(equal.items())), {})
        return exact

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
    """What a producer says is false: a bug, of which nobody gets to see anything."""


class UndecidedError(CheckError):
    """What the second engine could not decide in its budget: neither proved nor refuted, and not accepted."""


def refuted(step: Step, why: str) -> RefutedError:
    """The error of a step that does not hold."""
    return RefutedError(f"a step of the derivation was refuted ({step.reason.value} in {step.section}): {why}")


def undecided(step: Step, why: str) -> UndecidedError:
    """The error of a step that may hold."""
    return UndecidedError(
        f"a step of the derivation could not be decided ({step.reason.value} in {step.section}): {why}"
    )


class Cancelled(Facts):
    """Facts of a cancellation: the names that cancel. They stand behind the names on the left, and not on the right."""

    names: tuple[Name, ...]

    def agree(self, step: Step, ledger: Ledger) -> bool:
        before = free_names(step.left, ledger.exact(figures=False))
        return {name.name for name in self.names} <= before - set(names(step.right))


class Solved(Facts):
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


class AtSize(Facts):
    """Facts of a row: the size that it is about, assumed of what the condition was solved for, here or without sizes."""

    size: Fraction

    def agree(self, step: Step, ledger: Ledger) -> bool:
        conditions = [s for s in ledger.established if isinstance(s.facts, Solved) and s.point in (None, step.point)]
        solved = [Name(s.facts.variable) for s in conditions]
        return any(a.left in solved and _is(a.right, self.size) for a in step.assumed("="))


def _ends(formula: Formula) -> list[Compare]:
    """The equations and inequalities that a proposition is made of."""
    return [node for node in nodes(formula) if isinstance(node, Compare) and node.relation in (*ORDER, "=")]


def _is(formula: Formula, value: Fraction) -> bool:
    return Exact().difference(formula, Number(value)).is_zero()
