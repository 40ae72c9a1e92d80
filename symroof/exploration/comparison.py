"""Chips and dtypes side by side: ridge, condition, limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sympy import Expr

from symroof.derivation.drafts import Point
from symroof.derivation.pipeline import Derivation, derive
from symroof.derivation.premises import require_arithmetic
from symroof.errors import SymroofError
from symroof.formula import Frozen
from symroof.model.hardware import Accelerator
from symroof.model.problem import Problem
from symroof.model.tensor_types import Dtype
from symroof.model.transforms import numeric_tensors, with_types


class OneChip(Frozen):
    """One chip with one dtype; where it has no figures for that, ``error`` says what is missing, and there is no
    ``derivation``."""

    chip: Accelerator
    dtype: Dtype | None
    derivation: Derivation | None = None
    error: SymroofError | None = None

    @property
    def limit(self) -> Expr | None:
        """What the intensity tends to as the variable grows alone."""
        if self.derivation is None:
            return None
        answer = self.derivation.answer
        return answer.limits.get(f"{self.derivation.setting.variable} -> oo", answer.intensity)


class Comparison(Frozen):
    """``problem`` is the one that all rows share, ``variable`` what the conditions are solved for."""

    problem: Problem
    variable: Expr
    derivation: Derivation
    rows: tuple[OneChip, ...]

    @property
    def in_numbers(self) -> tuple[Derivation, ...]:
        """The derivations where all sizes are numbers, once: what they come to says more than their conditions."""
        result = tuple(row.derivation for row in self.rows if row.derivation is not None)
        closed = all([point.side is not None for point in each.answer.at] == [True] for each in result)
        return result if closed and len(result) == len(self.rows) > 1 else ()


def steps_at(point: Point) -> Fraction | None:
    """T_steps at sizes that leave nothing open; None for a product."""
    return point.times[0].steps if len(point.times) == 1 and point.side is not None else None


def compare(problem: Problem, chips: Sequence[Accelerator], dtypes: Sequence[Dtype] = ()) -> Comparison:
    """The problem on every chip, with every tensor in every dtype; without dtypes, as it is written.

    Raises the error of the first row where no row has an answer.

    >>> from symroof.model.tensor_types import dtype
    >>> from symroof.model.library import library_operation
    >>> from symroof.reading.chips import chip
    >>> found = compare(Problem(library_operation("matmul")), [chip("tpu-v5e")], [dtype("bf16"), dtype("int8")])
    >>> [row.derivation.answer.ridge for row in found.rows]
    [Fraction(9850, 41), Fraction(19700, 41)]
    """
    rows = tuple(_row(problem, accelerator, kind) for accelerator in chips for kind in dtypes or (None,))
    for row in rows:
        if row.derivation is not None:
            require_arithmetic(row.derivation.setting, "each by itself: symroof derive")
            return Comparison(problem, row.derivation.setting.variable, row.derivation, rows)
    assert rows[0].error is not None, "a row has an answer or an error"
    raise rows[0].error


def _row(problem: Problem, accelerator: Accelerator, kind: Dtype | None) -> OneChip:
    try:
        return OneChip(accelerator, kind, derive(replace(_stored(problem, kind), hardware=accelerator)))
    except SymroofError as error:
        return OneChip(accelerator, kind, error=error)


def _stored(problem: Problem, kind: Dtype | None) -> Problem:
    """The problem with every tensor in one dtype; indices among the tensors of a program stay what they are."""
    if kind is None:
        return problem
    stored = with_types(problem.operation, dict.fromkeys(numeric_tensors(problem.operation), kind))
    return replace(problem, operation=stored, compute=problem.compute or kind)
