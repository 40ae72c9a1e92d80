"""How prose names a problem: its operation, its machine, and what bounds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from symroof.derivation.derivation import Derivation


@dataclass(frozen=True, slots=True)
class Naming:
    derivation: Derivation

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
    def on(self) -> str:
        """``a TPU v5e``, or ``2 TPU v5e, over ICI``."""
        chip = self.chip or "a chip"
        if self.chips > 1:
            return f"{self.chips} {chip}" + (f", over {self.link}" if self.link != "HBM" else "")
        article = (
            ""
            if chip.startswith(("a ", "an ", "the "))
            else "an "
            if chip[:1] in "AEIOH" and chip[:2] != "HO"
            else "a "
        )
        return f"{article}{chip}" + (f", from {self.link}" if self.link != "HBM" else "")

    @property
    def on_heading(self) -> str:
        """The machine in the title, unless the title of the problem names it."""
        named = self.chip is None or (self.title is not None and self.chip in self.title)
        return "" if named else self.on

    @property
    def on_short(self) -> str:
        chip = self.chip or ""
        return f"{self.chips} {chip}" if self.chips > 1 else chip

    @property
    def bound_by(self) -> str:
        """What bounds an operation that arithmetic does not."""
        return "the link" if self.over_network else "memory"

    @property
    def bound_word(self) -> str:
        return "bound by the link" if self.over_network else "memory-bound"

    def side(self, row: Mapping[str, Any]) -> str:
        return "both" if row["even"] else "compute" if row["compute"] else self.bound_by

    @property
    def exchange(self) -> str:
        return ", ".join(map(str, self.derivation.setting.exchanges))

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
        found = problem.compute or problem.operation.compute
        return "" if found is None else f"{found} "

    @property
    def peak_name(self) -> str:
        return self.derivation.setting.peak_name

    @property
    def reads_matrix_unit(self) -> bool:
        """Whether the peak is that of a matrix unit while the operation reuses nothing."""
        name = self.derivation.setting.peak_name
        return name.startswith("peak.") and name != "peak.vector"
