"""Bounds, limits and whole sizes: what the evidence of each shows, gone through again."""

from __future__ import annotations

import operator
from fractions import Fraction
from itertools import pairwise
from math import lcm

from symroof.formula import Cases, Compare, Formula, Infinity, Name, Product, Quotient, Verdict, number
from symroof.proof.calculus import tends
from symroof.proof.exact import Exact, Poly, add, minus, put, sign
from symroof.proof.grounds import Beside, Between, Doubled, Growing, Highest, OneRoot, Whole
from symroof.proof.ledger import Ledger, refuted
from symroof.proof.prover import normal
from symroof.proof.settling import asked, read
from symroof.proof.step import Check, Step


def whole(step: Step, evidence: Whole, ledger: Ledger) -> Check:
    """Over the multiples of ``step`` above 0, ``x > bound`` is ``x >= n``, and ``x <= bound`` is ``x <= n``."""
    left, right, stride = step.left, step.right, evidence.step
    if isinstance(left, Compare) and isinstance(right, Compare) and left.left != right.left:
        left = _on_the_size(step, left, right.left, evidence.bound, ledger)
    if not (isinstance(left, Compare) and isinstance(right, Compare) and left.left == right.left):
        raise refuted(step, "whole numbers are bounded on both sides by the same size")
    if (left.relation, right.relation) not in ((">", ">="), ("<", "<="), ("<=", "<=")):
        raise refuted(step, "whole numbers are bounded by x > value, x < value or x <= value")
    if stride != _multiple(step, left.left, ledger) and not (stride == 1 and left.relation == "<="):
        raise refuted(step, f"these sizes do not come in multiples of {stride}")
    exact = ledger.exact(figures=True, assumptions=step.assumptions)
    bound, n = (number_of(exact.rational(side.right), step) for side in (left, right))
    holds = {">": operator.gt, "<": operator.lt, "<=": operator.le}[left.relation]
    rises = left.relation == ">"
    outside = n - stride if rises else n + stride
    none = rises and outside < stride  # what is left out is no size
    if n % stride or not holds(n, bound) or (holds(outside, bound) and not none):
        raise refuted(step, f"{n} is not the last whole number on its side of {float(bound)}")
    return Check("proved", "exact numbers")


def _multiple(step: Step, size: Formula, ledger: Ledger) -> int:
    """What a size comes in: the multiples of the chips that split it, and the sizes that equal it."""
    same = [a for a in step.assumptions if isinstance(a, Compare) and a.relation == "=" and a.right == size]
    names_of = [part.name for part in (size, *(a.left for a in same)) if isinstance(part, Name)]
    return lcm(*(ledger.multiples.get(name, 1) for name in names_of))


def highest(step: Step, evidence: Highest, ledger: Ledger) -> Check:
    """The right side is never exceeded; and it is approached, or it is a value."""
    where = ledger.exact(figures=False, assumptions=step.assumptions)
    below = read(Compare(step.left, step.relation, step.right), where, ledger.least_one, step.assumptions)
    value, together = where.rational(step.left), Name(evidence.names[0])
    for name in evidence.names:
        value = put(value, name, where.number(number(1)) if evidence.reached else where.name(together))
    if evidence.reached:
        met = not minus(value, where.rational(step.right))[0]
    else:
        met = tends(value, together.name, step.right, where, ledger.least_one)
    if not below or not met or evidence.reached != (step.relation == "<="):
        raise refuted(step, "this is not the supremum")
    return Check("proved", f"{below}; " + ("reached at 1" if evidence.reached else "highest powers compared"))


def beside(step: Step, evidence: Beside, ledger: Ledger) -> Check:
    """The bounds of two checked conditions, one over the other."""
    ends = []
    for done in (evidence.high, evidence.low):
        first = done.right.rows[0][0] if isinstance(done.right, Cases) else done.right
        if done not in ledger.established or not isinstance(first, Compare):
            raise refuted(step, "these are not the bounds of two checked conditions")
        ends.append(first.right)
    same = read(Compare(step.left, "=", step.right), ledger.exact(figures=True), ledger.least_one, step.assumptions)
    if step.left != Quotient(*ends) or same != "exact identity":
        raise refuted(step, "the quotient of the bounds is another")
    return Check("proved", same)


def _on_the_size(step: Step, left: Compare, size: Formula, bound: Formula | None, ledger: Ledger) -> Compare:
    """The left side as a bound on the size, settled first: x > bound, or x > 0 where it holds for every size."""
    same = Verdict(True) if bound is None else Compare(size, left.relation, bound)
    where = tuple(a for a in step.assumptions if isinstance(a, Compare) and a.relation == "=")
    exact = ledger.exact(figures=True, assumptions=where)
    claim, rest = Compare(left, "<=>", same), tuple(a for a in step.assumptions if a not in where)
    if not read(claim, exact, ledger.least_one, rest) and not asked(claim, exact, ledger.least_one, rest).truth:
        raise refuted(step, "the left side is not this bound on the size")
    return Compare(size, left.relation, bound or number(0))


def growing_alone(step: Step, growing: Growing, ledger: Ledger) -> Check:
    """What a quotient of polynomials tends to as one name grows alone."""
    towards = [a for a in step.assumptions if isinstance(a, Compare) and a.relation == "->"]
    if towards != [Compare(Name(growing.name), "->", Infinity())]:
        raise refuted(step, "it is not said that this name grows, and no other")
    exact = ledger.exact(figures=False, assumptions=step.assumptions)
    if not tends(exact.rational(step.left), growing.name, step.right, exact, ledger.least_one) or exact.atoms:
        raise refuted(step, f"this is not the limit as {growing.name} grows")
    return Check("proved", "highest powers compared")


def doubled(step: Step, evidence: Doubled, ledger: Ledger) -> Check:
    """The quantity with the name doubled, over the quantity, is the right side."""
    exact = ledger.exact(figures=False, assumptions=step.assumptions)
    if not isinstance(step.left, Quotient) or exact.atoms:
        raise refuted(step, "the left side is not a quantity after a change over the quantity")
    before, two = exact.rational(step.left.below), Exact({}).rational(Product((number(2), Name(evidence.name))))
    after = exact.rational(step.left.above)
    if minus(after, put(before, evidence.name, two))[0]:
        raise refuted(step, f"this is not the quantity with {evidence.name} doubled")
    if exact.difference(step.left, step.right)[0] or not all(sign(side, ledger.least_one) for side in before):
        raise refuted(step, "the quotient is not the right side")
    return Check("proved", "exact identity, with the size doubled")


def one_root(step: Step, evidence: OneRoot, ledger: Ledger) -> Check:
    """The two sides are one polynomial, whose coefficients change sign once (Descartes)."""
    exact = ledger.exact(figures=True, assumptions=step.assumptions)
    sides = [normal(side, exact, ledger.least_one) for side in (step.left, step.right)]
    if sides[0] is None or sides[0] != sides[1]:
        raise refuted(step, "the sides are not the same inequality")
    parts: dict[int, Poly] = {}
    for m, c in sides[0][0].items():
        powers = dict(m)
        rest = tuple((n, e) for n, e in m if n != evidence.name)
        parts.setdefault(powers.get(evidence.name, 0), {})[rest] = c
    signs = [sign(parts[power], ledger.least_one) for power in sorted(parts)]
    changes = [(a, b) for a, b in pairwise(signs) if a != b]
    if None in signs or len(changes) != 1 or signs[-1] != evidence.side:
        raise refuted(step, "it is not known to have one positive root")
    return Check("proved", "Descartes' rule of signs")


def between(step: Step, evidence: Between, ledger: Ledger) -> Check:
    """From the whole size of one checked step to that of another."""
    sizes = []
    for whole in (evidence.high, evidence.low):
        known = whole in ledger.established
        if not known or not isinstance(whole.evidence, Whole) or not isinstance(whole.right, Compare):
            raise refuted(step, "it is not the distance between two checked sizes")
        sizes.append(number_of(ledger.exact(figures=True).rational(whole.right.right), step))
    exact = ledger.exact(figures=True)
    if number_of(exact.rational(step.right), step) != sizes[0] - sizes[1] or exact.difference(step.left, step.right)[0]:
        raise refuted(step, "it is not the distance between the two sizes")
    return Check("proved", "exact numbers")


def number_of(value: tuple[Poly, Poly], step: Step) -> Fraction:
    """The number that a quotient of polynomials is, whatever its names: one is a multiple of the other."""
    above, below = value
    if not above:
        return Fraction(0)
    first = next(iter(below))
    factor = above.get(first, Fraction(0)) / below[first]
    if add(above, {m: -c * factor for m, c in below.items()}):
        raise refuted(step, "a number was expected")
    return factor
