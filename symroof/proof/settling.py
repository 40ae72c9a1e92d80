"""Propositions settled by the second engine: proved on the whole domain, refuted at a point, or left open.

A proposition is an equation, an order, an equivalence, or any combination of them with :class:`Both` and
:class:`Either`. Its formulas are over names; those in ``least_one`` are at least 1, all others above 0. Most are
settled by reading: cross-multiplication, signs of coefficients, an assumption put in, a solution read backwards. z3 is
asked last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from symroof.errors import AlgebraError, CheckError
from symroof.formula import Both, Cases, Compare, Either, Formula, Name, Verdict
from symroof.proof.exact import (
    Exact,
    Poly,
    Rat,
    add,
    divided,
    join,
    minus,
    names_in,
    primitive,
    put,
    scale,
    sign,
    times,
)
from symroof.proof.prover import Prover, normal
from symroof.proof.sampling import ORDER, is_fact

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
        by = read(claim, exact, least_one, facts)
        return Settled(True, by) if by else asked(claim, exact, least_one, facts)
    except (CheckError, AlgebraError, RecursionError):
        return OPEN


def asked(claim: Formula, exact: Exact, least_one: frozenset[str], facts: tuple[Formula, ...]) -> Settled:
    """What z3 says. An identity is none of its questions, unless there are functions or facts to know of."""
    if isinstance(claim, Compare) and claim.relation == "=" and not exact.atoms and not facts:
        return OPEN
    answer = Prover(exact, least_one).decide(claim, facts)
    if answer is True:
        return Settled(True, "z3")
    return Settled(None, "z3", answer) if isinstance(answer, dict) else OPEN


def read(claim: Formula, exact: Exact, least_one: frozenset[str], facts: tuple[Formula, ...]) -> str | None:
    """By what a proposition is proved without a search, or None."""
    if not isinstance(claim, Compare):
        return None
    if claim.relation == "=":
        return identity(claim, exact, least_one, facts)
    if claim.relation == "<=>" and isinstance(claim.right, Verdict) and isinstance(claim.left, Compare):
        return read(claim.left if claim.right.holds else negated(claim.left), exact, least_one, facts)
    if claim.relation == "<=>":
        return _equivalence(claim, exact, least_one)
    return _order(claim, exact, least_one, facts) if claim.relation in ORDER else None


def identity(claim: Compare, exact: Exact, least_one: frozenset[str], facts: tuple[Formula, ...]) -> str | None:
    """Cross-multiplication; and that what is divided by is not 0."""
    above, below = exact.difference(claim.left, claim.right)
    if above:
        return None
    if _have_values(exact, least_one) and sign(_kept_apart(below, exact, least_one, facts), least_one):
        return "exact identity"
    prover = Prover(exact, least_one)
    if exact.atoms and not prover.defined(facts):
        return None
    apart = sign(below, least_one) or prover.apart_from_zero(below, facts)
    return "exact identity" if apart else "identity where the denominators are not 0"


def _have_values(exact: Exact, least_one: frozenset[str]) -> bool:
    """Whether every function that was met is a maximum or minimum of what has a value."""
    functions = exact.atoms.values()
    return all(f in ("max", "min") and all(sign(below, least_one) for _, below in parts) for f, parts in functions)


def _kept_apart(below: Poly, exact: Exact, least_one: frozenset[str], facts: tuple[Formula, ...]) -> Poly:
    """A denominator without the factors that are above 0 by assumption."""
    for fact in facts:
        known = normal(fact, exact, least_one)
        if known is not None and known[1] == 1 and names_in(known[0]):
            while (rest := divided(below, known[0])) is not None:
                below = rest
    return below


def _order(claim: Compare, exact: Exact, least_one: frozenset[str], facts: tuple[Formula, ...]) -> str | None:
    above, below = exact.difference(claim.left, claim.right)
    if claim.relation[0] == "<":
        above = scale(above, Fraction(-1))
    strict = len(claim.relation) == 1
    if exact.atoms:
        return _by_the_largest((above, below), exact, least_one, strict=strict)
    if _positive((above, below), least_one, strict=strict):
        return "signs of coefficients"
    known = [normal(fact, exact, least_one) for fact in facts if is_fact(fact)]
    wanted = normal(claim, exact, least_one)
    if wanted is not None and any(fact in (wanted, (wanted[0], 1)) for fact in known if fact is not None):
        return "exact identity with an assumption"
    shifted = _shifted((above, below), exact, least_one, facts)
    if shifted is not None and all(_positive(sides, least_one, strict=strict) for sides in shifted):
        return "an assumption put in, signs of coefficients"
    return None


def _positive(sides: Rat, least_one: frozenset[str], *, strict: bool) -> bool:
    """Whether n/d > 0, or n/d >= 0, told by coefficients."""
    bottom, top = sign(sides[1], least_one), sign(sides[0], least_one, strict=strict)
    return bool(bottom) and top is not None and (top * (bottom or 0) == 1 or (top == 0 and not strict))


def _shifted(sides: Rat, exact: Exact, least_one: frozenset[str], facts: tuple[Formula, ...]) -> tuple[Rat, ...] | None:
    """n/d with e + x' for every x that is at least e by assumption: with x' above 0, and with x' = 0."""
    inside, edge, done = sides, sides, False
    for fact in facts:
        if not (isinstance(fact, Compare) and fact.relation in (">=", ">") and isinstance(fact.left, Name)):
            continue
        name, bound = fact.left.name, exact.rational(fact.right)
        if (
            name in exact.definitions
            or {name, f"{name}'"} & names_in(bound[0])
            or len(bound[1]) > 1
            or () not in bound[1]
        ):
            continue
        least = scale(bound[0], 1 / bound[1][()])
        inside = put(inside, name, (add(least, {((f"{name}'", 1),): Fraction(1)}), {(): Fraction(1)}))
        edge, done = put(edge, name, (least, {(): Fraction(1)})), True
    return (inside, edge) if done else None


def _by_the_largest(sides: Rat, exact: Exact, least_one: frozenset[str], *, strict: bool) -> str | None:
    """An order with one maximum or minimum in it, for each of its arguments in turn."""
    used = [atom for atom in exact.atoms if atom in names_in(sides[0])]
    if len(used) != 1 or used[0] in names_in(sides[1]) or exact.atoms[used[0]][0] not in ("max", "min"):
        return None
    function, arguments = exact.atoms[used[0]]
    if not all(sign(below, least_one) for _, below in arguments):
        return None
    for one in arguments:
        case = put(sides, used[0], one)
        if any(atom in names_in(part) for part in case for atom in exact.atoms):
            return None
        gaps = [minus(one, two) if function == "max" else minus(two, one) for two in arguments]
        known = [primitive(gap[0]) for gap in gaps if sign(gap[1], least_one) == 1]
        assumed = not strict and sign(case[1], least_one) == 1 and primitive(case[0]) in known
        if not assumed and not _positive(case, least_one, strict=strict):
            return None
    return "signs of coefficients, for each argument of the maximum"


def _equivalence(claim: Compare, exact: Exact, least_one: frozenset[str]) -> str | None:
    """Two inequalities are one where both are the same polynomial, in every case of the second."""
    left = normal(claim.left, exact, least_one)
    if left is None or exact.atoms:
        return None
    if left == normal(claim.right, exact, least_one):
        return "exact identity of the cleared sides"
    if not isinstance(claim.right, Cases) or claim.right.otherwise is None:
        return None
    failed: list[Poly] = []  # at most 0
    for consequence, guard in claim.right.rows:
        known = normal(guard, exact, least_one)
        if known is None or known[1] != 1:
            return None
        if not _same(left, consequence, [known[0]], failed, exact, least_one):
            return None
        failed.append(known[0])
    last = _same(left, claim.right.otherwise, [], failed, exact, least_one)
    return "exact identity of the cleared sides in every case" if last and not exact.atoms else None


def _same(
    left: tuple[Poly, int],
    right: Formula,
    above: list[Poly],
    failed: list[Poly],
    exact: Exact,
    least_one: frozenset[str],
) -> bool:
    """Whether left > 0 says the same as a consequence, where the polynomials ``above`` are above 0 and ``failed`` are not."""
    p, length = left
    vanishing = [g for g in failed if scale(g, Fraction(-1)) in failed]
    if isinstance(right, Verdict):
        if right.holds:
            return any(
                sign(rest, least_one, strict=length == 1) == 1
                for rest in _reduced(p, [scale(g, Fraction(-1)) for g in failed])
            )
        weak = [
            rest
            for rest in _reduced(p, failed)
            if sign(rest, least_one, strict=length == 2) in ((-1, 0) if length == 1 else (-1,))
        ]
        return bool(weak)
    if not isinstance(right, Compare) or right.relation not in ORDER:
        return False
    top, bottom = exact.difference(right.left, right.right)
    below = primitive(bottom)
    side = 1 if below in above else -1 if scale(below, Fraction(-1)) in above else sign(below, least_one)
    if not side:
        return False
    turned = primitive(scale(top, Fraction(side * (-1 if right.relation[0] == "<" else 1))))
    candidates = [primitive(rest) for rest in _reduced(p, [*vanishing, *(scale(g, Fraction(-1)) for g in vanishing)])]
    return len(right.relation) == length and turned in candidates


def _reduced(p: Poly, known: list[Poly]) -> list[Poly]:
    """p, and what is left of it when a positive multiple of a known polynomial is taken away that has one of its terms."""
    found = [p]
    for g in known:
        for m, c in p.items():
            for n, e in g.items():
                quotient = join(m, n, -1)
                if c / e > 0 and all(k > 0 for _, k in quotient):
                    found.append(add(p, times(g, {quotient: -c / e})))
    return found
