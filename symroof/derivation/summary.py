"""Where an operation is compute-bound, in the shortest words: steps that answers, pages and comparisons read."""

from __future__ import annotations

from dataclasses import replace

from symroof.derivation.answer import Point, Said
from symroof.derivation.draft import Draft
from symroof.derivation.sizes import put_in
from symroof.derivation.threshold import ABOVE
from symroof.formula import Formula, Verdict, names
from symroof.proof.step import Reason, Step


def summary(draft: Draft) -> Draft:
    """Where the problem is compute-bound: for all sizes, and at each set of them."""
    answer = draft.answer
    whole = answer.step("rule") or answer.step("threshold")
    assert whole is not None, "a derivation solves its condition, or finds that it is always or never met"
    points = (
        _side(point, put_in(draft, place), place) if step is None else _shortest(point, step)
        for place, point in enumerate(answer.at)
        for step in (point.step("threshold"),)
    )
    return draft.add(_shortest(answer, whole), *points)


def _shortest(said: Said, step: Step) -> Step:
    """A solved condition by its bound alone, where that is a number, or the rule of thumb without a guard."""
    solution = said.solution(step.role)
    assert solution is not None
    right, rule = solution.formula, step.role == "rule"
    if solution.end is not None:
        bound = said.formula("rule_bound" if rule else "bound") or solution.end.right
        if not names(bound) or (rule and solution.guard is None):
            right = replace(solution.end, right=bound)
    return replace(step, section="summary", right=right, role="condition", evidence=None, facts=None)


def _side(point: Point, where: tuple[Formula, ...], place: int) -> Step:
    """The condition where every size has a value: always or never; itself, where the ridge is not known or is met."""
    known = ABOVE if point.outcome == "depends" else Verdict(point.outcome == "always")
    return Step("summary", Reason.OUTCOME, ABOVE, "<=>", known, where, role="condition", point=place)
