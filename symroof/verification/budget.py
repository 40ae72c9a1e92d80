"""A budget of work for one claim: counted, not timed, so that a verdict is the same on every machine.

One unit is about ten microseconds. What is counted is what the judge asks for: names put in, terms of formulas that
are multiplied out, questions to the second engine, points that are tried, mistakes that are undone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from symroof.errors import AlgebraError, CheckError
from symroof.formula import Formula
from symroof.proof.step import RefutedError
from symroof.symbols import weight

WORK = 400_000
PROVER = 1_000  # a question that z3 answers
LEFT_OPEN = 20_000  # one that it gives up on
COEFFICIENTS = 50  # one that the signs of coefficients tell

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


@contextmanager
def attempted() -> Iterator[None]:
    """One way of several to decide something: what is outside of its class is left to the others.

    What the second engine refutes leaves the whole claim open: a producer is at fault, and the way that it spoiled may be
    the one in which the claim is right.
    """
    try:
        yield
    except RefutedError:
        raise
    except (AlgebraError, CheckError):
        return


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

    >>> from symroof.formula import Name, Power, Sum, number
    >>> weighed(Power(Sum(tuple(map(Name, "ABCDE"))), number(32)))
    Traceback (most recent call last):
    symroof.errors.AlgebraError: the formula is too large to be multiplied out
    """
    spend(weight(formula))
    return formula
