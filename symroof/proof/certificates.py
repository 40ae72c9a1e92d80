"""Certificates of dominance, multiplied out by code that did not find them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from symroof.errors import CheckError
from symroof.formula import Compare, Infinity, names
from symroof.proof.exact import ONE, Exact, add, join, names_in, sign, times
from symroof.proof.grounds import Dominated
from symroof.proof.ledger import Ledger, refuted, replaced
from symroof.proof.step import Check, Step

Powers = tuple[tuple[str, int], ...]


def multiplied_out(step: Step, evidence: Dominated, ledger: Ledger) -> Check:
    """left/right = n/d, and every monomial of n - d is negligible beside n or d: certificates multiplied out."""
    regime = [a for a in step.assumptions if isinstance(a, Compare)]
    if step.relation == "->" and {n for a in regime if a.relation != "=" for n in names(a)} & set(names(step.right)):
        raise refuted(step, "a limit does not change with what grows")
    known = {name: formula for name, formula in ledger.definitions.items() if name != "ridge"}  # any constant will do
    exact = Exact(known | replaced(regime, ("=", "~")))
    (ln, ld), (rn, rd) = exact.rational(step.left), exact.rational(step.right)
    n, d = (exact.rational(f)[0] for f in (evidence.numerator, evidence.denominator))
    if any(a.relation == "~" for a in regime) and any(c < 0 for p in (ln, ld, rn, rd) for c in p.values()):
        raise refuted(step, "x ~ y is put in for a difference")
    if add(times(times(ln, rd), d), {m: -c for m, c in times(times(ld, rn), n).items()}):
        raise refuted(step, "the quotient of the sides is not the one that the certificates speak of")
    difference = add(n, {m: -c for m, c in d.items()})
    equal = Exact(known | replaced(regime, ("=",)))
    small, bounded = directions(regime, equal, ledger, names_in(n) | names_in(d))
    certified = {}
    for c in evidence.certificates:
        letters = [str(s) for s in c.symbols]
        certified[_monomial(letters, c.monomial)] = (c, letters)
    for measure in (d, n):
        if all(m in certified and _multiplies_out(m, *certified[m], measure, small, bounded) for m in difference):
            positive = {m: k for m, k in measure.items() if k > 0}
            rest = add(measure, {m: -k / 16 for m, k in positive.items()})
            if sign(rest, ledger.least_one, strict=False) in (0, 1):
                return Check("proved", "certificate of dominance multiplied out")
    raise refuted(step, "the certificate does not multiply out")


def directions(
    regime: Iterable[Compare], exact: Exact, ledger: Ledger, used: set[str], *, constants: bool = True
) -> tuple[set[Powers], set[Powers]]:
    """The monomials that tend to 0 in the regime, and those that stay bounded.

    Without ``constants`` the names that no relation mentions scale as they like.
    """
    small: set[Powers] = set()
    bounded: set[Powers] = set()
    mentioned: set[str] = set()
    for a in regime:
        if a.relation not in ("<<", "->", "~", "~~", "<=", ">="):
            continue
        left = exact.rational(a.left)
        right = (ONE, ONE) if isinstance(a.right, Infinity) else exact.rational(a.right)
        top, bottom = times(left[0], right[1]), times(left[1], right[0])
        if len(top) != 1 or len(bottom) != 1:
            raise CheckError("a regime relates products")
        quotient = join(next(iter(top)), next(iter(bottom)), -1)
        inverse = tuple((name, -e) for name, e in quotient)
        if a.relation in ("<=", ">="):
            bounded.add(quotient if a.relation == "<=" else inverse)
            continue
        mentioned |= {name for name, _ in (*next(iter(left[0])), *next(iter(right[0])))}
        if a.relation == "->":
            small.add(inverse)
        elif a.relation == "<<":
            small.add(quotient)
        else:
            bounded |= {quotient, inverse}
    bounded |= {((name, -1),) for name in (mentioned if constants else mentioned | used) & ledger.least_one}
    if constants:
        bounded |= {((name, e),) for name in used - mentioned for e in (1, -1)}
    return small, bounded


def _monomial(letters: list[str], exponents: Iterable[int]) -> Powers:
    return tuple(sorted((name, e) for name, e in zip(letters, exponents, strict=True) if e))


def _multiplies_out(m, c, letters, measure, small, bounded) -> bool:  # type: ignore[no-untyped-def]
    """m = prod beside**nu * prod small**lambda * prod bounded**mu with nu adding up to 1 and some lambda > 0."""
    powers: dict[str, Fraction] = {}
    for part, allowed in ((c.beside, set(measure)), (c.small, small), (c.bounded, bounded)):
        for exponents, weight in part:
            factor = _monomial(letters, exponents)
            if weight < 0 or factor not in allowed or (part is c.beside and measure[factor] < 0):
                return False
            for name, e in factor:
                powers[name] = powers.get(name, Fraction(0)) + weight * e
    mixed = sum((w for _, w in c.beside), Fraction(0)) == 1 and sum((w for _, w in c.small), Fraction(0)) > 0
    return mixed and {n: e for n, e in powers.items() if e} == dict(m)
