"""The finished derivation: its steps, and the answer that they earn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from symroof.derivation.answer import Answer
from symroof.derivation.setting import Setting
from symroof.proof.step import Reason, Step

if TYPE_CHECKING:
    from symroof.derivation.evaluation import QuantityFunction


@dataclass(frozen=True, slots=True)
class Derivation:
    """The derivation of one problem: ``written`` are its steps, each decided by the second engine."""

    setting: Setting
    written: tuple[Step, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the sections that were asked for."""
        return tuple(step for step in self.written if step.section in self.setting.problem.sections)

    @property
    def answer(self) -> Answer:
        """What people look for first."""
        return Answer(self.written, self.setting.problem.at)

    def section(self, name: str) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.section == name)

    def find(self, reason: Reason) -> Step | None:
        """The first step of that reason."""
        return next((step for step in self.steps if step.reason is reason), None)

    def function(self, name: str) -> QuantityFunction:
        """A quantity (``intensity``, ``T_lower``, ``throughput``, …) as a function on numbers and arrays.

        >>> import symroof as sr
        >>> throughput = sr.derive("matmul", on="tpu-v5e").function("throughput")
        >>> throughput(B=64, D=8192, F=8192) / 1e12
        51.67...
        """
        from symroof.derivation.evaluation import function_of

        return function_of(self.setting, name)

    def counts(self) -> Mapping[str, int]:
        """How many steps were proved, and how many sampled."""
        kinds = [step.check.status for step in self.steps if step.check is not None]
        return {kind: kinds.count(kind) for kind in ("proved", "sampled")}
