"""Named formulas and solved relations as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from symroof.derivation.answer import Steps
from symroof.derivation.draft import numeric
from symroof.derivation.sketching import Sketched
from symroof.derivation.solutions import Solution
from symroof.derivation.whole_sizes import spans_of
from symroof.formula import Compare, Formula, Verdict
from symroof.proof.step import Step, named_formula, number_of
from symroof.rendering.formulas.letters import Letters
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.formulas.tex import LatexPrinter
from symroof.rendering.records.scalars import SCHEMA, beside, fields, nearest_float, spelled, text
from symroof.symbols import expression

PLAIN = PlainPrinter()


def let_record(said: Steps, let: Mapping[str, Formula]) -> dict[str, Any] | None:
    """What each named formula comes to: with the figures put in, and as a float where it is a number."""
    result = {}
    for name, formula in let.items():
        value = said.formula(named_formula(name))
        number = None if value is None else numeric(expression(value))
        result[name] = {"formula": formula, "value": value, "float": nearest_float(number)}
    return result or None


def solution_record(said: Steps, variable: str | None) -> dict[str, Any] | None:
    """A relation between quantities, solved: its first case with the figures put in, its guard, and whole numbers."""
    step = said.step("solution")
    if step is None or variable is None:
        return None
    ends = tuple(a for a in step.assumptions if not isinstance(a, Compare))
    solution = Solution(variable, step.right, ends)
    put = said.formula("solution_bound")
    edge = None if solution.end is None else put or solution.end.right
    exact = (
        solution.first
        if solution.end is None or edge is None
        else Compare(solution.end.left, solution.end.relation, edge)
    )
    whole = said.formula("solution_whole")
    spans = None if whole is None else spans_of(whole, variable)
    least, most = (spans[0].low or None, spans[-1].high) if spans else (None, None)
    return {
        "variable": variable,
        "relation": step.left,
        "exact": _condition(exact),
        **beside("exact_bound", None if edge is None else solution.bound if put is None else expression(put), edge),
        "guard": said.formula("solution_guard") or solution.guard,
        "otherwise": None if solution.otherwise is None else _condition(solution.otherwise),
        "smallest_integer": None if least is None else int(least),
        "largest_integer": None if most is None else int(most),
        "whole": None if whole is None else _condition(whole),
        "outcome": solution.outcome,
    }


def optimum_record(said: Steps, over: str | None) -> dict[str, Any] | None:
    """What is least: where, its value there, under which guard and what is best otherwise, and what being compute-bound
    there means; at a set of sizes, as a number."""
    best, bound = said.step("optimum") or said.step("optimum_at"), said.step("optimum_bound")
    edge = said.formula("optimum_bound_value") or said.formula("optimum_bound_at")
    if best is None and edge is None:
        return None
    ends = [{"where": step.assumptions[-1], "at": step.right} for step in said.all("optimum_end")]
    right = bound and bound.right
    return {
        "over": over,
        "at": best and best.right,
        **_precisely("at", said, best),
        "value": said.formula("optimum_value"),
        "guard": [step.right for step in said.all("optimum_guard")] or None,
        "otherwise": ends or None,
        "compute_bound": replace(right, right=edge) if isinstance(right, Compare) and edge else right,
        "bound": edge or (right.right if isinstance(right, Compare) else None),
        **_precisely("bound", said, said.step("optimum_bound_at")),
    }


def _precisely(key: str, said: Steps, step: Step | None) -> dict[str, Any]:
    """What a number at sizes is exactly, and as a float; nothing of a formula in sizes that are open."""
    if step is None or not step.role.endswith("_at"):
        return {}
    exact, decimals = (said.step(number_of(f"{kind}{step.role}")) for kind in ("", "decimals "))
    shown, long = exact or step, decimals or step
    return {f"{key}_exact": shown.right, f"{key}_float": nearest_float(numeric(expression(long.right)))}


def _condition(formula: Formula) -> Formula | str:
    return ("always" if formula.holds else "never") if isinstance(formula, Verdict) else formula


def sketch_record(sketched: Sketched) -> dict[str, Any]:
    """The object of a sketch; keys that do not apply are null."""
    sketch, answer = sketched.sketch, sketched.answer
    chip, latex = sketch.hardware, LatexPrinter(Letters(frozenset(sketched.layout.order)))

    def asked(said: Steps) -> dict[str, Any]:
        result = {"let": let_record(said, sketch.let), "solution": solution_record(said, sketch.solve_for)}
        return result if sketch.minimize is None else {**result, "optimum": optimum_record(said, sketch.over)}

    tree = {
        "schema": SCHEMA,
        "title": sketch.title,
        "operation": None,
        "hardware": chip
        and {**fields(chip, "name", "title"), "figures": {name: known.digits for name, known in chip.figures.items()}},
        "answer": {
            **asked(answer),
            "at": [{"values": {n: text(x) for n, x in point.values.items()}, **asked(point)} for point in answer.at],
        },
        "steps": [step_record(i, step, latex) for i, step in enumerate(sketched.steps, 1)],
    }
    return dict(spelled(tree, sketched.layout.write))


def step_record(index: int, step: Step, latex: LatexPrinter) -> dict[str, Any]:
    """One step: its formulas in claim syntax and in LaTeX, and what checked it."""
    line = f"{latex.print(step.left)} {latex.relation(step.relation)} {latex.print(step.right)}"
    return {
        "id": index,
        **fields(step, "section", "left", "relation", "right"),
        "reason": step.reason.value,
        "assumptions": step.assumptions,
        "latex": " ".join(line.split()),
        "text": f"{PLAIN.print(step.left)} {step.relation} {PLAIN.print(step.right)}",
        "check": step.check,
    }
