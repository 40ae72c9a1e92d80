"""Steps from one formula to the next: a condition that is said again, or that follows from the one before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from sympy import Expr, factor_list

from symroof.algebra.rational import Polynomial, polynomial, ratio, symbols_of
from symroof.errors import SymroofError
from symroof.formula import Compare, Gap, Name, Number, Product, names, nodes, number
from symroof.model.quantities import QUANTITIES
from symroof.proof.exact import ORDER
from symroof.reading.claims import Chain, Claim, Logic
from symroof.reading.exercises import Exercise
from symroof.symbols import expression, fraction
from symroof.verification.context import Context
from symroof.verification.definitions import context_of
from symroof.verification.enclosures import is_numeric
from symroof.verification.judgement import Omission, Remark
from symroof.verification.links import confirmed
from symroof.verification.readings import Passage, Reading, free_names
from symroof.verification.surroundings import Surroundings

TENDING = ("~", "->")


def steps(passage: Passage) -> Iterator[Reading]:
    """A condition or an equation that goes on from the one before: the same, or what follows from it.

    It is firm where the words between the two say nothing more, and both depend on the same letters: where one of them
    is gone, numbers were put in for it, or it was neglected. Words that say that both are the same are taken at their
    word; of two conditions on one letter an author means the same as well.
    """
    claim, context, around = passage.claim, passage.context, passage.around
    before, cue, links = around.going_on, around.cue, claim.links
    if before is None or len(links) != 1 or links[0].relation not in (*ORDER, "="):
        return
    (link,) = links
    letters, others = depends(before, context), depends(link, context)
    shared = set(names(before)) & set(names(link)) or letters & others
    if not shared or ("=" in (before.relation, link.relation) and not around.written.display):
        return
    alike = len(letters) == 1 and letters == others and not letters & set(QUANTITIES)
    if alike:
        context = replace(context_of(Exercise()), least_one=frozenset(letters))
    both = tuple((Chain((one.left, one.right), (one.relation,)),) for one in (before, link))
    same = replace(claim, text="", propositions=both, connectives=("<=>",))
    if cue is None:
        strict = replace(context, proofs_only=True)
        if alike and confirmed(strict.question(Compare(before, "<=>", link))):
            yield Reading(same, context)
        return
    if cue.sign == "or" and _is_bound(before):  # two cases, each with its own bound
        return
    explained = not letters & set(QUANTITIES) or letters | others <= set(QUANTITIES)
    growing = {name for r in context.relations for name in names(r)}
    gone = letters - others
    typed = {name: size for name, size in around.sizes.items() if size is not None}
    if gone and others < letters and gone <= set(typed):
        explained = explained and passage.sizes_alone(gone)
        same, gone = replace(same, at=tuple((name, typed[name]) for name in sorted(gone))), frozenset()
    poles = has_poles(before, context) or has_poles(link, context)
    firm = cue.alone and explained and not poles and others <= letters and gone <= growing
    only_same = cue.sign != "=>" or alike
    for sign in ("<=>",) if only_same else ("=>", "<=>"):
        plain = Reading(replace(same, connectives=(sign,)), context, firm)
        yield plain
        if _counts(link):  # u <= 16.6, so u <= 16
            whole = replace(context, least_one=context.least_one | {*names(link.left)})
            yield replace(plain, context=whole, firm=False)
        yield from in_regimes(plain, around)
    if alike and cue.sign == "=>":  # what is weaker follows, and is not what is meant
        yield Reading(replace(same, connectives=("=>",)), context, accepts=False)


def depends(link: Compare, context: Context) -> frozenset[str]:
    """The letters that make a link true or false: not those that are a factor of both sides.

    >>> from symroof.reading.claims import read_claim
    >>> context = context_of(Exercise())
    >>> sorted(depends(read_claim("4BDF/(YC) > 4BD/W", context.scope).links[0], context))
    ['C', 'F', 'W', 'Y']
    """
    try:
        symbols, above, _ = _difference(link, context)
    except (SymroofError, ArithmeticError):
        return frozenset((*names(context.put(link.left)), *names(context.put(link.right))))
    varying = (s for i, s in enumerate(symbols) if len({exponents[i] for exponents in above}) > 1)
    return frozenset(str(s) for s in varying)


def has_poles(link: Compare, context: Context) -> bool:
    """Whether a side may be divided by 0 at positive sizes, as n > F/(F - 240) is: authors mean those sizes where it is not.

    >>> from symroof.reading.claims import read_claim
    >>> context = context_of(Exercise())
    >>> [has_poles(read_claim(text, context.scope).links[0], context) for text in ("N > F/(F - 240)", "N > F/(F + 240)")]
    [True, False]
    """
    try:
        _, _, below = _difference(link, context)
    except (SymroofError, ArithmeticError):
        return False
    return len({coefficient > 0 for coefficient in below.values()}) > 1


def poles(link: Compare, context: Context) -> Iterator[Compare | None]:
    """Beyond which sizes a link has no poles; None where one is no number of one name.

    >>> from symroof.reading.claims import read_claim
    >>> context = context_of(Exercise())
    >>> [str(bound and bound.right.value) for bound in poles(read_claim("h < 9 k/(2t - 2)", context.scope).links[0], context)]
    ['1']
    """
    if not has_poles(link, context):
        return
    symbols, _, below = _difference(link, context)
    factors = factor_list(polynomial(below, symbols))[1]
    for factor, _ in factors:
        letters = sorted(factor.free_symbols, key=str)
        if len(letters) == 1 and _is_linear(factor, letters[0]):
            root = -factor.subs(letters[0], 0) / factor.diff(letters[0])
            if root > 0:
                yield Compare(Name(str(letters[0])), ">", number(fraction(root)))
        else:
            yield None


def _is_linear(value: Expr, x: Expr) -> bool:
    return not value.diff(x).has(x)


def _difference(link: Compare, context: Context) -> tuple[tuple[Expr, ...], Polynomial, Polynomial]:
    """The symbols of left - right, its numerator and its denominator."""
    difference = expression(context.put(link.left)) - expression(context.put(link.right))
    symbols = symbols_of(difference)
    return (symbols, *ratio(difference, symbols))


def _counts(link: Compare) -> bool:
    """Whether a condition bounds one name by a whole number, as where things are counted."""
    bound = link.right
    return isinstance(link.left, Name) and isinstance(bound, Number) and bound.value.denominator == 1


def _is_bound(link: Compare) -> bool:
    """Whether a condition is a bound in numbers for one name."""
    return isinstance(link.left, Name) and is_numeric(link.right)


def condition_of(claim: Claim) -> Compare | None:
    """What the next formula may go on from: the last condition, or an equation."""
    links = claim.links
    return next((link for link in reversed(links) if link.relation in ORDER), None) or next(
        (link for link in reversed(links) if link.relation == "=" and names(link)), None
    )


def in_regimes(plain: Reading, around: Surroundings) -> Iterator[Reading]:
    """A claim that tends to something, or compares conditions, in each regime that is stated beside it."""
    claim = plain.claim
    if not (claim.connectives or any(link.relation in TENDING for link in claim.links)):
        return
    spoken = free_names(claim, plain.context)
    for relations, words in around.regimes:
        if {name for r in relations for name in names(r)} <= spoken:
            told = (*plain.remarks, Remark("stated", {"words": words}))
            stated = (relations, words) in around.stated
            context = plain.context.assuming(relations)
            supposed = relations in around.supposed_regimes
            yield replace(plain, context=context, offered=relations, remarks=told, stated=stated, supposed=supposed)


def without_values(claim: Claim) -> Claim:
    """A claim on conditions without the numbers that bounds are said to come to."""
    propositions = tuple(
        tuple(replace(c, sides=c.sides[:2], relations=c.relations[:1]) if comes_to(c) else c for c in proposition)
        for proposition in claim.propositions
    )
    return replace(claim, propositions=propositions)


def comes_to(chain: Chain | Logic) -> bool:
    """Whether a condition says what its bound comes to: B > C/W ~ 240."""
    relations = chain.relations
    tail = (
        len(relations) > 1 and relations[0] in ORDER and {*relations[1:]} <= {"=", "~"} and is_numeric(chain.sides[-1])
    )
    return tail and any(map(names, chain.sides[1:]))  # B > 9850/41 = 240 is judged as it stands


def valued(passage: Passage, *, beyond: bool = False) -> bool:
    """Whether every name of a claim with <=> or => has a meaning here, and every side stands there; ``beyond`` its poles."""
    claim, place = passage.claim, passage.place
    if any(isinstance(side, Gap) for chain in claim.chains for side in chain.sides):
        return False
    free, relations = free_names(claim, place), {link.relation for link in claim.links}
    conditions = [link for link in claim.links if link.relation in ORDER or len(claim.links) == 2]
    if place.setting is not None:
        return not free & {"peak", "bandwidth"} and relations <= {*ORDER, "=", "~", "->"}
    if free & set(QUANTITIES):
        return free <= set(QUANTITIES) and relations <= set(ORDER)
    alike = len({depends(link, place) for link in conditions}) == 1
    return relations <= {*ORDER, "="} and alike and (beyond or not any(has_poles(link, place) for link in conditions))


def beyond_poles(passage: Passage) -> Passage | None:
    """The passage where its conditions have no poles: t > 1, where something is divided by t - 1. None where that is not
    one bound for each letter."""
    bounds = [bound for link in passage.claim.links for bound in poles(link, passage.place)]
    if not bounds or None in bounds:
        return None
    assumed = tuple(dict.fromkeys(bound for bound in bounds if bound is not None))
    return replace(passage, context=passage.context.assuming(assumed))


def with_workings(left_out: Iterable[tuple[Compare, Omission]], passage: Passage) -> Iterator[tuple[Compare, Reading]]:
    """The links that are left out as values at some sizes, and are claims with their working."""
    for link, reason in left_out:
        if reason.kind == "at_sizes" and (reading := _with_its_working(link, passage)) is not None:
            yield link, reading


def _with_its_working(link: Compare, passage: Passage) -> Reading | None:
    """A quantity that is said to be a product of the sizes of its sentence, and of whole numbers up to 16: a claim, where
    the sentence says nothing else of it."""
    sizes = {name: size for name, size in passage.around.sizes.items() if isinstance(size, Number)}
    factors = list(nodes(link.right)) if isinstance(link.right, Product | Number) else []
    numbers = [factor.value for factor in factors if isinstance(factor, Number) and factor.unit is None]
    known = {size.value for size in sizes.values() if isinstance(size, Number)} | {*map(Fraction, range(17))}
    free = {*names(passage.context.put(link.left))}
    plain = isinstance(link.left, Name) and link.left.name in QUANTITIES and known.issuperset(numbers)
    if not (
        plain and len(numbers) >= len(factors) - 1 > 0 and free and free <= sizes.keys() and passage.around.sized_alone
    ):
        return None
    at = tuple((name, sizes[name]) for name in sorted(free))
    chain = Chain((link.left, link.right), (link.relation,))
    return Reading(replace(passage.claim, propositions=((chain,),), at=at), passage.context)
