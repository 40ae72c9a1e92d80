"""What templates ask of a derivation or a sketch, by name: of a program its text, and the tables of what its statements cost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from typing import Any

from sympy import Expr, Mul

from symroof.algebra.roots import Root
from symroof.derivation.drafts import Point, Steps, as_number
from symroof.derivation.formula_writing import with_digits
from symroof.derivation.pipeline import Derivation, SketchDerivation
from symroof.formula import Compare, Formula, Name, Quotient, Verdict, number
from symroof.model.kernels import costs_of
from symroof.model.program import Program, spelled_backward
from symroof.model.program_tree import Statement
from symroof.model.quantities import PER_CHIP, STOCKS, of_statement
from symroof.proof.loop_counts import Arrays
from symroof.proof.program_recounts import DotProducts, ElementwiseWork, StatementTraffic
from symroof.proof.step import Reason, Step, role_of
from symroof.rendering.formulas.plain import OF_TENSOR
from symroof.rendering.pages.mesh_view import Mesh
from symroof.rendering.pages.number_formats import decimal_number, group, grouped_sizes
from symroof.rendering.pages.page import Grid, merged_rows
from symroof.rendering.pages.section_displays import Code, Paragraph
from symroof.rendering.pages.typesetting import Sentences, Typesetter

# The sections that begin with tables.
TABLED = ("work", "traffic")


class CostTables:
    """The tables of the sections on work and traffic; statements of equal costs share a row."""

    def __init__(self, derivation: Derivation, program: Statements, typesetter: Typesetter) -> None:
        self.derivation, self.program, self.typesetter = derivation, program, typesetter
        self.say = typesetter.sentences("sized.j2", view=None, t_steps=None)
        rounded = derivation.setting.problem.count != "exact"
        self.lead = "dots_rounded" if rounded else "dots"

    def blocks(self, section: str) -> tuple[Paragraph | Grid, ...]:
        """What stands at the head of a section, in place of a sentence for each statement."""
        steps = self.derivation.section(section)
        return (*self._work(steps), *self._elementwise(steps)) if section == "work" else tuple(self._traffic(steps))

    def _table(self, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], *, alike: bool = False) -> Grid:
        """A table of statements; rows that are ``alike`` but for the statement are one."""
        return Grid(tuple(self.say("head", c) for c in columns), self.grouped(rows) if alike else tuple(rows)).filled

    def _work(self, steps: tuple[Step, ...]) -> Iterator[Paragraph | Grid]:
        """Outputs, length and FLOPs of each contraction; those alike together."""
        result = [step for step in steps if isinstance(step.facts, DotProducts)]
        rows = []
        for step in result:
            name, facts = self.program.about(step).name, step.facts
            cost = self.program.cost("flops", name)
            assert cost is not None
            parts = map(self._or_nothing, (facts.outputs, facts.length, facts.turns or number(1), cost))
            rows.append((self.typesetter.code(name), *parts))
        if rows:
            yield Paragraph(self.say(self.lead))
            yield self._table(("statement", "outputs", "length", "turns", "flops"), rows, alike=True)

    def _elementwise(self, steps: tuple[Step, ...]) -> Iterator[Paragraph | Grid]:
        """The functions, with what each takes for an element or a row."""
        rows = []
        for step in steps:
            if isinstance(step.facts, ElementwiseWork):
                name = self.program.about(step).name
                for i, item in enumerate(step.facts.applied):
                    each = self.say("saves_one") if item.sums else self.typesetter.inline(item.each)
                    each = self.say("for_each_row", each) if item.over is not None else each
                    cost = self.typesetter.inline(step.right) if i == len(step.facts.applied) - 1 else ""
                    applied = self.typesetter.code(self.program.applied(item.result))
                    rows.append((self.typesetter.code(name), applied, each, cost))
        if rows:
            yield Paragraph(self.say("functions_applied"))
            yield self._table(("statement", "function", "each", "in_all"), rows)

    def _traffic(self, steps: tuple[Step, ...]) -> Iterator[Paragraph | Grid]:
        """What each statement reads and writes, and what stays on the chip."""
        rows = []
        for step in steps:
            if isinstance(step.facts, StatementTraffic):
                name, moves = self.program.about(step).name, step.facts
                on_chip = (*moves.found, *(name for name in moves.kept if name not in moves.found))
                parts = (self._each(part) for part in (moves.loaded, moves.stored, on_chip))
                rows.append((self.typesetter.code(name), *parts, self.typesetter.inline(step.right)))
        if rows:
            yield Paragraph(self.say("moved_once"))
            yield self._table(("statement", "reads", "writes", "kept", "bytes"), rows)

    def stays(self) -> tuple[Paragraph | Grid, ...]:
        """What stays in memory, and on a mesh what one chip holds of it: a row for each of them."""
        steps = {step.left: step for step in self.derivation.section("traffic")}
        names = [name for name in ("params", *STOCKS) if Name(name) in steps]
        if not names:
            return ()
        split = any(Name(name + PER_CHIP) in steps for name in STOCKS)
        rows = tuple(
            (self.say("stock", name), *(self._of(steps, of) for of in (name, name + PER_CHIP))) for name in names
        )
        columns = ("name", "in_all_bytes" if split else "bytes_held", "on_each")
        return Paragraph(self.say("stays", split)), self._table(columns, rows)

    def grouped(self, rows: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
        """The rows of statements, those that are alike but for the name as one."""
        return merged_rows(rows, lambda names: self.say("each_of", names))

    def _of(self, steps: Mapping[Formula, Step], name: str) -> str:
        return self.typesetter.inline(steps[Name(name)].right) if Name(name) in steps else ""

    def _each(self, names: tuple[str, ...]) -> str:
        return self.say("listed", [self.typesetter.code(name) for name in names]) if names else ""

    def _or_nothing(self, formula: Formula) -> str:
        """A formula of a column that is left out where it is 1 everywhere."""
        return "" if formula == number(1) else self.typesetter.inline(formula)


# The role, the name and the type of a declaration.
DECLARED = re.compile(r"((?:\w+ )*(?:weight|cache|input)\s+)(\w+)(: .*)")
# From so many statements with costs on there is a table of them.
MANY = 5


class Statements:
    """What the steps of a derivation say of the statements of a program, by their names."""

    def __init__(self, derivation: Derivation, program: Program) -> None:
        self.program = program
        lying = {line.statement.name for line in program.lines if line.statement.how}
        self.names = tuple(name for name, owner in costs_of(program).items() if name not in lying or owner.stores)
        self.right = {step.left: step.right for step in derivation.written if step.point is None}
        self.makes_again = any(line.fuse is not None and line.fuse.again for line in program.lines)

    def named(self, name: str) -> Statement:
        return next(line.statement for line in self.program.lines if line.statement.name == name)

    def about(self, step: Step) -> Statement:
        """The statement that a step is about."""
        result = OF_TENSOR.fullmatch(step.left.name) if isinstance(step.left, Name) else None
        assert result is not None, step
        return self.named(result[2])

    def cost(self, amount: str, name: str) -> Formula | None:
        """What a step says that a statement costs."""
        return self.right.get(Name(of_statement(amount, name)))

    def intensity(self, name: str) -> Formula | None:
        return self.right.get(Quotient(*(Name(of_statement(amount, name)) for amount in ("flops", "bytes"))))

    def applied(self, name: str) -> str:
        """An elementwise statement without its name and its type: ``relu(h)``, ``x + o``."""
        return str(self.named(name)).partition(" = ")[2].partition(" -> ")[0]

    @property
    def many(self) -> bool:
        return len(self.names) >= MANY


def listing(program: Program, say: Sentences) -> Code:
    """The text of a program."""
    return Code((*_together(str(program).split("\n")), *_backward(program, say)))


def _together(lines: list[str]) -> Iterator[str]:
    """The lines of a program; declarations of one role and type that follow one another in one.

    >>> list(_together(["weight W1: bf16[D, F]", "weight W3: bf16[D, F]", "x = W1 + W3"]))
    ['weight W1, W3: bf16[D, F]', 'x = W1 + W3']
    """
    for (role, kind), same in groupby(lines, lambda line: DECLARED.sub(r"\1\n\3", line).partition("\n")[::2]):
        names = [DECLARED.sub(r"\2", line) for line in same]
        yield from [f"{role}{', '.join(names)}{kind}"] if kind else names


def _backward(program: Program, say: Sentences) -> Iterator[str]:
    """The statements of the backward pass, under a comment."""
    if program.training:
        yield f"# {say('backward_pass')}"
        yield from spelled_backward(program)


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

    ``variable`` is what the condition is solved for, ``solved_size`` the size that the problem solves for where it equals that one,
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
        unknown = problem.solve_for if problem.solve is None else None
        self.unknown = Name(str(problem.solve_for))  # of the relation that is solved
        self.solved_size = None if unknown in (None, self.variable.name) else Name(str(unknown))
        axes = tuple(axis for axis in problem.mesh.values() if problem.operation.axes)
        self.chips = self.setting.layout.write(Mul(*(axis.size for axis in axes)))
        self.unsplit = [a.name for a in axes if a.name not in problem.operation.axes and a.chips != 1]
        self.links = tuple(self._bounds_of_links()) if self.setting.joint else ()
        self.matrix_unit, self.rates = self.setting.matrix_unit, self.setting.rates
        self.formula_of = self.answer.formula
        self.ridge = None if self.answer.ridge is None else decimal_number(self.answer.ridge)
        rule = self.answer.rule
        self.rule_condition = self.condition(self.answer, self.answer.rule_bound) if rule else None
        self.number_condition = None if rule else self.condition(self.answer, self.answer.bound)
        self.points = tuple(map(self._point, self.answer.at))

    @property
    def upside_down(self) -> Compare | None:
        """The condition as a bound on 1/intensity, the ridge in decimals where it is known."""
        result = self.formula_of("upside_down")
        if not isinstance(result, Compare) or self.ridge is None:
            return result if isinstance(result, Compare) else None
        return replace(result, right=Quotient(number(1), self.ridge))

    def _bounds_of_links(self) -> Iterator[Formula]:
        """When arithmetic takes longer than each link, in figures where they are known; nothing of one where it always does."""
        for resource, _ in self.setting.rates.links:
            bound = self.answer.formula(role_of("figured", resource)) or self.answer.formula(
                role_of("threshold", resource)
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
        solution, bound = self.answer.threshold, self.formula_of("bound")
        if not self.setting.several_chips or solution is None or solution.end != solution.formula or bound is None:
            return None
        return Compare(solution.end.left, solution.end.relation, bound)

    @property
    def no_vector_time(self) -> bool:
        """Whether there is elementwise work beside contractions, and no figure for the unit that does it."""
        works = self.formula_of("ops") is not None and not self.operation.vector
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
        return group((relation.left, relation.right) for relation in self.bounds(step))

    def equal_names(self, step: Step) -> tuple[Formula, ...]:
        """The names that are equal by assumption, the one that the others equal first."""
        same = of_kind(step.assumptions, "=")
        return (same[0].right, *(r.left for r in same))

    @property
    def scaling(self) -> tuple[Compare, ...]:
        """The relations of the regime that say what grows; those of the limit where there is one."""
        limit = self.find("limit")
        return of_kind(limit.assumptions if limit else self.problem.assume, "<<", "->", "~", "~~")

    def condition(self, steps: Steps, edge: Expr | Root | None) -> dict[str, Any] | None:
        """``B > 240.24, so B >= 241``: relation, decimal bound and first whole size; None for a symbolic bound."""
        stated, value, first = steps.condition, as_number(edge), steps.smallest_integer
        if not isinstance(stated, Compare) or value is None:
            return None
        shown = decimal_number(value)
        return {
            "variable": stated.left,
            "sign": "=" if shown.value == value else "~",
            "relation": stated.relation,
            "bound": shown,
            "first": None if first is None else number(first),
            "whole": steps.step("smallest"),
        }

    def _point(self, point: Point) -> dict[str, Any]:
        value, solution = as_number(point.value("intensity")), point.threshold
        return {
            "answer": point,
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
