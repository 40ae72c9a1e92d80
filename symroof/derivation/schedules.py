"""The times of a program: what each resource is busy for, and how much of that overlaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from sympy import Add, Expr, Integer

from symroof.algebra.rational import cancelled, sign_of
from symroof.algebra.rounding import short
from symroof.derivation.draft import T_COMMS, T_LOWER, T_MATH, T_UPPER, Draft, numeric, rounded
from symroof.derivation.meanings import costs, put
from symroof.derivation.per_chip import each_written
from symroof.formula import Call, Formula, Frozen, Name, Product, Quotient, Sum, number, product, total
from symroof.model.hops import is_latency
from symroof.model.program import Program
from symroof.model.resources import LATENCY, MATH, VECTOR, busy, overlapping, staged, steps_of, time_name, times_of
from symroof.model.stages import pipeline_of
from symroof.proof.ledger import Evidence
from symroof.proof.step import Reason, Step, amount_of
from symroof.symbols import expression, fraction

T_STEPS = Name("T_steps")
# What is done, and the name of the figure that it is done at: a bandwidth, or the latency of a hop.
Part = tuple[Expr, str]
Parts = tuple[Part, ...]
# What takes the longest of several sums: one, but where the latency of an exchange counts.
Pieces = tuple[tuple[Parts, ...], ...]


class Timetable(Frozen):
    """What is kept busy, ``groups`` of statements that overlap as one after the other: by resource the amounts over
    their rates; the hops that take longest one time are beside them. Arithmetic is the first of the resources, and what T_comms is the time of is the last; where they are
    ``joint`` it is the longest time of the others of them but the vector unit. The first groups are ``beside`` the
    stages of a pipeline, and all others take ``wait`` times as long again, what stages wait for."""

    resources: tuple[str, ...]
    groups: tuple[Mapping[str, Pieces], ...]
    joint: bool = False
    beside: int | None = None
    wait: Expr = Integer(0)
    hops: tuple[Parts, ...] = ()

    @property
    def moving(self) -> tuple[str, ...]:
        """The memory and the links, and the hops."""
        return tuple(resource for resource in self.resources if resource not in (MATH, VECTOR))

    def pieces(self, resource: str) -> Pieces:
        """All that keeps a resource busy."""
        return tuple(piece for group in self.groups for piece in group.get(resource, ()))

    def of(self, resource: str) -> tuple[Parts, ...]:
        """The sums whose longest is the time of a resource: what it works on; or of hops each one time."""
        if resource == LATENCY:
            return self.hops
        return (tuple(part for first, *_ in self.pieces(resource) for part in first),)

    @property
    def apart(self) -> tuple[tuple[Mapping[str, Pieces], ...], tuple[Mapping[str, Pieces], ...]]:
        """The groups beside stages, and those of stages."""
        return self.groups[: self.beside], () if self.beside is None else self.groups[self.beside :]

    def put(self, change: Callable[[Expr], Expr]) -> Timetable:
        """The same with another amount for each."""

        def put(sums: tuple[Parts, ...]) -> tuple[Parts, ...]:
            return tuple(tuple((change(x), rate) for x, rate in parts) for parts in sums)

        groups = tuple({r: tuple(map(put, each)) for r, each in group.items()} for group in self.groups)
        return replace(self, groups=groups, wait=change(self.wait), hops=put(self.hops))

    @property
    def free(self) -> frozenset[str]:
        """The names of the sizes that are left open."""
        pieces = (piece for resource in self.resources for piece in (*self.pieces(resource), self.of(resource)))
        amounts = (amount for sums in pieces for parts in sums for amount, _ in parts)
        return frozenset(s.name for amount in (*amounts, self.wait) for s in amount.free_symbols)

    def seconds(self, rates: Mapping[str, Fraction]) -> dict[Name, Fraction]:
        """Every time in numbers, where no size is left open."""

        def longest(sums: tuple[Parts, ...]) -> Fraction:
            return max(
                sum((spent(fraction(amount), rates[rate], rate) for amount, rate in each), Fraction(0)) for each in sums
            )

        def taken(pieces: Pieces) -> Fraction:
            return sum(map(longest, pieces), Fraction(0))

        each = {resource: longest(self.of(resource)) for resource in self.resources}
        comms = max(each[r] for r in self.moving) if self.joint else each[self.resources[-1]]
        known = {T_MATH: each[MATH]} if MATH in each else {}
        beside, stages = self.apart
        wait = fraction(self.wait) * sum((taken(pieces) for one in stages for pieces in one.values()), Fraction(0))
        upper = sum((taken(self.pieces(resource)) for resource in self.resources), Fraction(0))
        known |= {T_COMMS: comms, T_LOWER: max(each.values()), T_UPPER: upper + wait}
        steps = [sum((max(map(taken, one.values())) for one in part), Fraction(0)) for part in (beside, stages)]
        every = steps[0] + steps[1] * (1 + fraction(self.wait))
        between = [r for r in self.resources if r != MATH and (self.joint or r != self.resources[-1])]
        return known | {Name(time_name(resource)): each[resource] for resource in between} | {T_STEPS: every}


def timetable(draft: Draft, program: Program) -> Timetable:
    """That of a program."""
    rates, known = draft.setting.rates, costs(draft.setting)
    times = times_of(program, rates)

    def parts(time: Formula) -> Parts:
        match time:
            case Name() if is_latency(time.name):
                return ((Integer(1), time.name),)
            case Name():
                return parts(times[time.name])
            case Sum():
                return tuple(part for term in time.terms for part in parts(term))
            case Quotient(above=Name() as done, below=Name() as rate):
                return ((known[done.name], rate.name),)
            case Product(factors=(*many, Name() as hop)):
                return ((put(expression(product(*many)), known), hop.name),)
        raise TypeError(f"{time} is no amount at a rate")

    def longest(time: Formula) -> tuple[Parts, ...]:
        return tuple(map(parts, time.arguments)) if isinstance(time, Call) else (parts(time),)

    def pieces(names: tuple[str, ...]) -> Mapping[str, Pieces]:
        return {resource: tuple(map(longest, each)) for resource, each in busy(times, rates, names).items()}

    hops = longest(times[time_name(LATENCY)]) if rates.latencies else ()

    inside, pipeline = staged(program), pipeline_of(program)
    every = [(names[0] in inside, found) for names in overlapping(program) if (found := pieces(names))]
    if pipeline is None:
        return Timetable(rates.resources, tuple(found for _, found in every), rates.joint, hops=hops)
    beside, stages = ([found for here, found in every if here is there] for there in (False, True))
    wait = program.resolved(cancelled(pipeline.bubble / (1 - pipeline.bubble)))
    return Timetable(rates.resources, (*beside, *stages), rates.joint, len(beside), wait, hops)


def times_defined(draft: Draft, program: Program) -> Draft:
    """What each time is that only programs have, as far as no step says it yet; but for T_steps and the two bounds."""
    times, defined = times_of(program, draft.setting.rates), draft.ledger.definitions
    said = ("T_lower", "T_upper", time_name(draft.setting.rates.called), *defined)
    missing = {name: time for name, time in times.items() if name not in said}
    rests = {name: e for name in missing if isinstance(e := draft.ledger.meanings.get(name), Evidence)}
    return draft.add(
        *(
            Step("time", Reason.DEFINE_TIMES, Name(name), "=", time, evidence=rests.get(name))
            for name, time in missing.items()
        )
    )


def steps_defined(draft: Draft, program: Program) -> Draft:
    """T_steps, as the program says who overlaps with whom."""
    evidence, formula = draft.ledger.meanings["T_steps"], steps_of(program, draft.setting.rates)
    return draft.add(Step("time", Reason.STEPS, T_STEPS, "=", formula, evidence=evidence))


def time_of_program(draft: Draft, program: Program) -> Draft:
    """The time of each resource, the two bounds, and between them T_steps."""
    from symroof.proof.scheduling import Overlap

    draft = times_defined(draft, program)
    table, meanings = timetable(draft, program), draft.ledger.meanings
    each, bounds = each_time(draft, table, draft.setting.equalities)
    if program.alone:
        each = tuple(one for step in each for one in (step, *_in_seconds(draft, table, step)))
    elif not table.joint:
        each = (*each[:-1], Step("time", Reason.TIME, each[-1].left, "=", T_COMMS), each[-1])
    else:
        each = (*each, Step("time", Reason.TIME, T_COMMS, "=", meanings["T_comms"]))
    shown = each
    draft = draft.add(*shown, Step("time", Reason.LOWER, T_LOWER, "=", meanings["T_lower"]))
    if program.line is not None:  # one statement overlaps with itself alone
        twice = product(number(sum(len(table.pieces(resource)) for resource in table.resources)), T_LOWER)
        upper = Step("time", Reason.UPPER, T_UPPER, "=", meanings["T_upper"])
        return draft.add(upper, Step("time", Reason.TWICE, T_UPPER, "<=", twice), *bounds)
    draft = steps_defined(draft, program)
    draft = draft.add(Step("time", Reason.UPPER, T_UPPER, "=", meanings["T_upper"]), *bounds)
    sums = (sums for group in table.groups for pieces in group.values() for sums in pieces)
    amounts = (amount for each_sum in sums for parts in each_sum for amount, _ in parts)
    if any(sign_of(amount, draft.setting.least_one) != 1 for amount in amounts):
        return draft  # 2c - 1 FLOPs are fewer than none where c, that other sizes define, may be small
    return draft.add(
        Step("time", Reason.ORDER, T_LOWER, "<=", T_STEPS, evidence=Overlap()),
        Step("time", Reason.ORDER, T_STEPS, "<=", T_UPPER, evidence=Overlap()),
    )


def each_time(
    draft: Draft, table: Timetable, where: tuple[Formula, ...], point: int | None = None
) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The time of each resource, the memory last; and the bounds and T_steps in what these are."""

    def said(name: Name, reason: Reason, value: Formula) -> Step:
        return Step("time", reason, name, "=", draft.in_digits(value), where, role=amount_of(name.name), point=point)

    values = {Name(time_name(resource)): _longest_of(draft, table.of(resource)) for resource in table.resources}
    *others, memory = values
    each = (
        *(said(name, Reason.TIME, values[name]) for name in others),
        said(memory, Reason.TIME if table.joint or memory == T_COMMS else Reason.PUT_IN, values[memory]),
    )
    beside, stages = ([_longest(draft, group) for group in part] for part in table.apart)
    every = total(*(_written(draft, parts) for group in table.apart[1] for parts in group.values()))
    wait = (product(draft.layout.factored(table.wait), every),) if stages and table.wait != 0 else ()
    longest = total(*beside, *((product(draft.layout.factored(1 + table.wait), total(*stages)),) if stages else ()))
    sums, pieces = tuple(values.values()), (table.pieces(resource) for resource in table.resources)
    taken = (_written(draft, each) for each in pieces if each)
    longest_of = tuple(values[Name(time_name(resource))] for resource in table.moving)
    steps = said(T_STEPS, Reason.STEPS, longest)
    lower = Call("max", sums) if len(sums) > 1 else sums[0]
    comms = said(T_COMMS, Reason.DEFINE_TIMES, Call("max", longest_of) if table.joint else values[memory])
    bounds = (
        *(() if memory == T_COMMS else (comms,)),
        said(T_LOWER, Reason.LOWER, lower),
        *((steps,) if draft.setting.problem.operation.line is None else ()),
        said(T_UPPER, Reason.UPPER, total(*(taken if table.hops else sums), *wait)),
    )
    return each, bounds


def _longest(draft: Draft, group: Mapping[str, Pieces]) -> Formula:
    """The longest of what statements keep busy that overlap as one."""
    parts = tuple(_written(draft, pieces) for pieces in group.values())
    return Call("max", parts) if len(parts) > 1 else parts[0]


def _longest_of(draft: Draft, sums: tuple[Parts, ...]) -> Formula:
    """The longest of several sums."""
    parts = tuple(dict.fromkeys(_summed(draft, each) for each in sums))
    return Call("max", parts) if len(parts) > 1 else parts[0]


def _in_seconds(draft: Draft, table: Timetable, step: Step) -> tuple[Step, ...]:
    """A time as a decimal, where no size is left open."""
    resource = next(resource for resource in table.resources if Name(time_name(resource)) == step.left)
    rates = {name: figure.value for name, figure in draft.setting.figures.items()}
    values = [(numeric(amount), rate) for parts in table.of(resource) for amount, rate in parts]
    if any(amount is None or rate not in rates for amount, rate in values):
        return ()
    seconds = sum((amount / rates[rate] for amount, rate in values if amount is not None), Fraction(0))
    return rounded("time", step.left, seconds, short(seconds, 3))


def _written(draft: Draft, pieces: Pieces) -> Formula:
    """What pieces come to: amounts over their rates, one fraction for each rate, and the longest of several."""
    plain = tuple(part for piece in pieces if len(piece) == 1 for part in piece[0])
    longest = (_longest_of(draft, piece) for piece in pieces if len(piece) > 1)
    return total(*((_summed(draft, plain),) if plain else ()), *longest)


def _summed(draft: Draft, parts: Parts) -> Formula:
    """Amounts over their rates, one fraction for each rate; hops by their latency."""
    by_rate: dict[str, list[Expr]] = {}
    for amount, rate in parts:
        by_rate.setdefault(rate, []).append(amount)
    return total(*(_at_rate(_on_one_bar(draft, Add(*each)), rate) for rate, each in by_rate.items()))


def _at_rate(amount: Formula, rate: str) -> Formula:
    return product(amount, Name(rate)) if is_latency(rate) else over(amount, Name(rate))


def spent(amount: Fraction, figure: Fraction, rate: str) -> Fraction:
    """The time of an amount: over a rate, or so many hops."""
    return amount * figure if is_latency(rate) else amount / figure


def _on_one_bar(draft: Draft, amount: Expr) -> Formula:
    """An amount as it is read; what one chip of several does, a sum of fractions, over what they have in common."""
    shown = draft.write(amount)
    several = isinstance(shown, Sum) and any(isinstance(term, Quotient) for term in shown.terms)
    return each_written(draft, amount) if several and draft.setting.problem.operation.axes else shown


def over(above: Formula, below: Formula) -> Quotient:
    """One fraction bar, not two."""
    match above, below:
        case Quotient(), Quotient() if above.below == below.below:
            return Quotient(above.above, below.above)
        case Quotient(), _:
            return Quotient(above.above, Product((above.below, below)))
    return Quotient(above, below)
