"""Approximations: ~ and -> in a regime, what grows, what is negligible, and the regime that was not stated.

They are found by the algebra and multiplied out again by the second engine.

Maxima, minima and roots in approximations: what is left is rational, and tends to the same.

A maximum is its leading argument from some point on: the one that the others do not exceed, on the whole domain or in
the regime. Where nothing tells which one leads, each may, and the approximation is conditional on that. The quotient of
two positive sides tends to 1 exactly where its square does; and the sizes may be written as squares, which changes
nothing in how they grow.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from sympy import Expr, Max, Min

from symroof.algebra.dominance import MOST_SHOWN, approximation, weakest_regimes
from symroof.algebra.rational import cancel, symbols_of
from symroof.algebra.regime import Regime, Relation
from symroof.derivation.drafts import comparisons
from symroof.errors import AlgebraError
from symroof.formula import Both, Compare, Formula, Infinity, Name, Quotient, number
from symroof.proof.propositions import negated
from symroof.proof.step import Check
from symroof.symbols import expression, fraction
from symroof.verification.asymptotics import eventually_positive, joined, leading_of, near, number_near, quotient_limit
from symroof.verification.budget import attempted
from symroof.verification.context import Context, Question
from symroof.verification.counterexamples import witness
from symroof.verification.intervals import bare, is_numeric
from symroof.verification.number_chains import in_print
from symroof.verification.verdicts import GOOD, Finding, Remark, undecided

# The algebra looked through the regimes that could be meant; the second engine has not decided that again.
SEARCHED = Check("searched", "no regime was found that makes it true")
EXTREME = (Max, Min)
SQUARED = "both sides squared, which are positive"
LEADS = "the leading argument"


def approximate(question: Question) -> Finding | None:
    """a/b -> 1 in the regime; to a number in print, by the rounding rule or within the share that ~ allows; or in a
    regime that is missing."""
    link, context = question.link, question.context
    settled = context.settled(Compare(question.left, "=", question.right))
    if settled.truth:
        return Finding(link, "holds", Check("proved", settled.by))
    if link.relation == "~" and 0 in (expression(question.left), expression(question.right)):
        return undecided(link, "beside_what")
    pairs = [(_between(question, sides), sides) for sides in rational_sides(question)]
    if all(finding is not None and finding.verdict == "holds" for finding, _ in pairs):  # whichever argument leads
        pairs = [(pairs[0][0], replace(pairs[0][1], needs=()))]
    findings = [_worked_out(finding, sides) for finding, sides in pairs if sides.possible]
    if len(pairs) == 1 and findings:
        return findings[0]
    accepted = [finding for finding in findings if finding is not None and finding.verdict in GOOD]
    if not accepted or context.proofs_only:
        raise AlgebraError("it is not known which argument of the maximum is larger")
    return replace(accepted[0], needs=tuple(needs for finding in accepted for needs in finding.needs)[:MOST_SHOWN])


def _worked_out(finding: Finding | None, sides: Sides) -> Finding | None:
    """A finding on the rational sides of a link as one on the link: what they rest on, and what nobody stated."""
    if finding is None or finding.check is None:
        return finding
    by = "; ".join((*dict.fromkeys(sides.by), finding.check.by))
    finding = replace(finding, check=Check(finding.check.status, by))
    if sides.squared:  # what is said of squares is nothing to say of the sides
        finding = replace(finding, value=None, remarks=(), leaves=None)
    if not sides.needs or finding.verdict not in GOOD:
        return finding
    needs = tuple((*_unless(sides.needs, more), *more) for more in finding.needs or ((),))
    return replace(finding, verdict="conditional", needs=needs, leaves=finding.leaves or number(1))


def _unless(needs: tuple[Compare, ...], more: tuple[Compare, ...]) -> Iterator[Compare]:
    """What is not said by relations of growth already."""
    return (r for r in needs if Compare(r.left, "<<", r.right) not in more)


def _between(question: Question, sides: Sides) -> Finding | None:
    """What the rational functions of a link say in the stated regime, or in one that is missing."""
    link, context, a, b = question.link, question.context, sides.left, sides.right
    regime, tends, refuted = context.regime, None, SEARCHED
    if b != 0:
        shown = near(a, b, regime)
        if shown is not None:
            return Finding(link, "holds", shown, remarks=_factor(a, b, context))
        finding = None if sides.squared else _in_print(question, a, b)
        if finding is not None or context.proofs_only:
            return finding
        needs = weakest_regimes(a, b, regime)
        if needs:
            return _conditional(question, a, b, needs)
        tends, refuted = quotient_limit(a, b, regime), _parted(a, b, regime)
    elif link.relation == "->" and (shown := near(a + 1, a * 0 + 1, regime)) is not None:
        return Finding(link, "holds", shown)
    if any(r.relation == "~" and not (isinstance(r.left, Name) and isinstance(r.right, Name)) for r in context.growing):
        raise AlgebraError("~ between products is not decided", expected="~ between two names")
    remarks = () if tends is None else (Remark("quotient_tends", {"value": context.layout.write(tends)}),)
    return Finding(link, "wrong", refuted, _leading_value(a, context), remarks)


def _parted(a: Expr, b: Expr, regime: Regime) -> Check:
    """What shows that a/b does not tend to 1: the number that it does tend to, or that one side is beyond the other."""
    with attempted():
        tends = number_near(a, b, regime)
        if tends is not None and tends[0] != 1:
            return Check(tends[1].status, f"{tends[1].by}: the quotient tends to another number")
        shown = near(a + b, b, regime) or near(a + b, a, regime)
        if shown is not None:
            return Check(shown.status, f"{shown.by}: one side is negligible beside the other")
    return SEARCHED


def _in_print(question: Question, a: Expr, b: Expr) -> Finding | None:
    """The quotient tends to a number that ~ allows, or to one that the digits of the right side round."""
    link, context = question.link, question.context
    tends = number_near(a, b, context.regime)
    if tends is None:
        return None
    value, shown = tends
    by = Check(shown.status, f"{shown.by}, and exact numbers")
    off = 1 / fraction(value) - 1
    if is_numeric(question.right) and abs(off) <= context.tolerance:
        return Finding(link, "holds", by, remarks=(Remark("deviation", {"share": off}),))
    return in_print(question, context.layout.write(b * value), link.right, by)


def _factor(a: Expr, b: Expr, context: Context) -> tuple[Remark, ...]:
    """By how much an approximation is off."""
    with suppress(AlgebraError):
        factor = _off(a, b, context.regime, context)
        return () if factor == number(1) else (Remark("factor", {"factor": factor}),)
    return ()


def _off(a: Expr, b: Expr, regime: Regime, context: Context) -> Formula:
    """b/a, its terms in the order of what they are beside 1."""
    write = context.layout.write
    return context.written(approximation(a, b, regime).factor, Quotient(write(b), write(a)))


def _leading_value(a: Expr, context: Context) -> Formula:
    """What a side comes down to: its leading form where that is proved, else its lowest terms."""
    write, regime = context.layout.write, context.regime
    with attempted():
        if not regime.scaling:
            return context.written(cancel(a), write(a))
        return write(leading_of(a, regime)[0])
    return write(a)


def _conditional(question: Question, a: Expr, b: Expr, regimes: tuple[tuple[Relation, ...], ...]) -> Finding:
    """True under a regime that nobody stated: which, and what is left without it. Each is proved before it is told."""
    context, write = question.context, question.context.layout.write
    checks = {relations: near(a, b, joined(context.regime, relations)) for relations in regimes}
    proved = {relations: shown for relations, shown in checks.items() if shown is not None}
    if not proved:
        return undecided(question.link, "no_proof")
    needs = tuple(comparisons(relations, write) for relations in proved)
    factor = _off(a, b, joined(context.regime, regimes[0]), context)
    value, check = Quotient(write(b), factor), next(iter(proved.values()))
    return Finding(question.link, "conditional", check, value, needs=needs, leaves=factor)


def grows(question: Question) -> Finding | None:
    """``a -> oo``: 1/a tends to 0, and a is positive from some point on."""
    context, link = question.context, question.link
    if link.relation != "->" or isinstance(bare(question.left), Infinity):
        raise AlgebraError("oo stands only after ->")
    a = expression(question.left)
    shown = near(1 / a + 1, a * 0 + 1, context.regime)
    if shown is not None and eventually_positive(a, context.regime):
        return Finding(link, "holds", shown)
    return Finding(link, "wrong", SEARCHED, _leading_value(a, context))


def negligible(question: Question) -> Finding | None:
    """a << b exactly where a + b ~ b."""
    regime, link = question.context.regime, question.link
    small, large = (question.left, question.right) if link.relation == "<<" else (question.right, question.left)
    both, most = expression(small) + expression(large), expression(large)
    shown = near(both, most, regime)
    if shown is not None:
        return Finding(link, "holds", shown)
    needs = () if question.context.proofs_only else weakest_regimes(both, most, regime)
    if not needs:
        return Finding(link, "wrong", SEARCHED)
    return replace(_conditional(question, both, most, needs), value=None, remarks=(), leaves=None)


@dataclass(frozen=True, slots=True)
class Sides:
    """Two sides, and how they came about; ``needs`` is what nobody stated, ``possible`` whether some sizes are so.
    ``squared`` sides are not those of the link."""

    left: Expr
    right: Expr
    by: tuple[str, ...] = ()
    needs: tuple[Compare, ...] = ()
    squared: bool = False
    possible: bool = True


def rational_sides(question: Question) -> Iterator[Sides]:
    """The sides as rational functions; where it is open which argument of a maximum leads, once for each of them.

    Raises AlgebraError where they are none: outside of a root or logarithm there has to be a product.
    """
    sides = Sides(expression(question.left), expression(question.right))
    for side in _without_extremes(sides, question.context):
        yield _without_roots(side, question)


def _without_extremes(sides: Sides, context: Context) -> Iterator[Sides]:
    """The sides with the leading argument in the place of each maximum and minimum, the inner ones first."""
    nodes = {node for side in (sides.left, sides.right) for node in side.atoms(*EXTREME)}
    node = min(nodes, key=lambda node: (len(node.atoms(*EXTREME)), str(node)), default=None)
    if node is None:
        yield sides
        return
    leads = next((x for x in node.args if not _open(node, x, context)), None)
    for x in node.args if leads is None else (leads,):
        open_ = [pair if isinstance(node, Max) else pair[::-1] for pair in ((n, x) for n in _open(node, x, context))]
        needs = tuple(Compare(_spoken(small, context), "<=", _spoken(large, context)) for small, large in open_)
        possible = sides.possible and (not needs or _possible(needs, context))
        left, right = (side.xreplace({node: x}) for side in (sides.left, sides.right))
        more = replace(
            sides, left=left, right=right, by=(*sides.by, LEADS), needs=(*sides.needs, *needs), possible=possible
        )
        yield from _without_extremes(more, context)


def _possible(needs: tuple[Compare, ...], context: Context) -> bool:
    """Whether some sizes that look like the regime are as it is needed: under what contradicts it anything would be right."""
    put = tuple(Compare(context.put(r.left), r.relation, context.put(r.right)) for r in needs)
    return witness(negated(Both(put)), context, growing=context.growing) is not None


def _open(node: Expr, one: Expr, context: Context) -> tuple[Expr, ...]:
    """The other arguments of a maximum that are not known to be at most this one, or of a minimum at least this one."""
    rises = isinstance(node, Max)
    return tuple(
        other
        for other in node.args
        if other != one and not _at_most(*((other, one) if rises else (one, other)), context)
    )


def _at_most(small: Expr, large: Expr, context: Context) -> bool:
    """Whether a value is at most another one: from some point on in the regime, or on the whole domain."""
    write, regime = context.layout.write, context.regime
    with attempted():
        if regime.scaling and eventually_positive(large - small, regime):
            return True
    return bool(context.settled(Compare(write(small), "<=", write(large))).truth)


def _spoken(value: Expr, context: Context) -> Formula:
    """A value by the name of a quantity that has it, else written out."""
    for name in ("T_math", "T_comms"):
        if name in context.definitions and expression(context.put(Name(name))) == value:
            return Name(name)
    return context.layout.write(value)


def _without_roots(sides: Sides, question: Question) -> Sides:
    """The sides, or their squares, or both with sizes written as squares, whichever is rational first."""
    a, b = sides.left, sides.right
    if (a / b).is_rational_function():
        return sides
    squares = {x: x**2 for x in symbols_of(a, b)}
    for left, right in ((a**2, b**2), (a.subs(squares), b.subs(squares))):
        if left.is_rational_function() and right.is_rational_function():
            if not _are_positive(question):
                raise AlgebraError("the sides are not known to be positive")
            return replace(sides, left=left, right=right, by=(*sides.by, SQUARED), squared=True)
    raise AlgebraError("approximations are decided between rational functions, roots and maxima")


def _are_positive(question: Question) -> bool:
    """Whether both sides are above 0 on the whole domain, and so have a value there."""
    orders = (Compare(side, ">", number(0)) for side in (question.left, question.right))
    return all(question.context.settled(order).truth for order in orders)
