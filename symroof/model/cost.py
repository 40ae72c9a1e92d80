"""What an operation costs: ordered lists of amounts that add.

The order is the order of reading, load X, load Y, store Z, and it is what a derivation prints.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from sympy import Add, Expr, cancel

from symroof.formula import Frozen

Counting = Literal["fma", "exact"]
COUNTINGS: tuple[Counting, ...] = ("fma", "exact")


class Cost(Frozen):
    """FLOPs and bytes as sums of amounts. ``work`` is exact; ``rounded`` counts an addition with every
    multiplication and is what ``flops`` means under ``count="fma"``.

    >>> from symroof.symbols import symbol
    >>> B = symbol("B")
    >>> (Cost(loads=(2*B,)) + Cost(stores=(B,))).bytes
    3*B
    """

    work: tuple[Expr, ...] = ()
    rounded: tuple[Expr, ...] = ()
    loads: tuple[Expr, ...] = ()
    stores: tuple[Expr, ...] = ()
    count: Counting = "fma"

    def __add__(self, other: Cost) -> Cost:
        parts = ("work", "rounded", "loads", "stores")
        return replace(self, **{part: getattr(self, part) + getattr(other, part) for part in parts})

    @property
    def flops(self) -> Expr:
        return Add(*(self.rounded if self.count == "fma" else self.work))

    @property
    def flops_exact(self) -> Expr:
        return Add(*self.work)

    @property
    def reads(self) -> Expr:
        """Bytes read."""
        return Add(*self.loads)

    @property
    def writes(self) -> Expr:
        """Bytes written."""
        return Add(*self.stores)

    @property
    def bytes(self) -> Expr:
        return Add(*self.loads, *self.stores)

    @property
    def intensity(self) -> Expr:
        """FLOPs per byte, in lowest terms."""
        return cancel(self.flops / self.bytes)
