"""Enclosures: what is said of a number is true of it, held against arithmetic that shares nothing with it."""

from contextlib import nullcontext
from fractions import Fraction
from itertools import product
from operator import add, mul, truediv

import pytest

from symroof.errors import AlgebraError
from symroof.formula import Call, Compare, Name, Number, Sum, number
from symroof.proof.exact_values import Enclosures
from symroof.proof.propositions import OPEN
from symroof.reading.claim_sets import Exercise
from symroof.verification.budget import LEFT_OPEN, Exhausted, limited
from symroof.verification.claim_context import context_of
from symroof.verification.intervals import Enclosure, enclosed, last_place

ENDS = [Fraction(n, 2) for n in (-5, -2, -1, 0, 1, 3, 4)]
INTERVALS = [Enclosure(a, b) for a in ENDS for b in ENDS if a <= b]
WITHIN = [Fraction(k, 6) for k in range(7)]
RULES = Enclosures(40, {})


def held(interval):
    """The interval as a value of the fold."""
    return interval.low, interval.low if interval.exact else interval.high


def rule_of(name, *arguments):
    """What a rule of the fold makes of intervals."""
    return Enclosure(*getattr(RULES, name)(None, *map(held, arguments)))


def call_of(function, *arguments):
    return Enclosure(*RULES.call(Call(function, ()), *map(held, arguments)))


def inside(interval):
    """Points of an interval, its ends among them."""
    return [interval.low + (interval.high - interval.low) * share for share in WITHIN]


def hull(interval, values):
    """The interval is the smallest one that holds the values, but for the shortening of its ends outwards."""
    low, high = min(values), max(values)
    slack = Fraction(1, 10**30)
    return low - slack <= interval.low <= low and high <= interval.high <= high + slack


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("rule", ["sum", "product", "quotient", "max", "min"])
def test_two_intervals_give_the_smallest_interval_of_their_values(rule):
    whole = {"sum": add, "product": mul, "quotient": truediv, "max": max, "min": min}[rule]
    for left, right in product(INTERVALS, INTERVALS):
        if rule == "quotient" and right.low <= 0 <= right.high:
            with pytest.raises(AlgebraError, match="division by"):
                rule_of("quotient", left, right)
            continue
        found = call_of(rule, left, right) if rule in ("max", "min") else rule_of(rule, left, right)
        ends = [whole(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
        assert hull(found, ends), (left, right, found)
        assert all(found.low <= whole(a, b) <= found.high for a in inside(left) for b in inside(right))


@pytest.mark.parametrize("power", [-3, -2, -1, 0, 1, 2, 3, 4])
def test_whole_powers(power):
    exponent = Enclosure(Fraction(power), Fraction(power))
    for base in INTERVALS:
        if power <= 0 and base.low <= 0 <= base.high:
            with pytest.raises(AlgebraError, match="zero to a power"):
                rule_of("power", base, exponent)
            continue
        found = rule_of("power", base, exponent)
        values = [x**power for x in (*inside(base), *([Fraction(0)] if base.low <= 0 <= base.high else []))]
        assert hull(found, values), (base, power, found)


EXACT = {"abs": abs, "floor": lambda x: Fraction(x // 1), "ceil": lambda x: Fraction(-(-x // 1))}


@pytest.mark.parametrize(("function", "values"), EXACT.items())
def test_functions_that_stay_exact(function, values):
    for interval in INTERVALS:
        zero = [Fraction(0)] if interval.low <= 0 <= interval.high else []
        assert hull(call_of(function, interval), [values(x) for x in (*inside(interval), *zero)])


@pytest.mark.parametrize(
    ("function", "argument"),
    [("sqrt", -1), ("sqrt", Fraction(-1, 10**9)), ("log", 0), ("log", -2), ("log2", 0), ("exp", 10**9), ("unknown", 1)],
)
def test_what_has_no_value_is_refused(function, argument):
    with pytest.raises(AlgebraError):
        enclosed(Call(function, (number(Fraction(argument)),)))


def test_small_and_large_numbers_keep_their_digits():
    """The width is small beside the value, wherever that is."""
    for power in (-90, -60, -7, 0, 7, 60, 90):
        for digits in (30, 120):
            root = enclosed(Call("sqrt", (number(2 * Fraction(100) ** power),)), digits)
            double = enclosed(Sum((Call("sqrt", (number(2 * Fraction(100) ** power),)),) * 2), digits)
            for found, times in ((root, 1), (double, 2)):
                assert found.low**2 < 2 * times**2 * Fraction(100) ** power < found.high**2
                assert (found.high - found.low) / found.low < Fraction(1, 10 ** (digits - 4))


def test_powers_and_exponentials_that_are_too_large_are_refused():
    wide = Enclosure(Fraction(1, 10**300), Fraction(2))
    large = Fraction(10) ** 300
    for base in (wide, Enclosure(Fraction(1), large), Enclosure(large, large)):
        with pytest.raises(AlgebraError, match="too large"):
            rule_of("power", base, Enclosure(Fraction(1000), Fraction(1000)))
    for low, high in ((-(10**9), 1), (-1, 10**9)):
        with pytest.raises(AlgebraError, match="too large"):
            call_of("exp", Enclosure(Fraction(low), Fraction(high)))


@pytest.mark.parametrize(("power", "in_print"), [(0, True), (14, True), (99, True), (100, False), (400, False)])
def test_a_number_beyond_print_has_no_last_place(power, in_print):
    assert (last_place(Number(Fraction(10) ** power)) != (0, 0)) == in_print


def test_a_question_costs_what_it_takes_to_leave_it_open(monkeypatch):
    """An equation without facts is never put to z3; anything else that stays open has been."""
    monkeypatch.setattr("symroof.verification.context.decide", lambda *_: OPEN)
    order, identity, fact = (Compare(Name("B"), sign, Name("D")) for sign in (">", "=", ">="))
    for claim, facts in ((order, ()), (order, (fact,)), (identity, (fact,)), (identity, ())):
        asked = claim is order or facts
        with limited(LEFT_OPEN - 1), pytest.raises(Exhausted) if asked else nullcontext():
            context_of(Exercise()).assuming(facts).settled(claim)
