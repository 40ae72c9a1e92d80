"""The parts of JSON records: formulas in claim syntax, exact numbers beside a float, solved relations, steps and sketches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias

from sympy import Expr

from symroof.algebra.roots import Root
from symroof.algebra.rounding import shorten
from symroof.derivation.drafts import Steps, as_number
from symroof.derivation.pipeline import SketchDerivation
from symroof.derivation.solutions import Solution
from symroof.derivation.whole_sizes import spans_of
from symroof.formula import Compare, Formula, Verdict
from symroof.proof.step import Check, Step, named_formula, number_of
from symroof.rendering.formulas.plain import Letters, PlainPrinter
from symroof.rendering.formulas.tex import LatexPrinter
from symroof.symbols import expression

SCHEMA = 1
EXPLICIT = PlainPrinter(explicit=True)
# Digits of a rational that people and parsers take, in bits; beyond them it is rounded.
LONGEST = 4000
Value: TypeAlias = "Formula | Expr | Root | Fraction | None"

# An object of JSON, by its keys, in the order in which they are printed.
Record = dict[str, object]


def text(value: Value, write: Callable[[object], Formula] | None = None) -> str | None:
    """An expression as text that can be read back; what does not apply is null.

    >>> from symroof.formula import Name, Product, number
    >>> text(Product((number(2), Name("B"), Name("D")))), text(Fraction(9850, 41)), text(None)
    ('2*B*D', '9850/41', None)
    """
    if value is None or isinstance(value, Formula):
        return None if value is None else EXPLICIT.print(value)
    if write is not None:
        return EXPLICIT.print(write(value))
    assert isinstance(value, Fraction)
    long = max(abs(value.numerator).bit_length(), value.denominator.bit_length()) >= LONGEST
    return shorten(value) if long else str(value)


def pair(key: str, part: Expr | Root | Fraction | None, shown: Formula | None = None) -> Record:
    """An expression under its key, as a step shows it, and beside it a float where it is known to be a number."""
    number = part if isinstance(part, Fraction) or part is None else as_number(part)
    value = str(part) if isinstance(part, Fraction) else shown or part
    return {key: value, f"{key}_float": nearest_float(number)}


def nearest_float(value: Fraction | None) -> float | None:
    """The float beside an exact number; none where the number is larger than all of them.

    >>> nearest_float(Fraction(9850, 41)), nearest_float(Fraction(10) ** 309)
    (240.2439024390244, None)
    """
    try:
        return None if value is None else float(value)
    except OverflowError:
        return None


def fields(value: object, *names: str) -> Record:
    """What a value says of itself, under its own names."""
    return {name: getattr(value, name) for name in names}


def json_of(value: Any, write: Callable[[Any], Formula] | None = None) -> Any:
    """A tree of values as JSON has them: formulas as text, fractions exactly and as floats, checks with their engine.

    >>> from symroof.formula import Name
    >>> json_of({"ridge": Fraction(9850, 41), "at": (Name("B"), None)})
    {'ridge': {'exact': '9850/41', 'float': 240.2439024390244}, 'at': ['B', None]}
    """
    match value:
        case Formula() | Expr() | Root():
            return text(value, write)
        case Fraction():
            return {"exact": str(value), "float": nearest_float(value)}
        case Check():
            return {"status": value.status, "by": value.by}
        case dict():
            return {key: json_of(part, write) for key, part in value.items()}
        case tuple() | list():
            return [json_of(part, write) for part in value]
    return value


PLAIN = PlainPrinter()


def let_record(steps: Steps, let: Mapping[str, Formula]) -> Record | None:
    """What each named formula comes to: with the figures put in, and as a float where it is a number."""
    result: Record = {}
    for name, formula in let.items():
        value = steps.formula(named_formula(name))
        number = None if value is None else as_number(expression(value))
        result[name] = {"formula": formula, "value": value, "float": nearest_float(number)}
    return result or None


def solution_record(steps: Steps, variable: str | None) -> Record | None:
    """A relation between quantities, solved: its first case with the figures put in, its guard, and whole numbers."""
    step = steps.step("solution")
    if step is None or variable is None:
        return None
    ends = tuple(a for a in step.assumptions if not isinstance(a, Compare))
    solution = Solution(variable, step.right, ends)
    put = steps.formula("solution_bound")
    edge = None if solution.end is None else put or solution.end.right
    exact = (
        solution.first
        if solution.end is None or edge is None
        else Compare(solution.end.left, solution.end.relation, edge)
    )
    whole = steps.formula("solution_whole")
    spans = None if whole is None else spans_of(whole, variable)
    least, most = (spans[0].low or None, spans[-1].high) if spans else (None, None)
    return {
        "variable": variable,
        "relation": step.left,
        "exact": _condition(exact),
        **pair("exact_bound", None if edge is None else solution.bound if put is None else expression(put), edge),
        "guard": steps.formula("solution_guard") or solution.guard,
        "otherwise": None if solution.otherwise is None else _condition(solution.otherwise),
        "smallest_integer": None if least is None else int(least),
        "largest_integer": None if most is None else int(most),
        "whole": None if whole is None else _condition(whole),
        "outcome": solution.outcome,
    }


def optimum_record(steps: Steps, over: str | None) -> Record | None:
    """What is least: where, its value there, under which guard and what is best otherwise, and what being compute-bound
    there means; at a set of sizes, as a number."""
    best, bound = steps.step("optimum") or steps.step("optimum_at"), steps.step("optimum_bound")
    edge = steps.formula("optimum_bound_value") or steps.formula("optimum_bound_at")
    if best is None and edge is None:
        return None
    ends = [{"where": step.assumptions[-1], "at": step.right} for step in steps.all("optimum_end")]
    right = bound and bound.right
    return {
        "over": over,
        "at": best and best.right,
        **_precisely("at", steps, best),
        "value": steps.formula("optimum_value"),
        "guard": [step.right for step in steps.all("optimum_guard")] or None,
        "otherwise": ends or None,
        "compute_bound": replace(right, right=edge) if isinstance(right, Compare) and edge else right,
        "bound": edge or (right.right if isinstance(right, Compare) else None),
        **_precisely("bound", steps, steps.step("optimum_bound_at")),
    }


def _precisely(key: str, steps: Steps, step: Step | None) -> Record:
    """What a number at sizes is exactly, and as a float; nothing of a formula in sizes that are open."""
    if step is None or not step.role.endswith("_at"):
        return {}
    exact, decimals = (steps.step(number_of(f"{kind}{step.role}")) for kind in ("", "decimals "))
    shown, long = exact or step, decimals or step
    return {f"{key}_exact": shown.right, f"{key}_float": nearest_float(as_number(expression(long.right)))}


def _condition(formula: Formula) -> Formula | str:
    return ("always" if formula.holds else "never") if isinstance(formula, Verdict) else formula


def sketch_record(sketched: SketchDerivation) -> Record:
    """The object of a sketch; keys that do not apply are null."""
    sketch, answer = sketched.sketch, sketched.answer
    chip, latex = sketch.hardware, LatexPrinter(Letters(frozenset(sketched.layout.order)))

    def asked(steps: Steps) -> Record:
        result: Record = {"let": let_record(steps, sketch.let), "solution": solution_record(steps, sketch.solve_for)}
        return result if sketch.minimize is None else {**result, "optimum": optimum_record(steps, sketch.over)}

    tree = {
        "schema": SCHEMA,
        "title": sketch.title,
        "operation": None,
        "hardware": chip
        and {
            **fields(chip, "name", "title"),
            "figures": {name: figure.digits for name, figure in chip.figures.items()},
        },
        "answer": {
            **asked(answer),
            "at": [{"values": {n: text(x) for n, x in point.values.items()}, **asked(point)} for point in answer.at],
        },
        "steps": [step_record(i, step, latex) for i, step in enumerate(sketched.steps, 1)],
    }
    return dict(json_of(tree, sketched.layout.write))


def step_record(index: int, step: Step, latex: LatexPrinter) -> Record:
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
