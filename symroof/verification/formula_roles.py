"""What a formula of a document is, beside what was said before it: a definition, a size, a condition, a step, a claim.

:func:`asserted` decides its role in one place, and :data:`READINGS` has the ways in which a formula of that role may be
meant, which are tried in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby

from symroof.errors import SymroofError
from symroof.formula import Compare, Formula, Gap, Name, Number, names
from symroof.model.quantities import QUANTITIES
from symroof.proof.propositions import NEGATED
from symroof.proof.quotients import ORDER
from symroof.reading.claims import BOUND, Chain, Claim, Proposition, bound_by_latency
from symroof.reading.sentence_cues import has_cue, quantity_of
from symroof.verification.context import Context
from symroof.verification.interpretations import (
    TENDING,
    Passage,
    Reading,
    comes_to,
    condition_of,
    depends,
    free_names,
    in_regimes,
    steps,
    valued,
    with_workings,
    without_values,
)
from symroof.verification.intervals import is_numeric
from symroof.verification.selection import Skip, reduced, skipped
from symroof.verification.verdicts import Omission


@dataclass(frozen=True, slots=True)
class Assertion:
    """The readings of a claim, why it is left out where none of them decides, and which of its links are left out of the
    readings; ``further`` are those of them that are claims by themselves."""

    readings: tuple[Reading, ...]
    otherwise: Omission
    condition: Compare | None = None
    left_out: tuple[tuple[Compare, Omission], ...] = ()
    further: tuple[tuple[Compare, Reading], ...] = ()


def asserted(passage: Passage) -> Assertion:
    """What a claim of a formula is, where it stands."""
    passage = _joined_to_previous(passage)
    bounds, claims = _bounds(passage) if passage.claim.connectives else ((), ())
    if bounds:  # … <=> B > 9850/41 ~ 240: what the bound comes to is a claim of its own
        passage = replace(passage, claim=without_values(passage.claim))
    claim = passage.claim
    if claim.always is not None or (claim.connectives and valued(passage)):
        readings: tuple[Reading, ...] = meant(replace(passage, context=_of_whole_numbers(passage)))
        conditions = [depends(link, passage.place) for link in claim.links if link.relation in ORDER]
        put = frozenset().union(*conditions) - frozenset.intersection(*conditions) if conditions else frozenset()
        # what is false where something was put in may be true of rounded numbers, which is not looked at
        open_ = put & passage.equated
        readings = tuple(replace(r, firm=r.firm and open_ <= dict(r.claim.at).keys()) for r in readings)
        left = tuple((link, Omission("equation")) for link in bounds)
        return Assertion(readings, Omission("no_claim"), condition_of(claim), left, claims)
    links = [(chain, _skips(chain, passage)) for chain in claim.chains if isinstance(chain, Chain)]
    reasons = [skip for _, skips in links for skip in skips if skip is not None]
    otherwise = reasons[0].reason if reasons else Omission("no_claim")
    runs = () if claim.alternative else tuple(run for chain, skips in links for run in _runs(chain, skips))
    chained = any(
        len(chain.relations) > 1 and set(chain.relations) <= {"=", "~"} and not _is_zero(chain) for chain, _ in links
    )
    passage = replace(passage, chained=chained)
    readings = ()
    if runs:
        readings = meant(replace(passage, claim=replace(claim, propositions=(runs,), connectives=())))
    elif not claim.connectives and not claim.alternative:
        readings = meant(replace(passage, role=otherwise.kind))
    if any(_puts_in_sizes(chain, passage.place) for chain, _ in links):
        otherwise = Omission("size")
    pairs = (pair for chain, skips in links for pair in zip(chain.links, skips, strict=True))
    omitted = [(link, skip.reason) for link, skip in pairs if skip is not None]
    left_out = tuple(omitted) if runs else ()
    return Assertion(readings, otherwise, condition_of(claim), left_out, tuple(with_workings(left_out, passage)))


def _bounds(passage: Passage) -> tuple[tuple[Compare, ...], tuple[tuple[Compare, Reading], ...]]:
    """What bounds are said to come to that nobody knows here, and those that are claims between numbers."""
    links = tuple(link for chain in passage.claim.chains if comes_to(chain) for link in chain.links[1:])
    if all(is_numeric(passage.place.put(side)) for link in links for side in (link.left, link.right)):
        return (), ()
    readings = ((link, _of_numbers(link, passage)) for link in links)
    return links, tuple((link, reading) for link, reading in readings if reading is not None)


def _of_numbers(link: Compare, passage: Passage) -> Reading | None:
    """A link between numbers, which is a claim by itself."""
    if not (is_numeric(link.left) and is_numeric(link.right)):
        return None
    chain = Chain((link.left, link.right), (link.relation,))
    return Reading(replace(passage.claim, propositions=((chain,),), connectives=()), passage.context)


def meant(passage: Passage) -> tuple[Reading, ...]:
    """The ways in which a claim may be meant in its role. What is said for its own sizes, and is no claim by itself, says a
    condition again, or nothing."""
    ways = READINGS.get(passage.role, ())
    if passage.claim.at and passage.role != "claim":
        ways = (steps,) if passage.role == "condition" else ()
    return tuple(_of_its_problem(reading, passage) for way in ways for reading in way(passage))


def _joined_to_previous(passage: Passage) -> Passage:
    """A claim that begins with an arrow, or behind the words for a quantity that it is the value of."""
    claim, around = passage.claim, passage.around
    if claim.connectives and _is_gap(claim.propositions[0]):  # ⇒ B > 240, after a condition
        around = replace(around, arrow=claim.connectives[0])
        claim = replace(claim, propositions=claim.propositions[1:], connectives=claim.connectives[1:])
    if (name := quantity_of(around.sentence[0])) is not None and passage.context.hardware and len(claim.chains) == 1:
        value, chain = passage.context.definitions.get(name), claim.chains[0]
        if value is not None and not names(passage.context.put(value)) and all(map(is_numeric, chain.sides)):
            chained = Chain((Name(name), *chain.sides), ("=", *chain.relations))  # the ridge is 197e12/820e9 = 240
            claim = replace(claim, propositions=((chained,),))
    if around.bound_by is not None and around.bound_by.edge is not None and len(claim.links) == 1:
        relation = _beyond(around.bound_by.edge, claim.links[0].relation)
        claim = replace(claim, propositions=((Chain(claim.chains[0].sides, (relation,)),),))
    return replace(passage, claim=claim, around=around)


def _beyond(edge: str, relation: str) -> str:
    """The relation of a size to its bound behind words that make an edge of it: above B = 240, until B > 240."""
    if relation == "=":
        return edge
    return NEGATED[relation] if edge in ("<", "<=") and relation in (">", ">=") else relation


def _of_whole_numbers(passage: Passage) -> Context:
    """The context of conditions on one letter that nothing explains: a size, so that n > 10 is n >= 11."""
    context, letters = passage.context, frozenset(passage.free)
    alone = (
        passage.claim.connectives and context.setting is None and len(letters) == 1 and not letters & set(QUANTITIES)
    )
    return replace(context, least_one=context.least_one | letters) if alone else context


def _puts_in_sizes(chain: Chain, place: Context) -> bool:
    """Whether a chain says what sizes are: of dimensions, or of letters that nothing else explains. B = 16, D = F = 4096."""
    *letters, value = chain.sides
    return set(chain.relations) == {"="} and is_numeric(value) and all(_is_size(letter, place) for letter in letters)


def _is_size(letter: Formula, place: Context) -> bool:
    if not isinstance(letter, Name):
        return False
    name = letter.name
    return name in place.least_one or (len(name) == 1 and name not in place.definitions and name not in QUANTITIES)


def _is_zero(chain: Chain) -> bool:
    """Whether something is set to 0."""
    last = chain.sides[-1]
    return isinstance(last, Number) and last.value == 0


def _is_gap(proposition: Proposition) -> bool:
    """Whether nothing stands in the place of a proposition."""
    return all(isinstance(side, Gap) for chain in proposition for side in chain.sides)


def _skips(chain: Chain, passage: Passage) -> list[Skip | None]:
    """Why links of a chain are not judged, as they stand and with what their sentence puts in."""
    put = _with_relations(passage.place, passage)
    if chain.relations.count("->") > 1:  # h -> 4h -> h, the widths of layers
        return [Skip(Omission("operation"))] * len(chain.relations)
    skips = []
    for i, link in enumerate(chain.links):
        chained = i > 0 and chain.relations[i - 1] in ("=", "~")
        skip = _skip(link, passage.place, chained, passage)
        if skip is not None and skip.reason.kind == "other_letters" and put is not None:
            skip = skip if _skip(link, put, chained, passage) else None
        skips.append(skip)
    return skips


def _skip(link: Compare, place: Context, chained: bool, passage: Passage) -> Skip | None:
    """Why a link is not judged in a context; where something may be put in for a letter that one side has alone, it claims
    nothing: 4SH = 4S 16384, or FLOPs = 8BD^2 where F = 4D was said before."""
    skip = skipped(place.question(link), chained=chained)
    if skip is not None or link.relation != "=":
        return skip
    meanings = {*QUANTITIES, *passage.context.definitions, *passage.context.least_one}
    with suppress(SymroofError):
        sides = (place.put(link.left), place.put(link.right))
        if not all(map(names, sides)):
            return None
        left, right = ({s.name for s in reduced(side).free_symbols} for side in sides)
        alone = left ^ right if left and right else set()
        if alone & passage.equated or (alone and not passage.named & meanings):
            return Skip(Omission("other_letters"))
    return None


def _plain(passage: Passage) -> Reading:
    """A claim as it stands; firm, unless it is an equation that is to be solved."""
    solved = passage.around.solved and not passage.chained and _is_equation(passage.claim, passage.context)
    return Reading(passage.claim, passage.context, firm=not solved and passage.claim.whole)


def _as_it_stands(passage: Passage) -> Iterator[Reading]:
    """A claim as it stands, with the sizes that its sentence puts in, and in the regimes that are stated beside it."""
    plain = _at_its_sizes(_plain(passage), passage)
    yield plain
    yield from _with_sizes(plain, passage)
    yield from in_regimes(plain, passage.around)


def _bound(passage: Passage) -> Iterator[Reading]:
    """Compute-bound when B > 240: the same condition as that one. What only suffices is neither right nor wrong."""
    claim, context, around = passage.claim, passage.context, passage.around
    words = around.answer or around.bound_by
    if words is None or context.setting is None or context.hardware is None or len(claim.links) != 1:
        return
    bound = bound_by_latency(context.scope.names) if words.kind == "latency" else BOUND[words.kind]
    if bound is None:
        return  # hops take no time there
    stated = replace(claim, text="", propositions=((bound,), *claim.propositions), connectives=("<=>",))
    enough = replace(stated, propositions=(*claim.propositions, (bound,)), connectives=("=>",))
    if words.sign != "<=>":
        one_way = enough if words.sign == "=>" else replace(stated, connectives=("=>",))
        yield _at_its_sizes(Reading(one_way, context), passage)
        return
    plain = _at_its_sizes(Reading(stated, context), passage)
    yield plain
    if not plain.claim.at:
        yield from in_regimes(plain, around)
    exact = words.alone and (plain.claim is not stated or words.edge is not None)
    if around.answer is None and not exact:
        yield Reading(replace(enough, at=plain.claim.at), context, accepts=False)


def _in_the_limit(passage: Passage) -> Iterator[Reading]:
    """What tends to something, in the regimes beside it; firm where these let all that it speaks of grow."""
    claim, around = passage.claim, passage.around
    if all(link.relation in TENDING for link in claim.links):
        grown = {name for relations, _ in around.regimes for r in relations for name in names(r)}
        firm = bool(names(claim.links[0].left)) and free_names(claim, passage.place) <= grown
        yield from in_regimes(Reading(claim, passage.context, firm), around)


def _of_its_problem(reading: Reading, passage: Passage) -> Reading:
    """A reading; not firm where its sentence speaks of another problem."""
    spoken, around = {name for link in reading.claim.links for name in names(link)}, passage.around
    setting, chip = reading.context.setting, reading.context.hardware
    operation = None if setting is None else setting.problem.operation
    own = {tensor.dtype for tensor in operation.tensors} if operation else set()
    other = (bool(own) and bool(around.types - own)) or (chip is not None and bool(around.chips - {chip.name}))
    single = operation is not None and operation.alone and not operation.axes
    other = other or (single and has_cue("elsewhere", " ".join(around.sentence)))
    return replace(reading, firm=reading.firm and not (other and spoken & reading.context.definitions.keys()))


def _runs(chain: Chain, skips: Sequence[Skip | None]) -> Iterator[Chain]:
    """What is left of a chain without the links that are skipped."""
    for judged, group in groupby(range(len(skips)), key=lambda i: skips[i] is None):
        places = tuple(group)
        if judged:
            first, end = places[0], places[-1] + 1
            yield Chain(chain.sides[first : end + 1], chain.relations[first:end])


def _at_its_sizes(reading: Reading, passage: Passage) -> Reading:
    """Conditions of a problem, where sizes are the same in their sentence, and at its sizes that no regime speaks of, and that
    they do not bound."""
    claim, context = reading.claim, reading.context
    if not claim.connectives or claim.at or context.setting is None:
        return reading
    sides = [side for chain in claim.chains if isinstance(chain, Chain) for side in chain.sides]
    regimes = (*claim.regime, *(r for relations, _ in passage.around.regimes for r in relations))
    taken = {name for r in regimes for name in names(r)} | {side.name for side in sides if isinstance(side, Name)}
    open_ = free_names(claim, context) & context.least_one - taken
    sizes = {name: size for name, size in passage.around.sizes.items() if size is not None and name in open_}
    equal = tuple(r for r in passage.around.related if {*names(r)} <= context.least_one - sizes.keys())
    put = replace(claim, at=tuple(sizes.items()), regime=(*claim.regime, *equal))
    return replace(reading, claim=put) if sizes or equal else reading


def _with_sizes(plain: Reading, passage: Passage) -> Iterator[Reading]:
    """An equation with what its sentence puts in for its names: it may be meant for those sizes alone."""
    claim, context, around = plain.claim, plain.context, passage.around
    if claim.connectives or claim.at:
        return
    if (put := _with_relations(context, passage)) is not None:
        yield replace(plain, context=put)
    if not _is_equation(claim, context):
        return
    numbers = tuple((name, size) for name, size in around.sizes.items() if size is not None and name in passage.spoken)
    if numbers:
        yield replace(plain, claim=replace(claim, at=numbers))


def _with_relations(context: Context, passage: Passage) -> Context | None:
    """The context with what the sentence of a claim says that its names are; None where it says nothing."""
    put: dict[str, Formula] = {}
    if not passage.claim.links:
        return None
    own, left = passage.spoken - {*QUANTITIES, *context.definitions}, passage.claim.links[0].left

    def reaches(formula: Formula, name: str) -> bool:
        return any(used == name or (used in put and reaches(put[used], name)) for used in {*names(formula)})

    related = [r for r in passage.around.related if isinstance(r.left, Name) and r.left != left]
    for name, size in {(name, r.right): None for r in related for name in names(r.left)}:
        other = any(r.left == Name(name) and r.right != size for r in related)
        if name in own and not other and not reaches(size, name):
            put[name] = size
    if not put:
        return None
    others = {name: size for name, size in put.items() if name not in context.least_one}
    sizes = {name: size for name, size in put.items() if name in context.least_one}
    numbers = [(name, size) for name, size in sizes.items() if is_numeric(size)]
    equal = (Compare(Name(name), "=", size) for name, size in sizes.items() if not is_numeric(size))
    return context.defining(others).at(numbers).assuming(equal)


def _at_sizes(passage: Passage) -> Iterator[Reading]:
    """A value, at the sizes of its sentence."""
    claim, around, valued = passage.claim, passage.around, passage.role == "at_sizes"
    free = free_names(claim, passage.place)
    sides = (claim.links[0].left, claim.links[-1].right)
    one_number = len(claim.links) == 1 and sum(map(is_numeric, sides)) == 1
    if not free or not (valued or one_number):
        return
    sizes = {name: value for name, value in around.sizes.items() if value is not None and name in free}
    if free == set(sizes):
        firm = (valued or around.sized_alone) and not around.solved
        yield Reading(replace(claim, at=tuple(sizes.items())), passage.context, firm)


def _is_equation(claim: Claim, context: Context) -> bool:
    """Whether it sets two sides equal that both have names in them."""
    return not claim.connectives and any(
        link.relation == "=" and names(context.put(link.left)) and names(context.put(link.right))
        for link in claim.links
    )


Ways = tuple[Callable[[Passage], Iterator[Reading]], ...]
# The ways in which a formula may be meant, by its role: that of a claim, or the kind of what is none by itself.
READINGS: Mapping[str, Ways] = {
    "claim": (_as_it_stands,),
    "condition": (steps, _bound),
    **dict.fromkeys(("equation", "other_letters", "at_sizes"), (_at_sizes, _in_the_limit)),
    **dict.fromkeys(("no_meaning", "letters_added", "letters_alone"), (_in_the_limit,)),
}
