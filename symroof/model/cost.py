"""What an operation costs: an ordered list of labelled terms that add.

The order is the order of reading, load X, load Y, store Z, and it is what a derivation prints.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sympy import Add, Expr, cancel

Counting = Literal["fma", "exact"]
COUNTINGS: tuple[Counting, ...] = ("fma", "exact")
# The label of an amount of which nobody said what it consists of.
AS_GIVEN = "as given"


@dataclass(frozen=True, slots=True)
class Term:
    """An amount of FLOPs or bytes, and what it is for: ``load X``, ``additions``."""

    label: str
    amount: Expr


@dataclass(frozen=True, slots=True)
class Cost:
    """FLOPs and bytes as sums of terms. ``work`` is exact; ``rounded`` counts an addition with every
    multiplication and is what ``flops`` means under ``count="fma"``.

    >>> from symroof.symbols import symbol
    >>> B = symbol("B")
    >>> load, store = Cost(loads=(Term("load X", 2*B),)), Cost(stores=(Term("store Z", B),))
    >>> (load + store).bytes
    3*B
    """

    work: tuple[Term, ...] = ()
    rounded: tuple[Term, ...] = ()
    loads: tuple[Term, ...] = ()
    stores: tuple[Term, ...] = ()
    count: Counting = "fma"

    def __add__(self, other: Cost) -> Cost:
        parts = ("work", "rounded", "loads", "stores")
        return replace(self, **{part: getattr(self, part) + getattr(other, part) for part in parts})

    @property
    def flops(self) -> Expr:
        return _total(self.rounded if self.count == "fma" else self.work)

    @property
    def flops_exact(self) -> Expr:
        return _total(self.work)

    @property
    def reads(self) -> Expr:
        """Bytes read."""
        return _total(self.loads)

    @property
    def writes(self) -> Expr:
        """Bytes written."""
        return _total(self.stores)

    @property
    def bytes(self) -> Expr:
        return _total(self.loads + self.stores)

    @property
    def intensity(self) -> Expr:
        """FLOPs per byte, in lowest terms."""
        return cancel(self.flops / self.bytes)


def _total(terms: tuple[Term, ...]) -> Expr:
    return Add(*(term.amount for term in terms))
