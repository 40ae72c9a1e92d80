"""What it means to be solved: intervals, guarded cases, and the least whole number above a bound."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import TypeAlias

from sympy import Expr

from symroof.algebra.roots import Root

End: TypeAlias = "Expr | Root | None"


@dataclass(frozen=True, slots=True)
class Interval:
    """The open interval between two ends; None is the end of the domain."""

    low: End = None
    high: End = None


ALWAYS = (Interval(),)
NEVER: tuple[Interval, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """Where every ``guard`` is positive the solution is the union of the intervals.

    ``implicit`` stands for a polynomial that must be positive and has no solved form.
    """

    guard: tuple[Expr, ...]
    intervals: tuple[Interval, ...]
    implicit: Expr | None = None


@dataclass(frozen=True, slots=True)
class Threshold:
    """The solution of ``polynomial > 0`` for ``variable``: the first case whose guard holds, else ``otherwise``.

    ``one_root`` tells that an implicit solution is everything beyond (1) or below (-1) the only positive root.
    """

    variable: Expr
    polynomial: Expr
    cases: tuple[Case, ...]
    otherwise: Case | None = None
    one_root: int = 0

    @property
    def outcome(self) -> str:
        """``always``, ``never`` or ``depends``."""
        if len(self.cases) == 1 and not self.cases[0].guard and self.cases[0].implicit is None:
            return {ALWAYS: "always", NEVER: "never"}.get(self.cases[0].intervals, "depends")
        return "depends"

    @property
    def bound(self) -> End:
        """The end of the solution where it is one-sided, else None."""
        for case in self.cases:
            if len(case.intervals) == 1 and case.intervals not in (ALWAYS, NEVER):
                low, high = case.intervals[0].low, case.intervals[0].high
                return low if high is None else high if low is None else None
        return None

    @property
    def rises(self) -> bool:
        """Whether the solution is everything above the bound."""
        return any(case.intervals and case.intervals[-1].high is None for case in self.cases)


def smallest_integer(bound: Expr | Root, step: int = 1) -> int | None:
    """The least positive multiple of ``step`` above the bound, or None where the bound is symbolic.

    >>> from sympy import Rational
    >>> smallest_integer(Rational(9850, 41)), smallest_integer(Rational(78800, 9), 2)
    (241, 8756)
    """
    if isinstance(bound, Root):
        low, high = floor(bound.low / step), floor(bound.high / step)
        return (low + 1) * step if low == high else None
    if not bound.is_Rational:
        return None
    return max(1, floor(Fraction(int(bound.p), int(bound.q)) / step) + 1) * step
