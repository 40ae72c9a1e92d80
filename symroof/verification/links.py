"""One link of a claim: two sides and a relation, judged over the domain, in a regime, or between numbers.

    =           identity, by cross-multiplication or z3; between numbers, the rounding rule
    ~  ->       the quotient tends to 1 in the regime, by a certificate; between numbers, the rounding rule or a share
    <<          the quotient tends to 0
    < <= > >=   for all of the domain, by the signs of coefficients or z3
    <=>  =>     the same set, over the domain or in the regime; one set within the other

What is not proved does not hold: a link is wrong where an exact point shows it, and undecided otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from symroof.algebra.rational import cancelled
from symroof.errors import AlgebraError, CheckError
from symroof.formula import Compare, Formula, Group, Infinity, Name, Number, Product, mapped, names
from symroof.proof.pointwise import sign_of_difference
from symroof.proof.quotients import COMPARISONS, ORDER
from symroof.proof.step import Check
from symroof.symbols import expression
from symroof.verification.approximations import approximate, grows, negligible
from symroof.verification.asymptotics import IDENTITY
from symroof.verification.conditions import equivalent
from symroof.verification.constructions import SHOWN_BY
from symroof.verification.context import Context, Question
from symroof.verification.counterexamples import witness
from symroof.verification.enclosures import Enclosure, enclosed, is_numeric
from symroof.verification.judgement import ACCEPTED, GOOD, IN_NUMBERS, Finding, Remark, undecided
from symroof.verification.literals import bare, in_print, is_printed, literals, may_stand, printed_digits, rounded_from
from symroof.verification.unit_agreement import (
    carried,
    disagreement,
    in_binary_units,
    in_unknown_units,
    without_time_words,
)

NOTHING = Enclosure(Fraction(0), Fraction(0))
UNITS = Check("proved", "units")
TIMES = {"T_math", "T_comms"}
# 2^10 is about 10^3, and so on to 2^40.
THOUSANDS = tuple({Fraction(2 ** (10 * k)), Fraction(10 ** (3 * k))} for k in range(1, 5))


def compare_numbers(question: Question) -> Finding:
    """Two numbers, in the units that are written; plain numbers on the left may be in the unit on the right.

    An order that is true in one of the two readings alone holds where it is the second: who writes ``17/2 < 9 ms``
    does not mean seconds.
    """
    link, finding = question.link, _compared(question)
    if finding.verdict != "wrong" and link.relation not in ORDER:
        return finding
    for left, unit, plain in carried(link):
        taken = _compared(replace(question, left=left))
        if taken.verdict in ACCEPTED and not plain:
            return undecided(link, "unknown_units", question.left)
        if taken.verdict in ACCEPTED:
            return replace(taken, value=question.left, remarks=(Remark("taken_as", {"unit": unit}), *taken.remarks))
        if finding.verdict != "wrong":
            return undecided(link, "unknown_units", question.left)
    if finding.verdict != "wrong":
        return finding
    for claim in in_binary_units(link) if question.context.binary else ():
        asked = question.context.question(claim)
        taken = _compared(replace(question, left=asked.left, right=asked.right, link=claim))
        if taken.verdict in ACCEPTED:
            return replace(taken, link=link, remarks=(Remark("taken_as", {"unit": "GiB"}), *taken.remarks))
    counts = without_time_words(link)
    counted = () if counts == link else (counts.left, *(one for one, *_ in carried(counts)))
    for left in (*counted, *in_unknown_units(link, question.context)):
        if _compared(replace(question, left=left)).verdict in ACCEPTED:
            return undecided(link, "unknown_units", question.left)
    return finding


def _compared(question: Question) -> Finding:
    link, left, right, context = question.link, question.left, question.right, question.context
    sign = sign_of_difference(left, right)
    if link.relation in ("<<", ">>"):
        small, large = (left, right) if link.relation == "<<" else (right, left)
        apart = sign_of_difference(Product((Number(Fraction(10)), small)), large)
        if apart is not None and apart <= 0:
            return Finding(link, "holds", IN_NUMBERS)
        return undecided(link, "numbers_do_not_grow")
    if link.relation in ORDER:
        if sign is None:
            return undecided(link, "no_proof", left)
        true = COMPARISONS[link.relation](sign, 0)
        return Finding(link, "holds" if true else "wrong", IN_NUMBERS, None if true else left)
    if sign == 0:
        return Finding(link, "holds", IN_NUMBERS, left)
    if link.relation != "=" and any(enclosed(side) == NOTHING for side in (left, right)):
        return undecided(link, "beside_what")
    printed_right = is_printed(link.right) or not is_printed(link.left)
    true_value, claimed, printed = (left, right, link.right) if printed_right else (right, left, link.left)
    value = enclosed(true_value)
    off = None if value.low <= 0 <= value.high else enclosed(claimed).middle / value.middle - 1
    deviation = () if off is None else (Remark("deviation", {"share": off}),)
    alike = {value.low, enclosed(claimed).low} in THOUSANDS
    if link.relation != "=" and off is not None and (abs(off) <= context.tolerance or alike):
        return Finding(link, "holds", IN_NUMBERS, true_value, deviation)
    rounded, other = printed_digits(value, printed, context), link.left if printed_right else link.right
    if rounded is not None and may_stand(rounded, other, context, bare(printed)):
        return Finding(link, "rounded", IN_NUMBERS, true_value, (rounded,))
    if sign is None:
        return undecided(link, "no_proof", true_value)
    if (
        link.relation == "="
        and off is not None
        and not is_printed(link.right)
        and rounded_from(link.right, enclosed(left))
    ):
        return Finding(link, "holds", IN_NUMBERS, true_value, deviation)  # rounded numbers are put in
    return Finding(link, "wrong", IN_NUMBERS, true_value, deviation if off is not None and abs(off) < 10 else ())


def decide(question: Question) -> Finding:
    """The finding on one link."""
    context = question.context
    unlike = disagreement(question.link, context)
    if unlike is not None:
        verdict, remark = unlike
        return Finding(question.link, verdict, UNITS if verdict == "wrong" else None, remarks=(remark,))
    try:
        finding = _of_any_times(question) or proved(question)
    except (AlgebraError, CheckError) as error:
        return undecided(question.link, "not_decided", why=error.problem)
    if finding.verdict == "holds" and context.count == "fma" and context.other is not None and not context.binding:
        finding = _with_exact_count(finding, context.other)
    if not question.workings or finding.check is None or finding.verdict not in GOOD:
        return finding
    by = "; ".join((*(SHOWN_BY[working] for working in question.workings), finding.check.by))
    remarks = (*finding.remarks, *(Remark("working", {"by": working}) for working in question.workings))
    return replace(finding, check=Check(finding.check.status, by), remarks=remarks)


def proved(question: Question) -> Finding:
    return DECISIONS[_kind(question)](question) or undecided(question.link, "no_proof")


def _kind(question: Question) -> str:
    """What decides a link: that both sides are numbers, that one is infinite, or else its relation."""
    left, right, relation = question.left, question.right, question.link.relation
    if relation in ("<=>", "=>"):
        return relation
    if isinstance(bare(left), Infinity) or isinstance(bare(right), Infinity):
        return "oo"
    return "numbers" if is_numeric(left) and is_numeric(right) else relation


def _of_any_times(question: Question) -> Finding | None:
    """T_lower and T_upper are what they are of any two times: judged with both left open, where nothing else is said."""
    link, context = question.link, question.context
    if not (isinstance(link.left, Name) and link.left.name in ("T_lower", "T_upper") and link.relation == "="):
        return None
    if set(names(link.right)) != TIMES or not set(context.definitions) >= TIMES:
        return None
    known = {name: formula for name, formula in context.definitions.items() if name not in TIMES}
    any_times = replace(context, definitions=known, other=None).question(link)
    finding = proved(any_times)
    if finding.verdict != "wrong":
        return finding
    settled = proved(question) if context.setting is not None else finding
    return replace(finding, value=context.definitions[link.left.name]) if settled.verdict == "wrong" else settled


def _with_exact_count(finding: Finding, other: Context) -> Finding:
    """A claim on ``flops`` holds under one way of counting, and says what the other one gives."""
    link = finding.link
    if not (isinstance(link, Compare) and link.left == Name("flops") and link.relation == "="):
        return finding
    asked = other.question(link)
    exactly = other.layout.factored(expression(asked.left))
    return replace(finding, remarks=(*finding.remarks, Remark("this_count", {"count": "fma", "exactly": exactly})))


def identical(question: Question) -> Finding | None:
    """The sides are the same; or they are once a printed number is taken for the one that it rounds."""
    link, context = question.link, question.context
    if context.settled(question.claim).truth:
        return ordered(question)
    value = _written(question.left, context)
    for side, other in ((link.right, question.left), (link.left, question.right)):
        finding = in_print(question, other, side, IDENTITY)
        if finding is not None:
            return replace(finding, value=value)
    return replace(ordered(question), value=value)


def ordered(question: Question) -> Finding:
    """Proved over the domain, wrong where a point shows it."""
    settled = question.context.settled(question.claim)
    if settled.truth:
        return Finding(question.link, "holds", Check("proved", settled.by))
    points = (settled.point,) if settled.point else ()
    shown = None if question.context.proofs_only else witness(question.claim, question.context, points)
    if shown is None:
        return undecided(question.link, "no_proof")
    return Finding(question.link, "wrong", IN_NUMBERS, counterexample=shown)


def _written(formula: Formula, context: Context) -> Formula:
    """The value of a side: in lowest terms, or as its definition stands where figures are in it."""
    if any(n.digits is not None and "e" in n.digits for n in literals(formula)):
        return mapped(formula, lambda node: node.body if isinstance(node, Group) else node)
    try:
        value = expression(formula)
        return context.written(cancelled(value) if value.is_rational_function() else value, formula)
    except AlgebraError:
        return formula


DECISIONS: Mapping[str, Callable[[Question], Finding | None]] = {
    "numbers": compare_numbers,
    "oo": grows,
    "=": identical,
    **dict.fromkeys(("~", "->"), approximate),
    **dict.fromkeys(("<<", ">>"), negligible),
    **dict.fromkeys(("<", "<=", ">", ">="), ordered),
    **dict.fromkeys(("<=>", "=>"), equivalent),
}
