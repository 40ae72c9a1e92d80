"""Decimal numbers in print: every one is compared with the value that it stands for before anyone sees it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from symroof.algebra import rounding
from symroof.errors import CheckError
from symroof.proof.evidence import stands_for


def decimal(value: Fraction) -> str:
    return _compared(rounding.decimal, value)


def short(value: Fraction, digits: int = 6) -> str:
    return _compared(rounding.short, value, digits)


def to_digits(value: Fraction, digits: int) -> str:
    return _compared(rounding.to_digits, value, digits)


def to_places(value: Fraction, places: int) -> str:
    return _compared(rounding.to_places, value, places)


def raised(value: Fraction, digits: int) -> str:
    """A decimal of that many digits that is not below a value, and less than one unit of its last digit above.

    >>> raised(Fraction(20812, 1000), 3), raised(Fraction(533, 10), 3), raised(Fraction(2081, 10000), 2)
    ('20.9', '53.3', '0.21')
    """
    text = rounding.to_digits(value, digits)
    places = len(text.partition(".")[2])
    unit = Fraction(1, 10**places)
    text = text if Fraction(text) >= value else rounding.to_places(Fraction(text) + unit, places)
    if not 0 <= Fraction(text) - value < unit:
        raise CheckError(f"{text} is not {float(value)} rounded up")
    return text


def _compared(shown: Callable[..., str], value: Fraction, *digits: int) -> str:
    """The digits, if they are the value rounded to nearest. Raises :class:`CheckError` otherwise."""
    text = shown(value, *digits)
    if not stands_for(text, value):
        raise CheckError(f"{text} does not stand for {float(value)}")
    return text
