"""A derivation being written: every section adds its steps, and what they establish."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sympy import Expr

from symroof.algebra.roots import Root
from symroof.algebra.rounding import decimal, shown_exactly
from symroof.derivation.derivation import Answer
from symroof.derivation.layout import Layout, with_digits
from symroof.derivation.setting import Setting
from symroof.derivation.step import Reason, Step
from symroof.formula import Formula, Name, Number
from symroof.symbols import fraction

INTENSITY, RIDGE, PEAK, BANDWIDTH = map(Name, ("intensity", "ridge", "peak", "bandwidth"))
FLOPS, T_MATH, T_COMMS = map(Name, ("flops", "T_math", "T_comms"))


@dataclass(frozen=True, slots=True)
class Draft:
    setting: Setting
    steps: tuple[Step, ...]
    answer: Answer

    @property
    def layout(self) -> Layout:
        return self.setting.layout

    def write(self, value: Expr | Fraction | int | Root) -> Formula:
        return self.layout.write(value)

    def in_digits(self, formula: Formula) -> Formula:
        """The formula with known figures shown by their digits."""
        return with_digits(formula, self.setting.digits)

    def add(self, *steps: Step) -> Draft:
        return replace(self, steps=(*self.steps, *steps))

    def found(self, **answers: Any) -> Draft:
        return replace(self, answer=replace(self.answer, **answers))


def numeric(value: Expr | Root | None) -> Fraction | None:
    """The value of a bound without symbols; the middle of its interval for an irrational one."""
    if isinstance(value, Root):
        return value.middle
    return fraction(value) if value is not None and value.is_Rational else None


def rounded(section: str, left: Formula, value: Fraction, *, digits: str | None = None, **options: Any) -> tuple[Step, ...]:
    """``left ~ 240.24``, and nothing where the digits are the value itself."""
    text = digits or decimal(value)
    if shown_exactly(value, text):
        return ()
    return (Step(section, Reason.ROUNDED, left, "~", Number(Fraction(text), text), **options),)
