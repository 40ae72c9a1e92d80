"""Conditions: P <=> Q, P => Q, and what holds always or never.

P and Q are sets of sizes, in the domain and under the facts. P <=> Q is accepted where, with P and Q exchanged as well,

    (i)    both are the same set
    (ii)   their leading forms in the regime are
    (iii)  both leave the same whole numbers to a size, and a bound is whole
    (iv)   both are the same once a number that is printed in Q is the one that puts its bound on that of P, or is a ridge,
           where it rounds that

and it is conditional where (ii) to (iv) hold in a regime that nobody stated, or where what Q divides by is above 0.
P => Q is accepted where P <=> Q is, and where P lies in Q. It is vacuous where P cannot be true. What is not accepted is
wrong at a point of the regime at which P and Q differ, or undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

from symroof.algebra.regime import Regime
from symroof.derivation.drafts import comparisons
from symroof.derivation.solving import is_positive
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
from symroof.verification.asymptotics import eventually_positive, held, joined
from symroof.verification.budget import attempted
from symroof.verification.condition_match import UP, agreement, possible_regimes, right_value, unknowns
from symroof.verification.context import Context, Question
from symroof.verification.counterexamples import ALWAYS, conjuncts, seen, to_the_edges, witness
from symroof.verification.intervals import Enclosure, bare, bounds_alike, enclosed, is_numeric, precise, rounding
from symroof.verification.number_chains import stands_in_print
from symroof.verification.unit_agreement import unit_of
from symroof.verification.verdicts import GOOD, IN_NUMBERS, Finding, Remark, undecided


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
    reason = None
    for attempt in _attempts(question):
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
    return None if context.proofs_only else _refuted(question, settled, reason)


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
    meant: dict[Formula, tuple[Fraction, Remark]] = {}
    for literal, ridge in product(precise(link.right), ridges):
        rounded = rounding(Enclosure(ridge, ridge), literal)
        if literal not in meant and rounded is not None and bounds_alike(rounded):
            meant[literal] = ridge, rounded
    right = mapped(link.right, lambda node: number(meant[node][0]) if node in meant else node)
    exact, remarks = replace(question, right=context.put(right)), tuple(rounded for _, rounded in meant.values())
    by = _part_by_part(exact) or (_method(_proposition(exact), context) if remarks else None)
    return Finding(link, "rounded" if remarks else "holds", Check("proved", by), remarks=remarks) if by else None


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
        by = _method(Compare(p, "<=>", q), question.context)
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


def _method(claim: Formula, context: Context) -> str | None:
    """By what the second engine proves a proposition."""
    settled = context.settled(claim)
    return settled.by if settled.truth else None


def _vacuous(question: Question) -> tuple[Remark, ...]:
    """That P cannot be true, so that P => Q says nothing."""
    never = (
        isinstance(question.link.left, Compare)
        and not isinstance(question.right, Verdict)
        and True not in seen(question.left, question.context)
        and question.context.settled(negated(question.left)).truth
    )
    return (Remark("vacuous", {"condition": question.link.left}),) if never else ()


def _turns(question: Question) -> tuple[Question, Question]:
    """P <=> Q as it stands, and turned round."""
    link = question.link
    back = Compare(link.right, link.relation, link.left)
    return question, replace(question, link=back, left=question.right, right=question.left)


def _attempts(question: Question) -> Iterator[Callable[[], Finding | None]]:
    """The ways in which P <=> Q, and so P => Q, may be right, one after the other."""
    turns = _turns(question)
    for turn in turns:
        yield partial(_in_regime, turn, question.context.regime, turned=turn is not question)
    if question.context.proofs_only:
        return
    yield partial(_inferred, turns)
    yield from (partial(_guarded, turn) for turn in turns if question.link.relation == "<=>")


def _in_regime(question: Question, regime: Regime, *, turned: bool) -> Finding | None:
    """Both as one set in the regime, or one inside of the other. Of two conditions in print the first is the true one, so that
    ``B >= 240 <=> B > 240.24`` is not read backwards."""
    tries = (regime, *(held(regime, x) for x in (*unknowns(question.right),)[:1] if regime.scaling))
    finding = next(filter(None, (agreement(question, each, turned=turned) for each in tries)), None)
    backwards = turned and stands_in_print(question.link, question.context)
    if finding is None or (backwards and finding.verdict == "rounded"):
        return None
    return replace(finding, value=right_value(question))


def _inferred(turns: tuple[Question, Question]) -> Finding | None:
    """The same in a regime that nobody stated, with no relation too many."""
    context = turns[0].context
    for relations in possible_regimes(turns[0]):
        needs = tuple(sorted(comparisons(relations, context.layout.write), key=str))
        for turn in turns:
            with attempted():  # what is missing may contradict what is stated
                finding = _in_regime(turn, joined(context.regime, relations), turned=turn is not turns[0])
                if finding is not None:
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
        finding = None if never else agreement(guarded, Regime())
        if finding is not None:
            return finding if met else replace(finding, verdict="conditional", needs=((guard,),))
    return None


def _refuted(question: Question, settled: Decision, reason: AlgebraError | CheckError | None) -> Finding:
    """Wrong at a point that is typical of the regime; undecided where none was found."""
    link, context = question.link, question.context
    words = [set(filter(is_opaque, names(side))) for side in (question.left, question.right)]
    if words[0] != words[1]:  # nothing is said of what one side alone speaks of
        return undecided(link, "no_proof")
    right = _right_value(question)
    value = None if right is None else right.right
    other = None if value is None else _in_its_regime(question, value) or _alike_in_whole_numbers(question, value)
    if other is not None:
        return other
    held = {value.left.name} if isinstance(value, Compare) and isinstance(value.left, Name) else set()
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
    for relations in possible_regimes(question) if open_ else ():
        needs = tuple(sorted(comparisons(relations, question.context.layout.write), key=str))
        inside = replace(question, context=question.context.assuming(needs))
        with suppress(AlgebraError, CheckError):
            finding = _refuted(inside, OPEN, None)
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


def _right_value(question: Question) -> Compare | None:
    """A condition, and behind <=> what the other one should say, proved to be the same: of the one in which names stand for
    something, if one alone does; in print the first is the true one."""
    link, context = question.link, question.context
    first, second = (stands_in_print(side, context) for side in (link.left, link.right))
    for turn in _turns(question):
        if (first or second) and (turn is question) is (first and not second):
            continue
        with suppress(AlgebraError, CheckError):
            value = right_value(turn)
            if value is not None and _says_the_same(turn, value):
                return Compare(turn.left, "<=>", value)
    return None


def _says_the_same(question: Question, value: Formula) -> bool:
    """Whether P <=> value, everywhere or in the regime."""
    context, same = question.context, Compare(question.left, "<=>", value)
    if same not in context.memory:
        valued = replace(question, link=Compare(question.link.left, "<=>", value), right=value)
        context.memory[same] = _method(same, context) or agreement(valued, context.regime) is not None
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
