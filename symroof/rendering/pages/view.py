"""What templates see of a derivation: formulas, names and numbers, free of any format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import Expr

from symroof.algebra.dominance import leading
from symroof.algebra.intervals import Threshold
from symroof.algebra.roots import Root
from symroof.algebra.rounding import decimal
from symroof.derivation.derivation import Point
from symroof.derivation.draft import Draft, numeric
from symroof.derivation.machine import shown_times, unit_of
from symroof.errors import AlgebraError
from symroof.formula import Compare, Formula, Name, Number, Quotient, Sum, number
from symroof.proof.step import Reason, Step
from symroof.rendering.pages.naming import Naming


@dataclass(frozen=True, slots=True)
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

    @property
    def reads(self) -> Formula:
        return self.write(self.derivation.setting.cost.reads)

    @property
    def writes(self) -> Formula:
        return self.write(self.derivation.setting.cost.writes)

    @property
    def depends_on_size(self) -> bool:
        """Whether the intensity has the variable in it at all."""
        return bool(self.derivation.answer.intensity.has(self.derivation.setting.variable))

    @property
    def variable(self) -> Formula:
        return Name(self.derivation.setting.variable.name)

    @property
    def count(self) -> str:
        return self.derivation.setting.problem.count

    @property
    def regime(self) -> tuple[tuple[tuple[Formula, ...], str, tuple[Formula, ...]], ...]:
        return merged_regime(self.derivation.setting.problem.assume)

    @property
    def scaling(self) -> tuple[tuple[tuple[Formula, ...], str, tuple[Formula, ...]], ...]:
        """The relations of the regime that say what grows; those of the limit where there is one."""
        found = self.find("limit")
        relations = found.facts["relations"] if found else self.derivation.setting.problem.assume
        return merged_regime(tuple(r for r in relations if r.relation in ("<<", "->", "~", "~~")))

    @property
    def unsimplified(self) -> bool:
        """Whether a regime was asked for in which no term can be neglected."""
        return bool(self.derivation.setting.regime.scaling) and self.derivation.answer.leading is None

    @property
    def equal(self) -> bool:
        return bool(self.derivation.setting.regime.substitution)

    @property
    def flops_exact(self) -> Formula | None:
        """The exact count, where it is not the one that is used."""
        cost = self.derivation.setting.cost
        return self.derivation.setting.layout.factored(cost.flops_exact) if cost.flops_exact != cost.flops else None

    @property
    def flops(self) -> Formula:
        return self.derivation.setting.layout.factored(self.derivation.setting.flops)

    @property
    def moved(self) -> Formula:
        return self.write(self.derivation.setting.moved)

    @property
    def moved_leading(self) -> Formula | None:
        setting = self.derivation.setting
        if not setting.regime.scaling:
            return None
        try:
            form = leading(setting.moved, setting.regime).form
        except AlgebraError:
            return None
        return None if form == setting.regime.apply(setting.moved) else self.write(form)

    @property
    def intensity(self) -> Formula:
        return self.derivation.setting.layout.factored(self.derivation.answer.intensity)

    @property
    def leading(self) -> Formula | None:
        found = self.derivation.answer.leading
        return None if found is None else self.write(found.approximate)

    @property
    def limit(self) -> Step | None:
        return self.find("limit")

    @property
    def harmonic(self) -> Formula | None:
        """1/B + 1/D + 1/F, where the reciprocal of the intensity is such a sum."""
        found = self.derivation.answer.reciprocals
        return None if found is None else Sum(tuple(self.write(1 / m) for m in found))

    @property
    def ridge(self) -> Formula | None:
        """The ridge in decimals."""
        value = self.derivation.answer.ridge
        return None if value is None else decimal_number(value)

    @property
    def ridge_quotient(self) -> Formula:
        return Draft(self.derivation.setting, (), self.derivation.answer).in_digits(
            Quotient(Name("peak"), Name("bandwidth"))
        )

    @property
    def outcome(self) -> str:
        return self.derivation.answer.outcome

    def condition(
        self, edge: Expr | Root | None, first: int | None, variable: Expr | None = None, solved: Threshold | None = None
    ) -> dict[str, Any] | None:
        """``B > 240.24, so B >= 241``: relation, decimal bound and first whole size; None for a symbolic bound."""
        value = numeric(edge)
        if value is None:
            return None
        solved = solved or self.derivation.answer.rule or self.derivation.answer.threshold
        relation = ">" if solved is None or solved.rises else "<"
        x = self.derivation.setting.variable if variable is None else variable
        exact = decimal_number(value).value == value
        return {
            "variable": Name(x.name),
            "sign": "=" if exact else "~",
            "relation": relation,
            "bound": decimal_number(value),
            "first": None if first is None else number(first),
        }

    @property
    def exact_condition(self) -> Formula | None:
        """The solved condition with its guards."""
        found = self.find("solve") or self.find("implicit")
        return None if found is None else found.right

    @property
    def rule_condition(self) -> dict[str, Any] | None:
        answer = self.derivation.answer
        if answer.rule is not None:
            return self.condition(answer.rule_bound, answer.smallest_integer)
        return None

    @property
    def rule_formula(self) -> Formula | None:
        found = self.find("rule")
        return None if found is None else found.facts["condition"]

    @property
    def number_condition(self) -> dict[str, Any] | None:
        """The exact condition, where it is a number without any regime."""
        answer = self.derivation.answer
        return self.condition(answer.bound, answer.smallest_integer if answer.rule is None else None)

    @property
    def points(self) -> tuple[dict[str, Any], ...]:
        return tuple(self._point(index, point) for index, point in enumerate(self.derivation.answer.at))

    def _point(self, index: int, point: Point) -> dict[str, Any]:
        steps = [s for s in self.derivation.section("at") if s.facts.get("index") == index]
        gap = [s for s in self.derivation.steps if s.reason is Reason.GAP and "gap" in s.facts and _same(s, point)]
        value, unit = numeric(point.intensity), unit_of(point.times)
        return {
            "variable": Name(point.variable.name),
            "where": self.values(point.values),
            "condition": self.condition(point.bound, point.smallest_integer, point.variable, point.threshold),
            "formula": steps[0].right if steps else None,
            "outcome": point.outcome,
            "same": point.bound is not None and point.bound == self.derivation.answer.bound,
            "gap": gap[0].facts if gap else None,
            "intensity": self.write(point.intensity) if value is None else decimal_number(value),
            "unit": unit[0],
            "fixed": point.threshold is None,
            "rows": [
                {
                    "size": row.size,
                    "times": shown_times(row, unit[1]),
                    "compute": row.compute_bound,
                    "threshold": row.threshold,
                    "even": row.t_math == row.t_comms,
                }
                for row in point.times
            ],
        }

    def values(self, point: Mapping[str, Fraction]) -> tuple[tuple[tuple[Formula, ...], Formula], ...]:
        """D = F = 8192 as one: names of equal values together."""
        groups: dict[Fraction, list[Formula]] = {}
        for name, value in point.items():
            groups.setdefault(value, []).append(Name(name))
        return tuple((tuple(names), self.write(value)) for value, names in groups.items())

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
    def gathers(self) -> bool:
        return any(e.collective == "all-gather" for e in self.derivation.setting.exchanges)

    @property
    def proved(self) -> int:
        return self.derivation.counts()["proved"]

    @property
    def sampled(self) -> int:
        return self.derivation.counts()["sampled"]


def _same(step: Step, point: Point) -> bool:
    put = {a.left.name: a.right for a in step.assumptions if isinstance(a, Compare) and isinstance(a.left, Name)}
    return all(name in put and put[name] == number(value) for name, value in point.values.items())


def merged_regime(relations: tuple[Compare, ...]) -> tuple[tuple[tuple[Formula, ...], str, tuple[Formula, ...]], ...]:
    """B << D and B << F as one: B << D, F; D -> oo and F -> oo as D, F -> oo."""
    rows: list[tuple[list[Formula], str, list[Formula]]] = []
    for r in relations:
        if rows and rows[-1][1] == r.relation == "<<" and rows[-1][0] == [r.left]:
            rows[-1][2].append(r.right)
        elif rows and rows[-1][1] == r.relation == "->":
            rows[-1][0].append(r.left)
        else:
            rows.append(([r.left], r.relation, [r.right]))
    return tuple((tuple(left), relation, tuple(right)) for left, relation, right in rows)


def decimal_number(value: Fraction) -> Number:
    """A number in the digits in which it is shown."""
    text = decimal(value)
    return Number(Fraction(text), text)
