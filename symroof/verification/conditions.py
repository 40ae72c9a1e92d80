"""Conditions: P <=> Q, P => Q, and what holds always or never.

P <=> Q is accepted where, in this order, and with P and Q exchanged as well,

    (i)    both are the same set over the whole domain
    (ii)   in the regime, with the unknown x of Q held constant, the bound of P put into the left side of Q tends to
           the right side of Q, in the same direction; or the ratio of P tends to one that says the same as Q
    (iii)  both are the same whole numbers, where x is a size and the bounds are numbers
    (iv)   the printed bound is the true one, rounded; or both are the same set with the ridge, or with what
           another resource has in its place, for each number that rounds it

and it is conditional where (ii) to (iv) hold in a regime that nobody stated. P => Q is accepted where P <=> Q is, and
where the bound of P lies beyond that of Q. It is vacuous where P cannot be true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial

from symroof.algebra.regime import Regime
from symroof.derivation.draft import written
from symroof.errors import AlgebraError, CheckError
from symroof.formula import (
    Both,
    Call,
    Cases,
    Compare,
    Either,
    Formula,
    Group,
    Name,
    Number,
    Quotient,
    Sum,
    Verdict,
    mapped,
    names,
    nodes,
    number,
)
from symroof.proof.ledger import RefutedError
from symroof.proof.polynomials import Poly
from symroof.proof.propositions import OPEN, Settled, negated, settle_whole
from symroof.proof.quotients import ORDER, Exact
from symroof.proof.step import Check
from symroof.reading.scope import is_opaque
from symroof.verification.asymptotics import joined
from symroof.verification.bounds import by_bound, by_implication, by_ratio, possible_regimes
from symroof.verification.budget import attempted
from symroof.verification.context import Context, Question
from symroof.verification.counterexamples import Move, Point, witness
from symroof.verification.enclosures import Enclosure, enclosed
from symroof.verification.judgement import IN_NUMBERS, Finding, Remark, undecided
from symroof.verification.literals import bounds_alike, precise, rounding
from symroof.verification.unit_agreement import unit_of
from symroof.verification.unknowns import Unknown, unknown_of

Failure = AlgebraError | CheckError
# P <=> Q one way round, and P solved for the unknown of Q.
# Parts of an edge: on it, and beside it.
BESIDE = (Fraction(1), Fraction(499, 500), Fraction(501, 500))
Reading = tuple[Question, Unknown | None]


def condition(links: Iterable[Compare]) -> Formula:
    """All of the links at once; each has to be one that is true or false at a point."""
    links = tuple(links)
    for link in links:
        if link.relation not in (*ORDER, "="):
            raise AlgebraError(f"{link.relation} is no condition", expected="=, <, <=, > or >=")
    return links[0] if len(links) == 1 else Both(links)


def equivalent(question: Question) -> Finding | None:
    """P <=> Q or P => Q: over the domain, by its bound, in a regime that is missing, in one direction, or not at all."""
    link, context, claimed = question.link, question.context, _proposition(question)
    settled = OPEN if context.proofs_only and context.growing else context.settled(claimed)  # there the bound decides
    if settled.truth:
        return Finding(link, "holds", Check("proved", settled.by), remarks=_vacuous(question))
    readings, reason = _readings(question)
    for attempt in _attempts(readings, context, refuted=settled.truth is False and not context.regime.scaling):
        try:
            finding = attempt()
        except RefutedError:
            raise
        except (AlgebraError, CheckError) as error:
            reason = reason or error
            continue
        if finding is not None:
            return replace(finding, link=link)
    for exact in (_over_whole_numbers(question, claimed), _unrounded(question)):
        if exact is not None:
            return exact
    return None if context.proofs_only else _refuted(question, readings, settled, reason)


def _over_whole_numbers(question: Question, claimed: Formula) -> Finding | None:
    """Where one size alone is open and its bounds are whole, both conditions are looked at for every whole number that it
    may be. A bound with decimals says that it was worked out to them: ``B > 129.35`` is not ``B > 129.48``."""
    context = question.context
    free = {name for side in (question.left, question.right) for name in names(side)}
    link = question.link
    decimals = any(
        isinstance(n, Number) and n.value.denominator > 1 for side in (link.left, link.right) for n in nodes(side)
    )
    if decimals or len(free) != 1 or not free <= context.least_one or context.proofs_only:
        return None
    (size,) = free
    if not settle_whole(claimed, context.least_one, size, context.admitted(size)):
        return None
    return Finding(link, "holds", Check("proved", "z3 over whole numbers"))


def _unrounded(question: Question) -> Finding | None:
    """With numbers that are ridges, rounded: each is the one that it rounds."""
    link, context = question.link, question.context
    setting = context.setting
    if setting is None or setting.peak is None or context.proofs_only:
        return None
    ridges = [setting.peak.value / one.value for one in setting.figures.values() if one.unit == "bytes/s"]
    right, remarks = link.right, []
    for literal in dict.fromkeys(precise(link.right)):
        for ridge in ridges:
            rounded = rounding(Enclosure(ridge, ridge), literal)
            if rounded is not None and bounds_alike(rounded):
                right = _replaced(right, literal, ridge)
                remarks.append(rounded)
                break
    exact = replace(question, right=context.put(right))
    by = _part_by_part(exact) or (_told(_proposition(exact), context) if remarks else None)
    return Finding(link, "rounded" if remarks else "holds", Check("proved", by), remarks=tuple(remarks)) if by else None


def _part_by_part(question: Question) -> str | None:
    """By what P <=> Q is proved where P says several things at once, as a > max(b, c) does, and Q the same things, in any
    order, some with a guard; None elsewhere.

    What of Q follows from one thing that P says is all that may say the same; so each thing has one candidate.
    """
    left, right = _conjuncts(question.left), _conjuncts(question.right)
    if question.link.relation != "<=>" or not len(right) > 1 < len(left):
        return None
    told, by = set[int](), None
    for p in left:
        said = [i for i, part in enumerate(right) if _settled_that(p, part, question.context).truth]
        one, *guards = sorted((right[i] for i in said), key=lambda part: not _divides(part)) or [Verdict(True)]
        q = Cases(((one, Both(tuple(guards))),), Verdict(False)) if guards else one
        by = _told(Compare(p, "<=>", q), question.context)
        if by is None:
            return None
        told |= set(said)
    return by if len(told) == len(right) else None


def _divides(condition: Formula) -> bool:
    """Whether it is by a sum that something is divided, which may be 0 where a guard does not hold."""
    below = (node.below for node in nodes(condition) if isinstance(node, Quotient))
    return any(isinstance(node, Sum) for one in below for node in nodes(one))


def _settled_that(p: Formula, q: Formula, context: Context) -> Settled:
    """What is known of P => Q; nothing of cases, which are not negated."""
    with suppress(CheckError):
        return context.settled(Either((negated(p), q)))
    return OPEN


def _told(claim: Formula, context: Context) -> str | None:
    """By what the second engine proves a proposition."""
    settled = context.settled(claim)
    return settled.by if settled.truth else None


def _conjuncts(condition: Formula) -> list[Formula]:
    """What a condition says, one thing after the other: of a > max(b, c) that a > b, and that a > c."""
    match condition:
        case Both(parts=parts):
            return [one for part in parts for one in _conjuncts(part)]
        case Compare(left=Group(body=body), relation=relation, right=other):
            return _conjuncts(Compare(body, relation, other))
        case Compare(left=other, relation=relation, right=Group(body=body)):
            return _conjuncts(Compare(other, relation, body))
        case Compare(left=more, relation=">" | ">=" as relation, right=Call(function="max", arguments=arguments)):
            return [one for less in arguments for one in _conjuncts(Compare(more, relation, less))]
        case Compare(left=Call(function="max", arguments=arguments), relation="<" | "<=" as relation, right=more):
            return [one for less in arguments for one in _conjuncts(Compare(less, relation, more))]
    return [condition]


def _replaced(condition: Formula, literal: Number, value: Fraction) -> Formula:
    return mapped(condition, lambda node: number(value) if node == literal else node)


def _vacuous(question: Question) -> tuple[Remark, ...]:
    """That P cannot be true, so that P => Q says nothing."""
    never = (
        isinstance(question.link.left, Compare)
        and not isinstance(question.right, Verdict)
        and question.context.settled(negated(question.left)).truth
    )
    return (Remark("vacuous", {"condition": question.link.left}),) if never else ()


def _readings(question: Question) -> tuple[tuple[Reading, ...], Failure | None]:
    """P <=> Q as it stands and turned round; the longer one solved for the unknown of the other; and why it was not."""
    link, reason, readings = question.link, None, []
    back = Compare(link.right, link.relation, link.left)
    for one in (question, replace(question, link=back, left=question.right, right=question.left)):
        try:
            longer = _length(one.left) >= _length(one.right)
            readings.append((one, unknown_of(one) if longer else None))
        except RefutedError:
            raise
        except (AlgebraError, CheckError) as error:
            readings.append((one, None))
            reason = reason or error
    return tuple(readings), reason


def _length(formula: Formula) -> int:
    return sum(1 for _ in nodes(formula))


def _attempts(
    readings: Iterable[Reading], context: Context, *, refuted: bool
) -> Iterator[Callable[[], Finding | None]]:
    """The ways in which P <=> Q, and so P => Q, may be right, one after the other. What is ``refuted`` at real sizes may
    be right of whole ones, or rounded; one bound beyond the other is neither."""
    (question, solved), (_, other) = readings
    for one, unknown in readings:
        yield partial(_in_regime, one, unknown, context.regime, turned=one is not question)
    if context.proofs_only:
        return
    if question.link.relation == "<=>":
        yield from (partial(_inferred, one, unknown, turned=one is not question) for one, unknown in readings)
    elif not refuted:
        yield from (partial(by_implication, one, explicit_first=one is other) for one in (solved, other) if one)


def _in_regime(question: Question, unknown: Unknown | None, regime: Regime, *, turned: bool) -> Finding | None:
    """The bounds of one symbol compared in the regime, or both conditions as ratios.

    Of two conditions in print the first is the true one, so that ``B >= 240 <=> B > 240.24`` is not read backwards.
    """
    finding = None if unknown is None else by_bound(unknown, regime)
    finding = finding or by_ratio(question, regime)
    rounded = finding is not None and finding.verdict == "rounded"
    return None if rounded and turned and _in_print(question.link, question.context) else finding


def _in_print(formula: Formula, context: Context) -> bool:
    """Whether no name of a condition stands for anything: what it says is all there is to know."""
    return not any(name in context.definitions for name in names(formula))


def _inferred(question: Question, unknown: Unknown | None, *, turned: bool) -> Finding | None:
    """The same in a regime that nobody stated, with no relation too many."""
    context = question.context
    for relations in possible_regimes(question):
        with attempted():  # what is missing may contradict what is stated
            finding = _in_regime(question, unknown, joined(context.regime, relations), turned=turned)
            if finding is not None:
                needs = tuple(sorted(written(relations, context.layout.write), key=str))
                return replace(finding, verdict="conditional", needs=(needs,))
    return None


def _refuted(question: Question, readings: Iterable[Reading], settled: Settled, reason: Failure | None) -> Finding:
    """Wrong at a point that is typical of the regime; undecided where none was found."""
    link, context = question.link, question.context
    words = [set(filter(is_opaque, names(side))) for side in (question.left, question.right)]
    if words[0] != words[1]:  # nothing is said of what one side alone speaks of
        return undecided(link, "no_proof")
    unknowns = [unknown for _, unknown in readings if unknown is not None]
    held = {unknown.x.name for unknown in unknowns}
    growing = [r for r in context.growing if set(names(r)) - held]
    offered = [settled.point] if settled.point else []
    moves = [*(unknown.parting for unknown in unknowns), _to_the_edges(question)]
    value = _right_value(question, readings)
    if value is not None and (alike := _alike_in_whole_numbers(question, value)) is not None:
        return alike
    shown = witness(_proposition(question), context, offered, growing, moves)
    if shown is None:
        return undecided(link, "not_decided", why=reason.problem) if reason else undecided(link, "no_proof")
    if link.relation == "=>":
        shown = replace(shown, left=True, right=False)
    if isinstance(question.right, Verdict):
        shown = replace(shown, left=not question.right.holds, right=question.right.holds)
    shown = replace(shown, parts=_parts(question, shown.values))
    whole = _in_whole_numbers(value, context)
    whole = whole if whole is not None and _is_in_whole_numbers(value, whole, context) else None
    return Finding(link, "wrong", IN_NUMBERS, value, counterexample=shown, whole=whole)


def _alike_in_whole_numbers(question: Question, value: Formula) -> Finding | None:
    """Where what one condition should say is met by the same numbers of chips, or sizes that they share out, as what it
    says."""
    sides = [side for side in (question.left, question.right) if {*names(side)} == {*names(value)}]
    if question.link.relation != "<=>" or len(sides) != 1 or not question.context.shares_out:
        return None
    claim = Compare(value, "<=>", sides[0])
    return _over_whole_numbers(replace(question, left=value, right=sides[0]), claim)


def _in_whole_numbers(value: Formula | None, context: Context) -> Compare | None:
    """A bound on a size, by the last one on its side of the whole numbers that are left to it."""
    if not (isinstance(value, Compare) and isinstance(x := value.left, Name) and x.name in context.least_one):
        return None
    edge = None if value.relation not in ORDER or names(value.right) else enclosed(value.right)
    if edge is None or not edge.exact:
        return None
    last = context.admitted(x.name).last(value.relation, edge.low)
    return Compare(x, value.relation[0] + "=", number(last)) if last else None


def _is_in_whole_numbers(value: Formula | None, whole: Compare, context: Context) -> bool:
    """Whether the second engine finds both met by the same whole numbers that are left to the size."""
    x = str(getattr(whole.left, "name", ""))
    return value is not None and settle_whole(Compare(value, "<=>", whole), context.least_one, x, context.admitted(x))


def _right_value(question: Question, readings: Iterable[Reading]) -> Formula | None:
    """What one of the conditions should say, proved to be what the other one says: that in which names stand for something,
    if one alone does; in print the first is the true one."""
    link, context = question.link, question.context
    first, second = (_in_print(side, context) for side in (link.left, link.right))
    for one, solved in readings:
        if (first or second) and (one is question) is (first and not second):
            continue
        with suppress(AlgebraError, CheckError):
            unknown = solved or unknown_of(one)
            value = None if unknown is None else unknown.right_value()
            if value is not None and _says_the_same(one, value):
                return value
    return None


def _says_the_same(question: Question, value: Formula) -> bool:
    """Whether P <=> value, everywhere or in the regime."""
    context = question.context
    if _told(Compare(question.left, "<=>", value), context):
        return True
    said = replace(question, link=Compare(question.link.left, "<=>", value), right=value)
    proved = equivalent(replace(said, context=replace(context, proofs_only=True)))
    return proved is not None and proved.verdict in ("holds", "rounded")


def _to_the_edges(question: Question) -> Move:
    """The move of a point to where one of the things that the conditions say turns, along each size, and on both sides."""
    parts = (part for side in (question.left, question.right) for part in _conjuncts(side))
    sides = [(part.left, part.right) for part in parts if isinstance(part, Compare) and part.relation in ORDER]

    def moved(point: Point) -> Iterator[Point]:
        for gap in (Exact().difference(left, right).above for left, right in sides):
            for name in sorted(gap.names) if gap.names <= point.keys() else ():
                slope, start = (gap.in_powers_of(name).get(power, Poly()).at(point) for power in (1, 0))
                edge = -start / slope if slope and gap.degree(name) == 1 else Fraction(0)
                yield from ({**point, name: edge * share} for share in BESIDE if edge)

    return moved


def _parts(question: Question, values: Mapping[str, Fraction]) -> tuple[tuple[Formula, Fraction, str], ...]:
    """What the left condition compares, in numbers."""
    written, put = question.link.left, question.left
    if isinstance(written, Compare) and isinstance(put, Compare):
        with suppress(AlgebraError):
            pairs = ((written.left, put.left), (written.right, put.right))
            return tuple(
                (one, enclosed(known, point=values).middle, unit_of(one, question.context)) for one, known in pairs
            )
    return ()


def _proposition(question: Question) -> Formula:
    """What has to be true everywhere for P <=> Q or P => Q."""
    left, right = question.left, question.right
    if question.link.relation == "=>":
        return Either((negated(left), right))
    if isinstance(right, Verdict):
        return left if right.holds else negated(left)
    return Compare(left, "<=>", right)
