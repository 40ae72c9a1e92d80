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

from symroof.algebra.rational import cancel
from symroof.errors import AlgebraError, CheckError
from symroof.formula import Compare, Formula, Group, Infinity, Name, mapped, names
from symroof.proof.step import Check
from symroof.symbols import expression
from symroof.verification.approximations import approximate, grows, negligible
from symroof.verification.asymptotics import IDENTITY
from symroof.verification.claim_functions import SHOWN_BY
from symroof.verification.conditions import equivalent
from symroof.verification.context import Context, Question
from symroof.verification.counterexamples import witness
from symroof.verification.intervals import bare, is_numeric, literals
from symroof.verification.number_chains import compare_numbers, in_print
from symroof.verification.unit_agreement import disagreement
from symroof.verification.verdicts import GOOD, IN_NUMBERS, Finding, Remark, undecided

UNITS = Check("proved", "units")
TIMES = {"T_math", "T_comms"}


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
    definitions = {name: formula for name, formula in context.definitions.items() if name not in TIMES}
    any_times = replace(context, definitions=definitions, other=None).question(link)
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
    exact_question = other.question(link)
    exactly = other.layout.factored(expression(exact_question.left))
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
        return context.written(cancel(value) if value.is_rational_function() else value, formula)
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
