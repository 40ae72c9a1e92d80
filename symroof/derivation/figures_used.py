"""Which figures of a chip a problem uses: its peak, bandwidth of its link, how axes are wired and what they carry."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from sympy import Expr, Integer

from symroof.errors import ModelError, suggestion
from symroof.formula import Compare, Name, Number
from symroof.model.hardware import Accelerator, Known, meant
from symroof.model.mesh import open_axes
from symroof.model.mesh_axes import NETWORKS, NODE, Mesh, MeshAxis
from symroof.model.problem import Problem
from symroof.model.program import Program
from symroof.model.statement_costs import amounts, busy_links, of_statement
from symroof.symbols import symbol

if TYPE_CHECKING:
    from symroof.model.one_statement import Exchange

# Links between chips: what crosses them is an exchange, not the operands.
NETWORK = tuple(NETWORKS)


def wired(program: Program, chip: Accelerator | None) -> Program:
    """The program with the link and the wiring of every axis, where the text does not say them."""
    mesh = wired_axes(program.mesh, network_of(chip), chip)
    known = {axis.name for axis in mesh}
    for axis in program.axes:
        if axis not in known:
            hint = suggestion(axis, known) or f"declare it: mesh {axis} on {network_of(chip)}"
            raise ModelError(f"the program is split over {axis}, and the mesh has no such axis", hint=hint)
    return replace(program, mesh=mesh)


def wired_axes(axes: Iterable[MeshAxis], link: str, chip: Accelerator | None) -> tuple[MeshAxis, ...]:
    """The axes with their links and wirings, where nobody says them. Raises where a node has fewer chips than its axes."""
    known = tuple(axis.wired(link, chip.closing if chip else None) for axis in axes)
    joined = [axis for axis in known if (axis.link, axis.origin) == (NODE, "network") and axis.chips]
    if chip is not None and chip.domain is not None and prod(axis.chips or 1 for axis in joined) > chip.domain.value:
        raise _beyond_a_node(chip, int(chip.domain.value), joined, {axis.name for axis in known})
    return known


def _beyond_a_node(chip: Accelerator, most: int, joined: list[MeshAxis], taken: Container[str]) -> ModelError:
    """More chips than a switch joins: the last axis may go on over the network between nodes."""
    *others, last = joined
    within = most // prod(axis.chips or 1 for axis in others)
    slower = next((name for name in chip.links if name in NETWORK and name != NODE), None)
    hint = f"say {last.name}={last.chips} on {NODE} switch where one joins them all"
    if slower and within > 1 and (last.chips or 1) % within == 0:
        free = next(name for name in "MNPQRSUV" if name not in taken)
        axes = f"{last.name}={within} on {NODE}; {free}={(last.chips or 1) // within} on {slower}"
        hint = f'split it: --mesh "{axes}", with D_{last.name}{free} for D_{last.name}; or {hint}'
    said = " x ".join(f"{axis.name}={axis.chips}" for axis in joined)
    shown = f"{NODE} joins {most} {chip.title}, and on the mesh it joins {said}"
    return ModelError(shown, expected=f"at most {most} chips on {NODE}", hint=hint)


def wired_mesh(problem: Problem) -> Mesh:
    """The mesh of a product with the link and the wiring of every axis: the problem's link where that is a network."""
    chip, asked = problem.hardware, problem.link
    link = asked if is_network(asked) else network_of(chip)
    return {axis.name: axis for axis in wired_axes(problem.mesh.values(), link, chip)}


def network_of(chip: Accelerator | None) -> str:
    """The network that chips speak over where nobody says which: the first one of the chip."""
    return next((name for name in (chip.links if chip else ()) if name in NETWORK), "ICI")


def is_network(link: str) -> bool:
    """
    >>> is_network("ICI.bidirectional"), is_network("HBM")
    (True, False)
    """
    return link.partition(".")[0] in NETWORK


def link_over(program: Program, link: str) -> tuple[str, str]:
    """What the link of a problem on a mesh keeps busy, nothing for a memory; and the figure of that."""
    figures: dict[str, str] = {}
    for axis in program.mesh:
        figures.setdefault(axis.name if axis.wiring != "switch" else str(axis.link), str(axis.link))
    named = [name for name in busy_links(program) if link in (name, figures[name])]
    if not is_network(link) and link not in figures:
        return "", link
    if len(named) != 1:
        some = f"several axes are on {link}: {', '.join(named)}" if named else f"nothing crosses {link}"
        raise ModelError(some, expected=f"one of {', '.join(busy_links(program)) or 'no link'}", hint="--link HBM")
    return named[0], figures[named[0]]


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

    Raises :class:`ModelError` where a chip would send something else, as over a line of chips that close to no ring.
    """
    chip, link = problem.hardware, problem.link
    put = {name: values[name] for name in open_axes(problem.mesh) if name in values}
    for name, number in put.items():
        if number.denominator != 1 or number < 1:
            raise ModelError(f"{name} = {number} is no number of chips", expected="a whole number from 1")
        numbered = {**problem.mesh, name: replace(problem.mesh[name], chips=int(number))}
        before, after = (_sent(replace(problem, mesh=mesh)) for mesh in (problem.mesh, numbered))
        here = {symbol(name): int(number)}
        if any((amount.subs(here) - after.get(r, Integer(0))).expand() != 0 for r, amount in before.items()):
            wiring = wired_axes([numbered[name]], link, chip)[0].wiring if number > 2 else "line"
            raise ModelError(
                f"{name} = {number} is a {wiring} and {name} without a number stands for a ring of any even size from 4",
                expected=f"a number of chips that are wired so, or --mesh {name}={number}",
            )


def _sent(problem: Problem) -> Mapping[str, Expr]:
    """What a link carries on a mesh, by resource."""
    operation = problem.operation
    if isinstance(operation, Program):
        program = wired(replace(operation, mesh=tuple(problem.mesh.values())), problem.hardware)
        found = amounts(program, problem.count)
        return {resource: found[of_statement("sent", resource)].expand() for resource in busy_links(program)}
    return sent_over(exchanges_of(problem))


def exchanges_of(problem: Problem) -> tuple[Exchange, ...]:
    """What a product exchanges on the mesh of its problem."""
    from symroof.model.one_statement import exchanges

    return exchanges(problem.operation, wired_mesh(problem))


def over_link(exchanges: tuple[Exchange, ...], link: str) -> tuple[Exchange, ...]:
    """The exchanges over a link, whatever its figure is called."""
    return tuple(exchange for exchange in exchanges if exchange.link.partition(".")[0] == link.partition(".")[0])


def sent_over(exchanges: Iterable[Exchange]) -> dict[str, Expr]:
    """The bytes that each axis carries, or the port of each switch, in the order of the exchanges."""
    total: dict[str, Expr] = {}
    for exchange in exchanges:
        for resource, share in exchange.carried:
            total[resource] = (total.get(resource, Integer(0)) + share * exchange.payload).expand()
    return total


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
    operation = problem.operation
    axes = operation.mesh if isinstance(operation, Program) else tuple(problem.mesh.values())
    return (axis for axis in axes if axis.chips is None and axis.wiring in (None, "ring"))
