"""Propositions settled by the second engine: proved on the whole domain, refuted at a point, or left open.

A proposition is an equation, an order, an equivalence, or any combination of them with :class:`Both` and
:class:`Either`. Its formulas are over names; those in ``least_one`` are at least 1, all others above 0. Most are
settled by reading: cross-multiplication, signs of coefficients, an assumption put in, a solution read backwards. z3 is
asked last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from operator import ne

from symroof.errors import AlgebraError, CheckError
from symroof.formula import MIRRORED, Both, Cases, Compare, Either, Formula, Frozen, Name, Verdict, number
from symroof.proof.polynomials import Poly, Rat, join
from symroof.proof.prover import OF_CLAIMS, Prover
from symroof.proof.quotients import ORDER, Quotients
from symroof.proof.whole_numbers import WholeSizes

NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
Facts = tuple[Formula, ...]


class Decision(Frozen):
    """Whether a proposition is true, None where that is open; ``point`` is a candidate for a counterexample, unconfirmed."""

    truth: bool | None
    by: str = ""
    point: Mapping[str, Fraction] | None = None


OPEN = Decision(None)


def negated(formula: Formula) -> Formula:
    """The proposition that holds exactly where this one does not."""
    match formula:
        case Verdict(holds=holds):
            return Verdict(not holds)
        case Compare(left=left, relation="=", right=right):
            return Either((Compare(left, "<", right), Compare(left, ">", right)))
        case Compare(left=left, relation=relation, right=right) if relation in NEGATED:
            return Compare(left, NEGATED[relation], right)
        case Both(parts=parts):
            return Either(tuple(map(negated, parts)))
        case Either(parts=parts):
            return Both(tuple(map(negated, parts)))
    raise CheckError(f"{type(formula).__name__} is not negated")


def without_cases(formula: Formula) -> Formula:
    """A condition by cases as one that joins them: "if G; never otherwise" is *and G*, "if G; always otherwise" *or not G*.

    >>> from symroof.formula import Name
    >>> b, d, f = map(Name, "BDF")
    >>> beyond, guard = Compare(b, ">", d), Compare(d, ">", f)
    >>> without_cases(Cases(((beyond, guard),), Verdict(True))) == Either((beyond, Compare(d, "<=", f)))
    True
    """
    if not isinstance(formula, Cases):
        return formula
    rows: list[Formula] = []
    outside: tuple[Formula, ...] = ()
    for then, guard in formula.rows:
        conditions = (guard, *(before for before in outside if not _follows(guard, before)))
        outside += (negated(guard),)
        if then != Verdict(False):
            rows.append(Both((*(() if then == Verdict(True) else (then,)), *conditions)))
    rest = formula.otherwise
    if rest == Verdict(True) and len(formula.rows) == 1 and formula.rows[0][0] != Verdict(False):
        return Either((formula.rows[0][0], *outside))  # beyond, or where the guard does not hold
    if rest is not None and rest != Verdict(False):
        rows.append(Both((*(() if rest == Verdict(True) else (rest,)), *_joined_to_equalities(outside))))
    flat = tuple(_flat(row) for row in rows)
    return flat[0] if len(flat) == 1 else Either(flat) if flat else Verdict(False)


def _follows(guard: Formula, other: Formula) -> bool:
    """Whether ``D <= F`` says no more than ``D < F`` or ``F > D`` does beside it."""
    strict = {"<=": "<", ">=": ">"}
    if not (isinstance(guard, Compare) and isinstance(other, Compare)):
        return False
    implied = replace(other, relation=strict.get(other.relation, other.relation))
    return guard in (implied, implied.mirrored)


def _joined_to_equalities(outside: tuple[Formula, ...]) -> tuple[Formula, ...]:
    """``D = F`` for ``D <= F`` and ``F <= D``, in the place of the first."""
    result: list[Formula] = []
    for condition in outside:
        match condition:
            case Compare(left=left, relation="<=" | ">=" as relation, right=right):
                converse = Compare(left, MIRRORED[relation], right)
                place = next((i for i, other in enumerate(result) if other in (converse, converse.mirrored)), None)
                if place is not None:
                    result[place] = Compare(left, "=", right)
                    continue
        result.append(condition)
    return tuple(result)


def _flat(row: Formula) -> Formula:
    parts = tuple(_flattened(row)) if isinstance(row, Both) else (row,)
    return parts[0] if len(parts) == 1 else Both(parts)


def _flattened(both: Both) -> Iterator[Formula]:
    for part in both.parts:
        yield from _flattened(part) if isinstance(part, Both) else (part,)


def decide(claim: Formula, least_one: frozenset[str], facts: Iterable[Formula] = ()) -> Decision:
    """Decide a proposition on the whole domain.

    >>> from symroof.formula import Name, Sum
    >>> b, d = Name("B"), Name("D")
    >>> decide(Compare(Sum((b, d)), ">", b), frozenset("BD"))
    Decision(truth=True, by='signs of coefficients', point=None)
    """
    facts, exact = tuple(facts), Quotients(least_one=least_one)
    try:
        by = direct_proof(claim, exact, facts)
        return Decision(True, by) if by else search(claim, exact, facts, OF_CLAIMS)
    except (CheckError, AlgebraError, RecursionError):
        return OPEN


def decide_for_whole_sizes(claim: Formula, least_one: frozenset[str], size: str, admitted: WholeSizes) -> bool:
    """Whether a proposition holds for every whole number that a size may be, of which there has to be one.

    >>> from symroof.formula import Name, number
    >>> b = Name("B")
    >>> same = Compare(Compare(b, ">", number(255)), "<=>", Compare(b, ">=", number(256)))
    >>> decide(same, frozenset("B")).truth, decide_for_whole_sizes(same, frozenset("B"), "B", WholeSizes())
    (None, True)
    """
    if admitted.those is not None:
        at = ((Compare(Name(size), "=", number(n)),) for n in admitted.those)
        return bool(admitted.those) and all(decide(claim, least_one, facts).truth is True for facts in at)
    with suppress(CheckError, AlgebraError, RecursionError):
        return Prover(Quotients(least_one=least_one), (), {size: admitted.each}).decide(claim) is True
    return False


def search(claim: Formula, exact: Quotients, facts: Facts, work: int | None = None) -> Decision:
    """What z3 says. An identity is none of its questions, unless there are functions or facts to know of."""
    if isinstance(claim, Compare) and claim.relation == "=" and not exact.atoms and not facts:
        return OPEN
    answer = Prover(exact, facts, work=work).decide(claim)
    if answer is True:
        return Decision(True, "z3")
    return Decision(None, "z3", answer) if isinstance(answer, dict) else OPEN


def direct_proof(claim: Formula, exact: Quotients, facts: Facts) -> str | None:
    """By what a proposition is proved without a search, or None."""
    match claim:
        case Compare(relation="="):
            return _identity(claim, exact, facts)
        case Compare(left=Compare() as left, relation="<=>", right=Verdict(holds=holds)):
            return direct_proof(left if holds else negated(left), exact, facts)
        case Compare(relation="<=>"):
            return _equivalence(claim, exact) or _one_crossing(claim, exact, facts)
        case Compare(relation=relation) if relation in ORDER:
            return _order(claim, exact, facts)
    return None


def _identity(claim: Compare, exact: Quotients, facts: Facts) -> str | None:
    """Cross-multiplication; and that what is divided by is not 0."""
    gap = exact.difference(claim.left, claim.right)
    if not gap.is_zero():
        return None
    apart = _is_apart(gap, exact, facts)
    if not apart or not _have_values(exact):
        prover = Prover(exact, facts)
        if exact.atoms and not prover.defined():
            return None
        apart = apart or prover.apart_from_zero(gap.below)
    return "exact identity" if apart else "identity where the denominators are not 0"


def _have_values(exact: Quotients) -> bool:
    """Whether every function that was met is a maximum or minimum of what has a value."""
    functions = exact.atoms.values()
    return all(f in ("max", "min") and all(exact.sign(part.below) for part in parts) for f, parts in functions)


def _is_apart(value: Rat, exact: Quotients, facts: Facts) -> bool:
    """Whether a denominator is not 0: each factor is what is above 0 by assumption, times what has a sign."""
    guards = [
        normal[0] for fact in facts if (normal := exact.normal(fact)) is not None and normal[1] and normal[0].names
    ]

    def is_apart(factor: Poly) -> bool:
        for guard in guards:
            while (rest := factor.over(guard)) is not None:
                factor = rest
        return bool(exact.sign(factor))

    return all(map(is_apart, dict.fromkeys(value.divisors))) or bool(exact.side(value))


def _order(claim: Compare, exact: Quotients, facts: Facts) -> str | None:
    gap, strict = exact.difference(claim.left, claim.right), len(claim.relation) == 1
    if claim.relation[0] == "<":
        gap = -gap
    if exact.atoms:
        return _order_with_a_maximum(gap, exact, strict=strict)
    if exact.is_positive(gap, strict=strict):
        return "signs of coefficients"
    goal, assumed = exact.normal(claim), [exact.normal(fact) for fact in facts]
    if goal is not None and (goal in assumed or (goal[0], True) in assumed):
        return "exact identity with an assumption"
    shifted = _with_lower_bounds(gap, exact, facts)
    if shifted and all(exact.is_positive(sides, strict=strict) for sides in shifted):
        return "an assumption put in, signs of coefficients"
    return None


def _with_lower_bounds(gap: Rat, exact: Quotients, facts: Facts) -> tuple[Rat, ...]:
    """The quotient with e + x' for every x that is at least e by assumption: with x' above 0, and with x' = 0."""
    inside, edge, shifted = gap, gap, False
    for fact in facts:
        if not (isinstance(fact, Compare) and fact.relation in (">=", ">") and isinstance(fact.left, Name)):
            continue
        name, least = fact.left.name, exact.rational(fact.right)
        beyond = Rat(Poly.name(f"{name}'"))
        if name not in exact.definitions and not least.below.names and not {name, f"{name}'"} & least.names:
            inside, edge, shifted = inside.put(name, least + beyond), edge.put(name, least), True
    return (inside, edge) if shifted else ()


def _order_with_a_maximum(sides: Rat, exact: Quotients, *, strict: bool) -> str | None:
    """An order with one maximum or minimum in it, for each of its arguments in turn."""
    used = [atom for atom in exact.atoms if atom in sides.above.names]
    if len(used) != 1 or used[0] in sides.below.names or exact.atoms[used[0]][0] not in ("max", "min"):
        return None
    function, arguments = exact.atoms[used[0]]
    if not all(exact.sign(argument.below) for argument in arguments):
        return None
    for largest in arguments:
        case = sides.put(used[0], largest)
        if case.names & exact.atoms.keys():
            return None
        # where this one is the largest, it is at least each of the others
        gaps = [exact.cleared(largest - other if function == "max" else other - largest) for other in arguments]
        assumptions = [gap.primitive() for gap in gaps if gap is not None]
        assumed = not strict and exact.sign(case.below) == 1 and case.above.primitive() in assumptions
        if not assumed and not exact.is_positive(case, strict=strict):
            return None
    return "signs of coefficients, for each argument of the maximum"


def _equivalence(claim: Compare, exact: Quotients) -> str | None:
    """Two inequalities are one where both are the same polynomial, in every case of the second."""
    left = exact.normal(claim.left)
    if left is None or exact.atoms:
        return None
    if left == exact.normal(claim.right):
        return "exact identity of the cleared sides"
    if not isinstance(claim.right, Cases) or claim.right.otherwise is None:
        return None
    failed: list[Poly] = []  # at most 0
    for consequence, guard in claim.right.rows:
        positive = exact.normal(guard)
        if positive is None or not positive[1] or not _is_same_condition(left, consequence, positive[0], failed, exact):
            return None
        failed.append(positive[0])
    last = _is_same_condition(left, claim.right.otherwise, None, failed, exact)
    return "exact identity of the cleared sides in every case" if last and not exact.atoms else None


def _one_crossing(claim: Compare, exact: Quotients, facts: Facts) -> str | None:
    """Two inequalities in one size are one outside of a band where the coefficients of the first change sign once, so that it
    has one positive root (Descartes), the second is linear, and both have the same two signs at the ends of the band."""
    left, right = exact.normal(claim.left), exact.normal(claim.right)
    match [fact for fact in facts if isinstance(fact, Either)]:
        case [Either(parts=(Compare(Name(x), "<", low), Compare(Name(y), ">", high)))] if x == y and left and right:
            (p, _), (q, _), ends = left, right, [exact.rational(end).constant for end in (low, high)]
            if not p.names == q.names == {x} or q.degree(x) != 1:
                return None
            signs = [part.at({}) > 0 for _, part in sorted(p.in_powers_of(x).items())]
            above = sorted(tuple(side.at({x: end}) > 0 for side in (p, q)) for end in ends if end is not None)
            if above == [(False, False), (True, True)] and sum(map(ne, signs, signs[1:])) == 1:
                return "one sign change of the coefficients"
    return None


def _is_same_condition(
    left: tuple[Poly, bool], right: Formula, guard: Poly | None, failed: list[Poly], exact: Quotients
) -> bool:
    """Whether left > 0 says the same as a consequence, where the guard is above 0 and the ``failed`` are not."""
    p, strict = left
    if isinstance(right, Verdict):
        goal, strict = (p, strict) if right.holds else (-p, not strict)
        rests = _without_multiples(goal, [-g for g in failed])
        return any(exact.is_positive(Rat(rest), strict=strict) for rest in rests)
    if not isinstance(right, Compare) or right.relation not in ORDER:
        return False
    gap = exact.difference(right.left, right.right)
    below = gap.below.primitive()
    side = 1 if below == guard else -1 if -below == guard else exact.sign(below)
    if not side:
        return False
    turned = gap.above * Fraction(side * (-1 if right.relation[0] == "<" else 1))
    vanishing = [g for g in failed if -g in failed]
    candidates = (rest.primitive() for rest in _without_multiples(p, [*vanishing, *(-g for g in vanishing)]))
    return (len(right.relation) == 1) == strict and turned.primitive() in candidates


def _without_multiples(p: Poly, others: list[Poly]) -> list[Poly]:
    """p, and what is left of it when a positive multiple of a known polynomial is taken away that has one of its terms."""
    result = [p]
    for g in others:
        for m, c in p.items():
            for n, e in g.items():
                quotient = join(m, n, -1)
                if c / e > 0 and all(k > 0 for _, k in quotient):
                    result.append(p - g * Poly({quotient: c / e}))
    return result
