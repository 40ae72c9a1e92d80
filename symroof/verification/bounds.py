"""The bound of a condition: P solved for the unknown of Q, and compared with what Q says.

For Q = ``2B > 486`` the unknown is B, and P is solved for B; its bound is put into 2B and compared with 486: exactly,
as whole numbers, by the rounding rule; in the stated regime, or in one that is inferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, floor

from sympy import Expr, oo

from symroof.algebra.dominance import limit
from symroof.algebra.rational import cancelled, monomial, ratio, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.algebra.roots import Root
from symroof.errors import AlgebraError, CheckError
from symroof.formula import Compare, Infinity, Name, Number
from symroof.symbols import expression, fraction, symbol
from symroof.verification.context import Context
from symroof.verification.digits import bare, last_place, rounding
from symroof.verification.enclosures import Enclosure, enclosed, is_numeric
from symroof.verification.growth import eventually_positive, near, regime_of, relations_of
from symroof.verification.judgement import Finding, Remark
from symroof.verification.literals import literals, needed_literal, printed_digits, rounded_remark
from symroof.verification.unknowns import UP, Unknown, holding


def by_bound(link: Compare, unknown: Unknown, context: Context) -> Finding | None:
    """(ii) to (iv): the bounds compared in the stated regime."""
    found = _agreeing(link, unknown, holding(regime_of(context), unknown.x), context)
    return None if found is None else replace(found, value=unknown.right_value(context))


def by_inferred_bound(link: Compare, unknown: Unknown, context: Context) -> Finding | None:
    """The bounds compared in a regime that nobody stated, with no relation too many."""
    whole = regime_of(context)
    stated = holding(whole, unknown.x)
    for relations in _possible_regimes(unknown, stated):
        found = _tried(link, unknown, stated, relations, context)
        if found is None:
            continue
        kept = list(relations)
        for relation in relations:
            fewer = tuple(r for r in kept if r != relation)
            if fewer and _tried(link, unknown, stated, fewer, context):
                kept = list(fewer)
        needs = tuple(sorted((_released(r, unknown.x, context) for r in kept), key=str))
        try:
            Regime((*whole.relations, *relations_of(needs)), whole.least_one)
        except AlgebraError:  # what is missing contradicts what is stated
            continue
        return replace(found, verdict="conditional", needs=(needs,), value=unknown.right_value(context))
    return None


def _tried(
    link: Compare, unknown: Unknown, stated: Regime, relations: tuple[Relation, ...], context: Context
) -> Finding | None:
    """As :func:`_agreeing` in the stated regime with further relations; None as well where that is not decided."""
    try:
        return _agreeing(link, unknown, Regime((*stated.relations, *relations), stated.least_one), context)
    except (AlgebraError, CheckError):
        return None


def _released(relation: Relation, x: Expr, context: Context) -> Compare:
    """What was assumed with x held constant, as a relation to x: D -> oo becomes B << D."""
    left, sign, right = relation
    write = context.layout.write
    if sign == "->" and x in regime_symbols(context):
        return Compare(Name(x.name), "<<", write(left))
    return Compare(write(left), sign, Infinity() if right == oo else write(right))


def regime_symbols(context: Context) -> frozenset[Expr]:
    return frozenset(map(symbol, context.least_one))


def _agreeing(link: Compare, unknown: Unknown, regime: Regime, context: Context) -> Finding | None:
    """Whether the edge, put into the left side of Q, is the claimed bound in this regime."""
    found = unknown.edge(regime, context)
    if found is None or found[1] != (unknown.relation in UP):
        return None
    value = unknown.of_side(found[0])
    if isinstance(value, Root):
        return _number(link, unknown, Enclosure(value.low, value.high), context)
    if value.is_Rational:
        return _number(link, unknown, Enclosure(fraction(value), fraction(value)), context)
    if is_numeric(unknown.claimed):
        if not value.free_symbols:
            return _number(link, unknown, enclosed(context.layout.write(value)), context)
        if not regime.scaling or not value.is_rational_function():
            return None
        tends = limit(value, regime)
        if tends is None or not tends.is_Rational or tends <= 0 or near(value, tends, context, regime) is None:
            return None
        return _number(link, unknown, Enclosure(fraction(tends), fraction(tends)), context, by="certificate")
    claimed = expression(unknown.claimed)
    printed = _printed_factor(link, unknown, value, claimed, regime, context)
    if printed is not None:
        return printed
    if not regime.scaling or not (claimed.is_rational_function() and value.is_rational_function()):
        return None
    by = near(value, claimed, context, regime)
    if by is None or not eventually_positive(claimed, regime, context):
        return None
    same_edge = by != "identity" or unknown.closed == (unknown.relation in (">=", "<="))
    return Finding(link, "holds", by) if same_edge else None


def _printed_factor(
    link: Compare, unknown: Unknown, value: Expr, claimed: Expr, regime: Regime, context: Context
) -> Finding | None:
    """A symbolic bound with a number in print, as in B > 164 E/k: right once the number is taken for the one that it rounds."""
    literals_in = [literal for literal in literals(unknown.printed) if last_place(literal)[0] > 1]
    if not literals_in or not (claimed.is_rational_function() and value.is_rational_function()):
        return None
    tends = limit(value / claimed, regime) if regime.scaling else cancelled(value / claimed)
    if tends is None or not tends.is_Rational or tends <= 0 or near(value, claimed * tends, context, regime) is None:
        return None
    if not eventually_positive(claimed, regime, context):
        return None
    for literal in literals_in:
        needed = needed_literal(context.layout.write(claimed * tends), unknown.printed, literal, context)
        found = None if needed is None else rounding(needed, literal)
        if needed is not None and found is not None and found.how != "exact":
            return Finding(link, "rounded", "certificate", remarks=(rounded_remark(found, needed),))
    return None


def by_implication(link: Compare, unknown: Unknown, context: Context, *, explicit_first: bool) -> Finding | None:
    """P => Q in the regime, in one direction: the bound of the condition that is solved lies beyond the explicit one.

    With ``explicit_first`` the explicit condition is P, and its bound has to lie beyond.
    """
    regime = holding(regime_of(context), unknown.x)
    found = unknown.edge(regime, context)
    if found is None or found[1] != (unknown.relation in UP) or not is_numeric(unknown.claimed):
        return None
    value, by = unknown.of_side(found[0]), "exact numbers"
    if not isinstance(value, Root) and value.free_symbols:
        tends = limit(value, regime) if regime.scaling and value.is_rational_function() else None
        if tends is None or not tends.is_Rational or tends <= 0 or near(value, tends, context, regime) is None:
            return None
        value, by = tends, "certificate"
    true = Enclosure(value.low, value.high) if isinstance(value, Root) else enclosed(context.layout.write(value))
    claimed = enclosed(unknown.claimed)
    above = true.low > claimed.high if not explicit_first else claimed.low > true.high
    below = true.high < claimed.low if not explicit_first else claimed.high < true.low
    return Finding(link, "holds", by) if (above if found[1] else below) else None


def _number(
    link: Compare, unknown: Unknown, true: Enclosure, context: Context, by: str = "exact numbers"
) -> Finding | None:
    """The true bound and the claimed one as numbers: equal, the same whole numbers, or rounded."""
    if not is_numeric(unknown.claimed) or true.low <= 0:
        return None
    claimed = enclosed(unknown.claimed)
    if true.exact and claimed == true and (by == "certificate" or unknown.closed == (unknown.relation in (">=", "<="))):
        return Finding(link, "holds", by)
    whole = _whole(unknown, true, claimed, context)
    if whole is not None:
        return Finding(link, "holds", by, remarks=(whole,))
    printed = printed_digits(true, unknown.printed, context)
    if printed is not None and printed.how != "exact" and isinstance(bare(unknown.printed), Number):
        return Finding(link, "rounded", by, remarks=(rounded_remark(printed, true),))
    return None


def _whole(unknown: Unknown, true: Enclosure, claimed: Enclosure, context: Context) -> Remark | None:
    """Whether both bounds leave the same whole numbers, where the unknown is a size and the claimed bound is whole."""
    x = unknown.x
    if x.name not in context.least_one or claimed.low.denominator != 1 or not claimed.exact:
        return None
    symbols = symbols_of(unknown.side)
    above, below = ratio(unknown.side, symbols)
    if symbols != (x,) or set(above) != {(1,)} or set(below) != {(0,)}:
        return None
    slope = above[(1,)] / below[(0,)]
    ends = [(e.low / slope, e.high / slope) for e in (true, claimed)]
    first = []
    for (low, high), strict in zip(ends, (not unknown.closed, unknown.relation in "<>"), strict=True):
        if unknown.relation in UP:
            found = {floor(e) + 1 if strict else ceil(e) for e in (low, high)}
        else:
            found = {ceil(e) - 1 if strict else floor(e) for e in (low, high)}
        if len(found) > 1:
            return None
        first.append(found.pop())
    if first[0] != first[1]:
        return None
    return Remark(
        "whole", {"variable": Name(x.name), "first": first[0], "rises": unknown.relation in UP, "value": true.middle}
    )


def _possible_regimes(unknown: Unknown, stated: Regime) -> Iterator[tuple[Relation, ...]]:
    """Regimes, with x constant, in which one term of the bound leads: those that could make the claim true."""
    edge = next(
        (
            end
            for case in unknown.solved.cases
            for interval in case.intervals
            for end in (interval.low, interval.high)
            if end is not None
        ),
        None,
    )
    value = None if edge is None else unknown.of_side(edge)
    if value is None or isinstance(value, Root) or not value.free_symbols or not value.is_rational_function():
        return
    symbols = symbols_of(value)
    sizes = [s for s in symbols if s != unknown.x]
    seen = set()
    above, below = ratio(value, symbols)
    for terms in (below, above):
        for leading in terms:
            relations = []
            for other in terms:
                if other == leading:
                    continue
                shared = tuple(map(min, leading, other))
                small = monomial((a - s for a, s in zip(other, shared, strict=True)), symbols)
                large = monomial((a - s for a, s in zip(leading, shared, strict=True)), symbols)
                relations.append((large, "->", oo) if small == 1 else (small, "<<", large))
            kept = tuple(dict.fromkeys(r for r in relations if r[0].free_symbols and (r[2] == oo or r[2].free_symbols)))
            if not kept or kept in seen:
                continue
            seen.add(kept)
            try:
                Regime((*stated.relations, *kept), stated.least_one)
            except AlgebraError:
                continue
            yield kept
    whole = tuple((s, "->", oo) for s in sizes)
    if whole and whole not in seen:
        yield whole
