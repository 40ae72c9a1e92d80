"""What the evidence of a step shows: counts, exchanges, certificates, decimals and whole numbers, all done again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from symroof.formula import Call, Number, Quotient, Sum, number
from symroof.proof.certificates import multiplied_out
from symroof.proof.exact import Poly, add, scale, sign, times
from symroof.proof.grounds import (
    Arrays,
    Beside,
    Between,
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
    Uses,
    Whole,
)
from symroof.proof.ledger import Ledger, refuted
from symroof.proof.limits import beside, between, doubled, growing_alone, highest, number_of, one_root, whole
from symroof.proof.placement import Played, is_ring, play
from symroof.proof.recounts import elements, function_run, kinds, turns, uses_of
from symroof.proof.step import Check, Step

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
    value = number_of(exact.rational(step.left), step)
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
    Whole: (("<=>",), whole),
    Growing: (("->",), growing_alone),
    Highest: (("<", "<="), highest),
    Beside: (("=",), beside),
    Doubled: (("=",), doubled),
    OneRoot: (("<=>",), one_root),
    Between: (("=",), between),
}
