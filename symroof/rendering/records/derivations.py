"""A derivation as JSON, ``"schema": 1``: expressions in claim syntax, exact numbers as text beside a float."""

from __future__ import annotations

from typing import Any

from sympy import Expr

from symroof.algebra.intervals import ALWAYS, NEVER, Threshold
from symroof.algebra.roots import Root
from symroof.derivation.derivation import Derivation, Point
from symroof.derivation.draft import Draft, numeric
from symroof.derivation.threshold import bound, known, positive
from symroof.formula import Call, Formula, Name, Quotient, Sum
from symroof.proof.step import Reason, Step
from symroof.rendering.formulas.letters import Letters
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.formulas.tex import LatexPrinter
from symroof.symbols import rational, symbol

SCHEMA = 1
OUTCOMES = {"always": "always compute-bound", "never": "never compute-bound", "depends": "depends"}


def record(derivation: Derivation) -> dict[str, Any]:
    """The object of one derivation; keys that do not apply are null."""
    return _Recorder(derivation).record()


class _Recorder:
    def __init__(self, derivation: Derivation) -> None:
        self.derivation = derivation
        self.setting = derivation.setting
        self.draft = Draft(derivation.setting, (), derivation.answer)
        self.plain = PlainPrinter(explicit=True)
        letters = Letters(frozenset(self.setting.problem.operation.dimensions), self.setting.problem.link)
        self.latex = LatexPrinter(letters)

    def text(self, value: Expr | Root | Formula | None) -> str | None:
        if value is None:
            return None
        return self.plain.print(value if isinstance(value, Formula) else self.draft.write(value))

    def record(self) -> dict[str, Any]:
        setting, problem = self.setting, self.setting.problem
        chip = problem.hardware
        return {
            "schema": SCHEMA,
            "title": problem.title,
            "operation": str(problem.operation),
            "hardware": None
            if chip is None
            else {
                "name": chip.name,
                "title": chip.title,
                "figures": {name: known.digits for name, known in chip.figures.items()},
                "peak": setting.peak_name,
                "link": problem.link,
            },
            "exchanges": [str(exchange) for exchange in setting.exchanges],
            "answer": self.answer(),
            "steps": [self.step(i + 1, step) for i, step in enumerate(self.derivation.steps)],
        }

    def answer(self) -> dict[str, Any]:
        setting, found = self.setting, self.derivation.answer
        cost, apply = setting.cost, setting.regime.apply
        bytes_ = Sum(tuple(self.draft.write(t.amount) for t in (*cost.loads, *cost.stores)))
        flops, moved = self.draft.write(apply(setting.flops)), self.draft.write(apply(setting.moved))
        t_math, t_comms = (
            self.draft.in_digits(Quotient(a, Name(b))) for a, b in ((flops, "peak"), (moved, "bandwidth"))
        )
        return {
            "flops": self.text(self.setting.layout.factored(cost.flops)),
            "flops_exact": self.text(self.setting.layout.factored(cost.flops_exact)),
            "reads": self.text(cost.reads),
            "writes": self.text(cost.writes),
            "bytes": self.text(bytes_),
            "chips": setting.chips,
            "sent": self.text(setting.moved) if setting.over_network else None,
            "intensity": self.text(found.intensity),
            "reciprocal": self.text(Sum(tuple(self.draft.write(1 / m) for m in found.reciprocals)))
            if found.reciprocals
            else None,
            "bracket": self.bracket(),
            "intensity_leading": self.text(found.leading.approximate) if found.leading else None,
            "intensity_factor": self.text(found.leading.factor) if found.leading else None,
            "within": self.within(),
            "next_order": self.text(found.leading.next_order) if found.leading else None,
            "limits": {name: self.text(value) for name, value in found.limits.items()},
            **self.numbers("ridge", None if found.ridge is None else self.draft.write(found.ridge), found.ridge),
            "T_math": self.text(t_math),
            "T_comms": self.text(t_comms),
            "T_lower": self.text(Call("max", (t_math, t_comms))),
            "T_upper": self.text(Sum((t_math, t_comms))),
            "threshold": self.threshold(),
            "at": [self.point(point) for point in found.at],
        }

    def numbers(self, key: str, value: Expr | Root | Formula | None, decimal: Any) -> dict[str, Any]:
        """A value as text, and as a float where it is a number."""
        return {key: self.text(value), f"{key}_float": None if decimal is None else float(decimal)}

    def bracket(self) -> str | None:
        step = self.derivation.find(Reason.BRACKET)
        return None if step is None else f"{self.text(step.left)} <= intensity < {self.text(step.facts['least'])}"

    def within(self) -> str | None:
        found = self.derivation.answer.leading
        if found is None or not found.within:
            return None
        return " and ".join(f"{self.text(y)} >= {self.text(x)}" for y, x in found.within)

    def condition(self, solved: Threshold) -> str:
        """The first case of a solution, with the figures put in."""
        case = solved.cases[0]
        if case.implicit is not None:
            return str(self.text(positive(self.draft, self.put(case.implicit))))
        if case.intervals in (ALWAYS, ()):
            return "always" if case.intervals == ALWAYS else "never"
        parts = []
        for interval in case.intervals:
            ends = [(sign, end) for sign, end in ((">", interval.low), ("<", interval.high)) if end is not None]
            parts.append(" and ".join(f"{solved.variable} {sign} {self.end(end)}" for sign, end in ends))
        return " or ".join(parts)

    def put(self, value: Expr) -> Expr:
        found = known(self.draft, value)
        assert found is not None
        assert not isinstance(found, Root)
        return found

    def end(self, value: Expr | Root) -> str | None:
        return self.text(bound(self.draft, known(self.draft, value)))

    def threshold(self) -> dict[str, Any] | None:
        found = self.derivation.answer
        solved, rule = found.threshold, found.rule
        if solved is None:
            return None
        guard = [self.text(positive(self.draft, self.put(g))) for g in solved.cases[0].guard]
        exact_bound = None if found.bound is None else self.text(bound(self.draft, found.bound))
        otherwise = None
        if solved.otherwise is not None:
            intervals = solved.otherwise.intervals
            outcome = (
                "never compute-bound"
                if intervals == NEVER
                else "always compute-bound"
                if solved.otherwise.implicit is None
                else "depends"
            )
            otherwise = {"outcome": outcome, "supremum": self.text(found.supremum)}
        return {
            "variable": str(solved.variable),
            "exact": self.condition(solved),
            "exact_bound": exact_bound,
            "exact_bound_float": _float(found.bound),
            "guard": " and ".join(str(g) for g in guard) or None,
            "otherwise": otherwise,
            "rule": None if rule is None else self.condition(rule),
            **self.numbers(
                "rule_bound",
                None if found.rule_bound is None else bound(self.draft, found.rule_bound),
                numeric(found.rule_bound),
            ),
            "rule_factor": self.text(found.rule_factor),
            "smallest_integer": found.smallest_integer,
            "outcome": OUTCOMES[solved.outcome],
        }

    def point(self, point: Point) -> dict[str, Any]:
        both = self.times(point)
        t_math, t_comms = both or (None, None)
        return {
            "values": {name: str(value) for name, value in point.values.items()},
            **self.numbers("exact_bound", point.bound, numeric(point.bound)),
            "smallest_integer": point.smallest_integer,
            "outcome": OUTCOMES[point.outcome],
            **self.numbers("intensity", point.intensity, numeric(point.intensity)),
            "T_math": self.text(t_math),
            "T_comms": self.text(t_comms),
            "T_lower": None if both is None else self.text(Call("max", both)),
            "T_upper": None if both is None else self.text(Sum(both)),
            "times": [
                {
                    "size": str(row.size),
                    "T_math": float(row.t_math),
                    "T_comms": float(row.t_comms),
                    "T_lower": float(row.lower),
                    "T_upper": float(row.upper),
                    "bound_by": "compute" if row.compute_bound else "link" if self.setting.over_network else "memory",
                }
                for row in point.times
            ],
        }

    def times(self, point: Point) -> tuple[Formula, Formula] | None:
        """T_math and T_comms with the sizes put in, over the figures as they were read."""
        if point.t_math is None:
            return None
        put = {symbol(name): rational(value) for name, value in point.values.items()}
        amounts = (self.setting.regime.apply(value).subs(put) for value in (self.setting.flops, self.setting.moved))
        first, second = (
            self.draft.in_digits(Quotient(self.draft.write(a), Name(b)))
            for a, b in zip(amounts, ("peak", "bandwidth"), strict=True)
        )
        return first, second

    def step(self, index: int, step: Step) -> dict[str, Any]:
        plain, latex = self.plain.print, self.latex.print
        readable = PlainPrinter()
        return {
            "id": index,
            "section": step.section,
            "left": plain(step.left),
            "relation": step.relation,
            "right": plain(step.right),
            "reason": step.reason.value,
            "assumptions": [plain(a) for a in step.assumptions],
            "latex": " ".join(f"{latex(step.left)} {self.latex.relation(step.relation)} {latex(step.right)}".split()),
            "text": f"{readable.print(step.left)} {step.relation} {readable.print(step.right)}",
            "check": None if step.check is None else {"status": step.check.status, "by": step.check.by},
        }


def _float(value: Expr | Root | None) -> float | None:
    found = numeric(value)
    return None if found is None else float(found)
