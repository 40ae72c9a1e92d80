"""Operations, and the statements of programs, under the roofs of machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import compress

from symroof.algebra.rational import cancelled, symbols_of
from symroof.derivation.evaluation import QuantityFunction, evaluated, function_of
from symroof.derivation.pipeline import compared, drafted
from symroof.derivation.setting import Setting
from symroof.errors import ModelError
from symroof.exploration.curves import Curve, Roof, along, require_numbers_of_chips, require_sizes, roof_of, spread
from symroof.exploration.partition import statements
from symroof.formula import Frozen, Quotient
from symroof.model.hardware import Accelerator
from symroof.model.problem import Problem
from symroof.proof.step import Reason, Step
from symroof.reading.grids import Axis
from symroof.symbols import rational, symbol

# Nothing crosses a link: there is no intensity to draw.
UNDRAWN = Curve({}, (), {"intensity": (), "throughput": ()})


class Track(Frozen):
    """An operation at a set of sizes, under every roof a curve of the intensity and of the throughput that is attainable
    on one chip. ``statement`` is the one of the program that it is, empty for all of it."""

    curves: tuple[Curve, ...]
    statement: str = ""

    @property
    def values(self) -> Mapping[str, Fraction]:
        return self.curves[0].values

    @property
    def runs(self) -> bool:
        """Whether a size runs, so that it is a path."""
        return bool(self.curves[0].xs)


class Roofline(Frozen):
    """Roofs, the highest first, and what is under them: the operation at each set of sizes, with the statements of a
    program after it. A track over ``variable`` is a path, one without sizes a point."""

    roofs: tuple[Roof, ...]
    variable: str
    tracks: tuple[Track, ...]

    @property
    def setting(self) -> Setting:
        return self.roofs[0].setting

    @property
    def several_chips(self) -> bool:
        return len({roof.chip.name for roof in self.roofs}) > 1


def roofline(
    problem: Problem, chips: Sequence[Accelerator | None], links: Sequence[str], over: Axis | None = None
) -> Roofline:
    """The roofline of a problem on chips, with a roof for every link.

    On a mesh a link that nothing crosses at any of the sizes has no roof. Raises :class:`ModelError` where a chip has no
    such link, nothing crosses the one that was asked for, or a size is open and no axis is given for it.

    >>> from symroof.reading.catalogue import chip
    >>> from symroof.reading.problems import read_problem
    >>> problem = read_problem({"operation": "matmul", "at": ["B=64,D=F=8192"]})
    >>> found = roofline(problem, [chip("tpu-v5e")], ["HBM"])
    >>> round(found.roofs[0].ridge, 2), {name: f"{y:.4g}" for name, (y,) in found.tracks[0].curves[0].lines.items()}
    (240.24, {'intensity': '63.02', 'throughput': '5.167e+13'})
    """
    for values in problem.at or ({},):
        require_numbers_of_chips(problem, values)
    variants = (replace(problem, hardware=chip, link=link, at=(), joint=False) for chip in chips for link in links)
    roofs = tuple(sorted(map(roof_of, variants), key=lambda roof: (-roof.peak.value, -roof.bandwidth.value)))
    functions = {"": [function_of(roof.setting, "intensity") for roof in roofs]}
    if over is None:  # the paths of many statements would cover one another
        each = [intensities(roof.setting) for roof in roofs]
        functions |= {name: [found[name] for found in each] for name in each[0] if all(name in found for found in each)}
    needed = {size for some in functions.values() for function in some for size in function.parameters}
    tracks = []
    for values in problem.at or ({},):
        runs = over.names if over is not None and over.names[0] in needed else ()
        require_sizes(needed, {*values, *runs}, ", or --over {}=1..1024")
        crossed = [_sends(function, values) for function in functions[""]]
        for roof, sends in zip(roofs, crossed, strict=True):
            if not sends and not problem.joint:
                at = ", ".join(f"{name} = {value}" for name, value in values.items() if name in problem.mesh)
                hint = f"--link HBM, or more chips along {roof.link}"
                raise ModelError(f"nothing crosses {roof.link} at {at}", hint=hint)
        for name, some in functions.items():
            under = ((*pair, values, over if runs else None) for pair in zip(roofs, some, strict=True))
            drawn = (_curve(*one) if sends else UNDRAWN for one, sends in zip(under, crossed, strict=True))
            tracks.append(Track(tuple(replace(curve, values=values) for curve in drawn), name))
    used = [any(track.curves[i].lines["intensity"] for track in tracks) for i in range(len(roofs))]
    kept = (replace(track, curves=tuple(compress(track.curves, used))) for track in tracks)
    return Roofline(tuple(compress(roofs, used)), over.names[0] if over else "", tuple(kept))


def intensities(setting: Setting) -> dict[str, QuantityFunction]:
    """The intensity of each statement of a program that does work: its own work over its own bytes.

    >>> from symroof.derivation.setting import setting_of
    >>> from symroof.reading.programs import read_program
    >>> text = "input x: bf16[N, D]; weight W: bf16[D, F]; weight V: bf16[F]; h = x * W -> bf16[N, F]; y = h * V -> bf16[N]"
    >>> {name: str(f.expression) for name, f in intensities(setting_of(Problem(read_program(text)))).items()}
    {'h': 'D*F*N/(D*F + D*N + F*N)', 'y': 'F*N/(F*N + F + N)'}
    """
    parts, draft, found = statements(setting), compared(drafted(setting)), {}
    moved = {part.label: part for part in parts.get("bytes", ())}
    order = {d: i for i, d in enumerate(setting.problem.operation.dimensions)}
    figures = {figure: rational(x) for figure, x in setting.values.items()}
    for part in parts.get("flops", ()):
        if part.label in moved:
            below = moved[part.label]
            value = cancelled(part.amount / below.amount)
            quotient = Quotient(part.name, below.name)
            draft.add(Step("intensity", Reason.DIVIDE, quotient, "=", draft.write(value), setting.equalities))
            sizes = sorted((s.name for s in symbols_of(value)), key=lambda s: order.get(s, len(order)))
            found[part.label] = QuantityFunction(part.label, value.subs(figures), tuple(sizes))
    return found


def links_of(setting: Setting) -> tuple[str, ...]:
    """What has a roof: on a mesh without a link that was asked for the memory and each axis, else the link."""
    if setting.rates is None or not setting.several_chips or not setting.problem.joint:
        return (setting.problem.link,)
    return (setting.rates.memory, *(name for name, _ in setting.rates.links))


def _sends(intensity: QuantityFunction, values: Mapping[str, Fraction]) -> bool:
    """Whether anything crosses a link at a set of sizes."""
    put = {symbol(name): rational(value) for name, value in values.items()}
    return bool(intensity.expression.as_numer_denom()[1].subs(put) != 0)


def _curve(roof: Roof, intensity: QuantityFunction, values: Mapping[str, Fraction], over: Axis | None) -> Curve:
    xs = spread(over) if over is not None else ()
    if over is not None:
        ys = along(intensity, values, over.names[0], xs)
    else:
        ys = (evaluated(intensity.expression, {name: float(value) for name, value in values.items()}),)
    return Curve(values, xs, {"intensity": ys, "throughput": tuple(map(roof.height, ys))})
