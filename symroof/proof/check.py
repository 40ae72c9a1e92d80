"""The second engine: every step of a derivation is decided again, by code that did not find it.

What a step rests on is done again: counts, exchanges, certificates, decimals. Everything else is settled as a
proposition, with the definitions and the figures put in. An identity that cannot be settled, as of sums of maxima, is tried
at exact points and called ``sampled``; nothing else that cannot is printed. A step that is refuted raises: it is a bug.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from symroof.errors import CheckError
from symroof.formula import Compare, Either, Formula, Name, Number, names, nodes, number
from symroof.proof.bounds_and_decimals import last_place, rounded
from symroof.proof.pointwise import check_at_samples, enclosure, truth_of
from symroof.proof.polynomials import Poly
from symroof.proof.propositions import Decision, direct_proof, search
from symroof.proof.quotients import COMPARISONS, Exact, free_names
from symroof.proof.step import Check, Evidence, Facts, Ledger, Reason, Step, refuted, undecided

# The values of figures are put in last; what is proved for every ridge is proved soonest.
READINGS = ((False, None), (True, None))
QUESTIONS = ((False, "ridge"), (False, None), (True, None))


def establish(steps: Iterable[Step], ledger: Ledger) -> tuple[Step, ...]:
    """The steps, each with its outcome, which are established together. Raises :class:`~symroof.errors.CheckError` on a refuted
    one, and establishes none of them."""
    first = len(ledger.established)
    try:
        for step in steps:
            ledger.established.append(replace(step, check=check(step, ledger)))
    except CheckError:
        del ledger.established[first:]
        raise
    return tuple(ledger.established[first:])


def check(step: Step, ledger: Ledger) -> Check:
    """Decide one step again; a new name on the left of ``=`` has to mean what the problem or the textbook says."""
    if step.facts is not None and not (isinstance(step.facts, Facts) and step.facts.agree(step, ledger)):
        raise refuted(step, "its facts say something else")
    if step.role in ledger.meanings and step.role not in ledger.own and step.left != Name(step.role):
        raise refuted(step, f"it is said to be about {step.role}")
    if step.point is not None and not _at_its_sizes(step, ledger):
        raise refuted(step, "its sizes are not those of its set")
    if not all(_is_narrow(band, step) for band in step.assumptions if isinstance(band, Either)):
        raise refuted(step, "it leaves out more than what its digits round")
    if step.relation == "=" and isinstance(step.left, Name) and ledger.is_new(step.left.name):
        outcome = _definition(step, step.left.name, ledger)
        ledger.define(step.left.name, step.right)
        return outcome
    if step.evidence is not None:
        return _evidence(step, ledger)
    if step.relation == "~":
        return rounded(step, ledger)
    if step.relation not in ("<=>", *COMPARISONS):
        raise refuted(step, f"the relation {step.relation} has no check")
    return _proposition(step, ledger)


def _at_its_sizes(step: Step, ledger: Ledger) -> bool:
    """Whether the sizes of the set that a step is about are what it assumes, as far as it speaks of them."""
    exact = ledger.exact(figures=False)
    used = free_names(step.left, exact) | free_names(step.right, exact)
    equal = {a.left: a.right for a in step.assumed("=")}
    sizes = ledger.points[step.point or 0].items() if (step.point or 0) < len(ledger.points) else None
    return sizes is not None and all(
        exact.difference(equal[Name(n)], number(size)).is_zero() if Name(n) in equal else n not in used
        for n, size in sizes
    )


def _is_narrow(band: Either, step: Step) -> bool:
    """Whether what is left out around an irrational bound is no wider than a unit of the last digit that is printed of it,
    or than a part in ten million where it is not printed."""
    match band.parts:
        case (Compare(x, "<", low), Compare(y, ">", high)) if x == y:
            below, above = (Exact().rational(end).constant for end in (low, high))
            if below is None or above is None:
                return False
            printed = (n for n in nodes(step.right) if isinstance(n, Number) and n.digits is not None)
            units = [last_place(str(n.digits)) for n in printed if below <= n.value <= above]
            return above - below <= min(units, default=above / 10**7)
    return False


def _evidence(step: Step, ledger: Ledger) -> Check:
    """The outcome of examining the evidence of a step."""
    evidence = step.evidence
    if not isinstance(evidence, Evidence):
        raise refuted(step, f"evidence {type(evidence).__name__} has no check")
    if step.relation not in evidence.relations:
        raise refuted(step, f"the evidence does not show that {step.relation} holds")
    if evidence.counts and ledger.meanings.get(getattr(step.left, "name", "")) != evidence:
        raise refuted(step, "this is no count of what stands on the left")
    return evidence.examine(step, ledger)


def _definition(step: Step, name: str, ledger: Ledger) -> Check:
    """What a name is said to be is what it means; and what is divided by is nothing that can be 0."""
    meaning = ledger.meanings.get(name)
    if step.reason is Reason.LETTER:  # a new name for a formula says nothing, if it is one that nobody uses
        spoken = (part for s in ledger.established for part in (s.left, s.right, *s.assumptions))
        if meaning is not None or any(name in names(part) for part in spoken):
            raise refuted(step, f"{name} has a meaning")
        meaning = step.right
    if meaning is None:
        raise refuted(step, f"nothing says what {name} is")
    if not isinstance(meaning, Formula):
        if step.evidence != meaning:
            raise refuted(step, f"the evidence is not that of {name}")
        return _evidence(step, ledger)
    if step.evidence is not None:
        raise refuted(step, "a definition rests on its meaning alone")
    if name in names(step.right):
        raise refuted(step, "the definition is circular")
    exact = ledger.exact(figures=False)
    gap = exact.difference(step.right, meaning)
    if not gap.is_zero():
        raise refuted(step, f"this is not what {name} means")
    if exact.sign(gap.below) != 1:
        raise refuted(step, "the denominator of the definition may vanish")
    return Check("proved", "definition, denominators positive")


def _proposition(step: Step, ledger: Ledger) -> Check:
    claim = Compare(step.left, step.relation, step.right)
    for figures, free in READINGS:
        exact = ledger.exact(figures=figures, assumptions=step.assumptions, free=free)
        by = direct_proof(claim, exact, step.assumptions)
        if by == "identity where the denominators are not 0":
            raise refuted(step, "a denominator may vanish")
        if by:
            return Check("proved", by)
    if step.relation == "=" and _is_one_number(step, exact):
        return Check("proved", "both sides are one number")
    if step.relation == "=" and not exact.atoms:
        raise refuted(step, f"the sides differ by {_polynomial_text(exact.difference(step.left, step.right).above)}")
    before: set[str] | None = None
    for figures, free in QUESTIONS:
        exact = ledger.exact(figures=figures, free=free)
        used = {name for formula in (claim, *step.assumptions) for name in free_names(formula, exact)}
        if used != before:  # else nothing was put in, and it would be the same question
            answer = search(claim, exact, step.assumptions)
        before = used
        if answer.truth:
            return Check("proved", answer.by)
        if figures and _false_at(step, answer, ledger):
            shown = ", ".join(f"{name} = {value}" for name, value in (answer.point or {}).items())
            raise refuted(step, f"it is false at {shown}")
    if step.relation == "=":
        return check_at_samples(step, ledger)
    raise undecided(step, "no proof was found in the work that one question may take")


def _is_one_number(step: Step, exact: Exact) -> bool:
    """Whether both sides are the same number, exactly."""
    left, right = (enclosure(side, exact.definitions) for side in (step.left, step.right))
    return left is not None and left[0] == left[1] and left == right


def _false_at(step: Step, answer: Decision, ledger: Ledger) -> bool:
    if answer.point is None:
        return False
    return truth_of(step, ledger.exact(figures=True))(answer.point) is False


def _polynomial_text(poly: Poly) -> str:
    return " + ".join(f"{c}" + "".join(f"*{n}^{e}" for n, e in m) for m, c in list(poly.items())[:6])
