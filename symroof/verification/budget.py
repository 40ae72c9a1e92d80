"""A budget of work for one claim: counted, not timed, so that a verdict is the same on every machine.

One unit is about ten microseconds. What is counted is what the judge asks for: names put in, terms of formulas that
are multiplied out, questions to the second engine, points that are tried, mistakes that are undone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import comb, prod

from symroof.errors import AlgebraError
from symroof.formula import Formula, Number, Power, fold

WORK = 400_000
PROVER = 1_000  # a question that z3 answers
LEFT_OPEN = 20_000  # one that it gives up on
COEFFICIENTS = 50  # one that the signs of coefficients tell
# A rational function with more terms than this, above or below, is not multiplied out.
MOST_TERMS = 3_000

_left: ContextVar[int | None] = ContextVar("work left for this claim", default=None)


class Exhausted(Exception):  # noqa: N818
    """The work that one claim may take is done, and it is not decided."""


@contextmanager
def limited(work: int = WORK) -> Iterator[None]:
    """Raise :class:`Exhausted` inside the block once more work than this has been spent.

    >>> with limited(3):
    ...     spend(2)
    >>> with limited(3):
    ...     spend(4)
    Traceback (most recent call last):
    symroof.verification.budget.Exhausted
    """
    before = _left.set(work)
    try:
        yield
    finally:
        _left.reset(before)


def spend(units: int) -> None:
    """Count work against the budget of the claim, where there is one."""
    left = _left.get()
    if left is None:
        return
    _left.set(left - units)
    if left < units:
        raise Exhausted


def weighed(formula: Formula) -> Formula:
    """The formula, once it is known that it can be multiplied out; its terms are counted as work.

    >>> from symroof.formula import Name, Sum, number
    >>> weighed(Power(Sum(tuple(map(Name, "ABCDE"))), number(32)))
    Traceback (most recent call last):
    symroof.errors.AlgebraError: the formula is too large to be multiplied out
    """
    spend(max(fold(formula, _Terms())))
    return formula


class _Terms:
    """At most how many terms a formula has above and below once it is one quotient of polynomials."""

    def _largest(self, node: Formula, *parts: tuple[int, int]) -> tuple[int, int]:
        return max(parts, key=max, default=(1, 1))

    number = name = figure = infinity = verdict = group = negative = written = _largest
    call = compare = both = either = _largest

    def sum(self, node: Formula, *terms: tuple[int, int]) -> tuple[int, int]:
        above, below = terms[0]
        for n, d in terms[1:]:
            above, below = self._light(above * d + n * below, below * d)
        return above, below

    def product(self, node: Formula, *factors: tuple[int, int]) -> tuple[int, int]:
        return self._light(prod(n for n, _ in factors), prod(d for _, d in factors))

    def quotient(self, node: Formula, top: tuple[int, int], bottom: tuple[int, int]) -> tuple[int, int]:
        return self._light(top[0] * bottom[1], top[1] * bottom[0])

    def power(self, node: Power, base: tuple[int, int], exponent: tuple[int, int]) -> tuple[int, int]:
        size = node.exponent
        if base == (1, 1) or not isinstance(size, Number) or size.value.denominator != 1:
            return base
        e = min(abs(int(size.value)), MOST_TERMS)
        return self._light(*(comb(n + e - 1, e) for n in base))

    def _light(self, above: int, below: int) -> tuple[int, int]:
        if max(above, below) > MOST_TERMS:
            raise AlgebraError("the formula is too large to be multiplied out")
        return above, below
