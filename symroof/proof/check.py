"""The second engine: every step of a derivation is decided again, by code that did not find it.

Identities are cross-multiplied. Counts, exchanges, certificates and decimals are done again from their evidence.
Orders are told by coefficients or by z3, and equivalences are put to z3 with every denominator cleared. What z3
cannot settle is tried on exact random points and called ``sampled``. A step that is refuted raises: it is a bug, and
nobody gets to see it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from symroof.formula import Compare, Name, names
from symroof.proof.evidence import examine, rounded
from symroof.proof.exact import Poly, sign
from symroof.proof.ledger import Ledger, refuted
from symroof.proof.prover import Prover, normal
from symroof.proof.sampling import ORDER, sampled, truth_at
from symroof.proof.step import Check, Step


def checked(steps: Iterable[Step], ledger: Ledger) -> tuple[Step, ...]:
    """The steps, each with its outcome. Raises :class:`~symroof.errors.CheckError` on a refuted one."""
    return tuple(replace(step, check=check(step, ledger)) for step in steps)


def check(step: Step, ledger: Ledger) -> Check:
    """Decide one step again; a new name on the left of ``=`` is entered as a definition."""
    outcome = examine(step, ledger)
    if step.relation == "=" and isinstance(step.left, Name) and ledger.is_new(step.left.name):
        outcome = outcome or _definition(step, ledger)
        ledger.definitions[step.left.name] = step.right
        return outcome
    if outcome is not None:
        return outcome
    match step.relation:
        case "=":
            return _identity(step, ledger)
        case "~":
            return rounded(step, ledger)
        case "<=>":
            return _alike(step, ledger) or _proved(step, ledger) or sampled(step, ledger)
        case relation if relation in ORDER:
            return _assumed(step, ledger) or _ordered(step, ledger) or _proved(step, ledger) or sampled(step, ledger)
    raise refuted(step, f"the relation {step.relation} has no check")


def _definition(step: Step, ledger: Ledger) -> Check:
    """A definition is sound if it is not circular and divides by nothing that can be 0."""
    assert isinstance(step.left, Name)
    if step.left.name in names(step.right):
        raise refuted(step, "the definition is circular")
    _, below = ledger.exact(figures=False).rational(step.right)
    if sign(below, ledger.least_one) != 1:
        raise refuted(step, "the denominator of the definition may vanish")
    return Check("proved", "definition, denominators positive")


def _identity(step: Step, ledger: Ledger) -> Check:
    above: Poly = {}
    for figures in (False, True):
        exact = ledger.exact(figures=figures, assumptions=step.assumptions)
        above, below = exact.difference(step.left, step.right)
        if not above:
            if not sign(below, ledger.least_one) and not Prover(exact, ledger.least_one).apart_from_zero(
                below, step.assumptions
            ):
                raise refuted(step, "a denominator may vanish")
            return Check("proved", "exact identity")
    shown = " + ".join(f"{c}" + "".join(f"*{n}^{e}" for n, e in m) for m, c in list(above.items())[:6])
    raise refuted(step, f"the sides differ by {shown}")


def _ordered(step: Step, ledger: Ledger) -> Check | None:
    """An order between rational functions, told by the coefficients of the cleared difference."""
    for figures in (False, True):
        exact = ledger.exact(figures=figures, assumptions=step.assumptions)
        above, below = exact.difference(step.left, step.right)
        if exact.atoms:
            return None
        bottom = sign(below, ledger.least_one)
        strict = step.relation in "<>"
        top = sign(above, ledger.least_one, strict=strict)
        if not bottom or top is None:
            continue
        wanted = 1 if step.relation[0] == ">" else -1
        if top * bottom == wanted or (top == 0 and not strict):
            return Check("proved", "signs of coefficients")
    return None


def _alike(step: Step, ledger: Ledger) -> Check | None:
    """Two inequalities are one where, with denominators cleared, both are the same polynomial."""
    for figures in (False, True):
        exact = ledger.exact(figures=figures, assumptions=step.assumptions)
        sides = [normal(side, exact, ledger.least_one) for side in (step.left, step.right)]
        if sides[0] is not None and sides[0] == sides[1]:
            return Check("proved", "exact identity of the cleared sides")
    return None


def _assumed(step: Step, ledger: Ledger) -> Check | None:
    """An order that is, with denominators cleared, one of the assumptions."""
    exact = ledger.exact(figures=False)
    claim = normal(Compare(step.left, step.relation, step.right), exact, ledger.least_one)
    if claim is not None and any(claim == normal(a, exact, ledger.least_one) for a in step.assumptions):
        return Check("proved", "exact identity with an assumption")
    return None


def _proved(step: Step, ledger: Ledger) -> Check | None:
    """z3's proof: for every ridge, for every peak and bandwidth, for the given ones; None where it gives up."""
    for figures, free in ((False, "ridge"), (False, None), (True, None)):
        exact = ledger.exact(figures=figures, free=free)
        prover = Prover(exact, ledger.least_one)
        answer = prover.decide(Compare(step.left, step.relation, step.right), step.assumptions)
        if answer is True:
            return Check("proved", "z3")
        if isinstance(answer, dict) and figures and truth_at(step, exact, answer) is False:
            shown = ", ".join(f"{name} = {value}" for name, value in answer.items())
            raise refuted(step, f"it is false at {shown}")
    return None
