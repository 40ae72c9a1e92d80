"""Chips and dtypes side by side: ridge, condition, limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sympy import Expr

from symroof.algebra.optima import growth
from symroof.derivation.derivation import Derivation
from symroof.derivation.draft import Draft
from symroof.derivation.pipeline import derive
from symroof.derivation.threshold import solution
from symroof.errors import SymroofError
from symroof.formula import Compare, Formula, Name, Verdict
from symroof.model.dtype import Dtype
from symroof.model.hardware import Accelerator, Known
from symroof.model.operation import AnyOperation, Einsum
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
                else replace(problem, operation=stored(problem.operation, kind), compute=problem.compute or kind)
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


def stored(operation: AnyOperation, kind: Dtype) -> AnyOperation:
    """The operation with every tensor in one dtype. Given costs stay what they are."""
    if not isinstance(operation, Einsum):
        return operation
    tensors = [replace(tensor, dtype=kind) for tensor in operation.tensors]
    return Einsum(tuple(tensors[:-1]), tensors[-1])


def _row(found: Derivation, accelerator: Accelerator, kind: Dtype | None) -> Compared:
    setting, answer = found.setting, found.answer
    draft = Draft(setting, found.steps, answer)
    if answer.outcome != "depends":
        condition: Formula = Verdict(answer.outcome == "always")
    elif answer.rule is not None and answer.rule_bound is not None:
        condition = _bounded(draft, setting.variable, answer.rule_bound, answer.rule.rises)
    elif answer.bound is not None and getattr(answer.bound, "is_Rational", False):
        condition = _bounded(draft, setting.variable, answer.bound, answer.threshold is None or answer.threshold.rises)
    else:
        assert answer.threshold is not None
        condition = solution(draft, answer.threshold)
    limit = growth(answer.intensity, setting.variable) if answer.intensity.has(setting.variable) else answer.intensity
    points = tuple(
        (_at(draft, p.variable, p.bound, p.threshold is None or p.threshold.rises, p.outcome), p.smallest_integer)
        for p in answer.at
    )
    return Compared(
        accelerator,
        kind,
        setting.peak,
        setting.bandwidth,
        setting.ridge,
        condition,
        answer.smallest_integer,
        limit,
        points,
    )


def _bounded(draft: Draft, variable: Expr, bound: object, rises: bool) -> Formula:
    return Compare(Name(variable.name), ">" if rises else "<", draft.write(bound))


def _at(draft: Draft, variable: Expr, bound: object, rises: bool, outcome: str) -> Formula:
    if outcome == "depends" and bound is not None:
        return _bounded(draft, variable, bound, rises)
    return Verdict(outcome == "always") if outcome != "depends" else Compare(Name("intensity"), ">", Name("ridge"))
