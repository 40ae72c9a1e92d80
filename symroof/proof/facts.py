"""Facts of conditions and rows: what prose needs beyond the formulas, and what they have to agree with."""

from __future__ import annotations

from fractions import Fraction

from symroof.formula import Cases, Compare, Formula, Name, Number, Sum, Verdict, names, nodes, number
from symroof.proof.exact import ORDER, Exact
from symroof.proof.ledger import Facts, Ledger
from symroof.proof.sampling import free_names
from symroof.proof.step import Step


class Gone(Facts):
    """Facts of a cancellation: the names that cancel. They stand behind the names on the left, and not on the right."""

    names: tuple[Name, ...]

    def agree(self, step: Step, ledger: Ledger) -> bool:
        before = free_names(step.left, ledger.exact(figures=False))
        return {name.name for name in self.names} <= before - set(names(step.right))


class Unbounded(Facts):
    """Facts of 1 + 1/x ~ 1: x grows without bound."""

    def agree(self, step: Step, ledger: Ledger) -> bool:
        return step.right == number(1) and isinstance(step.left, Sum) and step.left.terms[0] == number(1)


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
