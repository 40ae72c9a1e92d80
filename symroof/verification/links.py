"""One link of a chain: two sides and a relation, judged over the domain, in a regime, or between numbers.

    =           identity, by cross-multiplication or z3; between numbers, the rounding rule
    ~  ->       the quotient tends to 1 in the regime, by a certificate; between numbers, the rounding rule or a share
    <<          the quotient tends to 0
    < <= > >=   for all of the domain, by the signs of coefficients or z3

What is not proved does not hold: a link is wrong where an exact point shows it, and undecided otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from symroof.algebra.rational import cancelled
from symroof.errors import AlgebraError
from symroof.formula import Compare, Formula, Group, Infinity, Name, mapped, names
from symroof.proof.sampling import ORDER
from symroof.proof.settling import settle
from symroof.symbols import expression
from symroof.verification.approximations import approximate, judge_approximation, judge_growth, judge_negligible
from symroof.verification.constructions import resolved
from symroof.verification.context import Context
from symroof.verification.counterexamples import witness
from symroof.verification.digits import bare, last_place, rounding
from symroof.verification.enclosures import is_numeric
from symroof.verification.judgement import Finding, Remark
from symroof.verification.literals import compare_numbers, literals, needed_literal, rounded_remark
from symroof.verification.unit_agreement import disagreement


def sides_of(link: Compare, context: Context) -> tuple[Formula, Formula]:
    """Both sides with their names put in and their constructions worked out."""
    left, right = (
        resolved(context.expanded(side), context.least_one, context.layout) for side in (link.left, link.right)
    )
    return left, right


def judge_link(link: Compare, context: Context) -> Finding:
    """The finding on one link."""
    unlike = disagreement(link, context)
    if unlike is not None:
        return Finding(link, "wrong", "units", remarks=(unlike,))
    found = _bound_of_time(link, context) or _judge(link, context)
    if (
        found.verdict == "holds"
        and context.count == "fma"
        and context.other is not None
        and link.left == Name("flops")
        and link.relation == "="
    ):
        exactly = context.layout.factored(expression(context.other.expanded(link.left)))
        return replace(
            found, remarks=(*found.remarks, Remark("this_count", {"count": context.count, "exactly": exactly}))
        )
    return found


def _bound_of_time(link: Compare, context: Context) -> Finding | None:
    """T_lower and T_upper are what they are of any two times: judged with both left open, where nothing else is said."""
    times = {"T_math", "T_comms"}
    own = isinstance(link.left, Name) and link.left.name in ("T_lower", "T_upper") and set(names(link.right)) == times
    if not own or link.relation != "=" or not times <= set(context.definitions):
        return None
    known = {name: formula for name, formula in context.definitions.items() if name not in times}
    found = _judge(link, replace(context, definitions=known, other=None))
    if found.verdict != "wrong" or not isinstance(link.left, Name):
        return found
    settled = _judge(link, context) if context.setting is not None else found
    return replace(found, value=context.definitions[link.left.name]) if settled.verdict == "wrong" else settled


def confirmed(link: Compare, context: Context, *, exactly: bool = False) -> Finding | None:
    """The finding on a link that is proved as it stands, or None; nothing is refuted and nothing inferred.

    With ``exactly``, ~ allows no share between numbers.
    """
    left, right = sides_of(link, context)
    if is_numeric(left) and is_numeric(right):
        strict = replace(context, tolerance=Fraction(0)) if exactly else context
        found: Finding | None = compare_numbers(link, left, right, strict)
    elif link.relation == "=":
        found = _identical(link, left, right, context)
    elif link.relation in ("~", "->") and not _infinite(left, right):
        found = approximate(link, left, right, context, exactly=exactly)
    elif link.relation in ORDER:
        settled = settle(Compare(left, link.relation, right), context.least_one, context.facts)
        found = Finding(link, "holds", settled.by) if settled.truth else None
    else:
        found = _judge(link, context)
    return found if found is not None and found.verdict in ("holds", "rounded") else None


def _judge(link: Compare, context: Context) -> Finding:
    left, right = sides_of(link, context)
    if _infinite(left, right):
        return judge_growth(link, left, right, context)
    if is_numeric(left) and is_numeric(right):
        return compare_numbers(link, left, right, context)
    if link.relation == "=":
        value = _written(left, context)
        return _identical(link, left, right, context) or _refuted(link, Compare(left, "=", right), context, None, value)
    if link.relation in ("~", "->"):
        return judge_approximation(link, left, right, context)
    if link.relation in ("<<", ">>"):
        return judge_negligible(link, left, right, context)
    return _order(link, left, right, context)


def _infinite(left: Formula, right: Formula) -> bool:
    return isinstance(bare(right), Infinity) or isinstance(bare(left), Infinity)


def _identical(link: Compare, left: Formula, right: Formula, context: Context) -> Finding | None:
    """The sides are the same; or they are once a printed number is taken for the one that it rounds."""
    settled = settle(Compare(left, "=", right), context.least_one, context.facts)
    if settled.truth:
        return Finding(link, "holds", settled.by)
    for side, other in ((link.right, left), (link.left, right)):
        for literal in literals(side):
            if last_place(literal)[0] < 2:
                continue
            needed = needed_literal(other, side, literal, context)
            found = None if needed is None else rounding(needed, literal)
            if needed is not None and found is not None and found.how != "exact":
                return Finding(link, "rounded", "identity", _written(left, context), (rounded_remark(found, needed),))
    return None


def _order(link: Compare, left: Formula, right: Formula, context: Context) -> Finding:
    settled = settle(Compare(left, link.relation, right), context.least_one, context.facts)
    if settled.truth:
        return Finding(link, "holds", settled.by)
    return _refuted(link, Compare(left, link.relation, right), context, settled.point)


def _refuted(link: Compare, claim: Compare, context: Context, point: object, value: Formula | None = None) -> Finding:
    """Wrong where a point shows it, else undecided."""
    offered = (point,) if isinstance(point, dict) else ()
    shown = witness(claim, context.least_one, context.facts, offered)
    if shown is None:
        return Finding(link, "undecided", "", value, (Remark("no_proof"),))
    return Finding(link, "wrong", "exact numbers", value, counterexample=shown)


def _written(formula: Formula, context: Context) -> Formula:
    """The value of a side: in lowest terms, or as its definition stands where figures are in it."""
    if any(n.digits is not None and "e" in n.digits for n in literals(formula)):
        return mapped(formula, lambda node: node.body if isinstance(node, Group) else node)
    try:
        value = expression(formula)
        return context.layout.write(cancelled(value) if value.is_rational_function() else value)
    except AlgebraError:
        return formula
