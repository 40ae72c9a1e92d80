"""A derivation as JSON, ``"schema": 1``: expressions in claim syntax, exact numbers as text beside a float."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sympy import Expr

from symroof.algebra.roots import Root
from symroof.derivation.answer import Answer, Point
from symroof.derivation.derivation import Derivation
from symroof.derivation.solutions import Solution
from symroof.formula import Compare, Formula, Quotient, Verdict
from symroof.model.hardware import Accelerator
from symroof.proof.step import Step
from symroof.rendering.formulas.letters import Letters
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.formulas.tex import LatexPrinter
from symroof.rendering.records.scalars import SCHEMA, Value, beside, text, verdict_of

TIMES = ("T_math", "T_comms", "T_lower", "T_upper")
OUTCOMES = {"always": "always compute-bound", "never": "never compute-bound", "depends": "depends"}


def record(derivation: Derivation) -> dict[str, Any]:
    """The object of one derivation; keys that do not apply are null."""
    return _Recorder(derivation).record()


def bracket(answer: Answer) -> str | None:
    """Between which parts of its reciprocal the intensity lies."""
    step = answer.step("bracket")
    if step is None or not isinstance(step.left, Quotient):
        return None
    return f"{text(step.left)} <= intensity < {text(step.left.above)}"


class _Recorder:
    def __init__(self, derivation: Derivation) -> None:
        self.derivation = derivation
        self.setting = derivation.setting
        letters = Letters(frozenset(self.setting.problem.operation.dimensions), self.setting.problem.link)
        self.latex = LatexPrinter(letters)

    def text(self, value: Value) -> str | None:
        return text(value, self.setting.layout.write)

    def beside(self, key: str, value: Value, known: Expr | Root | Fraction | None) -> dict[str, Any]:
        return beside(key, value, known, self.setting.layout.write)

    def record(self) -> dict[str, Any]:
        setting, problem = self.setting, self.setting.problem
        chip = problem.hardware
        return {
            "schema": SCHEMA,
            "title": problem.title,
            "operation": str(problem.operation),
            "hardware": chip and self.hardware(chip),
            "exchanges": [str(exchange) for exchange in setting.exchanges],
            "answer": self.answer(),
            "steps": [self.step(i + 1, step) for i, step in enumerate(self.derivation.steps)],
        }

    def hardware(self, chip: Accelerator) -> dict[str, Any]:
        figures = {name: known.digits for name, known in chip.figures.items()}
        used = {"peak": self.setting.peak_name, "link": self.setting.problem.link}
        return {"name": chip.name, "title": chip.title, "figures": figures} | used

    def answer(self) -> dict[str, Any]:
        setting, answer = self.setting, self.derivation.answer
        leading = answer.leading
        return {
            "flops": self.said("flops"),
            "flops_exact": self.said("flops_exact") or self.said("flops"),
            "reads": self.said("reads"),
            "writes": self.said("writes"),
            "bytes": self.said("bytes_added"),
            "chips": setting.chips,
            "sent": self.said(setting.moved_name) if setting.over_network else None,
            "intensity": self.said("intensity"),
            "reciprocal": self.said("reciprocal"),
            "bracket": bracket(answer),
            "intensity_leading": self.said("leading"),
            "intensity_factor": self.said("factor"),
            "within": self.within(),
            "next_order": self.text(leading.next_order) if leading else None,
            "limits": {name: self.text(value) for name, value in answer.limits.items()},
            **self.beside("ridge", answer.ridge, answer.ridge),
            **{name: self.said(name) for name in TIMES},
            "threshold": self.threshold(),
            "at": [self.point(point) for point in answer.at],
        }

    def said(self, role: str) -> str | None:
        """What a step says of a part of the answer; a cost function in brackets is what it comes to."""
        return self.text(self.derivation.answer.formula(role))

    def within(self) -> str | None:
        leading = self.derivation.answer.leading
        if leading is None or not leading.within:
            return None
        return " and ".join(f"{self.text(y)} >= {self.text(x)}" for y, x in leading.within)

    def condition(self, solution: Solution, bound: Formula | None) -> str:
        """The first case of a solution; a bound with the figures put in."""
        if solution.end is not None and bound is not None:
            return str(self.text(Compare(solution.end.left, solution.end.relation, bound)))
        if isinstance(solution.first, Verdict):
            return "always" if solution.first.holds else "never"
        return str(self.text(solution.first))

    def threshold(self) -> dict[str, Any] | None:
        answer = self.derivation.answer
        solution, rule = answer.threshold, answer.rule
        if solution is None:
            return None
        guard = answer.formula("guard") or solution.guard
        otherwise = None
        if solution.otherwise is not None:
            held = solution.otherwise.holds if isinstance(solution.otherwise, Verdict) else None
            outcome = OUTCOMES["depends" if held is None else "always" if held else "never"]
            otherwise = {"outcome": outcome, "supremum": self.said("supremum")}
        rule_bound = answer.formula("rule_bound")
        return {
            "variable": solution.variable,
            "exact": self.condition(solution, answer.formula("bound")),
            **self.beside("exact_bound", answer.formula("bound") or answer.bound, answer.bound),
            "guard": self.text(guard),
            "otherwise": otherwise,
            "rule": None if rule is None else self.condition(rule, rule_bound),
            **self.beside("rule_bound", rule_bound or answer.rule_bound, answer.rule_bound),
            "rule_factor": self.said("rule_factor"),
            "smallest_integer": answer.smallest_integer,
            "outcome": OUTCOMES[solution.outcome],
        }

    def point(self, point: Point) -> dict[str, Any]:
        return {
            "values": {name: text(value) for name, value in point.values.items()},
            **self.beside("exact_bound", point.bound, point.bound),
            "smallest_integer": point.smallest_integer,
            "outcome": OUTCOMES[point.outcome],
            **self.beside("intensity", point.intensity, point.intensity),
            **{name: self.text(point.formula(name)) for name in TIMES},
            "times": [
                {
                    "size": text(row.size),
                    "T_math": float(row.t_math),
                    "T_comms": float(row.t_comms),
                    "T_lower": float(row.lower),
                    "T_upper": float(row.upper),
                    "bound_by": "compute" if row.compute_bound else "link" if self.setting.over_network else "memory",
                }
                for row in point.times
            ],
        }

    def step(self, index: int, step: Step) -> dict[str, Any]:
        latex, readable = self.latex.print, PlainPrinter()
        return {
            "id": index,
            "section": step.section,
            "left": text(step.left),
            "relation": step.relation,
            "right": text(step.right),
            "reason": step.reason.value,
            "assumptions": [text(a) for a in step.assumptions],
            "latex": " ".join(f"{latex(step.left)} {self.latex.relation(step.relation)} {latex(step.right)}".split()),
            "text": f"{readable.print(step.left)} {step.relation} {readable.print(step.right)}",
            "check": verdict_of(step.check),
        }
