"""The steps of a derivation that is being written: the second engine decides each as a section adds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sympy import Expr, oo

from symroof.algebra.dominance import Similarity
from symroof.algebra.regime import Relation
from symroof.algebra.roots import Root
from symroof.algebra.rounding import decimal
from symroof.derivation.answer import Answer
from symroof.derivation.formula_writing import Layout, with_digits
from symroof.derivation.premises import Setting
from symroof.formula import Compare, Formula, Frozen, Infinity, Name, Number
from symroof.model.quantities import T_COMMS, T_MATH
from symroof.proof.certificates import Dominance
from symroof.proof.check import establish
from symroof.proof.step import Ledger, Reason, Step, UndecidedError
from symroof.symbols import fraction, rational, symbol

INTENSITY, RIDGE, T_UPPER, T_STEPS = map(Name, ("intensity", "ridge", "T_upper", "T_steps"))


class Draft(Frozen):
    """The steps so far, all of them decided; ``ledger`` is what they have established."""

    setting: Setting
    ledger: Ledger
    steps: tuple[Step, ...] = ()

    @property
    def answer(self) -> Answer:
        return Answer(self.steps, self.setting.problem.at)

    @property
    def layout(self) -> Layout:
        return self.setting.layout

    def write(self, value: Expr | Fraction | int | Root) -> Formula:
        return self.layout.write(value)

    @property
    def above(self) -> Compare:
        """That the arithmetic takes longer: by the intensity, or by the times where there is no ridge."""
        return Compare(T_MATH, ">", T_COMMS) if self.setting.mixed else Compare(INTENSITY, ">", RIDGE)

    def where(self, point: int) -> tuple[Formula, ...]:
        """The equalities of a set of sizes, beside those that are assumed."""
        sizes = self.setting.problem.at[point]
        return (*self.setting.equalities, *(Compare(Name(n), "=", self.write(x)) for n, x in sizes.items()))

    def value_at(self, value: Expr, sizes: Mapping[str, Fraction]) -> Expr:
        """A value with sizes put in."""
        return self.setting.regime.apply(value).subs({symbol(name): rational(x) for name, x in sizes.items()})

    def in_digits(self, formula: Formula) -> Formula:
        """The formula with known figures shown by their digits."""
        return with_digits(formula, self.setting.digits)

    def add(self, *steps: Step) -> Draft:
        """The draft with more steps. Raises :class:`~symroof.errors.CheckError` on one that does not hold."""
        return replace(self, steps=(*self.steps, *establish(steps, self.ledger)))

    def attempt(self, *steps: Step) -> Draft:
        """The draft with more steps; without any of them where the second engine can tell nothing of one."""
        try:
            return self.add(*steps)
        except UndecidedError:
            return self

    def since(self, earlier: Draft) -> tuple[Step, ...]:
        """The steps that an earlier draft did not have."""
        return self.steps[len(earlier.steps) :]


def comparisons(relations: Iterable[Relation], write: Callable[[Expr], Formula]) -> tuple[Compare, ...]:
    """Relations of a regime as formulas."""
    return tuple(Compare(write(a), sign, Infinity() if b == oo else write(b)) for a, sign, b in relations)


def dominance_of(similar: Similarity, write: Callable[[Expr], Formula]) -> Dominance:
    """What the check needs to decide an approximation again."""
    return Dominance(write(similar.numerator), write(similar.denominator), similar.certificates)


def as_number(value: Expr | Root | None) -> Fraction | None:
    """The value of a bound without symbols; the middle of its interval for an irrational one."""
    if isinstance(value, Root):
        return value.middle
    return fraction(value) if value is not None and value.is_Rational else None


def decimals(
    section: str, left: Formula, value: Fraction, digits: str | None = None, **options: Any
) -> tuple[Step, ...]:
    """``left ~ 240.24``, and nothing where the digits are the value itself."""
    text = digits or decimal(value)
    if Fraction(text) == value:
        return ()
    return (Step(section, Reason.ROUNDED, left, "~", Number(Fraction(text), text), **options),)
