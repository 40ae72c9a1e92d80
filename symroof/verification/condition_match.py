"""Two conditions beside each other: in their leading forms, by their bounds, and by the numbers that are printed in one.

An order is N/D > 0 in lowest terms, where D has one sign from some point on in the regime: the terms of N that are above 0
are together more than those below. In a regime the quotient of the two is brought to its leading form, and what is proved
of the leading forms is true from some point on. There it does not matter whether an edge belongs to a condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from sympy import Expr

from symroof.algebra.dominance import weakest_regimes
from symroof.algebra.rational import cancel, coefficients, polynomial, ratio, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.algebra.roots import Root
from symroof.derivation.solutions import Solution
from symroof.derivation.solving import PLAIN, derivative, solve_condition
from symroof.errors import AlgebraError, CheckError
from symroof.formula import Both, Cases, Compare, Either, Formula, Name, Number, Verdict, mapped, names, number
from symroof.proof.propositions import negated
from symroof.proof.quotients import ORDER
from symroof.proof.step import Check
from symroof.proof.whole_numbers import WholeSizes
from symroof.symbols import expression, fraction, rational, symbol
from symroof.verification.asymptotics import IDENTITY, alike, eventually_positive, held, leading_of
from symroof.verification.budget import COEFFICIENTS, spend
from symroof.verification.context import Context, Question
from symroof.verification.intervals import Enclosure, bare, enclosed, precise, rounding
from symroof.verification.number_chains import may_stand
from symroof.verification.verdicts import IN_NUMBERS, Finding, Remark

UP = (">", ">=")
OPEN = symbol("#")
# How much of a change of the unknown a number has to show, in proportion.
TELLING = Fraction(1, 2)


class Pair(NamedTuple):
    """Two conditions, each as it stands or in its leading form, and what shows these."""

    left: Formula
    right: Formula
    shown: tuple[str, ...]

    def check(self, by: str) -> Check:
        """What shows something of both that is proved of their leading forms."""
        return Check("proved", "; ".join(dict.fromkeys((*self.shown, by))))


def beside(p: Formula, q: Formula, regime: Regime, x: Expr) -> Pair | None:
    """Two conditions in their leading forms, with x for what is ~ x, and without edges where one is not what it was; None where
    one has no such form, or is true always or never."""
    if not regime.scaling:
        return Pair(p, q, ())
    first, second = leading(p, regime, x), leading(q, regime, x)
    if first is None or second is None or not (names(first[0]) and names(second[0])):
        return None
    shown = tuple(by for _, by in (first, second) if by)
    left, right = (replace(order, relation=order.relation[0]) if shown else order for order, _ in (first, second))
    return Pair(left, right, shown)


def leading(condition: Formula, regime: Regime, x: Expr) -> tuple[Compare, str] | None:
    """An order in its leading form, and what shows that, where it is another one."""
    if not isinstance(condition, Compare) or not regime.scaling:
        return (condition, "") if isinstance(condition, Compare) else None
    pair = sides(condition, regime)
    if pair is None:
        return None
    form, shown = leading_of(pair[0] / pair[1], regime)
    tied = Regime(tuple((y, "~", x) for y in alike(x, regime, "~"))).merged(form)
    more, less = map(PLAIN.write, tied.as_numer_denom())
    order = Compare(more, ">=" if len(condition.relation) == 2 else ">", less)
    return order, "" if shown == IDENTITY and tied == form else shown.by


def sides(condition: Formula, regime: Regime, *, moved: bool = True) -> tuple[Expr, Expr] | None:
    """The greater and the lesser side of an order of rational functions, where both are above 0 in the regime. Else, where they
    may be ``moved``, the terms of their difference that are, and those that are not, if what they are divided by has a sign."""
    if not isinstance(condition, Compare) or condition.relation not in ORDER:
        return None
    spend(COEFFICIENTS)
    greater, lesser = map(expression, (condition.left, condition.right)[:: 1 if condition.relation in UP else -1])
    if not (greater.is_rational_function() and lesser.is_rational_function()):
        return None
    if eventually_positive(greater, regime) and eventually_positive(lesser, regime):
        return greater, lesser
    symbols = symbols_of(greater, lesser)
    above, below = ratio(greater - lesser, symbols)
    divisor = polynomial(below, symbols)
    signs = [sign for sign in (1, -1) if moved and eventually_positive(sign * divisor, regime)]
    positive, negative = ({e: abs(c) for e, c in above.items() if (c > 0) == rises} for rises in (True, False))
    more, less = (polynomial(terms, symbols) for terms in (positive, negative)[:: signs[0] if signs else 1])
    return (more, less) if signs and 0 not in (more, less) else None


def solution(condition: Formula, x: Expr, context: Context) -> Solution | None:
    """The one threshold of an order in x; of several that all hold, or of which one holds, the one that decides."""
    if not isinstance(condition, Compare) or condition.relation not in ORDER or x.name not in names(condition):
        return None
    least_one = frozenset(map(symbol, context.least_one))
    rows = solve_condition(*map(expression, (condition.left, condition.right)), x, least_one, condition.relation)
    if len(rows) == 1:
        deciding = [t for t in rows[0] if t.outcome != "always"]
    elif all(len(row) == 1 for row in rows):
        deciding = [row[0] for row in rows if row[0].outcome != "never"]
    else:
        return None
    return deciding[0] if len(deciding) == 1 and deciding[0].bound is not None else None


def unknowns(condition: Formula) -> Iterator[Expr]:
    """The symbols of a condition, those of its left side first."""
    return map(symbol, dict.fromkeys(names(condition)))


def right_value(question: Question) -> Formula | None:
    """P solved for what stands on one side of Q, as it should read; None where there is more than one case."""
    p, q, context = question.left, question.right, question.context
    if not isinstance(q, Compare) or q.relation not in ORDER:
        return None
    for x in unknowns(q):
        form = leading(p, context.regime, x)
        solved = solution(p if form is None or x.name not in names(form[0]) else form[0], x, context)
        if solved is None or solved.end is None or x.name in {*names(q.left)} & {*names(q.right)}:
            continue
        right = Compare(Name(x.name), solved.end.relation, context.layout.write(solved.bound))
        if not isinstance(solved.formula, Cases):
            return right
        (_, guard), *others = solved.formula.rows
        if not others and isinstance(solved.formula.otherwise, Verdict):
            return Cases(((right, guard),), solved.formula.otherwise)
    return None


def agreement(question: Question, regime: Regime, *, turned: bool = False) -> Finding | None:
    """P <=> Q, and so P => Q, where both are one set in the regime: as they stand, in whole numbers, or with what is printed in
    Q taken for the number that it rounds; P => Q where P lies in Q. Where they are ``turned``, P is the second of both."""
    link, context = question.link, question.context
    x = next(unknowns(question.right), None)
    pair = None if x is None else beside(question.left, question.right, regime, x)
    if pair is None:
        return None
    if (by := _equal(pair, context)) is not None:
        return Finding(link, "holds", pair.check(by))
    if (whole := _whole(question, regime)) is not None:
        return Finding(link, "holds", pair.check(IN_NUMBERS.by), remarks=(whole,))
    for literal in dict.fromkeys((*precise(link.right), *_sides_in_print(link.right))):
        finding = _rounded(question, regime, x, literal)
        if finding is not None:
            return finding
    if link.relation == "=>" and (pair := beside(question.left, question.right, held(regime, x), x)) is not None:
        first, second = (pair.right, pair.left) if turned else (pair.left, pair.right)
        with suppress(CheckError):
            settled = context.settled(Either((negated(first), second)))
            return Finding(link, "holds", pair.check(settled.by)) if settled.truth else None
    return None


def _equal(pair: Pair, context: Context) -> str | None:
    """By what two conditions are proved to be one set."""
    proofs = (context.proof_of(Compare(pair.left, "<=>", said)) for _, said in _propositions(pair.right))
    return next(filter(None, proofs), None)


def _propositions(q: Formula) -> Iterator[tuple[Compare, Formula]]:
    """A condition, and what it says: of two at once each may be the guard without which the other has no value."""
    if isinstance(q, Compare) and q.relation in ORDER:
        yield q, q
    elif isinstance(q, Both) and len(q.parts) == 2:
        for value, guard in (q.parts, q.parts[::-1]):
            if isinstance(value, Compare) and value.relation in ORDER:
                yield value, Cases(((value, guard),), Verdict(False))


def _whole(question: Question, regime: Regime) -> Remark | None:
    """Whether both leave the same whole numbers to a size, where the bound of Q or a side of it is whole: one with decimals says
    that it was worked out to them."""
    context, printed = question.context, _sides_in_print(question.link.right)
    for x in unknowns(question.right):
        form = leading(question.left, regime, x)
        if form is None or x.name not in context.least_one:
            continue
        true, claimed = (bound(condition, x, context) for condition in (form[0], question.right))
        if true is None or claimed is None or true.rises != claimed.rises:
            continue
        denominators = {claimed.value.low.denominator, *(n.value.denominator for n in printed)}
        if not claimed.value.exact or claimed.value.low <= 0 or 1 not in denominators:
            continue
        admitted, firsts, plain = context.admitted(x.name), set[int](), set[int]()
        for relation, value in (true, claimed):
            firsts.update(admitted.last(relation, end) for end in (value.low, value.high))
            plain.update(WholeSizes().last(relation, end) for end in (value.low, value.high))
        if len(firsts) == 1 and firsts != {0}:
            facts = {"variable": Name(x.name), "first": firsts.pop(), "rises": true.rises, "value": true.value.middle}
            return Remark("whole", {**facts, "between": len(plain) > 1 and admitted.those is not None})
    return None


class Bound(NamedTuple):
    """Everything above or below a number."""

    relation: str
    value: Enclosure

    @property
    def rises(self) -> bool:
        return self.relation in UP


def bound(condition: Formula, x: Expr, context: Context) -> Bound | None:
    """A condition that says no more than that x is above or below a number."""
    solved = solution(condition, x, context)
    if solved is None or not isinstance(solved.formula, Compare) or names(solved.formula.right):
        return None
    value = solved.bound if isinstance(solved.bound, Root) else enclosed(solved.formula.right)
    return Bound(solved.formula.relation, value)


def _sides_in_print(condition: Formula) -> list[Number]:
    """The sides of a condition that are one number."""
    ends = (condition.left, condition.right) if isinstance(condition, Compare) else ()
    return [end for end in map(bare, ends) if isinstance(end, Number)]


def _rounded(question: Question, regime: Regime, x: Expr, literal: Number) -> Finding | None:
    """P <=> Q once a number printed in Q is the one that puts its bound on that of P, where it rounds that."""
    link, context = question.link, question.context

    def reading(instead: Formula) -> Pair | None:
        q = context.put(mapped(link.right, lambda node: instead if node == literal else node))
        return beside(question.left, q, regime, x)

    opened = reading(Name(OPEN.name))
    if opened is None:
        return None
    for (q, _), y in product(_propositions(opened.right), unknowns(question.right)):
        solved, value = solution(opened.left, y, context), root_of(expression(q.left) - expression(q.right), OPEN)
        if solved is None or solved.bound is None or value is None:
            continue
        needed = _at(value, y, solved.bound)
        remark = None if needed is None else rounding(needed, literal)
        if needed is None or remark is None or not may_stand(remark, link.left, context):
            continue
        pair, same = reading(number(needed.low)), needed.low <= literal.value <= needed.high
        if pair is None or not _tells(value, question, regime, y, solved.bound):
            continue
        ways = _equal(pair, context), _equal(pair._replace(left=solved.formula), context)
        if by := ways[0] or ways[1] or _alike(pair, y, context, edges=same):
            return Finding(link, "rounded", pair.check(by), remarks=(remark,))
    return None


def _at(value: Expr, x: Expr, bound: Expr | Root) -> Enclosure | None:
    """A value at a bound of x, where it is a number above 0."""
    ends = [cancel(value.subs(x, end)) for end in _ends(bound)]
    return Enclosure(*sorted(map(fraction, ends))) if all(end.is_Rational and end > 0 for end in ends) else None


def _ends(bound: Expr | Root) -> tuple[Expr, ...]:
    return (rational(bound.low), rational(bound.high)) if isinstance(bound, Root) else (bound,) * 2


def _tells(value: Expr, question: Question, regime: Regime, x: Expr, bound: Expr | Root) -> bool:
    """Whether a number that x makes what it is tells x: whether it changes by a half as much as x at the bound, in proportion, or
    as what P compares. A term may hide all of it: any B is near the bound of B + 10^6 > 1000240."""
    more, less = sides(question.left, regime) or (x, x / x)
    own, true = ((derivative(part, x) * x / part).subs(x, _ends(bound)[0]) for part in (value, cancel(more / less)))
    share = cancel(own)
    if not share.is_Rational or abs(share) >= TELLING:
        return True
    return bool(true != 0 and (beside := cancel(own / true)).is_Rational and abs(beside) >= TELLING)


def _alike(pair: Pair, x: Expr, context: Context, *, edges: bool) -> str | None:
    """That two conditions lie on the same side of bounds that are alike, with their ``edges`` or not."""
    first, second = (bound(condition, x, context) for condition in pair[:2])
    if first is None or second is None or first.rises != second.rises or (edges and first.relation != second.relation):
        return None
    return IN_NUMBERS.by


def root_of(value: Expr, x: Expr) -> Expr | None:
    """Where a rational function that is linear in a symbol above its line is 0."""
    symbols = symbols_of(value, x)
    parts = coefficients(ratio(value, symbols)[0], symbols.index(x))
    if len(parts) != 2:
        return None
    below, above = (polynomial(part, symbols) for part in parts)
    return cancel(-below / above)


def possible_regimes(question: Question) -> Iterator[tuple[Relation, ...]]:
    """The weakest regimes, beyond the one that is said, in which the ratio of P tends to a number times that of Q."""
    regime = question.context.regime
    first, second = (sides(condition, regime, moved=False) for condition in (question.left, question.right))
    if first is None or second is None:
        return
    (above, below), (more, less) = first, second
    quotient = cancel(above * less / (below * more))
    with suppress(AlgebraError):
        terms, others = ratio(quotient, symbols_of(quotient))
        for share in dict.fromkeys(c / others[term] for term, c in terms.items() if term in others):
            yield from filter(None, weakest_regimes(quotient, rational(share), regime))
