"""A program on a page: its text, and its statements with what each of them costs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from symroof.derivation.pipeline import Derivation
from symroof.formula import Formula, Name, Quotient
from symroof.model.kernels import costs_of
from symroof.model.program import Program, spelled_backward
from symroof.model.program_tree import Statement
from symroof.model.quantities import of_statement
from symroof.proof.step import Step
from symroof.rendering.formulas.letters import OF_TENSOR
from symroof.rendering.pages.blocks import Code
from symroof.rendering.pages.typesetting import Sentences

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
