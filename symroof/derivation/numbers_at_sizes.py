"""The condition, and the quantities of the answer as numbers, at each set of sizes that leaves nothing of them open.

The value is found from the expression of a quantity in exact arithmetic; the second engine finds it from the definitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import ceil

from sympy import Expr, Integer

from symroof.algebra.rational import cancel
from symroof.algebra.roots import Root
from symroof.algebra.rounding import to_digits, to_places
from symroof.derivation.drafts import INTENSITY, T_STEPS, Draft, as_number, decimals
from symroof.derivation.premises import require_agreement
from symroof.derivation.quantity_definitions import costs, script_of
from symroof.derivation.solutions import Solution
from symroof.derivation.solving import relation_solved, solution_of, stays_below, supremum
from symroof.derivation.threshold import whole_size
from symroof.derivation.whole_sizes import whole_step, wholes
from symroof.errors import AlgebraError
from symroof.formula import Compare, Formula, Name, Negative, Number, Quotient, Verdict, names, number, product, total
from symroof.model.chip_costs import busy_links, chip_costs
from symroof.model.kernels import costs_of
from symroof.model.program_quantities import amounts, moved_of
from symroof.model.program_sizes import known_of_sizes
from symroof.model.quantities import (
    MOVED,
    T_LOWER,
    T_MATH,
    TABLE,
    TOKENS,
    Owner,
    hops_over,
    of_statement,
    sent_over,
    time_name,
)
from symroof.model.resources import HOPS, LATENCY, steps_of, times_of, times_of_groups
from symroof.proof.bounds_and_decimals import BoundsCompared, RelativeGap
from symroof.proof.calculus import Supremum
from symroof.proof.program_recounts import Tokens
from symroof.proof.step import Reason, Step, UndecidedError, Unknown, amount_of, number_of
from symroof.symbols import exactly, expression, fraction, rational, symbol

# What is said of each statement, and of statements that overlap as one.
OF_STATEMENTS = tuple(
    name for name, row in TABLE.items() if row.of_statements and row.owed and name not in ("reads", "writes")
)


def numbers(draft: Draft) -> Draft:
    """The quantities of the answer at each set of sizes, as far as that leaves none of theirs open; what of the memory of
    a chip they need, and which share of the time goes to which statements."""
    if not draft.setting.problem.at:
        return draft
    counted = costs(draft.setting)
    draft = _by_owner(draft)
    for point in range(len(draft.setting.problem.at)):
        draft = _Numbers(draft, counted, point).added()
    return draft


def _by_owner(draft: Draft) -> Draft:
    """What the bytes belong to that are moved, and how many tokens are worked on in a second."""
    program, meanings, let = draft.setting.problem.operation, draft.ledger.meanings, draft.setting.problem.let
    counts = amounts(program, draft.setting.problem.count)
    for name in (moved_of(part, program) for part in MOVED):
        if name in counts:
            shown, evidence = draft.layout.factored(counts[name]), draft.ledger.evidence(name)
            draft = draft.add(
                Step("summary", Reason.TOTAL, Name(name), "=", shown, evidence=evidence, role=amount_of(name))
            )
    for name, row in TABLE.items():  # what is made of others, and no section is about
        formula, defined = meanings.get(name), draft.ledger.definitions
        if row.row is None or not isinstance(formula, Formula) or name in {*defined, *let} or formula in let.values():
            continue
        quantities = defined.keys() - {"flops"} if draft.setting.idle else defined.keys()
        if quantities >= TABLE.keys() & {*names(formula)} and not (name == TOKENS and program.alone):
            facts = Tokens(script_of(program)) if name == TOKENS else None
            step = Step("summary", Reason.FACT, Name(name), "=", formula, facts=facts, role=amount_of(name))
            draft = draft.add(step)
    return draft


class Values:
    """The numbers that quantities are at ``sizes``, by what they are made of and by what is ``counted``."""

    def __init__(self, draft: Draft, counted: Mapping[str, Expr], sizes: Mapping[str, Fraction]) -> None:
        self.draft, self.counted, self.setting = draft, counted, draft.setting
        self.program, formulas = self.setting.problem.operation, draft.ledger.meanings.items()
        self.formulas = {name: meaning for name, meaning in formulas if isinstance(meaning, Formula)}
        if T_STEPS.name in draft.ledger.definitions:
            self.formulas[T_STEPS.name] = steps_of(self.program, self.setting.rates)
        if self.setting.rates.latencies:
            self.formulas[time_name(LATENCY)] = times_of(self.program, self.setting.rates)[time_name(LATENCY)]
        figures = {**self.setting.known, **self.setting.figures}
        self.sizes = {name: figure.value for name, figure in figures.items()} | dict(sizes)
        self.found: dict[str, Fraction | None] = {}

    def value(self, name: str) -> Fraction | None:
        """The number that a quantity is; None where its sizes or figures leave that open, or it is not rational."""
        if name not in self.found:
            self.found[name] = self._value(name)
        return self.found[name]

    def _value(self, name: str) -> Fraction | None:
        if name in self.sizes:
            return self.sizes[name]
        if name in self.formulas:
            return self.of(self.formulas[name])
        value = self.counted.get(name)
        return None if value is None else exactly(value, self.sizes)

    def of(self, formula: Formula) -> Fraction | None:
        """The number that a formula of quantities is."""
        parts = {name: self.value(name) for name in names(formula)}
        numbers: dict[str, Expr] = {name: rational(part) for name, part in parts.items() if part is not None}
        if isinstance(formula, Quotient):  # what is open may cancel
            open_ones = [name for name, part in parts.items() if part is None and name in self.counted]
            numbers |= {name: self.draft.value_at(self.counted[name], self.sizes) for name in open_ones}
        return exactly(cancel(expression(formula, numbers)), {}) if len(numbers) == len(parts) else None


class _Numbers(Values):
    """The numbers at one set of sizes as steps."""

    def __init__(self, draft: Draft, counted: Mapping[str, Expr], point: int) -> None:
        super().__init__(draft, counted, draft.setting.problem.at[point])
        self.point, self.where = point, draft.where(point)
        self.each, self.capacity = "_per_chip" if self.program.axes else "", f"capacity.{self.setting.rates.memory}"
        self.chips = 1

    def added(self) -> Draft:
        draft = self.draft.add(*self._amounts(), *self._held(), *self._shares(), *self._idle())
        for question in self._asked():
            with suppress(AlgebraError, UndecidedError):  # no solved form: the numbers stand without it
                draft = draft.attempt(*self._solved(*question))
        return draft

    def number_step(self, left: Formula, relation: str, right: Formula, role: str) -> Step:
        return Step("summary", Reason.VALUE, left, relation, right, self.where, role=number_of(role), point=self.point)

    def _amounts(self) -> Iterator[Step]:
        for name in self._names():
            result = self.value(name) if name in self.draft.ledger.definitions else None
            if result is not None:
                yield self.number_step(Name(name), "=", Number(result), name)

    def _names(self) -> Iterator[str]:
        """What an answer speaks of, each once."""
        own = (
            name for name, row in TABLE.items() if name not in ("peak", "bandwidth") and row.owner is not Owner.TENSOR
        )
        resources = self.setting.rates.resources
        links = busy_links(self.program) if self.program.axes else ()
        resources = (*resources, self.setting.rates.called)  # a statement alone has its memory under its name as well
        of_links = (*map(sent_over, links), *map(time_name, resources), T_STEPS.name)
        statements = costs_of(self.program) if self.program.line is None else ()
        each = (of_statement(quantity, name) for name in statements for quantity in OF_STATEMENTS)
        sent = (sent_over(link, name) for name in statements for link in links)
        yield from dict.fromkeys((*own, *of_links, *each, *sent, *self._hops()))

    def _hops(self) -> Iterator[str]:
        """How far exchanges go, and how long that takes, where latency counts."""
        for move in (
            move for cost in chip_costs(self.program).values() for move in cost.exchanges if self.program.latency
        ):
            yield from (hops_over(figure, move.label) for figure in move.hops)
            yield time_name(HOPS, move.label)

    def _held(self) -> Iterator[Step]:
        """How much of the memory of a chip is needed; and on one chip, how many of these hold it."""
        name, capacity = f"memory{self.each}", self.capacity
        figure, needed = self.setting.known.get(capacity), self.value(name)
        if needed is None or figure is None:
            return
        yield self.number_step(Name(capacity), "=", Number(figure.value), "capacity")
        yield self.number_step(Quotient(Name(name), Name(capacity)), "=", Number(needed / figure.value), "filled")
        self.chips = chips = 1 if self.each else ceil(needed / figure.value)
        held, room = needed <= chips * figure.value, product(number(chips), Name(capacity))
        yield self.number_step(Name(name), "<=" if held else ">", room, "fits")
        if chips > 1:
            yield self.number_step(Name(name), ">", product(number(chips - 1), Name(capacity)), "fits")

    def _shares(self) -> Iterator[Step]:
        """How near the arithmetic is to the peak; and of statements that overlap as one what they do, and their share of
        T_steps."""
        math, lower, whole = (self.value(name) for name in ("T_math", "T_lower", T_STEPS.name))
        if math and lower:
            yield self.number_step(Quotient(T_MATH, T_LOWER), "=", Number(math / lower), "reached")
        moved = self.value(f"bytes{self.each}")
        for name in (moved_of(part, self.program) for part in MOVED):
            if moved and (part := self.value(name)):
                yield self.number_step(
                    Quotient(Name(name), Name(f"bytes{self.each}")), "=", Number(part / moved), f"of {name}"
                )
        if not whole or len(costs_of(self.program)) < 2:
            return
        for group, time in times_of_groups(self.program, self.setting.rates).items():
            named, taken = ", ".join(group), self.of(time)
            for quantity in OF_STATEMENTS if len(group) > 1 else ():
                parts = total(
                    *(Name(n) for x in group if (n := of_statement(quantity, x)) in self.draft.ledger.definitions)
                )
                done = self.of(parts)
                if done:
                    yield self.number_step(parts, "=", Number(done), of_statement(quantity, named))
            if taken is not None:
                yield self.number_step(Quotient(time, T_STEPS), "=", Number(taken / whole), f"share({named})")

    def _asked(self) -> Iterator[tuple[str, Compare, Expr, Expr, Expr]]:
        """What is solved with one size alone set free, each with its two sides: where the arithmetic takes longer than the
        memory and than each link, and how large that size may be until the memory is full."""
        setting, point = self.setting, self.point
        if self.value("T_lower") is None:
            return
        yield f"turn({point})", self.draft.above, setting.compared, setting.level, setting.variable
        links = setting.rates.links if self.program.axes else ()
        work, peak = self.counted.get("flops_per_chip", Integer(0)), symbol("peak")
        if setting.mixed:
            work, peak = setting.in_numbers(setting.regime.apply(setting.arithmetic)), Integer(1)
        for link, rate in links:
            sent = self.counted[sent_over(link)]
            if self.value(sent_over(link)) and (link != setting.rates.comms or self.program.line is None):
                ratio, level = cancel(work / sent), peak / symbol(rate)
                order = (name for name in setting.turned(link) if symbol(name) in ratio.free_symbols)
                above = Compare(T_MATH, ">", Name(time_name(link)))
                yield f"turn({point}, {link})", above, ratio, level, symbol(next(order, link))
        name, capacity = f"memory{self.each}", setting.known.get(self.capacity)
        if capacity is not None and name in self.counted:
            room, level = product(number(self.chips), Name(self.capacity)), rational(self.chips * capacity.value)
            held, x = Compare(Name(name), "<=", room), setting.variable
            yield f"room({point})", held, self.counted[name], level, x

    def _idle(self) -> Iterator[Step]:
        """That the arithmetic takes longer than a link over which nothing is sent, as of an axis of one chip."""
        setting, sizes = self.setting, self.setting.problem.at[self.point]
        for link, _ in setting.rates.links if self.program.axes else ():
            free = next(
                (name for name in setting.turned(link) if name in sizes and name not in self.program.axes), None
            )
            if self.value(sent_over(link)) != 0 or free is None or not self.value("T_math"):
                continue
            others = {name: size for name, size in sizes.items() if name != free}
            where = (*setting.equalities, *(Compare(Name(n), "=", self.draft.write(x)) for n, x in others.items()))
            above, part = Compare(T_MATH, ">", Name(time_name(link))), number_of(f"turn({self.point}, {link})")
            yield Step("summary", Reason.SOLVE, above, "<=>", Verdict(True), where, None, Unknown(free), part)

    def _known(self, x: Expr, bound: Expr | Root | None, others: Mapping[str, Fraction]) -> bool:
        """Whether what is known of sizes leaves room for a bound of one of them, the others put in."""
        edge = as_number(bound)
        if edge is None:
            return True
        put = {symbol(name): rational(value) for name, value in (*others.items(), (x.name, edge))}
        every = [
            (expression(fact.left), fact.relation, expression(fact.right)) for fact in known_of_sizes(self.program)
        ]
        every += self.setting.regime.facts
        sides = ((left.subs(put), relation, right.subs(put)) for left, relation, right in every)
        return all(not (a - b).is_Rational or (a <= b if relation == "<=" else a >= b) for a, relation, b in sides)

    def _solved(self, role: str, claim: Compare, value: Expr, level: Expr, x: Expr) -> Iterator[Step]:
        """A condition solved for one size, the others put in, where it depends on that alone; and in whole numbers."""
        setting, layout, sizes = self.setting, self.draft.layout, self.setting.problem.at[self.point]
        others = {name: size for name, size in sizes.items() if name != x.name}
        value, level = (setting.in_numbers(cancel(self.draft.value_at(side, others))) for side in (value, level))
        if x.name not in sizes or value.free_symbols != {x} or not level.is_Rational:
            return
        beside = (*setting.equalities, *(Compare(Name(n), "=", self.draft.write(size)) for n, size in others.items()))
        relation = claim.relation
        result = relation_solved(value, level, relation, x, setting.least_one, layout=layout)
        if not self._known(x, result.bound, others):
            return  # what is known of sizes ends before it, and with it the formulas
        where = (*beside, *result.bands)
        yield Step("summary", Reason.SOLVE, claim, "<=>", result.formula, where, None, Unknown(x.name), number_of(role))
        if result.formula == Verdict(False) and claim.left == INTENSITY:
            top = supremum(value, x, self.setting.least_one)
            if top is not None and top.is_Rational:
                high, part = Supremum((x.name,)), number_of(f"top {role}")
                stays = stays_below(top, value, self.setting.least_one)
                yield Step("summary", Reason.REACH, INTENSITY, stays, self.draft.write(top), beside, high, None, part)
        if result.end is None or result.bound is None or isinstance(result.bound, Root):
            return
        left, of = replace(result.end, right=self.draft.write(result.bound)), wholes(setting, x.name, self.point)
        step = whole_step("summary", left, result.bound, of)
        if step is not None:
            yield replace(step, assumptions=beside, role=number_of(f"whole {role}"))


def conditions_at_sizes(draft: Draft) -> Draft:
    """The same with sizes put in; where nothing is computed only that these agree."""
    for point, values in enumerate(draft.setting.problem.at):
        require_agreement(draft.setting.regime, {symbol(name): rational(v) for name, v in values.items()})
        draft = draft if draft.setting.idle else _condition_at(draft, point)
    return draft


def _condition_at(draft: Draft, point: int) -> Draft:
    setting, values, where = draft.setting, draft.setting.problem.at[point], draft.where(point)
    value = intensity = cancel(draft.value_at(setting.intensity, values))
    draft = draft.add(
        Step("at", Reason.AT_POINT, INTENSITY, "=", draft.write(intensity), where, role="intensity", point=point)
    )
    if setting.mixed:
        value = setting.in_numbers(draft.value_at(setting.compared, values))
    if not intensity.free_symbols:
        return _side_at(draft, intensity, value, where, point)
    x = setting.variable if value.has(setting.variable) else _first_free(draft, value)
    level = setting.in_numbers(setting.level)
    solution = solution_of(value, level, x, setting.least_one, layout=setting.layout)
    conditions, facts = (*where, *solution.bands), Unknown(solution.variable)
    draft = draft.add(
        Step("at", Reason.AT_POINT, draft.above, "<=>", solution.formula, conditions, None, facts, "threshold", point)
    )
    edge = as_number(solution.bound)
    if edge is None or solution.end is None or solution.bound is None:
        return draft
    if isinstance(solution.bound, Expr):
        draft = draft.add(*decimals("at", solution.end.right, edge, assumptions=where, point=point))
    draft = draft.add(*whole_size(draft, solution, solution.bound, "at", where, point))
    return _beside_the_rule(draft, solution, edge, where, point)


def _beside_the_rule(
    draft: Draft, solution: Solution, exact: Fraction, where: tuple[Formula, ...], point: int
) -> Draft:
    """By how much the exact bound is higher than that of the rule, and how many sizes lie between."""
    rule, bounds = as_number(draft.answer.rule_bound), (solution.bound, draft.answer.rule_bound)
    if not rule or exact == rule or solution.variable != draft.setting.variable.name:
        return draft
    solved, thumb = draft.answer.at[point].step("threshold"), draft.answer.step("rule")
    if solved is not None and thumb is not None and not any(isinstance(bound, Root) for bound in bounds):
        gap = exact / rule - 1
        text = to_places(gap, 0) if gap >= 10 else to_digits(gap, 2)
        left = total(Quotient(draft.write(exact), draft.write(rule)), Negative(number(1)))
        shown, beside = Number(Fraction(text), text), RelativeGap(solved, thumb)
        draft = draft.add(Step("at", Reason.GAP, left, "~", shown, where, beside, role="gap", point=point))
    high, low = draft.answer.at[point].step("smallest"), draft.answer.step("smallest")
    sizes = draft.answer.at[point].smallest_integer, draft.answer.smallest_integer
    if high is None or low is None or sizes[0] is None or sizes[1] is None:
        return draft
    rows = total(number(sizes[0]), Negative(number(sizes[1])))
    distance = draft.write(sizes[0] - sizes[1])
    return draft.add(
        Step("at", Reason.FACT, rows, "=", distance, evidence=BoundsCompared(high, low), role="early", point=point)
    )


def _first_free(draft: Draft, value: Expr) -> Expr:
    """Where the variable has a value, the first size that is left of those that people turn."""
    free = {s.name for s in value.free_symbols}
    return symbol(next(name for name in (*draft.setting.turned(), *draft.layout.order) if name in free))


def _side_at(draft: Draft, intensity: Expr, value: Expr, where: tuple[Formula, ...], point: int) -> Draft:
    """A point that fixes the variable too: the intensity there, and which side of its level what is compared is on."""
    draft = draft.add(*decimals("at", INTENSITY, fraction(intensity), assumptions=where, point=point))
    level = as_number(draft.setting.in_numbers(draft.setting.level))
    if level is None or not value.is_Rational:
        return draft
    relation = ">" if fraction(value) > level else "<" if fraction(value) < level else "="
    left, right = draft.above.left, draft.above.right
    return draft.add(Step("at", Reason.SIDE, left, relation, right, where, role="side", point=point))
