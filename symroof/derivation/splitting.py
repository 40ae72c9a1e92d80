"""What each chip of a mesh does of a product, as steps with the evidence from which a mesh is played."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from symroof.derivation.figures_used import is_network, network_of
from symroof.formula import Name, Quotient, Sum
from symroof.model.dtype import Tensor
from symroof.model.mesh import split_of
from symroof.proof.check import checked
from symroof.proof.collectives import MeshAxis
from symroof.proof.ledger import Ledger
from symroof.proof.step import Reason, Step

if TYPE_CHECKING:
    from symroof.derivation.setting import Setting
    from symroof.model.one_statement import Exchange
    from symroof.proof.sharded import Meshed
    from symroof.proof.sharing import OnChip, Sent, Shared

# One chip has nothing to do with the players of meshes: they are imported where there are several.


def meshed_of(setting: Setting) -> Meshed:
    """The shapes, the splits and the mesh as the user wrote them: nothing that was computed from them."""
    problem, chip = setting.problem, setting.problem.hardware
    link = problem.link if is_network(problem.link) else network_of(chip)
    multiple = chip.closing if chip else None
    axes = (MeshAxis(a.name, a.chips, a.wiring, multiple, a.link or link) for a in problem.mesh.values())
    return _meshed(problem.operation.tensors, tuple(axes))


@lru_cache(maxsize=256)
def _meshed(tensors: tuple[Tensor, ...], mesh: tuple[MeshAxis, ...]) -> Meshed:
    """A product as a script of one act, the tensors called by their places; what it is played once for is kept."""
    from symroof.proof.script import Act, Array, Script
    from symroof.proof.sharded import Meshed

    arrays = tuple(
        Array(str(i), t.labels, t.dtype.bits, "input" if i < len(tensors) - 1 else "", t.dtype.name, split_of(t))
        for i, t in enumerate(tensors)
    )
    *operands, result = (array.name for array in arrays)
    act = Act(result, tuple(operands), Fraction(len(operands) - 1), multiplies=True)
    return Meshed(Script(arrays, (act,)), mesh)


def amounts_of_a_chip(setting: Setting) -> dict[str, OnChip]:
    """The names of what one chip does, each with the amount of the played mesh that it is."""
    if not setting.several_chips or setting.on_mesh:
        return {}
    from symroof.proof.sharing import OnChip

    problem, names = setting.problem, sent_names(setting)
    operation, meshed = problem.operation, meshed_of(setting)
    called = tuple(operation.operand_name(place) for place in range(len(operation.tensors)))
    work = "ops" if operation.vector else "flops_exact" if problem.count == "exact" else "flops"

    def amount(what: str, number: int = 0) -> OnChip:
        return OnChip(meshed, called, problem.link, what, number)

    amounts = {setting.flops_name: amount(work), "bytes_per_chip": amount("bytes")}
    if len(names) > 1:
        amounts["sent"] = amount("link")
    amounts |= {f"part_{i}": amount("part", i) for i in range(len(called))}
    return amounts | {name: amount("sending", i) for i, name in enumerate(names)}


def sent_names(setting: Setting) -> list[str]:
    """What the bytes of each exchange over the link are called."""
    axes = [exchange.axis for exchange in setting.over_link]
    if len(axes) == 1:
        return ["sent"]
    return [f"sent_{axis}" + (str(i) if axes.count(axis) > 1 else "") for i, axis in enumerate(axes)]


def work_of_a_chip(setting: Setting) -> tuple[Step, ...]:
    """The arithmetic of one chip; none where there is one chip."""
    if not setting.several_chips:
        return ()
    name, whole = Name(setting.flops_name), Name("flops")
    shared = Quotient(whole, setting.layout.write(setting.chips)) if setting.chips != 1 else whole
    facts, evidence = _shared(setting), amounts_of_a_chip(setting)[name.name]
    return (
        Step("work", Reason.SHARE_WORK, name, "=", shared, evidence=evidence, facts=facts),
        Step("work", Reason.PUT_IN, name, "=", setting.layout.write(setting.flops), role=name.name),
    )


def traffic_of_a_chip(setting: Setting) -> tuple[Step, ...]:
    """What one chip moves in its own memory, or sends over the link."""
    if not setting.several_chips:
        return ()
    amounts, name, write = amounts_of_a_chip(setting), setting.moved_name, setting.layout.write
    facts, moved = _shared(setting), write(setting.moved)
    if not setting.over_network:
        return (Step("traffic", Reason.SHARE_BYTES, Name(name), "=", moved, (), amounts[name], facts, name),)
    names = sent_names(setting)
    steps = [
        Step("traffic", Reason.EXCHANGE, Name(n), "=", write(e.sent), (), amounts[n], _sent(setting, e), n)
        for n, e in zip(names, setting.over_link, strict=True)
    ]
    if len(names) > 1:
        each = Sum(tuple(map(Name, names)))
        steps.append(Step("traffic", Reason.BYTES, Name(name), "=", each, (), amounts[name], facts))
        steps.append(Step("traffic", Reason.TOTAL, Name(name), "=", moved, role=name))
    return tuple(steps)


def _shared(setting: Setting) -> Shared:
    from symroof.proof.sharing import Shared

    return Shared(setting.layout.write(setting.chips), setting.exchanges)


def _sent(setting: Setting, exchange: Exchange) -> Sent:
    from symroof.proof.sharing import Sent

    write = setting.layout.write
    return Sent(exchange, write(exchange.size), write(exchange.payload), write(exchange.share))


def require_played(setting: Setting) -> Setting:
    """The setting, whose numbers of one chip were compared with those of the played mesh. Raises CheckError."""
    if setting.several_chips and not setting.on_mesh:
        ledger = Ledger(setting.least_one.named, meanings=amounts_of_a_chip(setting))
        ledger.definitions["flops"] = setting.layout.write(setting.cost.flops)
        moved = Step("traffic", Reason.PUT_IN, Name(setting.moved_name), "=", setting.layout.write(setting.moved))
        checked((*work_of_a_chip(setting), *traffic_of_a_chip(setting), moved), ledger)
    return setting
