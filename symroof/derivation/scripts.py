"""Programs in the plain values of the second engine, and the evidence that each of their costs has to rest on."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from symroof.derivation.draft import Draft
from symroof.derivation.sharding import costs_of_chips
from symroof.formula import Name
from symroof.model.cost import Counting
from symroof.model.mesh import split_of
from symroof.model.program import DIFFERENCE, EXCHANGE, PRODUCT, Line, Program
from symroof.model.resources import OF_VECTOR
from symroof.model.statement_costs import of_statement, traffic_of_tensors
from symroof.proof.gradients import in_training
from symroof.proof.running import Run
from symroof.proof.script import Act, Array, Script, Turn
from symroof.proof.transfers import Transfers

# The FLOPs of each pass: whether it goes back.
PASSES = {"flops_forward": False, "flops_backward": True}
READS, WRITES, BYTES = map(Name, ("reads", "writes", "bytes"))


def script_of(program: Program) -> Script:
    """The program as it was written, in the plain values of the second engine: nothing that was counted. It works out the
    backward pass for itself."""
    roles = {d.tensor.name: d.role for d in program.declared}
    arrays = (
        Array(name, tensor.labels, tensor.dtype.bits, roles.get(name, ""), tensor.dtype.name, split_of(tensor))
        for name, tensor in program.written.items()
    )
    script = Script(tuple(arrays), tuple(_act(program, line) for line in program.forward), program.returned)
    return in_training(script) if program.training else script


def _act(program: Program, line: Line) -> Act:
    statement, function, lines = line.statement, line.statement.function, program.forward
    operands = tuple(str(tensor.name) for tensor in statement.operands)
    opened = list(dict.fromkeys(repeat for other in lines for repeat in other.repeats))
    turns = tuple(Turn(opened.index(one), one.times, one.leaves, one.enters) for one in line.repeats)
    fuse = None if line.fuse is None else next(i for i, other in enumerate(lines) if other.fuse is line.fuse)
    if function is None:
        each, multiplies = Fraction(len(operands) - 1), statement.kind == PRODUCT
        act = Act(statement.name, operands, each, Fraction(0), None, multiplies, turns, fuse)
        return replace(act, minus=statement.kind == DIFFERENCE, exchanges=statement.kind == EXCHANGE)
    act = Act(statement.name, operands, function.each, function.row, statement.over, False, turns, fuse)
    gains = len(operands) - function.operands
    return replace(
        act,
        gathers=function.gathers,
        reshapes=function.reshapes,
        gains=gains,
        back_each=function.back_each,
        back_row=function.back_row,
        kept=function.needs,
        function=function.name if statement.over is not None else "",
    )


def require_spoken(draft: Draft, program: Program) -> None:
    """Raises :class:`~symroof.errors.CheckError` where something is not spoken of that the program keeps busy."""
    from symroof.proof.complete import Owed, require_complete

    setting, meanings = draft.setting, draft.ledger.meanings
    figures = () if setting.problem.hardware is None else setting.problem.hardware.figures
    meshed = meanings["chips"].meshed if program.axes else None
    script = meshed.script if meshed is not None else meanings["flops"].script
    memory, vector = (
        "HBM" if setting.over_network else setting.problem.link,
        OF_VECTOR if OF_VECTOR in figures else None,
    )
    require_complete(draft.steps, draft.ledger, Owed(script, meshed, memory, setting.bandwidth_name, vector))


def costs_of_program(program: Program, count: Counting) -> dict[str, Any]:
    """For each cost of a program, of its statements and its tensors, the evidence that it has to rest on; and the
    formulas of the sizes that others define."""
    script = script_of(program)
    found: dict[str, Any] = {}
    kinds = {"flops": "flops_exact" if count == "exact" else "flops"}
    for name in program.owners if program.line is None else ():
        for what in ("flops_exact", "flops", "ops", "reads", "writes", "bytes"):
            found[of_statement(what, name)] = Run(script, kinds.get(what, what), name)
    for what in ("flops_exact", "flops", "ops", "reads", "writes"):
        found[what] = Run(script, "ops" if program.vector and "flops" in what else kinds.get(what, what))
    for name in program.arrays if program.line is None else ():
        for what in ("elements", "size"):
            found[of_statement(what, name)] = Run(script, what, name)
    for tensor in program.declared_as("weight"):
        found[of_statement("params", str(tensor.name))] = Run(script, "weight elements", str(tensor.name))
    for name in traffic_of_tensors(program):
        found[of_statement("moved", name)] = Transfers(script, "moved", name)
    found |= costs_of_chips(program, script, count)  # on a mesh what moves is what one chip moves
    stocks = {"params": "weight elements", "weights": "weight", "caches": "cache"}
    if program.training:
        part = "ops" if program.vector else kinds.get("flops", "flops")
        found |= {name: Run(script, part, back=back) for name, back in PASSES.items()}
        stocks |= {"saved": "saved", "gradients": "gradients"}
    return found | {name: Run(script, what) for name, what in stocks.items()} | dict(program.where)
