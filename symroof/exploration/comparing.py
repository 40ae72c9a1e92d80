"""Chips and dtypes side by side: ridge, condition, limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sympy import Expr

from symroof.derivation.answer import Answer, Point
from symroof.derivation.derivation import Derivation
from symroof.derivation.pipeline import derive
from symroof.derivation.solutions import Solution
from symroof.errors import SymroofError
from symroof.formula import Compare, Formula, Name, Verdict, names
from symroof.model.dtype import Dtype
from symroof.model.hardware import Accelerator, Known
from symroof.model.problem import Problem


@dataclass(frozen=True, slots=True)
class Compared:
    """One chip with one dtype; where it has no figures for that, ``error`` says what is missing and the rest is None.

    ``condition`` is where it is compute-bound, in the regime if there is one; ``limit`` what the intensity tends to as
    the variable grows alone; ``at`` the conditions with sizes put in, each with its least whole size.
    """

    chip: Accelerator
    dtype: Dtype | None
    peak: Known | None = None
    bandwidth: Known | None = None
    ridge: Fraction | None = None
    condition: Formula | None = None
    smallest: int | None = None
    limit: Expr | None = None
    at: tuple[tuple[Formula, int | None], ...] = ()
    error: str | None = None


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
    >>> [row.ridge for row in found.rows]
    [Fraction(9850, 41), Fraction(19700, 41)]
    """
    rows: list[Compared] = []
    first: Derivation | None = None
    failure: SymroofError | None = None
    for accelerator in chips:
        for kind in dtypes or (None,):
            retyped = (
                problem
                if kind is None
                else replace(
                    problem,
                    operation=problem.operation.stored(dict.fromkeys(range(len(problem.operation.tensors)), kind)),
                    compute=problem.compute or kind,
                )
            )
            try:
                found = derive(replace(retyped, hardware=accelerator))
            except SymroofError as error:
                failure = failure or error
                rows.append(Compared(accelerator, kind, error=error.problem))
                continue
            first = first or found
            rows.append(_row(found, accelerator, kind))
    if first is None:
        assert failure is not None, "there is at least one chip"
        raise failure
    return Comparison(problem, first.setting.variable, first, tuple(rows))


def _row(found: Derivation, accelerator: Accelerator, kind: Dtype | None) -> Compared:
    setting, answer = found.setting, found.answer
    limit = answer.limits.get(f"{setting.variable} -> oo", answer.intensity)
    points = tuple((_condition(point, None), point.smallest_integer) for point in answer.at)
    condition, smallest = _condition(answer, answer.rule), answer.smallest_integer
    return Compared(
        accelerator, kind, setting.peak, setting.bandwidth, setting.ridge, condition, smallest, limit, points
    )


def _condition(answer: Answer | Point, rule: Solution | None) -> Formula:
    """Always or never; the rule of thumb where there is one; a bound that is a number; else the exact condition."""
    exact = answer.threshold
    if exact is None:  # every size has a value
        above = Compare(Name("intensity"), ">", Name("ridge"))
        return above if answer.outcome == "depends" else Verdict(answer.outcome == "always")
    if rule is not None and rule.end is not None:
        return Compare(rule.end.left, rule.end.relation, answer.formula("rule_bound") or rule.end.right)
    bound = answer.formula("bound") if exact.end is not None else None
    if exact.end is not None and bound is not None and not names(bound):
        return Compare(exact.end.left, exact.end.relation, bound)
    return exact.end if exact.end is not None and not names(exact.end.right) else exact.formula
