"""Row functions, worked through on small rows: how many numbers of each row the chips exchange that share it out, and what the
derivative has to be.

Each is written as its definition, and its derivative beside it. A total over the row, a sum or a maximum, is one number that
every chip adds to and all of them need. What the forward pass found of a row, its mean or its root, is there in the backward
pass. In one piece and in several a row has to come out the same. Numbers are those modulo a prime: an exponential and a
reciprocal root are any functions there that have the derivatives of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any
from zlib import crc32

from symroof.errors import CheckError

PRIME = 2**61 - 1
HALF = pow(2, -1, PRIME)


def drawn(*key: object) -> int:
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
        power = drawn("exp", self.value)
        return Dual(power, power * self.change)

    def reciprocal_root(self) -> Dual:
        root = drawn("rsqrt", self.value)
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

    def total(self, join: Callable[[Iterable[Any]], Any] = sum) -> Dual:
        self.totals.append(join.__name__)
        return _dual(join([join(piece) for piece in self.pieces]))

    def mean(self) -> Dual:
        return self.total() / len(self.elements)

    def known(self) -> Row:
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
    root = _root(x.known())
    mean = x.each(lambda v, d: v * root * d, a).mean()
    return x.each(lambda v, d: (d - v * root * mean) * root, a)


def _centre(x: Row) -> tuple[Dual, Dual]:
    mean, square = x.mean(), x.each(lambda v: v * v).mean()
    return mean, (square - mean * mean).reciprocal_root()


def _layer_norm(x: Row) -> Row:
    mean, root = _centre(x)
    return x.each(lambda v: (v - mean) * root)


def _layer_norm_back(x: Row, a: Row) -> Row:
    middle, root = _centre(x.known())
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
def exchanged(function: str) -> int:
    """The numbers of each row that the chips which share it out have to add up.

    >>> exchanged("softmax"), exchanged("softmax'"), exchanged("rms_norm")
    (2, 1, 1)
    """
    if function not in DEFINITIONS:
        raise CheckError(f"nothing says what {function} does to a row that chips share out")
    define = DEFINITIONS[function]
    rows = [[Dual(n) for n in values] for values in ((3, 1, 4, 1, 5, 2), (2, 7, 1, 8, 2, 8))]
    result = []
    for pieces in (1, 2, 3):
        totals: list[str] = []
        size = len(rows[0]) // pieces
        split = ([row[i : i + size] for i in range(0, len(row), size)] for row in rows[: define.__code__.co_argcount])
        made = define(*(Row(row, totals) for row in split))
        result.append(([element.value for element in made.elements], len(totals)))
    if any(one != result[0] for one in result):
        raise CheckError(f"a row of {function} in pieces is not what it is in one")
    return result[0][1]
