"""Row functions, worked through on small exact rows that chips share out: how many numbers of each row they exchange.

Each is written as its definition. A total over the row, a sum or a maximum, is one number that every chip adds to and all of
them need. What the forward pass found of a row, its mean or its root, is there in the backward pass. In one piece and in
several a row has to come out the same. A power of two stands for the exponential, 1/(1 + x) for the reciprocal root: how
often the chips speak to one another does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from symroof.errors import CheckError

LENGTH = 6


class _Row:
    """The elements of a row in pieces, one for each chip; ``totals`` counts what all chips have said of it together."""

    def __init__(self, pieces: Iterable[Iterable[Fraction]], totals: list[str]) -> None:
        self.pieces, self.totals = [list(piece) for piece in pieces], totals

    def each(self, function: Callable[..., Fraction], *others: _Row) -> _Row:
        """Element by element, each chip its own."""
        together = zip(self.pieces, *(other.pieces for other in others), strict=True)
        return _Row(([function(*values) for values in zip(*pieces, strict=True)] for pieces in together), self.totals)

    def total(self, join: Callable[[Iterable[Fraction]], Any] = sum) -> Fraction:
        self.totals.append(join.__name__)
        return Fraction(join([join(piece) for piece in self.pieces]))


def _softmax(x: _Row) -> _Row:
    top = x.total(max)
    powers = x.each(lambda v: Fraction(2) ** int(v - top))
    whole = powers.total()
    return powers.each(lambda v: v / whole)


def _softmax_back(p: _Row, dp: _Row) -> _Row:
    mean = p.each(lambda a, b: a * b, dp).total()
    return p.each(lambda a, b: a * (b - mean), dp)


def _rms_norm(x: _Row) -> _Row:
    root = 1 / (1 + x.each(lambda v: v * v).total() / LENGTH)
    return x.each(lambda v: v * root)


def _rms_norm_back(n: _Row, a: _Row) -> _Row:
    mean = n.each(lambda v, d: v * d, a).total() / LENGTH
    return n.each(lambda v, d: d - v * mean, a)


def _layer_norm(x: _Row) -> _Row:
    mean, square = x.total() / LENGTH, x.each(lambda v: v * v).total() / LENGTH
    root = 1 / (1 + square - mean * mean)
    return x.each(lambda v: (v - mean) * root)


def _layer_norm_back(n: _Row, a: _Row) -> _Row:
    mean, along = a.total() / LENGTH, n.each(lambda v, d: v * d, a).total() / LENGTH
    return n.each(lambda v, d: d - mean - v * along, a)


DEFINITIONS: Mapping[str, Callable[..., _Row]] = {
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
    rows = [[Fraction(n) for n in values] for values in ((3, -1, 4, 1, -5, 2), (2, 7, -1, 8, 2, -8))]
    found = []
    for pieces in (1, 2, 3):
        totals: list[str] = []
        size = LENGTH // pieces
        split = ([row[i : i + size] for i in range(0, LENGTH, size)] for row in rows[: define.__code__.co_argcount])
        made = define(*(_Row(row, totals) for row in split))
        found.append(([value for piece in made.pieces for value in piece], len(totals)))
    if any(one != found[0] for one in found):
        raise CheckError(f"a row of {function} in pieces is not what it is in one")
    return found[0][1]
