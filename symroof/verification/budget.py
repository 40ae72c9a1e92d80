"""A budget of work for one claim: counted, not timed, so that a verdict is the same on every machine.

One unit is about ten microseconds. What is counted is what the judge asks for: names put in, terms of formulas that
are multiplied out, questions to the second engine, points that are tried, mistakes that are undone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import comb, prod

from symroof.errors import AlgebraError, CheckError
from symroof.formula import Formula, Number, Power, Product, Quotient, Sum, children
from symroof.proof.ledger import RefutedError

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

    >>> from symroof.formula import Name, Sum, number
    >>> weighed(Power(Sum(tuple(map(Name, "ABCDE"))), number(32)))
    Traceback (most recent call last):
    symroof.errors.AlgebraError: the formula is too large to be multiplied out
    """
    spend(weight(formula))
    return formula


def weight(formula: Formula) -> int:
    """The work that it is to multiply a formula out."""
    return max(_terms(formula))


def _terms(formula: Formula) -> tuple[int, int]:
    """At most how many terms a formula has above and below once it is one quotient of polynomials."""
    parts = [_terms(child) for child in children(formula)]
    above, below = max(parts, key=max, default=(1, 1))
    match formula:
        case Sum():
            above, below = parts[0]
            for n, d in parts[1:]:
                above, below = _light(above * d + n * below, below * d)
        case Product():
            above, below = prod(n for n, _ in parts), prod(d for _, d in parts)
        case Quotient():
            above, below = parts[0][0] * parts[1][1], parts[0][1] * parts[1][0]
        case Power(exponent=Number(value=value)) if value.denominator == 1 and parts[0] != (1, 1):
            e = min(abs(int(value)), MOST_TERMS)
            above, below = (comb(n + e - 1, e) for n in parts[0])
        case Power():
            above, below = parts[0]
    return _light(above, below)


def _light(above: int, below: int) -> tuple[int, int]:
    if max(above, below) > MOST_TERMS:
        raise AlgebraError("the formula is too large to be multiplied out")
    return above, below
