"""What the evidence of a step shows: counts, exchanges, certificates, decimals and whole numbers, all done again."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import Any

from symroof.formula import (
    Call,
    Cases,
    Compare,
    Formula,
    Infinity,
    Name,
    Number,
    Product,
    Quotient,
    Sum,
    Verdict,
    number,
)
from symroof.proof.calculus import tends
from symroof.proof.certificates import multiplied_out
from symroof.proof.exact import Exact, Poly, add, minus, put, scale, sign, times
from symroof.proof.ledger import Ledger, refuted
from symroof.proof.placement import Played, is_ring, play
from symroof.proof.prover import normal
from symroof.proof.recounts import elements, function_run, kinds, turns, uses_of
from symroof.proof.settling import asked, read
from symroof.proof.step import (
    Arrays,
    Beside,
    Between,
    Check,
    Dominated,
    Doubled,
    Excess,
    Function,
    Growing,
    Harmonic,
    Highest,
    Kinds,
    Loops,
    OnChip,
    OneRoot,
    Sent,
    Shared,
    Step,
    Uses,
    Whole,
)

# Evidence that counts the right side: that the left side is this count, its name says.
COUNTS = (Loops, Arrays, Function, OnChip)


def examine(step: Step, ledger: Ledger) -> Check:
    """What the evidence of a step shows. Every kind of evidence speaks of certain relations, and of no others; a count
    speaks of the name that has to rest on it."""
    relations, decide = EXAMINERS.get(type(step.evidence), ((), None))
    if decide is None:
        raise refuted(step, f"evidence {type(step.evidence).__name__} has no check")
    if step.relation not in relations:
        raise refuted(step, f"the evidence does not show that {step.relation} holds")
    if isinstance(step.evidence, COUNTS) and ledger.meanings.get(getattr(step.left, "name", "")) != step.evidence:
        raise refuted(step, "this is no count of what stands on the left")
    return decide(step, step.evidence, ledger)


def _played(step: Step, given: OnChip, ledger: Ledger) -> Check:
    """The amount of one chip, and what the step says of the exchanges, against the played mesh."""
    found, names, exact = play(given.placement), given.placement.names, ledger.exact(figures=False)
    sent: Poly = {}
    for sending in found.sendings:
        sent = add(sent, sending.sent)
    amounts = {"work": found.work, "memory": found.memory, "link": sent}
    if given.amount == "part":
        amounts["part"] = found.parts[given.number]
    if given.amount == "sending":
        if given.number >= len(found.sendings):
            raise refuted(step, f"the chips need {len(found.sendings)} exchanges")
        amounts["sending"] = found.sendings[given.number].sent
    if _off(exact.rational(step.right), amounts[given.amount]):
        raise refuted(step, f"a chip of the played mesh has {given.amount} {amounts[given.amount]}")
    if isinstance(step.facts, Shared) and step.facts.chips != found.sharing:
        raise refuted(step, f"{found.sharing} chips share the work")
    if given.amount == "part":
        return Check("proved", _how(found))
    if not isinstance(step.facts, Sent if given.amount == "sending" else Shared):
        raise refuted(step, "nothing says what the chips exchange")
    axes = {axis.name: axis for axis in given.placement.mesh}
    played = [(s.collective, axes[s.axis], names[s.place]) for s in found.sendings]
    if given.amount == "sending" and isinstance(step.facts, Sent):
        played, sending = [played[given.number]], found.sendings[given.number]
        payload, share = (exact.rational(part) for part in (step.facts.payload, step.facts.share))
        if _off(payload, sending.payload) or _off(exact.product(step.right, payload, share), sending.sent):
            raise refuted(step, f"the payload is {sending.payload}, and a link carries {sending.sent}")
    said = [(e.collective, e.axis, e.chips, e.ways, e.operand) for e in step.facts.exchanges]
    if said != [(kind, axis.name, axis.chips, 2 if is_ring(axis) else 1, what) for kind, axis, what in played]:
        raise refuted(step, f"the played mesh needs {played}")
    return Check("proved", _how(found))


def _how(found: Played) -> str:
    return "mesh played chip by chip" if found.whole else "smaller meshes played, which determine it"


def _off(value: tuple[Poly, Poly], amount: Poly) -> bool:
    """Whether a quotient is another than the amount."""
    above, below = value
    return bool(add(above, scale(times(amount, below), Fraction(-1))))


def _excess(step: Step, evidence: Excess, ledger: Ledger) -> Check:
    """left + amount = right exactly, and amount > 0."""
    exact = ledger.exact(figures=False)
    n, d = exact.difference(step.right, step.left)
    a, b = exact.rational(evidence.amount)
    if add(times(n, b), {m: -c for m, c in times(a, d).items()}):
        raise refuted(step, "the stated difference is not the difference")
    if sign(times(a, b), ledger.least_one) != 1:
        raise refuted(step, "the stated difference is not positive")
    return Check("proved", "exact difference")


def _harmonic(step: Step, evidence: Harmonic, ledger: Ledger) -> Check:
    """min(m)/k <= 1/(1/m_1 + … + 1/m_k), because no 1/m_i is more than 1/min(m): all m_i have to be positive."""
    parts, exact = evidence.parts, ledger.exact(figures=False, assumptions=step.assumptions)
    if not isinstance(step.left, Quotient) or step.left.below != number(len(parts)):
        raise refuted(step, "the left side is not the least part over their number")
    least = step.left.above
    kept = least.arguments if isinstance(least, Call) and least.function == "min" else (least,)
    for part in parts:  # a part that is left out is nowhere below one that is kept
        gaps = [exact.difference(part, one) for one in kept]
        if not any(
            sign(n, ledger.least_one, strict=False) in (0, 1) and sign(d, ledger.least_one) == 1 for n, d in gaps
        ):
            raise refuted(step, "a part may be the least and is left out")
    if any(all(exact.difference(part, one)[0] for part in parts) for one in kept):
        raise refuted(step, "it is the least of something else")
    if not all(sign(side, ledger.least_one) == 1 for part in parts for side in exact.rational(part)):
        raise refuted(step, "a part may not be positive")
    reciprocals = Sum(tuple(Quotient(number(1), part) for part in parts))
    if exact.difference(Quotient(number(1), step.right), reciprocals)[0]:
        raise refuted(step, "the reciprocals do not add up")
    return Check("proved", "harmonic mean, exact identity")


def rounded(step: Step, ledger: Ledger) -> Check:
    """A decimal number is the value rounded to nearest at its last digit."""
    exact = ledger.exact(figures=True, assumptions=step.assumptions)
    if not isinstance(step.right, Number) or step.right.digits is None:
        raise refuted(step, "an approximation needs evidence")
    value = _number(exact.rational(step.left), step)
    if Fraction(step.right.digits) != step.right.value or not stands_for(step.right.digits, value):
        raise refuted(step, f"{float(value)} does not round to {step.right.digits}")
    return Check("proved", "exact rounding")


def stands_for(digits: str, value: Fraction) -> bool:
    """Whether the digits are the value, rounded to nearest at the last of them.

    >>> stands_for("240.24", Fraction(9850, 41)), stands_for("240.25", Fraction(9850, 41)), stands_for("2e2", Fraction(240))
    (True, False, True)
    """
    mantissa, _, power = digits.lower().partition("e")
    unit = Fraction(10) ** (int(power or 0) - len(mantissa.partition(".")[2]))
    return abs(value - Fraction(digits)) * 2 <= unit


def _whole(step: Step, evidence: Whole, ledger: Ledger) -> Check:
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
    bound, n = (_number(exact.rational(side.right), step) for side in (left, right))
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


def _highest(step: Step, evidence: Highest, ledger: Ledger) -> Check:
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


def _beside(step: Step, evidence: Beside, ledger: Ledger) -> Check:
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


def _limit(step: Step, growing: Growing, ledger: Ledger) -> Check:
    """What a quotient of polynomials tends to as one name grows alone."""
    towards = [a for a in step.assumptions if isinstance(a, Compare) and a.relation == "->"]
    if towards != [Compare(Name(growing.name), "->", Infinity())]:
        raise refuted(step, "it is not said that this name grows, and no other")
    exact = ledger.exact(figures=False, assumptions=step.assumptions)
    if not tends(exact.rational(step.left), growing.name, step.right, exact, ledger.least_one) or exact.atoms:
        raise refuted(step, f"this is not the limit as {growing.name} grows")
    return Check("proved", "highest powers compared")


def _doubled(step: Step, evidence: Doubled, ledger: Ledger) -> Check:
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


def _one_root(step: Step, evidence: OneRoot, ledger: Ledger) -> Check:
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


def _between(step: Step, evidence: Between, ledger: Ledger) -> Check:
    """From the whole size of one checked step to that of another."""
    sizes = []
    for whole in (evidence.high, evidence.low):
        known = whole in ledger.established
        if not known or not isinstance(whole.evidence, Whole) or not isinstance(whole.right, Compare):
            raise refuted(step, "it is not the distance between two checked sizes")
        sizes.append(_number(ledger.exact(figures=True).rational(whole.right.right), step))
    exact = ledger.exact(figures=True)
    if _number(exact.rational(step.right), step) != sizes[0] - sizes[1] or exact.difference(step.left, step.right)[0]:
        raise refuted(step, "it is not the distance between the two sizes")
    return Check("proved", "exact numbers")


def _number(value: tuple[Poly, Poly], step: Step) -> Fraction:
    """The number that a quotient of polynomials is, whatever its names: one is a multiple of the other."""
    above, below = value
    if not above:
        return Fraction(0)
    first = next(iter(below))
    factor = above.get(first, Fraction(0)) / below[first]
    if add(above, {m: -c * factor for m, c in below.items()}):
        raise refuted(step, "a number was expected")
    return factor


# The relations that each kind of evidence speaks of, and how it is gone through again.
EXAMINERS: Mapping[type, tuple[tuple[str, ...], Callable[[Step, Any, Ledger], Check]]] = {
    Loops: (("=",), turns),
    Uses: (("=",), uses_of),
    Arrays: (("=",), elements),
    Function: (("=",), function_run),
    Kinds: (("=",), kinds),
    OnChip: (("=",), _played),
    Excess: (("~",), _excess),
    Dominated: (("~", "->"), multiplied_out),
    Harmonic: (("<=",), _harmonic),
    Whole: (("<=>",), _whole),
    Growing: (("->",), _limit),
    Highest: (("<", "<="), _highest),
    Beside: (("=",), _beside),
    Doubled: (("=",), _doubled),
    OneRoot: (("<=>",), _one_root),
    Between: (("=",), _between),
}
