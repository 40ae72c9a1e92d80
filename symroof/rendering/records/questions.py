"""Named formulas and solved relations as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symroof.derivation.answer import Said
from symroof.derivation.draft import numeric
from symroof.derivation.formulas import role_of
from symroof.derivation.solutions import Solution
from symroof.formula import Compare, Formula, Verdict
from symroof.rendering.records.scalars import beside
from symroof.symbols import expression


def let_record(said: Said, let: Mapping[str, Formula]) -> dict[str, Any] | None:
    """What each named formula comes to: with the figures put in, and as a float where it is a number."""
    found = {}
    for name, formula in let.items():
        value = said.formula(role_of(name))
        number = None if value is None else numeric(expression(value))
        found[name] = {"formula": formula, "value": value, "float": None if number is None else float(number)}
    return found or None


def solution_record(said: Said, variable: str | None) -> dict[str, Any] | None:
    """A relation between quantities, solved: its first case with the figures put in, its guard, and whole numbers."""
    step = said.step("solution")
    if step is None or variable is None:
        return None
    ends = tuple(a for a in step.assumptions if not isinstance(a, Compare))
    solution = Solution(variable, step.right, ends)
    put = said.formula("solution_bound")
    edge = None if solution.end is None else put or solution.end.right
    exact = (
        solution.first
        if solution.end is None or edge is None
        else Compare(solution.end.left, solution.end.relation, edge)
    )
    whole = said.formula("solution_whole")
    count = {whole.relation: int(expression(whole.right))} if isinstance(whole, Compare) else {}
    return {
        "variable": variable,
        "relation": step.left,
        "exact": _spoken(exact),
        **beside("exact_bound", None if edge is None else solution.bound if put is None else expression(put), edge),
        "guard": said.formula("solution_guard") or solution.guard,
        "otherwise": None if solution.otherwise is None else _spoken(solution.otherwise),
        "smallest_integer": count.get(">="),
        "largest_integer": count.get("<="),
        "outcome": solution.outcome,
    }


def _spoken(formula: Formula) -> Formula | str:
    return ("always" if formula.holds else "never") if isinstance(formula, Verdict) else formula
