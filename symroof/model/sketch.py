"""A sketch: named formulas, and a relation between them, without an operation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction

from symroof.formula import Compare, Formula, Frozen
from symroof.model.dtype import Dtype
from symroof.model.hardware import Accelerator


class Sketch(Frozen):
    """What a table says that has no operation: every name is a positive number, unless a formula or a figure says what it
    is. The keys are those of a :class:`~symroof.model.problem.Problem`."""

    hardware: Accelerator | None = None
    symbols: tuple[str, ...] = ()
    let: Mapping[str, Formula] = field(default_factory=dict)
    assume: tuple[Compare, ...] = ()
    compute: Dtype | None = None
    title: str | None = None
    at: tuple[Mapping[str, Fraction], ...] = ()
    solve: Compare | None = None
    solve_for: str | None = None
    minimize: Formula | None = None
    over: str | None = None
    subject: Compare | None = None
    lang: str | None = None
