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


def _compared(shown: Callable[..., str], value: Fraction, *digits: int) -> str:
    """The digits, if they are the value rounded to nearest. Raises :class:`CheckError` otherwise."""
    text = shown(value, *digits)
    if not stands_for(text, value):
        raise CheckError(f"{text} does not stand for {float(value)}")
    return text
