"""The bound of a condition: P solved for the unknown of Q, and compared with what Q says.

For Q = ``2B > 486`` the unknown is B, and P is solved for B; its bound is put into 2B and compared with 486: exactly,
as whole numbers, by the rounding rule; in the stated regime, or in one that is inferred.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

from sympy import Expr

from symroof.algebra.dominance import limit
from symroof.algebra.rational import cancelled
from symroof.algebra.regime import Regime
from symroof.algebra.roots import Root
from symroof.derivation.meanings import multiples
from symroof.derivation.solving import PLAIN, derivative
from symroof.formula import Name, Number
from symroof.proof.step import Check
from symroof.symbols import expression, fraction
from symroof.verification.enclosures import Enclosure, enclosed, is_numeric
from symroof.verification.judgement import IN_NUMBERS, Finding, Remark
from symroof.verification.literals import bare, in_print, may_stand, precise, printed_digits
from symroof.verification.nearness import IDENTITY, eventually_positive, near, number_near
from symroof.verification.unknowns import Unknown

# How much of a change of the unknown a left side has to show, in proportion.
TELLING = Fraction(1, 2)


def by_bound(unknown: Unknown, regime: Regime) -> Finding | None:
    """(ii) to (iv): the bounds compared in a regime, with x constant."""
    finding = _agreeing(unknown, regime.holding(unknown.x))
    return None if finding is None else replace(finding, value=unknown.right_value())


def by_implication(unknown: Unknown, *, explicit_first: bool) -> Finding | None:
    """P => Q in the regime, in one direction: the bound of the condition that is solved lies beyond the explicit one.

    With ``explicit_first`` the explicit condition is P, and its bound has to lie beyond.
    """
    value = _of_edge(unknown, unknown.regime)
    number = None if value is None else _number(value, unknown.regime)
    if number is None or not is_numeric(unknown.claimed):
        return None
    solved, explicit = number[0], enclosed(unknown.claimed)
    first, second = (explicit, solved) if explicit_first else (solved, explicit)
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
    slope = cancelled(derivative(unknown.side, unknown.x) * unknown.x / unknown.side)
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
    slope, below, firsts = cancelled(unknown.side / x), cancelled(unknown.side * x), set()
    if not (slope.is_Rational or below.is_Rational):
        return None

    def size(bound: Fraction) -> Fraction:  # of 2B > 486 and of 1/B < 1/243
        return bound / fraction(slope) if slope.is_Rational else fraction(below) / bound

    if (claimed.low if slope.is_Rational else size(claimed.low)).denominator != 1:
        return None
    setting = unknown.question.context.setting
    step = 1 if setting is None else multiples(setting).get(x.name, 1)  # what chips share out comes in multiples
    for bound, strict in ((true, not unknown.closed), (claimed, unknown.relation in "<>")):
        for end in (size(bound.low) / step, size(bound.high) / step):
            up, down = (floor(end) + 1, ceil(end) - 1) if strict else (ceil(end), floor(end))
            firsts.add(step * (up if rises else down))
    if len(firsts) > 1:
        return None
    return Remark("whole", {"variable": Name(x.name), "first": firsts.pop(), "rises": rises, "value": true.middle})
