"""Arithmetic modulo a prime: numbers with how fast they change, functions of rows, and arrays whose dimensions have two places.

Row functions are worked through on small rows: so it is known how many numbers of each row the chips exchange that share it
out, and what the derivative has to be.

Each is written as its definition, and its derivative beside it. A total over the row, a sum or a maximum, is one number that
every chip adds to and all of them need. What the forward pass found of a row, its mean or its root, is there in the backward
pass. In one piece and in several a row has to come out the same. Numbers are those modulo a prime: an exponential and a
reciprocal root are any functions there that have the derivatives of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from zlib import crc32

from symroof.errors import CheckError
from symroof.proof.array_ops import DIFFERENCE, PRODUCT

PRIME = 2**61 - 1
HALF = pow(2, -1, PRIME)


def residue(*key: object) -> int:
    """A number that stands for a key: always the same, and another one for another key."""
    text = repr(key).encode()
    return (crc32(text) * 0x9E3779B97F4A7C15 + crc32(text, 1) * 0x100000001) % PRIME


class Dual:
    """A number modulo the prime with how fast it changes: ``x + t e`` where ``e e`` is 0."""

    __slots__ = ("change", "value")

    def __init__(self, value: int, change: int = 0) -> None:
        self.value, self.change = value % PRIME, change % PRIME

    def __add__(self, other: Dual | int) -> Dual:
        y = _dual(other)
        return Dual(self.value + y.value, self.change + y.change)

    __radd__ = __add__

    def __sub__(self, other: Dual | int) -> Dual:
        y = _dual(other)
        return Dual(self.value - y.value, self.change - y.change)

    def __mul__(self, other: Dual | int) -> Dual:
        y = _dual(other)
        return Dual(self.value * y.value, self.change * y.value + self.value * y.change)

    def __truediv__(self, other: Dual | int) -> Dual:
        y = _dual(other)
        inverse = pow(y.value, -1, PRIME)
        return self * Dual(inverse, -y.change * inverse * inverse)

    def __lt__(self, other: Dual) -> bool:
        return self.value < other.value

    def exponential(self) -> Dual:
        power = residue("exp", self.value)
        return Dual(power, power * self.change)

    def reciprocal_root(self) -> Dual:
        root = residue("rsqrt", self.value)
        return Dual(root, -HALF * root**3 * self.change)


def _dual(value: Dual | int) -> Dual:
    return value if isinstance(value, Dual) else Dual(value)


class Row:
    """The elements of a row in pieces, one for each chip; ``totals`` counts what all chips have said of it together."""

    def __init__(self, pieces: Iterable[Iterable[Dual]], totals: list[str]) -> None:
        self.pieces, self.totals = [list(piece) for piece in pieces], totals

    @property
    def elements(self) -> list[Dual]:
        return [element for piece in self.pieces for element in piece]

    def each(self, function: Callable[..., Dual], *others: Row) -> Row:
        """Element by element, each chip its own."""
        together = zip(self.pieces, *(other.pieces for other in others), strict=True)
        return Row(([function(*values) for values in zip(*pieces, strict=True)] for pieces in together), self.totals)

    def total(self, join: Callable[[Iterable[Dual]], Dual | int] = sum) -> Dual:
        self.totals.append(join.__name__)
        return _dual(join([_dual(join(piece)) for piece in self.pieces]))

    def mean(self) -> Dual:
        return self.total() / len(self.elements)

    def with_saved_totals(self) -> Row:
        """The same row, of which the forward pass has said what is asked."""
        return Row(self.pieces, [])


def _softmax(x: Row) -> Row:
    top = x.total(max)
    powers = x.each(lambda v: (v - top).exponential())
    whole = powers.total()
    return powers.each(lambda v: v / whole)


def _softmax_back(p: Row, dp: Row) -> Row:
    mean = p.each(lambda a, b: a * b, dp).total()
    return p.each(lambda a, b: a * (b - mean), dp)


def _root(x: Row) -> Dual:
    return x.each(lambda v: v * v).mean().reciprocal_root()


def _rms_norm(x: Row) -> Row:
    root = _root(x)
    return x.each(lambda v: v * root)


def _rms_norm_back(x: Row, a: Row) -> Row:
    root = _root(x.with_saved_totals())
    mean = x.each(lambda v, d: v * root * d, a).mean()
    return x.each(lambda v, d: (d - v * root * mean) * root, a)


def _centre(x: Row) -> tuple[Dual, Dual]:
    mean, square = x.mean(), x.each(lambda v: v * v).mean()
    return mean, (square - mean * mean).reciprocal_root()


def _layer_norm(x: Row) -> Row:
    mean, root = _centre(x)
    return x.each(lambda v: (v - mean) * root)


def _layer_norm_back(x: Row, a: Row) -> Row:
    middle, root = _centre(x.with_saved_totals())
    n = x.each(lambda v: (v - middle) * root)
    mean, along = a.mean(), n.each(lambda v, d: v * d, a).mean()
    return n.each(lambda v, d: (d - mean - v * along) * root, Row(a.pieces, x.totals))


DEFINITIONS: Mapping[str, Callable[..., Row]] = {
    "softmax": _softmax,
    "softmax'": _softmax_back,
    "rms_norm": _rms_norm,
    "rms_norm'": _rms_norm_back,
    "layer_norm": _layer_norm,
    "layer_norm'": _layer_norm_back,
}


@lru_cache(maxsize=64)
def numbers_per_row(function: str) -> int:
    """The numbers of each row that the chips which share it out have to add up.

    >>> numbers_per_row("softmax"), numbers_per_row("softmax'"), numbers_per_row("rms_norm")
    (2, 1, 1)
    """
    if function not in DEFINITIONS:
        raise CheckError(f"nothing says what {function} does to a row that chips share out")
    define = DEFINITIONS[function]
    rows = [[Dual(n) for n in values] for values in ((3, 1, 4, 1, 5, 2), (2, 7, 1, 8, 2, 8))]
    outcomes = []
    for pieces in (1, 2, 3):
        totals: list[str] = []
        size = len(rows[0]) // pieces
        split = ([row[i : i + size] for i in range(0, len(row), size)] for row in rows[: define.__code__.co_argcount])
        output = define(*(Row(row, totals) for row in split))
        outcomes.append(([element.value for element in output.elements], len(totals)))
    if any(outcome != outcomes[0] for outcome in outcomes):
        raise CheckError(f"a row of {function} in pieces is not what it is in one")
    return outcomes[0][1]


Labels = tuple[str, ...]
Index = tuple[int, ...]
Numbers = list[int]


def on_rows(function: str, over: str, labels: Labels, *arrays: tuple[Numbers, Numbers]) -> tuple[Numbers, Numbers]:
    """A function of rows over a label, applied to each row of arrays that are laid out alike."""
    if function not in DEFINITIONS:
        raise CheckError(f"nothing says what {function} does to a row")
    rest = tuple(label for label in labels if label != over)
    values, changes = ([0] * len(arrays[0][0]) for _ in range(2))
    for places in _pattern((labels,), rest):
        rows = (Row([[Dual(array[i], change[i]) for (i,) in places]], []) for array, change in arrays)
        for (i,), element in zip(places, DEFINITIONS[function](*rows).elements, strict=True):
            values[i], changes[i] = element.value, element.change
    return values, changes


def lookup(table: Labels, indices: Labels, target: Labels, rows: Numbers) -> list[int]:
    """For each element of a target the element of a table that it is, the labels that the target lacks told by an index."""
    result = []
    for (at,), place in zip(_aligned_places(indices, target), _places(target), strict=True):
        places = dict(zip(target, place, strict=True))
        result.append(_flat(table, {label: places.get(label, rows[at] % _length(label)) for label in table}))
    return result


@lru_cache(maxsize=64)
def matrix(function: str, rows: int, columns: int) -> list[Numbers]:
    """What puts elements into other dimensions: any linear function of them."""
    return [[residue(function, row, column) for column in range(columns)] for row in range(rows)]


def times(matrix: list[Numbers], vector: Numbers) -> Numbers:
    return [dot(row, vector) % PRIME for row in matrix]


def dot(a: Numbers, b: Numbers) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))


def times_each(a: Numbers, b: Numbers) -> Numbers:
    return [x * y % PRIME for x, y in zip(a, b, strict=True)]


def sum_of(*arrays: Numbers) -> Numbers:
    return [sum(values) % PRIME for values in zip(*arrays, strict=True)]


def linear(kind: str, arrays: Sequence[Numbers], labels: tuple[Labels, ...], target: Labels) -> Numbers:
    """A product, a sum or a difference; of a single operand a sum is over what the target lacks."""
    if kind == PRODUCT:
        pattern = _pattern(labels, target)
        if len(arrays) == 2:
            a, b = arrays
            return [sum(a[i] * b[j] for i, j in places) % PRIME for places in pattern]
        return [sum(prod(x[i] for x, i in zip(arrays, at, strict=True)) for at in places) % PRIME for places in pattern]
    first, *others = (align(array, shape, target) for array, shape in zip(arrays, labels, strict=True))
    if kind == DIFFERENCE:
        return (
            [-value % PRIME for value in first]
            if not others
            else [(x - y) % PRIME for x, y in zip(first, *others, strict=True)]
        )
    return sum_of(first, *others)


def align(array: Numbers, labels: Labels, target: Labels) -> Numbers:
    """Summed over what the target lacks, the same for what it has beside it."""
    return (
        array
        if labels == target
        else [sum(array[i] for (i,) in places) % PRIME for places in _pattern((labels,), target)]
    )


def _length(label: str) -> int:
    return 1 if label == "1" else 2


def size(labels: Labels) -> int:
    return prod(map(_length, labels))


def _places(labels: Labels) -> Iterator[Index]:
    return product(*(range(_length(label)) for label in labels))


def _flat(labels: Labels, place: Mapping[str, int]) -> int:
    result = 0
    for label in labels:
        result = result * _length(label) + place[label]
    return result


def _aligned_places(labels: Labels, target: Labels) -> list[Index]:
    return [at for places in _pattern((labels,), target) for at in places]


@lru_cache(maxsize=1024)
def _pattern(operands: tuple[Labels, ...], target: Labels) -> list[list[Index]]:
    """For each element of a target the elements of the operands that are multiplied for it, one tuple for each product."""
    summed = tuple(dict.fromkeys(label for labels in operands for label in labels if label not in target))
    result = []
    for outer in _places(target):
        fixed = dict(zip(target, outer, strict=True))
        points = ({**fixed, **dict(zip(summed, inner, strict=True))} for inner in _places(summed))
        result.append([tuple(_flat(labels, place) for labels in operands) for place in points])
    return result
