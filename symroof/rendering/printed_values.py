"""Single values in print: parts of an answer, quantities and expressions at sizes, on a line or within a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sympy import Expr

from symroof.algebra.roots import Root
from symroof.algebra.rounding import decimal, shorten
from symroof.derivation.drafts import Steps, as_number
from symroof.derivation.named_formulas import ASKED, formula_result, unit_in
from symroof.derivation.pipeline import Derivation, draft_after, values_alone
from symroof.derivation.premises import Setting, setting_of
from symroof.derivation.quantity_definitions import quantities
from symroof.errors import CheckError, ReadingError, SymroofError, suggestion
from symroof.formula import Formula, Frozen, Number, names
from symroof.model.problem import Problem
from symroof.model.program_quantities import other_names
from symroof.model.quantities import UNITS, Exponents, Mismatch, exponents, parts_of, spelled, unit_of_time
from symroof.proof.step import named_formula
from symroof.reading.arguments import problem_of
from symroof.reading.expressions import read_expression
from symroof.reading.name_scope import Scope
from symroof.reading.numbers import measured, unit_named
from symroof.rendering.pages.number_formats import to_digits, with_unit
from symroof.rendering.pages.templating import words
from symroof.rendering.pages.terminal import unglue
from symroof.rendering.pages.typesetting import Style, Typesetter, typesetter_of
from symroof.rendering.records.derivations import parts
from symroof.rendering.records.json_parts import json_of as tree_of
from symroof.rendering.results import Result, ShownDerivation
from symroof.symbols import VALUES, expression

# What looks like the name of a part: threshold, flops(h).
NAME = re.compile(r"\s*([\w.]+)(?:\([\w, ]*\))?\s*")


class Values(Frozen):
    """The values of an expression at each set of sizes, or its formula where there is none; and its unit, None where
    nothing tells it."""

    name: str
    derivation: Derivation
    steps: Steps
    values: tuple[Fraction | Formula, ...]
    unit: Exponents | None

    @property
    def open(self) -> tuple[str, ...]:
        """The sizes and figures that leave a value open, in their order, where some sizes are given."""
        spoken = {name for value in self.values if not isinstance(value, Fraction) for name in names(value)}
        put_in = {name for point in self.derivation.setting.problem.at for name in point}
        figures = ("peak", "bandwidth")
        own = (*self.derivation.setting.problem.names, *self.derivation.setting.problem.symbols, *figures)
        return tuple(name for name in own if name in spoken - put_in)

    def line(self, value: Fraction | Formula, typesetter: Typesetter, unit: str | None) -> str:
        """A value as text, in a unit."""
        if not isinstance(value, Fraction):
            if unit is not None:
                raise ReadingError(
                    f"no number to say in {unit}: {', '.join(self.open)} {'are' if len(self.open) > 1 else 'is'} open",
                    hint="no chip says them: --on"
                    if "peak" in self.open or "bandwidth" in self.open
                    else f"--at {','.join(f'{name}=…' for name in self.open)}",
                )
            return inline_value(value, typesetter, Shape())
        if unit is not None:
            return unglue(typesetter.amount(*self._in(value, unit)))
        return unglue(typesetter.amount(*with_unit(value, self.unit)))

    def _in(self, value: Fraction, unit_name: str) -> tuple[str, str]:
        scaled, unit = self.scaled(value, unit_name)
        return shorten(scaled, 5), unit

    def scaled(self, value: Fraction, unit_name: str) -> tuple[Fraction, str]:
        """A value in the unit that is unit_name, and the name of that. Raises :class:`ReadingError` where it is of another kind."""
        unit = unit_named(unit_name)
        if unit is None:
            raise ReadingError(f"--unit {unit_name!r} is no unit", expected="a unit such as ms, GB or tokens/s")
        scale, base = measured(unit)
        if self.unit is not None and exponents(base) != self.unit:
            raise ReadingError(
                f"{self.name} is in {spelled(self.unit)}, and {unit_name} was asked for",
                hint="one --unit is for all values of a command",
            )
        return value / scale, unit


def values_of(derivation: Derivation, text: str) -> Values | None:
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
        steps_of = formula_result(draft_after(derivation), formula)
    except CheckError as error:
        raise ReadingError(f"{text} is not derived: {str(error).rpartition(': ')[2]}") from None
    steps = [step for step in steps_of.steps if step.role == named_formula(ASKED)]
    if len(steps) < len(setting.problem.at):
        raise ReadingError(
            f"{text} has no value at the sizes that can be proved",
            expected="a real number, or a formula in what is open",
        )
    values = tuple(step.right.value if isinstance(step.right, Number) else _value(step.right) for step in steps)
    return Values(text, derivation, steps_of, values or (formula,), _unit(formula, setting))


def _value(formula: Formula) -> Fraction | Formula:
    """A fraction of whole numbers as one number."""
    if names(formula):
        return formula
    value = as_number(expression(formula))
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


def with_expressions(problem: Problem, texts: Iterable[str]) -> Problem:
    """The problem with a formula for each of the expressions, named as it is written."""
    formulas = [text for text in texts if not is_plain(text)]
    if not formulas:
        return problem
    setting = setting_of(replace(problem, at=()))
    return replace(problem, let={**problem.let, **{text: read_quantity(text, setting) for text in formulas}})


class ShownParts(Result, Frozen):
    """Parts of an answer, each on a line: its value, or its formula; a quantity at sizes on a line for each set of them.
    In text each of several stands behind its name."""

    derivation: ShownDerivation
    names: tuple[tuple[str, bool], ...]
    unit: str | None = None

    def __repr__(self) -> str:
        return f"<{', '.join(name for name, _ in self.names)} of {self.derivation.setting.problem.operation.title}>"

    def page(self, form: str, style: Style) -> str:
        setting = self.derivation.setting
        typesetter = typesetter_of(form, setting.layout, setting.problem.link, style.of(setting.problem))
        named = form == "text" and len(self.names) > 1
        width, lines = max(len(name) for name, _ in self.names) + 2 if named else 0, list[str]()
        for name, formula in self.names:
            quantity = None if formula else self.quantity(name)
            if quantity is not None:
                values = [quantity.line(value, typesetter, self.unit) for value in quantity.values]
            else:
                values = [inline_value(self._part(name), typesetter, Shape(formula=formula))]
            lines += [f"{name if named else '':{width}}{value}\n" for value in values]
        return "".join(lines)

    def to_dict(self) -> dict[str, Any]:
        setting, result = self.derivation.setting, dict[str, Any]()
        for name, formula in self.names:
            quantity = None if formula else self.quantity(name)
            values = [self._part(name)] if quantity is None else list(quantity.values)
            tree = tree_of(values, setting.layout.write)
            result[name] = tree[0] if len(tree) == 1 else tree
        return result

    @property
    def open(self) -> dict[str, tuple[str, ...]]:
        """What is a formula although there are sizes: by its name the sizes that leave it open.

        >>> import symroof as sr
        >>> sr.derive("matmul", on="tpu-v5e", at="B=64").only(["T_math", "ridge"]).open
        {'T_math': ('D', 'F')}
        """
        if not self.derivation.setting.problem.at:
            return {}
        result = {name: self.quantity(name) for name, formula in self.names if not formula}
        return {name: value.open for name, value in result.items() if value is not None and value.open}

    def quantity(self, name: str) -> Values | None:
        """What a name or an expression comes to, where it is one of quantities; None for a part of the answer."""
        return self._values[name]

    @cached_property
    def _values(self) -> dict[str, Values | None]:
        return {name: values_of(self.derivation, name) for name, formula in self.names if not formula}

    def _unknown_part(self, name: str, named: Mapping[str, Any]) -> ReadingError:
        """That an answer has no such part: what it has is said without what it says of each statement."""
        every = dict.fromkeys(
            (*(part for part, value in named.items() if value is not None), *quantities(self.derivation.setting))
        )
        plain = [part for part in every if not part.endswith(")")]
        each = dict.fromkeys(f"{parts_of(part)[0]}(…)" for part in every if part.endswith(")"))
        return ReadingError(
            f"the answer has no {name!r}",
            expected=f"one of {', '.join((*plain, *each))}",
            hint=suggestion(name, [part for part in every if "(" in part] if "(" in name else plain),
        )

    def _part(self, name: str) -> Any:
        named = parts(self.derivation)
        if name not in named:
            raise self._unknown_part(name, named)
        if named[name] is None:
            raise ReadingError(f"{name} does not apply here: the derivation has none")
        return named[name]


def counted_parts(table: Mapping[str, Any], values: tuple[str, ...], unit: str | None) -> ShownParts | None:
    """Numbers that counting alone gives; None where a value needs more of the derivation, or sizes that are not there."""
    with suppress(SymroofError):
        problem = problem_of(table, None, {})
        if values and problem.at and problem.operation.given is None:
            parts = ShownDerivation(**vars(values_alone(problem))).only(values, (), unit)
            names = quantities(parts.derivation.setting)
            if all(not is_plain(name) or name in names for name in values) and not parts.open:
                return parts
    return None


MOST_DIGITS = 30  # the most that a value may be asked for with
LARGE = 10**6  # from here on a number has a power of ten


class Shape(Frozen):
    """How a value is to stand: with so many ``digits``, in a ``unit``, or as a ``formula``; else as the pages print it."""

    digits: int | None = None
    unit: str | None = None
    formula: bool = False


def read_shape(text: str) -> Shape:
    """What is written behind a semicolon.

    >>> read_shape("3 digits"), read_shape("us")
    (Shape(digits=3, unit=None, formula=False), Shape(digits=None, unit='us', formula=False))
    """
    shape = Shape()
    for word in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(\d+) digits?", word)
        if match is not None and 0 < int(match[1]) <= MOST_DIGITS:
            shape = replace(shape, digits=int(match[1]))
        elif word == "formula":
            shape = replace(shape, formula=True)
        elif word.partition("/")[0] in UNITS:
            shape = replace(shape, unit=word)
        else:
            raise ReadingError(f"{word!r} is no way to show a value", expected="3 digits, a unit as in us, or formula")
    return shape


def inline_value(value: Any, typesetter: Typesetter, shape: Shape, unit: str = "", *, bare: bool = False) -> str:
    r"""A value in the line; ``bare`` inside of mathematics, where the author has set what stands around it.

    >>> from symroof.derivation.formula_writing import Layout
    >>> from symroof.rendering.pages.typesetting import Style, typesetter_of
    >>> typesetter = typesetter_of("markdown", Layout(()), "HBM", Style())
    >>> inline_value(Fraction(9850, 41), typesetter, Shape()), inline_value(Fraction(9850, 41), typesetter, Shape(3)), inline_value(241, typesetter, Shape())
    ('240.24', '240', '241')
    >>> inline_value(Fraction(872, 10**7), typesetter, Shape(), "s"), inline_value(Fraction(197 * 10**12), typesetter, Shape())
    ('87.2 µs', '$1.97 \\times 10^{14}$')
    """
    if isinstance(value, str):
        style = typesetter.style
        return typesetter.words(words(style.template, style.language, "documents").words.get(value, value))
    number = Fraction(value) if isinstance(value, int | Fraction) else _number(value)
    if number is None or shape.formula:
        return _set(value, typesetter, bare)
    if unit == "s" or shape.unit is not None:
        return _with_unit(number, typesetter, shape, unit, bare)
    shown = decimal(number) if abs(number) < LARGE else shorten(number)
    digits = shown if shape.digits is None else to_digits(number, shape.digits)
    if "e" in digits:
        return _set(Number(Fraction(digits), digits), typesetter, bare)
    return digits


def _number(value: Any) -> Fraction | None:
    if isinstance(value, Root):
        return value.middle
    return as_number(value) if isinstance(value, Expr) else getattr(value, "value", None)


def _set(value: Any, typesetter: Typesetter, bare: bool) -> str:
    formula = value if isinstance(value, Formula) else typesetter.layout.write(value)
    if typesetter.form == "text":
        return unglue(typesetter.inline(formula))
    line = " ".join(typesetter.printer.print(formula).split())  # a value does not go on in the next line
    return line if bare else line.join(typesetter.dialect.inline)


def _with_unit(number: Fraction, typesetter: Typesetter, shape: Shape, unit: str, bare: bool) -> str:
    """A quantity in the unit that is asked for; a time else in the one that gives it digits before the point."""
    if shape.unit is None:
        chosen = unit_of_time(number)
        return _amount(shorten(number / chosen.scale, shape.digits or 4), chosen.name, typesetter, bare)
    family, slash, per = shape.unit.partition("/")
    chosen_unit = UNITS[family]
    if unit != chosen_unit.base + slash + per:
        raise ReadingError(f"the value is in {unit or 'no unit'}, and {shape.unit} was asked for")
    return _amount(
        shorten(number / chosen_unit.scale, shape.digits or 4), chosen_unit.name + slash + per, typesetter, bare
    )


def _amount(digits: str, unit: str, typesetter: Typesetter, bare: bool) -> str:
    """A number with its unit; in mathematics a unit is upright, and a micro has its letter."""
    if not bare or typesetter.form == "text":
        return typesetter.amount(digits, unit)
    upright = r"\mu\text{s}" if unit == "us" else rf"\text{{{unit}}}"
    return rf"{_set(Number(Fraction(digits), digits), typesetter, bare)}\,{upright}"
