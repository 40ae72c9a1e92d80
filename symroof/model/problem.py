"""A problem: an operation, a chip, the assumptions, and what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction

from symroof.errors import ModelError
from symroof.formula import Compare, Formula, Frozen
from symroof.model.collectives import Mesh
from symroof.model.given_costs import Counting
from symroof.model.hardware import Accelerator, Spec, nearest_name
from symroof.model.program import Program
from symroof.model.splits import open_axes
from symroof.model.tensor_types import Dtype

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


def peak_of(problem: Problem, chip: Accelerator | None) -> tuple[str, Spec | None]:
    """The peak that a problem is held against on a chip, by name; without its value where nothing says it."""
    compute = problem.compute or problem.operation.compute
    if chip is None or (chip.name == "given" and not any(name.startswith("peak") for name in chip.figures)):
        return "peak", None
    return chip.peak(compute, vector=problem.operation.vector)


def bandwidth_of(chip: Accelerator | None, link: str) -> Spec | None:
    """The bandwidth of a link of a chip, None where nothing says it. Raises :class:`ModelError` for a link that the chip lacks."""
    if chip is None or (chip.name == "given" and link not in chip.figures):
        return None
    if link not in chip.figures or chip.figures[link].unit not in ("bytes/s", ""):
        raise ModelError(
            f"{chip.title} has no bandwidth for {link}",
            expected=f"one of {', '.join(chip.links)}" if chip.links else None,
            hint=nearest_name(link, chip.links) or f"or say --given {link}=…",
        )
    return chip.figures[link]
