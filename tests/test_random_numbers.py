"""Numbers with proof, beside Python's decimal arithmetic at two hundred digits; and chapters made at random."""

from decimal import Decimal, getcontext, localcontext
from fractions import Fraction
from random import Random

import pytest

import symroof as sr
from symroof.formula import Call, Formula, Negative, Number, Power, Product, Quotient, Sum, nodes
from symroof.proof.exact_values import sign_of_difference
from symroof.verification.intervals import enclosed

PLACES, SEVENTH, HALVES = 200, Number(Fraction(1, 7)), Number(Fraction(3, 2))
IRRATIONAL = ("sqrt", "exp", "log", "log2")


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
        "root": lambda: (Power(Call("abs", (a,)), HALVES), abs(x) * abs(away(x)).sqrt()),
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
            assert enclosure.exact or any(
                getattr(n, "function", "") in IRRATIONAL or n == HALVES for n in nodes(formula)
            )
            assert enclosure.low <= 0 or value > -slack
            assert enclosure.high >= 0 or value < slack


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


TERMS = {
    "exp({0}/4)": lambda n: (n / 4).exp(), "log({0} + 1)": lambda n: (n + 1).ln(), "sqrt({0})": lambda n: n.sqrt(),
    "{0}/7": lambda n: n / 7, "{0}^2/3": lambda n: n * n / 3, "log2({0} + 2)": lambda n: (n + 2).ln() / Decimal(2).ln(),
}  # fmt: skip


def numeric_claims(seed):
    """(claim, whether it is right): a printed number, and comparisons with a number close to the value."""
    random = Random(seed)
    with localcontext() as context:
        context.prec = PLACES
        for _ in range(25):
            (one, f), (two, g) = random.sample(sorted(TERMS.items()), 2)
            n, m = random.randint(2, 30), random.randint(2, 30)
            text, value = f"{one.format(n)} + {two.format(m)}", f(Decimal(n)) + g(Decimal(m))
            digits = random.randint(4, 9)
            places = max(1, digits - value.adjusted() - 1)
            unit = Decimal(1).scaleb(-places)
            nearest = value.quantize(unit)
            yield f"{text} = {nearest}", True
            yield f"{text} = {nearest + 2 * unit}", False
            yield f"{text} = {nearest - 2 * unit}", False
            tiny = Decimal(1).scaleb(-places - 12)
            compared = ("<", 1, True), ("<", -1, False), (">", -1, True), (">=", 1, False), ("<=", 1, True)
            for relation, gap, holds in compared:
                yield f"{text} {relation} {(value + gap * tiny).quantize(tiny / 1000)}", holds


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("seed", range(3))
def test_numbers_in_claims_are_judged_to_their_last_digit(seed):
    claims = list(numeric_claims(seed))
    judgements = sr.verify({"claims": [claim for claim, _ in claims]}).judgements
    for (claim, right), found in zip(claims, judgements, strict=True):
        assert (found.verdict in ("holds", "rounded")) == right, claim
    assert getcontext().prec < PLACES
