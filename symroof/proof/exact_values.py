"""Values and propositions at exact points: they confirm the counterexamples of z3, and the numbers in print.

Roots, exponentials and logarithms lie between two rational numbers, to many digits: the functions of :mod:`decimal` round
correctly, so that what they are lies between the neighbours of what they give.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache, reduce
from itertools import product
from math import ceil, floor
from random import Random

from symroof.errors import AlgebraError
from symroof.formula import (
    LARGEST_BITS,
    Both,
    Call,
    Cases,
    Compare,
    Either,
    Figure,
    Formula,
    Infinity,
    Name,
    Number,
    Verdict,
    fold,
    several_of,
)
from symroof.proof.quotients import COMPARISONS, Quotients, free_names, rational_root
from symroof.proof.step import Check, Ledger, Step, refuted, undecided

SAMPLES = 200

# No larger powers of e are worked out.
LARGEST_POWER = 20_000
DIGITS, PRECISE = 50, (30, 120)
REFUSED = {
    "sqrt": "a root of what may be negative",
    **dict.fromkeys(("log", "log2"), "a logarithm of what may not be positive"),
    "exp": "the exponential is too large to compute",
}
HALF, MINUS = Fraction(1, 2), Fraction(-1)
Interval = tuple[Fraction, Fraction]
Point = Mapping[str, Fraction]
Rising = Callable[[Context, Decimal], Decimal]
Rule = Callable[..., Interval | None]


def is_fact(assumption: Formula) -> bool:
    """Whether an assumption restricts sizes; relations of growth do not."""
    return not isinstance(assumption, Compare) or assumption.relation in COMPARISONS


def truth_of(step: Step, exact: Quotients) -> Callable[[Point], bool | None]:
    """Whether the step is true at a point, None where it says nothing there."""
    claim, facts = Compare(step.left, step.relation, step.right), [*filter(is_fact, step.assumptions)]
    definitions = exact.definitions
    return lambda point: (
        truth(claim, point, definitions) if all(truth(fact, point, definitions) for fact in facts) else None
    )


def truth(proposition: Formula, point: Point, definitions: Mapping[str, Formula] | None = None) -> bool | None:
    """Whether a proposition is true at a point, where ``definitions`` stand for names; None where it has no value there,
    or the numbers are too close to tell. A part that is false makes the whole of parts false all the same.

    >>> truth(Compare(Name("B"), "<", Name("D")), {"B": Fraction(2), "D": Fraction(1)})
    False
    """
    match proposition:
        case Verdict(holds=holds):
            return holds
        case Both(parts=parts) | Either(parts=parts):
            result, deciding = {truth(part, point, definitions) for part in parts}, isinstance(proposition, Either)
            return deciding if deciding in result else None if None in result else not deciding
        case Cases(rows=rows, otherwise=otherwise):
            guards = ((consequence, truth(guard, point, definitions)) for consequence, guard in rows)
            row = next(((body, holds) for body, holds in guards if holds is not False), (otherwise, True))
            return truth(row[0], point, definitions) if row[0] is not None and row[1] else None
        case Compare(left=left, relation="<=>", right=right):
            sides = truth(left, point, definitions), truth(right, point, definitions)
            return None if None in sides else sides[0] == sides[1]
        case Compare(left=left, relation=relation, right=right) if relation in COMPARISONS:
            try:
                sign = sign_of_difference(left, right, point, definitions)
            except AlgebraError:
                return None
            return None if sign is None else COMPARISONS[relation](sign, 0)
    return None


def sign_of_difference(
    left: Formula, right: Formula, point: Point | None = None, definitions: Mapping[str, Formula] | None = None
) -> int | None:
    """The sign of left - right at a point; None where no number of digits tells it.

    >>> sign_of_difference(Call("sqrt", (Number(Fraction(2)),)), Number(Fraction(1))), sign_of_difference(Number(Fraction(2)), Number(Fraction(2)))
    (1, 0)
    """
    for digits in PRECISE:
        rules = Enclosures(digits, point or {}, definitions)
        a, b = fold(left, rules), fold(right, rules)
        if a[0] == a[1] and a == b:
            return 0
        if a[0] > b[1] or a[1] < b[0]:
            return 1 if a[0] > b[1] else -1
    return None


def check_at_samples(step: Step, ledger: Ledger) -> Check:
    """An identity at exact points that are drawn: one where it is false raises."""
    random, exact, several = Random(7), ledger.exact(figures=True), several_of(ledger.least_one)
    truth, satisfied = truth_of(step, exact), 0
    free = sorted({n for formula in (step.left, step.right, *step.assumptions) for n in free_names(formula, exact)})
    for _ in range(20 * SAMPLES):
        powers = {n: random.randint(0 if n in ledger.least_one else -3, 4) for n in free}
        point = {n: Fraction(random.randint(100, 999), 100) * Fraction(10) ** powers[n] + (n in several) for n in free}
        if (outcome := truth(point)) is False:
            raise refuted(step, f"it is false at {', '.join(f'{n} = {v}' for n, v in point.items())}")
        satisfied += outcome is True
        if satisfied == SAMPLES:
            return Check("sampled", f"{SAMPLES} exact points")
    raise undecided(step, "too few points satisfy its assumptions")


class Enclosures:
    """Rules for :func:`~symroof.formula.fold`: the interval that a formula lies in at a point, with ``definitions`` of names."""

    def __init__(self, digits: int, point: Point, definitions: Mapping[str, Formula] | None = None) -> None:
        self.functions, self.known = functions(digits + 10), definitions or {}
        self.values = {name: (size, size) for name, size in point.items() if name not in self.known}

    def number(self, node: Number) -> Interval:
        return node.value, node.value

    def name(self, node: Name | Figure) -> Interval:
        if node.name not in self.values and node.name in self.known:
            self.values[node.name] = fold(self.known[node.name], self)
        if node.name not in self.values:
            raise AlgebraError(f"{node.name} has no value here")
        return self.values[node.name]

    figure = name

    def infinity(self, node: Infinity) -> Interval:
        raise AlgebraError("oo is no number")

    def sum(self, node: Formula, *terms: Interval) -> Interval:
        low = sum((term[0] for term in terms), Fraction(0))
        exact = all(term[0] is term[1] for term in terms)
        return low, low if exact else sum((term[1] for term in terms), Fraction(0))

    def product(self, node: Formula, *factors: Interval) -> Interval:
        return reduce(interval_product, factors)

    def quotient(self, node: Formula, above: Interval, below: Interval) -> Interval:
        low, high = below
        if low <= 0 <= high:
            raise AlgebraError("division by zero" if low == high else "division by what may be zero")
        return interval_product(above, ((inverse := 1 / low), inverse) if low is high else (1 / high, 1 / low))

    def negative(self, node: Formula, body: Interval) -> Interval:
        return interval_product((MINUS, MINUS), body)

    def group(self, node: Formula, body: Interval) -> Interval:
        return body

    written = group

    def power(self, node: Formula, base: Interval, exponent: Interval) -> Interval:
        (low, high), power = base, exponent[0]
        if power != exponent[1] or power.denominator != 1:
            if exponent == (HALF, HALF):
                return self._of("sqrt", base)
            if low <= 0:
                raise AlgebraError("a root of what may be negative")
            return self._of("exp", interval_product(exponent, self._of("log", base)))
        width = max(low.numerator.bit_length(), low.denominator.bit_length(), high.numerator.bit_length())
        if abs(power) * width > LARGEST_BITS:
            raise AlgebraError(f"the power is too large to compute: exponent {power}")
        if power <= 0 and low <= 0 <= high:
            raise AlgebraError("zero to a power that is not positive")
        ends = sorted(end ** int(power) for end in base)
        least = Fraction(0) if low < 0 < high and power % 2 == 0 else ends[0]
        return (least, least) if low == high else (least, ends[1])

    def call(self, node: Call, *arguments: Interval) -> Interval:
        return self._of(node.function, *arguments)

    def _of(self, function: str, *arguments: Interval) -> Interval:
        if function not in self.functions:
            raise AlgebraError(f"{function}(…) has no value here")
        result = self.functions[function](*arguments)
        if result is None:
            raise AlgebraError(REFUSED[function])
        return result


def enclosure(formula: Formula, definitions: Mapping[str, Formula]) -> Interval | None:
    """Two rational numbers that a formula of numbers lies between, where ``definitions`` stand for names; None for what
    has no such ends."""
    with suppress(AlgebraError):
        result: Interval = fold(formula, Enclosures(DIGITS, {}, definitions))
        return result
    return None


def interval_product(first: Interval, second: Interval) -> Interval:
    """What the products of numbers between two ends lie between."""
    if first[0] is first[1] and second[0] is second[1]:
        return ((exact := first[0] * second[0]), exact)
    corners = [a * b for a, b in product(first, second)]
    return min(corners), max(corners)


@cache
def functions(digits: int) -> Mapping[str, Callable[..., Interval | None]]:
    """The functions of formulas between ends, to so many digits; None where one has no value, or is too large.

    >>> [float(end) for end in functions(20)["sqrt"]((Fraction(2), Fraction(2)))], functions(20)["log"]((Fraction(0), Fraction(1)))
    ([1.4142135623730951, 1.4142135623730951], None)
    """
    down, up = (Context(digits, rounding, -10_000, 100_000) for rounding in (ROUND_FLOOR, ROUND_CEILING))

    def rising(
        function: Rising, exactly: Callable[[Fraction], Fraction | None], domain: Callable[[Interval], bool]
    ) -> Rule:
        def of(ends: Interval) -> Interval | None:
            if not domain(ends):
                return None
            if ends[0] == ends[1] and (value := exactly(ends[0])) is not None:
                return value, value
            low, high = (c.divide(end.numerator, end.denominator) for c, end in zip((down, up), ends, strict=True))
            return Fraction(down.next_minus(function(down, low))), Fraction(up.next_plus(function(up, high)))

        return of

    root = rising(Context.sqrt, rational_root, lambda ends: ends[0] >= 0)
    logarithm = rising(Context.ln, lambda x: Fraction(0) if x == 1 else None, lambda ends: ends[0] > 0)
    power = rising(Context.exp, lambda x: None if x else Fraction(1), lambda ends: max(map(abs, ends)) <= LARGEST_POWER)

    def log2(ends: Interval) -> Interval | None:
        exact, result = power_of_two(ends[0]) if ends[0] == ends[1] > 0 else None, logarithm(ends)
        low, high = logarithm((Fraction(2), Fraction(2))) or ends
        return (exact, exact) if exact is not None else result and interval_product(result, (1 / high, 1 / low))

    def absolute(ends: Interval) -> Interval:
        low, high = ends
        return _interval(Fraction(0) if low < 0 < high else min(abs(low), abs(high)), max(abs(low), abs(high)))

    def each(rule: Callable[..., Fraction | int]) -> Rule:
        return lambda *parts: _interval(*(Fraction(rule(*ends)) for ends in zip(*parts, strict=True)))

    whole = {"floor": each(floor), "ceil": each(ceil), "max": each(lambda *x: max(x)), "min": each(lambda *x: min(x))}
    return {"sqrt": root, "log": logarithm, "exp": power, "log2": log2, "abs": absolute, **whole}


def _interval(low: Fraction, high: Fraction) -> Interval:
    return (low, low) if low == high else (low, high)


def power_of_two(value: Fraction) -> Fraction | None:
    """k with value = 2^k, where there is one."""
    top, bottom = value.numerator, value.denominator
    single = top & (top - 1) == 0 and bottom & (bottom - 1) == 0
    return Fraction(top.bit_length() - bottom.bit_length()) if single else None
