"""Which figure is asked for, and its points as rows: what one would read off the picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from symroof.errors import ModelError, suggestion
from symroof.exploration.curves import Throughput, Times, throughput, times
from symroof.exploration.planes import Plane, plane
from symroof.exploration.roofs import Roofline, roofline
from symroof.model.hardware import Accelerator
from symroof.model.problem import Problem
from symroof.reading.grids import Axis

KINDS = ("roofline", "throughput", "times", "regimes")
Drawn: TypeAlias = "Throughput | tuple[Times, ...] | Roofline | Plane"
Rows: TypeAlias = "tuple[tuple[str, ...], tuple[tuple[object, ...], ...]]"


def figure(
    problem: Problem,
    kind: str | None,
    over: Sequence[Axis],
    chips: Sequence[Accelerator] = (),
    links: Sequence[str] = (),
) -> Drawn:
    """The figure of a problem. Without a kind: a regime map over two sizes, throughput over one, otherwise a roofline.

    Raises :class:`ModelError` where the kind and the axes do not go together.
    """
    kind = kind or ("roofline", "throughput", "regimes")[min(len(over), 2)]
    if kind not in KINDS:
        raise ModelError(
            f"there is no figure {kind!r}", expected=f"one of {', '.join(KINDS)}", hint=suggestion(str(kind), KINDS)
        )
    if kind != "roofline" and (len(chips) > 1 or len(links) > 1):
        raise ModelError(f"{kind} has one chip and one link", hint="--kind roofline shows several")
    wanted = {"roofline": (0, 1), "throughput": (1, 1), "times": (1, 1), "regimes": (2, 2)}[kind]
    if not wanted[0] <= len(over) <= wanted[1]:
        example = {2: "--over B=1..4096,D=1..4096"}.get(wanted[1], "--over B=1..400")
        raise ModelError(
            f"{kind} is drawn over {wanted[1]} size{'s' if wanted[1] > 1 else ''}, and there {'is' if len(over) == 1 else 'are'} {len(over)}",
            expected=example,
        )
    if kind == "throughput":
        return throughput(problem, over[0])
    if kind == "times":
        return times(problem, over[0])
    if kind == "regimes":
        return plane(problem, over[0], over[1])
    if problem.hardware is None and not chips:
        raise ModelError("a roofline needs a chip", hint="say --on CHIP")
    return roofline(problem, chips or [problem.hardware], links or [problem.link], over[0] if over else None)  # type: ignore[list-item]


def rows(drawn: Drawn) -> Rows:
    """The plotted points: a head, and a row for each."""
    match drawn:
        case Throughput():
            return _throughput(drawn)
        case Roofline():
            return _roofline(drawn)
        case Plane():
            head = (*drawn.names, "what")
            found: list[tuple[object, ...]] = [(10**x, 10**y, "threshold") for x, y in drawn.threshold]
            found += [(10**x, 10**y, "rule of thumb") for ends in drawn.rule for x, y in ends]
            found += [
                (10**x, 10**y, f"corner of intensity ~ {region.form}")
                for region in drawn.regions
                for x, y in region.corners
            ]
            return head, tuple(found)
    return _times(drawn)


def _said(values: object) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())  # type: ignore[attr-defined]


def _throughput(drawn: Throughput) -> Rows:
    curves = [(_said(c.values) or "exact", c) for c in drawn.curves] + (
        [("rule of thumb", drawn.rule)] if drawn.rule else []
    )
    found = [
        (name, x, y, "compute" if y >= drawn.peak * (1 - 1e-12) else drawn.setting.problem.link)
        for name, curve in curves
        for x, y in zip(curve.xs, curve.ys, strict=True)
    ]
    return ("curve", drawn.variable, "FLOPs/s", "bound by"), tuple(found)


def _roofline(drawn: Roofline) -> Rows:
    found: list[tuple[object, ...]] = [
        ("ridge", roof.chip.title, roof.link, roof.ridge, roof.height(roof.ridge), "") for roof in drawn.roofs
    ]
    for mark in drawn.marks:
        for roof, (x, y) in zip(drawn.roofs, mark.points, strict=True):
            found.append(
                (_said(mark.values), roof.chip.title, roof.link, x, y, "compute" if x > roof.ridge else roof.link)
            )
    for path in drawn.paths:
        for roof, way in zip(drawn.roofs, path.points, strict=True):
            for size, (x, y) in zip(path.sizes, way, strict=True):
                found.append(
                    (
                        f"{path.variable} = {size:g}",
                        roof.chip.title,
                        roof.link,
                        x,
                        y,
                        "compute" if x > roof.ridge else roof.link,
                    )
                )
    return ("what", "chip", "link", "FLOPs/byte", "FLOPs/s", "bound by"), tuple(found)


def _times(drawn: tuple[Times, ...]) -> Rows:
    found = []
    for one in drawn:
        for i, x in enumerate(one.xs):
            values = [one.lines[name][i] for name in ("T_math", "T_comms", "T_lower", "T_upper")]
            found.append(
                (_said(one.values), x, *values, "compute" if values[0] > values[1] else one.setting.problem.link)
            )
    return ("at", drawn[0].variable, "T_math", "T_comms", "T_lower", "T_upper", "bound by"), tuple(found)
