"""How the chips of a mesh are wired: the network of every axis, rings, lines and switches, and what joins how many."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from math import prod

from symroof.errors import ModelError, suggestion
from symroof.model.chip_costs import busy_links, sent_by
from symroof.model.collectives import BACK, NETWORKS, NODE, TREE, MeshAxis, occupied_levels
from symroof.model.hardware import Accelerator, Spec
from symroof.model.program import Program


def is_network(link: str) -> bool:
    """Whether a link is between chips: what crosses it is an exchange, not the operands.

    >>> is_network("ICI.bidirectional"), is_network("HBM")
    (True, False)
    """
    return link.partition(".")[0] in NETWORKS


def network_of(chip: Accelerator | None) -> str:
    """The network that chips speak over where nobody says which: the first one of the chip."""
    return next((name for name in (chip.links if chip else ()) if name in NETWORKS), "ICI")


def with_wiring(program: Program, chip: Accelerator | None, link: str = "") -> Program:
    """The program with the link and the wiring of every axis, where the text does not say them: the ``link`` that is asked
    about where that is a network, else the first one of the chip."""
    network = link if is_network(link) else network_of(chip)
    mesh = wired_axes(program.mesh, network, chip)
    names = {axis.name for axis in mesh}
    for axis in program.axes:
        if axis not in names:
            cure = f"say --mesh {axis}=2" if program.line else f"declare it: mesh {axis} on {network}"
            kind = "operation" if program.line else "program"
            raise ModelError(
                f"the {kind} is split over {axis}, and the mesh has no such axis", hint=suggestion(axis, names) or cure
            )
    return replace(program, mesh=mesh)


def wired_axes(axes: Iterable[MeshAxis], link: str, chip: Accelerator | None) -> tuple[MeshAxis, ...]:
    """The axes with their links and wirings, where nobody says them. Raises where a node has fewer chips than its axes, and
    where one link is a switch and something else."""
    mesh = tuple(axis.wired(link, chip.closing if chip else None) for axis in axes)
    figures = {} if chip is None else chip.figures
    mesh = _on_trees(mesh)
    mesh = tuple(replace(a, speed=_speed(a, figures)) for a in mesh)
    _require_own_levels(mesh)
    _require_one_wiring(mesh)
    _require_node(mesh, chip)
    joined = [axis for axis in mesh if (axis.link, axis.origin) == (NODE, "network") and axis.chips]
    if chip is not None and chip.domain is not None and prod(axis.chips or 1 for axis in joined) > chip.domain.value:
        raise _beyond_a_node(chip, int(chip.domain.value), joined, {axis.name for axis in mesh})
    return mesh


def _on_trees(axes: tuple[MeshAxis, ...]) -> tuple[MeshAxis, ...]:
    """The axes with the levels that they have: of one tree the axis that is named last fills it from below."""
    result = {axis.name: axis for axis in axes}
    for link in dict.fromkeys(axis.link for axis in axes if axis.tree):
        stack = [axis for axis in axes if axis.link == link][::-1]
        open_ = next((axis for axis in stack if axis.chips is None), None)
        if open_ is not None:
            shown = f"{open_.name} on {link} has any number of chips"
            raise ModelError(shown, expected=f"a number of them, as in {open_.name}=1024, or all degrees")
        fillings = occupied_levels(stack[0].tree, [axis.chips or 1 for axis in stack])
        result |= {axis.name: replace(axis, levels=levels) for axis, levels in zip(stack, fillings, strict=True)}
    return tuple(result.values())


def _speed(axis: MeshAxis, figures: Mapping[str, Spec]) -> Fraction | None:
    """The bandwidth of the link of an axis; of a tree that of its slowest level."""
    speeds = [figures[link].value for link in axis.links if link in figures]
    return min(speeds) if len(speeds) == len(axis.links) else None


def _require_own_levels(axes: tuple[MeshAxis, ...]) -> None:
    """The levels of a tree carry no axis that is not on that tree."""
    for tree in (axis for axis in axes if axis.tree):
        links = [level.link for level in tree.tree]
        for axis in axes:
            shared = next((link for link in axis.links if link in links), None)
            if axis.link != tree.link and axis.chips != 1 and shared is not None:
                raise ModelError(
                    f"{axis.name} is on {shared}, which is a level of the tree of {tree.name}",
                    expected=f"{axis.name} on that tree, or on another link",
                )


def _require_one_wiring(axes: tuple[MeshAxis, ...]) -> None:
    """A link joins its chips by a switch, or by cables between neighbours."""
    for link in dict.fromkeys(axis.link for axis in axes):
        switched = [axis for axis in axes if axis.link == link and axis.wiring == "switch"]
        cabled = [axis for axis in axes if axis.link == link and axis.wiring != "switch" and axis.chips != 1]
        if switched and cabled:
            switch, other = switched[0], cabled[0]
            raise ModelError(
                f"the mesh has {switch.name} as a switch and {other.name} as a {other.wiring} on {link}",
                expected=f"one wiring for {link}, or a network of its own for each: {switch.name} on DCN switch",
            )


def _require_node(axes: Iterable[MeshAxis], chip: Accelerator | None) -> None:
    """A level of a tree joins no more chips than a node has. Raises :class:`ModelError` where it does."""
    levels = (level for axis in axes for level in axis.tree if level.link == NODE)
    most = chip.domain.value if chip is not None and chip.domain is not None else None
    for level in levels:
        if chip is not None and most is not None and (level.degree or 1) > most:
            shown = f"{NODE} joins {most} {chip.title}, and in the tree it joins {level.degree}"
            raise ModelError(shown, expected=f"at most {NODE}({most})")


def _beyond_a_node(chip: Accelerator, most: int, joined: list[MeshAxis], names: Container[str]) -> ModelError:
    """More chips than a switch joins: the last axis may go on over the network between nodes."""
    *inner, last = joined
    within = most // prod(axis.chips or 1 for axis in inner)
    slower = next((name for name in chip.links if name in NETWORKS and name != NODE), None)
    hint = f"say {last.name}={last.chips} on {NODE} switch where one joins them all"
    if slower and within > 1 and (last.chips or 1) % within == 0:
        free = next(name for name in "MNPQRSUV" if name not in names)
        axes = f"{last.name}={within} on {NODE}; {free}={(last.chips or 1) // within} on {slower}"
        hint = f'split it: --mesh "{axes}", with D_{last.name}{free} for D_{last.name}; or {hint}'
    sizes = " x ".join(f"{axis.name}={axis.chips}" for axis in joined)
    shown = f"{NODE} joins {most} {chip.title}, and on the mesh it joins {sizes}"
    return ModelError(shown, expected=f"at most {most} chips on {NODE}", hint=hint)


def no_traffic_error(link: str, busy: tuple[str, ...] = ()) -> ModelError:
    """That a link is asked for which nothing crosses, with those that are ``busy``."""
    return ModelError(
        f"nothing crosses {link}: the operation needs no exchange between chips over it",
        expected=f"one of {', '.join(busy)}" if busy else None,
        hint="--link HBM" + ("" if busy else ", or split a contracted dimension, as in D_X"),
    )


def link_over(program: Program, link: str) -> tuple[str, str]:
    """What the link of a problem on a mesh keeps busy, nothing for a memory; and the figure of that.

    Axes of one link that carry the same, as those of a torus do, are as busy as the first of them.
    """
    figures: dict[str, str] = {}
    for axis in program.mesh:
        if axis.wiring in ("switch", TREE):
            figures |= {link: link for link in axis.links}
            continue
        for name in (axis.name, axis.name + BACK):
            figures.setdefault(name, str(axis.link))
    busy = busy_links(program)
    named = [name for name in busy if link in (name, figures[name])]
    if not is_network(link) and link not in (*figures, *figures.values()):
        return "", link
    if not named:
        raise no_traffic_error(link, busy)
    carried = {sent_by(program, name) for name in named}
    if len(carried) > 1:
        expected = f"one of {', '.join(named)}"
        raise ModelError(f"several axes are on {link}: {', '.join(named)}", expected=expected, hint="--link HBM")
    return named[0], figures[named[0]]
