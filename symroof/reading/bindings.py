"""Sizes that are put in: ``D = F = 8192, B = 256``."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from symroof.errors import suggestion
from symroof.reading.expressions import ExpressionReader, Scope
from symroof.reading.units import read_number

LARGEST_SIZE = 10**18


def read_bindings(text: str, scope: Scope) -> dict[str, Fraction]:
    """Values put in: ``D = F = 8192, B = 256``.

    >>> read_bindings("D=F=8192, B=256", Scope(("B", "D", "F")))
    {'D': Fraction(8192, 1), 'F': Fraction(8192, 1), 'B': Fraction(256, 1)}
    """
    reader = ExpressionReader(text, scope)
    bound: dict[str, Fraction] = {}
    while True:
        waiting = [_bound_name(reader, bound)]
        reader.expect("=")
        while reader.token.kind == "word" and reader.following.text == "=":
            waiting.append(_bound_name(reader, {**bound, **dict.fromkeys(waiting)}))
            reader.next()
        token = reader.token
        if token.kind != "number":
            raise reader.error(expected="a number")
        value = read_number(reader, scope.names)
        if value.unit is not None or value.value <= 0:
            raise reader.error(f"{token.text} is no size", token=token, expected="a plain number above zero")
        if value.value > LARGEST_SIZE:
            raise reader.error(f"{token.text[:20]} is out of range", token=token, expected="a size up to 1e18")
        bound |= dict.fromkeys(waiting, value.value)
        if not reader.accept(","):
            reader.expect_end("',' or the end")
            return bound


def _bound_name(reader: ExpressionReader, bound: Mapping[str, object]) -> str:
    token = reader.token
    if token.kind != "word":
        raise reader.error(expected="a name, as in D=8192")
    if token.text not in reader.scope.names:
        raise reader.error(
            f"unknown name {token.text!r}",
            expected="one of " + (", ".join(reader.scope.names) or "no names at all"),
            hint=suggestion(token.text, reader.scope.names),
        )
    if token.text in bound:
        raise reader.error(f"{token.text} is given twice")
    return reader.next().text
