"""The tables of numbers at sizes: a row for each quantity, and one for each group of statements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import ceil
from typing import Any

from symroof.algebra.rounding import to_places
from symroof.derivation.drafts import INTENSITY, T_STEPS, Point, as_number
from symroof.derivation.named_formulas import unit_in
from symroof.formula import Compare, Formula, Name, Sum, Verdict
from symroof.model.pipeline_stages import BUBBLE
from symroof.model.quantities import MOVED, STOCKS, TOKENS, of_statement, parts_of, rows_of, time_name, unit_of_amount
from symroof.model.resources import VECTOR, overlaps
from symroof.proof.propositions import without_cases
from symroof.proof.step import Step, amount_of, named_formula, number_of
from symroof.rendering.formulas.tex import breadth
from symroof.rendering.pages.derivation_view import View
from symroof.rendering.pages.number_formats import bound_shown, decimal_number, grouped_sizes, readable, with_unit
from symroof.rendering.pages.page import Grid, Lines, merged_rows
from symroof.rendering.pages.terminal import GAP, LABEL, VALUE, cells
from symroof.rendering.pages.typesetting import Sentences, Typesetter
from symroof.symbols import expression

# What a formula beside a number may take of a sheet; broader ones stand in their sections.
BROADEST = 40
# What takes less than this part of the longest time is said where every step is wanted.
SMALL = Fraction(1, 100)
# Totals of a model, which say what of its configuration they leave out.
WHOLE = ("params", "memory", "flops", TOKENS)


class NumberTables:
    """Tables at ``points``: the sizes at which every quantity is a number; ``short`` ones leave out what is small."""

    def __init__(
        self, view: View, typesetter: Typesetter, prose: Sentences, links: Sentences, short: bool = False
    ) -> None:
        self.short = short
        self.prose, self.links = prose, links
        self.view, self.typesetter, self.program = view, typesetter, view.operation
        self.say = typesetter.sentences("sized.j2", view=view, t_steps=T_STEPS)
        lower = number_of("T_lower" if view.setting.timed else "intensity")
        self.points = [point for point in view.points if point["answer"].step(lower) is not None]
        self.each = "_per_chip" if view.mesh is not None else ""

    @property
    def alone(self) -> bool:
        """Whether one set of sizes is put in, and leaves nothing open."""
        return len(self.points) == len(self.view.points) == 1

    @property
    def hidden(self) -> frozenset[str]:
        """The links that are busy for less than a tenth of the longest time, at the sizes of a page that is of these alone."""
        links = [link for link, _ in self.view.rates.links] if self.alone else []
        return frozenset(
            link for link in links if self._share_of_longest(self.points[0]["answer"], link) < Fraction(1, 10)
        )

    def _share_of_longest(self, answer: Point, resource: str) -> Fraction:
        time, lower = (answer.number(number_of(name)) for name in (time_name(resource), "T_lower"))
        return Fraction(1) if time is None or not lower else Fraction(time / lower)

    def never(self) -> bool:
        """Whether no value of what is solved for makes it compute-bound, the other sizes as they are."""
        turn = self.view.answer.step(number_of("turn(0)")) if self.alone else None
        return turn is not None and turn.right == Verdict(False)

    def names(self) -> tuple[str, ...]:
        """The quantities of the answer, in the order of reading."""
        links = self.view.mesh.resources if self.view.mesh else ()
        result = rows_of(self.view.rates.resources, links, split=self.view.mesh is not None)
        return tuple(name for name in result if name not in self.view.problem.let)

    def rows(self, point: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
        """Label, number, words and formula of each quantity at a set of sizes, and where the side changes."""
        yield from self._amounts(point)
        for name, formula in self.view.problem.let.items():
            step = point["answer"].step(named_formula(name))
            value = None if step is None else as_number(expression(step.right))
            if value is not None:
                yield self.typesetter.code(name), self.named_amount(name, value), "", self.typesetter.inline(formula)
        yield from self._solution(self.view.points.index(point))
        if not self.view.setting.idle:
            yield from self._compute_bound(self.view.points.index(point))

    def _amounts(self, point: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
        """Label, number, words and formula of each quantity that is a number at a set of sizes."""
        answer = point["answer"]
        lower = answer.number(number_of("T_lower"))
        for name in self.names():
            value = answer.number(number_of(name))
            if value is None or self._is_redundant(name, answer, value):
                continue
            if self.short and name == time_name(VECTOR) and self._share_of_longest(answer, VECTOR) < SMALL:
                continue
            words = self._words(name, point)
            if name.startswith("T_") and name not in ("T_lower", "T_steps") and value == lower:
                words.append(self.say("longest"))
            left_out = self.view.problem.unmodelled
            if left_out and name.removesuffix(self.each) in WHOLE:
                words.append(self.say("left_out", [self.typesetter.code(item) for item in left_out]))
            yield self.label(name), self.number(value, name), self.say("join", words), self.formula(name)

    def _solution(self, place: int) -> Iterator[tuple[str, str, str, str]]:
        """The relation that is solved, at sizes that the problem names; its own size is left open."""
        solve, answer = self.view.problem.solve, self.view.answer
        solution = answer.solved(place)
        if solve is None or solution is None:
            return
        label, shown = self.typesetter.inline(solve), self.typesetter.inline(bound_shown(without_cases(solution)))
        free, general = answer.step(number_of(f"solution({place})")), answer.solved(None)
        if free is None:
            yield label, shown, "", ""
        else:
            beside = "" if general is None else self.typesetter.inline(without_cases(general))
            yield label, shown, self._others(free, place), beside

    def _others(self, step: Step, place: int, *top: Formula | None) -> str:
        """That the other sizes are as they are."""
        problem = self.view.problem
        own = {n: x for n, x in problem.at[place].items() if n != step.facts.variable and n in problem.names}
        return self.say("with_others", grouped_sizes(own, self.view.setting.layout), *top)

    def _compute_bound(self, place: int) -> Iterator[tuple[str, str, str, str]]:
        """Where the arithmetic takes longer: from which size on, the others as they are, and in general."""
        view, general, label = self.view, self.prose("cell_compute"), self.prose("label_compute")
        stated = view.outcome != "depends" or view.answer.rule is not None
        links = [] if view.mesh is None else view.mesh.rows("compute")
        if links and view.answer.step(number_of(f"turn({place})")) is not None:  # against the memory alone
            stated, label = True, self.links("label_against", view.rates.comms)
        yield self._turned(None, label, general, "" if stated else general, place)
        for about, link in links:
            if self.short and link in self.hidden:
                continue
            general = self.links(f"cell_{about}", link)
            yield self._turned(link, self.links(f"label_{about}", link), general, general, place)

    def _turned(self, link: str | None, label: str, general: str, beside: str, place: int) -> tuple[str, str, str, str]:
        """From which size on the arithmetic takes longer than a link, or than the memory, the others as they are, and what
        stands beside that; what holds in general, where that is open."""
        turn = f"turn({place})" if link is None else f"turn({place}, {link})"
        step = self.view.answer.step(number_of(turn))
        if step is None:
            return label, "", "", general
        return label, self._turn(step, turn), self._others(step, place, *self._top(step, turn)), beside

    def _turn(self, step: Step, turn: str) -> str:
        """The condition on one size."""
        if isinstance(step.right, Verdict):
            return self.say("verdict", step.right.holds)
        bound = as_number(expression(step.right.right)) if isinstance(step.right, Compare) else None
        if bound is None or not isinstance(step.right, Compare):
            return self.typesetter.inline(step.right)
        whole = self.view.answer.step(number_of(f"whole {turn}"))
        first = whole.right.right if whole is not None and isinstance(whole.right, Compare) else None
        facts = {"variable": step.right.left, "relation": step.right.relation, "bound": decimal_number(bound)}
        return self.prose("bounded", {**facts, "first": first, "whole": whole})

    def _top(self, step: Step, turn: str) -> tuple[Formula, Formula | None] | tuple[()]:
        """Where no value of a size decides: the size, and what the intensity stays below."""
        if not isinstance(step.right, Verdict):
            return ()
        top = self.view.answer.number(number_of(f"top {turn}"))
        return Name(step.facts.variable), None if top is None else Compare(INTENSITY, "<", decimal_number(top))

    def _is_redundant(self, name: str, answer: Any, value: Fraction) -> bool:
        """A memory that is one stock alone, what is not done at all, and T_steps where it is T_lower."""
        if name.startswith("memory"):
            return False
        if name.removesuffix(self.each) in STOCKS and not isinstance(
            self.view.formula_of(amount_of(f"memory{self.each}")), Sum
        ):
            return True
        return value == 0 or (name == T_STEPS.name and value == answer.number(number_of("T_lower")))

    def label(self, name: str) -> str:
        kind, link = parts_of(name)
        if kind == "sent":
            return self.links("label_sent", link)
        return self.say("label", name, Name(name))

    def _share(self, share: Fraction) -> str:
        return self.typesetter.share(share, to_places(share * 100, 1))

    def number(self, value: Fraction, name: str) -> str:
        """A number with its unit, as people read it."""
        if name == BUBBLE.name:
            return self._share(value)
        return self.typesetter.amount(*readable(value, unit_of_amount(name) or "1"))

    def named_amount(self, name: str, value: Fraction) -> str:
        """A number of a formula that the problem names, with its unit where that is known."""
        return self.typesetter.amount(*with_unit(value, unit_in(self.view.setting, self.view.problem.let[name])))

    def _words(self, name: str, point: dict[str, Any]) -> list[str]:
        answer = point["answer"]

        def amount(quantity: str) -> str:
            value = answer.number(number_of(quantity))
            return "" if value is None else self.number(value, quantity)

        if name.startswith("memory"):
            return [*filter(None, (self.held(answer), self._room(answer, self.view.points.index(point))))]
        if name == f"flops{self.each}" and not self.program.vector:
            ops = answer.number(number_of(f"ops{self.each}"))
            return [self.say("elementwise", amount(f"ops{self.each}"))] if ops else []
        if name in ("T_lower", TOKENS) and answer.held is False:
            return [self.say("not_held")]
        if name == f"bytes{self.each}" and (parts := self._parts(answer)):
            return [self.say("parts_of", parts)]
        if name == "bytes":
            return [self.say("read_and_write", amount("reads"), amount("writes"))]
        if name == "intensity":
            share = answer.number(number_of("reached"))
            return [self.say("reached", point, "" if share in (None, 1) else self._share(share))]
        return []

    def _parts(self, answer: Any) -> list[tuple[str, str]]:
        """The shares of what the bytes belong to that are moved."""
        shares = ((part, answer.number(number_of(f"of {part}_moved{self.each}"))) for part in MOVED)
        return [(part, self._share(share)) for part, share in shares if share is not None]

    def held(self, answer: Point) -> str:
        """How many chips hold what is needed."""
        filled, fits = answer.number(number_of("filled")), answer.step(number_of("fits"))
        capacity = answer.number(number_of("capacity"))
        if filled is None or fits is None or capacity is None:
            return ""
        room, chips = self.typesetter.amount(*readable(capacity, "bytes")), 1 if self.each else ceil(filled)
        return self.say("held", chips, room, self._share(filled), fits.relation == "<=", bool(self.each))

    def _room(self, answer: Point, place: int) -> str:
        """How large a size may be until the memory is full."""
        filled, most = answer.number(number_of("filled")), self.view.answer.step(number_of(f"whole room({place})"))
        return "" if filled is None or most is None else self.say("most", most, 0 if self.each else ceil(filled))

    def formula(self, name: str) -> str:
        formula = self.view.formula_of(amount_of(name))
        if isinstance(formula, Name) and formula.name.startswith(STOCKS):
            formula = self.view.formula_of(amount_of(formula.name))
        return "" if formula is None or name.startswith("T_") else self.typesetter.inline(formula)

    def answer(self, point: dict[str, Any]) -> Grid:
        """The answer of one set of sizes: numbers first, formulas beside them where they fit."""
        return self._ledger(self.rows(point))

    def _ledger(self, quantities: Iterable[tuple[str, str, str, str]]) -> Grid:
        rows = []
        text = self.typesetter.form == "text"
        for label, value, words, formula in quantities:
            if text:
                if not value:  # a condition in general: where it fits
                    value, formula = formula, ""
                    if cells(value) > self.typesetter.style.width - max(LABEL, cells(label)) - 2 * len(GAP):
                        continue
                room = self.typesetter.style.width - max(LABEL, cells(label)) - VALUE - 3 * len(GAP)
                shown = formula if cells(formula) <= room else ""
                parts = [words, shown] if label == self.prose("label_compute") else [shown, words]
                rows.append((label, value, self.say("join", parts)))
            else:
                shown = formula if breadth(formula) <= BROADEST else ""
                if value or shown:
                    rows.append((label, self.say("join", [value, words]), shown))
        head = tuple("" if text else self.say("head", part) for part in ("name", "value", "formula"))
        return Grid(head, tuple(rows), ledger=True)

    def number_rows(self, point: dict[str, Any]) -> Iterator[Lines | Grid]:
        """What is a number at sizes that leave others open: what stays in memory, above all."""
        rows = [row for row in self._amounts(point) if row[1]]
        if rows and point["where"]:
            yield Lines((self.say("sizes", point),))
            yield self._ledger(rows)

    def beside(self) -> Iterator[Grid]:
        """Several sets of sizes beside one another."""
        if len(self.points) > 1:
            columns = [{label: value for label, value, *_ in self.rows(point)} for point in self.points]
            labels = dict.fromkeys(label for column in columns for label in column)
            rows = tuple((label, *(column.get(label, "") for column in columns)) for label in labels)
            heads = (self.say("head", "name"), *(self.say("sizes", point) for point in self.points))
            yield Grid(heads, rows, frozenset(range(1, len(heads))))

    def statements(self, point: dict[str, Any]) -> Iterator[Grid]:
        """What each group of statements costs, and its share of T_steps; those of equal costs together."""
        answer, kinds = point["answer"], [f"{kind}{self.each}" for kind in ("flops", "ops", "bytes")]
        groups = [group for group in overlaps(self.program) if answer.step(number_of(f"share({', '.join(group)})"))]
        rows = []
        for group in groups:
            named = ", ".join(group)
            costs = [answer.number(number_of(of_statement(kind, named))) for kind in kinds]
            amounts = (self.number(cost, kind) if cost else "" for cost, kind in zip(costs, kinds, strict=True))
            share = answer.number(number_of(f"share({named})"))
            if self.short and share is not None and share < SMALL:
                continue
            rows.append((" + ".join(map(self.typesetter.code, group)), *amounts, self._share(share)))
        if rows:
            heads = tuple(self.say("head", part) for part in ("statement", "flops", "ops", "bytes"))
            table = merged_rows(rows, lambda names: self.say("each_of", names))
            yield Grid((*heads, self.say("head_share")), table, frozenset({1, 2, 3, 4}))
