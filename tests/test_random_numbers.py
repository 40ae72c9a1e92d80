"""Numbers with proof, beside Python's decimal arithmetic at two hundred digits; and chapters made at random."""

from decimal import Decimal, localcontext
from fractions import Fraction
from random import Random

import pytest

from symroof.errors import AlgebraError
from symroof.formula import Call, Formula, Negative, Number, Power, Product, Quotient, Sum
from symroof.proof.pointwise import sign_of_difference
from symroof.verification.intervals import enclosed

PLACES, SEVENTH = 200, Number(Fraction(1, 7))


def away(value: Decimal) -> Decimal:
    """The value, where it is not what may be zero."""
    if abs(value) < Decimal(10) ** -25:
        raise ZeroDivisionError
    return value


def drawn(random: Random, depth: int) -> tuple[Formula, Decimal]:
    """A formula of numbers, and its value to two hundred digits. Differences of what is nearly equal are likely."""
    if not depth:
        value = Fraction(random.randint(1, 40), random.randint(1, 9))
        return Number(value), Decimal(value.numerator) / Decimal(value.denominator)
    a, x = drawn(random, depth - 1)
    b, y = random.choice([(a, x), drawn(random, depth - 1)])
    small = abs(x) < 50
    kinds = {
        "sum": lambda: (Sum((a, b, Negative(a))), x + y - x),
        "difference": lambda: (Sum((a, Negative(b))), x - y),
        "product": lambda: (Product((a, b, Negative(a))), -x * y * x),
        "quotient": lambda: (Quotient(a, b), x / away(y)),
        "power": lambda: (Power(a, Number(Fraction(k := random.randint(-3, 4)))), (x if k > 0 else away(x)) ** k),
        "sqrt": lambda: (Call("sqrt", (Call("abs", (a,)),)), abs(x).sqrt()),
        "root": lambda: (Power(Call("abs", (a,)), Number(Fraction(3, 2))), abs(x) * abs(away(x)).sqrt()),
        "exp": lambda: (Call("exp", (a,)), x.exp()) if small else (a, x),
        "log": lambda: (Call("log", (Sum((Call("abs", (a,)), SEVENTH)),)), (abs(x) + Decimal(1) / 7).ln()),
        "max": lambda: (Call("max", (a, b, Negative(b))), max(x, y, -y)),
        "min": lambda: (Call("min", (b, a)), min(x, y)),
        "abs": lambda: (Call("abs", (a,)), abs(x)),
        "log2": lambda: (Call("log2", (Call("exp", (a,)),)), x / Decimal(2).ln()) if small else (a, x),
    }
    return kinds[random.choice(list(kinds))]()


@pytest.mark.parametrize("seed", range(8))
def test_an_enclosure_holds_the_value_and_little_else(seed):
    random, tried = Random(seed), 0
    with localcontext() as context:
        context.prec = PLACES
        while tried < 60:
            try:
                formula, value = drawn(random, random.randint(1, 4))
            except ArithmeticError:
                continue
            if abs(value) > 10**30:
                continue
            enclosure = enclosed(formula, 60)
            tried += 1
            low, high = (Decimal(end.numerator) / Decimal(end.denominator) for end in (enclosure.low, enclosure.high))
            slack = Decimal(10) ** -150 * (1 + abs(value))
            assert low - slack <= value <= high + slack
            assert high - low <= Decimal(10) ** -8 * (1 + abs(value))
            assert enclosure.low <= enclosure.middle <= enclosure.high
            assert enclosure.low <= 0 or value > -slack
            assert enclosure.high >= 0 or value < slack


@pytest.mark.parametrize("power", [-2, 0])
def test_a_power_of_what_may_be_zero_is_refused(power):
    nothing = Sum((Call("sqrt", (Number(Fraction(2)),)), Negative(Call("sqrt", (Number(Fraction(2)),)))))
    with pytest.raises(AlgebraError):
        enclosed(Power(nothing, Number(Fraction(power))))


@pytest.mark.parametrize("seed", range(4))
def test_two_numbers_are_compared_as_their_values_are(seed):
    random = Random(seed)
    with localcontext() as context:
        context.prec = PLACES
        decided = 0
        while decided < 60:
            try:
                (a, x), (b, y) = drawn(random, 2), drawn(random, random.randint(0, 3))
            except ArithmeticError:
                continue
            sign = sign_of_difference(a, b)
            gap = x - y
            if sign is not None:
                decided += 1
                assert sign == (0 if abs(gap) < Decimal(10) ** -150 else 1 if gap > 0 else -1)
            else:
                assert abs(gap) < Decimal(10) ** -25 * (1 + abs(x))
