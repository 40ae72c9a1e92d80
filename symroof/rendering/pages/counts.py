"""What the statements of a program cost, as tables: what several of them have in common is said once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from symroof.derivation.pipeline import Derivation
from symroof.formula import Formula, Name, number
from symroof.model.quantities import PER_CHIP, STOCKS
from symroof.proof.program_recounts import Dots, Members, Moves
from symroof.proof.step import Step
from symroof.rendering.pages.blocks import Paragraph
from symroof.rendering.pages.listings import Statements
from symroof.rendering.pages.page import Grid, grouped
from symroof.rendering.pages.typesetting import Pen

# The sections that begin with tables.
TABLED = ("work", "traffic")


class Counts:
    """The tables of the sections on work and traffic."""

    def __init__(self, derivation: Derivation, program: Statements, pen: Pen) -> None:
        self.derivation, self.program, self.pen = derivation, program, pen
        self.say = pen.sentences("sized.j2", d=None, t_steps=None)
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
        result = [step for step in steps if isinstance(step.facts, Dots)]
        rows = []
        for step in result:
            name, facts = self.program.about(step).name, step.facts
            cost = self.program.cost("flops", name)
            assert cost is not None
            parts = map(self._or_nothing, (facts.outputs, facts.length, facts.turns or number(1), cost))
            rows.append((self.pen.code(name), *parts))
        if rows:
            yield Paragraph(self.say(self.lead))
            yield self._table(("statement", "outputs", "length", "turns", "flops"), rows, alike=True)

    def _elementwise(self, steps: tuple[Step, ...]) -> Iterator[Paragraph | Grid]:
        """The functions, with what each takes for an element or a row."""
        rows = []
        for step in steps:
            if isinstance(step.facts, Members):
                name = self.program.about(step).name
                for i, item in enumerate(step.facts.applied):
                    each = self.say("saves_one") if item.sums else self.pen.inline(item.each)
                    each = self.say("for_each_row", each) if item.over is not None else each
                    cost = self.pen.inline(step.right) if i == len(step.facts.applied) - 1 else ""
                    applied = self.pen.code(self.program.applied(item.result))
                    rows.append((self.pen.code(name), applied, each, cost))
        if rows:
            yield Paragraph(self.say("functions_applied"))
            yield self._table(("statement", "function", "each", "in_all"), rows)

    def _traffic(self, steps: tuple[Step, ...]) -> Iterator[Paragraph | Grid]:
        """What each statement reads and writes, and what stays on the chip."""
        rows = []
        for step in steps:
            if isinstance(step.facts, Moves):
                name, moves = self.program.about(step).name, step.facts
                kept = (*moves.found, *(name for name in moves.kept if name not in moves.found))
                parts = (self._each(part) for part in (moves.loaded, moves.stored, kept))
                rows.append((self.pen.code(name), *parts, self.pen.inline(step.right)))
        if rows:
            yield Paragraph(self.say("moved_once"))
            yield self._table(("statement", "reads", "writes", "kept", "bytes"), rows)

    def stays(self) -> tuple[Paragraph | Grid, ...]:
        """What stays in memory, and on a mesh what one chip holds of it: a row for each of them."""
        said = {step.left: step for step in self.derivation.section("traffic")}
        names = [name for name in ("params", *STOCKS) if Name(name) in said]
        if not names:
            return ()
        split = any(Name(name + PER_CHIP) in said for name in STOCKS)
        rows = tuple(
            (self.say("stock", name), *(self._of(said, of) for of in (name, name + PER_CHIP))) for name in names
        )
        columns = ("name", "in_all_bytes" if split else "bytes_held", "on_each")
        return Paragraph(self.say("stays", split)), self._table(columns, rows)

    def grouped(self, rows: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
        """The rows of statements, those that are alike but for the name as one."""
        return grouped(rows, lambda names: self.say("each_of", names))

    def _of(self, said: Mapping[Formula, Step], name: str) -> str:
        return self.pen.inline(said[Name(name)].right) if Name(name) in said else ""

    def _each(self, names: tuple[str, ...]) -> str:
        return self.say("listed", [self.pen.code(name) for name in names]) if names else ""

    def _or_nothing(self, formula: Formula) -> str:
        """A formula of a column that is left out where it is 1 everywhere."""
        return "" if formula == number(1) else self.pen.inline(formula)
