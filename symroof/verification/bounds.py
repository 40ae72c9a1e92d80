"""The bound of a condition: P solved for the unknown of Q, and compared with what Q says.

For Q = ``2B > 486`` the unknown is B, and P is solved for B; its bound is put into 2B and compared with 486: exactly,
as whole numbers, by the rounding rule; in the stated regime, or in one that is inferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, floor

from sympy import Expr, oo

from symroof.algebra.rational import Polynomial, monomial, ratio, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.algebra.roots import Root
from symroof.errors import AlgebraError, CheckError
from symroof.formula import Compare, Infinity, Name, Number
from symroof.proof.step import Check
from symroof.symbols import expression, fraction, symbol
from symroof.verification.context import Context
from symroof.verification.enclosures import Enclosure, enclosed, is_numeric
from symroof.verification.growth import IDENTITY, eventually_positive, joined, near, number_near, relations_of
from symroof.verification.judgement import IN_NUMBERS, Finding, Remark
from symroof.verification.literals import bare, in_print, precise, printed_digits, rounded_remark
from symroof.verification.unknowns import UP, Edge, Unknown


def by_bound(link: Compare, unknown: Unknown, context: Context) -> Finding | None:
    """(ii) to (iv): the bounds compared in the stated regime."""
    finding = _agreeing(link, unknown, context.regime.holding(unknown.x), context)
    return None if finding is None else replace(finding, value=unknown.right_value(context))


def by_inferred_bound(link: Compare, unknown: Unknown, context: Context) -> Finding | None:
    """The bounds compared in a regime that nobody stated, with no relation too many."""
    stated = context.regime.holding(unknown.x)

    def agreeing(relations: tuple[Relation, ...]) -> Finding | None:
        try:
            return _agreeing(link, unknown, joined(stated, relations), context)
        except (AlgebraError, CheckError):
            return None

    for relations in _possible_regimes(unknown, stated):
        finding = agreeing(relations)
        if finding is None:
            continue
        needed = list(relations)
        for relation in relations:
            fewer = tuple(r for r in needed if r != relation)
            if fewer and agreeing(fewer):
                needed = list(fewer)
        needs = tuple(sorted((_released(r, unknown.x, context) for r in needed), key=str))
        try:
            joined(context.regime, relations_of(needs))
        except AlgebraError:  # what is missing contradicts what is stated
            continue
        return replace(finding, verdict="conditional", needs=(needs,), value=unknown.right_value(context))
    return None


def _released(relation: Relation, x: Expr, context: Context) -> Compare:
    """What was assumed with x held constant, as a relation to x: D -> oo becomes B << D."""
    left, sign, right = relation
    write = context.layout.write
    if sign == "->" and x in map(symbol, context.least_one):
        return Compare(Name(x.name), "<<", write(left))
    return Compare(write(left), sign, Infinity() if right == oo else write(right))


def _agreeing(link: Compare, unknown: Unknown, regime: Regime, context: Context) -> Finding | None:
    """Whether the edge, put into the left side of Q, is the claimed bound in this regime."""
    edge = unknown.edge(regime, context)
    if edge is None or edge.rises != (unknown.relation in UP):
        return None
    if is_numeric(unknown.claimed):
        number = _number_of(unknown, edge, regime, context)
        return None if number is None else _as_numbers(link, unknown, *number, context)
    value, claimed = unknown.of_side(edge.value), expression(unknown.claimed)
    if isinstance(value, Root) or not (claimed.is_rational_function() and value.is_rational_function()):
        return None
    printed = _printed_factor(link, unknown, value, claimed, regime, context)
    if printed is not None or not regime.scaling:
        return printed
    shown = near(value, claimed, regime, context.layout)
    if shown is None or not eventually_positive(claimed, regime, context.layout):
        return None
    same_edge = shown != IDENTITY or unknown.closed == (unknown.relation in (">=", "<="))
    return Finding(link, "holds", shown) if same_edge else None


def _number_of(unknown: Unknown, edge: Edge, regime: Regime, context: Context) -> tuple[Enclosure, Check] | None:
    """The left side of Q at the edge as a number: what it is, or what it tends to in the regime."""
    value = unknown.of_side(edge.value)
    if isinstance(value, Root):
        return Enclosure(value.low, value.high), IN_NUMBERS
    if not value.free_symbols:
        return enclosed(context.layout.write(value)), IN_NUMBERS
    tends = number_near(value, value * 0 + 1, regime, context.layout) if regime.scaling else None
    return None if tends is None else (Enclosure(fraction(tends[0]), fraction(tends[0])), tends[1])


def _printed_factor(
    link: Compare, unknown: Unknown, value: Expr, claimed: Expr, regime: Regime, context: Context
) -> Finding | None:
    """A symbolic bound with a number in print, as in B > 164 E/k: right once the number is taken for the one that it rounds."""
    tends = number_near(value, claimed, regime, context.layout) if precise(unknown.printed) else None
    if tends is None or not eventually_positive(claimed, regime, context.layout):
        return None
    return in_print(link, context.layout.write(claimed * tends[0]), unknown.printed, tends[1], context)


def by_implication(link: Compare, unknown: Unknown, context: Context, *, explicit_first: bool) -> Finding | None:
    """P => Q in the regime, in one direction: the bound of the condition that is solved lies beyond the explicit one.

    With ``explicit_first`` the explicit condition is P, and its bound has to lie beyond.
    """
    regime = context.regime.holding(unknown.x)
    edge = unknown.edge(regime, context)
    if edge is None or edge.rises != (unknown.relation in UP) or not is_numeric(unknown.claimed):
        return None
    number = _number_of(unknown, edge, regime, context)
    if number is None:
        return None
    solved, explicit = number[0], enclosed(unknown.claimed)
    first, second = (explicit, solved) if explicit_first else (solved, explicit)
    beyond = first.low > second.high if edge.rises else first.high < second.low
    return Finding(link, "holds", number[1]) if beyond else None


def _as_numbers(link: Compare, unknown: Unknown, true: Enclosure, by: Check, context: Context) -> Finding | None:
    """The true bound and the claimed one as numbers: equal, the same whole numbers, or rounded."""
    if true.low <= 0:
        return None
    claimed = enclosed(unknown.claimed)
    same_edge = by != IN_NUMBERS or unknown.closed == (unknown.relation in (">=", "<="))
    if true.exact and claimed == true and same_edge:
        return Finding(link, "holds", by)
    whole = _whole(unknown, true, claimed, context)
    if whole is not None:
        return Finding(link, "holds", by, remarks=(whole,))
    rounded = printed_digits(true, unknown.printed, context)
    if rounded is not None and rounded.how != "exact" and isinstance(bare(unknown.printed), Number):
        return Finding(link, "rounded", by, remarks=(rounded_remark(rounded, true),))
    return None


def _whole(unknown: Unknown, true: Enclosure, claimed: Enclosure, context: Context) -> Remark | None:
    """Whether both bounds leave the same whole numbers, where the unknown is a size and the claimed bound is whole."""
    x, rises = unknown.x, unknown.relation in UP
    if x.name not in context.least_one or claimed.low.denominator != 1 or not claimed.exact:
        return None
    symbols = symbols_of(unknown.side)
    above, below = ratio(unknown.side, symbols)
    if symbols != (x,) or set(above) != {(1,)} or set(below) != {(0,)}:
        return None
    slope = above[(1,)] / below[(0,)]
    firsts = set()
    for bound, strict in ((true, not unknown.closed), (claimed, unknown.relation in "<>")):
        for end in (bound.low / slope, bound.high / slope):
            up, down = (floor(end) + 1, ceil(end) - 1) if strict else (ceil(end), floor(end))
            firsts.add(up if rises else down)
    if len(firsts) > 1:
        return None
    return Remark("whole", {"variable": Name(x.name), "first": firsts.pop(), "rises": rises, "value": true.middle})


def _possible_regimes(unknown: Unknown, stated: Regime) -> Iterator[tuple[Relation, ...]]:
    """Regimes, with x constant, in which one term of the bound leads: those that could make the claim true."""
    bound = unknown.solved.bound
    value = None if bound is None else unknown.of_side(bound)
    if value is None or isinstance(value, Root) or not value.free_symbols or not value.is_rational_function():
        return
    symbols = symbols_of(value)
    above, below = ratio(value, symbols)
    leading = [_leads(term, terms, symbols) for terms in (below, above) for term in terms]
    for relations in dict.fromkeys((*leading, tuple((s, "->", oo) for s in symbols if s != unknown.x))):
        try:
            if relations and joined(stated, relations):
                yield relations
        except AlgebraError:
            continue


def _leads(leading: tuple[int, ...], terms: Polynomial, symbols: tuple[Expr, ...]) -> tuple[Relation, ...]:
    """That one term of a polynomial is much larger than every other one."""
    relations: dict[Relation, None] = {}
    for other in terms:
        shared = tuple(map(min, leading, other))
        small = monomial((a - s for a, s in zip(other, shared, strict=True)), symbols)
        large = monomial((a - s for a, s in zip(leading, shared, strict=True)), symbols)
        if small == 1 and large.free_symbols:
            relations[large, "->", oo] = None
        elif small.free_symbols and large.free_symbols:
            relations[small, "<<", large] = None
    return tuple(relations)
