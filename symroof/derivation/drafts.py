"""The steps of a derivation that is being written: the second engine decides each as a section adds it; and the answer, what
people look for first, read off the steps that say it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sympy import Expr, oo

from symroof.algebra.dominance import Approximation, Similarity
from symroof.algebra.regime import Relation
from symroof.algebra.roots import Root
from symroof.algebra.rounding import decimal
from symroof.derivation.formula_writing import Layout, with_digits
from symroof.derivation.premises import Setting
from symroof.derivation.solutions import Solution
from symroof.formula import Compare, Either, Formula, Frozen, Infinity, Name, Number, Sum, Verdict
from symroof.model.quantities import T_COMMS, T_MATH
from symroof.proof.calculus import HighestPowers
from symroof.proof.certificates import Dominance
from symroof.proof.check import establish
from symroof.proof.loop_counts import Touches
from symroof.proof.step import Ledger, Part, Reason, Role, Step, UndecidedError, number_of
from symroof.symbols import expression, fraction, rational, symbol

INTENSITY, RIDGE, T_UPPER, T_STEPS = map(Name, ("intensity", "ridge", "T_upper", "T_steps"))


class Draft(Frozen):
    """The steps so far, all of them decided; ``ledger`` is what they have established."""

    setting: Setting
    ledger: Ledger
    steps: tuple[Step, ...] = ()

    @property
    def answer(self) -> Answer:
        return Answer(self.steps, self.setting.problem.at)

    @property
    def layout(self) -> Layout:
        return self.setting.layout

    def write(self, value: Expr | Fraction | int | Root) -> Formula:
        return self.layout.write(value)

    @property
    def above(self) -> Compare:
        """That the arithmetic takes longer: by the intensity, or by the times where there is no ridge."""
        return Compare(T_MATH, ">", T_COMMS) if self.setting.mixed else Compare(INTENSITY, ">", RIDGE)

    def where(self, point: int) -> tuple[Formula, ...]:
        """The equalities of a set of sizes, beside those that are assumed."""
        sizes = self.setting.problem.at[point]
        return (*self.setting.equalities, *(Compare(Name(n), "=", self.write(x)) for n, x in sizes.items()))

    def value_at(self, value: Expr, sizes: Mapping[str, Fraction]) -> Expr:
        """A value with sizes put in."""
        return self.setting.regime.apply(value).subs({symbol(name): rational(x) for name, x in sizes.items()})

    def in_digits(self, formula: Formula) -> Formula:
        """The formula with known figures shown by their digits."""
        return with_digits(formula, self.setting.digits)

    def add(self, *steps: Step) -> Draft:
        """The draft with more steps. Raises :class:`~symroof.errors.CheckError` on one that does not hold."""
        return replace(self, steps=(*self.steps, *establish(steps, self.ledger)))

    def attempt(self, *steps: Step) -> Draft:
        """The draft with more steps; without any of them where the second engine can tell nothing of one."""
        try:
            return self.add(*steps)
        except UndecidedError:
            return self

    def since(self, earlier: Draft) -> tuple[Step, ...]:
        """The steps that an earlier draft did not have."""
        return self.steps[len(earlier.steps) :]


def comparisons(relations: Iterable[Relation], write: Callable[[Expr], Formula]) -> tuple[Compare, ...]:
    """Relations of a regime as formulas."""
    return tuple(Compare(write(a), sign, Infinity() if b == oo else write(b)) for a, sign, b in relations)


def dominance(similar: Similarity, write: Callable[[Expr], Formula]) -> Dominance:
    """What the check needs to decide an approximation again."""
    return Dominance(write(similar.numerator), write(similar.denominator), similar.certificates)


def as_number(value: Expr | Root | None) -> Fraction | None:
    """The value of a bound without symbols; the middle of its interval for an irrational one."""
    if isinstance(value, Root):
        return value.middle
    return fraction(value) if value is not None and value.is_Rational else None


def decimals(
    section: str, left: Formula, value: Fraction, digits: str | None = None, **options: Any
) -> tuple[Step, ...]:
    """``left ~ 240.24``, and nothing where the digits are the value itself."""
    text = digits or decimal(value)
    if Fraction(text) == value:
        return ()
    return (Step(section, Reason.ROUNDED, left, "~", Number(Fraction(text), text), **options),)


class Steps(Frozen):
    """Checked steps, each found by the part of the answer that it says: what no step says is None."""

    steps: tuple[Step, ...]

    @cached_property
    def _index(self) -> Mapping[str, tuple[Step, ...]]:
        """Every step that says a part, by that part."""
        result: dict[str, list[Step]] = {}
        for step in self.steps:
            if step.point == self._point:
                result.setdefault(step.role, []).append(step)
        return {role: tuple(steps) for role, steps in result.items()}

    @property
    def _point(self) -> int | None:
        """The set of sizes that the steps are about; None for all sizes."""
        return None

    def all(self, role: Role | Part) -> tuple[Step, ...]:
        """The steps that say a part of the answer, or its items."""
        return self._index.get(role, ())

    def step(self, role: Role | Part) -> Step | None:
        return next(iter(self.all(role)), None)

    def formula(self, role: Role | Part) -> Formula | None:
        step = self.step(role)
        return None if step is None else step.right

    def value(self, role: Role | Part) -> Expr | None:
        formula = self.formula(role)
        return None if formula is None else expression(formula)

    def known(self, role: Role | Part) -> Expr:
        """The value of a part that there always is."""
        value = self.value(role)
        assert value is not None, role
        return value

    def numbers(self, role: Role | Part) -> tuple[Fraction, ...]:
        """The values of the items of a part."""
        return tuple(fraction(expression(step.right)) for step in self.all(role))

    def number(self, role: Role | Part) -> Fraction | None:
        return next(iter(self.numbers(role)), None)

    def solution(self, role: Role | Part) -> Solution | None:
        """The solved condition that a step says."""
        step = self.step(role)
        if step is None:
            return None
        ends = tuple(a for a in step.assumptions if isinstance(a, Either))
        return Solution(step.facts.variable, step.right, ends, step.check)

    @property
    def bound(self) -> Expr | Root | None:
        """The bound of the condition, with the figures put in."""
        solution = self.solution("threshold")
        if solution is not None and isinstance(solution.bound, Root):
            return solution.bound
        return self.value("bound")

    @property
    def threshold(self) -> Solution | None:
        """intensity > ridge, solved."""
        return self.solution("threshold")

    @property
    def intensity(self) -> Expr:
        return self.known("intensity")

    @property
    def condition(self) -> Formula | None:
        """Where it is compute-bound, in the shortest words."""
        return self.formula("condition")

    def whole(self, role: Role | Part) -> int | None:
        """The least whole size that a step says."""
        right = self.formula(role)
        return int(expression(right.right)) if isinstance(right, Compare) else None

    @property
    def smallest_integer(self) -> int | None:
        """The least whole size that meets the condition."""
        return self.whole("smallest")

    @property
    def equal_sizes_from(self) -> int | None:
        """The least size at which it is compute-bound with all of its sizes equal."""
        return self.whole("equal")

    @property
    def within(self) -> tuple[tuple[Expr, Expr], ...] | None:
        """Pairs (y, x): an approximation is 1 ± 5 % of the value once every y >= x."""
        step = self.step("within")
        return None if step is None else tuple((expression(a.left), expression(a.right)) for a in step.assumed(">="))

    @property
    def outcome(self) -> str:
        if (together := self.step("all")) is not None:
            return (
                "depends" if not isinstance(together.right, Verdict) else "always" if together.right.holds else "never"
            )
        return self.own_outcome

    @property
    def own_outcome(self) -> str:
        """Where the intensity is above the ridge, whatever the links are busy with."""
        return "depends" if self.threshold is None else self.threshold.outcome


class TimeRow(Frozen):
    """The times at one size, in seconds, and which of the first two is longer. ``threshold`` marks the first whole
    size beyond the bound. Only programs have ``steps``, and ``others`` by name: of the vector unit, of links."""

    size: Fraction
    t_math: Fraction
    t_comms: Fraction
    lower: Fraction
    upper: Fraction
    relation: str
    threshold: bool
    others: tuple[tuple[Name, Fraction], ...] = ()
    steps: Fraction | None = None

    @property
    def compute_bound(self) -> bool:
        return self.relation == ">"

    @property
    def longest(self) -> tuple[str, ...]:
        """What is busy for as long as the lower bound says: math, vector, a memory, a link, an axis; comms is what T_comms is
        the time of, where no other says so."""
        times = (("math", self.t_math), *((name.name.removeprefix("T_"), time) for name, time in self.others))
        result = tuple(name for name, time in times if time == self.lower)
        moving = any(name not in ("math", "vector") for name in result)
        return (*result, "comms") if self.t_comms == self.lower and not moving else result


class Point(Steps):
    """The answer at the sizes that are put in. Expressions are in what stays free."""

    values: Mapping[str, Fraction]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} = {size}" for name, size in self.values.items())
        return f"<Point at {sizes}: {len(self.steps)} steps>"

    @property
    def _point(self) -> int | None:
        return self.steps[0].point if self.steps else None

    @property
    def bound(self) -> Expr | Root | None:
        """The bound of the condition at these sizes."""
        return None if self.threshold is None else self.threshold.bound

    @property
    def side(self) -> str | None:
        """How the intensity stands to the ridge, where every size is put in: ``>``, ``<`` or ``=``."""
        step = self.step("joint") or self.step("side")
        return None if step is None else step.relation

    @property
    def held(self) -> bool | None:
        """Whether the memory of one chip holds what it has to; None where that is open."""
        filled = self.number(number_of("filled"))
        return None if filled is None else filled <= 1

    @property
    def outcome(self) -> str:
        if self.side is not None:
            return "always" if self.side == ">" else "never"
        return super().outcome

    @property
    def variable(self) -> str:
        """What the condition is solved for."""
        step = self.step("threshold")
        return "" if step is None else step.facts.variable

    @property
    def early(self) -> int:
        """How many sizes too early the rule of thumb comes."""
        return int(self.value("early") or 0)

    @property
    def times(self) -> tuple[TimeRow, ...]:
        rows: dict[Fraction, list[Step]] = {}
        for step in self.steps:
            if step.role == "row":
                rows.setdefault(step.facts.size, []).append(step)
        return tuple(_row(size, steps, self.smallest_integer) for size, steps in rows.items())


def _row(size: Fraction, steps: list[Step], first: int | None) -> TimeRow:
    *times, side = steps
    math, comms, lower, upper = (fraction(expression(step.right)) for step in times[:4])
    times_ = {step.left: fraction(expression(step.right)) for step in times[4:] if isinstance(step.left, Name)}
    longest = times_.pop(Name("T_steps"), None)
    return TimeRow(size, math, comms, lower, upper, side.relation, size == first, tuple(times_.items()), longest)


class Answer(Steps):
    """The answer of a derivation; ``points`` are the sizes that are put in. A field is None where it does not apply."""

    points: tuple[Mapping[str, Fraction], ...] = ()

    def __repr__(self) -> str:
        return f"<Answer of {len(self.steps)} steps, at {len(self.points)} sets of sizes>"

    def solved(self, place: int | None) -> Formula | None:
        """What the relation that was to be solved comes to: at a set of sizes, with its own size set free where they have
        that too; in general elsewhere."""
        roles: tuple[Role, ...] = ("solution_whole", "solution")
        free = () if place is None else (self.formula(number_of(f"{role}({place})")) for role in roles)
        sources: tuple[Steps, ...] = (self,) if place is None else (self.at[place], self)
        result = (*free, *(where.formula(role) for where in sources for role in roles))
        return next((formula for formula in result if formula is not None), None)

    @property
    def reciprocals(self) -> tuple[Expr, ...] | None:
        """The monomials whose reciprocals add up to that of the intensity."""
        right = self.formula("reciprocal")
        return tuple(1 / expression(term) for term in right.terms) if isinstance(right, Sum) else None

    @property
    def uses(self) -> tuple[tuple[str, Formula], ...]:
        """How often an element of each operand is used."""
        return tuple((step.evidence.operand, step.right) for step in self.steps if isinstance(step.evidence, Touches))

    @property
    def leading(self) -> Approximation | None:
        """The intensity and its leading form: what no step says of them is None."""
        step = self.step("leading")
        if step is None:
            return None
        next_order = self.formula("next")
        following = expression(next_order.terms[1].body) if isinstance(next_order, Sum) else None  # type: ignore[attr-defined]
        return Approximation(self.intensity, expression(step.right), self.value("factor"), self.within, following)

    @property
    def limits(self) -> Mapping[str, Expr]:
        """What the intensity tends to as one size grows alone."""
        return {
            f"{step.evidence.name} -> oo": expression(step.right)
            for step in self.steps
            if isinstance(step.evidence, HighestPowers)
        }

    @property
    def ridge(self) -> Fraction | None:
        return self.number("ridge")

    @property
    def supremum(self) -> Expr | None:
        """What the intensity rises to as the variable grows, where that may stay below the ridge."""
        return self.value("supremum")

    @property
    def rule(self) -> Solution | None:
        """The condition in the regime."""
        return self.solution("rule")

    @property
    def rule_bound(self) -> Expr | Root | None:
        rule = self.rule
        return rule.bound if rule is not None and isinstance(rule.bound, Root) else self.value("rule_bound")

    @property
    def at(self) -> tuple[Point, ...]:
        return tuple(
            Point(tuple(s for s in self.steps if s.point == i), values) for i, values in enumerate(self.points)
        )
