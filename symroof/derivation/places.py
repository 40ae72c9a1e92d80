"""The best place at sets of sizes, as a number."""

from __future__ import annotations

from fractions import Fraction

from sympy import Expr

from symroof.algebra.roots import root_near
from symroof.algebra.rounding import decimal, to_digits
from symroof.derivation.formulas import DIGITS, Ground
from symroof.derivation.optimum import Asked, of_forms
from symroof.derivation.solving import Optimum
from symroof.formula import Formula, Number, number
from symroof.proof.minima import Optimal
from symroof.proof.radicals import Leads, Rooted
from symroof.proof.step import Reason, Role, Step, number_of
from symroof.symbols import fraction, rational, symbol


def at_sizes(ground: Ground, asked: Asked) -> Ground:
    """The best place at each set of sizes."""
    for point in range(len(ground.points)) if not asked.found.way else ():
        ground = _in_numbers(ground, asked, asked.found, point)
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
        forms, evidence = of_forms(ground, asked), Optimal(tuple(map(ground.layout.write, asked.forms)))
        step = Step("optimum", Reason.AT_AN_END, forms, "=", edge, assumed, evidence, None, "optimum_at", point)
        ground = ground.add(step)
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
