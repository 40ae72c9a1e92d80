"""Sections as prose and displays: every reason says its sentence, and the steps between sentences share a display."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from symroof.formula import Cases, Compare, Formula, Frozen, Name, Number, Quotient, Verdict, names
from symroof.proof.step import Reason, Step
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.rendering.formulas.tex import LatexPrinter
from symroof.rendering.pages.terminal import close_up

# What a reason says of a step: the sentence before it, its unit, a word beside it, the sentence after it.
Say = Callable[[str, Step], str]
# Steps that prose alone states, and those that continue the line of the step before.
IN_PROSE = frozenset(
    (
        *(Reason.FACT, Reason.KINDS, Reason.CASE, Reason.BELOW_EACH, Reason.BRACKET, Reason.FACTOR, Reason.SIDE),
        *(Reason.WITHIN, Reason.AT_MOST, Reason.NEXT_ORDER, Reason.REACH, Reason.SQUARE, Reason.THROUGHPUT),
        *(Reason.WHOLE, Reason.GAP, Reason.PAYS, Reason.BEST, Reason.BEST_VALUE, Reason.AT_AN_END),
    )
)
CONTINUING = frozenset((Reason.TOKENS, Reason.SAME, Reason.CANCEL))
# Where figures and decimals stand in the sections on what was asked for.
FIGURES = {
    ("solution", Reason.FIGURES): "line",
    ("solution", Reason.ROUNDED): "joined",
    ("optimum", Reason.FIGURES): "joined",
    ("optimum", Reason.ROUNDED): "prose",
}
# The sums over statements that stand in the answer alone.
UNSEEN = tuple(map(Name, ("flops_exact", "reads", "writes")))
LONGEST_NUMBER = 8


def display(step: Step, before: Sequence[Step], elsewhere: Callable[[Step], bool] = lambda step: False) -> str:
    """Where a step stands: ``prose``, on a ``line`` of its own, ``joined`` to the line before, or its right side ``alone``;
    one that stands ``elsewhere`` on the page has no line."""
    if elsewhere(step):
        return "prose"
    joined = False
    match step.reason:
        case Reason.TOTAL:
            return _total(step, before, elsewhere)
        case Reason.FIGURES | Reason.ROUNDED:
            return _figures(step, before)
        case Reason.VALUE:
            return _value(step)
        case Reason.AT_POINT:
            return "line" if _at_point(step) else "prose"
        case Reason.RULE_FACTOR:
            return "alone"
        case Reason.SIDE if step.section == "at":
            joined = step.left == Name("intensity")
        case Reason.ORDER:
            joined = step.left == Name("T_steps")
        case Reason.EXPANDED:
            joined = step.section == "formulas"
        case Reason.PART:
            joined = step.relation == "~"
        case reason:
            unseen = reason is Reason.STATEMENTS and step.left in UNSEEN
            if unseen or reason in IN_PROSE or (reason is Reason.RULE and isinstance(step.right, Compare)):
                return "prose"
            joined = reason in CONTINUING
    return "joined" if joined else "line"


def _total(step: Step, before: Sequence[Step], elsewhere: Callable[[Step], bool]) -> str:
    """A sum goes on from its summands: it is joined to their line, and has one of its own where they stand elsewhere."""
    if before and elsewhere(before[-1]):
        return "line"
    if before and before[-1].reason is Reason.STATEMENTS:
        return "joined" if display(before[-1], before[:-1]) == "line" else "prose"
    return "joined" if step.left == Name("sent") else "prose"


def _value(step: Step) -> str:
    """What a named formula comes to: where it is a fraction of whole numbers, decimals say it."""
    fraction = isinstance(step.right, Quotient) and not names(step.right)
    if step.point is None:
        return "joined" if isinstance(step.right, Number) else "prose"
    return "prose" if fraction else "line"


def _at_point(step: Step) -> bool:
    """A value at sizes that leave nothing open; a condition whose bound is no number."""
    if step.role == "intensity":
        return not names(step.right)
    conditions = step.right.rows[0][0] if isinstance(step.right, Cases) else step.right
    in_numbers = isinstance(conditions, Compare) and isinstance(conditions.left, Name) and not names(conditions.right)
    return not in_numbers and not isinstance(step.right, Verdict)


def _is_long(formula: Formula) -> bool:
    """Whether a number is a fraction whose whole numbers have many digits."""
    sides = (formula.above, formula.below) if isinstance(formula, Quotient) and not names(formula) else ()
    return any(isinstance(side, Number) and len(str(side.value)) > LONGEST_NUMBER for side in sides)


def _figures(step: Step, before: Sequence[Step]) -> str:
    """Figures and decimals have a line in the sections in which no sentence says the number."""
    if (step.section, step.reason) in FIGURES:
        return FIGURES[step.section, step.reason]
    if step.section == "formulas" and step.reason is Reason.ROUNDED and step.point is not None:
        return "line"
    long = _is_long(step.right)
    if step.section in ("ridge", "formulas", "time"):
        return "prose" if long and step.reason is Reason.FIGURES and step.role else "joined"
    if step.section == "at":
        return "joined" if step.left == Name("intensity") else "prose"
    if step.section != "rule" or step.role or long or any(s.reason is Reason.RULE for s in before):
        return "prose"
    return "joined" if any(s.reason is Reason.FIGURES for s in before) else "line"


@dataclass(slots=True)
class Row:
    """``left rel right rel right …`` and a unit; ``left`` is None where the row continues the one above."""

    left: Formula | None
    parts: list[tuple[str, Formula]]
    aside: str = ""
    unit: str = ""

    def links(self, printer: LatexPrinter | PlainPrinter) -> list[str]:
        return [f"{printer.relation(relation)} {printer.print(right)}" for relation, right in self.parts]


class Paragraph(Frozen):
    kind: ClassVar[str] = "paragraph"
    text: str


class Code(Frozen):
    """Lines that stand as they are written."""

    kind: ClassVar[str] = "code"
    lines: tuple[str, ...]


class Display(Frozen):
    """Formulas of their own lines, aligned at their relations."""

    kind: ClassVar[str] = "display"
    rows: list[Row]


def blocks(
    steps: tuple[Step, ...], say: Say, joint: str = " ", elsewhere: Callable[[Step], bool] = lambda step: False
) -> list[Paragraph | Display]:
    """The paragraphs and displays of one section, in order; ``joint`` stands between the sentences of a paragraph."""
    written: list[Paragraph | Display] = []
    left: Formula | None = None

    def prose(text: str) -> None:
        if text and written and isinstance(before := written[-1], Paragraph):
            written[-1] = Paragraph(close_up(before.text + ("" if text.startswith(",") else joint) + text))
        elif text:
            written.append(Paragraph(text))

    for index, step in enumerate(steps):
        prose(say("lead", step))
        place = display(step, steps[:index], elsewhere)
        if place != "prose":
            block = written[-1] if written else None
            if not isinstance(block, Display):
                block, left = Display([]), None
                written.append(block)
            rows = block.rows
            if place == "alone":
                rows.append(Row(step.right, []))
            elif place == "joined" and rows:
                rows[-1].parts.append((step.relation, step.right))
            else:
                rows.append(Row(None if step.left == left else step.left, [(step.relation, step.right)]))
                left = step.left
            rows[-1].aside = say("aside", step) or rows[-1].aside
            rows[-1].unit = say("unit", step) or rows[-1].unit
        prose(say("remark", step))
    return written
