"""What each chip of a mesh does, as steps with the evidence from which a mesh is played."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symroof.formula import Name, Quotient, Sum
from symroof.model.mesh import Exchange
from symroof.proof.check import checked
from symroof.proof.collectives import MeshAxis
from symroof.proof.ledger import Ledger
from symroof.proof.placement import Placement
from symroof.proof.sharing import OnChip, Sent, Shared
from symroof.proof.step import Reason, Step

if TYPE_CHECKING:
    from symroof.derivation.setting import Setting


def placement(setting: Setting) -> Placement:
    """The shapes, the splits and the mesh as the user wrote them: nothing that was computed from them."""
    problem, operation = setting.problem, setting.problem.operation
    closing = problem.hardware.closing if problem.hardware else None
    return Placement(
        tuple(
            tuple((d.label, a) for d in t.dims if d.label != "1" for a in d.axes or (None,)) for t in operation.tensors
        ),
        tuple(tensor.dtype.bits for tensor in operation.tensors),
        tuple(operation.operand_name(place) for place in range(len(operation.tensors))),
        tuple(
            MeshAxis(a, problem.mesh[a].chips, problem.mesh[a].wiring, closing, problem.mesh[a].link or problem.link)
            for a in operation.axes
        ),
        problem.count,
    )


def amounts_of_a_chip(setting: Setting) -> dict[str, OnChip]:
    """The names of what one chip does, each with the amount of the played mesh that it is."""
    if not setting.several_chips or setting.on_mesh:
        return {}
    given, names = placement(setting), sent_names(setting)
    amounts = {setting.flops_name: OnChip(given, "work"), "bytes_per_chip": OnChip(given, "memory")}
    if len(names) > 1:
        amounts["sent"] = OnChip(given, "link")
    amounts |= {f"part_{i}": OnChip(given, "part", i) for i in range(len(given.tensors))}
    return amounts | {name: OnChip(given, "sending", i) for i, name in enumerate(names)}


def sent_names(setting: Setting) -> list[str]:
    """What the bytes of each exchange are called."""
    axes = [exchange.axis for exchange in setting.exchanges]
    if len(axes) == 1:
        return ["sent"]
    return [f"sent_{axis}" + (str(i) if axes.count(axis) > 1 else "") for i, axis in enumerate(axes)]


def work_of_a_chip(setting: Setting) -> tuple[Step, ...]:
    """The arithmetic of one chip; none where there is one chip."""
    if not setting.several_chips:
        return ()
    name, whole = Name(setting.flops_name), Name("flops")
    chips = setting.layout.write(setting.chips)
    shared = Quotient(whole, chips) if setting.chips != 1 else whole
    facts, evidence = Shared(chips, setting.exchanges), amounts_of_a_chip(setting)[name.name]
    return (
        Step("work", Reason.SHARE_WORK, name, "=", shared, evidence=evidence, facts=facts),
        Step("work", Reason.PUT_IN, name, "=", setting.layout.write(setting.flops), role=name.name),
    )


def traffic_of_a_chip(setting: Setting) -> tuple[Step, ...]:
    """What one chip moves in its own memory, or sends over the link."""
    if not setting.several_chips:
        return ()
    amounts, name, write = amounts_of_a_chip(setting), setting.moved_name, setting.layout.write
    facts = Shared(setting.layout.write(setting.chips), setting.exchanges)
    if not setting.over_network:
        evidence, moved = amounts[name], write(setting.moved)
        return (Step("traffic", Reason.SHARE_BYTES, Name(name), "=", moved, (), evidence, facts, name),)
    names = sent_names(setting)
    steps = [
        Step("traffic", Reason.EXCHANGE, Name(n), "=", write(e.sent), (), amounts[n], _sent(setting, e), n)
        for n, e in zip(names, setting.exchanges, strict=True)
    ]
    if len(names) > 1:
        each = Sum(tuple(map(Name, names)))
        steps.append(Step("traffic", Reason.BYTES, Name(name), "=", each, (), amounts[name], facts))
    return tuple(steps)


def _sent(setting: Setting, exchange: Exchange) -> Sent:
    return Sent(exchange, setting.layout.write(exchange.payload), setting.layout.write(exchange.share))


def require_played(setting: Setting) -> Setting:
    """The setting, whose numbers of one chip were compared with those of the played mesh. Raises CheckError."""
    if setting.several_chips and not setting.on_mesh:
        ledger = Ledger(setting.least_one.named, meanings=amounts_of_a_chip(setting))
        ledger.definitions["flops"] = setting.layout.write(setting.cost.flops)
        moved = Step("traffic", Reason.PUT_IN, Name(setting.moved_name), "=", setting.layout.write(setting.moved))
        checked((*work_of_a_chip(setting), *traffic_of_a_chip(setting), moved), ledger)
    return setting
