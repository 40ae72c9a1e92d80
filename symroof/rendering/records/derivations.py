"""A derivation as JSON, ``"schema": 1``: expressions in claim syntax, exact numbers as text beside a float."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sympy import Mul

from symroof.derivation.drafts import Answer, Point, as_number
from symroof.derivation.pipeline import Derivation
from symroof.derivation.premises import Setting
from symroof.derivation.solutions import Solution
from symroof.formula import Compare, Formula, Name, Quotient, Verdict, names, number
from symroof.model.kernels import costs_of
from symroof.model.program import Program
from symroof.model.program_quantities import names_of_amounts
from symroof.model.quantities import PER_CHIP, TABLE, Owner, of_statement, sent_over, time_name
from symroof.proof.step import Part, Role, amount_of, named_formula, number_of, role_of
from symroof.rendering.formulas.plain import Letters, PlainPrinter
from symroof.rendering.formulas.tex import LatexPrinter
from symroof.rendering.pages.mesh_view import owner_of, sends_of
from symroof.rendering.records.json_parts import (
    SCHEMA,
    Record,
    fields,
    json_of,
    let_record,
    optimum_record,
    pair,
    solution_record,
    step_record,
    text,
)
from symroof.symbols import expression

TIMES: tuple[Role, ...] = ("T_math", "T_comms", "T_lower", "T_upper")
OUTCOMES = {"always": "always compute-bound", "never": "never compute-bound", "depends": "depends"}
PLAIN = PlainPrinter()


def record(derivation: Derivation) -> Record:
    """The object of one derivation; keys that do not apply are null."""
    setting, problem, chip = derivation.setting, derivation.setting.problem, derivation.setting.problem.hardware
    letters = Letters(frozenset(problem.operation.dimensions), problem.link, beside=setting.layout.beside)
    latex = LatexPrinter(letters)
    tree = {
        "schema": SCHEMA,
        "title": problem.title,
        "operation": str(problem.operation),
        "symbols": list(problem.names),
        "hardware": chip
        and {
            **fields(chip, "name", "title"),
            "figures": {name: figure.digits for name, figure in chip.figures.items()},
            "peak": setting.peak_name,
            "link": problem.link,
        },
        "exchanges": _exchanged(derivation),
        "answer": _answer(derivation.answer, setting),
        "steps": [step_record(i, step, latex) for i, step in enumerate(derivation.steps, 1)],
    }
    result: Record = json_of(tree, setting.layout.write)
    return result


def parts(derivation: Derivation) -> Record:
    """What the answer says, under the names of the record: formulas, numbers and words, before they are spelled out.

    >>> from symroof.derivation.pipeline import derive
    >>> from symroof.reading.problems import read_problem
    >>> said = parts(derive(read_problem({"operation": "matmul", "hardware": "tpu-v5e", "assume": "B << D, F"})))
    >>> said["ridge"], said["smallest_integer"]
    (Fraction(9850, 41), 241)
    """
    answer, setting = derivation.answer, derivation.setting
    record = _answer(answer, setting)
    threshold = record.pop("threshold")
    record |= threshold if isinstance(threshold, dict) else {}
    record |= {"ridge": answer.ridge, "exact_bound": answer.bound, "rule_bound": answer.rule_bound}
    record |= {"threshold": answer.formula("threshold"), "condition": answer.condition}
    if setting.problem.solve is not None:
        record |= {"solution": answer.solved(0 if len(answer.at) == 1 else None)}
    named = set(names_of_amounts(setting.problem.operation)) - record.keys()  # flops(h), as the first step on it says
    stated = ((s.left.name, s.right) for s in reversed(derivation.steps) if isinstance(s.left, Name))
    record |= {name: answer.formula(amount_of(name)) or amount for name, amount in stated if name in named}
    return {name: part for name, part in record.items() if not isinstance(part, dict | list) and "_float" not in name}


def bracket(answer: Answer) -> str | None:
    """Between which parts of its reciprocal the intensity lies."""
    step = answer.step("bracket")
    if step is None or not isinstance(step.left, Quotient):
        return None
    return f"{text(step.left)} <= intensity < {text(step.left.above)}"


def _answer(answer: Answer, setting: Setting) -> Record:
    formula_of, leading, write = answer.formula, answer.leading, setting.layout.write
    within = leading and " and ".join(f"{text(y, write)} >= {text(x, write)}" for y, x in leading.within or ())
    return {
        **_amounts(formula_of, Owner.OPERATION),
        "flops_exact": formula_of("flops_exact") or formula_of("flops"),
        "chips": int(setting.chips) if setting.chips.is_Integer else setting.chips,
        "sent": formula_of(amount_of(setting.moved_name)) if setting.over_network else None,
        "reciprocal": formula_of("reciprocal"),
        "bracket": bracket(answer),
        "intensity_leading": formula_of("leading"),
        "intensity_factor": formula_of("factor"),
        "within": within or None,
        "next_order": leading and leading.next_order,
        "limits": dict(answer.limits),
        **pair("ridge", answer.ridge),
        **_of_program(formula_of, answer, setting),
        **_solutions(answer, setting),
        "threshold": answer.threshold and _threshold(answer, answer.threshold),
        "at": [_point(point, setting) for point in answer.at],
    }


def _amounts(formula_of: Callable[[Role | Part], Formula | None], owner: Owner, *, split: bool = False) -> Record:
    """Each quantity of the table by its name."""
    rows = ((name, row.part) for name, row in TABLE.items() if row.owner is owner and row.part is not None)
    own_rows = (row for row in rows if owner is Owner.PROGRAM or row[0].endswith(PER_CHIP) == split)
    return {name: formula_of(amount_of(part or name)) for name, part in own_rows}


def _thresholds(point: Point, setting: Setting) -> Record:
    """The conditions against the memory and each link of a mesh at a set of sizes, and against all of them."""
    if not setting.several_chips:
        return {}
    names = (setting.rates.comms, *(name for name, _ in setting.rates.links))
    return {"thresholds": {name: _against(point, name) for name in names}, "condition": point.formula("all")}


def _threshold(answer: Answer, solution: Solution) -> Record:
    formula_of, rule = answer.formula, answer.rule
    held = getattr(solution.otherwise, "holds", None)
    outcome = OUTCOMES["depends" if held is None else "always" if held else "never"]
    return {
        "variable": solution.variable,
        "exact": _condition(solution, formula_of("bound")),
        **pair("exact_bound", answer.bound, formula_of("bound")),
        "guard": formula_of("guard") or solution.guard,
        "otherwise": solution.otherwise and {"outcome": outcome, "supremum": formula_of("supremum")},
        "rule": rule and _condition(rule, formula_of("rule_bound")),
        **pair("rule_bound", answer.rule_bound, formula_of("rule_bound")),
        "rule_factor": formula_of("rule_factor"),
        "smallest_integer": answer.smallest_integer,
        "outcome": OUTCOMES[solution.outcome],
    }


def _condition(solution: Solution, bound: Formula | None) -> Formula | str:
    """The first case of a solution; a bound with the figures put in."""
    if solution.end is not None and bound is not None:
        return Compare(solution.end.left, solution.end.relation, bound)
    if isinstance(solution.first, Verdict):
        return "always" if solution.first.holds else "never"
    return solution.first


def _point(point: Point, setting: Setting) -> Record:
    return {
        "values": {name: text(value) for name, value in point.values.items()},
        **pair("exact_bound", point.bound),
        "smallest_integer": point.smallest_integer,
        "outcome": None if setting.idle else OUTCOMES[point.outcome],
        **pair("intensity", point.value("intensity")),
        **{name: point.formula(name) for name in TIMES},
        **_times(point.formula, setting),
        **_solutions(point, setting),
        **_thresholds(point, setting),
        "numbers": {
            k: x
            for name, number in numbers_of(point).items()
            if name not in setting.problem.let
            for k, x in pair(name, number).items()
        },
        "times": [
            {
                "size": text(row.size),
                "T_math": float(row.t_math),
                "T_comms": float(row.t_comms),
                "T_lower": float(row.lower),
                "T_upper": float(row.upper),
                **{name.name: float(time) for name, time in row.others},
                **({} if row.steps is None else {"T_steps": float(row.steps)}),
                "bound_by": setting.busiest(row.longest),
            }
            for row in point.times
        ],
    }


def numbers_of(point: Point) -> dict[str, Fraction]:
    """Every quantity that the sizes leave no part of open, and what the problem names."""
    named = ((step.left.name, step) for step in point.steps if isinstance(step.left, Name))
    steps = {name: step for name, step in named if step.role in (number_of(name), named_formula(name))}
    values = {name: as_number(expression(step.right)) for name, step in steps.items()}
    return {name: value for name, value in values.items() if value is not None}


def _of_program(formula_of: Callable[[Role | Part], Formula | None], answer: Answer, setting: Setting) -> Record:
    """What only programs have; each part is what a step says."""
    program = setting.problem.operation
    if program.alone:
        return {}
    costs = {
        step.left.name: step.right
        for step in answer.steps
        if step.point is None and isinstance(step.left, Name) and step.relation == "="
    }

    def resolved(cost: str) -> Formula | None:  # in the sizes of the answer: nothing speaks of those that others define
        formula = costs.get(cost)
        if formula is None or program.where.keys().isdisjoint(names(formula)):
            return formula
        return setting.layout.write(program.resolved(expression(formula)).expand())

    written = {line.statement.name: str(program.line or line.statement) for line in program.lines}
    statements: list[Record] = [
        {
            "name": program.called(name),
            "text": written[name],
            **{amount: resolved(of_statement(amount, name)) for amount in ("flops", "ops", "reads", "writes", "bytes")},
            "exchanges": _exchanges(answer, program, name),
        }
        for name in costs_of(program)
    ]
    amounts = _amounts(formula_of, Owner.PROGRAM) | _amounts(formula_of, Owner.OPERATION, split=True)
    return {**amounts, **_over_links(answer, setting), **_times(formula_of, setting), "statements": statements}


def _exchanges(answer: Answer, program: Program, name: str) -> list[Record]:
    """The collectives of a statement, each once: one over several axes is on the step of each, with what that carries."""
    moved = (each for step in answer.steps for each in sends_of(step) if owner_of(step) == name)
    result = {replace(each, share=number(0)): each for each in moved}
    return [
        {
            "collective": exchange.collective,
            "axes": exchange.axes,
            "operand": program.called(exchange.array),
            "payload": exchange.message,
            "turns": exchange.turns,
            "pass": "backward" if costs_of(program)[name].backward else "forward",
        }
        for exchange in result.values()
    ]


def _exchanged(derivation: Derivation) -> list[str]:
    """Every collective in a few words, once."""
    mesh, moved = (derivation.setting.problem.mesh, (each for step in derivation.written for each in sends_of(step)))
    sizes = {name: axis.size for name, axis in mesh.items()}
    each = ((move.collective, "".join(move.axes), Mul(*(sizes[axis] for axis in move.axes))) for move in moved)
    written = (f"{kind} over {axes}" + (f" = {chips}" if chips.is_Integer else "") for kind, axes, chips in each)
    return list(dict.fromkeys(written))


def _over_links(answer: Answer, setting: Setting) -> Record:
    """What each link of a mesh carries, and the conditions against the memory and against each link; None on one chip."""
    program, rates = setting.problem.operation, setting.rates
    if not program.axes:
        return {"sent_over": None, "thresholds": None}
    links = [name for name, _ in rates.links]
    main = answer.threshold and _threshold(answer, answer.threshold)
    against = {name: _against(answer, name) for name in links}
    sent = {name: answer.formula(amount_of(sent_over(name))) for name in links}
    return {
        "sent_over": sent,
        "condition": answer.formula("all"),
        "thresholds": {rates.comms: main} | {n: c for n, c in against.items() if n != rates.comms},
    }


def _against(answer: Answer | Point, resource: str) -> Record | None:
    """Where arithmetic takes longer than a link, in the form of the threshold."""
    solution, bound = (answer.solution(role_of("threshold", resource)), answer.formula(role_of("bound", resource)))
    if solution is None:
        return None
    held, last = getattr(solution.otherwise, "holds", None), answer.whole(role_of("whole", resource))
    outcome = OUTCOMES["depends" if held is None else "always" if held else "never"]
    return {
        "variable": solution.variable,
        "exact": _condition(solution, bound),
        **pair("exact_bound", solution.bound if bound is None else answer.value(role_of("bound", resource)), bound),
        "guard": solution.guard,
        "otherwise": solution.otherwise and {"outcome": outcome, "supremum": None},
        **dict.fromkeys(("rule", "rule_bound", "rule_bound_float", "rule_factor")),
        "smallest_integer": last if solution.rises else None,
        "largest_integer": None if solution.rises else last,
        "outcome": OUTCOMES[solution.outcome],
    }


def _times(formula_of: Callable[[Role | Part], Formula | None], setting: Setting) -> Record:
    """The times that only programs have: of each resource by its name, and T_steps."""
    if setting.problem.operation.alone:
        return {}
    resources = {resource: formula_of(amount_of(time_name(resource))) for resource in setting.rates.resources}
    return {"T": resources, "T_steps": formula_of("T_steps")}


def _solutions(steps: Answer | Point, setting: Setting) -> Record:
    """What the formulas of the problem come to, and the relation that was to be solved; for programs always."""
    problem, result = setting.problem, Record()
    always = not problem.operation.alone
    if problem.let or always:
        result["let"] = let_record(steps, problem.let)
    if problem.solve is not None or always:
        result["solution"] = None if problem.solve is None else solution_record(steps, problem.solve_for)
    if problem.minimize is not None or always:
        result["optimum"] = None if problem.minimize is None else optimum_record(steps, problem.over)
    return result
