"""Which figures of a chip a problem uses: its peak, the bandwidth of its link, and numbers put in for axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import gcd, lcm, prod

from sympy import Expr

from symroof.derivation.size_ranges import require_over
from symroof.errors import ModelError
from symroof.formula import Compare, Name, Number
from symroof.model.hardware import Accelerator, Known, meant
from symroof.model.mesh import open_axes, splits
from symroof.model.mesh_axes import MeshAxis
from symroof.model.problem import Problem
from symroof.model.program import Program
from symroof.model.stages import require_filled
from symroof.model.statement_costs import busy_links
from symroof.model.wiring import wired
from symroof.symbols import symbol


def require_on_mesh(problem: Problem) -> None:
    """Numbers put in, for the rows of a table or by an assumption, are there on the mesh."""
    for values in (*problem.at, dict(filter(None, map(_put_in, problem.assume)))):
        require_there(problem, values)


def _put_in(relation: Compare) -> tuple[str, Fraction] | None:
    """The name that a relation gives a number, with it."""
    match relation:
        case (
            Compare(left=Name(name=name), relation="=", right=Number(value=value))
            | Compare(left=Number(value=value), relation="=", right=Name(name=name))
        ):
            return name, value
    return None


def require_there(problem: Problem, values: Mapping[str, Fraction]) -> None:
    """Sizes leave a dimension nothing less than 1; numbers of chips are wired as the formulas say, a network joins them all,
    and they share out what they split.

    Raises :class:`ModelError` where they are not: every command that puts numbers in asks here.
    """
    program = problem.operation
    program.require_sizes(values)
    if not program.axes:
        return
    for name in open_axes(problem.mesh):
        if name in values:
            require_own_wiring(problem, name, values[name])
    require_joined(problem, values)
    require_filled(program, values)
    require_shared(program, values)


def require_shared(program: Program, values: Mapping[str, Fraction]) -> None:
    """Every chip has as much as another of what is split over it. Raises :class:`ModelError` where a size is no multiple."""
    chips = {a.name: a.chips or int(values.get(a.name, 1)) for a in program.mesh}
    for label, axes in splits(program):
        size, parts = int(label) if label.isdigit() else values.get(label), prod(chips[axis] for axis in axes)
        if size is not None and size % parts:
            raise _no_multiple(label, size, axes, parts)


def is_there(problem: Problem, values: Mapping[str, Fraction]) -> bool:
    """Whether numbers may be put in together."""
    try:
        require_there(problem, values)
    except ModelError:
        return False
    return True


def require_own_wiring(problem: Problem, name: str, number: Fraction) -> None:
    """A number put in for an axis is computed with its own wiring: where it is wired as the axis without a number is.

    Raises :class:`ModelError` where a chip would send something else, as over a line of chips that close to no ring.
    """
    program = problem.operation
    if not program.axes:
        return
    if number.denominator != 1 or number < 1:
        raise ModelError(f"{name} = {number} is no number of chips", expected="a whole number from 1")
    before, after = _wired_with(problem, {}), _wired_with(problem, {name: int(number)})
    here = {symbol(name): int(number)}
    if program.latency and _hops(before, here) != _hops(after, here):
        alone = f"{name} = 1 waits for no hops, and {name} without a number stands for several chips"
        odd = f"{name} = {number} is another way round, and {name} without a number stands for even rings"
        expected = (
            f"{name} = 2 or more"
            if number == 1
            else f"an even number of chips on a ring, or {name}={number} in the mesh"
        )
        raise ModelError(alone if number == 1 else odd, expected=expected)
    if any((before.sent(r).subs(here) - after.sent(r)).expand() != 0 for r in busy_links(before)):
        if number == 1 and name in program.stages:
            problem_there = f"{name} = 1 hands nothing on, and {name} without a number stands for several chips"
            raise ModelError(problem_there, expected=f"{name} = 2 or more, or {name}=1 in the mesh")
        wiring = next(axis.wiring for axis in after.mesh if axis.name == name) if number > 2 else "line"
        closing = ring_steps(problem).get(name, 1)
        ring = f"a ring of a multiple of {closing}" if closing > 1 else "a ring"
        raise ModelError(
            f"{name} = {number} is a {wiring}, and {name} without a number stands for {ring}",
            expected=f"chips that are wired so, or {name}={number} in the mesh, or a mesh that says {name} is a ring",
        )


def _hops(program: Program, here: Mapping[Expr, int]) -> dict[tuple[str, str], Expr]:
    """The hops of every exchange at a number of chips."""
    every = (one for cost in program.on_chip.values() for one in cost.exchanges)
    return {(one.label, figure): hops.subs(here) for one in every for figure, hops in one.hops.items()}


def require_joined(problem: Problem, values: Mapping[str, Fraction]) -> None:
    """A network joins so many chips. Raises :class:`ModelError` where a node has fewer."""
    if problem.operation.axes:
        _wired_with(problem, {name: int(values[name]) for name in open_axes(problem.mesh) if name in values})


def require_shared_out(problem: Problem, runs: Mapping[str, Sequence[int]]) -> None:
    """Whatever values sizes and axes run through together, chips share out what they split."""
    program = problem.operation
    require_over(program, runs)
    if not program.axes:
        return
    for label, axes in splits(program):
        known = [(a.chips,) if a.chips else runs.get(a.name, (1,)) for a in program.mesh if a.name in axes]
        parts, sizes = (
            prod(lcm(*_all(chips)) for chips in known),
            [int(label)] if label.isdigit() else runs.get(label, ()),
        )
        if sizes and gcd(*_all(sizes)) % parts:
            raise _no_multiple(label, next((n for n in sizes if n % parts), sizes[0]), axes, parts)


def whole_sizes(values: Mapping[str, Fraction]) -> dict[str, tuple[int, ...]]:
    """Those sizes that are whole numbers, each as all values that it runs through."""
    return {name: (int(value),) for name, value in values.items() if value.denominator == 1}


def _all(values: Sequence[int]) -> Sequence[int]:
    """Values with the same common divisors and multiples as far as they are asked for: of a range its ends and its step."""
    return (values[0], values[-1], values.step) if isinstance(values, range) and len(values) > 1 else values


def _no_multiple(label: str, size: int | Fraction, axes: tuple[str, ...], parts: int) -> ModelError:
    over, multiple = "".join(axes), -(-size // parts) * parts
    said, cure = (label, f"{multiple}") if label.isdigit() else (f"{label} = {size}", f"{label} = {multiple}")
    return ModelError(
        f"{said} is not a multiple of {over} = {parts}: some chips of {over} would have more of it than others",
        expected=f"a multiple, as {cure}",
    )


def _wired_with(problem: Problem, chips: Mapping[str, int]) -> Program:
    """The program with numbers of chips on some axes."""
    program = problem.operation
    mesh = tuple(axis.numbered(chips[axis.name]) if axis.name in chips else axis for axis in program.mesh)
    return wired(replace(program, mesh=mesh), problem.hardware, problem.link)


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
