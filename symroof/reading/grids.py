"""Grids of sizes: ``B=1:4096:log, D=F=1024|4096``.

    grid = axis { "," axis }
    axis = NAME { "=" NAME } "=" ( value { "|" value } | low ( ":" | ".." ) high [ ":" ( STEP | "log" [ COUNT ] ) ] )

``1:4096`` is every whole number, ``1:4096:64`` every 64th, ``1:4096:log`` every doubling, and ``1:4096:log20`` twenty
whole numbers that are evenly spaced on a logarithmic scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from symroof.errors import ReadingError
from symroof.reading.bindings import LARGEST_SIZE
from symroof.reading.expressions import ExpressionReader, Scope
from symroof.reading.numbers import read_number

LONGEST_AXIS = 10_000_000


@dataclass(frozen=True, slots=True)
class Axis:
    """Sizes that run together, and the values that they take."""

    names: tuple[str, ...]
    values: Sequence[int]


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
    axes: list[Axis] = []
    while not axes or reader.accept(","):
        bound = reader.bound_names({name for axis in axes for name in axis.names}, "B=1:4096")
        axes.append(Axis(tuple(bound), _values(reader)))
    reader.expect_end("',' or the end")
    return tuple(axes)


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
    found = []
    for name, value in (points[0] if points else {}).items():
        if any(name in axis.names for axis in axes):
            raise ReadingError(f"{name} is in the grid and has a size as well")
        if value.denominator != 1:
            raise ReadingError(f"{name} = {value} is no size of a grid", expected="a whole number")
        found.append(Axis((name,), (int(value),)))
    return tuple(found)


def _values(reader: ExpressionReader) -> Sequence[int]:
    low = _size(reader)
    if not reader.accept(":"):
        values = [low]
        while reader.accept("|"):
            values.append(_size(reader))
        return tuple(dict.fromkeys(values))
    token = reader.token
    high = _size(reader)
    if high < low:
        raise reader.error(f"{high} is below {low}", token=token, expected="a range that rises")
    if not reader.accept(":"):
        return _checked(reader, range(low, high + 1))
    if reader.token.kind == "word" and reader.token.text.startswith("log"):
        return _logarithmic(reader, low, high)
    return _checked(reader, range(low, high + 1, _size(reader)))


def _logarithmic(reader: ExpressionReader, low: int, high: int) -> tuple[int, ...]:
    token = reader.next()
    digits = token.text.removeprefix("log")
    if not digits:
        return tuple(low << i for i in range((high // low).bit_length()))
    if not digits.isascii() or not digits.isdigit() or not 2 <= int(digits[:9]) <= LONGEST_AXIS:
        raise reader.error(
            f"{token.text} is no spacing",
            token=token,
            expected="log, or log and a number of points from 2, as in log20",
        )
    count = int(digits)
    return tuple(sorted({round(low * (high / low) ** (i / (count - 1))) for i in range(1, count - 1)} | {low, high}))


def _size(reader: ExpressionReader) -> int:
    token = reader.token
    if token.kind != "number":
        raise reader.error(expected="a whole number")
    value = read_number(reader, reader.scope.names)
    if value.unit is not None or value.value.denominator != 1 or not 1 <= value.value <= LARGEST_SIZE:
        raise reader.error(
            f"{token.text[:20]} is no size of a grid", token=token, expected="a whole number from 1 to 1e18"
        )
    return int(value.value)


def _checked(reader: ExpressionReader, values: range) -> range:
    if len(values) > LONGEST_AXIS:
        raise reader.error(
            f"an axis of {len(values)} values is too long", expected=f"at most {LONGEST_AXIS}; give a step, or log"
        )
    return values
