"""Propositions settled by the second engine: proved on the whole domain, refuted at a point, or left open.

A proposition is an equation, an order, an equivalence, or any combination of them with :class:`Both` and
:class:`Either`. Its formulas are over free names; those in ``least_one`` are at least 1, all others above 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from symroof.errors import AlgebraError, CheckError
from symroof.formula import Both, Compare, Either, Formula, Verdict
from symroof.proof.exact import Exact, sign
from symroof.proof.prover import Prover, normal
from symroof.proof.sampling import ORDER

TURNED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True, slots=True)
class Settled:
    """``truth`` is None where the question stays open; ``point`` is a candidate for a counterexample, unconfirmed."""

    truth: bool | None
    by: str = ""
    point: Mapping[str, Fraction] | None = None


OPEN = Settled(None)


def negated(formula: Formula) -> Formula:
    """The proposition that holds exactly where this one does not."""
    match formula:
        case Verdict(holds=holds):
            return Verdict(not holds)
        case Compare(left=left, relation="=", right=right):
            return Either((Compare(left, "<", right), Compare(left, ">", right)))
        case Compare(left=left, relation=relation, right=right) if relation in TURNED:
            return Compare(left, TURNED[relation], right)
        case Both(parts=parts):
            return Either(tuple(negated(part) for part in parts))
        case Either(parts=parts):
            return Both(tuple(negated(part) for part in parts))
    raise CheckError(f"{type(formula).__name__} is not negated")


def settle(claim: Formula, least_one: frozenset[str], facts: Iterable[Formula] = ()) -> Settled:
    """Decide a proposition on the whole domain.

    >>> from symroof.formula import Name, Sum
    >>> b, d = Name("B"), Name("D")
    >>> settle(Compare(Sum((b, d)), ">", b), frozenset("BD"))
    Settled(truth=True, by='signs of coefficients', point=None)
    """
    facts = tuple(facts)
    try:
        exact = Exact({})
        if isinstance(claim, Compare):
            found = _by_coefficients(claim, exact, least_one, facts)
            if found is not None:
                return found
        answer = Prover(exact, least_one).decide(claim, facts)
    except (CheckError, AlgebraError, RecursionError):
        return OPEN
    if answer is True:
        return Settled(True, "z3")
    return Settled(None, "z3", answer) if isinstance(answer, dict) else OPEN


def _by_coefficients(
    claim: Compare, exact: Exact, least_one: frozenset[str], facts: tuple[Formula, ...]
) -> Settled | None:
    """What cross-multiplication and the signs of coefficients tell without z3."""
    if claim.relation == "<=>":
        sides = [normal(side, exact, least_one) for side in (claim.left, claim.right)]
        return Settled(True, "identity of the cleared sides") if sides[0] is not None and sides[0] == sides[1] else None
    above, below = exact.difference(claim.left, claim.right)
    if claim.relation == "=":
        if not above:
            prover = Prover(exact, least_one)
            if exact.atoms and not prover.defined(facts):
                return OPEN
            apart = sign(below, least_one) or prover.apart_from_zero(below, facts)
            return Settled(True, "identity" if apart else "identity where the denominators are not 0")
        return OPEN if not exact.atoms and not facts else None
    if claim.relation not in ORDER or exact.atoms:
        return None
    strict = claim.relation in "<>"
    bottom, top = sign(below, least_one), sign(above, least_one, strict=strict)
    wanted = 1 if claim.relation[0] == ">" else -1
    if bottom and top is not None and (top * bottom == wanted or (top == 0 and not strict)):
        return Settled(True, "signs of coefficients")
    return None
