"""Which figures of a chip a problem uses: its peak, the bandwidth of its link, and numbers put in for axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

from symroof.errors import ModelError
from symroof.formula import Compare, Name, Number
from symroof.model.hardware import Accelerator, Known, meant
from symroof.model.mesh import open_axes
from symroof.model.mesh_axes import MeshAxis
from symroof.model.problem import Problem
from symroof.model.program import Program
from symroof.model.statement_costs import busy_links
from symroof.model.wiring import wired
from symroof.symbols import symbol


def require_own_wirings(problem: Problem) -> None:
    """Numbers put in for axes, for the rows of a table or by an assumption, are wired as the axes are."""
    for values in (*problem.at, dict(filter(None, map(_put_in, problem.assume)))):
        require_own_wiring(problem, values)


def _put_in(relation: Compare) -> tuple[str, Fraction] | None:
    """The name that a relation gives a number, with it."""
    match relation:
        case (
            Compare(left=Name(name=name), relation="=", right=Number(value=value))
            | Compare(left=Number(value=value), relation="=", right=Name(name=name))
        ):
            return name, value
    return None


def require_own_wiring(problem: Problem, values: Mapping[str, Fraction]) -> None:
    """Numbers put in for axes are computed with their own wiring: where they are wired as the axis without a number is.

    Raises :class:`ModelError` where a chip would send something else, as over a line of chips that close to no ring; and
    where no such number is on the mesh.
    """
    program = problem.operation
    if not isinstance(program, Program) or not program.axes:
        return
    put = {name: values[name] for name in open_axes(problem.mesh) if name in values}
    for name, number in put.items():
        if number.denominator != 1 or number < 1:
            raise ModelError(f"{name} = {number} is no number of chips", expected="a whole number from 1")
        numbered = tuple(axis.numbered(int(number)) if axis.name == name else axis for axis in program.mesh)
        before, after = (
            wired(replace(program, mesh=mesh), problem.hardware, problem.link) for mesh in (program.mesh, numbered)
        )
        here = {symbol(name): int(number)}
        if any((before.sent(r).subs(here) - after.sent(r)).expand() != 0 for r in busy_links(before)):
            wiring = next(axis.wiring for axis in after.mesh if axis.name == name) if number > 2 else "line"
            raise ModelError(
                f"{name} = {number} is a {wiring} and {name} without a number stands for a ring of any even size from 4",
                expected=f"a number of chips that are wired so, or --mesh {name}={number}",
            )


def peak_of(problem: Problem, chip: Accelerator | None) -> tuple[str, Known | None]:
    compute = problem.compute or problem.operation.compute
    if chip is None or (chip.name == "given" and not any(name.startswith("peak") for name in chip.figures)):
        return "peak", None
    return chip.peak(compute, vector=problem.operation.vector)


def bandwidth_of(chip: Accelerator | None, link: str) -> Known | None:
    if chip is None or (chip.name == "given" and link not in chip.figures):
        return None
    if link not in chip.figures or chip.figures[link].unit not in ("bytes/s", ""):
        raise ModelError(
            f"{chip.title} has no bandwidth for {link}",
            expected=f"one of {', '.join(chip.links)}" if chip.links else None,
            hint=meant(link, chip.links) or f"or say --given {link}=…",
        )
    return chip.figures[link]


def least_rings(problem: Problem) -> dict[str, int]:
    """The least number of chips of each axis that stands for any number and is a ring: three, or where the chip has one."""
    steps = ring_steps(problem)
    return {axis.name: (each := steps.get(axis.name, 1)) * -(-3 // each) for axis in _rings(problem)}


def ring_steps(problem: Problem) -> dict[str, int]:
    """What the chips of each axis come in multiples of that stands for any number and closes to a ring as the chip has it."""
    closing = (problem.hardware.closing if problem.hardware else None) or 1
    return {axis.name: closing for axis in _rings(problem) if axis.origin != "said" and closing > 1}


def _rings(problem: Problem) -> Iterable[MeshAxis]:
    """The axes without a number that are rings."""
    return (axis for axis in problem.mesh.values() if axis.chips is None and axis.wiring in (None, "ring"))
