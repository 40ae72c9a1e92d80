"""Sizes that are put in, and grids of sizes.

    sizes = bind { "," bind }               bind = NAME { "=" NAME } "=" NUMBER           D = F = 8192, B = 256
    grid  = axis { "," axis }               axis = NAME { "=" NAME } "=" ( value { "|" value } | range )
    range = low ( ":" | ".." ) high [ ":" ( STEP | "log" [ COUNT ] ) ]                    B=1:4096:log, D=F=1024|4096

``1:4096`` is every whole number, ``1:4096:64`` every 64th, ``1:4096:log`` every doubling, and ``1:4096:log20`` twenty
whole numbers that are evenly spaced on a logarithmic scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from math import prod

from symroof.errors import ReadingError
from symroof.formula import Frozen, Number
from symroof.reading.expressions import ExpressionReader
from symroof.reading.name_scope import Scope
from symroof.reading.numbers import read_number
from symroof.reading.scanner import Token

LARGEST_SIZE = 10**18
LONGEST_AXIS = 10_000_000


class Axis(Frozen):
    """Sizes that run together, and the values that they take. What is drawn reaches from one of the ``ends`` to the
    other, on a logarithmic scale if that was asked for."""

    names: tuple[str, ...]
    values: Sequence[int]
    high: int = field(default=0, repr=False)
    log: bool = field(default=False, repr=False)

    @property
    def ends(self) -> tuple[int, int]:
        return min(self.values), max(self.high, self.values[-1])


def read_bindings(text: str, scope: Scope, symbols: tuple[str, ...] = ()) -> dict[str, Fraction]:
    """Values put in: ``D = F = 8192, B = 256``; a size is at least 1, any of the other ``symbols`` is above 0.

    >>> read_bindings("D=F=8192, B=256, mfu=0.4", Scope(("B", "D", "F", "mfu")), ("mfu",))
    {'D': Fraction(8192, 1), 'F': Fraction(8192, 1), 'B': Fraction(256, 1), 'mfu': Fraction(2, 5)}
    """
    reader = ExpressionReader(text, scope)

    def no_size(token: Token) -> ReadingError:
        return reader.error(f"{token.text} is no size of a dimension", "a number from 1, without a unit", token=token)

    def number() -> tuple[Token, Fraction]:
        token, value = _number(reader, "a number")
        if value.unit is not None or value.value <= 0:
            raise no_size(token)
        if value.value > LARGEST_SIZE:
            raise reader.error(f"{token.text[:20]} is out of range", "a size up to 1e18", token=token)
        return token, value.value

    bound = reader.bindings(number, "D=8192")
    if reader.token.text in ("k", "K") and not reader.token.spaced:
        _, (token, value) = bound[-1]
        raise reader.error(f"{token.text}k is {value * 1000} or {value * 1024}", "one of these", token=reader.token)
    reader.expect_end("',' or the end")
    for names, (token, value) in bound:
        if value < 1 and not {*names} <= {*symbols}:
            raise no_size(token)
    return {name: value for names, (_, value) in bound for name in names}


def size_of(grid: Iterable[Axis]) -> int:
    """The number of points.

    >>> size_of(read_grid("B=1:4096:log, D=F=1024|4096", ("B", "D", "F")))
    26
    """
    return prod(len(axis.values) for axis in grid)


def read_grid(text: str, names: Sequence[str]) -> tuple[Axis, ...]:
    """The axes of a grid, every name once.

    >>> read_grid("D=F=1024|4096", ("D", "F"))
    (Axis(names=('D', 'F'), values=(1024, 4096)),)
    >>> read_grid("B=1:20:log", ("B",))[0].values
    (1, 2, 4, 8, 16)
    """
    reader = ExpressionReader(text.replace("..", ": "), Scope(tuple(names)))
    reader.source = text
    bound = reader.bindings(lambda: _values(reader), "B=1:4096")
    reader.expect_end("a range as B=1..400, ',' or the end")
    return tuple(Axis(tuple(names), *values) for names, values in bound)


def fixed_axes(points: Sequence[Mapping[str, Fraction]], axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The sizes of a point as axes of one value, beside those of a grid.

    >>> fixed_axes([{"F": Fraction(8)}], read_grid("B=1:2", ("B", "F")))
    (Axis(names=('F',), values=(8,)),)
    """
    if len(points) > 1:
        raise ReadingError(
            f"a grid has one set of fixed sizes, and there are {len(points)}",
            expected="several values in the grid, as in D=F=1024|4096",
        )
    axes_read = []
    for name, value in (points[0] if points else {}).items():
        if any(name in axis.names for axis in axes):
            raise ReadingError(f"{name} is in the grid and has a size as well")
        if value.denominator != 1:
            raise ReadingError(f"{name} = {value} is no size of a grid", expected="a whole number")
        axes_read.append(Axis((name,), (int(value),)))
    return tuple(axes_read)


def _values(reader: ExpressionReader) -> tuple[Sequence[int], int, bool]:
    """The values of an axis, the end that was asked for, and whether they are spaced on a logarithmic scale."""
    values, _ = reader.separated(lambda: _size(reader), "|")
    if len(values) > 1 or not reader.accept(":"):
        return tuple(dict.fromkeys(values)), max(values), False
    (low,), token, high = values, reader.token, _size(reader)
    if high < low:
        raise reader.error(f"{high} is below {low}", "a range that rises", token=token)
    spacing = reader.accept(":") and reader.token
    if spacing is not None and spacing.kind == "word" and spacing.text.startswith("log"):
        return _logarithmic(reader, low, high), high, True
    between = range(low, high + 1, _size(reader) if spacing else 1)
    if len(between) > LONGEST_AXIS:
        problem = f"an axis of {len(between)} values is too long"
        raise reader.error(problem, f"at most {LONGEST_AXIS}; give a step, or log")
    return between, high, False


def _logarithmic(reader: ExpressionReader, low: int, high: int) -> tuple[int, ...]:
    token = reader.next()
    digits = token.text.removeprefix("log")
    if not digits:
        return tuple(low << i for i in range((high // low).bit_length()))
    if not (digits.isascii() and digits.isdigit()) or not 2 <= int(digits[:9]) <= LONGEST_AXIS:
        raise reader.error(f"{token.text} is no spacing", "log, or log and at least 2 points: log20", token=token)
    count = int(digits)
    return tuple(sorted({round(low * (high / low) ** (i / (count - 1))) for i in range(1, count - 1)} | {low, high}))


def _size(reader: ExpressionReader) -> int:
    token, value = _number(reader, "a whole number")
    if value.unit is not None or value.value.denominator != 1 or not 1 <= value.value <= LARGEST_SIZE:
        raise reader.error(f"{token.text[:20]} is no size of a grid", "a whole number from 1 to 1e18", token=token)
    return int(value.value)


def _number(reader: ExpressionReader, what: str) -> tuple[Token, Number]:
    token = reader.token
    if token.kind != "number":
        raise reader.error(expected=what)
    return token, read_number(reader, reader.scope.names)
