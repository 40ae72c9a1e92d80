"""What templates see of a derivation: formulas, names and numbers, free of any format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from sympy import Expr

from symroof.algebra.roots import Root
from symroof.derivation.answer import Point, Said
from symroof.derivation.draft import BANDWIDTH, PEAK, numeric
from symroof.derivation.layout import with_digits
from symroof.formula import Compare, Formula, Name, Quotient, number
from symroof.proof.grounds import Arrays
from symroof.proof.step import Reason, Step
from symroof.rendering.pages.amounts import decimal_number, grouped
from symroof.rendering.pages.naming import Naming


class View(Naming):
    """A derivation, asked for by name. Every formula here is on some step, or is a value of the answer."""

    def find(self, reason: str, section: str | None = None) -> Step | None:
        """The first step of a reason, in a section or anywhere."""
        wanted = Reason(reason)
        return next((s for s in self.derivation.steps if s.reason is wanted and section in (None, s.section)), None)

    def all(self, reason: str, section: str | None = None) -> tuple[Step, ...]:
        wanted = Reason(reason)
        return tuple(s for s in self.derivation.steps if s.reason is wanted and section in (None, s.section))

    def write(self, value: Expr | Fraction | int | Root) -> Formula:
        return self.derivation.setting.layout.write(value)

    def said(self, role: str) -> Formula | None:
        """What a step says of a part of the answer."""
        return self.derivation.answer.formula(role)

    @property
    def widths(self) -> tuple[tuple[str, Fraction], ...]:
        """The bytes of an element of each dtype."""
        evidence = [step.evidence for step in (*self.all("reads"), *self.all("writes"))]
        sizes = {
            name: size for arrays in evidence if isinstance(arrays, Arrays) for name, size in arrays.widths.items()
        }
        return tuple(sizes.items())

    @property
    def below(self) -> tuple[Formula, ...]:
        """What the intensity stays below."""
        return tuple(step.right for step in self.all("below_each"))

    @property
    def errs(self) -> str | None:
        """How the leading form over the intensity stands to 1."""
        step = self.find("side", "regime")
        return None if step is None else step.relation

    @property
    def intensity_varies(self) -> bool:
        return bool(self.derivation.answer.intensity.free_symbols)

    def bounds(self, step: Step) -> tuple[Compare, ...]:
        """The sizes that are at least something by assumption."""
        return growing(step.assumptions, ">=")

    def range(self, step: Step) -> list[tuple[list[Formula], Formula]]:
        """D >= 40B and F >= 40B as one: D, F >= 40B."""
        return grouped((relation.left, relation.right) for relation in self.bounds(step))

    def equal_names(self, step: Step) -> tuple[Formula, ...]:
        """The names that are equal by assumption, the one that the others equal first."""
        same = growing(step.assumptions, "=")
        return (same[0].right, *(r.left for r in same))

    @property
    def depends_on_size(self) -> bool:
        """Whether the intensity has the variable in it at all."""
        return bool(self.derivation.answer.intensity.has(self.derivation.setting.variable))

    @property
    def variable(self) -> Formula:
        return Name(self.derivation.setting.variable.name)

    @property
    def asked(self) -> Formula | None:
        """The size that was asked for, where the condition is solved for another that it equals."""
        asked = self.derivation.setting.problem.solve_for
        return None if asked is None or Name(asked) == self.variable else Name(asked)

    @property
    def regime(self) -> tuple[Compare, ...]:
        return self.derivation.setting.problem.assume

    @property
    def scaling(self) -> tuple[Compare, ...]:
        """The relations of the regime that say what grows; those of the limit where there is one."""
        limit = self.find("limit")
        return growing(limit.assumptions if limit else self.regime, "<<", "->", "~", "~~")

    @property
    def counts(self) -> Mapping[str, int]:
        """How many steps were proved, and how many sampled."""
        return self.derivation.counts()

    @property
    def unsimplified(self) -> bool:
        """Whether a regime was asked for in which no term can be neglected."""
        return bool(self.derivation.setting.regime.scaling) and self.derivation.answer.leading is None

    @property
    def equal(self) -> bool:
        return bool(self.derivation.setting.regime.substitution)

    @property
    def flops(self) -> Formula | None:
        return self.said(self.derivation.setting.flops_name)

    @property
    def moved(self) -> Formula | None:
        return self.said(self.derivation.setting.moved_name)

    @property
    def ridge(self) -> Formula | None:
        """The ridge in decimals."""
        value = self.derivation.answer.ridge
        return None if value is None else decimal_number(value)

    @property
    def ridge_quotient(self) -> Formula:
        return with_digits(Quotient(PEAK, BANDWIDTH), self.derivation.setting.digits)

    def figure(self, name: str) -> Formula:
        """A figure of the machine in the digits in which it was read."""
        return with_digits(Name(name), self.derivation.setting.digits)

    @property
    def outcome(self) -> str:
        return self.derivation.answer.outcome

    def condition(self, said: Said, edge: Expr | Root | None, rises: bool) -> dict[str, Any] | None:
        """``B > 240.24, so B >= 241``: relation, decimal bound and first whole size; None for a symbolic bound."""
        value, first = numeric(edge), said.smallest_integer
        if value is None:
            return None
        shown = decimal_number(value)
        solution = said.threshold
        return {
            "variable": self.variable if solution is None else Name(solution.variable),
            "sign": "=" if shown.value == value else "~",
            "relation": ">" if rises else "<",
            "bound": shown,
            "first": None if first is None else number(first),
        }

    @property
    def exact_condition(self) -> Formula | None:
        """The solved condition with its guards."""
        return None if self.outcome != "depends" else self.said("threshold")

    @property
    def rule_condition(self) -> dict[str, Any] | None:
        answer = self.derivation.answer
        return None if answer.rule is None else self.condition(answer, answer.rule_bound, answer.rule.rises)

    @property
    def number_condition(self) -> dict[str, Any] | None:
        """The exact condition, where it is a number without any regime."""
        answer = self.derivation.answer
        if answer.rule is not None or answer.threshold is None:
            return None
        return self.condition(answer, answer.bound, answer.threshold.rises)

    @property
    def points(self) -> tuple[dict[str, Any], ...]:
        return tuple(self._point(point) for point in self.derivation.answer.at)

    def _point(self, point: Point) -> dict[str, Any]:
        value, solution = numeric(point.intensity), point.threshold
        return {
            "variable": self.variable if solution is None else Name(solution.variable),
            "where": self.values(point.values),
            "condition": None if solution is None else self.condition(point, point.bound, solution.rises),
            "formula": point.formula("threshold"),
            "outcome": point.outcome,
            "same": point.bound is not None and point.bound == self.derivation.answer.bound,
            "gap": point.formula("gap"),
            "early": point.early,
            "intensity": point.formula("intensity") if value is None else decimal_number(value),
            "fixed": solution is None,
            "rows": point.times,
        }

    def values(self, point: Mapping[str, Fraction]) -> list[tuple[list[Name], Formula]]:
        """D = F = 8192 as one: names of equal values together."""
        return [(names, self.write(value)) for names, value in grouped((Name(n), x) for n, x in point.items())]

    @property
    def regimes_to_try(self) -> tuple[str, ...]:
        """The corners of a reciprocal form: one size small beside the others."""
        answer = self.derivation.answer
        if answer.reciprocals is None or self.derivation.setting.regime.scaling:
            return ()
        letters = [m for m in answer.reciprocals if m.as_coeff_Mul()[1].is_Symbol]
        if len(letters) != len(answer.reciprocals):
            return ()
        plain = [str(m.as_coeff_Mul()[1]) for m in letters]
        return tuple(f"{x} << {', '.join(y for y in plain if y != x)}" for x in plain)

    @property
    def repeats(self) -> bool:
        """Whether some chips of the mesh do the same arithmetic as others."""
        return self.derivation.setting.chips < self.chips


def growing(relations: Iterable[Formula], *kinds: str) -> tuple[Compare, ...]:
    """The relations of these kinds."""
    return tuple(r for r in relations if isinstance(r, Compare) and r.relation in kinds)
