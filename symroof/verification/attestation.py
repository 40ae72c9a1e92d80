"""What a finding says, looked at once more in numbers: the algebra that found it has no part in this.

A verdict, a right value, a factor and a counterexample are worked out at points from the sides as they were written. What
is not so there leaves the link undecided. That it is so proves nothing: the finding carries its proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from symroof.formula import Call, Compare, Formula, Infinity, Name, Number, Product, Verdict, names, nodes, number
from symroof.proof.exact import ORDER
from symroof.verification.budget import Exhausted, limited
from symroof.verification.context import Question
from symroof.verification.counterexamples import Point, truth
from symroof.verification.enclosures import Enclosure, enclosed, is_numeric
from symroof.verification.judgement import Finding, Remark, undecided
from symroof.verification.literals import bare, is_printed, may_stand, rounding, stands_in_print
from symroof.verification.screening import may_hold, typical

WORK = 100_000
CLOSE = Fraction(1, 10**9)
CONDITIONS = ("<=>", "=>")
# Numbers that are not equal, and may stand for one another.
OFF = frozenset(("rounded", "truncated", "deviation", "taken_as"))
NEVER = Verdict(False)
MUCH = 10
APART = Fraction(1, 1000)


def attested(finding: Finding, question: Question) -> Finding:
    """The finding, where what it says is so at points; undecided elsewhere.

    >>> from symroof.formula import Name
    >>> from symroof.reading.scope import Scope
    >>> from symroof.verification.context import Context
    >>> question = Context(Scope(), {}, {}).question(Compare(Name("A"), "=", Name("B")))
    >>> attested(Finding(question.link, "holds"), question).verdict
    'undecided'
    """
    try:
        with limited(WORK):
            sound = _is_so(finding, question)
    except (Exhausted, RecursionError):
        sound = True
    return finding if sound else undecided(question.link, "not_attested")


def _is_so(finding: Finding, question: Question) -> bool:
    if finding.link != question.link:
        return False
    if finding.by == "units" or finding.verdict == "undecided":
        return True
    kinds = {one.kind for one in finding.remarks}
    if finding.verdict == "wrong":
        sound = _parts(question) if finding.counterexample is None else _refutes(finding, question)
    else:
        places = (question.context.assuming(relations) for relations in finding.needs or ((),))
        sound = all(_agrees(replace(question, context=place), bool(kinds & OFF)) for place in places)
    if not sound or "taken_as" in kinds:  # in a unit that its author did not write, it has other numbers
        return sound
    if finding.value is not None and not _is_value(finding, question):
        return False
    if finding.whole is not None and not _is_whole(finding, question):
        return False
    return all(REMARKS[one.kind](one, question) for one in finding.remarks if one.kind in REMARKS)


def _agrees(question: Question, off: bool) -> bool:
    """Whether two sides agree at points; of numbers in print a remark says how they do."""
    if _in_numbers(question):
        return off or truth(replace(question.claim, relation=_exactly(question.link.relation)), {}) is True
    if isinstance(question.link.right, Infinity):
        return all(enclosed(question.left, point=point).low > MUCH for point in typical(question))
    return may_hold(question)


def _exactly(relation: str) -> str:
    return relation if relation in ORDER else "="


def _parts(question: Question) -> bool:
    """Whether a link that is refuted without a counterexample parts at points."""
    if _in_numbers(question):
        return not _agrees(question, off=False) and not _stands(question)
    if question.link.relation in ("~", "->"):
        points = typical(question)
        if isinstance(question.link.right, Infinity):
            return not _agrees(question, off=False)
        return not points or not all(_ratio(question, point) < APART for point in points)
    return not may_hold(question)


def _stands(question: Question) -> bool:
    """Whether one of two numbers may stand in print for the other."""
    link, value = question.link, question.left
    printed, other = link.right, link.left
    if is_printed(link.left) and not is_printed(link.right):
        printed, other, value = other, printed, question.right
    if link.relation in ORDER or not isinstance(number := bare(printed), Number):
        return False
    found = rounding(enclosed(value), number)
    return found is not None and may_stand(found, other, question.context, number)


def _ratio(question: Question, point: Point) -> Fraction:
    """By which share the sides part at a point."""
    a, b = (enclosed(side, point=point).middle for side in _sides(question))
    return abs(a - b) / max(abs(a), abs(b)) if a != b else Fraction(0)


def _in_numbers(question: Question) -> bool:
    return question.link.relation not in CONDITIONS and is_numeric(question.left) and is_numeric(question.right)


def _refutes(finding: Finding, question: Question) -> bool:
    """Whether the claim is false at the point of a counterexample, which lies in the domain, and its sides are as it says."""
    shown = finding.counterexample
    assert shown is not None
    point, context = shown.values, question.context
    if any(value < (name in context.least_one) or value <= 0 for name, value in point.items()):
        return False
    if any(truth(fact, point) is False for fact in context.facts):
        return False
    implied = question.link.relation == "=>"
    if implied and (truth(question.left, point) is False or truth(question.right, point) is True):
        return False
    if not implied and truth(question.claim, point) is True:
        return False
    if question.link.relation in CONDITIONS:
        told = ((question.left, shown.left), (question.right, shown.right))
        return all(value is None or truth(side, point) in (None, value) for side, value in told)
    return all(
        value is None or isinstance(value, bool) or _near(enclosed(side, point=point).middle, value)
        for side, value in ((question.left, shown.left), (question.right, shown.right))
    )


def _near(a: Fraction, b: Fraction) -> bool:
    return abs(a - b) <= CLOSE * max(abs(a), abs(b))


def _is_value(finding: Finding, question: Question) -> bool:
    """Whether the right value is that of a side: everywhere, in the regime, or under what is missing."""
    context, value = question.context, finding.value
    assert value is not None
    put = context.put(value)
    if question.link.relation in CONDITIONS:
        given = [stands_in_print(side, context) for side in (question.link.left, question.link.right)]
        left, right = _sides(question)
        meant = (right,) if given == [True, False] else (left,) if given == [False, True] else (left, right)
        return any(_says(side, "<=>", value, put, question) for side in meant)
    if is_numeric(put) and any(
        is_numeric(side) and _near(enclosed(side).middle, enclosed(put).middle) for side in _sides(question)
    ):
        return True
    relation = "=" if finding.verdict == "conditional" or question.link.relation == "=" else "~"
    sides = (question.left,) if finding.verdict == "wrong" else _sides(question)
    return any(_says(side, relation, value, put, question) for side in sides)


def _is_whole(finding: Finding, question: Question) -> bool:
    """Whether the right bound is met by the last whole number that is told, and not by the next one that there is."""
    value, whole = finding.value, finding.whole
    if not (isinstance(value, Compare) and isinstance(x := value.left, Name) and whole is not None):
        return False
    admitted, rises = question.context.admitted(x.name), value.relation[0] == ">"
    first = enclosed(whole.right).low
    outside = admitted.last("<" if rises else ">", first)
    met = [truth(value, {x.name: Fraction(n)}) for n in (first, outside) if n]
    return admitted.around(first) == (first,) and met == [True, False][: len(met)]


def _sides(question: Question) -> tuple[Formula, Formula]:
    return question.left, question.right


def _says(side: Formula, relation: str, value: Formula, put: Formula, question: Question) -> bool:
    link = Compare(question.link.left if side is question.left else question.link.right, relation, value)
    return may_hold(replace(question, link=link, left=side, right=put))


def _factor(remark: Remark, question: Question) -> bool:
    """a times the factor is b; only nearly so where a maximum was taken for its leading argument."""
    extreme = any(isinstance(n, Call) for side in _sides(question) for n in nodes(side))
    product = Product((question.left, remark.facts["factor"]))
    link = Compare(question.link.left, "~" if extreme else "=", question.link.right)
    return may_hold(replace(question, link=link, left=product))


def _tends(remark: Remark, question: Question) -> bool:
    """The quotient of the sides is that value in the regime; or small, or large, where it tends to 0 or grows."""
    value = remark.facts["value"]
    grows = any(isinstance(n, Infinity) for n in nodes(value))
    if grows or (is_numeric(value) and enclosed(value).middle == 0):
        small, large = reversed(_sides(question)) if grows else _sides(question)
        return all(truth(Compare(small, "<=", large), point) is not False for point in typical(question))
    put = Product((question.right, question.context.put(value)))
    return may_hold(replace(question, link=Compare(question.link.left, "~", put), right=put))


def _deviation(remark: Remark, question: Question) -> bool:
    """One of the sides is off by that share of the other one."""
    share = remark.facts["share"]
    if _in_numbers(question):
        a, b = (enclosed(side).middle for side in _sides(question))
        return any(y and _near(x / y, 1 + share) for x, y in ((a, b), (b, a)))
    scaled = Product((number(1 + share), question.left))
    return may_hold(replace(question, link=Compare(question.link.left, "~", question.link.right), left=scaled))


def _rounded(remark: Remark, question: Question) -> bool:
    """A number in print comes from what it stands for in that way."""
    value = remark.facts["value"]
    again = [
        one for number in _printed(question.link) if (one := rounding(Enclosure(value, value), number)) is not None
    ]
    return remark in again or (remark.facts.get("share") == 0 and any(one.kind == "exact" for one in again))


def _printed(formula: Formula) -> Iterator[Number]:
    """The numbers in print of a formula, with their signs; one times a power of ten is one number."""
    for node in nodes(formula):
        if isinstance(whole := bare(node), Number):
            yield whole


def _first(remark: Remark, question: Question) -> bool:
    """Of one condition that whole number is the first, or the last, and of the next one it is not true; the bound that is
    told is what the claim compares somewhere between them."""
    x, first, rises = remark.facts["variable"].name, remark.facts["first"], remark.facts["rises"]
    beyond = question.context.admitted(x).last("<" if rises else ">", Fraction(first))
    two = [{x: Fraction(size)} for size in (first, beyond) if size]
    compared = [side for q in _sides(question) if isinstance(q, Compare) for side in (q.left, q.right)]
    told = [sorted(enclosed(side, point=at).middle for at in two) for side in compared if set(names(side)) == {x}]
    if beyond and told and not any(low <= remark.facts["value"] <= high for low, high in told):
        return False
    return any(
        truth(side, {**point, **two[0]}) is not False
        and all(truth(side, {**point, **outside}) is not True for outside in two[1:])
        for side in _sides(question)
        for point in typical(question) or ({},)
    )


def _at_equal(remark: Remark, question: Question) -> bool:
    """What the left side is where all sizes are the same."""
    if remark.facts["left"] != question.link.left:
        return False
    for size in (Fraction(3), Fraction(1000)):
        point = {one.name: size for one in remark.facts["names"]}
        if not _near(*(enclosed(side, point=point).middle for side in (question.left, remark.facts["value"]))):
            return False
    return True


def _never(remark: Remark, question: Question) -> bool:
    """The condition on the left is nowhere true."""
    never = replace(question, link=Compare(question.link.left, "<=>", NEVER), right=NEVER)
    return remark.facts["condition"] == question.link.left and may_hold(never)


REMARKS: Mapping[str, Callable[[Remark, Question], bool]] = {
    "factor": _factor,
    "quotient_tends": _tends,
    "deviation": _deviation,
    **dict.fromkeys(("exact", "rounded", "truncated"), _rounded),
    "whole": _first,
    "at_equal": _at_equal,
    "vacuous": _never,
}
