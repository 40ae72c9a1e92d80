"""Sizes that are put in: ``D = F = 8192, B = 256``."""

from __future__ import annotations

from fractions import Fraction

from symroof.reading.expressions import ExpressionReader, Scope
from symroof.reading.numbers import read_number

LARGEST_SIZE = 10**18


def read_bindings(text: str, scope: Scope) -> dict[str, Fraction]:
    """Values put in: ``D = F = 8192, B = 256``.

    >>> read_bindings("D=F=8192, B=256", Scope(("B", "D", "F")))
    {'D': Fraction(8192, 1), 'F': Fraction(8192, 1), 'B': Fraction(256, 1)}
    """
    reader = ExpressionReader(text, scope)
    bound: dict[str, Fraction] = {}
    while not bound or reader.accept(","):
        names, token = reader.bound_names(bound, "D=8192"), reader.token
        if token.kind != "number":
            raise reader.error(expected="a number")
        value = read_number(reader, scope.names)
        if value.unit is not None or value.value <= 0:
            raise reader.error(f"{token.text} is no size", token=token, expected="a plain number above zero")
        if value.value > LARGEST_SIZE:
            raise reader.error(f"{token.text[:20]} is out of range", token=token, expected="a size up to 1e18")
        bound |= dict.fromkeys(names, value.value)
    reader.expect_end("',' or the end")
    return bound
