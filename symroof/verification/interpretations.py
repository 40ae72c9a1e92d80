"""In which ways a formula of a document may be meant, tried in turn.

A formula is accepted in the first reading in which it is proved. It is wrong where every reading that the text makes
firm is refuted, each with its counterexample; otherwise it is left out.

A condition may be one that was said before, said again: that is, or, so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from sympy import Expr

from symroof.algebra.rational import Polynomial, ratio, symbols_of
from symroof.errors import SymroofError
from symroof.formula import Compare, Gap, Group, Name, Number, Power, Product, Sum, names, nodes
from symroof.model.quantities import QUANTITIES
from symroof.proof.quotients import ORDER
from symroof.reading.claim_sets import Exercise
from symroof.reading.claims import Chain, Claim, Logic
from symroof.symbols import expression
from symroof.verification.claim_context import context_of
from symroof.verification.context import Context
from symroof.verification.intervals import is_numeric
from symroof.verification.judge import explained, judge, placed
from symroof.verification.sentence_context import Surroundings
from symroof.verification.verdicts import ACCEPTED, GOOD, Finding, Judgement, Omission, Remark

TENDING = ("~", "->")
WORKING = Product | Sum | Power | Group  # what the working of a value is made of, beside numbers


@dataclass(frozen=True)
class Passage:
    """A claim where it stands: in a context in which its names are read, behind formulas that set the names in ``equated``
    equal to something, with what is ``around`` it, and in the ``role`` that it has there. What is ``chained`` was a chain
    of several equals signs: a calculation."""

    claim: Claim
    context: Context
    equated: frozenset[str]
    around: Surroundings
    role: str = "claim"
    chained: bool = False

    @cached_property
    def place(self) -> Context:
        """The context with the sizes of the claim, and in its regime."""
        return self.context.at(self.claim.at).assuming(self.claim.regime)

    @cached_property
    def free(self) -> set[str]:
        """The names that are left once it is expanded."""
        return free_names(self.claim, self.context)

    @cached_property
    def named(self) -> set[str]:
        """The names that are written in it."""
        return {name for link in self.claim.links for name in names(link)}

    @property
    def spoken(self) -> set[str]:
        """The names of which it speaks, written or put in."""
        return self.free | self.named


@dataclass(frozen=True, slots=True)
class Reading:
    """A claim in a context. What is ``firm`` has to be refuted before the formula is wrong.

    ``offered`` are relations that the text says elsewhere, or in words: what is true under them is conditional on them.
    Then another regime that would do is not inferred; where the sentence ``supposed`` them in so many words, what is true under them is true as it stands. What is true
    in a reading that does not ``accept`` is not what the formula says, and not wrong either.
    """

    claim: Claim
    context: Context
    firm: bool = True
    offered: tuple[Compare, ...] = ()
    supposed: bool = False
    accepts: bool = True
    remarks: tuple[Remark, ...] = ()


def settled(readings: Iterable[Reading], otherwise: Omission) -> Judgement | Omission:
    """The judgement in the first reading that decides; ``otherwise`` where none does and none is firm.

    >>> from symroof.reading.claims import read_claim
    >>> from symroof.verification.claim_context import Exercise, context_of
    >>> context = context_of(Exercise())
    >>> ways = [Reading(read_claim(text, context.scope), context) for text in ("A + B = A", "A + B > A")]
    >>> settled(ways, Omission("equation")).verdict, settled(ways[:1], Omission("equation")).verdict
    ('holds', 'wrong')
    """
    inferred: Judgement | None = None
    refuted: list[tuple[Judgement, Reading]] = []
    left_open = False
    for reading in readings:
        judgement = judge(reading.claim, reading.context, explain=False)
        if not reading.accepts:
            left_open = left_open or judgement.verdict not in ("wrong", "conditional")
        elif judgement.verdict in ACCEPTED or (judgement.verdict in GOOD and reading.offered):
            return _with_remarks(judgement, reading)
        elif judgement.verdict in GOOD:
            inferred = inferred or _with_remarks(judgement, reading)
        elif reading.firm and judgement.verdict == "wrong":
            inferred = None if reading.offered else inferred
            refuted.append((judgement, reading))
        elif reading.firm:
            left_open = True
    if inferred is not None or left_open or not refuted:
        return inferred or (Omission("not_decided") if left_open else otherwise)
    # the point lies in what is supposed, and at the sizes that are said
    judgement, reading = max(refuted, key=lambda pair: (pair[1].supposed, len(pair[1].claim.at)))
    return _with_remarks(explained(judgement, placed(reading.claim, reading.context)), reading)


def _with_remarks(judgement: Judgement, reading: Reading) -> Judgement:
    """The judgement with what its reading rests on."""
    findings = tuple(_under_reading(finding, reading) for finding in judgement.findings)
    rests = reading.offered and not reading.supposed
    verdict = "conditional" if rests and judgement.verdict in GOOD else judgement.verdict
    return replace(judgement, verdict=verdict, findings=findings)


def _under_reading(finding: Finding, reading: Reading) -> Finding:
    if reading.offered and finding.needs and finding.verdict in GOOD:  # the text says a part of what it needs
        return replace(finding, verdict="conditional")
    finding = replace(finding, remarks=(*finding.remarks, *reading.remarks))
    if not reading.offered or reading.supposed or finding.verdict not in GOOD:
        return finding
    needs = tuple((*reading.offered, *more) for more in finding.needs) or (reading.offered,)
    return replace(finding, verdict="conditional", needs=needs)


def free_names(claim: Claim, place: Context) -> set[str]:
    """The names that are left once a claim is expanded."""
    return {n for link in claim.links for side in (link.left, link.right) for n in names(place.put(side))}


def steps(passage: Passage) -> Iterator[Reading]:
    """A condition that says the one before it again: that is, or, so. It is firm where the words between the two say nothing
    more, and neither is divided by what may be 0."""
    claim, context, around = passage.claim, passage.context, passage.around
    before, cue, links = around.restated_condition, around.cue, claim.links
    if before is None or cue is None or len(links) != 1 or links[0].relation not in ORDER:
        return
    letters, both = depends(before, context), (before, *links)
    regimes = (*context.relations, *(r for relations, _ in around.regimes for r in relations))
    others, small = depends(links[0], context), {name for r in regimes for name in names(r)}
    if not others or others - letters or letters - others - small or (cue.sign == "or" and _is_bound(before)):
        return  # of other letters, or two cases with a bound each
    if len(letters) == 1 and not letters & set(QUANTITIES):
        context = replace(context_of(Exercise()), least_one=frozenset(letters))
    propositions = tuple((Chain((condition.left, condition.right), (condition.relation,)),) for condition in both)
    firm = cue.alone and not any(has_poles(condition, context) for condition in both)
    same = Reading(replace(claim, text="", propositions=propositions, connectives=("<=>",)), context, firm)
    yield same
    yield from in_regimes(same, around)
    if cue.sign == "=>":  # what is weaker follows, and is not what is said again
        yield replace(same, claim=replace(same.claim, connectives=("=>",)), accepts=False)


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


def _difference(link: Compare, context: Context) -> tuple[tuple[Expr, ...], Polynomial, Polynomial]:
    """The symbols of left - right, its numerator and its denominator."""
    difference = expression(context.put(link.left)) - expression(context.put(link.right))
    symbols = symbols_of(difference)
    return (symbols, *ratio(difference, symbols))


def _is_bound(link: Compare) -> bool:
    """Whether a condition is a bound in numbers for one name."""
    return isinstance(link.left, Name) and is_numeric(link.right)


def condition_of(claim: Claim) -> Compare | None:
    """What the next formula may say again: the last condition."""
    return next((link for link in reversed(claim.links) if link.relation in ORDER), None)


def in_regimes(plain: Reading, around: Surroundings) -> Iterator[Reading]:
    """A claim that tends to something, or compares conditions, in each regime that is stated beside it."""
    claim = plain.claim
    if not (claim.connectives or any(link.relation in TENDING for link in claim.links)):
        return
    spoken = free_names(claim, plain.context)
    for relations, words in around.regimes:
        if {name for r in relations for name in names(r)} <= spoken:
            remarks = (*plain.remarks, Remark("stated", {"words": words}))
            context = plain.context.assuming(relations)
            supposed = relations in around.supposed_regimes
            yield replace(plain, context=context, offered=relations, remarks=remarks, supposed=supposed)


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


def valued(passage: Passage) -> bool:
    """Whether every name of a claim with <=> or => has a meaning here, and every side stands there and has no poles."""
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
    return relations <= {*ORDER, "="} and alike and not any(has_poles(link, place) for link in conditions)


def with_workings(left_out: Iterable[tuple[Compare, Omission]], passage: Passage) -> Iterator[tuple[Compare, Reading]]:
    """The links that are left out as values at some sizes, and are claims with their working: a quantity that is said to be
    made of products, powers and sums of the sizes of its sentence, and of whole numbers up to 16, where the sentence says
    nothing else of it."""
    sizes = {name: size for name, size in passage.around.sizes.items() if isinstance(size, Number)}
    whole = {size.value for size in sizes.values()} | {*map(Fraction, range(17))}
    for link, reason in left_out:
        parts = list(nodes(link.right))
        numbers = [part.value for part in parts if isinstance(part, Number) and part.unit is None]
        worked = len(numbers) > 1 and len(parts) == len(numbers) + sum(isinstance(part, WORKING) for part in parts)
        free = {*names(passage.context.put(link.left))}
        plain = isinstance(link.left, Name) and link.left.name in QUANTITIES and whole.issuperset(numbers)
        put = free and free <= sizes.keys() and passage.around.sized_alone and reason.kind == "at_sizes"
        if plain and put and worked:
            at = tuple((name, sizes[name]) for name in sorted(free))
            chain = Chain((link.left, link.right), (link.relation,))
            yield link, Reading(replace(passage.claim, propositions=((chain,),), at=at), passage.context)
