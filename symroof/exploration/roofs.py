"""What a roofline shows, as numbers: roofs of bandwidths and chips, and operations under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from symroof.derivation.evaluation import function_of
from symroof.derivation.pipeline import counted
from symroof.derivation.setting import Setting, require_sizes_agree
from symroof.errors import ModelError
from symroof.exploration.curves import spread
from symroof.model.hardware import Accelerator, Known
from symroof.model.problem import Problem
from symroof.reading.grids import Axis
from symroof.symbols import fraction, rational, symbol


@dataclass(frozen=True, slots=True)
class Roof:
    """A bandwidth of a chip, and the peak that its slope ends at."""

    setting: Setting
    link: str
    bandwidth: Known
    peak: Known
    several_chips: bool

    @property
    def chip(self) -> Accelerator:
        chip = self.setting.problem.hardware
        assert chip is not None
        return chip

    @property
    def ridge(self) -> float:
        return float(self.peak.value / self.bandwidth.value)

    def height(self, intensity: float) -> float:
        """Attainable FLOPs/s of one chip."""
        return min(float(self.peak.value), intensity * float(self.bandwidth.value))


@dataclass(frozen=True, slots=True)
class Mark:
    """An operation at given sizes: its intensity under each roof, and what is attainable there."""

    values: Mapping[str, Fraction]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Path:
    """An operation with one size free: its way along each roof, and the sizes at the ends."""

    values: Mapping[str, Fraction]
    variable: str
    sizes: tuple[float, ...]
    points: tuple[tuple[tuple[float, float], ...], ...]


@dataclass(frozen=True, slots=True)
class Roofline:
    """Roofs, the highest first, and what stands under them."""

    roofs: tuple[Roof, ...]
    marks: tuple[Mark, ...]
    paths: tuple[Path, ...]


def roofline(
    problem: Problem, chips: Sequence[Accelerator], links: Sequence[str], over: Axis | None = None
) -> Roofline:
    """The roofline of a problem on chips, with a roof for every link.

    Raises :class:`ModelError` where a chip has no such link, or a size is open and no axis is given for it.

    >>> from symroof.reading.catalogue import chip
    >>> from symroof.reading.problems import read_problem
    >>> problem = read_problem({"operation": "matmul", "at": ["B=64,D=F=8192"]})
    >>> found = roofline(problem, [chip("tpu-v5e")], ["HBM"])
    >>> round(found.roofs[0].ridge, 2), [f"{x:.4g}" for x in found.marks[0].points[0]]
    (240.24, ['63.02', '5.167e+13'])
    """
    roofs = [
        _roof(replace(problem, hardware=accelerator, link=link, at=()), len(chips) > 1)
        for accelerator in chips
        for link in links
    ]
    roofs.sort(key=lambda roof: (-roof.peak.value, -roof.bandwidth.value))
    marks, paths = [], []
    for values in problem.at:
        needed = {s.name for roof in roofs for s in roof.setting.intensity.free_symbols}
        require_sizes_agree(roofs[0].setting, values)
        if over is not None and over.names[0] in values:
            raise ModelError(
                f"{over.names[0]} runs over its axis and has a size as well", hint=f"leave {over.names[0]} out of --at"
            )
        if over is not None and over.names[0] in needed:
            paths.append(_path(roofs, values, over, needed))
            continue
        _require_sizes(needed, values)
        marks.append(Mark(values, tuple(_point(roof, values) for roof in roofs)))
    if over is not None and not problem.at:
        paths.append(_path(roofs, {}, over, {s.name for roof in roofs for s in roof.setting.intensity.free_symbols}))
    return Roofline(tuple(roofs), tuple(marks), tuple(paths))


def _roof(problem: Problem, several: bool) -> Roof:
    setting = counted(problem).setting
    if setting.peak is None or setting.bandwidth is None:
        raise ModelError("a roof needs a peak and a bandwidth", hint="say --on CHIP")
    return Roof(setting, problem.link, setting.bandwidth, setting.peak, several)


def _require_sizes(needed: set[str], values: Mapping[str, Fraction]) -> None:
    missing = sorted(needed - set(values))
    if missing:
        raise ModelError(
            f"{', '.join(missing)} {'has' if len(missing) == 1 else 'have'} no size",
            hint=f"say --at {missing[0]}=8192, or --over {missing[0]}=1..1024",
        )


def _point(roof: Roof, values: Mapping[str, Fraction]) -> tuple[float, float]:
    exact = fraction(roof.setting.intensity.subs({symbol(n): rational(v) for n, v in values.items()}))
    return float(exact), roof.height(float(exact))


def _path(roofs: Sequence[Roof], values: Mapping[str, Fraction], over: Axis, needed: set[str]) -> Path:
    (variable,) = over.names
    _require_sizes(needed - {variable}, values)
    sizes = spread(over)
    ways = []
    for roof in roofs:
        function = function_of(roof.setting, "intensity")
        along = [function(**{n: x if n == variable else float(values[n]) for n in function.parameters}) for x in sizes]
        ways.append(tuple((x, roof.height(x)) for x in along))
    return Path(values, variable, sizes, tuple(ways))
