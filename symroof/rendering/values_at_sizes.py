"""What a quantity or an expression of quantities comes to: a number at each set of sizes, in the unit that is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

from symroof.algebra.rounding import short
from symroof.derivation.answer import Steps
from symroof.derivation.named_formulas import ASKED, unit_in, worked_out
from symroof.derivation.pipeline import Derivation, draft_after, values_alone
from symroof.derivation.premises import Setting, setting_of
from symroof.derivation.quantity_definitions import quantities
from symroof.derivation.steps import numeric
from symroof.errors import CheckError, ReadingError, SymroofError
from symroof.formula import Formula, Frozen, Number, names
from symroof.model.problem import Problem
from symroof.model.quantities import Exponents, exponents, spelled
from symroof.model.statement_costs import other_names
from symroof.model.units import Mismatch
from symroof.proof.step import named_formula
from symroof.reading.arguments import problem_of
from symroof.reading.expressions import read_expression
from symroof.reading.name_scope import Scope
from symroof.reading.numbers import measured, unit_named
from symroof.rendering.pages.characters import plain
from symroof.rendering.pages.inline_values import Shape, inserted
from symroof.rendering.pages.number_formats import measured_in
from symroof.rendering.pages.typesetting import Typesetter
from symroof.rendering.records.derivations import parts
from symroof.rendering.results import ShownDerivation, ShownParts
from symroof.symbols import VALUES, expression

# What looks like the name of a part: threshold, flops(h).
NAME = re.compile(r"\s*([\w.]+)(?:\([\w, ]*\))?\s*")


class Values(Frozen):
    """The values of an expression at each set of sizes, or its formula where there is none; and its unit, None where
    nothing tells it."""

    name: str
    derivation: Derivation
    said: Steps
    values: tuple[Fraction | Formula, ...]
    unit: Exponents | None

    @property
    def open(self) -> tuple[str, ...]:
        """The sizes and figures that leave a value open, in their order, where some sizes are given."""
        spoken = {name for value in self.values if not isinstance(value, Fraction) for name in names(value)}
        known = {name for point in self.derivation.setting.problem.at for name in point}
        figures = ("peak", "bandwidth")
        own = (*self.derivation.setting.problem.names, *self.derivation.setting.problem.symbols, *figures)
        return tuple(name for name in own if name in spoken - known)

    def line(self, value: Fraction | Formula, typesetter: Typesetter, wanted: str | None) -> str:
        """A value as text, in the unit that is wanted."""
        if not isinstance(value, Fraction):
            if wanted is not None:
                raise ReadingError(
                    f"no number to say in {wanted}: {', '.join(self.open)} {'are' if len(self.open) > 1 else 'is'} open",
                    hint="no chip says them: --on"
                    if "peak" in self.open or "bandwidth" in self.open
                    else f"--at {','.join(f'{name}=…' for name in self.open)}",
                )
            return inserted(value, typesetter, Shape())
        if wanted is not None:
            return plain(typesetter.amount(*self._in(value, wanted)))
        return plain(typesetter.amount(*measured_in(value, self.unit)))

    def _in(self, value: Fraction, wanted: str) -> tuple[str, str]:
        scaled, unit = self.scaled(value, wanted)
        return short(scaled, 5), unit

    def scaled(self, value: Fraction, wanted: str) -> tuple[Fraction, str]:
        """A value in the unit that is wanted, and the name of that. Raises :class:`ReadingError` where it is of another kind."""
        unit = unit_named(wanted)
        if unit is None:
            raise ReadingError(f"--unit {wanted!r} is no unit", expected="a unit such as ms, GB or tokens/s")
        scale, base = measured(unit)
        if self.unit is not None and exponents(base) != self.unit:
            raise ReadingError(
                f"{self.name} is in {spelled(self.unit)}, and {wanted} was asked for",
                hint="one --unit is for all values of a command",
            )
        return value / scale, unit


def asked(derivation: Derivation, text: str) -> Values | None:
    """What is asked for; None for a part of the answer that is no quantity, or where no sizes are put in.

    Raises :class:`ReadingError` for what is no expression of the quantities, sizes and figures of a problem.
    """
    setting = derivation.setting
    text = other_names(setting.problem.operation).get(text, text)
    quantity = text in quantities(setting) or text in setting.known
    if not (quantity and setting.problem.at) and is_plain(text) and text in parts(derivation):
        return None
    if is_plain(text) and not quantity and text not in setting.problem.names:
        return None  # a part that there is not
    formula = read_quantity(text, setting)
    try:
        said = worked_out(draft_after(derivation), formula)
    except CheckError as error:
        raise ReadingError(f"{text} is not derived: {str(error).rpartition(': ')[2]}") from None
    steps = [step for step in said.steps if step.role == named_formula(ASKED)]
    if len(steps) < len(setting.problem.at):
        raise ReadingError(
            f"{text} has no value at the sizes that can be proved",
            expected="a real number, or a formula in what is open",
        )
    values = tuple(step.right.value if isinstance(step.right, Number) else _value(step.right) for step in steps)
    return Values(text, derivation, said, values or (formula,), _unit(formula, setting))


def _value(formula: Formula) -> Fraction | Formula:
    """A fraction of whole numbers as one number."""
    if names(formula):
        return formula
    value = numeric(expression(formula))
    return formula if value is None else value


def _unit(formula: Formula, setting: Setting) -> Exponents | None:
    try:
        return unit_in(setting, formula)
    except Mismatch as found:
        first, second = found.args
        raise ReadingError(f"a sum of {spelled(first)} and {spelled(second)} is no quantity") from None


def is_plain(text: str) -> bool:
    """Whether a text looks like a name alone, and not like a formula.

    >>> [is_plain(text) for text in ("threshold", "flops(h)", "ceil(B)", "B/T_lower")]
    [True, True, False, False]
    """
    result = NAME.fullmatch(text)
    return result is not None and result[1] not in (*VALUES, "log2")


def read_quantity(text: str, setting: Setting) -> Formula:
    """An expression of the sizes, quantities and figures of a problem. Raises :class:`ReadingError` for anything else."""
    problem = setting.problem
    names = (*problem.names, *problem.symbols, *quantities(setting), *setting.known)
    return read_expression(text, Scope(tuple(dict.fromkeys(names))).with_others(other_names(problem.operation)))


def with_expressions(problem: Problem, wanted: Iterable[str]) -> Problem:
    """The problem with a formula for each of the expressions, named as it is written."""
    formulas = [text for text in wanted if not is_plain(text)]
    if not formulas:
        return problem
    setting = setting_of(replace(problem, at=()))
    return replace(problem, let={**problem.let, **{text: read_quantity(text, setting) for text in formulas}})


def counted_parts(table: Mapping[str, Any], values: tuple[str, ...], unit: str | None) -> ShownParts | None:
    """Numbers that counting alone gives; None where a value needs more of the derivation, or sizes that are not there."""
    with suppress(SymroofError):
        problem = problem_of(table, None, {})
        if values and problem.at and problem.operation.given is None:
            parts = ShownDerivation(**vars(values_alone(problem))).only(values, (), unit)
            known = quantities(parts.derivation.setting)
            if all(not is_plain(name) or name in known for name in values) and not parts.open:
                return parts
    return None
