"""One value or formula in a sentence: how it is asked for, and how it stands there."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sympy import Expr

from symroof.algebra.roots import Root
from symroof.algebra.rounding import decimal, short
from symroof.derivation.steps import numeric
from symroof.errors import ReadingError
from symroof.formula import Formula, Frozen, Number
from symroof.model.quantities import UNITS, unit_of_time
from symroof.rendering.pages.characters import plain
from symroof.rendering.pages.environment import words
from symroof.rendering.pages.number_formats import to_digits
from symroof.rendering.pages.typesetting import Typesetter

MOST_DIGITS = 30
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


def inserted(value: Any, typesetter: Typesetter, shape: Shape, unit: str = "", *, bare: bool = False) -> str:
    r"""A value in the line; ``bare`` inside of mathematics, where the author has set what stands around it.

    >>> from symroof.derivation.layout import Layout
    >>> from symroof.rendering.pages.typesetting import Style, typesetter_of
    >>> typesetter = typesetter_of("markdown", Layout(()), "HBM", Style())
    >>> inserted(Fraction(9850, 41), typesetter, Shape()), inserted(Fraction(9850, 41), typesetter, Shape(3)), inserted(241, typesetter, Shape())
    ('240.24', '240', '241')
    >>> inserted(Fraction(872, 10**7), typesetter, Shape(), "s"), inserted(Fraction(197 * 10**12), typesetter, Shape())
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
    shown = decimal(number) if abs(number) < LARGE else short(number)
    digits = shown if shape.digits is None else to_digits(number, shape.digits)
    if "e" in digits:
        return _set(_printed(digits), typesetter, bare)
    return digits


def _number(value: Any) -> Fraction | None:
    if isinstance(value, Root):
        return value.middle
    return numeric(value) if isinstance(value, Expr) else getattr(value, "value", None)


def _printed(digits: str) -> Formula:
    return Number(Fraction(digits), digits)


def _set(value: Any, typesetter: Typesetter, bare: bool) -> str:
    formula = value if isinstance(value, Formula) else typesetter.layout.write(value)
    if typesetter.form == "text":
        return plain(typesetter.inline(formula))
    line = " ".join(typesetter.printer.print(formula).split())  # a value does not go on in the next line
    return line if bare else line.join(typesetter.dialect.inline)


def _with_unit(number: Fraction, typesetter: Typesetter, shape: Shape, unit: str, bare: bool) -> str:
    """A quantity in the unit that is asked for; a time else in the one that gives it digits before the point."""
    if shape.unit is None:
        chosen = unit_of_time(number)
        return _amount(short(number / chosen.scale, shape.digits or 4), chosen.name, typesetter, bare)
    family, slash, per = shape.unit.partition("/")
    known = UNITS[family]
    if unit != known.base + slash + per:
        raise ReadingError(f"the value is in {unit or 'no unit'}, and {shape.unit} was asked for")
    return _amount(short(number / known.scale, shape.digits or 4), known.name + slash + per, typesetter, bare)


def _amount(digits: str, unit: str, typesetter: Typesetter, bare: bool) -> str:
    """A number with its unit; in mathematics a unit is upright, and a micro has its letter."""
    if not bare or typesetter.form == "text":
        return typesetter.amount(digits, unit)
    upright = r"\mu\text{s}" if unit == "us" else rf"\text{{{unit}}}"
    return rf"{_set(_printed(digits), typesetter, bare)}\,{upright}"
