"""What the sentences of a best split need beside its steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from symroof.formula import Compare, Formula, Name, names
from symroof.proof.step import Step


class Splitting:
    """A page of a problem that asks for what is least."""

    problem: Any
    answer: Any

    @property
    def least(self) -> Formula:
        """What is to be least."""
        found: Formula = self.problem.minimize
        return found

    @property
    def over(self) -> Name:
        """What it is to be least over."""
        return Name(str(self.problem.over))

    def other(self, step: Step) -> Formula:
        """The size that shares something with it."""
        return next(a.left for a in step.assumed("=") if self.over.name in names(a.right))

    @property
    def bound_in_figures(self) -> Formula | None:
        """The condition of being compute-bound there, with the figures put in."""
        bound, value = self.answer.formula("optimum_bound"), self.answer.formula("optimum_bound_value")
        return bound if value is None else replace(bound, right=value)

    def growing(self, step: Step) -> tuple[Compare, ...]:
        """The regime of a step."""
        return step.assumed("<<", "->", "~", "~~")

    def closed(self, step: Step) -> tuple[tuple[tuple[Name, ...], int], ...]:
        """The sizes that come in multiples of a number, with it."""
        each = getattr(step.facts, "each", ())
        return tuple(
            (tuple(name for name, n in each if n == step_), step_) for step_ in dict.fromkeys(n for _, n in each)
        )

    def guards(self, step: Step) -> tuple[tuple[Formula, Formula], ...]:
        """What is at least what by assumption."""
        return tuple((guard.left, guard.right) for guard in step.assumed(">="))
