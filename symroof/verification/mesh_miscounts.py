"""Mistakes about what a program costs on a mesh: the worlds in which a wrong claim would be right.

A ring is taken for a line, a reduce-scatter for an all-reduce, a message is not split, a chip's own part is sent too,
weights stay gathered, the backward pass exchanges nothing, chips share work that they repeat, stages keep other
microbatches: every world is made from the program and its splits. Or a condition against one resource stands for that
against all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from sympy import Expr, Integer, Mul, Rational

from symroof.algebra.rational import cancelled
from symroof.derivation.draft import T_COMMS, T_MATH
from symroof.derivation.per_chip import HELD
from symroof.formula import Compare, Frozen, Name, mapped, names
from symroof.model.chip_costs import carried, message, resources_of
from symroof.model.mesh_axes import WIRINGS
from symroof.model.placing import Move
from symroof.model.program import Program
from symroof.model.resources import time_name
from symroof.model.stages import BUBBLE, SCHEDULES, pipeline_of
from symroof.model.statement_costs import amounts, sent_over
from symroof.model.trees import Port, ports, together
from symroof.verification.context import Context
from symroof.verification.worlds import Amounts, Counted, Worlds, of_programs

# What people take a collective for.
TAKEN_FOR = {
    "all-reduce": ("reduce-scatter",),
    "reduce-scatter": ("all-reduce",),
    "all-gather": ("all-reduce", "all-to-all"),
    "all-to-all": ("all-gather",),
}
ALONG = ("flops_per_chip", "ops_per_chip", *HELD)
SHARED = (*ALONG, "bytes_per_chip")
OF_A_CHIP = ("flops_per_chip", "ops_per_chip", "bytes_per_chip", "sent")


class _Sent(Frozen):
    """What a collective of a statement sends over a resource, in all turns."""

    owner: str
    resource: str
    move: Move
    amount: Expr


def one_resource(link: Compare, context: Context) -> Iterator[tuple[Mapping[str, Any], Compare]]:
    """The condition against one resource, where T_comms is the longest time of the memory and all links."""
    setting = context.setting
    if setting is None or not setting.joint or "T_comms" not in names(link):
        return
    times = [time_name(name) for name in (setting.rates.memory, *(name for name, _ in setting.rates.links))]
    for chosen in times:
        alone = mapped(link, lambda node, time=chosen: Name(time) if node == T_COMMS else node)  # type: ignore[misc]
        others = tuple(Compare(T_MATH, ">", Name(name)) for name in times if name != chosen)
        if isinstance(alone, Compare):
            yield {"alone": alone, "others": others}, alone


@of_programs
def exchanged(counted: Counted) -> Worlds:
    """An exchange costs what another would, or is left out."""
    program = counted.program
    if not program.axes:
        return
    sent = tuple(_sent(program))
    yield from _rewired(counted)
    for resource in dict.fromkeys(s.resource for s in sent):
        here = [s for s in sent if s.resource == resource]
        yield {"how": "own"}, _more(counted, ((s, _with_own(s, program) - s.amount) for s in here))
        parts = ((s, s.amount / _chips(program, s.move.axes) - s.amount) for s in here)
        yield {"how": "part"}, _more(counted, parts)
        levels = [(s, port) for s in here if (port := _port(s, program)) is not None]
        if levels and not all(port.level.sharp for _, port in levels):
            yield {"how": "level", "names": (Name(resource),)}, _more(counted, ((s, _alone(s, p)) for s, p in levels))
        apart = dict.fromkeys(axis for s in here for axis in s.move.apart)
        whole = ((s, s.amount * (_chips(program, s.move.apart) - 1)) for s in here)
        yield {"how": "apart", "names": tuple(map(Name, apart))}, _more(counted, whole)
        for collective in dict.fromkeys(s.move.collective for s in here):
            alike = [s for s in here if s.move.collective == collective]
            for group in (alike, *([s] for s in alike if len(alike) > 1)):
                tensors = counted.names(dict.fromkeys(str(s.move.tensor.name) for s in group))
                facts = {"names": tensors, "collective": collective}
                for taken in TAKEN_FOR.get(collective, ()):
                    other = ((s, _as(s, taken, program) - s.amount) for s in group)
                    yield {**facts, "how": "collective", "taken": taken}, _more(counted, other)
                yield {**facts, "how": "missing"}, _more(counted, ((s, -s.amount) for s in group))


@of_programs
def on_chips(counted: Counted) -> Worlds:
    """What chips repeat is shared, a pass is left out, or what is gathered again was kept."""
    program, known = counted.program, counted.amounts
    if not program.axes:
        return
    for what in SHARED:
        total = what.removesuffix("_per_chip")
        even = {n: known[n.replace("_per_chip", "")] / known["chips"] for n in known if n.partition("(")[0] == what}
        yield {"how": "shared", "total": Name(total)}, {n: x for n, x in even.items() if x != known[n]}
    for axis in program.mesh:
        for how, factor in (("along", axis.size), ("twice", 1 / axis.size)):
            work = {n: x * factor for n, x in known.items() if n.partition("(")[0] in ALONG and x != 0}
            yield {"how": how, "names": (Name(axis.name),)}, work
    if program.training:
        forward = amounts(replace(program, training=False), counted.count)
        parts = {
            n: forward.get(n, Integer(0)) for n in known if n.partition("(")[0] in OF_A_CHIP and "_per_chip(" not in n
        }
        yield {"how": "forward"}, parts
        weights = tuple(str(t.name) for t in program.declared_as("weight"))
        yield {"how": "kept", "names": counted.names(weights)}, counted.of(replace(program, keep=weights))
        for name in (str(t.name) for t in program.declared_as("input")):
            yield {"how": "again", "names": (Name(name),)}, counted.of(replace(program, regather=(name,)))


@of_programs
def on_stages(counted: Counted) -> Worlds:
    """The bubble as a part of the time without it, microbatches of the other schedule, or one of them alone."""
    program, known = counted.program, counted.amounts
    if (pipeline := pipeline_of(program)) is None:
        return
    bubble = known[BUBBLE.name]
    yield {"how": "ideal"}, {BUBBLE.name: cancelled(bubble / (1 - bubble))}
    if not program.training:
        return
    for schedule in SCHEDULES:
        if schedule != program.schedule:
            yield {"how": schedule}, counted.of(replace(program, schedule=schedule))
    held = known["saved_per_chip"]
    yield {"how": "one"}, {"saved_per_chip": cancelled(held / program.resolved(pipeline.held))}


def _sent(program: Program) -> Iterator[_Sent]:
    around = {line.statement.name: line.repeats for line in program.lines}
    size = {axis.name: axis.size for axis in program.mesh}
    for owner, cost in program.on_chip.items():
        for move in cost.moves:
            for resource, share in carried(move, program):
                amount = program.resolved(move.turns(around[owner], size) * share * message(move, program))
                yield _Sent(owner, resource, move, amount)


def _more(counted: Counted, changes: Iterable[tuple[_Sent, Expr]]) -> Amounts:
    """The amounts once each of the exchanges sends so many bytes more."""
    return counted.more(
        (name, more)
        for sent, more in changes
        for name in dict.fromkeys((sent_over(sent.resource), sent_over(sent.resource, sent.owner)))
    )


def _rewired(counted: Counted) -> Worlds:
    """The axes with other wirings, each alone on what it keeps busy."""
    program = counted.program
    resources = [resources_of(axis)[0] for axis in program.mesh]
    for axis, own in zip(program.mesh, resources, strict=True):
        if axis.tree:
            continue
        for wiring in WIRINGS:
            other = replace(axis, wiring=wiring, origin=None)
            if wiring == axis.wiring or resources.count(own) > 1 or (other.ways == axis.ways and wiring != "switch"):
                continue
            mesh = tuple(other if a is axis else a for a in program.mesh)
            found = amounts(replace(program, mesh=mesh), counted.count)
            pairs = [(name, _renamed(name, own, resources_of(other)[0])) for name in counted.amounts if "sent" in name]
            changes = {n: found[there] for n, there in pairs if there in found and found[there] != counted.amounts[n]}
            yield {"how": "wiring", "names": (Name(axis.name),), "wiring": wiring}, changes


def _renamed(name: str, own: str, other: str) -> str:
    """What an amount is called where another resource is busy."""
    return name.replace(f"({own})", f"({other})").replace(f"sent_{own}(", f"sent_{other}(")


def _chips(program: Program, axes: Iterable[str]) -> Expr:
    return Mul(*(axis.size for axis in program.mesh if axis.name in axes))


def _with_own(sent: _Sent, program: Program) -> Expr:
    """What is sent if a chip's own part is sent as well: N for N - 1."""
    if (port := _port(sent, program)) is not None:
        return sent.amount * Rational(port.top, port.top - port.below)
    chips = _chips(program, sent.move.axes)
    ring = sent.move.collective == "all-to-all" and sent.resource in sent.move.axes
    return sent.amount if ring else sent.amount * chips / (chips - 1)


def _port(sent: _Sent, program: Program) -> Port | None:
    """The port of a level of a tree that an exchange goes through."""
    axes = [axis for axis in program.mesh if axis.name in sent.move.axes and axis.levels]
    every = ports(together(axis.levels for axis in reversed(axes)))
    return next((port for port in every if port.level.link == sent.resource), None)


def _alone(sent: _Sent, port: Port) -> Expr:
    """How much more a level would send if nothing went on to those above it: (d - 1)/d of a level of d."""
    degree = port.level.degree or 1
    return sent.amount * (Rational(degree - 1, degree) / (1 - Rational(port.below, port.top)) - 1)


def _as(sent: _Sent, collective: str, program: Program) -> Expr:
    """What another collective of the same tensor would send there."""
    shares = dict(carried(replace(sent.move, collective=collective), program))
    own = dict(carried(sent.move, program))[sent.resource]
    return sent.amount * shares[sent.resource] / own
