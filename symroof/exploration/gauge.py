"""The formulas of a setting as numbers, from the second engine: what figures are measured with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from symroof.derivation.evaluation import with_times
from symroof.derivation.setting import Setting
from symroof.formula import Formula, Name, Product
from symroof.proof.exact import Exact
from symroof.proof.ledger import Ledger
from symroof.proof.sampling import measured, require_near

# How near two values are that are the same.
NEAR = 1e-8
Sizes = Mapping[str, float]
PEAK_OF_ALL = Product((Name("chips"), Name("peak")))


class Measure:
    """The formulas of a setting as numbers: ``figures`` are those of its machine."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    @cached_property
    def ledger(self) -> Ledger:
        return with_times(self.setting).ledger

    @cached_property
    def exact(self) -> Exact:
        return self.ledger.exact(figures=True, assumptions=self.setting.equalities)

    def of(self, formula: Formula, sizes: Sizes) -> float:
        """The value of a formula at sizes. Raises :class:`~symroof.errors.CheckError` where it has none in numbers."""
        return measured(self.exact.rational(formula), self.exact, sizes)

    def require(self, formula: Formula, sizes: Sizes, shown: float) -> None:
        """Raises :class:`~symroof.errors.CheckError` where what is shown is not the value."""
        require_near(self.of(formula, sizes), shown, sizes, "the figure")


def floats(values: Mapping[str, object]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}  # type: ignore[arg-type]


def along_lines(
    measure: Measure, values: Mapping[str, object], x: str, xs: Sequence[float], lines: Mapping[str, Sequence[float]]
) -> None:
    fixed = floats(values)
    for name, ys in lines.items():
        for size, y in zip(xs, ys, strict=True):
            measure.require(PEAK_OF_ALL if name == "peak" else Name(name), {**fixed, x: size}, y)
