"""What people who give sizes look for: every quantity of the answer as a number, at each set of sizes that leaves nothing open.

The value is found from the expression of a quantity in exact arithmetic; the second engine finds it from the definitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil

from sympy import Expr, Integer

from symroof.algebra.rational import cancelled
from symroof.algebra.roots import Root
from symroof.derivation.draft import INTENSITY, T_LOWER, T_MATH, Draft
from symroof.derivation.equations import whole_number
from symroof.derivation.meanings import costs
from symroof.derivation.rule import chip_step
from symroof.derivation.schedules import T_STEPS
from symroof.derivation.sizes import put_in, valued
from symroof.derivation.solving import relation_solved, supremum
from symroof.errors import AlgebraError
from symroof.formula import Compare, Formula, Name, Number, Quotient, Verdict, names, number, product, total
from symroof.model.quantities import OF_PROGRAMS, TABLE
from symroof.model.resources import steps_of, time_name, times_of_groups
from symroof.model.statement_costs import busy_links, of_statement, sent_over
from symroof.proof.ledger import Solved, UndecidedError
from symroof.proof.limits import Highest, Whole
from symroof.proof.step import Reason, Step, number_of
from symroof.symbols import exactly, expression, rational

OF_STATEMENTS = ("flops", "ops", "bytes", "flops_per_chip", "ops_per_chip", "bytes_per_chip")


def numbers(draft: Draft) -> Draft:
    """The quantities of the answer at each set of sizes, as far as that leaves none of theirs open; what of the memory of
    a chip they need, and which share of the time goes to which statements."""
    if not draft.setting.problem.at:
        return draft
    counted = costs(draft.setting)
    for point in range(len(draft.setting.problem.at)):
        draft = _Numbers(draft, counted, point).added()
    return draft


class _Numbers:
    """The numbers at one set of sizes."""

    def __init__(self, draft: Draft, counted: Mapping[str, Expr], point: int) -> None:
        self.draft, self.counted, self.point = draft, counted, point
        self.setting, self.program = draft.setting, draft.setting.problem.operation
        self.where, formulas = put_in(draft, point), draft.ledger.meanings.items()
        self.formulas = {name: meaning for name, meaning in formulas if isinstance(meaning, Formula)}
        if T_STEPS.name in draft.ledger.definitions:
            self.formulas[T_STEPS.name] = steps_of(self.program, self.setting.rates)
        figures = {**self.setting.known, **self.setting.figures}
        self.sizes = {name: known.value for name, known in figures.items()} | dict(draft.setting.problem.at[point])
        self.found: dict[str, Fraction | None] = {}
        self.each, self.capacity = "_per_chip" if self.program.axes else "", f"capacity.{self.setting.rates.memory}"
        self.chips = 1

    def added(self) -> Draft:
        draft = self.draft.add(*self._amounts(), *self._held(), *self._shares())
        try:
            turns = tuple(self._turns())
        except (AlgebraError, UndecidedError):  # no solved form: the numbers stand without it
            turns = ()
        return draft.attempt(*turns)

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
        known: dict[str, Expr] = {name: rational(part) for name, part in parts.items() if part is not None}
        if isinstance(formula, Quotient):  # what is open may cancel
            open_ones = [name for name, part in parts.items() if part is None and name in self.counted]
            known |= {name: valued(self.draft, self.counted[name], self.sizes) for name in open_ones}
        return exactly(cancelled(expression(formula, known)), {}) if len(known) == len(parts) else None

    def said(self, left: Formula, relation: str, right: Formula, role: str) -> Step:
        return Step("summary", Reason.VALUE, left, relation, right, self.where, role=number_of(role), point=self.point)

    def _amounts(self) -> Iterator[Step]:
        for name in self._names():
            found = self.value(name) if name in self.draft.ledger.definitions else None
            if found is not None:
                yield self.said(Name(name), "=", Number(found), name)

    def _names(self) -> Iterator[str]:
        """What an answer speaks of, each once."""
        own = (name for name in TABLE if name not in ("peak", "bandwidth"))
        resources = self.setting.rates.resources
        links = busy_links(self.program) if self.program.axes else ()
        of_links = (*map(sent_over, links), *map(time_name, resources), T_STEPS.name)
        statements = self.program.owners if self.program.line is None else ()
        each = (of_statement(what, name) for name in statements for what in OF_STATEMENTS)
        sent = (sent_over(link, name) for name in statements for link in links)
        yield from dict.fromkeys((*own, *OF_PROGRAMS, *of_links, *each, *sent))

    def _held(self) -> Iterator[Step]:
        """How much of the memory of a chip is needed; and on one chip, how many of these hold it."""
        name, capacity = f"memory{self.each}", self.capacity
        known, needed = self.setting.known.get(capacity), self.value(name)
        if needed is None or known is None:
            return
        yield self.said(Name(capacity), "=", Number(known.value), "capacity")
        yield self.said(Quotient(Name(name), Name(capacity)), "=", Number(needed / known.value), "filled")
        self.chips = chips = 1 if self.each else ceil(needed / known.value)
        held, room = needed <= chips * known.value, product(number(chips), Name(capacity))
        yield self.said(Name(name), "<=" if held else ">", room, "fits")
        if chips > 1:
            yield self.said(Name(name), ">", product(number(chips - 1), Name(capacity)), "fits")

    def _shares(self) -> Iterator[Step]:
        """How near the arithmetic is to the peak; and of statements that overlap as one what they do, and their share of
        T_steps."""
        math, lower, whole = (self.value(name) for name in ("T_math", "T_lower", T_STEPS.name))
        if math and lower:
            yield self.said(Quotient(T_MATH, T_LOWER), "=", Number(math / lower), "reached")
        if not whole or len(self.program.owners) < 2:
            return
        for group, time in times_of_groups(self.program, self.setting.rates).items():
            named, taken = ", ".join(group), self.of(time)
            for what in OF_STATEMENTS if len(group) > 1 else ():
                parts = total(
                    *(Name(n) for x in group if (n := of_statement(what, x)) in self.draft.ledger.definitions)
                )
                done = self.of(parts)
                if done:
                    yield self.said(parts, "=", Number(done), of_statement(what, named))
            if taken is not None:
                yield self.said(Quotient(time, T_STEPS), "=", Number(taken / whole), f"share({named})")

    def _turns(self) -> Iterator[Step]:
        """Where the side changes if the variable alone is set free, and how large it may be until the memory is full."""
        x, values = self.setting.variable, self.draft.setting.problem.at[self.point]
        if x.name not in values or self.value("T_lower") is None:
            return
        others = {name: size for name, size in values.items() if name != x.name}
        same = (Compare(Name(n), "=", self.draft.write(size)) for n, size in others.items())
        self.beside = (*self.setting.equalities, *same)
        if not self.setting.rates.links:
            level = self.setting.in_numbers(self.setting.level)
            compared = self.setting.in_numbers(cancelled(valued(self.draft, self.setting.compared, others)))
            if compared.free_symbols == {x} and level.is_Rational:
                yield from self._solved("turn", self.draft.above, compared, ">", level)
        name, capacity = f"memory{self.each}", self.setting.known.get(self.capacity)
        needed = valued(self.draft, self.counted.get(name, Integer(0)), others)
        if capacity is not None and needed.free_symbols == {x}:
            room = product(number(self.chips), Name(self.capacity))
            level = rational(self.chips * capacity.value)
            yield from self._solved("room", Compare(Name(name), "<=", room), needed, "<=", level)

    def _solved(self, role: str, said: Compare, value: Expr, relation: str, level: Expr) -> Iterator[Step]:
        """A condition solved for the variable, the other sizes put in; and in whole numbers."""
        x, layout = self.setting.variable, self.draft.layout
        found = relation_solved(value, level, relation, x, self.setting.least_one, layout=layout)
        named, where = f"{role}({self.point})", (*self.beside, *found.bands)
        solved = Step(
            "summary", Reason.SOLVE, said, "<=>", found.formula, where, None, Solved(x.name), number_of(named)
        )
        yield solved
        if found.formula == Verdict(False) and said.left == INTENSITY:
            top = supremum(value, x, self.setting.least_one)
            if top is not None and top.is_Rational:
                high, role = Highest((x.name,)), number_of(f"top {named}")
                yield Step(
                    "summary", Reason.REACH, INTENSITY, "<", self.draft.write(top), self.beside, high, None, role
                )
        edge, stride = found.bound, chip_step(self.setting, x.name)
        whole = None if found.end is None or edge is None else whole_number(found.end.relation, edge, stride)
        if found.end is None or edge is None or whole is None or isinstance(edge, Root):
            return
        left = replace(found.end, right=self.draft.write(edge))
        right = replace(found.end, relation=">=" if found.end.relation.startswith(">") else "<=", right=number(whole))
        role = number_of(f"whole {named}")
        yield Step("summary", Reason.WHOLE, left, "<=>", right, self.beside, Whole(stride), None, role)
