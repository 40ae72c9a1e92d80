"""Measured points beside what was proved: what part of the bound was reached, and which are faster than it allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from sympy import Expr, Integer

from symroof.derivation.evaluation import require_proved
from symroof.derivation.premises import Setting, require_sizes_agree
from symroof.derivation.quantity_definitions import quantities
from symroof.errors import ModelError, about
from symroof.exploration.curves import require_sizes
from symroof.formula import Frozen
from symroof.reading.measurements import Row
from symroof.symbols import fraction, rational, symbol

# What measured points are held against.
NEEDED = ("flops", "intensity", "T_lower", "chips")


class Measurement(Frozen):
    """A measured point: at ``values``, or only at an ``intensity``, the FLOPs/s of all chips; and what is the most there.

    ``seconds`` and ``bound`` are the time that it took and T_lower, where there are sizes.
    """

    name: str
    values: Mapping[str, Fraction]
    intensity: Fraction
    rate: Fraction
    attainable: Fraction
    chips: Fraction
    seconds: Fraction | None
    bound: Fraction | None

    @property
    def point(self) -> tuple[float, float]:
        """Its place under the roof of one chip: FLOPs/byte and FLOPs/s."""
        return float(self.intensity), float(self.rate / self.chips)

    @property
    def share(self) -> Fraction:
        """The part of the bound that was reached."""
        return self.rate / self.attainable

    @property
    def impossible(self) -> bool:
        """Whether it is faster than the bound, exactly: then a count, a figure or the measurement is wrong."""
        return self.rate > self.attainable

    @property
    def label(self) -> str:
        """By what it is called: its name, or its sizes, or its place."""
        sizes = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        return self.name or sizes or f"{float(self.intensity):.4g} FLOPs/byte"


def measurements(
    setting: Setting, rows: Sequence[Row], common: Mapping[str, Fraction], under: Setting | None = None
) -> tuple[Measurement, ...]:
    """Rows of a table against the bounds of a problem; sizes that are ``common`` to all a row has not to say. Their place is
    ``under`` the roof of one of its links.

    Raises :class:`ModelError` where a size is missing, or is none of the mesh.

    >>> from symroof.derivation.premises import setting_of
    >>> from symroof.reading.measurements import read_measurements
    >>> from symroof.reading.problems import read_problem
    >>> setting = setting_of(read_problem({"operation": "matmul", "hardware": "tpu-v5e"}))
    >>> rows = read_measurements("B,D,F,us\\n64,8192,8192,200\\n64,8192,8192,160\\n", "BDF")
    >>> [(f"{float(one.share):.3f}", one.impossible) for one in measurements(setting, rows, {})]
    [('0.831', False), ('1.039', True)]
    """
    if not setting.timed:
        raise ModelError("measured points need a peak and a bandwidth", hint="say --on CHIP")
    formulas = quantities(setting)
    formulas |= {} if under is None else {"intensity": quantities(under)["intensity"]}
    require_proved(setting, {name: formulas[name] for name in NEEDED if name in formulas and name != "intensity"})
    needed = {s.name for name in NEEDED if name in formulas for s in formulas[name].free_symbols} - {*setting.figures}
    result = []
    for row in rows:
        with about(f"{row.where}: "):
            values = {name: value for name, value in {**common, **row.sizes}.items() if name in setting.problem.names}
            result.append(
                _at(setting, formulas, row, values, needed)
                if row.sizes or row.intensity is None
                else _by_intensity(setting, row)
            )
    return tuple(result)


def _at(
    setting: Setting, formulas: Mapping[str, Expr], row: Row, values: Mapping[str, Fraction], needed: set[str]
) -> Measurement:
    if row.intensity is not None:
        raise ModelError("sizes and FLOPs/byte are said of one point", expected="one of them")
    require_sizes(needed, values)
    require_sizes_agree(setting, values)
    put = {symbol(name): rational(figure.value) for name, figure in setting.figures.items()}
    put |= {symbol(name): rational(value) for name, value in values.items()}
    exact = {name: formulas[name].subs(put) for name in NEEDED if name in formulas}
    if not all(value.is_Rational for value in exact.values()):
        raise ModelError("the bound has no exact value at these sizes", expected="sums, products and maxima of sizes")
    flops, intensity, bound, chips = (fraction(exact.get(name, Integer(1))) for name in NEEDED)
    if not flops:
        raise ModelError("nothing is computed at these sizes", expected="a point with FLOPs")
    rate = row.rate if row.rate is not None else flops / (row.seconds or 1)
    return Measurement(row.name, values, intensity, rate, flops / bound, chips, flops / rate, bound)


def _by_intensity(setting: Setting, row: Row) -> Measurement:
    """A point of a profiler, which counts bytes and knows no sizes."""
    if setting.several_chips or setting.peak is None or setting.bandwidth is None or row.intensity is None:
        raise ModelError("FLOPs/byte tell a point of one chip alone", expected="the sizes of the operation")
    if row.rate is None:
        raise ModelError("a time says nothing without sizes", expected="FLOPs/s beside FLOPs/byte")
    most = min(setting.peak.value, row.intensity * setting.bandwidth.value)
    return Measurement(row.name, {}, row.intensity, row.rate, most, Fraction(1), None, None)
