"""Conditions compared as conditions, whatever their forms: ``a > b`` between positive sides is a/b > 1.

In a regime the ratio of P is brought to its leading form. Then both are one set, or are one once a number printed in Q
is left open: at the edge of P, which is linear in some symbol, Q tells what that number has to be. With that number
the second engine proves that both are one set, and the printed one has to be that number, rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction

from sympy import Expr

from symroof.algebra.approximation import weakest_regimes
from symroof.algebra.rational import cancelled, coefficients, polynomial, ratio, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.derivation.solving import PLAIN, derivative, is_positive
from symroof.errors import AlgebraError
from symroof.formula import Both, Cases, Compare, Formula, Name, Number, Verdict, mapped, number
from symroof.proof.exact import ORDER
from symroof.proof.step import Check
from symroof.symbols import expression, fraction, rational, symbol
from symroof.verification.budget import COEFFICIENTS, spend
from symroof.verification.context import Context, Question
from symroof.verification.enclosures import Enclosure
from symroof.verification.judgement import Finding
from symroof.verification.literals import bounds_alike, precise, rounding
from symroof.verification.nearness import led

OPEN = symbol("printed number")
# How many times as much, in proportion, a printed number may move the edge when it is rounded.
HIDDEN = 2
UP = (">", ">=")


def by_ratio(question: Question, regime: Regime) -> Finding | None:
    """P <=> Q where both are one set in the regime, with what is printed in Q taken for the number that it rounds."""
    link, context = question.link, question.context
    for value, q in _forms(question.right):
        known = _leading(question, value, regime)
        if known is None:
            continue
        condition, shown = known
        by = context.told(Compare(condition, "<=>", q))
        if by is not None:
            return Finding(link, "holds", _both(shown, by))
        for literal in dict.fromkeys(precise(link.right)):
            finding = _by_literal(question, condition, literal, shown)
            if finding is not None:
                return finding
    return None


def _by_literal(question: Question, condition: Compare, literal: Number, shown: Check | None) -> Finding | None:
    """P <=> Q once a number printed in Q is the one that puts its edge on that of P, where it rounds that."""
    link, context = question.link, question.context
    for value, _ in _forms(_with(link.right, literal, Name(OPEN.name), context)):
        needed = _needed(condition, value)
        rounded = None if needed is None else rounding(Enclosure(needed, needed), literal)
        if needed is None or rounded is None or not bounds_alike(rounded):
            continue
        for _, q in _forms(_with(link.right, literal, number(needed), context)):
            by = context.told(Compare(condition, "<=>", q))
            if by is not None:
                return Finding(link, "rounded", _both(shown, by), remarks=(rounded,))
    return None


def _forms(q: Formula) -> Iterator[tuple[Compare, Formula]]:
    """A condition, and what it says: of two at once each may be the guard without which the other has no value."""
    if isinstance(q, Compare) and q.relation in ORDER:
        yield q, q
    elif isinstance(q, Both) and len(q.parts) == 2:
        for value, guard in (q.parts, q.parts[::-1]):
            if isinstance(value, Compare) and value.relation in ORDER:
                yield value, Cases(((value, guard),), Verdict(False))


def possible_regimes(question: Question) -> Iterator[tuple[Relation, ...]]:
    """The weakest regimes in which the ratio of P tends to a number times that of Q."""
    context = question.context
    sides = [_positive(condition, context) for condition in (question.left, question.right)]
    if None in sides:
        return
    (above, below), (more, less) = (side for side in sides if side is not None)
    quotient = cancelled(above * less / (below * more))
    with suppress(AlgebraError):
        terms, others = ratio(quotient, symbols_of(quotient))
        for share in dict.fromkeys(c / others[term] for term, c in terms.items() if term in others):
            yield from weakest_regimes(quotient, rational(share), context.regime)


def _leading(question: Question, q: Compare, regime: Regime) -> tuple[Compare, Check | None] | None:
    """P with its ratio in the leading form of the regime, and what shows that; P itself where nothing grows."""
    p = question.left
    if not isinstance(p, Compare) or p.relation not in ORDER:
        return None
    if not regime.scaling:
        return p, None
    sides = _positive(p, question.context)
    if sides is None:
        return None
    form, shown = led(sides[0] / sides[1], regime)
    above, below = map(PLAIN.write, form.as_numer_denom())
    return Compare(above, ">=" if len(q.relation) == 2 else ">", below), shown


def _positive(condition: Formula, context: Context) -> tuple[Expr, Expr] | None:
    """The greater and the lesser side of an order between positive rational functions."""
    if not isinstance(condition, Compare) or condition.relation not in ORDER:
        return None
    sides = expression(condition.left), expression(condition.right)
    least_one = frozenset(map(symbol, context.least_one))
    if not all(side.is_rational_function() and is_positive(side, least_one) for side in sides):
        return None
    return sides if condition.relation in UP else sides[::-1]


def _with(condition: Formula, literal: Number, instead: Formula, context: Context) -> Formula:
    """A condition with another formula in the place of a number that is printed in it, and with its names put in."""
    return context.put(mapped(condition, lambda node: instead if node == literal else node))


def _needed(p: Compare, q: Compare) -> Fraction | None:
    """The open number of Q that puts its edge on that of P, where P is linear in a symbol; None where there is none, and
    where the edge of Q hardly tells it: of B + 10^6 > 1000240, any B is near the edge."""
    edge, other = (expression(condition.left) - expression(condition.right) for condition in (p, q))
    if not (edge.is_rational_function() and other.is_rational_function()):
        return None
    spend(COEFFICIENTS)
    for x in symbols_of(edge):
        place = _root(edge, x)
        if place is not None:
            value = _root(cancelled(other).subs(x, place), OPEN)
            if value is None or not value.is_Rational or value <= 0:
                return None
            slopes = derivative(other, OPEN) * OPEN, derivative(other, x) * x
            above, below = (cancelled(slope.subs({OPEN: value, x: place})) for slope in slopes)
            hidden = below == 0 or ((share := cancelled(above / below)).is_Rational and abs(share) > HIDDEN)
            return None if hidden else fraction(value)
    return None


def _root(value: Expr, x: Expr) -> Expr | None:
    """Where a rational function that is linear in a symbol above its line is 0."""
    symbols = symbols_of(value, x)
    parts = coefficients(ratio(value, symbols)[0], symbols.index(x))
    if len(parts) != 2:
        return None
    below, above = (polynomial(part, symbols) for part in parts)
    return cancelled(-below / above)


def _both(shown: Check | None, by: str) -> Check:
    return Check("proved", by if shown is None else f"{shown.by}; {by}")
