"""What a formula of a document is, beside what was said before it: a definition, a size, a condition, a step, a claim.

:func:`asserted` decides its role in one place, and :data:`READINGS` has the ways in which a formula of that role may be
meant, which are tried in turn. What the formula defines or puts in is noted in what has been said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from symroof.formula import Call, Compare, Gap, Name, Number, Quotient, names, nodes
from symroof.model.quantities import QUANTITIES
from symroof.reading.claims import BOUND, Chain, Claim, Proposition, bound_by_latency
from symroof.verification.context import Context
from symroof.verification.enclosures import is_numeric
from symroof.verification.judgement import Omission
from symroof.verification.premises import OPEN as OPEN_LINKS
from symroof.verification.premises import by_constraints, by_premises, noted, under_premises
from symroof.verification.readings import Passage, Reading, free_names
from symroof.verification.selection import Skip, skipped
from symroof.verification.steps import (
    TENDING,
    beyond_poles,
    comes_to,
    condition_of,
    in_regimes,
    of_the_unknown,
    puts_in,
    steps,
    valued,
    without_values,
)
from symroof.verification.surroundings import Definition, Discourse


@dataclass(frozen=True, slots=True)
class Assertion:
    """The readings of a claim, why it is left out where none of them decides, and what has been said with it; and which
    of its links are left out of the readings; ``further`` are those of them that what the text states makes claims of."""

    readings: tuple[Reading, ...]
    otherwise: Omission
    said: Discourse
    condition: Compare | None = None
    left_out: tuple[tuple[Compare, Omission], ...] = ()
    further: tuple[tuple[Compare, Reading], ...] = ()


def asserted(passage: Passage) -> Assertion:
    """What a claim of a formula is, where it stands."""
    passage = _taken_up(passage)
    told = _valued_elsewhere(passage) if passage.claim.connectives else ()
    if told:  # … <=> B > C/W ~ 240: what the bound comes to is a claim of its own
        passage = replace(passage, claim=without_values(passage.claim))
    claim, said, context = passage.claim, passage.said, passage.context
    if claim.connectives and not valued(passage) and (past := beyond_poles(passage)) is not None:
        passage = past if valued(past, beyond=True) else passage
    if claim.always is not None or (claim.connectives and valued(passage, beyond=passage.context is not context)):
        readings = meant(replace(passage, context=_of_whole_numbers(passage)))
        if passage.context is not context:  # what is false there may be true of rounded numbers, which is not looked at
            readings = tuple(replace(reading, firm=False) for reading in readings)
        left = tuple((link, Omission("equation")) for link, _ in told)
        return Assertion(readings, Omission("no_claim"), said, condition_of(claim), left, told)
    links = [(chain, _skips(chain, passage)) for chain in claim.chains if isinstance(chain, Chain)]
    after = said
    for chain, skips in links:
        after = noted(chain, skips, replace(passage, said=after))
    found = [skip for _, skips in links for skip in skips if skip is not None]
    otherwise = found[0].reason if found else Omission("no_claim")
    kept = () if claim.alternative else tuple(run for chain, skips in links for run in _runs(chain, skips))
    if not claim.connectives and not claim.alternative:
        kept += tuple(bridge for chain, _ in links for bridge in _bridges(chain, passage))
    chained = any(
        len(chain.relations) > 1 and set(chain.relations) <= {"=", "~"} and not _is_zero(chain) for chain, _ in links
    )
    passage = replace(passage, chained=chained)
    readings = meant(replace(passage, role="conditions")) if claim.connectives or claim.alternative else ()
    if kept:
        readings += meant(replace(passage, claim=replace(claim, propositions=(kept,), connectives=())))
    elif not claim.connectives and not claim.alternative:
        readings = meant(replace(passage, role=otherwise.kind))
    if after.sizes is not said.sizes:
        otherwise = Omission("size")
    ended = next((d for name in said.stated.keys() - after.stated.keys() if (d := said.last(name)) is not None), None)
    if ended is not None and otherwise.kind == "definition":
        otherwise = Omission("contradicts", {"name": ended.name, "line": ended.line})
    pairs = (pair for chain, skips in links for pair in zip(chain.links, skips, strict=True))
    omitted = [(link, skip.reason) for link, skip in pairs if skip is not None]
    further = tuple(_stated_elsewhere(omitted, replace(passage, said=said))) if not claim.connectives else ()
    left_out = tuple(omitted) if kept else ()
    return Assertion(readings, otherwise, after, condition_of(claim), left_out, further)


def _valued_elsewhere(passage: Passage) -> tuple[tuple[Compare, Reading], ...]:
    """What bounds are said to come to, where the text states the values in them."""
    links = [link for chain in passage.claim.chains if comes_to(chain) for link in chain.links[1:]]
    found = ((link, _of_numbers(link, passage) or by_premises(link, passage)) for link in links)
    return tuple((link, reading) for link, reading in found if reading is not None)


def _of_numbers(link: Compare, passage: Passage) -> Reading | None:
    """A link between numbers, which is a claim by itself."""
    if not (is_numeric(link.left) and is_numeric(link.right)):
        return None
    chain = Chain((link.left, link.right), (link.relation,))
    return Reading(replace(passage.claim, propositions=((chain,),), connectives=()), passage.context)


def _stated_elsewhere(links: Iterable[tuple[Compare, Omission]], passage: Passage) -> Iterator[tuple[Compare, Reading]]:
    """The links that are claims once what the text states before is put in."""
    for link, reason in links:
        if reason.kind not in OPEN_LINKS:
            continue
        reading = by_premises(link, passage) or by_constraints(link, passage)
        if reading is not None:
            yield link, reading


def meant(passage: Passage) -> tuple[Reading, ...]:
    """The ways in which a claim may be meant in its role. What is said for its own sizes, and is no claim by itself, is a
    step from what is before it, or nothing."""
    ways = READINGS.get(passage.role, (steps,))
    if passage.claim.at and passage.role not in ("claim", "conditions"):
        ways = (steps,)
    return tuple(_named(reading, passage) for way in ways for reading in way(passage))


def _taken_up(passage: Passage) -> Passage:
    """A claim that begins with an arrow, or that speaks of the solution of its own first link."""
    claim, around = passage.claim, passage.around
    if claim.connectives and _is_gap(claim.propositions[0]):  # ⇒ B > 240, after a condition
        around = replace(around, arrow=claim.connectives[0])
        claim = replace(claim, propositions=claim.propositions[1:], connectives=claim.connectives[1:])
    if len(claim.connectives) == 1 and len(claim.links) == 2:
        claim = _of_one_unknown(claim)
    return replace(passage, claim=claim, around=around)


def _of_whole_numbers(passage: Passage) -> Context:
    """The context of conditions on one letter that nothing explains: a size, so that n > 10 is n >= 11."""
    context, letters = passage.context, frozenset(passage.free)
    alone = (
        passage.claim.connectives and context.setting is None and len(letters) == 1 and not letters & set(QUANTITIES)
    )
    return replace(context, least_one=context.least_one | letters) if alone else context


def _is_zero(chain: Chain) -> bool:
    """Whether something is set to 0."""
    last = chain.sides[-1]
    return isinstance(last, Number) and last.value == 0


def _is_gap(proposition: Proposition) -> bool:
    """Whether nothing stands in the place of a proposition."""
    return all(isinstance(side, Gap) for chain in proposition for side in chain.sides)


def _of_one_unknown(claim: Claim) -> Claim:
    """A claim on two links, where the second one speaks of the solution of the first."""
    first, second = claim.links
    solved = of_the_unknown(second, first)
    chain = Chain((solved.left, solved.right), (solved.relation,))
    return replace(claim, propositions=(claim.propositions[0], (chain,)))


def _skips(chain: Chain, passage: Passage) -> list[Skip | None]:
    """Why links of a chain are not judged."""
    defined = passage.said.in_force()
    if chain.relations.count("->") > 1:  # h -> 4h -> h, the widths of layers
        return [Skip(Omission("operation"))] * len(chain.relations)
    found = []
    for i, link in enumerate(chain.links):
        chained = i > 0 and chain.relations[i - 1] in ("=", "~")
        found.append(skipped(passage.place.question(link), defined, chained=chained))
    return found


def _plain(passage: Passage) -> Reading:
    """A claim as it stands; firm, unless it is an equation that is to be solved."""
    solved = passage.around.solved and not passage.chained and _is_equation(passage.claim, passage.context)
    put = any(map(partial(puts_in, passage.context), passage.claim.links)) if passage.chained else False
    return Reading(passage.claim, passage.context, firm=not solved and not put and passage.claim.whole)


def _as_it_stands(passage: Passage) -> Iterator[Reading]:
    """A claim as it stands, with the sizes that its paragraph relates, and in the regimes that are stated beside it."""
    plain, said = _plain(passage), passage.said
    yield plain
    if held := {name for name, d in said.in_force().items() if _is_held(d, passage.claim)}:
        free = {n: f for n, f in passage.context.definitions.items() if n not in held}
        yield replace(plain, context=replace(passage.context, definitions=free))
    yield from _with_sizes(plain, passage)
    yield from in_regimes(plain, passage.around)
    yield from under_premises(plain, passage)


def _as_conditions(passage: Passage) -> Iterator[Reading]:
    """Conditions of which nobody knows all names: they may be the same all the same."""
    if not any(isinstance(side, Gap) for chain in passage.claim.chains for side in chain.sides):
        yield Reading(passage.claim, passage.context, firm=False)


def _bound(passage: Passage) -> Iterator[Reading]:
    """Compute-bound when B > 240: the same condition as that one. What only suffices is neither right nor wrong."""
    claim, context, around = passage.claim, passage.context, passage.around
    kind = around.answers or around.bound_by
    if kind is None or context.setting is None or context.hardware is None or len(claim.links) != 1:
        return
    bound = bound_by_latency(context.scope.names) if kind == "latency" else BOUND[kind]
    if bound is None:
        return  # hops take no time there
    stated = replace(claim, text="", propositions=((bound,), *claim.propositions), connectives=("<=>",))
    enough = replace(stated, propositions=(*claim.propositions, (bound,)), connectives=("=>",))
    plain = Reading(stated, context)
    yield plain
    yield from in_regimes(plain, around)
    if around.answers is None:
        yield Reading(enough, context, accepts=False)


def _solved_by_none(passage: Passage) -> Iterator[Reading]:
    """An equation that nobody means to solve."""
    if passage.around.going_on is None and not passage.around.sought and _of_itself(passage.claim.links[0]):
        yield Reading(passage.claim, passage.context)


def _of_itself(link: Compare) -> bool:
    """Whether a fraction in several letters is said to be equal to something with itself in it: nobody solves that.

    >>> from symroof.reading.claims import read_claim
    >>> from symroof.reading.scope import Scope
    >>> [_of_itself(read_claim(text, Scope(open=True)).links[0]) for text in ("B/P = 1 - B/P", "B/P = P/B")]
    [True, False]
    """
    several = isinstance(link.left, Quotient) and len(set(names(link.left))) > 1
    return several and link.relation == "=" and link.left in nodes(link.right)


def _defined_again(passage: Passage) -> Iterator[Reading]:
    """A second definition of a name agrees with the first, or is another one."""
    claim, context = passage.claim, passage.context
    left, right = claim.links[0].left, claim.links[0].right
    first = passage.said.in_force().get(left.name) if isinstance(left, Name) else None
    if first is None or len(claim.links) != 1 or is_numeric(right) or context.put(right) == first.formula:
        return
    yield Reading(claim, context, firm=False)


def _under_more(passage: Passage) -> Iterator[Reading]:
    """A claim under the definitions that it would need and that have ended."""
    used, past = passage.said.in_force(), passage.said.ended()
    ended = [d for name, d in past.items() if name in passage.spoken and not is_numeric(d.formula)]
    if any({*used, *(d.name for d in ended)} & set(names(d.formula)) for d in ended):
        return  # one of them would be put into another, or means something else by now
    if ended:
        named = passage.context.defining({d.name: d.formula for d in ended if not d.size})
        assumed = named.assuming(d.equation for d in ended if d.size)
        offered = tuple(d.equation for d in ended)
        yield Reading(passage.claim, assumed, firm=False, offered=offered, remarks=tuple(d.past for d in ended))


def _in_the_limit(passage: Passage) -> Iterator[Reading]:
    """What tends to something, in the regimes beside it; firm where these let all that it speaks of grow."""
    claim, around = passage.claim, passage.around
    if all(link.relation in TENDING for link in claim.links):
        grown = {name for relations, _ in around.regimes for r in relations for name in names(r)}
        firm = bool(names(claim.links[0].left)) and free_names(claim, passage.place) <= grown
        yield from in_regimes(Reading(claim, passage.context, firm), around)


def _is_held(definition: Definition, claim: Claim) -> bool:
    """Whether a name may be held constant in a derivative by a size that it stands for: N = XY, in a slope in X."""
    slopes = (
        node.arguments
        for link in claim.links
        for side in (link.left, link.right)
        for node in nodes(side)
        if isinstance(node, Call) and node.function == "diff"
    )
    return any(
        definition.name in names(body)
        and not isinstance(body, Name)
        and set(names(variable)) & set(names(definition.formula))
        for body, variable in slopes
    )


def _named(reading: Reading, passage: Passage) -> Reading:
    """A reading that names the definitions that it uses; not firm where its sentence speaks of another problem."""
    spoken, around = {name for link in reading.claim.links for name in names(link)}, passage.around
    used = (d.in_use for d in passage.said.in_force().values() if d.name in spoken)
    problem = reading.context.setting and reading.context.setting.problem
    own = {tensor.dtype for tensor in problem.operation.tensors} if problem else set()
    chip = reading.context.hardware
    other = (bool(own) and bool(around.types - own)) or (chip is not None and bool(around.chips - {chip.name}))
    elsewhere = other and any(name in reading.context.definitions for name in spoken)
    return replace(reading, remarks=(*reading.remarks, *used), firm=reading.firm and not elsewhere)


def _bridges(chain: Chain, passage: Passage) -> Iterator[Chain]:
    """What a chain says of the sides on both sides of one that cannot be read: a = ? = c says that a = c."""
    for place, side in enumerate(chain.sides[1:-1], 1):
        relations = chain.relations[place - 1 : place + 1]
        if isinstance(side, Gap) and side.problem and set(relations) <= {"=", "~"}:
            link = Compare(chain.sides[place - 1], max(relations), chain.sides[place + 1])
            if not isinstance(link.right, Gap) and skipped(passage.place.question(link), chained=True) is None:
                yield Chain((link.left, link.right), (link.relation,))


def _runs(chain: Chain, skips: Sequence[Skip | None]) -> Iterator[Chain]:
    """What is left of a chain without the links that are skipped."""
    for judged, group in groupby(range(len(skips)), key=lambda i: skips[i] is None):
        places = tuple(group)
        if judged:
            first, end = places[0], places[-1] + 1
            yield Chain(chain.sides[first : end + 1], chain.relations[first:end])


def _with_sizes(plain: Reading, passage: Passage) -> Iterator[Reading]:
    """An equation with what its sentence and paragraph put in for its names: it may be meant for those sizes alone."""
    claim, context, around = plain.claim, plain.context, passage.around
    if claim.connectives or claim.at or not _is_equation(claim, context):
        return
    pairs = (
        (r.left.name, r.right) for r in around.related if isinstance(r.left, Name) and r.left != claim.links[0].left
    )
    put = {name: size for name, size in pairs if name in passage.spoken - around.given}
    if put:
        dimensions = [Compare(Name(name), "=", size) for name, size in put.items() if name in context.least_one]
        others = {name: size for name, size in put.items() if name not in context.least_one}
        yield replace(plain, context=context.defining(others).assuming(dimensions))
    sizes = {**passage.said.sizes, **{name: size for name, size in around.sizes.items() if size is not None}}
    numbers = tuple((name, size) for name, size in sizes.items() if name in passage.spoken and name not in put)
    if numbers:
        yield replace(plain, claim=replace(claim, at=numbers))


def _at_sizes(passage: Passage) -> Iterator[Reading]:
    """A value, at the sizes of its sentence and paragraph."""
    claim, said, around, valued = passage.claim, passage.said, passage.around, passage.role == "at_sizes"
    free = free_names(claim, passage.place)
    sides = (claim.links[0].left, claim.links[-1].right)
    one_number = len(claim.links) == 1 and sum(map(is_numeric, sides)) == 1
    again = isinstance(sides[0], Name) and sides[0].name in said.in_force()
    if not free or not (valued or one_number) or (passage.role == "definition" and not again):
        return
    typed = {name: value for name, value in around.sizes.items() if value is not None and name in free}
    doubtful = any(
        value != said.sizes.get(name, value) or value is None for name, value in around.sizes.items() if name in free
    )
    sizes = {**said.sizes, **typed}
    if free <= set(sizes):
        exact = valued or (free <= set(typed) and around.sized_alone)
        firm = exact and not doubtful and not around.solved
        picked = tuple((name, size) for name, size in sizes.items() if valued or name in free)
        yield Reading(replace(claim, at=picked), passage.context, firm)


def _is_equation(claim: Claim, context: Context) -> bool:
    """Whether it sets two sides equal that both have names in them."""
    return not claim.connectives and any(
        link.relation == "=" and names(context.put(link.left)) and names(context.put(link.right))
        for link in claim.links
    )


Ways = tuple[Callable[[Passage], Iterator[Reading]], ...]
# The ways in which a formula may be meant, by its role: that of a claim, of conditions that are joined, or the kind of what
# is none by itself. Of any other kind it may go on from what stands before it.
READINGS: Mapping[str, Ways] = {
    "claim": (_as_it_stands, _under_more),
    "conditions": (_as_conditions,),
    "condition": (steps, _bound),
    "definition": (steps, _defined_again, _at_sizes),
    "equation": (steps, _solved_by_none, _at_sizes, _under_more, _in_the_limit),
    "other_letters": (steps, _at_sizes, _under_more, _in_the_limit),
    "at_sizes": (steps, _at_sizes, _under_more, _in_the_limit),
    "no_meaning": (steps, _under_more, _in_the_limit),
    "letters_added": (steps, _under_more, _in_the_limit),
    "letters_alone": (steps, _under_more, _in_the_limit),
}
