"""A program on a page: its text, and the tables of what its statements cost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from symroof.derivation.pipeline import Derivation
from symroof.formula import Formula, Name, Quotient, number
from symroof.model.kernels import costs_of
from symroof.model.program import Program, spelled_backward
from symroof.model.program_tree import Statement
from symroof.model.quantities import PER_CHIP, STOCKS, of_statement
from symroof.proof.program_recounts import Dots, Members, Moves
from symroof.proof.step import Step
from symroof.rendering.formulas.letters import OF_TENSOR
from symroof.rendering.pages.blocks import Code, Paragraph
from symroof.rendering.pages.page import Grid, grouped
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
        result = [step for step in steps if isinstance(step.facts, Dots)]
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
            if isinstance(step.facts, Members):
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
            if isinstance(step.facts, Moves):
                name, moves = self.program.about(step).name, step.facts
                kept = (*moves.found, *(name for name in moves.kept if name not in moves.found))
                parts = (self._each(part) for part in (moves.loaded, moves.stored, kept))
                rows.append((self.typesetter.code(name), *parts, self.typesetter.inline(step.right)))
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
        return self.typesetter.inline(said[Name(name)].right) if Name(name) in said else ""

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

    def cost(self, what: str, name: str) -> Formula | None:
        """What a step says that a statement costs."""
        return self.right.get(Name(of_statement(what, name)))

    def intensity(self, name: str) -> Formula | None:
        return self.right.get(Quotient(*(Name(of_statement(what, name)) for what in ("flops", "bytes"))))

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
