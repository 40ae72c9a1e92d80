"""The finished derivation: its steps, and the answer that they earn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from sympy import Expr

from symroof.algebra.approximation import Approximation
from symroof.algebra.intervals import Threshold
from symroof.algebra.roots import Root
from symroof.derivation.setting import Setting
from symroof.proof.step import Reason, Step

if TYPE_CHECKING:
    from symroof.derivation.evaluation import QuantityFunction


@dataclass(frozen=True, slots=True)
class TimeRow:
    """The times at one size, in seconds; ``bound_by`` is compute, or the link."""

    size: Fraction
    t_math: Fraction
    t_comms: Fraction
    threshold: bool = False

    @property
    def lower(self) -> Fraction:
        return max(self.t_math, self.t_comms)

    @property
    def upper(self) -> Fraction:
        return self.t_math + self.t_comms

    @property
    def compute_bound(self) -> bool:
        return self.t_math > self.t_comms


@dataclass(frozen=True, slots=True)
class Point:
    """The answer with values put in. Expressions are in what stays free."""

    values: Mapping[str, Fraction]
    intensity: Expr
    variable: Expr
    threshold: Threshold | None
    bound: Expr | Root | None
    smallest_integer: int | None
    outcome: str
    t_math: Expr | None = None
    t_comms: Expr | None = None
    times: tuple[TimeRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What people look for first. A field is None where it does not apply."""

    intensity: Expr
    reciprocals: tuple[Expr, ...] | None = None
    leading: Approximation | None = None
    limits: Mapping[str, Expr] = field(default_factory=dict)
    ridge: Fraction | None = None
    threshold: Threshold | None = None
    supremum: Expr | None = None
    bound: Expr | Root | None = None
    rule: Threshold | None = None
    rule_bound: Expr | Root | None = None
    rule_factor: Expr | None = None
    smallest_integer: int | None = None
    outcome: str = "depends"
    at: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class Derivation:
    """Steps and answer of one problem. Every step has been checked."""

    setting: Setting
    steps: tuple[Step, ...]
    answer: Answer

    def section(self, name: str) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.section == name)

    def find(self, reason: Reason) -> Step | None:
        """The first step of that reason."""
        return next((step for step in self.steps if step.reason is reason), None)

    def function(self, name: str) -> QuantityFunction:
        """A quantity (``intensity``, ``T_lower``, ``throughput``, …) as a function on numbers and arrays.

        >>> import symroof as sr
        >>> throughput = sr.derive("matmul", on="tpu-v5e").function("throughput")
        >>> throughput(B=64, D=8192, F=8192) / 1e12
        51.67...
        """
        from symroof.derivation.evaluation import function_of

        return function_of(self.setting, name)

    def counts(self) -> Mapping[str, int]:
        """How many steps were proved, and how many sampled."""
        kinds = [step.check.status for step in self.steps if step.check is not None]
        return {kind: kinds.count(kind) for kind in ("proved", "sampled")}
