"""What a claim is judged against: every name with the formula that it stands for, and what is assumed.

A claim is *expanded* once, before it is judged: names are replaced by what they stand for, constructions by their
values. What is left are free symbols, and the judge needs no other definitions. A context is a value, so what it puts
for a formula, its facts and its regime are worked out once each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sympy import Expr

from symroof.algebra.regime import Regime
from symroof.derivation.formula_writing import Layout
from symroof.derivation.premises import Setting
from symroof.derivation.quantity_definitions import multiples
from symroof.derivation.size_constraints import require_valid
from symroof.errors import AlgebraError, CheckError, ContradictionError, ModelError
from symroof.formula import (
    Call,
    Compare,
    Formula,
    Group,
    Infinity,
    Name,
    Negative,
    Number,
    Verdict,
    mapped,
    names,
    number,
)
from symroof.model.hardware import Accelerator
from symroof.model.splits import padded_sizes
from symroof.proof.check import check
from symroof.proof.propositions import OPEN, Decision, decide, decide_for_whole_sizes, direct_proof
from symroof.proof.quotients import ORDER, Quotients
from symroof.proof.step import Ledger
from symroof.proof.whole_numbers import Multiples, WholeSizes
from symroof.reading.claim_sets import TOLERANCE
from symroof.reading.name_scope import Scope
from symroof.symbols import weight
from symroof.verification.asymptotics import regime_of
from symroof.verification.budget import COEFFICIENTS, LEFT_OPEN, PROVER, spend
from symroof.verification.claim_functions import worked_out
from symroof.verification.intervals import enclosed, is_numeric

LONGEST_EXPANSION = 20_000


@dataclass(frozen=True, slots=True)
class Expansion:
    """A formula with its names put in, how many nodes that took, and what shows the values of its constructions."""

    formula: Formula
    length: int
    workings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A link as its author wrote it, its two sides with every name put in, and what it is judged against."""

    link: Compare
    left: Formula
    right: Formula
    context: Context
    workings: tuple[str, ...] = ()

    @property
    def claim(self) -> Compare:
        """What the link says of free symbols."""
        return Compare(self.left, self.link.relation, self.right)


@dataclass(frozen=True)
class Context:
    """``definitions`` are the formulas of names; ``units`` the base units of those that have one.

    ``other`` is the same context under the other way of counting additions, where that makes a difference.
    ``sized`` are the symbols that have values: relations of the regime that mention them say nothing any more.
    ``equations`` are facts of another kind: equalities that put nothing for a name, and that a replaced size is one.
    With ``proofs_only`` nothing is refuted and nothing inferred; with ``nearest`` numbers that are cut off may not stand;
    where units are ``binary``, GB may stand for GiB.
    """

    scope: Scope
    definitions: Mapping[str, Formula]
    units: Mapping[str, str]
    least_one: frozenset[str] = frozenset()
    relations: tuple[Compare, ...] = ()
    tolerance: Fraction = TOLERANCE
    nearest: bool = False
    binary: bool = False
    layout: Layout = field(default_factory=lambda: Layout(()))
    setting: Setting | None = None
    hardware: Accelerator | None = None
    count: str | None = None
    other: Context | None = None
    binding: bool = False
    sized: frozenset[str] = frozenset()
    equations: tuple[Compare, ...] = ()
    proofs_only: bool = False

    @cached_property
    def _multiples(self) -> Multiples:
        return Multiples() if self.setting is None else multiples(self.setting)

    def admitted(self, size: str) -> WholeSizes:
        """Which whole numbers are left to a size: of one that chips share out the multiples of theirs, of chips those that
        share out evenly what is known to be here."""
        axes = self._multiples.axes
        if not axes:
            return WholeSizes()
        if size not in self._admitted:
            defining = (name for formula in self._multiples.defined.values() for name in names(formula))
            of = (*axes, *defining, *(axis for groups in axes.values() for group in groups for axis in group))
            ends = {
                name: enclosed(value)
                for name in of
                if name in self.definitions and not names(value := self.put(Name(name)))
            }
            put = {name: value.low for name, value in ends.items() if value.low == value.high}
            self._admitted[size] = self._multiples.numbers((size,), put)
        return self._admitted[size]

    @property
    def shares_out(self) -> bool:
        """Whether chips share out some size."""
        return bool(self._multiples.axes)

    @cached_property
    def _admitted(self) -> dict[str, WholeSizes]:
        return {}

    def nearby(self, point: Mapping[str, Fraction]) -> Iterator[Mapping[str, Fraction]]:
        """The points around one whose sizes are left to chips: below in each of them, and above."""
        if not self.shares_out:
            yield point
            return
        around = {name: self.admitted(name).around(value) for name, value in point.items()}
        if all(around.values()):
            yield {name: values[0] for name, values in around.items()}
            yield {name: values[-1] for name, values in around.items()}

    def expanded(self, formula: Formula) -> Expansion:
        """The formula with every known name replaced by what it stands for, and every construction by its value."""
        expansion = self._expansion(formula)
        spend(expansion.length)
        return expansion

    def _expansion(self, formula: Formula) -> Expansion:
        if formula not in self._expansions:
            self._expansions[formula] = self._expanded(formula)
        return self._expansions[formula]

    def _expanded(self, formula: Formula) -> Expansion:
        length, workings = 0, dict[str, None]()

        def replaced(node: Formula) -> Formula:
            nonlocal length
            length += 1
            if isinstance(node, Name) and node.name in self.definitions:
                meaning = self._expansion(self.definitions[node.name])
                length += meaning.length
                workings.update(dict.fromkeys(meaning.workings))
                node = Group(meaning.formula)
            elif isinstance(node, Call) and node.function == "abs" and not is_numeric(node):
                node = Call("max", (node.arguments[0], Negative(Group(node.arguments[0]))))
            elif isinstance(node, Call):
                step = worked_out(node, self.least_one, self.bounded)
                if step is not None:
                    workings[check(replace(step, left=node), Ledger(self.least_one)).by] = None
                    node = Group(step.right)
            if length > LONGEST_EXPANSION:
                raise ModelError("the formulas are too long once their names are put in")
            return node

        return Expansion(mapped(formula, replaced), length, tuple(workings))

    @cached_property
    def bounded(self) -> frozenset[str]:
        """The names of which something is assumed beyond being a size: an order, or that another size depends on them."""
        equal = (self.definitions[size] for size in self.least_one & self.definitions.keys())
        orders = (r for r in self.relations if r.relation in ORDER)
        return frozenset(n for formula in self._reached((*orders, *equal, *self.equations)) for n in names(formula))

    @cached_property
    def _expansions(self) -> dict[Formula, Expansion]:
        return {}

    @cached_property
    def _weights(self) -> dict[Formula, int]:
        return {}

    @cached_property
    def _answers(self) -> dict[Formula, Decision]:
        return {}

    def put(self, formula: Formula) -> Formula:
        """The formula with its names put in, where it is not too large to be multiplied out."""
        return self._weighed(self.expanded(formula).formula)

    def question(self, link: Compare) -> Question:
        """What a link asks once its names are put in."""
        left, right = self.expanded(link.left), self.expanded(link.right)
        workings = dict.fromkeys((*left.workings, *right.workings))
        return Question(link, self._weighed(left.formula), self._weighed(right.formula), self, tuple(workings))

    def _weighed(self, formula: Formula) -> Formula:
        """The formula, its work counted each time that it is asked for."""
        if formula not in self._weights:
            self._weights[formula] = weight(formula)
        spend(self._weights[formula])
        return formula

    def settled(self, claim: Formula) -> Decision:
        """What the second engine makes of a proposition, under the facts."""
        if claim not in self._answers:
            self._answers[claim] = decide(claim, self.least_one, self.facts)
        answer = self._answers[claim]
        left_open = answer is OPEN and bool(self.facts or not (isinstance(claim, Compare) and claim.relation == "="))
        spend(LEFT_OPEN if left_open else PROVER if answer.by == "z3" else COEFFICIENTS)
        return answer

    def settled_whole(self, claim: Formula, size: str) -> bool:
        """Whether a proposition holds for every whole number that is left to a size."""
        if (claim, size) not in self.memory:
            self.memory[claim, size] = decide_for_whole_sizes(claim, self.least_one, size, self.admitted(size))
        return bool(self.memory[claim, size])

    def proof_of(self, claim: Formula) -> str | None:
        """By what the second engine proves a proposition without a search, under the facts."""
        spend(COEFFICIENTS)
        with suppress(CheckError, AlgebraError, RecursionError):
            return direct_proof(claim, Quotients(least_one=self.least_one), self.facts)
        return None

    def written(self, value: Expr, formula: Formula) -> Formula:
        """The value in writing, where the second engine finds it equal to the formula that it was made of; else that formula."""
        put = self.layout.write(value)
        return put if self.settled(Compare(put, "=", formula)).truth else formula

    def assuming(self, relations: Iterable[Compare]) -> Context:
        """With further relations, ``=`` among them put in; the same context for the same ones."""
        more = tuple(relations)
        if more and more not in self._narrower:
            self._narrower[more] = self._assuming(more)
        return self._narrower[more] if more else self

    @cached_property
    def _narrower(self) -> dict[object, Context]:
        return {}

    def _assuming(self, more: tuple[Compare, ...]) -> Context:
        context = replace(self, relations=(*self.relations, *more), other=self.other and self.other.assuming(more))
        for r in more:
            context = context._equal(r.left, context.put(r.right)) if r.relation == "=" else context
        return context

    def _reached(self, formulas: Iterable[Formula]) -> list[Formula]:
        """The formulas, and those that their names stand for."""
        formulas_reached = list(formulas)
        for formula in formulas_reached:
            meanings = (self.definitions[name] for name in names(formula) if name in self.definitions)
            formulas_reached += (meaning for meaning in meanings if meaning not in formulas_reached)
        return formulas_reached

    def _equal(self, left: Formula, right: Formula) -> Context:
        """With an equality: put in for a name that stands for nothing yet, a fact otherwise."""
        if isinstance(left, Name) and left.name not in self.definitions and left.name not in names(right):
            equations = (*self.equations, *self._still_a_size(left.name, right))
            return replace(self, definitions={**self.definitions, left.name: right}, equations=equations)
        return replace(self, equations=(*self.equations, Compare(self.put(left), "=", right)))

    def at(self, values: Iterable[tuple[str, Formula]]) -> Context:
        """With sizes put in; what the regime says of them is dropped."""
        sizes = dict(values)
        if sizes and (put := tuple(sizes.items())) not in self._narrower:
            self._narrower[put] = self._at(sizes)
        return self._narrower[put] if sizes else self

    def _at(self, sizes: dict[str, Formula]) -> Context:
        if self.setting is not None:
            numbers = {name: size.value for name, size in sizes.items() if isinstance(size, Number)}
            if (problem := self.setting.problem).pad:
                taken = padded_sizes(problem.operation, problem.mesh, numbers)
                sizes |= {name: number(size) for name, size in taken.items() if size != numbers[name]}
                numbers = taken
            require_valid(problem, numbers)
        left = tuple(r for r in self.relations if not sizes.keys() & {*names(r.left), *names(r.right)})
        others = {name: formula for name, formula in self.definitions.items() if name not in sizes}
        open_ = replace(self, definitions=others, sized=self.sized | sizes.keys(), other=None)
        placed = open_.assuming(Compare(Name(name), "=", value) for name, value in sizes.items())
        return replace(placed, relations=left, other=self.other and self.other.at(sizes.items()))

    @property
    def sizes(self) -> dict[str, Fraction]:
        """The sizes that were put in, in the order of their names."""
        values = {name: self.put(Name(name)) for name in self.scope.names if name in self.sized}
        return {name: enclosed(value).middle for name, value in values.items() if is_numeric(value)}

    def _still_a_size(self, name: str, value: Formula) -> tuple[Compare, ...]:
        """That a replaced symbol stays in the domain is a fact about what replaces it; a number has to lie in it."""
        if isinstance(value, Name):
            return ()
        low, relation = (1, ">=") if name in self.least_one else (0, ">")
        if not names(value):
            high = enclosed(value).high
            if high < low or (relation == ">" and high <= low):
                raise ModelError(f"{name} is {'at least 1' if low else 'above 0'}, and the claim puts in less")
            return ()
        return (Compare(value, relation, number(low)),)

    def defining(self, definitions: Mapping[str, Formula]) -> Context:
        """With other formulas for some names: another world, as a mistake would have it."""
        return replace(self, definitions={**self.definitions, **definitions}, other=None)

    @cached_property
    def memory(self) -> dict[object, Any]:
        """What was worked out of this context alone: what a kind of mistake leads to, what a condition should say."""
        return {}

    @cached_property
    def proving(self) -> Context:
        """The same, with nothing inferred."""
        return replace(self, proofs_only=True)

    @cached_property
    def strict(self) -> Context:
        """The same, with nothing accepted but what is proved as it stands."""
        return replace(self, tolerance=Fraction(0), proofs_only=True)

    @cached_property
    def facts(self) -> tuple[Compare, ...]:
        """The relations that are plain facts about sizes, expanded."""
        return self._put((*(r for r in self.relations if r.relation in ORDER), *self.equations))

    @cached_property
    def growing(self) -> tuple[Compare, ...]:
        """The relations of growth, expanded."""
        return self._put(r for r in self.relations if r.relation in ("<<", "->", "~", "~~"))

    @cached_property
    def regime(self) -> Regime:
        """The regime with its facts; equalities are put in already."""
        facts = self._put(r for r in self.relations if r.relation in ("<=", ">="))
        return regime_of((*self.growing, *facts), self.least_one)

    def _put(self, relations: Iterable[Compare]) -> tuple[Compare, ...]:
        return tuple(
            Compare(self.put(r.left), r.relation, r.right if isinstance(r.right, Infinity) else self.put(r.right))
            for r in relations
        )

    def counting(self, other: bool) -> Context:
        """The context with one way of counting additions alone: its own, or the other one where that may be meant."""
        chosen = self if not other or self.binding else self.other or self
        return replace(chosen, other=None)

    def require_possible(self) -> Context:
        """The context, where some sizes satisfy what it assumes: from anything else everything would follow."""
        if self.facts and self.settled(Verdict(False)).truth:
            raise ContradictionError("the assumptions contradict one another: no sizes satisfy them")
        if self.growing:
            _ = self.regime  # raises where it contradicts itself
        return self
