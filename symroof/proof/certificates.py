"""Certificates of dominance, multiplied out by code that did not find them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symroof.errors import CheckError
from symroof.formula import Compare, Formula, Infinity, names
from symroof.proof.exact import Exact
from symroof.proof.ledger import Evidence, Ledger, refuted, replaced
from symroof.proof.polynomials import ONE, Monomial, Poly, Rat, join, power_product
from symroof.proof.prover import Directions
from symroof.proof.step import Check, Step


@dataclass(frozen=True, slots=True)
class Dominated(Evidence):
    """Evidence of an approximation: left/right = numerator/denominator, and a certificate for each monomial of
    numerator - denominator beside one of the two."""

    relations = ("~", "->")

    numerator: Formula
    denominator: Formula
    certificates: tuple[Any, ...]

    def examine(self, step: Step, ledger: Ledger) -> Check:
        regime = [a for a in step.assumptions if isinstance(a, Compare)]
        grown = {name for a in regime if a.relation != "=" for name in names(a)}
        if step.relation == "->" and grown & set(names(step.right)):
            raise refuted(step, "a limit does not change with what grows")
        exact, equal = in_regime(regime, ledger)
        left, right = exact.rational(step.left), exact.rational(step.right)
        n, d = (exact.rational(side).above for side in (self.numerator, self.denominator))
        sides = (left.above, left.below, right.above, right.below)
        if any(a.relation == "~" for a in regime) and any(c < 0 for side in sides for c in side.values()):
            raise refuted(step, "x ~ y is put in for a difference")
        if left.above * right.below * d != left.below * right.above * n:
            raise refuted(step, "the quotient of the sides is not the one that the certificates speak of")
        known = directions(regime, equal, n.names | d.names)
        certified = {_monomial(c, c.monomial): c for c in self.certificates}
        for measure in (d, n):
            negligible = all(m in certified and _multiplies_out(m, certified[m], measure, known) for m in n - d)
            if negligible and keeps_its_size(measure, exact):
                return Check("proved", "certificate of dominance multiplied out")
        raise refuted(step, "the certificate does not multiply out")


def in_regime(regime: Iterable[Compare], ledger: Ledger) -> tuple[Exact, Exact]:
    """The arithmetic with y put in for x where x = y or x ~ y; and with equal ones alone. A ridge is any constant."""
    regime = tuple(regime)
    known = {name: formula for name, formula in ledger.definitions.items() if name != "ridge"}
    near, equal = (known | replaced(regime, relations) for relations in (("=", "~"), ("=",)))
    return Exact(near, ledger.least_one), Exact(equal, ledger.least_one)


def keeps_its_size(poly: Poly, exact: Exact) -> bool:
    """Whether a sixteenth of the terms above 0 is left when those below 0 are taken away."""
    rest = Poly({m: c * Fraction(15, 16) if c > 0 else c for m, c in poly.items()})
    return exact.is_positive(Rat(rest), strict=False)


def directions(regime: Iterable[Compare], exact: Exact, used: set[str], *, constants: bool = True) -> Directions:
    """The monomials that tend to 0 in the regime, and those that stay bounded.

    Without ``constants`` the names that no relation mentions scale as they like.
    """
    small: set[Monomial] = set()
    bounded: set[Monomial] = set()
    mentioned: set[str] = set()
    for a in regime:
        if a.relation not in ("<<", "->", "~", "~~", "<=", ">="):
            continue
        left = exact.rational(a.left)
        right = Rat(ONE) if isinstance(a.right, Infinity) else exact.rational(a.right)
        quotient = left / right
        if len(quotient.above) != 1 or len(quotient.below) != 1:
            raise CheckError("a regime relates products")
        (top,), (bottom,) = quotient.above, quotient.below
        ratio, inverse = join(top, bottom, -1), join(bottom, top, -1)
        match a.relation:
            case "<<":
                small.add(ratio)
            case "->":
                small.add(inverse)
            case "<=" | ">=":
                bounded.add(ratio if a.relation == "<=" else inverse)
                continue
            case _:
                bounded |= {ratio, inverse}
        mentioned |= left.above.names | right.above.names
    bounded |= {((name, -1),) for name in (mentioned if constants else mentioned | used) & exact.least_one}
    if constants:
        bounded |= {((name, e),) for name in used - mentioned for e in (1, -1)}
    return small, bounded


def _monomial(certificate: Any, exponents: Iterable[int]) -> Monomial:
    return tuple(sorted((str(s), e) for s, e in zip(certificate.symbols, exponents, strict=True) if e))


def _multiplies_out(m: Monomial, certificate: Any, measure: Poly, known: Directions) -> bool:
    """m = prod beside**nu * prod small**lambda * prod bounded**mu with nu adding up to 1 and some lambda > 0."""
    beside, small, bounded = (
        [(_monomial(certificate, exponents), weight) for exponents, weight in part]
        for part in (certificate.beside, certificate.small, certificate.bounded)
    )
    parts = [*beside, *small, *bounded]
    allowed = all(measure.get(factor, 0) > 0 for factor, _ in beside)
    allowed &= all(factor in some for part, some in zip((small, bounded), known, strict=True) for factor, _ in part)
    mixed = sum(weight for _, weight in beside) == 1 and any(weight for _, weight in small)
    return allowed and mixed and all(weight >= 0 for _, weight in parts) and power_product(parts) == dict(m)
