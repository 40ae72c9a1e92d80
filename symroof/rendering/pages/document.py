"""A derivation as a page: its answer as a table, its sections as sentences and displays, its times as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sympy import Expr, Mul

from symroof.algebra.roots import Root
from symroof.derivation.answer import Point, Said
from symroof.derivation.draft import BANDWIDTH, PEAK, RIDGE, T_COMMS, T_MATH, numeric
from symroof.derivation.layout import with_digits
from symroof.derivation.pipeline import Derivation
from symroof.derivation.schedules import T_VECTOR
from symroof.formula import Compare, Formula, Name, Number, number
from symroof.model.problem import SECTIONS
from symroof.model.program import Program
from symroof.proof.recounts import Arrays
from symroof.proof.step import Reason, Step
from symroof.rendering.pages.amounts import (
    decimal_number,
    grouped,
    grouped_sizes,
    in_decimals,
    quantity,
    shown_times,
    unit_of_times,
)
from symroof.rendering.pages.blocks import Code, blocks
from symroof.rendering.pages.dialects import FORMATS
from symroof.rendering.pages.listings import Statements, listing
from symroof.rendering.pages.optima_said import Splitting
from symroof.rendering.pages.page import Block, Grid, Page, Section, render_page
from symroof.rendering.pages.pen import Pen, Style, pen_of
from symroof.rendering.pages.terminal import GAP, fold


def render_derivation(derivation: Derivation, form: str, style: Style) -> str:
    """The page of one derivation."""
    view, setting = View(derivation), derivation.setting
    pen = pen_of(form, setting.layout, setting.problem.link, style.of(setting.problem))
    return render_page(lambda pen: _Writer(view, pen).page(), pen, d=view)


class _Writer:
    def __init__(self, view: View, pen: Pen) -> None:
        self.derivation, self.pen, self.view = view.derivation, pen, view
        self.say = pen.sentences(
            FORMATS[pen.form].prose,
            d=view,
            condition=self._condition,
            shown=in_decimals,
            ridge_=RIDGE,
            peak=PEAK,
            bandwidth=BANDWIDTH,
            t_math=T_MATH,
            t_comms=T_COMMS,
            t_vector=T_VECTOR,
            memory_time=Name(f"T_{view.problem.link}") if view.rates else T_COMMS,
        )

    def _condition(self, relations: Iterable[Compare]) -> str:
        """A regime, as on a command line on a terminal, in words elsewhere."""
        words = self.pen.style.words
        joints = () if self.pen.form == "text" else (words.conjunction, words.comma)
        return self.pen.condition(relations, *joints)

    def page(self) -> Page:
        sections = [] if self.pen.style.brief else [n for n in SECTIONS if self.derivation.section(n)]
        if (
            "answer" not in self.view.problem.sections or self.view.problem.statement is not None
        ):  # sections that were asked for, and nothing around them
            return Page("", "", tuple(self._sections(sections)))
        closing = "" if self.pen.style.brief else self.say.lines("closing")
        if self.pen.form == "text":
            closing = "\n".join(line for text in closing.split("\n") for line in fold(text, self.pen.style.width))
        head: list[Block | Section] = [*self._program(), self._answer(), *self._statements()]
        return Page(self.say("title"), self.say("machine"), (*head, *self._sections(sections)), closing)

    def _program(self) -> Iterator[Code]:
        """The text of a program."""
        if isinstance(self.view.operation, Program):
            yield listing(self.view.operation, self.pen.form, self.say, self.pen.style.width - len(GAP))

    def _statements(self) -> Iterator[Grid]:
        """The statements of a long program, with what each of them costs."""
        program = self.view.program
        if program is not None and program.many:
            columns = ("name", "flops", "bytes", "intensity")
            rows = tuple(tuple(self.say(f"of_{column}", name) for column in columns) for name in program.names)
            yield Grid(tuple(self.say("head_of", column) for column in columns), rows)

    def _answer(self) -> Grid:
        view, text = self.view, self.pen.form == "text"
        stocks = [name for name in ("params", "caches", "saved") if view.said(name)]
        work = ["flops", "ops"] if not text and view.said("ops") and not view.operation.vector else ["flops"]
        names = [*stocks, *work, "bytes", "intensity", "compute"]
        if view.ridge is not None and (view.setting.over_network or text):
            names.insert(-1, "ridge")
        names += [name for name, role in (("best", "optimum"), ("there", "optimum_bound")) if view.said(role)]
        parts = ("label", "cell", "near") if text or view.scaling else ("label", "cell")
        rows = [tuple(self.say(f"{part}_{name}") for part in parts) for name in names]
        rows += [tuple(self.say(f"{part}_point", p) for part in parts) for p in view.points if not p["same"]]
        return Grid(tuple(self.say(f"head_{part}") for part in parts), tuple(rows), ledger=True)

    def _sections(self, names: list[str]) -> Iterator[Section]:
        """The sections that say something: what prose alone would say of one statement may be nothing."""
        return (section for section in map(self._section, names) if section.blocks)

    def _section(self, name: str) -> Section:
        def say(part: str, step: Any) -> str:
            return self.say(step.reason.value, part, step)

        written = blocks(
            tuple(map(_in_units, self.derivation.section(name))), say, "\n" if self.pen.form == "text" else " "
        )
        points = (
            [point for point in self.view.points if point["said"].times]
            if name == "time" and self.view.problem.statement is None
            else []
        )
        tables = map(self._times, points)
        return Section(self.say("head", name), (*written, *tables))

    def _times(self, point: dict[str, Any]) -> Grid:
        """The times at some sizes, with the side that bounds them."""
        rows = point["said"].times
        columns = ["size", "T_math", "T_comms", "lower", "upper", "by"]
        columns[2:2] = ["T_vector"] if rows[0].vector is not None else []
        columns[-2:-2] = ["steps"] if rows[0].steps is not None else []
        head = tuple(self.say("head_times", column, point) for column in columns)
        return Grid(head, tuple(self._times_rows(point)), frozenset(range(self.pen.form == "text", len(columns) - 1)))

    def _times_rows(self, point: dict[str, Any]) -> Iterator[tuple[str, ...]]:
        rows = point["said"].times
        unit = unit_of_times(rows)
        wide = max(len(str(row.size)) for row in rows)
        for row in rows:
            math, comms, lower, upper, *others = (self.pen.amount(time, unit.name) for time in shown_times(row, unit))
            vector, steps = others[: row.vector is not None], others[row.vector is not None :]
            times = (math, *vector, comms, lower, *steps, upper)
            size, side = str(row.size), self.say("bounding", row)
            if self.pen.form == "text":
                yield f"{self.pen.inline(point['variable'])} = {size:>{wide}}", *times, side
            elif row.threshold:
                yield self.pen.strong(size), *times, self.pen.strong(side) if row.compute_bound else side
            else:
                yield size, *times, side


def _in_units(step: Step) -> Step:
    """A time in the unit that gives it digits before the point."""
    if step.section == "time" and step.reason is Reason.ROUNDED and isinstance(step.right, Number):
        return replace(step, right=Number(step.right.value, quantity(step.right.value, "s")))
    return step


class View(Splitting):
    """A derivation, asked for by name. Every formula here is on some step, or is a value of the answer.

    ``variable`` is what the condition is solved for, ``asked`` the size that was asked for where it equals that one,
    ``chips`` are all those of the mesh, and ``matrix_unit`` says whether the peak is that of a matrix unit. The ridge
    is in decimals; ``number_condition`` is the exact condition, where it is a number without any regime.
    """

    def __init__(self, derivation: Derivation) -> None:
        self.derivation, self.answer, self.setting = derivation, derivation.answer, derivation.setting
        self.problem = problem = self.setting.problem
        self.operation, self.chip, self.outcome = problem.operation, problem.hardware, self.answer.outcome
        self.program = Statements(derivation, self.operation) if isinstance(self.operation, Program) else None
        self.variable = Name(self.setting.variable.name)
        asked = problem.solve_for if problem.solve is None else None
        self.asked = None if asked in (None, self.variable.name) else Name(str(asked))
        sizes = (problem.mesh[axis].size for axis in problem.operation.axes)
        self.chips, self.chips_at_work = map(self.setting.layout.write, (Mul(*sizes), self.setting.chips))
        self.matrix_unit, self.rates = self.setting.matrix_unit, self.setting.rates
        self.said = self.answer.formula
        self.ridge = None if self.answer.ridge is None else decimal_number(self.answer.ridge)
        rule = self.answer.rule
        self.rule_condition = self.condition(self.answer, self.answer.rule_bound) if rule else None
        self.number_condition = None if rule else self.condition(self.answer, self.answer.bound)
        self.points = tuple(map(self._point, self.answer.at))

    def all(self, reason: str, section: str | None = None) -> tuple[Step, ...]:
        """The steps of a reason, in a section or anywhere."""
        wanted = Reason(reason)
        return tuple(s for s in self.derivation.steps if s.reason is wanted and section in (None, s.section))

    def find(self, reason: str, section: str | None = None) -> Step | None:
        return next(iter(self.all(reason, section)), None)

    def first(self, reason: str, point: int) -> Step | None:
        """The first step of a reason at a set of sizes."""
        return next((step for step in self.all(reason) if step.point == point), None)

    @property
    def unknown(self) -> Name:
        """What the relation is solved for."""
        return Name(str(self.problem.solve_for))

    def figured(self, formula: Formula) -> Formula:
        """A formula with the figures of the machine in the digits in which they were read."""
        return with_digits(formula, self.setting.digits)

    @property
    def no_vector_time(self) -> bool:
        """Whether there is elementwise work beside contractions, and no figure for the unit that does it."""
        works = self.said("ops") is not None and not self.operation.vector
        return self.rates is not None and self.rates.vector is None and works

    @property
    def widths(self) -> dict[str, Fraction]:
        """The bytes of an element of each dtype."""
        evidence = [step.evidence for step in (*self.all("reads"), *self.all("writes"))]
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

    def condition(self, said: Said, edge: Expr | Root | None) -> dict[str, Any] | None:
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
        }

    def _point(self, point: Point) -> dict[str, Any]:
        value, solution = numeric(point.intensity), point.threshold
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
