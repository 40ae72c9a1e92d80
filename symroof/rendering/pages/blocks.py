"""Sections as prose and displays: every reason says its sentence, and the steps between sentences share a display."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from symroof.formula import Formula
from symroof.proof.step import Step

# What a reason says of a step: the sentence before it, its unit, a word beside it, the sentence after it.
Say = Callable[[str, Step], str]


@dataclass(slots=True)
class Row:
    """``left rel right rel right …`` and a unit; ``left`` is None where the row continues the one above."""

    left: Formula | None
    parts: list[tuple[str, Formula]]
    aside: str = ""
    unit: str = ""


@dataclass(slots=True)
class Block:
    """A paragraph, or a display of rows."""

    prose: str = ""
    rows: list[Row] = field(default_factory=list)


def blocks(steps: tuple[Step, ...], say: Say, joint: str = " ") -> list[Block]:
    """The paragraphs and displays of one section, in order; ``joint`` stands between the sentences of a paragraph."""
    found: list[Block] = []
    rows: list[Row] = []
    left: Formula | None = None

    def prose(text: str) -> None:
        nonlocal rows, left
        if not text:
            return
        if rows:
            found.append(Block(rows=rows))
            rows, left = [], None
        if found and found[-1].prose:
            found[-1].prose += text if text.startswith(",") else joint + text
        else:
            found.append(Block(prose=text))

    for step in steps:
        prose(say("lead", step))
        if step.shown:
            aside, unit = say("aside", step), say("unit", step)
            if step.right_alone:
                rows.append(Row(step.right, [], aside))
            elif step.joined and rows:
                rows[-1].parts.append((step.relation, step.right))
                rows[-1].aside = aside or rows[-1].aside
            else:
                rows.append(Row(None if step.left == left else step.left, [(step.relation, step.right)], aside))
                left = step.left
            rows[-1].unit = unit or rows[-1].unit
        prose(say("remark", step))
    if rows:
        found.append(Block(rows=rows))
    return found
