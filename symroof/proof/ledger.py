"""What the second engine takes as established: definitions, figures, the domain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from symroof.errors import CheckError
from symroof.formula import Compare, Formula, Name, names
from symroof.proof.exact import Exact
from symroof.proof.step import Step


@dataclass
class Ledger:
    """Definitions of names, values of figures, and the names that are at least 1; all others are above 0."""

    least_one: frozenset[str]
    figures: dict[str, Formula] = field(default_factory=dict)
    definitions: dict[str, Formula] = field(default_factory=dict)

    def exact(self, *, figures: bool, assumptions: Iterable[Formula] = (), free: str | None = None) -> Exact:
        """The arithmetic with the definitions, with or without the values of figures, and with x = y put in.

        A name that is left ``free`` is not replaced: what is proved then holds for each of its values.
        """
        known = {name: formula for name, formula in self.definitions.items() if name != free}
        if figures:
            known |= self.figures
        return Exact(known | replaced(assumptions, ("=",)))

    def is_new(self, name: str) -> bool:
        return name not in self.definitions and name not in self.figures and name not in self.least_one


def replaced(assumptions: Iterable[Formula], relations: tuple[str, ...]) -> dict[str, Formula]:
    """What the assumptions of these relations put for names, each name once: x = y and x = z put z for y as well."""
    put: dict[str, Formula] = {}

    def end(formula: Formula) -> Formula:
        while isinstance(formula, Name) and formula.name in put:
            formula = put[formula.name]
        return formula

    for relation in assumptions:
        if not isinstance(relation, Compare) or relation.relation not in relations:
            continue
        left, right = end(relation.left), end(relation.right)
        if not isinstance(left, Name):
            left, right = right, left
        if isinstance(left, Name) and left.name not in names(right):
            put[left.name] = right
    return put


def refuted(step: Step, why: str) -> CheckError:
    """The error of a step that does not hold."""
    return CheckError(f"a step of the derivation was refuted ({step.reason.value} in {step.section}): {why}")
