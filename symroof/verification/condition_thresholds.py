"""The bound of a condition: P solved for the unknown of Q, and compared with what Q says.

For Q = ``2B > 486`` the unknown is B, and P is solved for B; its bound is put into 2B and compared with 486: exactly,
as whole numbers, by the rounding rule; in the stated regime, or in one that is inferred.

Conditions compared as conditions, whatever their forms: ``a > b`` between positive sides is a/b > 1.

In a regime the ratio of P is brought to its leading form. Then both are one set, or are one once a number printed in Q
is left open: at the edge of P, which is linear in some symbol, Q tells what that number has to be. With that number
the second engine proves that both are one set, and the printed one has to be that number, rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from sympy import Expr

from symroof.algebra.dominance import limit, weakest_regimes
from symroof.algebra.rational import cancel, coefficients, polynomial, ratio, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.algebra.roots import Root
from symroof.derivation.solving import PLAIN, derivative, is_positive
from symroof.errors import AlgebraError
from symroof.formula import Both, Cases, Compare, Formula, Name, Number, Verdict, mapped, number
from symroof.proof.quotients import ORDER
from symroof.proof.step import Check
from symroof.proof.whole_numbers import WholeSizes
from symroof.symbols import expression, fraction, rational, symbol
from symroof.verification.asymptotics import IDENTITY, eventually_positive, held, led, near, number_near
from symroof.verification.budget import COEFFICIENTS, spend
from symroof.verification.context import Context, Question
from symroof.verification.intervals import Enclosure, bare, bounds_alike, enclosed, is_numeric, precise, rounding
from symroof.verification.judgement import IN_NUMBERS, Finding, Remark
from symroof.verification.number_chains import in_print, may_stand, printed_digits
from symroof.verification.unknowns import UP, Unknown

# How much of a change of the unknown a left side has to show, in proportion.
TELLING = Fraction(1, 2)
OPEN = symbol("printed number")
# How many times as much, in proportion, a printed number may move the edge when it is rounded.
HIDDEN = 2


def by_bound(unknown: Unknown, regime: Regime) -> Finding | None:
    """(ii) to (iv): the bounds compared in a regime, with x constant."""
    finding = _agreeing(unknown, held(regime, unknown.x))
    return None if finding is None else replace(finding, value=unknown.right_value())


def by_implication(unknown: Unknown, regime: Regime, *, turned: bool) -> Finding | None:
    """P => Q in a regime, in one direction: the bound of the condition that is solved lies beyond the explicit one.

    Where it is ``turned``, the explicit condition is P, and its bound has to lie beyond.
    """
    regime = held(regime, unknown.x)
    value = _of_edge(unknown, regime)
    number = None if value is None else _number(value, regime)
    if number is None or not is_numeric(unknown.claimed):
        return None
    solved, explicit = number[0], enclosed(unknown.claimed)
    first, second = (explicit, solved) if turned else (solved, explicit)
    beyond = first.low > second.high if unknown.rises == unknown.climbs else first.high < second.low
    return Finding(unknown.question.link, "holds", number[1]) if beyond else None


def _of_edge(unknown: Unknown, regime: Regime) -> Expr | Root | None:
    """The left side of Q at the edge of P, where P and Q lie on the same side of their edges."""
    edge = unknown.edge(regime)
    return None if edge is None or edge.rises != unknown.rises else unknown.of_side(edge.value)


def _agreeing(unknown: Unknown, regime: Regime) -> Finding | None:
    """Whether the edge, put into the left side of Q, is the claimed bound in this regime."""
    value = _of_edge(unknown, regime)
    if value is None:
        return None
    if is_numeric(unknown.claimed):
        number = _number(value, regime)
        return None if number is None else _as_numbers(unknown, regime, *number)
    claimed = expression(unknown.claimed)
    if isinstance(value, Root) or not (claimed.is_rational_function() and value.is_rational_function()):
        return None
    tends = number_near(value, claimed, regime) if precise(unknown.printed) else None
    # Of B > 164 E/k the number is one in print.
    if tends is not None and eventually_positive(claimed, regime) and _tells(unknown, regime):
        needed = unknown.question.context.layout.write(claimed * tends[0])
        printed = in_print(unknown.question, needed, unknown.printed, tends[1])
        if printed is not None:
            return printed
    shown = near(value, claimed, regime) if regime.scaling else None
    if shown is None or not eventually_positive(claimed, regime):
        return None
    agrees = _same_edge(unknown) if shown == IDENTITY else _tells(unknown, regime)
    return Finding(unknown.question.link, "holds", shown) if agrees else None


def _tells(unknown: Unknown, regime: Regime) -> bool:
    """Whether a left side of Q that is nearly right at the edge says that x is nearly there: whether it changes by a half
    as much as x there, in proportion. A term may hide all of it: any B is near the bound of B + 10^6 > 1000240."""
    if unknown.plain:
        return True
    slope = cancel(derivative(unknown.side, unknown.x) * unknown.x / unknown.side)
    share = _of_edge(replace(unknown, side=slope), regime)
    if isinstance(share, Root):
        return share.low * share.high > 0 and min(abs(share.low), abs(share.high)) >= TELLING
    if share is None or not share.is_rational_function():
        return False
    tends = limit(share, regime) if regime.scaling else share
    return tends is not None and bool(tends.is_Rational) and abs(fraction(tends)) >= TELLING


def _same_edge(unknown: Unknown) -> bool:
    """Whether both conditions hold at their edge, or neither does."""
    return unknown.closed == (unknown.relation in (">=", "<="))


def _number(value: Expr | Root, regime: Regime) -> tuple[Enclosure, Check] | None:
    """The left side of Q at the edge as a number: what it is, or what it tends to in the regime."""
    if isinstance(value, Root):
        return value, IN_NUMBERS
    if not value.free_symbols:
        return enclosed(PLAIN.write(value)), IN_NUMBERS
    tends = number_near(value, value * 0 + 1, regime) if regime.scaling else None
    return None if tends is None else (Enclosure(fraction(tends[0]), fraction(tends[0])), tends[1])


def _as_numbers(unknown: Unknown, regime: Regime, true: Enclosure, by: Check) -> Finding | None:
    """The true bound and the claimed one as numbers: equal, the same whole numbers, or rounded."""
    claimed = enclosed(unknown.claimed)
    if true.low <= 0:
        return None
    if true.exact and claimed == true and (_same_edge(unknown) if by == IN_NUMBERS else _tells(unknown, regime)):
        return Finding(unknown.question.link, "holds", by)
    whole = _whole(unknown, true, claimed)
    if whole is not None:
        return Finding(unknown.question.link, "holds", by, remarks=(whole,))
    rounded = printed_digits(true, unknown.printed, unknown.question.context)
    if rounded is None or rounded.kind == "exact" or not isinstance(bare(unknown.printed), Number):
        return None
    if may_stand(rounded, unknown.question.link.left, unknown.question.context) and _tells(unknown, regime):
        return Finding(unknown.question.link, "rounded", by, remarks=(rounded,))
    return None


def _whole(unknown: Unknown, true: Enclosure, claimed: Enclosure) -> Remark | None:
    """Whether both bounds leave the same whole numbers, where the unknown is a size and the claimed bound is whole."""
    x, rises = unknown.x, unknown.rises
    if x.name not in unknown.question.context.least_one or not claimed.exact or claimed.low <= 0:
        return None
    slope, below = cancel(unknown.side / x), cancel(unknown.side * x)
    firsts, plain = set[int | None](), set[int | None]()
    if not (slope.is_Rational or below.is_Rational):
        return None

    def size(bound: Fraction) -> Fraction:  # of 2B > 486 and of 1/B < 1/243
        return bound / fraction(slope) if slope.is_Rational else fraction(below) / bound

    if (claimed.low if slope.is_Rational else size(claimed.low)).denominator != 1:
        return None
    admitted = unknown.question.context.admitted(x.name)  # what chips share out comes in multiples
    for bound, strict in ((true, not unknown.closed), (claimed, unknown.relation in "<>")):
        relation = (">" if rises else "<") + "=" * (not strict)
        firsts.update(admitted.last(relation, size(end)) for end in (bound.low, bound.high))
        plain.update(WholeSizes().last(relation, size(end)) for end in (bound.low, bound.high))
    if len(firsts) > 1 or firsts == {0}:
        return None
    facts = {"variable": Name(x.name), "first": firsts.pop(), "rises": rises, "value": true.middle}
    return Remark("whole", {**facts, "between": len(plain) > 1 and admitted.those is not None})


def by_ratio(question: Question, regime: Regime) -> Finding | None:
    """P <=> Q where both are one set in the regime, with what is printed in Q taken for the number that it rounds."""
    link, context = question.link, question.context
    for value, q in _forms(question.right):
        leading = _leading(question, value, regime)
        if leading is None:
            continue
        condition, shown = leading
        by = context.proof_of(Compare(condition, "<=>", q))
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
            by = context.proof_of(Compare(condition, "<=>", q))
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
    quotient = cancel(above * less / (below * more))
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
            value = _root(cancel(other).subs(x, place), OPEN)
            if value is None or not value.is_Rational or value <= 0:
                return None
            slopes = derivative(other, OPEN) * OPEN, derivative(other, x) * x
            above, below = (cancel(slope.subs({OPEN: value, x: place})) for slope in slopes)
            hidden = below == 0 or ((share := cancel(above / below)).is_Rational and abs(share) > HIDDEN)
            return None if hidden else fraction(value)
    return None


def _root(value: Expr, x: Expr) -> Expr | None:
    """Where a rational function that is linear in a symbol above its line is 0."""
    symbols = symbols_of(value, x)
    parts = coefficients(ratio(value, symbols)[0], symbols.index(x))
    if len(parts) != 2:
        return None
    below, above = (polynomial(part, symbols) for part in parts)
    return cancel(-below / above)


def _both(shown: Check | None, by: str) -> Check:
    return Check("proved", by if shown is None else f"{shown.by}; {by}")
