"""What templates ask of a derivation or a sketch, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sympy import Expr, Mul

from symroof.algebra.roots import Root
from symroof.derivation.answer import Point, Steps
from symroof.derivation.layout import with_digits
from symroof.derivation.pipeline import Derivation, SketchDerivation
from symroof.derivation.steps import numeric
from symroof.formula import Compare, Formula, Name, Quotient, Verdict, number
from symroof.proof.loop_counts import Arrays
from symroof.proof.step import Reason, Step, against
from symroof.rendering.pages.mesh_view import Mesh
from symroof.rendering.pages.number_formats import decimal_number, grouped, grouped_sizes
from symroof.rendering.pages.program_tables import Statements


class StepsByReason:
    """The steps of a derivation or a sketch by their reasons, and what is to be least."""

    derivation: Derivation | SketchDerivation
    problem: Any
    answer: Any

    def all(self, reason: str, section: str | None = None) -> tuple[Step, ...]:
        """The steps of a reason, in a section or anywhere."""
        name = Reason(reason)
        return tuple(s for s in self.derivation.steps if s.reason is name and section in (None, s.section))

    def find(self, reason: str, section: str | None = None) -> Step | None:
        return next(iter(self.all(reason, section)), None)

    def first(self, reason: str, point: int) -> Step | None:
        """The first step of a reason at a set of sizes."""
        return next((step for step in self.all(reason) if step.point == point), None)

    @property
    def least(self) -> Formula:
        """What is to be least."""
        result: Formula = self.problem.minimize
        return result

    @property
    def over(self) -> Name:
        """What it is to be least over."""
        return Name(str(self.problem.over))

    @property
    def bound_in_figures(self) -> Formula | None:
        """The condition of being compute-bound there, with the figures put in."""
        bound, value = self.answer.formula("optimum_bound"), self.answer.formula("optimum_bound_value")
        return bound if value is None else replace(bound, right=value)

    def growing(self, step: Step) -> tuple[Compare, ...]:
        """The regime of a step."""
        return step.assumed("<<", "->", "~", "~~")

    def guards(self, step: Step) -> tuple[tuple[Formula, Formula], ...]:
        """What is at least what by assumption."""
        return tuple((guard.left, guard.right) for guard in step.assumed(">="))


class View(StepsByReason):
    """A derivation, asked for by name. Every formula here is on some step, or is a value of the answer.

    ``variable`` is what the condition is solved for, ``asked`` the size that was asked for where it equals that one,
    ``chips`` are all those of the mesh, ``unsplit`` its axes that split nothing; ``matrix_unit`` says whether the peak is that of a matrix unit. The ridge
    is in decimals; ``number_condition`` is the exact condition, where it is a number without any regime.
    """

    derivation: Derivation

    def __init__(self, derivation: Derivation) -> None:
        self.derivation, self.answer, self.setting = derivation, derivation.answer, derivation.setting
        self.problem = problem = self.setting.problem
        self.operation, self.chip, self.outcome = problem.operation, problem.hardware, self.answer.outcome
        program = self.operation
        self.program = Statements(derivation, program) if program.line is None else None
        self.mesh = Mesh(derivation, program) if program.axes else None
        self.variable = Name(self.setting.variable.name)
        asked = problem.solve_for if problem.solve is None else None
        self.unknown = Name(str(problem.solve_for))  # of the relation that is solved
        self.asked = None if asked in (None, self.variable.name) else Name(str(asked))
        axes = tuple(axis for axis in problem.mesh.values() if problem.operation.axes)
        self.chips = self.setting.layout.write(Mul(*(axis.size for axis in axes)))
        self.unsplit = [a.name for a in axes if a.name not in problem.operation.axes and a.chips != 1]
        self.links = tuple(self._bounds_of_links()) if self.setting.joint else ()
        self.matrix_unit, self.rates = self.setting.matrix_unit, self.setting.rates
        self.said = self.answer.formula
        self.ridge = None if self.answer.ridge is None else decimal_number(self.answer.ridge)
        rule = self.answer.rule
        self.rule_condition = self.condition(self.answer, self.answer.rule_bound) if rule else None
        self.number_condition = None if rule else self.condition(self.answer, self.answer.bound)
        self.points = tuple(map(self._point, self.answer.at))

    @property
    def upside_down(self) -> Compare | None:
        """The condition as a bound on 1/intensity, the ridge in decimals where it is known."""
        result = self.said("upside_down")
        if not isinstance(result, Compare) or self.ridge is None:
            return result if isinstance(result, Compare) else None
        return replace(result, right=Quotient(number(1), self.ridge))

    def _bounds_of_links(self) -> Iterator[Formula]:
        """When arithmetic takes longer than each link, in figures where they are known; nothing of one where it always does."""
        for resource, _ in self.setting.rates.links:
            bound = self.answer.formula(against("figured", resource)) or self.answer.formula(
                against("threshold", resource)
            )
            if bound is not None and not isinstance(bound, Verdict):
                yield bound

    def opens_point(self, step: Step) -> bool:
        """Whether a step is the first of its section at a set of sizes."""
        same = (s for s in self.derivation.steps if (s.section, s.point) == (step.section, step.point))
        return step.point is not None and next(same) is step

    def figured(self, formula: Formula) -> Formula:
        """A formula with the figures of the machine in the digits in which they were read."""
        return with_digits(formula, self.setting.digits)

    @property
    def in_figures(self) -> Compare | None:
        """The condition on the chips of a mesh, its bound with the figures put in."""
        solution, bound = self.answer.threshold, self.said("bound")
        if not self.setting.several_chips or solution is None or solution.end != solution.formula or bound is None:
            return None
        return Compare(solution.end.left, solution.end.relation, bound)

    @property
    def no_vector_time(self) -> bool:
        """Whether there is elementwise work beside contractions, and no figure for the unit that does it."""
        works = self.said("ops") is not None and not self.operation.vector
        return works and self.rates.vector is None

    @property
    def widths(self) -> dict[str, Fraction]:
        """The bytes of an element of each dtype."""
        evidence = [step.evidence for step in self.derivation.steps]
        return {name: size for arrays in evidence if isinstance(arrays, Arrays) for name, size in arrays.widths.items()}

    def bounds(self, step: Step) -> tuple[Compare, ...]:
        """The sizes that are at least something by assumption."""
        return of_kind(step.assumptions, ">=")

    def range(self, step: Step) -> list[tuple[list[Formula], Formula]]:
        """D >= 40B and F >= 40B as one: D, F >= 40B."""
        return grouped((relation.left, relation.right) for relation in self.bounds(step))

    def equal_names(self, step: Step) -> tuple[Formula, ...]:
        """The names that are equal by assumption, the one that the others equal first."""
        same = of_kind(step.assumptions, "=")
        return (same[0].right, *(r.left for r in same))

    @property
    def scaling(self) -> tuple[Compare, ...]:
        """The relations of the regime that say what grows; those of the limit where there is one."""
        limit = self.find("limit")
        return of_kind(limit.assumptions if limit else self.problem.assume, "<<", "->", "~", "~~")

    def condition(self, said: Steps, edge: Expr | Root | None) -> dict[str, Any] | None:
        """``B > 240.24, so B >= 241``: relation, decimal bound and first whole size; None for a symbolic bound."""
        stated, value, first = said.condition, numeric(edge), said.smallest_integer
        if not isinstance(stated, Compare) or value is None:
            return None
        shown = decimal_number(value)
        return {
            "variable": stated.left,
            "sign": "=" if shown.value == value else "~",
            "relation": stated.relation,
            "bound": shown,
            "first": None if first is None else number(first),
            "whole": said.step("smallest"),
        }

    def _point(self, point: Point) -> dict[str, Any]:
        value, solution = numeric(point.value("intensity")), point.threshold
        return {
            "said": point,
            "variable": self.variable if solution is None else Name(solution.variable),
            "where": grouped_sizes(point.values, self.setting.layout),
            "condition": self.condition(point, point.bound),
            "same": point.bound is not None and point.bound == self.answer.bound,
            "intensity": point.formula("intensity") if value is None else decimal_number(value),
            "fixed": solution is None,
            "balanced": value is not None and value == self.answer.ridge,
        }

    @property
    def regimes_to_try(self) -> tuple[str, ...]:
        """The corners of a reciprocal form: one size small beside the others."""
        parts = [monomial.as_coeff_Mul()[1] for monomial in self.answer.reciprocals or ()]
        if self.setting.regime.scaling or not all(part.is_Symbol for part in parts):
            return ()
        return tuple(f"{x} << {', '.join(str(y) for y in parts if y != x)}" for x in parts)


def of_kind(relations: Iterable[Formula], *kinds: str) -> tuple[Compare, ...]:
    """The relations of these kinds."""
    return tuple(r for r in relations if isinstance(r, Compare) and r.relation in kinds)


class SketchView(StepsByReason):
    """What templates ask of a sketch, by name."""

    def __init__(self, sketched: SketchDerivation) -> None:
        self.derivation, self.problem, self.answer = sketched, sketched.sketch, sketched.answer
        self.chip, self.unknown = sketched.sketch.hardware, Name(str(sketched.sketch.solve_for))
        self.points = [{"where": grouped_sizes(values, sketched.layout)} for values in sketched.sketch.at]
