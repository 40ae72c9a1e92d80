"""Conditions: P <=> Q, P => Q, and what holds always or never.

P <=> Q is accepted where, in this order, and with P and Q exchanged as well,

    (i)    both are the same set over the whole domain
    (ii)   in the regime, with the unknown x of Q held constant, the bound of P put into the left side of Q tends to
           the right side of Q, in the same direction; or the ratio of P tends to one that says the same as Q
    (iii)  both are the same whole numbers, where x is a size and the bounds are numbers
    (iv)   the printed bound is the true one, rounded; or both are the same set with the ridge, or with what
           another resource has in its place, for each number that rounds it

and it is conditional where (ii) to (iv) hold in a regime that nobody stated, or where what Q divides by is above 0.
P => Q is accepted where P <=> Q is, and where the bound of P lies beyond that of Q. It is vacuous where P cannot be true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial

from symroof.algebra.regime import Regime
from symroof.derivation.solving import is_positive
from symroof.derivation.steps import comparisons
from symroof.errors import AlgebraError, CheckError
from symroof.formula import (
    Both,
    Cases,
    Compare,
    Either,
    Formula,
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
from symroof.proof.propositions import OPEN, Decision, negated, without_cases
from symroof.proof.quotients import ORDER
from symroof.proof.step import Check, RefutedError
from symroof.reading.name_scope import is_opaque
from symroof.symbols import expression
from symroof.verification.asymptotics import eventually_positive, joined
from symroof.verification.budget import attempted
from symroof.verification.condition_thresholds import by_bound, by_implication, by_ratio, possible_regimes
from symroof.verification.context import Context, Question
from symroof.verification.counterexamples import ALWAYS, conjuncts, seen, to_the_edges, witness
from symroof.verification.intervals import Enclosure, bare, bounds_alike, enclosed, is_numeric, precise, rounding
from symroof.verification.judgement import ACCEPTED, GOOD, IN_NUMBERS, Finding, Remark, undecided
from symroof.verification.number_chains import stands_in_print
from symroof.verification.unit_agreement import unit_of
from symroof.verification.unknowns import UP, Unknown, unknown_of

# P <=> Q one way round, and P solved for the unknown of Q.
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
    finding, link, context = _judged(question), question.link, question.context
    one_way = link.relation == "=>" and not stands_in_print(link.left, context) and isinstance(link.right, Compare)
    if finding is None or finding.verdict not in GOOD or not one_way or context.proofs_only:
        return finding
    enough = _judged(replace(question, link=replace(link, relation="<=>")))
    if enough is None or enough.verdict != "wrong" or enough.value is None:
        return finding
    weaker = Remark("not_enough", {"condition": enough.whole or without_cases(enough.value)})
    return replace(finding, remarks=(*finding.remarks, weaker))


def _judged(question: Question) -> Finding | None:
    """The same without the remark that a condition that has to hold does not suffice."""
    link, context, claimed = question.link, question.context, _proposition(question)
    settled = OPEN if context.proofs_only and context.growing else context.settled(claimed)  # there the bound decides
    if settled.truth:
        return Finding(link, "holds", Check("proved", settled.by), remarks=_vacuous(question))
    readings, reason = _readings(question)
    for attempt in _attempts(readings, question):
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
    if not context.settled_whole(claimed, size):
        return None
    return Finding(link, "holds", Check("proved", "z3 over whole numbers"))


def _unrounded(question: Question) -> Finding | None:
    """With numbers that are ridges, rounded: each is the one that it rounds."""
    link, context = question.link, question.context
    setting = context.setting
    if setting is None or setting.peak is None or context.proofs_only:
        return None
    ridges = [setting.peak.value / spec.value for spec in setting.figures.values() if spec.unit == "bytes/s"]
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
    left, right = conjuncts(question.left), conjuncts(question.right)
    if question.link.relation != "<=>" or not len(right) > 1 < len(left):
        return None
    read, by = set[int](), None
    for p in left:
        places = [i for i, part in enumerate(right) if _settled_that(p, part, question.context).truth]
        single, *guards = sorted((right[i] for i in places), key=lambda part: not _divides(part)) or [Verdict(True)]
        q = Cases(((single, Both(tuple(guards))),), Verdict(False)) if guards else single
        by = _told(Compare(p, "<=>", q), question.context)
        if by is None:
            return None
        read |= set(places)
    return by if len(read) == len(right) else None


def _divides(condition: Formula) -> bool:
    """Whether it is by a sum that something is divided, which may be 0 where a guard does not hold."""
    below = (node.below for node in nodes(condition) if isinstance(node, Quotient))
    return any(isinstance(node, Sum) for factor in below for node in nodes(factor))


def _settled_that(p: Formula, q: Formula, context: Context) -> Decision:
    """What is known of P => Q; nothing of cases, which are not negated."""
    with suppress(CheckError):
        return context.settled(Either((negated(p), q)))
    return OPEN


def _told(claim: Formula, context: Context) -> str | None:
    """By what the second engine proves a proposition."""
    settled = context.settled(claim)
    return settled.by if settled.truth else None


def _replaced(condition: Formula, literal: Number, value: Fraction) -> Formula:
    return mapped(condition, lambda node: number(value) if node == literal else node)


def _vacuous(question: Question) -> tuple[Remark, ...]:
    """That P cannot be true, so that P => Q says nothing."""
    never = (
        isinstance(question.link.left, Compare)
        and not isinstance(question.right, Verdict)
        and True not in seen(question.left, question.context)
        and question.context.settled(negated(question.left)).truth
    )
    return (Remark("vacuous", {"condition": question.link.left}),) if never else ()


def _readings(question: Question) -> tuple[tuple[Reading, ...], AlgebraError | CheckError | None]:
    """P <=> Q as it stands and turned round; the longer one solved for the unknown of the other; and why it was not."""
    link, reason, readings = question.link, None, []
    back = Compare(link.right, link.relation, link.left)
    for turn in (question, replace(question, link=back, left=question.right, right=question.left)):
        try:
            longer = len([*nodes(turn.left)]) >= len([*nodes(turn.right)])
            readings.append((turn, unknown_of(turn) if longer else None))
        except RefutedError:
            raise
        except (AlgebraError, CheckError) as error:
            readings.append((turn, None))
            reason = reason or error
    return tuple(readings), reason


def _attempts(readings: Iterable[Reading], question: Question) -> Iterator[Callable[[], Finding | None]]:
    """The ways in which P <=> Q, and so P => Q, may be right, one after the other."""
    for turn, unknown in readings:
        yield partial(_in_regime, turn, unknown, question.context.regime, turned=turn is not question)
    if question.context.proofs_only:
        return
    yield from (partial(_inferred, turn, unknown, turned=turn is not question) for turn, unknown in readings)
    yield from (partial(_guarded, turn) for turn, _ in readings if question.link.relation == "<=>")


def _in_regime(question: Question, unknown: Unknown | None, regime: Regime, *, turned: bool) -> Finding | None:
    """The bounds of one symbol compared in the regime, or both conditions as ratios, or one bound beyond the other.

    Of two conditions in print the first is the true one, so that ``B >= 240 <=> B > 240.24`` is not read backwards.
    """
    finding = None if unknown is None else by_bound(unknown, regime)
    finding = finding or by_ratio(question, regime)
    rounded = finding is not None and finding.verdict == "rounded"
    finding = None if rounded and turned and stands_in_print(question.link, question.context) else finding
    if finding is None and unknown is not None and question.link.relation == "=>":
        return by_implication(unknown, regime, turned=turned)
    return finding


def _inferred(question: Question, unknown: Unknown | None, *, turned: bool) -> Finding | None:
    """The same in a regime that nobody stated, with no relation too many."""
    context = question.context
    for relations in possible_regimes(question):
        with attempted():  # what is missing may contradict what is stated
            finding = _in_regime(question, unknown, joined(context.regime, relations), turned=turned)
            if finding is not None:
                needs = tuple(sorted(comparisons(relations, context.layout.write), key=str))
                return replace(finding, verdict="conditional", needs=(needs,))
    return None


def _guarded(question: Question) -> Finding | None:
    """The same where a sum by which Q is divided is above 0: B > RD/(D - R) is meant of the sizes where there is a bound."""
    context, regime, p, q = question.context, question.context.regime, question.link.left, question.link.right
    if not isinstance(q, Compare) or q.relation not in ORDER:
        return None
    for node in dict.fromkeys(node for node in nodes(q) if isinstance(node, Quotient)):
        value = expression(context.put(node.below))
        if not value.is_rational_function() or is_positive(value, regime.least_one):
            continue
        guard = Compare(bare(node.below), ">", number(0))
        below = node in nodes(q.left if q.relation in UP else q.right)  # B below its bound: the opposite has to be said
        above, bound = map(negated, (p, q)) if below else (p, q)
        guarded = context.question(Compare(above, "<=>", Both((bound, guard))))
        met, never = (regime.scaling and eventually_positive(sign * value, regime) for sign in (1, -1))
        finding = None if never else by_ratio(guarded, Regime())
        if finding is not None:
            return finding if met else replace(finding, verdict="conditional", needs=((guard,),))
    return None


def _refuted(
    question: Question, readings: Iterable[Reading], settled: Decision, reason: AlgebraError | CheckError | None
) -> Finding:
    """Wrong at a point that is typical of the regime; undecided where none was found."""
    link, context = question.link, question.context
    words = [set(filter(is_opaque, names(side))) for side in (question.left, question.right)]
    if words[0] != words[1]:  # nothing is said of what one side alone speaks of
        return undecided(link, "no_proof")
    right = _right_value(question, readings)
    value = None if right is None else right.right
    other = None if value is None else _in_its_regime(question, value) or _alike_in_whole_numbers(question, value)
    if other is not None:
        return other
    held = {unknown.x.name for _, unknown in readings if unknown is not None}
    growing = [r for r in context.growing if set(names(r)) - held]
    offered = [settled.point] if settled.point else []
    shown = witness(_proposition(question), context, offered, growing, to_the_edges(question), right or ALWAYS)
    if shown is None:
        return undecided(link, "not_decided", why=reason.problem) if reason else undecided(link, "no_proof")
    if link.relation == "=>":
        shown = replace(shown, left=True, right=False)
    if isinstance(question.right, Verdict):
        shown = replace(shown, left=not question.right.holds, right=question.right.holds)
    shown = replace(shown, parts=_parts(question, shown.values))
    return Finding(link, "wrong", IN_NUMBERS, value, counterexample=shown, whole=_in_whole_numbers(value, context))


def _in_its_regime(question: Question, value: Formula) -> Finding | None:
    """The same in the regime in which the right condition has a number for its bound, as the claimed one has."""
    open_ = len({*names(value)}) > 1 and not question.context.growing
    for relations in filter(None, possible_regimes(question) if open_ else ()):
        needs = tuple(sorted(comparisons(relations, question.context.layout.write), key=str))
        inside = replace(question, context=question.context.assuming(needs))
        with suppress(AlgebraError, CheckError):
            finding = _refuted(inside, *_readings(inside)[:1], OPEN, None)
            if isinstance(finding.value, Compare) and is_numeric(finding.value.right):
                return replace(finding, needs=(needs,))
    return None


def _alike_in_whole_numbers(question: Question, value: Formula) -> Finding | None:
    """Where what one condition should say is met by the same numbers of chips, or sizes that they share out, as what it
    says."""
    sides = [side for side in (question.left, question.right) if {*names(side)} == {*names(value)}]
    if question.link.relation != "<=>" or len(sides) != 1 or not question.context.shares_out:
        return None
    claim = Compare(value, "<=>", sides[0])
    return _over_whole_numbers(replace(question, left=value, right=sides[0]), claim)


def _in_whole_numbers(value: Formula | None, context: Context) -> Compare | None:
    """A bound on a size, by the last one on its side of the whole numbers that are left to it, where the second engine
    finds both met by the same of them."""
    if not (isinstance(value, Compare) and isinstance(x := value.left, Name) and x.name in context.least_one):
        return None
    edge = None if value.relation not in ORDER or names(value.right) else enclosed(value.right)
    last = context.admitted(x.name).last(value.relation, edge.low) if edge is not None and edge.exact else None
    whole = Compare(x, value.relation[0] + "=", number(last)) if last else None
    same = whole and context.settled_whole(Compare(value, "<=>", whole), x.name)
    return whole if same else None


def _right_value(question: Question, readings: Iterable[Reading]) -> Compare | None:
    """A condition, and behind <=> what the other one should say, proved to be the same: of the one in which names stand for
    something, if one alone does; in print the first is the true one."""
    link, context = question.link, question.context
    first, second = (stands_in_print(side, context) for side in (link.left, link.right))
    for turn, solved in readings:
        if (first or second) and (turn is question) is (first and not second):
            continue
        with suppress(AlgebraError, CheckError):
            unknown = solved or unknown_of(turn)
            value = None if unknown is None else unknown.right_value()
            if value is not None and _says_the_same(turn, value):
                return Compare(turn.left, "<=>", value)
    return None


def _says_the_same(question: Question, value: Formula) -> bool:
    """Whether P <=> value, everywhere or in the regime."""
    context, same = question.context, Compare(question.left, "<=>", value)
    if same not in context.memory:
        same_bound = replace(
            question, link=Compare(question.link.left, "<=>", value), right=value, context=context.proving
        )
        holds = _told(same, context) is not None
        context.memory[same] = holds or (
            (finding := equivalent(same_bound)) is not None and finding.verdict in ACCEPTED
        )
    return bool(context.memory[same])


def _parts(question: Question, values: Mapping[str, Fraction]) -> tuple[tuple[Formula, Fraction, str], ...]:
    """What a condition compares, in numbers: that in which names stand for something, else the left one, or what it implies."""
    link = question.link
    ends = [(link.left, question.left), (link.right, question.right)]
    ends = ends[::-1] if link.relation == "=>" else ends
    written, put = min(ends, key=lambda end: stands_in_print(end[0], question.context))
    if isinstance(written, Compare) and isinstance(put, Compare):
        with suppress(AlgebraError):
            pairs = ((written.left, put.left), (written.right, put.right))
            return tuple(
                (side, enclosed(amount, point=values).middle, unit_of(side, question.context)) for side, amount in pairs
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
