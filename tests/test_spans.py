"""Conditions on one size by numbers: what they leave of it, against each number in turn; and the second engine, which refuses another."""

import operator
import random
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import lcm

import pytest

from symroof.derivation.whole_sizes import Wholes, ranges, spans_of, whole_condition
from symroof.errors import CheckError
from symroof.formula import Both, Compare, Either, Name, Verdict, nodes, number
from symroof.proof.check import check
from symroof.proof.step import Ledger
from symroof.proof.whole_numbers import Multiples
from symroof.symbols import expression

pytestmark = pytest.mark.part(2)

B = Name("B")
COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}


def a_condition(draw, depth=3):
    if depth == 0 or draw.random() < 0.25:
        edge = Fraction(draw.randint(-4, 40), draw.choice((1, 1, 2, 3)))
        bounds = [Compare(B, s, number(edge)) for s in ("<", "<=", ">", ">=")]
        return draw.choice([Verdict(draw.random() < 0.5), *bounds * 3])
    parts = tuple(a_condition(draw, depth - 1) for _ in range(draw.randint(2, 3)))
    return draw.choice((Both, Either))(parts)


def met(condition, value):
    if isinstance(condition, Verdict):
        return condition.holds
    if isinstance(condition, Both | Either):
        return (all if isinstance(condition, Both) else any)(met(part, value) for part in condition.parts)
    return COMPARED[condition.relation](value, Fraction(str(expression(condition.right))))


@pytest.mark.parametrize("seed", range(40))
def test_what_is_left_of_a_size_is_what_each_number_says(seed):
    draw = random.Random(f"spans {seed}")
    condition = a_condition(draw)
    spans = spans_of(condition, "B")
    left = ranges(spans, "B", number)
    thirds = [Fraction(n, 6) for n in range(1, 6 * 42)]
    assert [met(condition, value) for value in thirds] == [met(left, value) for value in thirds]
    assert spans_of(left, "B") == spans, "said again, it is the same"
    assert not any(one.reaches(two) for one, two in pairwise(spans)), "nothing is said twice"
    from_one = ranges(spans, "B", number, least=1)
    assert all(met(condition, value) == met(from_one, value) for value in thirds if value >= 1)


def whole_numbers(each, within):
    return [n for n in range(each, 200, each) if within % n == 0] if within else range(each, 200, each)


@pytest.mark.parametrize("seed", range(40))
def test_whole_numbers_are_left_where_they_meet_the_condition_and_no_others_pass(seed):
    """Multiples of some chips, or of chips the numbers that share out a size; changed by one the answer is refused."""
    draw = random.Random(f"whole spans {seed}")
    condition, each = a_condition(draw), draw.choice((1, 1, 2, 4, 6))
    if isinstance(condition, Verdict):
        condition = Both((condition, Compare(B, ">", number(3))))
    within = draw.choice((0, lcm(each, 12), lcm(each, 60), lcm(each, 16)))
    of = Wholes(each, ("D",) if within else (), within)
    step = whole_condition("solution", condition, "B", of, number)
    if step is None:
        assert of == Wholes(), "nothing is asked of chips"
        return
    there = whole_numbers(each, within)
    assert [met(condition, n) for n in there] == [met(step.right, n) for n in there]
    if not any(isinstance(part, Compare) for part in nodes(condition)):
        return
    ledger = Ledger(frozenset("BD"), multiples=Multiples({"D": (("B",),)} if within else {}, each={"B": each}))
    step = replace(step, assumptions=(Compare(Name("D"), "=", number(within)),) if within else ())
    assert check(step, ledger).status == "proved"
    for wrong in changed(step.right):
        if [met(wrong, n) for n in there] != [met(condition, n) for n in there]:
            with pytest.raises(CheckError):
                check(replace(step, right=wrong), ledger)


def changed(condition):
    """The same with one number, one sign or one part another."""
    if isinstance(condition, Verdict):
        yield Verdict(not condition.holds)
    elif isinstance(condition, Compare):
        for by in (-1, 1):
            yield replace(condition, right=number(Fraction(str(expression(condition.right))) + by))
        for sign in ("<=", ">=", "="):
            yield replace(condition, relation=sign)
    else:
        for place, part in enumerate(condition.parts):
            rest = condition.parts[:place], condition.parts[place + 1 :]
            yield from (replace(condition, parts=(*rest[0], other, *rest[1])) for other in changed(part))
            yield replace(condition, parts=(*rest[0], *rest[1]))
