"""A derivation as a page: its answer as a table, its sections as sentences and displays, its times as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from symroof.derivation.counting import label_formula
from symroof.derivation.drafts import INTENSITY, RIDGE
from symroof.derivation.pipeline import Derivation, SketchDerivation
from symroof.errors import ReadingError
from symroof.formula import Compare, Name, Number, number
from symroof.model.problem import SECTIONS
from symroof.model.quantities import BANDWIDTH, PEAK, T_COMMS, T_LOWER, T_MATH, time_name
from symroof.proof.propositions import without_cases
from symroof.proof.step import Reason, Role, Step, named_formula
from symroof.rendering.pages.derivation_view import TABLED, CostTables, SketchView, View, listing
from symroof.rendering.pages.mesh_view import OF_CHIPS, is_of_one_chip
from symroof.rendering.pages.number_formats import bound_shown, in_decimals, quantity, shown_times, unit_of_times
from symroof.rendering.pages.number_tables import NumberTables
from symroof.rendering.pages.page import Block, Grid, Lines, Page, Section, render_page
from symroof.rendering.pages.section_displays import UNSEEN, Code, blocks
from symroof.rendering.pages.typesetting import Sentences, Style, Typesetter, typesetter_of


def render_derivation(derivation: Derivation, form: str, style: Style) -> str:
    """The page of one derivation."""
    view, setting = View(derivation), derivation.setting
    typesetter = typesetter_of(form, setting.layout, setting.problem.link, style.of(setting.problem))
    return render_page(lambda typesetter: Writer(view, typesetter).page(), typesetter, view=view)


# What the sentences of pages call these quantities.
SYMBOLS = {"ridge_": RIDGE, "peak": PEAK, "bandwidth": BANDWIDTH, "t_math": T_MATH, "t_comms": T_COMMS}
# The sections of a sketch, in their order.
SKETCH_SECTIONS = ("formulas", "solution", "optimum")


def render_sketch(sketched: SketchDerivation, form: str, style: Style) -> str:
    """The page of one sketch."""
    view = SketchView(sketched)
    typesetter = typesetter_of(form, sketched.layout, "HBM", style)

    def page(typesetter: Typesetter) -> Page:
        sentences = typesetter.sentences(
            "prose.j2", view=view, condition=typesetter.condition, shown=in_decimals, **SYMBOLS
        )

        def say(part: str, step: Any) -> str:
            return sentences(step.reason.value, part, step)

        joint = "\n" if typesetter.form == "text" else " "
        written = [
            (name, blocks(sketched.section(name), say, joint)) for name in SKETCH_SECTIONS if sketched.section(name)
        ]
        sections = tuple(Section(sentences("head", name), tuple(result)) for name, result in written if result)
        closing = "" if typesetter.style.brief else sentences.lines("closing_of_sketch")
        return Page(typesetter.words(view.problem.title or ""), "", sections, closing)

    return render_page(page, typesetter, view=view)


# What a problem may ask besides, and the part of the answer that says it.
ASKED: tuple[tuple[str, Role], ...] = (("solution", "solution"), ("best", "optimum"), ("there", "optimum_bound"))


# The rows of the answer that say something of the regime.
NEAR = ("bytes", "intensity", "compute", "point")


# The sections that a page of a program has where every step is wanted, and those whose answer stands in letters.
WORKINGS = ("work", "traffic", "ridge", "at", "time", "resources")
IN_LETTERS = ("intensity", "regime", "threshold", "rule")


class Writer:
    """The page of a derivation: which sections it has, and what stands in each."""

    def __init__(self, view: View, typesetter: Typesetter) -> None:
        self.derivation, self.typesetter, self.view = view.derivation, typesetter, view
        self.form, self.style = typesetter.form, typesetter.style
        self.sized: NumberTables
        self.above = Compare(INTENSITY, ">", RIDGE)
        solved = (step for step in view.derivation.section("letters") if step.reason in (Reason.EXPANDED, Reason.SOLVE))
        self.in_letters = {step.left: step.right for step in solved}
        whole, style = view.problem.sections == tuple(SECTIONS) and view.problem.statement is None, typesetter.style
        self.short = view.program is not None and whole and not (style.brief or style.full)
        if self.short and self.in_letters:
            view.formula_of = lambda role: self.in_letters.get(Name(role)) or view.answer.formula(role)
        names = {
            **SYMBOLS,
            "view": view,
            "shortened": self.short,
            "never_there": lambda: self.sized.never(),
            "condition": self._condition,
            "shown": in_decimals,
            "bound_shown": bound_shown,
            "t_lower": T_LOWER,
            "moving": Name(time_name(view.rates.comms)) if not view.rates.joint else T_COMMS,
            "labelled": label_formula,
        }
        self.say = typesetter.sentences("prose.j2", **names)
        self.of_chips = typesetter.sentences("links.j2", **names)
        self.sized = NumberTables(view, typesetter, self.say, self.of_chips, self.short)
        self.counts = None if view.program is None else CostTables(view.derivation, view.program, typesetter)

    def _condition(self, relations: Iterable[Compare]) -> str:
        """A regime, as on a command line on a terminal, in words elsewhere."""
        words = self.style.words
        joints = () if self.form == "text" else (words.conjunction, words.comma)
        return self.typesetter.condition(relations, *joints)

    def page(self) -> Page:
        sections = self._chosen()
        if (
            "answer" not in self.view.problem.sections or self.view.problem.statement is not None
        ):  # sections that were asked for, and nothing around them
            return Page("", "", self._requested(sections))
        closing = self.say.lines("unmodelled" if self.style.brief else "closing")
        head: list[Block | Section] = [*self._program(), *self._answered()]
        return Page(
            self.say("title"),
            self.say("assumed") if self.form == "text" else "",
            (*head, *self._sections(sections)),
            closing,
        )

    def _chosen(self) -> list[str]:
        """The sections of the page: of a program those that are read, unless every step is wanted."""
        sections = [] if self.style.brief else [n for n in SECTIONS if self.derivation.section(n)]
        if self.short:
            links = {link for link, _ in self.view.rates.links}
            left_out = {*WORKINGS, *(IN_LETTERS if self.in_letters else ())}
            left_out |= {"exchanges"} if links and self.sized.hidden == links else set()
            numbers = (
                self.sized.points[0]["answer"] if self.sized.alone else None
            )  # which the answer says of each formula
            in_answer = numbers is not None and all(map(numbers.step, map(named_formula, self.view.problem.let)))
            left_out |= {"formulas"} if in_answer else set()
            left_out -= {"resources"} if len(self.sized.points) < len(self.view.points) else set()
            sections = [name for name in sections if name not in left_out]
        if not any(point["where"] for point in self.view.points):  # every size is a number of the operation
            sections = [name for name in sections if name != "at"]
        return sections

    def _requested(self, names: list[str]) -> tuple[Section, ...]:
        """The sections that were asked for. Raises :class:`ReadingError` where the derivation has none of them."""
        chosen = [name for name in SECTIONS if self.view.derivation.section(name)] if self.style.brief else names
        if not chosen:
            written = {step.section for step in self.view.derivation.written}
            missing = " or ".join(name for name in self.view.problem.sections if name != "answer")
            raise ReadingError(
                f"the derivation has no section on {missing}",
                expected=f"one of {', '.join(name for name in SECTIONS if name in written)}",
            )
        return tuple(self._sections(chosen))

    def _program(self) -> Iterator[Code]:
        """The text of a program; a brief page of one with a name has it only where it is asked for."""
        program, style = self.view.operation, self.style
        is_named = program.entry or (self.view.problem.title and self.form == "text")
        if program.line is None and (not style.brief or style.program or not is_named):
            yield listing(self.view.operation, self.say)

    def _answered(self) -> Iterator[Block]:
        """The answer: numbers first where sizes leave nothing open."""
        sized = self.sized
        if sized.alone:
            (point,) = sized.points
            if point["where"]:
                yield Lines((sized.say("sizes", point),))
            yield from (sized.answer(point), *sized.statements(point))
        else:
            yield from (self._answer(sized.points), *sized.beside())
            yield from (
                block for point in self.view.points if point not in sized.points for block in sized.number_rows(point)
            )
        if not sized.alone or (not (self.style.brief or self.short) and self.view.mesh is not None):
            yield from self._statements()  # with sizes, where no section has what a chip does of each

    def _statements(self) -> Iterator[Grid]:
        """The statements of a long program, with what each of them costs."""
        program, mesh = self.view.program, self.view.mesh
        if program is not None and mesh is not None:
            named = ("name", "FLOPs per chip", "bytes per chip", *mesh.resources)
            rows = tuple(tuple(self.of_chips("of_chip", column, name) for column in named) for name in program.names)
            heads = tuple(self.of_chips("head_of_chip", column) for column in named)
            yield Grid(heads, rows if self.counts is None else self.counts.grouped(rows))
        elif program is not None and (program.many or self.short):
            columns = ("name", "flops", "bytes", "intensity")
            rows = tuple(tuple(self.say(f"of_{column}", name) for column in columns) for name in program.names)
            yield Grid(tuple(self.say("head_of", column) for column in columns), rows)

    def _answer_names(self) -> list[str]:
        """The names of the rows of the answer that are not of one point."""
        view, text = self.view, self.form == "text"
        stocks = [name for name in ("params", "trainable", "caches", "saved") if view.formula_of(name)]
        work = ["flops", "ops"] if view.formula_of("ops") and not (view.operation.vector or view.mesh) else ["flops"]
        alone = text and (view.program is not None or self.style.brief) and view.chips == number(1)
        moved = ["reads", "writes", "bytes"] if alone and view.formula_of("reads") else ["bytes"]
        names = [*stocks, *work, *moved, "intensity", "compute"]
        if view.setting.idle:
            names = [*stocks, *([*moved] if view.formula_of("bytes") else ()), "lower"]
        if view.ridge is not None and (view.setting.over_network or text or self.short):
            names.insert(-1, "ridge")
        return [*names, *(name for name, role in ASKED if view.formula_of(role))]

    def _answer(self, sized: list[dict[str, Any]]) -> Grid:
        view, lettered = self.view, self.short and bool(self.in_letters)
        apart = [p for p in view.points if p not in sized or len(sized) < 2]
        rows: list[tuple[str, ...]] = []

        for name in self._answer_names():
            rows.append(self._row(self.say, name))
            if name == "compute" and lettered and self.above in self.in_letters:
                shown = self.typesetter.inline(bound_shown(without_cases(self.in_letters[self.above])))
                rows[-1] = (rows[-1][0], shown, rows[-1][2])
            for about, link in view.mesh.rows(name) if view.mesh is not None else ():
                rows.append(self._row(self.of_chips, about, link))
        rows += (self._row(self.say, "solved", point) for point in apart if point["answer"].step("solution"))
        rows += (self._row(self.say, "point", point) for point in apart if not point["same"])
        columns = ("label", "cell", "near") if view.scaling else ("label", "cell")
        head = tuple(self.say(f"head_{column}") for column in columns)
        return Grid(head, tuple(row[: len(columns)] for row in rows), ledger=True)

    def _row(self, say: Sentences, about: str, *facts: object) -> tuple[str, ...]:
        """A row of the answer: its label, what it says, and what it nearly is."""
        has_near = about in NEAR and not (self.short and self.in_letters and about == "bytes")
        near = say(f"near_{about}", *facts) if has_near else ""
        return say(f"label_{about}", *facts), say(f"cell_{about}", *facts), near

    def _sections(self, names: list[str]) -> Iterator[Section]:
        """The sections that say something: what prose alone would say of one statement may be nothing."""
        return (section for section in map(self._section, names) if section.blocks)

    def _section(self, name: str) -> Section:
        if name == "letters":
            return self._letters()
        joint = "\n" if self.form == "text" else " "
        steps = tuple(step for step in self.derivation.section(name) if not self._is_solved_above(step))
        head: tuple[Block, ...] = ()
        staying: tuple[Block, ...] = ()
        if self.counts is not None and name in TABLED:
            head, staying = self.counts.blocks(name), self.counts.stays() if name == "traffic" else ()
        written = blocks(tuple(map(_in_units, steps)), self._sentence, joint, self._is_in_table)
        timed = name == "time" and self.view.problem.statement is None
        points = [point for point in self.view.points if timed and point["answer"].times]
        tables = map(self._times, points)
        moved = self._exchanges() if name == "exchanges" and self.form != "text" else ()
        return Section(self.say("head", name), (*head, *written[:1], *moved, *written[1:], *staying, *tables))

    def _letters(self) -> Section:
        """The letters, with what they stand for and are at sizes that leave nothing open; and the answer in them."""
        steps = self.derivation.section("letters")
        values = {step.left: self.sized.number(step.value, "count") for step in steps if step.point is not None}
        named = [step for step in steps if step.reason is Reason.LETTER]
        shown = ((step.left, step.right, values.get(step.left, "") if self.sized.alone else "") for step in named)
        rows = [(*map(self.typesetter.inline, formulas), value) for *formulas, value in shown]
        head = Grid(tuple(self.sized.say("head", part) for part in ("name", "formula", "value")), tuple(rows))
        solved = (Reason.REACH,) if self.sized.never() else (Reason.SOLVE, Reason.REACH)
        parts = ([step for step in steps if step.reason in reasons] for reasons in ((Reason.EXPANDED,), solved))
        displays = (block for part in parts for block in blocks(tuple(part), self._sentence))
        return Section(self.say("head", "letters"), (head, *displays))

    def _sentence(self, part: str, step: Any) -> str:
        """What is said of a step, before or behind it."""
        say = self.say.lines if step.reason in (Reason.CHIPS, *OF_CHIPS) and self.form == "text" else self.say
        return say(step.reason.value, part, step).strip("\n")

    def _is_in_table(self, step: Step) -> bool:
        """Whether a table of statements says what a step says: what a chip does of one, and what these add up to."""
        if self.counts is not None and step.reason is Reason.STATEMENTS:
            return step.left not in UNSEEN and step.role != "passes"
        shown = "answer" in self.view.problem.sections and self.view.problem.statement is None
        return shown and (step.reason in OF_CHIPS or (step.reason is Reason.STATEMENTS and is_of_one_chip(step.left)))

    def _is_solved_above(self, step: Step) -> bool:
        """Whether the section on the threshold has solved this: the memory is one of the resources of a mesh."""
        of_memory = Compare(T_MATH, ">", Name(time_name(self.view.rates.memory)))
        if step.section != "resources" or step.reason is not Reason.SOLVE or step.left != of_memory:
            return False
        return any(step_above.right == step.right for step_above in self.derivation.section("threshold"))

    def _exchanges(self) -> Iterator[Grid]:
        """Every exchange of a program on a mesh, with its reason."""
        if self.view.mesh is not None:
            columns = ("statement", "why", "moved", "bytes", "share")
            rows = tuple(
                tuple(self.of_chips("of_exchange", column, exchange) for column in columns)
                for exchange in self.view.mesh.exchanges
            )
            heads = tuple(self.of_chips("head_exchanges", column) for column in columns)
            yield Grid(heads, rows if self.counts is None else self.counts.grouped(rows))

    def _times(self, point: dict[str, Any]) -> Grid:
        """The times at some sizes, with the side that bounds them."""
        rows = point["answer"].times
        steps = ["steps"] if rows[0].steps is not None else []
        columns = ["size", "T_math", "T_comms", "lower", *steps, "upper", "by"]
        head = [self.say("head_times", column, point) for column in columns]
        head[2:2] = [self.typesetter.inline(name) for name, _ in rows[0].others]
        return Grid(tuple(head), tuple(self._times_rows(point)), frozenset(range(len(head) - 1)))

    def _times_rows(self, point: dict[str, Any]) -> Iterator[tuple[str, ...]]:
        rows = point["answer"].times
        unit = unit_of_times(rows)
        for row in rows:
            amounts = (self.typesetter.amount(time, unit.name) for time in shown_times(row, unit))
            math, comms, lower, upper, *others = amounts
            times = (math, *others[: len(row.others)], comms, lower, *others[len(row.others) :], upper)
            size, side = str(row.size), self.say("bounding", row)
            if row.threshold:
                yield self.typesetter.strong(size), *times, self.typesetter.strong(side) if row.compute_bound else side
            else:
                yield size, *times, side


def _in_units(step: Step) -> Step:
    """A time in the unit that gives it digits before the point."""
    if step.section == "time" and step.reason is Reason.ROUNDED and isinstance(step.right, Number):
        return replace(step, right=Number(step.right.value, quantity(step.right.value, "s")))
    return step
