"""Chips and dtypes side by side: ridge, condition, limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sympy import Expr

from symroof.derivation.answer import Point, Said
from symroof.derivation.derivation import Derivation
from symroof.derivation.draft import Draft
from symroof.derivation.pipeline import written
from symroof.derivation.sizes import put_in
from symroof.derivation.threshold import ABOVE
from symroof.errors import SymroofError
from symroof.formula import Formula, Verdict, names
from symroof.model.dtype import Dtype
from symroof.model.hardware import Accelerator
from symroof.model.problem import Problem
from symroof.proof.step import Reason, Step


@dataclass(frozen=True, slots=True)
class Compared:
    """One chip with one dtype; where it has no figures for that, ``error`` says what is missing and the rest is None.

    ``conditions`` say where it is compute-bound: in the regime, if there is one; and at each set of sizes.
    """

    chip: Accelerator
    dtype: Dtype | None
    derivation: Derivation | None = None
    conditions: tuple[Step, ...] = ()
    error: SymroofError | None = None

    @property
    def limit(self) -> Expr | None:
        """What the intensity tends to as the variable grows alone."""
        if self.derivation is None:
            return None
        answer = self.derivation.answer
        return answer.limits.get(f"{self.derivation.setting.variable} -> oo", answer.intensity)

    @property
    def at(self) -> tuple[tuple[Formula, int | None], ...]:
        """The conditions with sizes put in, each with its least whole size."""
        points = () if self.derivation is None else self.derivation.answer.at
        return tuple((c.right, points[c.point].smallest_integer) for c in self.conditions if c.point is not None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """``problem`` is the one that all rows share, ``variable`` what the conditions are solved for."""

    problem: Problem
    variable: Expr
    derivation: Derivation
    rows: tuple[Compared, ...]


def compare(problem: Problem, chips: Sequence[Accelerator], dtypes: Sequence[Dtype] = ()) -> Comparison:
    """The problem on every chip, with every tensor in every dtype; without dtypes, as it is written.

    Raises the error of the first row where no row has an answer.

    >>> from symroof.model.dtype import dtype
    >>> from symroof.model.library import library_operation
    >>> from symroof.reading.catalogue import chip
    >>> found = compare(Problem(library_operation("matmul")), [chip("tpu-v5e")], [dtype("bf16"), dtype("int8")])
    >>> [row.derivation.answer.ridge for row in found.rows]
    [Fraction(9850, 41), Fraction(19700, 41)]
    """
    rows = tuple(_row(problem, accelerator, kind) for accelerator in chips for kind in dtypes or (None,))
    for row in rows:
        if row.derivation is not None:
            return Comparison(problem, row.derivation.setting.variable, row.derivation, rows)
    assert rows[0].error is not None, "a row has an answer or an error"
    raise rows[0].error


def _row(problem: Problem, accelerator: Accelerator, kind: Dtype | None) -> Compared:
    try:
        draft = written(replace(_stored(problem, kind), hardware=accelerator))
    except SymroofError as error:
        return Compared(accelerator, kind, error=error)
    conditions = draft.add(*conditions_of(draft)).since(draft)
    return Compared(accelerator, kind, Derivation(draft.setting, draft.steps), conditions)


def _stored(problem: Problem, kind: Dtype | None) -> Problem:
    """The problem with every tensor in one dtype."""
    if kind is None:
        return problem
    every = dict.fromkeys(range(len(problem.operation.tensors)), kind)
    return replace(problem, operation=problem.operation.stored(every), compute=problem.compute or kind)


def conditions_of(draft: Draft) -> tuple[Step, ...]:
    """Where the problem is compute-bound, in the shortest words: for all sizes, and at each set of them."""
    answer = draft.answer
    whole = answer.step("rule") or answer.step("threshold")
    assert whole is not None, "a derivation solves its condition, or finds that it is always or never met"
    points = (
        _side(point, put_in(draft, place), place) if step is None else _shortest(point, step)
        for place, point in enumerate(answer.at)
        for step in (point.step("threshold"),)
    )
    return (_shortest(answer, whole), *points)


def _shortest(said: Said, step: Step) -> Step:
    """A solved condition by its bound alone, where that is the rule of thumb or a number."""
    solution = said.solution(step.role)
    assert solution is not None
    right, rule = solution.formula, step.role == "rule"
    if solution.end is not None:
        bound = said.formula("rule_bound" if rule else "bound") or solution.end.right
        if rule or not names(bound):
            right = replace(solution.end, right=bound)
    return replace(step, section="compare", right=right, role="condition", evidence=None, facts=None)


def _side(point: Point, where: tuple[Formula, ...], place: int) -> Step:
    """The condition where every size has a value: always or never; itself, where the ridge is not known or is met."""
    known = ABOVE if point.outcome == "depends" else Verdict(point.outcome == "always")
    return Step("compare", Reason.OUTCOME, ABOVE, "<=>", known, where, point=place)
