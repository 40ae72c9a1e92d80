"""How prose names a problem: its operation, its machine, and what bounds it."""

from __future__ import annotations

from math import prod

from symroof.derivation.answer import TimeRow
from symroof.derivation.derivation import Derivation


class Naming:
    def __init__(self, derivation: Derivation) -> None:
        self.derivation = derivation

    @property
    def operation(self) -> str:
        return str(self.derivation.setting.problem.operation)

    @property
    def title(self) -> str | None:
        return self.derivation.setting.problem.title

    @property
    def chip(self) -> str | None:
        """How prose names the machine: None where it is symbolic."""
        chip = self.derivation.setting.problem.hardware
        return None if chip is None else chip.title

    @property
    def named(self) -> bool:
        """Whether the heading names the machine: there is one, and the title of the problem does not."""
        return self.chip is not None and (self.title is None or self.chip not in self.title)

    @property
    def bound_by(self) -> str:
        """What bounds an operation that arithmetic does not."""
        return "the link" if self.over_network else "memory"

    @property
    def bound_word(self) -> str:
        return "bound by the link" if self.over_network else "memory-bound"

    def side(self, row: TimeRow) -> str:
        return "both" if row.relation == "=" else "compute" if row.compute_bound else self.bound_by

    @property
    def exchange(self) -> str:
        """The exchanges, each with the wiring of its axis: two chips are a line."""
        found = self.derivation.setting.exchanges
        return ", ".join(f"{exchange}" + (f", a {exchange.wiring}" if exchange.chips > 2 else "") for exchange in found)

    @property
    def chip_name(self) -> str | None:
        chip = self.derivation.setting.problem.hardware
        return None if chip is None or chip.name == "given" else chip.name

    @property
    def link(self) -> str:
        return self.derivation.setting.problem.link

    @property
    def chips(self) -> int:
        """All the chips of the mesh."""
        problem = self.derivation.setting.problem
        return prod(problem.mesh[axis] for axis in problem.operation.axes)

    @property
    def over_network(self) -> bool:
        return self.derivation.setting.over_network

    @property
    def compute(self) -> str:
        problem = self.derivation.setting.problem
        dtype = problem.compute or problem.operation.compute
        words = () if dtype is None else (str(dtype),)
        words = (*words, "vector") if self.peak_name.startswith("peak.vector") else words
        return "".join(f"{word} " for word in words)

    @property
    def peak_name(self) -> str:
        return self.derivation.setting.peak_name

    @property
    def reads_matrix_unit(self) -> bool:
        """Whether the peak is that of a matrix unit while the operation reuses nothing."""
        return self.peak_name.startswith("peak.") and not self.peak_name.startswith("peak.vector")

    @property
    def matrix_stands_in(self) -> bool:
        """Whether the vector unit does the work, and the chip has no figure for it."""
        return self.derivation.setting.problem.operation.vector and self.reads_matrix_unit
