r"""Sums that an author writes with dots: arithmetic series with a clear first term, step and last term.

``1 + 2 + … + N`` is the sum of i from 1 to N. Two readings are refused: ``1 + 2 + … + 64`` may double in each step.
Without a last term only a size that goes down by 1 is clear: ``D/2 + (D/2 - 1) + …`` ends at 1, or at 0, which is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from symroof.algebra.rational import cancelled
from symroof.errors import AlgebraError, ReadingError
from symroof.formula import Call, Formula, Group, Name, Negative, Quotient, Sum, names, number, product
from symroof.symbols import expression, fraction

LETTERS = ("i", "j", "k", "n", "m")


def series(terms: Sequence[Formula], last: Formula | None) -> Formula:
    """The sum of the terms that begin as ``terms`` do and go on to ``last``.

    >>> from symroof.rendering.formulas.plain import PlainPrinter
    >>> PlainPrinter().print(series((number(1), number(2)), Name("N")))
    'sum(i, i, 1, N)'
    """
    taken = {name for term in (*terms, last or number(1)) for name in names(term)}
    index = Name(next(letter for letter in LETTERS if letter not in taken))
    try:
        steps = {cancelled(expression(b) - expression(a)) for a, b in pairwise(terms)}
        if len(steps) != 1 or not (step := steps.pop()).is_Rational or not step:
            raise ReadingError("the terms before the dots have no common step", expected="1 + 2 + … + N")
        first = terms[0]
        if last is None:
            if step != -1 or not names(first):
                raise ReadingError("the sum has no last term", expected="1 + 2 + … + N")
            return Call("sum", (index, index, number(1), first))
        length = cancelled((expression(last) - expression(first)) / step) + 1
        if length.is_Rational and (length.q != 1 or length < len(terms)):
            raise ReadingError("the last term of the sum is none of its terms")
        if not length.is_polynomial(*length.free_symbols):
            raise ReadingError("the sum has no clear number of terms", expected="1 + 2 + … + N")
        if len(terms) == 2 and length.is_Rational and _doubles(*(fraction(expression(t)) for t in (*terms, last))):
            raise ReadingError("the sum has two readings", expected="a third term before the dots")
    except AlgebraError as error:
        raise ReadingError(error.problem) from None
    if abs(step) == 1:
        low, high = (first, last) if step == 1 else (last, first)
        return Call("sum", (index, index, low, high))
    by = number(fraction(step))
    term = Sum((first, product(by, Group(Sum((index, Negative(number(1))))))))
    count = Sum((Quotient(Group(Sum((last, Negative(Group(first))))), by), number(1)))
    return Call("sum", (term, index, number(1), count))


def _doubles(first: Fraction, second: Fraction, last: Fraction) -> bool:
    """Whether a geometric series with these terms ends with that one."""
    if not first or abs(second) <= abs(first):
        return False
    term = second
    while abs(term) < abs(last):
        term *= second / first
    return term == last
