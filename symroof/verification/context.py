"""What a claim is judged against: every name with the formula that it stands for, and what is assumed.

A claim is *expanded* once, before it is judged: names are replaced by what they stand for, constructions by their
values. What is left are free symbols, and the judge needs no other definitions. A context is a value, so what it puts
for a name, its facts and its regime are worked out once each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from sympy import Expr

from symroof.algebra.regime import Regime
from symroof.derivation.layout import Layout
from symroof.derivation.setting import Setting, setting_of
from symroof.errors import ContradictionError, ModelError
from symroof.formula import Call, Compare, Formula, Group, Infinity, Name, Verdict, mapped, names, number
from symroof.model.hardware import Accelerator
from symroof.proof.exact import ORDER
from symroof.proof.settling import OPEN, Settled, settle
from symroof.reading.exercises import TOLERANCE, Exercise, giving_way
from symroof.reading.expressions import Scope
from symroof.symbols import symbol
from symroof.verification.budget import COEFFICIENTS, LEFT_OPEN, PROVER, spend, weighed
from symroof.verification.constructions import Working, worked_out
from symroof.verification.definitions import SPOKEN, of_chip, of_model, of_operation, units_of
from symroof.verification.enclosures import enclosed
from symroof.verification.growth import regime_of

LONGEST_EXPANSION = 20_000


@dataclass(frozen=True, slots=True)
class Expansion:
    """A formula with its names put in, how many nodes that took, and the constructions that were worked out for it."""

    formula: Formula
    length: int = 1
    workings: tuple[Working, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A link as its author wrote it, and its two sides with every name put in."""

    link: Compare
    left: Formula
    right: Formula
    workings: tuple[Working, ...] = ()

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
    """

    scope: Scope
    definitions: Mapping[str, Formula]
    units: Mapping[str, str]
    least_one: frozenset[str] = frozenset()
    relations: tuple[Compare, ...] = ()
    tolerance: Fraction = TOLERANCE
    layout: Layout = field(default_factory=lambda: Layout(()))
    setting: Setting | None = None
    hardware: Accelerator | None = None
    count: str | None = None
    other: Context | None = None
    sized: frozenset[str] = frozenset()
    equations: tuple[Compare, ...] = ()

    def expanded(self, formula: Formula) -> Expansion:
        """The formula with every known name replaced by what it stands for, and every construction by its value."""
        length, workings = 0, dict[Working, None]()

        def replaced(node: Formula) -> Formula:
            nonlocal length
            length += 1
            if isinstance(node, Name) and node.name in self.definitions:
                known = self._known(node.name)
                length += known.length
                workings.update(dict.fromkeys(known.workings))
                node = Group(known.formula)
            elif isinstance(node, Call):
                working = worked_out(node, self.least_one, self.layout)
                node = working.value
                if working.check is not None:
                    workings[working] = None
            if length > LONGEST_EXPANSION:
                raise ModelError("the formulas are too long once their names are put in")
            return node

        put = mapped(formula, replaced)
        spend(length)
        return Expansion(put, length, tuple(workings))

    def _known(self, name: str) -> Expansion:
        if name not in self._stand_for:
            self._stand_for[name] = self.expanded(self.definitions[name])
        return self._stand_for[name]

    @cached_property
    def _stand_for(self) -> dict[str, Expansion]:
        return {}

    @cached_property
    def _answers(self) -> dict[Formula, Settled]:
        return {}

    def put(self, formula: Formula) -> Formula:
        """The formula with its names put in, where it is not too large to be multiplied out."""
        return weighed(self.expanded(formula).formula)

    def question(self, link: Compare) -> Question:
        """What a link asks once its names are put in."""
        left, right = self.expanded(link.left), self.expanded(link.right)
        workings = dict.fromkeys((*left.workings, *right.workings))
        return Question(link, weighed(left.formula), weighed(right.formula), tuple(workings))

    def settled(self, claim: Formula) -> Settled:
        """What the second engine makes of a proposition, under the facts."""
        if claim not in self._answers:
            self._answers[claim] = settle(claim, self.least_one, self.facts)
        answer = self._answers[claim]
        left_open = answer is OPEN and bool(self.facts or not _is_equation(claim))
        spend(LEFT_OPEN if left_open else PROVER if answer.by == "z3" else COEFFICIENTS)
        return answer

    def written(self, value: Expr, formula: Formula) -> Formula:
        """The value in writing, where the second engine finds it equal to the formula that it was made of; else that formula."""
        put = self.layout.write(value)
        return put if self.settled(Compare(put, "=", formula)).truth else formula

    def assuming(self, relations: Iterable[Compare]) -> Context:
        """With further relations, ``=`` among them put in."""
        more = tuple(relations)
        if not more:
            return self
        equal: dict[str, Formula] = {}
        equations: list[Compare] = []
        for r in more:
            if r.relation != "=":
                continue
            so_far = replace(self, definitions={**self.definitions, **equal})
            right = so_far.put(r.right)
            if isinstance(r.left, Name) and r.left.name not in so_far.definitions and r.left.name not in names(right):
                equal[r.left.name] = right
                equations += self._still_a_size(r.left.name, right)
            else:
                equations.append(Compare(so_far.put(r.left), "=", right))
        return replace(
            self,
            relations=(*self.relations, *more),
            definitions={**self.definitions, **equal},
            equations=(*self.equations, *equations),
            other=self.other and self.other.assuming(more),
        )

    def at(self, values: Iterable[tuple[str, Formula]]) -> Context:
        """With sizes put in; what the regime says of them is dropped."""
        sizes = {name: self.put(value) for name, value in values}
        if not sizes:
            return self
        equations = tuple(fact for name, value in sizes.items() for fact in self._still_a_size(name, value))
        return replace(
            self,
            relations=tuple(r for r in self.relations if not set(sizes) & {*names(r.left), *names(r.right)}),
            definitions={**self.definitions, **sizes},
            sized=self.sized | set(sizes),
            equations=(*self.equations, *equations),
            other=self.other and self.other.at(values),
        )

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
    def facts(self) -> tuple[Compare, ...]:
        """The relations that are plain facts about sizes, expanded."""
        return self._expanded((*(r for r in self.relations if r.relation in ORDER), *self.equations))

    @cached_property
    def growing(self) -> tuple[Compare, ...]:
        """The relations of growth, expanded."""
        return self._expanded(r for r in self.relations if r.relation in ("<<", "->", "~", "~~"))

    @cached_property
    def regime(self) -> Regime:
        """The regime with its facts; equalities are put in already."""
        facts = self._expanded(r for r in self.relations if r.relation in ("<=", ">="))
        return regime_of((*self.growing, *facts), frozenset(map(symbol, self.least_one)))

    def _expanded(self, relations: Iterable[Compare]) -> tuple[Compare, ...]:
        return tuple(
            Compare(self.put(r.left), r.relation, r.right if isinstance(r.right, Infinity) else self.put(r.right))
            for r in relations
        )

    def require_possible(self) -> Context:
        """The context, where some sizes satisfy what it assumes: from anything else everything would follow."""
        if self.facts and self.settled(Verdict(False)).truth:
            raise ContradictionError("the assumptions contradict one another: no sizes satisfy them")
        if self.growing:
            _ = self.regime  # raises where it contradicts itself
        return self


def _is_equation(claim: Formula) -> bool:
    return isinstance(claim, Compare) and claim.relation == "="


def context_of(exercise: Exercise) -> Context:
    """The context of an exercise: its operation costed, or its model alone."""
    return _of_problem(exercise) if exercise.problem is not None else _of_model(exercise)


def _of_problem(exercise: Exercise) -> Context:
    problem = exercise.problem
    assert problem is not None
    stated, contrary = (
        setting_of(replace(problem, at=(), sections=(), count=count))
        for count in (problem.count, "exact" if problem.count == "fma" else "fma")
    )
    context = _counted(exercise, stated)
    if contrary.cost.flops != stated.cost.flops:
        context = replace(context, other=_counted(exercise, contrary))
    return context.assuming(exercise.assume)


def _counted(exercise: Exercise, setting: Setting) -> Context:
    """The names of an operation under one way of counting."""
    chip, dimensions = setting.problem.hardware, setting.problem.operation.dimensions
    known = {**of_operation(setting), **of_chip(chip), **exercise.let}
    return Context(
        Scope((*dimensions, *exercise.symbols, *dict.fromkeys((*known, *SPOKEN))), give_way=giving_way(exercise)),
        known,
        units_of(chip),
        frozenset(dimensions),
        tolerance=exercise.tolerance,
        layout=setting.layout,
        setting=setting,
        hardware=chip,
        count=setting.problem.count,
    )


def _of_model(exercise: Exercise) -> Context:
    """Named formulas, and the theory of rooflines for the quantities that they leave open."""
    chip, own = exercise.hardware, {*exercise.symbols, *exercise.let}
    several = chip is not None and "peak" not in chip.figures  # which of its peaks is meant has to be said
    rate = chip.peak(exercise.compute)[1] if chip is not None and several and exercise.compute is not None else None
    known = of_model(exercise.let, own, chip, rate)
    spoken = (name for name in SPOKEN if name != "peak" or not several or rate is not None)
    context = Context(
        Scope(tuple(dict.fromkeys((*exercise.symbols, *known, *spoken))), open=True, give_way=giving_way(exercise)),
        known,
        {name: unit for name, unit in units_of(chip).items() if name not in own},
        tolerance=exercise.tolerance,
        hardware=chip,
    )
    return context.assuming(exercise.assume)
