"""The best place at sets of sizes: as a number, and as the best of the whole splits that there are."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sympy import Expr, divisors

from symroof.algebra.rational import cancelled
from symroof.algebra.roots import root_near
from symroof.algebra.rounding import decimal, to_digits
from symroof.derivation.formulas import DIGITS, Ground
from symroof.derivation.optimum import Asked, of_forms
from symroof.derivation.solving import Optimum
from symroof.errors import AlgebraError
from symroof.formula import Compare, Formula, Name, Number, Quotient, number
from symroof.proof.minima import Multiples, Optimal, Splits
from symroof.proof.radicals import Leads, Rooted
from symroof.proof.step import Reason, Role, Step, number_of
from symroof.proof.wholes import LARGEST
from symroof.symbols import fraction, rational, symbol


def at_sizes(ground: Ground, asked: Asked, least: Mapping[str, int], steps: Mapping[str, int]) -> Ground:
    """The best place at each set of sizes. No axis of a whole split has less chips than ``least`` says, and those of
    ``steps`` come in multiples of them."""
    before = ground
    for point in range(len(ground.points)):
        if asked.found is not None and not asked.found.way:
            ground = _in_numbers(ground, asked, asked.found, point)
        ground = _whole(ground, asked, point, least, steps)
    if asked.open_because is not None and len(ground.steps) == len(before.steps):
        raise asked.open_because
    return ground


def _in_numbers(ground: Ground, asked: Asked, found: Optimum, point: int) -> Ground:
    where = ground.where(point)
    power = ground.in_numbers(found.power, point)
    if not power.is_Rational:
        return _bound(ground, asked, point)
    end = None if asked.sharing is None else ground.in_numbers(asked.sharing.end, point)
    beyond = end is not None and end.is_Rational and power > end**found.degree
    if power < 1 or beyond:
        edge = ground.layout.write(asked.sharing.end) if beyond and asked.sharing else number(1)
        assumed = (*where, *asked.where)
        evidence = Optimal(tuple(map(ground.layout.write, asked.forms)))
        ground = ground.add(
            Step(
                "optimum",
                Reason.AT_AN_END,
                of_forms(ground, asked),
                "=",
                edge,
                assumed,
                evidence,
                None,
                "optimum_at",
                point,
            )
        )
        return _bound(ground, asked, point)
    place = ground.layout.root(found.power, found.degree)
    return _bound(_rooted(ground, place, (power, found.degree), Reason.BEST, "optimum_at", point), asked, point)


def _bound(ground: Ground, asked: Asked, point: int) -> Ground:
    """The condition of being compute-bound there, as a number."""
    if asked.bound is None:
        return ground
    bound, power, degree = asked.bound
    value = ground.in_numbers(power, point)
    if not value.is_Rational or not power.free_symbols & set(map(symbol, ground.points[point])):
        return ground
    return _rooted(ground, bound.right, (value, degree), Reason.ROUNDED, "optimum_bound_at", point)


def _rooted(ground: Ground, left: Formula, power: tuple[Expr, int], reason: Reason, role: Role, point: int) -> Ground:
    """A root as a number: exactly where it is rational, else in decimals."""
    exact, degree = fraction(power[0]), power[1]
    near = root_near(exact, degree)
    text = decimal(near)
    right = Number(near, text)
    if near**degree == exact and right.value == near and near == type(near)(text):
        step = Step("optimum", reason, left, "=", right, ground.where(point), Rooted(), None, role, point)
    else:
        where, long = ground.where(point), to_digits(near, DIGITS)
        same, numbers = ground.layout.root(rational(exact), degree), (text, long)
        shown, precise = (Number(Fraction(digits), digits) for digits in numbers)
        step = Step("optimum", reason, left, "~", shown, where, Rooted(), None, role, point)
        ground = ground.add(
            Step("summary", reason, left, "=", same, where, Leads(), None, number_of(role), point),
            Step("summary", reason, left, "~", precise, where, Rooted(), None, number_of(f"decimals {role}"), point),
        )
    return ground.add(step)


def _whole(ground: Ground, asked: Asked, point: int, least: Mapping[str, int], steps: Mapping[str, int]) -> Ground:
    """The best whole split, by what each of them takes."""
    sharing, x = asked.sharing, asked.x
    if sharing is None:
        return ground
    end = ground.in_numbers(sharing.end, point)
    if not (end.is_Integer and 0 < end <= LARGEST):
        return ground
    names = x.name, sharing.other
    lows, closed = {name: least.get(name, 1) for name in names}, {name: steps.get(name, 1) for name in names}
    both = ((d, dict(zip(names, (d, int(end) // d), strict=True))) for d in divisors(int(end)))
    allowed = [d for d, n in both if all(n[name] >= lows[name] and n[name] % closed[name] == 0 for name in names)]
    takes = _takes(ground, asked, point)
    if takes is None or not allowed:
        return ground
    total = max if asked.maximum else sum
    best = min(allowed, key=lambda d: total([fraction(value.subs(x, d)) for value in takes]))
    write = ground.layout.write
    low = tuple(Compare(Name(name), ">=", number(n)) for name, n in lows.items() if n > closed[name])
    closes = tuple((Name(name), n) for name, n in closed.items() if n > 1)
    where = (*ground.where(point), *asked.where, *low)
    left = Quotient(write(sharing.end), number(best))
    rest = number(int(end) // best)
    return ground.add(
        Step(
            "optimum",
            Reason.BEST_SPLIT,
            asked.place,
            "=",
            number(best),
            where,
            Splits(closes),
            Multiples(closes),
            "optimum_split",
            point,
        ),
        Step("optimum", Reason.SHARE_LEFT, left, "=", rest, ground.where(point), role="optimum_other", point=point),
    )


def _takes(ground: Ground, asked: Asked, point: int) -> list[Expr] | None:
    """What every part takes as a function of x, up to a factor that all of them share; None where more is open."""
    assert asked.sharing is not None
    equation = {symbol(asked.sharing.other): asked.sharing.end / asked.x}
    try:
        values = [ground.in_numbers(ground.value(part).subs(equation), point) for part in asked.parts]
    except AlgebraError:
        return None
    shared = next((value for value in values if value != 0), None)
    if shared is None or any(cancelled(value / shared).free_symbols - {asked.x} for value in values):
        return None
    open_ = shared.free_symbols - {asked.x}
    return [value.subs(dict.fromkeys(open_, 1)) for value in values]
