"""A problem: an operation, a chip, the assumptions, and what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction

from symroof.formula import Compare, Formula, Frozen
from symroof.model.cost import Counting
from symroof.model.dtype import Dtype
from symroof.model.hardware import Accelerator
from symroof.model.mesh import open_axes
from symroof.model.mesh_axes import Mesh
from symroof.model.program import Program

# ``answer`` is the table that sums up, with the words around it.
SECTIONS = [
    "answer",
    "letters",
    "work",
    "traffic",
    "exchanges",
    "intensity",
    "regime",
    "ridge",
    "threshold",
    "rule",
    "at",
    "time",
    "resources",
    "formulas",
    "solution",
    "optimum",
]


class Problem(Frozen):
    """Everything that a derivation depends on. ``assume`` holds the relations of the regime as they were read,
    ``joint`` says that no link is named: on a mesh T_comms is the longest time of the memory and all of its links.
    ``statement`` is the one of a program that is asked about, ``lang`` the language of the page. What is solved for
    ``solve_for`` is the condition of being compute-bound, or the relation of ``solve`` where there is one; ``minimize``
    is what is to be least ``over`` a size, where the equation ``subject`` holds. ``unmodelled`` is what a configuration says of
    the model beside what is derived, ``pad`` that sizes which chips do not share out are the next that they do."""

    operation: Program
    hardware: Accelerator | None = None
    assume: tuple[Compare, ...] = ()
    title: str | None = None
    solve_for: str | None = None
    count: Counting = "fma"
    compute: Dtype | None = None
    mesh: Mesh = field(default_factory=dict)
    link: str = "HBM"
    at: tuple[Mapping[str, Fraction], ...] = ()
    symbols: tuple[str, ...] = ()
    let: Mapping[str, Formula] = field(default_factory=dict)
    sections: tuple[str, ...] = tuple(SECTIONS)
    statement: str | None = None
    lang: str | None = None
    solve: Compare | None = None
    minimize: Formula | None = None
    over: str | None = None
    subject: Compare | None = None
    joint: bool = True
    unmodelled: tuple[str, ...] = ()
    pad: bool = False

    def __repr__(self) -> str:
        chip = "" if self.hardware is None else f" on {self.hardware.title}"
        return f"<Problem of {self.operation.title}{chip}>"

    @property
    def training(self) -> bool:
        """Whether the operation goes on with its backward pass."""
        return self.operation.training

    @property
    def names(self) -> tuple[str, ...]:
        """The sizes that an answer is in: those of the operation, and the axes without a number of chips."""
        return (*self.operation.dimensions, *open_axes(self.mesh))


class Sketch(Frozen):
    """What a table says that has no operation: every name is a positive number, unless a formula or a figure says what it
    is. The keys are those of a :class:`~symroof.model.problem.Problem`."""

    hardware: Accelerator | None = None
    symbols: tuple[str, ...] = ()
    let: Mapping[str, Formula] = field(default_factory=dict)
    assume: tuple[Compare, ...] = ()
    compute: Dtype | None = None
    title: str | None = None
    at: tuple[Mapping[str, Fraction], ...] = ()
    solve: Compare | None = None
    solve_for: str | None = None
    minimize: Formula | None = None
    over: str | None = None
    subject: Compare | None = None
    lang: str | None = None
